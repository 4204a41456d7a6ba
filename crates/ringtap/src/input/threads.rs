//! How many threads read capture files, and how urgently.

use std::os::unix::net::UnixStream;
use std::thread;

use clap::{Args, value_parser};

/// Input from which on several threads take less time than one, as measured: below, they gain nothing, and a
/// second core is kept busy (`docs/decisions/023-files-on-all-cores.md`).
const LARGE: u64 = 1 << 30;
/// Where a daemon of this machine listens, if its configuration names no other place.
const CONTROL: &str = "/run/ringtap/control";
/// Leaves a core to whoever else wants it.
const NICE: i32 = 19;

/// Number of threads.
#[derive(Args, Clone, Copy, Debug, Default)]
pub(crate) struct Workers {
    /// Number of threads; the records and their order are the same with any number [default: one for each
    /// core, and one for files of less than 1 GiB]
    #[arg(long, value_name = "N", value_parser = value_parser!(u8).range(1..=64))]
    workers: Option<u8>,
}

impl Workers {
    /// The number of threads for so many bytes of input. If a daemon captures on this machine, they run at
    /// the lowest priority from now on: an analysis may take longer, a capture that waits loses packets.
    pub(crate) fn number(self, input: u64) -> usize {
        let number = match self.workers {
            Some(number) => number.into(),
            None if input < LARGE => 1,
            None => thread::available_parallelism().map_or(1, usize::from).min(64),
        };
        if number > 1 && UnixStream::connect(CONTROL).is_ok() {
            // Where the system refuses, the daemon still has the priority of its own service.
            let _ = rustix::process::nice(NICE);
        }
        number
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_files_have_one_thread_unless_told_otherwise() {
        assert_eq!(Workers::default().number(LARGE - 1), 1);
        assert_eq!(Workers { workers: Some(3) }.number(10), 3);
        let cores = thread::available_parallelism().map_or(1, usize::from);
        assert_eq!(Workers::default().number(LARGE), cores.min(64));
    }
}

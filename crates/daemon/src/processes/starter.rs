//! The process that starts one for the network again.

use std::fs;
use std::os::linux::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::thread;
use std::time::{Duration, Instant};

use crate::processes::channel;
use crate::processes::child::Process;

/// Passes the daemon's connections on to the process that speaks to others, and starts it again if it has
/// ended. It reads nothing of what they say.
pub(crate) struct Starter<S> {
    name: &'static str,
    start: S,
    process: Process,
    /// The files that were there when it was started.
    watched: [Option<(u64, u64)>; WATCHED.len()],
    started: Instant,
}

impl<S: Fn() -> anyhow::Result<Process>> Starter<S> {
    /// Starts the process for the first time.
    ///
    /// # Errors
    ///
    /// It cannot be started.
    pub(crate) fn begin(name: &'static str, start: S) -> anyhow::Result<Self> {
        let watched = WATCHED.map(identity);
        Ok(Self { name, process: start()?, start, watched, started: Instant::now() })
    }

    /// Serves the daemon until it ends.
    pub(crate) fn run(&mut self, socket: &UnixStream) -> anyhow::Result<()> {
        while let Some(connection) = channel::accept(socket)? {
            let outdated = WATCHED.map(identity) != self.watched;
            if outdated || self.process.ended().is_some() {
                self.start_again(outdated);
            }
            let passed = self.process.pass(&connection);
            if let Err(error) = passed {
                // The daemon sees that its connection is closed, and tries again.
                log::debug!(target: "run", "{} cannot be reached: {error}", self.name);
            }
        }
        self.process.close();
        Ok(())
    }

    fn start_again(&mut self, outdated: bool) {
        let name = self.name;
        if outdated {
            log::info!(target: "run", "name resolution has changed: {name} is started again");
        } else {
            log::error!(target: "run", "{name} has ended: it is started again; what it had not finished is \
                done again");
        }
        self.process.close();
        thread::sleep(PAUSE.saturating_sub(self.started.elapsed()));
        (self.started, self.watched) = (Instant::now(), WATCHED.map(identity));
        match (self.start)() {
            Ok(process) => self.process = process,
            Err(error) => log::error!(target: "run", "{error:#}; the next connection tries again"),
        }
    }
}

/// Which file has this name now: programs that write it make it anew, and the rules for files are for those
/// that are there when they are made.
fn identity(path: &str) -> Option<(u64, u64)> {
    let found = fs::metadata(path).ok()?;
    Some((found.st_dev(), found.st_ino()))
}

/// Files without which no name is resolved.
const WATCHED: [&str; 3] = ["/etc/resolv.conf", "/etc/hosts", "/etc/nsswitch.conf"];
/// Least time between two starts.
const PAUSE: Duration = Duration::from_secs(1);

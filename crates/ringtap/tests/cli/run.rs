//! Running the built program.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// What a run left.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) status: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl From<Output> for Run {
    fn from(output: Output) -> Self {
        Self {
            status: output.status.code().unwrap_or(-1),
            out: String::from_utf8(output.stdout).expect("results are UTF-8"),
            err: String::from_utf8(output.stderr).expect("remarks are UTF-8"),
        }
    }
}

/// The program with an environment that does not depend on who runs the tests.
pub(crate) fn ringtap() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ringtap"));
    command.env_remove("COLUMNS").env_remove("NO_COLOR").stdin(Stdio::null());
    command
}

/// Runs it to its end.
pub(crate) fn run<I: IntoIterator<Item = S>, S: AsRef<std::ffi::OsStr>>(arguments: I) -> Run {
    ringtap().args(arguments).output().expect("the program starts").into()
}

/// A file in `folder` with that content.
pub(crate) fn file(folder: &Path, name: &str, content: &[u8]) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, content).expect("a temporary file");
    path
}

/// The header of a classic pcap of Ethernet frames, microseconds, little endian.
pub(crate) const PCAP: [u8; 24] =
    [0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 1, 0, 0, 0];

//! Errors. None of them has a subject.

use std::io;
use std::path::{Path, PathBuf};

/// Why nothing is given.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The database cannot be read.
    #[error(transparent)]
    Store(#[from] ringtap_store::Error),
    /// Calls are asked for, and no database of calls is there.
    #[error("calls are asked for, and there is no database of calls: name it with `--store`")]
    NoCalls,
    /// There are more than the limit.
    #[error(
        "there are more than {limit} {what}: nothing is given; ask for a shorter period in a request of its \
         own, or raise `--most`"
    )]
    TooMany {
        /// Of which there are too many.
        what: &'static str,
        /// The limit.
        limit: usize,
    },
    /// It was stopped.
    #[error("interrupted before everything was searched: nothing is given")]
    Interrupted,
    /// A file cannot be written.
    #[error(
        "`{path}` cannot be {action}: {cause}; check the disk and free some space",
        path = path.display()
    )]
    Io {
        /// The file.
        path: PathBuf,
        /// What was being done.
        action: &'static str,
        /// The error of the operating system.
        cause: io::Error,
    },
}

impl Error {
    pub(crate) fn io(path: &Path, action: &'static str, cause: io::Error) -> Self {
        Self::Io { path: path.to_owned(), action, cause }
    }
}

//! Errors of the spool.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ringtap_model::LinkType;

/// A spool that cannot be opened, written or read.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system refuses an operation.
    #[error("`{path}` cannot be {action}: {source}; {remedy}", path = path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What was being done.
        action: &'static str,
        /// What to do next.
        remedy: &'static str,
        /// The error of the operating system.
        source: Arc<io::Error>,
    },
    /// Far storage refuses, or cannot be reached.
    #[error("`{path}` cannot be {action}: {refusal}", path = path.display())]
    Far {
        /// The segment's stub here.
        path: PathBuf,
        /// What was to be done.
        action: &'static str,
        /// The storage, and what it answered.
        refusal: String,
    },
    /// A key that cannot be used.
    #[error("the key `{path}` cannot be used: {problem}", path = path.display())]
    Key {
        /// Its file, or the command that prints it.
        path: PathBuf,
        /// What is wrong, and the remedy.
        problem: String,
    },
    /// The log of deletions is not as it was written.
    #[error(
        "`{path}` was changed: {problem}; nothing is deleted until you have found the cause and moved \
         the file away", path = path.display()
    )]
    Log {
        /// The log.
        path: PathBuf,
        /// What is wrong.
        problem: &'static str,
    },
    /// A case or a call that cannot name a file.
    #[error("`{name}` cannot name a case: use up to 64 letters, digits, `-`, `_` and `.`, with no `.` first")]
    Name {
        /// The given value.
        name: String,
    },
    /// A call on hold cannot be erased.
    #[error("the call `{call_id}` is held for the case `{case}`: end the hold with `ringtap release` first")]
    Held {
        /// The call.
        call_id: String,
        /// The case.
        case: String,
    },
    /// A hold that cannot be read.
    #[error(
        "the hold `{path}` cannot be read: {problem}; nothing is deleted until the file is repaired or moved \
         away", path = path.display()
    )]
    Hold {
        /// Its file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// Frames of this link type cannot be stored.
    #[error(
        "packets of link type {} cannot be recorded: the spool stores Ethernet (1) and raw IP (101); \
         capture on an Ethernet interface, or convert the file with editcap -T ether", .0.0
    )]
    Link(LinkType),
    /// The memory for chunks is too small for a chunk.
    #[error("{given} bytes of memory for chunks are not enough: set at least {least} bytes")]
    Memory {
        /// The given value.
        given: usize,
        /// The least value that works.
        least: usize,
    },
}

impl Error {
    pub(crate) fn key(path: &Path, problem: &str) -> Self {
        Self::Key { path: path.to_owned(), problem: problem.to_owned() }
    }

    pub(crate) fn far(path: &Path, action: &'static str, refusal: &FarError) -> Self {
        Self::Far { path: path.to_owned(), action, refusal: refusal.to_string() }
    }

    /// Whether there was no room on the disk.
    pub fn is_full(&self) -> bool {
        use io::ErrorKind::{QuotaExceeded, StorageFull};
        matches!(self, Self::Io { source, .. } if matches!(source.kind(), StorageFull | QuotaExceeded))
    }

    pub(crate) fn io(path: &Path, action: &'static str, source: io::Error) -> Self {
        if let Some(error) = source.get_ref().and_then(|inner| inner.downcast_ref::<Self>()) {
            return error.clone();
        }
        if let Some(refusal) = source.get_ref().and_then(|inner| inner.downcast_ref::<FarError>()) {
            return Self::far(path, action, refusal);
        }
        let remedy = match source.kind() {
            io::ErrorKind::NotFound => "check the path and its spelling",
            io::ErrorKind::PermissionDenied => "give the user that ringtap runs as access to it",
            io::ErrorKind::StorageFull => "free some space, or let the retention rules free it earlier",
            io::ErrorKind::ReadOnlyFilesystem => "mount the file system for writing",
            _ => "check the disk",
        };
        Self::Io { path: path.to_owned(), action, remedy, source: Arc::new(source) }
    }
}

/// Why far storage does not do what it is asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FarError {
    /// The object does not exist.
    #[error("{0}: there is no such object")]
    NotFound(String),
    /// Anything else: the storage and what is wrong, with a remedy if one is known.
    #[error("{0}")]
    Failed(String),
}

impl From<FarError> for io::Error {
    fn from(refusal: FarError) -> Self {
        let kind = match refusal {
            FarError::NotFound(_) => io::ErrorKind::NotFound,
            FarError::Failed(_) => io::ErrorKind::Other,
        };
        Self::new(kind, refusal)
    }
}

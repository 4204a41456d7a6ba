//! What can go wrong with a spool.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ringtap_model::LinkType;

/// A spool that cannot be opened, written or read.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system refuses a file or directory.
    #[error("`{path}` cannot be {action}: {source}; {remedy}", path = path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What was to be done with it.
        action: &'static str,
        /// What to do.
        remedy: &'static str,
        /// What the operating system said.
        source: Arc<io::Error>,
    },
    /// A place that is far refuses, or cannot be reached.
    #[error("`{path}` cannot be {action}: {refusal}", path = path.display())]
    Far {
        /// The file that stands for the segment here.
        path: PathBuf,
        /// What was to be done.
        action: &'static str,
        /// What that place is, and what it said.
        refusal: String,
    },
    /// A key that cannot be used.
    #[error("the key `{path}` cannot be used: {problem}", path = path.display())]
    Key {
        /// Its file, or the command that gives it.
        path: PathBuf,
        /// What is wrong, and the remedy.
        problem: String,
    },
    /// The log of deletions is not as it was written.
    #[error("`{path}` was changed: {problem}; nothing is deleted: find out who did, then move the file away", path = path.display())]
    Log {
        /// The log.
        path: PathBuf,
        /// What is wrong.
        problem: &'static str,
    },
    /// A case or a call that cannot name a file.
    #[error("`{name}` cannot name a case: letters, digits, `-`, `_` and `.`, no `.` first, 64 at most")]
    Name {
        /// As it was given.
        name: String,
    },
    /// What is held cannot be forgotten.
    #[error("the call `{call_id}` is held for the case `{case}`: `ringtap release` ends that")]
    Held {
        /// The call.
        call_id: String,
        /// The case.
        case: String,
    },
    /// A hold that cannot be read.
    #[error("`{path}` is no hold: {problem}; nothing is deleted until it is mended or moved away", path = path.display())]
    Hold {
        /// Its file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// Frames of this link type cannot be kept.
    #[error(
        "packets of link type {} cannot be kept: the spool holds Ethernet (1) and raw IP (101); \
         capture on an Ethernet interface, or convert the file with editcap -T ether", .0.0
    )]
    Link(LinkType),
    /// The memory for chunks is too small for a chunk.
    #[error("{given} bytes of memory for chunks are not enough: at least {least} bytes are needed")]
    Memory {
        /// As it was given.
        given: usize,
        /// What would do.
        least: usize,
    },
}

impl Error {
    pub(crate) fn key(path: &Path, problem: &str) -> Self {
        Self::Key { path: path.to_owned(), problem: problem.to_owned() }
    }

    pub(crate) fn far(path: &Path, action: &'static str, refusal: &Refusal) -> Self {
        Self::Far { path: path.to_owned(), action, refusal: refusal.to_string() }
    }

    /// Whether there was no room on the disk.
    pub fn is_full(&self) -> bool {
        use io::ErrorKind::{QuotaExceeded, StorageFull};
        matches!(self, Self::Io { source, .. } if matches!(source.kind(), StorageFull | QuotaExceeded))
    }

    pub(crate) fn io(path: &Path, action: &'static str, source: io::Error) -> Self {
        if let Some(refusal) = source.get_ref().and_then(|inner| inner.downcast_ref::<Refusal>()) {
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

/// Why a far place does not do what it is asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// There is no such object.
    #[error("{0}: there is no such object")]
    Gone(String),
    /// Anything else: the place and what is wrong, with the remedy where one is known.
    #[error("{0}")]
    Because(String),
}

impl From<Refusal> for io::Error {
    fn from(refusal: Refusal) -> Self {
        let kind = match refusal {
            Refusal::Gone(_) => io::ErrorKind::NotFound,
            Refusal::Because(_) => io::ErrorKind::Other,
        };
        Self::new(kind, refusal)
    }
}

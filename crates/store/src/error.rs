//! What can go wrong, and what to do about it.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rusqlite::ErrorCode;

/// A failure of the store. Each says which file or directory, and what would help.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The path is no directory.
    #[error("{} is not a directory: name the directory of the day files", path.display())]
    NotADirectory {
        /// What was named.
        path: PathBuf,
    },
    /// Nothing is there.
    #[error("{} does not exist: name the directory that records were written to", path.display())]
    NoDirectory {
        /// What was named.
        path: PathBuf,
    },
    /// No directory can be made there.
    #[error("{} cannot be created: name a directory on a disk that takes new files", path.display())]
    CannotCreate {
        /// What was named.
        path: PathBuf,
    },
    /// A directory without a single day file: nothing was searched.
    #[error(
        "{} holds no day files (like 2026-11-21.sqlite): nothing was ever recorded here, or it was \
         deleted",
        path.display()
    )]
    NoDays {
        /// The directory.
        path: PathBuf,
    },
    /// The system denies access.
    #[error(
        "no permission to read or write {}: run as a user who has it, or change its \
         owner",
        path.display()
    )]
    Permission {
        /// The file or directory.
        path: PathBuf,
    },
    /// No space left. What was not acknowledged before is not stored.
    #[error(
        "no space left to write {}: free space on its disk, then write the records \
         again",
        path.display()
    )]
    Full {
        /// The file.
        path: PathBuf,
    },
    /// Written by a later version of this program.
    #[error(
        "{} was written by a newer version of ringtap (schema {found}, this one knows up to {known}): use \
         that version",
        path.display()
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its schema.
        found: i64,
        /// The latest schema known here.
        known: i64,
    },
    /// Written by an earlier version of this program, and this user may not change it.
    #[error(
        "{} is of an older version of ringtap (schema {found}) and has to be migrated, which needs write \
         permission: search it once, with `ringtap calls --store DIR`, as a user who may write it",
        path.display()
    )]
    OldVersion {
        /// The file.
        path: PathBuf,
        /// Its schema.
        found: i64,
    },
    /// A database, but not one of this program.
    #[error("{} is a SQLite database of another program: move it out of the directory", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// Not a database, or a damaged one.
    #[error(
        "{} is damaged ({reason}): move it away or restore it from a backup; the other days are not \
         affected",
        path.display()
    )]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// What was found.
        reason: String,
    },
    /// Another process holds it for longer than this one waits.
    #[error(
        "{} is locked by another process: is a second monitor writing to the same \
         directory?",
        path.display()
    )]
    Busy {
        /// The file.
        path: PathBuf,
    },
    /// A file of the outbox or the journal that this program did not write.
    #[error(
        "{} was not written by ringtap: move it away, or name another place in the \
         configuration",
        path.display()
    )]
    NotOurs {
        /// The file.
        path: PathBuf,
    },
    /// Any other failure of the system.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// What the system says.
        source: Arc<io::Error>,
    },
    /// Any other failure of the database.
    #[error("{}: {source}", path.display())]
    Database {
        /// The file.
        path: PathBuf,
        /// What the database says.
        source: Arc<rusqlite::Error>,
    },
    /// Somebody stopped the search, or its time was over.
    #[error(
        "the search of {} was stopped before its end: search a shorter time, or allow it longer",
        path.display()
    )]
    Interrupted {
        /// The file.
        path: PathBuf,
    },
    /// The writer's thread is gone without having said why.
    #[error(
        "the writer for {} has stopped: records queued since its last flush are not \
         stored",
        path.display()
    )]
    Stopped {
        /// The directory.
        path: PathBuf,
    },
}

impl Error {
    pub(crate) fn io(path: &Path, source: io::Error) -> Self {
        let path = path.to_owned();
        match source.kind() {
            io::ErrorKind::NotFound => Self::NoDirectory { path },
            io::ErrorKind::NotADirectory | io::ErrorKind::AlreadyExists => Self::NotADirectory { path },
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => Self::Permission { path },
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::Full { path },
            _ => Self::Io { path, source: Arc::new(source) },
        }
    }

    /// As [`Error::io`], of a file: one that does not exist lacks its directory.
    pub(crate) fn file(path: &Path, source: io::Error) -> Self {
        match source.kind() {
            io::ErrorKind::NotFound => {
                Self::NoDirectory { path: path.parent().map(Path::to_owned).unwrap_or_default() }
            }
            io::ErrorKind::IsADirectory => Self::NotOurs { path: path.to_owned() },
            _ => Self::io(path, source),
        }
    }

    pub(crate) fn database(path: &Path, source: rusqlite::Error) -> Self {
        let path = path.to_owned();
        match source.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => Self::Full { path },
            Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => {
                Self::Corrupt { path, reason: source.to_string() }
            }
            Some(ErrorCode::CannotOpen) if path.parent().is_some_and(|dir| !dir.exists()) => {
                Self::NoDirectory { path: path.parent().map(Path::to_owned).unwrap_or_default() }
            }
            Some(ErrorCode::PermissionDenied | ErrorCode::ReadOnly | ErrorCode::CannotOpen) => {
                Self::Permission { path }
            }
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::Busy { path },
            Some(ErrorCode::OperationInterrupted) => Self::Interrupted { path },
            _ => Self::Database { path, source: Arc::new(source) },
        }
    }
}

#[cfg(test)]
mod tests {
    use rusqlite::ffi;

    use super::*;

    fn sqlite(code: i32) -> Error {
        Error::database(
            Path::new("/2026-11-21.sqlite"),
            rusqlite::Error::SqliteFailure(ffi::Error::new(code), None),
        )
    }

    #[test]
    fn codes() {
        assert!(matches!(sqlite(ffi::SQLITE_FULL), Error::Full { .. }));
        assert!(matches!(sqlite(ffi::SQLITE_CORRUPT), Error::Corrupt { .. }));
        assert!(matches!(sqlite(ffi::SQLITE_NOTADB), Error::Corrupt { .. }));
        assert!(matches!(sqlite(ffi::SQLITE_CANTOPEN), Error::Permission { .. }));
        let gone = rusqlite::Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_CANTOPEN), None);
        let gone = Error::database(Path::new("/no such directory/2026-11-21.sqlite"), gone);
        assert!(matches!(gone, Error::NoDirectory { .. }));
        assert!(matches!(sqlite(ffi::SQLITE_READONLY), Error::Permission { .. }));
        assert!(matches!(sqlite(ffi::SQLITE_BUSY), Error::Busy { .. }));
        assert!(matches!(sqlite(ffi::SQLITE_INTERRUPT), Error::Interrupted { .. }));
        assert!(matches!(sqlite(ffi::SQLITE_IOERR), Error::Database { .. }));
    }

    /// Every message names the file and says what to do.
    #[test]
    fn words() {
        for code in [ffi::SQLITE_FULL, ffi::SQLITE_CORRUPT, ffi::SQLITE_CANTOPEN, ffi::SQLITE_BUSY] {
            let words = sqlite(code).to_string();
            assert!(words.contains("/2026-11-21.sqlite") && words.contains(':'), "{words}");
        }
    }
}

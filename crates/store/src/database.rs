//! A SQLite file that is written to: opened, told from another under its name, deleted.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::Connection;

use crate::Error;

/// Deletes a database with its log.
pub(crate) fn remove(path: &Path) -> Result<(), Error> {
    fs::remove_file(path).map_err(|error| Error::io(path, error))?;
    for suffix in ["-wal", "-shm"] {
        let mut beside = path.to_owned().into_os_string();
        beside.push(suffix);
        // A file that was closed well has none.
        let _ = fs::remove_file(PathBuf::from(beside));
    }
    Ok(())
}

/// Which file has that name now.
pub(crate) fn inode(path: &Path) -> Option<(u64, u64)> {
    fs::metadata(path).ok().map(|file| (file.dev(), file.ino()))
}

/// Opens a database to write, creating it as needed.
///
/// synchronous=FULL: in WAL mode a commit then syncs the log, so that what is acknowledged survives a power
/// cut and not the process alone. A batch costs one sync.
pub(crate) fn connect(
    path: &Path,
    patience: Duration,
    pages: Option<u32>,
    cache: usize,
) -> Result<Connection, Error> {
    let failed = |error| Error::database(path, error);
    let connection = Connection::open(path).map_err(failed)?;
    connection.busy_timeout(patience).map_err(failed)?;
    // Takes effect in a file that is created.
    connection.pragma_update(None, "page_size", PAGE).map_err(failed)?;
    connection.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(())).map_err(failed)?;
    connection.pragma_update(None, "synchronous", "FULL").map_err(failed)?;
    // Pages that change with every batch are copied into the file once in so many.
    connection.pragma_update_and_check(None, "wal_autocheckpoint", LOG_PAGES, |_| Ok(())).map_err(failed)?;
    let log = i64::from(LOG_PAGES) * i64::from(PAGE);
    connection.pragma_update_and_check(None, "journal_size_limit", log, |_| Ok(())).map_err(failed)?;
    // The part of the indexes by id and key that belongs to the present had better be in memory. In KiB where
    // negative.
    let kibibytes = i64::try_from(cache >> 10).unwrap_or(i64::MAX);
    connection.pragma_update(None, "cache_size", -kibibytes).map_err(failed)?;
    if let Some(pages) = pages {
        connection.pragma_update_and_check(None, "max_page_count", pages, |_| Ok(())).map_err(failed)?;
    }
    Ok(connection)
}

/// Pages of the log after which they are copied into the file: 64 MiB.
const LOG_PAGES: u32 = 8192;
/// Bytes of a page.
pub(crate) const PAGE: u32 = 8192;

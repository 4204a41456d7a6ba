//! Deletes the sessions of a file that are due, and gives back their room.

use std::path::Path;

use ringtap_model::Nanos;
use rusqlite::Connection;

use crate::Error;
use crate::database::PAGE;
use crate::record::integer;

/// Makes a new file one that can shrink, which has to be said before anything is in it.
pub(super) fn prepare(path: &Path) -> Result<(), Error> {
    if std::fs::metadata(path).map_err(|error| Error::file(path, error))?.len() > 0 {
        return Ok(());
    }
    let prepared = Connection::open(path).and_then(|connection| {
        connection.pragma_update(None, "page_size", PAGE)?;
        connection.pragma_update(None, "auto_vacuum", "INCREMENTAL")?;
        // Writes the first page, with both.
        connection.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(()))
    });
    prepared.map_err(|error| Error::database(path, error))
}

/// Deletes the sessions that ended, or were last heard of, before `limit`; tells whether any is left. Where
/// none is, nothing is deleted: the file can be.
pub(super) fn expire(connection: &Connection, limit: Nanos) -> rusqlite::Result<bool> {
    let limit = integer(limit.micros());
    let left = "SELECT EXISTS (SELECT 1 FROM identities WHERE last_us >= ?1)";
    if !connection.query_row(left, [limit], |row| row.get::<_, bool>(0))? {
        return Ok(false);
    }
    // What is deleted within a page that stays is overwritten.
    connection.pragma_update_and_check(None, "secure_delete", "FAST", |_| Ok(()))?;
    connection.execute_batch("BEGIN IMMEDIATE")?;
    if connection.execute("DELETE FROM identities WHERE last_us < ?1", [limit])? > 0 {
        for table in ["addresses", "names"] {
            let sql = format!("DELETE FROM {table} WHERE identity NOT IN (SELECT number FROM identities)");
            connection.execute(&sql, [])?;
        }
    }
    connection.execute_batch("COMMIT")?;
    // One page a row.
    let mut vacuum = connection.prepare("PRAGMA incremental_vacuum")?;
    let mut pages = vacuum.query([])?;
    while pages.next()?.is_some() {}
    Ok(true)
}

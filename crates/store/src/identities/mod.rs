//! Sessions of subscribers, in files of their own: a file a day below `identity` in the directory of the day
//! files.
//!
//! They are not in the day files because fewer people may read them: directory and files are their owner's
//! alone. A session is in the file of the day on which it was first heard of, which never changes, however
//! long it lasts and whatever is learnt of its beginning. Written again it replaces what is there; so who is
//! in a file as open has not ended as far as anybody knows. How long it is kept counts from its end, or from
//! when it was last heard of: until the last of its sessions is due, a file outlives its day.
//!
//! Beside the records, `addresses` has a row for each address of a session with the ports and the time that
//! it was its, and `names` one for each name. They do not begin with the part of the day, as the indexes of
//! day files do: a question looks into every file, and would read twelve places in each. Rows find too much
//! rather than too little: each record is compared with what was asked.
//!
//! `static.jsonl` has the ranges that never change hands. They have no day, and nothing deletes them but
//! another file of them.

mod expiry;
mod files;
mod ranges;
mod reader;
mod rows;

use std::path::{Path, PathBuf};

use rusqlite::{Connection, TransactionBehavior};

pub(crate) use files::IdentityFiles;
pub use ranges::write_ranges;
pub use reader::IdentityReader;

use crate::Error;

/// The directory of the sessions.
pub(crate) fn directory(records: &Path) -> PathBuf {
    records.join("identity")
}

/// The version of a file; 0 where it has no tables yet.
fn version(connection: &Connection, path: &Path) -> Result<i64, Error> {
    let failed = |error| Error::database(path, error);
    let pragma = |name| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0)).map_err(failed);
    match (pragma("application_id")?, pragma("user_version")?) {
        (APPLICATION, found) if found > VERSION => {
            Err(Error::Newer { path: path.to_owned(), found, known: VERSION })
        }
        (APPLICATION, found) => Ok(found),
        (0, 0) => Ok(0),
        _ => Err(Error::Foreign { path: path.to_owned() }),
    }
}

/// Makes the tables of an open file where it has none.
fn create(connection: &mut Connection, path: &Path) -> Result<(), Error> {
    if version(connection, path)? != 0 {
        return Ok(());
    }
    let failed = |error| Error::database(path, error);
    // Immediate: of two processes that find an empty file, one creates the tables.
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(failed)?;
    if version(&transaction, path)? == 0 {
        transaction.execute_batch(TABLES).map_err(failed)?;
        transaction.pragma_update(None, "application_id", APPLICATION).map_err(failed)?;
        transaction.pragma_update(None, "user_version", VERSION).map_err(failed)?;
    }
    transaction.commit().map_err(failed)
}

/// "RTID" in `application_id`.
const APPLICATION: i64 = 0x5254_4944;
/// The version that this program writes.
const VERSION: i64 = 1;

/// `lengths` has those of the prefixes that there are, in bits of IPv6; of IPv4, as mapped into it. Times are
/// in microseconds since 1970, UTC. Without a block, a session has all ports; while it has an address,
/// `until_us` is the largest number. `last_us` of a session is its end, or when it was last heard of.
const TABLES: &str = "
CREATE TABLE formats (
    number INTEGER PRIMARY KEY, record TEXT NOT NULL, fields TEXT NOT NULL, dictionary BLOB NOT NULL
) STRICT;
CREATE TABLE identities (
    number INTEGER PRIMARY KEY, id BLOB NOT NULL, first_us INTEGER NOT NULL, last_us INTEGER NOT NULL,
    is_open INTEGER NOT NULL, format INTEGER NOT NULL, record BLOB NOT NULL
) STRICT;
CREATE UNIQUE INDEX identities_id ON identities (first_us % 86400000000 / 7200000000, id);
CREATE INDEX identities_open ON identities (is_open) WHERE is_open;
CREATE TABLE lengths (bits INTEGER PRIMARY KEY) STRICT;
CREATE TABLE addresses (
    network BLOB NOT NULL, from_us INTEGER NOT NULL, first_port INTEGER NOT NULL, last_port INTEGER NOT NULL,
    until_us INTEGER NOT NULL, identity INTEGER NOT NULL,
    PRIMARY KEY (network, from_us, first_port, last_port, until_us, identity)
) STRICT, WITHOUT ROWID;
CREATE TABLE names (
    name BLOB NOT NULL, identity INTEGER NOT NULL, PRIMARY KEY (name, identity)
) STRICT, WITHOUT ROWID;
";

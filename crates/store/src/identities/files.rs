//! The files of sessions that are written to.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, DirBuilder, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use ringtap_model::{Id, Identity, Nanos, Value};
use rusqlite::{Connection, OptionalExtension};

use super::expiry;
use super::rows::{AddressRow, Rows};
use crate::database::{connect, inode, remove};
use crate::format::Encoder;
use crate::formats::{Decoders, FileFormats};
use crate::record::{StoredRecord, integer, part_of_day};
use crate::{Day, Error, directory};

/// The files of a directory, those in use open.
#[derive(Debug)]
pub(crate) struct IdentityFiles {
    dir: PathBuf,
    patience: Duration,
    pages: Option<u32>,
    cache: usize,
    open: BTreeMap<Day, OpenFile>,
    /// Day before which sessions were last deleted.
    deleted_before: Option<Day>,
}

/// An open file, and which file it was when it was opened.
#[derive(Debug)]
struct OpenFile {
    connection: Connection,
    inode: Option<(u64, u64)>,
    formats: FileFormats,
    decoders: Decoders<Identity>,
    /// Lengths of prefixes that the file has.
    lengths: BTreeSet<u8>,
}

/// What is stored of a session.
struct Existing {
    number: i64,
    format: i64,
    compact: Vec<u8>,
}

impl IdentityFiles {
    /// Those beside the day files of a directory. Nothing is made before the first session is written.
    pub(crate) fn new(records: &Path, patience: Duration, pages: Option<u32>, cache: usize) -> Self {
        // They are many, and each has few rows that change.
        let cache = cache / 4;
        let (dir, open) = (super::directory(records), BTreeMap::new());
        Self { dir, patience, pages, cache, open, deleted_before: None }
    }

    /// Writes a session within the transaction that is open, or a new one. It replaces what is stored of it.
    pub(crate) fn write(
        &mut self,
        identity: &Identity,
        encoder: &mut Encoder<Identity>,
    ) -> Result<(), Error> {
        let day = Day::of(StoredRecord::start(identity));
        let path = self.dir.join(day.file_name());
        let written = self.opened(day, &path)?.write(identity, encoder);
        self.checked(day, &path, written)
    }

    /// Makes everything that was written durable.
    pub(crate) fn commit(&mut self) -> Result<(), Error> {
        let days: Vec<Day> = self.open.keys().copied().collect();
        days.into_iter().try_for_each(|day| self.commit_day(day))
    }

    fn commit_day(&mut self, day: Day) -> Result<(), Error> {
        let path = self.dir.join(day.file_name());
        let Some(open) = self.open.get(&day).filter(|open| !open.connection.is_autocommit()) else {
            return Ok(());
        };
        let committed = open.connection.execute_batch("COMMIT");
        self.checked(day, &path, committed)
    }

    /// Closes every file, and rolls back what was not committed.
    pub(crate) fn close(&mut self) {
        self.open.clear();
    }

    /// Deletes sessions that ended, or were last heard of, before the day of `limit`, and tells of which days
    /// none is left. Each file is looked at once a day.
    pub(crate) fn delete_before(&mut self, limit: Nanos) -> Result<Vec<Day>, Error> {
        let limit = Day::of(limit);
        if self.deleted_before == Some(limit) {
            return Ok(Vec::new());
        }
        let mut gone = Vec::new();
        for day in days(&self.dir)?.into_iter().filter(|day| *day < limit) {
            self.commit_day(day)?;
            self.open.remove(&day);
            let path = self.dir.join(day.file_name());
            if !self.expire(&path, limit.start())? {
                remove(&path)?;
                gone.push(day);
            }
        }
        self.deleted_before = Some(limit);
        Ok(gone)
    }

    /// Deletes the sessions of a file that are due, and tells whether any is left. A file that nobody can
    /// read has none.
    fn expire(&self, path: &Path, limit: Nanos) -> Result<bool, Error> {
        let expired = connect(path, self.patience, self.pages, self.cache).and_then(|connection| {
            let is_empty = super::version(&connection, path)? == 0;
            let failed = |error| Error::database(path, error);
            if is_empty { Ok(false) } else { expiry::expire(&connection, limit).map_err(failed) }
        });
        match expired {
            Err(Error::Corrupt { .. } | Error::Foreign { .. } | Error::Newer { .. }) => Ok(false),
            other => other,
        }
    }

    /// Rolls back what was not committed if that failed.
    fn checked<T>(&mut self, day: Day, path: &Path, result: rusqlite::Result<T>) -> Result<T, Error> {
        result.map_err(|error| {
            self.open.remove(&day);
            Error::database(path, error)
        })
    }

    fn opened(&mut self, day: Day, path: &Path) -> Result<&mut OpenFile, Error> {
        // A file that was moved away or deleted would swallow what is written to it unseen.
        let found = inode(path);
        if self.open.get(&day).is_some_and(|open| found.is_none() || open.inode != found) {
            self.open.remove(&day);
        }
        if !self.open.contains_key(&day) {
            if self.open.len() >= OPEN
                && let Some(oldest) = self.open.keys().next().copied()
            {
                self.commit_day(oldest)?;
                self.open.remove(&oldest);
            }
            let open = self.open_file(path)?;
            self.open.insert(day, open);
        }
        // Just inserted where it was missing.
        self.open.get_mut(&day).ok_or_else(|| Error::Stopped { path: path.to_owned() })
    }

    /// Opens a file, which its owner alone may read, as its log that SQLite makes beside it.
    fn open_file(&self, path: &Path) -> Result<OpenFile, Error> {
        let failed = |error| Error::file(path, error);
        // The directory of the records is made by the day files: where it is gone, its disk may be.
        match DirBuilder::new().mode(0o700).create(&self.dir) {
            Ok(()) => directory::sync_parent(&self.dir).map_err(failed)?,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(failed(error)),
        }
        OpenOptions::new().append(true).create(true).mode(0o600).open(path).map_err(failed)?;
        expiry::prepare(path)?;
        let mut connection = connect(path, self.patience, self.pages, self.cache)?;
        super::create(&mut connection, path)?;
        let lengths = lengths(&connection).map_err(|error| Error::database(path, error))?;
        let (formats, decoders) = (FileFormats::default(), Decoders::default());
        Ok(OpenFile { connection, inode: inode(path), formats, decoders, lengths })
    }
}

impl OpenFile {
    fn write(&mut self, identity: &Identity, encoder: &mut Encoder<Identity>) -> rusqlite::Result<()> {
        if self.connection.is_autocommit() {
            // Immediate: what is read before the first write must still hold then.
            self.connection.execute_batch("BEGIN IMMEDIATE")?;
        }
        let first = StoredRecord::start(identity);
        let mut compact = Vec::new();
        encoder
            .encode(identity, first.micros(), &[], &mut compact)
            .map_err(|error| rusqlite::Error::ToSqlConversionFailure(Box::new(error)))?;
        let format = self.formats.number::<Identity>(&self.connection)?;
        let (first_us, is_open) = (integer(first.micros()), identity.end.is_none());
        let last_us = integer(identity.end.unwrap_or_default().max(identity.last).micros());
        let (id, rows, part) = (&identity.id.0[..], Rows::of(identity), part_of_day(first));
        let (number, old) = match self.find(&identity.id, part)? {
            Some(old) if old.format == format && old.compact == compact => return Ok(()),
            Some(old) => {
                let sql = "UPDATE identities SET last_us = ?2, is_open = ?3, format = ?4, record = ?5 \
                           WHERE number = ?1";
                let mut update = self.connection.prepare_cached(sql)?;
                update.execute((old.number, last_us, is_open, format, &compact))?;
                (old.number, self.rows_of(&old, identity.id, first)?)
            }
            None => {
                let sql = "INSERT INTO identities (id, first_us, last_us, is_open, format, record) \
                           VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
                let mut insert = self.connection.prepare_cached(sql)?;
                (insert.insert((id, first_us, last_us, is_open, format, &compact))?, Rows::default())
            }
        };
        self.change_addresses(number, &old, &rows)?;
        self.change_names(number, &old, &rows)?;
        self.add_lengths(rows.lengths)
    }

    fn find(&self, id: &Id, part: u8) -> rusqlite::Result<Option<Existing>> {
        let sql = "SELECT number, format, record FROM identities \
                   WHERE first_us % 86400000000 / 7200000000 = ?1 AND id = ?2";
        let existing = |row: &rusqlite::Row<'_>| {
            Ok(Existing { number: row.get(0)?, format: row.get(1)?, compact: row.get(2)? })
        };
        self.connection.prepare_cached(sql)?.query_row((part, &id.0[..]), existing).optional()
    }

    /// The rows of what is stored. Where it cannot be read, they are deleted here.
    fn rows_of(&self, old: &Existing, id: Id, first: Nanos) -> rusqlite::Result<Rows> {
        let column = |name: &str| if name == "id" { Value::Id(id) } else { Value::Null };
        let decoded = self.decoders.with(&self.connection, old.format, |decoder| {
            decoder.decode(&old.compact, first.micros(), column).ok()
        })?;
        if let Some(identity) = decoded.flatten() {
            return Ok(Rows::of(&identity));
        }
        self.connection.execute("DELETE FROM addresses WHERE identity = ?1", [old.number])?;
        self.connection.execute("DELETE FROM names WHERE identity = ?1", [old.number])?;
        Ok(Rows::default())
    }

    fn change_addresses(&self, number: i64, old: &Rows, new: &Rows) -> rusqlite::Result<()> {
        let delete = "DELETE FROM addresses WHERE network = ?1 AND from_us = ?2 AND first_port = ?3 \
                      AND last_port = ?4 AND until_us = ?5 AND identity = ?6";
        let insert = "INSERT OR IGNORE INTO addresses \
                      (network, from_us, first_port, last_port, until_us, identity) \
                      VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
        let change = |sql: &str, rows: &mut dyn Iterator<Item = &AddressRow>| {
            let mut statement = self.connection.prepare_cached(sql)?;
            for AddressRow { network, from, ports, until } in rows {
                statement.execute((network, from, ports.0, ports.1, until, number))?;
            }
            Ok(())
        };
        change(delete, &mut old.addresses.difference(&new.addresses))?;
        change(insert, &mut new.addresses.difference(&old.addresses))
    }

    fn change_names(&self, number: i64, old: &Rows, new: &Rows) -> rusqlite::Result<()> {
        let delete = "DELETE FROM names WHERE name = ?1 AND identity = ?2";
        let insert = "INSERT OR IGNORE INTO names (name, identity) VALUES (?1, ?2)";
        let change = |sql: &str, names: &mut dyn Iterator<Item = &Vec<u8>>| {
            let mut statement = self.connection.prepare_cached(sql)?;
            for name in names {
                statement.execute((name, number))?;
            }
            Ok(())
        };
        change(delete, &mut old.names.difference(&new.names))?;
        change(insert, &mut new.names.difference(&old.names))
    }

    fn add_lengths(&mut self, lengths: BTreeSet<u8>) -> rusqlite::Result<()> {
        for bits in lengths {
            if self.lengths.insert(bits) {
                let sql = "INSERT OR IGNORE INTO lengths (bits) VALUES (?1)";
                self.connection.prepare_cached(sql)?.execute([bits])?;
            }
        }
        Ok(())
    }
}

/// Lengths of the prefixes of a file.
pub(super) fn lengths(connection: &Connection) -> rusqlite::Result<BTreeSet<u8>> {
    let mut select = connection.prepare_cached("SELECT bits FROM lengths")?;
    let lengths = select.query_map([], |row| row.get(0))?;
    lengths.collect()
}

/// The days that have a file, in order; none without the directory.
pub(super) fn days(dir: &Path) -> Result<Vec<Day>, Error> {
    let entries = match fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(Error::io(dir, error)),
    };
    let mut days = Vec::new();
    for entry in entries {
        let name = entry.map_err(|error| Error::io(dir, error))?.file_name();
        days.extend(name.to_str().and_then(Day::from_file_name));
    }
    days.sort_unstable();
    Ok(days)
}

/// Files held open: sessions last for days, and each is written again to the file of its first.
const OPEN: usize = 16;

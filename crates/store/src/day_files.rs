//! The day files that are written to.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ringtap_model::{Id, Nanos};
use rusqlite::Connection;

use crate::changed_minutes;
use crate::database::{connect, inode, remove};
use crate::identities::IdentityFiles;
use crate::migration::{self, OnMigration};
use crate::record::{AnyRecord, Encoders, PendingRecord};
use crate::tables::{FileState, Tables};
use crate::{Day, Error, directory, schema};

/// The day files of a directory, those in use open.
#[derive(Debug)]
pub(crate) struct DayFiles {
    dir: PathBuf,
    /// Bounds the size of each file: a full disk for tests.
    pages: Option<u32>,
    /// How long another process's lock is waited for.
    patience: Duration,
    /// Bytes of memory for pages of an open file.
    cache: usize,
    open: BTreeMap<Day, OpenDay>,
    used: BTreeSet<Day>,
    encoders: Encoders,
    identities: IdentityFiles,
    /// Calls of streams that were written, each with the day of the stream, that are not in the file of that
    /// day.
    elsewhere: BTreeSet<(Day, Id)>,
    on_migration: OnMigration,
}

/// An open file, and which file it was when it was opened.
#[derive(Debug)]
struct OpenDay {
    connection: Connection,
    inode: Option<(u64, u64)>,
    state: FileState,
}

impl DayFiles {
    /// The files of that directory, which is created where it does not exist.
    pub(crate) fn create(
        dir: &Path,
        patience: Duration,
        pages: Option<u32>,
        cache: usize,
        on_migration: OnMigration,
    ) -> Result<Self, Error> {
        directory::create(dir).map_err(|error| match error.kind() {
            // Also where a file system, such as proc, takes no new directories.
            io::ErrorKind::NotFound => Error::CannotCreate { path: dir.to_owned() },
            _ => Error::io(dir, error),
        })?;
        let identities = IdentityFiles::new(dir, patience, pages, cache);
        let mut files = Self {
            dir: dir.to_owned(),
            pages,
            patience,
            cache,
            open: BTreeMap::new(),
            used: BTreeSet::new(),
            encoders: Encoders::new().ok_or_else(|| Error::io(dir, io::ErrorKind::OutOfMemory.into()))?,
            identities,
            elsewhere: BTreeSet::new(),
            on_migration,
        };
        files.roll_back();
        Ok(files)
    }

    /// Opens the files that a power cut left in the middle of a change: that undoes it. Who may only read
    /// them could not, and would be told of missing permissions.
    fn roll_back(&mut self) {
        for entry in fs::read_dir(&self.dir).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let day = name.to_str().and_then(|name| Day::from_file_name(name.strip_suffix("-journal")?));
            if let Some(day) = day {
                // Where that fails, the next record of that day says why.
                let _ = self.opened(day, &self.dir.join(day.file_name()));
            }
        }
    }

    /// Makes the directory again, for what can go nowhere else. As long as there is an outbox, a directory
    /// that is gone is waited for: its disk may have been unmounted.
    pub(crate) fn restore_directory(&self) {
        // The next write says what is wrong.
        let _ = directory::create(&self.dir);
    }

    /// How many day files were written to.
    pub(crate) fn days(&self) -> u64 {
        self.used.len() as u64
    }

    /// One transaction a day; each is durable when this returns. After an error some days may be written and
    /// others not: the same records again do no harm.
    pub(crate) fn store<'a>(
        &mut self,
        records: impl IntoIterator<Item = &'a PendingRecord>,
    ) -> Result<(), Error> {
        self.insert(records)?;
        self.commit()
    }

    /// Writes records within the transactions that are open: nothing is durable, or seen by others, before
    /// [`commit`](Self::commit).
    pub(crate) fn insert<'a>(
        &mut self,
        records: impl IntoIterator<Item = &'a PendingRecord>,
    ) -> Result<(), Error> {
        let mut days = BTreeMap::<Day, Vec<&PendingRecord>>::new();
        for record in records {
            if let AnyRecord::Identity(identity) = &record.record {
                self.used.insert(record.day());
                self.identities.write(identity, &mut self.encoders.identity)?;
                continue;
            }
            days.entry(record.day()).or_default().push(record);
        }
        for (day, records) in days {
            self.change(day, |tables| records.iter().try_for_each(|record| tables.write(record)))?;
            self.used.insert(day);
        }
        Ok(())
    }

    /// Makes everything that was written durable.
    pub(crate) fn commit(&mut self) -> Result<(), Error> {
        self.identities.commit()?;
        let days: Vec<Day> = self.open.keys().copied().collect();
        days.iter().try_for_each(|day| self.look_up_calls(*day))?;
        // Before, for a kill in between; and after, since only then who computes the minute finds the stream.
        let elsewhere = self.elsewhere.clone();
        elsewhere.iter().try_for_each(|(day, call)| self.mark_on_day_before(*day, *call))?;
        days.into_iter().try_for_each(|day| self.commit_day(day))?;
        elsewhere.iter().try_for_each(|(day, call)| self.mark_on_day_before(*day, *call))?;
        self.elsewhere.clear();
        Ok(())
    }

    /// Looks up calls of streams that were written without them.
    fn look_up_calls(&mut self, day: Day) -> Result<(), Error> {
        let Some(open) = self.open.get_mut(&day) else { return Ok(()) };
        let calls = open.state.changed.look_up(&open.connection);
        let calls = self.checked(day, calls)?;
        self.elsewhere.extend(calls.into_iter().map(|call| (day, call)));
        Ok(())
    }

    /// Marks the minute of a call that began on the day before a stream of it that was written.
    fn mark_on_day_before(&mut self, day: Day, call: Id) -> Result<(), Error> {
        let before = Day::of(Nanos(day.start().0.saturating_sub(1)));
        if before == day || !self.dir.join(before.file_name()).exists() {
            return Ok(());
        }
        self.change(before, |tables| tables.stream_of(call))?;
        self.commit_day(before)
    }

    fn commit_day(&mut self, day: Day) -> Result<(), Error> {
        self.look_up_calls(day)?;
        let committed = self.open.get_mut(&day).map_or(Ok(()), OpenDay::commit);
        self.checked(day, committed)
    }

    /// Changes the file of a day, within a transaction that stays open.
    fn change(
        &mut self,
        day: Day,
        change: impl FnOnce(&mut Tables<'_>) -> rusqlite::Result<()>,
    ) -> Result<(), Error> {
        let path = self.dir.join(day.file_name());
        self.opened(day, &path)?;
        // Just opened.
        let open = self.open.get_mut(&day).ok_or_else(|| Error::Stopped { path: path.clone() })?;
        let changed = open.change(&mut self.encoders, change);
        self.checked(day, changed)
    }

    /// Rolls back what was not committed if that failed.
    fn checked<T>(&mut self, day: Day, result: rusqlite::Result<T>) -> Result<T, Error> {
        result.map_err(|error| {
            // What is known of the file may be wrong now.
            self.open.remove(&day);
            Error::database(&self.dir.join(day.file_name()), error)
        })
    }

    /// Closes every file, so that the next use begins with what is there then.
    pub(crate) fn close(&mut self) {
        self.identities.close();
        self.open.clear();
    }

    /// Deletes the files of days that ended before `limit`, and tells which.
    pub(crate) fn delete_before(
        &mut self,
        records: Option<Nanos>,
        sessions: Option<Nanos>,
    ) -> Result<Vec<Day>, Error> {
        let mut gone = Vec::new();
        for entry in fs::read_dir(&self.dir).map_err(|error| Error::io(&self.dir, error))?.flatten() {
            let name = entry.file_name();
            let Some(day) = name.to_str().and_then(Day::from_file_name) else { continue };
            if records.is_none_or(|limit| day.end() > limit) {
                continue;
            }
            self.delete(day)?;
            gone.push(day);
        }
        if let Some(limit) = sessions {
            gone.extend(self.identities.delete_before(limit)?);
        }
        gone.sort();
        gone.dedup();
        Ok(gone)
    }

    /// Deletes the records of a call, and every day file that has no record of a call or a stream then.
    pub(crate) fn remove(&mut self, call: &Id) -> Result<(), Error> {
        for entry in fs::read_dir(&self.dir).map_err(|error| Error::io(&self.dir, error))?.flatten() {
            let name = entry.file_name();
            let Some(day) = name.to_str().and_then(Day::from_file_name) else { continue };
            self.change(day, |tables| tables.remove(call))?;
            self.commit_day(day)?;
            let left = "SELECT EXISTS (SELECT 1 FROM calls) OR EXISTS (SELECT 1 FROM streams)";
            let path = entry.path();
            let failed = |error| Error::database(&path, error);
            let connection = self.opened(day, &path)?;
            let are_unreadable = migration::remove_unreadable(connection, call).map_err(failed)?;
            let left = connection.query_row(left, [], |row| row.get::<_, bool>(0)).map_err(failed)?;
            if !left && !are_unreadable {
                self.delete(day)?;
            }
        }
        Ok(())
    }

    fn delete(&mut self, day: Day) -> Result<(), Error> {
        self.open.remove(&day);
        let path = self.dir.join(day.file_name());
        remove(&path)
    }

    /// Opens the file of a day, if it is not open.
    fn opened(&mut self, day: Day, path: &Path) -> Result<&mut Connection, Error> {
        // A file that was moved away or deleted would swallow what is written to it unseen.
        let inode = inode(path);
        if self.open.get(&day).is_some_and(|open| open.inode != inode) {
            self.open.remove(&day);
        }
        if !self.open.contains_key(&day) {
            if self.open.len() >= OPEN {
                // The oldest day: records of it come least.
                if let Some(oldest) = self.open.keys().next().copied() {
                    self.commit_day(oldest)?;
                    self.open.remove(&oldest);
                }
            }
            let mut connection = connect(path, self.patience, self.pages, self.cache)?;
            schema::create(&mut connection, path)?;
            migration::migrate(&mut connection, path, &mut self.encoders, &self.on_migration)?;
            changed_minutes::prepare(&mut connection).map_err(|error| Error::database(path, error))?;
            let state = FileState::default();
            self.open.insert(day, OpenDay { connection, inode: self::inode(path), state });
        }
        // Just inserted where it was missing.
        let open = self.open.get_mut(&day).ok_or_else(|| Error::Stopped { path: path.to_owned() })?;
        Ok(&mut open.connection)
    }
}

/// SQLite writes the log into the file when the last program closes it; whoever reads closes none. So that a
/// file is whole by itself, also where somebody reads it at that moment, the writer does so before.
impl Drop for OpenDay {
    fn drop(&mut self) {
        // Nobody is waited for. What fails is in the log, as after a kill.
        let _ = self.connection.busy_timeout(Duration::ZERO);
        let _ = self.connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
    }
}

impl OpenDay {
    /// Changes the file, in the transaction that is open or a new one.
    fn change(
        &mut self,
        encoders: &mut Encoders,
        change: impl FnOnce(&mut Tables<'_>) -> rusqlite::Result<()>,
    ) -> rusqlite::Result<()> {
        if self.connection.is_autocommit() {
            // Immediate: what is read before the first write must still hold then.
            self.connection.execute_batch("BEGIN IMMEDIATE")?;
        }
        change(&mut Tables::new(&self.connection, &mut self.state, encoders)?)
    }

    fn commit(&mut self) -> rusqlite::Result<()> {
        if self.connection.is_autocommit() {
            return Ok(());
        }
        self.state.write_keys(&self.connection)?;
        self.state.changed.mark(&self.connection)?;
        self.state.blocks.make(&self.connection)?;
        self.connection.execute_batch("COMMIT")
    }
}

/// Memory for pages of an open file, for commands that write.
pub(crate) const CACHE: usize = 64 << 20;
/// Files held open.
const OPEN: usize = 8;

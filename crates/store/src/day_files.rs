//! The day files that are written to.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ringtap_model::{Id, Nanos};
use rusqlite::Connection;

use crate::record::PendingRecord;
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
}

/// An open file, and which file it was when it was opened.
#[derive(Debug)]
struct OpenDay {
    connection: Connection,
    inode: Option<(u64, u64)>,
}

impl DayFiles {
    /// The files of that directory, which is created where it does not exist.
    pub(crate) fn create(
        dir: &Path,
        patience: Duration,
        pages: Option<u32>,
        cache: usize,
    ) -> Result<Self, Error> {
        directory::create(dir).map_err(|error| match error.kind() {
            // Also where a file system, such as proc, takes no new directories.
            io::ErrorKind::NotFound => Error::CannotCreate { path: dir.to_owned() },
            _ => Error::io(dir, error),
        })?;
        let mut files = Self {
            dir: dir.to_owned(),
            pages,
            patience,
            cache,
            open: BTreeMap::new(),
            used: BTreeSet::new(),
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
                let _ = self.connection(day, &self.dir.join(day.file_name()));
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
        let mut days = BTreeMap::<Day, Vec<&PendingRecord>>::new();
        for record in records {
            days.entry(record.day()).or_default().push(record);
        }
        for (day, records) in days {
            let path = self.dir.join(day.file_name());
            let failed = |error| Error::database(&path, error);
            let transaction = self.connection(day, &path)?.transaction().map_err(failed)?;
            for record in records {
                record.insert(&transaction).map_err(failed)?;
            }
            transaction.commit().map_err(failed)?;
            self.used.insert(day);
        }
        Ok(())
    }

    /// Closes every file, so that the next use begins with what is there then.
    pub(crate) fn close(&mut self) {
        self.open.clear();
    }

    /// Deletes the files of days that ended before `limit`, and tells which.
    pub(crate) fn delete_before(&mut self, limit: Nanos) -> Result<Vec<Day>, Error> {
        let mut gone = Vec::new();
        for entry in fs::read_dir(&self.dir).map_err(|error| Error::io(&self.dir, error))?.flatten() {
            let name = entry.file_name();
            let Some(day) = name.to_str().and_then(Day::from_file_name) else { continue };
            if day.end() > limit {
                continue;
            }
            self.delete(day)?;
            gone.push(day);
        }
        gone.sort();
        Ok(gone)
    }

    /// Deletes the records of a call, and every day file that has no record of a call or a stream then.
    pub(crate) fn remove(&mut self, call: &Id) -> Result<(), Error> {
        let call = call.to_string();
        for entry in fs::read_dir(&self.dir).map_err(|error| Error::io(&self.dir, error))?.flatten() {
            let name = entry.file_name();
            let Some(day) = name.to_str().and_then(Day::from_file_name) else { continue };
            let path = entry.path();
            let failed = |error| Error::database(&path, error);
            let connection = self.connection(day, &path)?;
            for sql in [
                "DELETE FROM calls WHERE id = ?1",
                "DELETE FROM streams WHERE call = ?1",
                "DELETE FROM diversions WHERE call = ?1",
            ] {
                connection.execute(sql, [&call]).map_err(failed)?;
            }
            let left = "SELECT (SELECT count(*) FROM calls) + (SELECT count(*) FROM streams)";
            let left: i64 = connection.query_row(left, [], |row| row.get(0)).map_err(failed)?;
            if left == 0 {
                self.delete(day)?;
            }
        }
        Ok(())
    }

    fn delete(&mut self, day: Day) -> Result<(), Error> {
        self.open.remove(&day);
        let path = self.dir.join(day.file_name());
        fs::remove_file(&path).map_err(|error| Error::io(&path, error))?;
        for suffix in ["-wal", "-shm"] {
            let mut beside = path.clone().into_os_string();
            beside.push(suffix);
            // A file that was closed well has none.
            let _ = fs::remove_file(PathBuf::from(beside));
        }
        Ok(())
    }

    fn connection(&mut self, day: Day, path: &Path) -> Result<&mut Connection, Error> {
        // A file that was moved away or deleted would swallow what is written to it unseen.
        let inode = inode(path);
        if self.open.get(&day).is_some_and(|open| open.inode != inode) {
            self.open.remove(&day);
        }
        if !self.open.contains_key(&day) {
            if self.open.len() >= OPEN {
                // The oldest day: records of it come least.
                self.open.pop_first();
            }
            let connection = open(path, self.patience, self.pages, self.cache)?;
            self.open.insert(day, OpenDay { connection, inode: self::inode(path) });
        }
        // Just inserted where it was missing.
        let open = self.open.get_mut(&day).ok_or_else(|| Error::Stopped { path: path.to_owned() })?;
        Ok(&mut open.connection)
    }
}

fn inode(path: &Path) -> Option<(u64, u64)> {
    fs::metadata(path).ok().map(|file| (file.dev(), file.ino()))
}

/// Opens a day file to write, creating and migrating it as needed.
///
/// synchronous=FULL: in WAL mode a commit then syncs the log, so that what is acknowledged survives a power
/// cut and not the process alone. A batch costs one sync.
fn open(path: &Path, patience: Duration, pages: Option<u32>, cache: usize) -> Result<Connection, Error> {
    let failed = |error| Error::database(path, error);
    let mut connection = Connection::open(path).map_err(failed)?;
    connection.busy_timeout(patience).map_err(failed)?;
    connection.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(())).map_err(failed)?;
    connection.pragma_update(None, "synchronous", "FULL").map_err(failed)?;
    // Ids are spread evenly: their index is touched all over, and had better be in memory. In KiB where
    // negative.
    let kibibytes = i64::try_from(cache >> 10).unwrap_or(i64::MAX);
    connection.pragma_update(None, "cache_size", -kibibytes).map_err(failed)?;
    if let Some(pages) = pages {
        connection.pragma_update_and_check(None, "max_page_count", pages, |_| Ok(())).map_err(failed)?;
    }
    schema::migrate(&mut connection, path)?;
    Ok(connection)
}

/// Memory for pages of an open file, for commands that write.
pub(crate) const CACHE: usize = 32 << 20;
/// Files held open.
const OPEN: usize = 8;

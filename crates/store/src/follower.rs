//! Follows the calls of a directory as they are stored, without the process that stores them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use ringtap_model::{Call, Id};

use crate::day_reader::DayReader;
use crate::migration::OnMigration;
use crate::{Day, Error, Reader};

/// How far the calls of each day were followed: the number of a row, by the name of the day's file.
pub type Places = BTreeMap<String, u64>;

/// Follows the calls of a directory as they are stored. It remembers how far it came in each day, so that
/// another one goes on where this one ended, after a restart as well.
///
/// Only days whose file changed since the last time are opened. The record of a call that is replaced by a
/// newer one may come again.
#[derive(Debug)]
pub struct Follower {
    directory: PathBuf,
    places: Places,
    /// What the files of a day were when it was read to its end.
    read: BTreeMap<Day, Version>,
}

/// Size and time of a file, and of its write-ahead log.
type Version = [Option<(u64, SystemTime)>; 2];

impl Follower {
    /// Follows what is stored from now on. The directory may be one to come.
    ///
    /// # Errors
    ///
    /// A day cannot be read.
    pub fn from_now(directory: &Path) -> Result<Self, Error> {
        let mut follower = Self::behind(directory, Places::new());
        for day in follower.days()? {
            if let Some(file) = follower.open(day)? {
                follower.places.insert(day.file_name(), file.last_call()?);
            }
        }
        Ok(follower)
    }

    /// Follows what is stored behind these places: where [`places`](Self::places) was before a restart.
    pub fn behind(directory: &Path, places: Places) -> Self {
        Self { directory: directory.to_owned(), places, read: BTreeMap::new() }
    }

    /// How far it came.
    pub fn places(&self) -> &Places {
        &self.places
    }

    /// The next calls that were stored, at most `limit`, in the order in which a day has them; none where
    /// there are no further ones yet.
    ///
    /// # Errors
    ///
    /// A day cannot be read. What was passed before is not lost: it comes again.
    pub fn next(&mut self, limit: usize) -> Result<Vec<Call>, Error> {
        let days = self.days()?;
        let names: Vec<String> = days.iter().map(|day| day.file_name()).collect();
        self.places.retain(|name, _| names.contains(name));
        self.read.retain(|day, _| days.contains(day));
        let (mut calls, mut places) = (Vec::new(), self.places.clone());
        for (day, name) in days.into_iter().zip(names) {
            let version = self.version(day);
            if self.read.get(&day) == Some(&version) {
                continue;
            }
            let Some(file) = self.open(day)? else { continue };
            let last = file.last_call()?;
            // A file that was put in the place of another is followed from its end.
            let mut place = places.get(&name).copied().unwrap_or_default().min(last);
            for (number, id) in file.calls_behind(place, limit - calls.len())? {
                // It was replaced meanwhile where it is not found, and comes with its new number.
                calls.extend(file.call(&id)?);
                place = number;
            }
            places.insert(name, place);
            if calls.len() >= limit {
                break;
            }
            // Times of files are coarse: a change right behind the last one may show the same.
            if is_at_rest(&version) {
                self.read.insert(day, version);
            }
        }
        self.places = places;
        Ok(calls)
    }

    fn days(&self) -> Result<Vec<Day>, Error> {
        match Reader::open(&self.directory) {
            Ok(reader) => reader.days(),
            Err(Error::NoDays { .. }) => Ok(Vec::new()),
            Err(_) if !self.directory.exists() => Ok(Vec::new()),
            Err(error) => Err(error),
        }
    }

    fn path(&self, day: Day) -> PathBuf {
        self.directory.join(day.file_name())
    }

    /// A day of which only calls on hold are left is not followed.
    fn open(&self, day: Day) -> Result<Option<DayReader>, Error> {
        let path = self.path(day);
        if path.exists() { DayReader::open(path, &OnMigration::default()) } else { Ok(None) }
    }

    fn version(&self, day: Day) -> Version {
        let path = self.path(day);
        let mut log = path.clone().into_os_string();
        log.push("-wal");
        [path, log.into()].map(|path| {
            let found = fs::metadata(path).ok()?;
            Some((found.len(), found.modified().ok()?))
        })
    }
}

/// Whether the files were changed long enough ago for the next change to have another time.
fn is_at_rest(version: &Version) -> bool {
    let long_ago = |(_, changed): &(u64, SystemTime)| changed.elapsed().is_ok_and(|since| since > COARSE);
    version.iter().flatten().all(long_ago)
}

impl DayReader {
    /// The number of the call that was stored last; 0 without any.
    fn last_call(&self) -> Result<u64, Error> {
        let failed = |error| self.failed(error);
        let sql = "SELECT coalesce(max(number), 0) FROM calls";
        let last: i64 = self.connection().query_row(sql, [], |row| row.get(0)).map_err(failed)?;
        Ok(last.unsigned_abs())
    }

    /// Numbers and ids of calls that were stored behind that one.
    fn calls_behind(&self, place: u64, limit: usize) -> Result<Vec<(u64, Id)>, Error> {
        let failed = |error| self.failed(error);
        let sql = "SELECT number, id FROM calls WHERE number > ?1 ORDER BY number LIMIT ?2";
        let mut statement = self.connection().prepare_cached(sql).map_err(failed)?;
        let values = [i64::try_from(place), i64::try_from(limit)].map(|value| value.unwrap_or(i64::MAX));
        let rows = statement.query_map(values, |row| Ok((row.get::<_, i64>(0)?, row.get::<_, [u8; 16]>(1)?)));
        let rows = rows.map_err(failed)?;
        rows.map(|row| row.map(|(number, id)| (number.unsigned_abs(), Id(id))).map_err(failed)).collect()
    }
}

/// Longer than any file system's unit of time.
const COARSE: Duration = Duration::from_secs(3);

#[cfg(test)]
mod tests {
    use ringtap_model::{CallState, Nanos};
    use ringtap_testing::samples;

    use super::*;
    use crate::ImportWriter;

    const NIGHT: Nanos = Nanos(1_795_219_200_000_000_000);

    fn call(number: u8, invite: Nanos) -> Call {
        let mut id = [0; 16];
        id[0] = number;
        let call_id = format!("{number}@host");
        Call { id: Id(id), call_id, invite: Some(invite), ..samples::call() }
    }

    fn store(directory: &Path, calls: &[Call]) {
        let mut writer = ImportWriter::open(directory).unwrap();
        calls.iter().for_each(|call| writer.call(call, &[]).unwrap());
        writer.close().unwrap();
    }

    fn ids(calls: &[Call]) -> Vec<u8> {
        calls.iter().map(|call| call.id.0[0]).collect()
    }

    #[test]
    fn calls_come_once_in_the_order_they_are_stored_over_days_and_restarts() {
        let dir = tempfile::tempdir().unwrap();
        let records = dir.path().join("records");
        let mut follower = Follower::from_now(&records).unwrap();
        assert_eq!(follower.next(10).unwrap(), []);
        // One began before midnight, and is stored after one of the next day.
        let (late, early) = (NIGHT + Nanos::from_secs(5), Nanos(NIGHT.0 - 5_000_000_000));
        store(&records, &[call(1, late)]);
        store(&records, &[call(2, early), call(3, late)]);
        let mut found = ids(&follower.next(2).unwrap());
        found.extend(ids(&follower.next(2).unwrap()));
        assert_eq!(found, [2, 1, 3]);
        assert_eq!(follower.next(2).unwrap(), []);

        store(&records, &[call(4, early)]);
        let mut next = Follower::behind(&records, follower.places().clone());
        assert_eq!(ids(&next.next(9).unwrap()), [4]);
        assert_eq!(next.next(9).unwrap(), []);
        // A new one has nothing to do with what is there.
        let mut new = Follower::from_now(&records).unwrap();
        assert_eq!(new.next(9).unwrap(), []);
        store(&records, &[call(5, late)]);
        assert_eq!((ids(&new.next(9).unwrap()), ids(&next.next(9).unwrap())), (vec![5], vec![5]));
    }

    #[test]
    fn a_record_that_is_replaced_and_a_file_that_is_new_do_not_stop_it() {
        let dir = tempfile::tempdir().unwrap();
        store(dir.path(), &[call(1, NIGHT), call(2, NIGHT)]);
        let mut follower = Follower::behind(dir.path(), Places::new());
        assert_eq!(ids(&follower.next(9).unwrap()), [1, 2]);
        let changed = Call { state: CallState::Failed, ..call(1, NIGHT) };
        store(dir.path(), std::slice::from_ref(&changed));
        assert_eq!(follower.next(9).unwrap(), [changed]);
        let day = Day::of(NIGHT).file_name();
        for file in ["", "-wal", "-shm"] {
            let _ = fs::remove_file(dir.path().join(format!("{day}{file}")));
        }
        store(dir.path(), &[call(7, NIGHT)]);
        assert_eq!(follower.next(9).unwrap(), []);
        store(dir.path(), &[call(8, NIGHT)]);
        assert_eq!(ids(&follower.next(9).unwrap()), [8]);
    }
}

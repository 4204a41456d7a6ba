//! What is computed from the records of each minute, and stored beside them: made anew whenever a record of
//! the minute has changed.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use ringtap_model::{Call, Nanos, Registration, Stream};
use rusqlite::types::Value as Sql;
use rusqlite::{Connection, OpenFlags, params};

use crate::changed_minutes::{self, Minute};
use crate::day_reader::DayReader;
use crate::{Day, Error, Reader, schema};

/// Computes something from the records of a minute.
pub trait FoldMinute {
    /// Adds a call that began in the minute, with its streams.
    fn call(&mut self, call: &Call, streams: &[Stream]);

    /// Adds a registration that began in the minute.
    fn registration(&mut self, registration: &Registration);

    /// The result.
    fn finish(self: Box<Self>) -> FoldedMinute;
}

/// The result of a minute, as bytes that the store does not look into.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FoldedMinute {
    /// What the next five minutes need of this one. It depends on the records of this minute alone.
    pub pairs: Vec<u8>,
    /// The rollup, which may depend on what the five minutes before have in `pairs`.
    pub rollup: Vec<u8>,
}

/// How a rollup is made.
pub trait MakeRollup {
    /// Changes where rollups that are stored are no longer valid, such as with other settings.
    fn settings(&self) -> u64;

    /// Begins a minute; `before` is what [`FoldedMinute::pairs`] was of the five minutes before it, those
    /// without records left out.
    fn begin(&self, minute: Nanos, before: &[Vec<u8>]) -> Box<dyn FoldMinute + '_>;
}

/// Where rollups came from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RollupCounts {
    /// Minutes that were stored and valid.
    pub stored: u64,
    /// Minutes that were computed from their records.
    pub computed: u64,
    /// Day files that were read.
    pub days: u64,
}

impl Reader {
    /// Passes the rollup of each minute that has a call or a registration, in order, from the minute of the
    /// first moment to that before the last. Minutes that are not stored, or of which a record has changed,
    /// are computed, and stored where the files may be written.
    ///
    /// # Errors
    ///
    /// A file cannot be read; or the search is over that stops this reader: what was computed is stored, so
    /// that the next attempt goes on from there.
    pub fn rollups(
        &self,
        (from, to): (Nanos, Nanos),
        make: &dyn MakeRollup,
        mut each: impl FnMut(Nanos, &[u8]) -> Result<(), Error>,
    ) -> Result<RollupCounts, Error> {
        let mut counts = RollupCounts::default();
        let mut before = None;
        for day in self.own_days()? {
            if day.end() <= from || day.start() >= to {
                continue;
            }
            // The day before, for the first minutes of this one.
            if before.as_ref().is_none_or(|file: &DayMinutes| file.day.end() != day.start()) {
                before = self.day_before(day)?;
            }
            let Some(mut file) = self.minutes_of(day)? else { continue };
            counts.days += 1;
            let first = if from > day.start() { changed_minutes::minute(from) } else { 0 };
            let last = if to < day.end() { to.since(day.start()).0.div_ceil(MINUTE) as Minute } else { 1440 };
            file.each(first..last, before.as_ref(), make, self, &mut counts, &mut each)?;
            before = Some(file);
        }
        Ok(counts)
    }

    fn day_before(&self, day: Day) -> Result<Option<DayMinutes>, Error> {
        let before = Day::of(Nanos(day.start().0.saturating_sub(1)));
        if before == day || !self.own_days()?.contains(&before) { Ok(None) } else { self.minutes_of(before) }
    }

    fn minutes_of(&self, day: Day) -> Result<Option<DayMinutes>, Error> {
        let Some(reader) = self.open_day(day)? else { return Ok(None) };
        let path = self.directory().join(day.file_name());
        let writer = open_to_store(&path);
        let failed = |error| Error::database(&path, error);
        let is_prepared = changed_minutes::is_prepared(reader.connection()).map_err(failed)?;
        let mut file = DayMinutes { day, reader, writer, is_prepared, versions: BTreeMap::new() };
        file.versions = file.all_versions().map_err(failed)?;
        Ok(Some(file))
    }
}

/// The minutes of a day file.
struct DayMinutes {
    day: Day,
    reader: DayReader,
    /// None where the file may not be written.
    writer: Option<Connection>,
    is_prepared: bool,
    /// The version of each minute that has records.
    versions: BTreeMap<Minute, u64>,
}

/// A minute's result with the versions of the minutes that it was computed from.
struct Computed {
    minute: Minute,
    versions: Versions,
    folded: FoldedMinute,
}

/// Versions of the five minutes before a minute and of the minute itself.
type Versions = [u64; 1 + BEFORE];

impl DayMinutes {
    fn all_versions(&self) -> rusqlite::Result<BTreeMap<Minute, u64>> {
        // A file that nobody could prepare: every minute may have records, and none is ever stored.
        if !self.is_prepared {
            return Ok((0..1440).map(|minute| (minute, 1)).collect());
        }
        let mut select = self.reader.connection().prepare_cached("SELECT minute, version FROM minutes")?;
        select.query_map([], |row| Ok((row.get(0)?, row.get::<_, i64>(1)? as u64)))?.collect()
    }

    fn each(
        &mut self,
        minutes: std::ops::Range<Minute>,
        before: Option<&Self>,
        make: &dyn MakeRollup,
        store: &Reader,
        counts: &mut RollupCounts,
        each: &mut impl FnMut(Nanos, &[u8]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let path = store.directory().join(self.day.file_name());
        let failed = |error| Error::database(&path, error);
        let mut computed: Vec<Computed> = Vec::new();
        let mut pairs: BTreeMap<i32, Vec<u8>> = BTreeMap::new();
        let wanted: Vec<Minute> = self.versions.range(minutes).map(|(minute, _)| *minute).collect();
        for minute in wanted {
            let start = self.day.start() + Nanos(u64::from(minute) * MINUTE);
            let versions = self.versions_at(minute, before);
            if let Some(rollup) = self.stored(minute, &versions, make).map_err(failed)? {
                counts.stored += 1;
                each(start, &rollup)?;
                continue;
            }
            let (version, folded) = match self.compute(minute, before, &mut pairs, make, store) {
                Ok(computed) => computed,
                Err(error) => {
                    // The next attempt goes on where this one was stopped.
                    self.store(&mut computed, make);
                    return Err(error);
                }
            };
            let mut versions = versions;
            versions[BEFORE] = version;
            counts.computed += 1;
            each(start, &folded.rollup)?;
            pairs.insert(minute.into(), folded.pairs.clone());
            computed.push(Computed { minute, versions, folded });
            if computed.len() >= STORED_AT_ONCE {
                self.store(&mut computed, make);
            }
        }
        self.store(&mut computed, make);
        Ok(())
    }

    /// Computes a minute, with what `pairs` has, or is given, of the minutes before it.
    fn compute(
        &self,
        minute: Minute,
        before: Option<&Self>,
        pairs: &mut BTreeMap<i32, Vec<u8>>,
        make: &dyn MakeRollup,
        store: &Reader,
    ) -> Result<(u64, FoldedMinute), Error> {
        if store.is_over() {
            return Err(Error::Interrupted { path: store.directory().join(self.day.file_name()) });
        }
        let near = i32::from(minute) - BEFORE as i32;
        pairs.retain(|minute, _| *minute >= near);
        for place in near..i32::from(minute) {
            let file = if place < 0 { before } else { Some(self) };
            if let (Some(file), false) = (file, pairs.contains_key(&place)) {
                pairs.insert(place, file.pairs((place.rem_euclid(1440)) as Minute, make, store)?);
            }
        }
        let known: Vec<Vec<u8>> = pairs.values().filter(|pairs| !pairs.is_empty()).cloned().collect();
        self.fold(minute, &known, make, store)
    }

    fn versions_at(&self, minute: Minute, before: Option<&Self>) -> Versions {
        std::array::from_fn(|place| {
            let at = i32::from(minute) + place as i32 - BEFORE as i32;
            let file = if at < 0 { before } else { Some(self) };
            let version = |file: &Self| {
                let at = at.rem_euclid(1440) as Minute;
                file.versions.get(&at).copied().unwrap_or(0)
            };
            file.map_or(NO_FILE, version)
        })
    }

    /// The rollup that is stored of a minute, if it is valid.
    fn stored(
        &self,
        minute: Minute,
        versions: &Versions,
        make: &dyn MakeRollup,
    ) -> rusqlite::Result<Option<Vec<u8>>> {
        if !self.is_prepared {
            return Ok(None);
        }
        let sql = "SELECT versions, rollup FROM rollups WHERE minute = ?1 AND settings = ?2";
        let mut select = self.reader.connection().prepare_cached(sql)?;
        let mut rows = select.query(params![minute, make.settings() as i64])?;
        let Some(row) = rows.next()? else { return Ok(None) };
        let found = unpacked(row.get_ref(0)?.as_blob().unwrap_or_default());
        // A day that was deleted since then is no reason to compute its neighbour again.
        let same = |(found, now): (&u64, &u64)| found == now || *now == NO_FILE;
        if !found.is_some_and(|found| found.iter().zip(versions).all(same)) {
            return Ok(None);
        }
        Ok(zstd::decode_all(row.get_ref(1)?.as_blob().unwrap_or_default()).ok())
    }

    /// What the minutes after a minute need of it.
    fn pairs(&self, minute: Minute, make: &dyn MakeRollup, store: &Reader) -> Result<Vec<u8>, Error> {
        let Some(version) = self.versions.get(&minute) else { return Ok(Vec::new()) };
        let path = store.directory().join(self.day.file_name());
        let stored = || -> rusqlite::Result<Option<Vec<u8>>> {
            if !self.is_prepared {
                return Ok(None);
            }
            let sql = "SELECT versions, pairs FROM rollups WHERE minute = ?1 AND settings = ?2";
            let mut select = self.reader.connection().prepare_cached(sql)?;
            let mut rows = select.query(params![minute, make.settings() as i64])?;
            let Some(row) = rows.next()? else { return Ok(None) };
            let found = unpacked(row.get_ref(0)?.as_blob().unwrap_or_default());
            let is_valid = found.is_some_and(|found| found[BEFORE] == *version);
            if is_valid { row.get(1).map(Some) } else { Ok(None) }
        };
        match stored().map_err(|error| Error::database(&path, error))? {
            Some(pairs) => Ok(pairs),
            None => Ok(self.fold(minute, &[], make, store)?.1.pairs),
        }
    }

    /// Computes a minute: its version, and the result.
    fn fold(
        &self,
        minute: Minute,
        before: &[Vec<u8>],
        make: &dyn MakeRollup,
        store: &Reader,
    ) -> Result<(u64, FoldedMinute), Error> {
        let path = store.directory().join(self.day.file_name());
        let failed = |error| Error::database(&path, error);
        let connection = self.reader.connection();
        // The version and the records of one moment.
        let snapshot = connection.unchecked_transaction().map_err(failed)?;
        let version = self.version_now(minute).map_err(failed)?;
        let mut fold = make.begin(self.day.start() + Nanos(u64::from(minute) * MINUTE), before);
        let seconds = [u64::from(minute) * 60, u64::from(minute) * 60 + 59];
        let seconds = seconds.map(|second| Sql::Integer(second as i64));
        let condition = |column| format!("{} BETWEEN ?1 AND ?2", schema::second_of_day(column));
        self.reader.each::<Call>(&condition("start_us"), &seconds, false, |call| {
            let streams = store.streams_of_call(&self.reader, &call)?;
            fold.call(&call, &streams);
            Ok(true)
        })?;
        self.reader.each::<Registration>(&condition("first_us"), &seconds, false, |registration| {
            fold.registration(&registration);
            Ok(true)
        })?;
        snapshot.commit().map_err(failed)?;
        Ok((version, fold.finish()))
    }

    fn version_now(&self, minute: Minute) -> rusqlite::Result<u64> {
        if !self.is_prepared {
            return Ok(1);
        }
        let sql = "SELECT coalesce((SELECT version FROM minutes WHERE minute = ?1), 0)";
        let mut select = self.reader.connection().prepare_cached(sql)?;
        select.query_row([minute], |row| row.get::<_, i64>(0)).map(|version| version as u64)
    }

    /// Stores what was computed. Where that fails it is computed again the next time.
    fn store(&mut self, computed: &mut Vec<Computed>, make: &dyn MakeRollup) {
        let computed = std::mem::take(computed);
        let Some(connection) = self.writer.as_mut().filter(|_| self.is_prepared) else { return };
        let mut store = || -> rusqlite::Result<()> {
            let transaction = connection.transaction()?;
            let sql = "INSERT OR REPLACE INTO rollups (minute, settings, versions, pairs, rollup) \
                       VALUES (?1, ?2, ?3, ?4, ?5)";
            let mut insert = transaction.prepare_cached(sql)?;
            for Computed { minute, versions, folded } in &computed {
                let Ok(rollup) = zstd::bulk::compress(&folded.rollup, 1) else { continue };
                let values = params![minute, make.settings() as i64, packed(versions), folded.pairs, rollup];
                insert.execute(values)?;
            }
            drop(insert);
            transaction.commit()
        };
        if store().is_err() {
            self.writer = None;
        }
    }
}

/// Opens a day file to store rollups in it; none where it may not be written.
fn open_to_store(path: &Path) -> Option<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(path, flags).ok()?;
    connection.busy_timeout(PATIENCE).ok()?;
    // The writer of records copies pages from the log into the file; the last one to close it does otherwise.
    connection.pragma_update_and_check(None, "wal_autocheckpoint", 0, |_| Ok(())).ok()?;
    // What a power cut takes is computed again.
    connection.pragma_update(None, "synchronous", "NORMAL").ok()?;
    changed_minutes::prepare(&mut connection).ok()?;
    Some(connection)
}

fn packed(versions: &Versions) -> Vec<u8> {
    versions.iter().flat_map(|version| version.to_le_bytes()).collect()
}

fn unpacked(bytes: &[u8]) -> Option<Versions> {
    let mut versions = [0; 1 + BEFORE];
    if bytes.len() != 8 * versions.len() {
        return None;
    }
    for (version, bytes) in versions.iter_mut().zip(bytes.chunks_exact(8)) {
        *version = u64::from_le_bytes(bytes.try_into().ok()?);
    }
    Some(versions)
}

/// Minutes before a minute that its rollup depends on.
const BEFORE: usize = 5;
/// In place of the version of a minute of which there is no day file.
const NO_FILE: u64 = u64::MAX;
/// Minutes that are stored in a transaction: the writer of records waits for it.
const STORED_AT_ONCE: usize = 32;
/// How long the lock of a writer is waited for.
const PATIENCE: Duration = Duration::from_secs(2);
/// A minute in nanoseconds.
const MINUTE: u64 = 60_000_000_000;

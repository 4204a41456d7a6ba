//! Answers to questions, over all day files in order of time.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ringtap_model::{Call, Id, Message, Registration, Stream};
use rusqlite::types::Value as Sql;
use rusqlite::{Connection, OpenFlags, params_from_iter};

use crate::holds::HELD;
use crate::record::StoredRecord;
use crate::{Day, Error, Query, schema};

/// The answer to a [`Query`].
#[derive(Clone, Debug, PartialEq)]
pub struct Found<R> {
    /// Records in order of their beginning.
    pub records: Vec<R>,
    /// There were more than the query's limit.
    pub cut: bool,
    /// Day files that were searched. 0: nothing is stored for the time asked for.
    pub days: usize,
}

impl<R> Default for Found<R> {
    fn default() -> Self {
        Self { records: Vec::new(), cut: false, days: 0 }
    }
}

impl<R> Found<R> {
    /// Adds a record; returns whether there is room for another.
    fn add(&mut self, record: R, limit: usize) -> bool {
        self.cut = self.records.len() >= limit;
        if !self.cut {
            self.records.push(record);
        }
        !self.cut
    }
}

/// Searches a directory of day files, also while an [`ImportWriter`](crate::ImportWriter) writes to it.
///
/// An answer is whole or an error: one file that cannot be read fails the search.
#[derive(Clone, Debug)]
pub struct Reader {
    dir: PathBuf,
}

impl Reader {
    /// A reader of that directory, which must exist and hold a day file.
    pub fn open(dir: &Path) -> Result<Self, Error> {
        let reader = Self { dir: dir.to_owned() };
        if reader.days()?.is_empty() { Err(Error::NoDays { path: reader.dir }) } else { Ok(reader) }
    }

    /// The days that have a file, in order; those of which only records of calls on hold are left as well.
    pub fn days(&self) -> Result<Vec<Day>, Error> {
        let mut days = days(&self.dir)?;
        let held = self.dir.join(HELD);
        if held.is_dir() {
            days.extend(self::days(&held)?);
        }
        days.sort_unstable();
        days.dedup();
        Ok(days)
    }

    /// Calls that satisfy a query.
    pub fn calls(&self, query: &Query) -> Result<Found<Call>, Error> {
        let condition = query.of_calls();
        let streams = query.filter.needs_streams();
        self.search(query, "start_us", condition, |day: &DayFile, call: &Call| {
            let streams = if streams { self.streams_of_call(day, call)? } else { Vec::new() };
            Ok(query.filter.selects_call(call, &streams))
        })
    }

    /// Streams that satisfy a query, in order of their first packet.
    pub fn streams(&self, query: &Query) -> Result<Found<Stream>, Error> {
        let of_calls = query.filter.of_calls();
        if !of_calls.is_set() {
            let condition = query.of_streams();
            let selects = |_: &DayFile, stream: &Stream| Ok(query.filter.selects_stream(stream, None));
            return self.search(query, "first_us", condition, selects);
        }
        // A call may be of an earlier day than its streams: its time is no condition.
        let mut found = Found { days: self.searched(query)?.len(), ..Found::default() };
        for call in self.calls(&of_calls.into())?.records {
            let streams = self.streams_of(&call.id)?;
            let selected = |stream: &Stream| query.filter.selects_stream(stream, Some(&call));
            found.records.extend(streams.into_iter().filter(selected));
        }
        found.records.sort_by_key(|stream| (stream.first, stream.id));
        found.cut = found.records.len() > query.limit;
        found.records.truncate(query.limit);
        Ok(found)
    }

    /// Registrations that satisfy a query.
    pub fn registrations(&self, query: &Query) -> Result<Found<Registration>, Error> {
        let selects = |_: &DayFile, found: &Registration| Ok(query.filter.selects_registration(found));
        self.search(query, "first_us", query.of_others("first_us"), selects)
    }

    /// SIP MESSAGEs that satisfy a query.
    pub fn messages(&self, query: &Query) -> Result<Found<Message>, Error> {
        let selects = |_: &DayFile, found: &Message| Ok(query.filter.selects_message(found));
        self.search(query, "time_us", query.of_others("time_us"), selects)
    }

    /// The call of that id, if it is stored.
    pub fn call(&self, id: &Id) -> Result<Option<Call>, Error> {
        let values = [Sql::Text(id.to_string())];
        for day in self.searchable()? {
            let Some(day) = self.open_day(day)? else { continue };
            let calls = day.all("SELECT id, json FROM calls WHERE id = ?1", &values)?;
            if let Some(call) = calls.into_iter().next() {
                return Ok(Some(call));
            }
        }
        Ok(None)
    }

    /// The records of a call's media streams, in order of their first packet.
    ///
    /// A stream is stored on the day that it began, which may be after the call's: all days are searched.
    pub fn streams_of(&self, call: &Id) -> Result<Vec<Stream>, Error> {
        let mut streams = Vec::new();
        for day in self.searchable()? {
            if let Some(day) = self.open_day(day)? {
                streams.extend(day.streams_of(call)?);
            }
        }
        Ok(streams)
    }

    /// The same, where the record of the call is in the file of `day`: other days are searched only for
    /// streams that are missing there.
    fn streams_of_call(&self, day: &DayFile, call: &Call) -> Result<Vec<Stream>, Error> {
        let streams = day.streams_of(&call.id)?;
        if streams.len() >= call.streams.len() { Ok(streams) } else { self.streams_of(&call.id) }
    }

    /// Each of these calls with its streams, in their order.
    pub fn with_streams(&self, calls: &[Call], mut each: impl FnMut(&Call, &[Stream])) -> Result<(), Error> {
        let mut open: Option<(Day, DayFile)> = None;
        for call in calls {
            let day = Day::of(StoredRecord::start(call));
            if open.as_ref().is_none_or(|(other, _)| *other != day) {
                open = self.open_day(day)?.map(|file| (day, file));
            }
            let streams = match &open {
                Some((_, file)) => self.streams_of_call(file, call)?,
                None => Vec::new(),
            };
            each(call, &streams);
        }
        Ok(())
    }

    fn search<R: StoredRecord>(
        &self,
        query: &Query,
        start: &str,
        (condition, values): (String, Vec<Sql>),
        selects: impl Fn(&DayFile, &R) -> Result<bool, Error>,
    ) -> Result<Found<R>, Error> {
        let sql = format!("SELECT id, json FROM {} WHERE {condition} ORDER BY {start}, id", R::TABLE);
        let mut found = Found::default();
        for day in self.searched(query)? {
            found.days += 1;
            let Some(day) = self.open_day(day)? else { continue };
            day.each(&sql, &values, |record| Ok(!selects(&day, &record)? || found.add(record, query.limit)))?;
            if found.cut {
                break;
            }
        }
        Ok(found)
    }

    /// The days that a query is about.
    fn searched(&self, query: &Query) -> Result<Vec<Day>, Error> {
        Ok(self.searchable()?.into_iter().filter(|&day| query.covers(day)).collect())
    }

    /// The days, at least one: a directory that was emptied meanwhile is no empty answer.
    fn searchable(&self) -> Result<Vec<Day>, Error> {
        let days = self.days()?;
        if days.is_empty() { Err(Error::NoDays { path: self.dir.clone() }) } else { Ok(days) }
    }

    /// The file of a day; none if it was created but never written.
    fn open_day(&self, day: Day) -> Result<Option<DayFile>, Error> {
        let mut path = self.dir.join(day.file_name());
        let held = self.dir.join(HELD).join(day.file_name());
        // The day has all that is held of it, as long as it is there.
        if !path.exists() && held.exists() {
            path = held;
        }
        Ok(open(&path)?.map(|connection| DayFile { path, connection }))
    }
}

/// The file of a day, open to read.
#[derive(Debug)]
struct DayFile {
    path: PathBuf,
    connection: Connection,
}

impl DayFile {
    fn streams_of(&self, call: &Id) -> Result<Vec<Stream>, Error> {
        let values = [Sql::Text(call.to_string())];
        self.all("SELECT id, json FROM streams WHERE call = ?1 ORDER BY first_us, id", &values)
    }

    /// Records by a statement that selects id and JSON.
    fn all<R: StoredRecord>(&self, sql: &str, values: &[Sql]) -> Result<Vec<R>, Error> {
        let mut all = Vec::new();
        self.each(sql, values, |record| {
            all.push(record);
            Ok(true)
        })?;
        Ok(all)
    }

    /// Passes records one by one, until `each` has enough.
    fn each<R: StoredRecord>(
        &self,
        sql: &str,
        values: &[Sql],
        mut each: impl FnMut(R) -> Result<bool, Error>,
    ) -> Result<(), Error> {
        let failed = |error| Error::database(&self.path, error);
        let mut statement = self.connection.prepare_cached(sql).map_err(failed)?;
        let mut rows = statement.query(params_from_iter(values)).map_err(failed)?;
        while let Some(row) = rows.next().map_err(failed)? {
            let id: String = row.get(0).map_err(failed)?;
            let json: String = row.get(1).map_err(failed)?;
            let record = serde_json::from_str(&json).map_err(|error| Error::Corrupt {
                path: self.path.clone(),
                reason: format!("{} {id} cannot be read: {error}", R::NAME),
            })?;
            if !each(record)? {
                break;
            }
        }
        Ok(())
    }
}

/// The days that have a file in a directory.
fn days(dir: &Path) -> Result<Vec<Day>, Error> {
    let failed = |error| Error::io(dir, error);
    let mut days = Vec::new();
    for entry in fs::read_dir(dir).map_err(failed)? {
        let name = entry.map_err(failed)?.file_name();
        days.extend(name.to_str().and_then(Day::from_file_name));
    }
    Ok(days)
}

/// Opens a day file to read, migrating it first where it is of an older version. `None`: created but never
/// written, as a killed writer can leave it.
fn open(path: &Path) -> Result<Option<Connection>, Error> {
    let connection = open_read_only(path)?;
    match schema::version(&connection, path)? {
        0 => Ok(None),
        schema::VERSION => Ok(Some(connection)),
        found if found > schema::VERSION => {
            Err(Error::Newer { path: path.to_owned(), found, known: schema::VERSION })
        }
        _ => {
            drop(connection);
            let failed = |error| Error::database(path, error);
            let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
            let mut connection = Connection::open_with_flags(path, flags).map_err(failed)?;
            connection.busy_timeout(PATIENCE).map_err(failed)?;
            schema::migrate(&mut connection, path)?;
            Ok(Some(connection))
        }
    }
}

fn open_read_only(path: &Path) -> Result<Connection, Error> {
    let failed = |error| Error::database(path, error);
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags).map_err(failed)?;
    connection.busy_timeout(PATIENCE).map_err(failed)?;
    let readable = connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get::<_, i64>(0));
    match readable.map_err(failed) {
        Ok(_) => Ok(connection),
        // A file in WAL mode wants its -wal and -shm beside it. Where this user may not create them and no
        // writer has left any, the file is complete and at rest.
        Err(Error::Permission { .. }) if !beside(path, "-wal").exists() => open_at_rest(path),
        Err(error) => Err(error),
    }
}

/// Opens a file that nobody writes to, taking no locks and creating nothing.
fn open_at_rest(path: &Path) -> Result<Connection, Error> {
    let failed = |error| Error::database(path, error);
    let mut uri = String::from("file:");
    for byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' => {
                uri.push(char::from(*byte))
            }
            _ => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri.push_str("?immutable=1");
    let flags =
        OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_URI;
    Connection::open_with_flags(&uri, flags).map_err(failed)
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// A reader waits this long for a lock; in WAL mode only a migration or a recovery takes one that stops
/// readers.
const PATIENCE: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests {
    use ringtap_model::{Condition, Filter, Nanos};

    use super::*;

    /// Searches by party, Call-ID and time use an index each: none reads all calls of a day. Numbers by their
    /// last digits read an index through, and so do numbers with separators, which have one of their own.
    #[test]
    fn plans() {
        let mut connection = Connection::open_in_memory().unwrap();
        schema::migrate(&mut connection, Path::new("memory")).unwrap();
        let number = |text: &str| Condition::Number(text.parse().unwrap());
        let plan = |conditions: Vec<Condition>| -> Vec<String> {
            let (condition, values) = Query::from(Filter(conditions)).of_calls();
            let sql =
                format!("EXPLAIN QUERY PLAN SELECT json FROM calls WHERE {condition} ORDER BY start_us, id");
            let mut statement = connection.prepare(&sql).unwrap();
            let steps = statement.query_map(params_from_iter(values), |row| row.get::<_, String>(3)).unwrap();
            steps.map(Result::unwrap).collect()
        };
        let from = Condition::From("+49301".parse().unwrap());
        for conditions in [
            vec![number("1")],
            vec![number("alice")],
            vec![number("+4930*"), Condition::Since(Nanos(5))],
            vec![from, Condition::To("1*".parse().unwrap())],
            vec![Condition::CallId("1".parse().unwrap())],
            vec![Condition::CallId("1*".parse().unwrap())],
            vec![Condition::Since(Nanos(5))],
        ] {
            let plan = plan(conditions);
            assert!(plan.iter().any(|step| step.starts_with("SEARCH calls USING")), "{plan:?}");
            let scans = plan.iter().filter(|step| step.starts_with("SCAN"));
            assert!(scans.into_iter().all(|step| step.contains("_separated")), "{plan:?}");
        }
        let last_digits = plan(vec![number("*0138")]);
        let scans: Vec<_> = last_digits.iter().filter(|step| step.starts_with("SCAN")).collect();
        assert!(scans.iter().all(|step| step.contains("USING COVERING INDEX")), "{last_digits:?}");
        assert_eq!(scans.len(), 5, "{last_digits:?}");
    }

    #[test]
    fn a_file_at_rest_with_an_odd_name() {
        let dir = tempfile::tempdir().unwrap();
        let odd = dir.path().join("a?b#c %41 ü");
        fs::create_dir(&odd).unwrap();
        let path = odd.join("2026-11-21.sqlite");
        let mut connection = Connection::open(&path).unwrap();
        schema::migrate(&mut connection, &path).unwrap();
        drop(connection);
        let connection = open_at_rest(&path).unwrap();
        assert_eq!(schema::version(&connection, &path).unwrap(), schema::VERSION);
        assert_eq!(fs::read_dir(&odd).unwrap().count(), 1, "nothing was created");
    }
}

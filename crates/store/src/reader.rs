//! Answers to questions, over all day files in order of time.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ringtap_model::{Call, Id, Stream};
use rusqlite::types::Value as Sql;
use rusqlite::{Connection, OpenFlags, params_from_iter};

use crate::holds::HELD;
use crate::record::StoredRecord;
use crate::{Day, Error, Query, schema};

/// The answer to a [`Query`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FoundCalls {
    /// Calls in order of their start.
    pub calls: Vec<Call>,
    /// There were more than the query's limit.
    pub cut: bool,
    /// Day files that were searched. 0: nothing is stored for the time asked for.
    pub days: usize,
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
    pub fn calls(&self, query: &Query) -> Result<FoundCalls, Error> {
        let (condition, values) = query.condition();
        let sql = format!("SELECT id, json FROM calls WHERE {condition} ORDER BY start_us, id LIMIT ");
        let mut found = FoundCalls::default();
        for day in self.searchable()?.into_iter().filter(|&day| query.covers(day)) {
            found.days += 1;
            // One more than may be returned: it tells that there were more.
            let room = query.limit.saturating_sub(found.calls.len()).saturating_add(1);
            let sql = format!("{sql}{}", i64::try_from(room).unwrap_or(i64::MAX));
            found.calls.extend(self.select::<Call>(day, &sql, &values)?);
            if found.calls.len() > query.limit {
                found.calls.truncate(query.limit);
                found.cut = true;
                break;
            }
        }
        Ok(found)
    }

    /// The call of that id, if it is stored.
    pub fn call(&self, id: &Id) -> Result<Option<Call>, Error> {
        let values = [Sql::Text(id.to_string())];
        for day in self.searchable()? {
            let calls = self.select(day, "SELECT id, json FROM calls WHERE id = ?1", &values)?;
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
        let values = [Sql::Text(call.to_string())];
        let mut streams = Vec::new();
        for day in self.searchable()? {
            let sql = "SELECT id, json FROM streams WHERE call = ?1 ORDER BY first_us, id";
            streams.extend(self.select::<Stream>(day, sql, &values)?);
        }
        Ok(streams)
    }

    /// The days, at least one: a directory that was emptied meanwhile is no empty answer.
    fn searchable(&self) -> Result<Vec<Day>, Error> {
        let days = self.days()?;
        if days.is_empty() { Err(Error::NoDays { path: self.dir.clone() }) } else { Ok(days) }
    }

    /// Records of one day, by a statement that selects id and JSON.
    fn select<R: StoredRecord>(&self, day: Day, sql: &str, values: &[Sql]) -> Result<Vec<R>, Error> {
        let mut path = self.dir.join(day.file_name());
        let held = self.dir.join(HELD).join(day.file_name());
        // The day has all that is held of it, as long as it is there.
        if !path.exists() && held.exists() {
            path = held;
        }
        let Some(connection) = open(&path)? else { return Ok(Vec::new()) };
        let failed = |error| Error::database(&path, error);
        let mut statement = connection.prepare(sql).map_err(failed)?;
        let mut rows = statement.query(params_from_iter(values)).map_err(failed)?;
        let mut found = Vec::new();
        while let Some(row) = rows.next().map_err(failed)? {
            let id: String = row.get(0).map_err(failed)?;
            let json: String = row.get(1).map_err(failed)?;
            let record = serde_json::from_str(&json).map_err(|error| Error::Corrupt {
                path: path.clone(),
                reason: format!("{} {id} cannot be read: {error}", R::NAME),
            })?;
            found.push(record);
        }
        Ok(found)
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
    use ringtap_model::Nanos;

    use super::*;

    /// Searches by party, Call-ID and time use an index each: none reads all calls of a day.
    #[test]
    fn plans() {
        let mut connection = Connection::open_in_memory().unwrap();
        schema::migrate(&mut connection, Path::new("memory")).unwrap();
        let (number, begins, time) = (Some("1".to_owned()), Some("1*".to_owned()), Some(Nanos(5)));
        let all = Query::default();
        for query in [
            Query { number: number.clone(), ..all.clone() },
            Query { number: begins.clone(), since: time, ..all.clone() },
            Query { from: number.clone(), to: begins, ..all.clone() },
            Query { call_id: number, ..all.clone() },
            Query { since: time, ..all },
        ] {
            let (condition, values) = query.condition();
            let sql =
                format!("EXPLAIN QUERY PLAN SELECT json FROM calls WHERE {condition} ORDER BY start_us, id");
            let mut statement = connection.prepare(&sql).unwrap();
            let steps = statement.query_map(params_from_iter(values), |row| row.get::<_, String>(3)).unwrap();
            let plan: Vec<_> = steps.map(Result::unwrap).collect();
            assert!(plan.iter().any(|step| step.starts_with("SEARCH calls USING INDEX")), "{plan:?}");
            assert!(!plan.iter().any(|step| step.starts_with("SCAN")), "{plan:?}");
        }
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

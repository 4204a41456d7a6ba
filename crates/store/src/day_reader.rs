//! The file of a day, open to read.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ringtap_model::{
    AffectedCall, Alarm, Call, Failover, Id, Message, Outage, Registration, ServiceHour, Stream, Transaction,
    Value,
};
use rusqlite::types::Value as Sql;
use rusqlite::{Connection, OpenFlags, OptionalExtension, Row, params_from_iter};

use crate::database::inode;
use crate::format::Decoder;
use crate::formats::{Decoders, apart};
use crate::migration::{self, OnMigration};
use crate::record::{CONVERSATION, Encoders, StoredRecord, part_of_day};
use crate::tables::every_part;
use crate::{Error, schema};

/// The file of a day, open to read.
#[derive(Debug)]
pub(crate) struct DayReader {
    path: PathBuf,
    /// Which file it was when it was opened.
    inode: Option<(u64, u64)>,
    opened: Instant,
    /// It was opened as a file that nobody writes to: what is written later is not seen.
    is_at_rest: bool,
    connection: Connection,
    decoders: AllDecoders,
    texts: RefCell<HashMap<i64, Option<String>>>,
}

/// The formats of the file, of each type of record.
#[derive(Debug, Default)]
pub(crate) struct AllDecoders {
    call: Decoders<Call>,
    stream: Decoders<Stream>,
    registration: Decoders<Registration>,
    message: Decoders<Message>,
    transaction: Decoders<Transaction>,
    alarm: Decoders<Alarm>,
    outage: Decoders<Outage>,
    failover: Decoders<Failover>,
    service_hour: Decoders<ServiceHour>,
    affected_call: Decoders<AffectedCall>,
}

/// A record that can be read.
pub(crate) trait Readable: StoredRecord {
    fn decoders(all: &AllDecoders) -> &Decoders<Self>;

    /// Leaves out what a later record took back.
    fn take_back(&mut self, _: &Connection) -> rusqlite::Result<()> {
        Ok(())
    }
}

impl Readable for Call {
    fn decoders(all: &AllDecoders) -> &Decoders<Self> {
        &all.call
    }

    fn take_back(&mut self, connection: &Connection) -> rusqlite::Result<()> {
        if self.joins.is_empty() {
            return Ok(());
        }
        let sql = "SELECT reason FROM conversations WHERE call = ?1 AND joined_by IS NULL";
        let reason: Option<String> =
            connection.prepare_cached(sql)?.query_row([&self.id.0[..]], |row| row.get(0)).optional()?;
        self.joins.retain(|join| Some(join.reason.name()) != reason.as_deref());
        Ok(())
    }
}

impl Readable for Stream {
    fn decoders(all: &AllDecoders) -> &Decoders<Self> {
        &all.stream
    }
}

impl Readable for Registration {
    fn decoders(all: &AllDecoders) -> &Decoders<Self> {
        &all.registration
    }
}

impl Readable for Message {
    fn decoders(all: &AllDecoders) -> &Decoders<Self> {
        &all.message
    }
}

impl Readable for Transaction {
    fn decoders(all: &AllDecoders) -> &Decoders<Self> {
        &all.transaction
    }
}

impl Readable for Alarm {
    fn decoders(all: &AllDecoders) -> &Decoders<Self> {
        &all.alarm
    }
}

impl Readable for Outage {
    fn decoders(all: &AllDecoders) -> &Decoders<Self> {
        &all.outage
    }
}

impl Readable for Failover {
    fn decoders(all: &AllDecoders) -> &Decoders<Self> {
        &all.failover
    }
}

impl Readable for ServiceHour {
    fn decoders(all: &AllDecoders) -> &Decoders<Self> {
        &all.service_hour
    }
}

impl Readable for AffectedCall {
    fn decoders(all: &AllDecoders) -> &Decoders<Self> {
        &all.affected_call
    }
}

impl DayReader {
    /// Opens a file, migrating it first where it is of an older version. `None`: created but never written,
    /// as a killed writer can leave it.
    pub(crate) fn open(path: PathBuf, on_migration: &OnMigration) -> Result<Option<Self>, Error> {
        let inode = inode(&path);
        let opened = open(&path, on_migration)?;
        Ok(opened.map(|ReadOnly { connection, is_at_rest }| Self {
            path,
            inode,
            opened: Instant::now(),
            is_at_rest,
            connection,
            decoders: AllDecoders::default(),
            texts: RefCell::default(),
        }))
    }

    /// Asks `is_over` now and then during each statement, and interrupts it where that returns true.
    pub(crate) fn stop_when(&mut self, is_over: impl FnMut() -> bool + Send + 'static) -> Result<(), Error> {
        let failed = |error| Error::database(&self.path, error);
        self.connection.progress_handler(STEPS, Some(is_over)).map_err(failed)
    }

    /// Interrupts no further statement.
    pub(crate) fn never_stop(&mut self) -> Result<(), Error> {
        let failed = |error| Error::database(&self.path, error);
        self.connection.progress_handler(STEPS, None::<fn() -> bool>).map_err(failed)
    }

    /// How long it has been open.
    pub(crate) fn open_for(&self) -> Duration {
        self.opened.elapsed()
    }

    /// Whether what is written to the file later is seen.
    pub(crate) fn sees_changes(&self) -> bool {
        !self.is_at_rest
    }

    /// How many rows a statement that selects one column gives, counted up to `most`.
    pub(crate) fn count(&self, rows: &str, values: &[Sql], most: u64) -> Result<u64, Error> {
        let failed = |error| Error::database(&self.path, error);
        let sql = format!("SELECT count(*) FROM ({rows} LIMIT {most})");
        let mut statement = self.connection.prepare_cached(&sql).map_err(failed)?;
        let count: i64 = statement.query_row(params_from_iter(values), |row| row.get(0)).map_err(failed)?;
        Ok(count as u64)
    }

    /// An error of the database, with the file.
    pub(crate) fn failed(&self, error: rusqlite::Error) -> Error {
        Error::database(&self.path, error)
    }

    /// Whether the file is still the one under its path.
    pub(crate) fn is_there(&self) -> bool {
        inode(&self.path) == self.inode
    }

    /// The path of the file.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The open file.
    pub(crate) fn connection(&self) -> &Connection {
        &self.connection
    }

    /// The call of that id.
    pub(crate) fn call(&self, id: &Id) -> Result<Option<Call>, Error> {
        let part = schema::part_of_day(Call::START);
        let condition = format!("{part} IN ({}) AND id = ?1", every_part());
        Ok(self.all(&condition, &[Sql::Blob(id.0.to_vec())])?.pop())
    }

    /// The streams of a call, in order of their first packet.
    pub(crate) fn streams_of(&self, call: &Id) -> Result<Vec<Stream>, Error> {
        self.streams_in(call, &every_part())
    }

    /// The same, of those that begin soon after the call.
    pub(crate) fn streams_near(&self, call: &Call) -> Result<Vec<Stream>, Error> {
        let part = part_of_day(StoredRecord::start(call));
        let streams = self.streams_in(&call.id, &format!("{part}, {}", part + 1))?;
        if streams.len() >= call.streams.len() { Ok(streams) } else { self.streams_of(&call.id) }
    }

    fn streams_in(&self, call: &Id, parts: &str) -> Result<Vec<Stream>, Error> {
        let part = schema::part_of_day(Stream::START);
        let condition = format!("{part} IN ({parts}) AND substr(call, 9) = substr(?1, 9) AND call = ?1");
        self.all(&condition, &[Sql::Blob(call.0.to_vec())])
    }

    fn all<R: Readable>(&self, condition: &str, values: &[Sql]) -> Result<Vec<R>, Error> {
        let mut all = Vec::new();
        self.each(condition, values, false, |record| {
            all.push(record);
            Ok(true)
        })?;
        Ok(all)
    }

    /// Passes the records that satisfy a condition one by one, in order of time or backwards, until `each`
    /// has enough. Returns whether those were all.
    pub(crate) fn each<R: Readable>(
        &self,
        condition: &str,
        values: &[Sql],
        backwards: bool,
        mut each: impl FnMut(R) -> Result<bool, Error>,
    ) -> Result<bool, Error> {
        self.each_selected(&select::<R>("", condition, backwards), values, &mut each)
    }

    /// The same of rows: only those are read.
    pub(crate) fn each_of<R: Readable>(
        &self,
        rows: &[i64],
        condition: &str,
        values: &[Sql],
        backwards: bool,
        mut each: impl FnMut(R) -> Result<bool, Error>,
    ) -> Result<bool, Error> {
        let rows: Vec<String> = rows.iter().map(i64::to_string).collect();
        let sql = select_rows::<R>(values.len() + 1, condition, backwards);
        let values: Vec<Sql> =
            values.iter().cloned().chain([Sql::Text(format!("[{}]", rows.join(",")))]).collect();
        self.each_selected(&sql, &values, &mut each)
    }

    fn each_selected<R: Readable>(
        &self,
        sql: &str,
        values: &[Sql],
        each: &mut dyn FnMut(R) -> Result<bool, Error>,
    ) -> Result<bool, Error> {
        let failed = |error| Error::database(&self.path, error);
        let mut statement = self.connection.prepare_cached(sql).map_err(failed)?;
        let mut rows = statement.query(params_from_iter(values)).map_err(failed)?;
        while let Some(row) = rows.next().map_err(failed)? {
            if !each(self.record(row)?)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn record<R: Readable>(&self, row: &Row<'_>) -> Result<R, Error> {
        let failed = |error| Error::database(&self.path, error);
        let id = id_of(row.get_ref(0).map_err(failed)?.as_blob());
        let start: i64 = row.get(1).map_err(failed)?;
        let format: i64 = row.get(2).map_err(failed)?;
        let compact = row.get_ref(3).map_err(failed)?.as_blob().unwrap_or_default();
        let mut texts = Vec::new();
        for (place, name) in (FIXED + R::APART.len()..).zip(R::TEXTS) {
            if let Some(number) = row.get(place).map_err(failed)? {
                texts.push((*name, self.text(number).map_err(failed)?));
            }
        }
        let column = |name: &str| {
            if let Some((_, text)) = texts.iter().find(|(other, _)| *other == name) {
                return text.as_deref().map_or(Value::Null, Value::Text);
            }
            let place = R::APART.iter().position(|other| *other == name);
            let bytes = place.and_then(|place| row.get_ref(FIXED + place).ok()?.as_blob().ok());
            match (bytes, id) {
                // The column of the conversation is empty where that is the call's own.
                (Some([]), Some(id)) if name == CONVERSATION => Value::Id(id),
                _ => apart(bytes.unwrap_or_default()),
            }
        };
        let read = |decoder: &mut Decoder<R>| decoder.decode(compact, start as u64, column);
        let read = R::decoders(&self.decoders).with(&self.connection, format, read).map_err(failed)?;
        let read = read.unwrap_or_else(|| Err(format!("the file does not describe its format {format}")));
        let mut record = read.map_err(|reason| {
            let id = id.map_or_else(|| "without an id".to_owned(), |id| id.to_string());
            Error::Corrupt {
                path: self.path.clone(),
                reason: format!("{} {id} cannot be read: {reason}", R::NAME),
            }
        })?;
        record.take_back(&self.connection).map_err(failed)?;
        Ok(record)
    }

    /// The text of that number; none if the file has none.
    fn text(&self, number: i64) -> rusqlite::Result<Option<String>> {
        if let Some(text) = self.texts.borrow().get(&number) {
            return Ok(text.clone());
        }
        let mut find = self.connection.prepare_cached("SELECT text FROM texts WHERE number = ?1")?;
        let text: Option<String> = find.query_row([number], |row| row.get(0)).optional()?;
        self.texts.borrow_mut().insert(number, text.clone());
        Ok(text)
    }
}

/// The statement that selects records; `indexed` may say which index it uses.
fn select<R: StoredRecord>(indexed: &str, condition: &str, backwards: bool) -> String {
    let (table, start) = (R::TABLE, R::START);
    let column = |column: &&str| match *column {
        CONVERSATION => format!(", {CONVERSATION_NOW}"),
        column => format!(", {column}"),
    };
    let columns: String = R::APART.iter().chain(R::TEXTS).map(column).collect();
    let order = if backwards { " DESC" } else { "" };
    format!(
        "SELECT id, {start}, format, record{columns} FROM {table} {indexed} WHERE {condition} \
         ORDER BY {second}{order}, {start}{order}, id{order}",
        second = schema::second_of_day(start),
    )
}

/// The statement that selects records by the numbers of their rows, which are the value `place` as JSON.
fn select_rows<R: StoredRecord>(place: usize, condition: &str, backwards: bool) -> String {
    let condition = format!("number IN (SELECT value FROM json_each(?{place})) AND ({condition})");
    select::<R>("NOT INDEXED", &condition, backwards)
}

/// The statement that selects calls by their rows, for tests of its plan.
#[cfg(test)]
pub(crate) fn select_rows_of_calls(condition: &str) -> String {
    select_rows::<Call>(1, condition, true)
}

/// The statement that selects calls, for tests of its plan.
#[cfg(test)]
pub(crate) fn select_calls(condition: &str) -> String {
    select::<Call>("", condition, true)
}

fn id_of(bytes: Result<&[u8], rusqlite::types::FromSqlError>) -> Option<Id> {
    bytes.ok()?.try_into().ok().map(Id)
}

/// Steps of SQLite's machine after which it is asked whether a search is over: about a tenth of a
/// millisecond.
const STEPS: i32 = 2_000;
/// The conversation of a call as later records have amended it.
const CONVERSATION_NOW: &str = "coalesce((SELECT amended.conversation FROM conversations AS amended \
                                WHERE amended.call = calls.id), calls.conversation)";
/// Columns before those of a type of record.
const FIXED: usize = 4;

/// A database that is open to read.
pub(crate) struct ReadOnly {
    pub(crate) connection: Connection,
    /// Opened as a file that nobody writes to: what is written later is not seen.
    is_at_rest: bool,
}

/// Opens a day file to read, migrating it first where it is of an older version.
fn open(path: &Path, on_migration: &OnMigration) -> Result<Option<ReadOnly>, Error> {
    let opened = open_read_only(path)?;
    let failed = |error| Error::database(path, error);
    let version = schema::version(&opened.connection, path)?;
    if version == 0 {
        return Ok(None);
    }
    if version == schema::VERSION && !migration::is_unfinished(&opened.connection).map_err(failed)? {
        return Ok(Some(opened));
    }
    drop(opened);
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(path, flags).map_err(failed)?;
    connection.busy_timeout(PATIENCE).map_err(failed)?;
    let mut encoders =
        Encoders::new().ok_or_else(|| Error::io(path, std::io::ErrorKind::OutOfMemory.into()))?;
    match migration::migrate(&mut connection, path, &mut encoders, on_migration) {
        Ok(()) => Ok(Some(ReadOnly { connection, is_at_rest: false })),
        Err(Error::Permission { .. }) => Err(Error::OldVersion { path: path.to_owned(), found: version }),
        Err(error) => Err(error),
    }
}

/// Opens a database to read, also where its log cannot be written.
pub(crate) fn open_read_only(path: &Path) -> Result<ReadOnly, Error> {
    let failed = |error| Error::database(path, error);
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags).map_err(failed)?;
    connection.busy_timeout(PATIENCE).map_err(failed)?;
    let readable = connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get::<_, i64>(0));
    match readable.map_err(failed) {
        Ok(_) => Ok(ReadOnly { connection, is_at_rest: false }),
        // A file in WAL mode wants its -wal and -shm beside it. Where this user may not create them and no
        // writer has left any, the file is complete and at rest.
        Err(Error::Permission { .. }) if !beside(path, "-wal").exists() => open_at_rest(path),
        Err(error) => Err(error),
    }
}

/// Opens a file that nobody writes to, taking no locks and creating nothing.
fn open_at_rest(path: &Path) -> Result<ReadOnly, Error> {
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
    let connection = Connection::open_with_flags(&uri, flags).map_err(failed)?;
    Ok(ReadOnly { connection, is_at_rest: true })
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
    use crate::{Day, Query};

    /// Searches by party, Call-ID, id and time use an index each: none reads all calls of a day.
    #[test]
    fn plans() {
        let mut connection = Connection::open_in_memory().unwrap();
        schema::create(&mut connection, Path::new("memory")).unwrap();
        let number = |text: &str| Condition::Number(text.parse().unwrap());
        let plan = |conditions: Vec<Condition>| -> Vec<String> {
            let (condition, values) = Query::from(Filter(conditions)).of_calls(Day::of(Nanos::ZERO));
            let sql = format!("EXPLAIN QUERY PLAN {}", select::<Call>("", &condition, false));
            let mut statement = connection.prepare(&sql).unwrap();
            let steps = statement.query_map(params_from_iter(values), |row| row.get::<_, String>(3)).unwrap();
            steps.map(Result::unwrap).collect()
        };
        let from = Condition::From("+49301".parse().unwrap());
        for conditions in [
            vec![number("1")],
            vec![number("alice")],
            vec![number("*0138")],
            vec![number("*7946*")],
            vec![number("+4930*"), Condition::Since(Nanos(5))],
            vec![from, Condition::To("1*".parse().unwrap())],
            vec![Condition::CallId("1".parse().unwrap())],
            vec![Condition::CallId("1*".parse().unwrap())],
        ] {
            let plan = plan(conditions);
            assert!(
                plan.iter().any(|step| step.starts_with("SEARCH keys USING PRIMARY KEY (part=?")),
                "{plan:?}"
            );
            assert!(
                plan.iter().any(|step| step.starts_with("SEARCH calls USING INTEGER PRIMARY KEY")),
                "{plan:?}"
            );
            assert!(!plan.iter().any(|step| step.starts_with("SCAN")), "{plan:?}");
        }
        let time = plan(vec![Condition::Since(Nanos(5))]);
        assert!(time[0].starts_with("SEARCH calls USING INDEX calls_start"), "{time:?}");
        let codec = plan(vec![Condition::Codec(vec!["G729".parse().unwrap()])]);
        let streams = codec
            .iter()
            .filter(|step| step.starts_with("SEARCH stream USING INDEX streams_call (<expr>=? AND <expr>=?"));
        assert_eq!(streams.count(), 2, "{codec:?}");
    }

    #[test]
    fn a_statement_ends_when_its_search_is_over() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("2026-11-21.sqlite");
        schema::create(&mut Connection::open(&path).unwrap(), &path).unwrap();
        let mut file = DayReader::open(path, &OnMigration::default()).unwrap().unwrap();
        let long = "SELECT 1 FROM (WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n) \
                    SELECT n FROM n LIMIT 10000000000)";
        let mut asked = 0;
        file.stop_when(move || {
            asked += 1;
            asked > 3
        })
        .unwrap();
        assert!(matches!(file.count(long, &[], u64::MAX >> 1), Err(Error::Interrupted { .. })));
        assert_eq!(file.count("SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3", &[], 2).unwrap(), 2);
    }

    /// What is written to such a file meanwhile would not be seen.
    #[test]
    fn a_file_at_rest_is_opened_anew_each_time() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("2026-11-21.sqlite");
        schema::create(&mut Connection::open(&path).unwrap(), &path).unwrap();
        let files = crate::OpenFiles::default();
        for is_at_rest in [true, false] {
            let file = DayReader::open(path.clone(), &OnMigration::default()).unwrap().unwrap();
            files.keep(DayReader { is_at_rest, ..file });
            assert_eq!(files.take(&path).is_some(), !is_at_rest);
        }
    }

    #[test]
    fn a_file_at_rest_with_an_odd_name() {
        let dir = tempfile::tempdir().unwrap();
        let odd = dir.path().join("a?b#c %41 ü");
        std::fs::create_dir(&odd).unwrap();
        let path = odd.join("2026-11-21.sqlite");
        let mut connection = Connection::open(&path).unwrap();
        schema::create(&mut connection, &path).unwrap();
        drop(connection);
        let opened = open_at_rest(&path).unwrap();
        assert!(opened.is_at_rest);
        assert_eq!(schema::version(&opened.connection, &path).unwrap(), schema::VERSION);
        assert_eq!(std::fs::read_dir(&odd).unwrap().count(), 1, "nothing was created");
    }
}

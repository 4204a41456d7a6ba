//! The writer: a bounded queue, a thread of its own, batches committed to the day files.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use ringtap_model::{Call, Message, Nanos, Registration, Stream};
use rusqlite::types::Value as Sql;
use rusqlite::{Connection, Transaction, params_from_iter};
use serde::Serialize;
use serde_json::Value;

use crate::schema::{self, Table};
use crate::{Day, Error};

/// Records that are durable, those that were there already included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// Calls.
    pub calls: u64,
    /// Media streams.
    pub streams: u64,
    /// Registrations.
    pub registrations: u64,
    /// SIP messages.
    pub messages: u64,
    /// Day files they went to.
    pub days: u64,
}

/// Writes records to the day files of a directory.
///
/// Records are queued and written in batches by a thread of its own, a fifth of a second after the first of a batch at
/// the latest. They are acknowledged by [`flush`](Self::flush) and [`close`](Self::close): before that, a kill may lose
/// them. A writer that failed stays failed: every later call returns the same error.
#[derive(Debug)]
pub struct Writer {
    dir: PathBuf,
    /// `None` once closed.
    queue: Option<SyncSender<Job>>,
    thread: Option<JoinHandle<Result<Written, Error>>>,
    failure: Arc<Mutex<Option<Error>>>,
}

impl Writer {
    /// A writer to that directory, which is created where it does not exist.
    pub fn open(dir: &Path) -> Result<Self, Error> {
        Self::open_with(dir, None)
    }

    /// `pages` bounds the size of each file: a full disk for tests.
    fn open_with(dir: &Path, pages: Option<u32>) -> Result<Self, Error> {
        fs::create_dir_all(dir).map_err(|error| match error.kind() {
            // Also where a file system, such as proc, takes no new directories.
            io::ErrorKind::NotFound => Error::CannotCreate { path: dir.to_owned() },
            _ => Error::io(dir, error),
        })?;
        let (queue, jobs) = sync_channel(QUEUE);
        let failure = Arc::new(Mutex::new(None));
        let files = Files { dir: dir.to_owned(), pages, open: BTreeMap::new(), used: BTreeSet::new() };
        let told = Arc::clone(&failure);
        let run = move || serve(files, &jobs, &told);
        let thread =
            thread::Builder::new().name("store".into()).spawn(run).map_err(|error| Error::io(dir, error))?;
        Ok(Self { dir: dir.to_owned(), queue: Some(queue), thread: Some(thread), failure })
    }

    /// Queues a call and its streams. Waits while the queue is full.
    pub fn call(&mut self, call: &Call, streams: &[Stream]) -> Result<(), Error> {
        self.send(Job::Record(Box::new(Record::Call(call.clone()))))?;
        streams.iter().try_for_each(|stream| self.stream(stream))
    }

    /// Queues a media stream. Waits while the queue is full.
    pub fn stream(&mut self, stream: &Stream) -> Result<(), Error> {
        self.send(Job::Record(Box::new(Record::Stream(stream.clone()))))
    }

    /// Queues a registration. Waits while the queue is full.
    pub fn registration(&mut self, registration: &Registration) -> Result<(), Error> {
        self.send(Job::Record(Box::new(Record::Registration(registration.clone()))))
    }

    /// Queues a SIP MESSAGE. Waits while the queue is full.
    pub fn message(&mut self, message: &Message) -> Result<(), Error> {
        self.send(Job::Record(Box::new(Record::Message(message.clone()))))
    }

    /// Returns when everything queued so far is on disk: committed and synced.
    pub fn flush(&self) -> Result<(), Error> {
        let (done, wait) = sync_channel(1);
        self.send(Job::Flush(done))?;
        wait.recv().map_err(|_| self.failure())
    }

    /// Writes what is queued and ends. The counts are of durable records.
    pub fn close(mut self) -> Result<Written, Error> {
        self.queue = None;
        match self.thread.take().map(JoinHandle::join) {
            Some(Ok(result)) => result,
            Some(Err(_)) | None => Err(self.failure()),
        }
    }

    fn send(&self, job: Job) -> Result<(), Error> {
        let sent = self.queue.as_ref().map(|queue| queue.send(job));
        if matches!(sent, Some(Ok(()))) { Ok(()) } else { Err(self.failure()) }
    }

    fn failure(&self) -> Error {
        let told = self.failure.lock().unwrap_or_else(PoisonError::into_inner).clone();
        told.unwrap_or_else(|| Error::Stopped { path: self.dir.clone() })
    }
}

/// A writer that is dropped writes what it has; whether that worked, only [`Writer::close`] tells.
impl Drop for Writer {
    fn drop(&mut self) {
        self.queue = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

enum Job {
    Record(Box<Record>),
    Flush(SyncSender<()>),
}

enum Record {
    Call(Call),
    Stream(Stream),
    Registration(Registration),
    Message(Message),
}

impl Record {
    /// The moment that decides on its file. A call of which no moment is known is filed at the epoch.
    fn start(&self) -> Nanos {
        match self {
            Self::Call(call) => call.start().unwrap_or(Nanos::ZERO),
            Self::Stream(stream) => stream.first,
            Self::Registration(registration) => registration.first,
            Self::Message(message) => message.time,
        }
    }

    fn count(&self, written: &mut Written) {
        match self {
            Self::Call(_) => written.calls += 1,
            Self::Stream(_) => written.streams += 1,
            Self::Registration(_) => written.registrations += 1,
            Self::Message(_) => written.messages += 1,
        }
    }
}

/// The thread: takes what is queued, commits it, acknowledges.
fn serve(mut files: Files, jobs: &Receiver<Job>, failure: &Mutex<Option<Error>>) -> Result<Written, Error> {
    let mut written = Written::default();
    while let Ok(first) = jobs.recv() {
        let (batch, acknowledge) = gather(first, jobs);
        if let Err(error) = files.store(&batch) {
            // Told before the queue and `acknowledge` end: whoever waits for them finds the reason.
            *failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(error.clone());
            return Err(error);
        }
        batch.iter().for_each(|record| record.count(&mut written));
        if let Some(done) = acknowledge {
            // Nobody waits any more: no matter.
            let _ = done.send(());
        }
    }
    written.days = files.used.len() as u64;
    Ok(written)
}

/// A batch: full, a fifth of a second old, ended by a flush, or the last.
fn gather(first: Job, jobs: &Receiver<Job>) -> (Vec<Record>, Option<SyncSender<()>>) {
    let mut batch = Vec::new();
    let due = Instant::now() + LINGER;
    let mut job = first;
    loop {
        match job {
            Job::Record(record) => batch.push(*record),
            Job::Flush(done) => return (batch, Some(done)),
        }
        if batch.len() >= BATCH {
            return (batch, None);
        }
        job = match jobs.recv_timeout(due.saturating_duration_since(Instant::now())) {
            Ok(job) => job,
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return (batch, None),
        };
    }
}

/// The day files, those in use open.
struct Files {
    dir: PathBuf,
    pages: Option<u32>,
    open: BTreeMap<Day, Connection>,
    used: BTreeSet<Day>,
}

impl Files {
    /// One transaction a day; each is durable when this returns.
    fn store(&mut self, batch: &[Record]) -> Result<(), Error> {
        let mut days = BTreeMap::<Day, Vec<&Record>>::new();
        for record in batch {
            days.entry(Day::of(record.start())).or_default().push(record);
        }
        for (day, records) in days {
            let path = self.dir.join(day.file_name());
            let failed = |error| Error::database(&path, error);
            let transaction = self.connection(day, &path)?.transaction().map_err(failed)?;
            for record in records {
                insert(&transaction, &path, record)?;
            }
            transaction.commit().map_err(failed)?;
            self.used.insert(day);
        }
        Ok(())
    }

    fn connection(&mut self, day: Day, path: &Path) -> Result<&mut Connection, Error> {
        if !self.open.contains_key(&day) {
            if self.open.len() >= OPEN {
                // The oldest day: records of it come least.
                self.open.pop_first();
            }
            let connection = open(path, self.pages)?;
            self.open.insert(day, connection);
        }
        // Just inserted where it was missing.
        self.open.get_mut(&day).ok_or_else(|| Error::Stopped { path: path.to_owned() })
    }
}

/// Opens a day file to write, creating and migrating it as needed.
///
/// synchronous=FULL: in WAL mode a commit then syncs the log, so that what is acknowledged survives a power cut and not
/// the process alone. A batch costs one sync.
fn open(path: &Path, pages: Option<u32>) -> Result<Connection, Error> {
    let failed = |error| Error::database(path, error);
    let mut connection = Connection::open(path).map_err(failed)?;
    connection.busy_timeout(PATIENCE).map_err(failed)?;
    connection.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(())).map_err(failed)?;
    connection.pragma_update(None, "synchronous", "FULL").map_err(failed)?;
    // Ids are spread evenly: their index is touched all over, and had better be in memory. In KiB where negative.
    connection.pragma_update(None, "cache_size", -32_768).map_err(failed)?;
    if let Some(pages) = pages {
        connection.pragma_update_and_check(None, "max_page_count", pages, |_| Ok(())).map_err(failed)?;
    }
    schema::migrate(&mut connection, path)?;
    Ok(connection)
}

fn insert(transaction: &Transaction<'_>, path: &Path, record: &Record) -> Result<(), Error> {
    match record {
        Record::Call(call) => {
            let start = ("start_us", Sql::Integer(integer(record.start().micros())));
            if upsert(transaction, path, &schema::CALLS, call, Some(start))? {
                divert(transaction, call).map_err(|error| Error::database(path, error))?;
            }
        }
        Record::Stream(stream) => {
            upsert(transaction, path, &schema::STREAMS, stream, None)?;
        }
        Record::Registration(registration) => {
            upsert(transaction, path, &schema::REGISTRATIONS, registration, None)?;
        }
        Record::Message(message) => {
            upsert(transaction, path, &schema::MESSAGES, message, None)?;
        }
    }
    Ok(())
}

/// Writes a record under its id and tells whether anything changed: the same record again touches nothing.
fn upsert(
    transaction: &Transaction<'_>,
    path: &Path,
    table: &Table,
    record: &impl Serialize,
    extra: Option<(&str, Sql)>,
) -> Result<bool, Error> {
    let unfit = |source| Error::Record { source: Arc::new(source) };
    let text = serde_json::to_string(record).map_err(unfit)?;
    let fields = serde_json::to_value(record).map_err(unfit)?;
    let mut columns: Vec<&str> = table.columns.to_vec();
    let mut values: Vec<Sql> = columns.iter().map(|&column| sql(&fields[column])).collect();
    if let Some((column, value)) = extra {
        columns.push(column);
        values.push(value);
    }
    columns.push("json");
    values.push(Sql::Text(text));
    let changed = transaction
        .prepare_cached(&upsert_sql(table.name, &columns))
        .and_then(|mut statement| statement.execute(params_from_iter(values)))
        .map_err(|error| Error::database(path, error))?;
    Ok(changed > 0)
}

fn upsert_sql(table: &str, columns: &[&str]) -> String {
    let quoted: Vec<_> = columns.iter().map(|column| format!("\"{column}\"")).collect();
    let places: Vec<_> = (1..=columns.len()).map(|number| format!("?{number}")).collect();
    let updates: Vec<_> = quoted.iter().map(|column| format!("{column} = excluded.{column}")).collect();
    format!(
        "INSERT INTO {table} ({}) VALUES ({}) ON CONFLICT (id) DO UPDATE SET {} WHERE {table}.json <> excluded.json",
        quoted.join(", "),
        places.join(", "),
        updates.join(", "),
    )
}

/// Numbers that a call was routed on to, for searching.
fn divert(transaction: &Transaction<'_>, call: &Call) -> rusqlite::Result<()> {
    let id = call.id.to_string();
    transaction.prepare_cached("DELETE FROM diversions WHERE call = ?1")?.execute([&id])?;
    let mut insert =
        transaction.prepare_cached("INSERT OR IGNORE INTO diversions (number, call) VALUES (?1, ?2)")?;
    call.diverted_to.iter().try_for_each(|number| insert.execute([number, &id]).map(|_| ()))
}

/// A scalar field as its column holds it; lists and objects are in the JSON alone.
fn sql(value: &Value) -> Sql {
    match value {
        Value::Bool(yes) => Sql::Integer(i64::from(*yes)),
        Value::Number(number) => match number.as_u64() {
            Some(whole) => Sql::Integer(integer(whole)),
            None => number.as_i64().map(Sql::Integer).or(number.as_f64().map(Sql::Real)).unwrap_or(Sql::Null),
        },
        Value::String(text) => Sql::Text(text.clone()),
        Value::Null | Value::Array(_) | Value::Object(_) => Sql::Null,
    }
}

/// SQLite's integers are signed; what is beyond them stops at their end (its JSON is exact).
fn integer(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

/// Records waiting at most: some megabytes.
const QUEUE: usize = 4096;
/// Records in a transaction at most.
const BATCH: usize = 1024;
/// How long a record waits for others at most.
const LINGER: Duration = Duration::from_millis(200);
/// Files held open.
const OPEN: usize = 8;
/// How long another process's lock is waited for.
const PATIENCE: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests {
    use ringtap_model::Endpoint;

    use super::*;

    fn message(number: u64) -> Message {
        let host = Endpoint::new([192, 0, 2, 1].into(), 5060);
        Message {
            id: ringtap_model::Id(u128::from(number).to_be_bytes()),
            call_id: "m".repeat(200),
            src: host,
            dst: host,
            from: None,
            to: None,
            content_type: None,
            size: 1,
            time: Nanos::from_secs(1_795_262_400),
            code: 200,
        }
    }

    /// The disk fills up: the flush fails and says so, later calls too, and nothing is counted as written.
    #[test]
    fn full_disk() {
        let dir = tempfile::tempdir().unwrap();
        let mut writer = Writer::open_with(dir.path(), Some(60)).unwrap();
        let result = (0..5_000).try_for_each(|number| writer.message(&message(number)));
        let error = result.and_then(|()| writer.flush()).unwrap_err();
        assert!(matches!(error, Error::Full { .. }), "{error}");
        assert!(matches!(writer.message(&message(1)), Err(Error::Full { .. })));
        assert!(matches!(writer.flush(), Err(Error::Full { .. })));
        assert!(matches!(writer.close(), Err(Error::Full { .. })));
    }

    /// More days than files are held open.
    #[test]
    fn many_days() {
        let dir = tempfile::tempdir().unwrap();
        let mut writer = Writer::open(dir.path()).unwrap();
        for number in 0..60 {
            let day = number % 20;
            let time = Nanos::from_secs(1_795_262_400 + day * 86_400);
            writer.message(&Message { time, ..message(number) }).unwrap();
            if day == 13 {
                writer.flush().unwrap();
            }
        }
        assert_eq!(writer.close().unwrap(), Written { messages: 60, days: 20, ..Written::default() });
    }
}

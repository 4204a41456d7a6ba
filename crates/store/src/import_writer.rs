//! The writer of a run that ends: a bounded queue, a thread that makes compact forms, and one that writes
//! batches to the day files.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use ringtap_model::{Alarm, Amendment, Call, Identity, Message, Registration, Stream, Transaction};

use crate::Error;
use crate::day_files::{CACHE, DayFiles};
use crate::migration::OnMigration;
use crate::record::{AnyRecord, Encoders, PendingRecord, RecordType};

/// Records that are durable, those that were there already included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecordCounts {
    /// Calls.
    pub calls: u64,
    /// Media streams.
    pub streams: u64,
    /// Registrations.
    pub registrations: u64,
    /// SIP MESSAGEs.
    pub messages: u64,
    /// SIP transactions outside of calls.
    pub transactions: u64,
    /// Alarms, also those that were changed.
    pub alarms: u64,
    /// Outages, failovers, calls that these affected, and hours of services, also those that were changed.
    pub outages: u64,
    /// Sessions of subscribers, also those that were changed.
    pub identities: u64,
    /// Amendments: calls whose conversation became another one after their record was made.
    pub amendments: u64,
    /// Day files they went to.
    pub days: u64,
}

/// Writes records to the day files of a directory.
///
/// Records are queued and written by threads of its own; readers see them a second later at the latest. They
/// are acknowledged by [`flush`](Self::flush) and [`close`](Self::close): before that, a kill may lose them.
/// A writer that failed stays failed, every later call returns the same error: the person who ran it is there
/// to read it and run it again. What has to outlive a failure is [`StoreWriter`](crate::StoreWriter)'s.
#[derive(Debug)]
pub struct ImportWriter {
    dir: PathBuf,
    /// `None` once closed.
    queue: Option<SyncSender<Job>>,
    thread: Option<JoinHandle<Result<RecordCounts, Error>>>,
    encoder: Option<JoinHandle<()>>,
    failure: Arc<Mutex<Option<Error>>>,
}

impl ImportWriter {
    /// A writer to that directory, which is created where it does not exist.
    pub fn open(dir: &Path) -> Result<Self, Error> {
        Self::open_telling(dir, OnMigration::default())
    }

    /// The same; tells of day files of an older version, which are migrated before they are written.
    pub fn open_telling(dir: &Path, on_migration: OnMigration) -> Result<Self, Error> {
        Self::open_with(dir, None, on_migration)
    }

    /// `pages` bounds the size of each file: a full disk for tests.
    fn open_with(dir: &Path, pages: Option<u32>, on_migration: OnMigration) -> Result<Self, Error> {
        let files = DayFiles::create(dir, PATIENCE, pages, CACHE, on_migration)?;
        let (queue, jobs) = sync_channel(QUEUE);
        let (sender, batches) = sync_channel(BATCHES);
        let failure = Arc::new(Mutex::new(None));
        let told = Arc::clone(&failure);
        let failed = |error| Error::io(dir, error);
        let mut encoders = Encoders::new().ok_or_else(|| failed(io::ErrorKind::OutOfMemory.into()))?;
        let run = move || serve(files, &batches, &told);
        let thread = thread::Builder::new().name("store".into()).spawn(run).map_err(failed)?;
        // It ends with the queue, or when the other thread does.
        let run = move || encode(&mut encoders, &jobs, &sender);
        let encoder = thread::Builder::new().name("encode".into()).spawn(run).map_err(failed)?;
        let (thread, encoder) = (Some(thread), Some(encoder));
        Ok(Self { dir: dir.to_owned(), queue: Some(queue), thread, encoder, failure })
    }

    /// Queues a call and its streams. Waits while the queue is full.
    pub fn call(&mut self, call: &Call, streams: &[Stream]) -> Result<(), Error> {
        // Together: a record of its own each would take the queue three times as long.
        let streams = streams.iter().map(|stream| AnyRecord::Stream(Box::new(stream.clone())));
        let call = AnyRecord::Call(Box::new(call.clone()));
        self.send(Job::Call(std::iter::once(call).chain(streams).collect()))
    }

    /// Queues the conversation that a call has now, other than its record says. Waits while the queue is
    /// full.
    pub fn amend(&mut self, amendment: &Amendment) -> Result<(), Error> {
        self.send(Job::Record(AnyRecord::Amendment(Box::new(amendment.clone()))))
    }

    /// Queues a media stream. Waits while the queue is full.
    pub fn stream(&mut self, stream: &Stream) -> Result<(), Error> {
        self.send(Job::Record(AnyRecord::Stream(Box::new(stream.clone()))))
    }

    /// Queues a registration. Waits while the queue is full.
    pub fn registration(&mut self, registration: &Registration) -> Result<(), Error> {
        self.send(Job::Record(AnyRecord::Registration(Box::new(registration.clone()))))
    }

    /// Queues a SIP MESSAGE. Waits while the queue is full.
    pub fn message(&mut self, message: &Message) -> Result<(), Error> {
        self.send(Job::Record(AnyRecord::Message(Box::new(message.clone()))))
    }

    /// Queues a SIP transaction outside of calls. Waits while the queue is full.
    pub fn transaction(&mut self, transaction: &Transaction) -> Result<(), Error> {
        self.send(Job::Record(AnyRecord::Transaction(Box::new(transaction.clone()))))
    }

    /// Queues an alarm, which replaces what is stored of it. Waits while the queue is full.
    pub fn alarm(&mut self, alarm: &Alarm) -> Result<(), Error> {
        self.send(Job::Record(AnyRecord::Alarm(Box::new(alarm.clone()))))
    }

    /// Queues a session of a subscriber, which replaces what is stored of it. Waits while the queue is full.
    pub fn identity(&mut self, identity: &Identity) -> Result<(), Error> {
        self.send(Job::Record(AnyRecord::Identity(Box::new(identity.clone()))))
    }

    /// Returns when everything queued so far is on disk: committed and synced.
    pub fn flush(&self) -> Result<(), Error> {
        let (done, wait) = sync_channel(1);
        self.send(Job::Flush(done))?;
        wait.recv().map_err(|_| self.failure())
    }

    /// Writes what is queued and ends. The counts are of durable records.
    pub fn close(mut self) -> Result<RecordCounts, Error> {
        self.queue = None;
        // Where the encoding thread crashed, records are missing, of which the one that writes knows nothing.
        let encoded = self.encoder.take().map(JoinHandle::join);
        match (encoded, self.thread.take().map(JoinHandle::join)) {
            (Some(Ok(())), Some(Ok(result))) => result,
            _ => Err(self.failure()),
        }
    }

    fn send(&self, job: Job) -> Result<(), Error> {
        // The queue ends a little later than the thread that writes.
        if let Some(error) = self.told_failure() {
            return Err(error);
        }
        let sent = self.queue.as_ref().map(|queue| queue.send(job));
        if matches!(sent, Some(Ok(()))) { Ok(()) } else { Err(self.failure()) }
    }

    fn failure(&self) -> Error {
        self.told_failure().unwrap_or_else(|| Error::Stopped { path: self.dir.clone() })
    }

    fn told_failure(&self) -> Option<Error> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// A writer that is dropped writes what it has; whether that worked, only [`ImportWriter::close`] tells.
impl Drop for ImportWriter {
    fn drop(&mut self) {
        self.queue = None;
        if let Some(encoder) = self.encoder.take() {
            let _ = encoder.join();
        }
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

enum Job {
    /// A call and its streams.
    Call(Vec<AnyRecord>),
    Record(AnyRecord),
    Flush(SyncSender<()>),
}

impl RecordCounts {
    /// Adds those of others; the days stay.
    fn add(&mut self, others: Self) {
        self.calls += others.calls;
        self.streams += others.streams;
        self.registrations += others.registrations;
        self.messages += others.messages;
        self.transactions += others.transactions;
        self.alarms += others.alarms;
        self.outages += others.outages;
        self.identities += others.identities;
        self.amendments += others.amendments;
    }

    pub(crate) fn count(&mut self, record_type: RecordType) {
        match record_type {
            RecordType::Call => self.calls += 1,
            RecordType::Stream => self.streams += 1,
            RecordType::Registration => self.registrations += 1,
            RecordType::Message => self.messages += 1,
            RecordType::Transaction => self.transactions += 1,
            RecordType::Alarm => self.alarms += 1,
            RecordType::Outage
            | RecordType::Failover
            | RecordType::ServiceHour
            | RecordType::AffectedCall => self.outages += 1,
            RecordType::Identity => self.identities += 1,
            RecordType::Amendment => self.amendments += 1,
        }
    }
}

/// Records in their order, with their compact forms.
#[derive(Default)]
struct Batch {
    records: Vec<PendingRecord>,
    /// After them.
    flush: Option<SyncSender<()>>,
}

/// The thread before: makes the compact forms, a third of the work, of what is queued.
fn encode(encoders: &mut Encoders, jobs: &Receiver<Job>, batches: &SyncSender<Batch>) {
    while let Ok(first) = jobs.recv() {
        let mut batch = Batch::default();
        let mut next = Some(first);
        while let Some(job) = next {
            let mut encode = |record: AnyRecord| {
                let mut record = PendingRecord::from(record);
                record.encode(encoders);
                batch.records.push(record);
            };
            match job {
                Job::Call(records) => records.into_iter().for_each(encode),
                Job::Record(record) => encode(record),
                Job::Flush(done) => batch.flush = Some(done),
            }
            let is_full = batch.flush.is_some() || batch.records.len() >= BATCH;
            next = if is_full { None } else { jobs.try_recv().ok() };
        }
        if batches.send(batch).is_err() {
            // The writing thread failed, and said why: with this queue, the next record finds that out.
            return;
        }
    }
}

/// The thread that writes what comes, and commits it when it is asked to, when nothing more comes, or when
/// there is much of it.
fn serve(
    mut files: DayFiles,
    batches: &Receiver<Batch>,
    failure: &Mutex<Option<Error>>,
) -> Result<RecordCounts, Error> {
    let mut import = Import::default();
    let mut run = || {
        while let Ok(first) = batches.recv() {
            import.add(first, batches, &mut files)?;
        }
        import.commit(&mut files)
    };
    run().inspect_err(|error| {
        // Told before the queue and the flushes end: whoever waits for them finds the reason.
        *failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(error.clone());
    })?;
    Ok(RecordCounts { days: files.days(), ..import.written })
}

/// Records on their way into the files.
#[derive(Default)]
struct Import {
    records: Vec<PendingRecord>,
    /// Written and not committed.
    uncommitted: RecordCounts,
    written: RecordCounts,
    flushes: Vec<SyncSender<()>>,
}

impl Import {
    /// Writes a batch and those that follow, until all is committed or there is nothing to do.
    fn add(&mut self, first: Batch, batches: &Receiver<Batch>, files: &mut DayFiles) -> Result<(), Error> {
        let mut due = Instant::now() + LONGEST;
        let mut batch = first;
        loop {
            self.records.append(&mut batch.records);
            if let Some(done) = batch.flush {
                self.flushes.push(done);
                return self.commit(files);
            }
            if self.records.len() >= BATCH {
                self.insert(files)?;
            }
            let wait = due.saturating_duration_since(Instant::now()).min(LINGER);
            batch = match batches.recv_timeout(wait) {
                Ok(batch) if self.uncommitted.records() < UNCOMMITTED && !wait.is_zero() => batch,
                Ok(batch) => {
                    self.commit(files)?;
                    due = Instant::now() + LONGEST;
                    batch
                }
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return self.commit(files),
            };
        }
    }

    fn insert(&mut self, files: &mut DayFiles) -> Result<(), Error> {
        files.insert(&self.records)?;
        self.records.drain(..).for_each(|record| self.uncommitted.count(record.record_type()));
        Ok(())
    }

    fn commit(&mut self, files: &mut DayFiles) -> Result<(), Error> {
        self.insert(files)?;
        files.commit()?;
        self.written.add(std::mem::take(&mut self.uncommitted));
        // Nobody waits any more: no matter.
        self.flushes.drain(..).for_each(|done| _ = done.send(()));
        Ok(())
    }
}

/// Records waiting at most, or calls with their streams: some megabytes.
const QUEUE: usize = 2048;
/// Records that are written to the files at once.
const BATCH: usize = 1024;
/// Batches with their compact forms that wait at most.
const BATCHES: usize = 2;
/// Records after which they are committed.
const UNCOMMITTED: u64 = 65_536;
/// How long nothing may come until what is there is committed.
const LINGER: Duration = Duration::from_millis(200);
/// How long a record waits for others at most.
const LONGEST: Duration = Duration::from_secs(1);
/// How long another process's lock is waited for.
const PATIENCE: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests {
    use ringtap_model::{Endpoint, Nanos};

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
        let mut writer = ImportWriter::open_with(dir.path(), Some(60), OnMigration::default()).unwrap();
        let result = (0..5_000).try_for_each(|number| writer.message(&message(number)));
        let error = result.and_then(|()| writer.flush()).unwrap_err();
        assert!(matches!(error, Error::Full { .. }), "{error}");
        assert!(matches!(writer.message(&message(1)), Err(Error::Full { .. })));
        assert!(matches!(writer.flush(), Err(Error::Full { .. })));
        assert!(matches!(writer.close(), Err(Error::Full { .. })));
    }

    /// What it had taken is missing then, though all that reached the files was written.
    #[test]
    fn an_import_whose_encoding_thread_crashed_is_none() {
        let dir = tempfile::tempdir().unwrap();
        let mut writer = ImportWriter::open(dir.path()).unwrap();
        writer.message(&message(1)).unwrap();
        writer.encoder = Some(thread::spawn(|| std::panic::resume_unwind(Box::new("crashed"))));
        assert!(matches!(writer.close(), Err(Error::Stopped { .. })));
    }

    /// The compact form leaves out texts that a file is expected to have whole: where its table of texts is
    /// full, none of them is lost.
    #[test]
    fn a_file_without_room_for_texts() {
        let dir = tempfile::tempdir().unwrap();
        let call = ringtap_testing::samples::call();
        let import = |call: &Call| {
            let mut writer = ImportWriter::open(dir.path()).unwrap();
            writer.call(call, &[]).unwrap();
            writer.close().unwrap();
        };
        import(&Call { id: ringtap_model::Id([1; 16]), ..call.clone() });
        let day = crate::Day::of(crate::record::StoredRecord::start(&call));
        let connection = rusqlite::Connection::open(dir.path().join(day.file_name())).unwrap();
        connection.execute("INSERT INTO texts VALUES (16384, 'the last one')", []).unwrap();
        drop(connection);
        let id = ringtap_model::Id([2; 16]);
        let call = Call { id, user_agent_caller: Some("Not there yet".into()), ..call };
        import(&call);
        let reader = crate::Reader::open(dir.path()).unwrap();
        let found = reader.calls(&crate::Query::default()).unwrap().records;
        assert_eq!(found.iter().find(|found| found.id == id), Some(&call));
    }

    /// More days than files are held open.
    #[test]
    fn many_days() {
        let dir = tempfile::tempdir().unwrap();
        let mut writer = ImportWriter::open(dir.path()).unwrap();
        for number in 0..60 {
            let day = number % 20;
            let time = Nanos::from_secs(1_795_262_400 + day * 86_400);
            writer.message(&Message { time, ..message(number) }).unwrap();
            if day == 13 {
                writer.flush().unwrap();
            }
        }
        assert_eq!(
            writer.close().unwrap(),
            RecordCounts { messages: 60, days: 20, ..RecordCounts::default() }
        );
    }
}

//! The writer of a run that ends: a bounded queue, a thread of its own, batches committed to the day files.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use ringtap_model::{Call, Message, Registration, Stream};

use crate::Error;
use crate::day_files::{CACHE, DayFiles};
use crate::record::{AnyRecord, PendingRecord, RecordType};

/// Records that are durable, those that were there already included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecordCounts {
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
/// Records are queued and written in batches by a thread of its own, a fifth of a second after the first of a
/// batch at the latest. They are acknowledged by [`flush`](Self::flush) and [`close`](Self::close): before
/// that, a kill may lose them. A writer that failed stays failed, every later call returns the same error:
/// the person who ran it is there to read it and run it again. What has to outlive a failure is
/// [`StoreWriter`](crate::StoreWriter)'s.
#[derive(Debug)]
pub struct ImportWriter {
    dir: PathBuf,
    /// `None` once closed.
    queue: Option<SyncSender<Job>>,
    thread: Option<JoinHandle<Result<RecordCounts, Error>>>,
    failure: Arc<Mutex<Option<Error>>>,
}

impl ImportWriter {
    /// A writer to that directory, which is created where it does not exist.
    pub fn open(dir: &Path) -> Result<Self, Error> {
        Self::open_with(dir, None)
    }

    /// `pages` bounds the size of each file: a full disk for tests.
    fn open_with(dir: &Path, pages: Option<u32>) -> Result<Self, Error> {
        let files = DayFiles::create(dir, PATIENCE, pages, CACHE)?;
        let (queue, jobs) = sync_channel(QUEUE);
        let failure = Arc::new(Mutex::new(None));
        let told = Arc::clone(&failure);
        let run = move || serve(files, &jobs, &told);
        let thread =
            thread::Builder::new().name("store".into()).spawn(run).map_err(|error| Error::io(dir, error))?;
        Ok(Self { dir: dir.to_owned(), queue: Some(queue), thread: Some(thread), failure })
    }

    /// Queues a call and its streams. Waits while the queue is full.
    pub fn call(&mut self, call: &Call, streams: &[Stream]) -> Result<(), Error> {
        self.send(Job::Record(AnyRecord::Call(Box::new(call.clone()))))?;
        streams.iter().try_for_each(|stream| self.stream(stream))
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

    /// Returns when everything queued so far is on disk: committed and synced.
    pub fn flush(&self) -> Result<(), Error> {
        let (done, wait) = sync_channel(1);
        self.send(Job::Flush(done))?;
        wait.recv().map_err(|_| self.failure())
    }

    /// Writes what is queued and ends. The counts are of durable records.
    pub fn close(mut self) -> Result<RecordCounts, Error> {
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

/// A writer that is dropped writes what it has; whether that worked, only [`ImportWriter::close`] tells.
impl Drop for ImportWriter {
    fn drop(&mut self) {
        self.queue = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

enum Job {
    Record(AnyRecord),
    Flush(SyncSender<()>),
}

impl RecordCounts {
    pub(crate) fn count(&mut self, record_type: RecordType) {
        match record_type {
            RecordType::Call => self.calls += 1,
            RecordType::Stream => self.streams += 1,
            RecordType::Registration => self.registrations += 1,
            RecordType::Message => self.messages += 1,
        }
    }
}

/// The thread: takes what is queued, commits it, acknowledges.
fn serve(
    mut files: DayFiles,
    jobs: &Receiver<Job>,
    failure: &Mutex<Option<Error>>,
) -> Result<RecordCounts, Error> {
    let mut written = RecordCounts::default();
    while let Ok(first) = jobs.recv() {
        let (batch, acknowledge) = gather(first, jobs);
        files.store(&batch).inspect_err(|error| {
            // Told before the queue and `acknowledge` end: whoever waits for them finds the reason.
            *failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(error.clone());
        })?;
        batch.iter().for_each(|record| written.count(record.record_type()));
        if let Some(done) = acknowledge {
            // Nobody waits any more: no matter.
            let _ = done.send(());
        }
    }
    written.days = files.days();
    Ok(written)
}

/// A batch: full, a fifth of a second old, ended by a flush, or the last.
fn gather(first: Job, jobs: &Receiver<Job>) -> (Vec<PendingRecord>, Option<SyncSender<()>>) {
    let mut batch = Vec::new();
    let due = Instant::now() + LINGER;
    let mut job = first;
    loop {
        match job {
            Job::Record(record) => batch.push(record.into()),
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

/// Records waiting at most: some megabytes.
const QUEUE: usize = 4096;
/// Records in a transaction at most.
const BATCH: usize = 1024;
/// How long a record waits for others at most.
const LINGER: Duration = Duration::from_millis(200);
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
        let mut writer = ImportWriter::open_with(dir.path(), Some(60)).unwrap();
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

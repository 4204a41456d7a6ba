//! The writer of a program that runs for months: it outlives a database that is slow, locked or out of space.

use std::collections::VecDeque;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TryRecvError, TrySendError, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use ringtap_model::{Call, Id, Message, Nanos, Registration, Stream};

use crate::files::Files;
use crate::journal::Journal;
use crate::outbox::Outbox;
use crate::record::{AnyRecord, PendingRecord, RecordType};
use crate::shared::{Counts, Shared};
use crate::{Day, Error};

/// Where records go, and how many may wait.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The day files.
    pub directory: PathBuf,
    /// Records that may wait in memory, a call and its streams being one.
    pub queue: usize,
    /// The directory of records that wait on disk.
    pub outbox: PathBuf,
    /// Bytes that it may take.
    pub outbox_size: u64,
    /// The journal of calls under way; none is kept where this is `None`.
    pub journal: Option<PathBuf>,
    /// Day files are deleted once they are older than this; never where it is zero.
    pub retain: Nanos,
}

/// What an operator ought to know, told once each time it comes about.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Notice {
    /// The previous run ended without a clean stop: what it left.
    Recovered {
        /// Calls that were under way or just released, recorded now as far as they were known.
        calls: usize,
        /// Records that wait in the outbox.
        waiting: u64,
        /// Damaged bytes cut off the journal and the outbox.
        cut: u64,
    },
    /// The day files take no records; they wait.
    Away(Error),
    /// They take records again.
    Back {
        /// After this long.
        after: Duration,
        /// Records that wait in the outbox by now.
        waiting: u64,
    },
    /// They are slower than the records come: some wait in the outbox.
    Behind,
    /// Everything that waited in the outbox is stored.
    CaughtUp,
    /// The outbox takes no records: they wait in memory alone, and are dropped once that is full.
    OutboxRefuses(Error),
    /// The outbox is full, with the same effect.
    OutboxFull,
    /// The outbox takes records again.
    OutboxTakes,
    /// The journal cannot be written: a kill now would forget the calls that begin.
    JournalFails(Error),
    /// The journal can be written again.
    JournalWorks,
    /// Days that were deleted because they are older than records are kept.
    Forgotten(Vec<Day>),
    /// A day that should be deleted and cannot be.
    CannotForget(Error),
}

/// Keeps records: in the day files, or in the outbox while those are slow or away.
///
/// Records come from any number of threads, each with an [`Inlet`], which never waits: what finds no room in the queue is
/// counted. One thread takes them from the queue and stores them in batches. When the day files refuse a batch, or are
/// slower than the records come, records go to the outbox, and from there in order to the day files when these work
/// again, also after a restart.
#[derive(Debug)]
pub struct Keeper {
    shared: Arc<Shared>,
    queue: Option<SyncSender<Job>>,
    thread: Option<JoinHandle<()>>,
}

/// One thread's way into the queue. It never waits.
#[derive(Debug)]
pub struct Inlet {
    shared: Arc<Shared>,
    queue: SyncSender<Job>,
    /// Calls whose record found no room: the journal has to forget them all the same.
    gone: Vec<Id>,
}

enum Job {
    Call(Box<Call>, Vec<Stream>),
    Stream(Box<Stream>),
    Registration(Box<Registration>),
    Message(Box<Message>),
    Progress(Box<Call>),
    Gone(Vec<Id>),
    Flush(SyncSender<()>),
}

impl Keeper {
    /// Opens journal and outbox, takes up what the previous run left in them, and begins to keep records. Day files that
    /// cannot be written to are no error: they are tried again until they can.
    ///
    /// # Errors
    ///
    /// The journal or the outbox cannot be opened, or the directory of the day files cannot be made.
    pub fn open(settings: &Settings, told: impl FnMut(Notice) + Send + 'static) -> Result<Self, Error> {
        let files = Files::create(&settings.directory, PATIENCE, None)?;
        Self::with(files, settings, Box::new(told))
    }

    fn with(files: Files, settings: &Settings, mut told: Told) -> Result<Self, Error> {
        let (outbox, mut cut) = Outbox::open(&settings.outbox, settings.outbox_size)?;
        let mut held = VecDeque::new();
        let mut calls = 0;
        let mut journal = None;
        if let Some(path) = &settings.journal {
            let (opened, recovered) = Journal::open(path)?;
            cut += recovered.cut;
            calls = recovered.calls.len();
            let records = recovered.calls.into_iter().map(|call| AnyRecord::Call(Box::new(call)));
            held.extend(records.map(|record| PendingRecord { record, from_journal: true }));
            journal = Some(opened);
        }
        let waiting = outbox.records();
        if calls > 0 || waiting > 0 || cut > 0 {
            told(Notice::Recovered { calls, waiting, cut });
        }
        let shared = Arc::new(Shared::new(settings));
        let (queue, jobs) = sync_channel(settings.queue.max(1));
        let desk = Desk {
            files,
            outbox,
            journal,
            jobs,
            held,
            told,
            shared: Arc::clone(&shared),
            away: None,
            behind: false,
            refused: false,
            journal_failed: false,
            acknowledge: Vec::new(),
            closing: None,
            marked: Instant::now(),
            forgot: None,
        };
        desk.publish();
        let thread = thread::Builder::new()
            .name("store".into())
            .spawn(move || desk.serve())
            .map_err(|error| Error::io(&settings.directory, error))?;
        Ok(Self { shared, queue: Some(queue), thread: Some(thread) })
    }

    /// A way in for one thread. `None` once closed.
    pub fn inlet(&self) -> Option<Inlet> {
        let queue = self.queue.clone()?;
        Some(Inlet { shared: Arc::clone(&self.shared), queue, gone: Vec::new() })
    }

    /// What was counted so far, and what waits now.
    pub fn counts(&self) -> Counts {
        self.shared.counts()
    }

    /// A handle on the same counts for another thread.
    pub fn gauge(&self) -> Gauge {
        Gauge(Arc::clone(&self.shared))
    }

    /// From now on day files are deleted once they are older than this; never where it is zero.
    pub fn retain(&self, retain: Nanos) {
        self.shared.set_retain(retain);
    }

    /// Waits, but no longer than `patience`, until everything queued so far is on disk: in the day files or in the outbox,
    /// synced. Tells whether it is.
    pub fn flush(&self, patience: Duration) -> bool {
        let (done, wait) = sync_channel(1);
        let sent = self.queue.as_ref().is_some_and(|queue| queue.send(Job::Flush(done)).is_ok());
        sent && wait.recv_timeout(patience).is_ok()
    }

    /// Keeps what is queued and ends. What waits in the outbox gets at most `patience` to be stored; the rest stays there
    /// for the next run. The counts are final.
    pub fn close(mut self, patience: Duration) -> Counts {
        self.end(patience);
        self.shared.counts()
    }

    fn end(&mut self, patience: Duration) {
        self.shared.close(patience);
        self.queue = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        self.end(Duration::ZERO);
    }
}

/// Reads the counts of a [`Keeper`] from another thread.
#[derive(Clone, Debug)]
pub struct Gauge(Arc<Shared>);

impl Gauge {
    /// What was counted so far, and what waits now.
    pub fn counts(&self) -> Counts {
        self.0.counts()
    }
}

impl Inlet {
    /// A call ended, with its streams.
    pub fn call(&mut self, call: Call, streams: Vec<Stream>) {
        let (id, count) = (call.id, streams.len());
        if !self.send(Job::Call(Box::new(call), streams)) {
            self.shared.dropped(RecordType::Call, 1);
            self.shared.dropped(RecordType::Stream, count as u64);
            if self.gone.len() < GONE {
                self.gone.push(id);
            }
        }
    }

    /// A stream without a call ended.
    pub fn stream(&mut self, stream: Stream) {
        if !self.send(Job::Stream(Box::new(stream))) {
            self.shared.dropped(RecordType::Stream, 1);
        }
    }

    /// A registration ended.
    pub fn registration(&mut self, registration: Registration) {
        if !self.send(Job::Registration(Box::new(registration))) {
            self.shared.dropped(RecordType::Registration, 1);
        }
    }

    /// A MESSAGE was answered or given up.
    pub fn message(&mut self, message: Message) {
        if !self.send(Job::Message(Box::new(message))) {
            self.shared.dropped(RecordType::Message, 1);
        }
    }

    /// A call began, or more is known of it: for the journal. When much is waiting this is left out, and counted: records
    /// come first.
    pub fn progress(&mut self, call: &Call) {
        if !self.shared.keeps_journal() {
            return;
        }
        if self.shared.half_full() || !self.send(Job::Progress(Box::new(call.clone()))) {
            self.shared.unjournaled();
        }
    }

    /// The time by the packets or the clock: where calls that are cut off by a kill will be taken to have ended.
    pub fn clock(&self, now: Nanos) {
        self.shared.set_clock(now);
    }

    fn send(&mut self, job: Job) -> bool {
        if !self.gone.is_empty() {
            let gone = std::mem::take(&mut self.gone);
            if let Err(Job::Gone(gone)) = self.offer(Job::Gone(gone)) {
                self.gone = gone;
            }
        }
        self.offer(job).is_ok()
    }

    fn offer(&self, job: Job) -> Result<(), Job> {
        // Before it is sent, so that it is never taken from the count first.
        self.shared.queued();
        self.queue.try_send(job).map_err(|error| {
            self.shared.unqueued();
            match error {
                TrySendError::Full(job) | TrySendError::Disconnected(job) => job,
            }
        })
    }
}

type Told = Box<dyn FnMut(Notice) + Send>;

/// The thread's own.
struct Desk {
    files: Files,
    outbox: Outbox,
    journal: Option<Journal>,
    jobs: Receiver<Job>,
    /// Taken from the queue and not yet on disk.
    held: VecDeque<PendingRecord>,
    told: Told,
    shared: Arc<Shared>,
    away: Option<Away>,
    behind: bool,
    /// The outbox took less than it was given.
    refused: bool,
    journal_failed: bool,
    /// Who waits until nothing is held.
    acknowledge: Vec<SyncSender<()>>,
    /// When to end.
    closing: Option<Instant>,
    marked: Instant,
    forgot: Option<Instant>,
}

/// The day files refuse.
struct Away {
    since: Instant,
    again: Instant,
    wait: Duration,
}

impl Desk {
    fn serve(mut self) {
        loop {
            match self.shared.closing() {
                Some(patience) => self.take_all(patience),
                None => self.take(),
            }
            self.mark();
            self.forget();
            self.settle();
            self.acknowledge();
            self.publish();
            if let Some(deadline) = self.closing {
                let settled = self.held.is_empty() && (self.outbox.is_empty() || self.away.is_some());
                if settled || Instant::now() >= deadline {
                    return self.finish();
                }
            }
        }
    }

    /// Takes jobs from the queue: a batch, or what comes within a fifth of a second of the first.
    fn take(&mut self) {
        if self.held.len() >= BATCH {
            return self.rest();
        }
        // Something to do at once: only what is there already.
        let busy = !self.outbox.is_empty() && self.away.is_none();
        let mut wait = if busy { Duration::ZERO } else { IDLE };
        let mut due = None;
        while self.held.len() < BATCH {
            match self.jobs.recv_timeout(wait) {
                Ok(job) => {
                    if self.accept(job) {
                        return;
                    }
                }
                // The end comes with a word of its own.
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return,
            }
            let due = *due.get_or_insert_with(|| Instant::now() + LINGER);
            wait = if busy { Duration::ZERO } else { due.saturating_duration_since(Instant::now()) };
        }
    }

    /// The end: everything that is in the queue, however much that is, and from then on `patience`.
    fn take_all(&mut self, patience: Duration) {
        if self.closing.is_some() {
            return self.rest();
        }
        while let Ok(job) = self.jobs.try_recv() {
            self.accept(job);
        }
        self.closing = Some(Instant::now() + patience);
    }

    /// Nothing may be taken: where nothing can be stored either, some time has to pass.
    fn rest(&self) {
        if let Some(away) = &self.away {
            thread::sleep(away.again.saturating_duration_since(Instant::now()).min(LINGER));
        }
    }

    /// Takes a job to heart; true when the batch ends with it.
    fn accept(&mut self, job: Job) -> bool {
        if !matches!(job, Job::Flush(_)) {
            self.shared.unqueued();
        }
        match job {
            Job::Call(call, streams) => {
                self.hold(AnyRecord::Call(call));
                streams.into_iter().for_each(|stream| self.hold(AnyRecord::Stream(Box::new(stream))));
            }
            Job::Stream(stream) => self.hold(AnyRecord::Stream(stream)),
            Job::Registration(registration) => self.hold(AnyRecord::Registration(registration)),
            Job::Message(message) => self.hold(AnyRecord::Message(message)),
            Job::Progress(call) => {
                let now = self.shared.clock().max(call.start().unwrap_or_default());
                self.journal(|journal| journal.begin(now, &call));
            }
            Job::Gone(ids) => {
                ids.iter().for_each(|id| self.journal(|journal| journal.end(id)));
            }
            Job::Flush(done) => {
                self.acknowledge.push(done);
                return true;
            }
        }
        false
    }

    fn hold(&mut self, record: AnyRecord) {
        self.held.push_back(record.into());
    }

    /// Brings what is held to disk, and what waits in the outbox to the day files.
    fn settle(&mut self) {
        if self.away.as_ref().is_none_or(|away| Instant::now() >= away.again) {
            self.store();
        }
        for _ in 0..ROUNDS {
            let direct = self.away.is_none() && self.outbox.is_empty() && !self.shared.half_full();
            if self.held.is_empty() || direct || !self.spill() {
                break;
            }
            while self.held.len() < BATCH {
                match self.jobs.try_recv() {
                    Ok(job) => _ = self.accept(job),
                    Err(TryRecvError::Empty | TryRecvError::Disconnected) => break,
                }
            }
        }
    }

    /// A batch to the day files: the oldest of the outbox, or what is held when nothing is older.
    fn store(&mut self) {
        if self.outbox.is_empty() {
            if self.held.is_empty() {
                return;
            }
            match self.files.store(&self.held) {
                Ok(()) => {
                    self.came_back();
                    let records = std::mem::take(&mut self.held);
                    records.iter().for_each(|record| self.shared.stored(record.record_type()));
                    self.ended(records.iter());
                }
                Err(error) => self.failed(error),
            }
            return;
        }
        let stored = self.outbox.read(BATCH).and_then(|records| self.files.store(&records).map(|()| records));
        match stored {
            Ok(records) => {
                self.came_back();
                self.outbox.stored();
                records.iter().for_each(|record| self.shared.stored(record.record_type()));
                if self.outbox.is_empty() && std::mem::take(&mut self.behind) {
                    (self.told)(Notice::CaughtUp);
                }
            }
            Err(error) => self.failed(error),
        }
    }

    /// What is held to the outbox; false when it does not take all of it.
    fn spill(&mut self) -> bool {
        if self.away.is_none() && self.outbox.is_empty() && !std::mem::replace(&mut self.behind, true) {
            (self.told)(Notice::Behind);
        }
        match self.outbox.push(self.held.iter()) {
            Ok(taken) => {
                let records: Vec<PendingRecord> = self.held.drain(..taken).collect();
                self.ended(records.iter());
                let all = self.held.is_empty();
                match (all, std::mem::replace(&mut self.refused, !all)) {
                    (false, false) => (self.told)(Notice::OutboxFull),
                    (true, true) => (self.told)(Notice::OutboxTakes),
                    _ => {}
                }
                all
            }
            Err(error) => {
                if !std::mem::replace(&mut self.refused, true) {
                    (self.told)(Notice::OutboxRefuses(error));
                }
                false
            }
        }
    }

    /// These records are durable: the journal need not know their calls any more.
    fn ended<'a>(&mut self, records: impl Iterator<Item = &'a PendingRecord>) {
        for pending in records {
            if let AnyRecord::Call(call) = &pending.record {
                self.journal(|journal| journal.end(&call.id));
            }
        }
    }

    fn failed(&mut self, error: Error) {
        // The next attempt opens what is there then.
        self.files.close();
        self.shared.failed();
        let now = Instant::now();
        match &mut self.away {
            Some(away) => {
                away.wait = (away.wait * 2).min(LONGEST_WAIT);
                away.again = now + away.wait;
            }
            None => {
                self.away = Some(Away { since: now, again: now + FIRST_WAIT, wait: FIRST_WAIT });
                (self.told)(Notice::Away(error));
            }
        }
    }

    fn came_back(&mut self) {
        if let Some(away) = self.away.take() {
            let waiting = self.outbox.records();
            self.behind = waiting > 0;
            (self.told)(Notice::Back { after: away.since.elapsed(), waiting });
        }
    }

    fn journal(&mut self, write: impl FnOnce(&mut Journal) -> Result<(), Error>) {
        let Some(journal) = &mut self.journal else { return };
        match (write(journal), self.journal_failed) {
            (Err(error), failed) => {
                self.shared.unjournaled();
                self.journal_failed = true;
                if !failed {
                    (self.told)(Notice::JournalFails(error));
                }
            }
            (Ok(()), true) => {
                self.journal_failed = false;
                (self.told)(Notice::JournalWorks);
            }
            (Ok(()), false) => {}
        }
    }

    /// Once a second the journal learns the time, and is synced.
    fn mark(&mut self) {
        if self.marked.elapsed() < MARK {
            return;
        }
        self.marked = Instant::now();
        let now = self.shared.clock();
        self.journal(|journal| journal.mark(now).and_then(|()| journal.sync()));
    }

    fn forget(&mut self) {
        let retain = self.shared.retain();
        if retain == Nanos::ZERO || self.forgot.is_some_and(|forgot| forgot.elapsed() < FORGET) {
            return;
        }
        self.forgot = Some(Instant::now());
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        let limit = Nanos(u64::try_from(now.as_nanos()).unwrap_or(u64::MAX)) - retain;
        match self.files.forget(limit) {
            Ok(days) if days.is_empty() => {}
            Ok(days) => (self.told)(Notice::Forgotten(days)),
            Err(error) => (self.told)(Notice::CannotForget(error)),
        }
    }

    fn acknowledge(&mut self) {
        if self.held.is_empty() {
            // Nobody waits any more: no matter.
            self.acknowledge.drain(..).for_each(|done| _ = done.send(()));
        }
    }

    fn publish(&self) {
        let journal = self.journal.as_ref().map(|journal| (journal.calls() as u64, journal.bytes()));
        self.shared.publish(
            self.held.len() as u64,
            (self.outbox.records(), self.outbox.bytes()),
            journal.unwrap_or_default(),
            self.away.is_some(),
        );
    }

    /// The end: what is still held finds a place now or is counted as dropped.
    fn finish(mut self) {
        if !self.held.is_empty() && self.outbox.is_empty() {
            self.store();
        }
        if !self.held.is_empty() {
            self.spill();
        }
        // A call that found no place stays in the journal, and is recorded as interrupted by the next run.
        for record in std::mem::take(&mut self.held) {
            self.shared.dropped(record.record_type(), 1);
        }
        self.acknowledge();
        self.publish();
        if let Some(Err(error)) = self.journal.take().map(Journal::close) {
            (self.told)(Notice::JournalFails(error));
        }
    }
}

impl fmt::Debug for Job {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Call(..) => "Call",
            Self::Stream(_) => "Stream",
            Self::Registration(_) => "Registration",
            Self::Message(_) => "Message",
            Self::Progress(_) => "Progress",
            Self::Gone(_) => "Gone",
            Self::Flush(_) => "Flush",
        })
    }
}

/// Records in a transaction, and taken from the queue at once.
const BATCH: usize = 1024;
/// How long a record waits for others at most.
const LINGER: Duration = Duration::from_millis(200);
/// How long nothing is waited for: the journal learns the time in between.
const IDLE: Duration = Duration::from_millis(500);
/// How long another process's lock is waited for: the queue fills meanwhile.
const PATIENCE: Duration = Duration::from_millis(250);
/// When day files that refused are tried again, at first and at last.
const FIRST_WAIT: Duration = Duration::from_secs(1);
const LONGEST_WAIT: Duration = Duration::from_secs(10);
/// Batches that go to the outbox before the day files are tried again.
const ROUNDS: usize = 64;
/// Ids of dropped calls that an inlet remembers for the journal.
const GONE: usize = 65_536;
/// How often the journal learns the time.
const MARK: Duration = Duration::from_secs(1);
/// How often old days are looked for.
const FORGET: Duration = Duration::from_secs(3_600);

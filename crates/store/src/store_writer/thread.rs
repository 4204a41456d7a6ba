//! The thread that writes records: to the day files, or to the outbox while these cannot be written.

use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TryRecvError};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use ringtap_model::{Call, Id, Nanos};

use super::event::{OnEvent, StoreEvent, report};
use super::journal_thread::JournalJob;
use super::sender::{AvailabilityRecord, Job};
use crate::Error;
use crate::annotate::Annotate;
use crate::day_files::DayFiles;
use crate::outbox::Outbox;
use crate::record::{AnyRecord, PendingRecord};
use crate::settings::Retain;
use crate::state::SharedState;

/// The thread that writes.
pub(super) struct WriterThread {
    files: DayFiles,
    outbox: Outbox,
    journal: Option<SyncSender<JournalJob>>,
    jobs: Receiver<Job>,
    /// What completes records as they are received.
    annotate: Vec<Box<dyn Annotate>>,
    /// Received from the queue and not yet on disk.
    pending: VecDeque<PendingRecord>,
    on_event: Arc<Mutex<OnEvent>>,
    shared: Arc<SharedState>,
    outage: Option<Outage>,
    behind: bool,
    /// The outbox could not store all that it was given.
    outbox_refused: bool,
    /// Flushes that wait until nothing is pending.
    flushes: Vec<SyncSender<()>>,
    /// When to end, once the end has begun.
    deadline: Option<Instant>,
    /// When old days were last looked for.
    looked_for_old_days: Option<Instant>,
}

/// The day files cannot be written.
struct Outage {
    since: Instant,
    retry_at: Instant,
    wait: Duration,
}

impl WriterThread {
    pub(super) fn new(
        files: DayFiles,
        outbox: Outbox,
        journal: Option<SyncSender<JournalJob>>,
        jobs: Receiver<Job>,
        on_event: Arc<Mutex<OnEvent>>,
        shared: Arc<SharedState>,
    ) -> Self {
        let thread = Self {
            files,
            outbox,
            journal,
            jobs,
            annotate: Vec::new(),
            pending: VecDeque::new(),
            on_event,
            shared,
            outage: None,
            behind: false,
            outbox_refused: false,
            flushes: Vec::new(),
            deadline: None,
            looked_for_old_days: None,
        };
        thread.publish();
        thread
    }

    /// The same, completing records.
    pub(super) fn annotating(self, annotate: Vec<Box<dyn Annotate>>) -> Self {
        Self { annotate, ..self }
    }

    pub(super) fn run(mut self) {
        loop {
            match self.shared.closing() {
                Some(patience) => self.drain_queue(patience),
                None => self.receive_batch(),
            }
            self.delete_old_days();
            self.write_pending();
            // Who has waited for a flush sees its figures.
            self.publish();
            self.acknowledge_flushes();
            if let Some(deadline) = self.deadline {
                let settled = self.pending.is_empty() && (self.outbox.is_empty() || self.outage.is_some());
                if settled || Instant::now() >= deadline {
                    return self.finish();
                }
            }
        }
    }

    /// Receives jobs from the queue: a batch, or what comes within a fifth of a second of the first.
    fn receive_batch(&mut self) {
        if self.pending.len() >= BATCH {
            return self.pause();
        }
        // The outbox can be stored meanwhile: only what is in the queue already.
        let busy = !self.outbox.is_empty() && self.outage.is_none();
        let mut wait = if busy { Duration::ZERO } else { IDLE };
        let mut due = None;
        while self.pending.len() < BATCH {
            match self.jobs.recv_timeout(wait) {
                Ok(job) => {
                    if self.accept(job) {
                        return;
                    }
                }
                // The end is announced by the shared state.
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return,
            }
            let due = *due.get_or_insert_with(|| Instant::now() + LINGER);
            wait = if busy { Duration::ZERO } else { due.saturating_duration_since(Instant::now()) };
        }
    }

    /// The end: receives everything that is in the queue, however much that is, and sets the deadline.
    fn drain_queue(&mut self, patience: Duration) {
        if self.deadline.is_some() {
            return self.pause();
        }
        while let Ok(job) = self.jobs.try_recv() {
            self.accept(job);
        }
        self.deadline = Some(Instant::now() + patience);
    }

    /// Nothing may be received: where nothing can be stored either, wait a little.
    fn pause(&self) {
        if let Some(outage) = &self.outage {
            thread::sleep(outage.retry_at.saturating_duration_since(Instant::now()).min(LINGER));
        }
    }

    /// Does a job; true when the batch ends with it.
    fn accept(&mut self, job: Job) -> bool {
        if !matches!(job, Job::Flush(_)) {
            self.shared.unqueued();
        }
        match job {
            Job::Call(mut call, streams) => {
                self.annotate(&mut call);
                self.add(AnyRecord::Call(call));
                streams.into_iter().for_each(|stream| self.add(AnyRecord::Stream(Box::new(stream))));
            }
            Job::Stream(stream) => self.add(AnyRecord::Stream(stream)),
            Job::Registration(registration) => self.add(AnyRecord::Registration(registration)),
            Job::Message(message) => self.add(AnyRecord::Message(message)),
            Job::Transaction(transaction) => self.add(AnyRecord::Transaction(transaction)),
            Job::Alarm(alarm) => self.add(AnyRecord::Alarm(alarm)),
            Job::Availability(AvailabilityRecord::Outage(outage)) => self.add(AnyRecord::Outage(outage)),
            Job::Availability(AvailabilityRecord::Failover(failover)) => {
                self.add(AnyRecord::Failover(failover));
            }
            Job::Availability(AvailabilityRecord::Hour(hour)) => self.add(AnyRecord::ServiceHour(hour)),
            Job::Availability(AvailabilityRecord::AffectedCall(call)) => {
                self.add(AnyRecord::AffectedCall(call));
            }
            Job::Identity(identity) => self.add(AnyRecord::Identity(identity)),
            Job::Recovered(mut call, streams) => {
                self.annotate(&mut call);
                let streams = streams.into_iter().map(|stream| AnyRecord::Stream(Box::new(stream)));
                let records = std::iter::once(AnyRecord::Call(call)).chain(streams);
                self.pending.extend(records.map(PendingRecord::from_journal));
            }
            Job::RecoveredStream(stream) => {
                self.pending.push_back(PendingRecord::from_journal(AnyRecord::Stream(stream)));
            }
            Job::Flush(done) => {
                self.flushes.push(done);
                return true;
            }
        }
        false
    }

    /// Completes the record of a call. What it changes of earlier ones goes before it: a call whose record is
    /// stored has ended in the journal, and nobody would work it out again.
    fn annotate(&mut self, call: &mut Call) {
        for amendment in self.annotate.call(call) {
            self.add(AnyRecord::Amendment(Box::new(amendment)));
        }
    }

    fn add(&mut self, record: AnyRecord) {
        self.pending.push_back(record.into());
    }

    /// Writes pending records to disk, and those that wait in the outbox to the day files.
    fn write_pending(&mut self) {
        if self.outage.as_ref().is_none_or(|outage| Instant::now() >= outage.retry_at) {
            self.store();
        }
        for _ in 0..ROUNDS {
            let direct = self.outage.is_none() && self.outbox.is_empty() && !self.shared.half_full();
            if self.pending.is_empty() || direct || !self.spill() {
                break;
            }
            while self.pending.len() < BATCH {
                match self.jobs.try_recv() {
                    Ok(job) => _ = self.accept(job),
                    Err(TryRecvError::Empty | TryRecvError::Disconnected) => break,
                }
            }
        }
    }

    /// Writes a batch to the day files: the oldest of the outbox, or pending records when the outbox is
    /// empty.
    fn store(&mut self) {
        if self.outbox.is_empty() {
            return self.store_pending();
        }
        let stored = self.outbox.read(BATCH).and_then(|records| self.files.store(&records).map(|()| records));
        match stored {
            Ok(records) => {
                self.end_outage();
                self.outbox.stored();
                records.iter().for_each(|record| self.shared.stored(record.record_type()));
                if self.outbox.is_empty() && std::mem::take(&mut self.behind) {
                    self.report(StoreEvent::CaughtUp);
                }
            }
            Err(error) => self.begin_outage(error),
        }
    }

    fn store_pending(&mut self) {
        if self.pending.is_empty() {
            return;
        }
        match self.files.store(&self.pending) {
            Ok(()) => {
                self.end_outage();
                let records = std::mem::take(&mut self.pending);
                records.iter().for_each(|record| self.shared.stored(record.record_type()));
                self.end_in_journal(records.iter());
            }
            Err(error) => self.begin_outage(error),
        }
    }

    /// Writes pending records to the outbox; false when it has no room for all of them.
    fn spill(&mut self) -> bool {
        if self.outage.is_none() && self.outbox.is_empty() && !std::mem::replace(&mut self.behind, true) {
            self.report(StoreEvent::Behind);
        }
        match self.outbox.push(self.pending.iter()) {
            Ok(taken) => {
                let records: Vec<PendingRecord> = self.pending.drain(..taken).collect();
                self.end_in_journal(records.iter());
                let all = self.pending.is_empty();
                match (all, std::mem::replace(&mut self.outbox_refused, !all)) {
                    (false, false) => self.report(StoreEvent::OutboxFull),
                    (true, true) => self.report(StoreEvent::OutboxRecovered),
                    _ => {}
                }
                all
            }
            Err(error) => {
                if !std::mem::replace(&mut self.outbox_refused, true) {
                    self.report(StoreEvent::OutboxFailed(error));
                }
                false
            }
        }
    }

    /// These records are durable: the journal ends their calls.
    fn end_in_journal<'a>(&self, records: impl Iterator<Item = &'a PendingRecord>) {
        let Some(journal) = &self.journal else { return };
        let ids: Vec<Id> = records.filter_map(PendingRecord::call).collect();
        if !ids.is_empty() {
            // It waits for the journal, which waits for nobody but the disk.
            let _ = journal.send(JournalJob::Ended(ids));
        }
    }

    fn begin_outage(&mut self, error: Error) {
        // The next attempt opens what is there then.
        self.files.close();
        self.shared.failed();
        let now = Instant::now();
        match &mut self.outage {
            Some(outage) => {
                outage.wait = (outage.wait * 2).min(LONGEST_WAIT);
                outage.retry_at = now + outage.wait;
            }
            None => {
                self.outage = Some(Outage { since: now, retry_at: now + FIRST_WAIT, wait: FIRST_WAIT });
                self.report(StoreEvent::Unavailable(error));
            }
        }
    }

    fn end_outage(&mut self) {
        if let Some(outage) = self.outage.take() {
            let waiting = self.outbox.records();
            self.behind = waiting > 0;
            self.report(StoreEvent::Available { after: outage.since.elapsed(), waiting });
        }
    }

    fn delete_old_days(&mut self) {
        let retain = self.shared.retain();
        if retain == Retain::default()
            || self.looked_for_old_days.is_some_and(|looked| looked.elapsed() < FORGET)
        {
            return;
        }
        self.looked_for_old_days = Some(Instant::now());
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        let now = Nanos(u64::try_from(now.as_nanos()).unwrap_or(u64::MAX));
        let limit = |time: Nanos| (time != Nanos::ZERO).then(|| now.since(time));
        match self.files.delete_before(limit(retain.records), limit(retain.sessions)) {
            Ok(days) if days.is_empty() => {}
            Ok(days) => self.report(StoreEvent::DaysDeleted(days)),
            Err(error) => self.report(StoreEvent::DayNotDeleted(error)),
        }
    }

    fn acknowledge_flushes(&mut self) {
        if self.pending.is_empty() {
            // Nobody waits any more: no matter.
            self.flushes.drain(..).for_each(|done| _ = done.send(()));
        }
    }

    fn report(&self, event: StoreEvent) {
        report(&self.on_event, event);
    }

    fn publish(&self) {
        self.shared.publish(
            self.pending.len() as u64,
            (self.outbox.records(), self.outbox.bytes()),
            self.outage.is_some(),
        );
    }

    /// The end: records that are still pending are written now or counted as dropped.
    fn finish(mut self) {
        if !self.pending.is_empty() && self.outbox.is_empty() {
            self.store();
        }
        if !self.pending.is_empty() && !self.spill() {
            self.files.restore_directory();
            self.store_pending();
        }
        // A dropped call stays in the journal: the next run records it as interrupted.
        let dropped = std::mem::take(&mut self.pending);
        dropped.iter().for_each(|record| self.shared.dropped(record.record_type(), 1));
        if !dropped.is_empty() {
            self.report(StoreEvent::Dropped(dropped.len() as u64));
        }
        self.publish();
        self.acknowledge_flushes();
    }
}

/// Records in a transaction, and received from the queue at once.
const BATCH: usize = 1024;
/// How long a record waits for others at most.
const LINGER: Duration = Duration::from_millis(200);
/// How long nothing is waited for.
const IDLE: Duration = Duration::from_millis(500);
/// How long after a failure the day files are tried again, at first and at last.
const FIRST_WAIT: Duration = Duration::from_secs(1);
const LONGEST_WAIT: Duration = Duration::from_secs(10);
/// Batches that go to the outbox before the day files are tried again.
const ROUNDS: usize = 64;
/// How often old days are looked for.
const FORGET: Duration = Duration::from_secs(3_600);

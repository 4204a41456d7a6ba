//! What the threads of a writer share: counts, and the time.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use ringtap_model::Nanos;

use crate::import_writer::RecordCounts;
use crate::record::{RecordType, TYPES};
use crate::settings::{Retain, StoreSettings};

/// What a writer counted since it was opened, and what waits now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Records that are in the day files; `days` is not counted here.
    pub written: RecordCounts,
    /// Records that were dropped because there was no room anywhere; `days` is not counted here.
    pub dropped: RecordCounts,
    /// Places taken in the queue, and batches on their way to disk.
    pub waiting: u64,
    /// Places in the queue.
    pub queue: u64,
    /// Records in the outbox.
    pub outbox_records: u64,
    /// Bytes of the outbox.
    pub outbox_bytes: u64,
    /// Bytes that the outbox may use.
    pub outbox_limit: u64,
    /// Failed attempts to write to the day files.
    pub failures: u64,
    /// The day files cannot be written at present.
    pub away: bool,
    /// Calls in the journal.
    pub journal_calls: u64,
    /// Bytes of the journal.
    pub journal_bytes: u64,
    /// Entries that could not be written to the journal.
    pub journal_missed: u64,
}

impl Counts {
    /// Records of all kinds that were dropped.
    pub fn records_dropped(&self) -> u64 {
        self.dropped.records()
    }
}

impl RecordCounts {
    /// Records of all kinds.
    pub fn records(&self) -> u64 {
        let outside_calls = self.registrations + self.messages + self.transactions;
        let judged = self.alarms + self.outages;
        self.calls + self.streams + outside_calls + judged + self.identities + self.amendments
    }
}

#[derive(Debug)]
pub(crate) struct SharedState {
    queue: u64,
    outbox_limit: u64,
    waiting: AtomicU64,
    held: AtomicU64,
    written: [AtomicU64; TYPES],
    dropped: [AtomicU64; TYPES],
    outbox: [AtomicU64; 2],
    journal: [AtomicU64; 2],
    missed: AtomicU64,
    failures: AtomicU64,
    away: AtomicBool,
    clock: AtomicU64,
    retain: [AtomicU64; 2],
    /// How long the end may take, once it has begun.
    closing: OnceLock<Duration>,
}

// Counts and gauges that nothing else depends on: relaxed everywhere.
impl SharedState {
    pub(crate) fn new(settings: &StoreSettings) -> Self {
        Self {
            queue: settings.queue.max(1) as u64,
            outbox_limit: settings.outbox_size,
            waiting: AtomicU64::new(0),
            held: AtomicU64::new(0),
            written: Default::default(),
            dropped: Default::default(),
            outbox: Default::default(),
            journal: Default::default(),
            missed: AtomicU64::new(0),
            failures: AtomicU64::new(0),
            away: AtomicBool::new(false),
            clock: AtomicU64::new(0),
            retain: [settings.retain.records, settings.retain.sessions].map(|time| AtomicU64::new(time.0)),
            closing: OnceLock::new(),
        }
    }

    pub(crate) fn queued(&self) {
        self.waiting.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn unqueued(&self) {
        // The writer's own jobs were never counted in.
        let _ = self.waiting.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |count| count.checked_sub(1));
    }

    pub(crate) fn half_full(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) > self.queue / 2
    }

    pub(crate) fn stored(&self, record_type: RecordType) {
        self.written[record_type as usize].fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn dropped(&self, record_type: RecordType, count: u64) {
        self.dropped[record_type as usize].fetch_add(count, Ordering::Relaxed);
    }

    pub(crate) fn unjournaled(&self) {
        self.missed.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn failed(&self) {
        self.failures.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn clock(&self) -> Nanos {
        Nanos(self.clock.load(Ordering::Relaxed))
    }

    pub(crate) fn set_clock(&self, now: Nanos) {
        self.clock.fetch_max(now.0, Ordering::Relaxed);
    }

    pub(crate) fn retain(&self) -> Retain {
        let [records, sessions] = &self.retain;
        let time = |time: &AtomicU64| Nanos(time.load(Ordering::Relaxed));
        Retain { records: time(records), sessions: time(sessions) }
    }

    pub(crate) fn set_retain(&self, retain: Retain) {
        let [records, sessions] = &self.retain;
        records.store(retain.records.0, Ordering::Relaxed);
        sessions.store(retain.sessions.0, Ordering::Relaxed);
    }

    pub(crate) fn close(&self, patience: Duration) {
        // Only the first call counts.
        let _ = self.closing.set(patience);
    }

    pub(crate) fn closing(&self) -> Option<Duration> {
        self.closing.get().copied()
    }

    pub(crate) fn publish(&self, held: u64, outbox: (u64, u64), away: bool) {
        self.held.store(held, Ordering::Relaxed);
        self.outbox[0].store(outbox.0, Ordering::Relaxed);
        self.outbox[1].store(outbox.1, Ordering::Relaxed);
        self.away.store(away, Ordering::Relaxed);
    }

    pub(crate) fn publish_journal(&self, calls: u64, bytes: u64) {
        self.journal[0].store(calls, Ordering::Relaxed);
        self.journal[1].store(bytes, Ordering::Relaxed);
    }

    pub(crate) fn counts(&self) -> Counts {
        let get = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let kinds = |counts: &[AtomicU64; TYPES]| RecordCounts {
            calls: get(&counts[RecordType::Call as usize]),
            streams: get(&counts[RecordType::Stream as usize]),
            registrations: get(&counts[RecordType::Registration as usize]),
            messages: get(&counts[RecordType::Message as usize]),
            transactions: get(&counts[RecordType::Transaction as usize]),
            alarms: get(&counts[RecordType::Alarm as usize]),
            outages: [
                RecordType::Outage,
                RecordType::Failover,
                RecordType::ServiceHour,
                RecordType::AffectedCall,
            ]
            .map(|record_type| get(&counts[record_type as usize]))
            .iter()
            .sum(),
            identities: get(&counts[RecordType::Identity as usize]),
            amendments: get(&counts[RecordType::Amendment as usize]),
            days: 0,
        };
        Counts {
            written: kinds(&self.written),
            dropped: kinds(&self.dropped),
            waiting: get(&self.waiting) + get(&self.held),
            queue: self.queue,
            outbox_records: get(&self.outbox[0]),
            outbox_bytes: get(&self.outbox[1]),
            outbox_limit: self.outbox_limit,
            failures: get(&self.failures),
            away: self.away.load(Ordering::Relaxed),
            journal_calls: get(&self.journal[0]),
            journal_bytes: get(&self.journal[1]),
            journal_missed: get(&self.missed),
        }
    }
}

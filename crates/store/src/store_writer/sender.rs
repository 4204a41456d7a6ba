//! How records come to the writer: a queue in which a sender never waits.

use std::fmt;
use std::sync::Arc;
use std::sync::mpsc::{SyncSender, TrySendError};

use ringtap_model::{
    AffectedCall, Alarm, Call, Failover, Id, Identity, Message, Nanos, Outage, Registration, ServiceHour,
    Stream, Transaction,
};

use super::journal_thread::JournalJob;
use crate::journal::CallNote;
use crate::record::RecordType;
use crate::state::SharedState;

/// What the writer thread is asked to do.
pub(super) enum Job {
    Call(Box<Call>, Vec<Stream>),
    Stream(Box<Stream>),
    Registration(Box<Registration>),
    Message(Box<Message>),
    Transaction(Box<Transaction>),
    Alarm(Box<Alarm>),
    Availability(AvailabilityRecord),
    Identity(Box<Identity>),
    /// A call from the journal, with what the spool has of its streams.
    Recovered(Box<Call>, Vec<Stream>),
    /// A stream of such a call, which goes on.
    RecoveredStream(Box<Stream>),
    Flush(SyncSender<()>),
}

/// What is stored of the availability of services.
#[derive(Clone, Debug, PartialEq)]
pub enum AvailabilityRecord {
    /// A time in which a service served nobody.
    Outage(Box<Outage>),
    /// One failure, and how it was got over.
    Failover(Box<Failover>),
    /// How available a service was in an hour.
    Hour(Box<ServiceHour>),
    /// A call that a failover had an effect on.
    AffectedCall(Box<AffectedCall>),
}

/// Sends the records of one thread to the writer. It never waits.
#[derive(Clone, Debug)]
pub struct RecordSender {
    shared: Arc<SharedState>,
    queue: SyncSender<Job>,
    journal: Option<SyncSender<JournalJob>>,
    /// Calls whose record was dropped: the journal has to end them all the same.
    dropped_calls: Vec<Id>,
}

impl RecordSender {
    pub(super) fn new(
        shared: Arc<SharedState>,
        queue: SyncSender<Job>,
        journal: Option<SyncSender<JournalJob>>,
    ) -> Self {
        Self { shared, queue, journal, dropped_calls: Vec::new() }
    }

    /// A call ended, with its streams.
    pub fn call(&mut self, call: Call, streams: Vec<Stream>) {
        let (id, count) = (call.id, streams.len());
        let has_come_to_something = call.answer.is_some() || call.final_code != 0 || count > 0;
        if !self.send(Job::Call(Box::new(call), streams), has_come_to_something) {
            self.shared.dropped(RecordType::Call, 1);
            self.shared.dropped(RecordType::Stream, count as u64);
            if self.dropped_calls.len() < DROPPED_CALLS {
                self.dropped_calls.push(id);
            }
        }
    }

    /// Stores a call of [`Recovered`](crate::Recovered) with the streams that are known of it, unless a
    /// fuller record of either is there. Unlike all else it waits for room in the queue.
    pub fn recover(&self, call: Call, streams: Vec<Stream>) {
        self.shared.queued();
        // The thread ends only with the program.
        let _ = self.queue.send(Job::Recovered(Box::new(call), streams));
    }

    /// Stores what is known of streams of a call that goes on. Waits for room in the queue.
    pub fn recover_streams(&self, streams: Vec<Stream>) {
        for stream in streams {
            self.shared.queued();
            let _ = self.queue.send(Job::RecoveredStream(Box::new(stream)));
        }
    }

    /// A stream without a call ended.
    pub fn stream(&mut self, stream: Stream) {
        if !self.send(Job::Stream(Box::new(stream)), false) {
            self.shared.dropped(RecordType::Stream, 1);
        }
    }

    /// A registration ended.
    pub fn registration(&mut self, registration: Registration) {
        let is_answered = registration.code != 0;
        if !self.send(Job::Registration(Box::new(registration)), is_answered) {
            self.shared.dropped(RecordType::Registration, 1);
        }
    }

    /// A MESSAGE was answered or given up.
    pub fn message(&mut self, message: Message) {
        let is_answered = message.code != 0;
        if !self.send(Job::Message(Box::new(message)), is_answered) {
            self.shared.dropped(RecordType::Message, 1);
        }
    }

    /// A SIP transaction outside of calls ended.
    pub fn transaction(&mut self, transaction: Transaction) {
        let is_answered = transaction.code != 0;
        if !self.send(Job::Transaction(Box::new(transaction)), is_answered) {
            self.shared.dropped(RecordType::Transaction, 1);
        }
    }

    /// An alarm was raised, or changed: it replaces what is stored of it.
    pub fn alarm(&mut self, alarm: Alarm) {
        if !self.send(Job::Alarm(Box::new(alarm)), true) {
            self.shared.dropped(RecordType::Alarm, 1);
        }
    }

    /// An outage, a failover or the hour of a service began, or changed: it replaces what is stored of it.
    ///
    /// # Errors
    ///
    /// The queue has no room: the record comes back, to be sent again later.
    pub fn availability(&self, record: AvailabilityRecord) -> Result<(), AvailabilityRecord> {
        self.try_send(Job::Availability(record)).map_err(|job| match job {
            Job::Availability(record) => record,
            // INVARIANT: the job that comes back is the one that was sent.
            _ => unreachable!("another job came back"),
        })
    }

    /// Counts outages, failovers, affected calls and hours of services that nobody will send again.
    pub fn availability_dropped(&self, count: u64) {
        self.shared.dropped(RecordType::Outage, count);
    }

    /// A session of a subscriber began, changed or ended: it replaces what is stored of it.
    ///
    /// # Errors
    ///
    /// The queue has no room: the session comes back, to be sent again later.
    pub fn identity(&self, identity: Box<Identity>) -> Result<(), Box<Identity>> {
        self.try_send(Job::Identity(identity)).map_err(|job| match job {
            Job::Identity(identity) => identity,
            // INVARIANT: the job that comes back is the one that was sent.
            _ => unreachable!("another job came back"),
        })
    }

    /// Counts sessions that nobody will send again.
    pub fn identities_dropped(&self, count: u64) {
        self.shared.dropped(RecordType::Identity, count);
    }

    /// A call began, or more is known of it: for the journal. `number` names the call while the program runs,
    /// whatever its record's id is by then. An entry that finds the journal's queue full is left out, and
    /// counted.
    pub fn progress(&mut self, number: u64, call: &Call) {
        if self.journal.is_some() {
            self.enter(JournalJob::Progress { number, call: Box::new(call.clone()) });
        }
    }

    /// Notes something of the call of that number in the journal. False if it found no room there: it is
    /// counted, and may be tried again.
    pub fn note(&mut self, number: u64, note: CallNote) -> bool {
        self.enter(JournalJob::Note { number, note })
    }

    /// The time by the packets or the clock: calls that a kill interrupts are recorded as having ended then.
    pub fn clock(&self, now: Nanos) {
        self.shared.set_clock(now);
    }

    /// True without a journal: nothing is missing then.
    fn enter(&self, job: JournalJob) -> bool {
        let is_entered = self.journal.as_ref().is_none_or(|journal| journal.try_send(job).is_ok());
        if !is_entered {
            self.shared.unjournaled();
        }
        is_entered
    }

    /// False if there is no room. What nobody has answered gets half of it, so that a flood of that takes no
    /// record of what came to something.
    fn send(&mut self, job: Job, is_established: bool) -> bool {
        if let Some(journal) = self.journal.as_ref().filter(|_| !self.dropped_calls.is_empty())
            && let Err(TrySendError::Full(JournalJob::Ended(calls))) =
                journal.try_send(JournalJob::Ended(std::mem::take(&mut self.dropped_calls)))
        {
            self.dropped_calls = calls;
        }
        (is_established || !self.shared.half_full()) && self.try_send(job).is_ok()
    }

    fn try_send(&self, job: Job) -> Result<(), Job> {
        // Counted before it is sent: the writer must never subtract it first.
        self.shared.queued();
        self.queue.try_send(job).map_err(|error| {
            self.shared.unqueued();
            match error {
                TrySendError::Full(job) | TrySendError::Disconnected(job) => job,
            }
        })
    }
}

impl fmt::Debug for JournalJob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Progress { .. } => "Progress",
            Self::Note { .. } => "Note",
            Self::Ended(_) => "Ended",
            Self::HandOver { .. } => "HandOver",
            Self::Flush(_) => "Flush",
            Self::Close => "Close",
        })
    }
}

impl fmt::Debug for Job {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Call(..) => "Call",
            Self::Stream(_) => "Stream",
            Self::Registration(_) => "Registration",
            Self::Message(_) => "Message",
            Self::Transaction(_) => "Transaction",
            Self::Alarm(_) => "Alarm",
            Self::Availability(_) => "Availability",
            Self::Identity(_) => "Identity",
            Self::Recovered(..) => "Recovered",
            Self::RecoveredStream(_) => "RecoveredStream",
            Self::Flush(_) => "Flush",
        })
    }
}

/// Ids of dropped calls that a sender remembers for the journal.
const DROPPED_CALLS: usize = 65_536;

//! How records come to the writer: a queue in which a sender never waits.

use std::fmt;
use std::sync::Arc;
use std::sync::mpsc::{SyncSender, TrySendError};

use ringtap_model::{Call, Id, Message, Nanos, Registration, Stream};

use crate::record::RecordType;
use crate::state::SharedState;

/// What the writer thread is asked to do.
pub(super) enum Job {
    Call(Box<Call>, Vec<Stream>),
    Stream(Box<Stream>),
    Registration(Box<Registration>),
    Message(Box<Message>),
    /// For the journal.
    Progress(Box<Call>),
    /// Calls whose record found no room in the queue.
    Dropped(Vec<Id>),
    Flush(SyncSender<()>),
}

/// Sends the records of one thread to the writer. It never waits.
#[derive(Debug)]
pub struct RecordSender {
    shared: Arc<SharedState>,
    queue: SyncSender<Job>,
    /// Calls whose record was dropped: the journal has to end them all the same.
    dropped_calls: Vec<Id>,
}

impl RecordSender {
    pub(super) fn new(shared: Arc<SharedState>, queue: SyncSender<Job>) -> Self {
        Self { shared, queue, dropped_calls: Vec::new() }
    }

    /// A call ended, with its streams.
    pub fn call(&mut self, call: Call, streams: Vec<Stream>) {
        let (id, count) = (call.id, streams.len());
        if !self.send(Job::Call(Box::new(call), streams)) {
            self.shared.dropped(RecordType::Call, 1);
            self.shared.dropped(RecordType::Stream, count as u64);
            if self.dropped_calls.len() < DROPPED_CALLS {
                self.dropped_calls.push(id);
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

    /// A call began, or more is known of it: for the journal. When the queue is half full the journal is left
    /// out, and that is counted: records come first.
    pub fn progress(&mut self, call: &Call) {
        if !self.shared.has_journal() {
            return;
        }
        if self.shared.half_full() || !self.send(Job::Progress(Box::new(call.clone()))) {
            self.shared.unjournaled();
        }
    }

    /// The time by the packets or the clock: calls that a kill interrupts are recorded as having ended then.
    pub fn clock(&self, now: Nanos) {
        self.shared.set_clock(now);
    }

    fn send(&mut self, job: Job) -> bool {
        if !self.dropped_calls.is_empty() {
            let calls = std::mem::take(&mut self.dropped_calls);
            if let Err(Job::Dropped(calls)) = self.try_send(Job::Dropped(calls)) {
                self.dropped_calls = calls;
            }
        }
        self.try_send(job).is_ok()
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

impl fmt::Debug for Job {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Call(..) => "Call",
            Self::Stream(_) => "Stream",
            Self::Registration(_) => "Registration",
            Self::Message(_) => "Message",
            Self::Progress(_) => "Progress",
            Self::Dropped(_) => "Dropped",
            Self::Flush(_) => "Flush",
        })
    }
}

/// Ids of dropped calls that a sender remembers for the journal.
const DROPPED_CALLS: usize = 65_536;

//! The thread that writes the journal. The day files may take long to write: calls that begin meanwhile have
//! to be in the journal all the same.

use std::collections::HashMap;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use ringtap_model::{Call, Id, Nanos};

use super::event::{OnEvent, StoreEvent, report};
use crate::Error;
use crate::journal::{CallNote, Journal};
use crate::state::SharedState;

/// What the thread is asked to do.
pub(super) enum JournalJob {
    /// A call began, or more is known of it; `number` names it while the program runs.
    Progress {
        number: u64,
        call: Box<Call>,
    },
    /// Something is noted of the call of that number.
    Note {
        number: u64,
        note: CallNote,
    },
    /// The records of these calls are durable, or dropped.
    Ended(Vec<Id>),
    /// These calls are in progress when the program ends, at `now`.
    HandOver {
        now: Nanos,
        calls: Vec<(Call, Vec<CallNote>)>,
    },
    Flush(SyncSender<()>),
    Close,
}

/// The thread that writes the journal.
pub(super) struct JournalThread {
    journal: Journal,
    jobs: Receiver<JournalJob>,
    on_event: Arc<Mutex<OnEvent>>,
    shared: Arc<SharedState>,
    /// The calls in progress by their number, and their numbers.
    ids: HashMap<u64, Id>,
    numbers: HashMap<Id, u64>,
    failed: bool,
    /// When the journal last learned the time.
    marked: Instant,
}

impl JournalThread {
    pub(super) fn new(
        journal: Journal,
        jobs: Receiver<JournalJob>,
        on_event: Arc<Mutex<OnEvent>>,
        shared: Arc<SharedState>,
    ) -> Self {
        let (ids, numbers) = (HashMap::new(), HashMap::new());
        let thread =
            Self { journal, jobs, on_event, shared, ids, numbers, failed: false, marked: Instant::now() };
        thread.publish();
        thread
    }

    pub(super) fn run(mut self) {
        loop {
            match self.jobs.recv_timeout(MARK.saturating_sub(self.marked.elapsed())) {
                Ok(JournalJob::Close) | Err(RecvTimeoutError::Disconnected) => return self.finish(),
                Ok(job) => self.accept(job),
                Err(RecvTimeoutError::Timeout) => {}
            }
            self.mark();
            self.publish();
        }
    }

    fn accept(&mut self, job: JournalJob) {
        match job {
            JournalJob::Progress { number, call } => self.progress(number, &call),
            JournalJob::Note { number, note } => {
                let id = self.ids.get(&number).copied();
                // It is over: nobody will look for the note.
                let is_noted =
                    id.is_none_or(|id| self.write(|journal| journal.note(&id, &note)).unwrap_or(true));
                if !is_noted {
                    self.shared.unjournaled();
                }
            }
            JournalJob::Ended(ids) => {
                for id in ids {
                    self.numbers.remove(&id).iter().for_each(|number| _ = self.ids.remove(number));
                    self.write(|journal| journal.end(&id));
                }
            }
            JournalJob::HandOver { now, calls } => {
                for (call, notes) in calls {
                    self.begin(now, &call);
                    for note in notes {
                        self.write(|journal| journal.note(&call.id, &note));
                    }
                }
            }
            // Nobody waits any more: no matter.
            JournalJob::Flush(done) => _ = done.send(()),
            JournalJob::Close => {}
        }
    }

    fn progress(&mut self, number: u64, call: &Call) {
        let now = self.shared.clock().max(call.start().unwrap_or_default());
        self.begin(now, call);
        let before = self.ids.insert(number, call.id);
        self.numbers.insert(call.id, number);
        // The INVITE came after another message of the call: its id was another one until now.
        if let Some(before) = before.filter(|before| *before != call.id)
            && self.numbers.get(&before) == Some(&number)
        {
            self.numbers.remove(&before);
            self.write(|journal| journal.end(&before));
        }
    }

    fn begin(&mut self, now: Nanos, call: &Call) {
        if self.write(|journal| journal.begin(now, call)) == Some(false) {
            self.shared.unjournaled();
        }
    }

    /// Once a second the journal learns the time, and is synced.
    fn mark(&mut self) {
        if self.marked.elapsed() < MARK {
            return;
        }
        self.marked = Instant::now();
        let now = self.shared.clock();
        self.write(|journal| journal.mark(now).and_then(|()| journal.sync()));
    }

    /// Writes to the journal; `None` if that failed, which is counted.
    fn write<T>(&mut self, write: impl FnOnce(&mut Journal) -> Result<T, Error>) -> Option<T> {
        match write(&mut self.journal) {
            Err(error) => {
                self.shared.unjournaled();
                if !std::mem::replace(&mut self.failed, true) {
                    report(&self.on_event, StoreEvent::JournalFailed(error));
                }
                None
            }
            Ok(done) => {
                if std::mem::take(&mut self.failed) {
                    report(&self.on_event, StoreEvent::JournalRecovered);
                }
                Some(done)
            }
        }
    }

    fn publish(&self) {
        self.shared.publish_journal(self.journal.calls() as u64, self.journal.bytes());
    }

    fn finish(self) {
        self.publish();
        let Self { journal, on_event, .. } = self;
        if let Err(error) = journal.close() {
            report(&on_event, StoreEvent::JournalFailed(error));
        }
    }
}

/// How often the journal learns the time.
const MARK: Duration = Duration::from_secs(1);

//! The journal of calls that are on the disk while their decision is pending. After a kill, the next start
//! erases these calls.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use ringtap_engine::CallNumber;
use ringtap_spool::{PendingEntry, PendingJournal};

/// Identifies a call while this program runs: worker, generation, slot.
pub(crate) fn number(call: CallNumber) -> u64 {
    (call.worker() as u64 & 0x7f) << 56
        | u64::from(call.generation() & 0xff_ffff) << 32
        | u64::from(call.slot())
}

/// Passes entries of a worker to the journal's thread, without waiting.
#[derive(Clone, Debug)]
pub(crate) struct PendingNotes {
    sender: SyncSender<PendingEntry>,
    /// Entries that found the queue full.
    late: VecDeque<PendingEntry>,
    missed: Arc<AtomicU64>,
}

impl PendingNotes {
    /// Adds an entry, in order.
    pub(crate) fn tell(&mut self, entry: PendingEntry) {
        if self.late.len() < MOST_LATE {
            self.late.push_back(entry);
        } else {
            self.missed.fetch_add(1, Ordering::Relaxed);
        }
        self.catch_up();
    }

    /// Sends late entries if the queue has room again.
    pub(crate) fn catch_up(&mut self) {
        while let Some(entry) = self.late.pop_front() {
            if let Err(TrySendError::Full(entry)) = self.sender.try_send(entry) {
                return self.late.push_front(entry);
            }
        }
    }

    /// Sends an entry and waits for room. Not for workers.
    pub(crate) fn wait(&self, entry: PendingEntry) {
        // The send fails only if the thread has crashed, which the join reports.
        let _ = self.sender.send(entry);
    }

    /// Sends all late entries and waits for room.
    pub(crate) fn flush(&mut self) {
        std::mem::take(&mut self.late).into_iter().for_each(|entry| self.wait(entry));
    }
}

/// The thread that writes the journal.
#[derive(Debug)]
pub(crate) struct PendingNotesThread {
    notes: PendingNotes,
    thread: JoinHandle<()>,
}

impl PendingNotesThread {
    pub(crate) fn start(provisional: PendingJournal) -> std::io::Result<Self> {
        let (sender, todo) = sync_channel(MOST);
        let missed = Arc::new(AtomicU64::new(0));
        let work = Work {
            provisional,
            missed: Arc::clone(&missed),
            ended: HashSet::new(),
            order: VecDeque::new(),
            fails: false,
        };
        let thread = thread::Builder::new().name("provisional".into()).spawn(move || work.serve(&todo))?;
        Ok(Self { notes: PendingNotes { sender, late: VecDeque::new(), missed }, thread })
    }

    pub(crate) fn notes(&self) -> PendingNotes {
        self.notes.clone()
    }

    /// Stops the thread after it has written everything. No other sender may be left.
    pub(crate) fn close(self) {
        drop(self.notes);
        if self.thread.join().is_err() {
            log::error!(
                target: "spool",
                "the thread that writes the journal of pending decisions crashed: the next start may erase \
                calls that should stay; please report this fault of ringtap",
            );
        }
    }
}

struct Work {
    provisional: PendingJournal,
    missed: Arc<AtomicU64>,
    /// The calls decided last: later entries of other workers about them are ignored.
    ended: HashSet<u64>,
    order: VecDeque<u64>,
    fails: bool,
}

impl Work {
    fn serve(mut self, todo: &Receiver<PendingEntry>) {
        let mut unsynced: Option<Instant> = None;
        let mut batch = Vec::new();
        loop {
            let next = match unsynced {
                None => todo.recv().map_err(|_| RecvTimeoutError::Disconnected),
                Some(since) => todo.recv_timeout(SYNC.saturating_sub(since.elapsed())),
            };
            let is_over = next == Err(RecvTimeoutError::Disconnected);
            if let Ok(entry) = next {
                batch.push(entry);
                batch.extend(todo.try_iter().take(BATCH));
                batch.retain(|entry| self.is_news(*entry));
                let written = self.provisional.write(&batch);
                self.log_result(written);
                batch.clear();
                unsynced.get_or_insert_with(Instant::now);
            }
            if is_over || unsynced.is_some_and(|since| since.elapsed() >= SYNC) {
                unsynced = None;
                let synced = self.provisional.sync();
                self.log_result(synced);
            }
            if is_over {
                return;
            }
        }
    }

    fn is_news(&mut self, entry: PendingEntry) -> bool {
        match entry {
            PendingEntry::Begun { call, .. } => !self.ended.contains(&call),
            PendingEntry::Ended { call } => {
                if self.ended.insert(call) {
                    self.order.push_back(call);
                }
                if self.order.len() > BATCH {
                    self.order.pop_front().iter().for_each(|call| _ = self.ended.remove(call));
                }
                true
            }
        }
    }

    fn log_result(&mut self, result: Result<(), ringtap_spool::Error>) {
        let failed = std::mem::replace(&mut self.fails, result.is_err());
        match result {
            Err(error) if !failed => {
                log::error!(target: "spool", "{error}; if ringtap is killed now, calls that wait for their \
                MOS stay on the disk");
            }
            Ok(()) if failed => log::info!(
                target: "spool",
                "the journal of calls that wait for their MOS is written again",
            ),
            _ => {}
        }
        let missed = self.missed.swap(0, Ordering::Relaxed);
        if missed > 0 {
            log::error!(
                target: "spool",
                "{missed} entries about calls that wait for their MOS are missing from the journal: the \
                disk is too slow",
            );
        }
    }
}

/// Most entries in the queue.
const MOST: usize = 1 << 12;
/// Most late entries of a worker: more than its calls and streams.
const MOST_LATE: usize = 1 << 20;
/// Most entries in one write, and most calls remembered as decided.
const BATCH: usize = 1024;
/// The spool itself is synced once a second.
const SYNC: Duration = Duration::from_millis(200);

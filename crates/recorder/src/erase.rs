//! Calls that were kept until their end, and by then should not have been: erased behind the workers' backs.

use std::collections::VecDeque;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use ringtap_model::Nanos;
use ringtap_report::text::counted;
use ringtap_report::time;
use ringtap_spool::{
    DeletionLog, Error, FarStorage, ForgetOrder, ForgetReport, PendingEntry, PendingJournal,
    UnfinishedDecision, forget,
};

use crate::corrections::Corrections;
use crate::pending::{PendingNotes, PendingNotesThread};

/// Gives the far place of the spool as it is now; None where there is none.
pub type FarAccess = Box<dyn Fn() -> Option<Arc<dyn FarStorage>> + Send>;

/// What goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Erasure {
    /// Its [`number`](crate::pending::number).
    pub(crate) call: u64,
    pub(crate) owners: Vec<u64>,
    pub(crate) from: Nanos,
    pub(crate) to: Nanos,
}

/// A worker's way to have something erased.
#[derive(Clone, Debug)]
pub struct Eraser {
    jobs: SyncSender<(Instant, Erasure)>,
    missed: Arc<AtomicBool>,
    notes: PendingNotes,
}

impl Eraser {
    /// What a kill must not leave on the disk, or may leave from now on. Never waits.
    pub(crate) fn note_pending(&mut self, entry: PendingEntry) {
        self.notes.tell(entry);
    }

    /// HOT: nothing, as a rule.
    pub(crate) fn catch_up(&mut self) {
        self.notes.catch_up();
    }

    /// Nothing follows: waits until all is told.
    pub(crate) fn flush(&mut self) {
        self.notes.flush();
    }

    /// Requests the erasure of a call; it happens once all of its packets are on the disk. Never waits.
    pub(crate) fn erase(&self, erase: Erasure) {
        if let Err(TrySendError::Full(_)) = self.jobs.try_send((Instant::now(), erase)) {
            self.missed.store(true, Ordering::Relaxed);
        }
    }
}

/// The thread that erases.
#[derive(Debug)]
pub struct ErasingThread {
    eraser: Eraser,
    thread: JoinHandle<()>,
    notes_thread: PendingNotesThread,
}

impl ErasingThread {
    /// In these directories, the spool's first; `wait` until what was said of a call is on the disk. What the
    /// run before left undecided is erased first: of what is replayed before anything else is done, or it
    /// would be taken for what follows.
    pub fn start(
        dirs: Vec<PathBuf>,
        far: FarAccess,
        deletions: DeletionLog,
        wait: Duration,
        replayed: bool,
        corrections: Arc<Corrections>,
    ) -> anyhow::Result<Self> {
        let Some(spool) = dirs.first() else { anyhow::bail!("there is no spool to erase in") };
        let (provisional, left) = PendingJournal::open(spool)?;
        let notes_thread = PendingNotesThread::start(provisional)?;
        let (jobs, todo) = sync_channel(MOST);
        let missed = Arc::new(AtomicBool::new(false));
        let eraser = Eraser { jobs, missed: Arc::clone(&missed), notes: notes_thread.notes() };
        let mut work = Work { dirs, far, deletions, wait, missed, notes: notes_thread.notes(), corrections };
        // Of the calls that go on, what comes from now on is another matter.
        let until = if replayed { Nanos::MAX } else { time::now() };
        let left = match replayed {
            true => {
                work.clear(&left, until);
                Vec::new()
            }
            false => left,
        };
        let serve = move || {
            work.clear(&left, until);
            work.serve(&todo);
        };
        let thread = thread::Builder::new().name("erase".into()).spawn(serve)?;
        Ok(Self { eraser, thread, notes_thread })
    }

    /// For a worker.
    pub fn eraser(&self) -> Eraser {
        self.eraser.clone()
    }

    /// Every worker has written all of its packets: erases what is left to erase.
    pub fn close(self) {
        // Nobody sends any more: the thread does the rest and ends.
        drop(self.eraser);
        if self.thread.join().is_err() {
            log::error!(
                target: "spool",
                "erasing ended by a fault of the program: some calls are still on the disk",
            );
        }
        self.notes_thread.close();
    }
}

struct Work {
    dirs: Vec<PathBuf>,
    far: FarAccess,
    deletions: DeletionLog,
    wait: Duration,
    missed: Arc<AtomicBool>,
    notes: PendingNotes,
    corrections: Arc<Corrections>,
}

impl Work {
    fn serve(&mut self, todo: &Receiver<(Instant, Erasure)>) {
        let mut waiting: VecDeque<(Instant, Erasure)> = VecDeque::new();
        loop {
            let next = match waiting.front() {
                None => todo.recv().map_err(|_| RecvTimeoutError::Disconnected),
                // A call that ended a moment ago is not wholly on the disk.
                Some((since, _)) => todo.recv_timeout(self.wait.saturating_sub(since.elapsed())),
            };
            match next {
                Ok(job) => waiting.push_back(job),
                Err(RecvTimeoutError::Timeout) => {
                    waiting.pop_front().iter().for_each(|(_, erase)| self.erase(erase));
                }
                // The program ends, and every worker has written everything.
                Err(RecvTimeoutError::Disconnected) => {
                    return waiting.iter().for_each(|(_, erase)| self.erase(erase));
                }
            }
        }
    }

    fn erase(&mut self, erase: &Erasure) {
        match self.forget(&erase.owners, erase.from..erase.to, WHY) {
            Ok(done) if done.missed > 0 => log::warn!(
                target: "spool",
                "{} chunks of a call that is not to be kept could not be erased: the next start tries again",
                done.missed,
            ),
            Ok(done) => {
                self.notes.wait(PendingEntry::Ended { call: erase.call });
                log::debug!(target: "spool", "a call that is not to be kept: {} chunks erased", done.chunks);
            }
            Err(error) => log::error!(
                target: "spool",
                "a call that is not to be kept could not be erased: {error}; the next start tries again",
            ),
        }
        if self.missed.swap(false, Ordering::Relaxed) {
            log::error!(
                target: "spool",
                "calls end faster than they are erased: some that are not to be kept stay on the disk until \
                the next start",
            );
        }
    }

    fn forget(&self, owners: &[u64], time: Range<Nanos>, why: &str) -> Result<ForgetReport, Error> {
        let order = ForgetOrder { why, at: time::now(), product: false };
        let dirs: Vec<&Path> = self.dirs.iter().map(PathBuf::as_path).filter(|dir| dir.exists()).collect();
        let far = (self.far)();
        forget(&dirs, far.as_deref(), owners, time, &self.deletions, order)
    }

    /// Erases what the run before left undecided: of many calls at once, or segments would be gone through
    /// for each.
    #[cold]
    fn clear(&mut self, left: &[UnfinishedDecision], until: Nanos) {
        let (mut calls, mut chunks, mut failed) = (0, 0, None);
        for group in left.chunks(GROUP) {
            // One that is held, or cannot be erased, is no reason to leave the others.
            match self.clear_group(group, until) {
                Ok(done) => (calls, chunks) = (calls + group.len() as u64, chunks + done),
                Err(_) => {
                    for call in group {
                        match self.clear_group(std::slice::from_ref(call), until) {
                            Ok(done) => (calls, chunks) = (calls + 1, chunks + done),
                            Err(error) => failed = Some(error),
                        }
                    }
                }
            }
        }
        self.corrections.calls_erased_at_start(calls);
        if calls > 0 {
            let calls = counted(calls, "call");
            log::warn!(
                target: "spool",
                "the run before ended while it was not known whether {calls} may be kept: erased, {chunks} \
                chunks",
            );
        }
        if let Some(error) = failed {
            log::error!(
                target: "spool",
                "not all that the run before left undecided could be erased: {error}",
            );
        }
    }

    fn clear_group(&mut self, group: &[UnfinishedDecision], until: Nanos) -> Result<u64, Error> {
        let owners: Vec<u64> = group.iter().flat_map(|left| left.owners.iter().copied()).collect();
        let from = group.iter().map(|left| left.from).min().unwrap_or_default();
        let done = self.forget(&owners, from..until, LEFT)?;
        group.iter().for_each(|left| self.notes.wait(PendingEntry::Ended { call: left.call }));
        Ok(done.chunks + done.keys)
    }
}

/// In the log of deletions.
const WHY: &str = "rules: the call was better than mos_below";
const LEFT: &str = "rules: the program ended before the call's MOS was known";
/// Calls that are erased at once.
const GROUP: usize = 64;

/// Calls that wait.
const MOST: usize = 1 << 16;

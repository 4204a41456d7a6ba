//! Erases calls that were recorded until their end and then excluded, in a thread of its own.

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

/// Returns the far storage in use; None without one.
pub type FarAccess = Box<dyn Fn() -> Option<Arc<dyn FarStorage>> + Send>;

/// Packets to erase.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Erasure {
    /// The call's [`number`](crate::pending::number).
    pub(crate) call: u64,
    pub(crate) owners: Vec<u64>,
    pub(crate) from: Nanos,
    pub(crate) to: Nanos,
}

/// Passes a worker's erasures to the thread.
#[derive(Clone, Debug)]
pub struct Eraser {
    jobs: SyncSender<(Instant, Erasure)>,
    missed: Arc<AtomicBool>,
    notes: PendingNotes,
}

impl Eraser {
    /// Notes that a decision is pending, or done. Never waits.
    pub(crate) fn note_pending(&mut self, entry: PendingEntry) {
        self.notes.tell(entry);
    }

    /// HOT: normally nothing to do.
    pub(crate) fn catch_up(&mut self) {
        self.notes.catch_up();
    }

    /// Sends the last entries, and waits for room.
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
    /// Erases in these directories, the spool's first, `wait` after a call's end, when its packets are on the
    /// disk. Calls whose decision the previous run left pending are erased first; before a replay starts,
    /// since it may bring the same calls again.
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
        // Packets after this time belong to this run's decisions.
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

    /// Erases the rest, after every worker has written all of its packets.
    pub fn close(self) {
        // Without senders, the thread finishes its queue and ends.
        drop(self.eraser);
        if self.thread.join().is_err() {
            log::error!(
                target: "spool",
                "the thread that erases calls crashed: some excluded calls are still on the disk; please \
                report this fault of ringtap",
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
                // The packets of a call that has just ended are not all on the disk.
                Some((since, _)) => todo.recv_timeout(self.wait.saturating_sub(since.elapsed())),
            };
            match next {
                Ok(job) => waiting.push_back(job),
                Err(RecvTimeoutError::Timeout) => {
                    waiting.pop_front().iter().for_each(|(_, erase)| self.erase(erase));
                }
                // The program ends: every worker has written everything.
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
                "cannot erase {} chunks of a call that the rules exclude: the next start tries again",
                done.missed,
            ),
            Ok(done) => {
                self.notes.wait(PendingEntry::Ended { call: erase.call });
                log::debug!(target: "spool", "erased a call that the rules exclude: {} chunks", done.chunks);
            }
            Err(error) => log::error!(
                target: "spool",
                "cannot erase a call that the rules exclude: {error}; the next start tries again",
            ),
        }
        if self.missed.swap(false, Ordering::Relaxed) {
            log::error!(
                target: "spool",
                "calls end faster than they can be erased: some that the rules exclude stay on the disk \
                until \
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

    /// Erases calls whose decision the previous run left pending. Many at once, so that each segment is read
    /// only once for all of them.
    #[cold]
    fn clear(&mut self, left: &[UnfinishedDecision], until: Nanos) {
        let (mut calls, mut chunks, mut failed) = (0, 0, None);
        for group in left.chunks(GROUP) {
            // If one is on hold or cannot be erased, the others still are.
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
                "the previous run ended before {calls} could be decided: erased, {chunks} chunks",
            );
        }
        if let Some(error) = failed {
            log::error!(
                target: "spool",
                "cannot erase all calls that the previous run left undecided: {error}",
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

/// Reasons in the deletion log.
const WHY: &str = "rules: the call was better than mos_below";
const LEFT: &str = "rules: the program ended before the call's MOS was known";
/// Calls erased together.
const GROUP: usize = 64;

/// Most calls in the queue.
const MOST: usize = 1 << 16;

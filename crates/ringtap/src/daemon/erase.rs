//! Calls that were kept until their end, and by then should not have been: erased behind the workers' backs.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use ringtap_model::Nanos;
use ringtap_spool::{Deletions, Order, forget};

use super::log;

/// What goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Erase {
    pub(crate) owners: Vec<u64>,
    pub(crate) from: Nanos,
    pub(crate) to: Nanos,
}

/// A worker's way to have something erased.
#[derive(Clone, Debug)]
pub(crate) struct Eraser {
    jobs: SyncSender<(Instant, Erase)>,
    missed: Arc<AtomicBool>,
}

impl Eraser {
    /// Has it erased, once all of it is on the disk. Never waits.
    pub(super) fn erase(&self, erase: Erase) {
        if let Err(TrySendError::Full(_)) = self.jobs.try_send((Instant::now(), erase)) {
            self.missed.store(true, Ordering::Relaxed);
        }
    }
}

/// The thread that erases.
#[derive(Debug)]
pub(crate) struct Erasing {
    eraser: Eraser,
    thread: JoinHandle<()>,
}

impl Erasing {
    /// In these directories; `wait` until what was said of a call is on the disk.
    pub(crate) fn start(dirs: Vec<PathBuf>, deletions: Deletions, wait: Duration) -> std::io::Result<Self> {
        let (jobs, todo) = sync_channel(MOST);
        let missed = Arc::new(AtomicBool::new(false));
        let work = Work { dirs, deletions, wait, missed: Arc::clone(&missed) };
        let thread = thread::Builder::new().name("erase".into()).spawn(move || work.serve(&todo))?;
        Ok(Self { eraser: Eraser { jobs, missed }, thread })
    }

    /// For a worker.
    pub(crate) fn eraser(&self) -> Eraser {
        self.eraser.clone()
    }

    /// Every worker has written all of its packets: erases what is left to erase.
    pub(crate) fn close(self) {
        // Nobody sends any more: the thread does the rest and ends.
        drop(self.eraser);
        if self.thread.join().is_err() {
            log::error("spool", "erasing ended by a fault of the program: some calls are still on the disk");
        }
    }
}

struct Work {
    dirs: Vec<PathBuf>,
    deletions: Deletions,
    wait: Duration,
    missed: Arc<AtomicBool>,
}

impl Work {
    fn serve(&self, todo: &Receiver<(Instant, Erase)>) {
        let mut waiting: VecDeque<(Instant, Erase)> = VecDeque::new();
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

    fn erase(&self, erase: &Erase) {
        let order =
            Order { why: "rules: the call was better than mos_below", at: log::now(), product: false };
        let dirs: Vec<&Path> = self.dirs.iter().map(PathBuf::as_path).filter(|dir| dir.exists()).collect();
        match forget(&dirs, &erase.owners, erase.from..erase.to, &self.deletions, order) {
            Ok(done) if done.missed > 0 => log::warn(
                "spool",
                format_args!("{} chunks of a call that is not to be kept could not be erased", done.missed),
            ),
            Ok(done) => log::debug(
                "spool",
                format_args!("a call that is not to be kept: {} chunks erased", done.chunks),
            ),
            Err(error) => log::error(
                "spool",
                format_args!("a call that is not to be kept could not be erased: {error}"),
            ),
        }
        if self.missed.swap(false, Ordering::Relaxed) {
            log::error(
                "spool",
                "calls end faster than they are erased: some that are not to be kept stay on the disk",
            );
        }
    }
}

/// Calls that wait.
const MOST: usize = 1 << 16;

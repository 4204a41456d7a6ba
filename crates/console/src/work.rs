//! Work that blocks (the database, the spool), bounded in number and stopped when nobody waits for it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use ringtap_store::RunningSearch;
use tokio::sync::{Semaphore, oneshot};

use crate::problem::Problem;

/// How much is done at once. Everything beyond waits in order of arrival.
#[derive(Debug)]
pub(crate) struct Work {
    /// Searches that may read whole days.
    scans: Places,
    /// Searches whose answers are files: they last as long as whoever reads them, so they have places of
    /// their own.
    files: Places,
    /// Messages of assistants, each of which may be such a search.
    assistants: Places,
    /// Everything else: one record, one call's packets.
    others: Places,
    /// Longest time of a scan.
    scan_time: Duration,
    /// Work that was given up because nobody waited for it any more.
    cancelled: AtomicU64,
}

/// Work of one kind at once, and who waits for it.
#[derive(Clone, Debug)]
struct Places {
    free: Arc<Semaphore>,
    most: usize,
    waiting: Arc<AtomicUsize>,
}

/// One who waits.
struct Waiting<'a>(&'a AtomicUsize);

impl<'a> Waiting<'a> {
    fn new(count: &'a AtomicUsize) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(count)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Places {
    fn new(most: usize) -> Self {
        Self { free: Arc::new(Semaphore::new(most)), most, waiting: Arc::default() }
    }

    async fn place(&self) -> Result<tokio::sync::OwnedSemaphorePermit, Problem> {
        let _waiting = Waiting::new(&self.waiting);
        let waiting = tokio::time::timeout(LONGEST_WAIT, Arc::clone(&self.free).acquire_owned());
        match waiting.await {
            Ok(Ok(place)) => Ok(place),
            _ => Err(Problem::busy("others search as well, and it took too long until it was your turn", 5)),
        }
    }

    /// How much runs, and how much waits.
    fn counts(&self) -> (usize, usize) {
        (self.most - self.free.available_permits().min(self.most), self.waiting.load(Ordering::Relaxed))
    }
}

/// Over when nobody waits for an answer any more, or it has taken too long.
pub(crate) type Stop = Arc<RunningSearch>;

/// Stops when dropped: axum drops the future of a request whose connection closed.
struct OnDrop<'a> {
    stop: Stop,
    is_done: bool,
    cancelled: &'a AtomicU64,
}

impl Drop for OnDrop<'_> {
    fn drop(&mut self) {
        if !self.is_done {
            self.cancelled.fetch_add(1, Ordering::Relaxed);
        }
        self.stop.stop();
    }
}

impl Work {
    /// Scans may take so long each.
    pub(crate) fn new(scan_time: Duration) -> Self {
        let [scans, files, assistants, others] = [SCANS, FILES, ASSISTANTS, OTHERS].map(Places::new);
        Self { scans, files, assistants, others, scan_time, cancelled: AtomicU64::new(0) }
    }

    /// How much runs of each kind, and how much waits for its turn.
    pub(crate) fn counts(&self) -> Vec<(&'static str, usize, usize)> {
        let kinds = [
            ("scan", &self.scans),
            ("file", &self.files),
            ("assistant", &self.assistants),
            ("read", &self.others),
        ];
        let counts = |(kind, places): (_, &Places)| {
            let (running, waiting) = places.counts();
            (kind, running, waiting)
        };
        kinds.map(counts).to_vec()
    }

    /// Work that was given up because nobody waited for it any more, since the start.
    pub(crate) fn cancelled(&self) -> u64 {
        self.cancelled.load(Ordering::Relaxed)
    }

    /// Counts work that was given up while its answer was sent.
    pub(crate) fn give_up(&self) {
        self.cancelled.fetch_add(1, Ordering::Relaxed);
    }

    /// Runs a search that may be over in a moment, and gives way from then on.
    pub(crate) async fn search<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Stop) -> Result<T, Problem> + Send + 'static,
    ) -> Result<T, Problem> {
        let stop = || RunningSearch::until(Instant::now() + self.scan_time).giving_way(GIVING_WAY);
        self.run(&self.scans, stop, work, in_own_thread).await
    }

    /// Runs a search that may read whole days.
    pub(crate) async fn scan<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Stop) -> Result<T, Problem> + Send + 'static,
    ) -> Result<T, Problem> {
        let stop = || RunningSearch::until(Instant::now() + self.scan_time);
        self.run(&self.scans, stop, work, giving_way).await
    }

    /// Runs what reads a few records or one call's packets.
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Stop) -> Result<T, Problem> + Send + 'static,
    ) -> Result<T, Problem> {
        self.run(&self.others, RunningSearch::new, work, giving_way).await
    }

    /// A place for a message of an assistant: it lasts as long as what is returned.
    pub(crate) async fn assistant(&self) -> Result<tokio::sync::OwnedSemaphorePermit, Problem> {
        self.assistants.place().await
    }

    /// A place for a search whose answer is a file: it lasts as long as what is returned.
    pub(crate) async fn file(&self) -> Result<tokio::sync::OwnedSemaphorePermit, Problem> {
        self.files.place().await
    }

    /// Runs work once it has a place, which is taken until the work has ended, also when nobody waits for it
    /// any more.
    async fn run<T: Send + 'static, R: Future<Output = Option<Result<T, Problem>>>>(
        &self,
        of: &Places,
        stop: impl FnOnce() -> RunningSearch,
        work: impl FnOnce(&Stop) -> Result<T, Problem> + Send + 'static,
        in_thread: impl FnOnce(Box<dyn FnOnce() -> Result<T, Problem> + Send>) -> R,
    ) -> Result<T, Problem> {
        let place = of.place().await?;
        let stop = Stop::new(stop());
        let mut guard = OnDrop { stop: stop.clone(), is_done: false, cancelled: &self.cancelled };
        let done = in_thread(Box::new(move || {
            let _place = place;
            work(&stop)
        }));
        let done = done.await;
        guard.is_done = true;
        done.unwrap_or_else(|| {
            Err(Problem::unavailable("the work for this request failed; the log says why"))
        })
    }
}

/// Runs work in a thread of its own, since those that others have used may be giving way; `None` if it
/// panicked, or there is no thread.
async fn in_own_thread<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    let (done, is_done) = oneshot::channel();
    // Whoever asked may be gone when it is done.
    let work = move || drop(done.send(work()));
    thread::Builder::new().name("search".to_owned()).spawn(work).ok()?;
    is_done.await.ok()
}

/// Runs work in a thread that gives way; `None` if it panicked.
async fn giving_way<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    let work = move || {
        give_way();
        work()
    };
    tokio::task::spawn_blocking(work).await.ok()
}

/// Has this thread give way to whatever else the machine does, captures first of all.
pub(crate) fn give_way() {
    ringtap_cpu::give_way(GIVING_WAY);
}

/// The nice value of threads that do more than to answer what is there in a moment.
const GIVING_WAY: i32 = 10;
/// Searches over whole days at once.
const SCANS: usize = 2;
/// Files of whole searches at once.
const FILES: usize = 2;
/// Messages of assistants at once.
const ASSISTANTS: usize = 2;
/// Other work at once.
const OTHERS: usize = 8;
/// Longest time in which a request waits for its turn.
const LONGEST_WAIT: Duration = Duration::from_secs(60);

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_runs_waits_and_is_given_up_is_counted() {
        let work = Arc::new(Work::new(Duration::from_secs(60)));
        let places = [work.file().await.unwrap(), work.file().await.unwrap()];
        let mut third = Box::pin(work.file());
        let waker = std::task::Waker::noop();
        assert!(third.as_mut().poll(&mut std::task::Context::from_waker(waker)).is_pending());
        assert_eq!(work.counts()[1], ("file", 2, 1));
        drop(third);
        assert_eq!(work.counts()[1], ("file", 2, 0));
        drop(places);
        assert_eq!(work.counts()[1], ("file", 0, 0));
        assert_eq!(work.read(|_| Ok(7)).await, Ok(7));
        assert_eq!(work.cancelled(), 0);
        // Whoever asked is gone before it ends; it learns so, and ends.
        let (ended, has_ended) = oneshot::channel();
        let mut gone = Box::pin(work.scan(move |stop| {
            while !stop.is_over() {
                thread::yield_now();
            }
            ended.send(()).map_err(|()| Problem::unavailable("nobody asked"))
        }));
        assert!(gone.as_mut().poll(&mut std::task::Context::from_waker(waker)).is_pending());
        drop(gone);
        has_ended.await.unwrap();
        assert_eq!(work.cancelled(), 1);
    }
}

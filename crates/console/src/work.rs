//! Work that blocks (the database, the spool), bounded in number and stopped when nobody waits for it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use ringtap_store::RunningSearch;
use tokio::sync::Semaphore;

use crate::problem::Problem;

/// How much is done at once. Everything beyond waits in order of arrival.
#[derive(Debug)]
pub(crate) struct Work {
    /// Searches that may read whole days.
    scans: Arc<Semaphore>,
    /// Searches whose answers are files: they last as long as whoever reads them, so they have places of
    /// their own.
    files: Arc<Semaphore>,
    /// Everything else: one record, one call's packets.
    others: Arc<Semaphore>,
    /// Longest time of a scan.
    scan_time: Duration,
}

/// Over when nobody waits for an answer any more, or it has taken too long.
pub(crate) type Stop = Arc<RunningSearch>;

/// Stops when dropped: axum drops the future of a request whose connection closed.
struct OnDrop(Stop);

impl Drop for OnDrop {
    fn drop(&mut self) {
        self.0.stop();
    }
}

impl Work {
    /// Scans may take so long each.
    pub(crate) fn new(scan_time: Duration) -> Self {
        let [scans, files, others] = [SCANS, FILES, OTHERS].map(|places| Arc::new(Semaphore::new(places)));
        Self { scans, files, others, scan_time }
    }

    /// Runs a search that may read whole days.
    pub(crate) async fn scan<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Stop) -> Result<T, Problem> + Send + 'static,
    ) -> Result<T, Problem> {
        run(&self.scans, Some(self.scan_time), work).await
    }

    /// Runs what reads a few records or one call's packets.
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Stop) -> Result<T, Problem> + Send + 'static,
    ) -> Result<T, Problem> {
        run(&self.others, None, work).await
    }

    /// A place for a search whose answer is a file: it lasts as long as what is returned.
    pub(crate) async fn file(&self) -> Result<tokio::sync::OwnedSemaphorePermit, Problem> {
        place(&self.files).await
    }
}

async fn place(of: &Arc<Semaphore>) -> Result<tokio::sync::OwnedSemaphorePermit, Problem> {
    let waiting = tokio::time::timeout(LONGEST_WAIT, Arc::clone(of).acquire_owned());
    match waiting.await {
        Ok(Ok(place)) => Ok(place),
        _ => Err(Problem::busy("others search as well, and it took too long until it was your turn", 5)),
    }
}

async fn run<T: Send + 'static>(
    of: &Arc<Semaphore>,
    longest: Option<Duration>,
    work: impl FnOnce(&Stop) -> Result<T, Problem> + Send + 'static,
) -> Result<T, Problem> {
    let place = place(of).await?;
    let until = longest.map(|longest| RunningSearch::until(Instant::now() + longest));
    let stop = Stop::new(until.unwrap_or_default());
    let _guard = OnDrop(stop.clone());
    let done = tokio::task::spawn_blocking(move || {
        // The place is taken until the work has ended, also when nobody waits for it any more.
        let _place = place;
        work(&stop)
    });
    done.await
        .unwrap_or_else(|_| Err(Problem::unavailable("the work for this request failed; the log says why")))
}

/// Searches over whole days at once.
const SCANS: usize = 2;
/// Files of whole searches at once.
const FILES: usize = 2;
/// Other work at once.
const OTHERS: usize = 8;
/// Longest time in which a request waits for its turn.
const LONGEST_WAIT: Duration = Duration::from_secs(60);

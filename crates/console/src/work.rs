//! Work that blocks (the database, the spool), bounded in number and stopped when nobody waits for it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::Semaphore;

use crate::problem::Problem;

/// How much is done at once. Everything beyond waits in order of arrival.
#[derive(Debug)]
pub(crate) struct Work {
    /// Searches that may read whole days.
    scans: Arc<Semaphore>,
    /// Everything else: one record, one call's packets.
    others: Arc<Semaphore>,
}

/// Set when nobody waits for an answer any more.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Whether to stop.
    pub(crate) fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Sets the flag when dropped: axum drops the future of a request whose connection closed.
struct OnDrop(Stop);

impl Drop for OnDrop {
    fn drop(&mut self) {
        self.0.0.store(true, Ordering::Relaxed);
    }
}

impl Default for Work {
    fn default() -> Self {
        Self { scans: Arc::new(Semaphore::new(SCANS)), others: Arc::new(Semaphore::new(OTHERS)) }
    }
}

impl Work {
    /// Runs a search that may read whole days.
    pub(crate) async fn scan<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Stop) -> Result<T, Problem> + Send + 'static,
    ) -> Result<T, Problem> {
        run(&self.scans, work).await
    }

    /// Runs what reads a few records or one call's packets.
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Stop) -> Result<T, Problem> + Send + 'static,
    ) -> Result<T, Problem> {
        run(&self.others, work).await
    }

    /// A place for a scan whose answer is streamed: it lasts as long as what is returned.
    pub(crate) async fn place(&self) -> Result<tokio::sync::OwnedSemaphorePermit, Problem> {
        place(&self.scans).await
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
    work: impl FnOnce(&Stop) -> Result<T, Problem> + Send + 'static,
) -> Result<T, Problem> {
    let place = place(of).await?;
    let stop = Stop::default();
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
/// Other work at once.
const OTHERS: usize = 8;
/// Longest time in which a request waits for its turn.
const LONGEST_WAIT: Duration = Duration::from_secs(60);

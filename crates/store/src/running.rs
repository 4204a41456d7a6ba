//! A search that goes on: what others see of it, and how they end it.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

/// A search that goes on, shared with whoever watches it or may stop it.
#[derive(Debug, Default)]
pub struct RunningSearch {
    stopped: AtomicBool,
    gives_way: Option<i32>,
    until: Option<Instant>,
    looked_at: AtomicU64,
    days: AtomicUsize,
    days_searched: AtomicUsize,
}

impl RunningSearch {
    /// Processor time in which a thread has found what a key leads to.
    pub const MOMENT: Duration = Duration::from_millis(20);

    /// A search that may take as long as it needs.
    pub fn new() -> Self {
        Self::default()
    }

    /// A search that ends then, complete or not.
    pub fn until(end: Instant) -> Self {
        Self { until: Some(end), ..Self::default() }
    }

    /// Threads that have searched for more than [`MOMENT`](Self::MOMENT) of processor time go on with that
    /// nice value. What is looked up by a key is found before.
    #[must_use]
    pub fn giving_way(self, nice: i32) -> Self {
        Self { gives_way: Some(nice), ..self }
    }

    /// A thread of the search goes on with it.
    pub(crate) fn go_on(&self) {
        if let Some(nice) = self.gives_way
            && processor_time() > Self::MOMENT
        {
            ringtap_cpu::give_way(nice);
        }
    }

    /// Ends it: what was found until now is its answer.
    pub fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }

    /// Whether it was stopped, or its time is over.
    pub fn is_over(&self) -> bool {
        self.stopped.load(Ordering::Relaxed) || self.until.is_some_and(|until| Instant::now() >= until)
    }

    /// Records that were read and compared until now. Those that an index or a column left out are not
    /// counted.
    pub fn looked_at(&self) -> u64 {
        self.looked_at.load(Ordering::Relaxed)
    }

    /// Days that are to be searched.
    pub fn days(&self) -> usize {
        self.days.load(Ordering::Relaxed)
    }

    /// Days that were searched to their end.
    pub fn days_searched(&self) -> usize {
        self.days_searched.load(Ordering::Relaxed)
    }

    pub(crate) fn begin(&self, days: usize) {
        self.days.fetch_add(days, Ordering::Relaxed);
    }

    pub(crate) fn look_at(&self) {
        self.looked_at.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn end_day(&self) {
        self.days_searched.fetch_add(1, Ordering::Relaxed);
    }
}

/// What this thread has taken since it began.
fn processor_time() -> Duration {
    clock_gettime(ClockId::ThreadCPUTime).try_into().unwrap_or_default()
}

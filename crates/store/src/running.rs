//! A search that goes on: what others see of it, and how they end it.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Instant;

/// A search that goes on, shared with whoever watches it or may stop it.
#[derive(Debug, Default)]
pub struct RunningSearch {
    stopped: AtomicBool,
    until: Option<Instant>,
    looked_at: AtomicU64,
    days: AtomicUsize,
    days_searched: AtomicUsize,
}

impl RunningSearch {
    /// A search that may take as long as it needs.
    pub fn new() -> Self {
        Self::default()
    }

    /// A search that ends then, complete or not.
    pub fn until(end: Instant) -> Self {
        Self { until: Some(end), ..Self::default() }
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

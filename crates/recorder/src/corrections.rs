//! Counts of later corrections.

use std::sync::atomic::{AtomicU64, Ordering};

/// Counts of corrections since the start, shared by threads.
#[derive(Debug, Default)]
pub struct Corrections {
    erased_at_start: AtomicU64,
    records_amended: AtomicU64,
}

impl Corrections {
    /// Sets the number of calls erased at the start.
    pub(crate) fn calls_erased_at_start(&self, calls: u64) {
        self.erased_at_start.store(calls, Ordering::Relaxed);
    }

    /// Counts a record that was amended.
    pub(crate) fn record_amended(&self) {
        self.records_amended.fetch_add(1, Ordering::Relaxed);
    }

    /// Calls erased at the start because the previous run left their decision pending.
    pub fn erased_at_start(&self) -> u64 {
        self.erased_at_start.load(Ordering::Relaxed)
    }

    /// Records amended since the start.
    pub fn records_amended(&self) -> u64 {
        self.records_amended.load(Ordering::Relaxed)
    }
}

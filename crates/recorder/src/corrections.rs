//! What was put right later: counted here, read by whoever reports it.

use std::sync::atomic::{AtomicU64, Ordering};

/// Counts of corrections since the start, shared by threads.
#[derive(Debug, Default)]
pub struct Corrections {
    erased_at_start: AtomicU64,
    records_amended: AtomicU64,
}

impl Corrections {
    /// So many calls that the run before left undecided are erased.
    pub(crate) fn calls_erased_at_start(&self, calls: u64) {
        self.erased_at_start.store(calls, Ordering::Relaxed);
    }

    /// A call's record now says what the disk refused of it later.
    pub(crate) fn record_amended(&self) {
        self.records_amended.fetch_add(1, Ordering::Relaxed);
    }

    /// Calls that the run before left undecided and that were erased at the start.
    pub fn erased_at_start(&self) -> u64 {
        self.erased_at_start.load(Ordering::Relaxed)
    }

    /// Records that were put right since the start.
    pub fn records_amended(&self) -> u64 {
        self.records_amended.load(Ordering::Relaxed)
    }
}

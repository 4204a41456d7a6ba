//! The timers that have fired and are not all handled.

use crate::table::timers::Timer;

/// The timers of the last tick, in the order in which they are handled.
pub(crate) struct DueTimers {
    pub(crate) timers: Vec<Timer>,
    /// How many are handled, and how many were prefetched before the first.
    pub(crate) position: usize,
    /// Packets pass between them.
    pub(crate) in_slices: bool,
    /// Records of calls and streams that were made, or asked of other workers, so far.
    pub(crate) records: usize,
}

impl DueTimers {
    /// With room for `ceiling` timers.
    pub(crate) fn new(ceiling: usize, in_slices: bool) -> Self {
        Self { timers: Vec::with_capacity(ceiling), position: 0, in_slices, records: 0 }
    }

    /// A record of a call or of a stream is made, or other workers are asked for their part.
    pub(crate) fn count_record(&mut self) {
        self.records += 1;
    }
}

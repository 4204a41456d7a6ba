//! Figures of the thread that follows services, for metrics and others.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use ringtap_availability::{Figures, ServiceSummary};

/// What the thread has counted, for others.
#[derive(Debug, Default)]
pub(crate) struct AvailabilityFigures {
    /// Messages and frames that found no room in the queue.
    pub(crate) dropped: AtomicU64,
    /// The same of what is known of calls and of lost media.
    pub(crate) facts_dropped: AtomicU64,
    known: Mutex<Known>,
}

/// Figures of one moment.
#[derive(Clone, Debug, Default)]
pub(crate) struct Known {
    pub(crate) figures: Figures,
    /// Monitored services, at most [`SHOWN`].
    pub(crate) monitored: Vec<ServiceSummary>,
    /// Messages and frames that found no room in the queue.
    pub(crate) dropped: u64,
    /// The same of what is known of calls and of lost media.
    pub(crate) facts_dropped: u64,
}

impl AvailabilityFigures {
    /// Publishes them.
    pub(crate) fn publish(&self, known: Known) {
        *self.known.lock().unwrap_or_else(PoisonError::into_inner) = known;
    }

    /// As they were published last.
    pub(crate) fn known(&self) -> Known {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let [dropped, facts_dropped] =
            [&self.dropped, &self.facts_dropped].map(|count| count.load(Ordering::Relaxed));
        Known { dropped, facts_dropped, ..known }
    }
}

/// Services that metrics and alarms have at once.
pub(crate) const SHOWN: usize = 200;

//! Stops and resumes recording.

use std::collections::BTreeSet;
use std::sync::Arc;

use ringtap_model::Nanos;

use crate::segment::name::Segment;
use crate::write::disk::WriterStatus;

/// The writers of a spool, and whether they have been stopped.
pub(crate) struct RecordingSwitch {
    writers: Vec<Arc<WriterStatus>>,
    stopped_at: Option<Nanos>,
}

impl RecordingSwitch {
    pub(crate) fn new(writers: Vec<Arc<WriterStatus>>) -> Self {
        Self { writers, stopped_at: None }
    }

    /// Segments that are being written.
    pub(crate) fn open_segments(&self) -> BTreeSet<Segment> {
        self.writers.iter().flat_map(|writer| writer.open()).collect()
    }

    /// Writes that failed on a full disk, since the start.
    pub(crate) fn full_writes(&self) -> u64 {
        self.writers.iter().map(|writer| writer.full()).sum()
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.stopped_at.is_some()
    }

    /// Stops recording if nothing can be freed, and resumes it once the spool is no longer short of space.
    /// Returns whether this changed anything.
    pub(crate) fn update(&mut self, now: Nanos, is_hopeless: bool, is_short: bool) -> bool {
        let stopped_at = match self.stopped_at {
            None if is_hopeless => Some(now),
            // Not at once: the cause may be something else than space.
            Some(since) if !is_short && (now.since(since) >= SHORTEST_STOP || now < since) => None,
            _ => return false,
        };
        self.stopped_at = stopped_at;
        self.writers.iter().for_each(|writer| writer.set_stopped(stopped_at.is_some()));
        true
    }
}

/// Recording stays stopped for at least this long.
const SHORTEST_STOP: Nanos = Nanos::from_secs(10);

//! Time limits of a recorder.

use ringtap_model::Nanos;

pub(super) const MINUTE: u64 = 60_000_000_000;

/// A stream that is silent for this long has no packets in memory and gives its slot back.
pub(super) const SILENCE: Nanos = Nanos::from_secs(90);

/// A stream that no call claims for this long is decided alone.
pub(super) const ALONE: Nanos = Nanos::from_secs(5);

/// How long an ended stream waits for the decision of its call's worker.
pub(super) const PATIENCE: Nanos = Nanos::from_secs(10);

/// Longest time that a packet waits for a decision: longer than a call may ring, and within the time that
/// the spool's readers search.
pub(super) const LONGEST: Nanos = Nanos::from_secs(210);

//! How long a recorder waits for what.

use ringtap_model::Nanos;

pub(super) const MINUTE: u64 = 60_000_000_000;

/// Who is silent for so long has no packets in memory any more, and needs no place there.
pub(super) const SILENCE: Nanos = Nanos::from_secs(90);

/// A stream that no call claims for so long is taken to have none.
pub(super) const ALONE: Nanos = Nanos::from_secs(5);

/// How long a stream that has ended waits for a word of its call's worker.
pub(super) const PATIENCE: Nanos = Nanos::from_secs(10);

/// The longest that a packet waits for a decision: longer than a call may ring, and no longer than the
/// spool's readers look.
pub(super) const LONGEST: Nanos = Nanos::from_secs(210);

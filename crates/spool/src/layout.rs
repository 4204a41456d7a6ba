//! Names of directories in the spool's directory.

/// The link to the second directory, to which older segments move.
pub(crate) const TIER: &str = "tier";
/// What this machine knows of the segments in far storage.
pub const FAR: &str = "far";
/// Segments that were found without a seal when a writer started, and that no writer had begun.
pub(crate) const QUARANTINE: &str = "quarantine";
/// Copies of chunks of calls on hold.
pub(crate) const HELD: &str = "held";

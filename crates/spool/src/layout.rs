//! Names of directories in the spool's directory.

/// The link to the second directory, to which older segments move.
pub(crate) const TIER: &str = "tier";
/// What this machine knows of the segments in far storage.
pub const FAR: &str = "far";
/// Copies of chunks of calls on hold.
pub(crate) const HELD: &str = "held";

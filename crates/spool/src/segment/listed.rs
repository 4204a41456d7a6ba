//! A segment and where it is stored.

use ringtap_model::Nanos;

use crate::segment::name::Segment;

/// Where a segment is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Location {
    /// In the spool's own directory.
    Spool,
    /// In the tier: a second directory, to which older segments move.
    Tier,
    /// In far storage, to which older segments move.
    Far,
}

impl Location {
    /// All locations, in the order of their numbers.
    pub const ALL: [Self; 3] = [Self::Spool, Self::Tier, Self::Far];

    /// In metrics and logs.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Spool => "spool",
            Self::Tier => "tier",
            Self::Far => "far",
        }
    }
}

/// A segment in one location.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedSegment {
    /// Its name.
    pub segment: Segment,
    /// Where it is stored.
    pub location: Location,
    /// Bytes on disk, with the files beside it.
    pub bytes: u64,
    /// Time of its first packet, and an upper bound for that of its last.
    pub begins: Nanos,
    /// See `begins`.
    pub ends: Nanos,
}

//! A segment where it lies.

use ringtap_model::Nanos;

use crate::segment::name::Segment;

/// Where a segment lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// In the spool's own directory.
    Spool,
    /// In the second one, to which older segments move.
    Tier,
    /// In the far place, to which they move.
    Far,
}

impl Place {
    /// All of them: each at the place that it has as a number.
    pub const ALL: [Self; 3] = [Self::Spool, Self::Tier, Self::Far];

    /// On pages and in logs.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Spool => "spool",
            Self::Tier => "tier",
            Self::Far => "far",
        }
    }
}

/// A segment that is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// Its name.
    pub segment: Segment,
    /// Where it lies.
    pub place: Place,
    /// What it takes on the disk, with what lies beside it.
    pub bytes: u64,
    /// When its first packet came, and by when the last had.
    pub begins: Nanos,
    /// See `begins`.
    pub ends: Nanos,
}

//! What the janitor reports.

use ringtap_model::Nanos;

use crate::error::Error;
use crate::retain::policy::{DeletionReason, DiskSpace, Limits};
use crate::segment::listed::Location;
use crate::segment::name::{ByCategory, Category, Segment};

/// An event for the operator's log.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum JanitorEvent {
    /// Segments of one category were deleted.
    Deleted {
        /// Why.
        reason: DeletionReason,
        /// How many.
        segments: u64,
        /// Bytes that this freed.
        bytes: u64,
        /// The first and the last of them.
        names: (Segment, Segment),
        /// Chunks of calls on hold that were copied out of them before.
        held: u64,
    },
    /// A copy in `held/` that no hold needs was deleted, and no seal of this spool proved it: a kill left it,
    /// it is damaged, or somebody put it there.
    UnprovenCopyDeleted(Segment),
    /// A segment has moved to the tier, or to far storage.
    Moved(Segment),
    /// Far storage fails; reported once until it works again. What should move stays.
    FarLost(Error),
    /// Far storage works again.
    FarRestored,
    /// A segment cannot be deleted, moved or copied for a hold; reported once until this works again.
    Failed(Error),
    /// Deleting and moving works again.
    Recovered,
    /// The disk is full and no segment may be deleted: recording has stopped.
    RecordingStopped(DiskSpace),
    /// There is free space again: recording goes on.
    RecordingResumed(DiskSpace),
}

/// The state of a spool, and totals since the start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SpoolStatus {
    /// The limits in effect.
    pub limits: Limits,
    /// Segments can move to a tier or to far storage.
    pub has_tier: bool,
    /// Bytes on disk by location and category.
    pub bytes: [ByCategory; Location::ALL.len()],
    /// Segments by location and category.
    pub segments: [ByCategory; Location::ALL.len()],
    /// When the oldest segment of each category begins, in any location.
    pub oldest: [Option<Nanos>; Category::ALL.len()],
    /// The file system of each location; None if it is not known, or there is no such location.
    pub space: [Option<DiskSpace>; Location::ALL.len()],
    /// Segments deleted, by reason.
    pub deleted: [u64; DeletionReason::ALL.len()],
    /// Bytes that this freed.
    pub freed: [u64; DeletionReason::ALL.len()],
    /// Segments moved to the tier or to far storage, and bytes that this freed.
    pub moved: (u64, u64),
    /// Deletions and moves that failed.
    pub failures: u64,
    /// Far storage cannot be reached, or refuses.
    pub is_far_lost: bool,
    /// Transfers to far storage that failed.
    pub far_failures: u64,
    /// Segments with objects in far storage that no stub lists: they are being uploaded, or are to be
    /// deleted.
    pub loose: u64,
    /// Calls on hold.
    pub held: u64,
    /// Bytes of the copies for them.
    pub held_bytes: u64,
    /// Nothing is deleted by age, because the time cannot be trusted.
    pub is_age_suspended: bool,
    /// Recording has stopped because the disk is full.
    pub stopped: bool,
}

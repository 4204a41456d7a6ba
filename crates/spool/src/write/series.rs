//! The state of segments that are being written.

use std::sync::mpsc::Receiver;

use ringtap_model::Nanos;

use crate::segment::index::IndexRow;
use crate::segment::name::Category;
use crate::write::job::Block;

/// Chunks of one segment.
pub(crate) const ROWS: usize = 1 << 21;

/// The segment that is being written.
pub(crate) struct OpenSegment {
    pub(crate) opened: Nanos,
    /// Bytes given to the disk thread; those of the block follow.
    pub(crate) offset: u64,
    pub(crate) chunks: u32,
}

/// The segments of one category, one after the other.
pub(crate) struct SegmentSeries {
    pub(crate) category: Category,
    pub(crate) current: Option<OpenSegment>,
    /// Number of the next segment.
    pub(crate) next: u64,
    pub(crate) block: Option<Block>,
    pub(crate) filled: usize,
    /// When the first byte came into the block.
    pub(crate) since: Nanos,
    pub(crate) rows: Vec<IndexRow>,
    pub(crate) keys: KeyRows,
}

/// The keys that a segment lists.
#[derive(Default)]
pub(crate) struct KeyRows {
    /// None while no key waits.
    pub(crate) block: Option<Block>,
    pub(crate) filled: usize,
    /// Bytes given to the disk thread.
    pub(crate) offset: u64,
    pub(crate) listed: u32,
}

impl SegmentSeries {
    pub(crate) fn new(category: Category) -> Self {
        Self {
            category,
            current: None,
            next: 0,
            block: None,
            filled: 0,
            since: Nanos::ZERO,
            rows: Vec::with_capacity(ROWS),
            keys: KeyRows::default(),
        }
    }
}

/// Blocks that are free.
pub(crate) struct BlockPool {
    pub(crate) spare: Vec<Block>,
    pub(crate) back: Receiver<Block>,
}

impl BlockPool {
    /// Waits if all of them are on their way to the disk. None if the disk thread has ended.
    pub(crate) fn acquire(&mut self) -> Option<Block> {
        self.spare.extend(self.back.try_iter());
        // The block that came back last is the likeliest to be in a cache.
        self.spare.pop().or_else(|| self.back.recv().ok())
    }
}

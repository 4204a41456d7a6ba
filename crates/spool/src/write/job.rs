//! Jobs for the thread that writes to the disk, and the blocks in which it gets bytes.

use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use crate::segment::index::IndexRow;
use crate::segment::name::{Category, Segment};

/// Most and fewest bytes of a block, which is one write.
const BLOCK: (usize, usize) = (2 << 20, 256 << 10);
/// Bytes of a block where so much memory holds the packets that wait: a sixteenth of it.
pub(crate) fn block_length(memory: usize) -> usize {
    let (most, fewest) = BLOCK;
    (memory / 16).next_multiple_of(ALIGN).clamp(fewest, most)
}
/// Bytes of a block of keys.
pub(crate) const KEY_BLOCK: usize = 64 << 10;
/// Addresses, offsets and lengths of direct writes are multiples of this.
pub(crate) const ALIGN: usize = 4096;
/// Bytes of a large page: a block that is one is pinned for the disk at once, not page by page.
const LARGE: usize = 2 << 20;
/// Bytes at an address that direct writes accept.
pub(crate) struct Block {
    bytes: Vec<u8>,
    start: usize,
    length: usize,
}

impl Block {
    pub(crate) fn new(length: usize) -> Self {
        // The kernel provides the memory when the block is first filled: the packer may wait for that.
        let align = if length >= LARGE { LARGE } else { ALIGN };
        let mut bytes = vec![0; length + align];
        let start = bytes.as_ptr().align_offset(align);
        // `align_offset` may fail in principle; the writes are buffered ones then.
        let start = if start <= align { start } else { 0 };
        ringtap_cpu::large_pages(&mut bytes[start..][..length]);
        Self { bytes, start, length }
    }

    pub(crate) fn data(&self) -> &[u8] {
        &self.bytes[self.start..][..self.length]
    }

    pub(crate) fn data_mut(&mut self) -> &mut [u8] {
        &mut self.bytes[self.start..][..self.length]
    }
}

/// A job for the thread that writes.
pub(crate) enum Job {
    /// Further blocks of the category belong to this segment.
    Open(Category, Segment),
    /// Writes the first bytes of the block at the offset.
    Write { category: Category, block: Block, len: usize, offset: u64 },
    /// Writes the first bytes of the block at the offset of the segment's key file.
    Keys { category: Category, block: Block, len: usize, offset: u64 },
    /// The category's segment is complete and has these chunks.
    Close(Category, Vec<IndexRow>),
}

/// Jobs in their order, of which keys may be taken out early.
pub(crate) struct JobQueue<'a> {
    jobs: &'a Receiver<Job>,
    waiting: VecDeque<Job>,
}

impl<'a> JobQueue<'a> {
    pub(crate) fn of(jobs: &'a Receiver<Job>) -> Self {
        Self { jobs, waiting: VecDeque::with_capacity(MOST_WAITING) }
    }

    /// The next job, if one comes in that time.
    pub(crate) fn next(&mut self, patience: Duration) -> Result<Job, RecvTimeoutError> {
        self.waiting.pop_front().map_or_else(|| self.jobs.recv_timeout(patience), Ok)
    }

    /// The next keys of the open segment of a category, if they wait already.
    pub(crate) fn next_keys(&mut self, category: Category) -> Option<(Block, usize, u64)> {
        let room = MOST_WAITING.saturating_sub(self.waiting.len());
        self.waiting.extend(self.jobs.try_iter().take(room));
        let place = self.waiting.iter().position(|job| match job {
            Job::Keys { category: of, .. } | Job::Close(of, _) => *of == category,
            Job::Open(..) | Job::Write { .. } => false,
        })?;
        if matches!(self.waiting[place], Job::Close(..)) {
            return None;
        }
        match self.waiting.remove(place)? {
            Job::Keys { block, len, offset, .. } => Some((block, len, offset)),
            _ => None,
        }
    }
}

/// Jobs that are taken from the channel before their turn, at most.
const MOST_WAITING: usize = 64;

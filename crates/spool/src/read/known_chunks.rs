//! Chunks that were read before, in another segment: somebody put files of one segment in the place of
//! another's.

use std::collections::{BTreeMap, HashMap};

use crate::segment::index::IndexRow;
use crate::segment::name::Segment;

/// The chunks that were read, by owner, number among the owner's and time of the first packet. A writer
/// writes each of them once.
#[derive(Debug, Default)]
pub(crate) struct KnownChunks {
    /// With the number of their segment.
    chunks: HashMap<(u64, u32, u64), usize>,
    segments: BTreeMap<Segment, usize>,
}

impl KnownChunks {
    /// Leaves out the chunks that were found in another segment before. Returns whether there were any.
    pub(crate) fn leave_out(&mut self, segment: &Segment, rows: &mut Vec<IndexRow>) -> bool {
        if rows.is_empty() {
            return false;
        }
        let next = self.segments.len();
        let number = *self.segments.entry(segment.clone()).or_insert(next);
        let before = rows.len();
        rows.retain(|IndexRow { chunk, .. }| {
            *self.chunks.entry((chunk.owner, chunk.number, chunk.first.0)).or_insert(number) == number
        });
        rows.len() < before
    }
}

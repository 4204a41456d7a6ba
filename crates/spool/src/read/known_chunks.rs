//! Chunks that were read before in another place: somebody put files of one segment in the place of
//! another's, or copied a chunk over another one.

use std::collections::{BTreeMap, HashMap};

use crate::segment::index::IndexRow;
use crate::segment::name::Segment;

/// The chunks that were read, by owner, number among the owner's and time of the first packet. A writer
/// writes each of them once.
#[derive(Debug, Default)]
pub(crate) struct KnownChunks {
    /// With the number of their segment and their offset in it.
    chunks: HashMap<(u64, u32, u64), (usize, u64)>,
    segments: BTreeMap<Segment, usize>,
}

impl KnownChunks {
    /// Leaves out the chunks that were found in another place before. Returns whether there were any.
    pub(crate) fn leave_out(&mut self, segment: &Segment, rows: &mut Vec<IndexRow>) -> bool {
        if rows.is_empty() {
            return false;
        }
        let next = self.segments.len();
        let number = *self.segments.entry(segment.clone()).or_insert(next);
        let before = rows.len();
        rows.retain(|IndexRow { offset, chunk }| {
            let place = (number, *offset);
            *self.chunks.entry((chunk.owner, chunk.number, chunk.first.0)).or_insert(place) == place
        });
        rows.len() < before
    }
}

//! Segments that are being written: no seal proves them yet.

use std::path::Path;

use crate::segment::index::IndexRow;
use crate::segment::name::Segment;

/// Leaves out chunks that say they are not sealed, where the writer of the segment seals its chunks: it seals
/// them all, and nothing but its key proves a chunk. Whether there were any.
pub(crate) fn leave_out_unsealed(dir: &Path, segment: &Segment, rows: &mut Vec<IndexRow>) -> bool {
    let is_sealed = |row: &IndexRow| row.chunk.is_sealed();
    let has_keys = rows.iter().any(is_sealed) || segment.keys_path(dir).symlink_metadata().is_ok();
    let all = rows.len();
    rows.retain(|row| !has_keys || is_sealed(row));
    rows.len() < all
}

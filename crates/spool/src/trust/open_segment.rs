//! Segments that are being written: no seal proves them yet.

use std::path::Path;

use crate::segment::index::IndexRow;
use crate::segment::name::Segment;

/// Whether chunks of an open segment that are not sealed were put in by somebody else. `listed` is what the
/// list of open segments says of its chunks. If it says nothing, sealed ones or a file of keys show that the
/// writer seals them: it seals all or none, and nothing but its key proves a chunk.
pub(crate) fn must_be_sealed(listed: Option<bool>, dir: &Path, segment: &Segment, rows: &[IndexRow]) -> bool {
    let has_keys = || segment.keys_path(dir).symlink_metadata().is_ok();
    listed.unwrap_or_else(|| rows.iter().any(|row| row.chunk.is_sealed()) || has_keys())
}

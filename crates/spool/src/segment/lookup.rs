//! The chunks of some owners in a segment.

use std::io;
use std::path::Path;

use crate::files::{is_irregular, open_regular};
use crate::segment::bytes::SegmentBytes;
use crate::segment::index::{Index, IndexRow};
use crate::segment::name::Segment;
use crate::segment::scan::{Scan, scan_bytes};

/// The chunks of the owners, from the index beside the segment; None if there is no complete index.
pub(crate) fn indexed(
    dir: &Path,
    segment: &Segment,
    owners: &[u64],
    reads: &mut u64,
) -> io::Result<Option<Vec<IndexRow>>> {
    let file = match open_regular(&segment.index_path(dir)) {
        Ok(file) => file,
        // What is no file has no index; `verify` names it.
        Err(error) if error.kind() == io::ErrorKind::NotFound || is_irregular(&error) => return Ok(None),
        Err(error) => return Err(error),
    };
    let Some(mut index) = Index::open(file)? else { return Ok(None) };
    let mut rows = Vec::new();
    for owner in owners {
        match index.find(*owner)? {
            Some(found) => rows.extend(found),
            None => return Ok(None),
        }
    }
    *reads += index.reads;
    Ok(Some(rows))
}

/// The chunks of the owners, from the segment itself: it is still open, its writer was killed, or its index
/// is damaged. Includes erased and damaged chunks.
pub(crate) fn scanned(bytes: &dyn SegmentBytes, owners: &[u64]) -> io::Result<Vec<IndexRow>> {
    let Scan { rows, erased, spoiled, .. } = scan_bytes(bytes)?;
    let all = rows.into_iter().chain(erased).chain(spoiled);
    Ok(all.filter(|row| owners.contains(&row.chunk.owner)).collect())
}

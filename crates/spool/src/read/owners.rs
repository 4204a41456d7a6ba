//! What the spool has of many owners, without their packets.

use std::collections::BTreeMap;
use std::io;

use ringtap_model::Nanos;

use crate::error::Error;
use crate::read::reader::{Reader, SegmentSource};
use crate::segment::index::IndexRow;
use crate::segment::lookup::indexed;
use crate::segment::name::{Category, Segment};
use crate::segment::scan::{Scan, scan_bytes};

/// What the spool has of an owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordedSpan {
    /// Time of the first packet.
    pub first: Nanos,
    /// Time of the last packet.
    pub last: Nanos,
    /// Packets.
    pub packets: u64,
}

/// What the spool has of owners, by category and key.
pub type RecordedSpans = BTreeMap<(Category, u64), RecordedSpan>;

impl Reader {
    /// Finds what these segments have of the owners, interception product aside. Each segment is read once
    /// for all owners: its index, or all of it where it has none. Chunks that were erased are left out.
    ///
    /// `owners` gives each owner the earliest time of packets that count: the same key may have named an
    /// earlier stream.
    ///
    /// # Errors
    ///
    /// A file cannot be read.
    pub fn find_spans(
        &mut self,
        owners: &BTreeMap<u64, Nanos>,
        segments: &[Segment],
    ) -> Result<RecordedSpans, Error> {
        let mut spans = RecordedSpans::new();
        let keys: Vec<u64> = owners.keys().copied().collect();
        for segment in segments.iter().filter(|segment| segment.category() != Category::Product) {
            let Some((dir, place)) = self.open_segment(segment)? else { continue };
            let rows = match indexed(&dir, segment, &keys, &mut 0) {
                Ok(Some(rows)) => Ok(rows),
                Ok(None) => self.scanned(&place, segment, owners),
                Err(error) => Err(error),
            };
            for row in rows.map_err(|error| Error::io(&segment.path(&dir), "read", error))? {
                let chunk = &row.chunk;
                if owners.get(&chunk.owner).is_some_and(|from| chunk.last >= *from) {
                    add(&mut spans, segment.category(), &row);
                }
            }
        }
        Ok(spans)
    }

    /// The chunks of the owners in a segment that has no index.
    fn scanned(
        &self,
        place: &SegmentSource,
        segment: &Segment,
        owners: &BTreeMap<u64, Nanos>,
    ) -> io::Result<Vec<IndexRow>> {
        let Scan { mut rows, .. } = scan_bytes(&*place.bytes(segment)?)?;
        rows.retain(|row| owners.contains_key(&row.chunk.owner));
        Ok(rows)
    }
}

fn add(spans: &mut RecordedSpans, category: Category, row: &IndexRow) {
    let chunk = &row.chunk;
    let span = spans.entry((category, chunk.owner)).or_insert(RecordedSpan {
        first: chunk.first,
        last: chunk.last,
        packets: 0,
    });
    span.first = span.first.min(chunk.first);
    span.last = span.last.max(chunk.last);
    span.packets += u64::from(chunk.packets);
}

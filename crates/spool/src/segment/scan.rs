//! Reads a segment from its beginning, marker by marker: which chunks are complete, and which are damaged.

use std::fs::File;
use std::io;
use std::ops::Range;

use ringtap_model::Nanos;

use crate::segment::bytes::SegmentBytes;
use crate::segment::index::IndexRow;
use crate::segment::marker::{self, Chunk, GLOBAL, Link, MAGIC, Marker, RECORD};

/// What is wrong at an offset of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Flaw {
    /// The file does not begin as a segment does.
    #[error("this is not a segment of a spool")]
    NotASegment,
    /// The file ends within a chunk or a marker.
    #[error("the file ends within a chunk")]
    Cut,
    /// The packets of a chunk are not those that were written.
    #[error("the packets of a chunk were changed: their checksum is another")]
    Changed,
    /// A marker is missing.
    #[error("a marker is missing or was changed")]
    Mark,
    /// Bytes that belong to no chunk are not those that were written.
    #[error("a header, or the zeros that fill a block or replace a chunk, were changed")]
    Outside,
    /// The segment has no end marker: its writer was stopped. Every chunk may be complete all the same.
    #[error("the segment was never closed")]
    Open,
    /// The end marker states another number of chunks.
    #[error("chunks were cut out: {found} of {stated} are there")]
    Missing {
        /// As the end marker states it.
        stated: u32,
        /// Complete or damaged chunks.
        found: u32,
    },
}

/// A flaw and its offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}, at byte {offset}")]
pub struct Damage {
    /// From the beginning of the file.
    pub offset: u64,
    /// What is wrong there.
    pub what: Flaw,
}

/// What a segment holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scan {
    /// Complete chunks, in order of the file.
    pub rows: Vec<IndexRow>,
    /// Chunks that were erased on purpose.
    pub erased: Vec<IndexRow>,
    /// Chunks whose marker is intact and whose packets are not.
    pub spoiled: Vec<IndexRow>,
    /// All damages, in order.
    pub damages: Vec<Damage>,
    /// The worker and the number of the segment, if its first marker is intact.
    pub start: Option<(u16, u64)>,
}

/// Bytes searched at once.
const PIECE: usize = 1 << 20;
/// Further damages are not listed.
const MOST_DAMAGES: usize = 1000;

/// Reads a whole segment.
pub fn scan(bytes: &[u8]) -> Scan {
    // Reading memory cannot fail.
    scan_of(&mut &*bytes).unwrap_or_default()
}

/// Reads a whole segment, a megabyte at a time.
///
/// # Errors
///
/// The file cannot be read.
pub(crate) fn scan_file(file: &File) -> io::Result<Scan> {
    scan_bytes(file)
}

/// Reads a whole segment, on a disk or in far storage, piece by piece.
///
/// # Errors
///
/// The segment cannot be read.
pub(crate) fn scan_bytes(source: &dyn SegmentBytes) -> io::Result<Scan> {
    let size = usize::try_from(source.length()?).unwrap_or(usize::MAX);
    scan_of(&mut Window { source, size, from: 0, bytes: Vec::new() })
}

/// Where a segment is read from.
trait Source {
    fn size(&self) -> usize;

    /// So many bytes from an offset on, fewer at the end.
    fn at(&mut self, from: usize, length: usize) -> io::Result<&[u8]>;
}

impl Source for &[u8] {
    fn size(&self) -> usize {
        self.len()
    }

    fn at(&mut self, from: usize, length: usize) -> io::Result<&[u8]> {
        let from = from.min(self.len());
        Ok(&self[from..from.saturating_add(length).min(self.len())])
    }
}

/// A piece of a file.
struct Window<'a> {
    source: &'a dyn SegmentBytes,
    /// When the file was opened: it may grow.
    size: usize,
    from: usize,
    bytes: Vec<u8>,
}

impl Source for Window<'_> {
    fn size(&self) -> usize {
        self.size
    }

    fn at(&mut self, from: usize, length: usize) -> io::Result<&[u8]> {
        let from = from.min(self.size);
        let length = length.min(self.size - from);
        if from < self.from || from + length > self.from + self.bytes.len() {
            self.from = from;
            self.bytes.resize(length.max(self.source.piece().min(self.size - from)), 0);
            let filled = self.source.read_at(&mut self.bytes, from as u64)?;
            self.bytes.truncate(filled);
        }
        let start = from - self.from;
        Ok(&self.bytes[start.min(self.bytes.len())..(start + length).min(self.bytes.len())])
    }
}

fn scan_of(source: &mut impl Source) -> io::Result<Scan> {
    let mut scan = Scan::default();
    let size = source.size();
    let Some(link) = marker::link_of(source.at(0, GLOBAL)?) else {
        scan.damages.push(Damage { offset: 0, what: Flaw::NotASegment });
        return Ok(scan);
    };
    if source.at(0, GLOBAL)? != marker::global_header(link) {
        scan.damage(0, Flaw::Outside);
    }
    let mut at = GLOBAL;
    let (mut closed, mut seen) = (false, 0u32);
    while at < size {
        let Some((marker, length)) = Marker::read(link, source.at(at, marker::len(link))?) else {
            let rest_is_short = size - at < marker::len(link);
            scan.damage(at, if rest_is_short { Flaw::Cut } else { Flaw::Mark });
            match resume(link, source, at + 1)? {
                Some(next) => at = next,
                None => break,
            }
            continue;
        };
        if !is_as_written(link, source, at, &marker, length)? {
            scan.damage(at, Flaw::Outside);
        }
        match marker {
            Marker::Start { worker, segment, .. } => scan.start = Some((worker, segment)),
            Marker::Padding { .. } | Marker::Erased(_) if at + length > size => scan.damage(at, Flaw::Cut),
            Marker::Padding { .. } => {}
            Marker::Erased(chunk) => {
                seen += 1;
                scan.erased.push(IndexRow { offset: at as u64, chunk });
            }
            Marker::End { chunks, .. } => {
                closed = true;
                if chunks != seen {
                    scan.damage(at, Flaw::Missing { stated: chunks, found: seen });
                }
            }
            Marker::Chunk(chunk) => {
                seen += 1;
                let row = IndexRow { offset: at as u64, chunk };
                let packets = at + length;
                let whole = packets.saturating_add(chunk.length as usize) <= size;
                let content = source.at(packets, if whole { chunk.length as usize } else { 0 })?;
                match Some(content).filter(|content| whole && content.len() == chunk.length as usize) {
                    Some(content) if ringtap_cpu::crc32c(0, content) == chunk.crc => {
                        scan.rows.push(row);
                        at = packets + content.len();
                    }
                    // The length comes from the marker, which is intact: the next marker is behind the chunk.
                    Some(content) => {
                        scan.spoiled.push(row);
                        scan.damage(at, Flaw::Changed);
                        at = packets + content.len();
                    }
                    None => {
                        scan.spoiled.push(row);
                        scan.damage(at, Flaw::Cut);
                        // A hole, not an end: markers behind it count.
                        match resume(link, source, packets)? {
                            Some(next) => at = next,
                            None => break,
                        }
                    }
                }
                continue;
            }
        }
        at += length;
    }
    if !closed {
        scan.damage(size, Flaw::Open);
    }
    Ok(scan)
}

/// Whether the headers of a marker at that offset are as it is written, and what it covers is zeros.
fn is_as_written(
    link: Link,
    source: &mut impl Source,
    at: usize,
    marker: &Marker,
    length: usize,
) -> io::Result<bool> {
    let head = marker::len(link);
    if !marker.is_written_as(link, source.at(at, head)?) {
        return Ok(false);
    }
    let (mut from, end) = (at + head, at.saturating_add(length).min(source.size()));
    while from < end {
        let piece = source.at(from, (end - from).min(PIECE))?;
        if piece.is_empty() || piece.iter().any(|byte| *byte != 0) {
            return Ok(piece.is_empty());
        }
        from += piece.len();
    }
    Ok(true)
}

impl Scan {
    fn damage(&mut self, at: usize, what: Flaw) {
        if self.damages.len() < MOST_DAMAGES {
            self.damages.push(Damage { offset: at as u64, what });
        }
    }

    /// Whether every chunk is as it was written, in a closed segment or an open one.
    pub fn is_sound(&self) -> bool {
        self.damages.iter().all(|damage| damage.what == Flaw::Open)
    }
}

/// The next offset from `from` on at which a complete marker begins.
fn resume(link: Link, source: &mut impl Source, mut from: usize) -> io::Result<Option<usize>> {
    let (behind, first) = (marker::before_magic(link), from);
    while from < source.size() {
        let piece = source.at(from, PIECE)?;
        let Some(found) = memchr::memmem::find(piece, &MAGIC) else {
            if piece.len() < PIECE {
                return Ok(None);
            }
            // The magic may begin in this piece and end in the next.
            from += PIECE - MAGIC.len() + 1;
            continue;
        };
        let magic = from + found;
        if let Some(at) = magic.checked_sub(behind)
            && at >= first
            && Marker::read(link, source.at(at, marker::len(link))?).is_some()
        {
            return Ok(Some(at));
        }
        from = magic + 1;
    }
    Ok(None)
}

/// A recorded packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet<'a> {
    /// When it was captured.
    pub time: Nanos,
    /// Length on the wire.
    pub wire_len: u32,
    /// The bytes that were recorded.
    pub data: &'a [u8],
}

/// The packets of a chunk whose checksum is right.
pub(crate) fn packets(content: &[u8]) -> impl Iterator<Item = Packet<'_>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let (time, captured, wire_len) = marker::read_record(content.get(at..)?)?;
        let data = content.get(at + RECORD..at.checked_add(RECORD + captured as usize)?)?;
        at += RECORD + data.len();
        Some(Packet { time, wire_len, data })
    })
}

/// The state of a chunk, from bytes that begin with its marker.
pub(crate) enum Content {
    /// As it was written: the range of the bytes behind its marker.
    Whole(Chunk, Range<usize>),
    /// Erased on purpose.
    Erased,
    /// Not as it was written.
    Damaged,
}

/// The content of the wanted chunk.
pub(crate) fn content(link: Link, bytes: &[u8], wanted: &Chunk) -> Content {
    let same = |chunk: &Chunk| (chunk.owner, chunk.number) == (wanted.owner, wanted.number);
    match Marker::read(link, bytes) {
        Some((Marker::Erased(chunk), _)) if same(&chunk) => Content::Erased,
        // An index has the time of the last packet in microseconds.
        Some((Marker::Chunk(chunk), length)) if (Chunk { last: wanted.last, ..chunk }) == *wanted => {
            let range = length..length + chunk.length as usize;
            match bytes.get(range.clone()) {
                Some(content) if ringtap_cpu::crc32c(0, content) == chunk.crc => Content::Whole(chunk, range),
                _ => Content::Damaged,
            }
        }
        _ => Content::Damaged,
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    /// Chunks of up to 60 KiB over several pieces of a file, intact and damaged: a scan finds the same in
    /// memory and in the file.
    #[test]
    fn a_file_is_read_as_memory_is() {
        let link = Link::Ethernet;
        let at = Nanos(1_795_219_200_000_000_000);
        let mut bytes = marker::global_header(link).to_vec();
        let mut append = |marker: Marker, content: &[u8]| {
            let start = bytes.len();
            bytes.resize(start + marker::len(link), 0);
            marker.write(link, &mut bytes[start..]);
            bytes.extend(content);
        };
        append(Marker::Start { worker: 1, segment: 2, at }, &[]);
        let content: Vec<u8> = (0..60_000u32).map(|at| (at ^ (at >> 7)) as u8).collect();
        for number in 0..80u32 {
            let content = &content[..(number as usize * 7_919) % content.len()];
            let (length, crc) = (content.len() as u32, ringtap_cpu::crc32c(0, content));
            let (packets, flags, key, plain) = (1, 0, 0, length);
            let chunk =
                Chunk { owner: 7, number, packets, length, crc, flags, key, plain, first: at, last: at };
            append(Marker::Chunk(chunk), content);
        }
        append(Marker::End { chunks: 80, at }, &[]);
        assert!(bytes.len() > 2 * PIECE);
        let read = |bytes: &[u8]| {
            let mut file = tempfile::tempfile().unwrap();
            file.write_all(bytes).unwrap();
            let found = scan_file(&file).unwrap();
            assert_eq!(found, scan(bytes));
            found
        };
        let whole = read(&bytes);
        assert_eq!((whole.rows.len(), whole.damages.len()), (80, 0));
        for cut in (0..bytes.len()).step_by(99_991) {
            read(&bytes[..cut]);
        }
        for (at, length) in (0..bytes.len() - 3_000).step_by(37_007).zip([1, 40, 2_000].into_iter().cycle()) {
            let mut bad = bytes.clone();
            bad[at..at + length].fill(0x41);
            let found = read(&bad);
            assert!(found.rows.len() >= 77 || at < GLOBAL, "{} at {at}", found.rows.len());
        }
        // The longest way to the next marker: over two pieces.
        let mut bad = bytes.clone();
        let from = whole.rows[10].offset as usize;
        bad[from..from + PIECE + 1_000].fill(0x41);
        assert!(read(&bad).rows.len() > 20);
    }
}

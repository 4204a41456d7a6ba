//! A segment read from its beginning, mark by mark: what is whole, and what is not.

use std::ops::Range;

use ringtap_model::Nanos;

use crate::index::Row;
use crate::mark::{self, Chunk, GLOBAL, Link, MAGIC, Mark, RECORD};

/// What is wrong at a place of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Flaw {
    /// The file does not begin as a segment does.
    #[error("this is not a segment of a spool")]
    NotASegment,
    /// The file ends within a chunk or a mark.
    #[error("the file ends within a chunk")]
    Cut,
    /// The packets of a chunk are not those that were written.
    #[error("the packets of a chunk were changed: their checksum is another")]
    Changed,
    /// There is no mark where one must be.
    #[error("a mark is missing or was changed")]
    Mark,
    /// The segment has no end mark: whoever wrote it was stopped. Every chunk may be whole all the same.
    #[error("the segment was never closed")]
    Open,
    /// The end mark states another number of chunks.
    #[error("chunks were cut out: {found} of {stated} are there")]
    Missing {
        /// As the end mark states it.
        stated: u32,
        /// Whole or damaged ones.
        found: u32,
    },
}

/// A flaw and its place.
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
    /// Chunks that are whole, in order of the file.
    pub rows: Vec<Row>,
    /// Chunks that were erased on purpose.
    pub erased: Vec<Row>,
    /// Chunks whose mark is whole and whose packets are not.
    pub spoiled: Vec<Row>,
    /// Everything that is not as it was written, in order.
    pub damages: Vec<Damage>,
    /// The worker and the number of the segment, where its first mark is whole.
    pub start: Option<(u16, u64)>,
}

/// More damages than this are not listed one by one.
const MOST_DAMAGES: usize = 1000;

/// Reads a whole segment.
pub fn scan(bytes: &[u8]) -> Scan {
    let mut scan = Scan::default();
    let Some(link) = mark::link_of(bytes) else {
        scan.damages.push(Damage { offset: 0, what: Flaw::NotASegment });
        return scan;
    };
    let mut at = GLOBAL;
    let (mut closed, mut seen) = (false, 0u32);
    while at < bytes.len() {
        let Some((mark, length)) = Mark::read(link, &bytes[at..]) else {
            let rest_is_short = bytes.len() - at < mark::len(link);
            scan.damage(at, if rest_is_short { Flaw::Cut } else { Flaw::Mark });
            match resume(link, bytes, at + 1) {
                Some(next) => at = next,
                None => break,
            }
            continue;
        };
        match mark {
            Mark::Start { worker, segment, .. } => scan.start = Some((worker, segment)),
            Mark::Padding { .. } | Mark::Erased(_) if at + length > bytes.len() => scan.damage(at, Flaw::Cut),
            Mark::Padding { .. } => {}
            Mark::Erased(chunk) => {
                seen += 1;
                scan.erased.push(Row { offset: at as u64, chunk });
            }
            Mark::End { chunks, .. } => {
                closed = true;
                if chunks != seen {
                    scan.damage(at, Flaw::Missing { stated: chunks, found: seen });
                }
            }
            Mark::Chunk(chunk) => {
                seen += 1;
                let row = Row { offset: at as u64, chunk };
                let packets = at + length;
                match bytes.get(packets..packets.saturating_add(chunk.length as usize)) {
                    Some(content) if ringtap_cpu::crc32c(0, content) == chunk.crc => {
                        scan.rows.push(row);
                        at = packets + content.len();
                    }
                    // Its length is the mark's, which is whole: the next mark is behind it.
                    Some(content) => {
                        scan.spoiled.push(row);
                        scan.damage(at, Flaw::Changed);
                        at = packets + content.len();
                    }
                    None => {
                        scan.spoiled.push(row);
                        scan.damage(at, Flaw::Cut);
                        // A hole, not an end: marks behind it count.
                        match resume(link, bytes, packets) {
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
        scan.damage(bytes.len(), Flaw::Open);
    }
    scan
}

impl Scan {
    fn damage(&mut self, at: usize, what: Flaw) {
        if self.damages.len() < MOST_DAMAGES {
            self.damages.push(Damage { offset: at as u64, what });
        }
    }

    /// Whether every chunk is as it was written; a segment that was not closed may be so too.
    pub fn is_sound(&self) -> bool {
        self.damages.iter().all(|damage| damage.what == Flaw::Open)
    }
}

/// The next place from `from` on where a whole mark begins.
fn resume(link: Link, bytes: &[u8], from: usize) -> Option<usize> {
    let behind = mark::before_magic(link);
    memchr::memmem::find_iter(bytes.get(from..)?, &MAGIC)
        .filter_map(|found| (from + found).checked_sub(behind))
        .find(|at| *at >= from && Mark::read(link, &bytes[*at..]).is_some())
}

/// A kept packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet<'a> {
    /// When it was captured.
    pub time: Nanos,
    /// Length on the wire.
    pub wire_len: u32,
    /// What was kept of it.
    pub data: &'a [u8],
}

/// The packets of a chunk, whose checksum has been found right.
pub(crate) fn packets(content: &[u8]) -> impl Iterator<Item = Packet<'_>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let (time, captured, wire_len) = mark::read_record(content.get(at..)?)?;
        let data = content.get(at + RECORD..at.checked_add(RECORD + captured as usize)?)?;
        at += RECORD + data.len();
        Some(Packet { time, wire_len, data })
    })
}

/// What a chunk is, out of bytes that begin with its mark.
pub(crate) enum Content {
    /// As it was written: the bytes behind its mark.
    Whole(Chunk, Range<usize>),
    /// Erased on purpose.
    Erased,
    /// Not what was written.
    Damaged,
}

/// The content of a chunk that is looked for.
pub(crate) fn content(link: Link, bytes: &[u8], wanted: &Chunk) -> Content {
    let same = |chunk: &Chunk| (chunk.owner, chunk.number) == (wanted.owner, wanted.number);
    match Mark::read(link, bytes) {
        Some((Mark::Erased(chunk), _)) if same(&chunk) => Content::Erased,
        Some((Mark::Chunk(chunk), length)) if same(&chunk) => {
            let range = length..length + chunk.length as usize;
            match bytes.get(range.clone()) {
                Some(content) if ringtap_cpu::crc32c(0, content) == chunk.crc => Content::Whole(chunk, range),
                _ => Content::Damaged,
            }
        }
        _ => Content::Damaged,
    }
}

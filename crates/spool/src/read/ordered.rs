//! The packets of a call in order of time, with only overlapping chunks in memory.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;

use ringtap_model::LinkType;

use crate::error::Error;
use crate::read::known_chunks::KnownChunks;
use crate::read::reader::{FoundPackets, KeyRing, Reader, SegmentSource};
use crate::segment::index::IndexRow;
use crate::segment::marker::Link;
use crate::segment::name::Segment;
use crate::segment::scan::Packet;

/// Where the chunks of some owners are, by the time at which they begin. It holds none of their content, and
/// can be read several times: [`Reader::in_order`].
#[derive(Clone, Debug, Default)]
pub struct LocatedChunks {
    segments: Vec<Segment>,
    /// The number of the segment, and the row in its index.
    places: Vec<(u32, IndexRow)>,
    /// Chunks that are missing from the numbering, by owner.
    missing: BTreeMap<u64, u64>,
}

impl LocatedChunks {
    /// Packets in them, if all chunks are intact and can be read.
    pub fn packets(&self) -> u64 {
        self.places.iter().map(|(_, row)| u64::from(row.chunk.packets)).sum()
    }

    /// Adds the chunks of one segment, in order of the file.
    fn add(&mut self, segment: u32, rows: Vec<IndexRow>, next: &mut BTreeMap<u64, u32>) {
        for row in rows {
            // Chunks are numbered from 0: a gap is a missing chunk, wherever it has gone.
            let expected = next.entry(row.chunk.owner).or_default();
            *self.missing.entry(row.chunk.owner).or_default() +=
                u64::from(row.chunk.number.saturating_sub(*expected));
            *expected = (*expected).max(row.chunk.number + 1);
            self.places.push((segment, row));
        }
    }
}

/// Chunks of an owner whose packets cannot be read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MissingChunks {
    /// Damaged or missing.
    pub damaged: u64,
    /// Erased on purpose.
    pub erased: u64,
    /// Intact and sealed, and the reader does not have the key.
    pub sealed: u64,
}

impl MissingChunks {
    /// Whether there are none.
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }
}

/// One pass over [`LocatedChunks`].
///
/// INVARIANT: in memory are the chunks that begin before the current packet and end behind it, and one batch
/// ahead of segments in far storage.
#[derive(Debug)]
pub struct OrderedPackets<'a> {
    reader: &'a mut Reader,
    chunks: &'a LocatedChunks,
    /// The chunk that is read next.
    next: usize,
    open: Vec<Cursor>,
    /// The open chunk whose packet was returned last.
    given: Option<usize>,
    segments: Vec<(u32, OpenSegment)>,
    /// Chunks that were read ahead, by position; `None` if the chunk is cut off.
    ahead: BTreeMap<usize, Option<Vec<u8>>>,
    lacks: BTreeMap<u64, MissingChunks>,
}

/// A chunk, and how far it was read.
#[derive(Debug)]
struct Cursor {
    owner: u64,
    /// The position of the chunk: it orders packets of the same time.
    place: usize,
    found: FoundPackets,
    at: usize,
}

/// An open segment.
#[derive(Debug)]
struct OpenSegment {
    dir: PathBuf,
    place: SegmentSource,
    link: Link,
    keys: KeyRing,
}

impl Reader {
    /// Finds the chunks of each list of owners in its segments.
    ///
    /// # Errors
    ///
    /// A file cannot be read. A segment that is gone is no error: its chunks count as missing.
    pub fn locate(&mut self, wanted: &[(&[u64], &[Segment])]) -> Result<LocatedChunks, Error> {
        let mut chunks = LocatedChunks::default();
        let mut next = BTreeMap::new();
        self.known = KnownChunks::default();
        for (owners, segments) in wanted {
            for segment in *segments {
                let Some((dir, place)) = self.open_segment(segment)? else { continue };
                let rows = match self.rows(&dir, &place, segment, owners) {
                    Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                    rows => rows.map_err(|error| Error::io(&segment.path(&dir), "read", error))?,
                };
                if rows.is_empty() {
                    continue;
                }
                chunks.segments.push(segment.clone());
                let place = chunks.segments.len() as u32 - 1;
                chunks.add(place, rows, &mut next);
            }
        }
        chunks.places.sort_by_key(|(segment, row)| (row.chunk.first, *segment, row.offset));
        Ok(chunks)
    }

    /// Reads the packets from the first to the last.
    pub fn in_order<'a>(&'a mut self, chunks: &'a LocatedChunks) -> OrderedPackets<'a> {
        let lacks = chunks.missing.iter().filter(|(_, missing)| **missing > 0);
        let lacks = lacks.map(|(owner, damaged)| {
            (*owner, MissingChunks { damaged: *damaged, ..MissingChunks::default() })
        });
        let lacks = lacks.collect();
        OrderedPackets {
            reader: self,
            chunks,
            next: 0,
            open: Vec::new(),
            given: None,
            segments: Vec::new(),
            ahead: BTreeMap::new(),
            lacks,
        }
    }
}

impl OrderedPackets<'_> {
    /// The next packet with its owner and its link type. `None` after the last.
    ///
    /// # Errors
    ///
    /// A file cannot be read. Damaged, erased and sealed chunks are no errors: see [`OrderedPackets::lacks`].
    pub fn next_packet(&mut self) -> Result<Option<(u64, LinkType, Packet<'_>)>, Error> {
        if let Some(given) = self.given.take() {
            self.open[given].at += 1;
            if self.open[given].time().is_none() {
                self.open.swap_remove(given);
            }
        }
        let earliest = loop {
            let earliest =
                (0..self.open.len()).min_by_key(|index| (self.open[*index].time(), self.open[*index].place));
            let before = earliest.and_then(|index| self.open[index].time());
            match self.chunks.places.get(self.next) {
                Some((_, row)) if before.is_none_or(|before| row.chunk.first.0 <= before) => self.load()?,
                _ => break earliest,
            }
        };
        self.given = earliest;
        let Some(cursor) = earliest.map(|index| &self.open[index]) else { return Ok(None) };
        let packet = cursor.found.link().zip(cursor.found.packet(cursor.at));
        Ok(packet.map(|(link, packet)| (cursor.owner, link, packet)))
    }

    /// What was missing so far, by owner.
    pub fn lacks(&self) -> &BTreeMap<u64, MissingChunks> {
        &self.lacks
    }

    /// Reads the next chunk.
    fn load(&mut self) -> Result<(), Error> {
        let place = self.next;
        let (number, row) = self.chunks.places[place];
        self.next += 1;
        let owner = row.chunk.owner;
        let bytes = match self.ahead.remove(&place) {
            Some(bytes) => bytes,
            None => self.read(place)?,
        };
        let (Some(bytes), Some(at)) = (bytes, self.opened(number)?) else {
            self.lacks.entry(owner).or_default().damaged += 1;
            return Ok(());
        };
        let segment = &self.chunks.segments[number as usize];
        let (_, OpenSegment { dir, link, keys, .. }) = &mut self.segments[at];
        let mut found = FoundPackets::of(*link);
        self.reader
            .chunk(dir, bytes, segment, *link, &row, keys, &mut found)
            .map_err(|error| Error::io(&segment.path(dir), "read", error))?;
        let lacks = MissingChunks { damaged: found.damaged, erased: found.erased, sealed: found.sealed };
        if !lacks.is_none() {
            let sum = self.lacks.entry(owner).or_default();
            sum.damaged += lacks.damaged;
            sum.erased += lacks.erased;
            sum.sealed += lacks.sealed;
        }
        found.sort();
        if !found.is_empty() {
            self.open.push(Cursor { owner, place, found, at: 0 });
        }
        Ok(())
    }

    /// The bytes of a chunk, `None` if they are missing. Reads the following chunks of the segment ahead if
    /// single reads would be slow.
    fn read(&mut self, place: usize) -> Result<Option<Vec<u8>>, Error> {
        let (number, _) = self.chunks.places[place];
        let Some(at) = self.opened(number)? else { return Ok(None) };
        let segment = &self.chunks.segments[number as usize];
        let (_, OpenSegment { dir, place: lies, link, .. }) = &self.segments[at];
        let next = self.chunks.places.iter().enumerate().skip(place);
        let next = next.filter(|(index, (of, _))| *of == number && !self.ahead.contains_key(index));
        let (places, rows): (Vec<usize>, Vec<IndexRow>) =
            next.map(|(index, (_, row))| (index, *row)).take(lies.batch()).unzip();
        let contents = match self.reader.contents(lies, segment, *link, &rows) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => vec![None; rows.len()],
            contents => contents.map_err(|error| Error::io(&segment.path(dir), "read", error))?,
        };
        self.ahead.extend(places.into_iter().zip(contents));
        Ok(self.ahead.remove(&place).flatten())
    }

    /// The position of a segment among the open ones; `None` if it is gone, or is no segment.
    fn opened(&mut self, number: u32) -> Result<Option<usize>, Error> {
        if let Some(at) = self.segments.iter().position(|(known, _)| *known == number) {
            return Ok(Some(at));
        }
        let segment = &self.chunks.segments[number as usize];
        let Some((dir, place)) = self.reader.open_segment(segment)? else { return Ok(None) };
        let link = self.reader.link(&place).map_err(|error| Error::io(&segment.path(&dir), "read", error))?;
        let Some(link) = link else { return Ok(None) };
        if self.segments.len() == OPEN {
            self.segments.remove(0);
        }
        self.segments.push((number, OpenSegment { dir, place, link, keys: KeyRing::default() }));
        Ok(Some(self.segments.len() - 1))
    }
}

impl Cursor {
    /// Time of the current packet; `None` after the last.
    fn time(&self) -> Option<u64> {
        self.found.time(self.at)
    }
}

/// Segments open at once: each worker has one of each category.
const OPEN: usize = 32;

//! What was kept of a call in order of time, with no more of it in memory than lies side by side.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;

use ringtap_model::LinkType;

use crate::error::Error;
use crate::read::reader::{Found, KeyRing, Place, Reader};
use crate::segment::index::Row;
use crate::segment::mark::Link;
use crate::segment::name::Segment;
use crate::segment::scan::Packet;

/// Where the chunks of some owners lie, by the time at which they begin. It has none of their content, and can be read through as
/// often as one likes: [`Reader::in_order`].
#[derive(Clone, Debug, Default)]
pub struct Chunks {
    segments: Vec<Segment>,
    /// Which segment, and where in it.
    places: Vec<(u32, Row)>,
    /// Chunks that are left out of the numbering, by owner.
    missing: BTreeMap<u64, u64>,
}

impl Chunks {
    /// Packets in them, as far as they are whole and can be read.
    pub fn packets(&self) -> u64 {
        self.places.iter().map(|(_, row)| u64::from(row.chunk.packets)).sum()
    }

    /// Those of one owner in a segment, in order of the file.
    fn add(&mut self, segment: u32, rows: Vec<Row>, next: &mut BTreeMap<u64, u32>) {
        for row in rows {
            // Chunks are counted from 0: what is left out is missing, wherever it has gone.
            let expected = next.entry(row.chunk.owner).or_default();
            *self.missing.entry(row.chunk.owner).or_default() +=
                u64::from(row.chunk.number.saturating_sub(*expected));
            *expected = (*expected).max(row.chunk.number + 1);
            self.places.push((segment, row));
        }
    }
}

/// Chunks of an owner whose packets are not there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lacks {
    /// Not as they were written, or not there.
    pub damaged: u64,
    /// Erased on purpose.
    pub erased: u64,
    /// Whole and sealed, and the reader was not given the key.
    pub sealed: u64,
}

impl Lacks {
    /// Whether there are none.
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }
}

/// One way through [`Chunks`].
///
/// INVARIANT: of the chunks those are in memory that begin before the packet at hand and end behind it; of segments that lie far a
/// batch ahead besides.
#[derive(Debug)]
pub struct Ordered<'a> {
    reader: &'a mut Reader,
    chunks: &'a Chunks,
    /// The place that is read next.
    next: usize,
    open: Vec<Cursor>,
    /// The one of these whose packet was given last.
    given: Option<usize>,
    segments: Vec<(u32, Opened)>,
    /// What was read before its turn, by place; `None` is what is cut off.
    ahead: BTreeMap<usize, Option<Vec<u8>>>,
    lacks: BTreeMap<u64, Lacks>,
}

/// A chunk, and how far it was read.
#[derive(Debug)]
struct Cursor {
    owner: u64,
    /// Its place, which settles the order of packets of one time.
    place: usize,
    found: Found,
    at: usize,
}

/// A segment that is read.
#[derive(Debug)]
struct Opened {
    dir: PathBuf,
    place: Place,
    link: Link,
    keys: KeyRing,
}

impl Reader {
    /// Where the chunks of each list of owners are in its segments.
    ///
    /// # Errors
    ///
    /// A file that the operating system does not let read. A segment that is gone is no error: what it had is missing.
    pub fn locate(&mut self, wanted: &[(&[u64], &[Segment])]) -> Result<Chunks, Error> {
        let mut chunks = Chunks::default();
        let mut next = BTreeMap::new();
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

    /// Their packets from the first to the last.
    pub fn in_order<'a>(&'a mut self, chunks: &'a Chunks) -> Ordered<'a> {
        let lacks = chunks.missing.iter().filter(|(_, missing)| **missing > 0);
        let lacks = lacks.map(|(owner, damaged)| (*owner, Lacks { damaged: *damaged, ..Lacks::default() }));
        let lacks = lacks.collect();
        Ordered {
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

impl Ordered<'_> {
    /// The next packet: whose it is, and its link type. `None` behind the last.
    ///
    /// # Errors
    ///
    /// A file that the operating system does not let read. What is damaged, erased or sealed is no error: [`Ordered::lacks`] says so.
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

    /// What was not there so far, by owner.
    pub fn lacks(&self) -> &BTreeMap<u64, Lacks> {
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
        let (_, Opened { dir, link, keys, .. }) = &mut self.segments[at];
        let mut found = Found::of(*link);
        self.reader
            .chunk(dir, bytes, segment, *link, &row, keys, &mut found)
            .map_err(|error| Error::io(&segment.path(dir), "read", error))?;
        let lacks = Lacks { damaged: found.damaged, erased: found.erased, sealed: found.sealed };
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

    /// The bytes of a chunk, and of those of its segment that come next where one alone would not be worth the way; `None` where they
    /// are not there.
    fn read(&mut self, place: usize) -> Result<Option<Vec<u8>>, Error> {
        let (number, _) = self.chunks.places[place];
        let Some(at) = self.opened(number)? else { return Ok(None) };
        let segment = &self.chunks.segments[number as usize];
        let (_, Opened { dir, place: lies, link, .. }) = &self.segments[at];
        let next = self.chunks.places.iter().enumerate().skip(place);
        let next = next.filter(|(index, (of, _))| *of == number && !self.ahead.contains_key(index));
        let (places, rows): (Vec<usize>, Vec<Row>) =
            next.map(|(index, (_, row))| (index, *row)).take(lies.batch()).unzip();
        let contents = match self.reader.contents(lies, segment, *link, &rows) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => vec![None; rows.len()],
            contents => contents.map_err(|error| Error::io(&segment.path(dir), "read", error))?,
        };
        self.ahead.extend(places.into_iter().zip(contents));
        Ok(self.ahead.remove(&place).flatten())
    }

    /// Where in the list of open segments this one is; `None` for one that is gone or no segment.
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
        self.segments.push((number, Opened { dir, place, link, keys: KeyRing::default() }));
        Ok(Some(self.segments.len() - 1))
    }
}

impl Cursor {
    /// Of the packet at hand; `None` behind the last.
    fn time(&self) -> Option<u64> {
        self.found.time(self.at)
    }
}

/// Segments that are open at once: each worker has one of each category.
const OPEN: usize = 32;

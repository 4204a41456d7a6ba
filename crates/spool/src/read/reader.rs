//! What was kept of a call, out of its segments.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ringtap_model::{LinkType, Nanos};

use crate::error::Error;
use crate::far::storage::{self as far, Far, FarSegment, Stub};
use crate::layout::{FAR, HELD, TIER};
use crate::segment::bytes::SegmentBytes;
use crate::segment::index::Row;
use crate::segment::listing::segments;
use crate::segment::lookup::{indexed, scanned};
use crate::segment::mark::{self, GLOBAL, Link};
use crate::segment::name::{Category, Segment};
use crate::segment::scan::{self, Content, Packet};
use crate::trust::keys::{KeyRow, Keys, OwnerKey, Unwrapped};
use crate::trust::master_key::MasterKey;
use crate::trust::wrap;

/// The longest that a packet may have waited in memory: for a decision (`rules`), then for its chunk and its block.
const MARGIN: Nanos = Nanos::from_secs(300);

/// Reads a spool's directory. It may be written to at the same time.
#[derive(Debug)]
pub struct Reader {
    /// The spool's, and others of the same layout.
    dirs: Vec<PathBuf>,
    far: Option<Arc<dyn Far>>,
    masters: Vec<MasterKey>,
    reads: u64,
}

/// Packets of some owners, in order of time, and what is missing of them.
#[derive(Debug, Default)]
pub struct Found {
    /// Content of the chunks.
    contents: Vec<Vec<u8>>,
    /// Time, which content, which byte: in order.
    order: Vec<(u64, u32, u32)>,
    link: Option<LinkType>,
    /// Segments that are gone, by their names.
    pub gone: Vec<Segment>,
    /// Chunks that are not as they were written, or not there.
    pub damaged: u64,
    /// Chunks that were erased on purpose.
    pub erased: u64,
    /// Chunks that are whole and sealed, and whose key the reader was not given.
    pub sealed: u64,
}

impl Found {
    /// The link type of the packets; None where there is none.
    pub fn link(&self) -> Option<LinkType> {
        self.link
    }

    /// How many.
    pub fn len(&self) -> usize {
        self.order.len()
    }

    /// Whether nothing was found.
    pub fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    /// In order of time.
    pub fn packets(&self) -> impl Iterator<Item = Packet<'_>> {
        (0..self.order.len()).filter_map(|place| self.packet(place))
    }

    /// Nothing yet.
    pub(crate) fn of(link: Link) -> Self {
        Self { link: Some(link.number()), ..Self::default() }
    }

    /// When a packet was captured, by its place in the order.
    pub(crate) fn time(&self, place: usize) -> Option<u64> {
        self.order.get(place).map(|(time, ..)| *time)
    }

    /// A packet by its place in the order.
    pub(crate) fn packet(&self, place: usize) -> Option<Packet<'_>> {
        let &(_, content, at) = self.order.get(place)?;
        scan::packets(self.contents.get(content as usize)?.get(at as usize..)?).next()
    }

    /// Brings what was added into order.
    pub(crate) fn sort(&mut self) {
        self.order.sort_unstable();
    }

    fn add(&mut self, bytes: Vec<u8>, range: std::ops::Range<usize>) {
        let content = self.contents.len() as u32;
        let start = bytes.as_ptr() as usize;
        for packet in scan::packets(&bytes[range]) {
            let record = packet.data.as_ptr() as usize - start - mark::RECORD;
            self.order.push((packet.time.0, content, record as u32));
        }
        self.contents.push(bytes);
    }
}

impl Reader {
    /// Of that directory, with what is held in it and what has moved to its tier. Of segments that lie far it knows; to read
    /// them it has to be told [where](Self::far).
    pub fn open(dir: &Path) -> Result<Self, Error> {
        std::fs::read_dir(dir).map_err(|error| Error::io(dir, "read", error))?;
        let dirs = vec![dir.to_owned(), dir.join(TIER), dir.join(FAR), dir.join(HELD)];
        Ok(Self { dirs, far: None, masters: Vec::new(), reads: 0 })
    }

    /// Looks for segments there as well: a directory of the same layout, where they are held or have been moved to. It may
    /// come into being later.
    pub fn also(&mut self, dir: &Path) {
        self.dirs.push(dir.to_owned());
    }

    /// Where segments lie that are far.
    pub fn far(&mut self, far: Arc<dyn Far>) {
        self.far = Some(far);
    }

    /// Where it looks.
    pub(crate) fn dirs(&self) -> &[PathBuf] {
        &self.dirs
    }

    /// Reads what is sealed under this key as well. Several may be given: what was sealed before a key was changed has the old
    /// one.
    pub fn unlock(&mut self, key: MasterKey) {
        self.masters.push(key);
    }

    /// Read operations so far.
    pub fn reads(&self) -> u64 {
        self.reads
    }

    /// The segments that may hold packets from `from` to `to`, in order: all workers'.
    ///
    /// # Errors
    ///
    /// A directory that cannot be read.
    pub fn between(&self, from: Nanos, to: Nanos) -> Result<Vec<Segment>, Error> {
        let mut found: Vec<((u16, Category), Nanos, Segment)> = Vec::new();
        for segment in segments(&self.dirs)? {
            let Some((worker, at)) = segment.origin() else { continue };
            found.push(((worker, segment.category()), at, segment));
        }
        found.sort_unstable();
        // A segment goes on until the next of its worker and category begins; what waited in memory is older than it.
        let next: Vec<Option<Nanos>> = (0..found.len())
            .map(|at| found.get(at + 1).filter(|next| next.0 == found[at].0).map(|next| next.1))
            .collect();
        let mut within: Vec<Segment> = found
            .into_iter()
            .zip(next)
            .filter(|((_, at, _), next)| *at <= to + MARGIN && next.is_none_or(|next| next + MARGIN >= from))
            .map(|((_, _, segment), _)| segment)
            .collect();
        within.sort_unstable();
        Ok(within)
    }

    /// All packets of the owners in these segments.
    ///
    /// # Errors
    ///
    /// A file that the operating system does not let read. A segment that is gone and a chunk that is damaged are no errors:
    /// [`Found`] says so.
    pub fn read(&mut self, owners: &[u64], segments: &[Segment]) -> Result<Found, Error> {
        let mut found = Found::default();
        let mut next: BTreeMap<u64, u32> = owners.iter().map(|owner| (*owner, 0)).collect();
        for segment in segments {
            let Some((dir, place)) = self.open_segment(segment)? else {
                found.gone.push(segment.clone());
                continue;
            };
            match self.segment(&dir, &place, segment, owners, &mut found, &mut next) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => found.gone.push(segment.clone()),
                other => other.map_err(|error| Error::io(&segment.path(&dir), "read", error))?,
            }
        }
        found.sort();
        Ok(found)
    }

    /// The first directory that has it.
    pub(crate) fn open_segment(&self, segment: &Segment) -> Result<Option<(PathBuf, Place)>, Error> {
        for dir in &self.dirs {
            let path = segment.path(dir);
            match File::open(&path) {
                Ok(file) => return Ok(Some((dir.clone(), Place::Here(file)))),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(Error::io(&path, "opened", error)),
            }
            let stub = Stub::read(dir, segment).map_err(|error| Error::io(&path, "read", error))?;
            if let Some(stub) = stub {
                return Ok(Some((dir.clone(), Place::Far(self.far.clone(), stub))));
            }
        }
        Ok(None)
    }

    fn segment(
        &mut self,
        dir: &Path,
        place: &Place,
        segment: &Segment,
        owners: &[u64],
        found: &mut Found,
        next: &mut BTreeMap<u64, u32>,
    ) -> io::Result<()> {
        let rows = self.rows(dir, place, segment, owners)?;
        if rows.is_empty() {
            return Ok(());
        }
        let Some(link) = self.link(place)? else {
            found.damaged += 1;
            return Ok(());
        };
        found.link = Some(link.number());
        let mut keys = KeyRing::default();
        for rows in rows.chunks(place.batch()) {
            let contents = self.contents(place, segment, link, rows)?;
            for (row, bytes) in rows.iter().zip(contents) {
                // Chunks are counted from 0: what is left out is missing, wherever it has gone.
                if let Some(expected) = next.get_mut(&row.chunk.owner) {
                    found.damaged += u64::from(row.chunk.number.saturating_sub(*expected));
                    *expected = (*expected).max(row.chunk.number + 1);
                }
                match bytes {
                    Some(bytes) => self.chunk(dir, bytes, segment, link, row, &mut keys, found)?,
                    None => found.damaged += 1,
                }
            }
        }
        Ok(())
    }

    /// The link type that a segment's header says; `None` where it has none that is right.
    pub(crate) fn link(&mut self, place: &Place) -> io::Result<Option<Link>> {
        let file = match place {
            Place::Here(file) => file,
            Place::Far(_, stub) => return Ok(stub.link()),
        };
        let mut header = [0; GLOBAL];
        self.reads += 1;
        match file.read_exact_at(&mut header, 0) {
            Ok(()) => Ok(mark::link_of(&header)),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The chunks of the owners, in order of the file: one way over the disk.
    pub(crate) fn rows(
        &mut self,
        dir: &Path,
        place: &Place,
        segment: &Segment,
        owners: &[u64],
    ) -> io::Result<Vec<Row>> {
        let mut rows = match indexed(dir, segment, owners, &mut self.reads)? {
            Some(rows) => rows,
            None => {
                self.reads += 1;
                scanned(&*place.bytes(segment)?, owners)?
            }
        };
        rows.sort_unstable_by_key(|row| row.offset);
        Ok(rows)
    }

    /// Chunks with their marks; None for one that is cut off.
    pub(crate) fn contents(
        &mut self,
        place: &Place,
        segment: &Segment,
        link: Link,
        rows: &[Row],
    ) -> io::Result<Vec<Option<Vec<u8>>>> {
        match place {
            Place::Here(file) => rows
                .iter()
                .map(|row| {
                    let mut bytes = vec![0; mark::len(link) + row.chunk.length as usize];
                    self.reads += 1;
                    match file.read_exact_at(&mut bytes, row.offset) {
                        Ok(()) => Ok(Some(bytes)),
                        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
                        Err(error) => Err(error),
                    }
                })
                .collect(),
            Place::Far(far, stub) => {
                let far = far.as_ref().ok_or_else(far::nowhere)?;
                let ranges: Vec<_> = rows.iter().map(|row| row.range(link)).collect();
                let there: Vec<_> = ranges.iter().filter(|range| range.end <= stub.bytes).cloned().collect();
                self.reads += there.len() as u64;
                let mut read = match there.is_empty() {
                    true => Vec::new(),
                    false => far.read(segment.as_str(), &there)?,
                }
                .into_iter();
                Ok(ranges.iter().map(|range| (range.end <= stub.bytes).then(|| read.next())?).collect())
            }
        }
    }

    #[expect(clippy::too_many_arguments, reason = "where, what, and whereto")]
    pub(crate) fn chunk(
        &mut self,
        dir: &Path,
        bytes: Vec<u8>,
        segment: &Segment,
        link: Link,
        row: &Row,
        keys: &mut KeyRing,
        found: &mut Found,
    ) -> io::Result<()> {
        let (chunk, range) = match scan::content(link, &bytes, &row.chunk) {
            Content::Whole(chunk, range) => (chunk, range),
            Content::Erased => {
                found.erased += 1;
                return Ok(());
            }
            Content::Damaged => {
                found.damaged += 1;
                return Ok(());
            }
        };
        if chunk.is_plain() {
            found.add(bytes, range);
            return Ok(());
        }
        let access = match chunk.is_sealed() {
            true => keys.access(dir, segment, chunk.key, &self.masters, &mut self.reads)?,
            false => &Access::Free,
        };
        let key = match access {
            Access::Key(key) => Some(key),
            Access::Free => None,
            Access::Locked => {
                found.sealed += 1;
                return Ok(());
            }
            Access::Forgotten => {
                found.erased += 1;
                return Ok(());
            }
            Access::Lost => {
                found.damaged += 1;
                return Ok(());
            }
        };
        match wrap::open(link, &chunk, &bytes[range], key) {
            Some(packets) => {
                let all = 0..packets.len();
                found.add(packets, all);
            }
            None => found.damaged += 1,
        }
        Ok(())
    }
}

/// Where a segment lies that was found.
#[derive(Debug)]
pub(crate) enum Place {
    Here(File),
    Far(Option<Arc<dyn Far>>, Stub),
}

impl Place {
    /// Chunks that are read at once: of those that lie far many, and no more than memory bears.
    pub(crate) fn batch(&self) -> usize {
        match self {
            Self::Here(_) => 1,
            Self::Far(..) => 64,
        }
    }

    fn bytes<'a>(&'a self, segment: &'a Segment) -> io::Result<Box<dyn SegmentBytes + 'a>> {
        match self {
            Self::Here(file) => Ok(Box::new(file.try_clone()?)),
            Self::Far(far, stub) => {
                let far = far.as_deref().ok_or_else(far::nowhere)?;
                Ok(Box::new(FarSegment { far, segment, length: stub.bytes }))
            }
        }
    }
}

/// The keys of a segment, as far as they were looked for.
#[derive(Default, Debug)]
pub(crate) struct KeyRing {
    file: Option<Keys>,
    found: BTreeMap<u32, Access>,
}

/// Whether a chunk can be read.
#[derive(Debug)]
enum Access {
    /// By this key.
    Key(OwnerKey),
    /// By everybody.
    Free,
    /// By who has the master key.
    Locked,
    /// By nobody, on purpose.
    Forgotten,
    /// By nobody: the key is not as it was written, or was never written.
    Lost,
}

impl KeyRing {
    fn access(
        &mut self,
        dir: &Path,
        segment: &Segment,
        number: u32,
        masters: &[MasterKey],
        reads: &mut u64,
    ) -> io::Result<&Access> {
        if self.file.is_none() {
            match File::open(segment.keys_path(dir)) {
                Ok(file) => {
                    self.file = Some(Keys::open(file)?);
                    *reads += 1;
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        match (self.found.entry(number), &self.file) {
            (Entry::Occupied(known), _) => Ok(known.into_mut()),
            (Entry::Vacant(place), None) => Ok(place.insert(Access::Lost)),
            (Entry::Vacant(place), Some(keys)) => {
                *reads += 1;
                let access = match keys.row(number)? {
                    Some(KeyRow::Forgotten(_)) => Access::Forgotten,
                    Some(row @ KeyRow::Key(_)) => match keys.unwrap(&row, masters) {
                        Unwrapped::Key(key) => Access::Key(key),
                        Unwrapped::Locked => Access::Locked,
                        Unwrapped::Damaged => Access::Lost,
                    },
                    Some(KeyRow::Damaged) | None => Access::Lost,
                };
                Ok(place.insert(access))
            }
        }
    }
}

//! Reads the packets of a call from its segments.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ringtap_model::{LinkType, Nanos};

use crate::error::Error;
use crate::far::storage::{self, FarSegment, FarStorage, Stub};
use crate::files::{is_irregular, open_regular, read_regular};
use crate::hex::sha256_hex;
use crate::layout::{FAR, HELD, TIER};
use crate::read::known_chunks::KnownChunks;
use crate::segment::bytes::SegmentBytes;
use crate::segment::index::IndexRow;
use crate::segment::listing::segments;
use crate::segment::lookup::{indexed, scanned};
use crate::segment::marker::{self, GLOBAL, Link};
use crate::segment::name::{Category, Segment};
use crate::segment::scan::{self, Content, Packet};
use crate::trust::chunk_sealer;
use crate::trust::keys::{KeyRow, Keys, OwnerKey, Unwrapped};
use crate::trust::master_key::MasterKey;
use crate::trust::provenance::{Origin, Provenance};
use crate::trust::sign::PublicKey;

/// The longest that a packet may have waited in memory: for a decision (`rules`), then for its chunk and its
/// block.
const MARGIN: Nanos = Nanos::from_secs(300);

/// Reads a spool's directory. A writer may write to it at the same time.
#[derive(Debug)]
pub struct Reader {
    /// The spool's directories, and others of the same layout.
    dirs: Vec<PathBuf>,
    /// Of the first directory.
    pub(crate) provenance: Provenance,
    foreign: BTreeSet<Segment>,
    unproven: BTreeSet<Segment>,
    /// What seals prove of the segments read so far.
    standings: BTreeMap<(PathBuf, Segment), Standing>,
    /// Of the present reading.
    pub(crate) known: KnownChunks,
    far: Option<Arc<dyn FarStorage>>,
    masters: Vec<MasterKey>,
    reads: u64,
}

/// Packets of some owners in order of time, and counts of what is missing.
#[derive(Debug, Default)]
pub struct FoundPackets {
    /// Contents of the chunks.
    contents: Vec<Vec<u8>>,
    /// Time, content, offset in the content: in order.
    order: Vec<(u64, u32, u32)>,
    link: Option<LinkType>,
    /// Segments that are gone.
    pub gone: Vec<Segment>,
    /// Chunks that are damaged or missing.
    pub damaged: u64,
    /// Chunks that were erased on purpose.
    pub erased: u64,
    /// Chunks that are intact and sealed, and whose key the reader does not have.
    pub sealed: u64,
}

impl FoundPackets {
    /// The link type of the packets; None if there is no packet.
    pub fn link(&self) -> Option<LinkType> {
        self.link
    }

    /// Number of packets.
    pub fn len(&self) -> usize {
        self.order.len()
    }

    /// Whether there is no packet.
    pub fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    /// The packets, in order of time.
    pub fn packets(&self) -> impl Iterator<Item = Packet<'_>> {
        (0..self.order.len()).filter_map(|place| self.packet(place))
    }

    /// No packets yet.
    pub(crate) fn of(link: Link) -> Self {
        Self { link: Some(link.number()), ..Self::default() }
    }

    /// When a packet was captured, by its position.
    pub(crate) fn time(&self, place: usize) -> Option<u64> {
        self.order.get(place).map(|(time, ..)| *time)
    }

    /// A packet by its position.
    pub(crate) fn packet(&self, place: usize) -> Option<Packet<'_>> {
        let &(_, content, at) = self.order.get(place)?;
        scan::packets(self.contents.get(content as usize)?.get(at as usize..)?).next()
    }

    /// Sorts the packets that were added.
    pub(crate) fn sort(&mut self) {
        self.order.sort_unstable();
    }

    fn add(&mut self, bytes: Vec<u8>, range: std::ops::Range<usize>) {
        let content = self.contents.len() as u32;
        let start = bytes.as_ptr() as usize;
        for packet in scan::packets(&bytes[range]) {
            let record = packet.data.as_ptr() as usize - start - marker::RECORD;
            self.order.push((packet.time.0, content, record as u32));
        }
        self.contents.push(bytes);
    }
}

impl Reader {
    /// Reads this directory, with its tier and its held copies. To read segments in far storage, it needs
    /// [`far`](Self::far).
    pub fn open(dir: &Path) -> Result<Self, Error> {
        std::fs::read_dir(dir).map_err(|error| Error::io(dir, "read", error))?;
        let dirs = vec![dir.to_owned(), dir.join(TIER), dir.join(FAR), dir.join(HELD)];
        let provenance = Provenance::of(dir, &[])?;
        let (foreign, unproven) = (BTreeSet::new(), BTreeSet::new());
        Ok(Self {
            dirs,
            provenance,
            foreign,
            unproven,
            standings: BTreeMap::new(),
            known: KnownChunks::default(),
            far: None,
            masters: Vec::new(),
            reads: 0,
        })
    }

    /// Accepts only segments that one of these keys signed. Otherwise those count that signed the heads of
    /// the spool's chains, and earlier keys that they name: whoever can write to the spool can add a head.
    ///
    /// # Errors
    ///
    /// The directory cannot be read.
    pub fn trust(&mut self, keys: &[PublicKey]) -> Result<(), Error> {
        let dir = self.dirs.first().map_or(Path::new("."), PathBuf::as_path);
        self.provenance = Provenance::of(dir, keys)?;
        Ok(())
    }

    /// The keys that signed the heads of the spool's chains.
    pub fn head_signers(&self) -> &[PublicKey] {
        &self.provenance.of_heads
    }

    /// Searches another directory of the same layout as well, for example one to which segments were moved.
    /// It need not exist yet.
    pub fn add_dir(&mut self, dir: &Path) {
        self.dirs.push(dir.to_owned());
    }

    /// Reads segments in far storage from there.
    pub fn far(&mut self, far: Arc<dyn FarStorage>) {
        self.far = Some(far);
    }

    /// The directories that are searched.
    pub(crate) fn dirs(&self) -> &[PathBuf] {
        &self.dirs
    }

    /// Opens chunks sealed under this key. Several keys may be added: chunks that were sealed before a change
    /// of keys need the old one.
    pub fn add_key(&mut self, key: MasterKey) {
        self.masters.push(key);
    }

    /// Read operations so far.
    pub fn reads(&self) -> u64 {
        self.reads
    }

    /// The segments of all workers that may hold packets from `from` to `to`, in order.
    ///
    /// # Errors
    ///
    /// A directory cannot be read.
    pub fn between(&self, from: Nanos, to: Nanos) -> Result<Vec<Segment>, Error> {
        let mut found: Vec<((u16, Category), Nanos, Segment)> = Vec::new();
        for segment in segments(&self.dirs)? {
            let Some((worker, at)) = segment.origin() else { continue };
            found.push(((worker, segment.category()), at, segment));
        }
        found.sort_unstable();
        // A segment lasts until the next one of its worker and category begins. Packets that waited in memory
        // are older than their segment.
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

    /// Reads all packets of the owners in these segments.
    ///
    /// # Errors
    ///
    /// A file cannot be read. A missing segment and a damaged chunk are no errors: [`FoundPackets`] counts
    /// them.
    pub fn read(&mut self, owners: &[u64], segments: &[Segment]) -> Result<FoundPackets, Error> {
        let mut found = FoundPackets::default();
        let mut next: BTreeMap<u64, u32> = owners.iter().map(|owner| (*owner, 0)).collect();
        self.known = KnownChunks::default();
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

    /// Segments that were left out so far: the spool is signed, and they have no seal by its keys and no
    /// writer has begun them, or neither they nor their indexes are as they were sealed.
    pub fn foreign(&self) -> impl Iterator<Item = &Segment> {
        self.foreign.iter()
    }

    /// Segments that were read so far although nothing proves them: they were there before segments were
    /// signed.
    pub fn unproven(&self) -> impl Iterator<Item = &Segment> {
        self.unproven.iter()
    }

    /// Whether the segment in that directory may be read.
    pub(crate) fn admits(&mut self, dir: &Path, segment: &Segment) -> Result<bool, Error> {
        match self.provenance.origin(dir, segment)? {
            Origin::Own => {}
            Origin::Unproven => _ = self.unproven.insert(segment.clone()),
            Origin::Foreign => {
                self.foreign.insert(segment.clone());
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Opens the segment in the first directory that has it.
    pub(crate) fn open_segment(
        &mut self,
        segment: &Segment,
    ) -> Result<Option<(PathBuf, SegmentSource)>, Error> {
        for dir in self.dirs.clone() {
            let path = segment.path(&dir);
            match open_regular(&path) {
                Ok(_) if !self.admits(&dir, segment)? => continue,
                Ok(file) => return Ok(Some((dir, SegmentSource::Here(file)))),
                // A pipe or a link in a segment's place has none of its packets.
                Err(error) if error.kind() == io::ErrorKind::NotFound || is_irregular(&error) => {}
                Err(error) => return Err(Error::io(&path, "opened", error)),
            }
            let stub = Stub::read(&dir, segment).map_err(|error| Error::io(&path, "read", error))?;
            if let Some(stub) = stub
                && self.admits(&dir, segment)?
            {
                return Ok(Some((dir, SegmentSource::Far(self.far.clone(), stub))));
            }
        }
        Ok(None)
    }

    fn segment(
        &mut self,
        dir: &Path,
        place: &SegmentSource,
        segment: &Segment,
        owners: &[u64],
        found: &mut FoundPackets,
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
                // Chunks are numbered from 0: a gap is a missing chunk, wherever it has gone.
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

    /// The link type in a segment's header; `None` if the header is not valid.
    pub(crate) fn link(&mut self, place: &SegmentSource) -> io::Result<Option<Link>> {
        let file = match place {
            SegmentSource::Here(file) => file,
            SegmentSource::Far(_, stub) => return Ok(stub.link()),
        };
        let mut header = [0; GLOBAL];
        self.reads += 1;
        match file.read_exact_at(&mut header, 0) {
            Ok(()) => Ok(marker::link_of(&header)),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The chunks of the owners in order of the file, so that the disk is read in one direction.
    pub(crate) fn rows(
        &mut self,
        dir: &Path,
        place: &SegmentSource,
        segment: &Segment,
        owners: &[u64],
    ) -> io::Result<Vec<IndexRow>> {
        let standing = self.standing(dir, place, segment)?;
        let index = match standing {
            Standing::Unproven => {
                self.foreign.insert(segment.clone());
                return Ok(Vec::new());
            }
            Standing::Content => None,
            Standing::Index | Standing::Unsealed => indexed(dir, segment, owners, &mut self.reads)?,
        };
        let mut rows = match index {
            Some(rows) => rows,
            None => {
                self.reads += 1;
                scanned(&*place.bytes(segment)?, owners)?
            }
        };
        rows.sort_unstable_by_key(|row| row.offset);
        let is_open = standing == Standing::Unsealed && self.provenance.is_signed();
        if is_open && self.provenance.leave_out_plain(dir, segment, &mut rows).map_err(io::Error::other)? {
            self.foreign.insert(segment.clone());
        }
        if self.provenance.is_signed() && self.known.leave_out(segment, &mut rows) {
            self.foreign.insert(segment.clone());
        }
        Ok(rows)
    }

    /// What the segment's seal proves. Whoever can write to the disk can make an index and a segment that fit
    /// together; the seal has the hashes of both.
    fn standing(&mut self, dir: &Path, place: &SegmentSource, segment: &Segment) -> io::Result<Standing> {
        let key = (dir.to_owned(), segment.clone());
        if let Some(standing) = self.standings.get(&key) {
            return Ok(*standing);
        }
        let seal = self.provenance.seal_of(dir, segment).map_err(io::Error::other)?;
        let standing = match seal {
            None => Standing::Unsealed,
            Some(seal) => {
                let index = read_regular(&segment.index_path(dir)).ok().map(|bytes| sha256_hex(&bytes));
                self.reads += 1;
                if index.is_some() && index == seal.index {
                    Standing::Index
                } else if seal.proves(&*place.bytes(segment)?, &mut |_| ())?.1 {
                    Standing::Content
                } else {
                    Standing::Unproven
                }
            }
        };
        // A segment that is open now may be sealed later.
        if standing != Standing::Unsealed {
            self.standings.insert(key, standing);
        }
        Ok(standing)
    }

    /// Chunks with their markers; None for a chunk that is cut off.
    pub(crate) fn contents(
        &mut self,
        place: &SegmentSource,
        segment: &Segment,
        link: Link,
        rows: &[IndexRow],
    ) -> io::Result<Vec<Option<Vec<u8>>>> {
        match place {
            SegmentSource::Here(file) => rows
                .iter()
                .map(|row| {
                    let mut bytes = vec![0; marker::len(link) + row.chunk.length as usize];
                    self.reads += 1;
                    match file.read_exact_at(&mut bytes, row.offset) {
                        Ok(()) => Ok(Some(bytes)),
                        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
                        Err(error) => Err(error),
                    }
                })
                .collect(),
            SegmentSource::Far(far, stub) => {
                let far = far.as_ref().ok_or_else(storage::not_configured)?;
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
        row: &IndexRow,
        keys: &mut KeyRing,
        found: &mut FoundPackets,
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
        match chunk_sealer::open(link, &chunk, &bytes[range], key) {
            Some(packets) => {
                let all = 0..packets.len();
                found.add(packets, all);
            }
            None => found.damaged += 1,
        }
        Ok(())
    }
}

/// What a seal proves of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing {
    /// There is no seal: segments are not signed, or it is being written.
    Unsealed,
    /// Its index: each chunk has to be as the index says.
    Index,
    /// All its bytes; its index is damaged or missing.
    Content,
    /// Neither.
    Unproven,
}

/// Where a segment was found.
#[derive(Debug)]
pub(crate) enum SegmentSource {
    Here(File),
    Far(Option<Arc<dyn FarStorage>>, Stub),
}

impl SegmentSource {
    /// Chunks read at once: many from far storage, within bounded memory.
    pub(crate) fn batch(&self) -> usize {
        match self {
            Self::Here(_) => 1,
            Self::Far(..) => 64,
        }
    }

    pub(super) fn bytes<'a>(&'a self, segment: &'a Segment) -> io::Result<Box<dyn SegmentBytes + 'a>> {
        match self {
            Self::Here(file) => Ok(Box::new(file.try_clone()?)),
            Self::Far(far, stub) => {
                let far = far.as_deref().ok_or_else(storage::not_configured)?;
                Ok(Box::new(FarSegment { far, segment, length: stub.bytes }))
            }
        }
    }
}

/// The keys of a segment that have been read.
#[derive(Default, Debug)]
pub(crate) struct KeyRing {
    file: Option<Keys>,
    found: BTreeMap<u32, Access>,
}

/// Whether a chunk can be read.
#[derive(Debug)]
enum Access {
    /// With this key.
    Key(OwnerKey),
    /// It is not sealed.
    Free,
    /// It needs another master key.
    Locked,
    /// Its key was erased on purpose.
    Forgotten,
    /// Its key is damaged, or was never written.
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
            match open_regular(&segment.keys_path(dir)) {
                Ok(file) => {
                    self.file = Some(Keys::open(file)?);
                    *reads += 1;
                }
                // What is no file has no keys; `verify` names it.
                Err(error) if error.kind() == io::ErrorKind::NotFound || is_irregular(&error) => {}
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
                    Some(row @ KeyRow::Key(_)) => {
                        match keys.unwrap(&row, masters).map_err(io::Error::other)? {
                            Unwrapped::Key(key) => Access::Key(key),
                            Unwrapped::Locked => Access::Locked,
                            Unwrapped::Damaged => Access::Lost,
                        }
                    }
                    Some(KeyRow::Damaged) | None => Access::Lost,
                };
                Ok(place.insert(access))
            }
        }
    }
}

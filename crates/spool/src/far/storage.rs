//! A far place for older segments: storage behind a network that keeps whole objects, such as S3.
//!
//! The objects have the names that files have below the spool's directory, so that whoever copies all of them into a directory
//! has a spool. What this machine knows of them lies in the spool, below `far/`, and answers without the network:
//!
//! | | |
//! |---|---|
//! | `DAY/X.far` | the segment X is there: its [`Stub`] |
//! | `DAY/X.idx`, `.keys`, `.seal` | what lay beside it, as it is there as well |
//! | `loose/` | names of segments of which objects may be there that no stub tells of: they are on their way, or to be deleted |
//!
//! INVARIANT: an object is there only if a stub or a loose name tells of its segment. Both are on the disk before the first byte
//! goes, and until the last one is deleted, whatever is killed in between.

use std::fmt;
use std::fs::{self, File};
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

use ringtap_model::LinkType;
use serde::{Deserialize, Serialize};

use crate::error::Refusal;
use crate::files::{entry_names, give_to_owner_of, if_present, remove_if_present, replace};
use crate::layout::FAR;
use crate::segment::bytes::SegmentBytes;
use crate::segment::mark::Link;
use crate::segment::name::{Segment, day_start};

/// Keeps objects. It may be asked by several threads; each answer takes as long as a network may take.
pub trait Far: Send + Sync + fmt::Debug {
    /// For sentences and logs: `s3://bucket/prefix`.
    fn place(&self) -> String;

    /// Begins to put an object of so many bytes, in place of one of that name.
    ///
    /// # Errors
    ///
    /// As all the others: the place cannot be reached, or refuses.
    fn upload(&self, name: &str, bytes: u64) -> Result<Box<dyn Upload>, Refusal>;

    /// Parts of an object, each as long as its range.
    fn read(&self, name: &str, ranges: &[Range<u64>]) -> Result<Vec<Vec<u8>>, Refusal>;

    /// Bytes of an object.
    fn length(&self, name: &str) -> Result<u64, Refusal>;

    /// Deletes objects; one that is not there is no error.
    fn delete(&self, names: &[String]) -> Result<(), Refusal>;
}

/// An object on its way.
pub trait Upload: Send {
    /// Bytes of every piece but the last.
    fn piece(&self) -> usize;

    /// The next piece.
    ///
    /// # Errors
    ///
    /// The place cannot be reached, or refuses: it is to be given up then.
    fn put(&mut self, piece: Vec<u8>) -> Result<(), Refusal>;

    /// All has been put: the object is there when this returns.
    fn finish(self: Box<Self>) -> Result<Put, Refusal>;

    /// Takes back what was put, as well as it can.
    fn give_up(self: Box<Self>);
}

/// How an object came to be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Put {
    /// The place has told a checksum of all that it keeps, and it is right. Otherwise the object is read back.
    pub proven: bool,
    /// The place keeps what was there under this name before, as a version.
    pub versioned: bool,
}

/// What is told of a segment whose segment is needed and whose place nobody named.
pub(crate) fn nowhere() -> Refusal {
    Refusal::Because("the segment lies far, and where that is was not told".into())
}

/// Of the directory in that.
const LOOSE: &str = "loose";
/// Of the directory in `FAR` for parts of segments that are needed here for a moment.
pub(crate) const STAGED: &str = "staged";
const STUB: &str = "far";

/// What is known of a segment that lies far.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Stub {
    /// Of the segment.
    pub(crate) bytes: u64,
    /// With all that is beside it.
    pub(crate) all: u64,
    /// The link type of its packets.
    pub(crate) link: u16,
    /// CRC32C of the segment.
    pub(crate) crc: u32,
    /// The place keeps versions: what is deleted or replaced there stays as one.
    pub(crate) versioned: bool,
}

impl Stub {
    pub(crate) fn path(far: &Path, segment: &Segment) -> PathBuf {
        segment.path(far).with_extension(STUB)
    }

    /// None where the segment does not lie far.
    pub(crate) fn read(far: &Path, segment: &Segment) -> io::Result<Option<Self>> {
        let Some(bytes) = if_present(fs::read(Self::path(far, segment)))? else { return Ok(None) };
        let stub = serde_json::from_slice(&bytes)
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.to_string()))?;
        Ok(Some(stub))
    }

    /// It is on the disk when this returns.
    pub(crate) fn write(&self, far: &Path, segment: &Segment) -> io::Result<()> {
        let path = Self::path(far, segment);
        path.parent().map_or(Ok(()), fs::create_dir_all)?;
        // Numbers can always be written.
        replace(&path, &serde_json::to_vec(self).unwrap_or_default())
    }

    pub(crate) fn link(&self) -> Option<Link> {
        Link::of(LinkType(self.link))
    }
}

/// Names of the objects of a segment, itself last.
pub(crate) fn objects(segment: &Segment) -> [String; 4] {
    segment.files(Path::new("")).map(|path| path.to_string_lossy().into_owned())
}

/// Whether anything of a spool lies far, or may.
///
/// # Errors
///
/// A directory that cannot be read.
pub fn is_anything_far(dir: &Path) -> io::Result<bool> {
    let far = dir.join(FAR);
    if !loose(&far)?.is_empty() {
        return Ok(true);
    }
    let days = entry_names(&far)?.into_iter().filter(|day| day_start(day).is_some());
    for day in days {
        if entry_names(&far.join(day))?.iter().any(|file| file.ends_with(".far")) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// From now on objects of the segment may be there.
pub(crate) fn loosen(far: &Path, segment: &Segment) -> io::Result<()> {
    let (path, dir) = (loose_path(far, segment), far.join(LOOSE));
    fs::create_dir_all(&dir)?;
    File::create(&path)?.sync_all()?;
    [&dir, &path].iter().try_for_each(|made| give_to_owner_of(far, made))?;
    File::open(&dir)?.sync_all()
}

/// A stub tells of them, or there are none.
pub(crate) fn fasten(far: &Path, segment: &Segment) -> io::Result<()> {
    remove_if_present(&loose_path(far, segment))
}

fn loose_path(far: &Path, segment: &Segment) -> PathBuf {
    far.join(LOOSE).join(segment.as_str().replace('/', "_"))
}

/// Segments of which objects may be there that no stub tells of.
pub(crate) fn loose(far: &Path) -> io::Result<Vec<Segment>> {
    let segments = entry_names(&far.join(LOOSE))?.into_iter();
    Ok(segments.filter_map(|name| name.replacen('_', "/", 1).parse().ok()).collect())
}

/// Deletes what is known of a segment, and notes that its objects are to be deleted. Tells what they take.
pub(crate) fn remove(far: &Path, segment: &Segment) -> io::Result<u64> {
    // A stub that cannot be read tells of a segment all the same.
    let bytes = Stub::read(far, segment).ok().flatten().map_or(0, |stub| stub.all);
    loosen(far, segment)?;
    let [keys, index, seal, _] = segment.files(far);
    [keys, index, seal, Stub::path(far, segment)].iter().try_for_each(|path| remove_if_present(path))?;
    Ok(bytes)
}

/// A segment in far storage.
#[derive(Clone, Copy)]
pub(crate) struct FarSegment<'a> {
    pub(crate) far: &'a dyn Far,
    pub(crate) segment: &'a Segment,
    pub(crate) length: u64,
}

impl SegmentBytes for FarSegment<'_> {
    fn length(&self) -> io::Result<u64> {
        Ok(self.length)
    }

    fn piece(&self) -> usize {
        8 << 20
    }

    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        let end = self.length.min(offset + bytes.len() as u64);
        if end <= offset {
            return Ok(0);
        }
        let read = self.far.read(self.segment.as_str(), std::slice::from_ref(&(offset..end)))?;
        let some = read.first().map_or(&[][..], Vec::as_slice);
        bytes[..some.len()].copy_from_slice(some);
        Ok(some.len())
    }
}

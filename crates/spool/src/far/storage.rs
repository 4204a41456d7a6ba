//! Far storage for older segments: a network service that keeps whole objects, such as S3.
//!
//! Objects have the names that files have below the spool's directory: whoever copies all of them into a
//! directory has a spool. What this machine knows of them is in `far/` in the spool's directory, and answers
//! without the network:
//!
//! | | |
//! |---|---|
//! | `DAY/X.far` | the [`Stub`] of the segment X, which is in far storage |
//! | `DAY/X.idx`, `.keys`, `.seal` | copies of the files beside it |
//! | `loose/` | names of segments that may have objects without a stub: uploads and deletions in progress |
//!
//! INVARIANT: each object belongs to a segment with a stub or a name in `loose/`. Both are on the disk before
//! the first byte is uploaded, and until the last object is deleted, even if ringtap is killed in between.

use std::fmt;
use std::fs::{self, File};
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

use ringtap_model::LinkType;
use serde::{Deserialize, Serialize};

use crate::error::FarError;
use crate::files::{create_anew, entry_names, if_present, read_regular, remove_if_present, replace};
use crate::layout::FAR;
use crate::segment::bytes::SegmentBytes;
use crate::segment::marker::Link;
use crate::segment::name::{Segment, day_start};

/// Stores objects. Several threads may call it; each call takes as long as the network.
pub trait FarStorage: Send + Sync + fmt::Debug {
    /// The storage in messages and logs: `s3://bucket/prefix`.
    fn url(&self) -> String;

    /// Begins to upload an object of so many bytes, which replaces one of that name.
    ///
    /// # Errors
    ///
    /// As for all methods: the storage cannot be reached, or refuses.
    fn upload(&self, name: &str, bytes: u64) -> Result<Box<dyn Upload>, FarError>;

    /// Reads ranges of an object.
    fn read(&self, name: &str, ranges: &[Range<u64>]) -> Result<Vec<Vec<u8>>, FarError>;

    /// Bytes of an object.
    fn length(&self, name: &str) -> Result<u64, FarError>;

    /// Deletes objects; one that does not exist is no error.
    fn delete(&self, names: &[String]) -> Result<(), FarError>;
}

/// An object that is being uploaded.
pub trait Upload: Send {
    /// Bytes of every piece but the last.
    fn piece(&self) -> usize;

    /// Uploads the next piece.
    ///
    /// # Errors
    ///
    /// The storage cannot be reached, or refuses: call [`give_up`](Self::give_up) then.
    fn put(&mut self, piece: Vec<u8>) -> Result<(), FarError>;

    /// Completes the upload: the object exists once this has returned.
    fn finish(self: Box<Self>) -> Result<UploadOutcome, FarError>;

    /// Deletes what was uploaded, if the storage allows.
    fn give_up(self: Box<Self>);
}

/// The result of an upload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UploadOutcome {
    /// The storage returned a checksum of the whole object, and it is right. Otherwise the object is read
    /// back.
    pub verified: bool,
    /// The storage keeps the object that had this name before, as a version.
    pub versioned: bool,
}

/// The error for a segment in far storage when no far storage is configured.
pub(crate) fn not_configured() -> FarError {
    FarError::Failed("the segment is in far storage, and none is configured: check `far/tier.toml`".into())
}

/// The directory in `far/` for names of segments that may have objects without a stub.
const LOOSE: &str = "loose";
/// The directory in `far/` for chunks that are needed here for a moment.
pub(crate) const STAGED: &str = "staged";
const STUB: &str = "far";

/// What is known of a segment in far storage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Stub {
    /// Bytes of the segment.
    pub(crate) bytes: u64,
    /// Bytes of the segment and the files beside it.
    pub(crate) all: u64,
    /// The link type of its packets.
    pub(crate) link: u16,
    /// CRC32C of the segment.
    pub(crate) crc: u32,
    /// The storage keeps versions of objects that are deleted or replaced.
    pub(crate) versioned: bool,
}

impl Stub {
    pub(crate) fn path(far: &Path, segment: &Segment) -> PathBuf {
        segment.path(far).with_extension(STUB)
    }

    /// None if the segment is not in far storage.
    pub(crate) fn read(far: &Path, segment: &Segment) -> io::Result<Option<Self>> {
        let Some(bytes) = if_present(read_regular(&Self::path(far, segment)))? else { return Ok(None) };
        let stub = serde_json::from_slice(&bytes)
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.to_string()))?;
        Ok(Some(stub))
    }

    /// The stub is on the disk once this has returned.
    pub(crate) fn write(&self, far: &Path, segment: &Segment) -> io::Result<()> {
        let path = Self::path(far, segment);
        path.parent().map_or(Ok(()), fs::create_dir_all)?;
        // Serialising numbers cannot fail.
        replace(&path, &serde_json::to_vec(self).unwrap_or_default())
    }

    pub(crate) fn link(&self) -> Option<Link> {
        Link::of(LinkType(self.link))
    }
}

/// Names of the objects of a segment, its own last.
pub(crate) fn objects(segment: &Segment) -> [String; 4] {
    segment.files(Path::new("")).map(|path| path.to_string_lossy().into_owned())
}

/// Whether any segment of a spool is in far storage, or may be.
///
/// # Errors
///
/// A directory cannot be read.
pub fn is_anything_far(dir: &Path) -> io::Result<bool> {
    let far = dir.join(FAR);
    if !loose_segments(&far)?.is_empty() {
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

/// Records that objects of the segment may exist without a stub.
pub(crate) fn list_loose(far: &Path, segment: &Segment) -> io::Result<()> {
    let (path, dir) = (loose_path(far, segment), far.join(LOOSE));
    fs::create_dir_all(&dir)?;
    create_anew(&path)?.sync_all()?;
    File::open(&dir)?.sync_all()
}

/// Records that the segment has a stub, or no objects.
pub(crate) fn unlist_loose(far: &Path, segment: &Segment) -> io::Result<()> {
    remove_if_present(&loose_path(far, segment))
}

fn loose_path(far: &Path, segment: &Segment) -> PathBuf {
    far.join(LOOSE).join(segment.as_str().replace('/', "_"))
}

/// Segments that may have objects without a stub.
pub(crate) fn loose_segments(far: &Path) -> io::Result<Vec<Segment>> {
    let segments = entry_names(&far.join(LOOSE))?.into_iter();
    Ok(segments.filter_map(|name| name.replacen('_', "/", 1).parse().ok()).collect())
}

/// Deletes what is known of a segment, and records that its objects are to be deleted. Returns their bytes.
pub(crate) fn remove(far: &Path, segment: &Segment) -> io::Result<u64> {
    // A stub that cannot be read is still a stub.
    let bytes = Stub::read(far, segment).ok().flatten().map_or(0, |stub| stub.all);
    list_loose(far, segment)?;
    let [keys, index, seal, _] = segment.files(far);
    [keys, index, seal, Stub::path(far, segment)].iter().try_for_each(|path| remove_if_present(path))?;
    Ok(bytes)
}

/// A segment in far storage.
#[derive(Clone, Copy)]
pub(crate) struct FarSegment<'a> {
    pub(crate) far: &'a dyn FarStorage,
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

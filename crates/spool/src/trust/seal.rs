//! The seal of a segment, `.seal` beside it: one signed line (see `sign`) with hashes of the segment, its
//! index and its keys, and the hash of the seal before. So the seals of a worker and category form a chain.
//!
//! The newest seal of a chain is also in the spool's directory, as `w0-m.head`: the chain goes on from there
//! when every segment has been deleted.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use ringtap_model::Nanos;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::error::Error;
use crate::files::{if_present, open_regular, read_regular, replace};
use crate::hex::{hex, sha256_hex};
use crate::segment::bytes::SegmentBytes;
use crate::segment::index;
use crate::segment::listing::segments;
use crate::segment::name::{Category, Segment};
use crate::segment::scan::scan_file;
use crate::time::utc;
use crate::trust::head::head_name;
use crate::trust::keys;
use crate::trust::sign::{self, Line, PublicKey, Signer};

/// How a segment was sealed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum State {
    /// By its writer, when it was closed.
    Closed,
    /// By the next writer, because its own was stopped. Changes until then cannot be detected.
    Recovered,
}

/// The content of a seal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Seal {
    pub(crate) segment: String,
    /// Number of the seal in its chain, from 0.
    pub(crate) number: u64,
    pub(crate) state: State,
    pub(crate) bytes: u64,
    pub(crate) chunks: u64,
    /// SHA-256 of the segment.
    pub(crate) sha256: String,
    /// SHA-256 of the index; None if it could not be written.
    pub(crate) index: Option<String>,
    /// See [`keys::proof`]; None if there are no keys.
    pub(crate) keys: Option<String>,
    /// Damages that a scan found when the segment was recovered.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) damages: Vec<String>,
    /// SHA-256 of the seal before; 64 zeros in the first.
    pub(crate) previous: String,
    /// When it was sealed, UTC.
    pub(crate) at: String,
    /// The public key of the signer.
    pub(crate) key: String,
}

impl Seal {
    /// Parses a file's bytes.
    pub(crate) fn parse(bytes: &[u8]) -> Option<(Self, Line<'_>)> {
        let line = Line::parse(bytes)?;
        Some((serde_json::from_str(line.json).ok()?, line))
    }

    pub(crate) fn public(&self) -> Option<PublicKey> {
        self.key.parse().ok()
    }
}

/// What a seal says of a segment.
pub(crate) struct Content {
    pub(crate) state: State,
    pub(crate) bytes: u64,
    pub(crate) sha256: [u8; 32],
    pub(crate) chunks: u64,
    pub(crate) index: Option<String>,
    pub(crate) keys: Option<String>,
    pub(crate) damages: Vec<String>,
}

/// The end of the chain of a worker and a category.
pub(crate) struct Chain {
    dir: PathBuf,
    head: PathBuf,
    signer: Arc<Signer>,
    /// Number of the next seal.
    number: u64,
    previous: String,
}

impl Chain {
    /// Resumes the chain on the disk, and seals the segments that its last writer left.
    pub(crate) fn resume(
        dir: &Path,
        worker: u16,
        category: Category,
        signer: Arc<Signer>,
    ) -> Result<Self, Error> {
        let head = dir.join(head_name(worker, category));
        let mut chain = Self { dir: dir.to_owned(), head, signer, number: 0, previous: hex(&[0; 32]) };
        let mut segments = segments(std::slice::from_ref(&chain.dir))?;
        segments.retain(|segment| {
            segment.category() == category && segment.origin().is_some_and(|(by, _)| by == worker)
        });
        let (mut unsealed, mut sealed) = (Vec::new(), Vec::new());
        for segment in segments {
            let path = segment.seal_path(dir);
            if path.exists() {
                sealed.push(path);
            } else if !sealed.is_empty() || !segment.index_path(dir).exists() {
                // Segments written before signing was turned on stay unsealed, unless they were never closed.
                unsealed.push(segment);
            }
        }
        // The newest seal is among the last ones: names are in order of the first packet, which is nearly the
        // order of closing.
        sealed.push(chain.head.clone());
        let last = sealed.len().saturating_sub(NEWEST);
        for path in &sealed[last..] {
            chain.look(path)?;
        }
        if chain.number == 0 {
            sealed.iter().try_for_each(|path| chain.look(path))?;
        }
        for segment in unsealed {
            let content = recovered(dir, &segment)?;
            chain.seal(&segment, content)?;
        }
        Ok(chain)
    }

    /// The chain goes on from the newest seal.
    fn look(&mut self, path: &Path) -> Result<(), Error> {
        let bytes = if_present(read_regular(path)).map_err(|error| Error::io(path, "read", error))?;
        let bytes = bytes.unwrap_or_default();
        if let Some((seal, _)) = Seal::parse(&bytes).filter(|(seal, _)| seal.number >= self.number) {
            (self.number, self.previous) = (seal.number.saturating_add(1), sha256_hex(&bytes));
        }
        Ok(())
    }

    /// Writes the seal of a segment whose files are on the disk.
    pub(crate) fn seal(&mut self, segment: &Segment, content: Content) -> Result<(), Error> {
        let Content { state, bytes, sha256, chunks, index, keys, damages } = content;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let seal = Seal {
            segment: segment.to_string(),
            number: self.number,
            state,
            bytes,
            chunks,
            sha256: hex(&sha256),
            index,
            keys,
            damages,
            previous: self.previous.clone(),
            at: utc(Nanos(u64::try_from(now.as_nanos()).unwrap_or(u64::MAX))),
            key: self.signer.public().to_string(),
        };
        // Serialising numbers and texts cannot fail.
        let json = serde_json::to_string(&seal).unwrap_or_default();
        let line = sign::line(Some(&self.signer), &json);
        let path = segment.seal_path(&self.dir);
        replace(&path, line.as_bytes()).map_err(|error| Error::io(&path, "written", error))?;
        (self.number, self.previous) = (self.number.saturating_add(1), sha256_hex(line.as_bytes()));
        replace(&self.head, line.as_bytes()).map_err(|error| Error::io(&self.head, "written", error))
    }
}

/// Seals a copy of a segment, in no chain. The copy has a name of its own, so that neither seal can stand for
/// the other.
pub(crate) fn of_copy(
    dir: &Path,
    name: &str,
    segment: &Segment,
    chunks: u64,
    state: State,
    signer: &Signer,
) -> Result<(), Error> {
    let read = |path: &Path| if_present(read_regular(path)).map_err(|error| Error::io(path, "read", error));
    let path = segment.path(dir);
    let (bytes, sha256) = hash(&path, &mut |_| ()).map_err(|error| Error::io(&path, "read", error))?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let seal = Seal {
        segment: name.to_owned(),
        number: 0,
        state,
        bytes,
        chunks,
        sha256: hex(&sha256),
        index: read(&segment.index_path(dir))?.map(|index| sha256_hex(&index)),
        keys: read(&segment.keys_path(dir))?.map(|keys| hex(&keys::proof(&keys))),
        damages: Vec::new(),
        previous: hex(&[0; 32]),
        at: utc(Nanos(u64::try_from(now.as_nanos()).unwrap_or(u64::MAX))),
        key: signer.public().to_string(),
    };
    // Serialising numbers and texts cannot fail.
    let json = serde_json::to_string(&seal).unwrap_or_default();
    let path = segment.seal_path(dir);
    let line = sign::line(Some(signer), &json);
    replace(&path, line.as_bytes()).map_err(|error| Error::io(&path, "written", error))
}

/// The content for a segment whose writer was stopped, as it is now. Writes its index if it has none.
fn recovered(dir: &Path, segment: &Segment) -> Result<Content, Error> {
    let path = segment.path(dir);
    let wrong = |error| Error::io(&path, "read", error);
    let mut scan = scan_file(&open_regular(&path).map_err(wrong)?).map_err(wrong)?;
    let (bytes, sha256) = hash(&path, &mut |_| ()).map_err(wrong)?;
    let index_path = segment.index_path(dir);
    let read = |path: &Path| if_present(read_regular(path)).map_err(|error| Error::io(path, "read", error));
    let index = match read(&index_path)? {
        Some(index) => index,
        None => {
            let index = index::encode(&mut scan.rows);
            replace(&index_path, &index).map_err(|error| Error::io(&index_path, "written", error))?;
            index
        }
    };
    let keys = read(&segment.keys_path(dir))?;
    Ok(Content {
        state: State::Recovered,
        bytes,
        sha256,
        chunks: scan.rows.len() as u64,
        index: Some(sha256_hex(&index)),
        keys: keys.map(|keys| hex(&keys::proof(&keys))),
        damages: scan.damages.iter().take(MOST_DAMAGES).map(ToString::to_string).collect(),
    })
}

/// Length and SHA-256 of a file; reports the bytes of every piece.
pub(crate) fn hash(path: &Path, read: &mut dyn FnMut(u64)) -> io::Result<(u64, [u8; 32])> {
    hash_bytes(&open_regular(path)?, read)
}

/// Length and SHA-256 of a segment, on a disk or in far storage.
pub(crate) fn hash_bytes(bytes: &dyn SegmentBytes, read: &mut dyn FnMut(u64)) -> io::Result<(u64, [u8; 32])> {
    let (mut digest, mut length) = (Sha256::new(), 0);
    bytes.for_each_piece(&mut |piece| {
        digest.update(piece);
        length += piece.len() as u64;
        read(piece.len() as u64);
        Ok(())
    })?;
    Ok((length, digest.finalize().into()))
}

/// The newest seal is among so many.
const NEWEST: usize = 50;
/// A seal lists no more damages than this.
const MOST_DAMAGES: usize = 20;

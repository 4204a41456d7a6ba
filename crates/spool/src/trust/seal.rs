//! The seal of a segment, `.seal` beside it: one signed line (see `sign`) with hashes of the segment, its
//! index and its keys, and the hash of the seal before. So the seals of a worker and category form a chain.
//!
//! The newest seal of a chain is also in the spool's directory, as `w0-m.head`: the chain goes on from there
//! when every segment has been deleted.

use std::io;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use ringtap_model::Nanos;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::error::Error;
use crate::files::{if_present, open_regular, read_regular, replace};
use crate::hex::{hex, sha256_hex};
use crate::segment::bytes::SegmentBytes;
use crate::segment::name::Segment;
use crate::time::utc;
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

/// Seals a copy of a segment, in no chain. The copy has a name of its own, so that neither seal can stand for
/// the other.
pub(crate) fn of_copy(
    dir: &Path,
    name: &str,
    segment: &Segment,
    chunks: u64,
    signer: &Signer,
) -> Result<(), Error> {
    let read = |path: &Path| if_present(read_regular(path)).map_err(|error| Error::io(path, "read", error));
    let path = segment.path(dir);
    let (bytes, sha256) = hash(&path, &mut |_| ()).map_err(|error| Error::io(&path, "read", error))?;
    let seal = Seal {
        segment: name.to_owned(),
        number: 0,
        state: State::Closed,
        bytes,
        chunks,
        sha256: hex(&sha256),
        index: read(&segment.index_path(dir))?.map(|index| sha256_hex(&index)),
        keys: read(&segment.keys_path(dir))?.map(|keys| hex(&keys::proof(&keys))),
        damages: Vec::new(),
        previous: hex(&[0; 32]),
        at: utc(now()),
        key: signer.public().to_string(),
    };
    // Serialising numbers and texts cannot fail.
    let json = serde_json::to_string(&seal).unwrap_or_default();
    let path = segment.seal_path(dir);
    let line = sign::line(Some(signer), &json)?;
    replace(&path, line.as_bytes()).map_err(|error| Error::io(&path, "written", error))
}

/// Whether the key signed the seal of a copy with that name, and the copy's bytes are those that were sealed.
pub(crate) fn proves_copy(dir: &Path, name: &str, segment: &Segment, key: &PublicKey) -> Result<bool, Error> {
    let path = segment.seal_path(dir);
    let bytes = if_present(read_regular(&path)).map_err(|error| Error::io(&path, "read", error))?;
    let bytes = bytes.unwrap_or_default();
    let Some((seal, _)) = Seal::parse(&bytes).filter(|(seal, line)| seal.segment == name && line.is_by(key))
    else {
        return Ok(false);
    };
    let path = segment.path(dir);
    let (_, sha256) = hash(&path, &mut |_| ()).map_err(|error| Error::io(&path, "read", error))?;
    Ok(hex(&sha256) == seal.sha256)
}

pub(crate) fn now() -> Nanos {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Nanos(u64::try_from(now.as_nanos()).unwrap_or(u64::MAX))
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

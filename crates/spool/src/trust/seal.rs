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
    /// BLAKE3 of the segment, and SHA-256 in seals of versions before: one of the two.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) blake3: Option<String>,
    /// See `blake3`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) sha256: Option<String>,
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

    /// The number of bytes of a segment, and whether they are those that were sealed; `read` is told the
    /// bytes of every piece.
    pub(crate) fn proves(
        &self,
        bytes: &dyn SegmentBytes,
        read: &mut dyn FnMut(u64),
    ) -> io::Result<(u64, bool)> {
        let Some(sealed) = &self.blake3 else {
            let mut digest = Sha256::new();
            let length = read_all(bytes, &mut |piece| digest.update(piece), read)?;
            return Ok((length, self.sha256.as_ref() == Some(&hex(&digest.finalize()))));
        };
        let (length, found) = hash_bytes(bytes, read)?;
        Ok((length, *sealed == hex(&found)))
    }
}

/// What a seal says of a segment.
pub(crate) struct Content {
    pub(crate) state: State,
    pub(crate) bytes: u64,
    /// BLAKE3 of the segment.
    pub(crate) blake3: [u8; 32],
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
    let (bytes, blake3) = hash(&path).map_err(|error| Error::io(&path, "read", error))?;
    let seal = Seal {
        segment: name.to_owned(),
        number: 0,
        state: State::Closed,
        bytes,
        chunks,
        blake3: Some(hex(&blake3)),
        sha256: None,
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
    let proven = open_regular(&path).and_then(|file| seal.proves(&file, &mut |_| ()));
    proven.map(|(_, proven)| proven).map_err(|error| Error::io(&path, "read", error))
}

pub(crate) fn now() -> Nanos {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Nanos(u64::try_from(now.as_nanos()).unwrap_or(u64::MAX))
}

/// Length and BLAKE3 of a file.
pub(crate) fn hash(path: &Path) -> io::Result<(u64, [u8; 32])> {
    hash_bytes(&open_regular(path)?, &mut |_| ())
}

fn hash_bytes(bytes: &dyn SegmentBytes, read: &mut dyn FnMut(u64)) -> io::Result<(u64, [u8; 32])> {
    let mut digest = blake3::Hasher::new();
    let length = read_all(bytes, &mut |piece| _ = digest.update(piece), read)?;
    Ok((length, digest.finalize().into()))
}

/// The number of bytes of a segment, on a disk or in far storage.
fn read_all(
    bytes: &dyn SegmentBytes,
    take: &mut dyn FnMut(&[u8]),
    read: &mut dyn FnMut(u64),
) -> io::Result<u64> {
    let mut length = 0;
    bytes.for_each_piece(&mut |piece| {
        take(piece);
        length += piece.len() as u64;
        read(piece.len() as u64);
        Ok(())
    })?;
    Ok(length)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::PathBuf;
    use std::sync::Arc;

    use ringtap_model::{Frame, LinkType};

    use super::*;
    use crate::segment::name::Category;
    use crate::trust::head::head_name;
    use crate::trust::verify::report::VerifyOptions;
    use crate::trust::verify::run::verify;
    use crate::write::settings::WriterSettings;
    use crate::write::writer::SpoolWriter;

    const START: Nanos = Nanos::from_secs(1_795_219_200);

    /// The seals of the one chain, in order.
    fn seals(dir: &Path) -> Vec<PathBuf> {
        let days = fs::read_dir(dir).unwrap().flatten().filter(|entry| entry.path().is_dir());
        let files = days.flat_map(|day| fs::read_dir(day.path()).unwrap().flatten());
        let mut seals: Vec<PathBuf> = files.map(|entry| entry.path()).collect();
        seals.retain(|path| path.extension().is_some_and(|kind| kind == "seal"));
        seals.sort();
        seals
    }

    /// Seals as an earlier version wrote them, with SHA-256 of the segment.
    #[test]
    fn seals_of_earlier_versions_prove_their_segments() {
        let dir = tempfile::tempdir().unwrap();
        let signer = Signer::of(&[3; 32]);
        for run in 0..3 {
            let sign = Some(Arc::new(signer.clone()));
            let settings = WriterSettings { sign, ..WriterSettings::new(dir.path().to_owned()) };
            let mut writer = SpoolWriter::open(settings).unwrap();
            let owner = writer.begin(Category::Media, 7).unwrap();
            let time = START + Nanos::from_secs(60 * run);
            writer.put(owner, &Frame { time, number: 1, link: LinkType(1), wire_len: 60, data: &[7; 60] });
            writer.close(time);
        }
        let (mut previous, mut line) = (hex(&[0; 32]), String::new());
        let all = seals(dir.path());
        assert_eq!(all.len(), 3);
        for path in &all {
            let bytes = fs::read(path).unwrap();
            let (seal, _) = Seal::parse(&bytes).unwrap();
            assert!(seal.blake3.is_some() && seal.sha256.is_none());
            let sha256 = Some(sha256_hex(&fs::read(path.with_extension("pcap")).unwrap()));
            let old = Seal { blake3: None, sha256, previous, ..seal };
            line = sign::line(Some(&signer), &serde_json::to_string(&old).unwrap()).unwrap();
            fs::write(path, &line).unwrap();
            previous = sha256_hex(line.as_bytes());
        }
        fs::write(dir.path().join(head_name(0, Category::Media)), line).unwrap();
        let options = VerifyOptions { keys: vec![signer.public()], ..VerifyOptions::default() };
        let look = || verify(&[dir.path()], &options, &mut |_, _| ()).unwrap();
        assert_eq!((look().proven, look().findings), (all.len() as u64, vec![]));
        let segment = all[0].with_extension("pcap");
        let mut bytes = fs::read(&segment).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        fs::write(&segment, bytes).unwrap();
        assert_eq!(look().findings.len(), 1);
    }

    #[test]
    fn a_seal_without_a_hash_proves_nothing() {
        let bytes = tempfile::tempfile().unwrap();
        let json = r#"{"segment":"s","number":0,"state":"closed","bytes":0,"chunks":0,"index":null,
            "keys":null,"previous":"","at":"","key":""}"#;
        let seal: Seal = serde_json::from_str(json).unwrap();
        assert_eq!(seal.proves(&bytes, &mut |_| ()).unwrap(), (0, false));
    }
}

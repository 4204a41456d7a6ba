//! What a writer that was stopped left, and what somebody else put there.

use std::fs;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use crate::error::Error;
use crate::files::{create_dir, if_present, open_regular, read_regular, replace};
use crate::hex::{hex, sha256_hex};
use crate::layout::QUARANTINE;
use crate::segment::index;
use crate::segment::marker::{self, GLOBAL};
use crate::segment::name::Segment;
use crate::segment::scan::scan_file;
use crate::trust::chunk_sealer;
use crate::trust::keys::{self, KeyRow, Keys, Unwrapped};
use crate::trust::master_key::MasterKey;
use crate::trust::seal::{Content, State, hash};

/// Moves a segment and all files beside it to where nobody reads them.
pub(crate) fn quarantine(dir: &Path, segment: &Segment) -> Result<(), Error> {
    let to = dir.join(QUARANTINE);
    let day = segment.path(&to);
    let made = day.parent().map_or(Ok(()), create_dir);
    made.map_err(|error| Error::io(&day, "created", error))?;
    for (from, to) in segment.files(dir).into_iter().zip(segment.files(&to)) {
        if_present(fs::rename(&from, &to)).map_err(|error| Error::io(&from, "moved to quarantine", error))?;
    }
    Ok(())
}

/// Whether every intact chunk of a segment that was never closed was sealed under a key of this spool. A
/// chunk whose key was lost with the writer, is damaged or is wrapped by another master key counts: nobody
/// can read it.
pub(crate) fn is_authentic(dir: &Path, segment: &Segment, master: Option<&MasterKey>) -> Result<bool, Error> {
    let Some(master) = master else { return Ok(true) };
    let path = segment.path(dir);
    let wrong = |error| Error::io(&path, "read", error);
    let file = open_regular(&path).map_err(wrong)?;
    let mut header = [0; GLOBAL];
    match file.read_exact_at(&mut header, 0) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(true),
        other => other.map_err(wrong)?,
    }
    let Some(link) = marker::link_of(&header) else { return Ok(true) };
    let keys = if_present(open_regular(&segment.keys_path(dir))).map_err(wrong)?;
    let keys = keys.map(Keys::open).transpose().map_err(wrong)?;
    let head = marker::len(link) as u64;
    for row in scan_file(&file).map_err(wrong)?.rows {
        if !row.chunk.is_sealed() {
            return Ok(false);
        }
        let key = match &keys {
            None => None,
            Some(keys) => match keys.row(row.chunk.key).map_err(wrong)? {
                Some(found @ KeyRow::Key(_)) => match keys.unwrap(&found, std::slice::from_ref(master)) {
                    Unwrapped::Key(key) if found.owner() == Some(row.chunk.owner) => Some(key),
                    Unwrapped::Key(_) => return Ok(false),
                    Unwrapped::Locked | Unwrapped::Damaged => None,
                },
                _ => None,
            },
        };
        let Some(key) = key else { continue };
        let mut bytes = vec![0; row.chunk.length as usize];
        file.read_exact_at(&mut bytes, row.offset + head).map_err(wrong)?;
        if chunk_sealer::open(link, &row.chunk, &bytes, Some(&key)).is_none() {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The content for a segment whose writer was stopped, as it is now. Writes its index if it has none.
pub(crate) fn recovered(dir: &Path, segment: &Segment) -> Result<Content, Error> {
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

/// A seal lists no more damages than this.
const MOST_DAMAGES: usize = 20;

//! What a writer that was stopped left, and what somebody else put there.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;

use crate::error::Error;
use crate::files::{
    create_anew, create_dir, if_present, open_regular, read_regular, remove_if_present, replace,
};
use crate::hex::{hex, sha256_hex};
use crate::layout::QUARANTINE;
use crate::segment::index::{self, IndexRow};
use crate::segment::marker::{self, GLOBAL, Link};
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

/// The intact chunks of a segment that was never closed and that its writer did not write: not sealed though
/// all had to be, or not under a key of this spool. A chunk whose key was lost with the writer, is damaged or
/// is wrapped by another master key is not among them: nobody can read it. `sealed` is what the list of open
/// segments says of the chunks; if it says nothing, they had to be sealed if there is a master key.
pub(crate) fn foreign_chunks(
    dir: &Path,
    segment: &Segment,
    sealed: Option<bool>,
    master: Option<&MasterKey>,
) -> Result<Vec<u64>, Error> {
    let must_be_sealed = sealed.unwrap_or(master.is_some());
    if !must_be_sealed && master.is_none() {
        return Ok(Vec::new());
    }
    let path = segment.path(dir);
    let wrong = |error| Error::io(&path, "read", error);
    let file = open_regular(&path).map_err(wrong)?;
    let Some(link) = link_of_file(&file).map_err(wrong)? else { return Ok(Vec::new()) };
    let keys = if_present(open_regular(&segment.keys_path(dir))).map_err(wrong)?;
    let keys = keys.map(Keys::open).transpose().map_err(wrong)?;
    let mut foreign = Vec::new();
    for row in scan_file(&file).map_err(wrong)?.rows {
        let is_own = match (row.chunk.is_sealed(), master) {
            (false, _) => !must_be_sealed,
            (true, None) => true,
            (true, Some(master)) => is_authentic(&file, link, keys.as_ref(), &row, master).map_err(wrong)?,
        };
        if !is_own {
            foreign.push(row.offset);
        }
    }
    Ok(foreign)
}

fn link_of_file(file: &File) -> io::Result<Option<Link>> {
    let mut header = [0; GLOBAL];
    match file.read_exact_at(&mut header, 0) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
        other => other.map(|()| marker::link_of(&header)),
    }
}

/// Whether a sealed chunk was sealed under a key of this spool, as far as its key can be had.
fn is_authentic(
    file: &File,
    link: Link,
    keys: Option<&Keys>,
    row: &IndexRow,
    master: &MasterKey,
) -> io::Result<bool> {
    let Some(keys) = keys else { return Ok(true) };
    let Some(found @ KeyRow::Key(_)) = keys.row(row.chunk.key)? else { return Ok(true) };
    match keys.unwrap(&found, std::slice::from_ref(master)).map_err(io::Error::other)? {
        Unwrapped::Key(_) if found.owner() != Some(row.chunk.owner) => Ok(false),
        Unwrapped::Key(key) => {
            let mut bytes = vec![0; row.chunk.length as usize];
            file.read_exact_at(&mut bytes, row.offset + marker::len(link) as u64)?;
            Ok(chunk_sealer::open(link, &row.chunk, &bytes, Some(&key)).is_some())
        }
        Unwrapped::Locked | Unwrapped::Damaged => Ok(true),
    }
}

/// Leaves the segment without these chunks, and puts it as it was into quarantine.
pub(crate) fn set_aside(dir: &Path, segment: &Segment, foreign: &[u64]) -> Result<(), Error> {
    let (path, aside) = (segment.path(dir), segment.path(&dir.join(QUARANTINE)));
    let made = aside.parent().map_or(Ok(()), create_dir);
    made.map_err(|error| Error::io(&aside, "created", error))?;
    match fs::hard_link(&path, &aside) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            return Err(Error::io(&aside, "created", error));
        }
        _ => {}
    }
    let wrong = |error| Error::io(&path, "written without foreign chunks", error);
    let file = open_regular(&path).map_err(wrong)?;
    let Some(link) = link_of_file(&file).map_err(wrong)? else { return Ok(()) };
    let mut rows = scan_file(&file).map_err(wrong)?.rows;
    rows.retain(|row| !foreign.contains(&row.offset));
    let begins = (GLOBAL + marker::len(link)) as u64;
    let start = std::iter::once(0..begins);
    let draft = path.with_extension("part");
    let copy = || {
        let mut fresh = create_anew(&draft)?;
        for range in start.chain(rows.iter().map(|row| row.range(link))) {
            let mut bytes = vec![0; (range.end - range.start) as usize];
            file.read_exact_at(&mut bytes, range.start)?;
            fresh.write_all(&bytes)?;
        }
        fresh.sync_all()?;
        // Of the segment as it was.
        remove_if_present(&segment.index_path(dir))?;
        fs::rename(&draft, &path)?;
        path.parent().map_or(Ok(()), |day| File::open(day)?.sync_all())
    };
    copy().map_err(wrong)
}

/// The content for a segment whose writer was stopped, as it is now. Writes its index.
pub(crate) fn recovered(dir: &Path, segment: &Segment) -> Result<Content, Error> {
    let path = segment.path(dir);
    let wrong = |error| Error::io(&path, "read", error);
    let mut scan = scan_file(&open_regular(&path).map_err(wrong)?).map_err(wrong)?;
    let (bytes, blake3) = hash(&path).map_err(wrong)?;
    let index_path = segment.index_path(dir);
    let read = |path: &Path| if_present(read_regular(path)).map_err(|error| Error::io(path, "read", error));
    // An index that lies there may be anybody's.
    let index = index::encode(&mut scan.rows);
    if read(&index_path)?.as_ref() != Some(&index) {
        replace(&index_path, &index).map_err(|error| Error::io(&index_path, "written", error))?;
    }
    let keys = read(&segment.keys_path(dir))?;
    Ok(Content {
        state: State::Recovered,
        bytes,
        blake3,
        chunks: scan.rows.len() as u64,
        index: Some(sha256_hex(&index)),
        keys: keys.map(|keys| hex(&keys::proof(&keys))),
        damages: scan.damages.iter().take(MOST_DAMAGES).map(ToString::to_string).collect(),
    })
}

/// A seal lists no more damages than this.
const MOST_DAMAGES: usize = 20;

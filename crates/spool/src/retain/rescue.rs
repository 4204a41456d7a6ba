//! Copies of held chunks: written before a segment is deleted, and deleted when nothing holds them any more.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

use crate::error::Error;
use crate::far::storage::{FarSegment, FarStorage, Stub};
use crate::files::{create_dir, entry_names, open_regular, read_regular, remove_if_present};
use crate::layout::HELD;
use crate::read::catalogue::LONGEST;
use crate::retain::holds::Holds;
use crate::segment::index::{self, IndexRow};
use crate::segment::listed::ListedSegment;
use crate::segment::lookup::{indexed, scanned};
use crate::segment::marker::{self, GLOBAL, Link, Marker};
use crate::segment::name::Segment;
use crate::segment::scan::{Scan, scan_file};
use crate::trust::keys::{self, KeyRow};
use crate::trust::seal;
use crate::trust::sign::Signer;

/// Copies the held chunks out of a segment in `from` that is about to be deleted. Returns their number.
///
/// # Errors
///
/// A file cannot be read or written: the segment must stay then.
pub(crate) fn rescue(
    dir: &Path,
    from: &Path,
    item: &ListedSegment,
    holds: &Holds,
    signer: Option<&Signer>,
) -> Result<u64, Error> {
    let category = item.segment.category();
    let owners = holds.between(category, item.begins, item.ends);
    if owners.is_empty() {
        return Ok(0);
    }
    let path = item.segment.path(from);
    let wrong = |error| Error::io(&path, "read", error);
    let file = match open_regular(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
        Err(error) => return Err(wrong(error)),
    };
    let mut rows = rows(from, &item.segment, &file, &owners).map_err(wrong)?;
    rows.retain(|row| holds.is_held(category, row.chunk.owner, row.chunk.first, row.chunk.last));
    if rows.is_empty() {
        return Ok(0);
    }
    rewrite(from, &file, &item.segment, &mut rows, &dir.join(HELD), signer)
}

/// The held chunks of a segment in far storage, from its index here, or from the segment if the index is
/// missing.
///
/// # Errors
///
/// As [`rescue`].
pub(crate) fn held_in_far_storage(
    far: &dyn FarStorage,
    from: &Path,
    item: &ListedSegment,
    holds: &Holds,
) -> Result<Vec<IndexRow>, Error> {
    let category = item.segment.category();
    let owners = holds.between(category, item.begins, item.ends);
    if owners.is_empty() {
        return Ok(Vec::new());
    }
    let read = || -> io::Result<Vec<IndexRow>> {
        if let Some(rows) = indexed(from, &item.segment, &owners, &mut 0)? {
            return Ok(rows);
        }
        let length = Stub::read(from, &item.segment)?.map_or(0, |stub| stub.bytes);
        scanned(&FarSegment { far, segment: &item.segment, length }, &owners)
    };
    let mut rows = read().map_err(|error| Error::io(&item.segment.path(from), "read", error))?;
    rows.retain(|row| holds.is_held(category, row.chunk.owner, row.chunk.first, row.chunk.last));
    Ok(rows)
}

/// Deletes chunks that nothing holds any more from the copies. Copies that still hold other chunks are left
/// as they are if they are signed and there is no key, or if there is a key and no seal proves them.
///
/// Returns the deleted copies that no seal by the key proved: after this, `verify` cannot name them any more.
pub(crate) fn prune(dir: &Path, holds: &Holds, signer: Option<&Signer>) -> Result<Vec<Segment>, Error> {
    let held = dir.join(HELD);
    let read = |error| Error::io(&held, "read", error);
    let mut unproven = Vec::new();
    for day in entry_names(&held).map_err(read)? {
        for file in entry_names(&held.join(&day)).map_err(read)? {
            let Ok(segment) = format!("{day}/{file}").parse::<Segment>() else { continue };
            if !prune_segment(&held, &segment, holds, signer)? {
                unproven.push(segment);
            }
        }
        // A directory that is not empty stays.
        let _ = fs::remove_dir(held.join(&day));
    }
    Ok(unproven)
}

/// False: deleted, and nothing proved it.
fn prune_segment(
    held: &Path,
    segment: &Segment,
    holds: &Holds,
    signer: Option<&Signer>,
) -> Result<bool, Error> {
    let path = segment.path(held);
    let wrong = |error| Error::io(&path, "read", error);
    let file = open_regular(&path).map_err(wrong)?;
    let Scan { rows: all, damages, .. } = scan_file(&file).map_err(wrong)?;
    let category = segment.category();
    if let (false, Some((_, begins))) = (damages.is_empty(), segment.origin())
        && !holds.between(category, begins, begins + LONGEST).is_empty()
    {
        // It may have held chunks that cannot be told any more: `verify` names it.
        return Ok(true);
    }
    let mut kept = all.clone();
    kept.retain(|row| holds.is_held(category, row.chunk.owner, row.chunk.first, row.chunk.last));
    let is_proven =
        |signer: &Signer| seal::proves_copy(held, &format!("{HELD}/{segment}"), segment, &signer.public());
    if kept.is_empty() {
        let is_proven = signer.map_or(Ok(true), is_proven)?;
        for path in segment.files(held) {
            remove_if_present(&path).map_err(|error| Error::io(&path, "deleted", error))?;
        }
        return Ok(is_proven);
    }
    if kept.len() < all.len() {
        let may_rewrite = match signer {
            // A new seal would make evidence of a copy that was changed or put in. A copy that a kill left
            // without a seal is made anew: its segment was not deleted yet.
            Some(signer) => is_proven(signer)?,
            None => !segment.seal_path(held).exists(),
        };
        if may_rewrite {
            rewrite(held, &file, segment, &mut kept, held, signer)?;
        }
    }
    Ok(true)
}

fn rows(dir: &Path, segment: &Segment, file: &File, owners: &[u64]) -> io::Result<Vec<IndexRow>> {
    match indexed(dir, segment, owners, &mut 0)? {
        Some(rows) => Ok(rows),
        None => scanned(file, owners),
    }
}

/// Writes a segment of that name with only these chunks of another, markers and content unchanged. Returns
/// their number: chunks that have been erased meanwhile, or are damaged, are left out.
fn rewrite(
    from: &Path,
    file: &File,
    segment: &Segment,
    rows: &mut [IndexRow],
    to: &Path,
    signer: Option<&Signer>,
) -> Result<u64, Error> {
    let path = segment.path(to);
    let mut write = || -> io::Result<u64> {
        let mut header = [0; GLOBAL];
        file.read_exact_at(&mut header, 0)?;
        let Some(link) = marker::link_of(&header) else { return Ok(0) };
        let day = path.parent().unwrap_or(to);
        create_dir(day)?;
        let part = path.with_extension("part");
        let put = |name: &Path, mode: u32, write: &mut dyn FnMut(&mut BufWriter<File>) -> io::Result<()>| {
            remove_if_present(&part)?;
            let mut fresh =
                BufWriter::new(File::options().write(true).create_new(true).mode(mode).open(&part)?);
            write(&mut fresh)?;
            fresh.flush()?;
            fresh.get_ref().sync_all()?;
            fs::rename(&part, name)
        };
        // The old seal does not match any more. Keys come before the chunks that they open, and the segment
        // before its index.
        remove_if_present(&segment.seal_path(to))?;
        if let Some(keys) = keys_of(from, segment, rows)? {
            put(&segment.keys_path(to), 0o640, &mut |fresh| fresh.write_all(&keys))?;
        }
        remove_if_present(&segment.index_path(to))?;
        rows.sort_unstable_by_key(|row| row.offset);
        let mut copied = Vec::new();
        put(&path, 0o666, &mut |fresh| {
            copied = copy(file, link, &header, segment, rows, fresh)?;
            Ok(())
        })?;
        let count = copied.len() as u64;
        let index = index::encode(&mut copied);
        put(&segment.index_path(to), 0o666, &mut |fresh| fresh.write_all(&index))?;
        File::open(day)?.sync_all()?;
        Ok(count)
    };
    let count = write().map_err(|error| Error::io(&path, "written", error))?;
    if let Some(signer) = signer.filter(|_| count > 0) {
        seal::of_copy(to, &format!("{HELD}/{segment}"), segment, count, signer)?;
    }
    Ok(count)
}

/// The key file of a segment with only the keys of these chunks: a copied key opens all chunks of its owner.
fn keys_of(dir: &Path, segment: &Segment, rows: &[IndexRow]) -> io::Result<Option<Vec<u8>>> {
    let mut bytes = match read_regular(&segment.keys_path(dir)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        other => other?,
    };
    let used: BTreeSet<u32> =
        rows.iter().filter(|row| row.chunk.is_sealed()).map(|row| row.chunk.key).collect();
    let (all, _) = bytes.as_chunks_mut::<{ keys::ROW }>();
    for (number, row) in (0..).zip(all.iter_mut().skip(1)) {
        if let (false, KeyRow::Key(key)) = (used.contains(&number), KeyRow::of(row)) {
            *row = keys::forgotten(&key);
        }
    }
    Ok(Some(bytes))
}

/// Writes such a segment, and returns where its chunks are.
fn copy(
    file: &File,
    link: Link,
    header: &[u8],
    segment: &Segment,
    rows: &[IndexRow],
    to: &mut BufWriter<File>,
) -> io::Result<Vec<IndexRow>> {
    let head = marker::len(link);
    let (worker, at) = segment.origin().unwrap_or_default();
    let mut bytes = vec![0; head];
    Marker::Start { worker, segment: segment.number(), at }.write(link, &mut bytes);
    to.write_all(header)?;
    to.write_all(&bytes)?;
    let mut offset = (header.len() + head) as u64;
    let mut copied = Vec::new();
    for row in rows {
        bytes.resize(head + row.chunk.length as usize, 0);
        match file.read_exact_at(&mut bytes, row.offset) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => continue,
            other => other?,
        }
        match Marker::read(link, &bytes) {
            Some((Marker::Chunk(chunk), _)) if chunk.owner == row.chunk.owner => {}
            _ => continue,
        }
        to.write_all(&bytes)?;
        copied.push(IndexRow { offset, chunk: row.chunk });
        offset += bytes.len() as u64;
    }
    bytes.resize(head, 0);
    let last = copied.iter().map(|row| row.chunk.last).max().unwrap_or(at);
    Marker::End { chunks: copied.len() as u32, at: last }.write(link, &mut bytes);
    to.write_all(&bytes)?;
    Ok(copied)
}

//! Erases what was recorded of an owner.

use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use ringtap_model::Nanos;
use rustix::fs::{FallocateFlags, fallocate};

use crate::error::Error;
use crate::far::storage::{self, FarSegment, FarStorage, Stub, UploadOutcome};
use crate::far::transfer;
use crate::files::{open_regular_to_change, read_regular};
use crate::hex::hex;
use crate::layout::FAR;
use crate::read::reader::Reader;
use crate::retain::deletion_lock::DeletionLock;
use crate::retain::holds::Holds;
use crate::segment::index::IndexRow;
use crate::segment::lookup::{indexed, scanned};
use crate::segment::marker::{self, Chunk, GLOBAL, Link, Marker};
use crate::segment::name::{Category, Segment};
use crate::trust::deletion_entry::{Deletion, DeletionKind};
use crate::trust::deletion_log::DeletionLog;
use crate::trust::keys::{KeyRow, Keys};

/// What was erased.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ForgetReport {
    /// Chunks that were overwritten, and their packets.
    pub chunks: u64,
    /// See `chunks`.
    pub packets: u64,
    /// Keys of sealed chunks that were overwritten: each segment with chunks of an owner has its key.
    pub keys: u64,
    /// Chunks and keys that had been erased before.
    pub already: u64,
    /// Chunks that are damaged, or not completely on the disk yet because their call is under way. Erase them
    /// again when the call has ended.
    pub missed: u64,
    /// Segments that were fetched from far storage: chunks that are not sealed cannot be erased there.
    pub fetched: u64,
    /// Segments of which far storage keeps older versions: what was erased is still in those.
    pub versions: u64,
}

/// Who orders it, and when.
#[derive(Clone, Copy, Debug)]
pub struct ForgetOrder<'a> {
    /// For the log: by which rule, or for whom.
    pub why: &'a str,
    /// For the log: when.
    pub at: Nanos,
    /// Erase the interception product of these owners; otherwise their ordinary recordings.
    pub product: bool,
}

/// Makes what was recorded of these owners in that time unreadable: in the spool, its held copies, its tier
/// and further directories.
///
/// The wrapped keys of sealed chunks are overwritten: nobody can read the chunks then, with the master key or
/// without. The segment does not change and still matches its seal. Chunks that are not sealed become zeros,
/// and their space is freed if the file system can. The log says what will be erased before it is erased.
/// Other chunks of a segment stay.
///
/// The time must cover the owner from its beginning to its end: each segment with chunks of the owner has its
/// key, and one copy of the key opens them all.
///
/// Of a segment in far storage, the copy of its keys there is replaced. A segment with chunks that are not
/// sealed is fetched into the spool, erased here and deleted there; it moves again when its time comes.
///
/// A disk that never writes to the same place twice (flash, a file system that copies on write, a snapshot)
/// may still have the old bytes.
///
/// # Errors
///
/// The call is on hold: nothing is erased then. A file cannot be read or written, a segment is in far storage
/// and `far` is None, or far storage cannot be reached: what was erased until then is erased, and a second
/// call does the rest.
pub fn forget(
    dirs: &[&Path],
    far: Option<&dyn FarStorage>,
    owners: &[u64],
    time: Range<Nanos>,
    deletions: &DeletionLog,
    order: ForgetOrder<'_>,
) -> Result<ForgetReport, Error> {
    let mut done = ForgetReport::default();
    let Some((first, others)) = dirs.split_first() else { return Ok(done) };
    let held = || -> Result<(), Error> {
        let holds = Holds::read(first)?;
        match owners.iter().find_map(|owner| holds.holding(order.product, *owner, time.start, time.end)) {
            Some(hold) => Err(Error::Held { call_id: hold.call_id.clone(), case: hold.case.clone() }),
            None => Ok(()),
        }
    };
    held()?;
    let mut reader = Reader::open(first)?;
    others.iter().for_each(|dir| reader.add_dir(dir));
    let dirs = reader.dirs().to_vec();
    let far_copies = FarCopies { far, dir: first, far_dir: first.join(FAR) };
    let between = || -> Result<Vec<Segment>, Error> {
        let mut segments = reader.between(time.start, time.end)?;
        segments.retain(|segment| Category::of(order.product).contains(&segment.category()));
        Ok(segments)
    };
    // No other process has to wait for the network: the lock comes later.
    for segment in between()? {
        far_copies.fetch(&segment, owners, &time, &mut done)?;
    }
    // Without the lock, a segment that moves to the tier, or is being copied, would be erased in one place
    // only.
    let _lock = DeletionLock::wait(first)?;
    held()?;
    for segment in between()? {
        let location = far_copies.fetch(&segment, owners, &time, &mut done)?;
        for dir in dirs.iter().filter(|dir| **dir != far_copies.far_dir) {
            let path = segment.path(dir);
            match open_regular_to_change(&path) {
                Ok(file) => {
                    let place = ErasableSegment { dir, segment: &segment, path, file };
                    place.forget(owners, &time, deletions, order, &mut done)?;
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(Error::io(&path, "opened for writing", error)),
            }
        }
        match location {
            CopyLocation::Here => {}
            CopyLocation::Both => far_copies.delete(&segment, &mut done)?,
            CopyLocation::Far(sealed) => {
                let before = (done.keys, done.already);
                forget_keys(
                    &far_copies.far_dir,
                    &segment,
                    sealed,
                    owners,
                    &time,
                    deletions,
                    order,
                    &mut done,
                )?;
                // Also if the keys were erased here before: they may not have been replaced there then.
                if before != (done.keys, done.already) {
                    far_copies.replace_keys(&segment, &mut done)?;
                }
            }
        }
    }
    Ok(done)
}

/// Where a segment is whose chunks may have to be erased.
enum CopyLocation {
    /// Not in far storage, or nothing of the owners is.
    Here,
    /// It has been fetched, and is to be deleted in far storage.
    Both,
    /// In far storage only, with sealed chunks of the owners under these keys.
    Far(BTreeSet<u32>),
}

/// Copies in far storage.
struct FarCopies<'a> {
    far: Option<&'a dyn FarStorage>,
    dir: &'a Path,
    far_dir: PathBuf,
}

impl FarCopies<'_> {
    fn far(&self, path: &Path) -> Result<&dyn FarStorage, Error> {
        self.far.ok_or_else(|| Error::far(path, "reached", &storage::not_configured()))
    }

    /// Fetches a segment that has chunks of the owners which are not sealed.
    fn fetch(
        &self,
        segment: &Segment,
        owners: &[u64],
        time: &Range<Nanos>,
        done: &mut ForgetReport,
    ) -> Result<CopyLocation, Error> {
        let path = Stub::path(&self.far_dir, segment);
        let read = |error| Error::io(&path, "read", error);
        let Some(stub) = Stub::read(&self.far_dir, segment).map_err(read)? else {
            // It was fetched before, and may still be there.
            let loose = storage::loose_segments(&self.far_dir).map_err(read)?.contains(segment)
                && indexed(self.dir, segment, owners, &mut 0)
                    .map_err(read)?
                    .is_none_or(|rows| !rows.is_empty());
            return Ok(if loose && segment.path(self.dir).exists() {
                CopyLocation::Both
            } else {
                CopyLocation::Here
            });
        };
        let indexed = indexed(&self.far_dir, segment, owners, &mut 0).map_err(read)?;
        let mut rows = match indexed {
            Some(rows) => rows,
            None => {
                let far = self.far(&path)?;
                scanned(&FarSegment { far, segment, length: stub.bytes }, owners).map_err(read)?
            }
        };
        rows.retain(|row| row.chunk.first < time.end && row.chunk.last >= time.start);
        let plain: Vec<IndexRow> = rows.iter().filter(|row| !row.chunk.is_sealed()).copied().collect();
        if plain.is_empty() {
            let sealed = rows.iter().map(|row| row.chunk.key).collect();
            return Ok(CopyLocation::Far(sealed));
        }
        if !segment.path(self.dir).exists() {
            let far = self.far(&path)?;
            transfer::fetch_segment(far, self.dir, segment)
                .map_err(|error| Error::io(&path, "fetched to be erased", error))?;
            done.fetched += 1;
        }
        Ok(CopyLocation::Both)
    }

    /// Deletes a segment in far storage that has been fetched.
    fn delete(&self, segment: &Segment, done: &mut ForgetReport) -> Result<(), Error> {
        let path = Stub::path(&self.far_dir, segment);
        let far = self.far(&path)?;
        let wrong = |error| Error::io(&path, "deleted", error);
        done.versions +=
            u64::from(Stub::read(&self.far_dir, segment).map_err(wrong)?.is_some_and(|stub| stub.versioned));
        // An upload that is running must not take the segment for the one that it sent.
        let here = File::options().write(true).open(segment.path(self.dir)).map_err(wrong)?;
        here.set_modified(std::time::SystemTime::now()).map_err(wrong)?;
        storage::remove(&self.far_dir, segment).map_err(wrong)?;
        // Its name stays in `loose/` until it is uploaded again, or deleted here.
        far.delete(&storage::objects(segment))
            .map_err(|refusal| Error::far(&path, "deleted in far storage", &refusal))
    }

    /// Uploads the key file as it is here.
    fn replace_keys(&self, segment: &Segment, done: &mut ForgetReport) -> Result<(), Error> {
        let path = segment.keys_path(&self.far_dir);
        let far = self.far(&path)?;
        let put = || -> io::Result<UploadOutcome> {
            let bytes = read_regular(&path)?;
            let [name, ..] = storage::objects(segment);
            let mut upload = far.upload(&name, bytes.len() as u64)?;
            for piece in bytes.chunks(upload.piece()) {
                upload.put(piece.to_vec())?;
            }
            Ok(upload.finish()?)
        };
        let put = put().map_err(|error| {
            Error::io(&path, "replaced in far storage, though it is overwritten here", error)
        })?;
        done.versions += u64::from(put.versioned);
        Ok(())
    }
}

/// A segment in which chunks are erased.
struct ErasableSegment<'a> {
    dir: &'a Path,
    segment: &'a Segment,
    path: PathBuf,
    file: File,
}

impl ErasableSegment<'_> {
    fn forget(
        &self,
        owners: &[u64],
        time: &Range<Nanos>,
        deletions: &DeletionLog,
        order: ForgetOrder<'_>,
        done: &mut ForgetReport,
    ) -> Result<(), Error> {
        let read = |error| Error::io(&self.path, "read", error);
        let Some((link, rows)) = self.rows(owners, time).map_err(read)? else { return Ok(()) };
        let size = self.file.metadata().map_err(read)?.len();
        let (mut plain, mut sealed) = (Vec::new(), BTreeSet::new());
        for row in rows {
            let chunk = match self.marker(link, &row).map_err(read)? {
                Some(Marker::Erased(chunk)) if chunk.owner == row.chunk.owner => {
                    done.already += 1;
                    continue;
                }
                Some(Marker::Chunk(chunk)) if chunk.owner == row.chunk.owner => chunk,
                // The marker is damaged: the index has a checksum of its own and says where the packets end.
                None => row.chunk,
                Some(_) => {
                    done.missed += 1;
                    continue;
                }
            };
            if chunk.is_sealed() {
                sealed.insert(chunk.key);
                continue;
            }
            let end = row.offset + marker::len(link) as u64 + u64::from(chunk.length);
            match end <= size {
                true => plain.push(IndexRow { offset: row.offset, chunk }),
                false => done.missed += 1,
            }
        }
        self.erase_plain(link, &plain, deletions, order, done)?;
        forget_keys(self.dir, self.segment, sealed, owners, time, deletions, order, done)
    }

    fn erase_plain(
        &self,
        link: Link,
        rows: &[IndexRow],
        deletions: &DeletionLog,
        order: ForgetOrder<'_>,
        done: &mut ForgetReport,
    ) -> Result<(), Error> {
        if rows.is_empty() {
            return Ok(());
        }
        let mut entry = Deletion::new(DeletionKind::Chunks, self.dir, self.segment, order.at, order.why)?;
        entry.owners = owner_names(rows.iter().map(|row| row.chunk.owner));
        entry.places = rows.iter().map(|row| row.offset).collect();
        deletions.append(&[entry])?;
        self.erase(link, rows).map_err(|error| Error::io(&self.path, "overwritten", error))?;
        done.chunks += rows.len() as u64;
        done.packets += rows.iter().map(|row| u64::from(row.chunk.packets)).sum::<u64>();
        Ok(())
    }

    /// The chunks of the owners in that time.
    fn rows(&self, owners: &[u64], time: &Range<Nanos>) -> io::Result<Option<(Link, Vec<IndexRow>)>> {
        let mut header = [0; GLOBAL];
        match self.file.read_exact_at(&mut header, 0) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
            other => other?,
        }
        let Some(link) = marker::link_of(&header) else { return Ok(None) };
        let mut rows = match indexed(self.dir, self.segment, owners, &mut 0)? {
            Some(rows) => rows,
            None => scanned(&self.file, owners)?,
        };
        rows.retain(|row| row.chunk.first < time.end && row.chunk.last >= time.start);
        Ok(Some((link, rows)))
    }

    fn marker(&self, link: Link, row: &IndexRow) -> io::Result<Option<Marker>> {
        let mut bytes = [0; 128];
        let bytes = &mut bytes[..marker::len(link)];
        match self.file.read_exact_at(bytes, row.offset) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
            other => other?,
        }
        Ok(Marker::read(link, bytes).map(|(marker, _)| marker))
    }

    /// Erases the packets first, then the markers: if this is interrupted, the next call does it all.
    fn erase(&self, link: Link, rows: &[IndexRow]) -> io::Result<()> {
        let head = marker::len(link) as u64;
        let zeros = vec![0; rows.iter().map(|row| row.chunk.length as usize).max().unwrap_or(0)];
        for IndexRow { offset, chunk } in rows {
            self.file.write_all_at(&zeros[..chunk.length as usize], offset + head)?;
        }
        self.file.sync_data()?;
        let hole = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        for IndexRow { offset, chunk } in rows {
            // They are zeros already: it is no harm if the file system cannot make holes.
            let _ = fallocate(&self.file, hole, offset + head, chunk.length.into());
            let mut bytes = [0; 128];
            let bytes = &mut bytes[..head as usize];
            Marker::Erased(Chunk { crc: 0, ..*chunk }).write(link, bytes);
            self.file.write_all_at(bytes, *offset)?;
        }
        self.file.sync_data()
    }
}

/// Erases the keys of these rows, and those of the owners that were made in that time: one of their chunks
/// may be damaged now, and be found later.
#[expect(clippy::too_many_arguments, reason = "where, whose, and by whom")]
fn forget_keys(
    dir: &Path,
    segment: &Segment,
    mut sealed: BTreeSet<u32>,
    owners: &[u64],
    time: &Range<Nanos>,
    deletions: &DeletionLog,
    order: ForgetOrder<'_>,
    done: &mut ForgetReport,
) -> Result<(), Error> {
    let path = segment.keys_path(dir);
    let file = match open_regular_to_change(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            done.missed += sealed.len() as u64;
            return Ok(());
        }
        Err(error) => return Err(Error::io(&path, "opened for writing", error)),
    };
    let read = |error| Error::io(&path, "read", error);
    let keys = Keys::open(file).map_err(read)?;
    let mut rows = Vec::new();
    for (number, row) in (0..).zip(keys.rows().map_err(read)?) {
        let theirs = row.owner().is_some_and(|owner| owners.contains(&owner));
        let then = row.made().is_some_and(|made| time.contains(&made));
        let named = sealed.remove(&number);
        if !(named || theirs && then) {
            continue;
        }
        match row {
            KeyRow::Key(bytes) if theirs => rows.push((number, bytes)),
            KeyRow::Forgotten(_) => done.already += 1,
            // Damaged: nobody has this key. Or the key of another owner, which a changed marker names.
            _ => done.missed += 1,
        }
    }
    done.missed += sealed.len() as u64;
    if rows.is_empty() {
        return Ok(());
    }
    let mut entry = Deletion::new(DeletionKind::Keys, dir, segment, order.at, order.why)?;
    entry.owners = owner_names(rows.iter().filter_map(|(_, row)| KeyRow::of(row).owner()));
    entry.places = rows.iter().map(|(number, _)| u64::from(*number)).collect();
    deletions.append(&[entry])?;
    keys.forget(&rows).map_err(|error| Error::io(&path, "overwritten", error))?;
    done.keys += rows.len() as u64;
    Ok(())
}

/// Owners as the log has them, each once.
fn owner_names(owners: impl Iterator<Item = u64>) -> Vec<String> {
    let owners: BTreeSet<u64> = owners.collect();
    owners.iter().map(|owner| hex(&owner.to_be_bytes())).collect()
}

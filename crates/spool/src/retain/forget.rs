//! What was kept of an owner, out of the spool for good.

use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use ringtap_model::Nanos;
use rustix::fs::{FallocateFlags, fallocate};

use crate::error::Error;
use crate::far::storage::{self as far, Far, FarSegment, Put, Stub};
use crate::far::transfer as errand;
use crate::hex::hex;
use crate::layout::FAR;
use crate::read::reader::Reader;
use crate::retain::deletion_lock::DeletionLock;
use crate::retain::hold::Holds;
use crate::segment::index::Row;
use crate::segment::lookup::{indexed, scanned};
use crate::segment::mark::{self, Chunk, GLOBAL, Link, Mark};
use crate::segment::name::{Category, Segment};
use crate::trust::deletion_entry::{Deleted, Deletion};
use crate::trust::deletion_log::Deletions;
use crate::trust::keys::{KeyRow, Keys};

/// What was forgotten.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Forgotten {
    /// Chunks that were overwritten, and their packets.
    pub chunks: u64,
    /// See `chunks`.
    pub packets: u64,
    /// Keys of sealed chunks that were overwritten: a key lies in each segment where its owner has chunks.
    pub keys: u64,
    /// Chunks and keys that had been forgotten before.
    pub already: u64,
    /// Chunks that are not where they should be: not wholly on the disk yet, as their call is under way, or damaged. Forget it
    /// again when the call has ended.
    pub missed: u64,
    /// Segments that lay far and were brought back, since what is not sealed cannot be erased there.
    pub fetched: u64,
    /// Segments of which the far place keeps older versions: what was forgotten is still in those.
    pub versions: u64,
}

/// Who orders it, when.
#[derive(Clone, Copy, Debug)]
pub struct Order<'a> {
    /// For the log: by which rule, or for whom.
    pub why: &'a str,
    /// For the log.
    pub at: Nanos,
    /// The interception product of these owners; otherwise what is kept beside it.
    pub product: bool,
}

/// Makes what was kept of these owners in that time unreadable: in the spool, what is held in it, its tier, and in further
/// directories behind it. Of sealed chunks the wrapped
/// keys are overwritten: then nobody can read them, with the master key or without; the segment stays as it is, and what its
/// seal says of it stays true. Chunks that are not sealed become zeros, and their place on the disk is given back where the
/// file system can. What is to be done is in the log before it is done. A segment's other chunks stay.
///
/// The time has to cover the owner from its beginning to its end: a key lies in each segment where its owner has chunks, and
/// one copy that is left opens them all.
///
/// Of a segment that lies far, the copy of its keys there is replaced. One with chunks that are not sealed is brought back into
/// the spool, erased here, and deleted there; it moves again when its time comes.
///
/// A disk that never writes to the same place twice (flash, a file system that copies on write, a snapshot) may still have the
/// old bytes somewhere.
///
/// # Errors
///
/// A call that is held: nothing is done then. A file that cannot be read or written: what was done until then is done; doing it
/// again does the rest. A segment that lies far while `far` is not told, or the place that cannot be reached: likewise.
pub fn forget(
    dirs: &[&Path],
    far: Option<&dyn Far>,
    owners: &[u64],
    time: Range<Nanos>,
    deletions: &Deletions,
    order: Order<'_>,
) -> Result<Forgotten, Error> {
    let mut done = Forgotten::default();
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
    others.iter().for_each(|dir| reader.also(dir));
    let dirs = reader.dirs().to_vec();
    let distant = Distant { far, dir: first, beside: first.join(FAR) };
    let between = || -> Result<Vec<Segment>, Error> {
        let mut segments = reader.between(time.start, time.end)?;
        segments.retain(|segment| Category::of(order.product).contains(&segment.category()));
        Ok(segments)
    };
    // Nobody need wait for the network: the turn comes later.
    for segment in between()? {
        distant.bring(&segment, owners, &time, &mut done)?;
    }
    // A segment that is on its way to the tier, or out of which something is copied, would be forgotten in one place alone.
    let _lock = DeletionLock::wait(first)?;
    held()?;
    for segment in between()? {
        let lies = distant.bring(&segment, owners, &time, &mut done)?;
        for dir in dirs.iter().filter(|dir| **dir != distant.beside) {
            let path = segment.path(dir);
            match OpenOptions::new().read(true).write(true).open(&path) {
                Ok(file) => {
                    let place = Place { dir, segment: &segment, path, file };
                    place.forget(owners, &time, deletions, order, &mut done)?;
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(Error::io(&path, "opened for writing", error)),
            }
        }
        match lies {
            Lies::Here => {}
            Lies::Both => distant.delete(&segment, &mut done)?,
            Lies::Far(sealed) => {
                let before = (done.keys, done.already);
                forget_keys(&distant.beside, &segment, sealed, owners, &time, deletions, order, &mut done)?;
                // Also where it was done before: the copy may not have been replaced then.
                if before != (done.keys, done.already) {
                    distant.replace_keys(&segment, &mut done)?;
                }
            }
        }
    }
    Ok(done)
}

/// Where a segment is that packets may have to be forgotten in.
enum Lies {
    /// Not far; or nothing of the owners is.
    Here,
    /// It has been brought here, and is to be deleted there.
    Both,
    /// There alone, with sealed chunks of the owners under these keys.
    Far(BTreeSet<u32>),
}

/// What lies far.
struct Distant<'a> {
    far: Option<&'a dyn Far>,
    dir: &'a Path,
    beside: PathBuf,
}

impl Distant<'_> {
    fn far(&self, path: &Path) -> Result<&dyn Far, Error> {
        self.far.ok_or_else(|| Error::far(path, "reached", &far::nowhere()))
    }

    /// Brings a segment here that has chunks of the owners which are not sealed.
    fn bring(
        &self,
        segment: &Segment,
        owners: &[u64],
        time: &Range<Nanos>,
        done: &mut Forgotten,
    ) -> Result<Lies, Error> {
        let path = Stub::path(&self.beside, segment);
        let read = |error| Error::io(&path, "read", error);
        let Some(stub) = Stub::read(&self.beside, segment).map_err(read)? else {
            // It was brought before, and may be there still.
            let loose = far::loose(&self.beside).map_err(read)?.contains(segment)
                && indexed(self.dir, segment, owners, &mut 0)
                    .map_err(read)?
                    .is_none_or(|rows| !rows.is_empty());
            return Ok(if loose && segment.path(self.dir).exists() { Lies::Both } else { Lies::Here });
        };
        let indexed = indexed(&self.beside, segment, owners, &mut 0).map_err(read)?;
        let mut rows = match indexed {
            Some(rows) => rows,
            None => {
                let far = self.far(&path)?;
                scanned(&FarSegment { far, segment, length: stub.bytes }, owners).map_err(read)?
            }
        };
        rows.retain(|row| row.chunk.first < time.end && row.chunk.last >= time.start);
        let plain: Vec<Row> = rows.iter().filter(|row| !row.chunk.is_sealed()).copied().collect();
        if plain.is_empty() {
            let sealed = rows.iter().map(|row| row.chunk.key).collect();
            return Ok(Lies::Far(sealed));
        }
        if !segment.path(self.dir).exists() {
            let far = self.far(&path)?;
            errand::bring_home(far, self.dir, segment)
                .map_err(|error| Error::io(&path, "brought back to be erased", error))?;
            done.fetched += 1;
        }
        Ok(Lies::Both)
    }

    /// Deletes a segment there that has been brought here.
    fn delete(&self, segment: &Segment, done: &mut Forgotten) -> Result<(), Error> {
        let path = Stub::path(&self.beside, segment);
        let far = self.far(&path)?;
        let wrong = |error| Error::io(&path, "deleted", error);
        done.versions +=
            u64::from(Stub::read(&self.beside, segment).map_err(wrong)?.is_some_and(|stub| stub.versioned));
        // Whoever sends it at this moment must not take what is about to be deleted for it.
        let here = File::options().write(true).open(segment.path(self.dir)).map_err(wrong)?;
        here.set_modified(std::time::SystemTime::now()).map_err(wrong)?;
        far::remove(&self.beside, segment).map_err(wrong)?;
        // It stays loose: that ends when it is sent again, or deleted here.
        far.delete(&far::objects(segment)).map_err(|refusal| Error::far(&path, "deleted there", &refusal))
    }

    /// Puts the keys there as they are here.
    fn replace_keys(&self, segment: &Segment, done: &mut Forgotten) -> Result<(), Error> {
        let path = segment.keys_path(&self.beside);
        let far = self.far(&path)?;
        let put = || -> io::Result<Put> {
            let bytes = std::fs::read(&path)?;
            let [name, ..] = far::objects(segment);
            let mut upload = far.upload(&name, bytes.len() as u64)?;
            for piece in bytes.chunks(upload.piece()) {
                upload.put(piece.to_vec())?;
            }
            Ok(upload.finish()?)
        };
        let put = put().map_err(|error| {
            Error::io(&path, "replaced at the far place, though it is overwritten here", error)
        })?;
        done.versions += u64::from(put.versioned);
        Ok(())
    }
}

/// A segment to forget in.
struct Place<'a> {
    dir: &'a Path,
    segment: &'a Segment,
    path: PathBuf,
    file: File,
}

impl Place<'_> {
    fn forget(
        &self,
        owners: &[u64],
        time: &Range<Nanos>,
        deletions: &Deletions,
        order: Order<'_>,
        done: &mut Forgotten,
    ) -> Result<(), Error> {
        let read = |error| Error::io(&self.path, "read", error);
        let Some((link, rows)) = self.rows(owners, time).map_err(read)? else { return Ok(()) };
        let size = self.file.metadata().map_err(read)?.len();
        let (mut plain, mut sealed) = (Vec::new(), BTreeSet::new());
        for row in rows {
            let chunk = match self.mark(link, &row).map_err(read)? {
                Some(Mark::Erased(chunk)) if chunk.owner == row.chunk.owner => {
                    done.already += 1;
                    continue;
                }
                Some(Mark::Chunk(chunk)) if chunk.owner == row.chunk.owner => chunk,
                // A mark that was damaged: the index has a checksum of its own and says how far the packets go.
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
            let end = row.offset + mark::len(link) as u64 + u64::from(chunk.length);
            match end <= size {
                true => plain.push(Row { offset: row.offset, chunk }),
                false => done.missed += 1,
            }
        }
        self.erase_plain(link, &plain, deletions, order, done)?;
        forget_keys(self.dir, self.segment, sealed, owners, time, deletions, order, done)
    }

    fn erase_plain(
        &self,
        link: Link,
        rows: &[Row],
        deletions: &Deletions,
        order: Order<'_>,
        done: &mut Forgotten,
    ) -> Result<(), Error> {
        if rows.is_empty() {
            return Ok(());
        }
        let mut entry = Deletion::new(Deleted::Chunks, self.dir, self.segment, order.at, order.why)?;
        entry.owners = names(rows.iter().map(|row| row.chunk.owner));
        entry.places = rows.iter().map(|row| row.offset).collect();
        deletions.append(&[entry])?;
        self.erase(link, rows).map_err(|error| Error::io(&self.path, "overwritten", error))?;
        done.chunks += rows.len() as u64;
        done.packets += rows.iter().map(|row| u64::from(row.chunk.packets)).sum::<u64>();
        Ok(())
    }

    /// The chunks of the owners in that time.
    fn rows(&self, owners: &[u64], time: &Range<Nanos>) -> io::Result<Option<(Link, Vec<Row>)>> {
        let mut header = [0; GLOBAL];
        match self.file.read_exact_at(&mut header, 0) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
            other => other?,
        }
        let Some(link) = mark::link_of(&header) else { return Ok(None) };
        let mut rows = match indexed(self.dir, self.segment, owners, &mut 0)? {
            Some(rows) => rows,
            None => scanned(&self.file, owners)?,
        };
        rows.retain(|row| row.chunk.first < time.end && row.chunk.last >= time.start);
        Ok(Some((link, rows)))
    }

    fn mark(&self, link: Link, row: &Row) -> io::Result<Option<Mark>> {
        let mut bytes = [0; 128];
        let bytes = &mut bytes[..mark::len(link)];
        match self.file.read_exact_at(bytes, row.offset) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
            other => other?,
        }
        Ok(Mark::read(link, bytes).map(|(mark, _)| mark))
    }

    /// First what the packets were, then the marks: where this is broken off, the next time does it all.
    fn erase(&self, link: Link, rows: &[Row]) -> io::Result<()> {
        let head = mark::len(link) as u64;
        let zeros = vec![0; rows.iter().map(|row| row.chunk.length as usize).max().unwrap_or(0)];
        for Row { offset, chunk } in rows {
            self.file.write_all_at(&zeros[..chunk.length as usize], offset + head)?;
        }
        self.file.sync_data()?;
        let hole = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        for Row { offset, chunk } in rows {
            // They are zeros already: a file system that knows no holes is none the worse.
            let _ = fallocate(&self.file, hole, offset + head, chunk.length.into());
            let mut bytes = [0; 128];
            let bytes = &mut bytes[..head as usize];
            Mark::Erased(Chunk { crc: 0, ..*chunk }).write(link, bytes);
            self.file.write_all_at(bytes, *offset)?;
        }
        self.file.sync_data()
    }
}

/// The keys of these rows, and those of the owners that were made in that time: a chunk of theirs may be damaged now, and
/// be found by somebody later.
#[expect(clippy::too_many_arguments, reason = "where, whose, and by whom")]
fn forget_keys(
    dir: &Path,
    segment: &Segment,
    mut sealed: BTreeSet<u32>,
    owners: &[u64],
    time: &Range<Nanos>,
    deletions: &Deletions,
    order: Order<'_>,
    done: &mut Forgotten,
) -> Result<(), Error> {
    let path = segment.keys_path(dir);
    let file = match OpenOptions::new().read(true).write(true).open(&path) {
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
            // Damaged: nobody has a key of it. Or another's, which a mark names that was changed.
            _ => done.missed += 1,
        }
    }
    done.missed += sealed.len() as u64;
    if rows.is_empty() {
        return Ok(());
    }
    let mut entry = Deletion::new(Deleted::Keys, dir, segment, order.at, order.why)?;
    entry.owners = names(rows.iter().filter_map(|(_, row)| KeyRow::of(row).owner()));
    entry.places = rows.iter().map(|(number, _)| u64::from(*number)).collect();
    deletions.append(&[entry])?;
    keys.forget(&rows).map_err(|error| Error::io(&path, "overwritten", error))?;
    done.keys += rows.len() as u64;
    Ok(())
}

/// Owners as the log has them, each once.
fn names(owners: impl Iterator<Item = u64>) -> Vec<String> {
    let owners: BTreeSet<u64> = owners.collect();
    owners.iter().map(|owner| hex(&owner.to_be_bytes())).collect()
}

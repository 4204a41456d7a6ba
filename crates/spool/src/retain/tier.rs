//! A second directory, usually on slower and larger disks, to which older segments move.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use rustix::fs::{Advice, fadvise};

use crate::files::{create_dir, open_regular, remove_if_present};
use crate::layout::TIER;
use crate::segment::listed::ListedSegment;

/// Bytes read and written at once.
const PIECE: usize = 1 << 20;

/// Creates the directory if it does not exist, and the link to it.
pub(crate) fn link(dir: &Path, tier: &Path) -> io::Result<()> {
    fs::create_dir_all(tier)?;
    let tier = tier.canonicalize()?;
    let link = dir.join(TIER);
    if fs::read_link(&link).is_ok_and(|there| there == tier) {
        return Ok(());
    }
    let fresh = dir.join("tier.part");
    remove_if_present(&fresh)?;
    std::os::unix::fs::symlink(&tier, &fresh)?;
    fs::rename(&fresh, &link)
}

/// A segment that is being moved, piece by piece.
#[derive(Debug)]
pub(crate) struct TierMove {
    pub(crate) item: ListedSegment,
    /// Files to copy, the segment's own last.
    files: Vec<FileCopy>,
    /// The file that is being copied.
    at: usize,
}

#[derive(Debug)]
struct FileCopy {
    from: PathBuf,
    to: PathBuf,
    source: File,
    /// The source when it was opened: time of the last change, to the nanosecond, and length.
    was: (i64, i64, u64),
    target: File,
    offset: u64,
    crc: u32,
}

impl FileCopy {
    fn part(&self) -> PathBuf {
        part(&self.to)
    }
}

impl TierMove {
    /// Opens the files. None if the segment has gone meanwhile.
    pub(crate) fn begin(dir: &Path, tier: &Path, item: ListedSegment) -> io::Result<Option<Self>> {
        let mut files = Vec::new();
        let target = item.segment.path(tier);
        if let Some(day) = target.parent() {
            create_dir(day)?;
        }
        for (from, to) in item.segment.files(dir).into_iter().zip(item.segment.files(tier)) {
            let source = match open_regular(&from) {
                Ok(source) => source,
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(error),
            };
            let was = state(&source)?;
            let target =
                File::options().read(true).write(true).create(true).truncate(true).open(part(&to))?;
            target.set_permissions(source.metadata()?.permissions())?;
            files.push(FileCopy { from, to, source, was, target, offset: 0, crc: 0 });
        }
        let whole = files.last().is_some_and(|last| last.to == target);
        let moving = Self { item, files, at: 0 };
        if whole {
            return Ok(Some(moving));
        }
        moving.give_up();
        Ok(None)
    }

    /// Copies about so many bytes; true once all copies are on the disk of the tier and equal the originals.
    pub(crate) fn step(&mut self, mut bytes: u64) -> io::Result<bool> {
        let mut piece = vec![0; PIECE];
        while let Some(file) = self.files.get_mut(self.at) {
            let some = file.source.read(&mut piece)?;
            if some == 0 {
                file.target.set_len(file.offset)?;
                file.target.sync_all()?;
                verify(file, &mut piece)?;
                self.at += 1;
                continue;
            }
            let data = &piece[..some];
            file.crc = ringtap_cpu::crc32c(file.crc, data);
            // What was erased stays a hole.
            if data.iter().any(|byte| *byte != 0) {
                file.target.write_all_at(data, file.offset)?;
            }
            file.offset += some as u64;
            bytes = bytes.saturating_sub(some as u64);
            if bytes == 0 {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Moves the copies into place and deletes the segment. False, and nothing is done, if it was changed
    /// meanwhile. The caller holds the deletion lock.
    pub(crate) fn finish(self) -> io::Result<bool> {
        for file in &self.files {
            let now = File::open(&file.from).and_then(|file| state(&file));
            if !now.is_ok_and(|now| now == file.was) {
                self.give_up();
                return Ok(false);
            }
        }
        for file in &self.files {
            fs::rename(file.part(), &file.to)?;
        }
        if let Some(day) = self.files.last().and_then(|file| file.to.parent()) {
            File::open(day)?.sync_all()?;
        }
        // The segment goes first: from then on readers use the copy.
        for file in self.files.iter().rev() {
            remove_if_present(&file.from)?;
        }
        Ok(true)
    }

    /// Deletes the copies.
    pub(crate) fn give_up(&self) {
        for file in &self.files {
            // A later move overwrites them.
            let _ = remove_if_present(&file.part());
        }
    }
}

fn part(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".part");
    name.into()
}

fn state(file: &File) -> io::Result<(i64, i64, u64)> {
    let metadata = file.metadata()?;
    Ok((metadata.mtime(), metadata.mtime_nsec(), metadata.size()))
}

/// Reads the copy back, from the disk rather than from memory if possible.
fn verify(file: &FileCopy, piece: &mut [u8]) -> io::Result<()> {
    let _ = fadvise(&file.target, 0, None, Advice::DontNeed);
    let (mut offset, mut crc) = (0, 0);
    loop {
        match file.target.read_at(piece, offset)? {
            0 => break,
            some => {
                crc = ringtap_cpu::crc32c(crc, &piece[..some]);
                offset += some as u64;
            }
        }
    }
    if (offset, crc) == (file.offset, file.crc) {
        return Ok(());
    }
    let what = format!("the copy {} is not what was written: check that disk", file.part().display());
    Err(io::Error::new(io::ErrorKind::InvalidData, what))
}

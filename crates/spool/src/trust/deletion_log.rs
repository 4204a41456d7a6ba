//! The log of what was deleted from a spool on purpose: `deletions.log`.
//!
//! Entries are appended; only the beginning is summarised as the log grows (see `deletion_summary`). Each
//! entry is a signed line (see `sign`) with the SHA-256 of the line before, so that `verify` can tell a
//! segment that was deleted by rule from one that was removed. An entry is on the disk before its deletion is
//! carried out. After a kill the log may say more than was done: the next deletion does it again.

use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{FallocateFlags, fallocate};

use crate::error::Error;
use crate::files::{open_or_create, read_regular, sync_dir};
use crate::hex::{hex, sha256_hex};

use crate::trust::deletion_entry::{Deletion, DeletionKind};
use crate::trust::sign::{self, Line, PublicKey, Signer};

/// The file in the spool's directory.
/// The name of the log in the directory of a spool.
pub const DELETION_LOG: &str = "deletions.log";
/// Bytes that are put aside: some 600 entries.
const RESERVED: u64 = 256 << 10;

/// The log of a spool. Several processes may append to it.
#[derive(Clone, Debug)]
pub struct DeletionLog {
    path: PathBuf,
    signer: Option<Arc<Signer>>,
}

impl DeletionLog {
    /// Of the spool in that directory; signed if there is a key.
    pub fn of(dir: &Path, signer: Option<Arc<Signer>>) -> Self {
        Self { path: dir.join(DELETION_LOG), signer }
    }

    /// Puts space aside for the next entries: on a full disk, deleting anything needs an entry first.
    pub(crate) fn reserve(&self) -> io::Result<()> {
        let file = open_or_create(&self.path)?;
        let metadata = file.metadata()?;
        if metadata.blocks() * 512 < metadata.len() + RESERVED / 2 {
            fallocate(&file, FallocateFlags::KEEP_SIZE, 0, metadata.len() + RESERVED)?;
        }
        Ok(())
    }

    /// Appends entries: they are on the disk once this has returned. It fills in their numbers and what
    /// chains them. Nothing may be deleted before it has succeeded.
    ///
    /// # Errors
    ///
    /// The log cannot be written, or its last line is no entry.
    pub fn append(&self, entries: &[Deletion]) -> Result<(), Error> {
        if entries.is_empty() {
            return Ok(());
        }
        let wrong = |action| move |error| Error::io(&self.path, action, error);
        let file = open_or_create(&self.path).map_err(wrong("opened"))?;
        file.lock().map_err(wrong("locked"))?;
        let (end, last) = last_line(&file).map_err(wrong("read"))?;
        let (number, previous) = match last {
            None => (0, hex(&[0; 32])),
            Some(line) => {
                let entry =
                    Line::parse(&line).and_then(|line| serde_json::from_str::<Deletion>(line.json).ok());
                let Some(entry) = entry else {
                    return Err(Error::Log {
                        path: self.path.clone(),
                        problem: "its last line is not an entry",
                    });
                };
                (entry.number.saturating_add(1), sha256_hex(&line))
            }
        };
        let text = self.lines(entries, number, previous)?;
        // A line that a power cut left incomplete was never carried out. If there is none, the file keeps the
        // space put aside.
        if file.metadata().map_err(wrong("read"))?.len() != end {
            file.set_len(end).map_err(wrong("written"))?;
        }
        // A power cut may leave any part of this write. Until the first byte is there, nothing of it counts.
        let mut bytes = text.into_bytes();
        let first = std::mem::replace(&mut bytes[0], TORN);
        file.write_all_at(&bytes, end).map_err(wrong("written"))?;
        file.sync_data().map_err(wrong("synced to disk"))?;
        file.write_all_at(&[first], end).map_err(wrong("written"))?;
        file.sync_data().map_err(wrong("synced to disk"))?;
        // A new file is lost with the entry of its directory.
        let dir = self.path.parent().filter(|_| end == 0);
        dir.map_or(Ok(()), sync_dir).map_err(wrong("synced to disk"))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn signer(&self) -> Option<&Signer> {
        self.signer.as_deref()
    }

    /// The lines of these entries. The first has that number, and follows a line with that hash.
    pub(crate) fn lines(
        &self,
        entries: &[Deletion],
        mut number: u64,
        mut previous: String,
    ) -> Result<String, Error> {
        let mut text = String::new();
        for entry in entries {
            let key = self.signer.as_ref().map(|signer| signer.public().to_string());
            let entry = Deletion { number, previous, key, ..entry.clone() };
            // Serialising numbers and texts cannot fail.
            let json = serde_json::to_string(&entry).unwrap_or_default();
            let line = sign::line(self.signer.as_deref(), &json)?;
            (number, previous) = (number.saturating_add(1), sha256_hex(line.as_bytes()));
            text.push_str(&line);
        }
        Ok(text)
    }
}

/// The first byte of entries that are not completely on the disk yet.
const TORN: u8 = 0;

/// The bytes before entries that a power cut interrupted.
fn before_torn(bytes: &[u8]) -> &[u8] {
    if bytes.first() == Some(&TORN) {
        return &[];
    }
    memchr::memmem::find(bytes, &[b'\n', TORN]).map_or(bytes, |at| &bytes[..=at])
}

/// Whether nothing of the line is missing, though it may have been changed: its line feed too.
fn is_whole(line: &[u8]) -> bool {
    let Some((_, text)) = line.split_last() else { return false };
    line.ends_with(b"\n") || Line::parse(&[text, b"\n"].concat()).is_some()
}

/// Where the last complete line ends, and that line.
fn last_line(file: &File) -> io::Result<(u64, Option<Vec<u8>>)> {
    let size = file.metadata()?.len();
    let mut wanted = 64 << 10;
    loop {
        let from = size.saturating_sub(wanted);
        let mut tail = vec![0; (size - from) as usize];
        file.read_exact_at(&mut tail, from)?;
        let tail = match before_torn(&tail) {
            [] if from > 0 => &tail[..],
            whole => whole,
        };
        let end = memchr::memrchr(b'\n', tail).map(|at| at + 1);
        let start = end.and_then(|end| memchr::memrchr(b'\n', &tail[..end - 1])).map(|at| at + 1);
        match (start, end) {
            (Some(start), Some(end)) => return Ok((from + end as u64, Some(tail[start..end].to_vec()))),
            _ if from > 0 => wanted *= 4,
            (None, Some(end)) => return Ok((end as u64, Some(tail[..end].to_vec()))),
            _ => return Ok((0, None)),
        }
    }
}

/// The entries of a log as read back.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoggedDeletions {
    /// In order: those with a valid signature.
    pub entries: Vec<Deletion>,
    /// Lines, from 1, that are not as they were written, and why.
    pub flaws: Vec<(usize, LogFlaw)>,
}

/// What is wrong with a line of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LogFlaw {
    /// It cannot be read.
    #[error("is not an entry")]
    NotAnEntry,
    /// Its number, or the hash of the line before, does not match.
    #[error("does not follow the line before it: lines were cut out, changed or put in")]
    Chain,
    /// It is not signed, or signed by another key.
    #[error("is not signed by the key")]
    Signature,
    /// Its line feed is missing. The deletion was not carried out.
    #[error("was cut off while it was written")]
    Cut,
}

impl LoggedDeletions {
    /// Reads the log of the spool in that directory; empty if there is none. If keys are given, each line
    /// must be signed with one of them.
    ///
    /// # Errors
    ///
    /// The file cannot be read.
    pub fn read(dir: &Path, keys: &[PublicKey]) -> Result<Self, Error> {
        let path = dir.join(DELETION_LOG);
        match read_regular(&path) {
            Ok(bytes) => Ok(Self::parse(&bytes, keys)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(Error::io(&path, "read", error)),
        }
    }

    pub(crate) fn parse(bytes: &[u8], keys: &[PublicKey]) -> Self {
        let mut log = Self::default();
        let torn = bytes.len() - before_torn(bytes).len();
        let bytes = before_torn(bytes);
        let (mut number, mut previous) = (0, hex(&[0; 32]));
        for (place, line) in bytes.split_inclusive(|byte| *byte == b'\n').enumerate() {
            let mut flaw = |what| log.flaws.push((place + 1, what));
            let parsed = Line::parse(line);
            let entry = parsed.and_then(|line| serde_json::from_str::<Deletion>(line.json).ok());
            match (parsed, entry) {
                (Some(line), Some(entry)) => {
                    let expected = std::mem::replace(&mut number, entry.number.saturating_add(1));
                    if !keys.is_empty() && !keys.iter().any(|key| line.is_by(key)) {
                        flaw(LogFlaw::Signature);
                    } else {
                        let is_first = place == 0 && entry.deleted == DeletionKind::Summary;
                        let follows = entry.number == expected
                            && entry.previous == previous
                            && entry.deleted != DeletionKind::Summary;
                        if !is_first && !follows {
                            flaw(LogFlaw::Chain);
                        }
                        log.entries.push(entry);
                    }
                }
                _ => flaw(if is_whole(line) { LogFlaw::NotAnEntry } else { LogFlaw::Cut }),
            }
            previous = sha256_hex(line);
        }
        if torn > 0 {
            let lines = bytes.iter().filter(|byte| **byte == b'\n').count();
            log.flaws.push((lines + 1, LogFlaw::Cut));
        }
        log
    }
}

#[cfg(test)]
mod tests {
    use ringtap_model::Nanos;

    use super::*;

    const NOW: Nanos = Nanos(1_795_219_261_250_999_999);

    fn entry(number: u32) -> Deletion {
        let segment = format!("2026-11-21/000101.250-w3-m-{number}.pcap").parse().unwrap();
        Deletion::segment(Path::new("/nowhere"), &segment, NOW, "older than 90d").unwrap()
    }

    #[test]
    fn entries_are_chained_and_signed() {
        let dir = tempfile::tempdir().unwrap();
        let signer = Arc::new(Signer::of(&[7; 32]));
        let keys = [signer.public()];
        let deletions = DeletionLog::of(dir.path(), Some(signer));
        deletions.append(&[]).unwrap();
        assert_eq!(LoggedDeletions::read(dir.path(), &keys).unwrap(), LoggedDeletions::default());
        deletions.append(&[entry(0), entry(1)]).unwrap();
        deletions.append(&[entry(2)]).unwrap();
        let log = LoggedDeletions::read(dir.path(), &keys).unwrap();
        assert_eq!(log.flaws, []);
        let entries: Vec<_> =
            log.entries.iter().map(|entry| (entry.number, entry.segment.as_str())).collect();
        assert_eq!(entries[2], (2, "2026-11-21/000101.250-w3-m-2.pcap"));
        assert_eq!((entries.len(), log.entries[0].at.as_str()), (3, "2026-11-21T00:01:01.250Z"));
        let whole = std::fs::read(dir.path().join(DELETION_LOG)).unwrap();
        for at in 0..whole.len() {
            let mut bad = whole.clone();
            bad[at] ^= 1;
            assert_ne!(LoggedDeletions::parse(&bad, &keys).flaws, [], "byte {at}");
        }
        let lines: Vec<&[u8]> = whole.split_inclusive(|byte| *byte == b'\n').collect();
        for (wrong, line) in [([0, 2], 2), ([1, 2], 1), ([1, 0], 1)] {
            let text: Vec<u8> = wrong.iter().flat_map(|at| lines[*at]).copied().collect();
            assert_eq!(
                LoggedDeletions::parse(&text, &keys).flaws.first(),
                Some(&(line, LogFlaw::Chain)),
                "{wrong:?}"
            );
        }
        let other = Signer::of(&[8; 32]).public();
        assert_eq!(LoggedDeletions::parse(&whole, &[other]).flaws[0], (1, LogFlaw::Signature));
    }

    #[test]
    fn a_line_that_was_cut_off_is_written_again() {
        let dir = tempfile::tempdir().unwrap();
        let deletions = DeletionLog::of(dir.path(), None);
        deletions.append(&[entry(0), entry(1)]).unwrap();
        let path = dir.path().join(DELETION_LOG);
        let whole = std::fs::read(&path).unwrap();
        let first = whole.iter().position(|byte| *byte == b'\n').unwrap() + 1;
        for cut in [0, 1, first - 1, first, first + 1, whole.len() - 1] {
            std::fs::write(&path, &whole[..cut]).unwrap();
            let flaws = LoggedDeletions::read(dir.path(), &[]).unwrap().flaws;
            let within = cut != 0 && cut != first;
            assert_eq!(flaws.last().map(|(_, what)| *what), within.then_some(LogFlaw::Cut), "cut at {cut}");
            deletions.append(&[entry(5)]).unwrap();
            let log = LoggedDeletions::read(dir.path(), &[]).unwrap();
            assert_eq!(
                (log.flaws.len(), log.entries.len()),
                (0, 1 + usize::from(cut >= first)),
                "cut at {cut}"
            );
        }
        // Entries of which a power cut left any part but the first byte.
        for start in [0, first] {
            let mut torn = whole.clone();
            torn[start] = 0;
            torn[start + 20..start + 40].fill(0);
            std::fs::write(&path, &torn).unwrap();
            let flaws = LoggedDeletions::read(dir.path(), &[]).unwrap().flaws;
            assert_eq!(flaws, [(1 + usize::from(start > 0), LogFlaw::Cut)]);
            deletions.append(&[entry(5)]).unwrap();
            let log = LoggedDeletions::read(dir.path(), &[]).unwrap();
            assert_eq!((log.flaws.len(), log.entries.len()), (0, 1 + usize::from(start > 0)));
        }
        std::fs::write(&path, "something\n").unwrap();
        let error = deletions.append(&[entry(0)]).unwrap_err().to_string();
        assert!(error.contains("deletions.log") && error.contains("nothing is deleted"), "{error}");
    }
}

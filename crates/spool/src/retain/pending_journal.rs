//! A journal of recordings whose call is not decided, so that a kill does not leave packets on the disk that
//! should not be there.
//!
//! `provisional` in the spool's directory has eight bytes of magic, then rows of 32 bytes with a checksum
//! each. A row says that an owner's packets are recorded for a call with a pending decision, or that a call
//! is decided. A row survives a kill once [`PendingJournal::write`] has returned, and a power cut after
//! [`PendingJournal::sync`]. The file grows with the calls under way only.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use ringtap_cpu::crc32c;
use ringtap_model::Nanos;

use crate::error::Error;
use crate::files::{create_dir, sync_dir};

/// The file in the spool's directory.
const NAME: &str = "provisional";
const MAGIC: [u8; 8] = *b"RTPROVI1";
const ROW: usize = 32;
/// A file with no more rows than this is not rewritten.
const SHORT: u64 = 4096;
/// The file is rewritten when it has this many times the rows that are needed.
const SLACK: u64 = 4;
/// Set in the number of a call that an earlier run has left.
const LEFT: u64 = 1 << 63;

const BEGUN: u8 = b'B';
const ENDED: u8 = b'E';

/// A row of the journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PendingEntry {
    /// An owner's packets are about to be recorded while the decision is pending.
    Begun {
        /// Names the call while it is under way; below 2^63.
        call: u64,
        /// The owner's [`key`](crate::key).
        owner: u64,
        /// No packet of the owner is earlier.
        from: Nanos,
    },
    /// The call is decided, and what should not stay of it is erased.
    Ended {
        /// See `Begun`.
        call: u64,
    },
}

/// A call that an earlier run left without a decision: what was recorded of it is to be erased.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnfinishedDecision {
    /// For [`PendingEntry::Ended`], once it is erased.
    pub call: u64,
    /// Each once.
    pub owners: Vec<u64>,
    /// No packet of them is earlier.
    pub from: Nanos,
}

/// The calls with a pending decision.
#[derive(Debug)]
pub struct PendingJournal {
    path: PathBuf,
    /// None after a failure: the file is rewritten then, with all calls under way.
    file: Option<File>,
    rows: u64,
    needed: u64,
    calls: BTreeMap<u64, Vec<(u64, Nanos)>>,
}

impl PendingJournal {
    /// Opens the journal of the spool in that directory, and returns what the last run left. That stays in
    /// the journal until it is [`PendingEntry::Ended`].
    ///
    /// # Errors
    ///
    /// The file cannot be read, or belongs to another program.
    pub fn open(dir: &Path) -> Result<(Self, Vec<UnfinishedDecision>), Error> {
        create_dir(dir).map_err(|error| Error::io(dir, "made", error))?;
        let path = dir.join(NAME);
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(Error::io(&path, "read", error)),
        };
        let foreign = || io::Error::new(io::ErrorKind::InvalidData, "it is none of ringtap's");
        if !bytes.starts_with(&MAGIC) && !MAGIC.starts_with(&bytes) {
            return Err(Error::io(&path, "used", foreign()));
        }
        let mut all = Self { path, file: None, rows: 0, needed: 0, calls: BTreeMap::new() };
        let (rows, _) = bytes.get(MAGIC.len()..).unwrap_or_default().as_chunks::<ROW>();
        // Rows that a power cut damaged are left out: each row is independent.
        rows.iter().filter_map(parse).for_each(|entry| all.apply(entry));
        // This run numbers its calls from the beginning.
        let calls = std::mem::take(&mut all.calls).into_values();
        all.calls = (LEFT..).zip(calls).collect();
        // If the disk is full or fails, the next write reports it.
        let _ = all.write_anew();
        let left = all.calls.iter().map(|(call, owners)| {
            let from = owners.iter().map(|(_, from)| *from).min().unwrap_or_default();
            UnfinishedDecision { call: *call, owners: owners.iter().map(|(owner, _)| *owner).collect(), from }
        });
        let left = left.collect();
        Ok((all, left))
    }

    /// Writes entries, in order. Entries that cannot be written stay in memory, and are written with the next
    /// ones.
    ///
    /// # Errors
    ///
    /// The file cannot be written.
    pub fn write(&mut self, entries: &[PendingEntry]) -> Result<(), Error> {
        entries.iter().for_each(|entry| self.apply(*entry));
        let rows: Vec<u8> = entries.iter().flat_map(row).collect();
        let grown = self.rows + entries.len() as u64;
        match &self.file {
            Some(file) if grown <= SHORT.max(self.needed * SLACK) => {
                let at = MAGIC.len() as u64 + self.rows * ROW as u64;
                if let Err(error) = file.write_all_at(&rows, at) {
                    self.file = None;
                    return Err(Error::io(&self.path, "written", error));
                }
                self.rows = grown;
                Ok(())
            }
            _ => self.write_anew(),
        }
    }

    /// After this, the entries survive a power cut.
    ///
    /// # Errors
    ///
    /// The disk fails.
    pub fn sync(&mut self) -> Result<(), Error> {
        let Some(file) = &self.file else { return self.write_anew() };
        file.sync_data().map_err(|error| {
            self.file = None;
            Error::io(&self.path, "synced to disk", error)
        })
    }

    /// Number of calls with a pending decision.
    pub fn calls(&self) -> usize {
        self.calls.len()
    }

    fn apply(&mut self, entry: PendingEntry) {
        match entry {
            PendingEntry::Begun { call, owner, from } => {
                let owners = self.calls.entry(call).or_default();
                match owners.iter_mut().find(|(known, _)| *known == owner) {
                    Some((_, first)) => *first = from.min(*first),
                    None => {
                        owners.push((owner, from));
                        self.needed += 1;
                    }
                }
            }
            PendingEntry::Ended { call } => {
                self.needed -= self.calls.remove(&call).map_or(0, |owners| owners.len() as u64);
            }
        }
    }

    /// Writes a new file beside the old one and replaces it: there is a complete file at each moment.
    fn write_anew(&mut self) -> Result<(), Error> {
        let wrong = |path: &Path| {
            let path = path.to_owned();
            move |error| Error::io(&path, "written", error)
        };
        self.file = None;
        let mut bytes = MAGIC.to_vec();
        for (call, owners) in &self.calls {
            let begun = owners.iter().map(|(owner, from)| PendingEntry::Begun {
                call: *call,
                owner: *owner,
                from: *from,
            });
            bytes.extend(begun.flat_map(|entry| row(&entry)));
        }
        let new = self.path.with_extension("new");
        let options = OpenOptions::new().write(true).create(true).truncate(true).open(&new);
        let file = options.map_err(wrong(&new))?;
        file.write_all_at(&bytes, 0).and_then(|()| file.sync_data()).map_err(wrong(&new))?;
        fs::rename(&new, &self.path).map_err(wrong(&self.path))?;
        // Otherwise a power cut may bring the old file back, and later writes are in the new one.
        self.path.parent().map_or(Ok(()), sync_dir).map_err(wrong(&self.path))?;
        self.rows = ((bytes.len() - MAGIC.len()) / ROW) as u64;
        self.needed = self.rows;
        self.file = Some(file);
        Ok(())
    }
}

fn row(entry: &PendingEntry) -> [u8; ROW] {
    let (kind, call, owner, from) = match *entry {
        PendingEntry::Begun { call, owner, from } => (BEGUN, call, owner, from.0),
        PendingEntry::Ended { call } => (ENDED, call, 0, 0),
    };
    let mut row = [0; ROW];
    row[4] = kind;
    row[8..16].copy_from_slice(&call.to_le_bytes());
    row[16..24].copy_from_slice(&owner.to_le_bytes());
    row[24..].copy_from_slice(&from.to_le_bytes());
    let sum = crc32c(0, &row[4..]);
    row[..4].copy_from_slice(&sum.to_le_bytes());
    row
}

fn parse(row: &[u8; ROW]) -> Option<PendingEntry> {
    let number = |at: usize| {
        let mut bytes = [0; 8];
        bytes.copy_from_slice(&row[at..at + 8]);
        u64::from_le_bytes(bytes)
    };
    if row[..4] != crc32c(0, &row[4..]).to_le_bytes() {
        return None;
    }
    match row[4] {
        BEGUN => Some(PendingEntry::Begun { call: number(8), owner: number(16), from: Nanos(number(24)) }),
        ENDED => Some(PendingEntry::Ended { call: number(8) }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn begun(call: u64, owner: u64, from: u64) -> PendingEntry {
        PendingEntry::Begun { call, owner, from: Nanos(from) }
    }

    fn owners(left: &[UnfinishedDecision]) -> Vec<(&[u64], u64)> {
        left.iter().map(|left| (&left.owners[..], left.from.0)).collect()
    }

    #[test]
    fn what_a_kill_left_is_known_until_it_is_erased() {
        let dir = tempfile::tempdir().unwrap();
        let (mut all, left) = PendingJournal::open(dir.path()).unwrap();
        assert_eq!(left, []);
        all.write(&[begun(1, 10, 7), begun(2, 20, 8), begun(1, 11, 5), begun(1, 10, 6)]).unwrap();
        all.write(&[begun(3, 30, 9), PendingEntry::Ended { call: 2 }, PendingEntry::Ended { call: 9 }])
            .unwrap();
        assert_eq!(all.calls(), 2);
        drop(all);
        // Also by a run that was killed before it had erased anything, and used the same numbers.
        for _ in 0..2 {
            let (mut all, left) = PendingJournal::open(dir.path()).unwrap();
            assert_eq!(owners(&left[..2]), [(&[10, 11][..], 5), (&[30][..], 9)]);
            all.write(&[begun(1, 40, 1)]).unwrap();
            all.write(&[PendingEntry::Ended { call: 1 }]).unwrap();
        }
        let (mut all, left) = PendingJournal::open(dir.path()).unwrap();
        all.write(&[PendingEntry::Ended { call: left[0].call }, begun(1, 50, 3)]).unwrap();
        drop(all);
        let (_, left) = PendingJournal::open(dir.path()).unwrap();
        assert_eq!(owners(&left), [(&[50][..], 3), (&[30][..], 9)]);
    }

    #[test]
    fn any_byte_that_is_cut_or_changed_costs_its_row_alone() {
        let dir = tempfile::tempdir().unwrap();
        let (mut all, _) = PendingJournal::open(dir.path()).unwrap();
        all.write(&[begun(1, 10, 1), begun(2, 20, 2), begun(3, 30, 3)]).unwrap();
        drop(all);
        let path = dir.path().join(NAME);
        let whole = fs::read(&path).unwrap();
        assert_eq!(whole.len(), 8 + 3 * ROW);
        for at in 8..whole.len() {
            for cut in [false, true] {
                let mut bytes = whole.clone();
                match cut {
                    true => bytes.truncate(at),
                    false => bytes[at] ^= 0x10,
                }
                fs::write(&path, bytes).unwrap();
                let (_, left) = PendingJournal::open(dir.path()).unwrap();
                let torn = (at - 8) / ROW;
                let expected: Vec<u64> = (0..3)
                    .filter(|row| *row < torn || !cut && *row > torn)
                    .map(|row| 10 * (row as u64 + 1))
                    .collect();
                let found: Vec<u64> = left.iter().map(|left| left.owners[0]).collect();
                assert_eq!(found, expected, "byte {at}, cut: {cut}");
            }
        }
        fs::write(&path, "something else").unwrap();
        let error = PendingJournal::open(dir.path()).unwrap_err().to_string();
        assert!(error.contains("provisional") && error.contains("none of ringtap's"), "{error}");
        fs::write(&path, &MAGIC[..3]).unwrap();
        assert_eq!(PendingJournal::open(dir.path()).unwrap().1, []);
    }

    #[test]
    fn it_is_no_longer_than_what_is_under_way_needs() {
        let dir = tempfile::tempdir().unwrap();
        let (mut all, _) = PendingJournal::open(dir.path()).unwrap();
        let mut longest = 0;
        for call in 0..3 * SHORT {
            all.write(&[begun(call, call, 0), begun(call, call + 1, 0)]).unwrap();
            if call >= 100 {
                all.write(&[PendingEntry::Ended { call: call - 100 }]).unwrap();
            }
            longest = longest.max(fs::metadata(dir.path().join(NAME)).unwrap().len());
        }
        assert!(longest <= 8 + SHORT * ROW as u64, "{longest}");
        drop(all);
        assert_eq!(PendingJournal::open(dir.path()).unwrap().1.len(), 100);
    }

    #[test]
    fn what_could_not_be_written_is_written_later() {
        let dir = tempfile::tempdir().unwrap();
        let spool = dir.path().join("spool");
        fs::create_dir(&spool).unwrap();
        let (mut all, _) = PendingJournal::open(&spool).unwrap();
        all.file = None;
        fs::remove_dir_all(&spool).unwrap();
        assert!(all.write(&[begun(1, 10, 1)]).is_err() && all.sync().is_err());
        fs::create_dir(&spool).unwrap();
        all.write(&[begun(2, 20, 1)]).unwrap();
        all.sync().unwrap();
        drop(all);
        assert_eq!(PendingJournal::open(&spool).unwrap().1.len(), 2);
    }
}

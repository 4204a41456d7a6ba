//! The file `head`: the newest entry that is known to be on the disk, signed. A log that lacks that entry was
//! cut short.
//!
//! It has two slots of 512 bytes, written in turn, so that a power cut spoils one of them at most. A slot is
//! the number of entries, a colon, the hash of the newest (64 zeros for none), a tab, the signature of all
//! of that, spaces and a line feed. It is written after its entry was synced, and is synced itself only when
//! a file of the log ends: so it may be older than the log, never newer.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Mutex;

use crate::audit::chain::{FIRST, Position};
use crate::audit::key::{LogKey, PublicKey};
use crate::error::Error;
use crate::files;

const HEAD: &str = "head";
const SLOT: usize = 512;

/// An open head.
pub(crate) struct HeadFile {
    file: File,
    /// What was read or written last, and what it says: verifying signatures takes longer than reading.
    last: Mutex<Option<(Slots, Position)>>,
}

type Slots = [u8; 2 * SLOT];

impl HeadFile {
    /// Makes the head of a log without entries.
    pub(crate) fn create(dir: &Path, key: &LogKey) -> Result<(), Error> {
        let path = dir.join(HEAD);
        let empty = slot(&Position::first(), key);
        let bytes = [empty, [b' '; SLOT]].concat();
        files::create_whole(&path, &bytes).map_err(|error| Error::io(&path, "written", error))
    }

    /// None if there is none.
    pub(crate) fn open(dir: &Path) -> Result<Option<Self>, Error> {
        let path = dir.join(HEAD);
        if !path.exists() {
            return Ok(None);
        }
        let file = files::open_or_create(&path).map_err(|error| Error::io(&path, "opened", error))?;
        Ok(Some(Self { file, last: Mutex::default() }))
    }

    /// Where the entry after the head belongs. None if neither slot is signed by the key.
    pub(crate) fn read(&self, key: &PublicKey) -> io::Result<Option<Position>> {
        let mut bytes = [0; 2 * SLOT];
        let length = self.file.metadata()?.len().min(bytes.len() as u64) as usize;
        self.file.read_exact_at(&mut bytes[..length], 0)?;
        let mut last = self.last.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        match &*last {
            Some((known, head)) if *known == bytes => Ok(Some(head.clone())),
            _ => {
                *last = newest(&bytes, key).map(|head| (bytes, head));
                Ok(last.as_ref().map(|(_, head)| head.clone()))
            }
        }
    }

    /// Writes it, unless there is a newer one.
    pub(crate) fn write(&self, head: &Position, key: &LogKey) -> io::Result<()> {
        if self.read(&key.public())?.is_some_and(|old| old.number >= head.number) {
            return Ok(());
        }
        let (slot, offset) = (slot(head, key), head.number as usize % 2 * SLOT);
        self.file.write_all_at(&slot, offset as u64)?;
        if let Some((bytes, last)) = &mut *self.last.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) {
            bytes[offset..offset + SLOT].copy_from_slice(&slot);
            *last = head.clone();
        }
        Ok(())
    }

    pub(crate) fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }
}

/// The head of a log that is only read.
pub(crate) fn read(dir: &Path, key: &PublicKey) -> Result<Option<Position>, Error> {
    let path = dir.join(HEAD);
    let bytes = files::read_secret(&path).map_err(|error| Error::io(&path, "read", error))?;
    Ok(bytes.and_then(|bytes| newest(&bytes, key)))
}

fn slot(head: &Position, key: &LogKey) -> [u8; SLOT] {
    let text = format!("{}:{}", head.number, head.previous);
    let line = format!("{text}\t{}", key.sign(&text));
    let mut bytes = [b' '; SLOT];
    bytes[..line.len()].copy_from_slice(line.as_bytes());
    bytes[SLOT - 1] = b'\n';
    bytes
}

fn newest(bytes: &[u8], key: &PublicKey) -> Option<Position> {
    bytes.chunks(SLOT).filter_map(|slot| parse(slot, key)).max_by_key(|head| head.number)
}

fn parse(slot: &[u8], key: &PublicKey) -> Option<Position> {
    let (text, signature) = std::str::from_utf8(slot).ok()?.trim_end().split_once('\t')?;
    let (number, hash) = text.split_once(':')?;
    let is_hash = hash.len() == FIRST.len();
    let head = Position { number: number.parse().ok()?, previous: hash.to_owned() };
    (is_hash && key.has_signed(text, signature)).then_some(head)
}

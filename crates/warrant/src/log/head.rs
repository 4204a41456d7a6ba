//! The file `head`: the newest act that is known to be on the disk and the latest time at which the register
//! has acted, signed. A log that lacks that act was cut short, and a clock that is earlier was set back.
//!
//! It has two slots of 512 bytes; the older one is overwritten, so that a power cut spoils one of them at
//! most. A slot is the number of acts, a colon, the hash of the newest, a colon, the time in microseconds, a
//! tab, the signature of all of that, spaces and a line feed. It is written after its act was synced: it may
//! be older than the log, never newer.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use ringtap_model::Nanos;

use crate::error::Error;
use crate::log::files;
use crate::log::key::{Keys, PublicKey};
use crate::log::line::{FIRST, Position};

const NAME: &str = "head";
const SLOT: usize = 512;
const BEFORE: &str = "ringtap warrant head ";

/// What the head says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HeadRecord {
    pub(crate) next: Position,
    pub(crate) latest: Nanos,
}

/// An open head.
pub(crate) struct HeadFile(File);

impl HeadFile {
    /// Makes the head of a register without acts.
    pub(crate) fn create(dir: &Path, keys: &Keys) -> Result<(), Error> {
        let path = dir.join(NAME);
        let empty = slot(&HeadRecord { next: Position::first(), latest: Nanos::ZERO }, keys);
        let bytes = [empty, [b' '; SLOT]].concat();
        files::create_whole(&path, &bytes).map_err(|error| Error::io(&path, "written", error))
    }

    pub(crate) fn open(dir: &Path) -> Result<Self, Error> {
        let path = dir.join(NAME);
        files::open(&path).map(Self).map_err(|error| Error::io(&path, "opened", error))
    }

    /// None if neither slot is signed by the key.
    pub(crate) fn read(&self, key: &PublicKey) -> io::Result<Option<HeadRecord>> {
        Ok(self.newest(key)?.map(|(_, head)| head))
    }

    /// Which slot is the newest, and what it says.
    fn newest(&self, key: &PublicKey) -> io::Result<Option<(usize, HeadRecord)>> {
        let mut bytes = [0; 2 * SLOT];
        let length = self.0.metadata()?.len().min(bytes.len() as u64) as usize;
        self.0.read_exact_at(&mut bytes[..length], 0)?;
        Ok(newest(&bytes, key))
    }

    /// Writes it; the caller has the lock of the register.
    pub(crate) fn write(&self, head: &HeadRecord, keys: &Keys) -> io::Result<()> {
        let at = self.newest(&keys.public())?.map_or(0, |(at, _)| 1 - at);
        self.0.write_all_at(&slot(head, keys), (at * SLOT) as u64)
    }

    pub(crate) fn sync(&self) -> io::Result<()> {
        self.0.sync_data()
    }
}

/// The head of a register that is only read.
pub(crate) fn read(dir: &Path, key: &PublicKey) -> Result<Option<HeadRecord>, Error> {
    let path = dir.join(NAME);
    match files::read_short(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Error::io(&path, "read", error)),
        Ok(bytes) => Ok(newest(&bytes, key).map(|(_, head)| head)),
    }
}

fn slot(head: &HeadRecord, keys: &Keys) -> [u8; SLOT] {
    let HeadRecord { next, latest } = head;
    let text = format!("{}:{}:{}", next.number, next.previous, latest.micros());
    let line = format!("{text}\t{}", keys.sign(&format!("{BEFORE}{text}")));
    let mut bytes = [b' '; SLOT];
    bytes[..line.len()].copy_from_slice(line.as_bytes());
    bytes[SLOT - 1] = b'\n';
    bytes
}

fn newest(bytes: &[u8], key: &PublicKey) -> Option<(usize, HeadRecord)> {
    let slots = bytes.chunks(SLOT).take(2).enumerate();
    let read = slots.filter_map(|(at, slot)| Some((at, parse(slot, key)?)));
    read.max_by_key(|(_, head)| (head.next.number, head.latest))
}

fn parse(slot: &[u8], key: &PublicKey) -> Option<HeadRecord> {
    let (text, signature) = std::str::from_utf8(slot).ok()?.trim_end().split_once('\t')?;
    let [number, hash, latest] = text.split(':').collect::<Vec<_>>().try_into().ok()?;
    let next = Position { number: number.parse().ok()?, previous: hash.to_owned() };
    let latest = Nanos::from_micros(latest.parse().ok()?);
    let is_right = hash.len() == FIRST.len() && key.has_signed(&format!("{BEFORE}{text}"), signature);
    is_right.then_some(HeadRecord { next, latest })
}

//! What waits for a mediation function, on the disk: batches in files, sealed, until their arrival is
//! confirmed.
//!
//! INVARIANT: a batch is in a file before its first octet is sent. So after a kill, what may have arrived
//! is known, with its numbers; it is sent again as it was, and new product goes on with the next numbers.
//!
//! A file has a head (magic, number, salt) and records. A record is its length (u32, little endian), the
//! number of its batch (u64) and the sealed batch. The key of a file comes from the buffer's key and the
//! salt by HKDF-SHA256, and the nonce is the place of the record in the file, so that no nonce comes
//! twice: a file that was there at the start is never appended to. The head and the number of the batch
//! are authenticated, so that no record can take another's place. A record that the kill cut is the last
//! of its file, and was not acknowledged.

use std::collections::{HashMap, VecDeque};
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ring::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::hkdf;
use ring::rand::{SecureRandom, SystemRandom};

use super::batch::{Batch, Entry};
use crate::{Cin, Liid};

/// Batches of one link on the disk.
#[derive(Debug)]
pub(crate) struct Buffer {
    directory: PathBuf,
    key: BufferKey,
    files: VecDeque<FileSummary>,
    open: Option<OpenFile>,
    /// Number of the next file.
    next_file: u64,
    /// Number of the next batch that is written.
    end: u64,
    /// Number of the first batch that is not confirmed.
    confirmed: u64,
    cursor: Cursor,
    /// The last batches, for reading them without the disk.
    recent: VecDeque<(u64, Arc<Batch>)>,
    recent_bytes: u64,
    mark: File,
    /// Nobody else uses the directory as long as this is open.
    _lock: File,
}

/// Key that the files are sealed with.
#[derive(Clone)]
pub struct BufferKey(Arc<zeroize::Zeroizing<[u8; 32]>>);

impl BufferKey {
    /// From 32 secret octets.
    pub fn new(octets: [u8; 32]) -> Self {
        Self(Arc::new(zeroize::Zeroizing::new(octets)))
    }
}

impl std::fmt::Debug for BufferKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("BufferKey(..)")
    }
}

/// What was found at the start.
#[derive(Debug, Default)]
pub(crate) struct Recovered {
    /// Next sequence number of each CIN.
    pub(crate) counters: HashMap<(Liid, Cin), u32>,
    /// Octets of each warrant that are not confirmed.
    pub(crate) waiting: HashMap<Liid, u64>,
    /// PDUs that are not confirmed.
    pub(crate) pdus: u64,
    /// Files with records that cannot be opened with the key, or are damaged.
    pub(crate) damaged: u64,
}

#[derive(Debug)]
struct FileSummary {
    number: u64,
    /// Number of the first batch in it, and of the first one behind it.
    first: u64,
    end: u64,
}

#[derive(Debug)]
struct OpenFile {
    file: File,
    seal: Seal,
    records: u64,
    bytes: u64,
}

/// Where reading goes on.
#[derive(Debug, Default)]
struct Cursor {
    batch: u64,
    file: Option<ReadFile>,
}

#[derive(Debug)]
struct ReadFile {
    number: u64,
    file: File,
    seal: Seal,
    records: u64,
    offset: u64,
}

impl Buffer {
    /// Opens the buffer in a directory of its own, and makes it where it is not there.
    pub(crate) fn open(directory: &Path, key: &BufferKey) -> io::Result<(Self, Recovered)> {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
        let lock = private().create(true).truncate(false).open(directory.join("lock"))?;
        lock.try_lock()
            .map_err(|_| io::Error::new(ErrorKind::ResourceBusy, "another process uses this buffer"))?;
        let mark = private().read(true).create(true).truncate(false).open(directory.join("confirmed"))?;
        let mut buffer = Self {
            directory: directory.to_owned(),
            key: key.clone(),
            files: VecDeque::new(),
            open: None,
            next_file: 0,
            end: 0,
            confirmed: read_mark(&mark).unwrap_or(0),
            cursor: Cursor::default(),
            recent: VecDeque::new(),
            recent_bytes: 0,
            mark,
            _lock: lock,
        };
        let recovered = buffer.recover()?;
        Ok((buffer, recovered))
    }

    /// Where the files are.
    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    /// Whether everything that was written has arrived.
    pub(crate) fn is_all_confirmed(&self) -> bool {
        self.confirmed >= self.end
    }

    /// Number of the first batch that is not confirmed.
    pub(crate) fn confirmed(&self) -> u64 {
        self.confirmed
    }

    /// Writes a batch. `counters` is asked for where a new file begins. After an error nothing of it is kept.
    pub(crate) fn append(&mut self, batch: &Arc<Batch>, counters: impl FnOnce() -> Batch) -> io::Result<()> {
        if self.open.as_ref().is_none_or(|open| open.bytes >= FILE_BYTES) {
            self.begin_file(&counters())?;
        }
        let number = self.end;
        if let Err(error) = self.write(number, BATCH, batch) {
            // What of it is in the file is cut off by whoever reads it: the file is not appended to.
            self.open = None;
            return Err(error);
        }
        self.end += 1;
        if let Some(summary) = self.files.back_mut() {
            summary.end = self.end;
        }
        self.recent.push_back((number, Arc::clone(batch)));
        self.recent_bytes += batch.bytes();
        while self.recent_bytes > RECENT_BYTES && self.recent.len() > 1 {
            if let Some((_, old)) = self.recent.pop_front() {
                self.recent_bytes -= old.bytes();
            }
        }
        Ok(())
    }

    /// The next batch to send, with its number; None where all were returned. A batch that cannot be read
    /// any more is skipped: `Err` holds how many were.
    pub(crate) fn next(&mut self) -> Result<Option<(u64, Arc<Batch>)>, u64> {
        let number = self.cursor.batch;
        if number >= self.end {
            return Ok(None);
        }
        if let Some(first) = self.recent.front().map(|(first, _)| *first)
            && number >= first
        {
            let batch = Arc::clone(&self.recent[(number - first) as usize].1);
            self.cursor.batch += 1;
            self.cursor.file = None;
            return Ok(Some((number, batch)));
        }
        match self.read_at_cursor() {
            Some(batch) => {
                self.cursor.batch += 1;
                Ok(Some((number, Arc::new(batch))))
            }
            None => {
                // Damaged: the rest of this file is not readable, or the file is not there. Go on behind it.
                let behind = self
                    .files
                    .iter()
                    .find(|file| file.end > number)
                    .map_or(self.end, |file| if file.first > number { file.first } else { file.end });
                self.cursor = Cursor { batch: behind, file: None };
                Err(behind - number)
            }
        }
    }

    /// The next batch that [`next`](Self::next) returns is the first one that is not confirmed.
    pub(crate) fn rewind(&mut self) {
        self.cursor = Cursor { batch: self.confirmed, file: None };
    }

    /// All batches before `up_to` arrived.
    pub(crate) fn confirm(&mut self, up_to: u64) -> io::Result<()> {
        self.confirmed = self.confirmed.max(up_to.min(self.end));
        self.cursor.batch = self.cursor.batch.max(self.confirmed);
        while self.recent.front().is_some_and(|(number, _)| *number < self.confirmed) {
            if let Some((_, old)) = self.recent.pop_front() {
                self.recent_bytes -= old.bytes();
            }
        }
        write_mark(&self.mark, self.confirmed)?;
        // The newest file stays: it holds the counters.
        while self.files.len() > 1 && self.files[0].end <= self.confirmed {
            let number = self.files[0].number;
            fs::remove_file(self.path(number))?;
            self.files.pop_front();
        }
        Ok(())
    }

    fn begin_file(&mut self, counters: &Batch) -> io::Result<()> {
        let number = self.next_file;
        let mut salt = [0; SALT];
        SystemRandom::new()
            .fill(&mut salt)
            .map_err(|_| io::Error::other("the system gives no random octets"))?;
        let head = head(number, &salt);
        let file = private().read(true).create_new(true).open(self.path(number))?;
        self.next_file += 1;
        self.files.push_back(FileSummary { number, first: self.end, end: self.end });
        file.write_all_at(&head, 0)?;
        self.open =
            Some(OpenFile { file, seal: Seal::new(&self.key, &head), records: 0, bytes: HEAD as u64 });
        let result = self.write(self.end, COUNTERS, counters);
        if result.is_err() {
            self.open = None;
        }
        result
    }

    fn write(&mut self, number: u64, kind: u8, batch: &Batch) -> io::Result<()> {
        let Some(open) = &mut self.open else { return Err(io::Error::other("the file is not open")) };
        let mut record = Vec::with_capacity(RECORD_HEAD + batch.pdus.len() + batch.entries.len() * 40 + 64);
        record.resize(RECORD_HEAD, 0);
        batch.write(kind, &mut record);
        let sealed = open.seal.seal(open.records, number, &mut record);
        record.truncate(RECORD_HEAD + sealed);
        record[..4].copy_from_slice(&(sealed as u32).to_le_bytes());
        record[4..RECORD_HEAD].copy_from_slice(&number.to_le_bytes());
        open.file.write_all_at(&record, open.bytes)?;
        open.records += 1;
        open.bytes += record.len() as u64;
        Ok(())
    }

    fn read_at_cursor(&mut self) -> Option<Batch> {
        let number = self.cursor.batch;
        let summary = self.files.iter().find(|file| file.first <= number && number < file.end)?;
        if self.cursor.file.as_ref().is_none_or(|file| file.number != summary.number) {
            self.cursor.file = Some(ReadFile::open(&self.path(summary.number), summary.number, &self.key)?);
        }
        let file = self.cursor.file.as_mut()?;
        loop {
            let (kind, found, batch) = file.read()?;
            if kind == BATCH && found == number {
                return Some(batch);
            }
        }
    }

    /// Reads all files that are there.
    fn recover(&mut self) -> io::Result<Recovered> {
        let mut recovered = Recovered::default();
        let mut numbers: Vec<u64> = Vec::new();
        for entry in fs::read_dir(&self.directory)? {
            let name = entry?.file_name();
            let number = name.to_str().and_then(|name| name.strip_suffix(SUFFIX));
            numbers.extend(number.and_then(|number| number.parse::<u64>().ok()));
        }
        numbers.sort_unstable();
        self.end = self.confirmed;
        for number in numbers {
            self.next_file = number + 1;
            let summary = self.recover_file(number, &mut recovered);
            self.files.push_back(summary);
        }
        // Files of which everything is confirmed are of no use but for their counters, which the next
        // file gets.
        self.rewind();
        Ok(recovered)
    }

    fn recover_file(&mut self, number: u64, recovered: &mut Recovered) -> FileSummary {
        let mut first = None;
        let path = self.path(number);
        let Some(mut file) = ReadFile::open(&path, number, &self.key) else {
            // A file that a kill cut within its head holds nothing.
            recovered.damaged += u64::from(fs::metadata(&path).is_ok_and(|file| file.len() >= HEAD as u64));
            return FileSummary { number, first: self.end, end: self.end };
        };
        while let Some((kind, batch_number, batch)) = file.read() {
            first.get_or_insert(batch_number);
            if kind == COUNTERS {
                recovered
                    .counters
                    .extend(batch.entries.iter().map(|entry| ((entry.liid, entry.cin), entry.sequence)));
                continue;
            }
            self.end = self.end.max(batch_number + 1);
            for entry in &batch.entries {
                recovered.counters.insert((entry.liid, entry.cin), entry.sequence.wrapping_add(1));
            }
            if batch_number >= self.confirmed {
                recovered.pdus += batch.entries.len() as u64;
                for (liid, bytes, _) in batch.by_warrant() {
                    *recovered.waiting.entry(liid).or_default() += bytes;
                }
            }
        }
        recovered.damaged += u64::from(file.is_damaged());
        FileSummary { number, first: first.unwrap_or(self.end), end: self.end }
    }

    fn path(&self, number: u64) -> PathBuf {
        self.directory.join(format!("{number:020}{SUFFIX}"))
    }
}

impl ReadFile {
    fn open(path: &Path, number: u64, key: &BufferKey) -> Option<Self> {
        let mut file = File::open(path).ok()?;
        let mut found = [0; HEAD];
        file.read_exact(&mut found).ok()?;
        let salt = found[HEAD - SALT..].try_into().ok()?;
        let expected = head(number, &salt);
        (found == expected).then(|| Self {
            number,
            file,
            seal: Seal::new(key, &expected),
            records: 0,
            offset: HEAD as u64,
        })
    }

    /// The next record; None at the end, and where it is cut or damaged.
    fn read(&mut self) -> Option<(u8, u64, Batch)> {
        let mut record_head = [0; RECORD_HEAD];
        self.file.read_exact_at(&mut record_head, self.offset).ok()?;
        let length = u32::from_le_bytes(*record_head.first_chunk()?) as usize;
        let number = u64::from_le_bytes(*record_head.last_chunk()?);
        if length > MOST_RECORD {
            return None;
        }
        let mut sealed = vec![0; length];
        self.file.read_exact_at(&mut sealed, self.offset + RECORD_HEAD as u64).ok()?;
        let plain = self.seal.open(self.records, number, &mut sealed)?;
        let (kind, batch) = Batch::read(plain)?;
        self.records += 1;
        self.offset += (RECORD_HEAD + length) as u64;
        Some((kind, number, batch))
    }

    /// Whether something whole stands where reading stopped. A kill leaves the last record cut, and that
    /// is no damage.
    fn is_damaged(&self) -> bool {
        let mut length = [0; 4];
        if self.file.read_exact_at(&mut length, self.offset).is_err() {
            return false;
        }
        let end = self.offset + RECORD_HEAD as u64 + u64::from(u32::from_le_bytes(length));
        self.file.metadata().is_ok_and(|file| file.len() >= end)
    }
}

/// Seals and opens the records of one file.
struct Seal {
    key: Option<LessSafeKey>,
    head: [u8; HEAD],
}

impl std::fmt::Debug for Seal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Seal(..)")
    }
}

impl Seal {
    fn new(key: &BufferKey, head: &[u8; HEAD]) -> Self {
        let extracted = hkdf::Salt::new(hkdf::HKDF_SHA256, &head[HEAD - SALT..]).extract(&**key.0);
        let expanded = extracted.expand(&[b"ringtap handover buffer"], &AES_256_GCM).map(UnboundKey::from);
        Self { key: expanded.ok().map(LessSafeKey::new), head: *head }
    }

    /// Seals what stands behind the head of a record. Returns its octets with the tag.
    fn seal(&self, record: u64, batch: u64, octets: &mut Vec<u8>) -> usize {
        // Neither fails: the key has the length of the algorithm, and no batch is near 64 GiB.
        let Some(key) = &self.key else { return 0 };
        let tag = key.seal_in_place_separate_tag(
            nonce(record),
            Aad::from(self.bound(batch)),
            &mut octets[RECORD_HEAD..],
        );
        if let Ok(tag) = tag {
            octets.extend_from_slice(tag.as_ref());
        }
        octets.len() - RECORD_HEAD
    }

    fn open<'a>(&self, record: u64, batch: u64, sealed: &'a mut [u8]) -> Option<&'a [u8]> {
        let opened = self.key.as_ref()?.open_in_place(nonce(record), Aad::from(self.bound(batch)), sealed);
        opened.ok().map(|plain| &*plain)
    }

    fn bound(&self, batch: u64) -> [u8; HEAD + 8] {
        let mut bound = [0; HEAD + 8];
        bound[..HEAD].copy_from_slice(&self.head);
        bound[HEAD..].copy_from_slice(&batch.to_le_bytes());
        bound
    }
}

/// The counters of all CINs as a batch.
pub(crate) fn counters_batch(counters: impl Iterator<Item = (Liid, Cin, u32)>) -> Batch {
    let entries = counters.map(|(liid, cin, sequence)| Entry { liid, cin, sequence, length: 0 }).collect();
    Batch { pdus: Vec::new(), entries }
}

fn nonce(record: u64) -> Nonce {
    let mut nonce = [0; NONCE_LEN];
    nonce[4..].copy_from_slice(&record.to_be_bytes());
    Nonce::assume_unique_for_key(nonce)
}

fn head(number: u64, salt: &[u8; SALT]) -> [u8; HEAD] {
    let mut head = [0; HEAD];
    head[..8].copy_from_slice(MAGIC);
    head[8..16].copy_from_slice(&number.to_le_bytes());
    head[16..].copy_from_slice(salt);
    head
}

/// The number of the first batch that is not confirmed, twice, the second time inverted: a mark that is
/// cut is none.
fn write_mark(file: &File, confirmed: u64) -> io::Result<()> {
    let mut mark = [0; 16];
    mark[..8].copy_from_slice(&confirmed.to_le_bytes());
    mark[8..].copy_from_slice(&(!confirmed).to_le_bytes());
    file.write_all_at(&mark, 0)
}

fn read_mark(file: &File) -> Option<u64> {
    let mut mark = [0; 16];
    file.read_exact_at(&mut mark, 0).ok()?;
    let confirmed = u64::from_le_bytes(*mark.first_chunk()?);
    (u64::from_le_bytes(*mark.last_chunk()?) == !confirmed).then_some(confirmed)
}

fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true).mode(0o600);
    options
}

const MAGIC: &[u8; 8] = b"RTHANDO1";
const SUFFIX: &str = ".product";
const SALT: usize = 32;
const HEAD: usize = 16 + SALT;
const RECORD_HEAD: usize = 12;
/// A record: the counters of the most CINs are the longest.
const MOST_RECORD: usize = 64 << 20;
/// A file is closed once it has so many octets.
const FILE_BYTES: u64 = 16 << 20;
/// Octets of batches that are kept in memory.
const RECENT_BYTES: u64 = 8 << 20;
const COUNTERS: u8 = 0;
const BATCH: u8 = 1;

#[cfg(test)]
mod tests;

//! The thread that writes blocks to the files of segments.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use ringtap_model::Nanos;
use rustix::fs::{FallocateFlags, fallocate};

use crate::error::Error;
use crate::files::{create_dir, sync_dir};
use crate::hex::{hex, sha256_hex};
use crate::segment::index::{self, IndexRow};
use crate::segment::marker::{self, Chunk, Link};
use crate::segment::name::{Category, Segment};
use crate::trust::chain::Chain;
use crate::trust::head::KnownHead;
use crate::trust::keys::{self, Proof};
use crate::trust::seal::{self, Content, State};
use crate::trust::verify::report::Finding;
use crate::write::job::{Block, Job, JobQueue};

/// How often written data is synced to disk.
const SYNC: Duration = Duration::from_secs(1);

/// A chunk that could not be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LostChunk {
    /// The owner's [`key`](crate::key).
    pub owner: u64,
    /// Packets in it.
    pub packets: u32,
    /// Time of the first packet and of the last.
    pub first: Nanos,
    /// See `first`.
    pub last: Nanos,
}

/// Lost chunks that are remembered until somebody asks.
const MOST_REFUSED: usize = 1 << 16;

/// Totals of a writer since its start, and its stop switch. Any thread may read them.
#[derive(Debug, Default)]
pub struct WriterStatus {
    pub(crate) bytes: AtomicU64,
    pub(crate) writes: AtomicU64,
    pub(crate) syncs: AtomicU64,
    pub(crate) segments: AtomicU64,
    chunks: AtomicU64,
    pub(crate) lost_packets: AtomicU64,
    pub(crate) failures: AtomicU64,
    /// Of the failures: those on a full disk.
    full: AtomicU64,
    failure: Mutex<Option<Error>>,
    last_failure: Mutex<Option<Error>>,
    /// Lost chunks of closed segments, without interception product.
    refused: Mutex<Vec<LostChunk>>,
    /// The open segment of each category.
    open: Mutex<[Option<Segment>; Category::ALL.len()]>,
    stopped: AtomicBool,
    quarantined: Mutex<Vec<Segment>>,
    disagreements: Mutex<Vec<Finding>>,
    heads: Mutex<[Option<KnownHead>; Category::ALL.len()]>,
}

impl WriterStatus {
    /// Bytes written.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Relaxed)
    }

    /// Write operations.
    pub fn writes(&self) -> u64 {
        self.writes.load(Relaxed)
    }

    /// Sync operations.
    pub fn syncs(&self) -> u64 {
        self.syncs.load(Relaxed)
    }

    /// Chunks packed for the disk.
    pub fn chunks(&self) -> u64 {
        self.chunks.load(Relaxed)
    }

    /// Segments closed, with their indexes.
    pub fn segments(&self) -> u64 {
        self.segments.load(Relaxed)
    }

    /// Packets of chunks that could not be written.
    pub fn lost_packets(&self) -> u64 {
        self.lost_packets.load(Relaxed)
    }

    /// Removes and returns the chunks that could not be written, without interception product. A chunk is
    /// known to be lost when its segment is closed. Beyond a ceiling lost chunks are only counted.
    pub fn drain_lost_chunks(&self) -> Vec<LostChunk> {
        std::mem::take(&mut *self.refused.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn refuse(&self, chunk: &Chunk) {
        let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        if refused.len() < MOST_REFUSED {
            let Chunk { owner, packets, first, last, .. } = *chunk;
            refused.push(LostChunk { owner, packets, first, last });
        }
    }

    /// Operations that failed.
    pub fn failures(&self) -> u64 {
        self.failures.load(Relaxed)
    }

    /// Why the last operation failed; None once one has succeeded again.
    pub fn failure(&self) -> Option<Error> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Why an operation failed last, although others have succeeded since: packets are known to be lost when
    /// their segment is closed.
    pub fn last_failure(&self) -> Option<Error> {
        self.last_failure.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Operations that failed on a full disk.
    pub fn full(&self) -> u64 {
        self.full.load(Relaxed)
    }

    /// Segments that are being written, or whose index is.
    pub fn open(&self) -> Vec<Segment> {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.iter().flatten().cloned().collect()
    }

    /// Segments without a seal that lay in the signed spool at the start, and that no writer of it had begun,
    /// or that had chunks which it had not written. They are in `quarantine/` now, as they were: nobody reads
    /// them there, and nothing deletes them.
    pub fn quarantined(&self) -> Vec<Segment> {
        self.quarantined.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn set_quarantined(&self, segments: Vec<Segment>) {
        *self.quarantined.lock().unwrap_or_else(PoisonError::into_inner) = segments;
    }

    pub(crate) fn set_disagreements(&self, findings: Vec<Finding>) {
        *self.disagreements.lock().unwrap_or_else(PoisonError::into_inner) = findings;
    }

    /// How the chains on the disk differed at the start from what was remembered of them: seals were removed
    /// or written anew, or another key signed.
    pub fn disagreements(&self) -> Vec<Finding> {
        self.disagreements.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The newest seal of each chain, if segments are signed.
    pub fn heads(&self) -> Vec<KnownHead> {
        self.heads.lock().unwrap_or_else(PoisonError::into_inner).iter().flatten().cloned().collect()
    }

    pub(crate) fn set_head(&self, head: KnownHead) {
        let category = head.category as usize;
        self.heads.lock().unwrap_or_else(PoisonError::into_inner)[category] = Some(head);
    }

    /// Stops recording, or resumes it. Packets that the writer has accepted are written all the same.
    pub fn set_stopped(&self, stop: bool) {
        self.stopped.store(stop, Relaxed);
    }

    /// Whether recording is stopped.
    pub fn is_stopped(&self) -> bool {
        self.stopped.load(Relaxed)
    }

    /// Counts a chunk that was packed.
    pub(crate) fn packed(&self) {
        self.chunks.fetch_add(1, Relaxed);
    }

    /// Counts a chunk that never reached the disk.
    pub(crate) fn lose(&self, category: Category, chunk: &Chunk) {
        self.lost_packets.fetch_add(u64::from(chunk.packets), Relaxed);
        if Category::of(false).contains(&category) {
            self.refuse(chunk);
        }
    }

    fn opened(&self, category: Category, segment: Option<Segment>) {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)[category as usize] = segment;
    }

    /// Counts a failure and remembers it; returns whether the operation succeeded.
    fn record(&self, result: Result<(), Error>) -> bool {
        let is_ok = result.is_ok();
        self.failures.fetch_add(u64::from(!is_ok), Relaxed);
        let full = result.as_ref().is_err_and(Error::is_full);
        self.full.fetch_add(u64::from(full), Relaxed);
        if let Err(error) = &result {
            let mut last = self.last_failure.lock().unwrap_or_else(PoisonError::into_inner);
            *last = Some(error.clone());
        }
        let mut failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        if failure.is_some() || !is_ok {
            *failure = result.err();
        }
        is_ok
    }
}

/// An open segment.
struct OpenSegment {
    segment: Segment,
    path: PathBuf,
    /// None if it could not be created: its blocks count as lost.
    file: Option<File>,
    /// Bytes that are known to be on the disk.
    synced: u64,
    /// Bytes for which the file has space on the disk; all that it may want where none can be had ahead.
    reserved: u64,
    /// Byte ranges that could not be written.
    refused: Vec<(u64, u64)>,
    /// Hash of the bytes written, if segments are signed: reading them again would cost as much as writing
    /// them.
    digest: Option<blake3::Hasher>,
    length: u64,
    /// Its key file.
    keys: OpenKeyFile,
}

/// The key file of an open segment.
#[derive(Default)]
struct OpenKeyFile {
    /// None until a key is written, or if it could not be created.
    file: Option<File>,
    /// Bytes that were written, and of them those that are known to be on the disk.
    length: u64,
    synced: u64,
    refused: Vec<(u64, u64)>,
    proof: Option<Proof>,
}

pub(crate) struct DiskWriter {
    pub(crate) dir: PathBuf,
    /// The chain of each category, if segments are signed.
    pub(crate) chains: [Option<Chain>; Category::ALL.len()],
    pub(crate) link: Link,
    pub(crate) direct: bool,
    pub(crate) spare: Sender<Block>,
    pub(crate) spare_keys: Sender<Block>,
    pub(crate) spare_rows: Sender<Vec<IndexRow>>,
    pub(crate) written: Arc<WriterStatus>,
}

impl DiskWriter {
    /// Runs until the writer is gone.
    pub(crate) fn serve(mut self, jobs: &Receiver<Job>) {
        let mut open = Category::ALL.map(|_| None::<OpenSegment>);
        let mut synced = Instant::now();
        let mut queue = JobQueue::of(jobs);
        loop {
            match queue.next(SYNC) {
                Ok(Job::Open(category, segment)) => {
                    self.written.opened(category, Some(segment.clone()));
                    open[category as usize] = Some(self.open(segment));
                }
                Ok(Job::Write { category, block, len, offset }) => {
                    if let Some(open) = &mut open[category as usize] {
                        self.secure_keys(open, category, &mut queue);
                        self.write(open, &block.data()[..len], offset);
                    }
                    // The packer may have ended: it needs no block then.
                    let _ = self.spare.send(block);
                }
                Ok(Job::Keys { category, block, len, offset }) => {
                    if let Some(open) = &mut open[category as usize] {
                        self.write_keys(open, &block.data()[..len], offset);
                    }
                    let _ = self.spare_keys.send(block);
                }
                Ok(Job::Close(category, mut rows)) => {
                    if let Some(open) = open[category as usize].take() {
                        self.close(open, &mut rows);
                    }
                    self.written.opened(category, None);
                    rows.clear();
                    let _ = self.spare_rows.send(rows);
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            if synced.elapsed() >= SYNC {
                open.iter_mut().flatten().for_each(|open| self.sync(open));
                synced = Instant::now();
            }
        }
    }

    fn open(&mut self, segment: Segment) -> OpenSegment {
        if let Some(chain) = &mut self.chains[segment.category() as usize] {
            // If it fails, packets are recorded all the same; after a kill nothing would prove them.
            self.written.record(chain.open(&segment));
        }
        let path = segment.path(&self.dir);
        let created = self.create(&path).map_err(|error| Error::io(&path, "created", error));
        let (file, result) = match created {
            Ok(file) => (Some(file), Ok(())),
            Err(error) => (None, Err(error)),
        };
        self.written.record(result);
        let signed = self.chains[segment.category() as usize].is_some();
        OpenSegment {
            segment,
            path,
            file,
            synced: 0,
            reserved: 0,
            refused: Vec::new(),
            digest: signed.then(blake3::Hasher::new),
            length: 0,
            keys: OpenKeyFile { proof: signed.then(Proof::default), ..OpenKeyFile::default() },
        }
    }

    fn create(&self, path: &Path) -> io::Result<File> {
        if let Some(day) = path.parent() {
            create_dir(day)?;
        }
        let plain = || OpenOptions::new().write(true).create_new(true).open(path);
        if !self.direct {
            return plain();
        }
        let direct = OpenOptions::new().write(true).create_new(true).custom_flags(libc::O_DIRECT).open(path);
        match direct {
            // A file system in memory has no direct writes. It may have created the file before it said so.
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) => {
                let _ = fs::remove_file(path);
                plain()
            }
            other => other,
        }
    }

    fn write(&self, open: &mut OpenSegment, bytes: &[u8], offset: u64) {
        let Some(file) = &open.file else {
            open.refused.push((offset, offset + bytes.len() as u64));
            return;
        };
        open.reserved = reserve(file, open.reserved, offset, bytes.len() as u64);
        let result =
            file.write_all_at(bytes, offset).map_err(|error| Error::io(&open.path, "written", error));
        if self.written.record(result) {
            open.digest.iter_mut().for_each(|digest| _ = digest.update(bytes));
            open.length = offset + bytes.len() as u64;
            self.written.bytes.fetch_add(bytes.len() as u64, Relaxed);
            self.written.writes.fetch_add(1, Relaxed);
        } else {
            open.refused.push((offset, offset + bytes.len() as u64));
        }
    }

    /// Keys are few: they go through the page cache.
    fn write_keys(&self, open: &mut OpenSegment, bytes: &[u8], offset: u64) {
        let path = open.path.with_extension("keys");
        let keys = &mut open.keys;
        if keys.file.is_none() && offset == 0 && open.file.is_some() {
            let created = OpenOptions::new().write(true).create_new(true).mode(0o640).open(&path);
            keys.file = match created {
                Ok(file) => Some(file),
                Err(error) => {
                    self.written.record(Err(Error::io(&path, "created", error)));
                    None
                }
            };
        }
        let written = keys.file.as_ref().is_some_and(|file| {
            let result = file.write_all_at(bytes, offset);
            self.written.record(result.map_err(|error| Error::io(&path, "written", error)))
        });
        if written {
            keys.length = offset + bytes.len() as u64;
            keys.proof.iter_mut().for_each(|proof| proof.update(bytes, offset));
            self.written.bytes.fetch_add(bytes.len() as u64, Relaxed);
            self.written.writes.fetch_add(1, Relaxed);
        } else {
            keys.refused.push((offset, offset + bytes.len() as u64));
        }
    }

    /// Syncs keys that were written, with those that wait behind blocks of the segment: if the disk is slow,
    /// many blocks wait, and one sync serves them all.
    fn secure_keys(&self, open: &mut OpenSegment, category: Category, queue: &mut JobQueue<'_>) {
        if open.keys.length == open.keys.synced {
            return;
        }
        while let Some((block, len, offset)) = queue.next_keys(category) {
            self.write_keys(open, &block.data()[..len], offset);
            let _ = self.spare_keys.send(block);
        }
        self.sync_keys(open);
    }

    fn sync_keys(&self, open: &mut OpenSegment) {
        let OpenSegment { path, keys, .. } = open;
        let Some(file) = keys.file.as_ref().filter(|_| keys.length > keys.synced) else { return };
        // A new file is lost with the entry of its directory.
        let directory = || path.parent().filter(|_| keys.synced == 0).map_or(Ok(()), sync_dir);
        let result = file.sync_data().and_then(|()| directory());
        let path = path.with_extension("keys");
        let is_synced =
            self.written.record(result.map_err(|error| Error::io(&path, "synced to disk", error)));
        self.written.syncs.fetch_add(1, Relaxed);
        if !is_synced {
            keys.refused.push((keys.synced, keys.length));
        }
        keys.synced = keys.length;
    }

    fn sync(&self, open: &mut OpenSegment) {
        self.sync_keys(open);
        let Some(file) = open.file.as_ref().filter(|_| open.length > open.synced) else { return };
        // A new file is lost with the entry of its directory.
        let directory = || open.path.parent().filter(|_| open.synced == 0).map_or(Ok(()), sync_dir);
        let result = file.sync_data().and_then(|()| directory());
        let result = result.map_err(|error| Error::io(&open.path, "synced to disk", error));
        self.written.syncs.fetch_add(1, Relaxed);
        if !self.written.record(result) {
            // The kernel may have dropped what it could not write, and says so once: the next sync succeeds.
            open.refused.push((open.synced, open.length));
        }
        open.synced = open.length;
    }

    /// Writes the index once the segment is synced: no index exists without its segment.
    fn close(&mut self, mut open: OpenSegment, rows: &mut Vec<IndexRow>) {
        self.sync(&mut open);
        if let Some(file) = &open.file {
            // Returns the space behind its end; if that fails, the file keeps it until it is deleted.
            let _ = file.metadata().and_then(|told| file.set_len(told.len()));
        }
        let head = marker::len(self.link) as u64;
        rows.retain(|row| {
            let (from, to) = (row.offset, row.offset + head + u64::from(row.chunk.length));
            let refused = |refused: &[(u64, u64)], from: u64, to: u64| {
                refused.iter().any(|(start, end)| *start < to && from < *end)
            };
            let key = keys::at(row.chunk.key);
            let keyless = row.chunk.is_sealed() && refused(&open.keys.refused, key, key + keys::ROW as u64);
            let whole = !refused(&open.refused, from, to) && !keyless;
            if !whole {
                self.written.lose(open.segment.category(), &row.chunk);
            }
            whole
        });
        if open.file.is_none() {
            return;
        }
        let path = open.path.with_extension("idx");
        let bytes = index::encode(rows);
        let written = self.write_index(&path, &bytes);
        let indexed = self.written.record(written.map_err(|error| Error::io(&path, "written", error)));
        if indexed {
            self.written.segments.fetch_add(1, Relaxed);
        }
        let index = indexed.then(|| sha256_hex(&bytes));
        if let Some(chain) = &mut self.chains[open.segment.category() as usize] {
            let sealed = seal(chain, open, rows.len() as u64, index);
            if self.written.record(sealed) {
                self.written.writes.fetch_add(2, Relaxed);
                chain.head().into_iter().for_each(|head| self.written.set_head(head));
            }
        }
    }

    fn write_index(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let file = OpenOptions::new().write(true).create_new(true).open(path)?;
        file.write_all_at(bytes, 0)?;
        file.sync_data()?;
        // No seal is on the disk without its index.
        path.parent().map_or(Ok(()), sync_dir)?;
        self.written.bytes.fetch_add(bytes.len() as u64, Relaxed);
        self.written.writes.fetch_add(1, Relaxed);
        Ok(())
    }
}

/// Has space behind the end of a file before it is written: file systems write to it faster than to space
/// that each write has to find. Returns the bytes for which there is space now.
fn reserve(file: &File, reserved: u64, offset: u64, len: u64) -> u64 {
    let end = offset + len;
    if end <= reserved {
        return reserved;
    }
    // As much again as the segment has: a small one does not take much.
    let wanted = end + offset.min(AHEAD);
    match fallocate(file, FallocateFlags::KEEP_SIZE, offset, wanted - offset) {
        Ok(()) => wanted,
        // No room for as much, or a file system that has no such call: the write itself tells.
        Err(_) => u64::MAX,
    }
}

/// Bytes of space that a segment has ahead of what is written, at most.
const AHEAD: u64 = 128 << 20;

fn seal(chain: &mut Chain, open: OpenSegment, chunks: u64, index: Option<String>) -> Result<(), Error> {
    let OpenSegment { segment, path, refused, digest, length, keys, .. } = open;
    let (bytes, blake3) = match digest {
        Some(digest) if refused.is_empty() => (length, digest.finalize().into()),
        // The file is not what should have been written: hash what is there.
        _ => seal::hash(&path).map_err(|error| Error::io(&path, "read", error))?,
    };
    let keys = match keys {
        OpenKeyFile { file: None, .. } => None,
        OpenKeyFile { proof: Some(proof), refused, .. } if refused.is_empty() => Some(proof.end()),
        _ => {
            let path = path.with_extension("keys");
            Some(keys::proof(&fs::read(&path).map_err(|error| Error::io(&path, "read", error))?))
        }
    };
    let keys = keys.map(|proof| hex(&proof));
    let (state, damages) = (State::Closed, Vec::new());
    chain.seal(&segment, Content { state, bytes, blake3, chunks, index, keys, damages })
}

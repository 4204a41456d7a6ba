//! One transfer to or from far storage. Each has a thread of its own: the network may be slow, and the
//! janitor must go on.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io;
use std::ops::Range;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use crate::error::{Error, FarError};
use crate::far::storage::{self, FarSegment, FarStorage, STAGED, Stub, UploadOutcome};
use crate::files::{open_regular, remove_if_present};
use crate::layout::FAR;
use crate::segment::bytes::SegmentBytes;
use crate::segment::index::IndexRow;
use crate::segment::listed::ListedSegment;
use crate::segment::marker::{self, GLOBAL};
use crate::segment::name::Segment;

/// A transfer to do.
pub(crate) enum Transfer {
    /// Uploads a segment.
    Send(SegmentUpload),
    /// Deletes the objects of segments.
    Clear(Vec<Segment>),
    /// Fetches chunks of a segment into a file with holes, at their offsets.
    Fetch(Segment, Vec<IndexRow>),
}

/// A transfer that has been done.
#[derive(Debug)]
pub(crate) enum TransferOutcome {
    /// The segment is in far storage, and equals the one here.
    Sent(Box<SegmentUpload>, Stub),
    /// The objects are deleted.
    Cleared,
    /// The chunks at these offsets have been fetched.
    Fetched(Segment, BTreeSet<u64>),
}

/// A transfer that is running.
#[derive(Debug)]
pub(crate) struct RunningTransfer {
    /// The segment that is being uploaded.
    pub(crate) sending: Option<Segment>,
    stop: Arc<AtomicBool>,
    outcome: Receiver<Result<TransferOutcome, Error>>,
}

impl RunningTransfer {
    /// Starts the transfer.
    pub(crate) fn begin(
        far: Arc<dyn FarStorage>,
        dir: &Path,
        transfer: Transfer,
        rate: Option<u64>,
    ) -> Result<Self, Error> {
        let sending = match &transfer {
            Transfer::Send(sending) => Some(sending.item.segment.clone()),
            Transfer::Clear(_) | Transfer::Fetch(..) => None,
        };
        let (teller, outcome) = sync_channel(1);
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let work = TransferWorker { far, far_dir: dir.join(FAR), rate, stop: stopped };
        let run = move || {
            // Nobody listens if the program is ending.
            let _ = teller.send(work.run(transfer));
        };
        let thread = thread::Builder::new().name("far".into()).spawn(run);
        thread.map_err(|error| Error::io(dir, "transferred by a new thread", error))?;
        Ok(Self { sending, stop, outcome })
    }

    /// The result; None while the transfer is running.
    pub(crate) fn outcome(&self) -> Option<Result<TransferOutcome, Error>> {
        match self.outcome.try_recv() {
            Ok(outcome) => Some(outcome),
            Err(TryRecvError::Empty) => None,
            Err(TryRecvError::Disconnected) => {
                let gone = io::Error::other("the thread of a transfer panicked: report this fault");
                Some(Err(Error::io(Path::new(FAR), "asked", gone)))
            }
        }
    }

    /// Tells the transfer to end at the next piece, as a failure.
    pub(crate) fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Whether the transfer was told to end.
    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

impl Drop for RunningTransfer {
    /// Gives the transfer a moment to delete what it has uploaded.
    fn drop(&mut self) {
        self.stop();
        match self.outcome.recv_timeout(LEAVE) {
            Ok(_) | Err(RecvTimeoutError::Disconnected | RecvTimeoutError::Timeout) => {}
        }
    }
}

/// The open files of a segment to upload.
#[derive(Debug)]
pub(crate) struct SegmentUpload {
    pub(crate) item: ListedSegment,
    /// The segment's own file is the last.
    files: Vec<OpenFile>,
}

#[derive(Debug)]
struct OpenFile {
    name: String,
    path: PathBuf,
    file: File,
    was: (i64, i64, u64),
}

impl SegmentUpload {
    /// Opens the files. None if the segment has gone meanwhile.
    pub(crate) fn open(dir: &Path, item: ListedSegment) -> io::Result<Option<Self>> {
        let mut files = Vec::new();
        for (path, name) in item.segment.files(dir).into_iter().zip(storage::objects(&item.segment)) {
            match open_regular(&path) {
                Ok(file) => files.push(OpenFile { was: state(&file)?, name, path, file }),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        let whole = files.last().is_some_and(|last| last.name == item.segment.as_str());
        Ok(whole.then_some(Self { item, files }))
    }

    /// Whether the files are still those that were uploaded.
    fn is_unchanged(&self) -> bool {
        self.files
            .iter()
            .all(|sent| File::open(&sent.path).and_then(|file| state(&file)).is_ok_and(|now| now == sent.was))
    }

    /// Makes the uploaded segment the valid one, and deletes it here. False, and nothing is done, if it was
    /// changed meanwhile. The caller holds the deletion lock.
    pub(crate) fn finish(&self, dir: &Path, stub: &Stub) -> io::Result<bool> {
        if !self.is_unchanged() {
            return Ok(false);
        }
        let far = dir.join(FAR);
        let segment = &self.item.segment;
        let day = segment.path(&far).parent().map(Path::to_owned).unwrap_or_default();
        fs::create_dir_all(&day)?;
        let ([keys, index, seal, whole], beside) = (segment.files(dir), segment.files(&far));
        link_files([keys, index, seal].iter().zip(&beside))?;
        stub.write(&far, segment)?;
        storage::unlist_loose(&far, segment)?;
        // From now on readers use the copy in far storage.
        remove_if_present(&whole)?;
        segment.files(dir).iter().try_for_each(|path| remove_if_present(path))?;
        Ok(true)
    }
}

fn state(file: &File) -> io::Result<(i64, i64, u64)> {
    let metadata = file.metadata()?;
    Ok((metadata.mtime(), metadata.mtime_nsec(), metadata.size()))
}

struct TransferWorker {
    far: Arc<dyn FarStorage>,
    far_dir: PathBuf,
    /// Bytes a second.
    rate: Option<u64>,
    stop: Arc<AtomicBool>,
}

impl TransferWorker {
    fn run(&self, transfer: Transfer) -> Result<TransferOutcome, Error> {
        match transfer {
            Transfer::Send(sending) => {
                let path = Stub::path(&self.far_dir, &sending.item.segment);
                match self.send(&sending) {
                    Ok(stub) => Ok(TransferOutcome::Sent(Box::new(sending), stub)),
                    Err(error) => Err(Error::io(&path, "uploaded to far storage", error)),
                }
            }
            Transfer::Clear(segments) => {
                let objects: Vec<String> = segments.iter().flat_map(storage::objects).collect();
                self.far
                    .delete(&objects)
                    .map_err(|refusal| Error::far(&self.far_dir, "cleared of deleted segments", &refusal))?;
                for segment in &segments {
                    let recorded = storage::unlist_loose(&self.far_dir, segment);
                    recorded.map_err(|error| Error::io(&self.far_dir, "written", error))?;
                }
                Ok(TransferOutcome::Cleared)
            }
            Transfer::Fetch(segment, rows) => {
                let offsets = rows.iter().map(|row| row.offset).collect();
                let path = Stub::path(&self.far_dir, &segment);
                self.fetch(&segment, &rows)
                    .map_err(|error| Error::io(&path, "fetched from far storage", error))?;
                Ok(TransferOutcome::Fetched(segment, offsets))
            }
        }
    }

    fn is_stopped(&self) -> io::Result<()> {
        match self.stop.load(Ordering::Relaxed) {
            true => Err(io::ErrorKind::Interrupted.into()),
            false => Ok(()),
        }
    }

    fn send(&self, sending: &SegmentUpload) -> io::Result<Stub> {
        storage::list_loose(&self.far_dir, &sending.item.segment)?;
        let began = Instant::now();
        let mut stub = Stub { bytes: 0, all: 0, link: 0, crc: 0, versioned: false };
        for opened in &sending.files {
            let OpenFile { name, file, was: (_, _, length), .. } = opened;
            let (put, crc) = self.put(name, file, *length, stub.all, began)?;
            if !put.verified {
                self.read_back(name, *length, crc)?;
            }
            stub.all += length;
            (stub.bytes, stub.crc) = (*length, crc);
            stub.versioned |= put.versioned;
        }
        let mut header = [0; GLOBAL];
        if let Some(segment) = sending.files.last() {
            segment.file.read_exact_at(&mut header, 0)?;
        }
        let link = marker::link_of(&header).ok_or(io::ErrorKind::InvalidData)?;
        stub.link = link.number().0;
        Ok(stub)
    }

    /// Uploads a file; returns its CRC32C.
    fn put(
        &self,
        name: &str,
        file: &File,
        length: u64,
        before: u64,
        began: Instant,
    ) -> io::Result<(UploadOutcome, u32)> {
        let mut upload = self.far.upload(name, length)?;
        let (mut offset, mut crc) = (0, 0);
        while offset < length {
            let some = (length - offset).min(upload.piece() as u64);
            let mut piece = vec![0; some as usize];
            let put = self.is_stopped().and_then(|()| {
                file.read_exact_at(&mut piece, offset)?;
                crc = ringtap_cpu::crc32c(crc, &piece);
                Ok(upload.put(piece)?)
            });
            if let Err(error) = put {
                upload.give_up();
                return Err(error);
            }
            offset += some;
            self.wait(before + offset, began);
        }
        Ok((upload.finish()?, crc))
    }

    /// Waits until so many bytes since `began` do not exceed the rate.
    fn wait(&self, bytes: u64, began: Instant) {
        let Some(rate) = self.rate else { return };
        let due = Duration::from_secs_f64(bytes as f64 / rate.max(1) as f64);
        while !self.stop.load(Ordering::Relaxed)
            && let Some(rest) = due.checked_sub(began.elapsed())
        {
            thread::sleep(rest.min(NAP));
        }
    }

    /// Compares the object with the file if the storage returned no usable checksum.
    fn read_back(&self, name: &str, length: u64, wanted: u32) -> io::Result<()> {
        let (mut offset, mut crc) = (0, 0);
        while offset < length {
            self.is_stopped()?;
            let end = length.min(offset + PIECE);
            let read = self.far.read(name, std::slice::from_ref(&(offset..end)))?;
            crc = read.iter().fold(crc, |crc, piece| ringtap_cpu::crc32c(crc, piece));
            offset = end;
        }
        if self.far.length(name)? == length && crc == wanted {
            return Ok(());
        }
        let what = format!("{}: {name} differs from what was uploaded: check that storage", self.far.url());
        Err(FarError::Failed(what).into())
    }

    /// Writes a file as long as the segment, with holes in place of chunks that are not needed.
    fn fetch(&self, segment: &Segment, rows: &[IndexRow]) -> io::Result<()> {
        let Some(stub) = Stub::read(&self.far_dir, segment)? else {
            return Err(io::ErrorKind::NotFound.into());
        };
        let link = stub.link().ok_or(io::ErrorKind::InvalidData)?;
        let staged = self.far_dir.join(STAGED);
        let path = segment.path(&staged);
        fs::create_dir_all(path.parent().unwrap_or(&staged))?;
        let part = path.with_extension("part");
        let file = private(&part)?;
        file.set_len(stub.bytes)?;
        file.write_all_at(&marker::global_header(link), 0)?;
        let ranges: Vec<Range<u64>> = rows.iter().map(|row| row.range(link)).collect();
        for some in ranges.chunks(BATCH) {
            self.is_stopped()?;
            let read = self.far.read(segment.as_str(), some)?;
            some.iter().zip(read).try_for_each(|(range, bytes)| file.write_all_at(&bytes, range.start))?;
        }
        let beside = segment.files(&self.far_dir);
        link_files(beside.iter().zip(&segment.files(&staged)).take(2))?;
        fs::rename(&part, &path)
    }
}

/// Fetches a whole segment from far storage into the spool, and compares it with the checksum of its upload.
pub(crate) fn fetch_segment(far: &dyn FarStorage, dir: &Path, segment: &Segment) -> io::Result<()> {
    let far_dir = dir.join(FAR);
    let Some(stub) = Stub::read(&far_dir, segment)? else { return Err(io::ErrorKind::NotFound.into()) };
    let path = segment.path(dir);
    let day = path.parent().unwrap_or(dir);
    fs::create_dir_all(day)?;
    let part = path.with_extension("home");
    let file = private(&part)?;
    let (mut offset, mut crc) = (0, 0);
    let copied = FarSegment { far, segment, length: stub.bytes }.for_each_piece(&mut |bytes| {
        crc = ringtap_cpu::crc32c(crc, bytes);
        file.write_all_at(bytes, offset)?;
        offset += bytes.len() as u64;
        Ok(())
    });
    let whole = copied.and_then(|()| match (offset, crc) == (stub.bytes, stub.crc) {
        true => file.sync_all(),
        false => {
            let what = format!("{}: {segment} differs from what was uploaded", far.url());
            Err(FarError::Failed(what).into())
        }
    });
    if let Err(error) = whole {
        remove_if_present(&part)?;
        return Err(error);
    }
    link_files(segment.files(&far_dir).iter().zip(&segment.files(dir)).take(3))?;
    // The same permissions as the files beside it, which never left.
    if let Ok(metadata) = fs::metadata(segment.index_path(dir)) {
        file.set_permissions(metadata.permissions())?;
    }
    fs::rename(&part, &path)?;
    File::open(day)?.sync_all()
}

/// Links the files that exist to other names.
fn link_files<'a>(mut files: impl Iterator<Item = (&'a PathBuf, &'a PathBuf)>) -> io::Result<()> {
    files.try_for_each(|(from, to)| {
        remove_if_present(to)?;
        match fs::hard_link(from, to) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            other => other,
        }
    })
}

/// Creates a file that only its owner can read.
fn private(path: &Path) -> io::Result<File> {
    remove_if_present(path)?;
    File::options().write(true).create_new(true).mode(0o600).open(path)
}

/// Deletes the chunks of a segment that were fetched for a moment.
pub(crate) fn unstage(far_dir: &Path, segment: &Segment) -> io::Result<()> {
    let staged = far_dir.join(STAGED);
    segment.files(&staged).iter().try_for_each(|path| remove_if_present(path))?;
    if let Some(day) = segment.path(&staged).parent() {
        // A directory that is not empty stays.
        let _ = fs::remove_dir(day);
    }
    Ok(())
}

/// Bytes read back at once.
const PIECE: u64 = 8 << 20;
/// Chunks fetched at once: 4 MiB, and what lies between them.
const BATCH: usize = 64;
/// How long a transfer may take to end.
const LEAVE: Duration = Duration::from_secs(5);
const NAP: Duration = Duration::from_millis(200);

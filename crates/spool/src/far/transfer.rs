//! What is done at the far place: one errand at a time, each in a thread of its own, since a network answers when it likes and
//! the janitor has a disk to look after.

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

use crate::error::{Error, Refusal};
use crate::far::storage::{self as far, Far, FarSegment, Put, STAGED, Stub};
use crate::files::{give_to_owner_of, remove_if_present};
use crate::layout::FAR;
use crate::segment::bytes::SegmentBytes;
use crate::segment::index::Row;
use crate::segment::listed::Listed;
use crate::segment::mark::{self, GLOBAL};
use crate::segment::name::Segment;

/// What is to be done.
pub(crate) enum Errand {
    /// A segment goes there.
    Send(Sending),
    /// Objects of segments are deleted.
    Clear(Vec<Segment>),
    /// Chunks of a segment are copied into a file here, in their places.
    Fetch(Segment, Vec<Row>),
}

/// What has been done.
#[derive(Debug)]
pub(crate) enum Done {
    /// It is there, and what is there is what was here.
    Sent(Box<Sending>, Stub),
    /// They are not there any more.
    Cleared,
    /// The chunks at these offsets.
    Fetched(Segment, BTreeSet<u64>),
}

/// An errand that somebody runs.
#[derive(Debug)]
pub(crate) struct Running {
    /// The segment that is being sent.
    pub(crate) sending: Option<Segment>,
    stop: Arc<AtomicBool>,
    outcome: Receiver<Result<Done, Error>>,
}

impl Running {
    /// Begins one.
    pub(crate) fn begin(
        far: Arc<dyn Far>,
        dir: PathBuf,
        errand: Errand,
        rate: Option<u64>,
    ) -> Result<Self, Error> {
        let sending = match &errand {
            Errand::Send(sending) => Some(sending.item.segment.clone()),
            Errand::Clear(_) | Errand::Fetch(..) => None,
        };
        let (teller, outcome) = sync_channel(1);
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let work = Work { far, far_dir: dir.join(FAR), rate, stop: stopped };
        let run = move || {
            // Nobody listens: the program ends.
            let _ = teller.send(work.run(errand));
        };
        let thread = thread::Builder::new().name("far".into()).spawn(run);
        thread.map_err(|error| Error::io(&dir, "looked after by a thread more", error))?;
        Ok(Self { sending, stop, outcome })
    }

    /// What became of it; None while it goes on.
    pub(crate) fn outcome(&self) -> Option<Result<Done, Error>> {
        match self.outcome.try_recv() {
            Ok(outcome) => Some(outcome),
            Err(TryRecvError::Empty) => None,
            Err(TryRecvError::Disconnected) => {
                let gone = io::Error::other("a thread ended by a fault of the program");
                Some(Err(Error::io(Path::new(FAR), "asked", gone)))
            }
        }
    }

    /// It is not wanted any more: it ends at the next piece, as a failure.
    pub(crate) fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Whether it was told to end.
    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

impl Drop for Running {
    /// Gives it a moment to take back what it began.
    fn drop(&mut self) {
        self.stop();
        match self.outcome.recv_timeout(LEAVE) {
            Ok(_) | Err(RecvTimeoutError::Disconnected | RecvTimeoutError::Timeout) => {}
        }
    }
}

/// A segment to be sent, opened.
#[derive(Debug)]
pub(crate) struct Sending {
    pub(crate) item: Listed,
    /// The segment last.
    files: Vec<Opened>,
}

#[derive(Debug)]
struct Opened {
    name: String,
    path: PathBuf,
    file: File,
    was: (i64, i64, u64),
}

impl Sending {
    /// Opens its files. None where it has gone meanwhile.
    pub(crate) fn open(dir: &Path, item: Listed) -> io::Result<Option<Self>> {
        let mut files = Vec::new();
        for (path, name) in item.segment.files(dir).into_iter().zip(far::objects(&item.segment)) {
            match File::open(&path) {
                Ok(file) => files.push(Opened { was: state(&file)?, name, path, file }),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        let whole = files.last().is_some_and(|last| last.name == item.segment.as_str());
        Ok(whole.then_some(Self { item, files }))
    }

    /// Whether the files are still what was sent.
    fn is_unchanged(&self) -> bool {
        self.files
            .iter()
            .all(|sent| File::open(&sent.path).and_then(|file| state(&file)).is_ok_and(|now| now == sent.was))
    }

    /// What was sent is what counts from now on; the segment is deleted here. False, and nothing is done, where it was changed
    /// meanwhile. To be called in the turn of whoever deletes.
    pub(crate) fn finish(&self, dir: &Path, stub: &Stub) -> io::Result<bool> {
        if !self.is_unchanged() {
            return Ok(false);
        }
        let far = dir.join(FAR);
        let segment = &self.item.segment;
        let day = segment.path(&far).parent().map(Path::to_owned).unwrap_or_default();
        fs::create_dir_all(&day)?;
        let ([keys, index, seal, whole], beside) = (segment.files(dir), segment.files(&far));
        named_alike([keys, index, seal].iter().zip(&beside))?;
        stub.write(&far, segment)?;
        far::fasten(&far, segment)?;
        // From now on readers find the other.
        remove_if_present(&whole)?;
        segment.files(dir).iter().try_for_each(|path| remove_if_present(path))?;
        Ok(true)
    }
}

fn state(file: &File) -> io::Result<(i64, i64, u64)> {
    let told = file.metadata()?;
    Ok((told.mtime(), told.mtime_nsec(), told.size()))
}

struct Work {
    far: Arc<dyn Far>,
    far_dir: PathBuf,
    /// Bytes a second.
    rate: Option<u64>,
    stop: Arc<AtomicBool>,
}

impl Work {
    fn run(&self, errand: Errand) -> Result<Done, Error> {
        match errand {
            Errand::Send(sending) => {
                let path = Stub::path(&self.far_dir, &sending.item.segment);
                match self.send(&sending) {
                    Ok(stub) => Ok(Done::Sent(Box::new(sending), stub)),
                    Err(error) => Err(Error::io(&path, "sent to the far place", error)),
                }
            }
            Errand::Clear(segments) => {
                let objects: Vec<String> = segments.iter().flat_map(far::objects).collect();
                self.far
                    .delete(&objects)
                    .map_err(|refusal| Error::far(&self.far_dir, "cleared of deleted segments", &refusal))?;
                for segment in &segments {
                    let told = far::fasten(&self.far_dir, segment);
                    told.map_err(|error| Error::io(&self.far_dir, "written", error))?;
                }
                Ok(Done::Cleared)
            }
            Errand::Fetch(segment, rows) => {
                let offsets = rows.iter().map(|row| row.offset).collect();
                let path = Stub::path(&self.far_dir, &segment);
                self.fetch(&segment, &rows)
                    .map_err(|error| Error::io(&path, "read from the far place", error))?;
                Ok(Done::Fetched(segment, offsets))
            }
        }
    }

    fn is_stopped(&self) -> io::Result<()> {
        match self.stop.load(Ordering::Relaxed) {
            true => Err(io::ErrorKind::Interrupted.into()),
            false => Ok(()),
        }
    }

    fn send(&self, sending: &Sending) -> io::Result<Stub> {
        far::loosen(&self.far_dir, &sending.item.segment)?;
        let began = Instant::now();
        let mut stub = Stub { bytes: 0, all: 0, link: 0, crc: 0, versioned: false };
        for opened in &sending.files {
            let Opened { name, file, was: (_, _, length), .. } = opened;
            let (put, crc) = self.put(name, file, *length, stub.all, began)?;
            if !put.proven {
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
        let link = mark::link_of(&header).ok_or(io::ErrorKind::InvalidData)?;
        stub.link = link.number().0;
        Ok(stub)
    }

    /// Puts a file there; tells its CRC32C.
    fn put(
        &self,
        name: &str,
        file: &File,
        length: u64,
        before: u64,
        began: Instant,
    ) -> io::Result<(Put, u32)> {
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

    /// Until so many bytes since then are no more than the rate.
    fn wait(&self, bytes: u64, began: Instant) {
        let Some(rate) = self.rate else { return };
        let due = Duration::from_secs_f64(bytes as f64 / rate.max(1) as f64);
        while !self.stop.load(Ordering::Relaxed)
            && let Some(rest) = due.checked_sub(began.elapsed())
        {
            thread::sleep(rest.min(NAP));
        }
    }

    /// Where the place told no checksum that can be trusted.
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
        let what = format!("{}: {name} is not there as it was sent: check that store", self.far.place());
        Err(Refusal::Because(what).into())
    }

    /// A file as long as the segment, with holes where chunks are that nobody asked for.
    fn fetch(&self, segment: &Segment, rows: &[Row]) -> io::Result<()> {
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
        file.write_all_at(&mark::global_header(link), 0)?;
        let ranges: Vec<Range<u64>> = rows.iter().map(|row| row.range(link)).collect();
        for some in ranges.chunks(BATCH) {
            self.is_stopped()?;
            let read = self.far.read(segment.as_str(), some)?;
            some.iter().zip(read).try_for_each(|(range, bytes)| file.write_all_at(&bytes, range.start))?;
        }
        let beside = segment.files(&self.far_dir);
        named_alike(beside.iter().zip(&segment.files(&staged)).take(2))?;
        fs::rename(&part, &path)
    }
}

/// Brings a whole segment back from the far place into the spool, beside what is known of it there. It is compared with what
/// was sent.
pub(crate) fn bring_home(far: &dyn Far, dir: &Path, segment: &Segment) -> io::Result<()> {
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
            let what = format!("{}: {segment} is not what was sent there", far.place());
            Err(Refusal::Because(what).into())
        }
    });
    if let Err(error) = whole {
        remove_if_present(&part)?;
        return Err(error);
    }
    named_alike(segment.files(&far_dir).iter().zip(&segment.files(dir)).take(3))?;
    // As what lies beside it, which was here all the time.
    if let Ok(told) = fs::metadata(segment.index_path(dir)) {
        file.set_permissions(told.permissions())?;
    }
    [day, &part].iter().try_for_each(|made| give_to_owner_of(dir, made))?;
    fs::rename(&part, &path)?;
    File::open(day)?.sync_all()
}

/// The same files under other names; those that are there.
fn named_alike<'a>(mut files: impl Iterator<Item = (&'a PathBuf, &'a PathBuf)>) -> io::Result<()> {
    files.try_for_each(|(from, to)| {
        remove_if_present(to)?;
        match fs::hard_link(from, to) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            other => other,
        }
    })
}

/// A fresh file that nobody else reads.
fn private(path: &Path) -> io::Result<File> {
    remove_if_present(path)?;
    File::options().write(true).create_new(true).mode(0o600).open(path)
}

/// Deletes a part of a segment that was needed for a moment.
pub(crate) fn unstage(far_dir: &Path, segment: &Segment) -> io::Result<()> {
    let staged = far_dir.join(STAGED);
    segment.files(&staged).iter().try_for_each(|path| remove_if_present(path))?;
    if let Some(day) = segment.path(&staged).parent() {
        // One that is not empty stays.
        let _ = fs::remove_dir(day);
    }
    Ok(())
}

/// Read back at once.
const PIECE: u64 = 8 << 20;
/// Chunks that are asked for at once: 4 MiB, and what lies between them.
const BATCH: usize = 64;
/// How long an errand may take to end where it is to.
const LEAVE: Duration = Duration::from_secs(5);
const NAP: Duration = Duration::from_millis(200);

//! The process that speaks to far storage; see `remote` for what it is asked.

use std::io::{self, Read, Write};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use crate::error::FarError;
use crate::far::remote::{
    ANSWER, BYTES, DELETE, FINISH, GIVE_UP, HELLO, LENGTH, LONGEST, PIECE, PUT, RANGES, READ, READ_AT_ONCE,
    REFUSAL, SLICE, UPLOAD, VERIFIED, VERSION, VERSIONED,
};
use crate::far::storage::{FarStorage, Upload, objects};
use crate::frame;
use crate::segment::name::Segment;

/// Far storage that a process uses for another one.
#[derive(Clone, Debug)]
pub struct FarService(Arc<dyn FarStorage>);

impl FarService {
    /// Of this storage.
    pub fn new(far: Arc<dyn FarStorage>) -> Self {
        Self(far)
    }

    /// Answers the questions of a connection until it ends. An upload that is not complete then is given up.
    ///
    /// # Errors
    ///
    /// The connection fails, or the other side does not keep to the protocol.
    pub fn serve(&self, mut connection: impl Read + Write) -> io::Result<()> {
        let mut session = Session { far: &*self.0, greeted: false, upload: None };
        let served = session.serve(&mut connection);
        if let Some(running) = session.upload.take() {
            running.upload.give_up();
        }
        served
    }
}

/// What a connection is about.
struct Session<'a> {
    far: &'a dyn FarStorage,
    greeted: bool,
    upload: Option<RunningUpload>,
}

struct RunningUpload {
    upload: Box<dyn Upload>,
    /// Bytes that were announced and did not arrive yet.
    left: u64,
    piece: Vec<u8>,
}

/// Why a question is not answered.
enum Refusal {
    /// By the storage.
    Far(FarError),
    /// The other side does not keep to the protocol: the connection ends.
    Malformed,
}

impl From<FarError> for Refusal {
    fn from(refusal: FarError) -> Self {
        Self::Far(refusal)
    }
}

/// Frames of an answer.
type Answer = Vec<Vec<u8>>;

impl Session<'_> {
    fn serve(&mut self, connection: &mut (impl Read + Write)) -> io::Result<()> {
        let mut question = Vec::new();
        while let Some(kind) = frame::read_at_most(connection, &mut question, LONGEST)? {
            match self.answer(kind, &question) {
                Ok(answer) => answer
                    .iter()
                    .flat_map(|part| slices(part))
                    .try_for_each(|some| frame::write(connection, ANSWER, &[some]))?,
                Err(Refusal::Far(FarError::NotFound(text))) => {
                    frame::write(connection, REFUSAL, &[&[1], short(&text)])?;
                }
                Err(Refusal::Far(FarError::Failed(text))) => {
                    frame::write(connection, REFUSAL, &[&[0], short(&text)])?;
                }
                Err(Refusal::Malformed) => {
                    frame::write(connection, REFUSAL, &[b"\0the question is malformed: restart ringtap"])?;
                    return Err(io::ErrorKind::InvalidData.into());
                }
            }
        }
        Ok(())
    }

    fn answer(&mut self, kind: u8, question: &[u8]) -> Result<Answer, Refusal> {
        let nothing = || Ok(vec![Vec::new()]);
        match (kind, question) {
            (HELLO, [VERSION]) => {
                self.greeted = true;
                nothing()
            }
            // Another version of the program, or somebody who does not say.
            _ if !self.greeted => Err(Refusal::Malformed),
            (UPLOAD, question) => self.begin(question),
            (BYTES, bytes) => {
                self.running()?.add(bytes)?;
                nothing()
            }
            (PUT, []) => {
                let running = self.running()?;
                let piece = std::mem::take(&mut running.piece);
                running.upload.put(piece)?;
                nothing()
            }
            (FINISH, []) => {
                let running = self.upload.take().ok_or(Refusal::Malformed)?;
                if running.left > 0 || !running.piece.is_empty() {
                    running.upload.give_up();
                    return Err(Refusal::Malformed);
                }
                let done = running.upload.finish()?;
                let verified = if done.verified { VERIFIED } else { 0 };
                Ok(vec![vec![verified | if done.versioned { VERSIONED } else { 0 }]])
            }
            (GIVE_UP, []) => {
                self.upload.take().ok_or(Refusal::Malformed)?.upload.give_up();
                nothing()
            }
            (READ, question) => {
                let (ranges, name) = ranges(question).ok_or(Refusal::Malformed)?;
                let read = self.far.read(name, &ranges)?;
                let as_asked = read.len() == ranges.len()
                    && read
                        .iter()
                        .zip(&ranges)
                        .all(|(some, range)| some.len() as u64 == range.end - range.start);
                match as_asked {
                    true => Ok(read),
                    false => {
                        Err(FarError::Failed(format!("{}: it answers something else", self.far.url())).into())
                    }
                }
            }
            (LENGTH, name) => Ok(vec![self.far.length(object(name)?)?.to_le_bytes().to_vec()]),
            (DELETE, name) => {
                self.far.delete(&[object(name)?.to_owned()])?;
                nothing()
            }
            _ => Err(Refusal::Malformed),
        }
    }

    fn begin(&mut self, question: &[u8]) -> Result<Answer, Refusal> {
        let (bytes, name) = question.split_first_chunk().ok_or(Refusal::Malformed)?;
        let (bytes, name) = (u64::from_le_bytes(*bytes), object(name)?);
        if self.upload.is_some() {
            return Err(Refusal::Malformed);
        }
        let upload = self.far.upload(name, bytes)?;
        let piece = upload.piece();
        if piece > PIECE {
            upload.give_up();
            return Err(FarError::Failed(format!("{name} is too large to upload")).into());
        }
        self.upload = Some(RunningUpload { upload, left: bytes, piece: Vec::new() });
        Ok(vec![(piece as u64).to_le_bytes().to_vec()])
    }

    fn running(&mut self) -> Result<&mut RunningUpload, Refusal> {
        self.upload.as_mut().ok_or(Refusal::Malformed)
    }
}

impl RunningUpload {
    /// Adds bytes to the piece, which never becomes longer than it may be.
    fn add(&mut self, bytes: &[u8]) -> Result<(), Refusal> {
        let room = self.upload.piece().saturating_sub(self.piece.len());
        if bytes.len() > room || bytes.len() as u64 > self.left {
            return Err(Refusal::Malformed);
        }
        self.left -= bytes.len() as u64;
        self.piece.extend_from_slice(bytes);
        Ok(())
    }
}

/// Ranges and the name of a question.
fn ranges(question: &[u8]) -> Option<(Vec<Range<u64>>, &str)> {
    let (count, rest) = question.split_first_chunk()?;
    let count = usize::from(u16::from_le_bytes(*count));
    let (ranges, name) = rest.split_at_checked(count * 16)?;
    let number = |bytes: &[u8]| bytes.try_into().ok().map(u64::from_le_bytes);
    let ranges: Option<Vec<Range<u64>>> =
        ranges.chunks_exact(16).map(|both| Some(number(&both[..8])?..number(&both[8..])?)).collect();
    let ranges = ranges.filter(|ranges| ranges.iter().all(|range| range.start < range.end))?;
    let bytes = ranges.iter().try_fold(0_u64, |sum, range| sum.checked_add(range.end - range.start))?;
    let known = (1..=RANGES).contains(&count) && bytes <= READ_AT_ONCE;
    Some((ranges, object(name).ok()?)).filter(|_| known)
}

/// The name, if it is that of an object of a segment: nothing else in the bucket is touched.
fn object(name: &[u8]) -> Result<&str, Refusal> {
    let name = std::str::from_utf8(name).map_err(|_| Refusal::Malformed)?;
    let whole = Path::new(name).with_extension("pcap");
    let segment: Segment = whole.to_str().and_then(|whole| whole.parse().ok()).ok_or(Refusal::Malformed)?;
    objects(&segment).iter().any(|object| object == name).then_some(name).ok_or(Refusal::Malformed)
}

/// The parts that travel in a frame each: one at least.
fn slices(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let empty = bytes.is_empty().then_some(bytes);
    empty.into_iter().chain(bytes.chunks(SLICE))
}

fn short(text: &str) -> &[u8] {
    &text.as_bytes()[..text.len().min(TEXT)]
}

/// Longest text of a refusal, in bytes.
const TEXT: usize = 4 << 10;

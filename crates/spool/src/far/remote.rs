//! Far storage in a process of its own: the side of those who use it.
//!
//! The process that reads packets has neither the credentials of the storage nor a way to it: it asks another
//! one, which has no way to the spool. Bytes travel in frames, in both directions, so neither process opens
//! or is given a file of the other.
//!
//! Each operation has a connection of its own: a slow upload delays nobody. All numbers are little-endian. A
//! question, and its answer (kind 0; kind 1 is a refusal: 1 if there is no such object, else 0, and a text):
//!
//! | kind | question | answer |
//! |---|---|---|
//! | 1 | the version, 1 byte: the first question of a connection | - |
//! | 2 | bytes of the object, 8; its name | bytes of every piece but the last, 8: an upload begins |
//! | 3 | bytes of the next piece | - |
//! | 4 | - | the piece is uploaded |
//! | 5 | - | the upload is complete: flags, 1 byte: 1 verified, 2 versioned |
//! | 6 | - | what was uploaded is deleted |
//! | 7 | number of ranges, 2; begin and end of each, 16; the name | the ranges, each in frames of 1 MiB |
//! | 8 | the name | bytes of the object, 8 |
//! | 9 | the name | the object is deleted |
//!
//! Only objects of segments have names that are answered. Both sides believe nothing about lengths: what was
//! not asked for, or does not fit, ends the connection. An upload whose connection ends is given up.

use std::fmt;
use std::io;
use std::ops::Range;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use crate::error::FarError;
use crate::far::storage::{FarStorage, Upload, UploadOutcome};
use crate::frame;

pub(crate) const VERSION: u8 = 1;
pub(crate) const HELLO: u8 = 1;
pub(crate) const UPLOAD: u8 = 2;
pub(crate) const BYTES: u8 = 3;
pub(crate) const PUT: u8 = 4;
pub(crate) const FINISH: u8 = 5;
pub(crate) const GIVE_UP: u8 = 6;
pub(crate) const READ: u8 = 7;
pub(crate) const LENGTH: u8 = 8;
pub(crate) const DELETE: u8 = 9;
pub(crate) const ANSWER: u8 = 0;
pub(crate) const REFUSAL: u8 = 1;
pub(crate) const VERIFIED: u8 = 1;
pub(crate) const VERSIONED: u8 = 2;

/// Bytes of an object in one frame.
pub(crate) const SLICE: usize = 1 << 20;
/// Longest frame: those bytes and their kind.
pub(crate) const LONGEST: usize = SLICE + 1;
/// Ranges of one question.
pub(crate) const RANGES: usize = 64;
/// Bytes in the ranges of one question.
pub(crate) const READ_AT_ONCE: u64 = 16 << 20;
/// Longest piece of an upload: 9,000 of them are more than 500 GiB.
pub(crate) const PIECE: usize = 64 << 20;
/// Longest text of a refusal, in characters.
const TEXT: usize = 1000;
/// How long an answer may take: a request to the storage is repeated for 100 s at most.
const ANSWERED: Duration = Duration::from_secs(300);

/// Makes a connection to the process that speaks to the storage.
type Connect = dyn Fn() -> io::Result<UnixStream> + Send + Sync;

/// Far storage that another process speaks to.
pub struct RemoteStorage {
    url: String,
    connect: Box<Connect>,
}

impl fmt::Debug for RemoteStorage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RemoteStorage({})", self.url)
    }
}

impl RemoteStorage {
    /// Asks nothing yet. `url` names the storage in messages; `connect` makes a connection to the process
    /// that serves it, one for each operation.
    pub fn new(url: String, connect: impl Fn() -> io::Result<UnixStream> + Send + Sync + 'static) -> Self {
        Self { url, connect: Box::new(connect) }
    }

    fn asker(&self) -> Result<Asker, FarError> {
        let connected = (self.connect)().and_then(|connection| {
            connection.set_read_timeout(Some(ANSWERED))?;
            connection.set_write_timeout(Some(ANSWERED))?;
            Ok(connection)
        });
        let connection = connected
            .map_err(|error| failed(&self.url, &format!("cannot be reached ({error}): restart ringtap")))?;
        let mut asker = Asker { connection, url: self.url.clone(), answer: Vec::new() };
        asker.ask_for_nothing(HELLO, &[&[VERSION]])?;
        Ok(asker)
    }
}

impl FarStorage for RemoteStorage {
    fn url(&self) -> String {
        self.url.clone()
    }

    fn upload(&self, name: &str, bytes: u64) -> Result<Box<dyn Upload>, FarError> {
        let mut asker = self.asker()?;
        let piece = asker.ask_number(UPLOAD, &[&bytes.to_le_bytes(), name.as_bytes()])?;
        match usize::try_from(piece) {
            Ok(piece @ 1..=PIECE) => Ok(Box::new(RemoteUpload { asker, piece })),
            _ => Err(asker.malformed()),
        }
    }

    fn read(&self, name: &str, ranges: &[Range<u64>]) -> Result<Vec<Vec<u8>>, FarError> {
        let mut asker = self.asker()?;
        let mut read: Vec<Vec<u8>> = ranges.iter().map(|_| Vec::new()).collect();
        for question in questions(ranges) {
            asker.read(name, &question, &mut read)?;
        }
        Ok(read)
    }

    fn length(&self, name: &str) -> Result<u64, FarError> {
        self.asker()?.ask_number(LENGTH, &[name.as_bytes()])
    }

    fn delete(&self, names: &[String]) -> Result<(), FarError> {
        let mut asker = self.asker()?;
        names.iter().try_for_each(|name| asker.ask_for_nothing(DELETE, &[name.as_bytes()]))
    }
}

/// Ranges with the place that each belongs to, at most [`RANGES`] and [`READ_AT_ONCE`] bytes a question.
fn questions(ranges: &[Range<u64>]) -> Vec<Vec<(usize, Range<u64>)>> {
    let (mut questions, mut question, mut room) = (Vec::new(), Vec::new(), READ_AT_ONCE);
    for (place, range) in ranges.iter().enumerate() {
        let mut from = range.start;
        while from < range.end {
            if room == 0 || question.len() == RANGES {
                questions.push(std::mem::take(&mut question));
                room = READ_AT_ONCE;
            }
            let end = range.end.min(from + room);
            question.push((place, from..end));
            room -= end - from;
            from = end;
        }
    }
    if !question.is_empty() {
        questions.push(question);
    }
    questions
}

/// A connection for one operation. Of no use after an error.
struct Asker {
    connection: UnixStream,
    url: String,
    answer: Vec<u8>,
}

impl Asker {
    fn ask_for_nothing(&mut self, kind: u8, parts: &[&[u8]]) -> Result<(), FarError> {
        match self.ask(kind, parts)? {
            [] => Ok(()),
            _ => Err(self.malformed()),
        }
    }

    fn ask_number(&mut self, kind: u8, parts: &[&[u8]]) -> Result<u64, FarError> {
        match self.ask(kind, parts)?.try_into() {
            Ok(number) => Ok(u64::from_le_bytes(number)),
            Err(_) => Err(self.malformed()),
        }
    }

    /// Appends what is in the ranges to their places.
    fn read(
        &mut self,
        name: &str,
        question: &[(usize, Range<u64>)],
        into: &mut [Vec<u8>],
    ) -> Result<(), FarError> {
        let mut asked = Vec::with_capacity(2 + question.len() * 16);
        asked.extend((question.len() as u16).to_le_bytes());
        for (_, Range { start, end }) in question {
            asked.extend(start.to_le_bytes());
            asked.extend(end.to_le_bytes());
        }
        self.send(READ, &[&asked, name.as_bytes()])?;
        for (place, Range { start, end }) in question {
            let mut left = end - start;
            while left > 0 {
                let wanted = left.min(SLICE as u64);
                let some = self.receive()?;
                if some.len() as u64 != wanted {
                    return Err(self.malformed());
                }
                into[*place].extend_from_slice(some);
                left -= wanted;
            }
        }
        Ok(())
    }

    fn ask(&mut self, kind: u8, parts: &[&[u8]]) -> Result<&[u8], FarError> {
        self.send(kind, parts)?;
        self.receive()
    }

    fn send(&mut self, kind: u8, parts: &[&[u8]]) -> Result<(), FarError> {
        frame::write(&mut self.connection, kind, parts).map_err(|error| self.gone(&error))
    }

    fn receive(&mut self) -> Result<&[u8], FarError> {
        match frame::read_at_most(&mut self.connection, &mut self.answer, LONGEST) {
            Ok(Some(ANSWER)) => Ok(&self.answer),
            Ok(Some(REFUSAL)) => match self.answer.split_first() {
                Some((1, text)) => Err(FarError::NotFound(printable(text))),
                Some((_, text)) => Err(FarError::Failed(printable(text))),
                None => Err(self.malformed()),
            },
            Ok(Some(_)) => Err(self.malformed()),
            Ok(None) => Err(failed(&self.url, "ended before it answered; it is started again")),
            Err(error) => Err(self.gone(&error)),
        }
    }

    fn gone(&self, error: &io::Error) -> FarError {
        match error.kind() {
            io::ErrorKind::InvalidData => self.malformed(),
            io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset | io::ErrorKind::UnexpectedEof => {
                failed(&self.url, "ended before it answered; it is started again")
            }
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
                let seconds = ANSWERED.as_secs();
                failed(&self.url, &format!("has not answered for {seconds} s: restart ringtap"))
            }
            _ => failed(&self.url, &format!("does not answer: {error}")),
        }
    }

    fn malformed(&self) -> FarError {
        failed(&self.url, "sends a malformed answer: report this fault of ringtap")
    }
}

fn failed(url: &str, problem: &str) -> FarError {
    FarError::Failed(format!("{url}: the network client {problem}"))
}

/// Text of the other process for a line of the log: it may send anything.
fn printable(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    text.chars().take(TEXT).map(|letter| if letter.is_control() { ' ' } else { letter }).collect()
}

struct RemoteUpload {
    asker: Asker,
    piece: usize,
}

impl Upload for RemoteUpload {
    fn piece(&self) -> usize {
        self.piece
    }

    fn put(&mut self, piece: Vec<u8>) -> Result<(), FarError> {
        piece.chunks(SLICE).try_for_each(|some| self.asker.ask_for_nothing(BYTES, &[some]))?;
        self.asker.ask_for_nothing(PUT, &[])
    }

    fn finish(mut self: Box<Self>) -> Result<UploadOutcome, FarError> {
        match self.asker.ask(FINISH, &[])? {
            [flags @ 0..=3] => {
                Ok(UploadOutcome { verified: flags & VERIFIED != 0, versioned: flags & VERSIONED != 0 })
            }
            _ => Err(self.asker.malformed()),
        }
    }

    fn give_up(mut self: Box<Self>) {
        // The process gives up as well if it cannot be told.
        let _ = self.asker.ask_for_nothing(GIVE_UP, &[]);
    }
}

//! The master key and the signing key in a process of their own: the side of those who use them.
//!
//! The process that reads packets has no key but those of the calls that it records. It asks for their keys,
//! each wrapped, and for signatures. What a killed writer left is checked at the start, with its keys; after
//! that the process opens no key any more, whoever asks.
//!
//! All numbers are little-endian. A question, and its answer (kind 0; kind 1 is a refusal, with its text):
//!
//! | kind | question | answer |
//! |---|---|---|
//! | 1 | the version, 1 byte | flags: 1 a master key, 2 a signing key; its identity, 16; the public key, 32 |
//! | 2 | - | the header of a key file, 96: keys of this connection are wrapped for it |
//! | 3 | owner, 8; time, 8 | a new key, 32; its row, 96 |
//! | 4 | header, 96; row, 96 | 1 and the key, 32; 2: it is of another master key; 3: it is damaged |
//! | 5 | a text | its signature, 64 |
//! | 6 | - | from now on, kind 4 is refused |

use std::fmt;
use std::io;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use ringtap_model::Nanos;
use zeroize::Zeroizing;

use crate::error::Error;
use crate::frame;

pub(crate) const VERSION: u8 = 1;
pub(crate) const WHO: u8 = 1;
pub(crate) const SESSION: u8 = 2;
pub(crate) const KEY: u8 = 3;
pub(crate) const OPEN: u8 = 4;
pub(crate) const SIGN: u8 = 5;
pub(crate) const CLOSE: u8 = 6;
pub(crate) const ANSWER: u8 = 0;
pub(crate) const REFUSAL: u8 = 1;

/// A row of a key file, or its header.
type Row = [u8; 96];

/// Makes a connection to the process that holds the keys.
type Connect = dyn Fn() -> io::Result<UnixStream> + Send + Sync;

/// The keys that another process holds.
#[derive(Clone)]
pub struct RemoteKeys(Arc<Shared>);

struct Shared {
    connect: Box<Connect>,
    /// For whatever needs no session of its own.
    connection: Mutex<Asker>,
    master: Option<[u8; 16]>,
    signer: Option<[u8; 32]>,
}

impl fmt::Debug for RemoteKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RemoteKeys")
    }
}

impl RemoteKeys {
    /// Asks which keys there are. `connect` makes a connection to the process that serves them; each writer
    /// gets one of its own.
    ///
    /// # Errors
    ///
    /// The process does not answer.
    pub fn open(connect: impl Fn() -> io::Result<UnixStream> + Send + Sync + 'static) -> Result<Self, Error> {
        let mut connection = Asker::new(&connect)?;
        let answer = connection.ask(WHO, &[&[VERSION]])?;
        let malformed = || failed("it answers something else");
        let (flags, rest) = answer.split_first().ok_or_else(malformed)?;
        let (id, public) = rest.split_first_chunk::<16>().ok_or_else(malformed)?;
        let public: [u8; 32] = public.try_into().map_err(|_| malformed())?;
        Ok(Self(Arc::new(Shared {
            connect: Box::new(connect),
            connection: Mutex::new(connection),
            master: (flags & 1 != 0).then_some(*id),
            signer: (flags & 2 != 0).then_some(public),
        })))
    }

    /// The identity of the master key; None if there is none.
    pub(crate) fn master(&self) -> Option<[u8; 16]> {
        self.0.master
    }

    /// The public part of the signing key; None if there is none.
    pub(crate) fn signer(&self) -> Option<[u8; 32]> {
        self.0.signer
    }

    /// Ends the time in which keys on the disk can be opened: what a killed writer left has been checked.
    ///
    /// # Errors
    ///
    /// The process does not answer.
    pub fn end_recovery(&self) -> Result<(), Error> {
        self.ask(CLOSE, &[]).map(|_| ())
    }

    pub(crate) fn session(&self) -> Result<Session, Error> {
        let mut asker = Asker::new(&self.0.connect)?;
        let header = asker.ask(SESSION, &[])?;
        let header = header.as_slice().try_into().map_err(|_| failed("it answers something else"))?;
        Ok(Session { asker, header })
    }

    /// Opens the key of a row.
    pub(crate) fn unwrap(&self, header: &Row, row: &Row) -> Result<OpenedKey, Error> {
        let answer = self.ask(OPEN, &[header, row])?;
        match answer.split_first() {
            Some((1, key)) => match <[u8; 32]>::try_from(key) {
                Ok(key) => Ok(OpenedKey::Key(key.into())),
                Err(_) => Err(failed("it answers something else")),
            },
            Some((2, [])) => Ok(OpenedKey::Locked),
            Some((3, [])) => Ok(OpenedKey::Damaged),
            _ => Err(failed("it answers something else")),
        }
    }

    pub(crate) fn sign(&self, text: &str) -> Result<[u8; 64], Error> {
        let answer = self.ask(SIGN, &[text.as_bytes()])?;
        answer.as_slice().try_into().map_err(|_| failed("it answers something else"))
    }

    pub(crate) fn ask(&self, kind: u8, parts: &[&[u8]]) -> Result<Zeroizing<Vec<u8>>, Error> {
        self.0.connection.lock().unwrap_or_else(PoisonError::into_inner).ask(kind, parts)
    }
}

/// What the process answers about a row.
pub(crate) enum OpenedKey {
    Key(Zeroizing<[u8; 32]>),
    /// Another master key wrapped it.
    Locked,
    /// The row is not as it was written.
    Damaged,
}

/// The connection of a writer, which makes its keys.
#[derive(Debug)]
pub(crate) struct Session {
    asker: Asker,
    pub(crate) header: Row,
}

impl Session {
    /// A new key, and its row. None if the process does not answer.
    pub(crate) fn make(&mut self, owner: u64, at: Nanos) -> Option<(Zeroizing<[u8; 32]>, Row)> {
        let answer = self.asker.ask(KEY, &[&owner.to_le_bytes(), &at.0.to_le_bytes()]).ok()?;
        let (key, row) = answer.split_first_chunk::<32>()?;
        Some(((*key).into(), row.try_into().ok()?))
    }
}

#[derive(Debug)]
struct Asker(UnixStream);

impl Asker {
    fn new(connect: &Connect) -> Result<Self, Error> {
        connect().map(Self).map_err(|error| failed(&format!("it cannot be reached: {error}")))
    }

    fn ask(&mut self, kind: u8, parts: &[&[u8]]) -> Result<Zeroizing<Vec<u8>>, Error> {
        let mut answer = Zeroizing::new(Vec::new());
        let asked = frame::write(&mut self.0, kind, parts);
        match asked.and_then(|()| frame::read(&mut self.0, &mut answer)) {
            Ok(Some(ANSWER)) => Ok(answer),
            Ok(Some(_)) => Err(failed(&String::from_utf8_lossy(&answer))),
            Ok(None) => Err(failed("it has ended")),
            Err(error) => Err(failed(&format!("it does not answer: {error}"))),
        }
    }
}

fn failed(problem: &str) -> Error {
    Error::key(Path::new("in the process that holds it"), &format!("{problem}; restart ringtap"))
}

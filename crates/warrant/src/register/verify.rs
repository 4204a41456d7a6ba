//! Proves that the acts of a register are as they were written.

use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use super::ledger::{ABOUT, ACTS, About, read_act};
use crate::error::Error;
use crate::flaw::Flaw;
use crate::log::files;
use crate::log::head;
use crate::log::key::{Keys, PublicKey, RegisterKey};
use crate::log::line::{ActLine, FIRST, LONGEST, LineFlaw, Position};
use crate::state::State;

/// The newest act at some time, noted elsewhere. As text: `17:` and 64 hex digits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    /// Its number.
    pub number: u64,
    /// Its hash.
    pub hash: String,
}

impl fmt::Display for Head {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.number, self.hash)
    }
}

impl FromStr for Head {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parsed = text.split_once(':').and_then(|(number, hash)| {
            let is_hash = hash.len() == FIRST.len() && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
            is_hash.then_some(Self { number: number.parse().ok()?, hash: hash.to_owned() })
        });
        parsed.ok_or_else(|| {
            "write a head as `ringtap warrant verify` prints it: 17:, then 64 hex digits".into()
        })
    }
}

/// What a verification has found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verified {
    /// Acts that are proven: all before the first fault.
    pub acts: u64,
    /// The newest of them, to be noted elsewhere.
    pub head: Option<Head>,
    /// The key whose signatures were accepted.
    pub key: PublicKey,
    /// The acts were opened, too, and none breaks a rule.
    pub opened: bool,
    /// The last line is not complete: it is being written, or was when a power cut came, and will be cut off.
    pub torn: bool,
    /// The first fault; none if all is as it was written.
    pub fault: Option<Fault>,
}

/// Where a register is not as it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The file.
    pub file: PathBuf,
    /// The number of the act that is wrong or missing; its line is the next number.
    pub act: u64,
    /// What is wrong.
    pub flaw: Flaw,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: act {} {}", self.file.display(), self.act, self.flaw)
    }
}

/// Checks every act of a register, and that none is missing that its `head` or one of `noted` names.
/// Signatures have to be of `key`; without it, of the key that is in the directory, which proves nothing
/// against somebody who can replace both. With the master key, the acts are opened, too, and held against the
/// rules.
///
/// Nothing is written, and no act is shown.
///
/// # Errors
///
/// The register cannot be read.
pub fn verify(
    dir: &Path,
    key: Option<PublicKey>,
    noted: &[Head],
    master: Option<&RegisterKey>,
) -> Result<Verified, Error> {
    let about = About::read(dir)?;
    let wrong =
        || Error::Key { path: dir.join(ABOUT), problem: "it was changed: it has no public key".into() };
    let key = key.map_or_else(|| about.public().ok_or_else(wrong), Ok)?;
    let keys = master.map(|master| about.keys(dir, master)).transpose()?;
    // Before the acts, which may grow.
    let head = head::read(dir, &key)?;
    let mut walk =
        Walk { key, keys, state: State::default(), next: Position::first(), heads: Vec::new(), torn: false };
    walk.heads.extend(noted.iter().map(|head| (head.clone(), Flaw::Noted)));
    walk.heads.extend(head.as_ref().and_then(|head| {
        let number = head.next.number.checked_sub(1)?;
        Some((Head { number, hash: head.next.previous.clone() }, Flaw::CutOff))
    }));
    let path = dir.join(ACTS);
    let read = files::open_to_read(&path).and_then(|file| walk.all(BufReader::new(file)));
    let flaw = read.map_err(|error| Error::io(&path, "read", error))?;
    let flaw = flaw.map(|flaw| (walk.next.number, flaw)).or_else(|| walk.end());
    let fault = flaw.map(|(act, flaw)| Fault { file: path, act, flaw }).or_else(|| {
        let act = walk.next.number.saturating_sub(1);
        head.is_none().then(|| Fault { file: dir.join("head"), act, flaw: Flaw::Head })
    });
    let Position { number: acts, previous: hash } = walk.next;
    let head = acts.checked_sub(1).map(|number| Head { number, hash });
    Ok(Verified { acts, head, key, opened: walk.keys.is_some(), torn: walk.torn, fault })
}

/// A walk along the acts.
struct Walk {
    key: PublicKey,
    keys: Option<Keys>,
    state: State,
    next: Position,
    /// Heads that have not been passed.
    heads: Vec<(Head, Flaw)>,
    torn: bool,
}

impl Walk {
    /// Walks to the first flaw, or to the end.
    fn all(&mut self, mut reader: BufReader<File>) -> io::Result<Option<Flaw>> {
        let mut line = Vec::new();
        loop {
            line.clear();
            if Read::take(&mut reader, LONGEST).read_until(b'\n', &mut line)? == 0 {
                return Ok(None);
            }
            let flaw = match ActLine::parse(&line) {
                Ok(line) => self.line(&line),
                Err(flaw) => {
                    self.torn = self.is_torn(&mut reader)?;
                    return Ok(match flaw {
                        _ if self.torn => None,
                        LineFlaw::NotAnAct => Some(Flaw::NotAnAct),
                        LineFlaw::Changed => Some(Flaw::Changed),
                    });
                }
            };
            if flaw.is_some() {
                return Ok(flaw);
            }
        }
    }

    /// Passes a line, or says what is wrong with it.
    fn line(&mut self, line: &ActLine) -> Option<Flaw> {
        if let Some(flaw) = self.next.flaw_of(line) {
            return Some(flaw);
        }
        if !line.is_by(&self.key) {
            return Some(Flaw::Signature);
        }
        let number = line.body.number;
        let is_other = |head: &&(Head, Flaw)| head.0.number == number && head.0.hash != line.hash;
        if let Some((_, flaw)) = self.heads.iter().find(is_other) {
            return Some(*flaw);
        }
        if let Some(keys) = &self.keys {
            let act = match read_act(keys, line) {
                Ok(act) => act,
                Err(flaw) => return Some(flaw),
            };
            if self.state.admit(number, &act).is_err() {
                return Some(Flaw::Rule);
            }
        }
        self.heads.retain(|(head, _)| head.number != number);
        self.next = Position::after(line);
        None
    }

    /// Whether a line that is no act, and what follows it, is what a power cut has left of an act that nobody
    /// was told of: no signed line follows, and no head names one that is missing.
    fn is_torn(&self, reader: &mut BufReader<File>) -> io::Result<bool> {
        if self.heads.iter().any(|(head, _)| head.number >= self.next.number) {
            return Ok(false);
        }
        let mut line = Vec::new();
        loop {
            line.clear();
            if Read::take(&mut *reader, LONGEST).read_until(b'\n', &mut line)? == 0 {
                return Ok(true);
            }
            if ActLine::parse(&line).is_ok_and(|line| line.is_by(&self.key)) {
                return Ok(false);
            }
        }
    }

    /// Which act is missing at the end.
    fn end(&self) -> Option<(u64, Flaw)> {
        let (missing, flaw) = self.heads.iter().min_by_key(|(head, _)| head.number)?;
        Some((self.next.number.min(missing.number), *flaw))
    }
}

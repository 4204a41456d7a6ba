//! Proves that the log is as it was written.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::audit::chain::{Line, LineFlaw, Position};
use crate::audit::entry::Head;
use crate::audit::head_file;
use crate::audit::key::PublicKey;
use crate::audit::log_files::{self, LogFile, lines};
use crate::audit::reader::AuditReader;
use crate::day::Day;
use crate::error::Error;

/// What a verification has found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verified {
    /// Files that were read.
    pub files: u64,
    /// Entries that are proven: all before the first fault.
    pub entries: u64,
    /// The newest of them, to be noted elsewhere.
    pub head: Option<Head>,
    /// The key whose signatures were accepted.
    pub key: PublicKey,
    /// The last line is not complete: it is being written, or was when a power cut came, and will be cut off.
    pub torn: bool,
    /// The first fault; none if the log is as it was written.
    pub fault: Option<Fault>,
}

/// Where the log is not as it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The file.
    pub file: PathBuf,
    /// Its line, from 1; 0 is none.
    pub line: u64,
    /// The number of the entry that is wrong or missing.
    pub entry: u64,
    /// What is wrong.
    pub flaw: Flaw,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file.display())?;
        if self.line > 0 {
            write!(f, ", line {}", self.line)?;
        }
        write!(f, ": entry {} {}", self.entry, self.flaw)
    }
}

/// What is wrong with an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Flaw {
    /// The line cannot be read.
    #[error("cannot be read: the line is not an entry")]
    NotAnEntry,
    /// Its hash is not that of its text.
    #[error("was changed: its hash is that of another text")]
    Changed,
    /// Others follow in its place.
    #[error("is missing: entries were removed")]
    Removed,
    /// It stands elsewhere in its file.
    #[error("is not where it belongs: entries were reordered")]
    Reordered,
    /// An entry with a lower number stands in its place.
    #[error("is not in its place: an earlier entry was repeated")]
    Repeated,
    /// It names another entry before it.
    #[error("does not follow the entry before it: that one was replaced")]
    Chain,
    /// It was not signed by the key.
    #[error("is not signed by the key")]
    Signature,
    /// It lies in the file of another day.
    #[error("lies in a file of another day")]
    Day,
    /// The log once had it at its end.
    #[error("is missing: the log was cut off after it had been written")]
    CutOff,
    /// A head says that there was another one.
    #[error("is another one than was noted")]
    Noted,
    /// The file `head` is missing, or not signed by the key.
    #[error("cannot be told to be the last one: the file `head` is missing or not signed by the key")]
    Head,
}

/// A walk along the log.
struct Walk {
    key: PublicKey,
    next: Position,
    /// Heads that have not been passed.
    heads: Vec<(Head, Flaw)>,
    torn: bool,
}

impl AuditReader {
    /// Checks every entry, and that none is missing that the file `head` or one of `noted` names. Signatures
    /// have to be of `key`; without it, of the key that lies beside the log, which proves nothing against
    /// somebody who can replace both.
    ///
    /// # Errors
    ///
    /// The log cannot be read.
    pub fn verify(&self, key: Option<PublicKey>, noted: &[Head]) -> Result<Verified, Error> {
        let key = key.map_or_else(|| PublicKey::of_log(&self.dir), Ok)?;
        // Before the log, which may grow.
        let head = head_file::read(&self.dir, &key)?;
        let mut walk = Walk { key, next: Position::first(), heads: Vec::new(), torn: false };
        walk.heads.extend(noted.iter().map(|head| (head.clone(), Flaw::Noted)));
        walk.heads.extend(head.as_ref().and_then(|head| {
            let number = head.number.checked_sub(1)?;
            Some((Head { number, hash: head.previous.clone() }, Flaw::CutOff))
        }));
        let files = log_files::list(&self.dir)?;
        let mut fault = None;
        for (index, file) in files.iter().enumerate() {
            fault = walk.file(file, index + 1 == files.len())?;
            if fault.is_some() {
                break;
            }
        }
        let last = files.last().map_or(self.dir.as_path(), |file| file.path.as_path());
        let fault = fault.or_else(|| walk.end(last)).or_else(|| {
            let entry = walk.next.number.saturating_sub(1);
            head.is_none().then(|| Fault { file: self.dir.join("head"), line: 0, entry, flaw: Flaw::Head })
        });
        let Position { number: entries, previous: hash } = walk.next;
        let head = entries.checked_sub(1).map(|number| Head { number, hash });
        Ok(Verified { files: files.len() as u64, entries, head, key, torn: walk.torn, fault })
    }
}

impl Walk {
    fn file(&mut self, file: &LogFile, is_last: bool) -> Result<Option<Fault>, Error> {
        let bytes = file.read()?;
        let lines: Vec<&[u8]> = lines(&bytes).map(|(_, line)| line).collect();
        for (index, bytes) in lines.iter().enumerate() {
            let flaw = match Line::parse(bytes) {
                Ok(line) => self.line(file, &line, &lines[index + 1..]),
                Err(_) if is_last && self.is_torn(&lines[index..]) => {
                    self.torn = true;
                    return Ok(None);
                }
                Err(LineFlaw::NotAnEntry) => Some(Flaw::NotAnEntry),
                Err(LineFlaw::Changed) => Some(Flaw::Changed),
            };
            if let Some(flaw) = flaw {
                let line = index as u64 + 1;
                return Ok(Some(Fault { file: file.path.clone(), line, entry: self.next.number, flaw }));
            }
        }
        Ok(None)
    }

    /// Passes a line, or says what is wrong with it.
    fn line(&mut self, file: &LogFile, line: &Line, rest: &[&[u8]]) -> Option<Flaw> {
        if !self.next.is_of(line) {
            let expected = self.next.number;
            let is_here = |bytes: &&[u8]| Line::parse(bytes).is_ok_and(|line| line.body.number == expected);
            return Some(match line.body.number {
                number if number == expected => Flaw::Chain,
                number if number < expected => Flaw::Repeated,
                _ if rest.iter().any(is_here) => Flaw::Reordered,
                _ => Flaw::Removed,
            });
        }
        if !line.is_by(&self.key) {
            return Some(Flaw::Signature);
        }
        if Day::of(line.body.time) != file.day {
            return Some(Flaw::Day);
        }
        let number = line.body.number;
        let is_other = |head: &&(Head, Flaw)| head.0.number == number && head.0.hash != line.hash;
        if let Some((_, flaw)) = self.heads.iter().find(is_other) {
            return Some(*flaw);
        }
        self.heads.retain(|(head, _)| head.number != number);
        self.next = Position::after(line);
        None
    }

    /// Whether these lines at the end of the log are what a power cut has left of entries that nobody was
    /// told of: none of them is an entry, and no head names them.
    fn is_torn(&self, lines: &[&[u8]]) -> bool {
        let is_entry = |bytes: &&[u8]| Line::parse(bytes).is_ok_and(|line| line.is_by(&self.key));
        !lines.iter().any(is_entry) && self.heads.iter().all(|(head, _)| head.number < self.next.number)
    }

    /// What is wrong with the end of the log.
    fn end(&self, file: &Path) -> Option<Fault> {
        let missing = self.heads.iter().min_by_key(|(head, _)| head.number)?;
        // The entry that is missing first.
        let entry = self.next.number.min(missing.0.number);
        Some(Fault { file: file.to_owned(), line: 0, entry, flaw: missing.1 })
    }
}

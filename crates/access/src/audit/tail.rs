//! The end of a log, where entries are added: found when it is opened.

use std::fs::{self, File};
use std::path::Path;
use std::sync::Arc;

use crate::audit::chain::{Line, Position};
use crate::audit::head_file::HeadFile;
use crate::audit::key::PublicKey;
use crate::audit::log_files::{self, LogFile, lines};
use crate::error::Error;
use crate::files;

/// Where the next entry goes.
pub(crate) struct Tail {
    /// None if the log has no file yet.
    pub(crate) open: Option<OpenFile>,
    pub(crate) next: Position,
    /// Bytes of an incomplete entry that were cut off.
    pub(crate) torn: u64,
}

/// The newest file of a log.
#[derive(Clone)]
pub(crate) struct OpenFile {
    pub(crate) of: LogFile,
    pub(crate) file: Arc<File>,
    /// The end of its last entry, in bytes.
    pub(crate) end: u64,
}

impl Tail {
    /// Finds the end. Cuts off an entry that was not complete when a power cut or a kill came: it was never
    /// acknowledged, so what it would have recorded was not done.
    ///
    /// # Errors
    ///
    /// The log cannot be read, or lacks what it once had.
    pub(crate) fn find(dir: &Path, key: &PublicKey, head: &HeadFile) -> Result<Self, Error> {
        let head = head.read(key).map_err(|error| Error::io(dir, "read", error))?;
        let head = head.ok_or_else(|| fault(&dir.join("head"), 1, "is not signed by the key of the log"))?;
        let mut torn = 0;
        let mut all = log_files::list(dir)?;
        while let Some(newest) = all.pop() {
            let bytes = newest.read()?;
            let (line, end, rest) = last(&newest, &bytes, key)?;
            if let Some(next) = &line {
                check_head(&newest, &bytes[..end], next, &head)?;
            }
            let file = files::open_or_create(&newest.path);
            let file = file.map_err(|error| Error::io(&newest.path, "opened", error))?;
            if rest > 0 {
                torn += rest;
                let cut = file.set_len(end as u64).and_then(|()| file.sync_all());
                cut.map_err(|error| Error::io(&newest.path, "shortened", error))?;
            }
            if let Some(next) = line {
                let open = OpenFile { of: newest, file: Arc::new(file), end: end as u64 };
                return Ok(Self { open: Some(open), next, torn });
            }
            // Begun, and not one entry written.
            fs::remove_file(&newest.path).map_err(|error| Error::io(&newest.path, "removed", error))?;
        }
        if head != Position::first() {
            return Err(fault(dir, 0, &format!("is missing: the log once had {} entries", head.number)));
        }
        Ok(Self { open: None, next: head, torn })
    }
}

/// Where the entry after the last one of a file belongs, none if it has none; the end of that, in bytes; and
/// how many bytes follow it that are no entry.
fn last(of: &LogFile, bytes: &[u8], key: &PublicKey) -> Result<(Option<Position>, usize, u64), Error> {
    let (mut last, mut end, mut number): (Option<Line>, _, _) = (None, 0, 0);
    for (at, line) in lines(bytes) {
        number += 1;
        let parsed = Line::parse(line).ok().filter(|parsed| match &last {
            Some(last) => Position::after(last).is_of(parsed),
            None => parsed.body.number == of.first,
        });
        let Some(parsed) = parsed else { break };
        end = at + line.len();
        last = Some(parsed);
    }
    let rest = &bytes[end..];
    if lines(rest).any(|(_, line)| Line::parse(line).is_ok_and(|line| line.is_by(key))) {
        return Err(fault(&of.path, number, "was changed, or lines before it were"));
    }
    if last.as_ref().is_some_and(|last| !last.is_by(key)) {
        return Err(fault(&of.path, number, "is not signed by the key of the log"));
    }
    Ok((last.as_ref().map(Position::after), end, rest.len() as u64))
}

/// The entry of the head must be there.
fn check_head(of: &LogFile, bytes: &[u8], next: &Position, head: &Position) -> Result<(), Error> {
    let missing = |line| {
        let number = head.number.saturating_sub(1);
        fault(&of.path, line, &format!("is not entry {number}, with which the log once ended"))
    };
    if next.number < head.number {
        return Err(missing(next.number.saturating_sub(of.first) + 1));
    }
    let Some(index) = head.number.checked_sub(of.first + 1) else { return Ok(()) };
    let line = lines(bytes).nth(index as usize).and_then(|(_, line)| Line::parse(line).ok());
    match line {
        Some(line) if line.hash == head.previous => Ok(()),
        _ => Err(missing(index + 1)),
    }
}

fn fault(path: &Path, line: u64, problem: &str) -> Error {
    Error::Log { path: path.to_owned(), line, problem: problem.to_owned() }
}

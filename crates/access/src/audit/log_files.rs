//! The files of a log: `000000000017-2026-11-21.jsonl` begins with entry 17 and has entries of that day.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use crate::day::Day;
use crate::error::Error;
use crate::files;

/// A file of the log.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct LogFile {
    /// The number of its first entry.
    pub(crate) first: u64,
    pub(crate) day: Day,
    pub(crate) path: PathBuf,
}

impl LogFile {
    pub(crate) fn new(dir: &Path, first: u64, day: Day) -> Self {
        Self { first, day, path: dir.join(format!("{first:012}-{day}.jsonl")) }
    }

    fn named(dir: &Path, name: &str) -> Option<Self> {
        let (first, day) = name.strip_suffix(".jsonl")?.split_once('-')?;
        let file = Self::new(dir, first.parse().ok()?, day.parse().ok()?);
        // One way to write each.
        (file.path == dir.join(name)).then_some(file)
    }

    /// All of it.
    pub(crate) fn read(&self) -> Result<Vec<u8>, Error> {
        let read = || -> io::Result<Vec<u8>> {
            let mut bytes = Vec::new();
            files::open_to_read(&self.path)?.take(MOST).read_to_end(&mut bytes)?;
            Ok(bytes)
        };
        read().map_err(|error| Error::io(&self.path, "read", error))
    }
}

/// All files of a log, in order.
pub(crate) fn list(dir: &Path) -> Result<Vec<LogFile>, Error> {
    let failed = |error| Error::io(dir, "read", error);
    let mut files = Vec::new();
    for entry in fs::read_dir(dir).map_err(failed)? {
        let name = entry.map_err(failed)?.file_name();
        files.extend(name.to_str().and_then(|name| LogFile::named(dir, name)));
    }
    files.sort_unstable();
    Ok(files)
}

/// Where each line begins, and the line with its line feed.
pub(crate) fn lines(bytes: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    let mut at = 0;
    bytes.split_inclusive(|byte| *byte == b'\n').map(move |line| {
        at += line.len();
        (at - line.len(), line)
    })
}

/// A file is not read further than this. It ends after 8 MiB and an entry.
const MOST: u64 = 64 << 20;

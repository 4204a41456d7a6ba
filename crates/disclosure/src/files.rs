//! The files of an answer: written beside their names, on the disk, and only then given their names.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use ringtap_model::Nanos;
use ringtap_report::{csv, time};
use ringtap_warrant::{Category, NewRequest};
use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::cells;
use crate::error::Error;
use crate::search::Found;

/// Files that are whole and on the disk, under names that end in `.part`. Dropped before
/// [`publish`](Self::publish), they are removed.
#[derive(Debug)]
pub struct Files {
    dir: PathBuf,
    written: Vec<WrittenFile>,
    is_published: bool,
}

/// A file, by which it is known again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenFile {
    /// Its name when it is published.
    pub name: String,
    /// Its octets.
    pub octets: u64,
    /// SHA-256 of them, as hex digits.
    pub sha256: String,
}

/// The first line of the JSON.
#[derive(Serialize)]
struct Head<'a> {
    r#type: &'static str,
    request: u32,
    case: &'a str,
    #[serde(rename = "from_us")]
    from: Nanos,
    #[serde(rename = "until_us")]
    until: Nanos,
    categories: &'a [Category],
    time_zone: String,
    calls: usize,
    accesses: usize,
    days_with_records: Option<usize>,
}

/// A row with what it is.
#[derive(Serialize)]
struct Tagged<'a, R> {
    r#type: &'static str,
    #[serde(flatten)]
    row: &'a R,
}

impl Files {
    /// Writes what was found into a directory, mode 0600: `answer.jsonl`, and `calls.csv` and `accesses.csv`
    /// of the categories that are asked for.
    ///
    /// # Errors
    ///
    /// They cannot be written; then none is left.
    pub fn write(dir: &Path, id: u32, request: &NewRequest, found: &Found) -> Result<Self, Error> {
        let mut files = Self { dir: dir.to_owned(), written: Vec::new(), is_published: false };
        let asks = |category| request.categories.contains(&category);
        if asks(Category::Telephony) {
            files.add("calls.csv", |out| {
                csv::row(out, cells::CALLS.iter())?;
                found.calls.iter().try_for_each(|row| cells::call(out, row))
            })?;
        }
        if asks(Category::InternetAccess) {
            files.add("accesses.csv", |out| {
                csv::row(out, cells::ACCESSES.iter())?;
                found.accesses.iter().try_for_each(|row| cells::access(out, row))
            })?;
        }
        let head = Head {
            r#type: "answer",
            request: id,
            case: &request.case_number,
            from: request.from,
            until: request.until,
            categories: &request.categories,
            time_zone: time::zone_name(),
            calls: found.calls.len(),
            accesses: found.accesses.len(),
            days_with_records: found.days,
        };
        files.add("answer.jsonl", |out| {
            line(out, &head)?;
            found.calls.iter().try_for_each(|row| line(out, &Tagged { r#type: "call", row }))?;
            found.accesses.iter().try_for_each(|row| line(out, &Tagged { r#type: "access", row }))
        })?;
        File::open(dir).and_then(|dir| dir.sync_all()).map_err(|error| Error::io(dir, "synced", error))?;
        Ok(files)
    }

    /// The files.
    pub fn written(&self) -> &[WrittenFile] {
        &self.written
    }

    /// Gives the files their names.
    ///
    /// # Errors
    ///
    /// One cannot be renamed: those that are left end in `.part`, and are whole.
    pub fn publish(mut self) -> Result<(), Error> {
        // Whatever happens from here on, what is recorded as given has to stay.
        self.is_published = true;
        for file in &self.written {
            let path = self.dir.join(&file.name);
            fs::rename(part(&path), &path).map_err(|error| Error::io(&path, "given its name", error))?;
        }
        let synced = File::open(&self.dir).and_then(|dir| dir.sync_all());
        synced.map_err(|error| Error::io(&self.dir, "synced", error))
    }

    fn add(&mut self, name: &str, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), Error> {
        let path = part(&self.dir.join(name));
        let failed = |error| Error::io(&path, "written", error);
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path).map_err(failed)?;
        // Known before it is whole, so that it is removed if it does not become so.
        let empty = WrittenFile { name: name.to_owned(), octets: 0, sha256: String::new() };
        self.written.push(empty);
        let mut out = BufWriter::with_capacity(BUFFER, Hashing { file, hash: Sha256::new(), octets: 0 });
        write(&mut out).and_then(|()| out.flush()).map_err(failed)?;
        let Hashing { file, hash, octets } = out.into_inner().map_err(|error| failed(error.into_error()))?;
        file.sync_all().map_err(failed)?;
        if let Some(written) = self.written.last_mut() {
            written.octets = octets;
            written.sha256 = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        }
        Ok(())
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        if self.is_published {
            return;
        }
        for file in &self.written {
            // What cannot be removed is still not named as an answer.
            let _ = fs::remove_file(part(&self.dir.join(&file.name)));
        }
    }
}

fn line(out: &mut dyn Write, value: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer(&mut *out, value)?;
    out.write_all(b"\n")
}

fn part(path: &Path) -> PathBuf {
    path.with_added_extension("part")
}

/// Counts and hashes what is written.
struct Hashing {
    file: File,
    hash: Sha256,
    octets: u64,
}

impl Write for Hashing {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        let written = self.file.write(data)?;
        self.hash.update(&data[..written]);
        self.octets += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

const BUFFER: usize = 1 << 16;

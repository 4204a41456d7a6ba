//! A file that is hashed as it is written.

use std::fs::{File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

/// A file that was written whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenFile {
    /// Which.
    pub path: PathBuf,
    /// Its octets.
    pub octets: u64,
    /// SHA-256 of them.
    pub sha256: [u8; 32],
}

/// A file, and the hash of what was written. It is open while it is written alone: there may be more of them
/// than a process may have open.
#[derive(Debug)]
pub(crate) struct HashedFile {
    pub(crate) path: PathBuf,
    /// Whole PDUs, or what the writer of a capture gave.
    pub(crate) waiting: Vec<u8>,
    /// How many of them.
    pub(crate) records: u64,
    /// How many could not be written.
    pub(crate) lost: u64,
    pub(crate) is_unsynced: bool,
    /// Its name is on the disk.
    pub(crate) is_named: bool,
    digest: Sha256,
    pub(crate) octets: u64,
}

impl HashedFile {
    /// One that does not exist yet, for whoever runs the program alone.
    pub(crate) fn create(path: &Path) -> io::Result<Self> {
        OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
        Ok(Self {
            path: path.to_owned(),
            waiting: Vec::new(),
            records: 0,
            lost: 0,
            is_unsynced: true,
            is_named: false,
            digest: Sha256::new(),
            octets: 0,
        })
    }

    /// Writes what waits. What cannot be written is lost, and nothing of it stays in the file: it ends with a
    /// whole PDU.
    pub(crate) fn put_out(&mut self) -> io::Result<()> {
        let (waiting, records) = (std::mem::take(&mut self.waiting), std::mem::take(&mut self.records));
        if waiting.is_empty() {
            return Ok(());
        }
        let written = self.open().and_then(|mut to| {
            let written = to.seek(SeekFrom::Start(self.octets)).and_then(|_| to.write_all(&waiting));
            if written.is_err() {
                let _ = to.set_len(self.octets);
            }
            written
        });
        match written {
            Ok(()) => {
                self.digest.update(&waiting);
                self.octets += waiting.len() as u64;
                self.is_unsynced = true;
            }
            Err(_) => self.lost += records.max(1),
        }
        // Its memory is of use again.
        self.waiting = waiting;
        self.waiting.clear();
        written
    }

    /// It holds nothing of use.
    pub(crate) fn remove(&self) {
        let _ = std::fs::remove_file(&self.path);
    }

    pub(crate) fn sync(&mut self) -> io::Result<()> {
        if !std::mem::take(&mut self.is_unsynced) {
            return Ok(());
        }
        self.open()?.sync_data()?;
        // A file whose name a power cut took is lost as well.
        if !self.is_named {
            let directory = self.path.parent().unwrap_or(Path::new("."));
            File::open(directory)?.sync_all()?;
            self.is_named = true;
        }
        Ok(())
    }

    fn open(&self) -> io::Result<File> {
        OpenOptions::new().write(true).open(&self.path)
    }

    pub(crate) fn finish(self) -> WrittenFile {
        let Self { path, digest, octets, .. } = self;
        WrittenFile { path, octets, sha256: digest.finalize().into() }
    }
}

impl Write for HashedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.waiting.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.put_out()
    }
}

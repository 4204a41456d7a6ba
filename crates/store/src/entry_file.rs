//! A file that is only appended to: entries with their length and checksum, of which a kill can tear the
//! last.
//!
//! Eight bytes that name the kind of file, then entries: length (u32, little endian), CRC-32C of length and
//! payload (u32), payload. Whatever does not check ends the file: it is cut off there and written over.

use std::fs::{File, OpenOptions, Permissions};
use std::io::{self, Read};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use ringtap_cpu::crc32c;

use crate::Error;
use crate::directory::sync_parent;

/// Names a kind of file, at its beginning.
pub(crate) type Magic = [u8; 8];

/// Bytes that an entry takes beside its payload.
pub(crate) const OVERHEAD: u64 = 8;

/// The longest payload: what claims to be longer is damage.
pub(crate) const LONGEST: usize = 16 << 20;

/// An open file, at its end.
#[derive(Debug)]
pub(crate) struct EntryFile {
    path: PathBuf,
    file: File,
    len: u64,
}

impl EntryFile {
    /// A new file in place of whatever is there.
    pub(crate) fn create(path: &Path, magic: Magic) -> Result<Self, Error> {
        let failed = |error| Error::file(path, error);
        // What waits here has not been sorted by who may read it: nobody else may.
        let mut options = OpenOptions::new();
        let file = options.read(true).write(true).create(true).truncate(true).mode(0o600).open(path);
        let file = file.map_err(failed)?;
        // Also where an earlier version made it. Who may write it and is not its owner cannot.
        let _ = file.set_permissions(Permissions::from_mode(0o600));
        file.write_all_at(&magic, 0).map_err(failed)?;
        sync_parent(path).map_err(failed)?;
        Ok(Self { path: path.to_owned(), file, len: magic.len() as u64 })
    }

    /// The file that is there, or a new one. Every entry goes to `take`, with its place; the number of bytes
    /// that were cut off behind the last good one is returned.
    pub(crate) fn open(
        path: &Path,
        magic: Magic,
        mut take: impl FnMut(u64, &[u8]),
    ) -> Result<(Self, u64), Error> {
        let failed = |error| Error::file(path, error);
        let file = match OpenOptions::new().read(true).write(true).open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Self::create(path, magic).map(|entry_file| (entry_file, 0));
            }
            Err(error) => return Err(failed(error)),
        };
        let metadata = file.metadata().map_err(failed)?;
        if !metadata.is_file() {
            // A pipe would let it wait for ever.
            return Err(Error::NotOurs { path: path.to_owned() });
        }
        let size = metadata.len();
        let mut found = Vec::new();
        (&file).take(magic.len() as u64).read_to_end(&mut found).map_err(failed)?;
        if !magic.starts_with(&found) {
            return Err(Error::NotOurs { path: path.to_owned() });
        }
        if found.len() < magic.len() {
            // Torn before it began.
            return Self::create(path, magic).map(|entry_file| (entry_file, size));
        }
        let mut entries = Entries::at(&file, magic.len() as u64);
        while let Some((at, payload)) = entries.next().map_err(failed)? {
            take(at, payload);
        }
        let len = entries.end();
        if size > len {
            file.set_len(len).map_err(failed)?;
        }
        Ok((Self { path: path.to_owned(), file, len }, size - len))
    }

    /// Appends entries, all or none, and returns the place of the first. Where that fails half-way, the next
    /// attempt writes over what was left.
    pub(crate) fn append<'a>(&mut self, payloads: impl IntoIterator<Item = &'a [u8]>) -> Result<u64, Error> {
        let mut bytes = Vec::new();
        for payload in payloads {
            let length = (payload.len() as u32).to_le_bytes();
            bytes.extend(length);
            bytes.extend(crc32c(crc32c(0, &length), payload).to_le_bytes());
            bytes.extend(payload);
        }
        let at = self.len;
        self.file.write_all_at(&bytes, at).map_err(|error| self.failed(error))?;
        self.len += bytes.len() as u64;
        Ok(at)
    }

    /// Makes everything appended durable.
    pub(crate) fn sync(&self) -> Result<(), Error> {
        self.file.sync_data().map_err(|error| self.failed(error))
    }

    /// The payload of the entry at `at`, which was appended or read there before.
    pub(crate) fn entry(&self, at: u64, length: usize) -> Result<Vec<u8>, Error> {
        let mut payload = vec![0; length];
        self.file.read_exact_at(&mut payload, at + OVERHEAD).map_err(|error| self.failed(error))?;
        Ok(payload)
    }

    /// Entries from `at` on.
    pub(crate) fn entries(&self, at: u64) -> Entries<Window<'_>> {
        Entries::at(Window { file: &self.file, at, end: self.len }, at)
    }

    /// Whether its name is gone: nobody will find what is written to it.
    pub(crate) fn is_removed(&self) -> bool {
        self.file.metadata().is_ok_and(|file| file.nlink() == 0)
    }

    /// Bytes of it.
    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Takes the name of another file, which it replaces, durably.
    pub(crate) fn rename(&mut self, path: &Path) -> Result<(), Error> {
        let renamed = std::fs::rename(&self.path, path).and_then(|()| sync_parent(path));
        renamed.map_err(|error| Error::file(path, error))?;
        self.path = path.to_owned();
        Ok(())
    }

    fn failed(&self, error: io::Error) -> Error {
        Error::file(&self.path, error)
    }
}

/// A file from one place to another.
#[derive(Debug)]
pub(crate) struct Window<'a> {
    file: &'a File,
    at: u64,
    end: u64,
}

impl Read for Window<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let room = usize::try_from(self.end - self.at).unwrap_or(usize::MAX).min(buffer.len());
        let read = self.file.read_at(&mut buffer[..room], self.at)?;
        self.at += read as u64;
        Ok(read)
    }
}

/// The entries of a file, up to the first that does not check.
pub(crate) struct Entries<R> {
    source: io::BufReader<R>,
    payload: Vec<u8>,
    at: u64,
    next: u64,
}

impl<R: Read> Entries<R> {
    fn at(source: R, at: u64) -> Self {
        Self { source: io::BufReader::with_capacity(256 << 10, source), payload: Vec::new(), at, next: at }
    }

    /// The next entry and its place; `None` at the end of what is good.
    pub(crate) fn next(&mut self) -> io::Result<Option<(u64, &[u8])>> {
        self.at = self.next;
        let mut head = [0; OVERHEAD as usize];
        if !filled(&mut self.source, &mut head)? {
            return Ok(None);
        }
        let [a, b, c, d, sum @ ..] = head;
        let length = u32::from_le_bytes([a, b, c, d]) as usize;
        if length > LONGEST {
            return Ok(None);
        }
        self.payload.resize(length, 0);
        if !filled(&mut self.source, &mut self.payload)?
            || crc32c(crc32c(0, &[a, b, c, d]), &self.payload) != u32::from_le_bytes(sum)
        {
            return Ok(None);
        }
        self.next = self.at + OVERHEAD + length as u64;
        Ok(Some((self.at, &self.payload)))
    }

    /// Where the next entry begins, or what is good ends.
    pub(crate) fn end(&self) -> u64 {
        self.next
    }
}

/// Whether there were as many bytes as `buffer` holds.
fn filled(source: &mut impl Read, buffer: &mut [u8]) -> io::Result<bool> {
    match source.read_exact(buffer) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAGIC: Magic = *b"TESTFILE";

    fn read(path: &Path) -> (Vec<Vec<u8>>, u64) {
        let mut found = Vec::new();
        let (_, cut) = EntryFile::open(path, MAGIC, |_, payload| found.push(payload.to_vec())).unwrap();
        (found, cut)
    }

    /// Cut anywhere, the entries before the cut are there, and appending goes on behind them.
    #[test]
    fn torn_at_every_byte() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        let entries: [&[u8]; 4] = [b"one", b"", b"three of them", b"four"];
        EntryFile::create(&path, MAGIC).unwrap().append(entries).unwrap();
        let whole = std::fs::read(&path).unwrap();
        let ends = [8, 19, 27, 48, 60];
        assert_eq!(whole.len(), 60);
        for length in 0..=whole.len() {
            std::fs::write(&path, &whole[..length]).unwrap();
            let good = ends.iter().filter(|end| **end <= length).count().saturating_sub(1);
            let (found, cut) = read(&path);
            assert_eq!(found, entries[..good], "cut at {length}");
            let kept = if length < 8 { 0 } else { ends[good] };
            assert_eq!(cut, (length - kept) as u64, "cut at {length}");
            let (mut file, _) = EntryFile::open(&path, MAGIC, |_, _| ()).unwrap();
            file.append([&b"next"[..]]).unwrap();
            let (found, cut) = read(&path);
            assert_eq!((found.last().unwrap().as_slice(), found.len(), cut), (&b"next"[..], good + 1, 0));
        }
    }

    /// A byte that changed ends the file there.
    #[test]
    fn damaged_at_every_byte() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        EntryFile::create(&path, MAGIC).unwrap().append([&b"first"[..], b"second"]).unwrap();
        let whole = std::fs::read(&path).unwrap();
        for place in 8..whole.len() {
            let mut damaged = whole.clone();
            damaged[place] ^= 0x10;
            std::fs::write(&path, damaged).unwrap();
            let good = usize::from(place >= 21);
            assert_eq!(read(&path).0.len(), good, "damaged at {place}");
        }
        std::fs::write(&path, b"SQLite format 3").unwrap();
        assert!(matches!(EntryFile::open(&path, MAGIC, |_, _| ()), Err(Error::NotOurs { .. })));
    }
}

//! The bytes of one input as they are stored: a regular file, or what a pipe gave.
//!
//! Files are read, never mapped: somebody may truncate or change a file while it is read, and a map then ends
//! the process with SIGBUS, or changes bytes that were checked already.

use std::env;
use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::FileExt;

use crate::error::DamageKind;

/// Where a reader reads its bytes from, as often as it wants.
#[derive(Debug)]
pub(crate) enum Content {
    /// A regular file, and its size when it was opened: what a writer appends later is not read.
    File(File, u64),
    Memory(Vec<u8>),
}

impl Content {
    /// A regular file stays where it is; anything else (pipes, devices, `/proc`) is read to its end.
    pub(crate) fn load(mut file: File) -> Result<Self, Failure> {
        let metadata = file.metadata().map_err(Failure::Read)?;
        // A redirected standard input may have been read in part already.
        let seekable =
            metadata.is_file() && metadata.len() > 0 && file.stream_position().is_ok_and(|at| at == 0);
        if seekable {
            return Ok(Self::File(file, metadata.len()));
        }
        Self::read(file, MEMORY)
    }

    fn read(mut from: impl Read, memory: usize) -> Result<Self, Failure> {
        let mut store = Store::new(memory);
        let mut chunk = vec![0; CHUNK];
        loop {
            match from.read(&mut chunk) {
                Ok(0) => return Ok(store.finish()),
                Ok(read) => store.push(&chunk[..read])?,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(Failure::Read(error)),
            }
        }
    }

    /// Number of bytes.
    pub(crate) fn size(&self) -> u64 {
        match self {
            Self::File(_, size) => *size,
            Self::Memory(bytes) => bytes.len() as u64,
        }
    }

    /// Reads into `to` from the offset `at`, and returns how many bytes; 0 at the end.
    ///
    /// # Errors
    ///
    /// The file has become shorter, or cannot be read.
    pub(crate) fn read_at(&self, at: u64, to: &mut [u8]) -> Result<usize, DamageKind> {
        let left = usize::try_from(self.size().saturating_sub(at)).unwrap_or(usize::MAX);
        let length = to.len().min(left);
        let to = &mut to[..length];
        match self {
            // INVARIANT: `left` is 0 beyond the end, else `at` is an index.
            Self::Memory(bytes) if length > 0 => to.copy_from_slice(&bytes[at as usize..][..length]),
            Self::Memory(_) => {}
            Self::File(..) if length == 0 => {}
            Self::File(file, _) => loop {
                match file.read_at(to, at) {
                    Ok(0) => return Err(DamageKind::Shortened),
                    Ok(read) => return Ok(read),
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(error) => return Err(DamageKind::Unreadable(error.kind())),
                }
            },
        }
        Ok(length)
    }
}

/// Why content could not be loaded.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The input could not be read.
    Read(io::Error),
    /// The temporary file could not be written.
    Store(io::Error),
}

/// Stores an unknown number of bytes: up to a limit in memory, beyond it in an unlinked temporary file, so
/// that nothing is left behind after a crash.
struct Store {
    memory: Vec<u8>,
    limit: usize,
    file: Option<File>,
    size: u64,
}

impl Store {
    fn new(limit: usize) -> Self {
        Self { memory: Vec::new(), limit, file: None, size: 0 }
    }

    fn push(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.size += bytes.len() as u64;
        if self.file.is_none() {
            if self.memory.len() + bytes.len() <= self.limit {
                self.memory.extend_from_slice(bytes);
                return Ok(());
            }
            let mut file = tempfile::tempfile_in(env::temp_dir()).map_err(Failure::Store)?;
            file.write_all(&self.memory).map_err(Failure::Store)?;
            self.memory = Vec::new();
            self.file = Some(file);
        }
        match &mut self.file {
            Some(file) => file.write_all(bytes).map_err(Failure::Store),
            None => Ok(()),
        }
    }

    fn finish(self) -> Content {
        match self.file {
            Some(file) => Content::File(file, self.size),
            None => Content::Memory(self.memory),
        }
    }
}

/// What a pipe gives stays in memory up to this size.
const MEMORY: usize = 256 << 20;
/// Large enough to make the cost of system calls negligible.
const CHUNK: usize = 256 << 10;

#[cfg(test)]
mod tests {
    use super::*;

    fn all(content: &Content) -> Vec<u8> {
        let mut bytes = vec![0; content.size() as usize];
        let mut at = 0;
        while at < bytes.len() {
            at += content.read_at(at as u64, &mut bytes[at..]).expect("readable");
        }
        assert_eq!(content.read_at(at as u64, &mut [0; 9]), Ok(0));
        assert_eq!(content.read_at(u64::MAX, &mut [0; 9]), Ok(0));
        bytes
    }

    #[test]
    fn stores_in_memory_and_beyond() {
        let bytes: Vec<u8> = (0..100_000_u32).flat_map(u32::to_le_bytes).collect();
        let small = Content::read(&bytes[..], 1 << 20).expect("fits");
        assert!(matches!(small, Content::Memory(_)));
        let large = Content::read(&bytes[..], 1 << 10).expect("temporary directory");
        assert!(matches!(large, Content::File(..)));
        assert_eq!(all(&small), bytes);
        assert_eq!(all(&large), bytes);
    }

    #[test]
    fn a_file_without_a_size_is_read() {
        let file = File::open("/proc/self/status").expect("Linux");
        let content = Content::load(file).expect("readable");
        assert!(all(&content).starts_with(b"Name:"));
    }

    #[test]
    fn a_file_that_becomes_shorter_says_so() {
        let mut file = tempfile::tempfile().expect("a temporary file");
        file.write_all(&[7; 100]).and_then(|()| file.rewind()).expect("written");
        let content = Content::load(file.try_clone().expect("a descriptor")).expect("a regular file");
        file.set_len(40).expect("shorter");
        assert_eq!(content.read_at(0, &mut [0; 100]), Ok(40));
        assert_eq!(content.read_at(40, &mut [0; 100]), Err(DamageKind::Shortened));
        file.set_len(200).expect("longer");
        assert_eq!(content.read_at(90, &mut [0; 100]), Ok(10));
    }
}

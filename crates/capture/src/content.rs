//! The bytes of one input as one slice: mapped, read or decompressed.

use std::env;
use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::ops::Deref;

use memmap2::Mmap;

use crate::sys;

/// The memory from which a reader borrows its packets.
#[derive(Debug)]
pub(crate) enum Content {
    Map(Mmap),
    Memory(Vec<u8>),
}

impl Deref for Content {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        match self {
            Self::Map(map) => map,
            Self::Memory(bytes) => bytes,
        }
    }
}

impl Content {
    /// A whole file: mapped if possible, else read (pipes, devices, `/proc`).
    pub(crate) fn load(mut file: File) -> Result<Self, Failure> {
        let metadata = file.metadata().map_err(Failure::Read)?;
        // A redirected standard input may have been read in part already.
        let mappable =
            metadata.is_file() && metadata.len() > 0 && file.stream_position().is_ok_and(|at| at == 0);
        if mappable && let Ok(map) = sys::map(&file) {
            return Ok(Self::Map(map));
        }
        Self::read(file, MEMORY)
    }

    fn read(mut from: impl Read, memory: usize) -> Result<Self, Failure> {
        let mut store = Store::new(memory);
        let mut chunk = vec![0; CHUNK];
        loop {
            match from.read(&mut chunk) {
                Ok(0) => return store.finish(),
                Ok(read) => store.push(&chunk[..read])?,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(Failure::Read(error)),
            }
        }
    }
}

/// Why content could not be loaded.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The input could not be read.
    Read(io::Error),
    /// The temporary file could not be written.
    Unpack(io::Error),
}

/// Stores an unknown number of bytes: up to a limit in memory, beyond it in an unlinked temporary file, so
/// that nothing is left behind after a crash.
pub(crate) struct Store {
    memory: Vec<u8>,
    limit: usize,
    file: Option<File>,
    size: u64,
}

impl Store {
    pub(crate) fn new(limit: usize) -> Self {
        Self { memory: Vec::new(), limit, file: None, size: 0 }
    }

    pub(crate) fn size(&self) -> u64 {
        self.size
    }

    pub(crate) fn push(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.size += bytes.len() as u64;
        if self.file.is_none() {
            if self.memory.len() + bytes.len() <= self.limit {
                self.memory.extend_from_slice(bytes);
                return Ok(());
            }
            let mut file = tempfile::tempfile_in(env::temp_dir()).map_err(Failure::Unpack)?;
            file.write_all(&self.memory).map_err(Failure::Unpack)?;
            self.memory = Vec::new();
            self.file = Some(file);
        }
        match &mut self.file {
            Some(file) => file.write_all(bytes).map_err(Failure::Unpack),
            None => Ok(()),
        }
    }

    pub(crate) fn finish(self) -> Result<Content, Failure> {
        match self.file {
            Some(file) => sys::map(&file).map(Content::Map).map_err(Failure::Unpack),
            None => Ok(Content::Memory(self.memory)),
        }
    }
}

/// Decompressed content up to this size stays in memory.
pub(crate) const MEMORY: usize = 256 << 20;
/// Large enough to make the cost of system calls negligible.
pub(crate) const CHUNK: usize = 256 << 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stores_in_memory_and_beyond() {
        let bytes: Vec<u8> = (0..100_000_u32).flat_map(u32::to_le_bytes).collect();
        let small = Content::read(&bytes[..], 1 << 20).expect("fits");
        assert!(matches!(small, Content::Memory(_)));
        let large = Content::read(&bytes[..], 1 << 10).expect("temporary directory");
        assert!(matches!(large, Content::Map(_)));
        assert_eq!(*small, bytes);
        assert_eq!(*large, bytes);
    }

    #[test]
    fn a_file_without_a_size_is_read() {
        let file = File::open("/proc/self/status").expect("Linux");
        let content = Content::load(file).expect("readable");
        assert!(content.starts_with(b"Name:"));
    }
}

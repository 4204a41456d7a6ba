//! The bytes of a segment, on a disk or in far storage.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// Reads a segment wherever it lies.
pub(crate) trait SegmentBytes {
    /// Bytes of the segment.
    fn length(&self) -> io::Result<u64>;

    /// How many bytes to read at once.
    fn piece(&self) -> usize;

    /// Fills the buffer from an offset on. Returns fewer bytes only at the end of the segment.
    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize>;

    /// Calls `each` with every piece, in order.
    fn for_each_piece(&self, each: &mut dyn FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
        let mut piece = vec![0; self.piece()];
        let mut offset = 0;
        loop {
            match self.read_at(&mut piece, offset)? {
                0 => return Ok(()),
                some => each(&piece[..some])?,
            }
            offset += piece.len() as u64;
        }
    }
}

impl SegmentBytes for File {
    fn length(&self) -> io::Result<u64> {
        Ok(self.metadata()?.len())
    }

    fn piece(&self) -> usize {
        1 << 20
    }

    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        let mut filled = 0;
        // The file may have been truncated since its length was read.
        while filled < bytes.len() {
            match FileExt::read_at(self, &mut bytes[filled..], offset + filled as u64)? {
                0 => break,
                some => filled += some,
            }
        }
        Ok(filled)
    }
}

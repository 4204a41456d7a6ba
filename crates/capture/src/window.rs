//! The part of a file's content that is in memory.

use std::ops::Range;
use std::sync::Arc;

use crate::content::Content;
use crate::error::{Damage, DamageKind};
use crate::unpack::Unpacker;

/// Bytes that are not read yet, and the offset in the content at which they end.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Rest<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) end: u64,
}

impl<'a> Rest<'a> {
    /// A whole content.
    pub(crate) fn whole(bytes: &'a [u8]) -> Self {
        Self { bytes, end: bytes.len() as u64 }
    }

    /// Where the bytes begin in the content.
    #[inline]
    pub(crate) fn offset(&self) -> u64 {
        self.end - self.bytes.len() as u64
    }
}

/// What gives a window its bytes.
#[derive(Debug)]
enum Source {
    Plain { content: Arc<Content>, at: u64 },
    Packed(Box<Unpacker>),
}

/// Consecutive bytes of a content in memory of our own. What was read from a file stays the same here,
/// whatever becomes of the file.
#[derive(Debug)]
pub(crate) struct Window {
    source: Source,
    bytes: Arc<Vec<u8>>,
    /// Bytes that this window had before, while others held them.
    left: Vec<Arc<Vec<u8>>>,
    /// Bytes in use.
    filled: usize,
    /// Offset in the content of the first byte behind these.
    end: u64,
    /// Nothing follows these bytes.
    is_last: bool,
    /// Why nothing follows.
    damage: Option<Damage>,
}

impl Window {
    /// Reads the content as it is stored.
    pub(crate) fn plain(content: Arc<Content>) -> Self {
        let size = content.size().clamp(SMALLEST as u64, SIZE as u64) as usize;
        Self::new(Source::Plain { content, at: 0 }, size)
    }

    /// Reads what the content unpacks to.
    pub(crate) fn packed(unpacker: Unpacker) -> Self {
        Self::new(Source::Packed(Box::new(unpacker)), SIZE)
    }

    fn new(source: Source, size: usize) -> Self {
        let bytes = Arc::new(vec![0; size]);
        Self { source, bytes, left: Vec::new(), filled: 0, end: 0, is_last: false, damage: None }
    }

    /// Its last `length` bytes.
    #[inline]
    pub(crate) fn last(&self, length: usize) -> Rest<'_> {
        Rest { bytes: &self.bytes[self.filled - length..self.filled], end: self.end }
    }

    /// A range of its bytes.
    #[inline]
    pub(crate) fn range(&self, from: usize, length: usize) -> &[u8] {
        &self.bytes[from..from + length]
    }

    /// Where `part`, a slice of this window, begins in it.
    #[inline]
    pub(crate) fn place(&self, part: &[u8]) -> usize {
        (part.as_ptr() as usize).wrapping_sub(self.bytes.as_ptr() as usize)
    }

    /// Its bytes as they are until it is advanced, for others to hold.
    #[inline]
    pub(crate) fn bytes(&self) -> &Arc<Vec<u8>> {
        &self.bytes
    }

    /// Keeps the last `length` bytes and reads further ones behind them; returns how many bytes there are
    /// now. If those that are kept fill half of the window, it grows. What others hold stays as it is.
    pub(crate) fn advance(&mut self, length: usize) -> usize {
        let kept = self.filled - length..self.filled;
        match Arc::get_mut(&mut self.bytes) {
            Some(bytes) => bytes.copy_within(kept, 0),
            None => self.leave(kept),
        }
        self.filled = length;
        // Never copies: nobody else holds these.
        let bytes = Arc::make_mut(&mut self.bytes);
        if length * 2 > bytes.len() {
            bytes.resize(bytes.len() * 2, 0);
        }
        while !self.is_last && self.filled < bytes.len() {
            match self.source.read(&mut bytes[self.filled..]) {
                Ok(0) => self.is_last = true,
                Ok(read) => {
                    self.filled += read;
                    self.end += read as u64;
                }
                Err(kind) => {
                    self.is_last = true;
                    self.damage = Some(Damage { offset: self.end, kind });
                }
            }
        }
        self.filled
    }

    /// Leaves the bytes to those who hold them, and goes on with `kept` of them in others: such as were left
    /// before and are held no more, or new ones.
    #[cold]
    fn leave(&mut self, kept: Range<usize>) {
        let free = self.left.iter_mut().position(|bytes| Arc::get_mut(bytes).is_some());
        let mut next = match free {
            Some(index) => self.left.swap_remove(index),
            None => Arc::new(vec![0; self.bytes.len()]),
        };
        let bytes = Arc::make_mut(&mut next);
        if bytes.len() < self.bytes.len() {
            bytes.resize(self.bytes.len(), 0);
        }
        bytes[..kept.len()].copy_from_slice(&self.bytes[kept]);
        self.left.push(std::mem::replace(&mut self.bytes, next));
    }

    /// Whether nothing follows its bytes.
    pub(crate) fn is_last(&self) -> bool {
        self.is_last
    }

    /// Where and why the content ended too early.
    pub(crate) fn damage(&self) -> Option<Damage> {
        self.damage
    }

    /// Bytes of the stored content behind which the last `length` bytes begin; compressed, about.
    pub(crate) fn position(&self, length: usize) -> u64 {
        match &self.source {
            Source::Plain { .. } => self.last(length).offset(),
            Source::Packed(unpacker) => unpacker.position(),
        }
    }
}

impl Source {
    fn read(&mut self, to: &mut [u8]) -> Result<usize, DamageKind> {
        match self {
            Self::Plain { content, at } => {
                let read = content.read_at(*at, to)?;
                *at += read as u64;
                Ok(read)
            }
            Self::Packed(unpacker) => unpacker.read(to),
        }
    }
}

/// Bytes read at once: few enough to stay in the L2 cache until they are processed.
const SIZE: usize = 256 << 10;
/// For a small file.
const SMALLEST: usize = 4 << 10;

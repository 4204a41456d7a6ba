//! Captured bytes, with the length that they had on the wire.

use super::DecodeError;

/// The rest of a packet at one layer.
///
/// INVARIANT: `len >= data.len()`. `len` is the length that headers and the capture declare, `data` the part
/// that was captured.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span<'a> {
    pub(super) data: &'a [u8],
    pub(super) len: usize,
    /// A header stated `len`, so no inner header can exceed it. The frame length in a capture file is less
    /// reliable: programs that truncate captures often write the new length in both fields.
    stated: bool,
    /// Offset of `data` in what is decoded.
    at: usize,
    /// How many tunnels are looked into.
    deepest: u8,
}

impl<'a> Span<'a> {
    /// `len` is untrusted: some captures have a wire length smaller than the captured length.
    pub(super) fn new(data: &'a [u8], len: usize) -> Self {
        Self { data, len: len.max(data.len()), stated: false, at: 0, deepest: u8::MAX }
    }

    /// The same bytes with a length that is as untrusted as that of a frame.
    pub(super) fn resized(self, len: usize) -> Self {
        Self { len: len.max(self.data.len()), stated: false, ..self }
    }

    /// The same, of whose tunnels only so many are looked into.
    pub(super) fn no_deeper(self, deepest: u8) -> Self {
        Self { deepest, ..self }
    }

    /// Whether tunnels inside of so many others are looked into.
    #[inline]
    pub(super) fn goes_below(&self, depth: u8) -> bool {
        depth < self.deepest
    }

    /// Offset of its first byte in what is decoded.
    #[inline]
    pub(super) fn at(&self) -> u32 {
        u32::try_from(self.at).unwrap_or(u32::MAX)
    }

    /// A header of `N` bytes and what follows it.
    #[inline]
    pub(super) fn head<const N: usize>(self) -> Result<(&'a [u8; N], Self), DecodeError> {
        match self.data.split_first_chunk::<N>() {
            Some((head, data)) => Ok((head, Self { data, len: self.len - N, at: self.at + N, ..self })),
            None => Err(self.short_of(N)),
        }
    }

    /// The first `N` bytes, for heuristics.
    #[inline]
    pub(super) fn peek<const N: usize>(self) -> Option<&'a [u8; N]> {
        self.data.first_chunk::<N>()
    }

    /// What follows the first `n` bytes.
    #[inline]
    pub(super) fn skip(self, n: usize) -> Result<Self, DecodeError> {
        match self.data.get(n..) {
            Some(data) => Ok(Self { data, len: self.len - n, at: self.at + n, ..self }),
            None => Err(self.short_of(n)),
        }
    }

    /// The same bytes with the length that a header states: padding is removed, bytes that were not captured
    /// still count.
    #[inline]
    pub(super) fn declare(self, len: usize) -> Self {
        let len = if self.stated { len.min(self.len) } else { len };
        Self { data: self.data.get(..len).unwrap_or(self.data), len, stated: true, ..self }
    }

    /// Why `n` bytes are not there: the packet is too short, or only its capture.
    fn short_of(self, n: usize) -> DecodeError {
        if n > self.len { DecodeError::BadLength } else { DecodeError::Truncated }
    }
}

/// Big-endian number at offset `AT`; an offset outside the header does not compile.
#[inline]
pub(super) const fn be16<const AT: usize, const N: usize>(bytes: &[u8; N]) -> u16 {
    const { assert!(AT + 2 <= N) }
    u16::from_be_bytes([bytes[AT], bytes[AT + 1]])
}

/// As [`be16`], four bytes.
#[inline]
pub(super) const fn be32<const AT: usize, const N: usize>(bytes: &[u8; N]) -> u32 {
    const { assert!(AT + 4 <= N) }
    u32::from_be_bytes([bytes[AT], bytes[AT + 1], bytes[AT + 2], bytes[AT + 3]])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_packet_and_a_short_capture_are_told_apart() {
        let span = Span::new(&[1, 2, 3], 10);
        assert_eq!(span.head::<4>().map(|_| ()), Err(DecodeError::Truncated));
        assert_eq!(span.head::<11>().map(|_| ()), Err(DecodeError::BadLength));
        assert_eq!(span.skip(11).map(|_| ()), Err(DecodeError::BadLength));
        assert_eq!(span.skip(3).map(|rest| (rest.data.len(), rest.len)), Ok((0, 7)));
    }

    #[test]
    fn declared_lengths_cut_padding_and_keep_what_was_not_captured() {
        let frame = Span::new(&[1, 2, 3], 3);
        assert_eq!((frame.declare(2).data, frame.declare(2).len), (&[1u8, 2][..], 2));
        let outer = frame.declare(9);
        assert_eq!((outer.data.len(), outer.len), (3, 9), "the frame's own length yields");
        assert_eq!(outer.declare(10).len, 9, "a header's does not");
        assert_eq!(outer.declare(8).len, 8);
    }
}

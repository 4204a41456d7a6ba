//! Call-IDs as the tables of calls, registrations and messages keep them.

use std::borrow::Cow;

use sha2::{Digest, Sha256};

/// A Call-ID: in the entry's own cache lines as long as it is no longer than nearly all are. Of one that no
/// sender has a reason for, the beginning and a digest of the whole are kept.
#[derive(Clone)]
pub(crate) struct CallId {
    /// Of the Call-ID as sent.
    len: u32,
    short: [u8; SHORT],
    long: Box<[u8]>,
}

impl CallId {
    /// Bytes that are kept of a longer one, and that a record shows.
    pub(crate) const LONGEST: usize = 256;

    pub(crate) fn new(bytes: &[u8]) -> Self {
        let mut short = [0; SHORT];
        let len = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
        if let Some(place) = short.get_mut(..bytes.len()) {
            place.copy_from_slice(bytes);
            return Self { len, short, long: Box::default() };
        }
        let long = match bytes.get(..Self::LONGEST) {
            Some(beginning) if bytes.len() > Self::LONGEST => {
                [beginning, &Sha256::digest(bytes)[..]].concat().into_boxed_slice()
            }
            _ => bytes.into(),
        };
        Self { len, short, long }
    }

    /// Whether it is that Call-ID, whose keyed hash is the same: so of a long one the beginning and the
    /// length tell.
    pub(crate) fn is(&self, bytes: &[u8]) -> bool {
        self.len as usize == bytes.len() && self.beginning() == &bytes[..bytes.len().min(Self::LONGEST)]
    }

    /// What tells it from all others: for an id.
    pub(crate) fn identity(&self) -> &[u8] {
        if self.long.is_empty() { self.beginning() } else { &self.long }
    }

    /// As text, up to the first 256 bytes: what is no UTF-8 is replaced.
    pub(crate) fn text(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(self.beginning())
    }

    /// What it holds on the heap, in bytes.
    pub(crate) fn heap_bytes(&self) -> usize {
        self.long.len()
    }

    fn beginning(&self) -> &[u8] {
        if self.long.is_empty() {
            &self.short[..self.len as usize]
        } else {
            &self.long[..self.long.len().min(Self::LONGEST)]
        }
    }
}

/// Bytes that lie in the entry itself: with the length, whole words.
const SHORT: usize = 52;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_any_length() {
        for len in [0, 1, 51, 52, 53, 255, 256, 257, 1000, 60_000] {
            let bytes: Vec<u8> = (0..len).map(|at| b'a' + (at % 26) as u8).collect();
            let id = CallId::new(&bytes);
            assert!(id.is(&bytes) && !id.is(&[&bytes[..], b"x"].concat()));
            assert_eq!(id.text().as_bytes(), &bytes[..len.min(256)]);
            assert!(id.heap_bytes() <= 256 + 32);
        }
        assert_eq!(CallId::new(b"\xff").text(), "\u{fffd}");
    }

    #[test]
    fn long_ones_that_begin_alike_are_told_apart() {
        let [mut one, mut other] = [vec![b'a'; 1000], vec![b'a'; 1000]];
        (one[999], other[999]) = (b'1', b'2');
        let [one, other] = [one, other].map(|bytes| CallId::new(&bytes));
        assert_ne!(one.identity(), other.identity());
        assert_eq!(CallId::new(b"short").identity(), b"short");
        assert_eq!(CallId::new(&[b'a'; 256]).identity(), [b'a'; 256]);
    }
}

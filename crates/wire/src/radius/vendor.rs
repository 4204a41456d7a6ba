//! How vendors lay out what is inside a Vendor-Specific attribute.

use super::number::vendor;

/// Bytes of type and length of each attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    kind: usize,
    length: usize,
    continuation: usize,
}

/// One attribute of a vendor.
pub(super) struct Inner<'a> {
    pub(super) kind: u32,
    pub(super) value: &'a [u8],
    /// Where the value begins, from where the attribute does.
    pub(super) offset: usize,
    /// Its value continues in the next attribute of the same number.
    pub(super) more: bool,
    pub(super) rest: &'a [u8],
}

impl Layout {
    /// What RFC 2865 section 5.26 recommends, and nearly everybody follows.
    const USUAL: Self = Self { kind: 1, length: 1, continuation: 0 };

    fn of(vendor: u32) -> Self {
        let (kind, length, continuation) = match vendor {
            vendor::USR => (4, 0, 0),
            vendor::LUCENT | vendor::KINETO | vendor::ESAM => (2, 1, 0),
            vendor::STARENT => (2, 2, 0),
            vendor::WIMAX => (1, 1, 1),
            _ => return Self::USUAL,
        };
        Self { kind, length, continuation }
    }

    /// The layout that `data` of this vendor has. `None` where it has neither its vendor's nor the usual one:
    /// some products of one vendor use the other.
    pub(super) fn find(vendor: u32, data: &[u8]) -> Option<Self> {
        [Self::of(vendor), Self::USUAL].into_iter().find(|layout| layout.fits(data))
    }

    fn fits(self, mut data: &[u8]) -> bool {
        if data.is_empty() {
            return false;
        }
        while !data.is_empty() {
            let Some(inner) = self.first(data) else { return false };
            // Each attribute consumes its header at least.
            data = inner.rest;
        }
        true
    }

    /// The first attribute of `data`.
    pub(super) fn first(self, data: &[u8]) -> Option<Inner<'_>> {
        let header = self.kind + self.length + self.continuation;
        let kind = big_endian(data.get(..self.kind)?);
        let length = match self.length {
            0 => data.len(),
            _ => big_endian(data.get(self.kind..self.kind + self.length)?) as usize,
        };
        // A length counts its header.
        let value = data.get(header..length)?;
        let more = self.continuation > 0 && data.get(header - 1)? & 0x80 != 0;
        Some(Inner { kind, value, offset: header, more, rest: data.get(length..)? })
    }
}

/// At most four bytes.
fn big_endian(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0, |number, byte| number << 8 | u32::from(*byte))
}

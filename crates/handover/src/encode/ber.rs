//! Tags, lengths and integers (X.690 clause 8): what the path of content writes without the help of a
//! library.

/// A SEQUENCE.
pub(crate) const SEQUENCE: u8 = 0x30;

/// The tag of a field with primitive contents.
pub(crate) const fn primitive(number: u8) -> u8 {
    0x80 | number
}

/// The tag of a field that holds other fields.
pub(crate) const fn constructed(number: u8) -> u8 {
    0xa0 | number
}

/// Octets of the element around contents of `length` octets: its tag, its length and themselves.
pub(crate) const fn element(length: usize) -> usize {
    1 + length_octets(length) + length
}

/// Octets that a length takes in its shortest form (clause 8.1.3).
pub(crate) const fn length_octets(length: usize) -> usize {
    match length {
        0..0x80 => 1,
        0x80..0x100 => 2,
        0x100..0x1_0000 => 3,
        0x1_0000..0x100_0000 => 4,
        _ => 5,
    }
}

/// Writes a tag and a length. Longer than `u32::MAX` nothing is: see [`crate::MOST_PDU`].
#[inline]
pub(crate) fn put_head(out: &mut Vec<u8>, tag: u8, length: usize) {
    out.push(tag);
    if length < 0x80 {
        out.push(length as u8);
        return;
    }
    let octets = length_octets(length) - 1;
    out.push(0x80 | octets as u8);
    out.extend_from_slice(&(length as u32).to_be_bytes()[4 - octets..]);
}

/// Writes a whole element.
#[inline]
pub(crate) fn put(out: &mut Vec<u8>, tag: u8, contents: &[u8]) {
    put_head(out, tag, contents.len());
    out.extend_from_slice(contents);
}

/// An unsigned INTEGER in its shortest form (clause 8.3.2): a leading zero where the first bit would be a
/// sign.
#[derive(Clone, Copy)]
pub(crate) struct Unsigned {
    octets: [u8; 9],
    from: u8,
}

impl Unsigned {
    #[inline]
    pub(crate) fn new(value: u64) -> Self {
        let mut octets = [0; 9];
        octets[1..].copy_from_slice(&value.to_be_bytes());
        // 0..=7 bits fit one octet, 8..=15 two, and so on: the sign takes one bit.
        let bits = 64 - value.leading_zeros();
        Self { octets, from: 8 - (bits / 8) as u8 }
    }

    #[inline]
    pub(crate) fn contents(&self) -> &[u8] {
        &self.octets[usize::from(self.from)..]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_take_the_fewest_octets() {
        for (value, contents) in [
            (0, vec![0]),
            (127, vec![127]),
            (128, vec![0, 128]),
            (255, vec![0, 255]),
            (256, vec![1, 0]),
            (0x7fff, vec![0x7f, 0xff]),
            (0x8000, vec![0, 0x80, 0]),
            (u64::from(u32::MAX), vec![0, 255, 255, 255, 255]),
            (u64::MAX, vec![0, 255, 255, 255, 255, 255, 255, 255, 255]),
        ] {
            assert_eq!(Unsigned::new(value).contents(), contents, "{value}");
        }
    }

    #[test]
    fn lengths_take_the_fewest_octets() {
        for (length, octets) in [
            (0, vec![0x04, 0]),
            (127, vec![0x04, 127]),
            (128, vec![0x04, 0x81, 128]),
            (255, vec![0x04, 0x81, 255]),
            (256, vec![0x04, 0x82, 1, 0]),
            (65_535, vec![0x04, 0x82, 255, 255]),
            (65_536, vec![0x04, 0x83, 1, 0, 0]),
            (1 << 24, vec![0x04, 0x84, 1, 0, 0, 0]),
        ] {
            let mut out = Vec::new();
            put_head(&mut out, 4, length);
            assert_eq!(out, octets, "{length}");
            assert_eq!(element(length), octets.len() + length);
        }
    }
}

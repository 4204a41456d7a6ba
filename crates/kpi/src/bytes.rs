//! Numbers and texts as bytes: a number has seven bits a byte, the lowest first; all but its last byte have
//! the highest bit set.

/// Appends a number.
pub(crate) fn put(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Appends a number that may be negative: its sign is the lowest bit.
pub(crate) fn put_signed(out: &mut Vec<u8>, number: i64) {
    put(out, ((number << 1) ^ (number >> 63)) as u64);
}

/// Appends a text.
pub(crate) fn put_text(out: &mut Vec<u8>, text: &str) {
    put(out, text.len() as u64);
    out.extend_from_slice(text.as_bytes());
}

/// Bytes that are read from the front. Whatever they are, reading ends and allocates no more than they have.
pub(crate) struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    pub(crate) fn number(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f).checked_shl(shift)?;
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    }

    pub(crate) fn signed(&mut self) -> Option<i64> {
        let number = self.number()?;
        Some((number >> 1) as i64 ^ -((number & 1) as i64))
    }

    /// The number of things that follow, each of a byte at least.
    pub(crate) fn length(&mut self) -> Option<usize> {
        usize::try_from(self.number()?).ok().filter(|length| *length <= self.0.len())
    }

    /// The next bytes, as many as the number before them says.
    pub(crate) fn part(&mut self) -> Option<&'a [u8]> {
        let length = self.length()?;
        let (part, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(part)
    }

    pub(crate) fn text(&mut self) -> Option<&'a str> {
        std::str::from_utf8(self.part()?).ok()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn written_and_read_they_are_the_same(number: u64, signed: i64, text: String) {
            let mut out = Vec::new();
            put(&mut out, number);
            put_signed(&mut out, signed);
            put_text(&mut out, &text);
            let mut bytes = Bytes::new(&out);
            prop_assert_eq!(bytes.number(), Some(number));
            prop_assert_eq!(bytes.signed(), Some(signed));
            prop_assert_eq!(bytes.text(), Some(text.as_str()));
            prop_assert!(bytes.is_empty());
        }
    }

    #[test]
    fn what_is_no_number_is_none() {
        assert_eq!(Bytes::new(&[0xff; 12]).number(), None);
        assert_eq!(Bytes::new(&[0x80]).number(), None);
        assert_eq!(Bytes::new(&[5, 1, 2]).part(), None);
    }
}

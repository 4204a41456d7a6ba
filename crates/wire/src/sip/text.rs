//! The few lexical rules that SIP and SDP share, RFC 3261 section 25.1.

/// Linear white space, the line ends of a folded header included.
#[inline]
pub(crate) const fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | b'\n')
}

/// `token`: the characters of methods, header names, tags and branches.
#[inline]
pub(crate) const fn is_token(byte: u8) -> bool {
    TOKEN[byte as usize]
}

const TOKEN: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = may_be_token(byte as u8);
        byte += 1;
    }
    table
};

const fn may_be_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || matches!(byte, b'-' | b'.' | b'!' | b'%' | b'*' | b'_' | b'+' | b'`' | b'\'' | b'~')
}

/// A word with the top bit set in each byte that equals `byte`; bytes above the lowest match may be set too.
#[inline(always)]
pub(super) fn those(word: [u8; 8], byte: u8) -> u64 {
    const ONES: u64 = 0x0101_0101_0101_0101;
    let others = u64::from_le_bytes(word) ^ (ONES * u64::from(byte));
    others.wrapping_sub(ONES) & !others & (ONES << 7)
}

/// Offset of the first byte that is one of a few: for short input such as a line, sixteen bytes at a time
/// without a call.
#[inline]
pub(crate) fn first_of<const FEW: usize>(bytes: &[u8], few: [u8; FEW]) -> Option<usize> {
    let (chunks, rest) = bytes.as_chunks::<16>();
    for (index, words) in chunks.iter().enumerate() {
        let [low, high] = [words.first_chunk(), words.last_chunk()].map(|word| {
            let word = *word.unwrap_or(&[0; 8]);
            few.iter().fold(0, |found, byte| found | those(word, *byte))
        });
        if low | high != 0 {
            let within = if low != 0 { low.trailing_zeros() } else { 64 + high.trailing_zeros() };
            return Some(16 * index + within as usize / 8);
        }
    }
    rest.iter().position(|byte| few.contains(byte)).map(|at| 16 * chunks.len() + at)
}

/// Number of leading token characters.
pub(crate) fn token_len(bytes: &[u8]) -> usize {
    bytes.iter().position(|&b| !is_token(b)).unwrap_or(bytes.len())
}

/// Splits at the first white space: the word, and the rest without leading white space.
pub(crate) fn word(bytes: &[u8]) -> (&[u8], &[u8]) {
    let bytes = bytes.trim_ascii_start();
    let end = bytes.iter().position(|&b| b <= b' ' && is_space(b)).unwrap_or(bytes.len());
    (&bytes[..end], bytes[end..].trim_ascii_start())
}

/// Splits at the first `stop`: the bytes before it and after it.
pub(crate) fn split_once(bytes: &[u8], stop: u8) -> Option<(&[u8], &[u8])> {
    let at = memchr::memchr(stop, bytes)?;
    Some((&bytes[..at], &bytes[at + 1..]))
}

/// The decimal number at the start and what follows it. None without a digit; saturates if it does not fit.
pub(crate) fn leading_number(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let (mut value, mut len) = (0u64, 0);
    for &byte in bytes {
        if !byte.is_ascii_digit() {
            break;
        }
        let digit = u64::from(byte - b'0');
        // Any nineteen digits fit.
        value = if len < 19 { value * 10 + digit } else { value.saturating_mul(10).saturating_add(digit) };
        len += 1;
    }
    (len > 0).then(|| (value, &bytes[len..]))
}

/// Parses all of `bytes`, without surrounding white space, as a number. None if it does not fit: it must not
/// wrap.
pub(crate) fn number<T: TryFrom<u64>>(bytes: &[u8]) -> Option<T> {
    match leading_number(bytes.trim_ascii())? {
        (value, []) if value != u64::MAX => T::try_from(value).ok(),
        _ => None,
    }
}

/// Offset of the quote that closes the string opened at `open`, RFC 3261 `quoted-string`.
pub(crate) fn closing_quote(bytes: &[u8], open: usize) -> Option<usize> {
    let mut at = open + 1;
    while let Some(found) = memchr::memchr2(b'"', b'\\', bytes.get(at..)?) {
        if bytes[at + found] == b'"' {
            return Some(at + found);
        }
        at += found + 2;
    }
    None
}

/// A quoted string without its quotes, anything else unchanged. Escapes stay.
pub(crate) fn unquoted(bytes: &[u8]) -> &[u8] {
    match bytes {
        [b'"', inner @ .., b'"'] => inner,
        _ => bytes,
    }
}

/// Splits a value at a separator outside quoted strings and angle brackets.
///
/// A quote or bracket that never closes is an ordinary character (RFC 4475 section 3.1.2.6). This is
/// determined once for the whole value, so the cost is linear in its length.
#[derive(Clone, Debug)]
pub(crate) struct Split<'a> {
    rest: Option<&'a [u8]>,
    separator: u8,
    quotes: bool,
    angles: bool,
}

impl<'a> Split<'a> {
    pub(crate) fn new(value: &'a [u8], separator: u8) -> Self {
        Self { rest: Some(value), separator, quotes: true, angles: true }
    }

    /// Offset of the next separator in `bytes`.
    fn end(&mut self, bytes: &[u8]) -> Option<usize> {
        let mut at = 0;
        while let Some(next) = memchr::memchr3(self.separator, b'"', b'<', bytes.get(at..)?) {
            at += next;
            let closed = match bytes[at] {
                b if b == self.separator => return Some(at),
                b'"' if self.quotes => {
                    let close = closing_quote(bytes, at);
                    self.quotes = close.is_some();
                    close
                }
                b'<' if self.angles => {
                    let close = memchr::memchr(b'>', &bytes[at..]).map(|n| at + n);
                    self.angles = close.is_some();
                    close
                }
                _ => None,
            };
            at = closed.unwrap_or(at) + 1;
        }
        None
    }
}

impl<'a> Iterator for Split<'a> {
    type Item = &'a [u8];

    /// The next part, trimmed; empty parts are skipped (RFC 4475 section 3.1.2.1 has them).
    fn next(&mut self) -> Option<&'a [u8]> {
        while let Some(rest) = self.rest {
            let end = self.end(rest);
            let part = match end {
                Some(end) => {
                    self.rest = Some(&rest[end + 1..]);
                    &rest[..end]
                }
                None => {
                    self.rest = None;
                    rest
                }
            };
            let part = part.trim_ascii();
            if !part.is_empty() {
                return Some(part);
            }
        }
        None
    }
}

/// The bytes of a value with each fold (line end and the white space after it) as one space, RFC 3261 section
/// 7.3.1.
pub fn unfolded(value: &[u8]) -> impl Iterator<Item = u8> + '_ {
    let mut folding = false;
    value.iter().filter_map(move |&byte| {
        match (byte, folding) {
            (b'\r' | b'\n', false) => {
                folding = true;
                return Some(b' ');
            }
            (b'\r' | b'\n' | b' ' | b'\t', true) => return None,
            _ => folding = false,
        }
        Some(byte)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(value: &[u8], separator: u8) -> Vec<&[u8]> {
        Split::new(value, separator).collect()
    }

    #[test]
    fn separators_in_quotes_and_brackets_do_not_split() {
        let value = b"\"a,\\\"b\" <sip:x;y,z@h>;q=\",\", c ,, d";
        assert_eq!(parts(value, b','), [&b"\"a,\\\"b\" <sip:x;y,z@h>;q=\",\""[..], b"c", b"d"]);
    }

    #[test]
    fn what_never_closes_is_ordinary() {
        assert_eq!(parts(b"\"a, b", b','), [&b"\"a"[..], b"b"]);
        assert_eq!(parts(b"<a, b, \"c,d\"", b','), [&b"<a"[..], b"b", b"\"c,d\""]);
    }

    #[test]
    fn the_first_of_a_few() {
        for before in 0..100 {
            let line: Vec<u8> = b"\x0c\x0b\x8a\t\x0e".iter().copied().cycle().take(before).collect();
            assert_eq!((first_of(&line, [b'\n']), first_of(&line, [b'\n', b'\r'])), (None, None));
            for behind in [&b""[..], b"\n", b"\r\n", b"\x0bxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\n\n"] {
                for (end, one) in [
                    (b'\n', Some(before)),
                    (b'\r', behind.iter().position(|&b| b == b'\n').map(|at| before + 1 + at)),
                ] {
                    let bytes = [&line, &[end][..], behind].concat();
                    assert_eq!(first_of(&bytes, [b'\n']), one);
                    assert_eq!(first_of(&bytes, [b'\n', b'\r']), Some(before));
                }
            }
        }
    }

    #[test]
    fn numbers_do_not_wrap() {
        assert_eq!(number::<u32>(b" 0009 "), Some(9));
        assert_eq!(number::<u32>(b"4294967295"), Some(u32::MAX));
        assert_eq!(number::<u32>(b"4294967296"), None);
        assert_eq!(number::<u64>(b"36893488147419103232"), None);
        assert_eq!(number::<u64>(b"18446744073709551614"), Some(u64::MAX - 1));
        assert_eq!(number::<u64>(b"9999999999999999999"), Some(9_999_999_999_999_999_999));
        assert_eq!(leading_number(b"99999999999999999999999x"), Some((u64::MAX, &b"x"[..])));
        assert_eq!(number::<u32>(b"-999"), None);
        assert_eq!(number::<u32>(b""), None);
    }

    #[test]
    fn a_fold_is_one_space() {
        let folded: Vec<u8> = unfolded(b"a\r\n  b c\n\td  e").collect();
        assert_eq!(folded, b"a b c d  e");
    }
}

//! Header lines of SIP, of a MIME part and of HTTP, RFC 3261 section 7.3 and RFC 5322 section 2.2.

use std::ops::Range;

use super::text::{is_space, those};

/// Position of one header line. Ranges are offsets into the bytes passed to [`Fields`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Line {
    /// The name, trimmed; empty if the line has no colon.
    pub(crate) name: Range<usize>,
    /// The value, trimmed, with folds; the whole line if it has no colon.
    pub(crate) value: Range<usize>,
}

/// Iterates over header lines up to the empty line that ends them.
#[derive(Clone, Debug)]
pub(crate) struct Fields<'a> {
    bytes: &'a [u8],
    at: usize,
    blank: bool,
    cut: bool,
}

impl<'a> Fields<'a> {
    /// Starts at `at`, the beginning of a line.
    pub(crate) fn new(bytes: &'a [u8], at: usize) -> Self {
        Self { bytes, at, blank: false, cut: false }
    }

    /// After `next` returned None: the offset after the empty line, or the end of the bytes if there was
    /// none.
    pub(crate) fn end(&self) -> usize {
        self.at
    }

    /// After `next` returned None: whether the empty line was found.
    pub(crate) fn blank(&self) -> bool {
        self.blank
    }

    /// After `next` returned None: whether the last line had no line end.
    pub(crate) fn cut(&self) -> bool {
        self.cut
    }

    /// End of the text of the line at `at`, and start of the next line. A bare LF ends a line too.
    fn line(&mut self, at: usize) -> (usize, usize) {
        match memchr::memchr(b'\n', &self.bytes[at..]) {
            Some(n) => (at + n, at + n + 1),
            None => {
                self.cut = true;
                (self.bytes.len(), self.bytes.len())
            }
        }
    }
}

impl Iterator for Fields<'_> {
    type Item = Line;

    // HOT: once a header line.
    #[inline]
    fn next(&mut self) -> Option<Line> {
        if self.blank || self.at >= self.bytes.len() {
            return None;
        }
        let start = self.at;
        let (first_end, next) = self.line(start);
        let text = &self.bytes[start..first_end];
        if matches!(text, [] | [b'\r', ..]) && text.iter().all(|&b| b == b'\r') && !self.cut {
            self.at = next;
            self.blank = true;
            return None;
        }
        let (mut end, mut next) = (first_end, next);
        while matches!(self.bytes.get(next), Some(b' ' | b'\t')) {
            (end, next) = self.line(next);
        }
        self.at = next;
        Some(match colon(text) {
            Some(colon) => Line {
                name: trim(self.bytes, start..start + colon),
                value: trim(self.bytes, start + colon + 1..end),
            },
            None => Line { name: start..start, value: trim(self.bytes, start..end) },
        })
    }
}

/// Offset of the colon. Nearly all names are shorter than sixteen bytes: two words, without a call.
#[inline]
fn colon(line: &[u8]) -> Option<usize> {
    let (words, rest) = line.as_chunks::<8>();
    for (index, word) in words.iter().enumerate().take(3) {
        // The lowest set bit belongs to the first colon.
        let colons = those(*word, b':');
        if colons != 0 {
            return Some(8 * index + colons.trailing_zeros() as usize / 8);
        }
    }
    match words.len() {
        ..=3 => rest.iter().position(|&b| b == b':').map(|at| 8 * words.len() + at),
        _ => memchr::memchr(b':', line),
    }
}

/// The range without white space at its ends. Nearly all values have one space before and a carriage return
/// after them, or neither.
#[inline]
fn trim(bytes: &[u8], range: Range<usize>) -> Range<usize> {
    let text = &bytes[range.clone()];
    let space = usize::from(matches!(text, [b' ', ..]));
    let text = &text[space..];
    let text = text.strip_suffix(b"\r").unwrap_or(text);
    match (text.first(), text.last()) {
        (Some(first), Some(last)) if *first > b' ' && *last > b' ' => {
            let start = range.start + space;
            start..start + text.len()
        }
        _ => trim_all(bytes, range),
    }
}

#[inline(never)]
fn trim_all(bytes: &[u8], range: Range<usize>) -> Range<usize> {
    let Range { mut start, mut end } = range;
    while start < end && is_space(bytes[start]) {
        start += 1;
    }
    while start < end && is_space(bytes[end - 1]) {
        end -= 1;
    }
    start..end
}

#[cfg(test)]
mod tests {
    use super::*;

    type Field<'a> = (&'a [u8], &'a [u8]);

    fn lines(bytes: &[u8]) -> (Vec<Field<'_>>, Fields<'_>) {
        let mut fields = Fields::new(bytes, 0);
        let found = fields.by_ref().map(|line| (&bytes[line.name], &bytes[line.value])).collect();
        (found, fields)
    }

    #[test]
    fn folds_and_bare_line_feeds() {
        let (found, fields) = lines(b"TO :\r\n sip:a@b ;\r\n\ttag = 1\r\nl:0\n\nbody: no");
        assert_eq!(found, [(&b"TO"[..], &b"sip:a@b ;\r\n\ttag = 1"[..]), (b"l", b"0")]);
        assert!(fields.blank() && !fields.cut());
        assert_eq!(fields.end(), 33);
    }

    #[test]
    fn the_first_colon_of_a_line() {
        for before in 0..70 {
            for behind in ["", ":", "x", "x:xxxxxxxxxxxxxxx", ":;9\u{ff}ghijklmnop"] {
                let line = format!(
                    "{}:{behind}",
                    "9;\u{7f}:".chars().cycle().filter(|c| *c != ':').take(before).collect::<String>()
                );
                assert_eq!(colon(line.as_bytes()), Some(before), "{line}");
            }
            assert_eq!(colon("9;b".repeat(before).as_bytes()), None);
        }
    }

    #[test]
    fn no_colon_no_blank_line_no_line_end() {
        let (found, fields) = lines(b"Foobar roobar\r\n: x\r\nA:b");
        assert_eq!(found, [(&b""[..], &b"Foobar roobar"[..]), (b"", b"x"), (b"A", b"b")]);
        assert!(!fields.blank() && fields.cut());
    }
}

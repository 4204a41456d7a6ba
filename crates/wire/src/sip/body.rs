//! Bodies of several parts, RFC 2046 section 5.1 and RFC 5621.

use super::fields::Fields;
use super::header::Header;
use super::params::param;
use super::text::is_token;

/// A body part, or a body that has only one. Missing headers are empty.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BodyPart<'a> {
    /// Content-Type with its parameters.
    pub content_type: &'a [u8],
    /// Content-Disposition with its parameters.
    pub disposition: &'a [u8],
    /// Content-ID.
    pub content_id: &'a [u8],
    /// What the part holds.
    pub body: &'a [u8],
}

impl<'a> BodyPart<'a> {
    /// `type/subtype` without parameters.
    pub fn media_type(&self) -> &'a [u8] {
        let text = self.content_type.trim_ascii();
        let end = text.iter().position(|&b| !is_token(b) && b != b'/').unwrap_or(text.len());
        &text[..end]
    }

    /// A session description: `application/sdp`, or no type and `v=0` at its start.
    pub fn is_sdp(&self) -> bool {
        self.media_type().eq_ignore_ascii_case(b"application/sdp")
            || self.content_type.is_empty() && self.body.trim_ascii_start().starts_with(b"v=0")
    }

    /// The boundary between its parts; None if it is not `multipart`.
    fn boundary(&self) -> Option<&'a [u8]> {
        let multipart = self.media_type().get(..10)?.eq_ignore_ascii_case(b"multipart/");
        let at = memchr::memchr(b';', self.content_type).filter(|_| multipart);
        let named = at.and_then(|at| param(&self.content_type[at..], b"boundary")).filter(|b| !b.is_empty());
        // If the parameter is missing, the first line of the body is the boundary.
        let shown = || {
            let line = self.body.trim_ascii_start().strip_prefix(b"--")?;
            let end = line.iter().position(|&b| matches!(b, b'\r' | b'\n'))?;
            Some(&line[..end])
        };
        if multipart { named.or_else(shown) } else { None }
    }
}

/// The parts of `whole`, two levels deep; `whole` itself if it is not `multipart`.
pub(super) fn parts(whole: BodyPart<'_>) -> impl Iterator<Item = BodyPart<'_>> {
    Parts::new(whole).flat_map(Parts::new)
}

/// Iterates over the parts of one level.
#[derive(Clone, Debug)]
struct Parts<'a> {
    /// A body that is not `multipart`.
    single: Option<BodyPart<'a>>,
    boundary: &'a [u8],
    rest: &'a [u8],
}

impl<'a> Parts<'a> {
    fn new(whole: BodyPart<'a>) -> Self {
        let Some(boundary) = whole.boundary() else {
            return Self { single: Some(whole), boundary: &[], rest: &[] };
        };
        let rest = match delimiter(whole.body, boundary) {
            Some((_, rest)) => rest,
            None => &[],
        };
        Self { single: None, boundary, rest }
    }
}

impl<'a> Iterator for Parts<'a> {
    type Item = BodyPart<'a>;

    fn next(&mut self) -> Option<BodyPart<'a>> {
        if self.single.is_some() {
            return self.single.take();
        }
        // `--` follows the last delimiter; a truncated body has none.
        if self.rest.is_empty() || self.rest.starts_with(b"--") {
            return None;
        }
        let (inside, rest) = delimiter(self.rest, self.boundary).unwrap_or((self.rest, &[]));
        self.rest = rest;
        let line = memchr::memchr(b'\n', inside).map_or(inside.len(), |at| at + 1);
        Some(part(&inside[line..]))
    }
}

/// Splits at the next line that begins with `--boundary`: the bytes before its line end, and the bytes after
/// it.
fn delimiter<'a>(bytes: &'a [u8], boundary: &[u8]) -> Option<(&'a [u8], &'a [u8])> {
    let at = memchr::memmem::find_iter(bytes, boundary).find(|&at| {
        let before = bytes[..at].strip_suffix(b"--");
        before.is_some_and(|before| matches!(before, [] | [.., b'\n' | b'\r']))
    })?;
    let before = &bytes[..at - 2];
    let before = before.strip_suffix(b"\n").unwrap_or(before);
    let before = before.strip_suffix(b"\r").unwrap_or(before);
    Some((before, &bytes[at + boundary.len()..]))
}

/// Reads the headers of a part.
fn part(bytes: &[u8]) -> BodyPart<'_> {
    let mut part = BodyPart::default();
    let mut fields = Fields::new(bytes, 0);
    for line in fields.by_ref() {
        let value = &bytes[line.value];
        match Header::parse(&bytes[line.name]) {
            Header::ContentType => part.content_type = value,
            Header::ContentDisposition => part.disposition = value,
            Header::ContentId => part.content_id = value,
            _ => {}
        }
    }
    part.body = &bytes[fields.end()..];
    part
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bodies<'a>(content_type: &'a [u8], body: &'a [u8]) -> Vec<(&'a [u8], &'a [u8])> {
        let whole = BodyPart { content_type, body, ..BodyPart::default() };
        parts(whole).map(|p| (p.media_type(), p.body)).collect()
    }

    #[test]
    fn mixed() {
        let body = b"preamble\r\n--b1\r\nContent-Type: application/sdp\r\n\r\nv=0\r\n\r\n--b1\r\n\
            c : application/rs-metadata+xml\r\n\
            Content-Disposition: recording-session\r\n\r\n<a/>\r\n--b1--\r\nend";
        let expected: [(&[u8], &[u8]); 2] =
            [(b"application/sdp", b"v=0\r\n"), (b"application/rs-metadata+xml", b"<a/>")];
        assert_eq!(bodies(b"multipart/mixed;boundary=b1", body), expected);
        assert_eq!(bodies(b"Multipart/Mixed ; boundary=\"b1\"; x=y", body), expected);
        assert_eq!(bodies(b"multipart/mixed", &body[10..]), expected);
    }

    #[test]
    fn a_boundary_within_a_line_is_none() {
        let body = b"--b\r\n\r\nx--b\r\n-b --b\r\n--b--";
        assert_eq!(bodies(b"multipart/mixed;boundary=b", body), [(&b""[..], &b"x--b\r\n-b --b"[..])]);
    }

    #[test]
    fn bare_line_feeds_cut_off_and_nested() {
        let body = b"--b\nContent-Type: multipart/alternative; boundary=c\n\n--c\n\nv=0\n--c--\n--b\n\nrest";
        assert_eq!(bodies(b"multipart/mixed;boundary=b", body), [(&b""[..], &b"v=0"[..]), (b"", b"rest")]);
    }

    #[test]
    fn one_part() {
        assert_eq!(bodies(b"application/sdp,application/sdp", b"x"), [(&b"application/sdp"[..], &b"x"[..])]);
        assert_eq!(bodies(b"multipart/mixed;boundary=q", b"nothing"), []);
    }
}

//! Anonymises the bodies of SIP messages: session descriptions, digits, multipart bodies (RFC 2046).

use ringtap_wire::sip::{BodyPart, Header, HeaderField};

use crate::mask::Mask;

impl Mask {
    /// A body by its type.
    pub(crate) fn body(&mut self, part: &BodyPart<'_>, has_sdp: bool, out: &mut Vec<u8>) {
        let kind = part.media_type().to_ascii_lowercase();
        let is_plain_sdp = kind.is_empty() && has_sdp;
        match &kind[..] {
            _ if part.is_sdp() || is_plain_sdp => self.sdp(part.body, out),
            [b'm', b'u', b'l', b't', b'i', b'p', b'a', b'r', b't', b'/', ..] => self.multipart(part, out),
            b"application/dtmf-relay" => relay(part.body, out),
            b"application/dtmf" => out.extend(part.body.iter().map(|byte| masked_digit(*byte))),
            b"message/sipfrag" => self.fragment(part.body, out),
            _ => blank(part.body, out),
        }
    }

    /// RFC 2046 section 5.1: each part by its own type, nothing between them.
    fn multipart(&mut self, whole: &BodyPart<'_>, out: &mut Vec<u8>) {
        let line = |body: &[u8]| body.iter().position(|byte| *byte == b'\n').map_or(body.len(), |at| at + 1);
        // The first such line gives the boundary, whatever the header says.
        let mut rest = whole.body;
        while !rest.is_empty() && !rest.starts_with(b"--") {
            rest = &rest[line(rest)..];
        }
        let boundary = rest[..line(rest)].trim_ascii_end().strip_prefix(b"--").unwrap_or_default().to_vec();
        if boundary.is_empty() {
            return blank(whole.body, out);
        }
        let replaced = self.text(&boundary);
        let delimiter = [b"--", &boundary[..]].concat();
        let mut part: &[u8] = &rest[..0];
        let mut open = false;
        while !rest.is_empty() {
            let (text, behind) = rest.split_at(line(rest));
            if !text.starts_with(&delimiter) {
                // The lines of a part are contiguous.
                part = if part.is_empty() { text } else { joined(part, text, whole.body) };
                rest = behind;
                continue;
            }
            if open {
                self.part(part, out);
            }
            part = &rest[..0];
            open = true;
            out.extend_from_slice(b"--");
            out.extend_from_slice(&replaced);
            if text[delimiter.len()..].starts_with(b"--") {
                out.extend_from_slice(b"--\r\n");
                return;
            }
            out.extend_from_slice(b"\r\n");
            rest = behind;
        }
        if open {
            self.part(part, out);
        }
    }

    /// Headers, an empty line, content.
    fn part(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        let mut found = BodyPart::default();
        let mut rest = bytes;
        while !rest.is_empty() {
            let end = rest.iter().position(|byte| *byte == b'\n').map_or(rest.len(), |at| at + 1);
            let (line, behind) = (rest[..end].trim_ascii_end(), &rest[end..]);
            rest = behind;
            if line.is_empty() {
                break;
            }
            let Some(colon) = line.iter().position(|byte| *byte == b':') else { continue };
            let (name, value) = (line[..colon].trim_ascii(), line[colon + 1..].trim_ascii());
            let header = Header::parse(name);
            if header == Header::ContentType {
                found.content_type = value;
            }
            // Its length may have changed; a part ends at its boundary.
            if header != Header::ContentLength {
                out.extend_from_slice(name);
                out.extend_from_slice(b": ");
                self.field(HeaderField { header, name, value }, out);
                out.extend_from_slice(b"\r\n");
            }
        }
        out.extend_from_slice(b"\r\n");
        found.body = rest;
        self.body(&found, false, out);
        if !out.ends_with(b"\n") {
            out.extend_from_slice(b"\r\n");
        }
    }

    /// RFC 3420: the status line of a transferred call stays, the rest is replaced.
    fn fragment(&mut self, body: &[u8], out: &mut Vec<u8>) {
        let end = body.iter().position(|byte| *byte == b'\n').map_or(body.len(), |at| at + 1);
        let (line, rest) = body.split_at(end);
        match line.strip_prefix(b"SIP/2.0 ") {
            Some(status) => {
                out.extend_from_slice(b"SIP/2.0 ");
                self.phrase(status, out);
            }
            None => blank(line, out),
        }
        blank(rest, out);
    }
}

/// The bytes from the start of `first` to the end of `second`, both within `whole`.
fn joined<'a>(first: &'a [u8], second: &'a [u8], whole: &'a [u8]) -> &'a [u8] {
    let start = first.as_ptr() as usize - whole.as_ptr() as usize;
    let end = second.as_ptr() as usize - whole.as_ptr() as usize + second.len();
    whole.get(start..end).unwrap_or(second)
}

/// Replaces everything except line ends and spaces by `x`.
fn blank(body: &[u8], out: &mut Vec<u8>) {
    out.extend(body.iter().map(|byte| if matches!(byte, b'\r' | b'\n' | b' ') { *byte } else { b'x' }));
}

/// `Signal=5`, `Duration=160`: digits may be secrets.
fn relay(body: &[u8], out: &mut Vec<u8>) {
    for line in body.split_inclusive(|byte| *byte == b'\n') {
        let end = line.iter().position(|byte| *byte == b'=').unwrap_or(line.len());
        let name = line[..end].trim_ascii();
        let value = &line[end..];
        if name.eq_ignore_ascii_case(b"Signal") {
            out.extend_from_slice(&line[..end]);
            out.extend(value.iter().map(|byte| masked_digit(*byte)));
        } else if name.eq_ignore_ascii_case(b"Duration") && value.len() <= 12 {
            out.extend_from_slice(line);
        } else {
            blank(line, out);
        }
    }
}

fn masked_digit(byte: u8) -> u8 {
    match byte {
        b'=' | b' ' | b'\r' | b'\n' => byte,
        _ => b'0',
    }
}

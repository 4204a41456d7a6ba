//! Whether bytes hold a SIP message.

use super::method::Method;
use super::start::{before_version, status};
use super::text::{first_of, is_token, token_len};

/// Where in a datagram a SIP message starts: nearly always 0.
///
/// Looks at the start line alone: a method, white space, something, `SIP/2.0` at the line's end; or `SIP/2.0`
/// and a digit. So a truncated datagram is recognised if its first line is whole. Line ends and up to 32
/// bytes of other junk may come before it. HTTP, keep-alives, RTP, RTCP and STUN are refused at their first
/// bytes.
// HOT: called for every datagram that is not known media.
pub fn sniff(datagram: &[u8]) -> Option<usize> {
    let &first = datagram.first()?;
    // Half of all messages begin like this.
    if let [b'S', b'I', b'P', b'/', b'2', b'.', b'0', b' ', digit, ..] = datagram
        && digit.is_ascii_digit()
    {
        return Some(0);
    }
    // No start line lacks a slash, and most datagrams that are not SIP are told from it by that alone.
    if datagram.len() <= SHORT && first_of(datagram, [b'/']).is_none() {
        return None;
    }
    if is_token(first) {
        // The method or version ends within 64 bytes (RFC 4475 section 3.1.1.2 has one of 43), or the bytes
        // are junk.
        let word = token_len(&datagram[..datagram.len().min(MAX_METHOD)]);
        match datagram.get(word)? {
            b' ' | b'\t' => return find_start(first_line(datagram)).filter(|&at| at <= MAX_JUNK),
            b'/' if word == 3 => return status(first_line(datagram)).filter(|rest| is_code(rest)).map(|_| 0),
            _ => {}
        }
    }
    behind_junk(datagram)
}

/// Junk before a message is rare; most datagrams here are not SIP.
#[cold]
fn behind_junk(datagram: &[u8]) -> Option<usize> {
    // Version 2 of RTP and RTCP; a message cannot be shorter than its start line.
    if datagram[0] & 0xc0 == 0x80 || datagram.len() < MIN_START_LINE {
        return None;
    }
    let near = &datagram[..datagram.len().min(MAX_JUNK + MAX_METHOD)];
    // A method and its space, or `SIP/`: nothing else can begin a message.
    memchr::memchr2_iter(b' ', b'/', near).find(|&at| {
        let before = near[..at].last().copied().unwrap_or_default();
        if near[at] == b'/' { before.eq_ignore_ascii_case(&b'P') } else { is_token(before) }
    })?;
    let mut at = 0;
    while at <= MAX_JUNK {
        let line = first_line(datagram.get(at..)?);
        if let Some(found) = find_start(line).map(|n| at + n).filter(|&n| n <= MAX_JUNK) {
            return Some(found);
        }
        at += line.len() + 1;
    }
    None
}

/// Offset in a line (without its line feed) of a start line that ends with the line: 0, or after the rest of
/// something else, such as a body without a line end.
pub(super) fn find_start(line: &[u8]) -> Option<usize> {
    match before_version(line) {
        Some(rest) => find_request(rest),
        None => find_status(line),
    }
}

/// Offset of the method. `rest` is the line up to the space before the version.
fn find_request(rest: &[u8]) -> Option<usize> {
    let rest = rest.trim_ascii_end();
    let method = token_len(rest);
    if (1..=MAX_METHOD).contains(&method) && matches!(rest.get(method), Some(b' ' | b'\t')) {
        return Some(behind_token(&rest[..method]));
    }
    // Junk, the method, spaces, the URI: the method is a token that ends with a known name.
    let spaces = memchr::memrchr2(b' ', b'\t', rest)?;
    let end = rest[..spaces].iter().rposition(|b| !matches!(b, b' ' | b'\t'))? + 1;
    let before = &rest[..end];
    Method::KNOWN.iter().find(|(name, _)| before.ends_with(name)).map(|(name, _)| before.len() - name.len())
}

/// Token characters directly before a known method are junk unless they could be part of a method: a
/// keep-alive such as `jaK` before `INVITE`. Unknown methods stay whole.
fn behind_token(method: &[u8]) -> usize {
    if method.iter().all(u8::is_ascii_uppercase) {
        return 0;
    }
    let ends = |name: &[u8]| method.ends_with(name) && method.len() > name.len();
    // REINVITE and the like would be methods of their own; a prefix that is not all capitals would not.
    let junk = |name: &[u8]| !method[..method.len() - name.len()].iter().all(u8::is_ascii_uppercase);
    let found = Method::KNOWN.iter().find(|(name, _)| ends(name) && junk(name));
    found.map_or(0, |(name, _)| method.len() - name.len())
}

/// Offset of a status line.
fn find_status(line: &[u8]) -> Option<usize> {
    memchr::memchr_iter(b'/', line)
        .filter_map(|at| at.checked_sub(3))
        .find(|&at| status(&line[at..]).is_some_and(is_code))
}

/// A status code begins with a digit; the parser checks whether it is valid.
pub(super) fn is_code(rest: &[u8]) -> bool {
    rest.first().is_some_and(u8::is_ascii_digit)
}

/// The bytes up to the first line feed, at most [`MAX_START_LINE`].
fn first_line(bytes: &[u8]) -> &[u8] {
    let bytes = &bytes[..bytes.len().min(MAX_START_LINE)];
    &bytes[..memchr::memchr(b'\n', bytes).unwrap_or(bytes.len())]
}

/// The longest start line that is looked for.
pub(super) const MAX_START_LINE: usize = 8192;

/// The longest method that is looked for.
pub(super) const MAX_METHOD: usize = 64;

/// Datagrams up to this length are searched for a slash first.
const SHORT: usize = 128;

/// Bytes of junk that may come before the message in a datagram.
const MAX_JUNK: usize = 32;

/// `SIP/2.0 200`
const MIN_START_LINE: usize = 11;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages() {
        for message in [
            &b"INVITE sip:a@b SIP/2.0\r\nVia: x"[..],
            b"SIP/2.0 200 OK\r\n",
            b"SIP/2.0 100 \n",
            b"SIP/2.0 100",
            b"OPTIONS  sip:a@b  SIP/2.0  \r\n",
            b"BYE tel:+1 SIP/2.0",
            b"!interesting-Method0123456789_*+`.%indeed'~ sip:a@b SIP/2.0\r\n",
            b"INVITE sip:user@example.com; lr SIP/2.0\r\n",
            b"SIP/2.0 4294967301 better not break the receiver\r\n",
            b"NEWMETHOD sip:user@example.com SIP/2.0\n",
        ] {
            assert_eq!(sniff(message), Some(0), "{}", message.escape_ascii());
        }
    }

    #[test]
    fn messages_behind_junk() {
        for junk in
            [&b"\r\n\r\n"[..], b"\0\0\0\0", b"\x00\x01 junk\n", b" ", b"jaK", b"junk: \r\n", b"\xff\xfe\xfd"]
        {
            for message in [&b"REGISTER sip:a SIP/2.0\r\nExpires: 1"[..], b"SIP/2.0 200 OK\r\nVia: x"] {
                let datagram = [junk, message].concat();
                assert_eq!(sniff(&datagram), Some(junk.len()), "{}", datagram.escape_ascii());
            }
        }
        assert_eq!(sniff(&[&[0; 33][..], b"REGISTER sip:a SIP/2.0\r\n"].concat()), None);
    }

    #[test]
    fn everything_else() {
        for other in [
            &b""[..],
            b"\0",
            b"\r\n\r\n",
            b"jaK",
            b"hello",
            b"GET / HTTP/1.1\r\nHost: a\r\n",
            b"HTTP/1.1 200 OK\r\n",
            b"NOTIFY * HTTP/1.1\r\n",
            b"OPTIONS rtsp://a RTSP/1.0\r\n",
            b"CRCX 1 aaln/1@x MGCP 1.0\r\n",
            b"INVITE sip:alan@jasomi.com\r\nTo: x",
            b"INVITE sip:a@b SIP/2.0x\r\n",
            b"INVITE sip:a@b SIP",
            b"SIP/2.0\r\n",
            b"Via: SIP/2.0/UDP 192.0.2.1\r\n",
            b"\x80\x00INVITE sip:a SIP/2.0\r\n",
            b"\x00\x01\x00\x00\x21\x12\xa4\x42 / ab P/ cd",
        ] {
            assert_eq!(sniff(other), None, "{}", other.escape_ascii());
        }
    }
}

//! Start lines, RFC 3261 section 7.1 and 7.2.

use super::error::ParseError;
use super::method::Method;
use super::text::{is_token, leading_number};

/// The first line of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StartLine<'a> {
    /// `Method SP Request-URI SP SIP-Version`
    Request {
        /// The method.
        method: Method,
        /// The method as written.
        method_text: &'a [u8],
        /// The Request-URI as written, with any white space and angle brackets.
        uri: &'a [u8],
    },
    /// `SIP-Version SP Status-Code SP Reason-Phrase`
    Response {
        /// 100 to 699.
        code: u16,
        /// The reason phrase: any bytes, may be empty.
        reason: &'a [u8],
    },
}

impl<'a> StartLine<'a> {
    /// Parses a line without its line end. Several spaces count as one, and trailing spaces are ignored (RFC
    /// 4475 sections 3.1.2.9 and 3.1.2.10).
    // HOT: once a message.
    pub(crate) fn parse(line: &'a [u8]) -> Result<Self, ParseError> {
        // Fast path: half of all messages begin like this. Same result as below.
        if let [b'S', b'I', b'P', b'/', b'2', b'.', b'0', b' ', a @ b'1'..=b'6', b, c, b' ', reason @ ..] =
            line
            && b.is_ascii_digit()
            && c.is_ascii_digit()
        {
            let code = [a, b, c].into_iter().fold(0, |code, digit| code * 10 + u16::from(digit - b'0'));
            return Ok(Self::Response { code, reason: reason.trim_ascii() });
        }
        match status(line) {
            Some(rest) => response(rest),
            None => request(line),
        }
    }
}

/// The rest of a status line after the version and its space.
pub(super) fn status(line: &[u8]) -> Option<&[u8]> {
    let (version, rest) = line.split_at_checked(VERSION)?;
    (is_version(version) && matches!(rest, [b' ' | b'\t', ..])).then(|| rest.trim_ascii_start())
}

/// The request line up to the space before its version; None if it does not end with a version.
pub(super) fn before_version(line: &[u8]) -> Option<&[u8]> {
    let line = line.trim_ascii_end();
    let (rest, version) = line.split_at_checked(line.len().checked_sub(VERSION)?)?;
    (is_version(version) && matches!(rest, [.., b' ' | b'\t'])).then_some(rest)
}

fn response(rest: &[u8]) -> Result<StartLine<'_>, ParseError> {
    let (code, rest) = leading_number(rest).ok_or(ParseError::StatusCode)?;
    let code = u16::try_from(code).ok().filter(|c| (100..700).contains(c)).ok_or(ParseError::StatusCode)?;
    match rest {
        [] | [b' ' | b'\t', ..] => Ok(StartLine::Response { code, reason: rest.trim_ascii() }),
        _ => Err(ParseError::StatusCode),
    }
}

fn request(line: &[u8]) -> Result<StartLine<'_>, ParseError> {
    let rest = before_version(line).ok_or(ParseError::StartLine)?;
    let space = rest.iter().position(|&b| matches!(b, b' ' | b'\t')).ok_or(ParseError::StartLine)?;
    let (method_text, uri) = (&rest[..space], rest[space..].trim_ascii());
    if method_text.is_empty() || !method_text.iter().all(|&b| is_token(b)) || uri.is_empty() {
        return Err(ParseError::StartLine);
    }
    Ok(StartLine::Request { method: Method::parse(method_text), method_text, uri })
}

/// `SIP/2.0`: any case (RFC 3261 section 7.1), and any version, since a request with 7.0 is answered with
/// 505.
fn is_version(bytes: &[u8]) -> bool {
    matches!(bytes, [_, _, _, b'/', major, b'.', minor] if major.is_ascii_digit() && minor.is_ascii_digit())
        && bytes[..3].eq_ignore_ascii_case(b"SIP")
}

/// Length of `SIP/2.0`.
const VERSION: usize = 7;

#[cfg(test)]
mod tests {
    use super::*;

    fn uri(line: &[u8]) -> Result<&[u8], ParseError> {
        match StartLine::parse(line)? {
            StartLine::Request { uri, .. } => Ok(uri),
            StartLine::Response { reason, .. } => Ok(reason),
        }
    }

    #[test]
    fn requests() {
        assert_eq!(uri(b"INVITE sip:a@b SIP/2.0"), Ok(&b"sip:a@b"[..]));
        assert_eq!(uri(b"INVITE  sip:a@b  sip/2.0  "), Ok(&b"sip:a@b"[..]));
        assert_eq!(uri(b"INVITE sip:a@b; lr SIP/2.0"), Ok(&b"sip:a@b; lr"[..]));
        assert_eq!(uri(b"INVITE sip:a@b SIP/7.0"), Ok(&b"sip:a@b"[..]));
        for bad in [
            &b""[..],
            b"SIP/2.0",
            b"INVITE SIP/2.0",
            b"INVITE  SIP/2.0",
            b"INVITE sip:a@b",
            b"GET / HTTP/1.1",
            b"INVITE sip:a@b SIP/2",
            b"IN<VITE sip:a@b SIP/2.0",
            b" sip:a@b SIP/2.0",
        ] {
            assert_eq!(uri(bad), Err(ParseError::StartLine), "{}", bad.escape_ascii());
        }
    }

    #[test]
    fn responses() {
        assert_eq!(
            StartLine::parse(b"SIP/2.0 200 OK then "),
            Ok(StartLine::Response { code: 200, reason: b"OK then" })
        );
        assert_eq!(StartLine::parse(b"SIP/2.0 100 "), Ok(StartLine::Response { code: 100, reason: b"" }));
        assert_eq!(StartLine::parse(b"SIP/2.0 699"), Ok(StartLine::Response { code: 699, reason: b"" }));
        for bad in [
            &b"SIP/2.0 4294967301 better not break the receiver"[..],
            b"SIP/2.0 65736 wraps to 200",
            b"SIP/2.0 99 x",
            b"SIP/2.0 700 x",
            b"SIP/2.0 200OK",
            b"SIP/2.0 OK",
            b"SIP/2.0 ",
        ] {
            assert_eq!(uri(bad), Err(ParseError::StatusCode), "{}", bad.escape_ascii());
        }
    }
}

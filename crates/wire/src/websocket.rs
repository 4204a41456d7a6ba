//! WebSocket framing, RFC 6455, which carries SIP between browsers and proxies (RFC 7118).
//!
//! Not here: reassembling fragmented messages, and finding out which side is the client. A SIP message is one
//! WebSocket message; its Content-Length does not matter (RFC 7118 section 5.2).
//!
//! ```
//! use ringtap_wire::websocket::{Header, TEXT, unmask};
//!
//! let mut frame = *b"\x81\x83\x37\xfa\x21\x3d\x75\xa3\x64";
//! let header = Header::parse(&frame)?.expect("a whole header");
//! assert_eq!((header.opcode, header.fin), (TEXT, true));
//! let payload = &mut frame[header.payload()];
//! header.mask.into_iter().for_each(|mask| unmask(mask, payload));
//! assert_eq!(payload, b"BYE");
//! # Ok::<(), ringtap_wire::websocket::ParseError>(())
//! ```

use std::ops::Range;

use crate::sip::fields::Fields;
use crate::sip::text::word;

/// Why bytes are not a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ParseError {
    /// A reserved bit is set (compression is not negotiated for SIP) or the opcode is not known: RFC 6455
    /// section 5.2.
    Reserved,
    /// A control frame that is fragmented or longer than 125 bytes, section 5.5.
    Control,
    /// The payload is longer than [`MAX_PAYLOAD`].
    TooLong,
}

impl ParseError {
    /// Name for a counter.
    pub const fn name(self) -> &'static str {
        match self {
            ParseError::Reserved => "websocket_reserved",
            ParseError::Control => "websocket_control",
            ParseError::TooLong => "websocket_too_long",
        }
    }
}

/// Header of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// This frame ends the message.
    pub fin: bool,
    /// [`CONTINUATION`], [`TEXT`] or [`BINARY`]; from [`CLOSE`] on a control frame, which may come between
    /// the fragments of a message (section 5.4).
    pub opcode: u8,
    /// Masking key: the client masks its frames, the server does not (section 5.1).
    pub mask: Option<[u8; 4]>,
    /// Bytes of the header, 2 to 14.
    pub header_len: usize,
    /// Bytes of payload after it, at most [`MAX_PAYLOAD`].
    pub payload_len: usize,
}

impl Header {
    /// Reads the header at the start of `bytes`; None if more bytes are needed.
    pub fn parse(bytes: &[u8]) -> Result<Option<Self>, ParseError> {
        let &[first, second, ref rest @ ..] = bytes else { return Ok(None) };
        if first & 0x70 != 0 {
            return Err(ParseError::Reserved);
        }
        let opcode = first & 0x0f;
        if !matches!(opcode, CONTINUATION | TEXT | BINARY | CLOSE | PING | PONG) {
            return Err(ParseError::Reserved);
        }
        let (fin, masked, short) = (first & 0x80 != 0, second & 0x80 != 0, second & 0x7f);
        if opcode >= CLOSE && (!fin || short > 125) {
            return Err(ParseError::Control);
        }
        let (extra, length) = match short {
            126 => (2, rest.first_chunk().map(|n| u64::from(u16::from_be_bytes(*n)))),
            127 => (8, rest.first_chunk().map(|n| u64::from_be_bytes(*n))),
            n => (0, Some(u64::from(n))),
        };
        let Some(length) = length else { return Ok(None) };
        let payload_len =
            usize::try_from(length).ok().filter(|&n| n <= MAX_PAYLOAD).ok_or(ParseError::TooLong)?;
        let mut header = Self { fin, opcode, mask: None, header_len: 2 + extra, payload_len };
        if masked {
            let Some(mask) = rest.get(extra..).and_then(<[u8]>::first_chunk) else { return Ok(None) };
            header.mask = Some(*mask);
            header.header_len += 4;
        }
        Ok(Some(header))
    }

    /// A control frame: it is not part of a message.
    pub const fn is_control(&self) -> bool {
        self.opcode >= CLOSE
    }

    /// Range of the payload in the frame. It may end after the bytes that have arrived.
    pub const fn payload(&self) -> Range<usize> {
        self.header_len..self.frame_len()
    }

    /// Bytes of the whole frame.
    pub const fn frame_len(&self) -> usize {
        self.header_len + self.payload_len
    }
}

/// Removes the mask from a payload (RFC 6455 section 5.3). Applied twice, it changes nothing.
pub fn unmask(mask: [u8; 4], payload: &mut [u8]) {
    let mut words = payload.chunks_exact_mut(4);
    for word in &mut words {
        word.iter_mut().zip(mask).for_each(|(byte, key)| *byte ^= key);
    }
    words.into_remainder().iter_mut().zip(mask).for_each(|(byte, key)| *byte ^= key);
}

/// Whether a byte stream begins with a WebSocket handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Upgrade {
    /// It does not begin with an HTTP head that requests or accepts WebSocket.
    No,
    /// Undetermined: call again with more bytes.
    Incomplete,
    /// The length of the client's request or of the server's 101 response: frames follow.
    Complete(usize),
}

/// Looks for the opening handshake (RFC 6455 section 4) at the start of one direction of a byte stream. Call
/// it with all bytes since the start until it no longer returns [`Upgrade::Incomplete`]; it gives up at
/// [`MAX_HEAD`].
pub fn upgrade(bytes: &[u8]) -> Upgrade {
    let short = &bytes[..bytes.len().min(REQUEST.len().max(RESPONSE.len()))];
    if !is_start(short, REQUEST) && !is_start(short, RESPONSE) {
        return Upgrade::No;
    }
    let open = if bytes.len() < MAX_HEAD { Upgrade::Incomplete } else { Upgrade::No };
    let Some(line) = memchr::memchr(b'\n', bytes) else { return open };
    if bytes.starts_with(RESPONSE) && word(&bytes[RESPONSE.len() - 1..line]).0 != b"101" {
        return Upgrade::No;
    }
    let mut fields = Fields::new(bytes, line + 1);
    let named = |name: &[u8]| name.eq_ignore_ascii_case(b"Upgrade");
    let websocket =
        fields.by_ref().any(|field| named(&bytes[field.name]) && lists(&bytes[field.value], b"websocket"));
    fields.by_ref().for_each(drop);
    match (fields.blank(), websocket) {
        (false, _) => open,
        (true, false) => Upgrade::No,
        (true, true) => Upgrade::Complete(fields.end()),
    }
}

/// As [`upgrade`], for a stream whose first `seen` bytes, if any, left it undetermined: they are not read
/// again until what follows them can decide.
pub fn upgrade_again(bytes: &[u8], seen: usize) -> Upgrade {
    // The end of the first line decides, or an empty line.
    let decides = |end: usize| {
        let start = memchr::memrchr(b'\n', &bytes[..end]).map(|before| before + 1);
        start.is_none_or(|start| bytes[start..end].iter().all(|&byte| byte == b'\r'))
    };
    let is_short = seen < REQUEST.len().max(RESPONSE.len());
    let fresh = bytes.get(seen..).unwrap_or_default();
    if is_short || bytes.len() >= MAX_HEAD || memchr::memchr_iter(b'\n', fresh).any(|at| decides(seen + at)) {
        upgrade(bytes)
    } else {
        Upgrade::Incomplete
    }
}

/// Whether `bytes` is a prefix of `expected`, or begins with it.
fn is_start(bytes: &[u8], expected: &[u8]) -> bool {
    let len = bytes.len().min(expected.len());
    bytes[..len] == expected[..len]
}

/// Whether a comma-separated list holds the word, in any case.
fn lists(value: &[u8], word: &[u8]) -> bool {
    value.split(|&b| b == b',').any(|item| item.trim_ascii().eq_ignore_ascii_case(word))
}

/// Continues the message of the previous frame.
pub const CONTINUATION: u8 = 0x0;
/// Text: how SIP is usually sent.
pub const TEXT: u8 = 0x1;
/// Binary: SIP may be sent this way too.
pub const BINARY: u8 = 0x2;
/// End of the connection; the first control opcode.
pub const CLOSE: u8 = 0x8;
/// Keep-alive.
pub const PING: u8 = 0x9;
/// Reply to [`PING`].
pub const PONG: u8 = 0xa;

/// The longest payload that is accepted.
pub const MAX_PAYLOAD: usize = 64 * 1024;

/// The longest HTTP head that is buffered.
pub const MAX_HEAD: usize = 16 * 1024;

const REQUEST: &[u8] = b"GET ";
const RESPONSE: &[u8] = b"HTTP/1.1 ";

#[cfg(test)]
mod tests {
    use super::*;

    const ASK: &[u8] = b"GET /ws HTTP/1.1\r\nHost: a\r\nupgrade: WebSocket\r\nConnection: Upgrade\r\n\
        Sec-WebSocket-Protocol: msrp, SIP\r\n\r\n";
    const AGREE: &[u8] = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\
        Connection: Upgrade\r\nSec-WebSocket-Protocol: sip\r\n\r\n";

    #[test]
    fn lengths_of_each_size() {
        for (bytes, header_len, payload_len) in [
            (&b"\x81\x05"[..], 2, 5),
            (b"\x81\x7d", 2, 125),
            (b"\x81\x7e\x02\x30", 4, 560),
            (b"\x81\x7f\0\0\0\0\0\x01\0\0", 10, 65536),
        ] {
            let header = Header::parse(bytes).unwrap().unwrap();
            assert_eq!((header.header_len, header.payload_len, header.mask), (header_len, payload_len, None));
            assert_eq!(header.payload(), header_len..header_len + payload_len);
            for end in 0..bytes.len() {
                assert_eq!(Header::parse(&bytes[..end]), Ok(None), "{end}");
            }
        }
    }

    #[test]
    fn a_masked_frame() {
        // RFC 6455 section 5.7: a single-frame masked text message, "Hello".
        let mut bytes = *b"\x81\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58";
        for end in 0..6 {
            assert_eq!(Header::parse(&bytes[..end]), Ok(None));
        }
        let header = Header::parse(&bytes).unwrap().unwrap();
        unmask(header.mask.unwrap(), &mut bytes[header.payload()]);
        assert_eq!(&bytes[6..], b"Hello");
    }

    #[test]
    fn fragments_and_control_frames() {
        let first = Header::parse(b"\x01\x03Hel").unwrap().unwrap();
        assert_eq!((first.fin, first.opcode), (false, TEXT));
        let last = Header::parse(b"\x80\x02lo").unwrap().unwrap();
        assert_eq!((last.fin, last.opcode), (true, CONTINUATION));
        assert!(Header::parse(b"\x89\x00").unwrap().unwrap().is_control());
    }

    #[test]
    fn what_is_no_frame() {
        assert_eq!(Header::parse(b"\xc1\x05"), Err(ParseError::Reserved));
        assert_eq!(Header::parse(b"\x83\x05"), Err(ParseError::Reserved));
        assert_eq!(Header::parse(b"\x09\x00"), Err(ParseError::Control));
        assert_eq!(Header::parse(b"\x89\x7e"), Err(ParseError::Control));
        assert_eq!(Header::parse(b"\x81\x7f\0\0\0\0\0\x01\0\x01"), Err(ParseError::TooLong));
        assert_eq!(Header::parse(b"\x81\x7f\xff\xff\xff\xff\xff\xff\xff\xff"), Err(ParseError::TooLong));
    }

    #[test]
    fn the_opening_handshake() {
        assert_eq!(upgrade(ASK), Upgrade::Complete(ASK.len()));
        let agreed = [AGREE, b"\x81\x05"].concat();
        assert_eq!(upgrade(&agreed), Upgrade::Complete(AGREE.len()));
        for end in 0..ASK.len() {
            assert_eq!(upgrade(&ASK[..end]), Upgrade::Incomplete, "{end}");
        }
    }

    #[test]
    fn a_handshake_that_comes_in_pieces_is_read_once() {
        for head in [ASK, AGREE, b"GET / HTTP/1.1\r\nHost: a\r\n\r\n", b"HTTP/1.1 200 OK\r\nA: b\r\n\r\n"] {
            for step in 1..20 {
                let (mut seen, mut at) = (0, 0);
                let last = loop {
                    at = head.len().min(at + step);
                    let found = upgrade_again(&head[..at], seen);
                    assert_eq!(found, upgrade(&head[..at]), "{at} by {step}");
                    if found != Upgrade::Incomplete {
                        break found;
                    }
                    seen = at;
                };
                assert_eq!(last == Upgrade::No, head != ASK && head != AGREE);
            }
        }
    }

    #[test]
    fn other_http_is_none() {
        for bytes in [
            &b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"[..],
            b"GET / HTTP/1.1\r\nUpgrade: h2c\r\n\r\n",
            b"HTTP/1.1 200 OK\r\n",
            b"HTTP/1.1 426 Upgrade Required\r\nUpgrade: websocket\r\n\r\n",
            b"POST / HTTP/1.1\r\n",
            b"INVITE sip:a SIP/2.0\r\n",
            b"\x16\x03\x01",
        ] {
            assert_eq!(upgrade(bytes), Upgrade::No, "{}", bytes.escape_ascii());
        }
        let mut endless = b"GET /".to_vec();
        endless.resize(MAX_HEAD, b'x');
        assert_eq!(upgrade(&endless), Upgrade::No);
        assert_eq!(upgrade(&endless[..MAX_HEAD - 1]), Upgrade::Incomplete);
    }
}

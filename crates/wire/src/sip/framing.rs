//! Messages of a byte stream: TCP, TLS, SCTP. RFC 3261 section 18.3 and RFC 5626 section 3.5.1.

use super::fields::Fields;
use super::header::Header;
use super::length::Length;
use super::method::Method;
use super::sniff::{MAX_START_LINE, find_start, is_code};
use super::start::{before_version, status};
use super::text::{is_token, token_len};

/// What the bytes of a stream begin with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// An incomplete message: call again with more bytes.
    Incomplete,
    /// A message of that length, for [`Message::parse`](super::Message::parse).
    Message(usize),
    /// A message of that length, which is more than [`MAX_MESSAGE`] and may be more than the bytes: they hold
    /// its header section. Call again after all of it.
    Long(usize),
    /// That many bytes are not part of a message: keep-alives, or the rest of a message whose beginning was
    /// not captured.
    Skip(usize),
}

/// Splits the bytes of one direction of a stream into messages. Call it again after the returned length until
/// it returns [`Framing::Incomplete`]; it never does so for [`MAX_MESSAGE`] bytes or more, and never returns
/// a length of 0. A long message begins with a whole header section, and its body is not waited for.
///
/// A stream that began before the capture is read from its next start line on. A message without
/// Content-Length has no body (RFC 3261 section 20.14). If Content-Length is invalid, the body is skipped up
/// to the next start line; if several values differ, the smallest counts, since a larger one could swallow
/// the next message. Of a message that claims more than [`MAX_LONG`], start line and headers are
/// returned and the body is skipped.
pub fn framing(buffer: &[u8]) -> Framing {
    framing_again(buffer, &mut FramingProgress::default())
}

/// How far [`framing_again`] has read an incomplete message. The default has read nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct FramingProgress {
    /// Bytes that were there the last time.
    seen: usize,
    /// What is known of them.
    stage: Stage,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Stage {
    /// They may begin a start line; a byte that is no part of a word decides.
    #[default]
    Word,
    /// They begin a line that only its end can decide about.
    Line,
    /// Their first line is a start line; the header line that has not ended begins here.
    Head(usize),
    /// The message has this many bytes.
    Body(usize),
}

/// As [`framing`], for a stream that grows by small steps: what was read once is not read again, so that a
/// message costs the same however it is cut. After [`Framing::Incomplete`], call it with the same bytes and
/// those that have come since; after any other answer `progress` is new.
pub fn framing_again(buffer: &[u8], progress: &mut FramingProgress) -> Framing {
    let FramingProgress { seen, stage } = *progress;
    let fresh = buffer.get(seen..).unwrap_or_default();
    let may_decide = match stage {
        Stage::Word => seen == 0 || fresh.iter().any(|byte| !is_token(*byte)),
        Stage::Line => memchr::memchr(b'\n', fresh).is_some(),
        Stage::Head(_) => true,
        Stage::Body(need) => buffer.len() >= need,
    };
    let is_line = matches!(stage, Stage::Word | Stage::Line);
    let is_too_long = is_line && buffer.len() > MAX_START_LINE;
    if !may_decide && !is_too_long {
        progress.seen = buffer.len();
        return Framing::Incomplete;
    }
    let mut next = FramingProgress { seen: buffer.len(), stage };
    let framing = match stage {
        Stage::Head(_) | Stage::Body(_) => message(buffer, seen, &mut next.stage),
        Stage::Word | Stage::Line => from_start(buffer, &mut next.stage),
    };
    *progress = if framing == Framing::Incomplete { next } else { FramingProgress::default() };
    framing
}

/// What a buffer begins with of which nothing is known.
fn from_start(buffer: &[u8], stage: &mut Stage) -> Framing {
    let idle = idle(buffer);
    if idle > 0 {
        return Framing::Skip(idle);
    }
    match seek(buffer, 0) {
        Seek::Start(0) => {
            *stage = Stage::Head(0);
            message(buffer, 0, stage)
        }
        Seek::Perhaps(0) => {
            // A word after the first white space: the rest of the line changes nothing about where it begins.
            let space = buffer.iter().position(|byte| matches!(byte, b' ' | b'\t')).unwrap_or(buffer.len());
            let is_settled = buffer[space..].iter().any(|byte| is_token(*byte));
            *stage = if is_settled { Stage::Line } else { Stage::Word };
            Framing::Incomplete
        }
        Seek::Start(at) | Seek::Perhaps(at) => Framing::Skip(at),
    }
}

/// The longest message that [`framing`] buffers.
pub const MAX_MESSAGE: usize = 64 * 1024;
/// The longest message whose Content-Length is believed.
pub const MAX_LONG: usize = 1024 * 1024;

/// Number of leading keep-alive and padding bytes.
fn idle(bytes: &[u8]) -> usize {
    bytes.iter().position(|&b| !is_idle(b)).unwrap_or(bytes.len())
}

fn is_idle(byte: u8) -> bool {
    matches!(byte, b'\r' | b'\n' | 0)
}

/// Position of the next message.
enum Seek {
    /// A complete start line begins here.
    Start(usize),
    /// The bytes from here on may become a start line.
    Perhaps(usize),
}

/// Looks for a start line in the lines from `at` on.
fn seek(buffer: &[u8], mut at: usize) -> Seek {
    while let Some(len) = memchr::memchr(b'\n', &buffer[at..]) {
        // The end of an overlong line can still be a start line, after a body without a line end.
        let from = at + idle(&buffer[at..at + len]).max(len.saturating_sub(MAX_START_LINE));
        if let Some(found) = find_start(&buffer[from..at + len]) {
            return Seek::Start(from + found);
        }
        at += len + 1;
    }
    at += idle(&buffer[at..]);
    let tail = &buffer[at..];
    if tail.len() > MAX_START_LINE { Seek::Perhaps(buffer.len()) } else { Seek::Perhaps(at + viable(tail)) }
}

/// Offset in a line without end from which it may still become a start line. What is kept before that shows
/// that the line began with something else: only a known method counts there.
fn viable(line: &[u8]) -> usize {
    line[..may_start(line)].iter().rposition(|&b| !is_idle(b)).unwrap_or(0)
}

/// Offset of the first word that may be a method or a version.
fn may_start(line: &[u8]) -> usize {
    // A method and its space, or `SIP/`; before that whatever a body without line end left there.
    let end = line.iter().position(|&b| matches!(b, b' ' | b'\t')).unwrap_or(line.len());
    let word = &line[..end];
    let method = word.iter().rposition(|&b| !is_token(b)).map_or(0, |at| at + 1);
    let version =
        memchr::memmem::rfind(word, b"/").filter(|&at| word[..at].to_ascii_uppercase().ends_with(b"SIP"));
    match version {
        Some(at) if word.len() - at <= 4 => at - 3,
        // The line goes on behind a space that no method stands before.
        _ if method == end && end < line.len() => {
            end + line[end..].iter().position(|&b| is_token(b)).unwrap_or(line.len() - end)
        }
        _ => method,
    }
}

/// Length of the message that begins the buffer, whose first `seen` bytes were read before.
fn message(buffer: &[u8], seen: usize, stage: &mut Stage) -> Framing {
    let within = &buffer[..buffer.len().min(MAX_MESSAGE)];
    let need = match *stage {
        Stage::Body(need) => need,
        Stage::Head(line) => {
            let head = match head(within, line, seen) {
                Head::Ends(at) => at,
                Head::NextStart(at) => return Framing::Message(at),
                Head::Open(line) if buffer.len() < MAX_MESSAGE => {
                    *stage = Stage::Head(line);
                    return Framing::Incomplete;
                }
                Head::Open(_) => {
                    let line = memchr::memchr(b'\n', buffer).map_or(buffer.len(), |at| at + 1);
                    let (Seek::Start(at) | Seek::Perhaps(at)) = seek(buffer, line);
                    return Framing::Skip(at);
                }
            };
            let need = head.saturating_add(content_length(&buffer[..head]).least.unwrap_or(0));
            if need > MAX_MESSAGE {
                return if need > MAX_LONG { Framing::Message(head) } else { Framing::Long(need) };
            }
            need
        }
        Stage::Word | Stage::Line => return Framing::Incomplete,
    };
    if need > buffer.len() {
        *stage = Stage::Body(need);
        return Framing::Incomplete;
    }
    Framing::Message(need)
}

/// Where the header section of a message ends.
enum Head {
    /// With an empty line, before this offset.
    Ends(usize),
    /// It does not end: bytes of the stream are missing, and the next message starts here.
    NextStart(usize),
    /// Not yet; the line that has not ended begins here.
    Open(usize),
}

/// Reads on from the line that begins at `line`, of which the bytes before `seen` hold no line end.
fn head(bytes: &[u8], line: usize, seen: usize) -> Head {
    let mut at = line;
    let from = seen.max(line).min(bytes.len());
    for next in memchr::memchr_iter(b'\n', &bytes[from..]).map(|end| from + end + 1) {
        let line = &bytes[at..next - 1];
        // The first line is the start line.
        if at > 0 && matches!(line, [] | [b'\r']) {
            return Head::Ends(next);
        }
        if at > 0 && is_known_start(line) {
            return Head::NextStart(at);
        }
        at = next;
    }
    Head::Open(at)
}

/// A start line that cannot be a header line: a status line, or a request with a known method.
fn is_known_start(line: &[u8]) -> bool {
    if !line.first().is_some_and(|b| b.is_ascii_uppercase()) {
        return false;
    }
    let word = token_len(line);
    match line.get(word) {
        Some(b' ') => Method::parse(&line[..word]) != Method::Other && before_version(line).is_some(),
        Some(b'/') => status(line).is_some_and(is_code),
        _ => false,
    }
}

fn content_length(head: &[u8]) -> Length {
    let mut length = Length::default();
    let line = memchr::memchr(b'\n', head).map_or(head.len(), |at| at + 1);
    for field in Fields::new(head, line) {
        if Header::parse(&head[field.name]) == Header::ContentLength {
            length.add(&head[field.value]);
        }
    }
    length
}

#[cfg(test)]
mod tests {
    use super::*;

    const BYE: &[u8] = b"BYE sip:a@b SIP/2.0\r\nCall-ID: 1\r\nContent-Length: 4\r\n\r\nbody";
    const OK: &[u8] = b"SIP/2.0 200 OK\r\nl:0\r\n\r\n";

    fn cut(mut bytes: &[u8]) -> Vec<&[u8]> {
        let mut messages = Vec::new();
        loop {
            match framing(bytes) {
                Framing::Incomplete | Framing::Long(_) => return messages,
                Framing::Skip(n) => bytes = &bytes[n..],
                Framing::Message(n) => {
                    messages.push(&bytes[..n]);
                    bytes = &bytes[n..];
                }
            }
        }
    }

    #[test]
    fn one_after_another_with_keep_alives() {
        assert_eq!(cut(&[BYE, b"\r\n\r\n", OK, b"\0\r\n", BYE, OK].concat()), [BYE, OK, BYE, OK]);
    }

    #[test]
    fn what_stood_before_a_word_is_not_forgotten_when_a_stream_is_cut() {
        let lines: [&[u8]; 6] = [
            b"A\xff\xffCK sip:a SIP/2.0\r\n\r\n",
            b"\xff unknown sip:a SIP/2.0\r\n\r\n",
            b"a\0UNKNOWN sip:a SIP/2.0\r\n\r\n",
            b"x\n\0UNKNOWN sip:a SIP/2.0\r\n\r\n",
            b"\xffREINVITE sip:a SIP/2.0\r\n\r\n",
            b"x\nREGISTER\r sip:a SIP/2.0\r\n\r\n",
        ];
        for line in lines {
            let (mut at, mut found) = (0, Vec::new());
            for end in 1..=line.len() {
                while at < end {
                    match framing(&line[at..end]) {
                        Framing::Incomplete | Framing::Long(_) => break,
                        Framing::Skip(n) => at += n,
                        Framing::Message(n) => {
                            found.push(&line[at..at + n]);
                            at += n;
                        }
                    }
                }
            }
            assert_eq!(found, cut(line), "{line:?}");
        }
    }

    #[test]
    fn a_message_is_awaited_whole() {
        for message in [BYE, OK] {
            for end in 1..message.len() {
                assert_eq!(framing(&message[..end]), Framing::Incomplete, "{end}");
            }
            assert_eq!(framing(message), Framing::Message(message.len()));
        }
    }

    #[test]
    fn taken_up_in_mid_stream() {
        for junk in [
            &b"dy-len: 3\r\n\r\nabc\r\n"[..],
            b"<presence>x y</presence>",
            b"v=0\r\na=sendrecv",
            b"</xml>",
            b"jaK",
            b"INV\xff\r\n",
            b"\x16\x03\x01 \n",
        ] {
            for message in [BYE, OK] {
                assert_eq!(cut(&[junk, message, OK].concat()), [message, OK], "{}", junk.escape_ascii());
            }
        }
    }

    #[test]
    fn content_length_that_makes_no_sense() {
        let odd = |value: &[u8]| [b"ACK sip:a SIP/2.0\r\nContent-Length:", value, b"\r\n\r\n"].concat();
        let negative = odd(b" -999");
        assert_eq!(cut(&[&negative, &b"v=0\r\ns=-\r\n"[..], BYE].concat()), [&negative[..], BYE]);
        let two = odd(b"13\r\nl: 5");
        assert_eq!(framing(&[&two, &b"0123456789abc"[..]].concat()), Framing::Message(two.len() + 5));
        let huge = odd(b"99999999999999999999");
        assert_eq!(cut(&[&huge, &b"a body\r\n"[..], BYE].concat()), [&huge[..], BYE]);
        let missing = b"ACK sip:a SIP/2.0\nCall-ID: 1\n\n";
        assert_eq!(cut(&[missing, BYE].concat()), [missing, BYE]);
    }

    #[test]
    fn a_hole_in_the_stream_loses_one_message() {
        let half = b"INVITE sip:a SIP/2.0\r\nVia: SIP/2.0/TCP h\r\n";
        assert_eq!(cut(&[&half[..], BYE, OK].concat()), [half, BYE, OK]);
    }

    #[test]
    fn nothing_is_awaited_for_ever() {
        let mut endless = b"INVITE sip:a SIP/2.0\r\n".to_vec();
        endless.resize(MAX_MESSAGE, b'x');
        assert_eq!(framing(&endless), Framing::Skip(MAX_MESSAGE));
        let text = vec![b'x'; MAX_START_LINE + 1];
        assert_eq!(framing(&text), Framing::Skip(text.len()));
    }

    #[test]
    fn a_length_is_believed_up_to_a_limit() {
        let head = |length: usize| format!("BYE sip:a@b SIP/2.0\r\nl: {length}\r\n\r\nbody").into_bytes();
        let of = |length: usize| head(length).len() - 4 + length;
        let fits = MAX_MESSAGE - of(10_000) + 10_000;
        assert_eq!(framing(&head(fits)), Framing::Incomplete);
        assert_eq!(framing(&head(fits + 1)), Framing::Long(MAX_MESSAGE + 1));
        let most = MAX_LONG - of(1_000_000) + 1_000_000;
        assert_eq!(framing(&head(most)), Framing::Long(MAX_LONG));
        assert_eq!(framing(&head(most + 1)), Framing::Message(of(most) - most));
        // Cut anywhere, as well as at once.
        let mut progress = FramingProgress::default();
        for end in 1..of(most) - most {
            assert_eq!(framing_again(&head(most)[..end], &mut progress), Framing::Incomplete);
        }
        assert_eq!(framing_again(&head(most), &mut progress), Framing::Long(MAX_LONG));
    }

    #[test]
    fn other_protocols_are_skipped() {
        assert_eq!(cut(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"), [] as [&[u8]; 0]);
        assert_eq!(cut(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"), [] as [&[u8]; 0]);
    }
}

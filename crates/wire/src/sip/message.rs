//! A message as an index of spans over its bytes, RFC 3261 section 7.

use super::body::{self, BodyPart};
use super::error::ParseError;
use super::fields::{Fields, Line};
use super::header::Header;
use super::length::Length;
use super::method::Method;
use super::nameaddr::NameAddr;
use super::params::param;
use super::start::StartLine;
use super::text::{Split, first_of, is_token, leading_number, number};
use super::uri::Uri;
use super::via::Via;

/// A SIP message: its start line, an index of its headers, its body.
///
/// Nothing is copied or allocated; values are parsed on access. One bad header never loses the message: a
/// line that does not parse is kept as it is and counted.
#[derive(Clone)]
pub struct Message<'a> {
    /// From the start line to the end of the body.
    raw: &'a [u8],
    start: StartLine<'a>,
    ids: [Header; HEADERS],
    spans: [Span; HEADERS],
    /// Index of the first of each header, [`NOWHERE`] for one that is absent.
    firsts: [u8; Header::COUNT],
    count: usize,
    body_at: usize,
    dropped: u16,
    malformed: u16,
    length: Length,
    complete: bool,
    truncated: bool,
}

/// Position of a header's name and value.
#[derive(Clone, Copy, Default)]
struct Span {
    name_at: u16,
    name_len: u16,
    value_at: u16,
    value_len: u16,
}

/// One header line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeaderField<'a> {
    /// Which header.
    pub header: Header,
    /// Its name as written; empty for a line without colon.
    pub name: &'a [u8],
    /// Its value, trimmed, still folded if it was.
    pub value: &'a [u8],
}

impl<'a> Message<'a> {
    /// Reads the one message at the start of `bytes`: a datagram, a WebSocket message, or what
    /// [`framing`](super::framing()) cut out of a stream. Line ends before it are skipped (RFC 3261 section
    /// 7.5).
    ///
    /// Content-Length ends the body, and bytes after it are ignored (section 18.3). If it is missing or
    /// invalid, the body is the rest of the bytes. If it is too large, the body is what was received, and
    /// [`Message::truncated`] is true.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, ParseError> {
        let (start, raw, next) = Self::begin(bytes)?;
        let mut message = Self::unread(start, raw);
        message.index(next);
        Ok(message)
    }

    /// Like [`Message::parse`], but passes the message by reference: moving its index is expensive.
    // HOT: one pass over the header; no allocation, no copy.
    #[inline(always)]
    pub fn parse_with<T>(bytes: &'a [u8], then: impl FnOnce(&Self) -> T) -> Result<T, ParseError> {
        let (start, raw, next) = Self::begin(bytes)?;
        let mut message = Self::unread(start, raw);
        message.index(next);
        Ok(then(&message))
    }

    /// Without an index.
    #[inline(always)]
    fn unread(start: StartLine<'a>, raw: &'a [u8]) -> Self {
        Self {
            raw,
            start,
            ids: [Header::Other; HEADERS],
            spans: [Span::default(); HEADERS],
            firsts: [NOWHERE; Header::COUNT],
            count: 0,
            body_at: raw.len(),
            dropped: 0,
            malformed: 0,
            length: Length::default(),
            complete: false,
            truncated: false,
        }
    }

    /// The start line, the message from there on, and the offset of the headers in it.
    fn begin(bytes: &'a [u8]) -> Result<(StartLine<'a>, &'a [u8], usize), ParseError> {
        let lead = bytes.iter().position(|&b| !matches!(b, b'\r' | b'\n')).unwrap_or(bytes.len());
        let bytes = &bytes[lead..];
        let line = memchr::memchr(b'\n', bytes);
        let start = StartLine::parse(bytes[..line.unwrap_or(bytes.len())].trim_ascii_end())?;
        Ok((start, bytes, line.map_or(bytes.len(), |at| at + 1)))
    }

    /// Indexes the header lines from `at` on and finds their end.
    #[inline(never)]
    fn index(&mut self, at: usize) {
        let raw = self.raw;
        let mut rest = raw.get(at..).unwrap_or_default();
        loop {
            let at = raw.len() - rest.len();
            if let Some(next) = self.plain(rest, at) {
                rest = next;
                continue;
            }
            let mut fields = Fields::new(raw, at);
            match fields.next() {
                Some(line) => {
                    self.add(line);
                    rest = raw.get(fields.end()..).unwrap_or_default();
                }
                None => {
                    self.body_at = fields.end();
                    self.complete = fields.blank();
                    // After a last line without a line end, nothing follows.
                    self.truncated |= fields.cut();
                    self.cut_body();
                    return;
                }
            }
            self.truncated |= fields.cut();
        }
    }

    /// Fast path: indexes the header line at the start of `rest`, at offset `at` in the message, if it is a
    /// known `Name: value` on one line with its name as the RFC writes it, as nearly all are. Returns what
    /// follows it; None, with nothing indexed, for any other line.
    // HOT: once a header line. Equivalent to [`Fields`] without its rare cases. No known name holds a line
    // end, so the end of the line is looked for in the value alone.
    #[inline(always)]
    fn plain(&mut self, rest: &'a [u8], at: usize) -> Option<&'a [u8]> {
        let (header, colon) = Header::before_colon(rest)?;
        let behind = rest.get(colon + 1..)?;
        let (line, next) = behind.split_at_checked(first_of(behind, [b'\n'])?)?;
        let next = next.get(1..)?;
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let value = line.strip_prefix(b" ").unwrap_or(line);
        let is_trimmed = *value.first()? > b' ' && *value.last()? > b' ';
        let end = at + colon + 1 + line.len();
        let has_room = self.count < HEADERS - RESERVED && end <= usize::from(u16::MAX);
        // A folded value continues on the next line.
        if !is_trimmed || !has_room || matches!(next.first(), Some(b' ' | b'\t')) {
            return None;
        }
        if header == Header::ContentLength {
            self.length.add(value);
        }
        self.put(
            header,
            Span {
                name_at: at as u16,
                name_len: colon as u16,
                value_at: (end - value.len()) as u16,
                value_len: value.len() as u16,
            },
        );
        Some(next)
    }

    /// Indexes one header line of any form.
    #[inline(never)]
    fn add(&mut self, Line { name, value }: Line) {
        let text = &self.raw[name.clone()];
        let header = Header::parse(text);
        // Names that are known are tokens.
        if header == Header::Other && (text.is_empty() || !text.iter().all(|&b| is_token(b))) {
            self.malformed = self.malformed.saturating_add(1);
        }
        if header == Header::ContentLength {
            self.length.add(&self.raw[value.clone()]);
        }
        match Span::new(name, value) {
            Some(span) if self.count < self.limit(header) => self.put(header, span),
            _ => self.dropped = self.dropped.saturating_add(1),
        }
    }

    /// INVARIANT: the index has room.
    #[inline(always)]
    fn put(&mut self, header: Header, span: Span) {
        if self.count < HEADERS {
            self.ids[self.count] = header;
            self.spans[self.count] = span;
            let first = &mut self.firsts[header as usize];
            *first = (*first).min(self.count as u8);
            self.count += 1;
        }
    }

    /// The number of entries up to which `header` is still indexed.
    ///
    /// INVARIANT: the last [`RESERVED`] entries are for the first of each essential header; there are fewer
    /// essential headers.
    fn limit(&self, header: Header) -> usize {
        let first = self.count >= HEADERS - RESERVED && header.essential() && self.header(header).is_none();
        if first { HEADERS } else { HEADERS - RESERVED }
    }

    /// Truncates the message to Content-Length.
    fn cut_body(&mut self) {
        let rest = self.raw.len() - self.body_at;
        if let (Some(length), false) = (self.length.least, self.length.doubtful) {
            self.truncated |= length > rest;
            self.raw = &self.raw[..self.body_at + length.min(rest)];
        }
    }

    /// The start line.
    pub fn start(&self) -> StartLine<'a> {
        self.start
    }

    /// The method of a request, and for a response the one that its CSeq names.
    pub fn method(&self) -> Method {
        match self.start {
            StartLine::Request { method, .. } => method,
            StartLine::Response { .. } => {
                self.cseq_parts().map_or(Method::Other, |(_, text)| Method::parse(text))
            }
        }
    }

    /// The status code of a response, 100 to 699.
    pub fn code(&self) -> Option<u16> {
        match self.start {
            StartLine::Request { .. } => None,
            StartLine::Response { code, .. } => Some(code),
        }
    }

    /// The Request-URI.
    pub fn request_uri(&self) -> Option<Uri<'a>> {
        match self.start {
            StartLine::Request { uri, .. } => Uri::parse(uri),
            StartLine::Response { .. } => None,
        }
    }

    /// Call-ID, RFC 3261 section 20.8.
    pub fn call_id(&self) -> Option<&'a [u8]> {
        self.header(Header::CallId).filter(|id| !id.is_empty())
    }

    /// CSeq, RFC 3261 section 20.16. None if its number does not fit (RFC 4475 section 3.1.2.4).
    pub fn cseq(&self) -> Option<(u32, Method)> {
        let (digits, text) = self.cseq_parts()?;
        Some((number(digits)?, Method::parse(text)))
    }

    /// Number and method of CSeq as written.
    fn cseq_parts(&self) -> Option<(&'a [u8], &'a [u8])> {
        let value = self.header(Header::CSeq)?;
        let (_, rest) = leading_number(value)?;
        Some((&value[..value.len() - rest.len()], rest.trim_ascii_start()))
    }

    /// From, RFC 3261 section 20.20.
    pub fn from(&self) -> Option<NameAddr<'a>> {
        self.header(Header::From).and_then(NameAddr::parse)
    }

    /// The tag of From, without parsing the rest. The outer None means no From, the inner one no tag.
    pub fn from_tag(&self) -> Option<Option<&'a [u8]>> {
        self.header(Header::From).and_then(NameAddr::tag_of)
    }

    /// To, RFC 3261 section 20.39.
    pub fn to(&self) -> Option<NameAddr<'a>> {
        self.header(Header::To).and_then(NameAddr::parse)
    }

    /// Via of the last hop: the first value.
    pub fn top_via(&self) -> Option<Via<'a>> {
        self.vias().next()
    }

    /// The branch of the last hop's Via, which names the transaction (RFC 3261 section 8.1.1.7), without
    /// parsing the rest.
    // HOT: once a message.
    pub fn top_branch(&self) -> Option<&'a [u8]> {
        match Via::plain_branch(self.header(Header::Via)?) {
            Some(branch) => Some(branch),
            None => self.values(Header::Via).find_map(Via::branch_of)?,
        }
    }

    /// Every Via, the last hop first.
    pub fn vias(&self) -> impl Iterator<Item = Via<'a>> {
        self.values(Header::Via).filter_map(Via::parse)
    }

    /// Every Contact that holds a URI. `*`, and a word separated by an unquoted comma, do not count.
    pub fn contacts(&self) -> impl Iterator<Item = NameAddr<'a>> {
        let holds_uri = |contact: &NameAddr<'_>| !contact.uri.scheme.is_empty() || contact.uri.user.is_some();
        self.values(Header::Contact).filter_map(NameAddr::parse).filter(holds_uri)
    }

    /// `Contact: *`, which removes every binding (RFC 3261 section 10.2.2).
    pub fn contact_is_star(&self) -> bool {
        self.header(Header::Contact) == Some(b"*")
    }

    /// Expires, RFC 3261 section 20.19, in seconds. None if the number does not fit.
    pub fn expires(&self) -> Option<u32> {
        self.header(Header::Expires)
            .and_then(leading_number)
            .and_then(|(seconds, _)| u32::try_from(seconds).ok())
    }

    /// The Q.850 cause in a Reason header, RFC 3326 section 2.
    pub fn reason_q850(&self) -> Option<u16> {
        self.header(Header::Reason)?;
        let q850 = |value: &&[u8]| {
            let end = memchr::memchr(b';', value).unwrap_or(value.len());
            value[..end].trim_ascii().eq_ignore_ascii_case(b"Q.850")
        };
        self.values(Header::Reason).filter(q850).find_map(|value| number(param(value, b"cause")?))
    }

    /// The first value of a header, trimmed, still folded if it was.
    // HOT: a dozen calls per message.
    pub fn header(&self, header: Header) -> Option<&'a [u8]> {
        let span = self.spans.get(usize::from(self.firsts[header as usize]))?;
        Some(span.value(self.raw))
    }

    /// The value of each line with that header.
    pub fn headers(&self, header: Header) -> impl Iterator<Item = &'a [u8]> {
        // The first of this header is at `firsts`.
        let from = usize::from(self.firsts[header as usize]).min(self.count);
        let ids = self.ids[from..self.count].iter().zip(&self.spans[from..]);
        ids.filter(move |(id, _)| **id == header).map(|(_, span)| span.value(self.raw))
    }

    /// The value of each line with that header, split at commas outside quotes and angle brackets. Not for
    /// From, To, Date and the authentication headers, which are not lists.
    pub fn values(&self, header: Header) -> impl Iterator<Item = &'a [u8]> {
        self.headers(header).flat_map(|value| Split::new(value, b','))
    }

    /// The first value of the header of that name, also of headers that [`Header`] does not list.
    pub fn header_named(&self, name: &[u8]) -> Option<&'a [u8]> {
        match Header::parse(name) {
            Header::Other => self.fields().find(|f| f.name.eq_ignore_ascii_case(name)).map(|f| f.value),
            known => self.header(known),
        }
    }

    /// Every header line in order.
    pub fn fields(&self) -> impl Iterator<Item = HeaderField<'a>> {
        let ids = self.ids[..self.count].iter().zip(&self.spans);
        ids.map(|(&header, span)| HeaderField {
            header,
            name: span.name(self.raw),
            value: span.value(self.raw),
        })
    }

    /// The body, empty if there is none.
    pub fn body(&self) -> &'a [u8] {
        &self.raw[self.body_at..]
    }

    /// The whole message, from its start line to the end of its body.
    pub fn raw(&self) -> &'a [u8] {
        self.raw
    }

    /// Start line and headers, with the empty line after them.
    pub fn head(&self) -> &'a [u8] {
        &self.raw[..self.body_at]
    }

    /// The parts of a `multipart` body, also those of a nested `multipart`; any other body is its only part.
    pub fn parts(&self) -> impl Iterator<Item = BodyPart<'a>> {
        let whole = BodyPart {
            content_type: self.header(Header::ContentType).unwrap_or_default(),
            disposition: self.header(Header::ContentDisposition).unwrap_or_default(),
            content_id: self.header(Header::ContentId).unwrap_or_default(),
            body: self.body(),
        };
        body::parts(whole).filter(|part| !part.body.is_empty())
    }

    /// The session description: a body or body part that is `application/sdp`, or that has no type and begins
    /// with `v=0`.
    // HOT: called for every message; most have no body, and most bodies are a single part with a type.
    pub fn sdp(&self) -> Option<&'a [u8]> {
        if self.body().is_empty() {
            return None;
        }
        if self.header(Header::ContentType) == Some(b"application/sdp") {
            return Some(self.body());
        }
        self.parts().find(BodyPart::is_sdp).map(|part| part.body)
    }

    /// The message ends before it should: in the middle of a header line, or before the end of its body.
    pub fn truncated(&self) -> bool {
        self.truncated
    }

    /// The empty line that ends the headers was found.
    pub fn headers_complete(&self) -> bool {
        self.complete
    }

    /// Header lines that did not fit into the index.
    pub fn headers_dropped(&self) -> u16 {
        self.dropped
    }

    /// Header lines without a colon, or whose name is not a token.
    pub fn headers_malformed(&self) -> u16 {
        self.malformed
    }

    /// Content-Length is not a number, or two values differ.
    pub fn length_doubtful(&self) -> bool {
        self.length.doubtful
    }
}

impl std::fmt::Debug for Message<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Message")
            .field("start", &self.start)
            .field("headers", &self.count)
            .field("body", &self.body().len())
            .finish_non_exhaustive()
    }
}

impl Span {
    /// None if the line lies beyond the first 64 KiB.
    fn new(name: std::ops::Range<usize>, value: std::ops::Range<usize>) -> Option<Self> {
        Some(Self {
            name_at: u16::try_from(name.start).ok()?,
            name_len: u16::try_from(name.len()).ok()?,
            value_at: u16::try_from(value.start).ok()?,
            value_len: u16::try_from(value.len()).ok()?,
        })
    }

    fn name<'a>(&self, raw: &'a [u8]) -> &'a [u8] {
        &raw[usize::from(self.name_at)..][..usize::from(self.name_len)]
    }

    fn value<'a>(&self, raw: &'a [u8]) -> &'a [u8] {
        &raw[usize::from(self.value_at)..][..usize::from(self.value_len)]
    }
}

/// Header lines that are indexed.
const HEADERS: usize = 96;

/// In [`Message::firsts`]: the header is absent.
const NOWHERE: u8 = u8::MAX;
const _: () = assert!(HEADERS <= NOWHERE as usize);

/// Entries reserved for essential headers that come late.
const RESERVED: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;

    fn with<'a>(headers: &str, bytes: &'a mut Vec<u8>) -> Message<'a> {
        *bytes = format!("BYE sip:a@b SIP/2.0\r\n{headers}").into_bytes();
        Message::parse(bytes).unwrap()
    }

    #[test]
    fn method_of_a_response_is_its_cseqs() {
        let message = Message::parse(b"\r\nSIP/2.0 180 Ringing\r\nCSeq:7  INVITE\r\n\r\n").unwrap();
        assert_eq!((message.method(), message.code()), (Method::Invite, Some(180)));
        assert_eq!(message.cseq(), Some((7, Method::Invite)));
        assert!(message.raw().starts_with(b"SIP/2.0 180"));
        assert_eq!(Message::parse(b"SIP/2.0 200 OK\r\n\r\n").map(|m| m.method()), Ok(Method::Other));
    }

    #[test]
    fn cause_of_release() {
        let mut bytes = Vec::new();
        let mut cause = |value: &str| with(&format!("Reason: {value}\r\n\r\n"), &mut bytes).reason_q850();
        assert_eq!(cause("Q.850;cause=16;text=\"Terminated, really\""), Some(16));
        assert_eq!(cause("SIP ;cause=200, q.850 ; text=\"x\" ; Cause = \"31\""), Some(31));
        assert_eq!(cause("SIP;cause=200"), None);
        assert_eq!(cause("Q.850;cause=x"), None);
        assert_eq!(cause("Q.850"), None);
    }

    #[test]
    fn contacts_of_a_registration() {
        let mut bytes = Vec::new();
        let message = with("m: *\r\nExpires: 0 \r\n\r\n", &mut bytes);
        assert!(message.contact_is_star() && message.contacts().next().is_none());
        assert_eq!(message.expires(), Some(0));
        let message = with("Contact: Bell, Alexander <sip:x@y>;expires=60,sip:z@w;q=1\r\n\r\n", &mut bytes);
        let found: Vec<_> = message.contacts().map(|c| (c.uri.user, c.param(b"Expires"))).collect();
        assert_eq!(found, [(Some(&b"x"[..]), Some(&b"60"[..])), (Some(b"z"), None)]);
    }

    #[test]
    fn headers_by_name_and_what_is_no_header() {
        let mut bytes = Vec::new();
        let message = with("X-Cid: 1\r\nno colon\r\nx-cid: 2\r\nbad name: 3\r\nI:4\r\n", &mut bytes);
        assert_eq!(message.header_named(b"X-CID"), Some(&b"1"[..]));
        assert_eq!(message.header_named(b"bad name"), Some(&b"3"[..]));
        assert_eq!(message.header_named(b"call-id"), message.call_id());
        assert_eq!(message.headers(Header::Other).collect::<Vec<_>>(), [&b"1"[..], b"no colon", b"2", b"3"]);
        assert_eq!((message.headers_malformed(), message.headers_dropped()), (2, 0));
        assert!(!message.headers_complete() && !message.truncated());
    }

    #[test]
    fn where_the_session_description_is() {
        let mut bytes = Vec::new();
        let mut sdp = |headers: &str, body: &str| {
            let message = with(&format!("{headers}\r\n\r\n{body}"), &mut bytes);
            message.sdp().map(|sdp| String::from_utf8_lossy(sdp).into_owned())
        };
        let found = Some("v=0\r\n".to_owned());
        assert_eq!(sdp("c: Application/SDP ; charset=x", "v=0\r\n"), found);
        assert_eq!(sdp("X: no type", "v=0\r\n"), found);
        assert_eq!(
            sdp("c:multipart/mixed;boundary=\"x y\"", "--x y\r\nc:application/sdp\r\n\r\nv=0\r\n\r\n--x y--"),
            found
        );
        assert_eq!(sdp("c: text/plain", "v=0\r\n"), None);
        assert_eq!(sdp("X: no type", "s=-\r\n"), None);
        assert_eq!(sdp("c: application/sdp", ""), None);
    }

    #[test]
    fn what_is_cut() {
        let mut bytes = Vec::new();
        assert!(with("l: 4\r\n\r\nabc", &mut bytes).truncated());
        assert!(with("Call-I", &mut bytes).truncated());
        assert!(!with("l: 3\r\n\r\nabc", &mut bytes).truncated());
        assert_eq!(with("l: 2\r\n\r\nabc", &mut bytes).body(), b"ab");
        assert_eq!(with("\r\nabc", &mut bytes).body(), b"abc");
    }
}

//! Hostile SIP messages (RFC 3261), each complete in one datagram.

use std::fmt::Write;

use super::hosts::{FIRST_PORT, head, sip_hosts};
use crate::frame::Framer;
use crate::rng::Rng;

/// Floods of messages.
#[derive(Debug, Default)]
pub(super) struct Messages {
    text: String,
    /// The registration whose answer comes next.
    unanswered: Option<Request>,
}

/// What the headers of a message say.
#[derive(Clone, Debug)]
struct Request {
    method: &'static str,
    ends: [std::net::SocketAddr; 2],
    call_id: String,
    tag: u64,
    user: u64,
}

impl Request {
    fn new(method: &'static str, rng: &mut Rng) -> Self {
        let call_id = format!("{:016x}@flood", rng.next_u64());
        Self { method, ends: sip_hosts(rng), call_id, tag: rng.next_u64(), user: rng.next_u64() }
    }

    /// Writes the message with these further headers and this body.
    fn write(&self, text: &mut String, answer: bool, headers: &str, body: &str) {
        let Self { method, ends: [from, to], call_id, tag, user } = self;
        text.clear();
        let first = if answer { "SIP/2.0 200 OK".to_owned() } else { format!("{method} sip:{to} SIP/2.0") };
        let to_tag = if answer { ";tag=1" } else { "" };
        // Writing to a String cannot fail.
        let _ = write!(
            text,
            "{first}\r\nVia: SIP/2.0/UDP {from};branch=z9hG4bK{tag:x}\r\n\
             From: <sip:{user:x}@{}>;tag={tag:x}\r\n\
             To: <sip:{user:x}@{}>{to_tag}\r\nCall-ID: {call_id}\r\nCSeq: 1 {method}\r\n\
             Contact: <sip:{user:x}@{from}>\r\n{headers}Content-Length: {}\r\n\r\n{body}",
            from.ip(),
            to.ip(),
            body.len(),
        );
    }

    fn send(&self, text: &str, answer: bool, framer: &mut Framer) {
        let [from, to] = self.ends;
        let ends = if answer { [to, from] } else { [from, to] };
        framer.udp(&head(ends), |payload| payload.extend_from_slice(text.as_bytes()));
    }
}

impl Messages {
    pub(super) fn invite(&mut self, rng: &mut Rng, framer: &mut Framer) {
        let mut request = Request::new("INVITE", rng);
        if rng.chance(LONG) {
            request.call_id.insert_str(0, &"i".repeat(LONG_CALL_ID));
        }
        let body = format!(
            "v=0\r\no=- 1 1 IN IP4 {0}\r\ns=-\r\nc=IN IP4 {0}\r\nt=0 0\r\nm=audio {1} RTP/AVP 0\r\n",
            request.ends[0].ip(),
            FIRST_PORT + 2 * rng.below(500) as u16,
        );
        request.write(&mut self.text, false, SDP, &body);
        request.send(&self.text, false, framer);
    }

    /// A request, and with the next packet its answer.
    pub(super) fn register(&mut self, rng: &mut Rng, framer: &mut Framer) {
        const EXPIRES: &str = "Expires: 4294967295\r\n";
        let answered = self.unanswered.take();
        let (request, answer) = match answered {
            Some(request) => (request, true),
            None => (Request::new("REGISTER", rng), false),
        };
        request.write(&mut self.text, answer, EXPIRES, "");
        request.send(&self.text, answer, framer);
        if !answer {
            self.unanswered = Some(request);
        }
    }

    pub(super) fn message(&mut self, rng: &mut Rng, framer: &mut Framer) {
        let request = Request::new("MESSAGE", rng);
        request.write(&mut self.text, false, "Content-Type: text/plain\r\n", "hello");
        request.send(&self.text, false, framer);
    }

    pub(super) fn codecs(&mut self, rng: &mut Rng, framer: &mut Framer) {
        let request = Request::new("INVITE", rng);
        let mut body =
            format!("v=0\r\no=- 1 1 IN IP4 {0}\r\ns=-\r\nc=IN IP4 {0}\r\nt=0 0\r\n", request.ends[0].ip());
        body.push_str("m=audio 60000 RTP/AVP");
        // Writing to a String cannot fail.
        (DYNAMIC..128).for_each(|number| _ = write!(body, " {number}"));
        body.push_str("\r\n");
        for number in DYNAMIC..128 {
            let _ = write!(body, "a=rtpmap:{number} {:08x}/8000\r\n", rng.next_u64() as u32);
        }
        request.write(&mut self.text, false, SDP, &body);
        request.send(&self.text, false, framer);
    }
}

const SDP: &str = "Content-Type: application/sdp\r\n";
/// Share of the INVITEs with a long Call-ID, and its length.
const LONG: f64 = 0.25;
const LONG_CALL_ID: usize = 800;
/// The first payload type without a fixed meaning (RFC 3551 section 3) of those listed.
const DYNAMIC: u8 = 100;

//! SIP dialogs and their messages.

use std::fmt::Write;

use ringtap_model::{Endpoint, Nanos};

use super::{ms, wire::Wire};

/// Parses an endpoint.
///
/// # Panics
///
/// If the text is not an endpoint: stories use constants.
pub fn end(text: &str) -> Endpoint {
    let address: std::net::SocketAddr = text.parse().expect("address and port");
    Endpoint::new(address.ip(), address.port())
}

/// A SIP message between two endpoints.
#[derive(Clone, Debug)]
pub struct Msg {
    /// Sender.
    pub src: Endpoint,
    /// Receiver.
    pub dst: Endpoint,
    start: String,
    headers: Vec<(String, Vec<u8>)>,
    body: Vec<u8>,
}

impl Msg {
    /// Adds a header line.
    #[must_use]
    pub fn header(mut self, name: &str, value: impl AsRef<[u8]>) -> Self {
        self.headers.push((name.to_owned(), value.as_ref().to_vec()));
        self
    }

    /// Replaces the value of an existing header.
    #[must_use]
    pub fn replace(mut self, name: &str, value: impl AsRef<[u8]>) -> Self {
        self.headers.iter_mut().filter(|(other, _)| other == name).for_each(|(_, old)| {
            *old = value.as_ref().to_vec();
        });
        self
    }

    /// Sets another Request-URI.
    #[must_use]
    pub fn uri(mut self, uri: &str) -> Self {
        let method = self.start.split(' ').next().unwrap_or_default();
        self.start = format!("{method} {uri} SIP/2.0");
        self
    }

    /// Sets the body.
    #[must_use]
    pub fn body(mut self, kind: &str, body: impl AsRef<[u8]>) -> Self {
        self.body = body.as_ref().to_vec();
        self.header("Content-Type", kind)
    }

    /// Sets an SDP as body.
    #[must_use]
    pub fn sdp(self, sdp: &str) -> Self {
        self.body("application/sdp", sdp)
    }

    /// The same message on another hop, behind a proxy that adds its Via to a request.
    #[must_use]
    pub fn on(mut self, src: Endpoint, dst: Endpoint) -> Self {
        if !self.start.starts_with("SIP/") {
            let via = format!("SIP/2.0/UDP {src};branch=z9hG4bK-proxy-{}", self.branch());
            self.headers.insert(0, ("Via".to_owned(), via.into_bytes()));
        }
        (self.src, self.dst) = (src, dst);
        self
    }

    /// A response to this request, from its receiver to its sender; `tag` is the To tag.
    pub fn answer(&self, code: u16, reason: &str, tag: &str) -> Self {
        let copied = ["Via", "From", "To", "Call-ID", "CSeq"];
        let mut headers: Vec<(String, Vec<u8>)> =
            self.headers.iter().filter(|(name, _)| copied.contains(&name.as_str())).cloned().collect();
        for (_, value) in headers.iter_mut().filter(|(name, _)| name == "To") {
            if !tag.is_empty() && !value.windows(5).any(|bytes| bytes == b";tag=") {
                value.extend(format!(";tag={tag}").into_bytes());
            }
        }
        let start = format!("SIP/2.0 {code} {reason}");
        Self { src: self.dst, dst: self.src, start, headers, body: Vec::new() }
    }

    /// The bytes of the message, with Content-Length.
    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = format!("{}\r\n", self.start).into_bytes();
        for (name, value) in &self.headers {
            bytes.extend([name.as_bytes(), b": ", value, b"\r\n"].concat());
        }
        bytes.extend(format!("Content-Length: {}\r\n\r\n", self.body.len()).into_bytes());
        bytes.extend(&self.body);
        bytes
    }

    fn branch(&self) -> String {
        let via = self.headers.iter().find(|(name, _)| name == "Via").map(|(_, value)| value.as_slice());
        let via = String::from_utf8_lossy(via.unwrap_or_default()).into_owned();
        via.rsplit("z9hG4bK-").next().unwrap_or_default().to_owned()
    }
}

/// One side of a dialog.
#[derive(Clone, Copy, Debug)]
pub struct Peer {
    /// User part of its URI.
    pub user: &'static str,
    /// Its signalling endpoint.
    pub end: Endpoint,
}

/// A dialog between two peers: the values that all its messages have.
#[derive(Clone, Debug)]
pub struct Dialog {
    /// Call-ID.
    pub call_id: String,
    /// The caller.
    pub caller: Peer,
    /// The callee.
    pub callee: Peer,
    /// The transport in Via: UDP, TCP, WS.
    pub transport: &'static str,
}

/// Alice's telephone.
pub fn alice() -> Peer {
    Peer { user: "alice", end: end("192.0.2.10:5060") }
}

/// Bob's telephone.
pub fn bob() -> Peer {
    Peer { user: "bob", end: end("198.51.100.20:5060") }
}

/// Alice's media endpoint.
pub fn alice_media() -> Endpoint {
    end("192.0.2.10:40000")
}

/// Bob's media endpoint.
pub fn bob_media() -> Endpoint {
    end("198.51.100.20:50000")
}

impl Dialog {
    /// Alice calls Bob.
    pub fn new(call_id: &str) -> Self {
        Self::between(call_id, alice(), bob())
    }

    /// A dialog in which one peer calls another.
    pub fn between(call_id: &str, caller: Peer, callee: Peer) -> Self {
        Self { call_id: call_id.to_owned(), caller, callee, transport: "UDP" }
    }

    /// A request outside a dialog: INVITE, CANCEL, the ACK of a failure, REGISTER, MESSAGE.
    pub fn open(&self, method: &str, cseq: u32) -> Msg {
        self.request(method, cseq, self.caller, self.callee, "")
    }

    /// A request of the caller within the dialog.
    pub fn by_caller(&self, method: &str, cseq: u32) -> Msg {
        self.request(method, cseq, self.caller, self.callee, ";tag=callee")
    }

    /// A request of the callee within the dialog.
    pub fn by_callee(&self, method: &str, cseq: u32) -> Msg {
        let mut message = self.request(method, cseq, self.callee, self.caller, ";tag=caller");
        message = message.replace("From", format!("<sip:{}@example.com>;tag=callee", self.callee.user));
        message
    }

    fn request(&self, method: &str, cseq: u32, from: Peer, to: Peer, to_tag: &str) -> Msg {
        // RFC 3261 sections 9.1 and 17.1.1.3: CANCEL and the ACK of a failure share the branch of their
        // INVITE.
        let of_invite = method == "CANCEL" || (method == "ACK" && to_tag.is_empty());
        let branch = if of_invite { "INVITE" } else { method };
        let headers = [
            (
                "Via",
                format!(
                    "SIP/2.0/{} {};branch=z9hG4bK-{branch}-{cseq}-{}",
                    self.transport, from.end, from.user
                ),
            ),
            ("Max-Forwards", "70".to_owned()),
            ("From", format!("<sip:{}@example.com>;tag=caller", from.user)),
            ("To", format!("<sip:{}@example.com>{to_tag}", to.user)),
            ("Call-ID", self.call_id.clone()),
            ("CSeq", format!("{cseq} {method}")),
            ("Contact", format!("<sip:{}@{}>", from.user, from.end)),
        ];
        Msg {
            src: from.end,
            dst: to.end,
            start: format!("{method} sip:{}@{} SIP/2.0", to.user, to.end.ip_text()),
            headers: headers.into_iter().map(|(name, value)| (name.to_owned(), value.into_bytes())).collect(),
            body: Vec::new(),
        }
    }

    /// INVITE at once, 100 after 10 ms, 180 after 200 ms, 200 after 1000 ms, ACK after 1020 ms.
    pub fn set_up(&self, wire: &mut Wire, at: Nanos, offer: &str, answer: &str) {
        let invite = self.open("INVITE", 1).sdp(offer);
        wire.send(at, &invite);
        wire.send(at + ms(10), &invite.answer(100, "Trying", ""));
        wire.send(at + ms(200), &invite.answer(180, "Ringing", "callee"));
        wire.send(at + ms(1000), &invite.answer(200, "OK", "callee").sdp(answer));
        wire.send(at + ms(1020), &self.by_caller("ACK", 1));
    }

    /// BYE of the caller, answered after 20 ms.
    pub fn hang_up(&self, wire: &mut Wire, at: Nanos) {
        let bye = self.by_caller("BYE", 2);
        wire.send(at, &bye);
        wire.send(at + ms(20), &bye.answer(200, "OK", ""));
    }
}

/// A session description for one audio stream at an endpoint: payload types as in `m=`, then attributes.
pub fn sdp(media: Endpoint, types: &str, attributes: &[&str]) -> String {
    sdp_of(media, &format!("m=audio {} RTP/AVP {types}", media.port), attributes)
}

/// A session description with any media line.
pub fn sdp_of(host: Endpoint, line: &str, attributes: &[&str]) -> String {
    let family = if host.ip.is_ipv6() { "IP6" } else { "IP4" };
    let ip = host.ip;
    let mut text =
        format!("v=0\r\no=- 1 1 IN {family} {ip}\r\ns=-\r\nc=IN {family} {ip}\r\nt=0 0\r\n{line}\r\n");
    for attribute in attributes {
        // Writing to a string cannot fail.
        let _ = write!(text, "a={attribute}\r\n");
    }
    text
}

/// The host in the form of a URI.
trait HostText {
    fn ip_text(&self) -> String;
}

impl HostText for Endpoint {
    fn ip_text(&self) -> String {
        if self.ip.is_ipv6() { format!("[{}]", self.ip) } else { self.ip.to_string() }
    }
}

//! Writes SIP messages and SDP: RFC 3261, RFC 8866.

use std::fmt::Write;

use crate::codec::Codec;
use crate::dialog::{Dialog, Fork, HoldMedia, MessageKind, Method, PlannedMessage, Side, Transaction};

/// Reason phrase of a status code (RFC 3261 section 21).
pub(crate) fn phrase(code: u16) -> &'static str {
    match code {
        100 => "Trying",
        180 => "Ringing",
        183 => "Session Progress",
        200 => "OK",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        407 => "Proxy Authentication Required",
        480 => "Temporarily Unavailable",
        486 => "Busy Here",
        487 => "Request Terminated",
        500 => "Server Internal Error",
        503 => "Service Unavailable",
        603 => "Decline",
        _ => "Failure",
    }
}

/// Payload type of telephone-event (RFC 4733) in every offer.
pub(crate) const EVENT: u8 = 101;
/// Expiry that the registrar grants: a day, so no refresh is needed.
pub(crate) const EXPIRES: u32 = 86_400;

/// One message, written out.
pub(crate) fn write(dialog: &Dialog, step: &PlannedMessage) -> String {
    let fork = dialog.fork.as_deref().filter(|_| step.fork);
    let transaction = dialog.transaction(step);
    let writer = Writer { dialog, transaction, kind: step.kind, sender: dialog.sender(step), fork };
    let body = writer.body();
    let mut text = String::with_capacity(700 + body.len());
    // Writing to a String cannot fail.
    let _ = writer.head(&mut text, !body.is_empty());
    let _ = write!(text, "Content-Length: {}\r\n\r\n{body}", body.len());
    text
}

struct Writer<'a> {
    dialog: &'a Dialog,
    transaction: &'a Transaction,
    kind: MessageKind,
    sender: Side,
    /// The fork that answers in place of the callee.
    fork: Option<&'a Fork>,
}

impl Writer<'_> {
    fn head(&self, to: &mut String, has_body: bool) -> std::fmt::Result {
        let Self { dialog, transaction, kind, sender, .. } = *self;
        let (by, method) = (transaction.by, self.method());
        match kind {
            MessageKind::Response(code) => write!(to, "SIP/2.0 {code} {}\r\n", phrase(code))?,
            _ => write!(to, "{method} {} SIP/2.0\r\n", self.target())?,
        }
        let via = dialog.party(by).signalling;
        write!(to, "Via: SIP/2.0/{} {via};branch=z9hG4bK{:016x}\r\n", dialog.transport, self.branch())?;
        if !matches!(kind, MessageKind::Response(_)) {
            to.push_str("Max-Forwards: 70\r\n");
        }
        write!(to, "From: <{}>;tag={:016x}\r\n", self.address(by), dialog.party(by).tag)?;
        let remote = if transaction.method == Method::Register { by } else { by.other() };
        write!(to, "To: <{}>", self.address(remote))?;
        if let Some(tag) = self.to_tag() {
            write!(to, ";tag={tag:016x}")?;
        }
        write!(to, "\r\nCall-ID: {}\r\nCSeq: {} {method}\r\n", dialog.call_id, transaction.sequence)?;
        if self.has_contact() {
            write!(to, "Contact: <{}>\r\n", self.contact(self.contact_of()))?;
        }
        if transaction.method == Method::Register {
            write!(to, "Expires: {EXPIRES}\r\n")?;
        }
        self.authentication(to)?;
        let agent = if matches!(kind, MessageKind::Response(_)) { "Server" } else { "User-Agent" };
        let party = if sender == Side::Caller { "caller" } else { "callee" };
        write!(to, "{agent}: ringtap-generate ({party})\r\n")?;
        if has_body {
            to.push_str("Content-Type: application/sdp\r\n");
        }
        Ok(())
    }

    fn method(&self) -> &'static str {
        match self.kind {
            MessageKind::Ack(_) => "ACK",
            _ => self.transaction.method.name(),
        }
    }

    /// The ACK of a 2xx is a transaction of its own.
    fn branch(&self) -> u64 {
        match self.kind {
            MessageKind::Ack(200..=299) => self.transaction.branch.rotate_left(32),
            _ => self.transaction.branch,
        }
    }

    /// The Request-URI: the address called, the registrar, or within a dialog the other side's Contact.
    fn target(&self) -> String {
        let remote = self.transaction.by.other();
        if self.transaction.method == Method::Register {
            format!("sip:{}", self.dialog.party(remote).domain)
        } else if self.transaction.in_dialog || matches!(self.kind, MessageKind::Ack(200..=299)) {
            self.contact(remote)
        } else {
            self.address(remote)
        }
    }

    fn address(&self, side: Side) -> String {
        let party = self.dialog.party(side);
        format!("sip:{}@{}", party.user, party.domain)
    }

    fn contact(&self, side: Side) -> String {
        let party = self.dialog.party(side);
        let transport = if self.dialog.transport == "TCP" { ";transport=tcp" } else { "" };
        format!("sip:{}@{}{transport}", party.user, party.signalling)
    }

    /// A registrar responds with the bound contact (RFC 3261 section 10.3).
    fn contact_of(&self) -> Side {
        if self.transaction.method == Method::Register { self.transaction.by } else { self.sender }
    }

    fn has_contact(&self) -> bool {
        matches!(
            (self.transaction.method, self.kind),
            (Method::Invite, MessageKind::Request | MessageKind::Response(180..=299))
                | (Method::Register, MessageKind::Request | MessageKind::Response(200..=299))
        )
    }

    fn to_tag(&self) -> Option<u64> {
        let own = self.fork.map_or(self.dialog.party(self.transaction.by.other()).tag, |fork| fork.tag);
        match self.kind {
            // RFC 3261 section 8.2.6.2: as in the request, with the responder's tag in all responses but 100.
            MessageKind::Response(100) => self.transaction.in_dialog.then_some(own),
            MessageKind::Response(401 | 407) | MessageKind::Ack(401 | 407) => {
                Some(self.transaction.challenge)
            }
            MessageKind::Response(_) | MessageKind::Ack(_) => Some(own),
            MessageKind::Request => self.transaction.in_dialog.then_some(own),
        }
    }

    /// Digest (RFC 3261 section 22.4). The response is random: there is no password.
    fn authentication(&self, to: &mut String) -> std::fmt::Result {
        let Transaction { by, challenge, branch, authorised, .. } = *self.transaction;
        let (user, realm) = (&self.dialog.party(by).user, self.dialog.party(by).domain);
        match (self.kind, authorised) {
            (MessageKind::Response(code @ (401 | 407)), _) => {
                let header = if code == 401 { "WWW-Authenticate" } else { "Proxy-Authenticate" };
                write!(
                    to,
                    "{header}: Digest realm=\"{realm}\", nonce=\"{challenge:016x}\", algorithm=MD5\r\n"
                )
            }
            (MessageKind::Request, Some(code)) => {
                let header = if code == 401 { "Authorization" } else { "Proxy-Authorization" };
                let (uri, response) = (self.target(), [branch.reverse_bits(), branch ^ challenge]);
                write!(
                    to,
                    "{header}: Digest username=\"{user}\", realm=\"{realm}\", nonce=\"{challenge:016x}\", "
                )?;
                let [high, low] = response;
                write!(to, "uri=\"{uri}\", response=\"{high:016x}{low:016x}\", algorithm=MD5\r\n")
            }
            _ => Ok(()),
        }
    }

    /// Offer in the INVITE, answer in its 200 (RFC 3264).
    fn body(&self) -> String {
        match (self.transaction.method, self.kind) {
            (Method::Invite, MessageKind::Request) => self.sdp(true),
            (Method::Invite, MessageKind::Response(183 | 200)) => self.sdp(false),
            _ => String::new(),
        }
    }

    fn sdp(&self, offer: bool) -> String {
        let Dialog { codec, ptime, .. } = *self.dialog;
        let media = self.fork.map_or(self.dialog.media(self.sender, self.transaction), |fork| fork.media);
        let version = self.transaction.version;
        let mut codecs = vec![codec];
        if offer && !self.transaction.in_dialog {
            codecs.extend([Codec::PCMU, Codec::PCMA].into_iter().filter(|other| *other != codec));
        }
        let session = self.fork.map_or(self.dialog.party(self.sender).session, |fork| fork.session);
        let family = if media.is_ipv6() { "IP6" } else { "IP4" };
        let mut text = format!(
            "v=0\r\no=- {session} {version} IN {family} {0}\r\ns=-\r\nc=IN {family} {0}\r\nt=0 0\r\nm=audio \
             {1} RTP/AVP",
            media.ip(),
            media.port(),
        );
        // Writing to a String cannot fail.
        for codec in &codecs {
            let _ = write!(text, " {}", codec.payload_type());
        }
        let _ = write!(text, " {EVENT}\r\n");
        for codec in &codecs {
            let _ = write!(text, "a=rtpmap:{} {}\r\n", codec.payload_type(), codec.rtpmap());
        }
        // RFC 4733 section 2.1: events use the clock of the audio stream.
        let _ =
            write!(text, "a=rtpmap:{EVENT} telephone-event/{}\r\na=fmtp:{EVENT} 0-16\r\n", codec.clock().0);
        let _ = write!(text, "a=ptime:{ptime}\r\na={}\r\n", self.sends());
        text
    }

    /// RFC 3264 sections 5.1 and 6.1.
    fn sends(&self) -> &'static str {
        match self.transaction.holds {
            None => "sendrecv",
            Some(HoldMedia::Silence) => "inactive",
            Some(HoldMedia::Music) if self.sender == self.transaction.by => "sendonly",
            Some(HoldMedia::Music) => "recvonly",
        }
    }
}

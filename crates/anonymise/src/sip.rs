//! Anonymises SIP messages, RFC 3261.

use ringtap_wire::sip::{BodyPart, Header, HeaderField, Message, StartLine, unfolded};

use crate::mask::Mask;
use crate::uri::split;

impl Mask {
    /// Replaces everything in a message that identifies somebody: parties, hosts, addresses, Call-ID, tags,
    /// branches, credentials; a session description likewise, in other bodies each character by an `x`.
    /// Methods, codes, sequence numbers, ports, codecs and the names of products stay. Content-Length is that
    /// of the new body.
    pub fn sip(&mut self, message: &Message<'_>) -> Vec<u8> {
        let content_type = message.header(Header::ContentType).unwrap_or_default();
        let whole = BodyPart { content_type, body: message.body(), ..BodyPart::default() };
        let mut body = Vec::with_capacity(message.body().len() + 64);
        self.body(&whole, message.sdp().is_some(), &mut body);
        let mut out = Vec::with_capacity(message.raw().len() + 64);
        self.start(&message.start(), &mut out);
        for field in message.fields().filter(|field| !field.name.is_empty()) {
            out.extend_from_slice(field.name);
            out.extend_from_slice(b": ");
            match field.header {
                Header::ContentLength => length(field.value, message.body().len(), body.len(), &mut out),
                _ => self.field(field, &mut out),
            }
            out.extend_from_slice(b"\r\n");
        }
        if message.headers_complete() {
            out.extend_from_slice(b"\r\n");
            out.append(&mut body);
        }
        out
    }

    fn start(&mut self, start: &StartLine<'_>, out: &mut Vec<u8>) {
        match *start {
            StartLine::Request { method_text, uri, .. } => {
                out.extend_from_slice(method_text);
                out.push(b' ');
                let begin = out.len();
                self.party(uri, out);
                if out[begin..].trim_ascii().is_empty() {
                    // A URI of bytes that are no text: without any, the line would be no request.
                    out.extend_from_slice(b"sip:x");
                }
                out.extend_from_slice(b" SIP/2.0\r\n");
            }
            StartLine::Response { code, reason } => {
                out.extend_from_slice(format!("SIP/2.0 {code} ").as_bytes());
                self.phrase(reason, out);
                out.extend_from_slice(b"\r\n");
            }
        }
    }

    /// A header's value.
    pub(crate) fn field(&mut self, field: HeaderField<'_>, out: &mut Vec<u8>) {
        let value: Vec<u8> = unfolded(field.value).collect();
        let value = &value[..];
        use Header as H;
        match field.header {
            H::From | H::To => self.party(value, out),
            H::Contact | H::Route | H::RecordRoute | H::Path | H::ServiceRoute | H::Also => {
                self.parties(value, out)
            }
            H::PAssertedIdentity | H::PPreferredIdentity | H::PAssociatedUri => self.parties(value, out),
            H::PCalledPartyId | H::RemotePartyId | H::Diversion | H::HistoryInfo => self.parties(value, out),
            H::ReferTo | H::ReferredBy | H::AlertInfo | H::CallInfo => self.parties(value, out),
            H::Via => self.via(value, out),
            H::Replaces | H::Join | H::TargetDialog => self.dialog(value, out),
            H::SessionId => {
                let end = value.iter().position(|byte| *byte == b';').unwrap_or(value.len());
                self.session(&value[..end], out);
                self.params(&value[end..], out);
            }
            H::Authorization | H::ProxyAuthorization | H::WwwAuthenticate | H::ProxyAuthenticate => {
                self.credentials(value, out);
            }
            H::Reason => self.reasons(value, out),
            H::Server | H::UserAgent => self.product(value, out),
            H::ContentType => self.media_type(value, out),
            H::Accept | H::Allow | H::AllowEvents | H::ContentDisposition | H::ContentEncoding => {
                self.keywords(value, out);
            }
            H::Event | H::PEarlyMedia | H::Privacy | H::ProxyRequire | H::Require => {
                self.keywords(value, out)
            }
            H::SessionExpires | H::SubscriptionState | H::Supported | H::Unsupported => {
                self.keywords(value, out)
            }
            H::CSeq
            | H::Date
            | H::Expires
            | H::MaxForwards
            | H::MinExpires
            | H::MinSe
            | H::RAck
            | H::RSeq
            | H::ReferSub
            | H::RetryAfter
            | H::Timestamp => self.numbers(value, out),
            H::PRtpStat | H::XRtpStat => self.statistics(value, out),
            // Call-ID and In-Reply-To are treated as text; other headers are unknown.
            _ => self.text_into(value, out),
        }
    }

    /// `SIP/2.0/UDP host:port;params`, a list of them.
    fn via(&mut self, value: &[u8], out: &mut Vec<u8>) {
        for (index, via) in split(value, b',').enumerate() {
            if index > 0 {
                out.extend_from_slice(b", ");
            }
            let end = via.iter().position(|byte| *byte == b';').unwrap_or(via.len());
            let (hop, params) = via.split_at(end);
            // The protocol ends at the last word before the host, which may be missing.
            let slash = hop.iter().rposition(|byte| *byte == b'/').map_or(0, |slash| slash + 1);
            let transport = hop[slash..].iter().take_while(|byte| byte.is_ascii_whitespace()).count();
            let letters =
                hop[slash + transport..].iter().take_while(|byte| !byte.is_ascii_whitespace()).count();
            let (protocol, host) = hop.split_at(slash + transport + letters);
            match is_protocol(protocol) {
                true => out.extend_from_slice(protocol),
                false => self.text_into(protocol, out),
            }
            self.host_port(host, out);
            self.params(params, out);
        }
    }

    /// ` host:port`.
    fn host_port(&mut self, place: &[u8], out: &mut Vec<u8>) {
        let end = place.iter().rposition(|byte| *byte == b':').unwrap_or(place.len());
        let (host, port) = place.split_at(end);
        let is_port = (2..=6).contains(&port.len()) && port[1..].trim_ascii().iter().all(u8::is_ascii_digit);
        // The last group of an IPv6 address without brackets may look like a port.
        match is_port && (host.ends_with(b"]") || !host.contains(&b':')) {
            true => {
                self.text_into(host, out);
                out.extend_from_slice(port);
            }
            false => self.text_into(place, out),
        }
    }

    /// RFC 7989: 32 hexadecimal digits; all zeros mean none.
    pub(crate) fn session(&mut self, value: &[u8], out: &mut Vec<u8>) {
        match value.iter().all(|byte| matches!(byte, b'0' | b' ')) {
            true => out.extend_from_slice(value),
            false => self.names.hex(value, out),
        }
    }

    /// RFC 3261 section 25.1 `credentials`, `challenge`: a scheme and a list of parameters.
    fn credentials(&mut self, value: &[u8], out: &mut Vec<u8>) {
        let end = value.iter().position(u8::is_ascii_whitespace).unwrap_or(value.len());
        let (scheme, params) = value.split_at(end);
        match scheme.eq_ignore_ascii_case(b"Digest") {
            true => out.extend_from_slice(scheme),
            false => return self.text_into(value, out),
        }
        for (index, param) in split(params, b',').enumerate() {
            out.extend_from_slice(if index > 0 { b", " } else { b" " });
            let end = param.iter().position(|byte| *byte == b'=').unwrap_or(param.len());
            let name = param[..end].trim_ascii().to_ascii_lowercase();
            let plain: [&[u8]; 4] = [b"algorithm", b"qop", b"stale", b"nc"];
            let value = param.get(end + 1..).unwrap_or_default().trim_ascii();
            if plain.contains(&&name[..]) && value.len() <= 32 && !value.contains(&b'@') {
                out.extend_from_slice(param);
            } else if name == b"uri" {
                out.extend_from_slice(b"uri=\"");
                let text = value.strip_prefix(b"\"").unwrap_or(value);
                self.party(text.strip_suffix(b"\"").unwrap_or(text), out);
                out.push(b'"');
            } else {
                self.param(param, out);
            }
        }
    }

    /// RFC 3326: `Q.850;cause=16;text="Terminated"`, a list of them.
    fn reasons(&mut self, value: &[u8], out: &mut Vec<u8>) {
        for (index, reason) in split(value, b',').enumerate() {
            if index > 0 {
                out.extend_from_slice(b", ");
            }
            let end = reason.iter().position(|byte| *byte == b';').unwrap_or(reason.len());
            let protocol = &reason[..end];
            match protocol.len() <= 12 && !protocol.contains(&b'@') {
                true => out.extend_from_slice(protocol),
                false => self.text_into(protocol, out),
            }
            self.params(&reason[end..], out);
        }
    }

    /// A list of tokens with parameters.
    fn keywords(&mut self, value: &[u8], out: &mut Vec<u8>) {
        for (index, word) in split(value, b',').enumerate() {
            if index > 0 {
                out.extend_from_slice(b", ");
            }
            let end = word.iter().position(|byte| *byte == b';').unwrap_or(word.len());
            let token = word[..end].trim_ascii();
            let digits = token.iter().filter(|byte| byte.is_ascii_digit()).count();
            match token.len() <= 48 && digits <= 6 && !token.contains(&b'@') {
                true => out.extend_from_slice(token),
                false => self.text_into(token, out),
            }
            self.params(&word[end..], out);
        }
    }

    /// Numbers, days, methods: no names.
    fn numbers(&mut self, value: &[u8], out: &mut Vec<u8>) {
        let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b" \t,:.+-".contains(byte);
        let end = value.iter().position(|byte| matches!(byte, b';' | b'(')).unwrap_or(value.len());
        match end <= 48 && value[..end].iter().all(is_plain) {
            true => out.extend_from_slice(&value[..end]),
            false => self.text_into(&value[..end], out),
        }
        self.text_into(&value[end..], out);
    }

    /// `PS=312,OS=49920;...`: named figures, which may include addresses.
    fn statistics(&mut self, value: &[u8], out: &mut Vec<u8>) {
        for word in value.split_inclusive(|byte| matches!(byte, b',' | b';' | b'=' | b' ')) {
            let is_plain = word.len() <= 12 && !word.iter().any(|byte| matches!(byte, b'@' | b':'));
            match is_plain && word.iter().filter(|byte| **byte == b'.').count() < 3 {
                true => out.extend_from_slice(word),
                false => self.text_into(word, out),
            }
        }
    }

    /// `type/subtype;boundary=...`.
    fn media_type(&mut self, value: &[u8], out: &mut Vec<u8>) {
        let end = value.iter().position(|byte| *byte == b';').unwrap_or(value.len());
        match end <= 64 && !value[..end].contains(&b'@') {
            true => out.extend_from_slice(&value[..end]),
            false => self.text_into(&value[..end], out),
        }
        self.params(&value[end..], out);
    }
}

/// Whether it is `SIP/2.0/` and a transport that exists (RFC 3261 section 20.42, RFC 4168, RFC 7118).
fn is_protocol(protocol: &[u8]) -> bool {
    let mut parts = protocol.split(|byte| *byte == b'/').map(<[u8]>::trim_ascii);
    let mut next_is = |of: &[&str]| {
        parts.next().is_some_and(|part| of.iter().any(|word| part.eq_ignore_ascii_case(word.as_bytes())))
    };
    next_is(&["SIP"])
        && next_is(&["2.0"])
        && next_is(&["UDP", "TCP", "TLS", "SCTP", "TLS-SCTP", "TLS-UDP", "WS", "WSS"])
        && parts.next().is_none()
}

/// The declared length, adjusted by the change of the body; left out if it is not a number.
fn length(declared: &[u8], before: usize, after: usize, out: &mut Vec<u8>) {
    let number = std::str::from_utf8(declared.trim_ascii()).ok().and_then(|text| text.parse::<i64>().ok());
    let length = number.map(|number| number.saturating_add(after as i64 - before as i64).max(0));
    if let Some(length) = length {
        out.extend_from_slice(length.to_string().as_bytes());
    }
}

#[cfg(test)]
mod tests;

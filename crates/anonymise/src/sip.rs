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
                self.party(uri, out);
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
    fn field(&mut self, field: HeaderField<'_>, out: &mut Vec<u8>) {
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
            match protocol.len() <= 24 {
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

    fn body(&mut self, part: &BodyPart<'_>, has_sdp: bool, out: &mut Vec<u8>) {
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

/// The declared length, adjusted by the change of the body; left out if it is not a number.
fn length(declared: &[u8], before: usize, after: usize, out: &mut Vec<u8>) {
    let number = std::str::from_utf8(declared.trim_ascii()).ok().and_then(|text| text.parse::<i64>().ok());
    let length = number.map(|number| number.saturating_add(after as i64 - before as i64).max(0));
    if let Some(length) = length {
        out.extend_from_slice(length.to_string().as_bytes());
    }
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::Key;

    fn masked(text: &str) -> String {
        let text = text.replace('\n', "\r\n");
        let mut mask = Mask::new(&Key([1; 32]));
        let message = Message::parse(text.as_bytes()).unwrap();
        String::from_utf8(mask.sip(&message)).unwrap()
    }

    /// A call with everything in it that names somebody.
    const INVITE: &str = "INVITE sip:+420602123456@sip.example.net;user=phone SIP/2.0\n\
        Via: SIP/2.0/UDP proxy.example.org:5060;branch=z9hG4bKsecret77;received=192.0.2.77;rport=5061\n\
        v: SIP/2.0/TCP [2001:db8::77]:5070 ; branch=z9hG4bKother88\n\
        From: \"Alice \\\"Wonder\\\" Land\" <sip:alice@example.org:5080;tgrp=trunk77>;tag=fromtag1\n\
        To: <sip:+420602123456@sip.example.net>;tag=totag22\n\
        Call-ID: callid333@192.0.2.77\n\
        CSeq: 4711 INVITE\n\
        Contact: <sip:alice@192.0.2.77:5062;transport=udp;alias=192.0.2.99~5064~1>\
        ;+sip.instance=\"<urn:uuid:00112233-4455>\"\n\
        Route: <sip:edge.example.org;lr>,\n <sip:core.example.org;lr>\n\
        P-Asserted-Identity: \"Alice\" <tel:+420777888999>, <sip:alice@example.org>\n\
        Remote-Party-ID: \"Alice\" <sip:+420777888999@example.org>;party=calling;screen=yes;privacy=off\n\
        Diversion: <sip:carol@example.org>;reason=no-answer;counter=2\n\
        History-Info: <sip:dave@example.org?Reason=SIP%3Bcause%3D302>;index=1.1\n\
        Refer-To: <sip:erin@example.org?Replaces=callid333%40192.0.2.77\
        %3Bto-tag%3Dtotag22%3Bfrom-tag%3Dfromtag1>\n\
        Authorization: Digest username=\"alice\", realm=\"example.org\", nonce=\"nonce4444\", \
        uri=\"sip:example.org\", \
        response=\"0123456789abcdef\", algorithm=MD5, qop=auth, nc=00000001\n\
        Session-ID: ab30317f1a784dc48ff824d0d3715d86;remote=00000000000000000000000000000000\n\
        Reason: Q.850;cause=16;text=\"Call from +420777888999\"\n\
        Supported: 100rel, timer\n\
        User-Agent: Phone/2.1 (00:15:65:ab:cd:ef)\n\
        X-Customer: no. 420777888999 at 192.0.2.77\n\
        Content-Type: multipart/mixed;boundary=bound555\n\n\
        --bound555\nContent-Type: application/sdp\n\n\
        v=0\no=alice 17 18 IN IP4 192.0.2.77\ns=Alice calls\ni=for carol\nc=IN IP4 192.0.2.77\nt=0 0\n\
        m=audio 4000 RTP/AVP 0 101\na=rtpmap:101 telephone-event/8000\na=fmtp:101 0-15\n\
        a=crypto:1 AES_CM_128_HMAC_SHA1_80 inline:c2VjcmV0a2V5|2^20\n\
        a=candidate:Hc0a8 1 UDP 2130706431 192.0.2.77 4000 typ srflx raddr 10.1.2.3 rport 4002\n\
        a=rtcp:4001 IN IP4 192.0.2.77\na=ssrc:12345 cname:alice@192.0.2.77\na=sendrecv\n\
        \n--bound555\nContent-Type: application/pidf+xml\n\n<presence entity=\"alice@example.org\"/>\n\
        --bound555--\n";

    #[test]
    fn nobody_is_left() {
        let out = masked(INVITE);
        for name in [
            "alice",
            "wonder",
            "land",
            "carol",
            "dave",
            "erin",
            "example",
            "edge",
            "core",
            "602123456",
            "777888999",
            "192.0.2.",
            "2001:db8",
            "10.1.2.3",
            "callid",
            "333",
            "fromtag",
            "totag",
            "secret",
            "other88",
            "nonce4",
            "0123456789abcdef",
            "ab30317f",
            "00:15:65",
            "c2vjcm",
            "hc0a8",
            "bound555",
            "trunk77",
            "0011",
            "presence",
            "customer:  no",
            "calls",
        ] {
            assert!(!out.to_lowercase().contains(name), "{name} is in\n{out}");
        }
    }

    #[test]
    fn what_names_nobody_stays() {
        let out = masked(INVITE);
        for part in [
            ";user=phone SIP/2.0\r\n",
            "Via: SIP/2.0/UDP ",
            ":5060;branch=z9hG4bK",
            ";rport=5061",
            "v: SIP/2.0/TCP [",
            "]:5070",
            ":5080;tgrp=",
            "CSeq: 4711 INVITE",
            ":5062;transport=udp",
            ";lr>, <sip:",
            ";party=calling;screen=yes;privacy=off",
            ";reason=no-answer;counter=2",
            ";index=1.1",
            "?Replaces=",
            "%3Bto-tag%3D",
            "algorithm=MD5, qop=auth, nc=00000001",
            ";remote=00000000000000000000000000000000",
            "Q.850;cause=16;text=\"Call from +",
            "Supported: 100rel, timer",
            "User-Agent: Phone/2.1 (",
            "Content-Type: application/sdp",
            " 17 18 IN IP4 ",
            "m=audio 4000 RTP/AVP 0 101",
            "a=rtpmap:101 telephone-event/8000",
            "a=fmtp:101 0-15",
            "a=crypto:1 AES_CM_128_HMAC_SHA1_80 inline:",
            " 1 UDP 2130706431 ",
            " 4000 typ srflx raddr 10.",
            " rport 4002",
            "a=rtcp:4001 IN IP4 ",
            "a=ssrc:12345 cname:",
            "a=sendrecv",
        ] {
            assert!(out.contains(part), "{part} is not in\n{out}");
        }
    }

    #[test]
    fn the_same_is_the_same_everywhere() {
        let out = masked(INVITE);
        let mut mask = Mask::new(&Key([1; 32]));
        let mut count =
            |text: &str| out.matches(std::str::from_utf8(&mask.text(text.as_bytes())).unwrap()).count();
        // From, Contact, P-Asserted-Identity, Authorization, o= and a=ssrc; the display names begin with a
        // capital.
        assert_eq!(count("alice"), 6);
        assert_eq!(count("Alice"), 4);
        assert_eq!(count("192.0.2.77"), 10);
        assert_eq!(count("+420777888999"), 3);
        // Its own header, and Replaces.
        assert_eq!(count("callid333"), 2);
        assert_eq!(count("fromtag1"), 2);
        assert_eq!(count("420777888999"), 4);
    }

    #[test]
    fn the_length_is_that_of_the_new_body() {
        let text = "INFO sip:a@192.0.2.1 SIP/2.0\nCall-ID: 1\nContent-Type: application/sdp\nContent-Length: \
            22\n\nc=IN IP4 192.0.2.177\n";
        let out = masked(text);
        let message = Message::parse(out.as_bytes()).unwrap();
        assert!(!message.truncated() && !message.length_doubtful());
        assert_eq!(message.header(Header::ContentLength), Some(message.body().len().to_string().as_bytes()));
    }

    #[test]
    fn digits_are_masked_and_text_is_blanked() {
        let info = |kind: &str, body: &str| {
            let text = format!("INFO sip:a@b SIP/2.0\nCall-ID: 1\nContent-Type: {kind}\n\n{body}");
            masked(&text).split_once("\r\n\r\n").unwrap().1.to_owned()
        };
        assert_eq!(
            info("application/dtmf-relay", "Signal=5\nDuration=160\n"),
            "Signal=0\r\nDuration=160\r\n"
        );
        assert_eq!(info("application/dtmf", "5"), "0");
        assert_eq!(info("text/plain", "meet me\n"), "xxxx xx\r\n");
        assert_eq!(info("message/sipfrag", "SIP/2.0 200 OK\nTo: a\n"), "SIP/2.0 200 OK\r\nxxx x\r\n");
    }

    #[test]
    fn privacy_and_hold_keep_their_words() {
        let out = masked(
            "INVITE sip:a@b SIP/2.0\nFrom: \"Anonymous\" <sip:anonymous@anonymous.invalid>\nCall-ID: 1\n\
             Contact: *\nContent-Type: application/sdp\n\nc=IN IP4 0.0.0.0\n",
        );
        assert!(out.contains("From: \"Anonymous\" <sip:anonymous@anonymous.invalid>\r\nCall-ID: "), "{out}");
        assert!(out.contains("Contact: *\r\n") && out.contains("c=IN IP4 0.0.0.0"));
    }

    const HEADERS: &str = "(From|To|Via|Contact|Call-ID|Session-ID|Authorization|Reason|Content-Type|Route|\
        X-Y|Refer-To|Content-Length)";

    proptest! {
        #[test]
        fn any_message_can_be_masked(
            line in "(INVITE sip:[ -~]{0,30} SIP/2.0|SIP/2.0 [2-6][0-9]{2} [ -~]{0,20})",
            headers in proptest::collection::vec(
                (HEADERS, any::<String>()),
                0..8,
            ),
            body in proptest::collection::vec(any::<u8>(), 0..200),
        ) {
            let mut bytes = format!("{line}\r\n").into_bytes();
            for (name, value) in headers {
                bytes.extend(format!("{name}: {}\r\n", value.replace(['\r', '\n'], " ")).bytes());
            }
            bytes.extend(b"\r\n");
            bytes.extend(&body);
            if let Ok(message) = Message::parse(&bytes) {
                let out = Mask::new(&Key([2; 32])).sip(&message);
                prop_assert!(Message::parse(&out).is_ok(), "{:?}", String::from_utf8_lossy(&out));
            }
        }
    }
}

//! Pressed keys in the bodies of SIP messages, by the codes of RFC 4733 section 3.2: 0 to 9, 10 `*`, 11 `#`,
//! 12 to 15 `A` to `D`, 16 flash.

use super::body::BodyPart;
use super::message::Message;
use super::method::Method;

/// What a message tells of pressed keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyReport<'a> {
    /// One key: `application/dtmf-relay` and `application/dtmf`.
    Key(u8),
    /// Keys in a row, as characters: KPML (RFC 4730 section 5.3.2).
    Keys(&'a [u8]),
    /// A telephone-event that a gateway took out of RTP (`audio/telephone-event`): it comes when the key is
    /// pressed, while it stays so, and at its end.
    Event {
        /// The key.
        code: u8,
        /// It is released.
        is_end: bool,
    },
}

/// The keys that an INFO (RFC 6086) or a NOTIFY (RFC 6665) tells of, in its body or in a part of it.
pub fn key_report<'a>(message: &Message<'a>) -> Option<KeyReport<'a>> {
    if !matches!(message.method(), Method::Info | Method::Notify) || message.code().is_some() {
        return None;
    }
    message.parts().find_map(|part| report(&part))
}

fn report<'a>(part: &BodyPart<'a>) -> Option<KeyReport<'a>> {
    let kind = part.media_type();
    if kind.eq_ignore_ascii_case(b"audio/telephone-event") {
        let &[code, flags, _, _] = part.body.first_chunk::<4>()?;
        return Some(KeyReport::Event { code, is_end: flags & 0x80 != 0 });
    }
    if kind.eq_ignore_ascii_case(b"application/kpml-response+xml") {
        return attribute(part.body, b"digits").map(KeyReport::Keys);
    }
    kind.get(..16)?.eq_ignore_ascii_case(b"application/dtmf").then(|| signal(part.body))?.map(KeyReport::Key)
}

/// `Signal=5` in a line, or the key alone.
fn signal(body: &[u8]) -> Option<u8> {
    let named = body.split(|&byte| byte == b'\n' || byte == b'\r').find_map(|line| {
        let (name, value) = line.split_at(line.iter().position(|&byte| byte == b'=')?);
        name.trim_ascii().eq_ignore_ascii_case(b"signal").then(|| value[1..].trim_ascii())
    });
    match named.unwrap_or(body.trim_ascii()) {
        b"10" => Some(10),
        b"11" => Some(11),
        b"16" => Some(16),
        [one] => key_code(*one),
        _ => None,
    }
}

/// The value of an attribute of XML, which holds nothing that is escaped.
fn attribute<'a>(body: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    let at =
        memchr::memmem::find_iter(body, name).find(|&at| at > 0 && body[at - 1].is_ascii_whitespace())?;
    let rest = body[at + name.len()..].trim_ascii_start().strip_prefix(b"=")?.trim_ascii_start();
    let (quote @ (b'"' | b'\''), rest) = rest.split_first()? else { return None };
    rest.get(..memchr::memchr(*quote, rest)?)
}

/// The code of a key by its character.
pub fn key_code(key: u8) -> Option<u8> {
    match key {
        b'0'..=b'9' => Some(key - b'0'),
        b'*' => Some(10),
        b'#' => Some(11),
        b'A'..=b'D' => Some(key - b'A' + 12),
        b'a'..=b'd' => Some(key - b'a' + 12),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reported(start: &str, kind: &str, body: &[u8]) -> Option<String> {
        let head = format!("{start}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n\r\n", body.len());
        let bytes = [head.as_bytes(), body].concat();
        Message::parse_with(&bytes, |message| key_report(message).map(|keys| format!("{keys:?}"))).unwrap()
    }

    #[test]
    fn every_kind_of_report() {
        let kpml = br#"<kpml-response version="1.0" code="200" text="OK" digits='4#' tag="1"/>"#;
        for (kind, body, expected) in [
            ("application/dtmf-relay", &b"Signal=7\r\nDuration=160\r\n"[..], Some("Key(7)")),
            ("application/dtmf-relay", b"Duration=160\r\nsignal = 11\r\n", Some("Key(11)")),
            ("Application/DTMF", b"*", Some("Key(10)")),
            ("application/dtmf", b"55", None),
            ("audio/telephone-event", &[1, 0, 7, 208], Some("Event { code: 1, is_end: false }")),
            ("audio/telephone-event", &[11, 0x80, 1, 64], Some("Event { code: 11, is_end: true }")),
            ("audio/telephone-event", &[1, 0, 7], None),
            ("application/kpml-response+xml", kpml, Some("Keys([52, 35])")),
            ("application/kpml-response+xml", b"<kpml-response code=\"423\"/>", None),
            ("application/kpml-response+xml", b"<kpml-response digits=\"4", None),
            ("application/xml", kpml, None),
        ] {
            for method in ["INFO", "NOTIFY"] {
                let start = format!("{method} sip:a@example.com SIP/2.0");
                assert_eq!(reported(&start, kind, body).as_deref(), expected, "{method} {kind}");
            }
            assert_eq!(reported("SIP/2.0 200 OK", kind, body), None);
            assert_eq!(reported("MESSAGE sip:a@example.com SIP/2.0", kind, body), None);
        }
        let parts = b"--b\r\nContent-Type: text/plain\r\n\r\nno\r\n--b\r\n\
            Content-Type: application/dtmf\r\n\r\n5\r\n--b--";
        let start = "INFO sip:a@example.com SIP/2.0";
        assert_eq!(reported(start, "multipart/mixed;boundary=b", parts).as_deref(), Some("Key(5)"));
    }
}

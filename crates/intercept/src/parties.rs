//! Whom a SIP message names.

use ringtap_wire::sip::{Header, Message, NameAddr, params};

/// Which party of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Party {
    Caller,
    Callee,
    /// Whom the call was routed on from.
    Other,
}

/// Headers that name the sender of a request: asserted by the network (RFC 3325), or claimed.
const SENDER: [Header; 4] =
    [Header::PAssertedIdentity, Header::PPreferredIdentity, Header::RemotePartyId, Header::Contact];
/// Headers that name whom a call was routed on from.
const DIVERTED: [Header; 2] = [Header::Diversion, Header::HistoryInfo];
/// Headers with credentials (RFC 7616): whose, is a parameter.
const CREDENTIALS: [Header; 2] = [Header::Authorization, Header::ProxyAuthorization];
/// Identities that are looked at in one message.
const MOST: usize = 64;

/// Whom a request names: every URI or user name, and which party it is.
pub(crate) fn of_request(message: &Message<'_>) -> Vec<(Party, String)> {
    let mut found = Vec::new();
    let mut add = |party: Party, text: &[u8]| {
        if found.len() < MOST && !text.is_empty() {
            found.push((party, String::from_utf8_lossy(text).into_owned()));
        }
    };
    if let Some(from) = message.from() {
        add(Party::Caller, from.uri.raw);
    }
    for value in SENDER.into_iter().flat_map(|header| message.values(header)) {
        NameAddr::parse(value).iter().for_each(|name| add(Party::Caller, name.uri.raw));
    }
    for value in CREDENTIALS.into_iter().flat_map(|header| message.headers(header)) {
        user_of(value).iter().for_each(|user| add(Party::Caller, user));
    }
    if let Some(to) = message.to() {
        add(Party::Callee, to.uri.raw);
    }
    if let Some(uri) = message.request_uri() {
        add(Party::Callee, uri.raw);
    }
    for value in DIVERTED.into_iter().flat_map(|header| message.values(header)) {
        NameAddr::parse(value).iter().for_each(|name| add(Party::Other, name.uri.raw));
    }
    found
}

/// Whom an answer adds: the callee says who it is.
pub(crate) fn of_answer(message: &Message<'_>) -> Vec<(Party, String)> {
    let values = SENDER.into_iter().flat_map(|header| message.values(header)).filter_map(NameAddr::parse);
    let texts = values.map(|name| String::from_utf8_lossy(name.uri.raw).into_owned());
    texts.filter(|text| !text.is_empty()).take(MOST).map(|text| (Party::Callee, text)).collect()
}

/// The user of credentials: `Digest username="bob", realm="example.org"`.
fn user_of(value: &[u8]) -> Option<Vec<u8>> {
    let value = value.trim_ascii();
    let begin = value.iter().position(u8::is_ascii_whitespace)?;
    // As parameters of a header, but for what separates them.
    let list = separated(&value[begin..]);
    let (_, user) = params(&list).find(|(name, _)| name.eq_ignore_ascii_case(b"username"))?;
    Some(unescaped(user?))
}

/// Commas outside of quotes become semicolons.
fn separated(list: &[u8]) -> Vec<u8> {
    let (mut is_quoted, mut is_escaped) = (false, false);
    let separate = |byte: &u8| {
        let plain = !is_escaped;
        is_escaped = plain && is_quoted && *byte == b'\\';
        if plain && *byte == b'"' {
            is_quoted = !is_quoted;
        }
        if *byte == b',' && !is_quoted { b';' } else { *byte }
    };
    list.iter().map(separate).collect()
}

/// Without the backslashes that escape.
fn unescaped(value: &[u8]) -> Vec<u8> {
    let mut bytes = value.iter().copied();
    std::iter::from_fn(|| bytes.next().and_then(|byte| if byte == b'\\' { bytes.next() } else { Some(byte) }))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(lines: &str) -> Vec<(Party, String)> {
        let text = format!("INVITE sip:+441604960001@example.net SIP/2.0\r\nCall-ID: 1\r\n{lines}\r\n\r\n");
        Message::parse_with(text.as_bytes(), of_request).unwrap()
    }

    #[test]
    fn each_header_that_names_somebody_counts() {
        let lines = "From: \"Alice\" <sip:alice@example.org>;tag=1\r\nTo: <sip:bob@example.net>\r\n\
             P-Asserted-Identity: <sip:+441604960000@example.org>, <tel:+441604960000>\r\n\
             Remote-Party-ID: <sip:4960000@example.org>;party=calling\r\nContact: <sip:a@192.0.2.1:5060>\r\n\
             Diversion: <sip:carol@example.net>;reason=unconditional\r\n\
             Proxy-Authorization: Digest realm=\"a, username=x\", username=\"al\\\"ice\", uri=\"sip:b\"";
        let expected = [
            (Party::Caller, "sip:alice@example.org"),
            (Party::Caller, "sip:+441604960000@example.org"),
            (Party::Caller, "tel:+441604960000"),
            (Party::Caller, "sip:4960000@example.org"),
            (Party::Caller, "sip:a@192.0.2.1:5060"),
            (Party::Caller, "al\"ice"),
            (Party::Callee, "sip:bob@example.net"),
            (Party::Callee, "sip:+441604960001@example.net"),
            (Party::Other, "sip:carol@example.net"),
        ];
        assert_eq!(names(lines), expected.map(|(party, text)| (party, text.to_owned())));
    }

    #[test]
    fn credentials_without_a_user_name_nobody() {
        for value in ["Digest", "Digest realm=\"username=bob\"", "Bearer abc", "", "Digest username="] {
            let named = names(&format!("Authorization: {value}"));
            assert_eq!(named, [(Party::Callee, "sip:+441604960001@example.net".to_owned())], "{value}");
        }
    }
}

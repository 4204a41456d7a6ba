//! Parses arbitrary SIP messages and streams of messages.

use ringtap_anonymise::{Key, Mask};
use ringtap_wire::sip::{
    Framing, MAX_LONG, MAX_MESSAGE, Message, NameAddr, Uri, Via, framing, params, sniff, unfolded,
};

/// Parses the bytes as a SIP datagram, and calls every accessor of the message.
pub fn sip(bytes: &[u8]) {
    if let Some(start) = sniff(bytes) {
        assert!(start < bytes.len());
        assert_eq!(sniff(&bytes[start..]), Some(0), "what begins a message begins one alone");
        check(&bytes[start..]);
    }
    check(bytes);
}

/// Checks that the anonymised message is still a message of the same kind.
fn check_masked(message: &Message<'_>) {
    let masked = Mask::new(&Key([0; 32])).sip(message);
    let again = Message::parse(&masked).expect("a message without its names is one");
    assert_eq!((again.code(), again.headers_complete()), (message.code(), message.headers_complete()));
}

fn check(bytes: &[u8]) {
    let message = match Message::parse(bytes) {
        Ok(message) => message,
        Err(reason) => {
            assert!(!reason.name().is_empty());
            return;
        }
    };
    assert!(message.raw().ends_with(message.body()) && message.raw().starts_with(message.head()));
    let _ = (message.start(), message.code(), message.call_id(), message.cseq(), message.expires());
    let _ =
        (message.reason_q850(), message.contact_is_star(), message.truncated(), message.length_doubtful());
    let _ = (message.headers_complete(), message.headers_dropped(), message.headers_malformed());
    check_masked(&message);
    message.request_uri().iter().for_each(check_uri);
    [message.from(), message.to()].iter().flatten().for_each(check_party);
    message.contacts().take(16).for_each(|party| check_party(&party));
    assert_eq!(message.top_via(), message.vias().next());
    message.vias().take(16).for_each(|via| check_via(&via));
    for field in message.fields() {
        check_value(field.value);
        assert!(message.headers(field.header).next().is_some());
        assert!(message.values(field.header).count() <= bytes.len());
        assert!(message.header(field.header).is_some());
        let _ = message.header_named(field.name);
    }
    for part in message.parts() {
        assert!(part.body.len() <= message.body().len());
        assert!(part.media_type().len() <= part.content_type.len());
        let _ = part.is_sdp();
    }
    if let Some(body) = message.sdp() {
        crate::sdp(body);
    }
    assert!(!format!("{message:?}").is_empty());
}

fn check_value(value: &[u8]) {
    NameAddr::parse(value).iter().for_each(check_party);
    Via::parse(value).iter().for_each(check_via);
    assert!(params(value).count() <= value.len() + 1);
    assert!(unfolded(value).count() <= value.len());
}

fn check_party(party: &NameAddr<'_>) {
    // The text between brackets may be empty.
    if !party.uri.raw.is_empty() {
        check_uri(&party.uri);
    }
    let _ = (party.display, party.tag(), party.param(b"q"));
}

fn check_uri(uri: &Uri<'_>) {
    assert!(!uri.raw.is_empty());
    assert!(uri.user.map_or(0, <[u8]>::len) + uri.host.len() + uri.scheme.len() <= uri.raw.len());
    let _ = (uri.ip(), uri.param(b"transport"), uri.port);
    if uri.raw.starts_with(b"<") {
        // Nested brackets: each parse removes one pair.
        return;
    }
    let again = Uri::parse(uri.raw).map(|again| (again.scheme, again.user, again.host));
    assert_eq!(again, Some((uri.scheme, uri.user, uri.host)));
}

fn check_via(via: &Via<'_>) {
    assert!(!via.transport.is_empty());
    let _ = (via.ip(), via.received_ip(), via.param(b"branch"), via.rport);
}

/// Cuts the bytes, one direction of a stream, into segments by the first byte: the messages must be the same
/// as those of the whole.
pub fn stream(bytes: &[u8]) {
    let Some((&cut, stream)) = bytes.split_first() else { return };
    let whole = messages(stream, stream.len());
    let cut = messages(stream, usize::from(cut).max(1));
    assert_eq!(whole, cut);
}

/// The messages of a stream in segments of that many bytes.
fn messages(stream: &[u8], segment: usize) -> Vec<&[u8]> {
    let (mut found, mut at) = (Vec::new(), 0);
    for end in (0..stream.len()).step_by(segment.max(1)).map(|from| (from + segment).min(stream.len())) {
        loop {
            let buffer = &stream[at..end];
            let used = match framing(buffer) {
                Framing::Incomplete => {
                    assert!(buffer.len() < MAX_MESSAGE, "no more than that is waited for");
                    break;
                }
                Framing::Message(len) => {
                    found.push(&buffer[..len]);
                    let _ = Message::parse(&buffer[..len]);
                    len
                }
                Framing::Long(len) => {
                    assert!((MAX_MESSAGE + 1..=MAX_LONG).contains(&len), "its length is believed");
                    len.min(buffer.len())
                }
                Framing::Skip(len) => len,
            };
            assert!((1..=buffer.len()).contains(&used), "it goes on");
            at += used;
        }
    }
    found
}

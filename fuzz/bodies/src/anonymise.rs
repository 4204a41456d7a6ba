//! Anonymises messages and media.

use ringtap_anonymise::{Key, Mask, MediaMask};
use ringtap_wire::sip::{Header, Message, sniff};

use crate::choices::Choices;

/// A name that no list of harmless words has.
const SECRET: &[u8] = b"zq7vorlax";

/// A SIP message, RTP and RTCP of the bytes: no header of a party keeps a name, lengths of media stay.
pub fn anonymise(bytes: &[u8]) {
    let mut mask = Mask::new(&Key([9; 32]));
    let mut choices = Choices::new(bytes);
    let at = usize::from(choices.short());
    let rest = choices.rest();
    media(&mut mask, rest);
    // Somewhere in the message stands a name.
    let at = at % (rest.len() + 1);
    let named = [&rest[..at], SECRET, &rest[at..]].concat();
    let Some(start) = sniff(&named) else { return };
    let Ok(message) = Message::parse(&named[start..]) else { return };
    let masked = mask.sip(&message);
    let again = Message::parse(&masked).expect("a message without its names is one");
    assert_eq!(again.code(), message.code());
    for field in again.fields().filter(|field| names_somebody(field.header)) {
        let has_name = field.value.windows(SECRET.len()).any(|part| part == SECRET);
        assert!(!has_name, "{}", String::from_utf8_lossy(&masked));
    }
}

/// Other headers have words of their own, which stay: methods, products, options.
fn names_somebody(header: Header) -> bool {
    use Header as H;
    matches!(header, H::From | H::To | H::Contact | H::Via | H::CallId | H::PAssertedIdentity)
}

fn media(mask: &mut Mask, bytes: &[u8]) {
    for voice in [MediaMask::Silenced, MediaMask::Digits, MediaMask::Unchanged] {
        let cut = bytes.len() / 2;
        for (packet, length) in [(bytes, bytes.len()), (&bytes[..cut], bytes.len())] {
            if let Some(masked) = mask.rtp(packet, length, voice) {
                assert_eq!(masked.len(), length.max(packet.len()));
                assert_eq!(masked[..2], packet[..2]);
            }
        }
    }
    assert_eq!(mask.rtcp(bytes).len(), bytes.len());
}

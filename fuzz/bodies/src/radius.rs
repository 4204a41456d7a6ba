//! Decodes arbitrary RADIUS packets, as datagrams and in a stream.

use ringtap_wire::radius::{View, looks_like_radius, total_len};

/// Decodes the bytes as a RADIUS packet: its values lie in it, one behind the other; what follows it changes
/// nothing; one byte less is none.
pub fn radius(bytes: &[u8]) {
    let stated = total_len(bytes);
    let Ok(view) = View::parse(bytes) else {
        assert!(!looks_like_radius(bytes));
        return;
    };
    let len = view.bytes().len();
    assert_eq!(stated, Ok(Some(len)));
    let mut walked = 20;
    for attribute in view.attributes() {
        assert!(attribute.at >= walked && attribute.at + attribute.value.len() <= len);
        walked = attribute.at + attribute.value.len();
        assert_eq!(&bytes[attribute.at..walked], attribute.value);
        let prefix = attribute.ipv6_prefix();
        assert!(prefix.is_none_or(|(_, bits)| bits <= 128) && attribute.tlvs().count() <= len / 2);
        let _ = (attribute.text(), attribute.address(), attribute.route(), attribute.integer64());
        assert!(view.find(attribute.number).is_some());
    }
    let alone = View::parse(&bytes[..len]).expect("nothing behind the stated length counts");
    assert!(alone.attributes().eq(view.attributes()));
    assert!(View::parse(&bytes[..len - 1]).is_err());
    assert_eq!(alone.check(b"secret", Some(&[1; 16])), view.check(b"secret", Some(&[1; 16])));
}

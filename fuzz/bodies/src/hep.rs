//! Decodes arbitrary HEP packets, as datagrams and in a stream.

use ringtap_wire::hep::{View, total_len};

/// Decodes the bytes as a HEP packet, whole and one byte shorter than it says it needs.
pub fn hep(bytes: &[u8]) {
    let stated = total_len(bytes);
    let Ok(view) = View::parse(bytes) else { return };
    assert_eq!(stated, Ok(Some(view.total_len())));
    assert!(view.total_len() <= bytes.len());
    let texts = [view.payload(), view.node(), view.correlation_id()];
    assert!(texts.iter().all(|text| text.len() + 12 <= view.total_len() || text.is_empty()));
    assert!(!view.compressed() || view.total_len() >= 12);
    let addresses = (view.src(), view.dst(), view.src_port(), view.dst_port());
    let rest = (view.family(), view.proto(), view.proto_type(), view.capture_id(), view.vlan());
    let alone = View::parse(&bytes[..view.total_len()]).expect("nothing behind the total length counts");
    assert_eq!(addresses, (alone.src(), alone.dst(), alone.src_port(), alone.dst_port()));
    assert_eq!(rest, (alone.family(), alone.proto(), alone.proto_type(), alone.capture_id(), alone.vlan()));
    assert_eq!((view.seconds(), view.micros()), (alone.seconds(), alone.micros()));
    assert!(View::parse(&bytes[..view.total_len() - 1]).is_err());
}

//! Decodes arbitrary frames: link layers, tunnels, IP and transport.

use ringtap_wire::frame::{DecodeError, Packet, Payload, decode, decode_payload, link};

/// Decodes a frame whose link type and declared length are in the first three bytes. The content of a
/// fragment is then decoded as the payload of its datagram.
pub fn frame(bytes: &[u8]) {
    let Some((&[kind, h, l], frame)) = bytes.split_first_chunk::<3>() else { return };
    let any = u16::from_be_bytes([h, l]);
    let link = LINKS.get(usize::from(kind)).copied().unwrap_or(any);
    // The declared length may be smaller than the captured length.
    let wire_len = if kind & 0x80 == 0 { frame.len() as u32 } else { u32::from(any) };
    match decode(link, wire_len, frame) {
        Ok(packet) => check(&packet, frame),
        Err(reason) => check_reason(reason),
    }
}

fn check_reason(reason: DecodeError) {
    assert_eq!(DecodeError::ALL[reason.index()], reason);
    assert!(!reason.name().is_empty());
}

fn check(packet: &Packet<'_>, frame: &[u8]) {
    assert!(packet.ip.header_len <= packet.ip.len, "{packet:?}");
    assert_eq!(packet.ip.src.is_ipv4(), packet.ip.dst.is_ipv4());
    match &packet.payload {
        Payload::Udp(udp) => within(udp.data, udp.len, frame),
        Payload::Tcp(tcp) => {
            within(tcp.data, tcp.len, frame);
            let flags = tcp.flags;
            let _ = (flags.syn(), flags.ack(), flags.fin(), flags.rst(), flags.psh());
        }
        Payload::Sctp(sctp) => {
            let chunks = sctp.data_chunks().inspect(|chunk| within(chunk.data, chunk.len, frame));
            assert!(chunks.count() <= sctp.chunks.len() / 16);
        }
        Payload::Fragment(fragment) => {
            within(fragment.data, fragment.len, frame);
            assert!(fragment.offset < 1 << 16);
            // The payload is shorter than the fragment, so the recursion ends.
            match decode_payload(packet.ip, packet.depth, fragment.data) {
                Ok(inner) => check(&inner, fragment.data),
                Err(reason) => check_reason(reason),
            }
        }
        Payload::Icmp | Payload::Other(_) => {}
    }
}

/// Checks that data is part of the frame, and that the captured length is at most the sent length.
fn within(data: &[u8], len: usize, frame: &[u8]) {
    assert!(data.len() <= len, "{} captured of {len}", data.len());
    let (inner, outer) = (data.as_ptr_range(), frame.as_ptr_range());
    assert!(data.is_empty() || outer.start <= inner.start && inner.end <= outer.end);
}

/// The decoded link types; seeds refer to them by their index here.
const LINKS: [u16; 18] = [
    link::ETHERNET,
    link::RAW,
    link::LINUX_SLL,
    link::LINUX_SLL2,
    link::NULL,
    link::LOOP,
    link::PPP,
    link::PPP_HDLC,
    link::PPPOE,
    link::C_HDLC,
    link::IEEE_802_11,
    link::RADIOTAP,
    link::ERF,
    link::MPLS,
    link::IPV4,
    link::IPV6,
    link::RAW_12,
    link::RAW_14,
];

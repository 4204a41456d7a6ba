//! Bytes that the tests of this folder share.

use super::{DecodeError, Ip, Packet, Payload, Udp, decode};

/// IPv4 from 192.0.2.1 to 192.0.2.2 with a right checksum, UDP 5060 to 5060, `ping`.
pub(super) const INNER: [u8; 32] = [
    0x45, 0, 0, 32, 0, 1, 0, 0, 0x40, 17, 0xf6, 0xc8, 192, 0, 2, 1, 192, 0, 2, 2, //
    0x13, 0xc4, 0x13, 0xc4, 0, 12, 0, 0, b'p', b'i', b'n', b'g',
];

/// IPv6 from 2001:db8::1 to 2001:db8::2, UDP 5060 to 5060, `ping`.
pub(super) const INNER_V6: [u8; 52] = [
    0x60, 0, 0, 0, 0, 12, 17, 64, 0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0x20, 1, 0xd, 0xb8,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, //
    0x13, 0xc4, 0x13, 0xc4, 0, 12, 0, 0, b'p', b'i', b'n', b'g',
];

/// What either of them decodes to inside so many tunnels.
pub(super) fn inner(depth: u8, v6: bool) -> Packet<'static> {
    let udp = Udp { src_port: 5060, dst_port: 5060, data: b"ping", len: 4 };
    let ip = if v6 {
        let address = |last| [0x2001, 0xdb8, 0, 0, 0, 0, 0, last].into();
        Ip { src: address(1), dst: address(2), proto: 17, len: 52, header_len: 40, id: 0, at: 0 }
    } else {
        Ip {
            src: [192, 0, 2, 1].into(),
            dst: [192, 0, 2, 2].into(),
            proto: 17,
            len: 32,
            header_len: 20,
            id: 1,
            at: 0,
        }
    };
    Packet { ip, depth, payload: Payload::Udp(udp) }
}

/// Decodes a whole frame. Where the header is has tests of its own.
pub(super) fn whole(link: u16, frame: &[u8]) -> Result<Packet<'_>, DecodeError> {
    decode(link, frame.len() as u32, frame).map(|packet| Packet { ip: Ip { at: 0, ..packet.ip }, ..packet })
}

/// An Ethernet header and what follows it.
pub(super) fn ethernet(kind: u16, rest: &[u8]) -> Vec<u8> {
    [&[2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1][..], &kind.to_be_bytes(), rest].concat()
}

/// An IPv4 packet between 10.0.0.1 and 10.0.0.2.
pub(super) fn ipv4(proto: u8, payload: &[u8]) -> Vec<u8> {
    let [high, low] = (payload.len() as u16 + 20).to_be_bytes();
    [&[0x45, 0, high, low, 0, 7, 0, 0, 64, proto, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2][..], payload].concat()
}

/// An IPv6 packet between fd00::1 and fd00::2.
pub(super) fn ipv6(next: u8, payload: &[u8]) -> Vec<u8> {
    let [high, low] = (payload.len() as u16).to_be_bytes();
    let address = |last| [0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, last];
    [&[0x60, 0, 0, 0, high, low, next, 64][..], &address(1), &address(2), payload].concat()
}

/// Ethernet, IPv4 and UDP to a port.
pub(super) fn udp_to(port: u16, content: &[u8]) -> Vec<u8> {
    let length = (content.len() as u16 + 8).to_be_bytes();
    let udp = [&[0xc3, 0x50][..], &port.to_be_bytes(), &length, &[0, 0], content].concat();
    ethernet(0x0800, &ipv4(17, &udp))
}

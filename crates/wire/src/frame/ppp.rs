//! PPP (RFC 1661, RFC 1662), PPPoE sessions (RFC 2516) and Cisco's HDLC.

use super::span::{Span, be16};
use super::{Packet, Skip, ethernet, ip, mpls};

/// A PPP frame, with or without address and control field, from the protocol field on.
pub(super) fn decode(frame: Span<'_>, depth: u8) -> Result<Packet<'_>, Skip> {
    let frame = match frame.peek::<2>() {
        Some([0xff, 0x03]) => frame.skip(2)?,
        _ => frame,
    };
    // Protocol field compression (RFC 1661 section 6.5): the last octet is odd, all before it are even.
    let [first] = *frame.head::<1>()?.0;
    let (protocol, rest) = if first & 1 == 1 {
        (u16::from(first), frame.skip(1)?)
    } else {
        let (head, rest) = frame.head::<2>()?;
        (be16::<0, _>(head), rest)
    };
    match protocol {
        0x0021 => ip::v4(rest, depth),
        0x0057 => ip::v6(rest, depth),
        0x0281 | 0x0283 => mpls::decode(rest, depth),
        _ => Err(Skip::NotIp),
    }
}

/// From behind the EtherType 0x8864 on: version and type, code, session, length (RFC 2516 section 4).
pub(super) fn over_ethernet(rest: Span<'_>, depth: u8) -> Result<Packet<'_>, Skip> {
    let (head, rest) = rest.head::<6>()?;
    match (head[0], head[1]) {
        (0x11, 0) => decode(rest.declare(usize::from(be16::<4, _>(head))), depth),
        (0x11, _) => Err(Skip::NotIp),
        _ => Err(Skip::BadTunnel),
    }
}

/// PPP or Cisco's HDLC on a serial line; the first octet tells them apart.
pub(super) fn serial(frame: Span<'_>, depth: u8) -> Result<Packet<'_>, Skip> {
    match frame.peek::<4>() {
        // Unicast or multicast, control 0, EtherType.
        Some(&[0x0f | 0x8f, 0, high, low]) => {
            ethernet::ether_type(u16::from_be_bytes([high, low]), frame.skip(4)?, depth)
        }
        _ => decode(frame, depth),
    }
}

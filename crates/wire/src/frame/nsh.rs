//! Network service header (RFC 8300), and the numbers for what follows it, which VXLAN-GPE shares.

use super::span::{Span, be16};
use super::{Packet, Skip, deeper, ethernet, ip, mpls};

/// From the base header on: version, flags, time to live, length; metadata type; next protocol.
pub(super) fn decode(packet: Span<'_>, depth: u8) -> Result<Packet<'_>, Skip> {
    let (head, _) = packet.head::<8>()?;
    // The low six bits: length in units of four bytes, base and service path headers included.
    let len = usize::from(be16::<0, _>(head) & 0x3f) * 4;
    if head[0] >> 6 != 0 || len < 8 {
        return Err(Skip::BadTunnel);
    }
    next_protocol(head[3], packet.skip(len)?, deeper(depth)?)
}

/// RFC 8300 section 2.2 and draft-ietf-nvo3-vxlan-gpe-13 section 3.2.
pub(super) fn next_protocol(next: u8, rest: Span<'_>, depth: u8) -> Result<Packet<'_>, Skip> {
    match next {
        1 => ip::v4(rest, depth),
        2 => ip::v6(rest, depth),
        3 => ethernet::decode(rest, depth),
        4 => decode(rest, depth),
        5 => mpls::decode(rest, depth),
        _ => Err(Skip::NotIp),
    }
}

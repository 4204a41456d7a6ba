//! Network service header (RFC 8300), and the numbers for what follows it, which VXLAN-GPE shares.

use super::span::{Span, be16};
use super::{DecodeError, Packet, deeper, ethernet, ip, mpls};

/// From the base header on: version, flags, time to live, length; metadata type; next protocol.
pub(super) fn decode(packet: Span<'_>, depth: u8) -> Result<Packet<'_>, DecodeError> {
    let (head, _) = packet.head::<8>()?;
    // The low six bits: length in units of four bytes, base and service path headers included.
    let len = usize::from(be16::<0, _>(head) & 0x3f) * 4;
    if head[0] >> 6 != 0 || len < 8 {
        return Err(DecodeError::BadTunnel);
    }
    next_protocol(head[3], packet.skip(len)?, deeper(depth)?)
}

/// RFC 8300 section 2.2 and draft-ietf-nvo3-vxlan-gpe-13 section 3.2.
pub(super) fn next_protocol(next: u8, rest: Span<'_>, depth: u8) -> Result<Packet<'_>, DecodeError> {
    match next {
        1 => ip::v4(rest, depth),
        2 => ip::v6(rest, depth),
        3 => ethernet::decode(rest, depth),
        4 => decode(rest, depth),
        5 => mpls::decode(rest, depth),
        _ => Err(DecodeError::NotIp),
    }
}

#[cfg(test)]
mod tests {
    use super::super::link;
    use super::super::sample::{INNER, INNER_V6, ethernet, inner, whole};
    use super::*;

    #[test]
    fn what_follows_is_named() {
        let with = |second: u8, next: u8, metadata: &[u8], rest: &[u8]| {
            let head = [0x0f, second, 1, next, 0, 0, 1, 255];
            ethernet(0x894f, &[&head[..], metadata, rest].concat())
        };
        assert_eq!(whole(link::ETHERNET, &with(0xc6, 1, &[0; 16], &INNER)), Ok(inner(1, false)));
        assert_eq!(whole(link::ETHERNET, &with(0xc2, 2, &[], &INNER_V6)), Ok(inner(1, true)));
        assert_eq!(
            whole(link::ETHERNET, &with(0xc2, 3, &[], &ethernet(0x0800, &INNER))),
            Ok(inner(1, false))
        );
        let labelled = [&[0, 1, 1, 64][..], &INNER].concat();
        assert_eq!(whole(link::ETHERNET, &with(0xc2, 5, &[], &labelled)), Ok(inner(1, false)));
        assert_eq!(whole(link::ETHERNET, &with(0xc2, 7, &[], &INNER)), Err(DecodeError::NotIp));
        assert_eq!(whole(link::ETHERNET, &with(0xc1, 1, &[], &INNER)), Err(DecodeError::BadTunnel));
    }

    #[test]
    fn a_header_in_a_header_ends() {
        let bytes = [0x0f, 0xc2, 1, 4, 0, 0, 1, 255].repeat(4000);
        assert_eq!(whole(link::ETHERNET, &ethernet(0x894f, &bytes)), Err(DecodeError::TooDeep));
    }
}

//! GRE (RFC 2784, RFC 2890, source routes of RFC 1701), PPTP's version 1 (RFC 2637) and ERSPAN, types I to
//! III.

use super::span::{Span, be16, be32};
use super::{DecodeError, Packet, deeper, ethernet, ip, mpls, ppp};

const CHECKSUM: u16 = 0x8000;
const ROUTING: u16 = 0x4000;
const KEY: u16 = 0x2000;
const SEQUENCE: u16 = 0x1000;
/// Version 1 only.
const ACKNOWLEDGMENT: u16 = 0x0080;
const VERSION: u16 = 0x0007;

const MPLS: u16 = 0x8847;
const MPLS_MULTICAST: u16 = 0x8848;
const PPP: u16 = 0x880b;
/// CDMA2000's PPP without framing (3GPP2 A.S0008).
const PPP_UNSTRUCTURED: u16 = 0x8881;
/// Web Cache Communication Protocol: a redirect header, in its second version, then IPv4.
const WCCP: u16 = 0x883e;
/// ERSPAN, types I and II (draft-foschiano-erspan-03 section 4).
const ERSPAN: u16 = 0x88be;
/// ERSPAN, type III.
const ERSPAN_III: u16 = 0x22eb;

/// From the GRE header on.
pub(super) fn decode(packet: Span<'_>, depth: u8) -> Result<Packet<'_>, DecodeError> {
    let (head, mut rest) = packet.head::<4>()?;
    let (flags, protocol) = (be16::<0, _>(head), be16::<2, _>(head));
    let version = flags & VERSION;
    if version > 1 || (version == 1 && (protocol != PPP || flags & KEY == 0)) {
        return Err(DecodeError::BadTunnel);
    }
    let depth = deeper(depth)?;
    if flags & (CHECKSUM | ROUTING) != 0 {
        rest = rest.skip(4)?;
    }
    if version == 1 {
        let (key, after) = rest.head::<4>()?;
        let acknowledgment = if flags & ACKNOWLEDGMENT == 0 { 0 } else { 4 };
        // Without a sequence number the packet is only an acknowledgement.
        if flags & SEQUENCE == 0 {
            return Err(DecodeError::NotIp);
        }
        let payload = after.skip(4 + acknowledgment)?;
        return ppp::decode(payload.declare(usize::from(be16::<0, _>(key))), depth);
    }
    for present in [KEY, SEQUENCE] {
        if flags & present != 0 {
            rest = rest.skip(4)?;
        }
    }
    if flags & ROUTING != 0 {
        rest = source_routes(rest)?;
    }
    match protocol {
        PPP | PPP_UNSTRUCTURED => ppp::decode(rest, depth),
        MPLS | MPLS_MULTICAST => mpls::decode(rest, depth),
        // A bridged frame is the content of the tunnel: one level of depth, not two.
        ethernet::BRIDGED => ethernet::decode(rest, depth),
        ERSPAN if flags & SEQUENCE == 0 => ethernet::decode(rest, depth),
        ERSPAN | ERSPAN_III => erspan(rest, depth),
        WCCP => match rest.peek::<1>() {
            Some(first) if first[0] >> 4 == 4 => ip::v4(rest, depth),
            _ => ip::v4(rest.skip(4)?, depth),
        },
        kind => ethernet::ether_type(kind, rest, depth),
    }
}

/// Source route entries (RFC 1701): address family, offset, length, then that many bytes; all zero ends them.
fn source_routes(mut rest: Span<'_>) -> Result<Span<'_>, DecodeError> {
    loop {
        let (entry, after) = rest.head::<4>()?;
        if *entry == [0; 4] {
            return Ok(after);
        }
        rest = after.skip(usize::from(entry[3]))?;
    }
}

/// Type II: version 1, 8 bytes. Type III: version 2, 12 bytes, and 8 of a platform's own where the last bit
/// says so.
fn erspan(rest: Span<'_>, depth: u8) -> Result<Packet<'_>, DecodeError> {
    /// Type III's frame type for IP without a link layer (draft-foschiano-erspan-03 section 4.3).
    const FRAME_IP: u32 = 2;
    let [first] = *rest.head::<1>()?.0;
    match first >> 4 {
        1 => ethernet::decode(rest.skip(8)?, depth),
        2 => {
            let (head, rest) = rest.head::<12>()?;
            let word = be32::<8, _>(head);
            let rest = if word & 1 == 1 { rest.skip(8)? } else { rest };
            if (word >> 10) & 0x1f == FRAME_IP {
                ip::either(rest, depth)
            } else {
                ethernet::decode(rest, depth)
            }
        }
        _ => Err(DecodeError::BadTunnel),
    }
}

#[cfg(test)]
mod tests {
    use super::super::link;
    use super::super::sample::{INNER, INNER_V6, ethernet as frame, inner, ipv4, whole};
    use super::*;

    fn check(parts: &[&[u8]], expected: Result<Packet<'_>, DecodeError>) {
        let packet = ipv4(47, &parts.concat());
        assert_eq!(whole(link::RAW, &packet), expected, "{parts:x?}");
    }

    #[test]
    fn version_0_with_every_option() {
        check(&[&[0, 0, 8, 0], &INNER], Ok(inner(1, false)));
        check(&[&[0, 0, 0x86, 0xdd], &INNER_V6], Ok(inner(1, true)));
        check(&[&[0x80, 0, 8, 0], &[1; 4], &INNER], Ok(inner(1, false)));
        check(&[&[0x30, 0, 8, 0], &[1; 8], &INNER], Ok(inner(1, false)));
        check(&[&[0xb0, 0, 8, 0], &[1; 12], &INNER], Ok(inner(1, false)));
        let route = [8, 0, 0, 4, 10, 0, 0, 9, 0, 0, 0, 0];
        check(&[&[0x40, 0, 8, 0], &[0; 4], &route, &INNER], Ok(inner(1, false)));
        check(&[&[0xf0, 0, 8, 0], &[0; 12], &route, &INNER], Ok(inner(1, false)));
    }

    #[test]
    fn what_it_carries() {
        let ethernet = frame(0x0800, &INNER);
        check(&[&[0x20, 0, 0x65, 0x58], &[0, 0x12, 0x34, 0], &ethernet], Ok(inner(1, false))); // NVGRE
        check(&[&[0, 0, 0x88, 0x47], &[0, 1, 1, 64], &INNER], Ok(inner(1, false)));
        check(&[&[0, 0, 0x88, 0x0b], &[0xff, 3, 0, 0x21], &INNER], Ok(inner(1, false)));
        check(&[&[0, 0, 0x88, 0x3e], &INNER], Ok(inner(1, false))); // WCCP, first version
        check(&[&[0, 0, 0x88, 0x3e], &[0; 4], &INNER], Ok(inner(1, false)));
        check(&[&[0, 0, 0, 0]], Err(DecodeError::NotIp)); // keepalive
        check(&[&[0, 0, 0x20, 0], &[0; 20]], Err(DecodeError::NotIp)); // discovery protocol
        check(&[&[0, 2, 8, 0], &INNER], Err(DecodeError::BadTunnel));
        check(&[&[0x20, 0, 8, 0]], Err(DecodeError::BadLength));
    }

    #[test]
    fn pptp() {
        let data = [0x30, 1, 0x88, 0x0b, 0, 36, 0, 1, 0, 0, 0, 1];
        check(&[&data, &[0xff, 3, 0, 0x21], &INNER], Ok(inner(1, false)));
        let both = [0x30, 0x81, 0x88, 0x0b, 0, 33, 0, 1, 0, 0, 0, 1, 0, 0, 0, 2];
        check(&[&both, &[0x21], &INNER], Ok(inner(1, false)));
        check(&[&[0x20, 0x81, 0x88, 0x0b, 0, 0, 0, 1, 0, 0, 0, 2]], Err(DecodeError::NotIp));
        check(&[&[0x30, 1, 8, 0, 0, 32, 0, 1, 0, 0, 0, 1], &INNER], Err(DecodeError::BadTunnel));
    }

    #[test]
    fn erspan() {
        let ethernet = frame(0x8100, &[&[0, 5, 8, 0][..], &INNER].concat());
        check(&[&[0, 0, 0x88, 0xbe], &ethernet], Ok(inner(1, false)));
        let sequenced = [0x10, 0, 0x88, 0xbe, 0, 0, 0, 1];
        check(&[&sequenced, &[0x10, 5, 0x18, 9, 0, 0, 0, 1], &ethernet], Ok(inner(1, false)));
        check(&[&sequenced, &[0x30, 5, 0x18, 9, 0, 0, 0, 1], &ethernet], Err(DecodeError::BadTunnel));
        let third = [0x10, 0, 0x22, 0xeb, 0, 0, 0, 1];
        let header = |word: u32| [&[0x20, 5, 0x18, 9, 0, 0, 0, 1][..], &word.to_be_bytes()].concat();
        check(&[&third, &header(0), &ethernet], Ok(inner(1, false)));
        check(&[&third, &header(1), &[0; 8], &ethernet], Ok(inner(1, false)));
        check(&[&third, &header(2 << 10), &INNER], Ok(inner(1, false)));
    }

    #[test]
    fn source_routes_that_do_not_end() {
        check(&[&[0x40, 0, 8, 0], &[0; 4], &[8, 0, 0, 0].repeat(500)], Err(DecodeError::BadLength));
    }
}

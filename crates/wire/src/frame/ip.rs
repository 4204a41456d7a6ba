//! IPv4 (RFC 791) and IPv6 (RFC 8200) with its extension headers, up to the protocol above.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::esp::{self, ESP};
use super::span::{Span, be16, be32};
use super::{DecodeError, Fragment, Ip, Packet, Payload, deeper, ethernet, gre, l2tp, mpls, transport};

/// IPv4 in IP (RFC 2003).
const IPV4: u8 = 4;
/// TCP.
pub(super) const TCP: u8 = 6;
/// UDP.
pub(super) const UDP: u8 = 17;
/// IPv6 in IP (RFC 4213).
const IPV6: u8 = 41;
/// GRE.
const GRE: u8 = 47;
/// Ethernet in IP (RFC 3378).
const ETHERIP: u8 = 97;
/// L2TP version 3.
const L2TP: u8 = 115;
/// MPLS in IP (RFC 4023).
const MPLS: u8 = 137;
/// Fragment header.
const FRAGMENT: u8 = 44;
/// Authentication header (RFC 4302).
const AH: u8 = 51;
/// ICMP.
const ICMP: u8 = 1;
/// ICMPv6.
const ICMPV6: u8 = 58;
/// No next header.
const NONE: u8 = 59;
/// SCTP.
const SCTP: u8 = 132;
/// Extension headers in a row.
const MAX_EXTENSIONS: usize = 16;

/// The version is in the first four bits.
pub(super) fn either(packet: Span<'_>, depth: u8) -> Result<Packet<'_>, DecodeError> {
    let [first] = packet.head::<1>()?.0;
    match first >> 4 {
        4 => v4(packet, depth),
        6 => v6(packet, depth),
        _ => Err(DecodeError::NotIp),
    }
}

/// RFC 791 section 3.1.
pub(super) fn v4(packet: Span<'_>, depth: u8) -> Result<Packet<'_>, DecodeError> {
    let (head, _) = packet.head::<20>()?;
    let header_len = usize::from(head[0] & 0x0f) * 4;
    if head[0] >> 4 != 4 || header_len < 20 {
        return Err(DecodeError::BadIpHeader);
    }
    let packet = match usize::from(be16::<2, _>(head)) {
        // Segmentation offload: the card fills in the length later, so the frame's length is used.
        0 => packet,
        total => packet.declare(total),
    };
    let body = packet.skip(header_len)?;
    let ip = Ip {
        src: IpAddr::V4(Ipv4Addr::from_bits(be32::<12, _>(head))),
        dst: IpAddr::V4(Ipv4Addr::from_bits(be32::<16, _>(head))),
        proto: head[9],
        len: saturate(packet.len),
        header_len: saturate(header_len),
        id: be16::<4, _>(head),
        at: packet.at(),
    };
    let (offset, more) = (u32::from(be16::<6, _>(head) & 0x1fff) * 8, head[6] & 0x20 != 0);
    if offset != 0 || more {
        return Ok(fragment(ip, body, depth, u32::from(ip.id), offset, more));
    }
    extensions(ip, body, depth)
}

/// RFC 8200 section 3.
pub(super) fn v6(packet: Span<'_>, depth: u8) -> Result<Packet<'_>, DecodeError> {
    let (head, _) = packet.head::<40>()?;
    if head[0] >> 4 != 6 {
        return Err(DecodeError::BadIpHeader);
    }
    let packet = match usize::from(be16::<4, _>(head)) {
        // A jumbogram (RFC 2675) or segmentation offload.
        0 if head[6] != NONE => packet,
        payload => packet.declare(40 + payload),
    };
    let body = packet.skip(40)?;
    let (_, addresses) = head.split_at(8);
    let (src, dst) = addresses.split_at(16);
    let ip = Ip {
        src: v6_address(src),
        dst: v6_address(dst),
        proto: head[6],
        len: saturate(packet.len),
        header_len: 40,
        id: 0,
        at: packet.at(),
    };
    extensions(ip, body, depth)
}

/// Finds the protocol above IP: extension headers of IPv6 (RFC 8200 section 4), the authentication header of
/// both.
pub(super) fn extensions<'a>(mut ip: Ip, mut rest: Span<'a>, depth: u8) -> Result<Packet<'a>, DecodeError> {
    let v6 = ip.src.is_ipv6();
    for _ in 0..MAX_EXTENSIONS {
        let len = match ip.proto {
            AH => (usize::from(rest.head::<2>()?.0[1]) + 2) * 4,
            // Hop-by-hop, routing, destination options, mobility (RFC 6275), HIP (RFC 7401), Shim6 (RFC
            // 5533).
            0 | 43 | 60 | 135 | 139 | 140 if v6 => (usize::from(rest.head::<2>()?.0[1]) + 1) * 8,
            FRAGMENT if v6 => {
                let (head, body) = rest.head::<8>()?;
                let field = be16::<2, _>(head);
                let (offset, more) = (u32::from(field & 0xfff8), field & 1 != 0);
                (ip.proto, ip.header_len) = (head[0], ip.header_len.saturating_add(8));
                // Neither offset nor more: an atomic fragment (RFC 6946), which is a whole packet.
                if offset != 0 || more {
                    return Ok(fragment(ip, body, depth, be32::<4, _>(head), offset, more));
                }
                rest = body;
                continue;
            }
            _ => return upper(ip, rest, depth),
        };
        let next = rest.head::<1>()?.0[0];
        rest = rest.skip(len)?;
        (ip.proto, ip.header_len) = (next, ip.header_len.saturating_add(saturate(len)));
    }
    Err(DecodeError::BadIpHeader)
}

/// Decodes what IP carries, also tunnels that have an IP protocol number.
pub(super) fn upper<'a>(ip: Ip, body: Span<'a>, depth: u8) -> Result<Packet<'a>, DecodeError> {
    if !body.goes_below(depth) {
        return Ok(Packet { ip, depth, payload: Payload::Other(ip.proto) });
    }
    let payload = match ip.proto {
        UDP => return transport::udp(ip, body, depth),
        TCP => Payload::Tcp(transport::tcp(body)?),
        SCTP => Payload::Sctp(transport::sctp(body)?),
        ICMP | ICMPV6 => Payload::Icmp,
        IPV4 => return v4(body, deeper(depth)?),
        IPV6 => return v6(body, deeper(depth)?),
        GRE => return gre::decode(body, depth),
        L2TP => {
            return l2tp::over_ip(body, depth).or(Ok(Packet { ip, depth, payload: Payload::Other(L2TP) }));
        }
        MPLS => return mpls::decode(body, deeper(depth)?),
        ETHERIP => return ethernet::decode(body.skip(2)?, deeper(depth)?),
        ESP => {
            return Ok(esp::null(ip, body, depth).unwrap_or(Packet {
                ip,
                depth,
                payload: Payload::Other(ESP),
            }));
        }
        other => Payload::Other(other),
    };
    Ok(Packet { ip, depth, payload })
}

fn fragment<'a>(ip: Ip, body: Span<'a>, depth: u8, id: u32, offset: u32, more: bool) -> Packet<'a> {
    let part = Fragment { id, offset, more, proto: ip.proto, data: body.data, len: body.len };
    Packet { ip, depth, payload: Payload::Fragment(part) }
}

/// Whether an IP packet probably begins here: its length fits, and the header checksum of IPv4 is correct.
pub(super) fn sound(packet: Span<'_>) -> bool {
    let Some(head) = packet.peek::<20>() else {
        return false;
    };
    match head[0] >> 4 {
        4 => {
            let header_len = usize::from(head[0] & 0x0f) * 4;
            let total = usize::from(be16::<2, _>(head));
            header_len >= 20
                && (header_len..=packet.len).contains(&total)
                && packet.data.get(..header_len).is_some_and(checksum_holds)
        }
        // No checksum: the length has to be exact. The padding of a short frame is at most 6 bytes behind
        // this header, less than UDP's or TCP's.
        6 => packet.peek::<40>().is_some() && 40 + usize::from(be16::<4, _>(head)) == packet.len,
        _ => false,
    }
}

/// The ones' complement sum over a header is all ones (RFC 1071).
fn checksum_holds(header: &[u8]) -> bool {
    let (words, _) = header.as_chunks::<2>();
    // At most 30 words of 16 bits: the sum cannot overflow, and two rounds fold it.
    let sum: u32 = words.iter().map(|word| u32::from(u16::from_be_bytes(*word))).sum();
    let sum = (sum & 0xffff) + (sum >> 16);
    (sum & 0xffff) + (sum >> 16) == 0xffff
}

fn v6_address(bytes: &[u8]) -> IpAddr {
    // Callers pass 16 bytes; the address of anything else would be "unspecified".
    IpAddr::V6(bytes.first_chunk::<16>().map_or(Ipv6Addr::UNSPECIFIED, |octets| Ipv6Addr::from(*octets)))
}

fn saturate(len: usize) -> u32 {
    u32::try_from(len).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::super::sample::{INNER, INNER_V6, ethernet, inner, ipv4, ipv6, whole};
    use super::super::{Udp, decode, decode_payload, link};
    use super::*;

    const PING: [u8; 12] = [0x13, 0xc4, 0x13, 0xc4, 0, 12, 0, 0, b'p', b'i', b'n', b'g'];

    fn raw(packet: &[u8]) -> Result<Packet<'_>, DecodeError> {
        whole(link::RAW, packet)
    }

    fn ping(packet: &[u8]) -> Ip {
        let packet = raw(packet).unwrap();
        assert_eq!(
            packet.payload,
            Payload::Udp(Udp { src_port: 5060, dst_port: 5060, data: b"ping", len: 4 })
        );
        packet.ip
    }

    #[test]
    fn options_count_as_header() {
        let mut packet = ipv4(UDP, &[&[0x94, 4, 0, 0][..], &PING].concat());
        packet[0] = 0x46;
        assert_eq!((ping(&packet).len, ping(&packet).header_len), (36, 24));
    }

    #[test]
    fn total_length_of_segmentation_offload_is_the_frame() {
        let mut packet = INNER;
        packet[3] = 0;
        packet[25] = 0;
        assert_eq!(ping(&packet).len, 32);
        // Of a capture that was cut, the frame's length on the wire.
        let cut = decode(link::RAW, 1492, &packet).unwrap();
        assert_eq!(cut.ip.len, 1492);
        let Payload::Udp(udp) = cut.payload else { panic!("{cut:?}") };
        assert_eq!((udp.data, udp.len), (&b"ping"[..], 1464));
    }

    #[test]
    fn total_length_beyond_the_capture_is_kept() {
        let mut packet = INNER;
        (packet[3], packet[25]) = (192, 172);
        for wire_len in [192, 32, 0] {
            let packet = decode(link::RAW, wire_len, &packet).unwrap();
            let Payload::Udp(udp) = packet.payload else { panic!("{packet:?}") };
            assert_eq!((udp.data, udp.len, packet.ip.len), (&b"ping"[..], 164, 192));
        }
    }

    #[test]
    fn headers_that_contradict_themselves() {
        let with = |at: usize, byte: u8| {
            let mut packet = INNER;
            packet[at] = byte;
            raw(&packet).unwrap_err()
        };
        assert_eq!(with(0, 0x44), DecodeError::BadIpHeader);
        assert_eq!(with(0, 0x55), DecodeError::NotIp);
        assert_eq!(with(3, 19), DecodeError::BadLength);
        assert_eq!(with(3, 27), DecodeError::BadLength, "no room for UDP's header");
        assert_eq!(with(0, 0x4f), DecodeError::BadLength, "options beyond the total length");
        assert_eq!(whole(link::IPV6, &[&INNER[..], &[0; 8]].concat()), Err(DecodeError::BadIpHeader));
        assert_eq!(whole(link::IPV4, &INNER_V6), Err(DecodeError::BadIpHeader));
        assert_eq!(raw(&INNER_V6[..39]), Err(DecodeError::BadLength));
        assert_eq!(decode(link::RAW, 52, &INNER_V6[..39]), Err(DecodeError::Truncated));
    }

    #[test]
    fn fragments_of_ipv4() {
        let with = |flags: [u8; 2]| {
            let mut packet = INNER;
            (packet[6], packet[7]) = (flags[0], flags[1]);
            let decoded = raw(&packet).map(|packet| (packet.ip.proto, packet.payload));
            decoded.map(|(proto, body)| match body {
                Payload::Fragment(part) => {
                    Some((proto, part.id, part.offset, part.more, part.data.len(), part.len))
                }
                _ => None,
            })
        };
        assert_eq!(with([0x20, 0]), Ok(Some((UDP, 1, 0, true, 12, 12))), "the first");
        assert_eq!(with([0x20, 185]), Ok(Some((UDP, 1, 1480, true, 12, 12))));
        assert_eq!(with([0x1f, 0xff]), Ok(Some((UDP, 1, 65528, false, 12, 12))), "the last");
        assert_eq!(with([0x40, 0]), Ok(None), "don't fragment");
        assert_eq!(with([0x80, 0]), Ok(None), "the reserved bit");
        let frame = ethernet(0x0800, &ipv4(UDP, &[0; 4]));
        let mut second = frame.clone();
        second[21] = 1;
        assert!(matches!(whole(link::ETHERNET, &second), Ok(Packet { payload: Payload::Fragment(_), .. })));
    }

    #[test]
    fn extension_headers() {
        let hop_by_hop = [60, 0, 5, 2, 0, 0, 1, 0];
        let destination = [43, 1, 1, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        let routing = [AH, 0, 0, 0, 0, 0, 0, 0];
        let authentication = [UDP, 4, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12];
        let packet = ipv6(0, &[&hop_by_hop[..], &destination, &routing, &authentication, &PING].concat());
        let ip = ping(&packet);
        assert_eq!((ip.proto, ip.header_len, ip.len), (UDP, 40 + 8 + 16 + 8 + 24, 40 + 56 + 12));
        let v4 = ipv4(AH, &[&authentication[..], &PING].concat());
        assert_eq!(ping(&v4).header_len, 44);
        // Hop-by-hop's number means nothing in IPv4.
        assert_eq!(raw(&ipv4(0, &PING)).unwrap().payload, Payload::Other(0));
        // A chain without end.
        let endless = ipv6(60, &[60, 0, 1, 4, 0, 0, 0, 0].repeat(MAX_EXTENSIONS + 1));
        assert_eq!(raw(&endless), Err(DecodeError::BadIpHeader));
        assert_eq!(raw(&ipv6(60, &[UDP, 9, 0, 0, 0, 0, 0, 0])), Err(DecodeError::BadLength));
    }

    #[test]
    fn fragments_of_ipv6() {
        let part = |field: u16| {
            let [high, low] = field.to_be_bytes();
            ipv6(FRAGMENT, &[&[UDP, 0, high, low, 0xde, 0xad, 0xbe, 0xef][..], &PING].concat())
        };
        let fragment = |packet: &[u8]| match raw(packet).unwrap() {
            Packet { ip, payload: Payload::Fragment(part), .. } => {
                assert_eq!((ip.proto, ip.header_len, part.proto, part.id), (UDP, 48, UDP, 0xdead_beef));
                (part.offset, part.more, part.len)
            }
            other => panic!("{other:?}"),
        };
        assert_eq!(fragment(&part(1)), (0, true, 12), "the first");
        assert_eq!(fragment(&part(1480 | 1)), (1480, true, 12));
        assert_eq!(fragment(&part(1480)), (1480, false, 12));
        assert_eq!(fragment(&part(1480 | 6)), (1480, false, 12), "the reserved bits are no offset");
        assert_eq!(ping(&part(0)).header_len, 48, "atomic: a whole packet");
    }

    #[test]
    fn a_reassembled_datagram_goes_on() {
        // Destination options behind the fragment header, then IPv4 in IPv6.
        let payload = [&[IPV4, 0, 1, 4, 0, 0, 0, 0][..], &INNER].concat();
        let address = "2001:db8::1".parse().unwrap();
        let ip = Ip { src: address, dst: address, proto: 60, len: 48 + 16, header_len: 48, id: 0, at: 0 };
        let expected = inner(1, false);
        let expected = Packet { ip: Ip { at: 8, ..expected.ip }, ..expected };
        assert_eq!(decode_payload(ip, 0, &payload), Ok(expected), "the header is in the payload");
        let ip = Ip { proto: UDP, len: 48, ..ip };
        let packet = decode_payload(ip, 3, &PING).unwrap();
        assert_eq!((packet.depth, packet.ip.len), (3, 60), "the length covers the whole");
    }

    #[test]
    fn ip_in_ip() {
        for outer in [ipv4(IPV4, &INNER), ipv6(IPV4, &INNER)] {
            assert_eq!(raw(&outer), Ok(inner(1, false)));
        }
        for outer in [ipv4(IPV6, &INNER_V6), ipv6(IPV6, &INNER_V6)] {
            assert_eq!(raw(&outer), Ok(inner(1, true)));
        }
        let mut nested = INNER.to_vec();
        for depth in 1..=super::super::MAX_DEPTH {
            nested = ipv4(IPV4, &nested);
            assert_eq!(raw(&nested), Ok(inner(depth, false)));
        }
        assert_eq!(raw(&ipv4(IPV4, &nested)), Err(DecodeError::TooDeep));
    }

    #[test]
    fn other_protocols() {
        assert_eq!(raw(&ipv4(ICMP, &[3, 3, 0, 0, 0, 0, 0, 0])).unwrap().payload, Payload::Icmp);
        assert_eq!(raw(&ipv6(ICMPV6, &[1, 4])).unwrap().payload, Payload::Icmp);
        for proto in [2, 50, 89, 103] {
            assert_eq!(raw(&ipv4(proto, &INNER)).unwrap().payload, Payload::Other(proto));
        }
        let padded = [&ipv6(NONE, &[])[..], &[0; 6]].concat();
        let nothing = raw(&padded).map(|packet| (packet.payload, packet.ip.len));
        assert_eq!(nothing, Ok((Payload::Other(NONE), 40)));
        let etherip = ipv4(ETHERIP, &[&[0x30, 0][..], &ethernet(0x0800, &INNER)].concat());
        assert_eq!(raw(&etherip), Ok(inner(1, false)));
        assert_eq!(raw(&ipv4(MPLS, &[&[0, 1, 1, 64][..], &INNER].concat())), Ok(inner(1, false)));
    }

    #[test]
    fn a_guess_needs_lengths_and_checksum() {
        let holds = |packet: &[u8]| sound(Span::new(packet, packet.len()));
        assert!(holds(&INNER));
        assert!(holds(&[&INNER[..], &[0; 14]].concat()), "padding");
        assert!(holds(&INNER_V6));
        for at in 0..20 {
            let mut packet = INNER;
            packet[at] ^= 0x10;
            assert!(!holds(&packet), "byte {at} of the header");
        }
        assert!(!holds(&INNER[..31]));
        assert!(!holds(&INNER_V6[..51]));
        assert!(!holds(&[&INNER_V6[..], &[0]].concat()), "nothing but the length vouches for IPv6");
    }
}

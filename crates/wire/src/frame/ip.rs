//! IPv4 (RFC 791) and IPv6 (RFC 8200) with its extension headers, up to the protocol above.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::span::{Span, be16, be32};
use super::{Body, Fragment, Ip, Packet, Skip, deeper, ethernet, gre, l2tp, mpls, transport};

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
/// Authentication header (RFC 4302). The encapsulating one (50) is opaque, also where its cipher is NULL.
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
pub(super) fn either(packet: Span<'_>, depth: u8) -> Result<Packet<'_>, Skip> {
    let [first] = packet.head::<1>()?.0;
    match first >> 4 {
        4 => v4(packet, depth),
        6 => v6(packet, depth),
        _ => Err(Skip::NotIp),
    }
}

/// RFC 791 section 3.1.
pub(super) fn v4(packet: Span<'_>, depth: u8) -> Result<Packet<'_>, Skip> {
    let (head, _) = packet.head::<20>()?;
    let header_len = usize::from(head[0] & 0x0f) * 4;
    if head[0] >> 4 != 4 || header_len < 20 {
        return Err(Skip::BadIpHeader);
    }
    let packet = match usize::from(be16::<2, _>(head)) {
        // Segmentation offload: the card fills the length in, so the frame's own length is all there is.
        0 => packet,
        total if total < header_len => return Err(Skip::BadLength),
        total => packet.declare(total),
    };
    let body = packet.skip(header_len)?;
    let ip = Ip {
        src: IpAddr::V4(Ipv4Addr::from_bits(be32::<12, _>(head))),
        dst: IpAddr::V4(Ipv4Addr::from_bits(be32::<16, _>(head))),
        proto: head[9],
        len: saturate(packet.len),
        header_len: saturate(header_len),
    };
    let (offset, more) = (u32::from(be16::<6, _>(head) & 0x1fff) * 8, head[6] & 0x20 != 0);
    if offset != 0 || more {
        let id = u32::from(be16::<4, _>(head));
        return Ok(fragment(ip, body, depth, id, offset, more));
    }
    extensions(ip, body, depth)
}

/// RFC 8200 section 3.
pub(super) fn v6(packet: Span<'_>, depth: u8) -> Result<Packet<'_>, Skip> {
    let (head, _) = packet.head::<40>()?;
    if head[0] >> 4 != 6 {
        return Err(Skip::BadIpHeader);
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
    };
    extensions(ip, body, depth)
}

/// Walks to the protocol above IP: extension headers of IPv6 (RFC 8200 section 4), the authentication header of both.
pub(super) fn extensions<'a>(mut ip: Ip, mut rest: Span<'a>, depth: u8) -> Result<Packet<'a>, Skip> {
    let v6 = ip.src.is_ipv6();
    for _ in 0..MAX_EXTENSIONS {
        let len = match ip.proto {
            AH => (usize::from(rest.head::<2>()?.0[1]) + 2) * 4,
            // Hop-by-hop, routing, destination options, mobility (RFC 6275), HIP (RFC 7401), Shim6 (RFC 5533).
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
    Err(Skip::BadIpHeader)
}

/// What IP carries, tunnels that have a protocol number included.
fn upper<'a>(ip: Ip, body: Span<'a>, depth: u8) -> Result<Packet<'a>, Skip> {
    let body = match ip.proto {
        UDP => return transport::udp(ip, body, depth),
        TCP => Body::Tcp(transport::tcp(body)?),
        SCTP => Body::Sctp(transport::sctp(body)?),
        ICMP | ICMPV6 => Body::Icmp,
        IPV4 => return v4(body, deeper(depth)?),
        IPV6 => return v6(body, deeper(depth)?),
        GRE => return gre::decode(body, depth),
        L2TP => return l2tp::over_ip(body, depth).or(Ok(Packet { ip, depth, body: Body::Other(L2TP) })),
        MPLS => return mpls::decode(body, deeper(depth)?),
        ETHERIP => return ethernet::decode(body.skip(2)?, deeper(depth)?),
        other => Body::Other(other),
    };
    Ok(Packet { ip, depth, body })
}

fn fragment<'a>(ip: Ip, body: Span<'a>, depth: u8, id: u32, offset: u32, more: bool) -> Packet<'a> {
    let part = Fragment { id, offset, more, proto: ip.proto, data: body.data, len: body.len };
    Packet { ip, depth, body: Body::Fragment(part) }
}

/// Whether a guess that an IP packet begins here holds: lengths agree, and IPv4's header checksum is right.
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
        6 => packet.peek::<40>().is_some() && 40 + usize::from(be16::<4, _>(head)) <= packet.len,
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

//! UDP below headers that are common without being the most common: IPv6, two VLAN tags, captures of `any`.

use super::link;
use super::span::{be16, be32};
use super::{Udp, ethernet, ip, tunnel};

/// A media packet that is no [`PlainUdp`](super::PlainUdp) because of its link layer or its version of IP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UsualUdp<'a> {
    /// Source and destination address.
    pub hosts: Hosts,
    /// Bytes at the IP layer as declared.
    pub ip_len: u32,
    /// Identification of IPv4, see [`Ip::id`](super::Ip::id).
    pub id: u16,
    /// The datagram.
    pub udp: Udp<'a>,
}

/// Source and destination address of one version, in host byte order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hosts {
    /// IPv4.
    V4(u32, u32),
    /// IPv6.
    V6(u128, u128),
}

/// UDP on a port that no tunnel uses, not fragmented, over IPv4 without options or IPv6 without extension
/// headers; in Ethernet II with at most two tags or Linux cooked capture. `None` for everything else;
/// [`decode`](super::decode) says why.
// HOT: no allocation. Tried where `plain_udp` has found nothing.
#[inline]
pub fn usual_udp(link: u16, data: &[u8]) -> Option<UsualUdp<'_>> {
    match network(link, data)? {
        (ethernet::IPV4, packet) => v4(packet),
        (ethernet::IPV6, packet) => v6(packet),
        _ => None,
    }
}

/// Source and destination address of a packet that carries no tunnel: TCP, or UDP on a port that no tunnel
/// uses, below the same headers as [`usual_udp`] takes. `None` for everything else: [`decode`](super::decode)
/// says what it is.
// HOT: while there are targets, of frames that are neither plain UDP nor plain TCP.
#[inline]
pub fn usual_hosts(link: u16, data: &[u8]) -> Option<Hosts> {
    match network(link, data)? {
        (ethernet::IPV4, packet) => {
            let head = packet.first_chunk::<24>()?;
            let flags_and_protocol = be32::<6, _>(head) & 0x3fff_00ff;
            let is_whole = head[0] == 0x45
                && (flags_and_protocol == u32::from(ip::TCP)
                    || flags_and_protocol == u32::from(ip::UDP) && !has_tunnel_port(be32::<20, _>(head)));
            is_whole.then(|| Hosts::V4(be32::<12, _>(head), be32::<16, _>(head)))
        }
        (ethernet::IPV6, packet) => {
            let head = packet.first_chunk::<44>()?;
            let is_whole = head[0] >> 4 == 6
                && (head[6] == ip::TCP || head[6] == ip::UDP && !has_tunnel_port(be32::<40, _>(head)));
            let address = |at: usize| head[at..].first_chunk().map(|bytes| u128::from_be_bytes(*bytes));
            if is_whole { Some(Hosts::V6(address(8)?, address(24)?)) } else { None }
        }
        _ => None,
    }
}

/// Whether a tunnel uses one of two ports.
#[inline]
fn has_tunnel_port(ports: u32) -> bool {
    tunnel::is_port((ports >> 16) as u16) || tunnel::is_port(ports as u16)
}

/// The EtherType and what follows it.
#[inline]
fn network(link: u16, data: &[u8]) -> Option<(u16, &[u8])> {
    match link {
        link::ETHERNET => {
            let (head, mut rest) = data.split_first_chunk::<14>()?;
            let mut kind = be16::<12, _>(head);
            for _ in 0..2 {
                if !matches!(kind, ethernet::VLAN | ethernet::VLAN_SERVICE | 0x9100) {
                    break;
                }
                let (tag, tagged) = rest.split_first_chunk::<4>()?;
                (kind, rest) = (be16::<2, _>(tag), tagged);
            }
            Some((kind, rest))
        }
        link::LINUX_SLL => data.split_first_chunk::<16>().map(|(head, rest)| (be16::<14, _>(head), rest)),
        link::LINUX_SLL2 => data.split_first_chunk::<20>().map(|(head, rest)| (be16::<0, _>(head), rest)),
        _ => None,
    }
}

#[inline]
fn v4(packet: &[u8]) -> Option<UsualUdp<'_>> {
    let (head, payload) = packet.split_first_chunk::<28>()?;
    // As in `plain_udp`.
    let is_usual = head[0] == 0x45 && be32::<6, _>(head) & 0x3fff_00ff == u32::from(ip::UDP);
    let (total, length) = (be16::<2, _>(head), be16::<24, _>(head));
    if !is_usual || total < 28 || total != length.wrapping_add(20) {
        return None;
    }
    let udp = datagram(be32::<20, _>(head), length, payload)?;
    let hosts = Hosts::V4(be32::<12, _>(head), be32::<16, _>(head));
    Some(UsualUdp { hosts, ip_len: u32::from(total), id: be16::<4, _>(head), udp })
}

#[inline]
fn v6(packet: &[u8]) -> Option<UsualUdp<'_>> {
    let (head, payload) = packet.split_first_chunk::<48>()?;
    let length = be16::<44, _>(head);
    // A length of 0 is a jumbogram's, or of segmentation offload.
    if head[0] >> 4 != 6 || head[6] != ip::UDP || length < 8 || be16::<4, _>(head) != length {
        return None;
    }
    let udp = datagram(be32::<40, _>(head), length, payload)?;
    let address = |at: usize| head[at..].first_chunk().map(|bytes| u128::from_be_bytes(*bytes));
    Some(UsualUdp { hosts: Hosts::V6(address(8)?, address(24)?), ip_len: 40 + u32::from(length), id: 0, udp })
}

/// `length` counts the header of UDP and is at least that of it.
#[inline]
fn datagram(ports: u32, length: u16, payload: &[u8]) -> Option<Udp<'_>> {
    let (src_port, dst_port) = ((ports >> 16) as u16, ports as u16);
    if has_tunnel_port(ports) {
        return None;
    }
    let len = usize::from(length) - 8;
    Some(Udp { src_port, dst_port, data: payload.get(..len).unwrap_or(payload), len })
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

    use super::super::sample::{INNER, INNER_V6, ethernet};
    use super::super::span::Span;
    use super::super::{Ip, Packet, Payload};
    use super::*;

    /// As [`link::decode`] gives it.
    fn packet(usual: UsualUdp<'_>) -> Packet<'_> {
        let (src, dst, header_len): (IpAddr, IpAddr, u32) = match usual.hosts {
            Hosts::V4(src, dst) => (Ipv4Addr::from_bits(src).into(), Ipv4Addr::from_bits(dst).into(), 20),
            Hosts::V6(src, dst) => (Ipv6Addr::from_bits(src).into(), Ipv6Addr::from_bits(dst).into(), 40),
        };
        let ip = Ip { src, dst, proto: ip::UDP, len: usual.ip_len, header_len, id: usual.id, at: 0 };
        Packet { ip, depth: 0, payload: Payload::Udp(usual.udp) }
    }

    /// Frames that are usual, by their link type.
    fn frames() -> Vec<(u16, Vec<u8>)> {
        let qinq = |outer: [u8; 2], kind: [u8; 2], inner: &[u8]| {
            ethernet(u16::from_be_bytes(outer), &[&[0, 5, 0x81, 0, 0, 6][..], &kind, inner].concat())
        };
        let cooked = |protocol: [u8; 2], inner: &[u8]| {
            [&[0, 4, 0, 1, 0, 6, 2, 0, 0, 0, 0, 1, 0, 0][..], &protocol, inner].concat()
        };
        let cooked2 = |protocol: [u8; 2], inner: &[u8]| {
            [&protocol[..], &[0, 0, 0, 0, 0, 2, 0, 1, 4, 6, 2, 0, 0, 0, 0, 1, 0, 0], inner].concat()
        };
        let (v4, v6) = ([8, 0], [0x86, 0xdd]);
        vec![
            (link::ETHERNET, ethernet(ethernet::IPV6, &INNER_V6)),
            (link::ETHERNET, ethernet(ethernet::VLAN, &[&[0, 5][..], &v6, &INNER_V6].concat())),
            (link::ETHERNET, qinq([0x88, 0xa8], v4, &INNER)),
            (link::ETHERNET, qinq([0x91, 0x00], v6, &INNER_V6)),
            (link::LINUX_SLL, cooked(v4, &INNER)),
            (link::LINUX_SLL, cooked(v6, &INNER_V6)),
            (link::LINUX_SLL2, cooked2(v4, &INNER)),
            (link::LINUX_SLL2, cooked2(v6, &INNER_V6)),
        ]
    }

    /// A packet that is told to carry no tunnel carries none, and is between these hosts.
    fn check_hosts(link: u16, data: &[u8], wire_len: usize) {
        let hosts = usual_hosts(link, data);
        let general = link::decode(link, Span::new(data, wire_len));
        if let (Some(hosts), Ok(found)) = (hosts, general) {
            let expected = match (found.ip.src, found.ip.dst) {
                (IpAddr::V4(src), IpAddr::V4(dst)) => Hosts::V4(src.to_bits(), dst.to_bits()),
                (IpAddr::V6(src), IpAddr::V6(dst)) => Hosts::V6(src.to_bits(), dst.to_bits()),
                _ => panic!("both ends are of one version"),
            };
            assert_eq!((hosts, found.depth), (expected, 0), "link {link}: {data:x?}");
        }
    }

    /// What is taken here is what the general way makes of the same bytes.
    fn check(link: u16, data: &[u8], wire_len: usize) -> bool {
        check_hosts(link, data, wire_len);
        let usual = usual_udp(link, data);
        if let Some(usual) = usual {
            let general = link::decode(link, Span::new(data, wire_len));
            let general = general.map(|found| Packet { ip: Ip { at: 0, ..found.ip }, ..found });
            assert_eq!(Ok(packet(usual)), general, "link {link}: {data:x?}");
        }
        usual.is_some()
    }

    #[test]
    fn usual_frames_are_taken_as_the_general_way_reads_them() {
        for (link, frame) in frames() {
            assert!(check(link, &frame, frame.len()), "link {link}: {frame:x?}");
            assert!(check(link, &[&frame[..], &[0; 18]].concat(), frame.len() + 18), "padded, link {link}");
        }
    }

    /// Any one byte at any value, each cut, and lengths that wrap.
    #[test]
    fn damaged_frames_are_read_in_the_general_way_or_as_by_it() {
        for (link, frame) in frames() {
            for at in 0..frame.len() {
                let mut damaged = frame.clone();
                for byte in 0..=255 {
                    damaged[at] = byte;
                    check(link, &damaged, damaged.len());
                }
                check(link, &frame[..at], frame.len());
            }
            for length in [0u16, 1, 7, 8, 12, 13, 65_515, 65_516, 65_524, 65_535] {
                for at in 0..frame.len() - 1 {
                    let mut damaged = frame.clone();
                    damaged[at..at + 2].copy_from_slice(&length.to_be_bytes());
                    check(link, &damaged, damaged.len());
                }
            }
        }
    }

    #[test]
    fn other_frames_are_left_to_the_general_way() {
        let tags = [0, 5, 0x81, 0, 0, 6, 0x81, 0, 0, 7, 8, 0];
        assert_eq!(usual_udp(link::ETHERNET, &ethernet(ethernet::VLAN, &[&tags[..], &INNER].concat())), None);
        assert_eq!(usual_udp(link::RAW, &INNER), None);
        let is_usual = |inner: &[u8]| usual_udp(link::ETHERNET, &ethernet(ethernet::IPV6, inner)).is_some();
        assert!(is_usual(&INNER_V6));
        // Hop-by-hop options.
        let mut options = INNER_V6.to_vec();
        options[6] = 0;
        assert!(!is_usual(&options));
        for tunnel in [4789u16, 2152, 6081] {
            let mut vxlan = INNER_V6.to_vec();
            vxlan[42..44].copy_from_slice(&tunnel.to_be_bytes());
            assert!(!is_usual(&vxlan));
        }
        let mut fragment = INNER.to_vec();
        fragment[6] = 0x20;
        assert_eq!(usual_udp(link::ETHERNET, &ethernet(ethernet::IPV4, &fragment)), None);
    }
}

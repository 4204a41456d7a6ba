//! Builds packets header by header, with lengths and checksums.

use std::net::IpAddr;

use ringtap_model::Endpoint;

/// IANA protocol numbers.
const ICMP: u8 = 1;
const TCP: u8 = 6;
const UDP: u8 = 17;
const FRAGMENT: u8 = 44;
const GRE: u8 = 47;
const ICMP6: u8 = 58;
const SCTP: u8 = 132;

/// TCP flags, RFC 9293 section 3.1.
pub mod flag {
    /// No more data from the sender.
    pub const FIN: u8 = 1;
    /// Synchronises sequence numbers.
    pub const SYN: u8 = 2;
    /// The acknowledgment number is valid.
    pub const ACK: u8 = 16;
}

/// Ethernet II around an IP packet.
pub fn ethernet(packet: &[u8]) -> Vec<u8> {
    tagged(&[], packet)
}

/// Ethernet II with VLAN tags, the outermost first: tag protocol (0x8100, 0x88a8) and VLAN.
pub fn tagged(tags: &[(u16, u16)], packet: &[u8]) -> Vec<u8> {
    let kind: u16 = if packet[0] >> 4 == 6 { 0x86dd } else { 0x0800 };
    let mut frame = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1];
    for (protocol, vlan) in tags {
        frame.extend(protocol.to_be_bytes());
        frame.extend(vlan.to_be_bytes());
    }
    frame.extend(kind.to_be_bytes());
    frame.extend(packet);
    frame
}

/// UDP in IP, of the version of the addresses.
pub fn udp(src: Endpoint, dst: Endpoint, payload: &[u8]) -> Vec<u8> {
    let mut segment = [src.port.to_be_bytes(), dst.port.to_be_bytes()].concat();
    segment.extend((payload.len() as u16 + 8).to_be_bytes());
    segment.extend([0, 0]);
    segment.extend(payload);
    let sum = match checksum(&[&pseudo(src.ip, dst.ip, UDP, segment.len()), &segment]) {
        // RFC 768: a checksum that comes out as zero is sent as all ones.
        0 => 0xffff,
        sum => sum,
    };
    segment[6..8].copy_from_slice(&sum.to_be_bytes());
    ip(src.ip, dst.ip, UDP, &segment)
}

/// One TCP segment in IP.
pub fn tcp(src: Endpoint, dst: Endpoint, seq: u32, ack: u32, flags: u8, payload: &[u8]) -> Vec<u8> {
    let mut segment = [src.port.to_be_bytes(), dst.port.to_be_bytes()].concat();
    segment.extend(seq.to_be_bytes());
    segment.extend(ack.to_be_bytes());
    segment.extend([0x50, flags, 0xff, 0xff, 0, 0, 0, 0]);
    segment.extend(payload);
    let sum = checksum(&[&pseudo(src.ip, dst.ip, TCP, segment.len()), &segment]);
    segment[16..18].copy_from_slice(&sum.to_be_bytes());
    ip(src.ip, dst.ip, TCP, &segment)
}

/// One SCTP packet with a DATA chunk for each message (RFC 9260 section 3.3.1), all unfragmented and in one
/// stream.
pub fn sctp(src: Endpoint, dst: Endpoint, first: u32, messages: &[&[u8]]) -> Vec<u8> {
    const WHOLE: u8 = 3;
    let mut packet = [src.port.to_be_bytes(), dst.port.to_be_bytes()].concat();
    packet.extend([0, 0, 0x5e, 0xed, 0, 0, 0, 0]);
    for (number, message) in (first..).zip(messages) {
        packet.extend([0, WHOLE]);
        packet.extend((16 + message.len() as u16).to_be_bytes());
        packet.extend(number.to_be_bytes());
        packet.extend([0, 0]);
        packet.extend((number as u16).to_be_bytes());
        packet.extend([0; 4]);
        packet.extend(*message);
        packet.resize(packet.len().next_multiple_of(4), 0);
    }
    let sum = crc32c(&packet);
    packet[8..12].copy_from_slice(&sum.to_le_bytes());
    ip(src.ip, dst.ip, SCTP, &packet)
}

/// CRC32c by RFC 9260 appendix A, bit by bit.
fn crc32c(bytes: &[u8]) -> u32 {
    const POLYNOMIAL: u32 = 0x82f6_3b78;
    let bit = |crc: u32| if crc & 1 == 1 { crc >> 1 ^ POLYNOMIAL } else { crc >> 1 };
    !bytes.iter().fold(!0, |crc, byte| (0..8).fold(crc ^ u32::from(*byte), |crc, _| bit(crc)))
}

/// ICMP or ICMPv6 "port unreachable", quoting a whole packet (RFC 792, RFC 4443 section 3.1).
pub fn unreachable(src: IpAddr, dst: IpAddr, quoted: &[u8]) -> Vec<u8> {
    let is_v6 = src.is_ipv6();
    let mut message = if is_v6 { vec![1, 4, 0, 0, 0, 0, 0, 0] } else { vec![3, 3, 0, 0, 0, 0, 0, 0] };
    message.extend(quoted);
    let head = if is_v6 { pseudo(src, dst, ICMP6, message.len()) } else { Vec::new() };
    let sum = checksum(&[&head, &message]);
    message[2..4].copy_from_slice(&sum.to_be_bytes());
    ip(src, dst, if is_v6 { ICMP6 } else { ICMP }, &message)
}

/// An IP packet in GTP-U (3GPP TS 29.281) between two nodes.
pub fn gtp_u(src: IpAddr, dst: IpAddr, tunnel: u32, packet: &[u8]) -> Vec<u8> {
    let mut content = vec![0x30, 255];
    content.extend((packet.len() as u16).to_be_bytes());
    content.extend(tunnel.to_be_bytes());
    content.extend(packet);
    udp(Endpoint::new(src, 2152), Endpoint::new(dst, 2152), &content)
}

/// An IP packet in GRE with a key (RFC 2784, RFC 2890).
pub fn gre(src: IpAddr, dst: IpAddr, key: u32, packet: &[u8]) -> Vec<u8> {
    let mut content = vec![0x20, 0, 0x08, 0];
    content.extend(key.to_be_bytes());
    content.extend(packet);
    ip(src, dst, GRE, &content)
}

/// An Ethernet frame in VXLAN (RFC 7348).
pub fn vxlan(src: IpAddr, dst: IpAddr, network: u32, frame: &[u8]) -> Vec<u8> {
    let mut content = vec![0x08, 0, 0, 0];
    content.extend((network << 8).to_be_bytes());
    content.extend(frame);
    udp(Endpoint::new(src, 49_152), Endpoint::new(dst, 4789), &content)
}

/// The fragments of an IP packet, each with at most `size` bytes of payload (a multiple of 8).
pub fn fragments(packet: &[u8], id: u32, size: usize) -> Vec<Vec<u8>> {
    let is_v6 = packet[0] >> 4 == 6;
    let (head, payload) = packet.split_at(if is_v6 { 40 } else { 20 });
    let count = payload.len().div_ceil(size);
    let part = |(index, bytes): (usize, &[u8])| {
        let more = u16::from(index + 1 < count);
        let units = (index * size / 8) as u16;
        if is_v6 {
            fragment_v6(head, bytes, id, units << 3 | more)
        } else {
            fragment_v4(head, bytes, id as u16, units | more << 13)
        }
    };
    payload.chunks(size).enumerate().map(part).collect()
}

/// A fragment by RFC 791: length, identification and offset change.
fn fragment_v4(head: &[u8], payload: &[u8], id: u16, offset: u16) -> Vec<u8> {
    let mut head = head.to_vec();
    head[2..4].copy_from_slice(&(20 + payload.len() as u16).to_be_bytes());
    head[4..6].copy_from_slice(&id.to_be_bytes());
    head[6..8].copy_from_slice(&offset.to_be_bytes());
    head[10..12].fill(0);
    let sum = checksum(&[&head]);
    head[10..12].copy_from_slice(&sum.to_be_bytes());
    [&head, payload].concat()
}

/// A fragment by RFC 8200 section 4.5: the fragment header is inserted.
fn fragment_v6(head: &[u8], payload: &[u8], id: u32, offset: u16) -> Vec<u8> {
    let mut packet = head.to_vec();
    packet[4..6].copy_from_slice(&(8 + payload.len() as u16).to_be_bytes());
    let next = std::mem::replace(&mut packet[6], FRAGMENT);
    packet.extend([next, 0]);
    packet.extend(offset.to_be_bytes());
    packet.extend(id.to_be_bytes());
    packet.extend(payload);
    packet
}

/// An IP packet, of the version of the addresses.
///
/// # Panics
///
/// If one address is IPv4 and the other IPv6.
pub fn ip(src: IpAddr, dst: IpAddr, proto: u8, payload: &[u8]) -> Vec<u8> {
    let len = payload.len() as u16;
    match (src, dst) {
        (IpAddr::V4(src), IpAddr::V4(dst)) => {
            let mut head = vec![0x45, 0];
            head.extend((20 + len).to_be_bytes());
            head.extend([0, 0, 0x40, 0, 64, proto, 0, 0]);
            head.extend(src.octets());
            head.extend(dst.octets());
            let sum = checksum(&[&head]);
            head[10..12].copy_from_slice(&sum.to_be_bytes());
            [&head, payload].concat()
        }
        (IpAddr::V6(src), IpAddr::V6(dst)) => {
            let mut head = vec![0x60, 0, 0, 0];
            head.extend(len.to_be_bytes());
            head.extend([proto, 64]);
            head.extend(src.octets());
            head.extend(dst.octets());
            [&head, payload].concat()
        }
        _ => panic!("{src} and {dst} are of different versions of IP"),
    }
}

/// An IPv4 packet with another identification (RFC 791 section 3.1).
pub fn with_id(mut packet: Vec<u8>, id: u16) -> Vec<u8> {
    packet[4..6].copy_from_slice(&id.to_be_bytes());
    packet[10..12].fill(0);
    let sum = checksum(&[&packet[..20]]);
    packet[10..12].copy_from_slice(&sum.to_be_bytes());
    packet
}

/// The pseudo-header of UDP and TCP (RFC 768, RFC 8200 section 8.1).
fn pseudo(src: IpAddr, dst: IpAddr, proto: u8, len: usize) -> Vec<u8> {
    let octets = |ip: IpAddr| match ip {
        IpAddr::V4(ip) => ip.octets().to_vec(),
        IpAddr::V6(ip) => ip.octets().to_vec(),
    };
    [&octets(src)[..], &octets(dst), &(len as u32).to_be_bytes(), &[0, 0, 0, proto]].concat()
}

/// The checksum of RFC 1071. Every part but the last must have an even length.
fn checksum(parts: &[&[u8]]) -> u16 {
    let mut sum = 0u32;
    for part in parts {
        for pair in part.chunks(2) {
            sum += u32::from(pair[0]) << 8 | pair.get(1).map_or(0, |&low| u32::from(low));
        }
    }
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The sums of RFC 1071 section 3, and a header with a known checksum.
    #[test]
    fn checksums() {
        assert_eq!(checksum(&[&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7]]), !0xddf2);
        let header =
            [0x45, 0, 0, 0x73, 0, 0, 0x40, 0, 0x40, 0x11, 0xb8, 0x61, 192, 168, 0, 1, 192, 168, 0, 199];
        assert_eq!(checksum(&[&header]), 0);
    }

    /// The check value published for this CRC.
    #[test]
    fn crc() {
        assert_eq!(crc32c(b"123456789"), 0xe306_9283);
    }

    #[test]
    fn fragments_cover_the_packet() {
        let (src, dst): (IpAddr, IpAddr) = ([192, 0, 2, 1].into(), [192, 0, 2, 2].into());
        let whole = udp(Endpoint::new(src, 1), Endpoint::new(dst, 2), &[7; 100]);
        let parts = fragments(&whole, 9, 48);
        let bytes: Vec<u8> = parts.iter().flat_map(|part| part[20..].to_vec()).collect();
        assert_eq!(bytes, whole[20..]);
        let offsets: Vec<u16> = parts.iter().map(|part| u16::from_be_bytes([part[6], part[7]])).collect();
        assert_eq!(offsets, [0x2000, 0x2006, 0x000c]);
    }
}

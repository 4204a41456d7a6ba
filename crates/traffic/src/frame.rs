//! Writes Ethernet, 802.1Q, IPv4, IPv6, UDP and TCP headers around a payload.

use std::net::{IpAddr, SocketAddr};

/// Headers that all packets between two endpoints share, precomputed: link and network headers, ports, and
/// their checksums.
#[derive(Clone, Debug)]
pub(crate) struct Head {
    bytes: [u8; LONGEST_HEAD],
    /// Used part of `bytes`, up to the end of the ports.
    length: u8,
    /// Offset of the IP header.
    ip_at: u8,
    v6: bool,
    /// Sum of the IPv4 header without length, identification, protocol and checksum.
    ip_sum: u32,
    /// Sum of both addresses and both ports.
    pseudo_sum: u32,
}

impl Head {
    /// Headers from `src` to `dst`, which have the same IP version; with an 802.1Q tag if `vlan` is given.
    pub(crate) fn new(src: SocketAddr, dst: SocketAddr, vlan: Option<u16>) -> Self {
        let mut bytes = [0; LONGEST_HEAD];
        let mut at = 0;
        let mut put = |octets: &[u8]| {
            bytes[at..at + octets.len()].copy_from_slice(octets);
            at += octets.len();
            at
        };
        for host in [dst, src] {
            put(&mac(host.ip()));
        }
        if let Some(vlan) = vlan {
            // IEEE 802.1Q: priority 0, twelve bits of number.
            put(&[0x81, 0x00]);
            put(&(vlan & 0x0fff).to_be_bytes());
        }
        let v6 = src.is_ipv6();
        let ip_at = put(if v6 { &[0x86, 0xdd] } else { &[0x08, 0x00] });
        match v6 {
            // RFC 8200 section 3: no traffic class, no flow label, a hop limit of 64.
            true => put(&[0x60, 0, 0, 0, 0, 0, 0, 64]),
            // RFC 791 section 3.1; DF, a TTL of 64.
            false => put(&[0x45, 0, 0, 0, 0, 0, 0x40, 0, 64, 0, 0, 0]),
        };
        for host in [src, dst] {
            match host.ip() {
                IpAddr::V4(ip) => put(&ip.octets()),
                IpAddr::V6(ip) => put(&ip.octets()),
            };
        }
        put(&src.port().to_be_bytes());
        let length = put(&dst.port().to_be_bytes());
        let addresses = ip_at + if v6 { 8 } else { 12 };
        Self {
            ip_sum: sum(&bytes[ip_at..length - 4]) as u32,
            pseudo_sum: sum(&bytes[addresses..length]) as u32,
            bytes,
            length: length as u8,
            ip_at: ip_at as u8,
            v6,
        }
    }

    /// Reads it, see [`Stream::touch`](crate::stream::Stream::touch).
    pub(crate) fn touch(&self) -> u64 {
        u64::from(self.bytes[0] ^ self.bytes[LONGEST_HEAD - 1])
    }

    pub(crate) fn is_v6(&self) -> bool {
        self.v6
    }

    /// Source of its packets.
    pub(crate) fn src(&self) -> SocketAddr {
        self.end(0)
    }

    /// Destination of its packets.
    pub(crate) fn dst(&self) -> SocketAddr {
        self.end(1)
    }

    fn end(&self, index: usize) -> SocketAddr {
        let ports = usize::from(self.length) - 4;
        let port = ports + 2 * index;
        let port = u16::from_be_bytes([self.bytes[port], self.bytes[port + 1]]);
        let ip = match self.v6 {
            true => {
                let mut octets = [0_u8; 16];
                octets.copy_from_slice(&self.bytes[ports - 32 + 16 * index..][..16]);
                IpAddr::from(octets)
            }
            false => {
                let mut octets = [0_u8; 4];
                octets.copy_from_slice(&self.bytes[ports - 8 + 4 * index..][..4]);
                IpAddr::from(octets)
            }
        };
        SocketAddr::new(ip, port)
    }
}

/// Locally administered addresses derived from the host: 02:00 and the IPv4 address, 02:06 and the end of the
/// IPv6 address.
fn mac(host: IpAddr) -> [u8; 6] {
    match host {
        IpAddr::V4(ip) => {
            let [a, b, c, d] = ip.octets();
            [0x02, 0x00, a, b, c, d]
        }
        IpAddr::V6(ip) => {
            let octets = ip.octets();
            [0x02, 0x06, octets[6], octets[7], octets[14], octets[15]]
        }
    }
}

/// Writes frames into a reused buffer.
#[derive(Debug, Default)]
pub(crate) struct Framer {
    buffer: Vec<u8>,
    /// IPv4 identification of the next packet.
    identification: u16,
}

/// The variable fields of a TCP header.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TcpHeader {
    pub(crate) sequence: u32,
    pub(crate) acknowledged: u32,
    pub(crate) flags: u8,
}

impl TcpHeader {
    pub(crate) const FIN: u8 = 0x01;
    pub(crate) const SYN: u8 = 0x02;
    pub(crate) const PUSH: u8 = 0x08;
    pub(crate) const ACK: u8 = 0x10;
}

impl Framer {
    /// The last frame written.
    pub(crate) fn frame(&self) -> &[u8] {
        &self.buffer
    }

    /// Writes a UDP datagram (RFC 768); `payload` appends its payload.
    pub(crate) fn udp(&mut self, head: &Head, payload: impl FnOnce(&mut Vec<u8>)) {
        let transport = self.begin(head);
        self.buffer.extend_from_slice(&[0; 4]);
        payload(&mut self.buffer);
        let length = self.buffer.len() - transport;
        self.buffer[transport + 4..transport + 6].copy_from_slice(&(length as u16).to_be_bytes());
        self.finish(head, UDP, transport + 6);
    }

    /// Writes a TCP segment (RFC 9293 section 3.1).
    pub(crate) fn tcp(&mut self, head: &Head, header: TcpHeader, payload: &[u8]) {
        let transport = self.begin(head);
        self.buffer.extend_from_slice(&header.sequence.to_be_bytes());
        self.buffer.extend_from_slice(&header.acknowledged.to_be_bytes());
        // Five words of header; a window of 64,240; checksum and urgent pointer.
        self.buffer.extend_from_slice(&[0x50, header.flags, 0xfa, 0xf0, 0, 0, 0, 0]);
        self.buffer.extend_from_slice(payload);
        self.finish(head, TCP, transport + 16);
    }

    /// Writes an IP packet of another protocol whose first four bytes are ports; `payload` appends the rest.
    pub(crate) fn ip(&mut self, head: &Head, protocol: u8, payload: impl FnOnce(&mut Vec<u8>)) {
        self.begin(head);
        payload(&mut self.buffer);
        self.finish_network(head, protocol);
    }

    /// Makes the IPv4 packet a fragment that is not the last, at an offset in units of eight bytes (RFC 791
    /// section 3.1).
    pub(crate) fn make_fragment(&mut self, identification: u16, offset: u16) {
        self.set(4, identification);
        self.set(6, MORE_FRAGMENTS | offset & 0x1fff);
        self.sum_ipv4();
    }

    /// Changes the length that the IPv4 header has.
    pub(crate) fn set_ip_length(&mut self, length: u16) {
        self.set(2, length);
        self.sum_ipv4();
    }

    /// Changes the length that the UDP header has, but not its checksum.
    pub(crate) fn set_udp_length(&mut self, length: u16) {
        self.set(IPV4 + 4, length);
    }

    /// Writes a word of an untagged packet, counted from its IPv4 header.
    fn set(&mut self, at: usize, value: u16) {
        self.buffer[ETHERNET + at..][..2].copy_from_slice(&value.to_be_bytes());
    }

    /// Sums the header of an untagged IPv4 packet anew.
    fn sum_ipv4(&mut self) {
        self.set(10, 0);
        let checksum = fold(sum(&self.buffer[ETHERNET..ETHERNET + IPV4]));
        self.set(10, checksum);
    }

    /// Pads the frame to at least that many bytes (IEEE 802.3 section 4.2.3.3).
    pub(crate) fn pad(&mut self, least: usize) {
        if self.buffer.len() < least {
            self.buffer.resize(least, 0);
        }
    }

    /// Returns the offset of the transport header.
    fn begin(&mut self, head: &Head) -> usize {
        self.buffer.clear();
        let length = usize::from(head.length);
        self.buffer.extend_from_slice(&head.bytes[..length]);
        length - 4
    }

    /// The network header's lengths, protocol and checksum.
    fn finish_network(&mut self, head: &Head, protocol: u8) {
        let ip = usize::from(head.ip_at);
        let length = self.buffer.len() - ip;
        debug_assert!(length <= MTU, "a packet of {length} bytes does not fit Ethernet");
        if head.v6 {
            self.buffer[ip + 4..ip + 6].copy_from_slice(&(length as u16 - 40).to_be_bytes());
            self.buffer[ip + 6] = protocol;
        } else {
            let identification = self.identification;
            self.identification = identification.wrapping_add(1);
            self.buffer[ip + 2..ip + 4].copy_from_slice(&(length as u16).to_be_bytes());
            self.buffer[ip + 4..ip + 6].copy_from_slice(&identification.to_be_bytes());
            self.buffer[ip + 9] = protocol;
            let header = fold(
                u64::from(head.ip_sum) + length as u64 + u64::from(identification) + u64::from(protocol),
            );
            self.buffer[ip + 10..ip + 12].copy_from_slice(&header.to_be_bytes());
        }
    }

    /// Lengths and checksums.
    fn finish(&mut self, head: &Head, protocol: u8, checksum_at: usize) {
        self.finish_network(head, protocol);
        let transport = usize::from(head.length) - 4;
        // The pseudo header: both addresses, the protocol and the length.
        let carried = (self.buffer.len() - transport) as u64;
        let pseudo = u64::from(head.pseudo_sum) + u64::from(protocol) + carried;
        let mut checksum = fold(pseudo + sum(&self.buffer[transport + 4..]));
        if protocol == UDP && checksum == 0 {
            // 0 means no checksum (RFC 768).
            checksum = 0xffff;
        }
        self.buffer[checksum_at..checksum_at + 2].copy_from_slice(&checksum.to_be_bytes());
    }
}

/// The sum of 16-bit words (RFC 1071), an odd octet padded with zero.
fn sum(bytes: &[u8]) -> u64 {
    // Section 2 (B): the sum does not depend on byte order, so four bytes at a time are added in native
    // order.
    let (words, rest) = bytes.as_chunks::<4>();
    let native: u64 = words.iter().map(|word| u64::from(u32::from_ne_bytes(*word))).sum();
    let mut last = [0; 4];
    last[..rest.len()].copy_from_slice(rest);
    let mut sum = native + u64::from(u32::from_ne_bytes(last));
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    u64::from(u16::from_be(sum as u16))
}

fn fold(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

/// Largest TCP payload in an Ethernet frame.
pub(crate) const fn max_segment(v6: bool) -> usize {
    MTU - if v6 { 60 } else { 40 }
}

const MTU: usize = 1_500;
/// Ethernet with a tag, IPv6, two ports.
const LONGEST_HEAD: usize = 14 + 4 + 40 + 4;
const ETHERNET: usize = 14;
const IPV4: usize = 20;
const MORE_FRAGMENTS: u16 = 0x2000;
pub(crate) const UDP: u8 = 17;
const TCP: u8 = 6;
pub(crate) const SCTP: u8 = 132;

#[cfg(test)]
mod tests {
    use etherparse::{NetSlice, SlicedPacket, TransportSlice};
    use proptest::prelude::*;

    use super::*;

    fn address(text: &str) -> SocketAddr {
        text.parse().unwrap()
    }

    #[test]
    fn a_datagram_octet_by_octet() {
        let mut framer = Framer::default();
        let head = Head::new(address("192.0.2.1:5060"), address("198.51.100.7:40000"), None);
        framer.udp(&head, |payload| payload.extend_from_slice(b"ring"));
        let expected = [
            &[2, 0, 198, 51, 100, 7, 2, 0, 192, 0, 2, 1, 8, 0][..],
            &[0x45, 0, 0, 32, 0, 0, 0x40, 0, 64, 17, 0x4e, 0x91, 192, 0, 2, 1, 198, 51, 100, 7],
            &[0x13, 0xc4, 0x9c, 0x40, 0, 12, 0x82, 0xc4, b'r', b'i', b'n', b'g'],
        ];
        assert_eq!(framer.frame(), expected.concat());
    }

    proptest! {
        /// Another implementation reads the same and finds the same checksums.
        #[test]
        fn checksums_are_right(
            payload in proptest::collection::vec(any::<u8>(), 0..max_segment(true)),
            tcp in any::<bool>(),
            v6 in any::<bool>(),
            vlan in proptest::option::of(0_u16..4096),
            ports in any::<[u16; 2]>(),
        ) {
            let hosts = if v6 { ["2001:db8:0:1::fe", "2001:db8:0:2::9"] } else { ["192.0.2.1",
                "198.51.100.7"] };
            let [src, dst] = [0, 1].map(|side| SocketAddr::new(hosts[side].parse().unwrap(), ports[side]));
            let head = Head::new(src, dst, vlan);
            prop_assert_eq!((head.src(), head.dst(), head.is_v6()), (src, dst, v6));
            let mut framer = Framer::default();
            if tcp {
                let header = TcpHeader { sequence: 7, acknowledged: 9, flags: TcpHeader::ACK };
                framer.tcp(&head, header, &payload);
            } else {
                framer.udp(&head, |to| to.extend_from_slice(&payload));
            }
            let packet = SlicedPacket::from_ethernet(framer.frame()).unwrap();
            prop_assert_eq!(packet.vlan_ids().first().map(|id| id.value()), vlan);
            let checksum = match (&packet.net, &packet.transport) {
                (Some(NetSlice::Ipv4(ip)), Some(transport)) => {
                    let header = ip.header().to_header();
                    prop_assert_eq!(header.header_checksum, header.calc_header_checksum());
                    match transport {
                        TransportSlice::Udp(udp) => udp.to_header().calc_checksum_ipv4(&header,
                            udp.payload()).unwrap(),
                        TransportSlice::Tcp(tcp) => tcp.to_header().calc_checksum_ipv4(&header,
                            tcp.payload()).unwrap(),
                        other => panic!("{other:?}"),
                    }
                }
                (Some(NetSlice::Ipv6(ip)), Some(transport)) => {
                    let header = ip.header().to_header();
                    match transport {
                        TransportSlice::Udp(udp) => udp.to_header().calc_checksum_ipv6(&header,
                            udp.payload()).unwrap(),
                        TransportSlice::Tcp(tcp) => tcp.to_header().calc_checksum_ipv6(&header,
                            tcp.payload()).unwrap(),
                        other => panic!("{other:?}"),
                    }
                }
                other => panic!("{other:?}"),
            };
            let (found, carried) = match &packet.transport {
                Some(TransportSlice::Udp(udp)) => (udp.checksum(), udp.payload()),
                Some(TransportSlice::Tcp(tcp)) => (tcp.checksum(), tcp.payload()),
                other => panic!("{other:?}"),
            };
            prop_assert_eq!(found, checksum);
            prop_assert_eq!(carried, &payload[..]);
        }
    }
}

//! Ethernet, IPv4, UDP and TCP around a payload.

use std::net::SocketAddrV4;

/// Writes one frame after the other into the same buffer.
#[derive(Debug, Default)]
pub(crate) struct Framer {
    buffer: Vec<u8>,
    /// IPv4 identification of the next packet.
    identification: u16,
}

/// The header of a TCP segment, as far as it varies.
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
    /// The frame that was written last.
    pub(crate) fn frame(&self) -> &[u8] {
        &self.buffer
    }

    /// A UDP datagram (RFC 768) with what `payload` appends.
    pub(crate) fn udp(&mut self, src: SocketAddrV4, dst: SocketAddrV4, payload: impl FnOnce(&mut Vec<u8>)) {
        self.begin(src, dst);
        self.ports(src, dst);
        self.buffer.extend_from_slice(&[0; 4]);
        payload(&mut self.buffer);
        let length = self.buffer.len() - TRANSPORT;
        self.buffer[TRANSPORT + 4..TRANSPORT + 6].copy_from_slice(&(length as u16).to_be_bytes());
        self.finish(UDP, TRANSPORT + 6);
    }

    /// A TCP segment (RFC 9293 section 3.1).
    pub(crate) fn tcp(&mut self, src: SocketAddrV4, dst: SocketAddrV4, header: TcpHeader, payload: &[u8]) {
        self.begin(src, dst);
        self.ports(src, dst);
        self.buffer.extend_from_slice(&header.sequence.to_be_bytes());
        self.buffer.extend_from_slice(&header.acknowledged.to_be_bytes());
        // Five words of header; a window of 64,240; checksum and urgent pointer.
        self.buffer.extend_from_slice(&[0x50, header.flags, 0xfa, 0xf0, 0, 0, 0, 0]);
        self.buffer.extend_from_slice(payload);
        self.finish(TCP, TRANSPORT + 16);
    }

    fn begin(&mut self, src: SocketAddrV4, dst: SocketAddrV4) {
        self.buffer.clear();
        // Locally administered addresses that name their host: 02:00 and the IPv4 address.
        for host in [dst, src] {
            self.buffer.extend_from_slice(&[0x02, 0x00]);
            self.buffer.extend_from_slice(&host.ip().octets());
        }
        self.buffer.extend_from_slice(&[0x08, 0x00]);
        // RFC 791 section 3.1; DF, a TTL of 64. Length, protocol and checksum are written last.
        let [high, low] = self.identification.to_be_bytes();
        self.identification = self.identification.wrapping_add(1);
        self.buffer.extend_from_slice(&[0x45, 0, 0, 0, high, low, 0x40, 0, 64, 0, 0, 0]);
        self.buffer.extend_from_slice(&src.ip().octets());
        self.buffer.extend_from_slice(&dst.ip().octets());
    }

    fn ports(&mut self, src: SocketAddrV4, dst: SocketAddrV4) {
        self.buffer.extend_from_slice(&src.port().to_be_bytes());
        self.buffer.extend_from_slice(&dst.port().to_be_bytes());
    }

    /// Lengths and checksums.
    fn finish(&mut self, protocol: u8, checksum_at: usize) {
        let length = self.buffer.len() - IP;
        debug_assert!(length <= MTU, "a packet of {length} bytes does not fit Ethernet");
        self.buffer[IP + 2..IP + 4].copy_from_slice(&(length as u16).to_be_bytes());
        self.buffer[IP + 9] = protocol;
        let header = fold(sum(&self.buffer[IP..TRANSPORT]));
        self.buffer[IP + 10..IP + 12].copy_from_slice(&header.to_be_bytes());
        // The pseudo header: both addresses, the protocol and the length.
        let pseudo = sum(&self.buffer[IP + 12..TRANSPORT]) + u64::from(protocol) + (length - 20) as u64;
        let mut checksum = fold(pseudo + sum(&self.buffer[TRANSPORT..]));
        if protocol == UDP && checksum == 0 {
            // 0 means that there is none (RFC 768).
            checksum = 0xffff;
        }
        self.buffer[checksum_at..checksum_at + 2].copy_from_slice(&checksum.to_be_bytes());
    }
}

/// The sum of 16-bit words (RFC 1071), an odd octet padded with zero.
fn sum(bytes: &[u8]) -> u64 {
    let (words, odd) = bytes.as_chunks::<2>();
    let sum: u64 = words.iter().map(|word| u64::from(u16::from_be_bytes(*word))).sum();
    sum + odd.first().map_or(0, |octet| u64::from(*octet) << 8)
}

fn fold(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

/// Payload of a UDP datagram or a TCP segment that fits an Ethernet frame.
pub(crate) const MAX_SEGMENT: usize = MTU - 40;
const MTU: usize = 1_500;
const IP: usize = 14;
const TRANSPORT: usize = IP + 20;
const UDP: u8 = 17;
const TCP: u8 = 6;

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use etherparse::{SlicedPacket, TransportSlice};
    use proptest::prelude::*;

    use super::*;

    const A: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::new(192, 0, 2, 1), 5060);
    const B: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::new(198, 51, 100, 7), 40_000);

    #[test]
    fn a_datagram_octet_by_octet() {
        let mut framer = Framer::default();
        framer.udp(A, B, |payload| payload.extend_from_slice(b"ring"));
        let expected = [
            &[2, 0, 198, 51, 100, 7, 2, 0, 192, 0, 2, 1, 8, 0][..],
            &[0x45, 0, 0, 32, 0, 0, 0x40, 0, 64, 17, 0x4e, 0x91, 192, 0, 2, 1, 198, 51, 100, 7],
            &[0x13, 0xc4, 0x9c, 0x40, 0, 12, 0x82, 0xc4, b'r', b'i', b'n', b'g'],
        ];
        assert_eq!(framer.frame(), expected.concat());
    }

    proptest! {
        /// Another implementation finds the same checksums.
        #[test]
        fn checksums_are_right(payload in proptest::collection::vec(any::<u8>(), 0..MAX_SEGMENT), tcp in any::<bool>()) {
            let mut framer = Framer::default();
            if tcp {
                let header = TcpHeader { sequence: 7, acknowledged: 9, flags: TcpHeader::ACK };
                framer.tcp(A, B, header, &payload);
            } else {
                framer.udp(A, B, |to| to.extend_from_slice(&payload));
            }
            let packet = SlicedPacket::from_ethernet(framer.frame()).unwrap();
            let Some(etherparse::NetSlice::Ipv4(ip)) = packet.net else { panic!("no IPv4") };
            let header = ip.header().to_header();
            prop_assert_eq!(header.header_checksum, header.calc_header_checksum());
            match packet.transport {
                Some(TransportSlice::Udp(udp)) => {
                    let expected = udp.to_header().calc_checksum_ipv4(&header, udp.payload()).unwrap();
                    prop_assert_eq!(udp.checksum(), expected);
                    prop_assert_eq!(udp.payload(), &payload[..]);
                }
                Some(TransportSlice::Tcp(tcp)) => {
                    let expected = tcp.to_header().calc_checksum_ipv4(&header, tcp.payload()).unwrap();
                    prop_assert_eq!(tcp.checksum(), expected);
                    prop_assert_eq!(tcp.payload(), &payload[..]);
                }
                other => panic!("{other:?}"),
            }
        }
    }
}

//! What a message or a packet travels in: Ethernet, IP, UDP, TCP, SCTP, whole and with right checksums.

use std::collections::HashMap;
use std::net::IpAddr;

use ringtap_model::{Endpoint, Transport};

/// It is longer than a datagram can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLong;

/// Frames around messages and packets. Connections have numbers of their own that begin at 1 and go on
/// message by message.
#[derive(Debug, Default)]
pub struct Frames {
    /// Of each direction, what was sent so far.
    sent: HashMap<(Endpoint, Endpoint), StreamState>,
}

#[derive(Clone, Copy, Debug, Default)]
struct StreamState {
    bytes: u32,
    chunks: u32,
    /// The WebSocket was opened in this direction.
    upgraded: bool,
    client: bool,
}

impl Frames {
    /// A datagram of UDP, as an Ethernet frame (link type 1).
    pub fn udp(&self, src: Endpoint, dst: Endpoint, payload: &[u8]) -> Result<Vec<u8>, TooLong> {
        let mut segment = Vec::with_capacity(8 + payload.len());
        segment.extend(src.port.to_be_bytes());
        segment.extend(dst.port.to_be_bytes());
        segment.extend(u16::try_from(8 + payload.len()).map_err(|_| TooLong)?.to_be_bytes());
        segment.extend([0, 0]);
        segment.extend(payload);
        let sum = match summed(src.ip, dst.ip, UDP, &segment) {
            // RFC 768: zero is none.
            0 => 0xffff,
            sum => sum,
        };
        segment[6..8].copy_from_slice(&sum.to_be_bytes());
        framed(src.ip, dst.ip, UDP, &segment)
    }

    /// A SIP message by the transport it came with, in one frame or several: over TCP in segments of a
    /// connection of its own, over WebSocket behind a handshake, over SCTP as one chunk. What came in HEP
    /// travels in a datagram of UDP.
    pub fn message(
        &mut self,
        transport: Transport,
        src: Endpoint,
        dst: Endpoint,
        message: &[u8],
    ) -> Result<Vec<Vec<u8>>, TooLong> {
        match transport {
            Transport::Tcp => self.tcp(src, dst, message),
            Transport::Ws => self.websocket(src, dst, message),
            Transport::Sctp => Ok(vec![self.sctp(src, dst, message)?]),
            Transport::Udp | Transport::Hep => Ok(vec![self.udp(src, dst, message)?]),
        }
    }

    fn sent(&mut self, src: Endpoint, dst: Endpoint) -> &mut StreamState {
        if self.sent.len() >= CONNECTIONS && !self.sent.contains_key(&(src, dst)) {
            self.sent.clear();
        }
        self.sent.entry((src, dst)).or_default()
    }

    /// RFC 9293.
    fn tcp(&mut self, src: Endpoint, dst: Endpoint, bytes: &[u8]) -> Result<Vec<Vec<u8>>, TooLong> {
        let back = self.sent.get(&(dst, src)).map_or(0, |sent| sent.bytes);
        let mut frames = Vec::with_capacity(bytes.len() / SEGMENT + 1);
        for part in bytes.chunks(SEGMENT) {
            let sent = self.sent(src, dst);
            let sequence = 1_u32.wrapping_add(sent.bytes);
            sent.bytes = sent.bytes.wrapping_add(part.len() as u32);
            let mut segment = Vec::with_capacity(20 + part.len());
            segment.extend(src.port.to_be_bytes());
            segment.extend(dst.port.to_be_bytes());
            segment.extend(sequence.to_be_bytes());
            segment.extend(1_u32.wrapping_add(back).to_be_bytes());
            // Five words, PSH and ACK, a window, no sum yet, nothing urgent.
            segment.extend([0x50, 0x18, 0xff, 0xff, 0, 0, 0, 0]);
            segment.extend(part);
            let sum = summed(src.ip, dst.ip, TCP, &segment);
            segment[16..18].copy_from_slice(&sum.to_be_bytes());
            frames.push(framed(src.ip, dst.ip, TCP, &segment)?);
        }
        Ok(frames)
    }

    /// RFC 6455: text frames, whole messages. The handshake names no host; the mask is of zeros.
    fn websocket(&mut self, src: Endpoint, dst: Endpoint, message: &[u8]) -> Result<Vec<Vec<u8>>, TooLong> {
        let mut frames = Vec::new();
        let other = self.sent.get(&(dst, src)).copied().unwrap_or_default();
        if !self.sent(src, dst).upgraded {
            // Who is seen to speak first asked.
            let client = !other.upgraded;
            let (asks, answers) = if client { ((src, dst), (dst, src)) } else { ((dst, src), (src, dst)) };
            for ((from, to), head) in [(asks, ASK), (answers, ANSWER)] {
                if !self.sent(from, to).upgraded {
                    frames.append(&mut self.tcp(from, to, head)?);
                    let sent = self.sent(from, to);
                    (sent.upgraded, sent.client) = (true, from == asks.0);
                }
            }
        }
        let masked = if self.sent(src, dst).client { 0x80 } else { 0 };
        let mut frame = vec![0x81];
        match message.len() {
            len @ 0..126 => frame.push(masked | len as u8),
            len => {
                frame.push(masked | 126);
                frame.extend(u16::try_from(len).map_err(|_| TooLong)?.to_be_bytes());
            }
        }
        if masked != 0 {
            frame.extend([0; 4]);
        }
        frame.extend(message);
        frames.append(&mut self.tcp(src, dst, &frame)?);
        Ok(frames)
    }

    /// RFC 9260 section 3.3.1.
    fn sctp(&mut self, src: Endpoint, dst: Endpoint, message: &[u8]) -> Result<Vec<u8>, TooLong> {
        let sent = self.sent(src, dst);
        let chunk = sent.chunks;
        sent.chunks = chunk.wrapping_add(1);
        let mut packet = Vec::with_capacity(28 + message.len() + 3);
        packet.extend(src.port.to_be_bytes());
        packet.extend(dst.port.to_be_bytes());
        // A verification tag, another each way: by it programs tell the directions apart. No checksum yet.
        packet.extend([0, 0, 0, if src < dst { 1 } else { 2 }, 0, 0, 0, 0]);
        // DATA, begin and end.
        packet.extend([0, 3]);
        packet.extend(u16::try_from(16 + message.len()).map_err(|_| TooLong)?.to_be_bytes());
        packet.extend(chunk.wrapping_add(1).to_be_bytes());
        packet.extend([0, 0]);
        packet.extend((chunk as u16).to_be_bytes());
        packet.extend([0; 4]);
        packet.extend(message);
        packet.resize(packet.len().next_multiple_of(4), 0);
        // RFC 9260 appendix A: sent low byte first.
        let sum = ringtap_cpu::crc32c(0, &packet);
        packet[8..12].copy_from_slice(&sum.to_le_bytes());
        framed(src.ip, dst.ip, SCTP, &packet)
    }
}

/// IP and Ethernet around it.
fn framed(src: IpAddr, dst: IpAddr, protocol: u8, segment: &[u8]) -> Result<Vec<u8>, TooLong> {
    let mut frame = Vec::with_capacity(54 + segment.len());
    // Between two locally administered addresses.
    frame.extend([2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1]);
    match (src, dst) {
        (IpAddr::V4(src), IpAddr::V4(dst)) => {
            frame.extend([0x08, 0x00, 0x45, 0]);
            frame.extend(u16::try_from(20 + segment.len()).map_err(|_| TooLong)?.to_be_bytes());
            frame.extend([0, 0, 0x40, 0, 64, protocol, 0, 0]);
            frame.extend(src.octets());
            frame.extend(dst.octets());
            let sum = folded(sum(&frame[14..34]));
            frame[24..26].copy_from_slice(&sum.to_be_bytes());
        }
        (src, dst) => {
            frame.extend([0x86, 0xdd, 0x60, 0, 0, 0]);
            frame.extend(u16::try_from(segment.len()).map_err(|_| TooLong)?.to_be_bytes());
            frame.extend([protocol, 64]);
            frame.extend(wide(src));
            frame.extend(wide(dst));
        }
    }
    frame.extend(segment);
    Ok(frame)
}

fn wide(ip: IpAddr) -> [u8; 16] {
    match ip {
        IpAddr::V4(ip) => ip.to_ipv6_mapped().octets(),
        IpAddr::V6(ip) => ip.octets(),
    }
}

/// The checksum of a segment with its pseudo-header (RFC 9293 section 3.1, RFC 8200 section 8.1).
fn summed(src: IpAddr, dst: IpAddr, protocol: u8, segment: &[u8]) -> u16 {
    let ends = match (src, dst) {
        (IpAddr::V4(src), IpAddr::V4(dst)) => sum(&src.octets()) + sum(&dst.octets()),
        (src, dst) => sum(&wide(src)) + sum(&wide(dst)),
    };
    folded(ends + u64::from(protocol) + segment.len() as u64 + sum(segment))
}

/// RFC 1071.
fn sum(bytes: &[u8]) -> u64 {
    let mut words = bytes.chunks_exact(2);
    let whole: u64 = words.by_ref().map(|pair| u64::from(u16::from_be_bytes([pair[0], pair[1]]))).sum();
    whole + words.remainder().first().map_or(0, |last| u64::from(*last) << 8)
}

fn folded(sum: u64) -> u16 {
    let mut sum = sum;
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

const UDP: u8 = 17;
const TCP: u8 = 6;
const SCTP: u8 = 132;
/// On an Ethernet of 1,500 bytes.
const SEGMENT: usize = 1440;
/// Directions of connections: then all begin anew.
const CONNECTIONS: usize = 1 << 17;

const ASK: &[u8] = b"GET / HTTP/1.1\r\nHost: host.invalid\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
    Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Protocol: \
    sip\r\n\r\n";
/// RFC 6455 section 4.2.2, the answer to that key.
const ANSWER: &[u8] = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
    Sec-WebSocket-Accept: ICX+Yqv66kxgM0FcWaLWlFLwTAI=\r\nSec-WebSocket-Protocol: sip\r\n\r\n";

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use ringtap_wire::frame::{Payload, decode, link};
    use ringtap_wire::websocket;

    use super::*;

    fn ends() -> (Endpoint, Endpoint) {
        ("192.0.2.1:5060".parse().unwrap(), "[2001:db8::2]:5061".parse().unwrap())
    }

    /// A right checksum makes the sum of all words all ones.
    fn is_right(src: IpAddr, dst: IpAddr, protocol: u8, segment: &[u8]) -> bool {
        summed(src, dst, protocol, segment) == 0
    }

    proptest! {
        #[test]
        fn datagrams_come_back(payload in proptest::collection::vec(any::<u8>(), 0..3_000), six: bool) {
            let (four, wide) = ends();
            let src = if six { wide } else { four };
            let frame = Frames::default().udp(src, src, &payload).unwrap();
            let packet = decode(link::ETHERNET, frame.len() as u32, &frame).unwrap();
            let Payload::Udp(udp) = packet.payload else { panic!("not UDP") };
            prop_assert_eq!((udp.data, udp.src_port), (&payload[..], src.port));
            let at = if six { 54 } else { 34 };
            prop_assert!(is_right(src.ip, src.ip, UDP, &frame[at..]));
            prop_assert!(six || folded(sum(&frame[14..34])) == 0);
        }

        #[test]
        fn connections_go_on(messages in proptest::collection::vec(proptest::collection::vec(any::<u8>(),
            1..4_000), 1..6)) {
            let (src, _) = ends();
            let dst = Endpoint::new(src.ip, 5070);
            let mut frames = Frames::default();
            let mut next = 1;
            for (index, message) in messages.iter().enumerate() {
                let mut got: Vec<u8> = Vec::new();
                for frame in frames.message(Transport::Tcp, src, dst, message).unwrap() {
                    prop_assert!(is_right(src.ip, dst.ip, TCP, &frame[34..]) && frame.len() <= 1514);
                    let Payload::Tcp(tcp) = decode(link::ETHERNET, frame.len() as u32,
                        &frame).unwrap().payload else { panic!("not TCP") };
                    prop_assert_eq!((tcp.seq, tcp.ack), (next, 1 + index as u32));
                    next += tcp.data.len() as u32;
                    got.extend(tcp.data);
                }
                prop_assert_eq!(&got, message);
                frames.message(Transport::Tcp, dst, src, b"x").unwrap();
            }
        }
    }

    #[test]
    fn a_websocket_opens_once() {
        let (src, _) = ends();
        let dst = Endpoint::new(src.ip, 80);
        let mut frames = Frames::default();
        let first = frames.message(Transport::Ws, src, dst, &[b'x'; 200]).unwrap();
        assert_eq!(first.len(), 3);
        assert_eq!(frames.message(Transport::Ws, dst, src, b"y").unwrap().len(), 1);
        let data = |frame: &Vec<u8>| frame[54..].to_vec();
        assert!(matches!(websocket::upgrade(&data(&first[0])), websocket::Upgrade::Complete(_)));
        let header = websocket::Header::parse(&data(&first[2])).unwrap().unwrap();
        assert_eq!((header.payload_len, header.mask), (200, Some([0; 4])));
    }

    #[test]
    fn what_is_too_long_is_refused() {
        let (src, _) = ends();
        assert_eq!(Frames::default().udp(src, src, &[0; 65_508]), Err(TooLong));
        assert!(Frames::default().udp(src, src, &[0; 65_507]).is_ok());
    }
}

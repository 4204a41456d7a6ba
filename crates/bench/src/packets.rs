//! Frames of calls that differ only in their numbers.

use std::net::Ipv4Addr;

use crate::headers::Headers;
use crate::load::Codec;

/// RTP's fixed header (RFC 3550 section 5.1).
pub(crate) const RTP: usize = 12;
/// Media ports of one host, all even.
const CALLER_PORTS: u32 = 200;
const CALLEE_PORTS: u32 = 150;
/// Ticks of RTP's clock in a packet of 20 ms.
pub(crate) const TICKS: u32 = 160;

/// Which side sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Caller,
    Callee,
}

impl Side {
    pub(crate) fn other(self) -> Self {
        match self {
            Self::Caller => Self::Callee,
            Self::Callee => Self::Caller,
        }
    }
}

/// A host and a port.
pub(crate) type End = (Ipv4Addr, u16);

/// Media endpoint of a side: hosts of the benchmarking range 198.18.0.0/15 (RFC 2544 appendix C.2.2), each
/// with several calls, as behind gateways.
pub(crate) fn media(call: u32, side: Side) -> End {
    let (net, ports, base) = match side {
        Side::Caller => (0xc612_0000, CALLER_PORTS, 10_000),
        Side::Callee => (0xc613_0000, CALLEE_PORTS, 20_000),
    };
    (Ipv4Addr::from(net + call / ports), (base + call % ports * 2) as u16)
}

/// Signalling endpoint of a side.
pub(crate) fn signalling(call: u32, side: Side) -> End {
    (media(call, side).0, 5060)
}

/// The SSRC of a stream, which encodes call and side, so that a record can be checked.
pub(crate) fn ssrc(call: u32, side: Side) -> u32 {
    call << 1 | u32::from(side == Side::Callee)
}

/// Writes Ethernet, IPv4 and UDP headers for a payload of `len` bytes into an empty buffer. Checksums stay 0:
/// the engine does not verify them.
pub(crate) fn udp(frame: &mut Vec<u8>, from: End, to: End, len: usize) {
    ipv4(frame, from.0, to.0, 17, 8 + len);
    frame.extend(from.1.to_be_bytes());
    frame.extend(to.1.to_be_bytes());
    frame.extend((8 + len as u16).to_be_bytes());
    frame.extend([0, 0]);
}

/// Writes Ethernet and IPv4 headers for `len` bytes of another protocol into an empty buffer.
pub(crate) fn ipv4(frame: &mut Vec<u8>, from: Ipv4Addr, to: Ipv4Addr, protocol: u8, len: usize) {
    frame.clear();
    frame.extend([0x02, 0, 0, 0, 0, 2, 0x02, 0, 0, 0, 0, 1, 0x08, 0x00, 0x45, 0xb8]);
    frame.extend((20 + len as u16).to_be_bytes());
    frame.extend([0, 0, 0x40, 0, 63, protocol, 0, 0]);
    frame.extend(from.octets());
    frame.extend(to.octets());
}

/// Writes a media packet into an empty buffer: the `sequence`-th of its stream, with the RTP time of its
/// sending.
pub(crate) fn rtp(
    frame: &mut Vec<u8>,
    codec: Codec,
    (call, side): (u32, Side),
    (sequence, timestamp): (u16, u32),
    marker: bool,
    noise: &mut Noise,
) {
    udp(frame, media(call, side), media(call, side.other()), RTP + codec.bytes());
    frame.extend([0x80, codec.payload_type() | u8::from(marker) << 7]);
    frame.extend(sequence.to_be_bytes());
    frame.extend(timestamp.to_be_bytes());
    frame.extend(ssrc(call, side).to_be_bytes());
    for _ in 0..codec.bytes() / 4 {
        // Medium loudness in G.711: neither silence nor clipping.
        frame.extend((noise.next() as u32 & 0xbfbf_bfbf | 0x1010_1010).to_le_bytes());
    }
}

/// Advances a media packet by `packets` packets of its stream.
pub(crate) fn advance(frame: &mut [u8], headers: Headers, packets: u32) {
    let begin = headers.len();
    let Some(header) = frame.get_mut(begin..begin + RTP) else { return };
    let sequence = u16::from_be_bytes([header[2], header[3]]).wrapping_add(packets as u16);
    let timestamp = u32::from_be_bytes([header[4], header[5], header[6], header[7]])
        .wrapping_add(packets.wrapping_mul(TICKS));
    // Only the first packet begins a talkspurt.
    header[1] &= 0x7f;
    header[2..4].copy_from_slice(&sequence.to_be_bytes());
    header[4..8].copy_from_slice(&timestamp.to_be_bytes());
}

/// Pseudo-random numbers (xorshift64), the same in every run.
pub(crate) struct Noise(u64);

impl Noise {
    pub(crate) fn new() -> Self {
        Self(0x9e37_79b9_7f4a_7c15)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// A number below `limit`.
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit.max(1) as u64) as usize
    }

    /// Shuffles a slice.
    pub(crate) fn shuffle<T>(&mut self, slice: &mut [T]) {
        for last in (1..slice.len()).rev() {
            slice.swap(last, self.below(last + 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use ringtap_wire::frame::{Payload, decode, link};
    use ringtap_wire::rtp::View;

    use super::*;

    #[test]
    fn media_is_what_it_should_be() {
        let mut frame = Vec::new();
        for (codec, bytes) in [(Codec::G711, 214), (Codec::G729, 74)] {
            rtp(&mut frame, codec, (4_321, Side::Callee), (7, 1_120), true, &mut Noise::new());
            advance(&mut frame, Headers::Plain, 3);
            assert_eq!(frame.len(), bytes);
            let packet = decode(link::ETHERNET, bytes as u32, &frame).unwrap();
            let Payload::Udp(udp) = packet.payload else { panic!("not UDP") };
            let (host, port) = media(4_321, Side::Callee);
            assert_eq!((packet.ip.src, udp.src_port), (host.into(), port));
            let view = View::parse(udp.data, udp.data.len()).unwrap();
            assert_eq!((view.sequence(), view.timestamp(), view.ssrc()), (10, 1_600, 8_643));
            assert_eq!((view.payload_type(), view.marker()), (codec.payload_type(), false));
            assert_eq!(view.payload_len(), codec.bytes());
        }
    }

    #[test]
    fn other_headers_are_what_they_should_be() {
        for headers in [Headers::Plain, Headers::Ipv6, Headers::Qinq, Headers::Cooked] {
            let mut frame = Vec::new();
            let call = (4_321, Side::Callee);
            rtp(&mut frame, Codec::G729, call, (7, 1_120), true, &mut Noise::new());
            headers.apply(&mut frame);
            advance(&mut frame, headers, 3);
            assert_eq!(frame.len(), headers.len() + RTP + 20, "{headers:?}");
            assert_eq!(frame[headers.protocol_byte()], 17);
            let packet = decode(headers.link().0, frame.len() as u32, &frame).unwrap();
            let Payload::Udp(udp) = packet.payload else { panic!("not UDP") };
            let (host, port) = media(call.0, call.1);
            assert_eq!((packet.ip.src, udp.src_port), (headers.host(host), port));
            let view = View::parse(udp.data, udp.data.len()).unwrap();
            assert_eq!((view.sequence(), view.payload_len(), udp.len), (10, 20, 32));
        }
    }
    #[test]
    fn no_two_calls_share_an_endpoint() {
        let ends: std::collections::HashSet<_> =
            (0..20_000).flat_map(|call| [media(call, Side::Caller), media(call, Side::Callee)]).collect();
        assert_eq!(ends.len(), 40_000);
        assert!(media(Load::MAX_CALLS, Side::Callee).0 < Ipv4Addr::new(198, 20, 0, 0));
        assert!(media(Load::MAX_CALLS, Side::Caller).0 < Ipv4Addr::new(198, 19, 0, 0));
    }

    use crate::load::Load;
}

//! UDP, TCP, SCTP and fragments.

use super::span::{Span, be16, be32};
use super::{DecodeError, Ip, Packet, Payload, tunnel};

/// A UDP datagram (RFC 768).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Udp<'a> {
    /// Source port.
    pub src_port: u16,
    /// Destination port.
    pub dst_port: u16,
    /// Captured payload.
    pub data: &'a [u8],
    /// Declared payload length; at least that of `data`.
    pub len: usize,
}

/// A TCP segment (RFC 9293 section 3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tcp<'a> {
    /// Source port.
    pub src_port: u16,
    /// Destination port.
    pub dst_port: u16,
    /// Sequence number of the first payload byte, or of SYN.
    pub seq: u32,
    /// Acknowledgement number.
    pub ack: u32,
    /// Control bits.
    pub flags: TcpFlags,
    /// Captured payload.
    pub data: &'a [u8],
    /// Declared payload length; at least that of `data`.
    pub len: usize,
}

/// Control bits of a TCP header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TcpFlags(pub u8);

impl TcpFlags {
    /// No more data from the sender.
    pub const fn fin(self) -> bool {
        self.0 & 0x01 != 0
    }

    /// Sequence numbers begin here.
    pub const fn syn(self) -> bool {
        self.0 & 0x02 != 0
    }

    /// The connection is gone.
    pub const fn rst(self) -> bool {
        self.0 & 0x04 != 0
    }

    /// Deliver at once.
    pub const fn psh(self) -> bool {
        self.0 & 0x08 != 0
    }

    /// The acknowledgement number counts.
    pub const fn ack(self) -> bool {
        self.0 & 0x10 != 0
    }
}

/// An SCTP packet (RFC 9260 section 3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sctp<'a> {
    /// Source port.
    pub src_port: u16,
    /// Destination port.
    pub dst_port: u16,
    /// Verification tag: distinguishes associations between the same ports.
    pub tag: u32,
    /// Captured chunks.
    pub chunks: &'a [u8],
}

impl<'a> Sctp<'a> {
    /// Its DATA chunks, in order. Ends at the first malformed chunk.
    pub const fn data_chunks(&self) -> SctpChunks<'a> {
        SctpChunks { rest: self.chunks }
    }
}

/// One DATA chunk (RFC 9260 section 3.3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SctpData<'a> {
    /// Transmission sequence number.
    pub tsn: u32,
    /// Stream identifier.
    pub stream: u16,
    /// Stream sequence number; meaningless if `unordered`.
    pub ssn: u16,
    /// Delivered without regard to `ssn`.
    pub unordered: bool,
    /// First fragment of a message.
    pub begin: bool,
    /// Last fragment of a message.
    pub end: bool,
    /// Payload protocol identifier.
    pub ppid: u32,
    /// Captured data.
    pub data: &'a [u8],
    /// Declared length of the data; at least that of `data`.
    pub len: usize,
}

/// Iterator over the DATA chunks of an SCTP packet.
#[derive(Clone, Debug)]
pub struct SctpChunks<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for SctpChunks<'a> {
    type Item = SctpData<'a>;

    fn next(&mut self) -> Option<Self::Item> {
        const DATA: u8 = 0;
        loop {
            let chunk = self.rest;
            let head = chunk.first_chunk::<4>()?;
            let len = usize::from(be16::<2, _>(head));
            if len < 4 {
                self.rest = &[];
                return None;
            }
            self.rest = chunk.get(len.next_multiple_of(4)..).unwrap_or(&[]);
            if head[0] != DATA {
                continue;
            }
            let (head, data) = chunk.split_first_chunk::<16>()?;
            let len = len.checked_sub(16)?;
            return Some(SctpData {
                tsn: be32::<4, _>(head),
                stream: be16::<8, _>(head),
                ssn: be16::<10, _>(head),
                unordered: head[1] & 0x04 != 0,
                begin: head[1] & 0x02 != 0,
                end: head[1] & 0x01 != 0,
                ppid: be32::<12, _>(head),
                data: data.get(..len).unwrap_or(data),
                len,
            });
        }
    }
}

/// A fragment of an IP datagram (RFC 791 section 3.2, RFC 8200 section 4.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fragment<'a> {
    /// Identification: 16 bits in IPv4, 32 in IPv6.
    pub id: u32,
    /// Offset of `data` in the datagram's payload, in bytes.
    pub offset: u32,
    /// More fragments follow.
    pub more: bool,
    /// Protocol of the whole payload.
    pub proto: u8,
    /// Captured bytes of the fragment.
    pub data: &'a [u8],
    /// Declared length of the fragment; at least that of `data`.
    pub len: usize,
}

/// A datagram, or the packet inside if port and content are those of a tunnel.
pub(super) fn udp<'a>(ip: Ip, body: Span<'a>, depth: u8) -> Result<Packet<'a>, DecodeError> {
    let (head, rest) = body.head::<8>()?;
    let rest = match usize::from(be16::<4, _>(head)) {
        // A jumbogram (RFC 2675 section 4) or segmentation offload: IP's length counts.
        0 => rest,
        1..8 => return Err(DecodeError::BadLength),
        len => rest.declare(len - 8),
    };
    let udp =
        Udp { src_port: be16::<0, _>(head), dst_port: be16::<2, _>(head), data: rest.data, len: rest.len };
    if (tunnel::is_port(udp.dst_port) || tunnel::is_port(udp.src_port))
        && let Some(inner) = tunnel::decode((udp.src_port, udp.dst_port), rest.resized(rest.len), depth)
    {
        return inner;
    }
    Ok(Packet { ip, depth, payload: Payload::Udp(udp) })
}

/// A segment. If the capture ends within its options, the payload is empty but its length is known.
pub(super) fn tcp(body: Span<'_>) -> Result<Tcp<'_>, DecodeError> {
    let (head, _) = body.head::<20>()?;
    let header_len = usize::from(head[12] >> 4) * 4;
    if header_len < 20 {
        return Err(DecodeError::BadLength);
    }
    let len = body.len.checked_sub(header_len).ok_or(DecodeError::BadLength)?;
    Ok(Tcp {
        src_port: be16::<0, _>(head),
        dst_port: be16::<2, _>(head),
        seq: be32::<4, _>(head),
        ack: be32::<8, _>(head),
        flags: TcpFlags(head[13]),
        data: body.data.get(header_len..).unwrap_or(&[]),
        len,
    })
}

/// The common header and the chunks after it.
pub(super) fn sctp(body: Span<'_>) -> Result<Sctp<'_>, DecodeError> {
    let (head, rest) = body.head::<12>()?;
    let (src_port, dst_port) = (be16::<0, _>(head), be16::<2, _>(head));
    Ok(Sctp { src_port, dst_port, tag: be32::<4, _>(head), chunks: rest.data })
}

#[cfg(test)]
mod tests {
    use super::super::sample::{ipv4, whole};
    use super::super::{decode, ip, link};
    use super::*;

    fn body(proto: u8, payload: &[u8]) -> Result<Payload<'static>, DecodeError> {
        let packet = ipv4(proto, payload).leak();
        whole(link::RAW, packet).map(|packet| packet.payload)
    }

    #[test]
    fn lengths_of_udp() {
        let with = |length: u8| {
            let body = body(ip::UDP, &[0x13, 0xc4, 0x13, 0xc5, 0, length, 0, 0, 1, 2, 3, 4]);
            body.map(|body| match body {
                Payload::Udp(udp) => (udp.src_port, udp.dst_port, udp.data.len(), udp.len),
                other => panic!("{other:?}"),
            })
        };
        assert_eq!(with(12), Ok((5060, 5061, 4, 4)));
        assert_eq!(with(10), Ok((5060, 5061, 2, 2)), "trailing bytes are not payload");
        assert_eq!(with(8), Ok((5060, 5061, 0, 0)));
        assert_eq!(with(0), Ok((5060, 5061, 4, 4)), "IP's length counts");
        assert_eq!(with(200), Ok((5060, 5061, 4, 4)), "no more than IP has");
        assert_eq!(with(7), Err(DecodeError::BadLength));
    }

    const SEGMENT: [u8; 28] = [
        0x13, 0xc4, 0xc3, 0x50, 0, 0, 0, 1, 0, 0, 0, 2, 0x60, 0x12, 1, 0, 0, 0, 0, 0, // fixed header
        2, 4, 5, 0xb4, b'p', b'i', b'n', b'g', // maximum segment size, payload
    ];

    #[test]
    fn segments() {
        let Ok(Payload::Tcp(tcp)) = body(ip::TCP, &SEGMENT) else { panic!() };
        assert_eq!((tcp.src_port, tcp.dst_port, tcp.seq, tcp.ack), (5060, 50000, 1, 2));
        assert_eq!((tcp.data, tcp.len), (&b"ping"[..], 4));
        let flags = tcp.flags;
        assert!(flags.syn() && flags.ack() && !flags.fin() && !flags.rst() && !flags.psh());
        assert!(TcpFlags(1).fin() && TcpFlags(4).rst() && TcpFlags(8).psh() && !TcpFlags(0xe0).ack());

        let mut bad = SEGMENT;
        bad[12] = 0x40;
        assert_eq!(body(ip::TCP, &bad), Err(DecodeError::BadLength));
        bad[12] = 0x80;
        assert_eq!(body(ip::TCP, &bad), Err(DecodeError::BadLength), "options beyond the packet");
        assert_eq!(body(ip::TCP, &SEGMENT[..19]), Err(DecodeError::BadLength));
    }

    #[test]
    fn a_segment_cut_in_its_options_keeps_its_length() {
        let packet = ipv4(ip::TCP, &SEGMENT);
        let cut = decode(link::RAW, 48, &packet[..42]).unwrap();
        let Payload::Tcp(tcp) = cut.payload else { panic!("{cut:?}") };
        assert_eq!((tcp.data, tcp.len), (&[][..], 4));
        assert_eq!(decode(link::RAW, 48, &packet[..39]), Err(DecodeError::Truncated));
    }

    #[test]
    fn chunks_of_sctp() {
        let packet = [
            &[0x13, 0xc4, 0x13, 0xc4, 0xca, 0xfe, 0, 1, 0, 0, 0, 0][..], // ports, tag, checksum
            &[3, 0, 0, 6, 1, 2, 0, 0],                                   // another chunk, padded
            &[0, 3, 0, 19, 0, 0, 0, 9, 0, 1, 0, 2, 0, 0, 0, 3, b'a', b'b', b'c', 0],
            &[0, 6, 0, 17, 0, 0, 0, 10, 0, 1, 0, 3, 0, 0, 0, 0, b'd', 0, 0, 0],
            &[0, 3, 0, 2],
        ]
        .concat();
        let Ok(Payload::Sctp(sctp)) = body(132, &packet) else { panic!() };
        assert_eq!((sctp.src_port, sctp.dst_port, sctp.tag), (5060, 5060, 0xcafe_0001));
        let whole = SctpData {
            tsn: 9,
            stream: 1,
            ssn: 2,
            unordered: false,
            begin: true,
            end: true,
            ppid: 3,
            data: b"abc",
            len: 3,
        };
        let first =
            SctpData { tsn: 10, ssn: 3, unordered: true, end: false, ppid: 0, data: b"d", len: 1, ..whole };
        assert_eq!(sctp.data_chunks().collect::<Vec<_>>(), [whole, first]);
        // Cut inside the first DATA chunk.
        let cut = Sctp { chunks: &sctp.chunks[..26], ..sctp };
        assert_eq!(cut.data_chunks().collect::<Vec<_>>(), [SctpData { data: b"ab", ..whole }]);
    }
}

//! UDP, TCP, SCTP and parts of datagrams.

use super::span::{Span, be16, be32};
use super::{Body, Ip, Packet, Skip, tunnel};

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
    /// Verification tag: tells associations between the same ports apart.
    pub tag: u32,
    /// Captured chunks.
    pub chunks: &'a [u8],
}

impl<'a> Sctp<'a> {
    /// Its DATA chunks, in order. Ends at the first chunk that does not hold together.
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
    /// Stream sequence number; without meaning where `unordered`.
    pub ssn: u16,
    /// Delivered without regard to `ssn`.
    pub unordered: bool,
    /// First part of a message.
    pub begin: bool,
    /// Last part of a message.
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

/// A part of a datagram that IP split (RFC 791 section 3.2, RFC 8200 section 4.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fragment<'a> {
    /// Identification: 16 bits in IPv4, 32 in IPv6.
    pub id: u32,
    /// Place of `data` in the datagram's payload, in bytes.
    pub offset: u32,
    /// Not the last part.
    pub more: bool,
    /// Protocol of the whole payload.
    pub proto: u8,
    /// Captured bytes of the part.
    pub data: &'a [u8],
    /// Declared length of the part; at least that of `data`.
    pub len: usize,
}

/// A datagram, or the packet inside where the port and the content are a tunnel's.
pub(super) fn udp<'a>(ip: Ip, body: Span<'a>, depth: u8) -> Result<Packet<'a>, Skip> {
    let (head, rest) = body.head::<8>()?;
    let rest = match usize::from(be16::<4, _>(head)) {
        // A jumbogram (RFC 2675 section 4) or segmentation offload: IP's length counts.
        0 => rest,
        1..8 => return Err(Skip::BadLength),
        len => rest.declare(len - 8),
    };
    let udp =
        Udp { src_port: be16::<0, _>(head), dst_port: be16::<2, _>(head), data: rest.data, len: rest.len };
    if (tunnel::is_port(udp.dst_port) || tunnel::is_port(udp.src_port))
        && let Some(inner) = tunnel::decode(&udp, depth)
    {
        return inner;
    }
    Ok(Packet { ip, depth, body: Body::Udp(udp) })
}

/// A segment; where the capture ends within its options the payload is empty and its length still known.
pub(super) fn tcp(body: Span<'_>) -> Result<Tcp<'_>, Skip> {
    let (head, _) = body.head::<20>()?;
    let header_len = usize::from(head[12] >> 4) * 4;
    if header_len < 20 {
        return Err(Skip::BadLength);
    }
    let len = body.len.checked_sub(header_len).ok_or(Skip::BadLength)?;
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

/// The common header and the chunks behind it.
pub(super) fn sctp(body: Span<'_>) -> Result<Sctp<'_>, Skip> {
    let (head, rest) = body.head::<12>()?;
    let (src_port, dst_port) = (be16::<0, _>(head), be16::<2, _>(head));
    Ok(Sctp { src_port, dst_port, tag: be32::<4, _>(head), chunks: rest.data })
}

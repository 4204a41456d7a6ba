//! Captured frames: link layer, tunnels, IP and transport in one decode.
//!
//! [`decode`] gives the innermost packet of a frame. Media is nearly always Ethernet, IPv4 and UDP: that
//! takes the fast path in this file; IPv6, two tags and captures of `any` have one in `usual`. All else is in
//! the files beside it, one per family of headers, and is `#[cold]`.
//!
//! Read: VLAN, service, VN and metadata tags, LLC/SNAP, MPLS with Ethernet pseudowires, PPPoE, PPP, NSH; IP
//! in IP, GRE (PPTP, NVGRE, ERSPAN), L2TP, VXLAN, Geneve, GTP-U, TZSP; ESP with the NULL cipher, where the
//! checksum inside confirms it. Not read: encrypted ESP; GTP-C and other control messages, which are given as
//! UDP.
//!
//! Lengths come in pairs: the length that headers declare, and the length that was captured. Captures with a
//! snap length are normal, and the RTP header of a truncated packet still counts. Checksums are not verified:
//! network cards compute them after the capture has seen the packet.
//!
//! ```
//! use ringtap_wire::frame::{Payload, decode, link};
//!
//! let frame = [
//!     0x02, 0, 0, 0, 0, 2, 0x02, 0, 0, 0, 0, 1, 0x08, 0x00, // Ethernet II, IPv4
//!     0x45, 0, 0, 30, 0, 1, 0, 0, 64, 17, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2, // IPv4, UDP
//!     0x13, 0xc4, 0x13, 0xc4, 0, 10, 0, 0, b'\r', b'\n', // UDP 5060 to 5060
//! ];
//! let packet = decode(link::ETHERNET, 44, &frame).expect("a whole packet");
//! assert_eq!(packet.ip.src.to_string(), "192.0.2.1");
//! let Payload::Udp(udp) = packet.payload else { panic!("not UDP") };
//! assert_eq!((udp.dst_port, udp.data), (5060, &b"\r\n"[..]));
//! ```

mod emit;
mod erf;
mod error;
mod esp;
mod ethernet;
mod gre;
mod ip;
mod l2tp;
pub mod link;
mod mpls;
mod nsh;
mod ppp;
#[cfg(test)]
mod sample;
mod span;
mod transport;
mod tunnel;
mod usual;
mod wifi;

use std::net::{IpAddr, Ipv4Addr};

pub use emit::udp_datagram;
pub use error::DecodeError;
pub use transport::{Fragment, Sctp, SctpChunks, SctpData, Tcp, TcpFlags, Udp};
pub use usual::{Hosts, UsualUdp, usual_hosts, usual_udp};

use span::{Span, be16, be32};

/// How deep tunnels may sit inside each other.
pub const MAX_DEPTH: u8 = 8;

/// The IP header of a packet, or of the innermost packet of a tunnel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ip {
    /// Source.
    pub src: IpAddr,
    /// Destination.
    pub dst: IpAddr,
    /// Protocol above IP and its extension headers (IANA protocol number).
    pub proto: u8,
    /// Bytes at the IP layer as declared, headers included; of a reassembled datagram, headers and whole
    /// payload.
    pub len: u32,
    /// Bytes of the IP header with its options or extension headers.
    pub header_len: u32,
    /// Identification of IPv4 (RFC 791 section 3.1): copies of a packet have the same. 0 says nothing: IPv6
    /// has none, and a packet that must not be fragmented need not have one (RFC 6864 section 4.1).
    pub id: u16,
    /// Offset of the header in the frame. Of a reassembled datagram, that in one of its fragments; of what is
    /// in a tunnel of it, that in its payload.
    pub at: u32,
}

/// One packet: addresses and what IP carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet<'a> {
    /// Innermost IP header.
    pub ip: Ip,
    /// How many tunnels it was in.
    pub depth: u8,
    /// What it carries.
    pub payload: Payload<'a>,
}

/// What an IP packet carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Payload<'a> {
    /// UDP that carries no tunnel: its port is not a tunnel's, or its content does not parse as that tunnel.
    Udp(Udp<'a>),
    /// TCP.
    Tcp(Tcp<'a>),
    /// SCTP.
    Sctp(Sctp<'a>),
    /// A fragment of a datagram. [`decode_payload`] continues once the datagram is whole.
    Fragment(Fragment<'a>),
    /// ICMP of either IP version. The packets that its errors quote are not traffic, so they are not decoded.
    Icmp,
    /// Another protocol, by its number.
    Other(u8),
}

/// Decodes one captured frame.
///
/// `link` is a LINKTYPE number of the pcap formats, `wire_len` the length that the capture declares
/// (untrusted).
///
/// # Errors
///
/// Why there is no packet.
// HOT: one call a frame.
#[inline]
pub fn decode(link: u16, wire_len: u32, data: &[u8]) -> Result<Packet<'_>, DecodeError> {
    if let Some(plain) = plain_udp(link, data) {
        // Told by where the datagram is: the fast path of media has no use for it.
        let datagram = plain.udp.data.as_ptr() as usize - data.as_ptr() as usize;
        return Ok(plain.packet(datagram.saturating_sub(IP_AND_UDP)));
    }
    link::decode(link, Span::new(data, wire_len as usize))
}

/// As [`decode`], and looks into no more than `deepest` tunnels: the packet that carries the next one. What
/// it carries is not told, only the number of its protocol.
///
/// # Errors
///
/// As [`decode`]; also where what is in the last of the tunnels is no IP packet, but another tunnel.
#[cold]
pub fn decode_outer(link: u16, wire_len: u32, data: &[u8], deepest: u8) -> Result<Packet<'_>, DecodeError> {
    link::decode(link, Span::new(data, wire_len as usize).no_deeper(deepest))
}

/// Continues above IP with the payload of a reassembled datagram: transport, tunnels, further extension
/// headers.
///
/// `ip` and `depth` are those of its fragments. The result's `ip.len` covers the whole datagram.
///
/// # Errors
///
/// As [`decode`].
pub fn decode_payload(ip: Ip, depth: u8, payload: &[u8]) -> Result<Packet<'_>, DecodeError> {
    decode_outer_payload(ip, depth, payload, u8::MAX)
}

/// As [`decode_payload`], as far as [`decode_outer`] goes.
///
/// # Errors
///
/// As [`decode_outer`].
pub fn decode_outer_payload(
    ip: Ip,
    depth: u8,
    payload: &[u8],
    deepest: u8,
) -> Result<Packet<'_>, DecodeError> {
    let declared = ip.len.saturating_sub(ip.header_len) as usize;
    let body = Span::new(payload, declared).no_deeper(deepest);
    let body = body.declare(body.len);
    let len = ip.header_len.saturating_add(u32::try_from(body.len).unwrap_or(u32::MAX));
    ip::extensions(Ip { len, ..ip }, body, depth)
}

/// The usual media packet: IPv4 without options, not fragmented, UDP on a port that no tunnel uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlainUdp<'a> {
    /// Source and destination address, in host byte order.
    pub src: u32,
    /// Destination.
    pub dst: u32,
    /// Bytes at the IP layer as declared.
    pub ip_len: u16,
    /// Identification, see [`Ip::id`].
    pub id: u16,
    /// The datagram.
    pub udp: Udp<'a>,
}

/// The fast path of [`decode`]: Ethernet II with at most one VLAN tag, IPv4 without options and not
/// fragmented, UDP on a port that no tunnel uses. `None` for everything else; [`decode`] says why.
// HOT: no allocation, no bounds check left; expected values are compared four bytes at a time.
#[inline]
pub fn plain_udp(link: u16, data: &[u8]) -> Option<PlainUdp<'_>> {
    if link != link::ETHERNET {
        return None;
    }
    let (mut head, mut payload) = data.split_first_chunk::<HEADERS>()?;
    if be16::<12, _>(head) == ethernet::VLAN {
        // What follows the tag has the same shape as what follows the addresses.
        (head, payload) = data.get(4..)?.split_first_chunk::<HEADERS>()?;
    }
    // EtherType, version and header length; flags and offset, of which all but "don't fragment" and the
    // reserved bit must be clear, and protocol.
    let usual = be32::<12, _>(head) & 0xffff_ff00 == u32::from(ethernet::IPV4) << 16 | 0x4500
        && be32::<20, _>(head) & 0x3fff_00ff == u32::from(ip::UDP);
    let (total, length) = (be16::<16, _>(head), be16::<38, _>(head));
    let ports = be32::<34, _>(head);
    let (src_port, dst_port) = ((ports >> 16) as u16, ports as u16);
    // So UDP's length is at least that of its header, and nothing follows the datagram.
    let whole = total >= 28 && total == length.wrapping_add(20);
    if !usual || !whole || tunnel::is_port(src_port) || tunnel::is_port(dst_port) {
        return None;
    }
    let len = usize::from(length - 8);
    let data = payload.get(..len).unwrap_or(payload);
    let udp = Udp { src_port, dst_port, data, len };
    let (src, dst, id) = (be32::<26, _>(head), be32::<30, _>(head), be16::<18, _>(head));
    Some(PlainUdp { src, dst, ip_len: total, id, udp })
}

/// TCP over IPv4, with the same values as [`decode`] gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlainTcp<'a> {
    /// Source address, in host byte order.
    pub src: u32,
    /// Destination.
    pub dst: u32,
    /// Source and destination port.
    pub ports: (u16, u16),
    /// Control bits.
    pub flags: TcpFlags,
    /// Captured payload.
    pub data: &'a [u8],
}

/// As [`plain_udp`], for TCP.
// HOT: most of the traffic of a mirror port besides media.
#[inline]
pub fn plain_tcp(link: u16, data: &[u8]) -> Option<PlainTcp<'_>> {
    if link != link::ETHERNET {
        return None;
    }
    let data =
        if be16::<12, _>(data.first_chunk::<HEADERS>()?) == ethernet::VLAN { data.get(4..)? } else { data };
    let head = data.first_chunk::<TCP_HEADERS>()?;
    let usual = be32::<12, _>(head) & 0xffff_ff00 == u32::from(ethernet::IPV4) << 16 | 0x4500
        && be32::<20, _>(head) & 0x3fff_00ff == u32::from(ip::TCP);
    let (total, header) = (usize::from(be16::<16, _>(head)), usize::from(head[46] >> 4) * 4);
    if !usual || header < 20 || total < 20 + header {
        return None;
    }
    let datagram = &data[14..];
    let datagram = datagram.get(..total).unwrap_or(datagram);
    Some(PlainTcp {
        src: be32::<26, _>(head),
        dst: be32::<30, _>(head),
        ports: (be16::<34, _>(head), be16::<36, _>(head)),
        flags: TcpFlags(head[47]),
        data: datagram.get(20 + header..).unwrap_or_default(),
    })
}

/// Bytes of Ethernet, IPv4 and TCP without tags and options.
const TCP_HEADERS: usize = 14 + 20 + 20;
/// Bytes of Ethernet, IPv4 and UDP without tags and options.
const HEADERS: usize = 14 + IP_AND_UDP;
/// Of those, without Ethernet.
const IP_AND_UDP: usize = 20 + 8;

impl<'a> PlainUdp<'a> {
    /// The packet as [`decode`] gives it, with the offset of its IP header.
    #[inline]
    fn packet(self, at: usize) -> Packet<'a> {
        let ip = Ip {
            src: IpAddr::V4(Ipv4Addr::from_bits(self.src)),
            dst: IpAddr::V4(Ipv4Addr::from_bits(self.dst)),
            proto: ip::UDP,
            len: u32::from(self.ip_len),
            header_len: 20,
            id: self.id,
            at: at as u32,
        };
        Packet { ip, depth: 0, payload: Payload::Udp(self.udp) }
    }
}

/// The depth inside one more tunnel.
fn deeper(depth: u8) -> Result<u8, DecodeError> {
    if depth < MAX_DEPTH { Ok(depth + 1) } else { Err(DecodeError::TooDeep) }
}

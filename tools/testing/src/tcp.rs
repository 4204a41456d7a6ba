//! Segments of TCP, laid out by hand.

use std::net::SocketAddrV4;

/// Flags of a segment that begins a connection, and of one that carries data.
pub const SYN: u8 = 2;
/// Of one that acknowledges.
pub const ACK: u8 = 16;

/// An IPv4 packet with a segment; its checksums are not computed.
pub fn segment(src: SocketAddrV4, dst: SocketAddrV4, seq: u32, flags: u8, data: &[u8]) -> Vec<u8> {
    let mut packet = vec![0x45, 0];
    packet.extend((40 + data.len() as u16).to_be_bytes());
    packet.extend([0, 1, 0, 0, 64, 6, 0, 0]);
    packet.extend([src.ip().octets(), dst.ip().octets()].concat());
    packet.extend([src.port().to_be_bytes(), dst.port().to_be_bytes()].concat());
    packet.extend(seq.to_be_bytes());
    packet.extend([0, 0, 0, 0, 0x50, flags, 0xff, 0xff, 0, 0, 0, 0]);
    packet.extend(data);
    packet
}

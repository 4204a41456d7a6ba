//! Builds frames around payloads, with a few addresses.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ringtap_model::Endpoint;

/// Hosts: some for signalling, some for media, two with IPv6, and the address of a party on hold.
pub(super) const HOSTS: [IpAddr; 8] = [
    IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)),
    IpAddr::V4(Ipv4Addr::new(192, 0, 2, 2)),
    IpAddr::V4(Ipv4Addr::new(192, 0, 2, 3)),
    IpAddr::V4(Ipv4Addr::new(198, 51, 100, 1)),
    IpAddr::V4(Ipv4Addr::new(198, 51, 100, 2)),
    IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1)),
    IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 2)),
    IpAddr::V4(Ipv4Addr::UNSPECIFIED),
];

/// Media ports.
pub(super) const PORTS: [u16; 4] = [10_000, 10_002, 20_000, 5060];

pub(super) fn endpoint(host: u8, port: u16) -> Endpoint {
    Endpoint::new(HOSTS[usize::from(host & 7)], port)
}

/// A UDP header and its payload.
pub(super) fn udp(src: Endpoint, dst: Endpoint, payload: &[u8]) -> Vec<u8> {
    let len = (payload.len() + 8).min(0xffff) as u16;
    [&src.port.to_be_bytes()[..], &dst.port.to_be_bytes(), &len.to_be_bytes(), &[0, 0], payload].concat()
}

/// A TCP header without options and its payload.
pub(super) fn tcp(src: Endpoint, dst: Endpoint, seq: u32, flags: u8, payload: &[u8]) -> Vec<u8> {
    let ports = [src.port.to_be_bytes(), dst.port.to_be_bytes()].concat();
    [&ports[..], &seq.to_be_bytes(), &[0; 4], &[0x50, flags, 0x20, 0, 0, 0, 0, 0], payload].concat()
}

/// An SCTP header and one DATA chunk; bit 1 of the flags begins a message, bit 0 ends it.
pub(super) fn sctp(src: Endpoint, dst: Endpoint, tsn: u32, flags: u8, payload: &[u8]) -> Vec<u8> {
    let ports = [src.port.to_be_bytes(), dst.port.to_be_bytes()].concat();
    let len = (payload.len() + 16).min(0xffff) as u16;
    let mut packet = [&ports[..], &[0, 0, 0, 1, 0, 0, 0, 0, 0, flags], &len.to_be_bytes()].concat();
    packet.extend([&tsn.to_be_bytes()[..], &[0; 8], payload].concat());
    packet
}

/// A whole Ethernet frame; both addresses have the family of `src`.
pub(super) fn frame(src: IpAddr, dst: IpAddr, proto: u8, payload: &[u8]) -> Vec<u8> {
    ip(src, dst, proto, payload, None)
}

/// The frame in fragments of `size` bytes, a multiple of 8.
pub(super) fn fragments(
    src: IpAddr,
    dst: IpAddr,
    proto: u8,
    payload: &[u8],
    id: u16,
    size: usize,
) -> Vec<Vec<u8>> {
    let count = payload.len().div_ceil(size);
    let part = |(index, part)| ip(src, dst, proto, part, Some((id, index * size, index + 1 < count)));
    payload.chunks(size).enumerate().map(part).collect()
}

type Part = (u16, usize, bool);

fn ip(src: IpAddr, dst: IpAddr, proto: u8, payload: &[u8], part: Option<Part>) -> Vec<u8> {
    let ethernet = |kind: [u8; 2]| [&[2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1][..], &kind].concat();
    match (src, dst) {
        (IpAddr::V4(src), IpAddr::V4(dst)) => {
            let (id, offset, more) = part.unwrap_or_default();
            let field = (offset / 8) as u16 | u16::from(more) << 13;
            let len = (payload.len() + 20).min(0xffff) as u16;
            let head = [&[0x45, 0][..], &len.to_be_bytes(), &id.to_be_bytes(), &field.to_be_bytes()].concat();
            let tail = [&[64, proto, 0, 0][..], &src.octets(), &dst.octets(), payload].concat();
            [ethernet([8, 0]), head, tail].concat()
        }
        _ => {
            let extension = part.map_or(Vec::new(), |(id, offset, more)| {
                let field = (offset as u16 & 0xfff8) | u16::from(more);
                [&[proto, 0][..], &field.to_be_bytes(), &[0, 0], &id.to_be_bytes()].concat()
            });
            let next = if part.is_some() { 44 } else { proto };
            let len = (payload.len() + extension.len()).min(0xffff) as u16;
            let head = [&[0x60, 0, 0, 0][..], &len.to_be_bytes(), &[next, 64], &v6(src), &v6(dst)].concat();
            [ethernet([0x86, 0xdd]), head, extension, payload.to_vec()].concat()
        }
    }
}

fn v6(address: IpAddr) -> [u8; 16] {
    match address {
        IpAddr::V4(address) => address.to_ipv6_mapped().octets(),
        IpAddr::V6(address) => address.octets(),
    }
}

/// A HEP packet with a SIP message between two IPv4 or IPv6 endpoints.
pub(super) fn hep(src: Endpoint, dst: Endpoint, payload: &[u8]) -> Vec<u8> {
    let mut chunks = Vec::new();
    let mut chunk = |kind: u8, content: &[u8]| {
        let len = (content.len() + 6).min(0xffff) as u16;
        chunks.extend([&[0, 0, 0, kind][..], &len.to_be_bytes(), content].concat());
    };
    match (src.ip, dst.ip) {
        (IpAddr::V4(src), IpAddr::V4(dst)) => {
            chunk(3, &src.octets());
            chunk(4, &dst.octets());
        }
        (src, dst) => {
            chunk(5, &v6(src));
            chunk(6, &v6(dst));
        }
    }
    chunk(7, &src.port.to_be_bytes());
    chunk(8, &dst.port.to_be_bytes());
    chunk(11, &[1]);
    chunk(15, payload);
    let len = (chunks.len() + 6).min(0xffff) as u16;
    [&b"HEP3"[..], &len.to_be_bytes(), &chunks].concat()
}

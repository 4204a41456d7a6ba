//! A message that came in parts, or by a way that is not at hand any more, as the datagram that it could have been.

use std::net::IpAddr;

use ringtap_model::Endpoint;

/// RFC 768.
const UDP_HEADER: usize = 8;
/// RFC 791, RFC 8200.
const IPV4_HEADER: usize = 20;
const IPV6_HEADER: usize = 40;

/// From the IP header on. None where the message is longer than a datagram can be.
pub(crate) fn datagram(src: Endpoint, dst: Endpoint, message: &[u8]) -> Option<Vec<u8>> {
    let length = u16::try_from(UDP_HEADER + message.len()).ok()?;
    let mut data = Vec::with_capacity(IPV6_HEADER + UDP_HEADER + message.len());
    match (src.ip, dst.ip) {
        (IpAddr::V4(src), IpAddr::V4(dst)) => {
            let total = length.checked_add(IPV4_HEADER as u16)?;
            data.extend([0x45, 0]);
            data.extend(total.to_be_bytes());
            data.extend([0, 0, 0x40, 0, 64, 17, 0, 0]);
            data.extend(src.octets());
            data.extend(dst.octets());
            let sum = checksum(&data);
            data[10..12].copy_from_slice(&sum.to_be_bytes());
        }
        (src, dst) => {
            let wide = |ip| match ip {
                IpAddr::V4(ip) => ip.to_ipv6_mapped(),
                IpAddr::V6(ip) => ip,
            };
            data.extend([0x60, 0, 0, 0]);
            data.extend(length.to_be_bytes());
            data.extend([17, 64]);
            data.extend(wide(src).octets());
            data.extend(wide(dst).octets());
        }
    }
    data.extend(src.port.to_be_bytes());
    data.extend(dst.port.to_be_bytes());
    data.extend(length.to_be_bytes());
    // RFC 768: zero is no checksum.
    data.extend([0, 0]);
    data.extend(message);
    Some(data)
}

/// RFC 1071.
fn checksum(header: &[u8]) -> u16 {
    let sum: u32 = header.chunks_exact(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]]))).sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    !((folded & 0xffff) + (folded >> 16)) as u16
}

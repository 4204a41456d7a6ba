//! UDP datagrams made here: for a message whose own packets are incomplete or gone.

use std::net::IpAddr;

/// RFC 768.
const UDP_HEADER: usize = 8;
/// RFC 791, RFC 8200.
const IPV4_HEADER: usize = 20;
const IPV6_HEADER: usize = 40;

/// `payload` as a UDP datagram between two addresses and ports, from the IP header on, with valid checksums.
/// None if `payload` is longer than a datagram can be. Where only one address is IPv4, it is mapped into
/// IPv6.
pub fn udp_datagram(src: (IpAddr, u16), dst: (IpAddr, u16), payload: &[u8]) -> Option<Vec<u8>> {
    let length = u16::try_from(UDP_HEADER + payload.len()).ok()?;
    let is_v4 = src.0.is_ipv4() && dst.0.is_ipv4();
    let mut data = Vec::with_capacity(IPV6_HEADER + UDP_HEADER + payload.len());
    match (src.0, dst.0) {
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
    data.extend(src.1.to_be_bytes());
    data.extend(dst.1.to_be_bytes());
    data.extend(length.to_be_bytes());
    // RFC 768: zero is no checksum. RFC 8200 section 8.1 wants one over IPv6.
    data.extend([0, 0]);
    data.extend(payload);
    if !is_v4 {
        // The pseudo-header: addresses, length, protocol.
        let pseudo = [&data[8..IPV6_HEADER], &length.to_be_bytes(), &[0, 17]].concat();
        let sum = match checksum(&[&pseudo, &data[IPV6_HEADER..]].concat()) {
            0 => 0xffff,
            sum => sum,
        };
        data[IPV6_HEADER + 6..IPV6_HEADER + 8].copy_from_slice(&sum.to_be_bytes());
    }
    Some(data)
}

/// RFC 1071.
fn checksum(bytes: &[u8]) -> u16 {
    let words =
        bytes.chunks(2).map(|pair| u32::from(pair[0]) << 8 | pair.get(1).map_or(0, |low| u32::from(*low)));
    let sum: u32 = words.sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    !((folded & 0xffff) + (folded >> 16)) as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_add_up() {
        let end = |ip: &str| (ip.parse::<IpAddr>().unwrap(), 5060);
        // With the field in place the sum over all that it covers is all ones (RFC 1071 section 1).
        let v4 = udp_datagram(end("192.0.2.1"), end("198.51.100.1"), b"odd").unwrap();
        assert_eq!(checksum(&v4[..20]), 0);
        assert_eq!(v4[26..28], [0, 0]);
        for message in [&b"odd"[..], b"even"] {
            let v6 = udp_datagram(end("2001:db8::1"), end("2001:db8::2"), message).unwrap();
            let pseudo = [&v6[8..40], &v6[4..6], &[0, 17]].concat();
            assert_eq!(checksum(&[&pseudo, &v6[40..]].concat()), 0);
            assert_ne!(v6[46..48], [0, 0]);
        }
    }
}

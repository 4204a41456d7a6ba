//! ESP with the NULL cipher (RFC 4303, RFC 2410), which IMS phones use where only integrity is wanted (3GPP
//! TS 33.203).
//!
//! Nothing in the packet says that it is not encrypted. It is accepted if padding, next header and the
//! checksum of the UDP or TCP inside are all correct: by chance that happens once in some ten million
//! packets.

use std::net::IpAddr;

use super::ip::{TCP, UDP, upper};
use super::span::Span;
use super::{Ip, Packet};

/// Encapsulating Security Payload.
pub(super) const ESP: u8 = 50;
/// Security parameters index and sequence number.
const HEADER: usize = 8;
/// Integrity check values in use: HMAC-MD5-96 and HMAC-SHA-1-96, HMAC-SHA-256-128, none.
const ICVS: [usize; 3] = [12, 16, 0];

/// The packet inside, if it can be read.
#[cold]
pub(super) fn null(ip: Ip, body: Span<'_>, depth: u8) -> Option<Packet<'_>> {
    if body.data.len() != body.len {
        // The trailer was not captured.
        return None;
    }
    ICVS.into_iter().find_map(|icv| {
        let end = body.len.checked_sub(icv)?;
        let (payload, next) = payload(body.data.get(HEADER..end)?)?;
        if !checksum_holds(&ip, next, payload) {
            return None;
        }
        let ip = Ip { proto: next, header_len: ip.header_len.saturating_add(HEADER as u32), ..ip };
        let payload = body.skip(HEADER).ok()?.declare(payload.len()).resized(payload.len());
        upper(ip, payload, depth).ok()
    })
}

/// RFC 4303 section 2.4: padding counts up from 1, then its length, then the next header, on a four-byte
/// boundary.
fn payload(sealed: &[u8]) -> Option<(&[u8], u8)> {
    let (&[pad, next], rest) = sealed.split_last_chunk::<2>().map(|(rest, trailer)| (trailer, rest))?;
    let (payload, padding) = rest.split_at_checked(rest.len().checked_sub(usize::from(pad))?)?;
    let counts = padding.iter().zip(1..).all(|(&byte, count)| byte == count);
    (counts && sealed.len().is_multiple_of(4) && matches!(next, TCP | UDP)).then_some((payload, next))
}

/// UDP's and TCP's checksum with the pseudo header (RFC 9293 section 3.1, RFC 8200 section 8.1).
fn checksum_holds(ip: &Ip, proto: u8, payload: &[u8]) -> bool {
    let mut sum = u64::from(proto) + payload.len() as u64;
    let mut add = |bytes: &[u8]| {
        let (words, odd) = bytes.as_chunks::<2>();
        sum += words.iter().map(|word| u64::from(u16::from_be_bytes(*word))).sum::<u64>();
        sum += odd.first().map_or(0, |&byte| u64::from(byte) << 8);
    };
    for address in [ip.src, ip.dst] {
        match address {
            IpAddr::V4(address) => add(&address.octets()),
            IpAddr::V6(address) => add(&address.octets()),
        }
    }
    add(payload);
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    payload.len() >= 8 && sum == 0xffff
}

#[cfg(test)]
mod tests {
    use super::super::sample::{ipv4, whole};
    use super::super::{DecodeError, Payload, Udp, link};
    use super::*;

    /// UDP from 192.0.2.1:5060 to 192.0.2.2:5060 with "ping"; its checksum is worked out here.
    fn sealed(icv: usize) -> Vec<u8> {
        let mut udp = vec![0x13, 0xc4, 0x13, 0xc4, 0, 12, 0, 0, b'p', b'i', b'n', b'g'];
        let packet = ipv4(UDP, &udp);
        let words = packet[12..20]
            .chunks(2)
            .chain(udp.chunks(2))
            .map(|word| u32::from(word[0]) << 8 | u32::from(word[1]));
        let sum: u32 = words.sum::<u32>() + u32::from(UDP) + 12;
        let sum = !((sum & 0xffff) + (sum >> 16)) as u16;
        udp[6..8].copy_from_slice(&sum.to_be_bytes());
        let mut esp = vec![0, 0, 0x10, 1, 0, 0, 0, 7];
        esp.extend(udp);
        esp.extend([1, 2, 2, UDP]);
        esp.extend(std::iter::repeat_n(0xa5, icv));
        ipv4(ESP, &esp)
    }

    #[test]
    fn null_encryption_is_read() {
        for icv in ICVS {
            let packet = sealed(icv);
            let got = whole(link::RAW, &packet).unwrap();
            assert_eq!(
                got.payload,
                Payload::Udp(Udp { src_port: 5060, dst_port: 5060, data: b"ping", len: 4 }),
                "icv {icv}"
            );
            assert_eq!((got.ip.proto, got.ip.header_len), (UDP, 28));
        }
    }

    #[test]
    fn anything_else_stays_sealed() {
        let packet = sealed(12);
        for at in 28..packet.len() - 12 {
            let mut damaged = packet.clone();
            damaged[at] ^= 0x40;
            let got = whole(link::RAW, &damaged);
            assert_eq!(
                got.map(|packet| packet.payload),
                Ok::<_, DecodeError>(Payload::Other(ESP)),
                "byte {at}"
            );
        }
    }
}

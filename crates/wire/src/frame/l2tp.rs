//! L2TP: version 2 with PPP (RFC 2661), version 3 over UDP and over IP (RFC 3931).

use super::span::{Span, be16, be32};
use super::{DecodeError, Packet, deeper, ethernet, ip, ppp};

const CONTROL: u16 = 0x8000;
const LENGTH: u16 = 0x4000;
const SEQUENCE: u16 = 0x0800;
const OFFSET: u16 = 0x0200;
const VERSION: u16 = 0x000f;
/// Bits that RFC 2661 section 3.1 reserves.
const RESERVED: u16 = 0x34f0;

/// The payload of UDP port 1701. Control messages carry no packet.
pub(super) fn over_udp(content: Span<'_>, depth: u8) -> Result<Packet<'_>, DecodeError> {
    let (head, rest) = content.head::<2>().map_err(|_| DecodeError::BadTunnel)?;
    let flags = be16::<0, _>(head);
    if flags & (CONTROL | RESERVED) != 0 {
        return Err(DecodeError::BadTunnel);
    }
    match flags & VERSION {
        2 => version2(flags, content, rest, depth),
        // RFC 3931 section 4.1.2.1: reserved, then the session header.
        3 if flags == 3 => {
            let (reserved, rest) = rest.head::<2>()?;
            if *reserved == [0, 0] { session(rest, depth) } else { Err(DecodeError::BadTunnel) }
        }
        _ => Err(DecodeError::BadTunnel),
    }
}

/// RFC 2661 section 3.1: optional length, tunnel and session, optional sequence numbers, optional offset,
/// PPP.
fn version2<'a>(
    flags: u16,
    content: Span<'a>,
    mut rest: Span<'a>,
    depth: u8,
) -> Result<Packet<'a>, DecodeError> {
    if flags & LENGTH != 0 {
        let (field, after) = rest.head::<2>()?;
        // The length counts from the flags on.
        let len = usize::from(be16::<0, _>(field));
        if len > content.len {
            return Err(DecodeError::BadTunnel);
        }
        rest = after.declare(len.checked_sub(4).ok_or(DecodeError::BadTunnel)?);
    }
    rest = rest.skip(4)?;
    if flags & SEQUENCE != 0 {
        rest = rest.skip(4)?;
    }
    if flags & OFFSET != 0 {
        let (field, after) = rest.head::<2>()?;
        rest = after.skip(usize::from(be16::<0, _>(field)))?;
    }
    ppp::decode(rest, deeper(depth)?)
}

/// The payload of IP protocol 115 (RFC 3931 section 4.1.1). Session 0 is a control message.
pub(super) fn over_ip(content: Span<'_>, depth: u8) -> Result<Packet<'_>, DecodeError> {
    session(content, depth)
}

/// Session identifier, cookie, sublayer, payload. The lengths of cookie and sublayer and the type of the
/// payload were negotiated in control messages, so each length is tried (RFC 3931 sections 4.1 and 4.6) and
/// accepted if a valid IP packet follows, checksum included.
fn session(content: Span<'_>, depth: u8) -> Result<Packet<'_>, DecodeError> {
    let (id, rest) = content.head::<4>()?;
    if be32::<0, _>(id) == 0 {
        return Err(DecodeError::BadTunnel);
    }
    for skipped in [0, 4, 8, 12] {
        let Ok(payload) = rest.skip(skipped) else { break };
        if ethernet::sound(payload) {
            return ethernet::decode(payload, deeper(depth)?);
        }
        if ip::sound(payload) {
            return ip::either(payload, deeper(depth)?);
        }
        if let Some([0xff, 0x03, 0, 0x21 | 0x57]) = payload.peek::<4>()
            && ip::sound(payload.skip(4)?)
        {
            return ppp::decode(payload, deeper(depth)?);
        }
    }
    Err(DecodeError::BadTunnel)
}

#[cfg(test)]
mod tests {
    use super::super::sample::{INNER, INNER_V6, ethernet as frame, inner, ipv4, udp_to, whole};
    use super::super::{Payload, link};
    use super::*;

    fn check(parts: &[&[u8]], expected: Option<Packet<'_>>) {
        let packet = udp_to(1701, &parts.concat());
        match (whole(link::ETHERNET, &packet), expected) {
            (found, Some(_)) => assert_eq!(found.ok(), expected, "{parts:x?}"),
            (found, None) => {
                let found = found.unwrap();
                assert!(found.depth == 0 && matches!(found.payload, Payload::Udp(_)), "{parts:x?}");
            }
        }
    }

    #[test]
    fn version_2_with_every_option() {
        let ppp = [&[0xff, 3, 0, 0x21][..], &INNER].concat();
        check(&[&[0, 2, 0, 1, 0, 2], &ppp], Some(inner(1, false)));
        check(&[&[0x40, 2, 0, 44, 0, 1, 0, 2], &ppp], Some(inner(1, false)));
        check(&[&[0x48, 2, 0, 48, 0, 1, 0, 2, 0, 1, 0, 0], &ppp], Some(inner(1, false)));
        check(&[&[0x4b, 2, 0, 52, 0, 1, 0, 2, 0, 1, 0, 0, 0, 2, 9, 9], &ppp], Some(inner(1, false)));
        check(&[&[0, 2, 0, 1, 0, 2, 0x57], &INNER_V6], Some(inner(1, true)));
    }

    #[test]
    fn what_carries_no_packet() {
        check(&[&[0xc8, 2, 0, 12, 0, 1, 0, 0, 0, 1, 0, 1]], None); // control
        check(&[&[0x40, 2, 0, 200, 0, 1, 0, 2, 0, 0x21], &INNER], None); // longer than the datagram
        check(&[&[0, 0x12, 0, 1, 0, 2, 0, 0x21], &INNER], None); // a reserved bit
        check(&[&[0x80, 0, 0, 1, 0, 0, 0, 160, 1, 2, 3, 4], &[0xff; 160]], None); // RTP
        check(&[&[0]], None);
    }

    #[test]
    fn version_3_with_any_cookie_and_sublayer() {
        let ethernet = frame(0x8100, &[&[0, 5, 8, 0][..], &INNER].concat());
        let ppp = [&[0xff, 3, 0, 0x21][..], &INNER].concat();
        let header = [0, 3, 0, 0, 0xca, 0xfe, 0, 1];
        for skipped in [&[][..], &[0xaa; 4], &[0xbb; 8], &[0xcc; 12]] {
            for payload in [&ethernet[..], &INNER, &ppp] {
                check(&[&header, skipped, payload], Some(inner(1, false)));
                let over_ip = ipv4(115, &[&header[4..], skipped, payload].concat());
                assert_eq!(whole(link::RAW, &over_ip), Ok(inner(1, false)));
            }
        }
        let mut broken = INNER;
        broken[11] ^= 1;
        check(&[&header, &broken], None);
        check(&[&[0, 3, 0, 1, 0xca, 0xfe, 0, 1], &INNER], None);
    }

    #[test]
    fn version_3_over_ip_that_cannot_be_told() {
        for payload in [&[0; 40][..], &[0, 0, 0, 1], &[1, 2, 3]] {
            let packet = ipv4(115, payload);
            assert_eq!(whole(link::RAW, &packet).map(|packet| packet.payload), Ok(Payload::Other(115)));
        }
    }
}

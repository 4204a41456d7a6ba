//! PPP (RFC 1661, RFC 1662), PPPoE sessions (RFC 2516) and Cisco's HDLC.

use super::span::{Span, be16};
use super::{DecodeError, Packet, ethernet, ip, mpls};

/// A PPP frame, with or without address and control field, from the protocol field on.
pub(super) fn decode(frame: Span<'_>, depth: u8) -> Result<Packet<'_>, DecodeError> {
    let frame = match frame.peek::<2>() {
        Some([0xff, 0x03]) => frame.skip(2)?,
        _ => frame,
    };
    // Protocol field compression (RFC 1661 section 6.5): the last octet is odd, all before it are even.
    let [first] = *frame.head::<1>()?.0;
    let (protocol, rest) = if first & 1 == 1 {
        (u16::from(first), frame.skip(1)?)
    } else {
        let (head, rest) = frame.head::<2>()?;
        (be16::<0, _>(head), rest)
    };
    match protocol {
        0x0021 => ip::v4(rest, depth),
        0x0057 => ip::v6(rest, depth),
        0x0281 | 0x0283 => mpls::decode(rest, depth),
        _ => Err(DecodeError::NotIp),
    }
}

/// What follows the EtherType 0x8864: version and type, code, session, length (RFC 2516 section 4).
pub(super) fn over_ethernet(rest: Span<'_>, depth: u8) -> Result<Packet<'_>, DecodeError> {
    let (head, rest) = rest.head::<6>()?;
    match (head[0], head[1]) {
        (0x11, 0) => decode(rest.declare(usize::from(be16::<4, _>(head))), depth),
        (0x11, _) => Err(DecodeError::NotIp),
        _ => Err(DecodeError::BadTunnel),
    }
}

/// PPP or Cisco's HDLC on a serial line; the first octet tells them apart.
pub(super) fn serial(frame: Span<'_>, depth: u8) -> Result<Packet<'_>, DecodeError> {
    match frame.peek::<4>() {
        // Cisco's HDLC: unicast or multicast, control 0, EtherType.
        Some(&[0x0f | 0x8f, 0, high, low]) => {
            ethernet::ether_type(u16::from_be_bytes([high, low]), frame.skip(4)?, depth)
        }
        _ => decode(frame, depth),
    }
}

#[cfg(test)]
mod tests {
    use super::super::link;
    use super::super::sample::{INNER, INNER_V6, inner, whole};
    use super::*;

    fn check(link: u16, header: &[u8], v6: bool) {
        let frame = [header, if v6 { &INNER_V6[..] } else { &INNER }].concat();
        assert_eq!(whole(link, &frame), Ok(inner(0, v6)), "{header:x?}");
    }

    #[test]
    fn protocols_with_and_without_compression() {
        check(link::PPP, &[0, 0x21], false);
        check(link::PPP, &[0x21], false);
        check(link::PPP, &[0xff, 3, 0, 0x21], false);
        check(link::PPP, &[0xff, 3, 0x57], true);
        check(link::PPP, &[2, 0x81, 0, 1, 1, 64], false);
        assert_eq!(
            whole(link::PPP, &[0xff, 3, 0xc0, 0x21, 1, 1, 0, 4]),
            Err(DecodeError::NotIp),
            "link control"
        );
        assert_eq!(whole(link::PPP, &[0xff, 3]), Err(DecodeError::BadLength));
    }

    #[test]
    fn sessions_over_ethernet() {
        check(link::PPPOE, &[0x11, 0, 0, 1, 0, 34, 0, 0x21], false);
        let frame = |head: [u8; 2]| [&head[..], &[0, 1, 0, 34, 0, 0x21], &INNER].concat();
        assert_eq!(whole(link::PPPOE, &frame([0x11, 9])), Err(DecodeError::NotIp), "discovery");
        assert_eq!(whole(link::PPPOE, &frame([0x21, 0])), Err(DecodeError::BadTunnel));
        // IP claims more than the session's frame holds: the outer length counts.
        let short = [&[0x11, 0, 0, 1, 0, 32, 0, 0x21][..], &INNER].concat();
        let packet = whole(link::PPPOE, &short).unwrap();
        assert_eq!(packet.ip.len, 30);
    }

    #[test]
    fn serial_lines() {
        check(link::C_HDLC, &[0x0f, 0, 8, 0], false);
        check(link::PPP_HDLC, &[0x8f, 0, 0x86, 0xdd], true);
        check(link::PPP_HDLC, &[0xff, 3, 0, 0x21], false);
    }
}

//! MPLS label stacks (RFC 3032), which do not name their payload: it is recognised by its content.

use super::span::Span;
use super::{DecodeError, Packet, deeper, ethernet, ip};

/// Labels in a row; a handful is usual.
const MAX_LABELS: usize = 16;

/// Decodes from the first label stack entry on.
pub(super) fn decode(mut stack: Span<'_>, depth: u8) -> Result<Packet<'_>, DecodeError> {
    for _ in 0..MAX_LABELS {
        let (entry, rest) = stack.head::<4>()?;
        if entry[2] & 1 == 1 {
            return payload(rest, depth);
        }
        stack = rest;
    }
    Err(DecodeError::TooDeep)
}

/// The first four bits tell IP; 0 begins a control word (RFC 4385 section 3), 1 an associated channel. The
/// rest is an Ethernet pseudowire (RFC 4448), accepted only if a valid packet is inside. MAC addresses that
/// begin with 4 or 6 look like IP, which is known to confuse load balancing (RFC 4928): both readings are
/// checked.
fn payload(rest: Span<'_>, depth: u8) -> Result<Packet<'_>, DecodeError> {
    let [first] = *rest.head::<1>()?.0;
    let ip = matches!(first >> 4, 4 | 6);
    if ip && (ip::sound(rest) || !ethernet::sound(rest)) {
        return ip::either(rest, depth);
    }
    if first >> 4 == 0
        && let Ok(frame) = rest.skip(4)
        && ethernet::sound(frame)
    {
        return ethernet::decode(frame, deeper(depth)?);
    }
    if ethernet::sound(rest) { ethernet::decode(rest, deeper(depth)?) } else { Err(DecodeError::NotIp) }
}

#[cfg(test)]
mod tests {
    use super::super::link;
    use super::super::sample::{INNER, INNER_V6, ethernet, inner, whole};
    use super::*;

    const LABEL: [u8; 4] = [0, 1, 0, 64];
    const BOTTOM: [u8; 4] = [0, 2, 1, 64];

    fn check(parts: &[&[u8]], expected: Result<Packet<'_>, DecodeError>) {
        assert_eq!(whole(link::MPLS, &parts.concat()), expected, "{parts:x?}");
    }

    #[test]
    fn ip_is_told_by_its_version() {
        check(&[&BOTTOM, &INNER], Ok(inner(0, false)));
        check(&[&LABEL, &LABEL, &BOTTOM, &INNER_V6], Ok(inner(0, true)));
        check(&[&LABEL.repeat(MAX_LABELS - 1), &BOTTOM, &INNER], Ok(inner(0, false)));
        check(&[&LABEL.repeat(MAX_LABELS), &BOTTOM, &INNER], Err(DecodeError::TooDeep));
        check(&[&LABEL], Err(DecodeError::BadLength));
    }

    #[test]
    fn pseudowires() {
        let frame = ethernet(0x0800, &INNER);
        check(&[&BOTTOM, &frame], Ok(inner(1, false)));
        check(&[&BOTTOM, &[0, 0, 0, 0], &frame], Ok(inner(1, false)));
        check(&[&BOTTOM, &[0, 0, 0x12, 0x34], &frame], Ok(inner(1, false)));
        for first in [0x00, 0x45, 0x46, 0x64, 0xf0] {
            let mut frame = frame.clone();
            frame[0] = first;
            check(&[&BOTTOM, &frame], Ok(inner(1, false)));
        }
        // A packet from 136.71.2.1 has the EtherType of MPLS where a frame would; one whose checksum is wrong
        // is IP still.
        let mut packet = INNER;
        packet[10..14].copy_from_slice(&[0x2e, 0x82, 0x88, 0x47]);
        assert!(ip::sound(Span::new(&packet, 32)) && ethernet::sound(Span::new(&packet, 32)));
        let found = [&BOTTOM[..], &packet].concat();
        let found = whole(link::MPLS, &found).map(|packet| (packet.ip.src.to_string(), packet.depth));
        assert_eq!(found, Ok((String::from("136.71.2.1"), 0)));
        let mut packet = INNER;
        packet[10] = 0;
        check(&[&BOTTOM, &packet], Ok(inner(0, false)));
        check(&[&BOTTOM, &[0x10, 0, 0, 7], &[0; 30]], Err(DecodeError::NotIp));
        check(&[&BOTTOM, &ethernet(0x0806, &[0; 46])], Err(DecodeError::NotIp));
    }
}

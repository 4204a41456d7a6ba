//! Endace's Extensible Record Format, for capture files that hold whole ERF records.

use super::span::{Span, be16};
use super::{DecodeError, Packet, ethernet, ip, ppp};

/// Timestamp (8 bytes), type, flags, record length, loss counter, wire length; then extension headers of 8
/// bytes each while the first bit of the type, then of each of them, says that another follows.
pub(super) fn decode(record: Span<'_>) -> Result<Packet<'_>, DecodeError> {
    const MORE: u8 = 0x80;
    const MAX_EXTENSIONS: usize = 16;
    let (head, mut rest) = record.head::<16>()?;
    let mut more = head[8];
    for _ in 0..MAX_EXTENSIONS {
        if more & MORE == 0 {
            break;
        }
        let (extension, after) = rest.head::<8>()?;
        (more, rest) = (extension[0], after);
    }
    if more & MORE != 0 {
        return Err(DecodeError::TooDeep);
    }
    let wire_len = usize::from(be16::<14, _>(head));
    match head[8] & !MORE {
        // Ethernet, with colours and hashes in place of the loss counter; two bytes of padding follow.
        2 | 11 | 16 | 20 => ethernet::decode(rest.skip(2)?.resized(wire_len), 0),
        // Packet over SONET, the same variants.
        1 | 10 | 15 | 19 => ppp::serial(rest.resized(wire_len), 0),
        22 => ip::v4(rest.resized(wire_len), 0),
        23 => ip::v6(rest.resized(wire_len), 0),
        _ => Err(DecodeError::LinkUnknown),
    }
}

#[cfg(test)]
mod tests {
    use super::super::sample::{INNER, INNER_V6, ethernet, inner, whole};
    use super::super::{Payload, link};
    use super::*;

    /// A record of this type with a wire length and what follows its header.
    fn record(kind: u8, wire_len: u16, rest: &[u8]) -> Vec<u8> {
        let len = (rest.len() as u16 + 16).to_be_bytes();
        [&[0; 8][..], &[kind, 4], &len, &[0, 0], &wire_len.to_be_bytes(), rest].concat()
    }

    #[test]
    fn records() {
        let frame = ethernet(0x0800, &INNER);
        let padded = [&[0, 0][..], &frame, &[0; 4]].concat();
        for kind in [2, 11, 16, 20] {
            assert_eq!(whole(link::ERF, &record(kind, 50, &padded)), Ok(inner(0, false)));
        }
        let serial = [&[0xff, 3, 0, 0x21][..], &INNER].concat();
        assert_eq!(whole(link::ERF, &record(1, 36, &serial)), Ok(inner(0, false)));
        assert_eq!(whole(link::ERF, &record(22, 32, &INNER)), Ok(inner(0, false)));
        assert_eq!(whole(link::ERF, &record(23, 52, &INNER_V6)), Ok(inner(0, true)));
        assert_eq!(whole(link::ERF, &record(48, 0, &[])), Err(DecodeError::LinkUnknown));
    }

    #[test]
    fn extension_headers() {
        let frame = [&[0, 0][..], &ethernet(0x0800, &INNER)].concat();
        let two = [&[0x83, 0, 0, 0, 0, 0, 0, 1, 0x10, 0, 0, 0, 0, 0, 0, 2][..], &frame].concat();
        assert_eq!(whole(link::ERF, &record(0x82, 50, &two)), Ok(inner(0, false)));
        let endless = [&[0x83; 8 * 17][..], &frame].concat();
        assert_eq!(whole(link::ERF, &record(0x82, 50, &endless)), Err(DecodeError::TooDeep));
    }

    #[test]
    fn the_wire_length_is_the_frame_s() {
        let mut packet = INNER;
        (packet[3], packet[25]) = (0, 0);
        let frame = [&[0, 0][..], &ethernet(0x0800, &packet)].concat();
        let record = record(2, 1514, &frame);
        let packet = whole(link::ERF, &record).unwrap();
        let Payload::Udp(udp) = packet.payload else { panic!("{packet:?}") };
        assert_eq!((packet.ip.len, udp.len), (1500, 1472));
    }
}

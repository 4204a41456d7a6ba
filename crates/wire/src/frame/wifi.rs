//! IEEE 802.11 data frames, alone and after a radiotap header.

use super::span::Span;
use super::{DecodeError, Packet, ethernet};

/// Decodes from the frame control field on (IEEE 802.11-2020 section 9.3.2).
pub(super) fn decode(frame: Span<'_>, depth: u8) -> Result<Packet<'_>, DecodeError> {
    decode_padded(frame, depth, false)
}

/// `padded`: some radios align the body to four bytes, as radiotap says.
fn decode_padded(frame: Span<'_>, depth: u8, padded: bool) -> Result<Packet<'_>, DecodeError> {
    const TYPE_AND_VERSION: u8 = 0x0f;
    const DATA: u8 = 0x08;
    const NO_DATA: u8 = 0x40;
    const QOS: u8 = 0x80;
    const BOTH_DISTRIBUTION_BITS: u8 = 0x03;
    const PROTECTED: u8 = 0x40;
    const HT_CONTROL: u8 = 0x80;
    /// Several frames in one (section 9.3.2.2.2), of the QoS control field.
    const AGGREGATE: u8 = 0x80;

    let [control, flags] = *frame.head::<2>()?.0;
    if control & TYPE_AND_VERSION != DATA || control & NO_DATA != 0 {
        return Err(DecodeError::NotIp);
    }
    if flags & PROTECTED != 0 {
        return Err(DecodeError::Encrypted);
    }
    let mut len = 24;
    if flags & BOTH_DISTRIBUTION_BITS == BOTH_DISTRIBUTION_BITS {
        len += 6;
    }
    let mut aggregate = false;
    if control & QOS != 0 {
        aggregate = frame.skip(len)?.head::<1>()?.0[0] & AGGREGATE != 0;
        len += if flags & HT_CONTROL == 0 { 2 } else { 6 };
    }
    let body = frame.skip(if padded { len.next_multiple_of(4) } else { len })?;
    // Only the first packet of an aggregate is given. Addresses and length precede it.
    ethernet::llc(if aggregate { body.skip(14)? } else { body }, depth)
}

/// Version, padding, length and presence bits, little-endian (radiotap.org).
pub(super) fn radiotap(frame: Span<'_>) -> Result<Packet<'_>, DecodeError> {
    const DATA_PAD: u8 = 0x20;
    let (head, _) = frame.head::<8>()?;
    let len = usize::from(u16::from_le_bytes([head[2], head[3]]));
    if head[0] != 0 || len < 8 {
        return Err(DecodeError::BadTunnel);
    }
    let body = frame.skip(len)?;
    let padded = radiotap_flags(frame.data).is_some_and(|flags| flags & DATA_PAD != 0);
    decode_padded(body, 0, padded)
}

/// The flags field, the second field, after the presence words, which bit 31 chains.
fn radiotap_flags(data: &[u8]) -> Option<u8> {
    const TSFT: u32 = 1;
    const FLAGS: u32 = 2;
    const MORE: u32 = 1 << 31;
    let (words, _) = data.get(4..)?.as_chunks::<4>();
    let present = u32::from_le_bytes(*words.first()?);
    let last = words.iter().position(|word| u32::from_le_bytes(*word) & MORE == 0)?;
    let fields = 4 + (last + 1) * 4;
    // The clock before it is eight bytes, aligned to eight.
    let at = if present & TSFT == 0 { fields } else { fields.next_multiple_of(8) + 8 };
    if present & FLAGS == 0 { None } else { data.get(at).copied() }
}

#[cfg(test)]
mod tests {
    use super::super::link;
    use super::super::sample::{INNER, inner, whole};
    use super::*;

    const SNAP: [u8; 8] = [0xaa, 0xaa, 3, 0, 0, 0, 8, 0];

    fn frame(control: u8, flags: u8, more: &[u8]) -> Vec<u8> {
        [&[control, flags, 0, 0][..], &[2; 18], &[0, 0], more, &SNAP, &INNER].concat()
    }

    #[test]
    fn data_frames() {
        let found = |frame: &[u8]| whole(link::IEEE_802_11, frame).map(|packet| packet == inner(0, false));
        assert_eq!(found(&frame(0x08, 0x01, &[])), Ok(true));
        assert_eq!(found(&frame(0x08, 0x03, &[2; 6])), Ok(true), "four addresses");
        assert_eq!(found(&frame(0x88, 0x02, &[0, 0])), Ok(true), "quality of service");
        assert_eq!(found(&frame(0x88, 0x83, &[2, 2, 2, 2, 2, 2, 0, 0, 1, 2, 3, 4])), Ok(true), "all of them");
        let aggregate = [&[0x80, 0][..], &[2; 12], &[0, 40]].concat();
        assert_eq!(found(&frame(0x88, 0x02, &aggregate)), Ok(true));
        assert_eq!(found(&frame(0x08, 0x41, &[])), Err(DecodeError::Encrypted));
        assert_eq!(found(&frame(0x48, 0x01, &[])), Err(DecodeError::NotIp), "no data");
        assert_eq!(found(&frame(0x80, 0x00, &[])), Err(DecodeError::NotIp), "a beacon");
        assert_eq!(found(&[8]), Err(DecodeError::BadLength));
    }

    #[test]
    fn behind_radiotap() {
        let plain = frame(0x88, 0x02, &[0, 0]);
        let padded = frame(0x88, 0x02, &[0, 0, 0, 0]);
        let check = |header: &[u8], frame: &[u8]| {
            let bytes = [header, frame].concat();
            assert_eq!(whole(link::RADIOTAP, &bytes), Ok(inner(0, false)), "{header:x?}");
        };
        check(&[0, 0, 8, 0, 0, 0, 0, 0], &plain);
        check(&[0, 0, 9, 0, 2, 0, 0, 0, 0x10], &plain);
        check(&[0, 0, 9, 0, 2, 0, 0, 0, 0x20], &padded);
        // Two presence words, the clock, then the flags.
        let chained = [&[0, 0, 25, 0, 3, 0, 0, 0x80, 0, 0, 0, 0, 0, 0, 0, 0][..], &[9; 8], &[0x20]].concat();
        check(&chained, &padded);
        let found = |bytes: &[u8]| whole(link::RADIOTAP, bytes).map(|_| ());
        assert_eq!(found(&[1, 0, 8, 0, 0, 0, 0, 0]), Err(DecodeError::BadTunnel));
        assert_eq!(found(&[0, 0, 4, 0, 8, 1, 0, 0]), Err(DecodeError::BadTunnel));
        assert_eq!(found(&[0, 0, 200, 0, 0, 0, 0, 0]), Err(DecodeError::BadLength));
    }
}

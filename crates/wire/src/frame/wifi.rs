//! IEEE 802.11 data frames, by themselves and behind radiotap.

use super::span::Span;
use super::{Packet, Skip, ethernet};

/// From the frame control field on (IEEE 802.11-2020 section 9.3.2).
pub(super) fn decode(frame: Span<'_>, depth: u8) -> Result<Packet<'_>, Skip> {
    decode_padded(frame, depth, false)
}

/// `padded`: some radios align the body to four bytes, which radiotap tells.
fn decode_padded(frame: Span<'_>, depth: u8, padded: bool) -> Result<Packet<'_>, Skip> {
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
        return Err(Skip::NotIp);
    }
    if flags & PROTECTED != 0 {
        return Err(Skip::Encrypted);
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
    // Only the first of an aggregate: one frame gives one packet. Addresses and length precede it.
    ethernet::llc(if aggregate { body.skip(14)? } else { body }, depth)
}

/// Version, padding, length and presence bits, little-endian (radiotap.org).
pub(super) fn radiotap(frame: Span<'_>) -> Result<Packet<'_>, Skip> {
    const DATA_PAD: u8 = 0x20;
    let (head, _) = frame.head::<8>()?;
    if head[0] != 0 {
        return Err(Skip::BadTunnel);
    }
    let len = usize::from(u16::from_le_bytes([head[2], head[3]]));
    let body = frame.skip(len.max(8))?;
    let padded = radiotap_flags(frame.data).is_some_and(|flags| flags & DATA_PAD != 0);
    decode_padded(body, 0, padded)
}

/// The flags field, the second of all, behind as many presence words as bit 31 chains.
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

//! Classic pcap (draft-ietf-opsawg-pcap).

use ringtap_model::{Frame, LinkType, Nanos};

use crate::error::{Damage, DamageKind};
use crate::window::Rest;
use crate::{erf, sys};

/// Bytes of the file header.
pub(crate) const HEADER: usize = 24;

/// The variant of a file, told by its first four bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Variant {
    /// The writer's byte order is not little-endian.
    big: bool,
    /// Nanoseconds in one unit of the sub-second field.
    unit: u64,
    /// Bytes of a record header beyond 16: the "modified" format (Kuznetzov's patch to libpcap) adds 8.
    extra: usize,
}

impl Variant {
    fn from_magic(magic: [u8; 4]) -> Option<Self> {
        let little = u32::from_le_bytes(magic);
        [(false, little), (true, little.swap_bytes())].into_iter().find_map(|(big, value)| {
            let (unit, extra) = match value {
                MICRO => (1_000, 0),
                NANO => (1, 0),
                MODIFIED => (1_000, 8),
                _ => return None,
            };
            Some(Self { big, unit, extra })
        })
    }
}

/// Whether a file begins as a classic pcap.
pub(crate) fn is_format(content: &[u8]) -> bool {
    content.first_chunk().and_then(|magic| Variant::from_magic(*magic)).is_some()
}

/// Whether the file header is whole.
pub(crate) fn has_header(content: &[u8]) -> bool {
    content.len() >= HEADER
}

/// The records of one file, of which some bytes are in memory.
#[derive(Debug)]
pub(crate) struct Records<'a> {
    /// What is not read yet.
    pub(crate) rest: Rest<'a>,
    number: u64,
    variant: Variant,
    link: LinkType,
    /// Where and why the records end too early.
    pub(crate) damage: Option<Damage>,
}

impl<'a> Records<'a> {
    /// Reads the file's header; `None` if it is incomplete.
    pub(crate) fn new(mut rest: Rest<'a>) -> Option<Self> {
        let (header, after) = rest.bytes.split_first_chunk::<HEADER>()?;
        let variant = Variant::from_magic(*header.first_chunk()?)?;
        let network = word(header, 20, variant.big);
        rest.bytes = after;
        // The upper bits hold the length of a frame check sequence, which IP lengths exclude anyway.
        Some(Self { rest, number: 0, variant, link: LinkType(network as u16), damage: None })
    }

    /// Goes on with the same records in other bytes, which begin where the next record does.
    pub(crate) fn over<'b>(self, rest: Rest<'b>) -> Records<'b> {
        let Self { number, variant, link, damage, .. } = self;
        Records { rest, number, variant, link, damage }
    }

    // HOT: a few nanoseconds a packet; one check for the record header, one for the data.
    #[inline]
    pub(crate) fn next(&mut self) -> Option<Frame<'a>> {
        let Some((header, mut rest)) = self.rest.bytes.split_first_chunk::<16>() else {
            return self.end();
        };
        let Variant { big, unit, extra } = self.variant;
        let captured = word(header, 8, big);
        if extra != 0 {
            rest = rest.get(extra..).unwrap_or_default();
        }
        if captured > MAX_CAPTURED {
            return self.stop(DamageKind::Oversize(captured));
        }
        let Some((data, rest)) = rest.split_at_checked(captured as usize) else {
            return self.stop(DamageKind::Truncated);
        };
        sys::prefetch(rest);
        self.rest.bytes = rest;
        self.number += 1;
        // Cannot overflow: both factors have 32 bits. A fraction of a second or more is carried over.
        let time = u64::from(word(header, 0, big)) * 1_000_000_000 + u64::from(word(header, 4, big)) * unit;
        let frame = Frame {
            time: Nanos(time),
            number: self.number,
            link: self.link,
            wire_len: word(header, 12, big),
            data,
        };
        if self.link == erf::LINKTYPE {
            return Some(erf::unwrap_record(frame));
        }
        Some(frame)
    }

    #[cold]
    fn end(&mut self) -> Option<Frame<'a>> {
        if self.rest.bytes.is_empty() { None } else { self.stop(DamageKind::Truncated) }
    }

    #[cold]
    fn stop(&mut self, kind: DamageKind) -> Option<Frame<'a>> {
        self.damage.get_or_insert(Damage { offset: self.rest.offset(), kind });
        None
    }
}

/// A 32-bit field in the writer's byte order.
#[inline(always)]
fn word<const N: usize>(header: &[u8; N], at: usize, big: bool) -> u32 {
    let value = u32::from_le_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
    if big { value.swap_bytes() } else { value }
}

pub(crate) const MICRO: u32 = 0xa1b2_c3d4;
pub(crate) const NANO: u32 = 0xa1b2_3c4d;
const MODIFIED: u32 = 0xa1b2_cd34;

/// The largest packet that capture programs write: `tcpdump -s 0` and Wireshark truncate at 256 KiB.
pub(crate) const MAX_CAPTURED: u32 = 256 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    /// A file of one packet `abc`, in the byte order of `word`, with `extra` bytes in its record header.
    fn file(magic: u32, word: fn(u32) -> [u8; 4], extra: usize, sub: u32) -> Vec<u8> {
        // The version is not looked at; a frame check sequence of 4 bytes is announced above the link type.
        let header = [magic, 0, 0, 0, 65_535, 0x2400_0071];
        let mut file: Vec<u8> = header.into_iter().flat_map(word).collect();
        file.extend([7, sub, 3, 90].into_iter().flat_map(word));
        file.extend(vec![0xee; extra]);
        file.extend(b"abc");
        file
    }

    fn only(file: &[u8]) -> Frame<'_> {
        let mut records = Records::new(Rest::whole(file)).expect("a whole header");
        let frame = records.next().expect("a packet");
        assert!(records.next().is_none());
        assert_eq!((records.damage, records.rest.offset()), (None, file.len() as u64));
        frame
    }

    #[test]
    fn every_variant() {
        for word in [u32::to_le_bytes, u32::to_be_bytes] {
            for (magic, extra, nanos) in [(MICRO, 0, 5_000), (NANO, 0, 5), (MODIFIED, 8, 5_000)] {
                let file = file(magic, word, extra, 5);
                let frame = only(&file);
                assert_eq!(frame.time, Nanos(7_000_000_000 + nanos));
                assert_eq!((frame.number, frame.link, frame.wire_len), (1, LinkType(0x71), 90));
                assert_eq!(frame.data, b"abc");
            }
        }
    }

    #[test]
    fn a_sub_second_field_past_the_second_is_carried_over() {
        let micro = file(MICRO, u32::to_le_bytes, 0, u32::MAX);
        assert_eq!(only(&micro).time, Nanos(7_000_000_000 + u64::from(u32::MAX) * 1_000));
        let nano = file(NANO, u32::to_le_bytes, 0, 1_000_000_001);
        assert_eq!(only(&nano).time, Nanos(8_000_000_001));
    }

    #[test]
    fn a_length_that_no_packet_has_is_damage() {
        let mut file = file(MICRO, u32::to_le_bytes, 0, 0);
        let good = file.clone();
        file.extend_from_slice(&[0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 4, 0, 1, 0, 4, 0]);
        file.extend(vec![0; 300_000]);
        let mut records = Records::new(Rest::whole(&file)).expect("a whole header");
        assert!(records.next().is_some());
        for _ in 0..2 {
            assert!(records.next().is_none());
            let damage = Damage { offset: good.len() as u64, kind: DamageKind::Oversize(262_145) };
            assert_eq!(records.damage, Some(damage));
        }
    }

    #[test]
    fn a_cut_anywhere_keeps_what_is_before() {
        let mut file = file(MICRO, u32::to_be_bytes, 0, 0);
        let first = file.len();
        let record = file[HEADER..].to_vec();
        file.extend(&record);
        assert!(Records::new(Rest::whole(&file[..HEADER - 1])).is_none());
        for end in HEADER..file.len() {
            let mut records = Records::new(Rest::whole(&file[..end])).expect("a whole header");
            assert_eq!(records.next().is_some(), end >= first);
            assert!(records.next().is_none());
            let start = if end >= first { first } else { HEADER };
            let damage = Damage { offset: start as u64, kind: DamageKind::Truncated };
            assert_eq!(records.damage, (end != start).then_some(damage));
        }
    }
}

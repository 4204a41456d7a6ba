//! Captures of Solaris' snoop (RFC 1761), which some SBCs and switches write.

use ringtap_model::{Frame, LinkType, Nanos};

use crate::error::{Damage, DamageKind};
use crate::pcap::MAX_CAPTURED;
use crate::window::Rest;

/// Bytes of the file header: identification, version, data link type.
const HEADER: usize = 16;
/// Bytes of a record header: two lengths of the packet, that of the record, drops, seconds, microseconds.
const RECORD: usize = 24;
const MAGIC: &[u8; 8] = b"snoop\0\0\0";

/// Whether a file begins as one of snoop.
pub(crate) fn is_format(content: &[u8]) -> bool {
    content.starts_with(MAGIC)
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
    link: LinkType,
    /// Where and why the records end too early.
    pub(crate) damage: Option<Damage>,
}

impl<'a> Records<'a> {
    /// Reads the file's header; `None` if it is incomplete.
    pub(crate) fn new(mut rest: Rest<'a>) -> Option<Self> {
        let (header, after) = rest.bytes.split_first_chunk::<HEADER>()?;
        let link = link_type(word(header, 12));
        rest.bytes = after;
        Some(Self { rest, number: 0, link, damage: None })
    }

    /// Goes on with the same records in other bytes, which begin where the next record does.
    pub(crate) fn over<'b>(self, rest: Rest<'b>) -> Records<'b> {
        let Self { number, link, damage, .. } = self;
        Records { rest, number, link, damage }
    }

    /// RFC 1761 section 4: all fields are big-endian, and the data are padded to the length of the record.
    pub(crate) fn next(&mut self) -> Option<Frame<'a>> {
        let Some(header) = self.rest.bytes.first_chunk::<RECORD>() else {
            return if self.rest.bytes.is_empty() { None } else { self.stop(DamageKind::Truncated) };
        };
        let (wire_len, captured, record) = (word(header, 0), word(header, 4), word(header, 8));
        if captured > MAX_CAPTURED {
            return self.stop(DamageKind::Oversize(captured));
        }
        let length = record as usize;
        // Padding is a few bytes.
        if length < RECORD + captured as usize || length > RECORD + captured as usize + MAX_PADDING {
            return self.stop(DamageKind::Length(record));
        }
        let Some((bytes, rest)) = self.rest.bytes.split_at_checked(length) else {
            return self.stop(DamageKind::Truncated);
        };
        self.rest.bytes = rest;
        self.number += 1;
        // Cannot overflow: both factors have 32 bits.
        let time = u64::from(word(header, 16)) * 1_000_000_000 + u64::from(word(header, 20)) * 1_000;
        let data = bytes.get(RECORD..RECORD + captured as usize).unwrap_or_default();
        Some(Frame { time: Nanos(time), number: self.number, link: self.link, wire_len, data })
    }

    #[cold]
    fn stop(&mut self, kind: DamageKind) -> Option<Frame<'a>> {
        self.damage.get_or_insert(Damage { offset: self.rest.offset(), kind });
        None
    }
}

/// RFC 1761 section 4 to the numbers of pcap; the rest is a link type that nobody knows.
fn link_type(number: u32) -> LinkType {
    LinkType(match number {
        // IEEE 802.3 and Ethernet, token ring, FDDI.
        0 | 4 => 1,
        2 => 6,
        8 => 10,
        _ => u16::MAX,
    })
}

fn word<const N: usize>(header: &[u8; N], at: usize) -> u32 {
    u32::from_be_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]])
}

/// Bytes behind the data of a record; snoop pads to four.
const MAX_PADDING: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    /// The data of a record are padded to four bytes.
    fn file(link: u32) -> Vec<u8> {
        let mut file = MAGIC.to_vec();
        file.extend([2, link].into_iter().flat_map(u32::to_be_bytes));
        file.extend([90, 3, 28, 0, 7, 5].into_iter().flat_map(u32::to_be_bytes));
        file.extend(b"abc\0");
        file
    }

    #[test]
    fn a_record_is_read_by_its_lengths() {
        for (link, expected) in [(4, 1), (0, 1), (8, 10), (2, 6), (99, u16::MAX)] {
            let file = file(link);
            let mut records = Records::new(Rest::whole(&file)).expect("a whole header");
            let frame = records.next().expect("a packet");
            assert_eq!((frame.time, frame.wire_len, frame.data), (Nanos(7_000_005_000), 90, &b"abc"[..]));
            assert_eq!((frame.number, frame.link), (1, LinkType(expected)));
            assert!(records.next().is_none());
            assert_eq!(records.damage, None);
        }
    }

    #[test]
    fn a_cut_anywhere_keeps_what_is_before() {
        let mut file = file(4);
        let first = file.len();
        file.extend_from_within(HEADER..);
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

    #[test]
    fn lengths_that_cannot_be_are_damage() {
        for (at, value, kind) in [
            (20, 300_000, DamageKind::Oversize(300_000)),
            (24, 26, DamageKind::Length(26)),
            (24, 400_000, DamageKind::Length(400_000)),
        ] {
            let mut file = file(4);
            file[at..at + 4].copy_from_slice(&u32::to_be_bytes(value));
            let mut records = Records::new(Rest::whole(&file)).expect("a whole header");
            assert!(records.next().is_none());
            assert_eq!(records.damage, Some(Damage { offset: HEADER as u64, kind }));
        }
    }
}

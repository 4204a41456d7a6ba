//! Endace ERF (Extensible Record Format): bare records from DAG cards and traffic generators, without a file
//! header.
//!
//! A record header has 16 bytes: a little-endian 32.32 fixed-point timestamp, then in network byte order the
//! type, flags, the length of the whole record, a loss counter (or a colour) and the length on the wire.

use ringtap_model::{Frame, LinkType, Nanos};

use crate::error::{Damage, DamageKind};
use crate::sys;
use crate::window::Rest;

/// The link type of pcap files whose packets are ERF records.
pub(crate) const LINKTYPE: LinkType = LinkType(197);

/// The content of one record.
enum Record<'a> {
    Packet {
        link: LinkType,
        wire_len: u32,
        data: &'a [u8],
    },
    /// Padding between records, which is not numbered.
    Pad,
    /// Metadata, counters, cells, and packets that the card received with an error.
    Other,
}

/// The records of one file, of which some bytes are in memory.
#[derive(Debug)]
pub(crate) struct Records<'a> {
    /// What is not read yet.
    pub(crate) rest: Rest<'a>,
    number: u64,
    skipped: u64,
    /// Where and why the records end too early.
    pub(crate) damage: Option<Damage>,
}

impl<'a> Records<'a> {
    pub(crate) fn new(rest: Rest<'a>) -> Self {
        Self { rest, number: 0, skipped: 0, damage: None }
    }

    /// Goes on with the same records in other bytes, which begin where the next record does.
    pub(crate) fn over<'b>(self, rest: Rest<'b>) -> Records<'b> {
        let Self { number, skipped, damage, .. } = self;
        Records { rest, number, skipped, damage }
    }

    #[inline]
    pub(crate) fn next(&mut self) -> Option<Frame<'a>> {
        loop {
            let header = match self.rest.bytes.first_chunk::<HEADER>() {
                Some(header) => header,
                None if self.rest.bytes.is_empty() => return None,
                None => return self.stop(DamageKind::Truncated),
            };
            let length = usize::from(u16::from_be_bytes([header[10], header[11]]));
            if length < HEADER {
                return self.stop(DamageKind::Length(length as u32));
            }
            let Some((record, rest)) = self.rest.bytes.split_at_checked(length) else {
                return self.stop(DamageKind::Truncated);
            };
            sys::prefetch(rest);
            self.rest.bytes = rest;
            match read_record(header, record) {
                Record::Packet { link, wire_len, data } => {
                    self.number += 1;
                    return Some(Frame { time: time(header), number: self.number, link, wire_len, data });
                }
                Record::Pad => {}
                Record::Other => {
                    self.number += 1;
                    self.skipped += 1;
                }
            }
        }
    }

    pub(crate) fn skipped(&self) -> u64 {
        self.skipped
    }

    #[cold]
    fn stop(&mut self, kind: DamageKind) -> Option<Frame<'a>> {
        self.damage.get_or_insert(Damage { offset: self.rest.offset(), kind });
        None
    }
}

/// Extracts the packet from an ERF record inside a record of another format, keeping that record's time; a
/// record without a packet stays as it is.
#[cold]
pub(crate) fn unwrap_record(frame: Frame<'_>) -> Frame<'_> {
    let Some(header) = frame.data.first_chunk() else { return frame };
    match read_record(header, frame.data) {
        Record::Packet { link, wire_len, data } => Frame { link, wire_len, data, ..frame },
        Record::Pad | Record::Other => frame,
    }
}

/// Whether content looks like ERF, which has no magic number: its first records must be plausible and in
/// order of time.
///
/// A file that ends inside its first record is not recognised: nothing distinguishes it from noise.
pub(crate) fn is_format(content: &[u8]) -> bool {
    let mut rest = content;
    let mut before = None;
    for seen in 0..RECORDS_TO_CHECK {
        let Some(header) = rest.first_chunk::<HEADER>() else { return seen > 0 };
        let Some(after) = plausible(header, &mut before) else { return false };
        match rest.get(after..) {
            Some(next) => rest = next,
            None => return seen > 0,
        }
    }
    true
}

/// The length of a plausible record; `before` is the second of the previous record.
fn plausible(header: &[u8; HEADER], before: &mut Option<u32>) -> Option<usize> {
    let length = usize::from(u16::from_be_bytes([header[10], header[11]]));
    let wire = usize::from(u16::from_be_bytes([header[14], header[15]]));
    let kind = header[8] & TYPE;
    if length < HEADER || !(1..=LAST_TYPE).contains(&kind) && kind != PAD {
        return None;
    }
    if kind == PAD {
        return Some(length);
    }
    let second = (time(header).0 / 1_000_000_000) as u32;
    if let Some(before) = before.replace(second) {
        // Records of several interfaces may be slightly out of order; a gap of a week is implausible.
        if second.saturating_add(1) < before || second.saturating_sub(before) > WEEK {
            return None;
        }
    }
    // Padding adds a few bytes at most.
    if is_ethernet(kind) && header[8] & MORE == 0 && length > HEADER + ETHERNET_PAD + wire + 8 {
        return None;
    }
    Some(length)
}

/// Timestamps have units of 2^-32 s; rounded to the nearest nanosecond.
fn time(header: &[u8; HEADER]) -> Nanos {
    let fraction = u32::from_le_bytes([header[0], header[1], header[2], header[3]]);
    let second = u32::from_le_bytes([header[4], header[5], header[6], header[7]]);
    let nanos = (u64::from(fraction) * 1_000_000_000 + (1 << 31)) >> 32;
    Nanos(u64::from(second) * 1_000_000_000 + nanos)
}

fn read_record<'a>(header: &[u8; HEADER], record: &'a [u8]) -> Record<'a> {
    let kind = header[8] & TYPE;
    if kind == PAD {
        return Record::Pad;
    }
    // A telephone would also drop a frame with a bad checksum, so its bytes are not used.
    if header[9] & (RX_ERROR | DS_ERROR) != 0 {
        return Record::Other;
    }
    let Some(payload) = after_extensions(header[8], record) else { return Record::Other };
    let (skip, link) = match kind {
        _ if is_ethernet(kind) => (ETHERNET_PAD, Some(ETHERNET)),
        1 | 10 | 15 | 19 => (0, None),
        5 | 17 => (4, None),
        22 => (0, Some(IPV4)),
        23 => (0, Some(IPV6)),
        _ => return Record::Other,
    };
    let Some(data) = payload.get(skip..) else { return Record::Other };
    let link = match (link, data) {
        (Some(link), _) => link,
        // HDLC carries Cisco's framing or PPP; the first two bytes say which (RFC 1547 section 4.3.1, RFC
        // 1662 section 3.1).
        (None, [0x0f | 0x8f, 0x00, ..]) => CISCO_HDLC,
        (None, [0xff, 0x03, ..]) => PPP,
        (None, _) => return Record::Other,
    };
    let wire = u16::from_be_bytes([header[14], header[15]]);
    let data = &data[..data.len().min(usize::from(wire))];
    Record::Packet { link, wire_len: u32::from(wire), data }
}

/// The bytes after the header and its extension headers, each of 8 bytes with a bit that announces the next.
fn after_extensions(kind: u8, record: &[u8]) -> Option<&[u8]> {
    let mut rest = record.get(HEADER..)?;
    let mut kind = kind;
    while kind & MORE != 0 {
        let extension;
        (extension, rest) = rest.split_first_chunk::<8>()?;
        kind = extension[0];
    }
    Some(rest)
}

/// Ethernet bare, coloured, coloured by DSM, coloured with a hash.
fn is_ethernet(kind: u8) -> bool {
    matches!(kind, 2 | 11 | 16 | 20)
}

const HEADER: usize = 16;
/// Before an Ethernet frame: an offset and a byte of padding.
const ETHERNET_PAD: usize = 2;

const TYPE: u8 = 0x7f;
const MORE: u8 = 0x80;
const RX_ERROR: u8 = 0x10;
const DS_ERROR: u8 = 0x20;
const PAD: u8 = 48;
/// The highest assigned type, apart from padding.
const LAST_TYPE: u8 = 29;

const RECORDS_TO_CHECK: usize = 20;
/// Bytes that hold these records in any case.
pub(crate) const ENOUGH: usize = RECORDS_TO_CHECK * (u16::MAX as usize + 1);
const WEEK: u32 = 7 * 24 * 3600;

const ETHERNET: LinkType = LinkType(1);
const PPP: LinkType = LinkType(9);
const CISCO_HDLC: LinkType = LinkType(104);
const IPV4: LinkType = LinkType(228);
const IPV6: LinkType = LinkType(229);

#[cfg(test)]
mod tests {
    use super::*;

    /// A record: half a second past `second`, extension headers, then the payload.
    fn record(second: u32, kind: u8, flags: u8, extensions: &[u8], wire: u16, payload: &[u8]) -> Vec<u8> {
        let length = (HEADER + 8 * extensions.len() + payload.len()) as u16;
        let mut record = vec![0, 0, 0, 0x80];
        record.extend(second.to_le_bytes());
        record.extend([kind, flags]);
        record.extend(length.to_be_bytes());
        record.extend([0, 9]);
        record.extend(wire.to_be_bytes());
        record.extend(extensions.iter().flat_map(|kind| [*kind, 1, 2, 3, 4, 5, 6, 7]));
        record.extend(payload);
        record
    }

    fn read(file: &[u8]) -> (Vec<Frame<'_>>, u64, Option<Damage>) {
        let mut records = Records::new(Rest::whole(file));
        let frames = std::iter::from_fn(|| records.next()).collect();
        (frames, records.skipped(), records.damage)
    }

    #[test]
    fn kinds_and_extensions() {
        type Case = (u8, &'static [u8], &'static [u8], LinkType, &'static [u8]);
        let cases: [Case; 9] = [
            (2, &[], b"\0\0ether", ETHERNET, b"ether"),
            (11, &[], b"\0\0ether", ETHERNET, b"ether"),
            (16, &[], b"\0\0ether", ETHERNET, b"ether"),
            (20 | MORE, &[3 | MORE, 5], b"\0\0ether", ETHERNET, b"ether"),
            (22, &[], b"\x45v4", IPV4, b"\x45v4"),
            (23 | MORE, &[12], b"\x60v6", IPV6, b"\x60v6"),
            (1, &[], b"\x0f\0\x08\0", CISCO_HDLC, b"\x0f\0\x08\0"),
            (10, &[], b"\xff\x03\0\x21", PPP, b"\xff\x03\0\x21"),
            (5, &[], b"mchd\xff\x03\0\x21", PPP, b"\xff\x03\0\x21"),
        ];
        for (kind, extensions, payload, link, data) in cases {
            let file = record(3, kind, 4, extensions, data.len() as u16, payload);
            assert!(is_format(&file), "type {kind}");
            let (frames, skipped, damage) = read(&file);
            let [frame] = frames[..] else { panic!("type {kind} gives {} frames", frames.len()) };
            assert_eq!(
                (frame.link, frame.data, frame.time),
                (link, data, Nanos(3_500_000_000)),
                "type {kind}"
            );
            assert_eq!((skipped, damage), (0, None));
        }
    }

    #[test]
    fn padding_is_left_out_and_what_was_not_captured_is_known() {
        let padded = record(0, 2, 4, &[], 5, b"\0\0ether\0\0\0");
        assert_eq!(read(&padded).0[0].data, b"ether");
        let cut = record(0, 2, 4, &[], 900, b"\0\0ether");
        let (frames, ..) = read(&cut);
        assert_eq!((frames[0].data, frames[0].wire_len), (&b"ether"[..], 900));
    }

    #[test]
    fn what_is_no_good_packet_is_numbered_and_skipped() {
        let mut file = record(0, PAD, 0, &[], 0, b"\0\0\0\0");
        file.extend(record(0, 2, RX_ERROR, &[], 5, b"\0\0wrong"));
        file.extend(record(0, 27, 0, &[], 5, b"metadata"));
        file.extend(record(0, 2, 0, &[], 5, b"\0\0right"));
        assert!(is_format(&file));
        let (frames, skipped, damage) = read(&file);
        assert_eq!((frames.len(), skipped, damage), (1, 2, None));
        assert_eq!((frames[0].number, frames[0].data), (3, &b"right"[..]));
    }

    #[test]
    fn damage_ends_it() {
        let good = record(0, 2, 0, &[], 5, b"\0\0right");
        for end in good.len() + 1..2 * good.len() {
            let file = [&good[..], &good[..end - good.len()]].concat();
            assert!(is_format(&file));
            let (frames, _, damage) = read(&file);
            assert_eq!(frames.len(), 1);
            assert_eq!(damage, Some(Damage { offset: good.len() as u64, kind: DamageKind::Truncated }));
        }
        let mut file = good.repeat(21);
        file[20 * good.len() + 11] = 15;
        let (frames, _, damage) = read(&file);
        assert_eq!(frames.len(), 20);
        assert_eq!(damage, Some(Damage { offset: 20 * good.len() as u64, kind: DamageKind::Length(15) }));
    }

    #[test]
    fn extension_headers_that_do_not_end_stay_inside_the_record() {
        let file = record(0, 2 | MORE, 0, &[3 | MORE, 3 | MORE], 5, b"short");
        assert_eq!(read(&file).1, 1);
    }

    #[test]
    fn noise_is_not_erf() {
        assert!(!is_format(b""));
        assert!(!is_format(&[0; 4096]));
        assert!(!is_format(&[0xff; 4096]));
        assert!(!is_format(&b"The quick brown fox jumps over the lazy dog. ".repeat(2_000)));
        let late = [record(0, 2, 0, &[], 1, b"\0\0a"), record(WEEK + 1, 2, 0, &[], 1, b"\0\0a")].concat();
        assert!(!is_format(&late));
    }

    #[test]
    fn a_record_inside_another_format_is_taken_out() {
        let record = record(3, 2, 4, &[], 5, b"\0\0ether");
        let frame = Frame { time: Nanos(9), number: 4, link: LINKTYPE, wire_len: 99, data: &record };
        let inner = unwrap_record(frame);
        assert_eq!((inner.time, inner.number, inner.link), (Nanos(9), 4, ETHERNET));
        assert_eq!((inner.wire_len, inner.data), (5, &b"ether"[..]));
        let short = unwrap_record(Frame { data: &record[..9], ..frame });
        assert_eq!((short.link, short.data.len()), (LINKTYPE, 9));
    }
}

//! Captures of Microsoft's Network Monitor 2 and 3 (`.cap`, format version 2), as the help files of Network
//! Monitor 3.4 describe them.
//!
//! The records follow the file header one after another, and are read so; the frame table behind them, which
//! has their offsets, is only needed for its number of entries, which tells whether all were found.

use ringtap_model::{Frame, LinkType, Nanos};

use crate::error::{Damage, DamageKind};
use crate::pcap::MAX_CAPTURED;
use crate::window::Rest;

/// Bytes of the file header: magic, version, network, start, offsets and lengths of the tables, padding.
const HEADER: usize = 128;
/// Bytes of a record header: time since the start in microseconds, length on the wire, length in the file.
const RECORD: usize = 16;
const MAGIC: &[u8; 4] = b"GMBU";

/// Whether a file begins as one of format version 2.
pub(crate) fn is_format(content: &[u8]) -> bool {
    content.starts_with(MAGIC) && content.get(5) == Some(&2)
}

/// Whether the file header is whole.
pub(crate) fn has_header(content: &[u8]) -> bool {
    content.len() >= HEADER
}

/// The packets of one file, of which some bytes are in memory.
#[derive(Debug)]
pub(crate) struct Records<'a> {
    /// What is not read yet.
    pub(crate) rest: Rest<'a>,
    /// Last part of the version.
    minor: u8,
    /// Network of all packets, before version 2.1.
    network: u16,
    start: Nanos,
    /// Where the records end.
    end: u64,
    /// Of the frame table.
    table: u32,
    entries: u32,
    /// Records read, and those of them that have a number.
    read: u64,
    number: u64,
    /// Numbered records that hold no packet.
    pub(crate) skipped: u64,
    /// Where and why the records end too early.
    pub(crate) damage: Option<Damage>,
}

impl<'a> Records<'a> {
    /// Reads the file's header; `None` if it is incomplete.
    pub(crate) fn new(mut rest: Rest<'a>) -> Option<Self> {
        let (header, after) = rest.bytes.split_first_chunk::<HEADER>()?;
        rest.bytes = after;
        let (table, length) = (word(header, 24), word(header, 28));
        // User data, comments, processes and networks, which have a place anywhere behind the header.
        let others = [32, 40, 48, 56].into_iter().filter(|at| word(header, at + 4) != 0);
        let end = others.map(|at| word(header, at)).filter(|at| *at >= HEADER as u32).fold(table, u32::min);
        Some(Self {
            rest,
            minor: header[4],
            network: half(header, 6),
            start: start(header),
            end: u64::from(end),
            table,
            entries: length / 4,
            read: 0,
            number: 0,
            skipped: 0,
            damage: None,
        })
    }

    /// Goes on with the same records in other bytes, which begin where the next record does.
    pub(crate) fn over<'b>(self, rest: Rest<'b>) -> Records<'b> {
        let Self { minor, network, start, end, table, entries, read, number, skipped, damage, .. } = self;
        Records { rest, minor, network, start, end, table, entries, read, number, skipped, damage }
    }

    pub(crate) fn next(&mut self) -> Option<Frame<'a>> {
        loop {
            if self.damage.is_some() {
                return None;
            }
            if self.rest.offset() >= self.end {
                return self.finish();
            }
            let Some(header) = self.rest.bytes.first_chunk::<RECORD>() else {
                return self.stop(DamageKind::Truncated);
            };
            let (wire_len, captured) = (word(header, 8), word(header, 12));
            if captured > MAX_CAPTURED {
                return self.stop(DamageKind::Oversize(captured));
            }
            let length = RECORD + captured as usize + trailer(self.minor);
            if self.rest.offset() + length as u64 > self.end {
                return self.stop(DamageKind::Length(captured));
            }
            let Some((record, rest)) = self.rest.bytes.split_at_checked(length) else {
                return self.stop(DamageKind::Truncated);
            };
            self.rest.bytes = rest;
            self.read += 1;
            let (data, trailer) = record[RECORD..].split_at(captured as usize);
            let network =
                if let [low, high, ..] = *trailer { u16::from_le_bytes([low, high]) } else { self.network };
            if self.holds_packet(network) {
                let time = self.time(header, trailer);
                return Some(Frame { time, number: self.number, link: link_type(network), wire_len, data });
            }
        }
    }

    /// Counts a record; false where Network Monitor stored something about the capture in it.
    fn holds_packet(&mut self, network: u16) -> bool {
        // Networks and names known at the time, and headers of what was reassembled, are no frames; events
        // and filters are, as other programs number them.
        if (0xfffc..=0xfffe).contains(&network) {
            return false;
        }
        self.number += 1;
        let is_packet = network < 0xffe0;
        self.skipped += u64::from(!is_packet);
        is_packet
    }

    /// From version 2.3 on, a record has its time in UTC: in units of 100 ns since 1601. Before, it has the
    /// time since the start, as a signed number, and the start is in local time, taken as UTC here.
    fn time(&self, header: &[u8; RECORD], trailer: &[u8]) -> Nanos {
        if let Some(&utc) = trailer.get(6..).and_then(|fields| fields.first_chunk::<8>()) {
            return Nanos(u64::from_le_bytes(utc).saturating_sub(TICKS_TO_1970).saturating_mul(100));
        }
        let micros = u64::from(word(header, 0)) | u64::from(word(header, 4)) << 32;
        // Their sign is that of the value in units of 100 ns.
        let ticks = micros.wrapping_mul(10) as i64;
        Nanos(self.start.0.saturating_add_signed(ticks.saturating_mul(100)))
    }

    /// The tables behind the records hold no packet.
    #[cold]
    fn finish(&mut self) -> Option<Frame<'a>> {
        if self.end < HEADER as u64 || self.read != u64::from(self.entries) {
            return self.stop(DamageKind::FrameTable(self.table));
        }
        self.rest.bytes = &[];
        None
    }

    #[cold]
    fn stop(&mut self, kind: DamageKind) -> Option<Frame<'a>> {
        self.damage.get_or_insert(Damage { offset: self.rest.offset(), kind });
        None
    }
}

/// Bytes behind the data of a record: its network, from 2.2 on a process, from 2.3 on a time and its zone.
fn trailer(minor: u8) -> usize {
    match minor {
        0 => 0,
        1 => 2,
        2 => 6,
        _ => 15,
    }
}

/// The number of a network to that of pcap; the rest is a link type that nobody knows.
fn link_type(network: u16) -> LinkType {
    LinkType(match network {
        // Some captures of tunnels give no type to what is Ethernet.
        0 | 1 => 1,
        2 => 6,
        3 => 10,
        // Tunnels, wireless WAN, raw IP.
        7..=9 => 101,
        // Converted from pcap, except for the numbers that Message Analyzer took for itself.
        0xe000..=0xe07f | 0xe08b..=0xefff => network & 0xfff,
        _ => u16::MAX,
    })
}

/// Year, month, day of the week, day, hour, minute, second and millisecond of the start.
fn start(header: &[u8; HEADER]) -> Nanos {
    let [year, month, day] = [8, 10, 14].map(|at| u64::from(half(header, at)));
    let [hour, minute, second, milli] = [16, 18, 20, 22].map(|at| u64::from(half(header, at)));
    let month = month.clamp(1, 12);
    // The year begins in March, so that the day of the leap year is its last.
    let (years, months) = if month > 2 { (year, month - 3) } else { (year.saturating_sub(1), month + 9) };
    let leaps = years / 4 - years / 100 + years / 400;
    let days = years * 365 + leaps + (months * 153 + 2) / 5 + day.max(1) - 1;
    let seconds = days.saturating_sub(DAYS_TO_1970) * 86_400 + hour * 3600 + minute * 60 + second;
    Nanos(seconds.saturating_mul(1_000_000_000).saturating_add(milli * 1_000_000))
}

fn half<const N: usize>(header: &[u8; N], at: usize) -> u16 {
    u16::from_le_bytes([header[at], header[at + 1]])
}

fn word<const N: usize>(header: &[u8; N], at: usize) -> u32 {
    u32::from_le_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]])
}

/// From 1 March of the year 0 to 1970.
const DAYS_TO_1970: u64 = 719_468;
/// Units of 100 ns from 1601 to 1970.
const TICKS_TO_1970: u64 = 116_444_736_000_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    /// A file that was begun on 29 February 2024 at 12:34:56.789, with a record of each network.
    fn file(minor: u8, networks: &[u16]) -> Vec<u8> {
        let mut file = b"GMBU".to_vec();
        file.extend([minor, 2]);
        file.extend([9, 2024, 2, 4, 29, 12, 34, 56, 789].into_iter().flat_map(u16::to_le_bytes));
        file.resize(HEADER, 0);
        for network in networks {
            file.extend((-1_500i64).to_le_bytes());
            file.extend([90, 3].into_iter().flat_map(u32::to_le_bytes));
            file.extend(b"abc");
            let mut trailer = network.to_le_bytes().to_vec();
            trailer.extend([7; 4]);
            trailer.extend((TICKS_TO_1970 + 17_000_000_005).to_le_bytes());
            trailer.push(0);
            file.extend(&trailer[..super::trailer(minor)]);
        }
        let table = file.len() as u32;
        set(&mut file, 24, table);
        set(&mut file, 28, 4 * networks.len() as u32);
        file.extend(vec![0xff; 4 * networks.len()]);
        file
    }

    fn set(file: &mut [u8], at: usize, value: u32) {
        file[at..at + 4].copy_from_slice(&value.to_le_bytes());
    }

    fn read(file: &[u8]) -> (Vec<(u64, u16, Nanos)>, Option<Damage>) {
        let mut records = Records::new(Rest::whole(file)).expect("a whole header");
        let mut found = Vec::new();
        while let Some(frame) = records.next() {
            assert_eq!((frame.wire_len, frame.data), (90, &b"abc"[..]));
            found.push((frame.number, frame.link.0, frame.time));
        }
        (found, records.damage)
    }

    #[test]
    fn every_version_has_its_trailer_and_its_time() {
        // 2024-02-29 12:34:56.789 less 1.5 ms.
        let local = Nanos(1_709_210_096_787_500_000);
        let utc = Nanos(1_700_000_000_500);
        for (minor, time) in [(1, local), (2, local), (3, utc), (4, utc)] {
            let networks = [1, 0, 3, 9, 6, 0xe071, 0xe083];
            let links = [1, 1, 10, 101, u16::MAX, 113, u16::MAX];
            let expected: Vec<_> = (1..).zip(links).map(|(number, link)| (number, link, time)).collect();
            assert_eq!(read(&file(minor, &networks)), (expected, None), "2.{minor}");
        }
        // Before 2.1, the header has the network.
        assert_eq!(read(&file(0, &[1])), (vec![(1, 101, local)], None));
    }

    #[test]
    fn records_about_the_capture_are_no_packets() {
        let file = file(3, &[0xfffd, 1, 0xffe0, 0xfffe, 1]);
        let mut records = Records::new(Rest::whole(&file)).expect("a whole header");
        assert_eq!(records.next().map(|frame| frame.number), Some(1));
        assert_eq!(records.next().map(|frame| frame.number), Some(3));
        assert!(records.next().is_none());
        assert_eq!((records.damage, records.skipped), (None, 1));
        assert_eq!(records.rest.bytes.len(), 0);
    }

    #[test]
    fn a_cut_anywhere_keeps_what_is_before() {
        let file = file(2, &[1, 1]);
        let record = RECORD + 3 + 6;
        assert!(Records::new(Rest::whole(&file[..HEADER - 1])).is_none());
        for end in HEADER..HEADER + 2 * record {
            let whole = (end - HEADER) / record;
            let damage = Damage { offset: (HEADER + whole * record) as u64, kind: DamageKind::Truncated };
            let (found, found_damage) = read(&file[..end]);
            assert_eq!((found.len(), found_damage), (whole, Some(damage)), "{end}");
        }
        assert_eq!(read(&file[..HEADER + 2 * record]).1, None);
    }

    #[test]
    fn lengths_and_offsets_that_cannot_be_are_damage() {
        let good = file(1, &[1, 1]);
        let (end, record) = (good.len() as u32 - 8, RECORD as u32 + 5);
        for (at, value, offset, kind, packets) in [
            (HEADER + 12, 300_000, HEADER as u32, DamageKind::Oversize(300_000), 0),
            (HEADER + 12, 100, HEADER as u32, DamageKind::Length(100), 0),
            (24, 0, HEADER as u32, DamageKind::FrameTable(0), 0),
            (24, u32::MAX, end, DamageKind::Truncated, 2),
            (24, end - 1, end - record, DamageKind::Length(3), 1),
            (24, end - record, end - record, DamageKind::FrameTable(end - record), 1),
            (28, 12, end, DamageKind::FrameTable(end), 2),
            (28, u32::MAX, end, DamageKind::FrameTable(end), 2),
        ] {
            let mut file = good.clone();
            set(&mut file, at, value);
            let file = if kind == DamageKind::Truncated { &file[..end as usize] } else { &file };
            let damage = Damage { offset: u64::from(offset), kind };
            let (found, found_damage) = read(file);
            assert_eq!((found.len(), found_damage), (packets, Some(damage)), "{at} {value}");
        }
    }

    #[test]
    fn a_table_before_the_frame_table_is_no_record() {
        let mut file = file(1, &[1]);
        let table = file.len() as u32 - 4;
        file.splice(table as usize..table as usize, [0xee; 40]);
        set(&mut file, 24, table + 40);
        assert!(read(&file).1.is_some());
        set(&mut file, 40, table);
        set(&mut file, 44, 40);
        assert_eq!((read(&file).0.len(), read(&file).1), (1, None));
    }

    #[test]
    fn a_date_that_cannot_be_is_some_time() {
        let start = |fields: [u16; 8]| {
            let mut header = [0; HEADER];
            for (at, field) in (8..).step_by(2).zip(fields) {
                header[at..at + 2].copy_from_slice(&field.to_le_bytes());
            }
            start(&header)
        };
        assert_eq!(start([1970, 1, 0, 1, 0, 0, 1, 2]), Nanos(1_002_000_000));
        assert_eq!(start([0; 8]), Nanos(0));
        assert_eq!(start([1969, 12, 0, 31, 0, 0, 0, 0]), Nanos(0));
        assert_eq!(start([u16::MAX; 8]), Nanos(u64::MAX));
        // Month 99 is taken for the twelfth; the rest is added.
        let late = Nanos::from_secs(1_733_011_200 + 98 * 86_400 + 99 * 3600 + 99 * 60 + 99);
        assert_eq!(start([2024, 99, 9, 99, 99, 99, 99, 9999]), late + Nanos::from_millis(9999));
    }
}

//! pcapng (draft-ietf-opsawg-pcapng): sections, interfaces and the three kinds of packet block.
//!
//! Written by hand: a packet costs a few loads and no allocation, power-of-two resolutions and big-endian
//! offsets are supported, and the obsolete Packet Block is read. The tests compare with `pcap-parser`.

use ringtap_model::{Frame, LinkType, Nanos};

use crate::clock::Clock;
use crate::error::{Damage, DamageKind};
use crate::pcap::MAX_CAPTURED;
use crate::window::Rest;
use crate::{erf, sys};

/// Whether a file begins as a pcapng.
pub(crate) fn is_format(content: &[u8]) -> bool {
    content.starts_with(&SECTION.to_le_bytes())
}

/// Whether the first section header is whole.
pub(crate) fn has_header(content: &[u8]) -> bool {
    let mut records = Records::new(Rest::whole(content));
    match records.block() {
        Ok(_) => true,
        Err(kind) => kind != DamageKind::Truncated,
    }
}

/// One interface of the current section.
#[derive(Clone, Copy, Debug)]
struct Interface {
    link: LinkType,
    /// 0: no limit.
    snap: u32,
    clock: Clock,
}

/// The packets of one file, of which some bytes are in memory.
#[derive(Debug)]
pub(crate) struct Records<'a> {
    /// What is not read yet.
    pub(crate) rest: Rest<'a>,
    number: u64,
    big: bool,
    interfaces: Vec<Interface>,
    /// Time of the last packet, for Simple Packet Blocks, which have none.
    time: Nanos,
    /// Where and why the records end too early.
    pub(crate) damage: Option<Damage>,
}

/// The fields of a packet block.
struct Packet<'a> {
    interface: u32,
    ticks: Option<u64>,
    captured: u32,
    wire_len: u32,
    /// With padding and options.
    data: &'a [u8],
}

impl<'a> Records<'a> {
    pub(crate) fn new(rest: Rest<'a>) -> Self {
        Self { rest, number: 0, big: false, interfaces: Vec::new(), time: Nanos::ZERO, damage: None }
    }

    /// Goes on with the same records in other bytes, which begin where the next block does.
    pub(crate) fn over<'b>(self, rest: Rest<'b>) -> Records<'b> {
        let Self { number, big, interfaces, time, damage, .. } = self;
        Records { rest, number, big, interfaces, time, damage }
    }

    #[inline]
    pub(crate) fn next(&mut self) -> Option<Frame<'a>> {
        if self.damage.is_some() {
            return None;
        }
        while !self.rest.bytes.is_empty() {
            match self.next_block() {
                Ok(Some(frame)) => return Some(frame),
                Ok(None) => {}
                Err(kind) => {
                    self.damage = Some(Damage { offset: self.rest.offset(), kind });
                    return None;
                }
            }
        }
        None
    }

    /// Reads one block; consumes it only if it is valid.
    #[inline]
    fn next_block(&mut self) -> Result<Option<Frame<'a>>, DamageKind> {
        let (kind, body, rest) = self.block()?;
        let frame = match kind {
            ENHANCED => Some(self.frame(self.enhanced_packet(body)?)?),
            SECTION => {
                self.interfaces.clear();
                None
            }
            INTERFACE => {
                self.add_interface(body)?;
                None
            }
            SIMPLE => Some(self.frame(self.simple_packet(body)?)?),
            PACKET => Some(self.frame(self.obsolete_packet(body)?)?),
            _ => None,
        };
        sys::prefetch(rest);
        self.rest.bytes = rest;
        Ok(frame)
    }

    /// Splits off the next block: its type, its body and the bytes after it.
    #[inline]
    fn block(&mut self) -> Result<(u32, &'a [u8], &'a [u8]), DamageKind> {
        let head = self.rest.bytes.first_chunk::<8>().ok_or(DamageKind::Truncated)?;
        let [b0, b1, b2, b3, ..] = *head;
        if u32::from_le_bytes([b0, b1, b2, b3]) == SECTION {
            self.begin_section()?;
        }
        let (kind, length) = (self.u32(head, 0), self.u32(head, 4));
        let least = if kind == SECTION { MIN_SECTION } else { MIN_BLOCK };
        if length < least || length % 4 != 0 || length > MAX_BLOCK {
            return Err(DamageKind::Length(length));
        }
        let (block, rest) = self.rest.bytes.split_at_checked(length as usize).ok_or(DamageKind::Truncated)?;
        let (front, tail) = block.split_at(block.len() - 4);
        // The second length is for reading backwards; here it serves as a check.
        if self.u32(tail, 0) != length {
            return Err(DamageKind::Length(self.u32(tail, 0)));
        }
        Ok((kind, &front[8..], rest))
    }

    /// A section header sets the byte order of everything up to the next one (section 4.1).
    #[cold]
    fn begin_section(&mut self) -> Result<(), DamageKind> {
        let mark = self.rest.bytes.get(8..12).ok_or(DamageKind::Truncated)?;
        self.big = match mark {
            [0x4d, 0x3c, 0x2b, 0x1a] => false,
            [0x1a, 0x2b, 0x3c, 0x4d] => true,
            _ => return Err(DamageKind::ByteOrder),
        };
        Ok(())
    }

    /// An Interface Description Block (section 4.2).
    #[cold]
    fn add_interface(&mut self, body: &[u8]) -> Result<(), DamageKind> {
        let Some((fixed, mut options)) = body.split_at_checked(8) else {
            return Err(DamageKind::Length(body.len() as u32));
        };
        if self.interfaces.len() == MAX_INTERFACES as usize {
            return Err(DamageKind::Interfaces(MAX_INTERFACES));
        }
        let mut clock = Clock::MICROSECONDS;
        while let Some((code, value, rest)) = self.option(options) {
            match (code, value) {
                (OPTION_RESOLUTION, [resolution, ..]) => clock = clock.with_resolution(*resolution),
                (OPTION_OFFSET, &[a, b, c, d, e, f, g, h, ..]) => {
                    let bytes = [a, b, c, d, e, f, g, h];
                    let secs = if self.big { i64::from_be_bytes(bytes) } else { i64::from_le_bytes(bytes) };
                    clock = clock.with_offset(secs);
                }
                _ => {}
            }
            options = rest;
        }
        let link = LinkType(self.u16(fixed, 0));
        self.interfaces.push(Interface { link, snap: self.u32(fixed, 4), clock });
        Ok(())
    }

    /// The first option, its value without padding, and the options after it; `None` at the end or if they
    /// are malformed.
    fn option<'o>(&self, options: &'o [u8]) -> Option<(u16, &'o [u8], &'o [u8])> {
        let (head, rest) = options.split_at_checked(4)?;
        let (code, length) = (self.u16(head, 0), usize::from(self.u16(head, 2)));
        let value = rest.get(..length)?;
        let after = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
        (code != OPTION_END).then_some((code, value, after))
    }

    /// An Enhanced Packet Block (section 4.3).
    #[inline]
    fn enhanced_packet(&self, body: &'a [u8]) -> Result<Packet<'a>, DamageKind> {
        let (fixed, data) = body.split_at_checked(20).ok_or(DamageKind::Length(body.len() as u32))?;
        Ok(Packet {
            interface: self.u32(fixed, 0),
            ticks: Some(self.ticks(fixed, 4)),
            captured: self.u32(fixed, 12),
            wire_len: self.u32(fixed, 16),
            data,
        })
    }

    /// A Simple Packet Block (section 4.4): on the first interface, without a time, truncated at its snapshot
    /// length.
    #[cold]
    fn simple_packet(&self, body: &'a [u8]) -> Result<Packet<'a>, DamageKind> {
        let (fixed, data) = body.split_at_checked(4).ok_or(DamageKind::Length(body.len() as u32))?;
        let wire_len = self.u32(fixed, 0);
        let snap = self.interfaces.first().map_or(0, |interface| interface.snap);
        let captured = if snap == 0 { wire_len } else { wire_len.min(snap) };
        let captured = captured.min(data.len() as u32);
        Ok(Packet { interface: 0, ticks: None, captured, wire_len, data })
    }

    /// The obsolete Packet Block (appendix A): a 16-bit interface, then a count of drops.
    #[cold]
    fn obsolete_packet(&self, body: &'a [u8]) -> Result<Packet<'a>, DamageKind> {
        let (fixed, data) = body.split_at_checked(20).ok_or(DamageKind::Length(body.len() as u32))?;
        Ok(Packet {
            interface: u32::from(self.u16(fixed, 0)),
            ticks: Some(self.ticks(fixed, 4)),
            captured: self.u32(fixed, 12),
            wire_len: self.u32(fixed, 16),
            data,
        })
    }

    #[inline]
    fn frame(&mut self, packet: Packet<'a>) -> Result<Frame<'a>, DamageKind> {
        let Packet { interface, ticks, captured, wire_len, data } = packet;
        let Some(Interface { link, clock, .. }) = self.interfaces.get(interface as usize) else {
            return Err(DamageKind::Interface(interface));
        };
        if captured > MAX_CAPTURED {
            return Err(DamageKind::Oversize(captured));
        }
        let Some(data) = data.get(..captured as usize) else {
            return Err(DamageKind::Length(captured));
        };
        if let Some(ticks) = ticks {
            self.time = clock.time(ticks);
        }
        self.number += 1;
        let frame = Frame { time: self.time, number: self.number, link: *link, wire_len, data };
        Ok(if frame.link == erf::LINKTYPE { erf::unwrap_record(frame) } else { frame })
    }

    /// In both byte orders the upper half of a time comes first.
    #[inline]
    fn ticks(&self, bytes: &[u8], at: usize) -> u64 {
        u64::from(self.u32(bytes, at)) << 32 | u64::from(self.u32(bytes, at + 4))
    }

    /// INVARIANT: callers have checked that the four bytes are there.
    #[inline(always)]
    fn u32(&self, bytes: &[u8], at: usize) -> u32 {
        let value = u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        if self.big { value.swap_bytes() } else { value }
    }

    /// INVARIANT: callers have checked that the two bytes are there.
    #[inline(always)]
    fn u16(&self, bytes: &[u8], at: usize) -> u16 {
        let value = u16::from_le_bytes([bytes[at], bytes[at + 1]]);
        if self.big { value.swap_bytes() } else { value }
    }
}

pub(crate) const SECTION: u32 = 0x0a0d_0d0a;
pub(crate) const INTERFACE: u32 = 1;
const PACKET: u32 = 2;
const SIMPLE: u32 = 3;
pub(crate) const ENHANCED: u32 = 6;

const MIN_BLOCK: u32 = 12;
const MIN_SECTION: u32 = 28;
/// Limits the memory that a block needs; Wireshark has the same limit.
const MAX_BLOCK: u32 = 16 << 20;

const OPTION_END: u16 = 0;
pub(crate) const OPTION_RESOLUTION: u16 = 9;
const OPTION_OFFSET: u16 = 14;

/// Limits the memory for the table of interfaces.
const MAX_INTERFACES: u32 = 65_536;

#[cfg(test)]
mod tests {
    use super::*;

    /// Writes blocks in one byte order.
    struct Blocks {
        bytes: Vec<u8>,
        big: bool,
    }

    impl Blocks {
        fn new(big: bool) -> Self {
            Self { bytes: Vec::new(), big }
        }

        fn words(&self, words: &[u32]) -> Vec<u8> {
            let order = if self.big { u32::to_be_bytes } else { u32::to_le_bytes };
            words.iter().copied().flat_map(order).collect()
        }

        /// Two 16-bit fields, as one word in this byte order.
        fn halves(&self, first: u16, second: u16) -> u32 {
            let (first, second) = (u32::from(first), u32::from(second));
            if self.big { first << 16 | second } else { second << 16 | first }
        }

        fn block(mut self, kind: u32, fixed: &[u32], data: &[u8]) -> Self {
            let length = 12 + 4 * fixed.len() + data.len().next_multiple_of(4);
            let front = self.words(&[&[kind, length as u32], fixed].concat());
            self.bytes.extend(front);
            self.bytes.extend(data);
            self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
            let tail = self.words(&[length as u32]);
            self.bytes.extend(tail);
            self
        }

        fn section(self) -> Self {
            let version = self.halves(1, 0);
            self.block(SECTION, &[0x1a2b_3c4d, version, u32::MAX, u32::MAX], b"")
        }

        fn interface(self, link: u16, snap: u32, options: &[u8]) -> Self {
            let link = self.halves(link, 0);
            self.block(INTERFACE, &[link, snap], options)
        }

        fn option(&self, code: u16, value: &[u8]) -> Vec<u8> {
            let mut option = self.words(&[self.halves(code, value.len() as u16)]);
            option.extend(value);
            option.resize(option.len().next_multiple_of(4), 0);
            option
        }
    }

    type Seen = (u64, u16, u32, Vec<u8>);

    fn read(file: &[u8]) -> (Vec<Seen>, Option<Damage>) {
        assert!(is_format(file) && has_header(file));
        let mut records = Records::new(Rest::whole(file));
        let frames: Vec<_> = std::iter::from_fn(|| records.next()).collect();
        let numbers: Vec<u64> = frames.iter().map(|frame| frame.number).collect();
        assert_eq!(numbers, (1..=frames.len() as u64).collect::<Vec<_>>());
        let seen = |frame: &Frame<'_>| (frame.time.0, frame.link.0, frame.wire_len, frame.data.to_vec());
        (frames.iter().map(seen).collect(), records.damage)
    }

    #[test]
    fn sections_interfaces_and_kinds_of_packets() {
        let comment = Blocks::new(false).option(1, b"a comment");
        for big in [false, true] {
            let blocks = Blocks::new(big);
            let offset = if big { 100_i64.to_be_bytes() } else { 100_i64.to_le_bytes() };
            let options = [blocks.option(2, b"eth0"), blocks.option(9, &[9]), blocks.option(14, &offset)];
            let file = blocks
                .section()
                .interface(1, 0, &options.concat())
                .interface(113, 2, b"")
                .block(5, &[0, 0, 0], b"")
                .block(ENHANCED, &[0, 1, 2, 3, 70], &[b"abc\0".as_slice(), &comment].concat())
                .block(ENHANCED, &[1, 0, 7, 5, 5], b"defgh")
                .block(0x0bad, &[], b"ignored")
                .section()
                .interface(101, 2, b"");
            let old = file.halves(0, 9);
            let bytes = file.block(SIMPLE, &[60], b"ij").block(PACKET, &[old, 0, 8, 3, 3], b"klm").bytes;
            let (seen, damage) = read(&bytes);
            let expected: [Seen; 4] = [
                (100_000_000_000 + (1 << 32) + 2, 1, 70, b"abc".to_vec()),
                (7_000, 113, 5, b"defgh".to_vec()),
                (7_000, 101, 60, b"ij".to_vec()),
                (8_000, 101, 3, b"klm".to_vec()),
            ];
            assert_eq!(seen, expected, "big: {big}");
            assert_eq!(damage, None);
        }
    }

    #[test]
    fn sections_may_change_the_byte_order() {
        let packet = |big: bool| {
            let blocks = Blocks::new(big).section().interface(1, 0, b"");
            blocks.block(ENHANCED, &[0, 0, 1, 1, 1], b"a").bytes
        };
        let (seen, damage) = read(&[packet(true), packet(false), packet(true)].concat());
        assert_eq!(seen, vec![(1_000, 1, 1, b"a".to_vec()); 3]);
        assert_eq!(damage, None);
    }

    #[test]
    fn damages_name_their_place() {
        let good =
            || Blocks::new(false).section().interface(1, 0, b"").block(ENHANCED, &[0, 0, 1, 1, 1], b"a");
        let offset = good().bytes.len() as u64;
        let check = |bytes: Vec<u8>, kind: DamageKind| {
            let (seen, damage) = read(&bytes);
            assert_eq!((seen.len(), damage), (1, Some(Damage { offset, kind })));
        };
        check(good().block(ENHANCED, &[3, 0, 1, 1, 1], b"a").bytes, DamageKind::Interface(3));
        check(good().block(ENHANCED, &[0, 0, 1, 9, 9], b"a").bytes, DamageKind::Length(9));
        check(good().block(ENHANCED, &[0, 0, 1, 262_145, 9], b"a").bytes, DamageKind::Oversize(262_145));
        check(good().block(ENHANCED, &[0, 0, 1], b"").bytes, DamageKind::Length(12));
        check(good().block(SECTION, &[0, 0, 0, 0], b"").bytes, DamageKind::ByteOrder);
        check([good().bytes, vec![6, 0, 0, 0, 8, 0, 0, 0]].concat(), DamageKind::Length(8));
        check([good().bytes, vec![6, 0, 0, 0, 33, 0, 0, 0]].concat(), DamageKind::Length(33));
        let mut unequal = good().block(0x0bad, &[], b"").bytes;
        *unequal.last_mut().expect("not empty") = 1;
        check(unequal, DamageKind::Length(0x0100_000c));
    }

    #[test]
    fn a_cut_anywhere_keeps_what_is_before() {
        let header = Blocks::new(true).section().interface(1, 0, b"").bytes.len();
        let packet = |blocks: Blocks| blocks.block(ENHANCED, &[0, 0, 1, 1, 1], b"a");
        let file = packet(packet(Blocks::new(true).section().interface(1, 0, b""))).bytes;
        let each = (file.len() - header) / 2;
        for end in 28..file.len() {
            let (seen, damage) = read(&file[..end]);
            assert_eq!(seen.len(), end.saturating_sub(header) / each);
            let whole = end == 28 || end == header || end == header + each;
            assert_eq!(damage.is_none(), whole, "cut at {end}");
            assert!(damage.is_none_or(|damage| damage.kind == DamageKind::Truncated));
        }
        assert!((4..28).all(|end| !has_header(&file[..end])));
    }

    #[test]
    fn options_that_lie_about_their_length_are_left_out() {
        let blocks = Blocks::new(false);
        let mut options = blocks.option(9, &[9]);
        options.extend([14, 0, 0xff, 0xff, 1, 2, 3, 4]);
        let file = blocks.section().interface(1, 0, &options).block(ENHANCED, &[0, 0, 1, 1, 1], b"a").bytes;
        assert_eq!(read(&file).0[0].0, 1);
    }

    #[test]
    fn interfaces_have_a_ceiling() {
        let mut file = Blocks::new(false).section();
        for _ in 0..=MAX_INTERFACES {
            file = file.interface(1, 0, b"");
        }
        let (_, damage) = read(&file.bytes);
        assert_eq!(damage.map(|damage| damage.kind), Some(DamageKind::Interfaces(MAX_INTERFACES)));
    }
}

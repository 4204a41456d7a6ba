//! IP datagrams put together from their fragments: RFC 791 section 3.2, RFC 8200 section 4.5.
//!
//! Any order, repeated, overlapping, missing. Where fragments overlap, the bytes that came first stay.

use std::net::IpAddr;

use ringtap_model::Nanos;
use ringtap_wire::frame::{Fragment, Ip};

use crate::table::aged::{Aged, HeapBytes};
use crate::table::hash::Hasher;

/// RFC 8200 section 4.5: a datagram that is not whole 60 s after its first fragment is given up.
const LIMIT: Nanos = Nanos::from_secs(60);
/// Largest payload of an IP datagram.
const MAX_BYTES: u32 = 65_535;
/// Pieces of one datagram; more is an attack (64 KiB in 512-byte steps is 128).
const MAX_PIECES: usize = 256;
/// Frames that are noted for one datagram: no more are needed, since offsets are multiples of eight.
const MAX_FRAMES: usize = MAX_BYTES as usize / 8 + 1;

/// Addresses, identification, protocol, and how many tunnels it is in: what leaves a tunnel passes once more
/// outside, with the same identification.
type Key = (IpAddr, IpAddr, u32, u8, u8);

/// A datagram of which fragments are missing. It holds the bytes that came and no others: an offset far from
/// the start costs nothing.
#[derive(Default)]
struct Datagram {
    first: Nanos,
    /// Bytes in order of their arrival, and what part of the payload each stretch of them is.
    bytes: Vec<u8>,
    stretches: Vec<Stretch>,
    /// Covered ranges, ascending, neither touching nor overlapping.
    covered: Vec<(u32, u32)>,
    /// End of the fragment that ends last.
    highest: u32,
    /// Length of the whole, once the last fragment came.
    total: Option<u32>,
    /// Where the first byte is missing that was on the wire but not in the capture; None where there is none.
    cut: Option<u32>,
    header_len: u32,
    frames: Vec<u64>,
}

/// A part of the payload that begins at `start`, and of [`Datagram::bytes`] that begins at `at`.
#[derive(Clone, Copy)]
struct Stretch {
    start: u32,
    at: u32,
    len: u32,
}

/// A datagram that is whole.
pub(crate) struct Whole {
    pub(crate) ip: Ip,
    pub(crate) bytes: Vec<u8>,
    pub(crate) frames: Vec<u64>,
}

/// What happened to fragments that led to no datagram.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct FragmentCounts {
    /// Datagrams given up after the limit or at the end.
    pub(crate) incomplete: u64,
    /// Fragments that cannot be: past 64 KiB, contradicting the last one, too many pieces.
    pub(crate) bad: u64,
}

/// The table of datagrams under way, in order of their first fragment.
pub(crate) struct Fragments {
    datagrams: Aged<Key, Datagram>,
    pub(crate) counts: FragmentCounts,
}

impl Fragments {
    /// For up to `ceiling` datagrams, which hold up to `max_bytes` together.
    pub(crate) fn new(ceiling: usize, max_bytes: usize, hasher: Hasher) -> Self {
        Self { datagrams: Aged::new(ceiling, max_bytes, hasher), counts: FragmentCounts::default() }
    }

    /// Datagrams pushed out at a ceiling.
    pub(crate) fn evicted(&self) -> u64 {
        self.datagrams.evicted
    }

    /// Takes one fragment; gives the datagram when this was its last missing piece.
    #[cold]
    pub(crate) fn push(
        &mut self,
        (ip, depth): (&Ip, u8),
        fragment: &Fragment<'_>,
        now: Nanos,
        frames: &[u64],
    ) -> Option<Whole> {
        self.expire(now);
        let len = fragment.len.max(fragment.data.len()) as u64;
        let end = u64::from(fragment.offset) + len;
        if end > u64::from(MAX_BYTES) || len == 0 {
            self.counts.bad += 1;
            return None;
        }
        let key = (ip.src, ip.dst, fragment.id, fragment.proto, depth);
        let header_len = ip.header_len;
        let slot = self.datagrams.find_or_insert(key, || Datagram {
            first: now,
            header_len,
            ..Datagram::default()
        })?;
        let datagram = self.datagrams.get_mut(slot);
        let is_good = datagram.add(fragment, end as u32, frames);
        let is_whole = is_good && datagram.is_whole();
        if !is_whole {
            self.counts.bad += u64::from(!is_good);
            self.datagrams.grown(slot);
            return None;
        }
        let datagram = self.datagrams.remove(slot)?;
        let total = datagram.highest;
        let ip = Ip {
            proto: fragment.proto,
            len: datagram.header_len + total,
            header_len: datagram.header_len,
            ..*ip
        };
        let (bytes, frames) = datagram.into_payload();
        Some(Whole { ip, bytes, frames })
    }

    /// Datagrams still under way at the end are incomplete.
    pub(crate) fn close(&mut self) {
        self.expire(Nanos::MAX);
    }

    fn expire(&mut self, now: Nanos) {
        while self.datagrams.remove_oldest_if(|datagram| now.since(datagram.first) >= LIMIT).is_some() {
            self.counts.incomplete += 1;
        }
    }
}

impl HeapBytes for Datagram {
    fn heap_bytes(&self) -> usize {
        self.bytes.capacity()
            + self.stretches.capacity() * size_of::<Stretch>()
            + self.covered.capacity() * size_of::<(u32, u32)>()
            + self.frames.capacity() * size_of::<u64>()
    }
}

impl Datagram {
    /// False when the fragment contradicts what came before.
    fn add(&mut self, fragment: &Fragment<'_>, end: u32, frames: &[u64]) -> bool {
        if !fragment.more {
            if self.total.is_some_and(|total| total != end) || self.highest > end {
                return false;
            }
            self.total = Some(end);
        }
        if self.total.is_some_and(|total| end > total) || self.covered.len() >= MAX_PIECES {
            return false;
        }
        self.highest = self.highest.max(end);
        let start = fragment.offset;
        let captured = start + fragment.data.len() as u32;
        for (from, to) in self.holes(start, end) {
            let to_captured = to.min(captured);
            if from < to_captured {
                self.append(from, &fragment.data[(from - start) as usize..(to_captured - start) as usize]);
            }
            if to_captured < to {
                let cut = to_captured.max(from);
                self.cut = Some(self.cut.map_or(cut, |other| other.min(cut)));
            }
        }
        self.cover(start, end);
        // A fragment that is repeated adds nothing, but belongs to the datagram all the same.
        let room = MAX_FRAMES.saturating_sub(self.frames.len());
        self.frames.extend(frames.iter().take(room));
        true
    }

    fn append(&mut self, start: u32, bytes: &[u8]) {
        let (at, len) = (self.bytes.len() as u32, bytes.len() as u32);
        self.bytes.extend_from_slice(bytes);
        match self.stretches.last_mut() {
            Some(last) if last.start + last.len == start => last.len += len,
            _ => self.stretches.push(Stretch { start, at, len }),
        }
    }

    /// The payload up to the first byte that was not captured, and the frames that it came in.
    fn into_payload(self) -> (Vec<u8>, Vec<u64>) {
        let Self { bytes, stretches, highest, cut, frames, .. } = self;
        let len = cut.unwrap_or(highest) as usize;
        let mut payload = match stretches[..] {
            // The fragments came in order, as nearly always.
            [Stretch { start: 0, .. }] => bytes,
            _ => {
                let mut payload = vec![0; highest as usize];
                for Stretch { start, at, len } in stretches {
                    let [start, at, len] = [start, at, len].map(|number| number as usize);
                    payload[start..start + len].copy_from_slice(&bytes[at..at + len]);
                }
                payload
            }
        };
        payload.truncate(len);
        (payload, frames)
    }

    /// Parts of a range that nothing has filled yet.
    fn holes(&self, start: u32, end: u32) -> Vec<(u32, u32)> {
        let mut holes = Vec::new();
        let mut at = start;
        for &(from, to) in &self.covered {
            if to <= at {
                continue;
            }
            if from >= end {
                break;
            }
            if from > at {
                holes.push((at, from));
            }
            at = to;
        }
        if at < end {
            holes.push((at, end));
        }
        holes
    }

    fn cover(&mut self, start: u32, end: u32) {
        let (mut from, mut to) = (start, end);
        self.covered.retain(|&(other_from, other_to)| {
            let apart = other_to < from || other_from > to;
            if !apart {
                from = from.min(other_from);
                to = to.max(other_to);
            }
            apart
        });
        let index = self.covered.partition_point(|&(other, _)| other < from);
        self.covered.insert(index, (from, to));
    }

    fn is_whole(&self) -> bool {
        self.total.is_some_and(|total| self.covered == [(0, total)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ip() -> Ip {
        Ip {
            src: [192, 0, 2, 1].into(),
            dst: [192, 0, 2, 2].into(),
            proto: 17,
            len: 0,
            header_len: 20,
            id: 0,
            at: 0,
        }
    }

    fn piece(id: u32, offset: usize, data: &[u8], more: bool) -> Fragment<'_> {
        Fragment { id, offset: offset as u32, more, proto: 17, data, len: data.len() }
    }

    fn table(ceiling: usize) -> Fragments {
        Fragments::new(ceiling, 1 << 20, Hasher::new(1))
    }

    #[test]
    fn two_in_reverse_order() {
        let mut table = table(4);
        let now = Nanos::from_secs(1);
        assert!(table.push((&ip(), 0), &piece(7, 8, b"world", false), now, &[2]).is_none());
        let whole = table
            .push((&ip(), 0), &piece(7, 0, b"hello, w", true), now, &[1])
            .map(|whole| (whole.bytes, whole.ip.len, whole.frames));
        assert_eq!(whole, Some((b"hello, wworld".to_vec(), 33, vec![2, 1])));
    }

    #[test]
    fn what_left_a_tunnel_is_another_datagram() {
        let mut table = table(4);
        let now = Nanos::from_secs(1);
        assert!(table.push((&ip(), 1), &piece(7, 0, b"hello, w", true), now, &[1]).is_none());
        assert!(table.push((&ip(), 0), &piece(7, 8, b"world", false), now, &[2]).is_none());
        assert!(table.push((&ip(), 1), &piece(7, 8, b"world", false), now, &[3]).is_some());
    }

    #[test]
    fn a_missing_one_is_given_up_and_counted() {
        let mut table = table(4);
        table.push((&ip(), 0), &piece(7, 0, b"12345678", true), Nanos::from_secs(1), &[1]);
        assert!(table.push((&ip(), 0), &piece(7, 8, b"x", false), Nanos::from_secs(100), &[2]).is_none());
        assert_eq!(table.counts.incomplete, 1);
    }

    #[test]
    fn the_ceiling_pushes_the_oldest_out() {
        let mut table = table(2);
        let now = Nanos::from_secs(1);
        for id in 1..=3 {
            table.push((&ip(), 0), &piece(id, 0, b"12345678", true), now, &[1]);
        }
        assert_eq!(table.evicted(), 1);
        assert!(table.push((&ip(), 0), &piece(1, 8, b"x", false), now, &[2]).is_none());
        assert!(table.push((&ip(), 0), &piece(3, 8, b"x", false), now, &[2]).is_some());
    }

    #[test]
    fn the_first_copy_of_an_overlap_stays() {
        let mut table = table(2);
        let now = Nanos::from_secs(1);
        table.push((&ip(), 0), &piece(1, 0, b"AAAAAAAA", true), now, &[1]);
        table.push((&ip(), 0), &piece(1, 0, b"BBBBBBBBBBBBBBBB", true), now, &[2]);
        let whole = table.push((&ip(), 0), &piece(1, 16, b"C", false), now, &[3]).map(|whole| whole.bytes);
        assert_eq!(whole.as_deref(), Some(&b"AAAAAAAABBBBBBBBC"[..]));
    }

    #[test]
    fn a_cut_fragment_cuts_the_datagram() {
        let mut table = table(2);
        let now = Nanos::from_secs(1);
        let mut cut = piece(1, 8, b"wo", false);
        cut.len = 5;
        table.push((&ip(), 0), &piece(1, 0, b"hello, w", true), now, &[1]);
        let whole = table.push((&ip(), 0), &cut, now, &[2]).map(|whole| (whole.bytes, whole.ip.len));
        assert_eq!(whole, Some((b"hello, wwo".to_vec(), 33)));
    }

    proptest! {
        #[test]
        fn any_cut_in_any_order_gives_the_datagram(
            data in proptest::collection::vec(any::<u8>(), 1..4000),
            cuts in proptest::collection::vec(0usize..500, 0..20),
            order in any::<u64>(),
        ) {
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| (cut * 8).min(data.len())).collect();
            cuts.extend([0, data.len()]);
            cuts.sort_unstable();
            cuts.dedup();
            let mut pieces: Vec<(usize, usize)> = cuts.windows(2).map(|pair| (pair[0], pair[1])).collect();
            // Overlapping pieces of the same content.
            let longer: Vec<_> = pieces.iter().map(|&(from, to)| (from, (to + 24).min(data.len()))).collect();
            pieces.extend(longer);
            pieces.sort_by_key(|&(from, to)| Hasher::new(order).of((from, to)));
            let mut table = table(4);
            let mut got = None;
            for (from, to) in pieces {
                let piece = piece(9, from, &data[from..to], to < data.len());
                let whole = table.push((&ip(), 0), &piece, Nanos::ZERO, &[1]);
                got = got.or(whole.map(|whole| whole.bytes));
            }
            prop_assert_eq!(got, Some(data));
        }

        #[test]
        fn hostile_fragments_never_panic(
            pieces in proptest::collection::vec((0u32..70_000, 0usize..3000, any::<bool>(), 0u32..3), 0..60),
        ) {
            let data = [0u8; 3000];
            let mut table = table(2);
            for (offset, len, more, id) in pieces {
                let fragment = Fragment { id, offset, more, proto: 17, data: &data[..len], len: len + 7 };
                table.push((&ip(), 0), &fragment, Nanos::ZERO, &[1]);
            }
        }
    }

    const NOW: Nanos = Nanos::from_secs(1);

    /// Pushes pieces of one datagram: offset, data, more. What comes out.
    fn pushed(pieces: &[(usize, &[u8], bool)]) -> (Option<Vec<u8>>, FragmentCounts) {
        let mut table = table(4);
        let mut whole = None;
        for (offset, data, more) in pieces {
            whole =
                table.push((&ip(), 0), &piece(1, *offset, data, *more), NOW, &[1]).map(|whole| whole.bytes);
        }
        (whole, table.counts)
    }

    const BAD: FragmentCounts = FragmentCounts { incomplete: 0, bad: 1 };

    #[test]
    fn a_fragment_that_contradicts_the_last_one_is_bad() {
        // Behind the end, another end, an end before what has come.
        assert_eq!(pushed(&[(8, b"end", false), (16, b"12345678", true)]).1, BAD);
        assert_eq!(pushed(&[(8, b"end", false), (8, b"end2", false)]).1, BAD);
        assert_eq!(pushed(&[(8, b"12345678", true), (8, b"end", false)]).1, BAD);
        assert_eq!(pushed(&[(8, b"end", false), (8, b"end", false)]).1, FragmentCounts::default());
    }

    #[test]
    fn a_datagram_is_64_kib_at_most_and_a_fragment_has_data() {
        assert_eq!(pushed(&[(65_528, b"1234567", false)]).1, FragmentCounts::default());
        assert_eq!(pushed(&[(65_528, b"12345678", false)]).1, BAD);
        assert_eq!(pushed(&[(8, b"", false)]).1, BAD);
    }

    #[test]
    fn more_pieces_than_any_datagram_has_are_an_attack() {
        let mut table = table(4);
        for index in 0..MAX_PIECES + 3 {
            table.push((&ip(), 0), &piece(1, index * 16, b"12345678", true), NOW, &[1]);
        }
        assert_eq!(table.counts.bad, 3);
    }

    #[test]
    fn holes_are_filled_in_any_order_and_overlaps_keep_what_came_first() {
        let whole =
            pushed(&[(16, b"CCCCCCCC", true), (0, b"AAAAAAAAaaaaaaaabbbbbbbb", true), (24, b"D", false)]);
        assert_eq!(whole.0.as_deref(), Some(&b"AAAAAAAAaaaaaaaaCCCCCCCCD"[..]));
        let whole = pushed(&[(0, b"A", false)]);
        assert_eq!(whole.0.as_deref(), Some(&b"A"[..]));
    }

    #[test]
    fn an_unfinished_datagram_is_given_up_after_a_minute_and_at_the_end() {
        let mut table = table(4);
        let later = |seconds| NOW + Nanos::from_secs(seconds);
        table.push((&ip(), 0), &piece(1, 0, b"12345678", true), NOW, &[1]);
        table.push((&ip(), 0), &piece(2, 0, b"12345678", true), later(59), &[1]);
        assert_eq!(table.counts.incomplete, 0);
        table.push((&ip(), 0), &piece(3, 0, b"12345678", true), later(60), &[1]);
        assert_eq!(table.counts.incomplete, 1);
        table.close();
        assert_eq!(table.counts.incomplete, 3);
    }

    #[test]
    fn a_whole_datagram_leaves_room_for_another() {
        let mut table = table(1);
        for id in 1..=3 {
            table.push((&ip(), 0), &piece(id, 0, b"12345678", true), NOW, &[1]);
            assert!(table.push((&ip(), 0), &piece(id, 8, b"x", false), NOW, &[2]).is_some());
        }
        assert_eq!(table.counts, FragmentCounts::default());
    }

    /// RFC 8200 section 4.5: the IPv6 header names the Fragment header (44), which names what was cut.
    #[test]
    fn a_datagram_has_the_protocol_that_its_fragments_name() {
        let mut table = table(1);
        let ipv6 = Ip { proto: 44, header_len: 48, ..ip() };
        table.push((&ipv6, 0), &piece(1, 0, b"12345678", true), NOW, &[1]);
        let whole = table.push((&ipv6, 0), &piece(1, 8, b"x", false), NOW, &[2]).map(|whole| whole.ip);
        assert_eq!(whole.map(|ip| (ip.proto, ip.header_len, ip.len)), Some((17, 48, 57)));
    }

    #[test]
    fn the_header_of_the_first_fragment_counts() {
        let mut table = table(1);
        let long = Ip { header_len: 60, ..ip() };
        table.push((&long, 0), &piece(1, 0, b"12345678", true), NOW, &[1]);
        let whole = table.push((&ip(), 0), &piece(1, 8, b"x", false), NOW, &[2]).map(|whole| whole.ip);
        assert_eq!(whole.map(|ip| (ip.header_len, ip.len, ip.proto)), Some((60, 69, 17)));
    }
}

//! One direction of a call on a time line.

use std::ops::Range;

use ringtap_model::{Hz, Nanos};

use crate::Codec;

/// An RTP packet as the time line needs it.
#[derive(Clone, Copy, Debug)]
pub struct RtpSound<'a> {
    /// When it was captured.
    pub arrival: Nanos,
    /// Sequence number on the wire.
    pub sequence: u16,
    /// RTP timestamp.
    pub timestamp: u32,
    /// RTP payload type.
    pub payload_type: u8,
    /// Payload without header, extension and padding.
    pub payload: &'a [u8],
}

/// The packets of one stream, each at the place that its RTP timestamp gives it.
///
/// Packets come in any order; repeats are dropped; what is missing (loss, pauses, comfort noise, events, other codecs) is
/// silence, which takes no memory. Where timestamps jump by more than the arrival times can explain, the time line goes on
/// at the arrival time: so a restarted sender keeps its place, and a forged timestamp cannot make hours of silence.
#[derive(Clone, Debug)]
pub struct Track {
    codec: Codec,
    /// Samples a second.
    rate: u64,
    /// A dynamic payload type that carries `codec`.
    dynamic: Option<u8>,
    /// G.711 as it came.
    bytes: Vec<u8>,
    /// Ascending by start, never empty, never overlapping.
    pieces: Vec<Piece>,
    /// Arrival of the first packet, which is position 0.
    first: Nanos,
    newest: Option<Newest>,
    /// The last packets, to know their repeats.
    recent: [Option<(u16, u32)>; RECENT],
    pushed: usize,
    dropped: u64,
}

/// Samples that follow one another without a gap.
#[derive(Clone, Debug)]
struct Piece {
    /// In samples; negative for what was sent before the first packet that came.
    start: i64,
    codec: Codec,
    /// Its place in `bytes`.
    bytes: Range<usize>,
}

impl Piece {
    fn end(&self) -> i64 {
        self.start + self.bytes.len() as i64
    }
}

/// The packet with the highest timestamp: the anchor of those that come next.
#[derive(Clone, Copy, Debug)]
struct Newest {
    arrival: Nanos,
    sequence: u16,
    timestamp: u32,
    position: i64,
    samples: u32,
}

impl Track {
    /// An empty track for a stream of this codec with this RTP clock.
    pub fn new(codec: Codec, clock: Hz) -> Self {
        Self {
            codec,
            rate: if RATES.contains(&clock.0) { u64::from(clock.0) } else { 8_000 },
            dynamic: None,
            bytes: Vec::new(),
            pieces: Vec::new(),
            first: Nanos::ZERO,
            newest: None,
            recent: [None; RECENT],
            pushed: 0,
            dropped: 0,
        }
    }

    /// Names the dynamic payload type that carries the codec. Without it, it is that of the first packet, unless that is
    /// G.711 by its static type or too short to be sound.
    #[must_use]
    pub fn with_payload_type(self, payload_type: u8) -> Self {
        Self { dynamic: Some(payload_type), ..self }
    }

    /// Takes the next packet in order of capture.
    pub fn push(&mut self, packet: RtpSound<'_>) {
        let Some(codec) = self.sound(&packet) else { return };
        let key = Some((packet.sequence, packet.timestamp));
        if self.recent.contains(&key) {
            self.dropped += 1;
            return;
        }
        self.recent[self.pushed % RECENT] = key;
        self.pushed += 1;
        let Some(position) = self.place(&packet) else {
            self.dropped += 1;
            return;
        };
        if !self.insert(position, codec, packet.payload) {
            self.dropped += 1;
        }
    }

    /// When its first sample was captured; `None` for a track without sound.
    pub fn start(&self) -> Option<Nanos> {
        let start = self.pieces.first()?.start;
        let ahead = Nanos(start.unsigned_abs() * SECOND / self.rate);
        Some(if start < 0 { self.first - ahead } else { self.first + ahead })
    }

    /// Samples from the first to the last, silence between them included.
    pub fn samples(&self) -> u64 {
        match (self.pieces.first(), self.pieces.last()) {
            (Some(first), Some(last)) => (last.end() - first.start) as u64,
            _ => 0,
        }
    }

    /// Samples a second.
    pub fn rate(&self) -> Hz {
        Hz(self.rate as u32)
    }

    /// Packets with sound that are not heard: repeats, stragglers, and all beyond 24 hours.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Fills `out` with the samples from `from` on, counted from the first; silence where there are none.
    pub fn read(&self, from: u64, out: &mut [i16]) {
        out.fill(0);
        let Some(origin) = self.pieces.first().map(|piece| piece.start) else { return };
        let from = origin.saturating_add_unsigned(from);
        let to = from.saturating_add_unsigned(out.len() as u64);
        let begin = self.pieces.partition_point(|piece| piece.end() <= from);
        for piece in self.pieces[begin..].iter().take_while(|piece| piece.start < to) {
            let (start, end) = (piece.start.max(from), piece.end().min(to));
            let skipped = (start - piece.start) as usize;
            let bytes = &self.bytes[piece.bytes.start + skipped..piece.bytes.end];
            let out = &mut out[(start - from) as usize..(end - from) as usize];
            for (sample, byte) in out.iter_mut().zip(bytes) {
                *sample = piece.codec.decode(*byte);
            }
        }
    }

    /// The codec of a packet that carries sound; comfort noise, events and whatever else is silence.
    fn sound(&mut self, packet: &RtpSound<'_>) -> Option<Codec> {
        if packet.payload.is_empty() {
            return None;
        }
        if let Some(codec) = Codec::from_payload_type(packet.payload_type) {
            return Some(codec);
        }
        let undecided = self.dynamic.is_none() && self.newest.is_none();
        if undecided && packet.payload_type >= FIRST_DYNAMIC && packet.payload.len() >= LEAST_SOUND {
            self.dynamic = Some(packet.payload_type);
        }
        (self.dynamic == Some(packet.payload_type)).then_some(self.codec)
    }

    /// The position of a packet, which becomes the anchor unless it is an earlier one; `None` for one that comes too late.
    fn place(&mut self, packet: &RtpSound<'_>) -> Option<i64> {
        let Some(newest) = self.newest else {
            self.first = packet.arrival;
            return self.anchor(packet, 0);
        };
        // Modulo 2^32: behind is negative.
        let advance = i64::from(packet.timestamp.wrapping_sub(newest.timestamp) as i32);
        let position = newest.position + advance;
        let end = newest.position + i64::from(newest.samples);
        if advance < 0 {
            let behind = newest.sequence.wrapping_sub(packet.sequence);
            if (1..MISORDERED).contains(&behind) && advance >= -self.seconds(REORDERED) {
                return Some(position);
            }
            if (1..STRAGGLERS).contains(&behind) {
                return None;
            }
        } else if advance > 0 && self.explained(packet, &newest, advance) {
            // Timestamps in another unit, smaller than the payload: the next packet in sequence follows.
            let next = packet.sequence == newest.sequence.wrapping_add(1);
            return self.anchor(packet, if next { position.max(end) } else { position });
        }
        // A restart, a jump, or a timestamp that stands still: go on at the arrival, but after what is there, and not where
        // only a wrong capture time can put it.
        let due = Some(self.due(packet.arrival)).filter(|due| *due <= self.seconds(CEILING));
        self.anchor(packet, due.map_or(end, |due| due.max(end)))
    }

    /// Whether the time since the newest packet and since the first can explain how far a timestamp went forward.
    fn explained(&self, packet: &RtpSound<'_>, newest: &Newest, advance: i64) -> bool {
        let elapsed = self.in_samples(packet.arrival - newest.arrival);
        if elapsed - advance > self.seconds(PAUSE) {
            return false;
        }
        // What follows without a gap is justified by its own payload.
        if advance <= i64::from(newest.samples) {
            return true;
        }
        // Clocks differ by less than a hundredth; packets that come faster than time justify what they brought.
        let due = self.due(packet.arrival);
        let limit = (due + due / 128).max(self.bytes.len() as i64) + self.seconds(SLACK);
        newest.position + advance <= limit
    }

    fn anchor(&mut self, packet: &RtpSound<'_>, position: i64) -> Option<i64> {
        if position > self.seconds(CEILING) {
            return None;
        }
        self.newest = Some(Newest {
            arrival: packet.arrival,
            sequence: packet.sequence,
            timestamp: packet.timestamp,
            position,
            samples: packet.payload.len() as u32,
        });
        Some(position)
    }

    /// Puts samples where nothing is yet; false where all of their place is taken.
    fn insert(&mut self, position: i64, codec: Codec, payload: &[u8]) -> bool {
        let index = self.pieces.partition_point(|piece| piece.start <= position);
        let taken = index.checked_sub(1).map_or(i64::MIN, |before| self.pieces[before].end());
        let free = self.pieces.get(index).map_or(i64::MAX, |after| after.start);
        // What overlaps its neighbours was heard from them already.
        let start = position.max(taken);
        let end = (position + payload.len() as i64).min(free);
        if start >= end || self.bytes.len() + payload.len() > self.seconds(CEILING) as usize {
            return false;
        }
        let offset = self.bytes.len();
        self.bytes.extend_from_slice(&payload[(start - position) as usize..(end - position) as usize]);
        let bytes = offset..self.bytes.len();
        match index.checked_sub(1).map(|before| &mut self.pieces[before]) {
            Some(before) if taken == start && before.codec == codec && before.bytes.end == offset => {
                before.bytes.end = bytes.end;
            }
            _ => self.pieces.insert(index, Piece { start, codec, bytes }),
        }
        true
    }

    /// The position that belongs to an arrival.
    fn due(&self, arrival: Nanos) -> i64 {
        self.in_samples(arrival - self.first)
    }

    fn in_samples(&self, span: Nanos) -> i64 {
        // Fits: 2^64 ns are less than 2^35 s, and a rate has 18 bits.
        (u128::from(span.0) * u128::from(self.rate) / u128::from(SECOND)) as i64
    }

    fn seconds(&self, seconds: u64) -> i64 {
        (seconds * self.rate) as i64
    }
}

const SECOND: u64 = 1_000_000_000;

/// A call longer than this is cut.
const CEILING: u64 = 24 * 3600;
/// Seconds by which a packet may come after one with a higher timestamp.
const REORDERED: u64 = 1;
/// Packets that may be sent in that time.
const MISORDERED: u16 = 1_000;
/// Packets behind the newest that are late beyond use and not the sign of a restart; RFC 3550 appendix A.1 has MAX_MISORDER 100.
const STRAGGLERS: u16 = 100;
/// Seconds that arrivals may stand still while timestamps do too, and still be one stall of the network.
const PAUSE: u64 = 5;
/// Seconds by which the first packet may have been delayed more than the others.
const SLACK: u64 = 2;

/// As many repeats as a port mirror that copies a packet twice can put between.
const RECENT: usize = 64;
/// RFC 3551 section 3.
const FIRST_DYNAMIC: u8 = 96;
/// A telephone event has 4 bytes (RFC 4733 section 2.3), comfort noise few; 20 are 2.5 ms of sound.
const LEAST_SOUND: usize = 20;
/// The sampling rates that exist; another clock is taken for a mistake.
const RATES: std::ops::RangeInclusive<u32> = 1_000..=192_000;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A sender of packets of 20 ms whose payload is the number of the packet, and what a test changes of it.
    struct Sender {
        track: Track,
        /// Arrival of the next packet, in milliseconds.
        millis: u64,
        sequence: u16,
        timestamp: u32,
        payload_type: u8,
    }

    impl Sender {
        fn new() -> Self {
            let track = Track::new(Codec::Pcmu, Hz(8_000));
            // Both numbers wrap soon.
            Self { track, millis: 5_000, sequence: 65_530, timestamp: u32::MAX - 500, payload_type: 0 }
        }

        fn packet(&mut self, payload: &[u8]) {
            let &mut Self { millis, sequence, timestamp, payload_type, .. } = self;
            let arrival = Nanos::from_millis(millis);
            self.track.push(RtpSound { arrival, sequence, timestamp, payload_type, payload });
        }

        /// Skips packets as if they were lost.
        fn lose(&mut self, packets: u32) -> &mut Self {
            self.millis += 20 * u64::from(packets);
            self.sequence = self.sequence.wrapping_add(packets as u16);
            self.timestamp = self.timestamp.wrapping_add(160 * packets);
            self
        }

        fn send(&mut self, bytes: Range<u8>) -> &mut Self {
            for byte in bytes {
                self.packet(&[byte; 160]);
                self.lose(1);
            }
            self
        }

        /// The bytes heard and how often each, in units of 20 ms; a pause is `None`.
        fn heard(&self) -> Vec<Option<u8>> {
            let mut samples = vec![0; self.track.samples() as usize];
            self.track.read(0, &mut samples);
            let byte =
                |sample: i16| (0..=254).find(|byte| Codec::Pcmu.decode(*byte) == sample && *byte != 0x7f);
            samples
                .chunks(160)
                .map(|chunk| {
                    assert!(chunk.iter().all(|sample| *sample == chunk[0]), "a packet is torn");
                    byte(chunk[0])
                })
                .collect()
        }
    }

    fn heard(ranges: &[(Range<u8>, usize)]) -> Vec<Option<u8>> {
        let run = |(bytes, pause): &(Range<u8>, usize)| {
            bytes.clone().map(Some).chain(std::iter::repeat_n(None, *pause)).collect::<Vec<_>>()
        };
        ranges.iter().flat_map(run).collect()
    }

    #[test]
    fn loss_is_silence_of_its_length() {
        let mut sender = Sender::new();
        sender.send(0..5).lose(3).send(8..20);
        assert_eq!(sender.heard(), heard(&[(0..5, 3), (8..20, 0)]));
        assert_eq!(sender.track.start(), Some(Nanos::from_millis(5_000)));
    }

    #[test]
    fn silence_suppression_keeps_its_length() {
        let mut sender = Sender::new();
        sender.send(0..5);
        // Comfort noise (RFC 3389), then an hour of nothing without a gap in the numbers.
        sender.payload_type = 13;
        sender.packet(&[60]);
        sender.payload_type = 0;
        let sequence = sender.sequence.wrapping_add(1);
        sender.lose(180_000).sequence = sequence;
        sender.send(5..10);
        assert_eq!(sender.heard(), heard(&[(0..5, 180_000), (5..10, 0)]));
        assert!(sender.track.bytes.len() == 1_600, "silence takes no memory");
    }

    #[test]
    fn events_are_silence_and_sound_beside_them_is_not() {
        let mut sender = Sender::new();
        sender.send(0..5);
        for _ in 0..4 {
            sender.payload_type = 101;
            sender.packet(&[5, 10, 0, 160]);
            sender.millis += 20;
            sender.sequence = sender.sequence.wrapping_add(1);
        }
        sender.payload_type = 0;
        sender.timestamp = sender.timestamp.wrapping_add(640);
        sender.send(5..10);
        assert_eq!(sender.heard(), heard(&[(0..5, 4), (5..10, 0)]));
    }

    #[test]
    fn repeats_are_dropped_and_order_is_restored() {
        let mut sender = Sender::new();
        for bytes in [1, 0, 2, 2, 4, 3, 4, 5, 0, 6] {
            let mut at =
                Sender { track: std::mem::replace(&mut sender.track, Sender::new().track), ..Sender::new() };
            at.lose(bytes.into()).millis = sender.millis;
            at.packet(&[bytes; 160]);
            (sender.track, sender.millis) = (at.track, sender.millis + 20);
        }
        assert_eq!(sender.heard(), heard(&[(0..7, 0)]));
        assert_eq!(sender.track.dropped(), 3);
        // Packet 0 was sent 20 ms before packet 1 came.
        assert_eq!(sender.track.start(), Some(Nanos::from_millis(4_980)));
    }

    #[test]
    fn a_repeat_long_after_is_dropped() {
        let mut sender = Sender::new();
        sender.send(0..90);
        let (sequence, timestamp) = (sender.sequence, sender.timestamp);
        sender.sequence = sequence.wrapping_sub(80);
        sender.timestamp = timestamp.wrapping_sub(80 * 160);
        sender.packet(&[200; 160]);
        (sender.sequence, sender.timestamp) = (sequence, timestamp);
        sender.send(90..100);
        assert_eq!(sender.heard(), heard(&[(0..100, 0)]));
        assert_eq!(sender.track.dropped(), 1);
    }

    #[test]
    fn a_stalled_network_tears_nothing() {
        let mut sender = Sender::new();
        sender.send(0..5).millis += 4_000;
        for _ in 0..5 {
            let byte = sender.sequence.wrapping_sub(65_530) as u8;
            sender.send(byte..byte + 1).millis -= 20;
        }
        assert_eq!(sender.heard(), heard(&[(0..10, 0)]));
    }

    #[test]
    fn a_restart_goes_on_at_its_arrival() {
        for timestamp in [7, 0x7000_0000, 0x9000_0000] {
            let mut sender = Sender::new();
            sender.send(0..5).millis += 1_000;
            (sender.sequence, sender.timestamp) = (9, timestamp);
            sender.send(5..10).millis += 60;
            (sender.sequence, sender.timestamp) = (30_000, timestamp ^ 0x4000_0000);
            sender.send(10..15);
            assert_eq!(sender.heard(), heard(&[(0..5, 50), (5..10, 3), (10..15, 0)]), "{timestamp:x}");
        }
    }

    #[test]
    fn a_pause_with_a_clock_that_stood_still_is_kept() {
        let mut sender = Sender::new();
        sender.send(0..5).millis += 30_000;
        sender.send(5..10);
        assert_eq!(sender.heard(), heard(&[(0..5, 1_500), (5..10, 0)]));
    }

    #[test]
    fn timestamps_that_stand_still_or_crawl_lose_nothing() {
        for step in [0, 20] {
            let mut sender = Sender::new();
            for byte in 0..20 {
                let timestamp = sender.timestamp.wrapping_add(step);
                sender.send(byte..byte + 1).timestamp = timestamp;
            }
            assert_eq!(sender.heard(), heard(&[(0..20, 0)]), "step {step}");
        }
    }

    #[test]
    fn the_codec_may_change() {
        let mut sender = Sender::new();
        sender.send(1..2).payload_type = 8;
        sender.packet(&[0xaa; 160]);
        sender.lose(1).payload_type = 18;
        sender.packet(&[0xaa; 20]);
        let mut samples = [0; 321];
        sender.track.read(159, &mut samples);
        assert_eq!(samples[0], Codec::Pcmu.decode(1));
        assert_eq!(samples[1..161], [Codec::Pcma.decode(0xaa); 160]);
        assert_eq!(samples[161..], [0; 160]);
        assert_eq!(sender.track.samples(), 320);
    }

    #[test]
    fn dynamic_payload_types() {
        let samples = |track: Track, payload_type: u8, length: usize| {
            let mut sender = Sender { track, payload_type, ..Sender::new() };
            sender.packet(&vec![7; length]);
            sender.track.samples()
        };
        let track = || Track::new(Codec::Pcma, Hz(8_000));
        assert_eq!(samples(track(), 97, 160), 160, "the first packet's");
        assert_eq!(samples(track(), 101, 4), 0, "an event");
        assert_eq!(samples(track().with_payload_type(98), 97, 160), 0, "another than the one named");
        assert_eq!(samples(track().with_payload_type(98), 98, 4), 4);
        let mut changed = Sender::new();
        changed.send(0..1).payload_type = 111;
        changed.send(1..2);
        assert_eq!(changed.track.samples(), 160, "another codec after G.711");
    }

    #[test]
    fn a_forged_timestamp_makes_no_silence() {
        let mut sender = Sender::new();
        for byte in 0..100 {
            sender.send(byte..byte + 1);
            sender.timestamp = sender.timestamp.wrapping_add(0x3fff_ffff);
        }
        assert_eq!(sender.heard(), heard(&[(0..100, 0)]));
    }

    #[test]
    fn capture_times_that_lie_lose_nothing() {
        let mut sender = Sender::new();
        sender.millis = 0;
        sender.send(0..1).millis = 1_700_000_000_000;
        sender.send(1..10).millis = 0;
        sender.send(10..20);
        assert_eq!(sender.heard(), heard(&[(0..20, 0)]));
    }

    proptest! {
        /// Whatever comes, a track holds no more than was pushed and is no longer than time or payload explain.
        #[test]
        fn hostile_packets_are_bounded(
            clock in prop::sample::select(vec![0, 1, 8_000, 16_000, u32::MAX]),
            packets in prop::collection::vec(
                (0..100_u64, any::<u16>(), any::<u32>(), prop::sample::select(vec![0_u8, 8, 13, 97]), 0..300_usize),
                0..200,
            ),
            small in any::<bool>(),
        ) {
            let mut track = Track::new(Codec::Pcma, Hz(clock));
            let (mut millis, mut bytes) = (0, 0);
            for (index, (wait, sequence, timestamp, payload_type, length)) in packets.into_iter().enumerate() {
                millis += wait;
                bytes += length as u64;
                let timestamp = if small { timestamp % 40_000 } else { timestamp };
                let sequence = if small { index as u16 ^ (sequence & 7) } else { sequence };
                let payload = vec![index as u8; length];
                let arrival = Nanos::from_millis(millis);
                track.push(RtpSound { arrival, sequence, timestamp, payload_type, payload: &payload });
            }
            let rate = u64::from(track.rate().0);
            prop_assert!(track.bytes.len() as u64 <= bytes);
            // Elapsed time with the tolerated drift, what was reordered before the first, slack, and a pushed payload after it.
            prop_assert!(track.samples() <= millis * rate / 900 + bytes + (SLACK + REORDERED) * rate);
            prop_assert!(track.pieces.windows(2).all(|pair| pair[0].end() <= pair[1].start));
            prop_assert!(track.pieces.iter().all(|piece| !piece.bytes.is_empty()));
            let mut samples = vec![1; track.samples() as usize + 10];
            track.read(0, &mut samples);
            prop_assert!(samples.ends_with(&[0; 10]));
            let mut part = vec![1; samples.len() / 2];
            track.read(7, &mut part);
            prop_assert_eq!(&part[..], &samples[7.min(samples.len() - part.len())..][..part.len()]);
        }

        /// Any lossless stream, in packets of any sizes, a few swapped or repeated, is its payload.
        #[test]
        fn nothing_lost_is_nothing_changed(
            sizes in prop::collection::vec(1..400_usize, 1..60),
            swaps in prop::collection::vec(any::<prop::sample::Index>(), 0..10),
            repeats in prop::collection::vec(any::<prop::sample::Index>(), 0..10),
            jitter in prop::collection::vec(0..200_u64, 60),
            first in any::<(u16, u32)>(),
        ) {
            let mut packets = Vec::new();
            let mut sent = 0_u32;
            for (number, size) in sizes.iter().enumerate() {
                let payload: Vec<u8> = (0..*size).map(|at| (at as u8).wrapping_mul(31) ^ number as u8).collect();
                packets.push((number as u16, sent, payload));
                sent += *size as u32;
            }
            let expected: Vec<i16> =
                packets.iter().flat_map(|(_, _, payload)| payload).map(|byte| Codec::Pcmu.decode(*byte)).collect();
            let mut order: Vec<usize> = (0..packets.len()).collect();
            for swap in swaps {
                let at = swap.index(order.len());
                order.swap(at, (at + 1).min(packets.len() - 1));
            }
            for repeat in repeats {
                let at = repeat.index(order.len());
                order.insert(at, order[at]);
            }
            let mut track = Track::new(Codec::Pcmu, Hz(8_000));
            for (jitter, index) in jitter.iter().cycle().zip(order) {
                let (number, at, payload) = &packets[index];
                track.push(RtpSound {
                    arrival: Nanos::from_millis(10_000 + u64::from(*at) / 8 + jitter),
                    sequence: first.0.wrapping_add(*number),
                    timestamp: first.1.wrapping_add(*at),
                    payload_type: 0,
                    payload,
                });
            }
            let mut samples = vec![0; track.samples() as usize];
            track.read(0, &mut samples);
            prop_assert_eq!(samples, expected);
        }
    }
}

//! Scenarios of packets on a time line.

use std::ops::Range;

use proptest::prelude::*;

use super::*;
use crate::{BuiltIn, Player, PlayoutRules};

/// The payloads decoded, silence between them, at the RTP clock.
fn bare(track: &Track) -> Vec<i16> {
    let mut player = Player::new(track, PlayoutRules::bare(), track.clock(), &BuiltIn);
    let mut samples = vec![1; track.ticks() as usize + 10];
    let count = player.read(&mut samples).expect("our own decoders");
    assert_eq!(count as u64, track.ticks());
    samples.truncate(count);
    samples
}

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
        self.track.push(AudioPacket { arrival, sequence, timestamp, payload_type, payload });
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
        let samples = bare(&self.track);
        let byte = |sample: i16| (0..=254).find(|byte| Codec::Pcmu.decode(*byte) == sample && *byte != 0x7f);
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
    // QCELP, which nothing decodes.
    sender.lose(1).payload_type = 12;
    sender.packet(&[0xaa; 20]);
    let samples = &bare(&sender.track)[159..];
    assert_eq!(samples[0], Codec::Pcmu.decode(1));
    assert_eq!(samples[1..161], [Codec::Pcma.decode(0xaa); 160]);
    assert_eq!(samples.len(), 161, "that of another codec is no sound");
}

#[test]
fn dynamic_payload_types() {
    let samples = |track: Track, payload_type: u8, length: usize| {
        let mut sender = Sender { track, payload_type, ..Sender::new() };
        sender.packet(&vec![7; length]);
        sender.track.ticks()
    };
    let track = || Track::new(Codec::Pcma, Hz(8_000));
    assert_eq!(samples(track(), 97, 160), 160, "the first packet's");
    assert_eq!(samples(track(), 101, 4), 0, "an event");
    assert_eq!(samples(track().with_payload_type(98), 97, 160), 0, "another than the one named");
    assert_eq!(samples(track().with_payload_type(98), 98, 4), 4);
    let mut changed = Sender::new();
    changed.send(0..1).payload_type = 111;
    changed.send(1..2);
    assert_eq!(changed.track.ticks(), 160, "another codec after G.711");
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
            (0..100_u64, any::<u16>(), any::<u32>(), prop::sample::select(vec![0_u8, 8, 13, 97]),
                0..300_usize),
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
            track.push(AudioPacket { arrival, sequence, timestamp, payload_type, payload: &payload });
        }
        let rate = u64::from(track.clock().0);
        prop_assert!(track.bytes.len() as u64 <= bytes);
        // Elapsed time with the tolerated drift, what was reordered before the first, slack, and a pushed
        // payload after it.
        prop_assert!(track.ticks() <= millis * rate / 900 + bytes + (SLACK + REORDERED) * rate);
        prop_assert!(track.entries.windows(2).all(|pair| pair[0].end() <= pair[1].start));
        prop_assert!(track.entries.iter().all(|entry| entry.ticks > 0));
        prop_assert!(track.silent.windows(2).all(|pair| pair[0].start <= pair[1].start));
        bare(&track);
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
            packets.iter().flat_map(|(_, _,
                payload)| payload).map(|byte| Codec::Pcmu.decode(*byte)).collect();
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
            track.push(AudioPacket {
                arrival: Nanos::from_millis(10_000 + u64::from(*at) / 8 + jitter),
                sequence: first.0.wrapping_add(*number),
                timestamp: first.1.wrapping_add(*at),
                payload_type: 0,
                payload,
            });
        }
        prop_assert_eq!(&bare(&track), &expected);
        // Nor do the rules change anything.
        let mut samples = vec![0; expected.len()];
        let count = Player::new(&track, PlayoutRules::default(), Hz(8_000), &BuiltIn).read(&mut samples);
        prop_assert_eq!(count.ok(), Some(expected.len()));
        prop_assert_eq!(samples, expected);
    }
}

//! The histogram against jitter buffers simulated packet by packet, on seeded traces.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends")]

use std::collections::{BTreeSet, VecDeque};

use proptest::prelude::*;
use ringtap_model::Nanos;
use ringtap_quality::jitterbuffer::{BINS, DelayBins, EDGES, bin};

const PTIME: u64 = 20_000_000;
const MS: u64 = 1_000_000;

/// A small generator (splitmix64): the traces are the same on every machine.
struct Seeded(u64);

impl Seeded {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ z >> 31
    }

    fn uniform(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// A received packet: its place in the stream and when it came.
#[derive(Clone, Copy)]
struct Packet {
    sequence: u64,
    arrival: u64,
}

impl Packet {
    fn sent(self) -> u64 {
        self.sequence * PTIME
    }

    fn transit(self) -> u64 {
        self.arrival - self.sent()
    }
}

/// Ten seconds: exponential queueing delay of a mean in ms, delay spikes that decay, 1 % loss; in order of
/// arrival.
fn trace(seed: u64, mean: f64, spike_chance: f64, spike_ms: f64) -> Vec<Packet> {
    let mut random = Seeded(seed);
    let mut spike = 0.0;
    let mut packets: Vec<_> = (0..500)
        .filter_map(|sequence| {
            spike = if random.uniform() < spike_chance { spike_ms } else { (spike - 20.0_f64).max(0.0) };
            let queue = -mean * (1.0 - random.uniform()).ln();
            let delay = 40.0 + queue + spike * (0.5 + random.uniform());
            let arrival = sequence * PTIME + (delay * MS as f64) as u64;
            (random.uniform() >= 0.01).then_some(Packet { sequence, arrival })
        })
        .collect();
    packets.sort_by_key(|packet| packet.arrival);
    packets
}

/// Traces without spikes; they come first.
const STEADY: usize = 4 * 20;

fn traces() -> impl Iterator<Item = Vec<Packet>> {
    let shapes = [
        (2.0, 0.0, 0.0),
        (15.0, 0.0, 0.0),
        (40.0, 0.0, 0.0),
        (120.0, 0.0, 0.0),
        (5.0, 0.01, 150.0),
        (5.0, 0.005, 600.0),
        (10.0, 0.02, 300.0),
    ];
    shapes.into_iter().enumerate().flat_map(|(kind, (mean, chance, height))| {
        (0..20).map(move |seed| trace(kind as u64 * 1000 + seed, mean, chance, height))
    })
}

fn fastest(packets: &[Packet]) -> u64 {
    packets.iter().map(|packet| packet.transit()).min().unwrap()
}

/// A fixed buffer as a receiver runs it: a tick each 20 ms takes the packet whose turn it is, if it is there
/// by then.
fn simulate_fixed(packets: &[Packet], size: u64) -> u32 {
    let first_tick = fastest(packets) + size;
    let (mut turn, mut discarded, mut waiting) = (0, 0, BTreeSet::new());
    for packet in packets {
        while first_tick + turn * PTIME < packet.arrival {
            waiting.remove(&turn);
            turn += 1;
        }
        if packet.sequence < turn {
            discarded += 1;
        } else {
            waiting.insert(packet.sequence);
        }
    }
    discarded
}

/// An adaptive buffer: follows the 99th percentile of the last 100 packets, stretches at once for a late
/// packet up to 500 ms, shrinks by 1 ms a packet. Returns its discards and its mean delay in ms.
fn simulate_adaptive(packets: &[Packet]) -> (u32, f64) {
    let base = fastest(packets);
    let (mut recent, mut target, mut discarded, mut sum) = (VecDeque::new(), 0_u64, 0, 0.0);
    for packet in packets {
        let delay = packet.transit() - base;
        recent.push_back(delay);
        if recent.len() > 100 {
            recent.pop_front();
        }
        if delay > 500 * MS {
            discarded += 1;
        } else {
            let mut sorted: Vec<_> = recent.iter().copied().collect();
            sorted.sort_unstable();
            let percentile = sorted[(sorted.len() * 99).div_ceil(100) - 1].min(500 * MS);
            target = target.saturating_sub(MS).max(percentile).max(delay);
        }
        sum += target as f64 / MS as f64;
    }
    (discarded, sum / packets.len() as f64)
}

/// The fastest transit is known: not one packet of difference.
#[test]
fn fixed_buffers_exactly() {
    let (mut small, mut large) = (0, 0);
    for packets in traces() {
        let base = fastest(&packets);
        let mut bins = DelayBins::default();
        packets.iter().for_each(|packet| bins.add(Nanos(packet.transit() - base)));
        let discards = bins.discards();
        assert_eq!(discards.fixed50, simulate_fixed(&packets, 50 * MS));
        assert_eq!(discards.fixed200, simulate_fixed(&packets, 200 * MS));
        small += discards.fixed50;
        large += discards.fixed200;
    }
    assert!(small > 5_000 && large > 1_000, "the traces must be late enough to test: {small} {large}");
}

/// The fastest transit is the running minimum, as the engine has it: never more discards than simulated, and
/// fewer by 2 % of the packets at most (a stream's first interval; the next ones know the base).
#[test]
fn fixed_buffers_with_a_running_minimum() {
    for packets in traces() {
        let (mut base, mut bins) = (u64::MAX, DelayBins::default());
        for packet in &packets {
            base = base.min(packet.transit());
            bins.add(Nanos(packet.transit() - base));
        }
        for (ours, size) in [(bins.discards().fixed50, 50), (bins.discards().fixed200, 200)] {
            let simulated = simulate_fixed(&packets, size * MS);
            assert!(ours <= simulated, "{ours} {simulated}");
            assert!(f64::from(simulated - ours) <= 0.02 * packets.len() as f64, "{ours} {simulated}");
        }
    }
}

/// Discards of the adaptive buffer are exact. Its delay is cautious: at least 0.8 of the simulated mean; at
/// most twice it (or 10 ms above, the width of a bin) where jitter is steady, at most 6 where spikes come and
/// go: the simulated buffer shrinks between them.
#[test]
fn adaptive_buffer() {
    for (number, packets) in traces().enumerate() {
        let base = fastest(&packets);
        let mut bins = DelayBins::default();
        packets.iter().for_each(|packet| bins.add(Nanos(packet.transit() - base)));
        let (discarded, mean) = simulate_adaptive(&packets);
        assert_eq!(bins.discards().adaptive500, discarded);
        let settled = bins.delay().adaptive500.millis_f64();
        let most = if number < STEADY { (2.0 * mean).max(mean + 10.0) } else { 6.0 * mean };
        assert!(
            (0.8 * mean..=most).contains(&settled),
            "trace {number}: settled at {settled}, simulated {mean}"
        );
    }
}

#[test]
fn edges() {
    for (number, edge) in EDGES.into_iter().enumerate() {
        assert_eq!(bin(Nanos::from_millis(edge)), number, "{edge} ms is in time");
        assert_eq!(bin(Nanos(edge * MS + 1)), number + 1);
    }
    assert_eq!((bin(Nanos::ZERO), bin(Nanos::MAX)), (0, BINS - 1));
    let mut full = DelayBins([u16::MAX; BINS]);
    full.add(Nanos::ZERO);
    assert_eq!(full.packets(), 16 * 65_535);
    assert_eq!(DelayBins::default().discards(), Default::default());
}

proptest! {
    /// The table against comparing with every edge.
    #[test]
    fn table_is_right(delta in prop_oneof![0..600 * MS, any::<u64>()]) {
        let expected = EDGES.iter().filter(|&&edge| delta > edge * MS).count();
        prop_assert_eq!(bin(Nanos(delta)), expected);
    }

    /// A larger buffer never discards more, and the adaptive one settles within its limits.
    #[test]
    fn larger_is_not_worse(bins in any::<[u16; BINS]>()) {
        let bins = DelayBins(bins);
        let discards = bins.discards();
        prop_assert!(discards.adaptive500 <= discards.fixed200 && discards.fixed200 <= discards.fixed50);
        let settled = bins.delay().adaptive500.millis_f64() as u64;
        prop_assert!(EDGES.contains(&settled));
        let beyond: u32 = (0..BINS - 1).filter(|&b| EDGES[b] > settled).map(|b| u32::from(bins.0[b])).sum();
        prop_assert!(beyond * 100 <= bins.packets());
    }
}

//! What targets of interception cost an engine: media of many calls, with none, 1, 10,000 and 1,000,000
//! addresses to look for, none of which is a call's. All in turn on one engine, so that other load of the
//! machine falls on each. Prints, for each, the time of a packet as a ratio to that of a sink which wants no
//! targets.
//!
//! `cargo run --release -p ringtap-bench --example targets [CALLS] [ROUNDS]`
#![expect(clippy::print_stdout, reason = "it is a measurement")]

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ringtap_bench::{ActiveCalls, Codec};
use ringtap_engine::{Config, Engine, Sink, StreamEnd, TargetSeen, Targets};
use ringtap_model::{Call, Frame, LinkType, Message, Nanos, Registration};

/// Wants targets, or none; counts those offered.
#[derive(Default)]
struct Counting<const TARGETS: bool>(u64);

impl<const TARGETS: bool> Sink for Counting<TARGETS> {
    const TARGETS: bool = TARGETS;

    fn target(&mut self, _: &TargetSeen<'_>) {
        self.0 += 1;
    }
    fn call(&mut self, _: Call, _: Vec<StreamEnd>) {}
    fn stream(&mut self, _: StreamEnd) {}
    fn registration(&mut self, _: Registration) {}
    fn message(&mut self, _: Message) {}
}

/// Addresses that are looked for.
const COUNTS: [u32; 4] = [0, 1, 10_000, 1_000_000];
/// Packets of one measurement.
const PACKETS: usize = 104_000;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let calls = arguments.next().and_then(|calls| calls.parse().ok()).unwrap_or(52_000_u32);
    let rounds = arguments.next().and_then(|rounds| rounds.parse().ok()).unwrap_or(50_usize);
    let sets = COUNTS.map(targets);
    let (calls, streams) = (calls, 3 * calls as usize);
    let mut traffic = ActiveCalls::new(calls, Codec::G711);
    let mut engine =
        Engine::new(Config { max_calls: calls as usize + 64, max_streams: streams, ..Config::default() });
    let mut clock = Clock { number: 0, time: Nanos::from_secs(1_700_000_000) };
    let set_up: Vec<Vec<u8>> = traffic.set_up().to_vec();
    pass(&mut engine, &set_up, &mut clock, &mut Counting::<false>::default());
    let mut times = [const { Vec::new() }; COUNTS.len() + 1];
    let mut offered = [0; COUNTS.len()];
    for round in 0..rounds {
        for place in 0..=COUNTS.len() {
            // Each begins a round as often as any other.
            let place = (place + round) % (COUNTS.len() + 1);
            let mut packets = Vec::with_capacity(PACKETS);
            while packets.len() < PACKETS {
                let part = traffic.packets(PACKETS - packets.len()).to_vec();
                traffic.sent(part.len());
                packets.extend(part);
            }
            let taken = match place.checked_sub(1) {
                None => pass(&mut engine, &packets, &mut clock, &mut Counting::<false>::default()),
                Some(set) => {
                    engine.watch(Arc::clone(&sets[set]));
                    let mut sink = Counting::<true>::default();
                    let taken = pass(&mut engine, &packets, &mut clock, &mut sink);
                    offered[set] += sink.0;
                    taken
                }
            };
            times[place].push(taken.as_secs_f64() * 1e9 / packets.len() as f64);
        }
    }
    // The shortest: what other programs of the machine take only adds to it.
    let best = times.map(|times| times.into_iter().fold(f64::MAX, f64::min));
    println!("{calls} calls, {rounds} rounds: {:.1} ns a packet without targets", best[0]);
    for (set, count) in COUNTS.iter().enumerate() {
        let ratio = best[set + 1] / best[0];
        println!("{count:>9} targets: {ratio:.3} of that, {} packets offered", offered[set]);
    }
}

/// So many addresses, none of which a call has: calls have private ones.
fn targets(count: u32) -> Arc<Targets> {
    let targets = Targets::new(7);
    let first = u32::from(Ipv4Addr::new(100, 64, 0, 0));
    (0..count).for_each(|number| targets.add(Ipv4Addr::from(first + number).into(), 32));
    Arc::new(targets)
}

/// When the next frame comes, and its number.
struct Clock {
    number: u64,
    time: Nanos,
}

fn pass<S: Sink>(engine: &mut Engine, packets: &[Vec<u8>], clock: &mut Clock, sink: &mut S) -> Duration {
    let mut frame = |data: &'_ Vec<u8>| {
        clock.number += 1;
        clock.time += Nanos(190);
        (clock.number, clock.time, data.len())
    };
    let stamps: Vec<(u64, Nanos, usize)> = packets.iter().map(&mut frame).collect();
    let frames: Vec<Frame<'_>> = stamps
        .iter()
        .zip(packets)
        .map(|((number, time, len), data)| Frame {
            time: *time,
            number: *number,
            link: LinkType(1),
            wire_len: *len as u32,
            data,
        })
        .collect();
    let begun = Instant::now();
    frames.chunks(1024).for_each(|batch| engine.batch(batch, sink));
    begun.elapsed()
}

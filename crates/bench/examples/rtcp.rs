//! What RTCP costs: two sides of 52,000 calls report every five seconds (RFC 3550 section 6.2), each with a
//! sender report, a block about the other and its name. Prints the time per datagram and the share of a core.
//!
//! `cargo run --profile test -p ringtap-bench --example rtcp [CALLS]`
#![expect(clippy::print_stdout, reason = "it is a measurement")]

use std::time::Instant;

use ringtap_engine::{Config, Engine, Sink, StreamEnd};
use ringtap_model::{Call, Frame, LinkType, Message, Nanos, Registration};

struct Nothing;

impl Sink for Nothing {
    fn call(&mut self, _: Call, _: Vec<StreamEnd>) {}
    fn stream(&mut self, _: StreamEnd) {}
    fn registration(&mut self, _: Registration) {}
    fn message(&mut self, _: Message) {}
}

/// RFC 3550 section 6.2.
const INTERVAL_SECONDS: u64 = 5;
const ROUNDS: u64 = 6;

fn main() {
    let calls = std::env::args().nth(1).and_then(|calls| calls.parse().ok()).unwrap_or(52_000_u32);
    let mut engine = Engine::new(Config { max_streams: 3 * calls as usize, ..Config::default() });
    let start = Nanos::from_secs(1_700_000_000);
    // Ten packets make a stream of each side, without signalling.
    for number in 0..10_u64 {
        let frames: Vec<_> = (0..2 * calls).map(|stream| rtp(stream, number as u16)).collect();
        feed(&mut engine, &frames, start + Nanos::from_millis(20 * number));
    }
    let mut best = f64::MAX;
    for round in 1..=ROUNDS {
        let frames: Vec<_> = (0..2 * calls).map(|stream| report(scattered(stream, calls), round)).collect();
        let begun = Instant::now();
        feed(&mut engine, &frames, start + Nanos::from_secs(INTERVAL_SECONDS * round));
        let each = begun.elapsed().as_nanos() as f64 / frames.len() as f64;
        println!("round {round}: {each:.0} ns a datagram");
        // In the first, all is new: there is one in each call.
        if round > 1 {
            best = best.min(each);
        }
    }
    let per_second = f64::from(2 * calls) / INTERVAL_SECONDS as f64;
    let share = best * per_second / 1e7;
    println!(
        "{} streams, {per_second:.0} datagrams a second at {best:.0} ns: {share:.2} % of a core",
        2 * calls
    );
    println!("rtcp counted: {}, refused: {}", engine.counters().rtcp, engine.counters().rtcp_reports_refused);
}

fn feed(engine: &mut Engine, frames: &[Vec<u8>], from: Nanos) {
    let all = (1..).zip(frames).map(|(number, data)| Frame {
        time: from + Nanos(10_000 * number),
        number,
        link: LinkType(1),
        wire_len: data.len() as u32,
        data,
    });
    let all: Vec<Frame<'_>> = all.collect();
    all.chunks(256).for_each(|batch| engine.batch(batch, &mut Nothing));
}

/// Another order than that in which streams began, so that no cache line is found by luck.
fn scattered(stream: u32, calls: u32) -> u32 {
    (u64::from(stream) * 48_271 % u64::from(2 * calls)) as u32
}

/// Source and destination of a stream: even ones are callers'.
fn ends(stream: u32) -> [[u8; 4]; 2] {
    let [_, a, b, c] = (stream / 2).to_be_bytes();
    let pair = [[10, a, b, c], [11, a, b, c]];
    if stream.is_multiple_of(2) { pair } else { [pair[1], pair[0]] }
}

fn udp(stream: u32, port: u16, payload: &[u8]) -> Vec<u8> {
    let [src, dst] = ends(stream);
    let mut frame = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0, 0x45, 0];
    frame.extend((28 + payload.len() as u16).to_be_bytes());
    frame.extend([0, 0, 0, 0, 64, 17, 0, 0]);
    frame.extend([src, dst].concat());
    frame.extend([port.to_be_bytes(), port.to_be_bytes(), (8 + payload.len() as u16).to_be_bytes()].concat());
    frame.extend([0, 0]);
    frame.extend(payload);
    frame
}

fn words(values: &[u32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_be_bytes()).collect()
}

fn rtp(stream: u32, number: u16) -> Vec<u8> {
    let head = words(&[0x8000_0000 | u32::from(number), 160 * u32::from(number), stream]);
    udp(stream, 20_000, &[head, vec![0xff; 160]].concat())
}

fn report(stream: u32, round: u64) -> Vec<u8> {
    let (round, other) = (round as u32, stream ^ 1);
    let sender = [0x81c8_000c, stream, 0xe900_0000 | round, 0, 160 * 250 * round, 10, 1600];
    let block = [other, 0, 9, 12, (round - 1) << 16, 327_680];
    let name = [words(&[0x81ca_0004, stream]), b"\x01\x09user@host\x00".to_vec()].concat();
    udp(stream, 20_001, &[words(&sender), words(&block), name].concat())
}

//! What a million calls cost: the time to add each, to rank them, and the memory at the end.
//!
//! `cargo run --release -p ringtap-investigate --example million [CALLS]`
#![expect(clippy::print_stdout, reason = "it is a measurement")]

#[path = "../tests/days/network.rs"]
mod network;
#[path = "../tests/days/rng.rs"]
mod rng;

use std::time::{Duration, Instant};

use ringtap_investigate::{MarkedBy, Sample, Topic};

use network::Network;
use rng::Rng;

fn main() {
    let calls = std::env::args().nth(1).and_then(|calls| calls.parse().ok()).unwrap_or(1_000_000_u64);
    let network = Network { skew: 0.9, tied: None };
    let mut rng = Rng::new(1);
    let mut sample = Sample::new(MarkedBy::new([Topic::Quality]));
    let (before, mut adding) = (resident(), Duration::ZERO);
    for number in 0..calls {
        let mut plan = network.plan(&mut rng);
        // Calls that were not answered are not compared with those that sound bad.
        plan.is_answered = true;
        let is_bad = rng.chance(if plan.trunk == 3 && plan.codec == 1 { 0.4 } else { 0.02 });
        let (call, streams) = plan.records(number, is_bad, &mut rng);
        let begun = Instant::now();
        sample.add(&call, &streams, is_bad);
        adding += begun.elapsed();
    }
    let begun = Instant::now();
    let ranking = sample.rank();
    let took = begun.elapsed();
    println!("{}", ranking.text());
    println!("{} values, {} findings", ranking.values, ranking.findings.len());
    println!("adding {calls} calls: {adding:.2?}, {} ns each", adding.as_nanos() as u64 / calls.max(1));
    println!("ranking: {took:.2?}");
    println!("memory: {} MB more than before", resident().saturating_sub(before) >> 20);
}

/// Resident memory of this process, in bytes; 0 where the system does not say.
fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = peak.and_then(|peak| peak.trim().trim_end_matches(" kB").parse::<usize>().ok());
    kilobytes.unwrap_or_default() << 10
}

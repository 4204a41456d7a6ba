//! How fast frames are made, and how much a call under way takes:
//! `cargo run --release -p ringtap-traffic --example generation [CALLS]`.
#![expect(clippy::print_stdout, reason = "its output is what it is for")]

use ringtap_traffic::{Codec, HoldingTime, Mix, Scenario, Share, Traffic};

fn main() {
    let calls: u64 = std::env::args().nth(1).and_then(|calls| calls.parse().ok()).unwrap_or(52_000);
    let scenario = Scenario {
        calls,
        rate: 100_000.0,
        hold: HoldingTime::Constant(60.0),
        codecs: Mix::only(Codec::PCMU),
        failed: Share::NONE,
        cancelled: Share::NONE,
        ..Scenario::new(1)
    };
    let everyone_talks = scenario.start + TO_BEGIN;
    let mut traffic = Traffic::new(scenario).expect("its values go together");
    let (before, begun) = (resident(), processor());
    let mut frames = 0_u64;
    while let Some((time, _)) = traffic.next() {
        frames += 1;
        if time > everyone_talks {
            break;
        }
    }
    let (calls, took) = (traffic.active_sessions(), processor() - begun);
    let each = (resident() - before) / calls.max(1) as u64;
    println!("{calls} calls under way, {each} bytes each");
    println!("{:.2} M frames/s while they begin", frames as f64 / took / 1e6);
    let (begun, mut frames, mut bytes) = (processor(), 0_u64, 0_u64);
    while frames < 10_000_000 {
        let Some((_, frame)) = traffic.next() else { break };
        frames += 1;
        bytes += frame.len() as u64;
    }
    let took = processor() - begun;
    println!("{:.2} M frames/s while they talk: {frames} frames, {bytes} bytes", frames as f64 / took / 1e6);
}

/// Octets of memory in use.
fn resident() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    text.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok()).unwrap_or(0) * 4096
}

/// Processor time of this process in seconds: what else the machine does costs nothing.
fn processor() -> f64 {
    let text = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    text.split(' ').next().and_then(|nanos| nanos.parse::<f64>().ok()).unwrap_or(0.0) / 1e9
}

/// The longest that a call takes from its INVITE to its media.
const TO_BEGIN: ringtap_model::Nanos = ringtap_model::Nanos::from_secs(15);

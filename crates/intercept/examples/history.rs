//! What a worker pays for remembering a frame, and the thread for looking through what is remembered:
//! `cargo run --release -p ringtap-intercept --example history`.
#![expect(clippy::print_stdout, reason = "it prints what it measures")]

use std::hint::black_box;
use std::time::Instant;

use ringtap_engine::Targets;
use ringtap_intercept::FrameHistory;
use ringtap_model::{Frame, LinkType, Nanos};
use ringtap_wire::frame::udp_datagram;

const FRAMES: u64 = 2_000_000;

fn main() {
    let mut history = FrameHistory::new(256 << 20);
    println!("locked in memory: {}", history.keep_in_memory());
    for size in [64, 214, 1_500] {
        let end = |host| ([192, 0, 2, host].into(), 4000);
        let Some(packet) = udp_datagram(end(1), end(2), &vec![7; size - 42]) else { return };
        let data = [&[2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0][..], &packet].concat();
        let frame = |number: u64| Frame {
            time: Nanos(number * 1_000),
            number,
            link: LinkType(1),
            wire_len: size as u32,
            data: &data,
        };
        let began = Instant::now();
        (1..=FRAMES).for_each(|number| history.push(black_box(&frame(number)), false));
        let push = began.elapsed().as_nanos() as f64 / FRAMES as f64;
        let targets = Targets::new(7);
        targets.add([192, 0, 2, 3].into(), 32);
        let (mut looked, mut found) = (0u64, Vec::new());
        let began = Instant::now();
        let wants = |frame: &Frame<'_>| {
            looked += 1;
            targets.concerns(frame)
        };
        history.since(Nanos((FRAMES - 50_000) * 1_000), wants, &mut found);
        let look = began.elapsed().as_nanos() as f64 / looked.max(1) as f64;
        println!("{size} bytes: {push:.1} ns a frame to remember, {look:.1} ns to look at ({looked})");
    }
}

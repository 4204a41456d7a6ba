//! TapCounters packets at an interface and reads one byte of each, nothing else: what a source can do at
//! most.
//!
//!     count INTERFACE [packet|xdp|generic] [SECONDS] [WORKERS] [CPU]
//!
//! TapCounters from the first packet to the last within so many seconds (10) after it; workers are pinned to
//! CPUs from CPU on.
#![expect(clippy::print_stdout, reason = "a program that prints")]

use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use ringtap_capture::live::{self, Settings, Source, Tap, XdpMode};

/// What one worker saw.
struct Seen {
    packets: u64,
    sum: u64,
    span: Duration,
    /// On the CPU, from the first packet on.
    busy: Duration,
    tap: Tap,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let interface =
        arguments.next().ok_or("usage: count INTERFACE [packet|xdp|generic] [SECONDS] [WORKERS] [CPU]")?;
    let source = source(arguments.next().as_deref())?;
    let seconds: u64 = arguments.next().map_or(Ok(10), |seconds| seconds.parse())?;
    let workers: usize = arguments.next().map_or(Ok(1), |workers| workers.parse())?;
    let cpu: Option<usize> = arguments.next().map(|cpu| cpu.parse()).transpose()?;
    let settings = Settings { interface, source, workers, ..Settings::default() };
    let taps = live::open(&settings)?;
    let first = Arc::new(OnceLock::new());
    let threads: Vec<_> = (taps.into_iter().enumerate())
        .map(|(worker, tap)| {
            let first = first.clone();
            std::thread::spawn(move || {
                if let Some(cpu) = cpu {
                    live::pin(cpu + worker)?;
                }
                count(tap, Duration::from_secs(seconds), &first)
            })
        })
        .collect();
    for (worker, thread) in threads.into_iter().enumerate() {
        let mut seen = thread.join().map_err(|_| "a worker panicked")??;
        let counts = seen.tap.counters();
        let rate = seen.packets as f64 / seen.span.as_secs_f64().max(1e-9);
        println!(
            "worker {worker}: {} packets, {rate:.0} a second, {:.1} ns of CPU each, dropped {} in the ring \
             and {} at the interface, time: {}, sum {}",
            seen.packets,
            seen.busy.as_nanos() as f64 / seen.packets.max(1) as f64,
            counts.ring_drops,
            counts.interface_drops,
            seen.tap.timestamps().name(),
            seen.sum % 256,
        );
    }
    Ok(())
}

/// Until so long after the first packet that any worker got.
fn count(mut tap: Tap, span: Duration, any: &OnceLock<Instant>) -> Result<Seen, live::Error> {
    let (mut packets, mut sum) = (0, 0u64);
    let mut first = None;
    let (mut last, mut began) = (Instant::now(), Duration::ZERO);
    while any.get().is_none_or(|first| first.elapsed() < span) {
        let got = tap.batch(Duration::from_millis(100), |frames| {
            packets += frames.len() as u64;
            for frame in frames {
                sum += u64::from(frame.data.get(23).copied().unwrap_or(0));
            }
        })?;
        if got > 0 {
            last = Instant::now();
            if first.is_none() {
                (first, began) = (Some(last), busy());
                any.get_or_init(|| last);
            }
        }
    }
    let span = first.map_or(Duration::ZERO, |first| last - first);
    Ok(Seen { packets, sum, span, busy: busy() - began, tap })
}

/// What this thread has had of a CPU.
fn busy() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    Duration::from_nanos(text.split(' ').next().and_then(|nanos| nanos.parse().ok()).unwrap_or(0))
}

fn source(name: Option<&str>) -> Result<Source, String> {
    match name {
        None | Some("packet") => Ok(Source::Packet),
        Some("xdp") => Ok(Source::Xdp { mode: XdpMode::Auto }),
        Some("generic") => Ok(Source::Xdp { mode: XdpMode::Generic }),
        Some(other) => Err(format!("`{other}` is no source: packet, xdp or generic")),
    }
}

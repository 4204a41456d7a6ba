//! One end of a live measurement; `bench/live.py` runs both.
//!
//!     live send INTERFACE packet|xdp RATE SECONDS CALLS CPU
//!     live count|follow INTERFACE packet|xdp SECONDS CPU
//!
//! `send` sends calls of G.711 at a rate in packets a second; `count` reads one byte of each packet, `follow`
//! runs the engine over them. Both end two seconds after the last packet, or after SECONDS without one, and
//! print what they got as JSON.
#![expect(clippy::print_stdout, reason = "a program that prints")]

use std::error::Error;
use std::time::{Duration, Instant};

use ringtap_bench::{ActiveCalls, Codec};
use ringtap_capture::live::{self, Injector, Settings, Source, XdpMode};
use ringtap_engine::{Config, Engine, Sink, StreamEnd};
use ringtap_model::{Call, Message, Registration};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["send", interface, source, rate, seconds, calls, cpu] => {
            live::pin(cpu.parse()?)?;
            send(interface, source_of(source)?, rate.parse()?, seconds.parse()?, calls.parse()?)
        }
        [role @ ("count" | "follow"), interface, source, seconds, cpu] => {
            live::pin(cpu.parse()?)?;
            receive(interface, source_of(source)?, seconds.parse()?, role == "follow")
        }
        _ => Err("see the first lines of its source".into()),
    }
}

fn source_of(name: &str) -> Result<Source, String> {
    match name {
        "packet" => Ok(Source::Packet),
        "xdp" => Ok(Source::Xdp { mode: XdpMode::Auto }),
        other => Err(format!("`{other}` is no source: packet or xdp")),
    }
}

/// Packets handed over at once.
const BURST: usize = 32;

fn send(interface: &str, source: Source, rate: f64, seconds: u64, calls: u32) -> Result<(), Box<dyn Error>> {
    let mut injector = Injector::open(interface, source)?;
    let mut talk = ActiveCalls::new(calls, Codec::G711);
    let mut set_up = 0;
    let began = Instant::now();
    // Messages no faster than packets.
    while set_up < talk.set_up().len() {
        let due = (began.elapsed().as_secs_f64() * rate.min(20_000.0)) as usize;
        let end = due.min(talk.set_up().len()).min(set_up + BURST);
        let frames: Vec<&[u8]> = talk.set_up()[set_up..end].iter().map(Vec::as_slice).collect();
        if !frames.is_empty() {
            set_up += injector.send(&frames)?;
        }
    }
    let (mut sent, began) = (0usize, Instant::now());
    while began.elapsed() < Duration::from_secs(seconds) {
        let due = (began.elapsed().as_secs_f64() * rate) as usize;
        if due < sent + BURST {
            std::hint::spin_loop();
            continue;
        }
        let frames: Vec<&[u8]> = talk.packets(BURST).iter().map(Vec::as_slice).collect();
        let taken = injector.send(&frames)?;
        talk.sent(taken);
        sent += taken;
    }
    let elapsed = began.elapsed();
    injector.flush()?;
    let counts = injector.sent();
    println!(
        "{{\"sent\": {}, \"rate\": {:.0}, \"dropped\": {}}}",
        counts.frames,
        sent as f64 / elapsed.as_secs_f64(),
        counts.dropped
    );
    Ok(())
}

#[derive(Default)]
struct Found {
    calls: u64,
    streams: u64,
    packets: u64,
    lost: u64,
}

impl Sink for Found {
    fn call(&mut self, _: Call, streams: Vec<StreamEnd>) {
        self.calls += 1;
        for StreamEnd { record, .. } in streams {
            self.streams += 1;
            self.packets += record.packets;
            self.lost += record.lost;
        }
    }

    fn stream(&mut self, _: StreamEnd) {}
    fn registration(&mut self, _: Registration) {}
    fn message(&mut self, _: Message) {}
}

fn receive(interface: &str, source: Source, seconds: u64, follow: bool) -> Result<(), Box<dyn Error>> {
    let settings = Settings { interface: interface.to_owned(), source, ..Settings::default() };
    let mut taps = live::open(&settings)?;
    let tap = taps.first_mut().ok_or("no tap")?;
    let (mut engine, mut found) = (Engine::new(Config::default()), Found::default());
    let (mut got, mut sum) = (0, 0u64);
    let mut last = Instant::now();
    println!("ready");
    loop {
        let now = tap.batch(Duration::from_millis(100), |frames| {
            if follow {
                engine.batch(frames, &mut found);
            } else {
                for frame in frames {
                    sum += u64::from(frame.data.get(23).copied().unwrap_or(0));
                }
            }
        })?;
        got += now as u64;
        if now > 0 {
            last = Instant::now();
        }
        let patience = if got > 0 { 2 } else { seconds };
        if last.elapsed() > Duration::from_secs(patience) {
            break;
        }
    }
    engine.close(&mut found);
    let counts = tap.counters();
    println!(
        "{{\"got\": {got}, \"ring_drops\": {}, \"interface_drops\": {}, \"calls\": {}, \"streams\": \
         {}, \"rtp\": {}, \"lost\": {}, \"sum\": {}}}",
        counts.ring_drops,
        counts.interface_drops,
        found.calls,
        found.streams,
        found.packets,
        found.lost,
        sum % 256
    );
    Ok(())
}

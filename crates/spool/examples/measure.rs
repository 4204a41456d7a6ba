//! Measures the spool; `bench/spool.py` runs it and makes the tables.
//!
//!     measure hour DIR CALLS MINUTES FULL   record an hour of so many G.711 calls at once, each of 120 s
//!     measure read DIR CALL BEGIN           read one of them back; BEGIN is its first microsecond
//!     measure many DIR CALLS SECONDS MIB    record so many calls at once, with so much memory for packets
//!
//! `hour` records every packet in FULL minutes in the middle, and one packet a second of each stream in the
//! others: their segments and indexes name as many owners. Each prints one line of JSON.
#![expect(clippy::print_stdout, reason = "a program that prints")]

use std::error::Error;
use std::path::Path;
use std::time::Instant;

use ringtap_model::{Endpoint, Frame, LinkType, Nanos};
use ringtap_spool::{
    Category, OwnerHandle, Reader, SpoolWriter, WriterCounts, WriterSettings, WriterStatus, of_call,
    of_stream,
};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["hour", dir, calls, minutes, full] => {
            hour(dir.as_ref(), calls.parse()?, minutes.parse()?, full.parse()?)
        }
        ["read", dir, call, begin] => read(dir.as_ref(), call.parse()?, Nanos::from_micros(begin.parse()?)),
        ["many", dir, calls, seconds, mib] => {
            many(dir.as_ref(), calls.parse()?, seconds.parse()?, mib.parse()?)
        }
        _ => Err("see the first lines of its source".into()),
    }
}

const START: Nanos = Nanos::from_secs(1_795_219_200);
/// Time of a packet, and how many a call has of each side.
const PACKET: Nanos = Nanos::from_millis(20);
const PACKETS: u64 = 6_000;
/// How many of one side pass in a minute.
const MINUTE: u64 = 3_000;
/// A frame with 160 bytes of sound, a message.
const FRAME: [u8; 214] = [0x55; 214];
const MESSAGE: [u8; 640] = [0x20; 640];
/// Messages at a call's begin and at its end.
const MESSAGES: [usize; 2] = [5, 2];

/// A call: its number names it and its streams.
#[derive(Clone, Copy)]
struct Names {
    signalling: u64,
    streams: [u64; 2],
}

impl Names {
    fn of(call: u64) -> Self {
        let end = |side: u8| {
            let host = [198, 18 + side, (call >> 8) as u8, call as u8];
            Endpoint::new(host.into(), 10_000 + 2 * (call >> 16) as u16)
        };
        let (caller, callee) = (end(0), end(1));
        Self {
            signalling: of_call(format!("{call:08x}@198.18.0.1").as_bytes()),
            streams: [
                of_stream(caller, callee, 2 * call as u32),
                of_stream(callee, caller, 2 * call as u32 + 1),
            ],
        }
    }
}

/// A call under way.
struct Call {
    number: u64,
    signalling: Option<OwnerHandle>,
    streams: [Option<OwnerHandle>; 2],
}

impl Call {
    fn begin(writer: &mut SpoolWriter, number: u64, now: Nanos) -> Self {
        let names = Names::of(number);
        let signalling = writer.begin(Category::Signalling, names.signalling);
        messages(writer, signalling, MESSAGES[0], now);
        Self { number, signalling, streams: names.streams.map(|name| writer.begin(Category::Media, name)) }
    }

    fn end(self, writer: &mut SpoolWriter, now: Nanos) {
        messages(writer, self.signalling, MESSAGES[1], now);
        for owner in [self.signalling, self.streams[0], self.streams[1]].into_iter().flatten() {
            writer.finish(owner, now);
        }
    }

    fn talk(&self, writer: &mut SpoolWriter, now: Nanos) {
        for owner in self.streams.into_iter().flatten() {
            writer.put(owner, &frame(&FRAME, now));
        }
    }
}

fn messages(writer: &mut SpoolWriter, owner: Option<OwnerHandle>, count: usize, now: Nanos) {
    for _ in 0..count {
        owner.iter().for_each(|owner| writer.put(*owner, &frame(&MESSAGE, now)));
    }
}

fn frame(data: &[u8], time: Nanos) -> Frame<'_> {
    Frame { time, number: 1, link: LinkType(1), wire_len: data.len() as u32, data }
}

fn hour(dir: &Path, calls: u64, minutes: u64, full: u64) -> Result<(), Box<dyn Error>> {
    if calls == 0 || full < 3 || full > minutes {
        return Err("at least one call, three full minutes, and no more of them than minutes".into());
    }
    let mut writer = SpoolWriter::open(WriterSettings { wait: true, ..WriterSettings::new(dir.to_owned()) })?;
    let begun = Instant::now();
    let whole = (minutes - full) / 2 * MINUTE..((minutes - full) / 2 + full) * MINUTE;
    let mut next = calls;
    let mut under_way: Vec<Call> = (0..calls).map(|number| Call::begin(&mut writer, number, START)).collect();
    // Calls that lie in the full minutes from their first packet to their last.
    let mut wholly = Vec::new();
    let mut now = START;
    for turn in 1..minutes * MINUTE {
        for (place, call) in (0..).zip(&mut under_way) {
            now = START + Nanos(turn * PACKET.0 + place * PACKET.0 / calls);
            if (turn + place * PACKETS / calls).is_multiple_of(PACKETS) {
                let old = std::mem::replace(call, Call::begin(&mut writer, next, now));
                old.end(&mut writer, now);
                if whole.contains(&turn) && whole.contains(&(turn + PACKETS)) {
                    wholly.push((next, now));
                }
                next += 1;
            }
            if whole.contains(&turn) || turn % 50 == 0 {
                call.talk(&mut writer, now);
            }
        }
        writer.tick(now);
    }
    let last = under_way.last().map_or(0, |call| call.number);
    let written = writer.written();
    let counts = writer.close(now);
    // A few, evenly over those that there are.
    let step = (wholly.len() / 12).max(1);
    let few: Vec<String> = wholly
        .iter()
        .step_by(step)
        .map(|(number, begin)| format!("[{number}, {}]", begin.micros()))
        .collect();
    println!(
        "{{{}, \"calls\": {}, \"seconds\": {:.1}, \"whole\": [{}]}}",
        figures(&counts, &written),
        last + 1,
        begun.elapsed().as_secs_f64(),
        few.join(", ")
    );
    Ok(())
}

fn read(dir: &Path, call: u64, begin: Nanos) -> Result<(), Box<dyn Error>> {
    let names = Names::of(call);
    let owners = [
        (Category::Signalling, names.signalling),
        (Category::Media, names.streams[0]),
        (Category::Media, names.streams[1]),
    ];
    let begun = Instant::now();
    let mut reader = Reader::open(dir)?;
    let segments = reader.between(begin, begin + Nanos(PACKETS * PACKET.0))?;
    // Owner by owner, as `ringtap export` does.
    let (mut packets, mut damaged, mut bytes) = (0, 0, 0);
    for (category, owner) in owners {
        let of: Vec<_> = segments.iter().filter(|segment| segment.category() == category).cloned().collect();
        let found = reader.read(&[owner], &of)?;
        packets += found.len();
        damaged += found.damaged;
        bytes += found.packets().map(|packet| packet.data.len()).sum::<usize>();
    }
    let took = begun.elapsed();
    let expected = 2 * PACKETS as usize + MESSAGES.iter().sum::<usize>();
    if packets != expected || damaged > 0 {
        return Err(format!("{packets} packets instead of {expected}, {damaged} damaged").into());
    }
    println!(
        "{{\"ms\": {:.3}, \"reads\": {}, \"segments\": {}, \"packets\": {}, \"bytes\": {bytes}}}",
        took.as_secs_f64() * 1e3,
        reader.reads(),
        segments.len(),
        packets
    );
    Ok(())
}

fn many(dir: &Path, calls: u64, seconds: u64, mib: usize) -> Result<(), Box<dyn Error>> {
    let owners = 3 * calls as usize + 16;
    let settings =
        WriterSettings { memory: mib << 20, owners, wait: true, ..WriterSettings::new(dir.to_owned()) };
    let mut writer = SpoolWriter::open(settings)?;
    let under_way: Vec<Call> = (0..calls).map(|number| Call::begin(&mut writer, number, START)).collect();
    let begun = Instant::now();
    let mut now = START;
    for turn in 1..=seconds * 50 {
        for (place, call) in (0..).zip(&under_way) {
            now = START + Nanos(turn * PACKET.0 + place * PACKET.0 / calls);
            call.talk(&mut writer, now);
        }
        writer.tick(now);
    }
    let written = writer.written();
    let counts = writer.close(now);
    println!(
        "{{{}, \"seconds\": {:.1}, \"resident_mb\": {:.0}}}",
        figures(&counts, &written),
        begun.elapsed().as_secs_f64(),
        most_resident()?
    );
    Ok(())
}

fn figures(counts: &WriterCounts, written: &WriterStatus) -> String {
    format!(
        "\"packets\": {}, \"chunks\": {}, \"lost\": {}, \"bytes\": {}, \"writes\": {}, \"syncs\": {}, \
         \"segments\": {}",
        counts.packets,
        written.chunks(),
        counts.lost_oversized + counts.lost_disk + counts.refused + written.lost_packets(),
        written.bytes(),
        written.writes(),
        written.syncs(),
        written.segments()
    )
}

/// The most memory that was resident at once, in MB.
fn most_resident() -> Result<f64, Box<dyn Error>> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).ok_or("no VmHWM")?;
    let kib: f64 = line.trim().trim_end_matches(" kB").parse()?;
    Ok(kib * 1024.0 / 1e6)
}

//! Follows many sessions, and tells what one costs: packets a second on one core, and bytes of memory.
//!
//! ```text
//! cargo run --release -p ringtap-intercept --example subscribers -- [SESSIONS]
//! ```
//!
//! Each session is let in (Access-Request, Access-Accept), started and acknowledged, and reported once more:
//! six packets. They are also looked through for 100,000 targets, of which a tenth of the sessions are one.
//! Prints one JSON object.
#![expect(clippy::print_stdout, reason = "the result")]

use std::time::Duration;

use ringtap_identity::{Carried, Limits, Secrets, Sessions};
use ringtap_model::{Endpoint, Nanos};
use ringtap_warrant::{Liid, Name, Target, TargetIndex};
use ringtap_wire::radius::{Number, View, code};
use rustix::time::{ClockId, clock_gettime};

const TARGETS: u32 = 100_000;
const USER_NAME: Number = Number::standard(1);
const CALLING_STATION_ID: Number = Number::standard(31);

/// As the program has it.
#[cfg(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu"))]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() {
    let sessions: u32 = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(1_000_000);
    let targets: Vec<(Target, Liid)> = (0..TARGETS).filter_map(target).collect();
    assert_eq!(targets.len(), TARGETS as usize, "each can be a target");
    let index = TargetIndex::new(targets.iter().map(|(target, liid)| (target, liid)));
    let mut matched = 0_usize;
    let inspected = rate(sessions, |packet| {
        let Ok(view) = View::parse(packet) else { return };
        let names = view.attributes().filter_map(|attribute| {
            let text = std::str::from_utf8(attribute.value).ok()?;
            match attribute.number {
                USER_NAME => Some(Name::User(text)),
                CALLING_STATION_ID => Some(Name::Calling(text)),
                _ => None,
            }
        });
        matched += index.find(names).len();
    });
    // Each name is in three of its session's packets, and the measurement goes over them once.
    let expected = (0..sessions).filter(|session| session % 10 == 0 && session / 10 < TARGETS).count() * 3;
    assert_eq!(matched, expected, "each target is found, and nobody else");
    let secrets = Secrets::parse("192.0.2.0/24 testing123").unwrap_or_default();
    let mut checking = Sessions::new(limits(sessions), secrets);
    // Wrong authenticators cost as much as right ones, and change no session.
    let checked = follow(&mut checking, sessions.min(100_000));
    drop(checking);
    let before = resident();
    let mut following = Sessions::new(limits(sessions), Secrets::default());
    let followed = follow(&mut following, sessions);
    let bytes = resident().saturating_sub(before);
    assert_eq!(following.open(), sessions as usize, "each session is followed to the end");
    println!(
        "{{\"sessions\": {sessions}, \"bytes_per_session\": {}, \"inspected_per_s\": {inspected:.0}, \
         \"followed_per_s\": {followed:.0}, \"checked_per_s\": {checked:.0}}}",
        bytes / u64::from(sessions.max(1)),
    );
}

/// The targets: every tenth session, by one of its names.
fn target(number: u32) -> Option<(Target, Liid)> {
    let session = number * 10;
    let (user, mac) = (format!("user{session:07}@example.net"), station_of(session));
    let text = match number % 4 {
        0 => format!("user:{user}"),
        1 => format!("user~:{user}"),
        2 => format!("calling:{mac}"),
        _ => format!("mac:{mac}"),
    };
    Some((text.parse().ok()?, format!("L{number}").parse().ok()?))
}

fn station_of(number: u32) -> String {
    format!("02-00-5E-{:02X}-{:02X}-{:02X}", number >> 16, number >> 8 & 255, number & 255)
}

fn limits(sessions: u32) -> Limits {
    Limits { sessions: sessions as usize, memory: usize::MAX, ..Limits::default() }
}

/// Packets of these sessions for each second of processor time; making them does not count.
fn rate(sessions: u32, mut each: impl FnMut(&[u8])) -> f64 {
    let (mut packets, mut taken) = (0, Duration::ZERO);
    for first in (0..sessions).step_by(AT_ONCE) {
        let last = sessions.min(first + AT_ONCE as u32);
        let made: Vec<Packet> = (first..last).flat_map(packets_of).collect();
        let began = processor_time();
        made.iter().for_each(|(_, _, bytes)| each(bytes));
        taken += processor_time() - began;
        packets += made.len();
    }
    packets as f64 / taken.as_secs_f64().max(1e-9)
}

/// Sessions whose packets are made before they are measured.
const AT_ONCE: usize = 1_000;

/// Of this thread: what others take of the processor does not count.
fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

fn follow(sessions: &mut Sessions, count: u32) -> f64 {
    let (mut frame, mut time) = (0, Nanos::from_secs(1_795_219_200));
    rate(count, |packet| {
        frame += 1;
        // So short that nothing expires, which would take its interim interval three times.
        time += Nanos::from_micros(100);
        let (nas, server) = (end(1, 40_000), end(250, 1_813));
        let is_request = packet.first().is_some_and(|code| code::is_request(*code));
        let (src, dst) = if is_request { (nas, server) } else { (server, nas) };
        if let Ok(view) = View::parse(packet) {
            sessions.packet(&view, Carried { time, src, dst, frame });
        }
    })
}

fn end(host: u8, port: u16) -> Endpoint {
    Endpoint::new([192, 0, 2, host].into(), port)
}

/// Code, identifier, bytes.
type Packet = (u8, u8, Vec<u8>);

fn packets_of(number: u32) -> Vec<Packet> {
    let user = attribute(1, format!("user{number:07}@example.net").as_bytes());
    let station = attribute(31, station_of(number).as_bytes());
    let port = [
        attribute(5, &number.to_be_bytes()),
        attribute(87, format!("ge-0/0/1.{}", number % 4_000).as_bytes()),
    ]
    .concat();
    let nas = [attribute(4, &[192, 0, 2, 1]), attribute(32, b"bras-1")].concat();
    let who = [user, station, port, nas].concat();
    let class = attribute(25, &u128::from(number).to_be_bytes());
    let address = attribute(8, &(0x0a00_0000 + number).to_be_bytes());
    let prefix = {
        let bits = 0x2001_0db8_0000_0000_u64 + (u64::from(number) << 8);
        attribute(123, &[&[0, 56], &bits.to_be_bytes()[..7]].concat())
    };
    let granted = [class, address, prefix, attribute(85, &600_u32.to_be_bytes())].concat();
    let report = |status: u32| {
        let id = attribute(44, format!("{number:016x}").as_bytes());
        [attribute(40, &status.to_be_bytes()), id, who.clone(), granted.clone()].concat()
    };
    let identifier = (number % 256) as u8;
    [
        (code::ACCESS_REQUEST, who.clone()),
        (code::ACCESS_ACCEPT, granted.clone()),
        (code::ACCOUNTING_REQUEST, report(1)),
        (code::ACCOUNTING_RESPONSE, Vec::new()),
        (code::ACCOUNTING_REQUEST, report(3)),
        (code::ACCOUNTING_RESPONSE, Vec::new()),
    ]
    .into_iter()
    .zip(0_u32..)
    .map(|((code, attributes), place)| {
        let mut bytes = vec![code, identifier];
        bytes.extend((20 + attributes.len() as u16).to_be_bytes());
        bytes.extend((u128::from(number) << 8 | u128::from(place) | 1 << 127).to_be_bytes());
        bytes.extend(attributes);
        (code, identifier, bytes)
    })
    .collect()
}

fn attribute(kind: u8, value: &[u8]) -> Vec<u8> {
    [&[kind, value.len() as u8 + 2], value].concat()
}

/// Bytes of memory of this process.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok()).unwrap_or(0) << 10
}

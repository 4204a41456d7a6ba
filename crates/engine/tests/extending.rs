//! The toy protocol of `docs/manual/extending.md`: every code block of that page is in this file, and runs
//! here.

use std::any::Any;
use std::collections::HashMap;

use ringtap_engine::team::Assigner;
use ringtap_engine::{
    Config, Context, Counters, Datagram, Engine, Sink, Slots, StreamEnd, Ticket, Tracker, Wants,
};
use ringtap_model::{Call, Endpoint, Frame, LinkType, Message, Nanos, Registration};

/// A heartbeat: `BEAT`, a version, and a sequence number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Heartbeat {
    /// Ascends by one; wraps.
    pub sequence: u16,
}

impl Heartbeat {
    /// None for anything that is not a whole heartbeat of version 1.
    pub fn parse(data: &[u8]) -> Option<Self> {
        match *data.first_chunk::<7>()? {
            [b'B', b'E', b'A', b'T', 1, high, low] => {
                Some(Self { sequence: u16::from_be_bytes([high, low]) })
            }
            _ => None,
        }
    }
}

/// A device that sent heartbeats has been silent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceLost {
    /// Where its heartbeats came from.
    pub device: Endpoint,
    /// Its last heartbeat.
    pub last_heard: Nanos,
    /// Sequence numbers that never arrived.
    pub missing: u32,
}

/// One device.
struct Device {
    endpoint: Endpoint,
    last_heard: Nanos,
    sequence: u16,
    missing: u32,
}

/// Follows the heartbeats of at most 1,000 devices.
pub struct HeartbeatTracker {
    devices: Slots<Device>,
    by_endpoint: HashMap<Endpoint, u32>,
}

const CEILING: usize = 1000;
const SILENCE: Nanos = Nanos::from_secs(3);

impl Default for HeartbeatTracker {
    fn default() -> Self {
        Self { devices: Slots::new(CEILING), by_endpoint: HashMap::new() }
    }
}

impl Tracker for HeartbeatTracker {
    const WANTS: Wants = Wants { sniff: Some(is_heartbeat), ..Wants::NOTHING };

    fn datagram<S: Sink>(&mut self, datagram: &Datagram<'_>, cx: &mut Context<'_, S>) {
        let Some(heartbeat) = Heartbeat::parse(datagram.data) else { return };
        match self.by_endpoint.get(&datagram.src) {
            Some(slot) => self.again(*slot, heartbeat, datagram.time),
            None => self.first(heartbeat, datagram, cx),
        }
    }

    fn timer<S: Sink>(&mut self, ticket: Ticket, cx: &mut Context<'_, S>) {
        let Some(slot) = self.devices.redeem(ticket) else { return };
        let Some(device) = self.devices.get(slot) else { return };
        let deadline = device.last_heard + SILENCE;
        if deadline > cx.now() {
            cx.arm(deadline, ticket);
        } else {
            self.lost(slot, cx);
        }
    }

    fn close<S: Sink>(&mut self, cx: &mut Context<'_, S>) {
        let mut devices: Vec<(Endpoint, u32)> =
            self.devices.iter().map(|(slot, device)| (device.endpoint, slot)).collect();
        devices.sort();
        devices.into_iter().for_each(|(_, slot)| self.lost(slot, cx));
    }
}

fn is_heartbeat(datagram: &Datagram<'_>) -> bool {
    Heartbeat::parse(datagram.data).is_some()
}

impl HeartbeatTracker {
    fn first<S: Sink>(&mut self, heartbeat: Heartbeat, datagram: &Datagram<'_>, cx: &mut Context<'_, S>) {
        let (endpoint, last_heard) = (datagram.src, datagram.time);
        let device = Device { endpoint, last_heard, sequence: heartbeat.sequence, missing: 0 };
        let Some(slot) = self.devices.insert(device) else { return cx.count_refused() };
        self.by_endpoint.insert(endpoint, slot);
        cx.arm(last_heard + SILENCE, self.devices.ticket(slot));
    }

    fn again(&mut self, slot: u32, heartbeat: Heartbeat, time: Nanos) {
        let Some(device) = self.devices.get_mut(slot) else { return };
        let step = heartbeat.sequence.wrapping_sub(device.sequence);
        device.missing += u32::from(step.saturating_sub(1));
        (device.sequence, device.last_heard) = (heartbeat.sequence, time);
    }

    fn lost<S: Sink>(&mut self, slot: u32, cx: &mut Context<'_, S>) {
        let Some(Device { endpoint, last_heard, missing, .. }) = self.devices.remove(slot) else { return };
        self.by_endpoint.remove(&endpoint);
        cx.emit(&DeviceLost { device: endpoint, last_heard, missing });
    }
}

/// Collects the events.
#[derive(Default)]
struct Lost(Vec<DeviceLost>);

impl Sink for Lost {
    fn call(&mut self, _: Call, _: Vec<StreamEnd>) {}
    fn stream(&mut self, _: StreamEnd) {}
    fn registration(&mut self, _: Registration) {}
    fn message(&mut self, _: Message) {}

    fn event(&mut self, event: &dyn Any) {
        self.0.extend(event.downcast_ref::<DeviceLost>());
    }
}

const START: Nanos = Nanos::from_secs(1_700_000_000);

/// A heartbeat over UDP and IPv4 from that host.
fn beat(host: u16, sequence: u16) -> Vec<u8> {
    let [high, low] = host.to_be_bytes();
    let mut packet = vec![0x45, 0, 0, 35, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, high, low, 192, 0, 2, 9];
    packet.extend([0x17, 0x70, 0x17, 0x70, 0, 15, 0, 0, b'B', b'E', b'A', b'T', 1]);
    packet.extend(sequence.to_be_bytes());
    packet
}

/// Runs heartbeats, each (milliseconds, host, sequence), through engines: the events in order of device, and
/// the counters.
fn run(workers: usize, beats: &[(u64, u16, u16)]) -> (Vec<DeviceLost>, Counters) {
    let config = Config::default();
    let assigner = Assigner::new(&config, workers);
    let mut engines = match workers {
        1 => vec![Engine::with_tracker(config, HeartbeatTracker::default())],
        _ => Engine::team_with_trackers(&config, workers, HeartbeatTracker::default),
    };
    let mut lost = Lost::default();
    for (number, (millis, host, sequence)) in (0u64..).zip(beats) {
        let data = beat(*host, *sequence);
        let time = START + Nanos::from_millis(*millis);
        let frame = Frame { time, number, link: LinkType(101), wire_len: data.len() as u32, data: &data };
        let worker = assigner.assign(&frame).worker;
        engines[worker].batch(&[frame], &mut lost);
    }
    let mut counters = Counters::default();
    for mut engine in engines {
        engine.close(&mut lost);
        counters += engine.counters();
    }
    lost.0.sort_by_key(|event| (event.device, event.last_heard));
    (lost.0, counters)
}

fn device(host: u16) -> Endpoint {
    let [high, low] = host.to_be_bytes();
    Endpoint::new([10, 0, high, low].into(), 6000)
}

#[test]
fn a_silent_device_is_reported_once_with_what_is_missing() {
    let (lost, counters) = run(1, &[(0, 1, 7), (1000, 1, 8), (2000, 1, 11), (9000, 2, 1)]);
    let expected = [
        DeviceLost { device: device(1), last_heard: START + Nanos::from_secs(2), missing: 2 },
        DeviceLost { device: device(2), last_heard: START + Nanos::from_secs(9), missing: 0 },
    ];
    assert_eq!(lost, expected);
    assert_eq!((counters.tracked, counters.udp_other), (4, 0));
}

#[test]
fn the_timer_reports_it_before_the_input_ends() {
    let mut engine = Engine::with_tracker(Config::default(), HeartbeatTracker::default());
    let mut lost = Lost::default();
    let data = beat(1, 1);
    let frame = Frame { time: START, number: 0, link: LinkType(101), wire_len: 35, data: &data };
    engine.batch(&[frame], &mut lost);
    engine.tick(START + Nanos::from_secs(2), &mut lost);
    assert_eq!(lost.0.len(), 0);
    engine.tick(START + Nanos::from_secs(4), &mut lost);
    assert_eq!(lost.0.len(), 1);
    assert_eq!(engine.tracker().by_endpoint.len(), 0);
}

#[test]
fn past_the_ceiling_devices_are_refused_and_counted() {
    let beats: Vec<(u64, u16, u16)> = (0..1005).map(|host| (0, host, 1)).collect();
    let (lost, counters) = run(1, &beats);
    assert_eq!((lost.len(), counters.tracked_refused), (CEILING, 5));
}

#[test]
fn several_workers_report_the_same() {
    let beats: Vec<(u64, u16, u16)> =
        (0..40).flat_map(|at| (0..9).map(move |host| (at * 100, host, at as u16))).collect();
    let (one, _) = run(1, &beats);
    for workers in [2, 4] {
        assert_eq!(run(workers, &beats).0, one, "{workers} workers");
    }
}

#[test]
fn other_datagrams_are_left_alone() {
    let mut engine = Engine::with_tracker(Config::default(), HeartbeatTracker::default());
    let mut data = beat(1, 1);
    data[32] = 2;
    let frame = Frame { time: START, number: 0, link: LinkType(101), wire_len: 35, data: &data };
    engine.batch(&[frame], &mut Lost::default());
    assert_eq!((engine.counters().tracked, engine.counters().udp_other), (0, 1));
}

#[test]
fn the_manual_shows_this_code() {
    let manual = include_str!("../../../docs/manual/extending.md");
    let blocks: Vec<&str> =
        manual.split("```rust\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    assert!(blocks.len() >= 5, "{} blocks", blocks.len());
    for block in blocks {
        assert!(include_str!("extending.rs").contains(block), "not in this file:\n{block}");
    }
}

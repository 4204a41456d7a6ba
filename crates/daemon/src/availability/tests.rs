//! What workers pass on, in order and out of it, and without room.

use std::any::Any;
use std::path::Path;

use ringtap_availability::{AvailabilityTracker, Findings, ServiceSummary};
use ringtap_engine::{Config, Engine, Sink, StreamEnd};
use ringtap_model::{Call, Message, Registration};
use ringtap_store::settings::{Retain, StoreSettings};
use ringtap_store::{Query, Reader, StoreWriter};
use ringtap_wire::frame::{link, udp_datagram};

use super::*;
use crate::radius::RadiusFeed;
use crate::worker_tracker::WorkerTracker;

fn feeding(places: usize) -> (Feeding, Receiver<Seen>) {
    let (queue, seen) = sync_channel(places);
    let figures = Arc::new(AvailabilityFigures::default());
    (Feeding { queue, figures, observer: Observer::default(), lost: false, waits: false }, seen)
}

fn claim(second: u64) -> Seen {
    let time = Nanos::from_secs(second);
    Seen::Neighbour { time, number: second, link: LinkType(1), data: Box::from([0; 60]) }
}

/// What finds no room is counted, and a worker does not wait for it.
#[test]
fn a_full_queue_is_counted() {
    let (feeding, seen) = feeding(2);
    let passed: Vec<bool> = (0..5).map(|second| feeding.pass(claim(second))).collect();
    assert_eq!(passed, [true, true, false, false, false]);
    assert_eq!(feeding.figures.known().dropped, 3);
    assert_eq!(seen.try_iter().count(), 2);
    assert!(feeding.pass(claim(9)), "what was taken makes room");
    assert_eq!(feeding.figures.known().dropped, 3);
}

/// Without facts of calls no time is unobserved.
#[test]
fn facts_that_find_no_room_are_counted_apart() {
    let (feeding, seen) = feeding(1);
    let [from, until] = [1, 2].map(Nanos::from_secs);
    let lost = LostTime { serial: 7, from, until, missing: 50, call: None, direction: None };
    (0..3).for_each(|_| feeding.pass_fact(Seen::LostTime(lost)));
    let known = feeding.figures.known();
    assert_eq!((known.facts_dropped, known.dropped, seen.try_iter().count()), (2, 0, 1));
}

#[test]
fn what_waits_comes_in_order_of_time_and_frame() {
    let mut waiting = BinaryHeap::new();
    [3, 1, 2, 5, 4].into_iter().for_each(|second| waiting.push(Reverse(Ordered(claim(second)))));
    let order = std::iter::from_fn(|| waiting.pop()).map(|Reverse(Ordered(seen))| seen.time().1);
    assert_eq!(order.collect::<Vec<_>>(), [1, 2, 3, 4, 5]);
}

/// An IP packet with a SIP message about one of many calls, and when it was captured.
type Packet = (Nanos, u64, Vec<u8>);

/// OPTIONS each 100 ms from two clients; the service is out from 20 s to 24 s, and again for good from 50 s.
fn packets() -> Vec<Packet> {
    let mut packets = Vec::new();
    let mut message = |millis: u64, [src, dst]: [u8; 2], first_line: &str, id: u64| {
        let text = format!(
            "{first_line}\r\nVia: SIP/2.0/UDP 192.0.2.7;branch=z9hG4bK{id}\r\nFrom: <sip:a@b>;tag=1\r\n\
             To: <sip:b@b>\r\nCall-ID: {id}\r\nCSeq: 1 OPTIONS\r\nContent-Length: 0\r\n\r\n"
        );
        let ends = [src, dst].map(|host| ([192, 0, 2, host].into(), 5060));
        let time = Nanos::from_secs(1_700_000_000) + Nanos::from_millis(millis);
        packets.push((time, id, udp_datagram(ends[0], ends[1], text.as_bytes()).unwrap()));
    };
    for id in 0..600 {
        let (millis, client) = (100 * id, 7 + (id % 2) as u8);
        message(millis, [client, 1], "OPTIONS sip:b@b SIP/2.0", id);
        if (20_000..24_000).contains(&millis) || millis >= 50_000 {
            message(millis + 500, [client, 1], "OPTIONS sip:b@b SIP/2.0", id);
        } else {
            message(millis + 2, [1, client], "SIP/2.0 200 OK", id);
        }
    }
    packets.sort_by_key(|(time, ..)| *time);
    packets
}

#[derive(Default)]
struct Emitted(Findings);

impl Sink for Emitted {
    fn call(&mut self, _: Call, _: Vec<StreamEnd>) {}
    fn stream(&mut self, _: StreamEnd) {}
    fn registration(&mut self, _: Registration) {}
    fn message(&mut self, _: Message) {}
    fn event(&mut self, event: &dyn Any) {
        if let Some(findings) = event.downcast_ref::<Findings>() {
            self.0 = findings.clone();
        }
    }
}

fn store(dir: &Path) -> StoreWriter {
    let settings = StoreSettings {
        directory: dir.join("records"),
        queue: 1_000,
        cache: 1 << 20,
        outbox: dir.join("outbox"),
        outbox_size: 1 << 20,
        journal: None,
        retain: Retain::default(),
    };
    StoreWriter::open(&settings, |_| ()).unwrap().0
}

/// Two workers share the messages by Call-ID, and one is always up to 400 ms behind the other: what is stored
/// is what one engine finds in the whole capture.
#[test]
fn what_workers_pass_on_is_what_one_engine_finds() {
    let packets = packets();
    let frame = |number: usize| {
        let (time, _, data) = &packets[number];
        let link = LinkType(link::RAW);
        Frame { time: *time, number: number as u64 + 1, link, wire_len: data.len() as u32, data }
    };
    let tracker = AvailabilityTracker::new(Settings::default());
    let (mut engine, mut whole) = (Engine::with_tracker(Config::default(), tracker), Emitted::default());
    (0..packets.len()).for_each(|number| engine.batch(&[frame(number)], &mut whole));
    engine.close(&mut whole);

    let dir = tempfile::tempdir().unwrap();
    let writer = store(dir.path());
    let (start, availability) = feed(Some((Settings::default(), Vec::new())), true);
    let thread = start.unwrap().start(writer.sender().unwrap(), None).unwrap();
    let second = availability.of_another_worker();
    let mut workers = [availability, second].map(|availability| {
        let tracker = WorkerTracker { radius: RadiusFeed::default(), availability, intercept: None };
        Engine::with_tracker(Config::default(), tracker)
    });
    let begin = packets[0].0;
    let chunk = |number: usize| packets[number].0.since(begin).0 / 400_000_000;
    for part in 0..=chunk(packets.len() - 1) {
        // The second first: what it passes on is later than what the other does.
        for worker in [1, 0] {
            let of = |number: &usize| chunk(*number) == part && packets[*number].1 % 2 == worker as u64;
            let numbers = (0..packets.len()).filter(of);
            numbers.for_each(|number| workers[worker].batch(&[frame(number)], &mut Emitted::default()));
        }
    }
    drop(workers);
    thread.close();
    let written = writer.close(Duration::from_secs(60));
    assert_eq!((written.dropped.outages, written.outbox_records), (0, 0));

    let reader = Reader::open(&dir.path().join("records")).unwrap();
    let stored = reader.outages(&Query::default()).unwrap().records;
    let expected: Vec<Outage> = whole.0.outages.iter().map(|outage| outage.record()).collect();
    assert_eq!(stored, expected);
    assert_eq!(stored.iter().map(|outage| outage.first_answer.is_some()).collect::<Vec<_>>(), [true, false]);
    let hours = reader.service_hours(&Query::default()).unwrap().records;
    let services = ringtap_availability::summaries(hours);
    let figures = |of: &ServiceSummary| (of.requests, of.answered, of.outages, of.observed, of.down);
    let monitored = |of: &&ServiceSummary| of.answered > 0;
    assert_eq!(
        services.iter().map(figures).collect::<Vec<_>>(),
        whole.0.services.iter().filter(monitored).map(figures).collect::<Vec<_>>()
    );
}

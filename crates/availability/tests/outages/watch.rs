//! The same without an end: what is handed out while time passes.

use std::collections::BTreeMap;

use ringtap_availability::{
    Findings, Found, LinkWatch, Observation, Observer, Settings, Watch, failovers, summaries,
};
use ringtap_engine::{Config, Context, Engine, Sink, SipMessage, Tracker, Wants};
use ringtap_model::{
    EvidenceKind, Failover, Frame, Id, LinkType, Nanos, Network, Outage, OutageKind, ServiceHour,
};

use crate::failovers::{announcement, pings};
use crate::wire::{self, OTHER, PHONE, PROXY, RAW, Wire, at};

const A: [u8; 6] = [2, 0, 0, 0, 0, 1];
const B: [u8; 6] = [2, 0, 0, 0, 0, 2];

/// Observations as a worker makes them.
#[derive(Default)]
struct Worker(Observer, Vec<Observation>);

impl Tracker for Worker {
    const WANTS: Wants = Wants { sip: true, senders: true, ..Wants::NOTHING };

    fn sip<S: Sink>(&mut self, sip: &SipMessage<'_>, cx: &mut Context<'_, S>) {
        self.1.push(Observation::of(sip, cx.drops(), &mut self.0));
    }
}

/// What two workers observe, who share messages by Call-ID, in the order of their frames.
fn observed(wire: &mut Wire) -> Vec<Observation> {
    passed(wire.frames(), RAW)
}

/// The same on Ethernet, where this host sends what comes from the proxy's address at that time.
fn observed_on_ethernet(wire: &mut Wire, owner: impl Fn(Nanos) -> [u8; 6]) -> Vec<Observation> {
    let frame = |(time, data): &(Nanos, Vec<u8>)| {
        let sender = if data[12..16] == [192, 0, 2, 1] { owner(*time) } else { [2, 0, 0, 0, 0, 9] };
        (*time, [&[2; 6][..], &sender, &[8, 0], data].concat())
    };
    let frames: Vec<_> = wire.frames().iter().map(frame).collect();
    passed(&frames, LinkType(1))
}

fn passed(frames: &[(Nanos, Vec<u8>)], link: LinkType) -> Vec<Observation> {
    let first = Observer::default();
    let second = first.of_another_engine();
    let mut workers =
        [first, second].map(|observer| Engine::with_tracker(Config::default(), Worker(observer, Vec::new())));
    for (number, (time, data)) in frames.iter().enumerate() {
        let text = String::from_utf8_lossy(data);
        let call_id = text.split_once("Call-ID: ").expect("a Call-ID").1.lines().next().unwrap_or_default();
        let worker = call_id.bytes().fold(0, |sum, byte| sum ^ usize::from(byte)) % 2;
        let frame = Frame { time: *time, number: number as u64 + 1, link, wire_len: data.len() as u32, data };
        workers[worker].batch(&[frame], &mut wire::Found::default());
    }
    let mut all: Vec<Observation> =
        workers.into_iter().flat_map(|mut worker| std::mem::take(&mut worker.tracker_mut().1)).collect();
    all.sort_by_key(|seen| (seen.time, seen.frame));
    all
}

/// What was handed out last of each.
#[derive(Default)]
struct Last {
    outages: BTreeMap<Id, Outage>,
    failovers: BTreeMap<Id, Failover>,
    hours: BTreeMap<Id, ServiceHour>,
}

impl Last {
    fn add(&mut self, found: Found) {
        self.outages.extend(found.outages.into_iter().map(|one| (one.id, one)));
        self.failovers.extend(found.failovers.into_iter().map(|one| (one.id, one)));
        self.hours.extend(found.hours.into_iter().map(|one| (one.id, one)));
    }

    /// Runs a watch to the end, with announcements of the proxy's address.
    fn of(wire: &mut Wire, claims: &[(f64, [u8; 6])], ours: Vec<Network>) -> Self {
        let mut watch =
            Watch::new(Settings { forget: Some(Nanos::from_secs(86_400)), ..Settings::default() }, ours);
        let (mut last, mut claims) = (Self::default(), claims.iter().peekable());
        for seen in observed(wire) {
            while let Some((seconds, mac)) = claims.next_if(|(seconds, _)| at(*seconds) <= seen.time) {
                announce(&mut watch, *seconds, *mac);
            }
            watch.observe(&seen);
            last.add(watch.take());
        }
        watch.end();
        last.add(watch.take());
        last
    }
}

fn announce(watch: &mut Watch, seconds: f64, mac: [u8; 6]) {
    let data = announcement(mac);
    let (time, wire_len) = (at(seconds), data.len() as u32);
    watch.frame(&Frame { time, number: 1, link: LinkType(1), wire_len, data: &data });
}

/// What the whole input gives.
fn whole(wire: Wire, claims: &[(f64, [u8; 6])]) -> (Findings, Vec<Failover>) {
    let mut link = LinkWatch::default();
    for (seconds, mac) in claims {
        let data = announcement(*mac);
        let (time, wire_len) = (at(*seconds), data.len() as u32);
        link.frame(&Frame { time, number: 1, link: LinkType(1), wire_len, data: &data });
    }
    let findings = wire.findings(Settings::default());
    let failovers = failovers(&findings, &link.close().0).iter().map(|one| one.record()).collect();
    (findings, failovers)
}

fn without_effects(failover: Failover) -> Failover {
    let Failover { id, from, until, down_ms, causes, services, outages, evidence, .. } = failover;
    Failover { id, from, until, down_ms, causes, services, outages, evidence, ..Failover::UNKNOWN }
}

fn scene() -> Wire {
    let mut wire = Wire::default();
    pings(&mut wire, PROXY, (10, 14));
    pings(&mut wire, "203.0.113.1:5060", (0, 0));
    for second in 60..180 {
        let id = format!("later-{second}");
        wire.exchange(
            f64::from(second),
            (OTHER, "203.0.113.1:5060"),
            "OPTIONS",
            &id,
            if second < 90 { 503 } else { 200 },
        );
    }
    wire
}

#[test]
fn two_workers_and_a_watch_find_what_the_whole_input_gives() {
    let claims = [(0.1, A), (12.5, B), (12.7, B), (13.5, B)];
    let (findings, failovers) = whole(scene(), &claims);
    let last = Last::of(&mut scene(), &claims, Vec::new());
    let mut expected: Vec<Outage> = findings.outages.iter().map(|outage| outage.record()).collect();
    assert_eq!(
        expected.iter().map(|one| one.kind).collect::<Vec<_>>(),
        [OutageKind::Unanswered, OutageKind::Refusing]
    );
    expected.sort_by_key(|outage| outage.id);
    assert_eq!(last.outages.into_values().collect::<Vec<_>>(), expected);
    let found: Vec<Failover> = last.failovers.into_values().collect();
    assert!(found.iter().all(|failover| failover.calls == Some(0)), "{found:?}");
    let mut found: Vec<Failover> = found.into_iter().map(without_effects).collect();
    found.sort_by_key(|failover| failover.from);
    assert_eq!(found, failovers);
    assert_eq!(found[0].causes, ["proxy_lost"]);
    let services: Vec<_> = summaries(last.hours.into_values())
        .into_iter()
        .map(|one| (one.service, one.requests, one.outages, one.down))
        .collect();
    let expected: Vec<_> =
        findings.services.iter().map(|one| (one.service, one.requests, one.outages, one.down)).collect();
    assert_eq!(services, expected);
}

/// Nobody announces the address: where the answers come from tells who has it.
#[test]
fn answers_of_another_host_tell_a_lost_proxy_from_a_lost_pbx() {
    let found = |next: [u8; 6], out: (u32, u32)| {
        let mut wire = Wire::default();
        pings(&mut wire, PROXY, out);
        let mut watch = Watch::new(Settings::default(), Vec::new());
        let mut last = Last::default();
        for seen in observed_on_ethernet(&mut wire, |time| if time < at(12.0) { A } else { next }) {
            watch.observe(&seen);
            last.add(watch.take());
        }
        watch.end();
        last.add(watch.take());
        last.failovers.into_values().collect::<Vec<_>>()
    };
    let moved = found(B, (10, 14));
    let [Failover { causes, evidence, .. }] = &moved[..] else { panic!("{moved:?}") };
    assert_eq!(*causes, ["proxy_lost"]);
    let [sign] = &evidence[..] else { panic!("{moved:?}") };
    assert_eq!((sign.kind, sign.first), (EvidenceKind::SourceMoved, at(14.0 + 0.002)));
    let stayed = found(A, (10, 14));
    let [Failover { causes, evidence, .. }] = &stayed[..] else { panic!("{stayed:?}") };
    assert_eq!(*causes, ["pbx_lost"]);
    assert!(evidence.is_empty(), "{stayed:?}");
    assert_eq!(found(B, (0, 0)), [], "without an outage answers may take another way");
}

/// Who has their address is followed of services alone, for whose signs room is left.
#[test]
fn answers_that_nobody_asked_for_take_no_room() {
    let mut wire = Wire::default();
    for host in 0..66_000_u32 {
        let src = format!("10.{}.{}.{}:5060", host >> 16, host >> 8 & 255, host & 255);
        wire.answer(f64::from(host) / 1e4, (PHONE, &src), "OPTIONS", &format!("stray-{host}"), 200);
    }
    let mut watch = Watch::new(Settings::default(), Vec::new());
    observed_on_ethernet(&mut wire, |_| A).iter().for_each(|seen| watch.observe(seen));
    assert_eq!(watch.figures().counts.evidence_refused, 0);
}

#[test]
fn an_outage_is_handed_out_while_it_lasts_and_keeps_its_id() {
    let mut wire = Wire::default();
    pings(&mut wire, PROXY, (10, 30));
    wire.exchange(31.0, (PHONE, PROXY), "OPTIONS", "back", 200);
    let mut watch = Watch::new(Settings::default(), Vec::new());
    let (mut last, mut ids) = (Last::default(), Vec::new());
    for seen in observed(&mut wire) {
        watch.observe(&seen);
        let found = watch.take();
        ids.extend(found.outages.iter().map(|one| (one.id, one.from, one.first_answer)));
        last.add(found);
        let out = watch.figures().out.len();
        // Two seconds pass before it is known, and its end is looked at once a second.
        if !(at(11.0)..at(13.5)).contains(&seen.time) && seen.time < at(31.0) {
            assert_eq!(out, usize::from(seen.time >= at(13.5)), "{:?}", seen.time);
        }
    }
    assert_eq!(ids.first().map(|first| first.2), Some(None), "it lasts");
    watch.advance(at(33.0));
    assert!(watch.figures().out.is_empty());
    last.add(watch.take());
    let outages: Vec<Outage> = last.outages.into_values().collect();
    let [outage] = &outages[..] else { panic!("{outages:?}") };
    assert_eq!((outage.from, outage.first_answer), (at(10.0), Some(at(31.005))));
    assert!(ids.iter().all(|(id, from, _)| (*id, *from) == (outage.id, outage.from)), "{ids:?}");
}

#[test]
fn services_of_others_are_not_handed_out() {
    let ours = vec!["203.0.113.0/24".parse().expect("a network")];
    let last = Last::of(&mut scene(), &[], ours);
    let services: Vec<_> = last.outages.values().map(|outage| outage.service.to_string()).collect();
    assert_eq!(services, ["203.0.113.1:5060"]);
    assert!(last.hours.values().all(|hour| hour.service.to_string() == "203.0.113.1:5060"));
}

#[test]
fn what_nobody_uses_any_more_is_forgotten() {
    let forget = Some(Nanos::from_secs(3_600));
    let mut watch = Watch::new(Settings { forget, ..Settings::default() }, Vec::new());
    let mut wire = Wire::default();
    pings(&mut wire, PROXY, (0, 0));
    wire.request(1.0, (PHONE, "203.0.113.77:5060"), "OPTIONS", "nobody");
    observed(&mut wire).iter().for_each(|seen| watch.observe(seen));
    assert_eq!(watch.figures().counts.services, 2);
    watch.advance(at(400.0));
    assert_eq!(watch.figures().counts.services, 1, "it never answered");
    watch.advance(at(3_800.0));
    let counts = watch.figures().counts;
    assert_eq!((counts.services, counts.services_forgotten), (0, 2));
    let mut wire = Wire::default();
    wire.exchange(4_000.0, (PHONE, PROXY), "OPTIONS", "again", 200);
    observed(&mut wire).iter().for_each(|seen| watch.observe(seen));
    assert_eq!(watch.figures().counts.services, 1);
}

#[test]
fn lost_packets_leave_an_outage_without_an_end() {
    let mut wire = Wire::default();
    pings(&mut wire, PROXY, (10, 30));
    let mut watch = Watch::new(Settings::default(), Vec::new());
    let mut last = Last::default();
    for seen in observed(&mut wire) {
        if seen.time == at(20.0) {
            watch.lost_packets();
        }
        watch.observe(&seen);
        last.add(watch.take());
    }
    let ends: Vec<_> =
        last.outages.values().map(|outage| (outage.from >= at(20.0), outage.first_answer)).collect();
    assert!(ends.iter().all(|(_, end)| end.is_none()), "{ends:?}");
    assert!(ends.contains(&(false, None)), "{ends:?}");
    let first = last.outages.values().min_by_key(|outage| outage.from).expect("an outage");
    assert!(first.last <= at(20.0), "{first:?}");
}

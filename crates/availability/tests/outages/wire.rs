//! A capture made message by message.

use std::any::Any;
use std::collections::BTreeMap;
use std::net::IpAddr;

use ringtap_availability::{
    AvailabilityTracker, CallReport, Effects, EffectsTracker, Failover, Findings, Observation, Observed,
    Observer, Settings, Watch, effects, failovers,
};
use ringtap_engine::{
    CallNumber, CallPhase, Config, Context, Engine, LostTime, Sink, SipMessage, StreamEnd, Tracker, Wants,
};
use ringtap_model::{Call, Endpoint, Frame, LinkType, Message, Nanos, Registration};
use ringtap_wire::frame::udp_datagram;

/// LINKTYPE_RAW: a frame begins with IP.
pub(crate) const RAW: LinkType = LinkType(101);
const START: Nanos = Nanos::from_secs(1_700_000_000);

pub(crate) const PROXY: &str = "192.0.2.1:5060";
pub(crate) const PHONE: &str = "198.51.100.7:5060";
pub(crate) const OTHER: &str = "198.51.100.8:5060";

/// A moment, in seconds from the start.
pub(crate) fn at(seconds: f64) -> Nanos {
    START + Nanos((seconds * 1e9) as u64)
}

#[derive(Default)]
pub(crate) struct Wire {
    frames: Vec<(Nanos, Vec<u8>)>,
}

impl Wire {
    pub(crate) fn datagram(&mut self, seconds: f64, src: &str, dst: &str, text: &str) {
        self.packet(seconds, src, dst, text.as_bytes());
    }

    pub(crate) fn packet(&mut self, seconds: f64, src: &str, dst: &str, payload: &[u8]) {
        let ends = [src, dst].map(|end| end.parse::<Endpoint>().expect("an endpoint"));
        let [src, dst] = ends.map(|end: Endpoint| -> (IpAddr, u16) { (end.ip, end.port) });
        let data = udp_datagram(src, dst, payload).expect("short enough");
        self.frames.push((at(seconds), data));
    }

    /// A request, by its Call-ID; a repeat has the same.
    pub(crate) fn request(&mut self, seconds: f64, (src, dst): (&str, &str), method: &str, id: &str) {
        let text = format!(
            "{method} sip:bob@example.org SIP/2.0\r\nVia: SIP/2.0/UDP {src};branch=z9hG4bK{id}\r\n\
             From: <sip:alice@example.org>;tag=a{id}\r\nTo: <sip:bob@example.org>\r\nCall-ID: {id}\r\n\
             CSeq: 1 {method}\r\nContent-Length: 0\r\n\r\n"
        );
        self.datagram(seconds, src, dst, &text);
    }

    /// An answer from `dst` to `src`.
    pub(crate) fn answer(
        &mut self,
        seconds: f64,
        (src, dst): (&str, &str),
        method: &str,
        id: &str,
        code: u16,
    ) {
        let text = format!(
            "SIP/2.0 {code} Answer\r\nVia: SIP/2.0/UDP {src};branch=z9hG4bK{id}\r\n\
             From: <sip:alice@example.org>;tag=a{id}\r\nTo: <sip:bob@example.org>;tag=b\r\nCall-ID: {id}\r\n\
             CSeq: 1 {method}\r\nContent-Length: 0\r\n\r\n"
        );
        self.datagram(seconds, dst, src, &text);
    }

    /// A request that is answered after 5 ms.
    pub(crate) fn exchange(&mut self, seconds: f64, ends: (&str, &str), method: &str, id: &str, code: u16) {
        self.request(seconds, ends, method, id);
        self.answer(seconds + 0.005, ends, method, id, code);
    }

    /// Each frame a second time, as a mirror port delivers it that has both directions of a switch.
    pub(crate) fn mirrored(mut self) -> Self {
        let copy = |(time, data): &(Nanos, Vec<u8>)| (*time + Nanos::from_millis(3), data.clone());
        let copies: Vec<_> = self.frames.iter().map(copy).collect();
        self.frames.extend(copies);
        self
    }

    /// Without the frames from `from` on.
    pub(crate) fn until(mut self, seconds: f64) -> Self {
        self.frames.retain(|(time, _)| *time < at(seconds));
        self
    }

    pub(crate) fn findings(self, settings: Settings) -> Findings {
        tracked(settings, |engine, sink| self.feed(engine, sink))
    }

    /// The only failover, what it did, and of what that was concluded.
    pub(crate) fn effects(self) -> (Failover, Effects, Observed) {
        self.effects_by(Settings::default())
    }

    /// The same with other ceilings.
    pub(crate) fn effects_by(mut self, settings: Settings) -> (Failover, Effects, Observed) {
        let frames = self.frames().to_vec();
        let tracker = EffectsTracker::new(settings);
        let mut engine = Engine::with_tracker(Config::default(), tracker);
        let mut found = Found::default();
        self.feed(&mut engine, &mut found);
        engine.close(&mut found);
        let failovers = failovers(&found.findings, &[]);
        let mut effects = effects(&failovers, &found.observed);
        assert_eq!((failovers.len(), effects.len()), (1, 1), "{failovers:?}");
        // What is followed without an end says the same of each call.
        let followed = follow(&frames, settings, 0.0);
        assert_eq!(followed, [effects[0].clone()]);
        (failovers[0].clone(), effects.remove(0), found.observed)
    }

    /// Its frames in order of time.
    pub(crate) fn frames(&mut self) -> &[(Nanos, Vec<u8>)] {
        self.frames.sort_by_key(|(time, _)| *time);
        &self.frames
    }

    fn feed<X: Tracker>(mut self, engine: &mut Engine<X>, sink: &mut Found) {
        self.frames.sort_by_key(|(time, _)| *time);
        for (number, (time, data)) in self.frames.iter().enumerate() {
            let number = number as u64 + 1;
            let frame = Frame { time: *time, number, link: RAW, wire_len: data.len() as u32, data };
            engine.batch(&[frame], sink);
        }
    }
}

/// What workers pass on, in place of one: observations, in the order of their frames, and the rest.
#[derive(Default)]
struct Passing {
    observer: Observer,
    observations: Vec<Observation>,
    lost: Vec<LostTime>,
    reports: Vec<CallReport>,
}

impl Tracker for Passing {
    const WANTS: Wants = Wants { sip: true, lost_times: true, calls: true, ..Wants::NOTHING };

    fn sip<S: Sink>(&mut self, sip: &SipMessage<'_>, cx: &mut Context<'_, S>) {
        self.observations.push(Observation::of(sip, cx.drops(), &mut self.observer));
    }

    fn lost_time(&mut self, lost: &LostTime) {
        self.lost.push(*lost);
    }

    fn call_phase(&mut self, phase: CallPhase, number: CallNumber, call: &Call) {
        if phase == CallPhase::Answered {
            self.reports.extend(
                CallReport::in_progress(call, number.to_bits(), &self.observer).map(|report| *report),
            );
        }
    }

    fn call_ended(&mut self, call: &Call, streams: &[StreamEnd]) {
        self.reports.extend(CallReport::ended(call, streams, true, &self.observer).map(|report| *report));
    }
}

/// Calls whose BYE was probably lost.
struct Unended(Observer, Vec<CallReport>);

impl Sink for Unended {
    const LOST: bool = true;

    fn call(&mut self, _: Call, _: Vec<StreamEnd>) {}
    fn stream(&mut self, _: StreamEnd) {}
    fn registration(&mut self, _: Registration) {}
    fn message(&mut self, _: Message) {}

    fn lost(&mut self, call: Call, streams: Vec<StreamEnd>) {
        self.1.extend(CallReport::ended(&call, &streams, false, &self.0).map(|report| *report));
    }
}

/// What a watch says that failovers did, by the frames of an input that goes on without another for so many
/// seconds; one that ends there if these are none.
pub(crate) fn follow(frames: &[(Nanos, Vec<u8>)], settings: Settings, goes_on: f64) -> Vec<Effects> {
    let passing = Passing::default();
    let mut unended = Unended(passing.observer.of_another_engine(), Vec::new());
    let mut engine = Engine::with_tracker(Config::default(), passing);
    let mut watch = Watch::new(settings, Vec::new());
    let mut found = ringtap_availability::Found::default();
    let mut now = Nanos::ZERO;
    for (number, (time, data)) in frames.iter().enumerate() {
        let number = number as u64 + 1;
        let frame = Frame { time: *time, number, link: RAW, wire_len: data.len() as u32, data };
        engine.batch(&[frame], &mut unended);
        unended.1.drain(..).for_each(|report| watch.call(Box::new(report)));
        now = *time;
        pass(engine.tracker_mut(), &mut watch, &mut found);
    }
    if goes_on > 0.0 {
        (0..(goes_on * 10.0) as u32).for_each(|_| {
            now += Nanos::from_millis(100);
            engine.tick(now, &mut unended);
            unended.1.drain(..).for_each(|report| watch.call(Box::new(report)));
            pass(engine.tracker_mut(), &mut watch, &mut found);
            watch.advance(now);
        });
        add(watch.take(), &mut found);
    } else {
        engine.close(&mut unended);
        pass(engine.tracker_mut(), &mut watch, &mut found);
        watch.advance(now);
        watch.end();
        add(watch.take(), &mut found);
    }
    let judged = found.failovers.iter().filter(|failover| failover.judged_until.is_some());
    // Each again where it has changed.
    let last: BTreeMap<_, _> = judged.map(|failover| (failover.id, failover)).collect();
    last.into_values().filter_map(|failover| Effects::of_record(failover, &found.affected)).collect()
}

fn pass(passing: &mut Passing, watch: &mut Watch, found: &mut ringtap_availability::Found) {
    passing.reports.drain(..).for_each(|report| watch.call(Box::new(report)));
    passing.lost.drain(..).for_each(|lost| watch.lost_time(&lost));
    passing.observations.drain(..).for_each(|seen| watch.observe(&seen));
    add(watch.take(), found);
}

fn add(new: ringtap_availability::Found, found: &mut ringtap_availability::Found) {
    found.failovers.extend(new.failovers);
    found.affected.extend(new.affected);
}

/// What an engine finds in the frames that `feed` gives it.
pub(crate) fn tracked(
    settings: Settings,
    feed: impl FnOnce(&mut Engine<AvailabilityTracker>, &mut Found),
) -> Findings {
    let mut engine = Engine::with_tracker(Config::default(), AvailabilityTracker::new(settings));
    let mut found = Found::default();
    feed(&mut engine, &mut found);
    engine.close(&mut found);
    found.findings
}

#[derive(Default)]
pub(crate) struct Found {
    findings: Findings,
    observed: Observed,
}

impl Sink for Found {
    fn call(&mut self, _: Call, _: Vec<StreamEnd>) {}
    fn stream(&mut self, _: StreamEnd) {}
    fn registration(&mut self, _: Registration) {}
    fn message(&mut self, _: Message) {}
    fn event(&mut self, event: &dyn Any) {
        if let Some(findings) = event.downcast_ref::<Findings>() {
            self.findings = findings.clone();
        }
        if let Some(observed) = event.downcast_ref::<Observed>() {
            self.observed = observed.clone();
        }
    }
}

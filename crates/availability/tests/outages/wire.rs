//! A capture made message by message.

use std::any::Any;
use std::net::IpAddr;

use ringtap_availability::{
    AvailabilityTracker, Effects, EffectsTracker, Failover, Findings, Observed, Settings, effects, failovers,
};
use ringtap_engine::{Config, Engine, Sink, StreamEnd, Tracker};
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
        self.effects_by(Settings::default(), Config::default().max_streams)
    }

    /// The same with other ceilings: `streams` of those that gaps are looked for in.
    pub(crate) fn effects_by(self, settings: Settings, streams: usize) -> (Failover, Effects, Observed) {
        let tracker = EffectsTracker::new(settings, streams);
        let mut engine = Engine::with_tracker(Config::default(), tracker);
        let mut found = Found::default();
        self.feed(&mut engine, &mut found);
        engine.close(&mut found);
        let failovers = failovers(&found.findings, &[]);
        let mut effects = effects(&failovers, &found.observed);
        assert_eq!((failovers.len(), effects.len()), (1, 1), "{failovers:?}");
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

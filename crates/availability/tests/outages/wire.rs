//! A capture made message by message.

use std::any::Any;
use std::net::IpAddr;

use ringtap_availability::{AvailabilityTracker, Findings, Settings};
use ringtap_engine::{Config, Engine, Sink, StreamEnd};
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
        let ends = [src, dst].map(|end| end.parse::<Endpoint>().expect("an endpoint"));
        let [src, dst] = ends.map(|end: Endpoint| -> (IpAddr, u16) { (end.ip, end.port) });
        let data = udp_datagram(src, dst, text.as_bytes()).expect("short enough");
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

    /// Its frames in order of time.
    pub(crate) fn frames(&mut self) -> &[(Nanos, Vec<u8>)] {
        self.frames.sort_by_key(|(time, _)| *time);
        &self.frames
    }

    pub(crate) fn findings(mut self, settings: Settings) -> Findings {
        self.frames.sort_by_key(|(time, _)| *time);
        tracked(settings, |engine, sink| {
            for (number, (time, data)) in self.frames.iter().enumerate() {
                let number = number as u64 + 1;
                let frame = Frame { time: *time, number, link: RAW, wire_len: data.len() as u32, data };
                engine.batch(&[frame], sink);
            }
        })
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
    found.0
}

#[derive(Default)]
pub(crate) struct Found(Findings);

impl Sink for Found {
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

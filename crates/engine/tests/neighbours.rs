//! Frames by which hosts claim addresses, for a tracker that wants them.

use ringtap_engine::{Config, Context, Engine, Sink, StreamEnd, Tracker, Wants};
use ringtap_model::{Call, Frame, LinkType, Message, Nanos, Registration};

#[derive(Default)]
struct Claims(Vec<u64>);

impl Tracker for Claims {
    const WANTS: Wants = Wants { neighbours: true, ..Wants::NOTHING };

    fn neighbour<S: Sink>(&mut self, frame: &Frame<'_>, _: &mut Context<'_, S>) {
        self.0.push(frame.number);
    }
}

struct Nothing;

impl Sink for Nothing {
    fn call(&mut self, _: Call, _: Vec<StreamEnd>) {}
    fn stream(&mut self, _: StreamEnd) {}
    fn registration(&mut self, _: Registration) {}
    fn message(&mut self, _: Message) {}
}

fn ethernet(kind: u16, body: &[u8]) -> Vec<u8> {
    [&[2; 12][..], &kind.to_be_bytes(), body].concat()
}

/// ICMPv6 from one host to another.
fn icmpv6(kind: u8) -> Vec<u8> {
    let mut body = vec![0x60, 0, 0, 0, 0, 32, 58, 255];
    body.extend([[0xfe; 16], [0xff; 16]].concat());
    body.push(kind);
    body.extend([0; 31]);
    ethernet(0x86dd, &body)
}

#[test]
fn arp_and_advertisements_reach_it_and_nothing_else_does() {
    let ping =
        [&[0x45, 0, 0, 28, 0, 1, 0, 0, 64, 1, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2, 8][..], &[0; 7]].concat();
    let frames = [
        ethernet(0x0806, &[0; 28]),
        icmpv6(136),
        icmpv6(135),
        ethernet(0x0800, &ping),
        ethernet(0x88cc, &[0; 40]),
    ];
    let mut engine = Engine::with_tracker(Config::default(), Claims::default());
    for (number, data) in (1..).zip(&frames) {
        let (time, wire_len) = (Nanos::from_secs(number), data.len() as u32);
        engine.batch(&[Frame { time, number, link: LinkType(1), wire_len, data }], &mut Nothing);
    }
    assert_eq!(engine.tracker_mut().0, [1, 2]);
    assert_eq!(engine.counters().icmp, 3, "they are counted all the same");
}

//! What frames of the link tell a tracker that wants it: who claims an address, and who sent a SIP message.

use ringtap_engine::{Config, Context, Engine, Sink, SipMessage, StreamEnd, Tracker, Wants};
use ringtap_model::{Call, Frame, LinkType, Message, Nanos, Registration};
use ringtap_wire::frame::{link, udp_datagram};

#[derive(Default)]
struct Claims(Vec<u64>);

impl Tracker for Claims {
    const WANTS: Wants = Wants { neighbours: true, ..Wants::NOTHING };

    fn neighbour<S: Sink>(&mut self, frame: &Frame<'_>, _: &mut Context<'_, S>) {
        self.0.push(frame.number);
    }
}

/// Senders of messages; `WANTED`: whether it asks for them.
#[derive(Default)]
struct Senders<const WANTED: bool>(Vec<Option<[u8; 6]>>);

impl<const WANTED: bool> Tracker for Senders<WANTED> {
    const WANTS: Wants = Wants { sip: true, senders: WANTED, ..Wants::NOTHING };

    fn sip<S: Sink>(&mut self, sip: &SipMessage<'_>, _: &mut Context<'_, S>) {
        self.0.push(sip.hop.sender);
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

/// An IP packet with a SIP message.
fn packet() -> Vec<u8> {
    let text = "OPTIONS sip:b@example.org SIP/2.0\r\nVia: SIP/2.0/UDP 192.0.2.7;branch=z9hG4bK1\r\n\
                From: <sip:a@example.org>;tag=1\r\nTo: <sip:b@example.org>\r\nCall-ID: 1\r\n\
                CSeq: 1 OPTIONS\r\nContent-Length: 0\r\n\r\n";
    let [src, dst] = [7, 1].map(|host| ([192, 0, 2, host].into(), 5060));
    udp_datagram(src, dst, text.as_bytes()).expect("short enough")
}

/// It in a tunnel (RFC 2003).
fn tunnelled(packet: &[u8]) -> Vec<u8> {
    let length = (20 + packet.len() as u16).to_be_bytes();
    let head = [&[0x45, 0][..], &length, &[0, 1, 0, 0, 64, 4, 0, 0, 203, 0, 113, 1, 203, 0, 113, 2]].concat();
    [head, packet.to_vec()].concat()
}

/// What a tracker is told of frames, a second apart.
fn told<const WANTED: bool>(frames: &[(u16, Vec<u8>)]) -> Vec<Option<[u8; 6]>> {
    let mut engine = Engine::with_tracker(Config::default(), Senders::<WANTED>::default());
    for (number, (link, data)) in (1..).zip(frames) {
        let (time, link, wire_len) = (Nanos::from_secs(number), LinkType(*link), data.len() as u32);
        engine.batch(&[Frame { time, number, link, wire_len, data }], &mut Nothing);
    }
    std::mem::take(&mut engine.tracker_mut().0)
}

#[test]
fn the_sender_is_that_of_an_ethernet_frame_without_a_tunnel() {
    let packet = packet();
    let frames = [
        (link::ETHERNET, ethernet(0x0800, &packet)),
        (link::ETHERNET, ethernet(0x8100, &[&[0, 5, 8, 0][..], &packet].concat())),
        (link::ETHERNET, ethernet(0x0800, &tunnelled(&packet))),
        (link::RAW, packet),
    ];
    assert_eq!(told::<true>(&frames), [Some([2; 6]), Some([2; 6]), None, None]);
    assert_eq!(told::<false>(&frames), [None; 4]);
}

//! Which host on the link sent a SIP message, for a tracker that wants it.

use ringtap_engine::{Config, Context, Engine, Sink, SipMessage, StreamEnd, Tracker, Wants};
use ringtap_model::{Call, Frame, LinkType, Message, Nanos, Registration};
use ringtap_wire::frame::{link, udp_datagram};

const SENDER: [u8; 6] = [2, 0, 0, 0, 0, 7];

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

/// An IP packet with a SIP message.
fn packet() -> Vec<u8> {
    let text = "OPTIONS sip:b@example.org SIP/2.0\r\nVia: SIP/2.0/UDP 192.0.2.7;branch=z9hG4bK1\r\n\
                From: <sip:a@example.org>;tag=1\r\nTo: <sip:b@example.org>\r\nCall-ID: 1\r\n\
                CSeq: 1 OPTIONS\r\nContent-Length: 0\r\n\r\n";
    let [src, dst] = [7, 1].map(|host| ([192, 0, 2, host].into(), 5060));
    udp_datagram(src, dst, text.as_bytes()).expect("short enough")
}

/// It in a frame of Ethernet: what is between the addresses and the packet.
fn ethernet(between: &[u8], packet: &[u8]) -> Vec<u8> {
    [&[2; 6][..], &SENDER, between, packet].concat()
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
        (link::ETHERNET, ethernet(&[8, 0], &packet)),
        (link::ETHERNET, ethernet(&[0x81, 0, 0, 5, 8, 0], &packet)),
        (link::ETHERNET, ethernet(&[8, 0], &tunnelled(&packet))),
        (link::RAW, packet),
    ];
    assert_eq!(told::<true>(&frames), [Some(SENDER), Some(SENDER), None, None]);
    assert_eq!(told::<false>(&frames), [None; 4]);
}

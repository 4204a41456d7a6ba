//! What those see who look on while calls are under way: steps, snapshots, packets lost outside.

use ringtap_engine::{
    CallNumber, CallPhase, Config, Engine, RecordedPackets, RtcpSeen, RtpSeen, Sink, SipSeen, StreamEnd,
};
use ringtap_model::{Call, CallState, Frame, LinkType, Message, Nanos, Registration};

const CALLER: [u8; 4] = [192, 0, 2, 1];
const CALLEE: [u8; 4] = [198, 51, 100, 1];

#[derive(Default)]
struct Watcher {
    steps: Vec<(CallPhase, CallState)>,
    ended: Vec<(Call, Vec<StreamEnd>)>,
    /// The call of each message and step, of each RTP packet, of each RTCP datagram with the stream it speaks
    /// of.
    sip: Vec<Option<CallNumber>>,
    rtp: Vec<(u64, Option<CallNumber>)>,
    rtcp: Vec<(u64, u32, Option<CallNumber>)>,
    left: Vec<u64>,
}

impl Sink for Watcher {
    const PROGRESS: bool = true;
    const PACKETS: bool = true;

    fn call(&mut self, call: Call, streams: Vec<StreamEnd>) {
        self.ended.push((call, streams));
    }
    fn stream(&mut self, _: StreamEnd) {}
    fn registration(&mut self, _: Registration) {}
    fn message(&mut self, _: Message) {}
    fn progress(&mut self, phase: CallPhase, number: CallNumber, call: &Call) {
        self.steps.push((phase, call.state));
        self.sip.push(Some(number));
    }
    fn sip(&mut self, seen: &SipSeen<'_>) {
        self.sip.push(seen.call);
    }
    fn rtp(&mut self, seen: &RtpSeen<'_>) {
        self.rtp.push((seen.serial, seen.call));
    }
    fn rtcp(&mut self, seen: &RtcpSeen<'_>) {
        self.rtcp.push((seen.serial, seen.stream.2, seen.call));
    }
    fn stream_finished(&mut self, serial: u64) -> RecordedPackets {
        self.left.push(serial);
        let packets = self.rtp.iter().filter(|(other, _)| *other == serial).count() as u64;
        RecordedPackets { packets, lost: 0 }
    }
}

struct Feed {
    engine: Engine,
    watcher: Watcher,
    number: u64,
}

impl Feed {
    fn new() -> Self {
        Self { engine: Engine::new(Config::default()), watcher: Watcher::default(), number: 0 }
    }

    fn udp(&mut self, millis: u64, back: bool, ports: (u16, u16), payload: &[u8]) {
        let (src, dst) = if back { (CALLEE, CALLER) } else { (CALLER, CALLEE) };
        let mut packet = vec![0x45, 0];
        packet.extend((28 + payload.len() as u16).to_be_bytes());
        packet.extend([0, 0, 0, 0, 64, 17, 0, 0]);
        packet.extend(src);
        packet.extend(dst);
        packet.extend(ports.0.to_be_bytes());
        packet.extend(ports.1.to_be_bytes());
        packet.extend((8 + payload.len() as u16).to_be_bytes());
        packet.extend([0, 0]);
        packet.extend(payload);
        self.number += 1;
        let time = Nanos::from_secs(1_700_000_000) + Nanos::from_millis(millis);
        let (number, wire_len) = (self.number, packet.len() as u32);
        let frame = Frame { time, number, link: LinkType(101), wire_len, data: &packet };
        self.engine.batch(&[frame], &mut self.watcher);
    }

    fn sip(&mut self, millis: u64, call: u8, start: &str, cseq: &str) {
        let back = start.starts_with("SIP/2.0");
        let host = if back { "198.51.100.1" } else { "192.0.2.1" };
        let sdp = format!(
            "v=0\r\no=- 1 1 IN IP4 {host}\r\ns=-\r\nc=IN IP4 {host}\r\nt=0 0\r\nm=audio {} RTP/AVP 8\r\n",
            4000 + 2 * u16::from(call)
        );
        let with_sdp = start.starts_with("INVITE") || start.ends_with("200 OK");
        let body = if with_sdp && cseq.ends_with("INVITE") { sdp.as_str() } else { "" };
        let text = format!(
            "{start}\r\nVia: SIP/2.0/UDP 192.0.2.1;branch=z9hG4bK{cseq}\r\n\
             From: <sip:a@example.com>;tag=1\r\n\
             To: <sip:b@example.com>\r\nCall-ID: {call}@192.0.2.1\r\nCSeq: {cseq}\r\n\
             Content-Type: application/sdp\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        self.udp(millis, back, (5060, 5060), text.as_bytes());
    }

    fn invite(&mut self, millis: u64, call: u8, cseq: u32) {
        self.sip(millis, call, "INVITE sip:b@example.com SIP/2.0", &format!("{cseq} INVITE"));
    }

    fn rtp(&mut self, millis: u64, call: u8, back: bool, index: u16) {
        let mut rtp = vec![0x80, 8];
        rtp.extend(index.to_be_bytes());
        rtp.extend((u32::from(index) * 160).to_be_bytes());
        rtp.extend([0, 0, call, u8::from(back)]);
        rtp.extend([0xd5; 160]);
        let port = 4000 + 2 * u16::from(call);
        self.udp(millis, back, (port, port), &rtp);
    }

    /// The callee's receiver report on the caller's stream (RFC 3550 section 6.4.2).
    fn report(&mut self, millis: u64, call: u8, lost: u8) {
        let mut rtcp = vec![0x81, 201, 0, 7, 0, 0, call, 1];
        rtcp.extend([0, 0, call, 0]);
        rtcp.extend([0, 0, 0, lost]);
        rtcp.extend([0; 16]);
        let port = 4001 + 2 * u16::from(call);
        self.udp(millis, true, (port, port), &rtcp);
    }
}

impl Feed {
    /// Three packets of one direction are lost; `look` is called every two seconds.
    fn call_of_24_s(&mut self, look: impl Fn(&Engine)) {
        self.invite(0, 1, 1);
        self.sip(100, 1, "SIP/2.0 200 OK", "1 INVITE");
        for index in 0..1200u16 {
            let millis = 200 + 20 * u64::from(index);
            self.rtp(millis, 1, false, index);
            self.rtp(millis, 1, true, if index < 100 { index } else { index + 3 });
            if index % 100 == 0 {
                look(&self.engine);
            }
        }
    }
}

#[test]
fn every_step_is_told_once() {
    let mut feed = Feed::new();
    feed.invite(0, 1, 1);
    feed.sip(5, 1, "SIP/2.0 100 Trying", "1 INVITE");
    feed.sip(100, 1, "SIP/2.0 180 Ringing", "1 INVITE");
    feed.sip(600, 1, "SIP/2.0 180 Ringing", "1 INVITE");
    feed.sip(900, 1, "SIP/2.0 200 OK", "1 INVITE");
    feed.sip(950, 1, "ACK sip:b@example.com SIP/2.0", "1 ACK");
    feed.sip(2000, 1, "BYE sip:b@example.com SIP/2.0", "2 BYE");
    feed.sip(2010, 1, "SIP/2.0 200 OK", "2 BYE");
    let steps = [
        (CallPhase::Started, CallState::Trying),
        (CallPhase::Ringing, CallState::Ringing),
        (CallPhase::Answered, CallState::Active),
        (CallPhase::Released, CallState::Completed),
    ];
    assert_eq!(feed.watcher.steps, steps);
}

#[test]
fn packets_name_their_call_and_streams_leave_with_what_was_kept() {
    let mut feed = Feed::new();
    // Before anything announces it.
    feed.rtp(0, 1, false, 0);
    feed.invite(10, 1, 1);
    feed.sip(20, 1, "SIP/2.0 200 OK", "1 INVITE");
    for index in 1..9 {
        feed.rtp(20 + 20 * u64::from(index), 1, false, index);
    }
    // A sender report beside it, then a receiver's on the RTP ports themselves, then one of nobody.
    let report = |kind: u8, ssrc: [u8; 4], reported: [u8; 4]| {
        let mut rtcp = vec![0x80 | u8::from(kind == 201), kind, 0, if kind == 200 { 6 } else { 7 }];
        rtcp.extend(ssrc);
        rtcp.extend(if kind == 200 { vec![0; 20] } else { [&reported[..], &[0; 20]].concat() });
        rtcp
    };
    feed.udp(300, false, (4003, 4003), &report(200, [0, 0, 1, 0], [0; 4]));
    feed.udp(310, true, (4002, 4002), &report(201, [9; 4], [0, 0, 1, 0]));
    feed.udp(320, true, (4802, 4802), &report(201, [9; 4], [0, 0, 1, 0]));
    feed.sip(400, 1, "OPTIONS sip:b@example.com SIP/2.0", "7 OPTIONS");
    feed.engine.close(&mut feed.watcher);

    let Watcher { sip, rtp, rtcp, left, ended, .. } = feed.watcher;
    let call = sip[0].expect("the first step is of the call");
    assert_eq!((call.worker(), call.slot()), (0, 0));
    assert!(sip.iter().all(|named| *named == Some(call)), "{sip:?}");
    let serial = rtp[0].0;
    assert_eq!(rtp[0].1, None, "nothing claimed it yet");
    assert_eq!(rtp[1..], vec![(serial, Some(call)); 8]);
    assert_eq!(rtcp, [(serial, 0x100, Some(call)); 2]);
    assert_eq!(left, [serial]);
    assert_eq!(ended[0].1[0].recorded, RecordedPackets { packets: 9, lost: 0 });
}

#[test]
fn a_challenge_is_no_release() {
    let mut feed = Feed::new();
    feed.invite(0, 1, 1);
    feed.sip(20, 1, "SIP/2.0 407 Proxy Authentication Required", "1 INVITE");
    feed.invite(40, 1, 2);
    feed.sip(60, 1, "SIP/2.0 486 Busy Here", "2 INVITE");
    assert_eq!(
        feed.watcher.steps,
        [(CallPhase::Started, CallState::Trying), (CallPhase::Released, CallState::Failed)]
    );
}

#[test]
fn a_snapshot_is_what_the_end_would_tell() {
    let (call, ended) = {
        let mut feed = Feed::new();
        feed.call_of_24_s(|_| {});
        feed.report(24_300, 1, 7);
        feed.engine.close(&mut feed.watcher);
        feed.watcher.ended.pop().expect("one call")
    };
    // The same again, looked at before the end; looking changes nothing.
    let mut feed = Feed::new();
    feed.call_of_24_s(|engine| assert!(engine.snapshot(&call.id).is_some()));
    feed.report(24_300, 1, 7);
    let (seen, streams) = feed.engine.snapshot(&call.id).expect("it is under way");
    assert_eq!(seen, call);
    assert_eq!(streams, ended.iter().map(|stream| stream.record.clone()).collect::<Vec<_>>());
    assert_eq!(streams[1].lost, 3);
    assert_eq!(streams[0].intervals.len(), 3);
    assert_eq!((streams[0].rtcp_reports, streams[0].rtcp_lost), (Some(1), Some(7)));
    feed.engine.close(&mut feed.watcher);
    assert_eq!(feed.watcher.ended[0].0, call);
    assert!(feed.engine.snapshot(&call.id).is_none());
}

#[test]
fn the_latest_calls_are_listed() {
    let mut feed = Feed::new();
    (0..9).for_each(|call| feed.invite(u64::from(call) * 10, call, 1));
    for (most, expected) in [(0, &[][..]), (1, &[8]), (3, &[6, 7, 8]), (9, &[0, 1, 2, 3, 4, 5, 6, 7, 8])] {
        let (calls, total) = feed.engine.calls_in_progress(most);
        let mut ids: Vec<String> = calls.into_iter().map(|(call, _)| call.call_id).collect();
        ids.sort_unstable();
        let expected: Vec<String> = expected.iter().map(|call: &i32| format!("{call}@192.0.2.1")).collect();
        assert_eq!((ids, total), (expected, 9), "{most}");
    }
}

#[test]
fn loss_outside_is_stamped_on_the_calls_under_way() {
    let mut feed = Feed::new();
    feed.engine.report_external_drops(100);
    feed.invite(0, 1, 1);
    feed.engine.report_external_drops(107);
    feed.invite(10, 2, 1);
    feed.engine.report_external_drops(112);
    // A total never goes back.
    feed.engine.report_external_drops(50);
    feed.engine.close(&mut feed.watcher);
    let drops: Vec<u64> = feed.watcher.ended.iter().map(|(call, _)| call.capture_drops).collect();
    assert_eq!(drops, [12, 5]);
}

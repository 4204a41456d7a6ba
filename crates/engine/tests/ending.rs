//! What the engine allocates from the end of a call until its record is with the sink: nothing, where the
//! sink gives records back.
//!
//! One test: the counts are those of the process. Left out are a transfer's record in signalling, quality
//! reports in signalling (RFC 6035) and the lists of calls of more than a half hour: they are few, and their
//! memory does not stay.

mod counting;

use std::sync::atomic::Ordering::Relaxed;

use ringtap_engine::{Config, Engine, Sink, StreamEnd};
use ringtap_model::{Call, CallState, Frame, LinkType, Message, Nanos, Note, NoteCode, Registration};

use counting::{CALLS, Counting};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Gives records back, and remembers what they had.
struct Reads {
    read: Vec<(Call, Vec<StreamEnd>)>,
    states: [usize; CallState::ALL.len()],
    notes: [usize; NoteCode::ALL.len()],
    digits: usize,
    reports: usize,
    intervals: usize,
    evidence: usize,
}

impl Default for Reads {
    fn default() -> Self {
        let (states, notes) = ([0; CallState::ALL.len()], [0; NoteCode::ALL.len()]);
        let read = Vec::with_capacity(2 * KINDS.len());
        Self { read, states, notes, digits: 0, reports: 0, intervals: 0, evidence: 0 }
    }
}

impl Sink for Reads {
    fn call(&mut self, call: Call, streams: Vec<StreamEnd>) {
        self.states[call.state as usize] += 1;
        call.notes.iter().for_each(|Note { code, .. }| self.notes[*code as usize] += 1);
        self.digits += call.dtmf.len();
        for StreamEnd { record, .. } in &streams {
            self.reports += record.reports.len();
            self.intervals += record.intervals.len();
            self.evidence += usize::from(record.lost_at_evidence.is_some());
        }
        self.read.push((call, streams));
    }
    fn give_back(&mut self) -> Option<(Call, Vec<StreamEnd>)> {
        self.read.pop()
    }
    fn stream(&mut self, _: StreamEnd) {}
    fn registration(&mut self, _: Registration) {}
    fn message(&mut self, _: Message) {}
}

/// What becomes of a call.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    /// Answered, with media, RTCP and pressed keys of both sides.
    Answered,
    /// The same with loss in one direction, which its receiver reports.
    Lossy,
    /// Media in one direction only.
    OneWay,
    /// Its caller puts the other side on hold with a re-INVITE, and takes it back.
    Held,
    Failed,
    Cancelled,
    Redirected,
    /// Answered and without media.
    Silent,
}

const KINDS: [Kind; 8] = [
    Kind::Answered,
    Kind::Lossy,
    Kind::OneWay,
    Kind::Held,
    Kind::Failed,
    Kind::Cancelled,
    Kind::Redirected,
    Kind::Silent,
];

/// A call of a round: its packets with their times in ms from the beginning of the round.
struct Script {
    number: usize,
    round: u64,
    packets: Vec<(u64, Vec<u8>)>,
}

const CALLER: [u8; 4] = [192, 0, 2, 1];
const CALLEE: [u8; 4] = [198, 51, 100, 1];

fn udp(is_back: bool, port: u16, payload: &[u8]) -> Vec<u8> {
    let (src, dst) = if is_back { (CALLEE, CALLER) } else { (CALLER, CALLEE) };
    let total = (28 + payload.len()) as u16;
    let mut packet = vec![0x45, 0];
    packet.extend(total.to_be_bytes());
    packet.extend([0, 0, 0, 0, 64, 17, 0, 0]);
    packet.extend([src, dst].concat());
    packet.extend([port, port, total - 20, 0].map(u16::to_be_bytes).concat());
    packet.extend(payload);
    packet
}

impl Script {
    fn port(&self) -> u16 {
        10_000 + 4 * self.number as u16
    }

    fn sip(&mut self, ms: u64, is_back: bool, start: &str, cseq: &str, sdp: Option<&str>) {
        let host = if is_back { "198.51.100.1" } else { "192.0.2.1" };
        let body = sdp.map_or_else(String::new, |direction| {
            format!(
                "v=0\r\no=- {} 1 IN IP4 {host}\r\ns=call\r\nc=IN IP4 {host}\r\nt=0 0\r\n\
                 m=audio {} RTP/AVP 8 101\r\na=rtpmap:8 PCMA/8000\r\n\
                 a=rtpmap:101 telephone-event/8000\r\na={direction}\r\n",
                7 + u8::from(is_back),
                self.port()
            )
        });
        let Self { number, round, .. } = self;
        // The requests are the caller's.
        let text = format!(
            "{start}\r\nVia: SIP/2.0/UDP 192.0.2.1:5060;branch=z9hG4bK-{number}-{cseq}\r\n\
             From: \"Alice\" <sip:+441632960{number:03}@example.com>;tag=a{number}\r\n\
             To: <sip:+441632961{number:03}@example.com>;tag=b{number}\r\n\
             Call-ID: {number}-{round}-7f3c9a@192.0.2.1\r\nCSeq: {cseq}\r\n\
             Contact: <sip:alice@{host}:5060>\r\nUser-Agent: Example Phone 1.0 at {host}\r\n\
             Content-Type: application/sdp\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        self.packets.push((ms, udp(is_back, 5060, text.as_bytes())));
    }

    fn invite(&mut self, ms: u64, number: u8, sdp: &str) {
        self.sip(ms, false, "INVITE sip:bob@198.51.100.1 SIP/2.0", &format!("{number} INVITE"), Some(sdp));
    }

    fn answer(&mut self, ms: u64, status: &str, cseq: &str, sdp: Option<&str>) {
        self.sip(ms, true, &format!("SIP/2.0 {status}"), cseq, sdp);
    }

    fn ssrc(&self, is_back: bool) -> u32 {
        2 * self.number as u32 + u32::from(is_back) + 1
    }

    fn rtp(&mut self, ms: u64, is_back: bool, (number, timestamp): (u16, u32), payload: (u8, &[u8])) {
        let head = [&[0x80, payload.0][..], &number.to_be_bytes(), &timestamp.to_be_bytes()].concat();
        let packet = [&head, &self.ssrc(is_back).to_be_bytes()[..], payload.1].concat();
        self.packets.push((ms, udp(is_back, self.port(), &packet)));
    }

    /// 12 s of G.711, of which every tenth packet is lost where `is_lossy`, and a pressed key after that.
    fn media(&mut self, is_back: bool, is_lossy: bool) {
        for number in (0..600_u16).filter(|number| !is_lossy || number % 10 != 5) {
            let time = 1000 + 20 * u64::from(number);
            self.rtp(time, is_back, (number, 160 * u32::from(number)), (8, &[0xd5; 160]));
        }
        for number in 600..605_u16 {
            let event = [3 + u8::from(is_back), 10, 0, 160];
            self.rtp(13_000 + 20 * u64::from(number - 600), is_back, (number, 96_000), (101, &event));
        }
    }

    /// Every half second a sender report with a block about what came from the other side, and a name (RFC
    /// 3550).
    fn rtcp(&mut self, is_back: bool, lost: u32) {
        for count in 1..=24_u32 {
            let (own, other) = (self.ssrc(is_back).to_be_bytes(), self.ssrc(!is_back).to_be_bytes());
            let highest = (25 * count - 1).to_be_bytes();
            let report = [
                &[0x81, 200, 0, 12][..],
                &own,
                &[0xe0, 0, 0, 0, 0, 0, 0, 0],
                &(4000 * count).to_be_bytes(),
                &(25 * count).to_be_bytes(),
                &(4000 * count).to_be_bytes(),
                &other,
                &((u32::from(lost > 0) << 28) | (lost * count)).to_be_bytes(),
                &highest,
                &[0, 0, 0, 16, 0, 0, 0, 0, 0, 0, 0, 0],
                &[0x81, 202, 0, 3],
                &own,
                b"\x01\x05a@b.c\0",
            ];
            let port = self.port() + 1;
            self.packets.push((1000 + 500 * u64::from(count), udp(is_back, port, &report.concat())));
        }
    }

    fn of(number: usize, round: u64, kind: Kind) -> Self {
        let mut call = Self { number, round, packets: Vec::new() };
        call.invite(0, 1, "sendrecv");
        call.answer(100, "180 Ringing", "1 INVITE", None);
        let refused = match kind {
            Kind::Failed => Some("486 Busy Here"),
            Kind::Redirected => Some("302 Moved Temporarily"),
            Kind::Cancelled => Some("487 Request Terminated"),
            _ => None,
        };
        if kind == Kind::Cancelled {
            call.sip(4000, false, "CANCEL sip:bob@198.51.100.1 SIP/2.0", "1 CANCEL", None);
        }
        if let Some(status) = refused {
            call.answer(5000, status, "1 INVITE", None);
            call.sip(5010, false, "ACK sip:bob@198.51.100.1 SIP/2.0", "1 ACK", None);
            return call;
        }
        call.answer(900, "200 OK", "1 INVITE", Some("sendrecv"));
        call.sip(910, false, "ACK sip:bob@198.51.100.1 SIP/2.0", "1 ACK", None);
        if kind != Kind::Silent {
            call.media(false, kind == Kind::Lossy);
            call.rtcp(true, if kind == Kind::Lossy { 2 } else { 0 });
        }
        if !matches!(kind, Kind::Silent | Kind::OneWay) {
            call.media(true, false);
            call.rtcp(false, 0);
        }
        if kind == Kind::Held {
            for (ms, number, sdp) in [(6000, 2, "sendonly"), (8000, 3, "sendrecv")] {
                call.invite(ms, number, sdp);
                call.answer(ms + 50, "200 OK", &format!("{number} INVITE"), Some("sendrecv"));
                let ack = "ACK sip:bob@198.51.100.1 SIP/2.0";
                call.sip(ms + 60, false, ack, &format!("{number} ACK"), None);
            }
        }
        call.sip(14_000, false, "BYE sip:bob@198.51.100.1 SIP/2.0", "9 BYE", None);
        call.answer(14_020, "200 OK", "9 BYE", None);
        call
    }
}

/// Rounds until memory has settled, and rounds that are counted.
const SETTLING: u64 = 6;
const COUNTED: u64 = 6;

#[test]
fn the_end_of_a_call_allocates_nothing() {
    let config = Config { max_calls: 64, max_streams: 128, ..Config::default() };
    let (mut engine, mut reads, mut frames) = (Engine::new(config), Reads::default(), 0);
    let mut life = 0;
    for round in 0..SETTLING + COUNTED {
        let begin = Nanos::from_secs(1_700_000_000 + 120 * round);
        // Two of each kind, at once.
        let kinds = KINDS.iter().chain(&KINDS).enumerate();
        let calls = kinds.map(|(number, kind)| Script::of(number, round, *kind));
        let mut packets: Vec<(u64, Vec<u8>)> = calls.flat_map(|call| call.packets).collect();
        packets.sort_by_key(|(ms, _)| *ms);
        let before = CALLS.load(Relaxed);
        for (ms, data) in &packets {
            frames += 1;
            let (time, wire_len) = (begin + Nanos::from_millis(*ms), data.len() as u32);
            let frame = Frame { time, number: frames, link: LinkType(101), wire_len, data };
            engine.batch(&[frame], &mut reads);
        }
        let ending = CALLS.load(Relaxed);
        engine.tick(begin + Nanos::from_secs(100), &mut reads);
        let after = CALLS.load(Relaxed);
        life = ending - before;
        assert_eq!(engine.under_way(), (0, 0));
        if round >= SETTLING {
            assert_eq!(after - ending, 0, "allocations while calls of round {round} end");
        }
    }
    println!("{life} allocations until {} calls end", 2 * KINDS.len());
    let rounds = (SETTLING + COUNTED) as usize;
    for (state, each) in [
        (CallState::Completed, 10),
        (CallState::Failed, 2),
        (CallState::Cancelled, 2),
        (CallState::Redirected, 2),
    ] {
        assert_eq!(reads.states[state as usize], each * rounds, "{state:?}");
    }
    for code in [NoteCode::Loss, NoteCode::LowMos, NoteCode::Hold] {
        assert_eq!(reads.notes[code as usize], 2 * rounds, "{code:?}");
    }
    assert!(reads.notes.iter().filter(|count| **count > 0).count() >= 5, "{:?}", reads.notes);
    assert_eq!(reads.digits, 14 * rounds);
    assert!(reads.reports >= 14 * 20 * rounds && reads.intervals >= 14 * 2 * rounds);
    assert!(reads.evidence >= 2 * rounds);
}

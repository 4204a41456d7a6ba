//! A capture of two failovers: OPTIONS, and calls through the first.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends")]

use std::fs;
use std::path::{Path, PathBuf};

pub(crate) const CLIENT: [u8; 4] = [198, 51, 100, 7];
pub(crate) const PROXY: [u8; 4] = [192, 0, 2, 1];
const PBX: [u8; 4] = [192, 0, 2, 20];
const OWNERS: [[u8; 6]; 2] = [[2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2]];
/// 2026-11-21 02:00 UTC.
pub(crate) const START: u64 = 1_795_226_400;

/// Frames of Ethernet with their milliseconds.
#[derive(Default)]
pub(crate) struct Capture {
    frames: Vec<(u64, Vec<u8>)>,
    /// From when on another host sends what comes from the proxy's address.
    moved: Option<u64>,
}

impl Capture {
    /// One in which another host sends what comes from the proxy's address from then on.
    pub(crate) fn with_next_owner(moved: u64) -> Self {
        Self { moved: Some(moved), ..Self::default() }
    }

    fn datagram(&mut self, millis: u64, ends: [([u8; 4], u16); 2], payload: &[u8]) {
        let [(src, src_port), (dst, dst_port)] = ends;
        let length = |headers: usize| ((headers + payload.len()) as u16).to_be_bytes();
        let ip = [&[0x45, 0][..], &length(28), &[0, 1, 0, 0, 64, 17, 0, 0], &src, &dst].concat();
        let udp = [&src_port.to_be_bytes()[..], &dst_port.to_be_bytes(), &length(8), &[0, 0]].concat();
        let is_next = src == PROXY && self.moved.is_some_and(|moved| millis >= moved);
        let sender = if is_next { OWNERS[1] } else { [2; 6] };
        self.frames.push((millis, [&[2; 6][..], &sender, &[8, 0], &ip, &udp, payload].concat()));
    }

    fn message(&mut self, millis: u64, [src, dst]: [[u8; 4]; 2], first_line: &str, id: &str) {
        let text = format!(
            "{first_line}\r\nVia: SIP/2.0/UDP 198.51.100.7;branch=z9hG4bK{id}\r\n\
             From: <sip:a@example.org>;tag=1\r\nTo: <sip:b@example.org>\r\nCall-ID: {id}\r\n\
             CSeq: 1 OPTIONS\r\nContent-Length: 0\r\n\r\n"
        );
        self.datagram(millis, [(src, 5060), (dst, 5060)], text.as_bytes());
    }

    /// OPTIONS each 500 ms; there is no answer from `down` to `up`, but each is repeated.
    pub(crate) fn pings(&mut self, service: [u8; 4], (down, up): (u64, u64)) {
        for number in 0..180 {
            let (millis, id) = (500 * number, format!("{}-{number}", service[3]));
            self.message(millis, [CLIENT, service], "OPTIONS sip:b@example.org SIP/2.0", &id);
            if (down..up).contains(&millis) {
                self.message(millis + 500, [CLIENT, service], "OPTIONS sip:b@example.org SIP/2.0", &id);
            } else {
                self.message(millis + 3, [service, CLIENT], "SIP/2.0 200 OK", &id);
            }
        }
    }

    fn announced(&mut self, millis: u64, mac: [u8; 6]) {
        let body = [&[0, 1, 8, 0, 6, 4, 0, 1][..], &mac, &PROXY, &[0; 6], &PROXY].concat();
        self.frames.push((millis, [&[0xff; 6][..], &mac, &[8, 6], &body].concat()));
    }

    pub(crate) fn write(mut self, path: &Path) {
        self.frames.sort_by_key(|(millis, _)| *millis);
        let mut bytes = [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, 65_535, 1].map(u32::to_le_bytes).concat();
        for (millis, frame) in self.frames {
            let length = frame.len() as u32;
            let time = [(START + millis / 1_000) as u32, (millis % 1_000 * 1_000) as u32];
            bytes.extend([time[0], time[1], length, length].map(u32::to_le_bytes).concat());
            bytes.extend(frame);
        }
        fs::write(path, bytes).unwrap();
    }
}

/// A call of the telephone with that number to somebody behind the proxy.
struct Call(u8);

impl Call {
    fn phone(&self) -> [u8; 4] {
        [198, 51, 100, 100 + self.0]
    }

    /// Where its sound is, on both sides.
    fn port(&self) -> u16 {
        20_000 + 2 * u16::from(self.0)
    }

    /// A message to the proxy, or from it: its first line, CSeq, To tag, and further lines with the body.
    fn say(&self, capture: &mut Capture, millis: u64, is_sent: bool, [line, cseq, tag, more]: [&str; 4]) {
        let Self(number) = self;
        let ends = [(self.phone(), 5060), (PROXY, 5060)];
        let text = format!(
            "{line}\r\nVia: SIP/2.0/UDP 198.51.100.9;branch=z9hG4bK{number}{cseq}\r\n\
             From: <sip:u{number}@example.org>;tag=f\r\nTo: <sip:c{number}@example.org>{tag}\r\n\
             Call-ID: call-{number}\r\nCSeq: {cseq}\r\n{more}"
        );
        let text = if more.is_empty() { text + "Content-Length: 0\r\n\r\n" } else { text };
        capture.datagram(millis, if is_sent { ends } else { [ends[1], ends[0]] }, text.as_bytes());
    }

    fn invite(&self, capture: &mut Capture, times: &[u64]) {
        let [a, b, c, d] = self.phone();
        let offer = described(
            &format!("Contact: <sip:u@{a}.{b}.{c}.{d}>\r\n"),
            &format!("{a}.{b}.{c}.{d}"),
            self.port(),
        );
        let line = format!("INVITE sip:c{}@example.org SIP/2.0", self.0);
        times.iter().for_each(|time| self.say(capture, *time, true, [&line, "1 INVITE", "", &offer]));
    }

    fn answer(&self, capture: &mut Capture, millis: u64, code: u16, cseq: &str) {
        let route = "Record-Route: <sip:192.0.2.1;lr>\r\nContact: <sip:203.0.113.9>\r\n";
        let more = match code {
            200 if cseq.ends_with("INVITE") => described(route, "192.0.2.1", self.port()),
            _ => format!("{route}Content-Length: 0\r\n\r\n"),
        };
        self.say(capture, millis, false, [&format!("SIP/2.0 {code} Answer"), cseq, ";tag=t", &more]);
    }

    fn established(&self, capture: &mut Capture, millis: u64) {
        self.invite(capture, &[millis]);
        self.answer(capture, millis + 20, 180, "1 INVITE");
        self.answer(capture, millis + 50, 200, "1 INVITE");
        self.say(capture, millis + 60, true, ["ACK sip:c@203.0.113.9 SIP/2.0", "1 ACK", ";tag=t", ""]);
    }

    fn hang_up(&self, capture: &mut Capture, millis: u64) {
        self.say(capture, millis, true, ["BYE sip:c@203.0.113.9 SIP/2.0", "2 BYE", ";tag=t", ""]);
        self.answer(capture, millis + 5, 200, "2 BYE");
    }

    /// Sound in both directions, but for what is lost.
    fn sound(&self, capture: &mut Capture, (from, to): (u64, u64), lost: (u64, u64)) {
        let ends = [(self.phone(), self.port()), (PROXY, self.port())];
        for number in 0..(to - from) / 20 {
            let millis = from + 20 * number;
            if (lost.0..lost.1).contains(&millis) {
                continue;
            }
            for (ends, ssrc) in [(ends, 1), ([ends[1], ends[0]], 2)] {
                let head =
                    [&[0x80, 8][..], &(number as u16).to_be_bytes(), &(number as u32 * 160).to_be_bytes()];
                let packet = [&head.concat()[..], &[0, 0, self.0, ssrc], &[0xd5; 160]].concat();
                capture.datagram(millis, ends, &packet);
            }
        }
    }
}

fn described(headers: &str, host: &str, port: u16) -> String {
    let body = format!(
        "v=0\r\no=- 1 1 IN IP4 {host}\r\ns=-\r\nc=IN IP4 {host}\r\nt=0 0\r\nm=audio {port} RTP/AVP 8\r\n"
    );
    format!("{headers}Content-Type: application/sdp\r\nContent-Length: {}\r\n\r\n{body}", body.len())
}

/// Calls of the capture, in order of their first INVITE, and what the lost proxy did to them.
pub(crate) fn calls() -> [(&'static str, Option<&'static str>); 7] {
    [
        ("call-5", None),
        ("call-6", Some("cut")),
        ("call-7", Some("cut")),
        ("call-1", Some("delayed")),
        ("call-4", Some("given_up")),
        ("call-2", Some("failed")),
        ("call-3", Some("failed")),
    ]
}

fn add_calls(capture: &mut Capture) {
    let [delayed, refused, ignored, given_up] = [1, 2, 3, 4].map(Call);
    delayed.invite(capture, &[10_200, 10_700, 11_700, 13_700]);
    delayed.answer(capture, 13_720, 180, "1 INVITE");
    delayed.answer(capture, 15_000, 200, "1 INVITE");
    delayed.hang_up(capture, 30_000);
    refused.invite(capture, &[10_400, 10_900, 11_900, 13_900]);
    refused.answer(capture, 13_910, 503, "1 INVITE");
    ignored.invite(capture, &[11_000, 11_500, 12_500, 14_500, 18_500, 22_500, 26_500]);
    given_up.invite(capture, &[10_300, 10_800]);
    given_up.say(capture, 12_000, true, ["CANCEL sip:c4@example.org SIP/2.0", "1 CANCEL", "", ""]);
    given_up.answer(capture, 13_600, 487, "1 INVITE");
    // Of one, sound is lost; one is ended by the proxy, and one by nobody.
    let [heard, ended, silent] = [5, 6, 7].map(Call);
    heard.established(capture, 5_000);
    heard.sound(capture, (6_000, 40_000), (10_500, 12_900));
    heard.hang_up(capture, 40_010);
    ended.established(capture, 5_200);
    ended.say(capture, 13_600, false, ["BYE sip:u6@198.51.100.106 SIP/2.0", "2 BYE", ";tag=t", ""]);
    ended.say(capture, 13_610, true, ["SIP/2.0 200 OK", "2 BYE", ";tag=t", ""]);
    silent.established(capture, 5_400);
    silent.sound(capture, (6_000, 11_000), (0, 0));
    let register = Call(8);
    let line = "REGISTER sip:example.org SIP/2.0";
    register.say(capture, 10_500, true, [line, "1 REGISTER", "", ""]);
    register.say(capture, 13_650, false, ["SIP/2.0 200 OK", "1 REGISTER", ";tag=t", ""]);
}

/// A proxy whose address another host takes over after three and a half seconds, and a PBX that is lost for
/// four.
pub(crate) fn capture(dir: &Path) -> PathBuf {
    let mut capture = Capture::default();
    capture.pings(PROXY, (10_000, 13_500));
    capture.pings(PBX, (40_000, 44_000));
    capture.announced(100, OWNERS[0]);
    [12_900, 13_000, 13_400].into_iter().for_each(|millis| capture.announced(millis, OWNERS[1]));
    add_calls(&mut capture);
    let path = dir.join("failover.pcap");
    capture.write(&path);
    path
}

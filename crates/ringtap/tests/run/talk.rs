//! Calls written by hand: each packet says in which part of which call it was spoken, so that what is on a
//! disk can be told.

use std::fs::File;
use std::net::Ipv4Addr;
use std::path::Path;
use std::time::{Duration, Instant};

use ringtap_capture::Writer;
use ringtap_capture::live::{Injector, Source};
use ringtap_model::{Frame, LinkType, Nanos};

/// Who sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Caller,
    Callee,
}

/// A frame of a call: milliseconds after the beginning, the wire that it passes, its bytes.
pub(crate) type Timed = (u64, usize, Vec<u8>);

/// A call under way: INVITE, what is said, digits, BYE, in any order of writing.
pub(crate) struct Talk {
    pub(crate) call_id: String,
    pub(crate) name: String,
    number: u8,
    from: String,
    to: String,
    headers: String,
    messages: Vec<Timed>,
    media: [Vec<Packet>; 2],
    cseq: u32,
    lossy: bool,
}

struct Packet {
    at: u64,
    payload_type: u8,
    timestamp: u32,
    payload: Vec<u8>,
}

impl Talk {
    /// `number` makes its addresses; signalling and what the caller says pass wire 0, what the callee says
    /// wire 1.
    pub(crate) fn new(number: u8, name: &str, from: &str) -> Self {
        Self {
            call_id: format!("{name}-{number}@ringtap.example"),
            name: name.to_owned(),
            number,
            from: from.to_owned(),
            to: format!("+4930{number}"),
            headers: String::new(),
            messages: Vec::new(),
            media: [Vec::new(), Vec::new()],
            cseq: 1,
            lossy: false,
        }
    }

    pub(crate) fn to(mut self, number: &str) -> Self {
        number.clone_into(&mut self.to);
        self
    }

    /// Further lines of its INVITE.
    pub(crate) fn header(mut self, line: &str) -> Self {
        self.headers = format!("{line}\r\n");
        self
    }

    /// Two packets of five never arrive.
    pub(crate) fn lossy(mut self) -> Self {
        self.lossy = true;
        self
    }

    fn host(&self, side: Side) -> Ipv4Addr {
        let network = if side == Side::Caller { 1 } else { 2 };
        Ipv4Addr::new(10, 77, self.number, network)
    }

    fn message(&mut self, at: u64, from: Side, start: &str, cseq: &str, more: &str, body: &str) {
        let tag = if start.starts_with("INVITE") { "" } else { ";tag=b" };
        let text = format!(
            "{start}\r\nVia: SIP/2.0/UDP {};branch=z9hG4bK{}-{}\r\nMax-Forwards: 70\r\n\
             From: <sip:{}@a.example>;tag=a\r\nTo: <sip:{}@b.example>{tag}\r\nCall-ID: {}\r\nCSeq: {cseq}\r\n\
             {more}Content-Length: {}\r\n\r\n{body}",
            self.host(Side::Caller),
            self.number,
            cseq.replace(' ', "-"),
            self.from,
            self.to,
            self.call_id,
            body.len()
        );
        let [src, dst] = self.ends(from);
        self.messages.push((at, 0, frame((src, 5060), (dst, 5060), text.as_bytes())));
    }

    fn ends(&self, from: Side) -> [Ipv4Addr; 2] {
        let (a, b) = (self.host(Side::Caller), self.host(Side::Callee));
        if from == Side::Caller { [a, b] } else { [b, a] }
    }

    fn sdp(&self, side: Side) -> String {
        let host = self.host(side);
        format!(
            "v=0\r\no=- 1 1 IN IP4 {host}\r\ns=-\r\nc=IN IP4 {host}\r\nt=0 0\r\nm=audio {} RTP/AVP 0 101\r\n\
             a=rtpmap:0 PCMU/8000\r\na=rtpmap:101 telephone-event/8000\r\n",
            port(side)
        )
    }

    /// A request within the call, of the caller.
    pub(crate) fn request(&mut self, at: u64, method: &str, more: &str, body: &str) {
        self.cseq += 1;
        let (cseq, start) =
            (format!("{} {method}", self.cseq), format!("{method} sip:{}@b.example SIP/2.0", self.to));
        self.message(at, Side::Caller, &start, &cseq, more, body);
        self.message(at + 10, Side::Callee, "SIP/2.0 200 OK", &cseq, "", "");
    }

    pub(crate) fn invites(&mut self, at: u64) {
        let (start, sdp) = (format!("INVITE sip:{}@b.example SIP/2.0", self.to), self.sdp(Side::Caller));
        let more = format!("{}Content-Type: application/sdp\r\n", self.headers);
        self.message(at, Side::Caller, &start, "1 INVITE", &more, &sdp);
        self.message(at + 5, Side::Callee, "SIP/2.0 100 Trying", "1 INVITE", "", "");
    }

    /// An answer to the INVITE, such as `200 OK`; with a description where it opens the media.
    pub(crate) fn answers(&mut self, at: u64, status: &str) {
        let (more, sdp) = match &status[..1] {
            "1" | "2" => ("Content-Type: application/sdp\r\n", self.sdp(Side::Callee)),
            _ => ("", String::new()),
        };
        self.message(at, Side::Callee, &format!("SIP/2.0 {status}"), "1 INVITE", more, &sdp);
    }

    pub(crate) fn acknowledges(&mut self, at: u64) {
        let start = format!("ACK sip:{}@b.example SIP/2.0", self.to);
        self.message(at, Side::Caller, &start, "1 ACK", "", "");
    }

    /// From INVITE to ACK, within 150 ms.
    pub(crate) fn begins(&mut self, at: u64) {
        self.invites(at);
        self.answers(at + 50, "180 Ringing");
        self.answers(at + 100, "200 OK");
        self.acknowledges(at + 150);
    }

    pub(crate) fn ends_at(&mut self, at: u64) {
        self.request(at, "BYE", "", "");
    }

    /// What each packet of a part says, over and over.
    pub(crate) fn word(&self, word: &str) -> String {
        format!("<{word}:{}>", self.name)
    }

    /// A packet each 20 ms in that time.
    pub(crate) fn says(&mut self, side: Side, from: u64, to: u64, word: &str) {
        let payload: Vec<u8> = self.word(word).bytes().cycle().take(160).collect();
        for at in (from..to).step_by(20) {
            let packet = Packet { at, payload_type: 0, timestamp: at as u32 * 8, payload: payload.clone() };
            self.media[side as usize].push(packet);
        }
    }

    pub(crate) fn both_say(&mut self, from: u64, to: u64, word: &str) {
        self.says(Side::Caller, from, to, word);
        self.says(Side::Callee, from, to, word);
    }

    /// The digit as telephone-events take it (RFC 4733 section 2.3): while it lasts, and its end three times.
    pub(crate) fn presses(&mut self, side: Side, at: u64, digit: u8) {
        let end = self.event(digit);
        let going_on = |lasts: u8| vec![digit, end[1] & 0x3f, 0, lasts];
        let payloads = [going_on(80), going_on(160), going_on(240), end.to_vec(), end.to_vec(), end.to_vec()];
        for (at_then, payload) in (at..).step_by(10).zip(payloads) {
            let packet = Packet { at: at_then, payload_type: 101, timestamp: at as u32 * 8, payload };
            self.media[side as usize].push(packet);
        }
    }

    /// The end of an event of 400 samples. The volume is the call's number, so that its bytes can be looked
    /// for.
    pub(crate) fn event(&self, digit: u8) -> [u8; 4] {
        [digit, 0x80 | self.number, 400_u16.to_be_bytes()[0], 400_u16.to_be_bytes()[1]]
    }

    /// The digit as an INFO takes it.
    pub(crate) fn informs(&mut self, at: u64, digit: char) {
        let body = format!("Signal={digit}\r\nDuration=47{:02}\r\n", self.number);
        self.request(at, "INFO", "Content-Type: application/dtmf-relay\r\n", &body);
    }

    /// Its frames, not in order.
    pub(crate) fn frames(mut self) -> Vec<Timed> {
        let mut frames = std::mem::take(&mut self.messages);
        for side in [Side::Caller, Side::Callee] {
            let mut packets = std::mem::take(&mut self.media[side as usize]);
            packets.sort_by_key(|packet| packet.at);
            let (ssrc, [src, dst]) = (ssrc(self.number, side), self.ends(side));
            let other = if side == Side::Caller { Side::Callee } else { Side::Caller };
            for (sequence, packet) in packets.into_iter().enumerate() {
                if self.lossy && sequence % 5 < 2 {
                    continue;
                }
                let mut rtp = vec![0x80, packet.payload_type];
                rtp.extend((sequence as u16).to_be_bytes());
                rtp.extend(packet.timestamp.to_be_bytes());
                rtp.extend(ssrc.to_be_bytes());
                rtp.extend(packet.payload);
                let frame = frame((src, port(side)), (dst, port(other)), &rtp);
                frames.push((packet.at, side as usize, frame));
            }
        }
        frames
    }
}

fn port(side: Side) -> u16 {
    if side == Side::Caller { 40_000 } else { 50_000 }
}

fn ssrc(number: u8, side: Side) -> u32 {
    0x5eed_0000 | u32::from(number) << 8 | side as u32
}

/// Ethernet, IPv4, UDP without a checksum.
fn frame(src: (Ipv4Addr, u16), dst: (Ipv4Addr, u16), data: &[u8]) -> Vec<u8> {
    let mut ip = vec![0x45, 0];
    ip.extend((28 + data.len() as u16).to_be_bytes());
    ip.extend([0, 0, 0, 0, 64, 17, 0, 0]);
    ip.extend(src.0.octets());
    ip.extend(dst.0.octets());
    let sum: u32 = ip.chunks(2).map(|word| u32::from(u16::from_be_bytes([word[0], word[1]]))).sum();
    let sum = !(sum + (sum >> 16)) as u16;
    ip[10..12].copy_from_slice(&sum.to_be_bytes());
    let mut frame = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0];
    frame.extend(ip);
    frame.extend(src.1.to_be_bytes());
    frame.extend(dst.1.to_be_bytes());
    frame.extend((8 + data.len() as u16).to_be_bytes());
    frame.extend([0, 0]);
    frame.extend(data);
    frame
}

/// Sends them in their time, each onto its wire; where there are fewer wires, onto the last. How many frames.
///
/// At each of `stops`, milliseconds after the beginning and in order, its clock stands still while `act` has
/// its turn with that time and the number of frames sent so far. So what is commanded in the midst of a call
/// comes where it belongs, however slow the machine is.
pub(crate) fn play(talks: Vec<Talk>, wires: &[&str], stops: &[u64], mut act: impl FnMut(u64, u64)) -> u64 {
    let mut injectors: Vec<Injector> =
        wires.iter().map(|wire| Injector::open(wire, Source::Packet).expect("sends")).collect();
    let mut frames: Vec<Timed> = talks.into_iter().flat_map(Talk::frames).collect();
    frames.sort_by_key(|(at, wire, _)| (*at, *wire));
    let (mut began, mut sent) = (Instant::now(), 0);
    let until = |began: Instant, at: u64| {
        std::thread::sleep(Duration::from_millis(at).saturating_sub(began.elapsed()));
    };
    let mut stops = stops.iter().copied().peekable();
    for now in frames.chunk_by(|a, b| a.0 == b.0) {
        while let Some(at) = stops.next_if(|at| *at <= now[0].0) {
            until(began, at);
            let stopped = Instant::now();
            act(at, sent);
            began += stopped.elapsed();
        }
        until(began, now[0].0);
        for (_, wire, data) in now {
            let last = injectors.len() - 1;
            let injector = &mut injectors[last.min(*wire)];
            while injector.send(&[data]).expect("sends") == 0 {
                injector.flush().expect("sends");
            }
            sent += 1;
        }
        injectors.iter_mut().for_each(|injector| injector.flush().expect("sends"));
    }
    stops.for_each(|at| {
        until(began, at);
        act(at, sent);
    });
    sent
}

/// Writes them into a capture.
pub(crate) fn write(talks: Vec<Talk>, path: &Path) {
    let mut frames: Vec<Timed> = talks.into_iter().flat_map(Talk::frames).collect();
    frames.sort_by_key(|(at, wire, _)| (*at, *wire));
    let link = LinkType(1);
    let mut writer = Writer::new(File::create(path).expect("a temporary file"), &[link]).expect("writes");
    for (number, (at, _, data)) in (1..).zip(&frames) {
        let time = Nanos(1_767_225_600_000_000_000 + at * 1_000_000);
        let frame = Frame { time, number, link, wire_len: data.len() as u32, data };
        writer.write(&frame).expect("writes");
    }
    writer.finish().expect("writes");
}

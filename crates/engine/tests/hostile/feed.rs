//! An engine with counted memory, and packets as text and numbers.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use ringtap_engine::{Config, Engine, Sink, StreamEnd};
use ringtap_model::{Call, Frame, LinkType, Message, Nanos, Registration};

/// Counts for each thread, since every test has one of its own.
struct Counting;

thread_local! {
    /// Bytes that live, and that were ever allocated.
    static LIVE: Cell<isize> = const { Cell::new(0) };
    static ALLOCATED: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: every call goes to the system's allocator unchanged; the counters are plain cells without a
// destructor.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        LIVE.set(LIVE.get() + layout.size() as isize);
        ALLOCATED.set(ALLOCATED.get() + layout.size());
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        LIVE.set(LIVE.get() - layout.size() as isize);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

pub(crate) fn live() -> usize {
    LIVE.get().unsigned_abs()
}

pub(crate) fn allocated() -> usize {
    ALLOCATED.get()
}

/// The records that are of interest: what does not concern `wanted` is only counted.
#[derive(Default)]
pub(crate) struct Records {
    pub(crate) wanted: Option<&'static str>,
    pub(crate) calls: Vec<(Call, Vec<StreamEnd>)>,
    pub(crate) registrations: Vec<Registration>,
    pub(crate) others: usize,
}

impl Records {
    fn wants(&self, name: &str) -> bool {
        self.wanted.is_none_or(|wanted| name.starts_with(wanted))
    }
}

impl Sink for Records {
    fn call(&mut self, call: Call, streams: Vec<StreamEnd>) {
        if self.wants(&call.call_id) {
            self.calls.push((call, streams));
        } else {
            self.others += 1;
        }
    }
    fn stream(&mut self, _: StreamEnd) {
        self.others += 1;
    }
    fn registration(&mut self, registration: Registration) {
        if self.wants(&registration.aor) {
            self.registrations.push(registration);
        } else {
            self.others += 1;
        }
    }
    fn message(&mut self, _: Message) {
        self.others += 1;
    }
}

pub(crate) const SBC: [u8; 4] = [192, 0, 2, 1];
pub(crate) const CORE: [u8; 4] = [198, 51, 100, 1];

pub(crate) struct Feed {
    pub(crate) engine: Engine,
    pub(crate) records: Records,
    number: u64,
    last: Nanos,
    /// Bytes of all frames.
    pub(crate) bytes: usize,
}

impl Feed {
    pub(crate) fn new(config: Config) -> Self {
        Self {
            engine: Engine::new(config),
            records: Records::default(),
            number: 0,
            last: Nanos::ZERO,
            bytes: 0,
        }
    }

    /// What the engine counted under that name among its drops, a second after the last packet.
    pub(crate) fn dropped(&mut self, name: &str) -> u64 {
        self.engine.tick(self.last + Nanos::from_secs(1), &mut self.records);
        let drops = self.engine.counters().drops();
        drops.iter().find(|(other, _)| *other == name).map_or(0, |(_, count)| *count)
    }

    pub(crate) fn packet(&mut self, micros: u64, packet: &[u8]) {
        self.number += 1;
        self.bytes += packet.len();
        let time = Nanos::from_secs(1_700_000_000) + Nanos::from_micros(micros);
        self.last = time;
        let (number, wire_len) = (self.number, packet.len() as u32);
        let frame = Frame { time, number, link: LinkType(101), wire_len, data: packet };
        self.engine.batch(&[frame], &mut self.records);
    }

    pub(crate) fn udp(&mut self, micros: u64, src: ([u8; 4], u16), dst: ([u8; 4], u16), payload: &[u8]) {
        let len = ((8 + payload.len()) as u16).to_be_bytes();
        let [sport, dport] = [src.1, dst.1].map(u16::to_be_bytes);
        let datagram = [&sport[..], &dport, &len, &[0, 0], payload].concat();
        self.packet(micros, &ip(17, src.0, dst.0, &datagram));
    }

    /// A SIP message from the SBC to the core, or back.
    pub(crate) fn sip(&mut self, micros: u64, back: bool, text: &str) {
        let (src, dst) = if back { (CORE, SBC) } else { (SBC, CORE) };
        self.udp(micros, (src, 5060), (dst, 5060), text.as_bytes());
    }

    /// A TCP segment from a port of the SBC to 5060.
    pub(crate) fn tcp(&mut self, micros: u64, port: u16, seq: u32, flags: u8, data: &[u8]) {
        let mut segment = port.to_be_bytes().to_vec();
        segment.extend(5060u16.to_be_bytes());
        segment.extend(seq.to_be_bytes());
        segment.extend([0, 0, 0, 0, 0x50, flags, 0, 0, 0, 0, 0, 0]);
        segment.extend(data);
        self.packet(micros, &ip(6, SBC, CORE, &segment));
    }

    pub(crate) fn close(mut self) -> Records {
        self.engine.close(&mut self.records);
        self.records
    }
}

pub(crate) const SYN: u8 = 2;
pub(crate) const ACK: u8 = 16;

/// An IPv4 packet.
pub(crate) fn ip(protocol: u8, src: [u8; 4], dst: [u8; 4], payload: &[u8]) -> Vec<u8> {
    let mut packet = vec![0x45, 0];
    packet.extend(((20 + payload.len()) as u16).to_be_bytes());
    packet.extend([0, 0, 0, 0, 64, protocol, 0, 0]);
    packet.extend(src);
    packet.extend(dst);
    packet.extend(payload);
    packet
}

/// A fragment of an IPv4 packet that is not the last, `offset` in octets.
pub(crate) fn fragment(id: u16, src: [u8; 4], offset: u16, payload: &[u8]) -> Vec<u8> {
    let mut packet = ip(17, src, CORE, payload);
    packet[4..6].copy_from_slice(&id.to_be_bytes());
    packet[6..8].copy_from_slice(&(0x2000 | (offset / 8)).to_be_bytes());
    packet
}

/// A SIP message of a Call-ID; `rest` are further header lines and the body.
pub(crate) fn sip(start: &str, call_id: &str, cseq: &str, rest: &str) -> String {
    format!(
        "{start}\r\nVia: SIP/2.0/UDP 192.0.2.1;branch=z9hG4bK{cseq}\r\n\
         From: <sip:alice@example.com>;tag=1\r\nTo: <sip:{call_id:.100}@example.com>\r\n\
         Call-ID: {call_id}\r\nCSeq: {cseq}\r\n{rest}"
    )
}

/// An SDP of audio at a port with these formats and lines.
pub(crate) fn sdp(host: &str, port: u16, formats: &str, lines: &str) -> String {
    let body = format!(
        "v=0\r\no=- 1 1 IN IP4 {host}\r\ns=-\r\nc=IN IP4 {host}\r\nt=0 0\r\n\
         m=audio {port} RTP/AVP {formats}\r\n{lines}"
    );
    format!("Content-Type: application/sdp\r\nContent-Length: {}\r\n\r\n{body}", body.len())
}

pub(crate) fn rtp(payload_type: u8, index: u16, ssrc: u32) -> Vec<u8> {
    let mut rtp = vec![0x80, payload_type];
    rtp.extend(index.to_be_bytes());
    rtp.extend((u32::from(index) * 160).to_be_bytes());
    rtp.extend(ssrc.to_be_bytes());
    rtp.extend([0xd5; 160]);
    rtp
}

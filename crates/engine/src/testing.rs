//! Literal input for unit tests: SIP messages and packets as text and numbers, and an engine that records
//! what comes out.

use ringtap_model::{Call, Endpoint, Frame, LinkType, Message, Nanos, Registration, Stream, Transaction};

use crate::config::Config;
use crate::engine::Engine;
use crate::sink::{Sink, StreamEnd};

pub(crate) const CALLER: &str = "192.0.2.1:5060";
pub(crate) const CALLEE: &str = "198.51.100.1:5060";
pub(crate) const CALLER_RTP: &str = "192.0.2.1:4000";
pub(crate) const CALLEE_RTP: &str = "198.51.100.1:6000";

/// An endpoint from its text.
pub(crate) fn end(text: &str) -> Endpoint {
    match text.parse() {
        Ok(endpoint) => endpoint,
        Err(_) => panic!("{text} is no endpoint"),
    }
}

/// Capture time, in milliseconds from the start of a test.
pub(crate) fn at(millis: u64) -> Nanos {
    Nanos::from_secs(1_700_000_000) + Nanos::from_millis(millis)
}

/// A SIP message; each has the headers that RFC 3261 section 8.1.1 asks for.
#[derive(Clone)]
pub(crate) struct Sip {
    start: String,
    call_id: String,
    from: String,
    to: String,
    branch: String,
    cseq: String,
    more: String,
    body: String,
}

/// A request from Alice to Bob.
pub(crate) fn request(method: &str, cseq: u32) -> Sip {
    Sip {
        start: format!("{method} sip:bob@example.com SIP/2.0"),
        call_id: "a@192.0.2.1".to_owned(),
        from: "<sip:alice@example.com>;tag=alice".to_owned(),
        to: "<sip:bob@example.com>".to_owned(),
        branch: format!("z9hG4bK-{cseq}-{method}"),
        cseq: format!("{cseq} {method}"),
        more: String::new(),
        body: String::new(),
    }
}

/// The response to a request of that method and number.
pub(crate) fn response(status: &str, method: &str, cseq: u32) -> Sip {
    Sip { start: format!("SIP/2.0 {status}"), ..request(method, cseq) }
}

impl Sip {
    pub(crate) fn call_id(mut self, call_id: &str) -> Self {
        call_id.clone_into(&mut self.call_id);
        self
    }

    pub(crate) fn from(mut self, from: &str) -> Self {
        from.clone_into(&mut self.from);
        self
    }

    pub(crate) fn to(mut self, to: &str) -> Self {
        to.clone_into(&mut self.to);
        self
    }

    pub(crate) fn branch(mut self, branch: &str) -> Self {
        branch.clone_into(&mut self.branch);
        self
    }

    pub(crate) fn header(mut self, line: &str) -> Self {
        self.more += line;
        self.more += "\r\n";
        self
    }

    pub(crate) fn body(mut self, content_type: &str, body: &str) -> Self {
        body.clone_into(&mut self.body);
        self.header(&format!("Content-Type: {content_type}"))
    }

    /// An SDP of one audio stream that wants its media at `endpoint`; `rest` follows the port: `RTP/AVP 0`,
    /// and lines.
    pub(crate) fn sdp(self, endpoint: &str, rest: &str) -> Self {
        let Endpoint { ip, port, .. } = end(endpoint);
        let lines = format!(
            "v=0\r\no=- 1 1 IN IP4 {ip}\r\ns=-\r\nc=IN IP4 {ip}\r\nt=0 0\r\nm=audio {port} {rest}\r\n"
        );
        self.body("application/sdp", &lines)
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        let Self { start, call_id, from, to, branch, cseq, more, body } = self;
        format!(
            "{start}\r\nVia: SIP/2.0/UDP 192.0.2.1;branch={branch}\r\nFrom: {from}\r\nTo: {to}\r\n\
             Call-ID: {call_id}\r\nCSeq: {cseq}\r\n{more}Content-Length: {}\r\n\r\n{body}",
            body.len()
        )
        .into_bytes()
    }
}

/// An RTP packet of 160 octets of payload (RFC 3550 section 5.1).
pub(crate) fn rtp(payload_type: u8, sequence: u16, timestamp: u32, ssrc: u32) -> Vec<u8> {
    rtp_with(payload_type, sequence, timestamp, ssrc, &[0xd5; 160])
}

pub(crate) fn rtp_with(
    payload_type: u8,
    sequence: u16,
    timestamp: u32,
    ssrc: u32,
    payload: &[u8],
) -> Vec<u8> {
    let mut bytes = vec![0x80, payload_type];
    bytes.extend(sequence.to_be_bytes());
    bytes.extend(timestamp.to_be_bytes());
    bytes.extend(ssrc.to_be_bytes());
    bytes.extend(payload);
    bytes
}

/// An IPv4 packet with a UDP datagram.
pub(crate) fn udp(src: Endpoint, dst: Endpoint, payload: &[u8]) -> Vec<u8> {
    let mut packet = vec![0x45, 0];
    packet.extend((28 + payload.len() as u16).to_be_bytes());
    packet.extend([0, 0, 0, 0, 64, 17, 0, 0]);
    for end in [src, dst] {
        match end.ip {
            std::net::IpAddr::V4(ip) => packet.extend(ip.octets()),
            std::net::IpAddr::V6(ip) => panic!("{ip} is no IPv4 address"),
        }
    }
    packet.extend(src.port.to_be_bytes());
    packet.extend(dst.port.to_be_bytes());
    packet.extend((8 + payload.len() as u16).to_be_bytes());
    packet.extend([0, 0]);
    packet.extend(payload);
    packet
}

/// An IPv4 packet of another protocol between the hosts of caller and callee.
pub(crate) fn ip(protocol: u8, payload: &[u8]) -> Vec<u8> {
    fragment(protocol, 0, 0, false, payload)
}

/// A fragment of an IPv4 packet (RFC 791 section 3.1), `offset` in octets.
pub(crate) fn fragment(protocol: u8, id: u16, offset: usize, more: bool, payload: &[u8]) -> Vec<u8> {
    let mut packet = vec![0x45, 0];
    packet.extend((20 + payload.len() as u16).to_be_bytes());
    packet.extend(id.to_be_bytes());
    packet.extend((u16::from(more) << 13 | (offset / 8) as u16).to_be_bytes());
    packet.extend([64, protocol, 0, 0, 192, 0, 2, 1, 198, 51, 100, 1]);
    packet.extend(payload);
    packet
}

/// The records of one run.
#[derive(Default)]
pub(crate) struct Records {
    pub(crate) calls: Vec<(Call, Vec<Stream>)>,
    pub(crate) lost: Vec<(Call, Vec<Stream>)>,
    pub(crate) streams: Vec<Stream>,
    pub(crate) registrations: Vec<Registration>,
    pub(crate) messages: Vec<Message>,
    pub(crate) transactions: Vec<Transaction>,
}

impl Sink for Records {
    const LOST: bool = true;

    fn lost(&mut self, call: Call, streams: Vec<StreamEnd>) {
        self.lost.push((call, streams.into_iter().map(|end| end.record).collect()));
    }
    fn call(&mut self, call: Call, streams: Vec<StreamEnd>) {
        self.calls.push((call, streams.into_iter().map(|end| end.record).collect()));
    }
    fn stream(&mut self, stream: StreamEnd) {
        self.streams.push(stream.record);
    }
    fn registration(&mut self, registration: Registration) {
        self.registrations.push(registration);
    }
    fn message(&mut self, message: Message) {
        self.messages.push(message);
    }
    fn transaction(&mut self, transaction: Transaction) {
        self.transactions.push(transaction);
    }
}

/// One engine that sees all packets.
pub(crate) struct Tap {
    pub(crate) engine: Engine,
    pub(crate) records: Records,
    frame: u64,
}

impl Tap {
    pub(crate) fn new() -> Self {
        Self::with(|_| {})
    }

    /// With a configuration that `change` makes of the default one with small tables.
    pub(crate) fn with(change: impl FnOnce(&mut Config)) -> Self {
        let mut config = Config {
            max_calls: 16,
            max_streams: 64,
            max_registrations: 16,
            max_messages: 16,
            max_fragmented: 16,
            max_connections: 16,
            ..Config::default()
        };
        change(&mut config);
        Self { engine: Engine::new(config), records: Records::default(), frame: 0 }
    }

    /// A packet from one endpoint to another at `millis`.
    pub(crate) fn udp(&mut self, millis: u64, src: &str, dst: &str, payload: &[u8]) {
        self.packet(millis, &udp(end(src), end(dst), payload));
    }

    /// An IP packet at `millis`.
    pub(crate) fn packet(&mut self, millis: u64, data: &[u8]) {
        self.frame += 1;
        let (link, wire_len) = (LinkType(101), data.len() as u32);
        let frame = Frame { time: at(millis), number: self.frame, link, wire_len, data };
        self.engine.batch(&[frame], &mut self.records);
    }

    /// A SIP message of the caller.
    pub(crate) fn caller(&mut self, millis: u64, sip: Sip) {
        self.udp(millis, CALLER, CALLEE, &sip.bytes());
    }

    /// A SIP message of the callee.
    pub(crate) fn callee(&mut self, millis: u64, sip: Sip) {
        self.udp(millis, CALLEE, CALLER, &sip.bytes());
    }

    /// PCMA packets every 20 ms from `millis` on, numbers and timestamps from `first` on.
    pub(crate) fn stream(
        &mut self,
        millis: u64,
        src: &str,
        dst: &str,
        ssrc: u32,
        numbers: std::ops::Range<u16>,
    ) {
        let first = numbers.start;
        for number in numbers {
            let sent = millis + 20 * u64::from(number - first);
            self.udp(sent, src, dst, &rtp(8, number, u32::from(number) * 160, ssrc));
        }
    }

    /// Time passes without a packet, a second at a time.
    pub(crate) fn wait_until(&mut self, millis: u64) {
        let mut now = self.engine.clock.now() + Nanos::from_secs(1);
        while now < at(millis) {
            self.engine.tick(now, &mut self.records);
            now += Nanos::from_secs(1);
        }
        self.engine.tick(at(millis), &mut self.records);
    }

    /// The input ends.
    pub(crate) fn close(mut self) -> Records {
        self.engine.close(&mut self.records);
        self.records
    }

    /// The input ends; its only call, with the streams.
    pub(crate) fn call(self) -> (Call, Vec<Stream>) {
        let mut calls = self.close().calls;
        assert_eq!(calls.len(), 1, "calls");
        calls.remove(0)
    }
}

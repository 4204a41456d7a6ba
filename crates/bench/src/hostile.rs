//! Input that somebody makes to be expensive, and ordinary input to compare it with: packets in memory.

use ringtap_engine::{Config, Engine};
use ringtap_model::{Frame, LinkType, Nanos};

use crate::results::Results;

/// Packets under a name, and an engine for them.
pub struct HostileInput {
    packets: Vec<Vec<u8>>,
    engine: Engine,
    results: Results,
}

/// The names of all inputs; the first is ordinary.
pub const HOSTILE_INPUTS: [&str; 21] = [
    "ordinary calls",
    "TCP: a header byte by byte",
    "TCP: a start line byte by byte",
    "TCP: a word without end byte by byte",
    "TCP: an upgrade byte by byte",
    "TCP: bytes behind a hole",
    "fragments far from the start",
    "fragments with holes between them",
    "SCTP: 3,000 chunks in a frame",
    "SDP: invented codec names",
    "SDP: 64 names for each of 16 media",
    "INVITE: a full table",
    "REGISTER: a full table",
    "SIP: 512 requests of one call",
    "SIP: thousands of empty header lines",
    "SIP: start lines alone",
    "RTP: new streams at a port that calls share",
    "RTP: new streams between two ports that calls share",
    "RTP: new streams between two ports of one side that calls share",
    "SDP: again, with streams at each of its ports",
    "RTCP: BYE of 31 sources",
];

impl HostileInput {
    /// The input of that name; None where there is none.
    pub fn prepare(name: &str) -> Option<Self> {
        let packets = match HOSTILE_INPUTS.iter().position(|other| *other == name)? {
            0 => ordinary(),
            1 => bytes_over_tcp(b"INVITE sip:bob@example.com SIP/2.0\r\nX: ", b'x', 20_000),
            2 => bytes_over_tcp(b"INVITE sip:", b'b', 8_000),
            3 => bytes_over_tcp(b"A", b'a', 8_000),
            4 => bytes_over_tcp(b"GET / HTTP/1.1\r\n", b'\n', 16_000),
            5 => behind_a_hole(),
            6 => (0..5_000).map(|at| fragment(at, 65_000, &[0; 32])).collect(),
            7 => (0..5_000).map(|at| fragment(at / 250, 16 * (at % 250) as u16, &[0; 8])).collect(),
            8 => vec![chunks(), chunks(), chunks()],
            9 => (0..20).map(|call| invite(call, &codec_names(call, 32))).collect(),
            10 => (0..20).map(|call| invite(call, &codec_names(0, 64))).collect(),
            11 => (0..4_000).map(|call| invite(call, "")).collect(),
            12 => (0..4_000).map(register).collect(),
            13 => (0..2_000).map(|number| request("INFO", "one", number, "\r\n")).collect(),
            14 => vec![udp(
                1,
                5060,
                &[&b"INVITE sip:b@example.com SIP/2.0\r\n"[..], &b"a:\n".repeat(20_000)].concat(),
            )],
            15 => (0..4_000).map(|_| udp(1, 5060, b"BYE sip:b SIP/2.0\r\n\r\n")).collect(),
            16 => shared_ports([true, false], [false, false]),
            17 => shared_ports([true, false], [false, true]),
            18 => shared_ports([true, true], [false, false]),
            19 => described_again(),
            _ => (0..2_000).map(|_| udp(1, 4_001, &[&[0x9f, 203, 0, 31][..], &[7; 124]].concat())).collect(),
        };
        let config =
            Config { max_calls: 1_000, max_registrations: 1_000, max_streams: 10_000, ..Config::default() };
        Some(Self { packets, engine: Engine::new(config), results: Results::default() })
    }

    /// Runs them through the engine; returns how many bytes they have.
    pub fn pass(&mut self) -> u64 {
        let mut bytes = 0;
        for (number, packet) in (1..).zip(&self.packets) {
            let time = Nanos::from_secs(1_700_000_000) + Nanos::from_micros(number);
            let (link, wire_len) = (LinkType(101), packet.len() as u32);
            self.engine.batch(&[Frame { time, number, link, wire_len, data: packet }], &mut self.results);
            bytes += packet.len() as u64;
        }
        bytes
    }
}

fn ip(protocol: u8, source: u32, payload: &[u8]) -> Vec<u8> {
    let mut packet = vec![0x45, 0];
    packet.extend(((20 + payload.len()) as u16).to_be_bytes());
    packet.extend([0, 0, 0, 0, 64, protocol, 0, 0]);
    packet.extend((0x0a00_0000 | source).to_be_bytes());
    packet.extend([198, 51, 100, 1]);
    packet.extend(payload);
    packet
}

fn udp(source: u32, port: u16, payload: &[u8]) -> Vec<u8> {
    let mut datagram = [port.to_be_bytes(), port.to_be_bytes()].concat();
    datagram.extend(((8 + payload.len()) as u16).to_be_bytes());
    datagram.extend([0, 0]);
    datagram.extend(payload);
    ip(17, source, &datagram)
}

fn tcp(seq: u32, flags: u8, data: &[u8]) -> Vec<u8> {
    let mut segment = vec![0x13, 0xc4, 0x13, 0xc4];
    segment.extend(seq.to_be_bytes());
    segment.extend([0, 0, 0, 0, 0x50, flags, 0, 0, 0, 0, 0, 0]);
    segment.extend(data);
    ip(6, 1, &segment)
}

fn fragment(id: u32, offset: u16, payload: &[u8]) -> Vec<u8> {
    let mut packet = ip(17, id, payload);
    packet[6..8].copy_from_slice(&(0x2000 | (offset / 8)).to_be_bytes());
    packet
}

/// A segment for each byte: `start`, then so many of another.
fn bytes_over_tcp(start: &[u8], byte: u8, count: usize) -> Vec<Vec<u8>> {
    let bytes = start.iter().copied().chain(std::iter::repeat_n(byte, count));
    let segments = bytes.zip(1..).map(|(byte, seq)| tcp(seq, 16, &[byte]));
    std::iter::once(tcp(0, 2, b"")).chain(segments).collect()
}

/// The byte before the hole comes when as many wait behind it as may.
fn behind_a_hole() -> Vec<Vec<u8>> {
    let mut packets = vec![tcp(0, 2, b"")];
    for round in 0..20u32 {
        let start = 1 + round * 250;
        packets.extend((1..250).rev().map(|at| tcp(start + at, 16, b"x")));
        packets.push(tcp(start, 16, b"x"));
    }
    packets
}

fn chunks() -> Vec<u8> {
    let mut packet = vec![0x13, 0xc4, 0x13, 0xc4, 0, 0, 0, 1, 0, 0, 0, 0];
    for stream in 0..1_500u16 {
        for (flags, data) in [(2, &b"BYE sip:a SIP/2.0\r\n\0"[..]), (0, b"x\0\0\0")] {
            packet.extend([0, flags]);
            packet.extend(((16 + data.len()) as u16).to_be_bytes());
            packet.extend(u32::from(flags == 0).to_be_bytes());
            packet.extend(stream.to_be_bytes());
            packet.extend([0; 6]);
            packet.extend(data);
        }
    }
    packet.truncate(65_000);
    ip(132, 1, &packet)
}

fn request(method: &str, call_id: &str, number: u32, rest: &str) -> Vec<u8> {
    let text = format!(
        "{method} sip:bob@example.com SIP/2.0\r\nVia: SIP/2.0/UDP 192.0.2.1;branch=z9hG4bK{number}\r\n\
         From: <sip:alice@example.com>;tag=1\r\nTo: <sip:bob{call_id}@example.com>\r\nCall-ID: {call_id}\r\n\
         CSeq: {number} {method}\r\n{rest}"
    );
    udp(1, 5060, text.as_bytes())
}

fn invite(call: u32, media: &str) -> Vec<u8> {
    let sdp =
        format!("v=0\r\no=- 1 1 IN IP4 198.51.100.1\r\ns=-\r\nc=IN IP4 198.51.100.1\r\nt=0 0\r\n{media}");
    let rest = format!("Content-Type: application/sdp\r\nContent-Length: {}\r\n\r\n{sdp}", sdp.len());
    request("INVITE", &format!("call-{call}"), 1, &rest)
}

fn register(number: u32) -> Vec<u8> {
    request("REGISTER", &format!("register-{number}"), 1, "Expires: 600\r\n\r\n")
}

/// Sixteen media with 32 payload types and so many names each.
fn codec_names(call: u32, names: u32) -> String {
    let mut media = String::new();
    for medium in 0..16 {
        let formats: String = (96..128).map(|number| format!(" {number}")).collect();
        media += &format!("m=audio {} RTP/AVP{formats}\r\n", 20_000 + 2 * medium);
        for name in 0..names {
            media += &format!("a=rtpmap:{} x{call}-{medium}-{name}/8000\r\n", 127 - name % 32);
        }
    }
    media
}

/// Sixteen media at these ports.
fn media(ports: impl Iterator<Item = u32>, formats: &str) -> String {
    ports.map(|port| format!("m=audio {port} RTP/AVP {formats}\r\n")).collect()
}

/// The callee's description of its media.
fn answer(call: u32, media: &str) -> Vec<u8> {
    let text = format!(
        "SIP/2.0 200 OK\r\nVia: SIP/2.0/UDP 192.0.2.1;branch=z9hG4bK1\r\n\
         From: <sip:alice@example.com>;tag=1\r\nTo: <sip:bobcall-{call}@example.com>;tag=2\r\n\
         Call-ID: call-{call}\r\nCSeq: 1 INVITE\r\nContent-Type: application/sdp\r\n\r\n\
         v=0\r\no=- 1 1 IN IP4 10.0.0.2\r\ns=-\r\nc=IN IP4 10.0.0.2\r\nt=0 0\r\n{media}"
    );
    udp(2, 5060, text.as_bytes())
}

fn rtp(ssrc: u32, port: u16, payload_type: u8) -> Vec<u8> {
    let mut rtp = vec![0x80, payload_type, 0, 1, 0, 0, 0, 1];
    rtp.extend(ssrc.to_be_bytes());
    rtp.extend([0xd5; 20]);
    udp(2, port, &rtp)
}

/// Calls that all announce the receiver's port, the sender's, or both, on one side or the other, behind ports
/// of their own; then packets of ever other streams between the two.
fn shared_ports(offer: [bool; 2], answered: [bool; 2]) -> Vec<Vec<u8>> {
    let mut packets = Vec::new();
    for call in 0..64u32 {
        let own = |count: u32| media((0..count).map(|medium| 20_000 + 32 * call + 2 * medium), "8");
        let shared = |of: [bool; 2]| {
            let ends = [("198.51.100.1", of[0]), ("10.0.0.2", of[1])];
            let shared = ends.into_iter().filter(|(_, is_shared)| *is_shared);
            shared.map(|(ip, _)| format!("m=audio 4000 RTP/AVP 8\r\nc=IN IP4 {ip}\r\n")).collect::<String>()
        };
        packets.push(invite(call, &(own(14) + &shared(offer))));
        packets.push(answer(call, &(own(14) + &shared(answered))));
    }
    packets.extend((0..4_000).map(|ssrc| rtp(ssrc, 4_000, 8)));
    packets
}

/// A call with 16 endpoints on each side and 64 streams at each of one side, described again and again.
fn described_again() -> Vec<Vec<u8>> {
    let ports = |first: u32| (0..16).map(move |medium| first + 2 * medium);
    let formats: Vec<String> = (96..128).map(|number| number.to_string()).collect();
    let mut offer = media(ports(4_000), &formats.join(" "));
    for number in 96..128 {
        offer += &format!("a=rtpmap:{number} x{number}/8000\r\n");
    }
    let mut packets = vec![invite(1, &offer), answer(1, &media(ports(20_000), "8"))];
    for port in ports(4_000) {
        packets.extend((0..64).map(|ssrc| rtp(ssrc, port as u16, 8)));
    }
    packets.extend((2..300).map(|number| {
        let sdp = format!(
            "v=0\r\no=- 1 {number} IN IP4 198.51.100.1\r\ns=-\r\nc=IN IP4 198.51.100.1\r\nt=0 0\r\n{offer}"
        );
        let rest = format!("Content-Type: application/sdp\r\nContent-Length: {}\r\n\r\n{sdp}", sdp.len());
        request("UPDATE", "call-1", number, &rest)
    }));
    packets
}

/// Calls of two messages each way with SDP, as telephones send them.
fn ordinary() -> Vec<Vec<u8>> {
    let mut packets = Vec::new();
    for call in 0..500u32 {
        let id = format!("call-{call}");
        let media = format!(
            "m=audio {} RTP/AVP 8 0 101\r\na=rtpmap:8 PCMA/8000\r\na=rtpmap:0 PCMU/8000\r\n\
             a=rtpmap:101 telephone-event/8000\r\na=sendrecv\r\n",
            10_000 + 2 * call
        );
        packets.push(invite(call, &media));
        packets.extend((2..5).map(|number| {
            let agent = "Max-Forwards: 70\r\nContact: <sip:alice@192.0.2.1:5060>\r\n\
                         User-Agent: Example Phone 1.0\r\nContent-Length: 0\r\n\r\n";
            request("UPDATE", &id, number, agent)
        }));
    }
    packets
}

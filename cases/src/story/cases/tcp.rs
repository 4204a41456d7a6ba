//! SIP over TCP, WebSocket and SCTP, with segments cut, reordered and repeated.

use ringtap_model::{Endpoint, Nanos};
use serde_json::json;

use crate::story::packet::{flag, sctp, tcp};
use crate::story::rtp::Rtp;
use crate::story::sip::{Dialog, alice_media, bob_media, sdp};
use crate::story::wire::Wire;
use crate::story::{Story, at_us, ms};

/// The cases of this file.
pub(super) fn all() -> Vec<Story> {
    vec![
        cut_everywhere(),
        out_of_order_and_overlap(),
        two_messages_in_one_segment(),
        hole(),
        websocket(),
        over_sctp(),
        begins_in_a_message(),
        turn(),
        long_message(),
    ]
}

/// A TCP connection between two endpoints: the next sequence number of either side.
struct Connection {
    ends: [Endpoint; 2],
    next: [u32; 2],
}

/// Who sends.
const CLIENT: usize = 0;
const SERVER: usize = 1;

impl Connection {
    /// The three-way handshake. The client's numbers wrap after 200 bytes.
    fn open(wire: &mut Wire, at: Nanos, client: Endpoint, server: Endpoint) -> Self {
        let mut connection = Self { ends: [client, server], next: [0xffff_ff38, 5000] };
        for (side, flags) in [(CLIENT, flag::SYN), (SERVER, flag::SYN | flag::ACK), (CLIENT, flag::ACK)] {
            wire.packet(at, &connection.segment(side, flags, &[]));
            connection.next[side] = connection.next[side].wrapping_add(u32::from(flags & flag::SYN != 0));
        }
        connection
    }

    fn segment(&self, side: usize, flags: u8, bytes: &[u8]) -> Vec<u8> {
        self.segment_at(side, self.next[side], flags, bytes)
    }

    fn segment_at(&self, side: usize, seq: u32, flags: u8, bytes: &[u8]) -> Vec<u8> {
        tcp(self.ends[side], self.ends[1 - side], seq, self.next[1 - side], flags, bytes)
    }

    /// Bytes in segments of the given sizes, over and over.
    fn send(&mut self, wire: &mut Wire, at: Nanos, side: usize, mut bytes: &[u8], sizes: &[usize]) {
        for size in sizes.iter().cycle() {
            let (now, rest) = bytes.split_at((*size).min(bytes.len()));
            wire.packet(at, &self.segment(side, flag::ACK, now));
            self.next[side] = self.next[side].wrapping_add(now.len() as u32);
            bytes = rest;
            if bytes.is_empty() {
                return;
            }
        }
    }

    /// Either side ends.
    fn close(&mut self, wire: &mut Wire, at: Nanos) {
        for side in [CLIENT, SERVER] {
            wire.packet(at, &self.segment(side, flag::FIN | flag::ACK, &[]));
            self.next[side] = self.next[side].wrapping_add(1);
        }
    }
}

/// The messages of a dialog over a byte stream: the sender and the time of each.
fn conversation(call_id: &str, transport: &'static str) -> (Dialog, Vec<(u64, usize, Vec<u8>)>) {
    let dialog = Dialog { transport, ..Dialog::new(call_id) };
    let invite = dialog.open("INVITE", 1).sdp(&sdp(alice_media(), "0", &[]));
    let bye = dialog.by_caller("BYE", 2);
    let messages = [
        (100, CLIENT, &invite),
        (110, SERVER, &invite.answer(100, "Trying", "")),
        (300, SERVER, &invite.answer(180, "Ringing", "callee")),
        (1100, SERVER, &invite.answer(200, "OK", "callee").sdp(&sdp(bob_media(), "0", &[]))),
        (1120, CLIENT, &dialog.by_caller("ACK", 1)),
        (3100, CLIENT, &bye),
        (3120, SERVER, &bye.answer(200, "OK", "")),
    ]
    .map(|(at, side, message)| (at, side, message.bytes()))
    .to_vec();
    (dialog, messages)
}

/// The records that all these stories must give.
fn told(name: &'static str, wire: Wire, call_id: &str, transport: &str) -> Story {
    Story::new(name, wire)
        .calls([json!({ "call_id": call_id, "state": "completed", "transport": transport, "messages": 7,
            "retransmissions": 0, "src": "192.0.2.10:5060", "dst": "198.51.100.20:5060",
            "invite_us": at_us(100),
            "ringing_us": at_us(300), "answer_us": at_us(1100), "end_us": at_us(3100), "pdd_ms": 200.0,
            "duration_ms": 2000.0 })])
        .counter("sip", 7)
        .counter("sip_bad", 0)
        .counter("tcp_holes", 0)
}

/// Every message in segments of 1, 3, 19, 64 and 7 bytes, over and over: cuts in start lines, names, line
/// ends, bodies.
pub(super) fn cut_everywhere() -> Story {
    let mut wire = Wire::new();
    let (dialog, messages) = conversation("cut@example.com", "TCP");
    let mut connection = Connection::open(&mut wire, ms(0), dialog.caller.end, dialog.callee.end);
    for (at, side, bytes) in messages {
        connection.send(&mut wire, ms(at), side, &bytes, &[1, 3, 19, 64, 7]);
    }
    connection.close(&mut wire, ms(3200));
    told("tcp-cut-everywhere", wire, "cut@example.com", "tcp")
}

/// Segments of each message in the order 2, 4, 3, 1, each sent again with the half of its neighbour: every
/// byte comes at least once, most twice, and the number space wraps within the INVITE.
pub(super) fn out_of_order_and_overlap() -> Story {
    let mut wire = Wire::new();
    let (dialog, messages) = conversation("disorder-tcp@example.com", "TCP");
    let mut connection = Connection::open(&mut wire, ms(0), dialog.caller.end, dialog.callee.end);
    for (at, side, bytes) in messages {
        let size = bytes.len().div_ceil(4);
        let start = connection.next[side];
        for (place, part) in [1, 3, 2, 0].into_iter().enumerate() {
            let from = part * size;
            let to = (from + size).min(bytes.len());
            // The last piece is the one that makes the message whole: what overlaps came before it.
            let from = if part == 0 { 0 } else { from - size / 2 };
            let seq = start.wrapping_add(from as u32);
            let segment = connection.segment_at(side, seq, flag::ACK, &bytes[from..to]);
            let when = ms(at) - Nanos::from_micros(3 - place as u64);
            wire.packet(when, &segment);
            if part != 0 {
                wire.packet(when, &segment);
            }
        }
        connection.next[side] = start.wrapping_add(bytes.len() as u32);
    }
    connection.close(&mut wire, ms(3200));
    told("tcp-out-of-order-and-overlap", wire, "disorder-tcp@example.com", "tcp")
}

/// The INVITE has more than 64 KiB: a description, and a text with another INVITE in it, which is none.
pub(super) fn long_message() -> Story {
    let mut wire = Wire::new();
    let (dialog, mut messages) = conversation("long@example.com", "TCP");
    let offer = sdp(alice_media(), "0", &[]);
    let text = "a line of the history of this call\r\n".repeat(2_000);
    let inner =
        String::from_utf8_lossy(&Dialog::new("inner@example.com").open("INVITE", 1).bytes()).into_owned();
    let body = format!(
        "--edge\r\nContent-Type: application/sdp\r\n\r\n{offer}\r\n--edge\r\nContent-Type: \
         text/plain\r\n\r\n{text}{inner}\r\n--edge--\r\n"
    );
    messages[0].2 = dialog.open("INVITE", 1).body("multipart/mixed;boundary=edge", body).bytes();
    let mut connection = Connection::open(&mut wire, ms(0), dialog.caller.end, dialog.callee.end);
    for (at, side, bytes) in messages {
        connection.send(&mut wire, ms(at), side, &bytes, &[1400]);
    }
    connection.close(&mut wire, ms(3200));
    Rtp::new(bob_media(), alice_media(), 7).run(&mut wire, ms(1200), 20);
    told("tcp-long-message", wire, "long@example.com", "tcp")
        .streams([json!({ "call_id": "long@example.com", "direction": "callee_to_caller", "packets": 20 })])
}

/// 180 and 200 in one segment, ACK and BYE in another, keep-alives (RFC 5626 section 3.5.1) before and
/// between them: seven messages, two and two of them at one time.
pub(super) fn two_messages_in_one_segment() -> Story {
    let mut wire = Wire::new();
    let (dialog, messages) = conversation("two@example.com", "TCP");
    let mut connection = Connection::open(&mut wire, ms(0), dialog.caller.end, dialog.callee.end);
    let [invite, trying, ringing, ok, ack, bye, last]: [Vec<u8>; 7] =
        messages.into_iter().map(|(_, _, bytes)| bytes).collect::<Vec<_>>().try_into().unwrap_or_default();
    let segments = [
        (50, CLIENT, b"\r\n\r\n".to_vec()),
        (60, SERVER, b"\r\n".to_vec()),
        (100, CLIENT, invite),
        (110, SERVER, trying),
        (1100, SERVER, [ringing, b"\r\n".to_vec(), ok].concat()),
        (3100, CLIENT, [ack, b"\r\n\r\n".to_vec(), bye].concat()),
        (3120, SERVER, last),
    ];
    for (at, side, bytes) in segments {
        connection.send(&mut wire, ms(at), side, &bytes, &[1400]);
    }
    connection.close(&mut wire, ms(3200));
    Story::new("two-messages-in-one-segment", wire)
        .calls([json!({ "state": "completed", "transport": "tcp", "messages": 7, "retransmissions": 0,
            "invite_us": at_us(100), "ringing_us": at_us(1100), "answer_us": at_us(1100),
            "end_us": at_us(3100),
            "pdd_ms": 1000.0, "duration_ms": 2000.0 })])
        .counter("sip", 7)
        .counter("sip_bad", 0)
}

/// A segment of the INVITE was lost by the capture and never comes again: that message is gone, the hole
/// counted, and the answers on the other direction still tell the call, without the time of an INVITE.
pub(super) fn hole() -> Story {
    let mut wire = Wire::new();
    let (dialog, messages) = conversation("hole@example.com", "TCP");
    let mut connection = Connection::open(&mut wire, ms(0), dialog.caller.end, dialog.callee.end);
    for (at, side, bytes) in messages {
        if at == 100 {
            connection.next[side] = connection.next[side].wrapping_add(100);
            connection.send(&mut wire, ms(at), side, &bytes[100..], &[1400]);
        } else {
            connection.send(&mut wire, ms(at), side, &bytes, &[1400]);
        }
    }
    connection.close(&mut wire, ms(3200));
    Story::new("tcp-hole", wire)
        .calls([json!({ "call_id": "hole@example.com", "state": "completed", "messages": 6,
            "transport": "tcp", "invite_us": null, "pdd_ms": null,
            "ringing_us": at_us(300), "answer_us": at_us(1100), "src": "192.0.2.10:5060",
            "dst": "198.51.100.20:5060" })])
        .counter("tcp_holes", 1)
}

/// SIP over WebSocket (RFC 7118): the handshake, then frames, masked from the client; one message in two
/// fragments with a ping between them; segments cut anywhere.
pub(super) fn websocket() -> Story {
    let mut wire = Wire::new();
    let (mut dialog, _) = conversation("ws@example.com", "WS");
    dialog.callee.end.port = 80;
    let mut connection = Connection::open(&mut wire, ms(0), dialog.caller.end, dialog.callee.end);
    let ask = b"GET / HTTP/1.1\r\nHost: example.com\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
        Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Protocol: sip\r\nSec-WebSocket-Version: \
            13\r\n\r\n";
    let agree = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
        Sec-WebSocket-Accept: ICX+Yqv66kxgM0FcWaLWlFLwTAI=\r\nSec-WebSocket-Protocol: sip\r\n\r\n";
    connection.send(&mut wire, ms(10), CLIENT, ask, &[1400]);
    connection.send(&mut wire, ms(20), SERVER, agree, &[60]);
    let (_, messages) = conversation("ws@example.com", "WS");
    for (index, (at, side, bytes)) in messages.into_iter().enumerate() {
        let frames = if index == 3 {
            let (first, second) = bytes.split_at(100);
            [frame(0x01, false, first), frame(0x89, false, b"ping"), frame(0x80, false, second)].concat()
        } else {
            frame(0x81, side == CLIENT, &bytes)
        };
        connection.send(&mut wire, ms(at), side, &frames, &[1, 2, 5, 300]);
    }
    connection.close(&mut wire, ms(3200));
    Story::new("sip-over-websocket", wire)
        .calls([json!({ "call_id": "ws@example.com", "state": "completed", "transport": "ws", "messages": 7,
            "retransmissions": 0, "src": "192.0.2.10:5060", "dst": "198.51.100.20:80",
            "invite_us": at_us(100),
            "ringing_us": at_us(300), "answer_us": at_us(1100), "end_us": at_us(3100) })])
        .counter("sip", 7)
        .counter("sip_bad", 0)
}

/// A WebSocket frame (RFC 6455 section 5.2): first octet, mask, length, payload.
fn frame(first: u8, masked: bool, payload: &[u8]) -> Vec<u8> {
    const MASK: [u8; 4] = [0x37, 0xfa, 0x21, 0x3d];
    let bit = if masked { 0x80 } else { 0 };
    let mut frame = match payload.len() {
        len @ ..=125 => vec![first, bit | len as u8],
        len => [&[first, bit | 126][..], &(len as u16).to_be_bytes()].concat(),
    };
    if masked {
        frame.extend(MASK);
        frame.extend(payload.iter().zip(MASK.iter().cycle()).map(|(byte, mask)| byte ^ mask));
    } else {
        frame.extend(payload);
    }
    frame
}

/// SIP over SCTP (RFC 4168): a message a chunk, 180 and 200 bundled in one packet.
pub(super) fn over_sctp() -> Story {
    let mut wire = Wire::new();
    let (dialog, messages) = conversation("sctp@example.com", "SCTP");
    let (client, server) = (dialog.caller.end, dialog.callee.end);
    let bytes: Vec<&[u8]> = messages.iter().map(|(_, _, bytes)| bytes.as_slice()).collect();
    wire.packet(ms(100), &sctp(client, server, 1, &bytes[..1]));
    wire.packet(ms(110), &sctp(server, client, 1, &bytes[1..2]));
    wire.packet(ms(1100), &sctp(server, client, 2, &bytes[2..4]));
    wire.packet(ms(1120), &sctp(client, server, 2, &bytes[4..5]));
    wire.packet(ms(3100), &sctp(client, server, 3, &bytes[5..6]));
    wire.packet(ms(3120), &sctp(server, client, 4, &bytes[6..]));
    Story::new("sip-over-sctp", wire)
        .calls([json!({ "state": "completed", "transport": "sctp", "messages": 7, "retransmissions": 0,
            "invite_us": at_us(100), "ringing_us": at_us(1100), "answer_us": at_us(1100),
            "end_us": at_us(3100) })])
        .counter("sip", 7)
        .counter("sctp", 6)
}

/// The capture begins within the body of the INVITE, on a connection whose handshake it missed: what is left
/// of that message is no message, and all that follow are.
pub(super) fn begins_in_a_message() -> Story {
    let mut wire = Wire::new();
    let (dialog, messages) = conversation("middle@example.com", "TCP");
    let mut connection = Connection { ends: [dialog.caller.end, dialog.callee.end], next: [77, 5000] };
    for (at, side, bytes) in messages {
        let from = if at == 100 { bytes.len() - 60 } else { 0 };
        connection.send(&mut wire, ms(at), side, &bytes[from..], &[1400]);
    }
    Story::new("tcp-begins-in-a-message", wire)
        .calls([
            json!({ "call_id": "middle@example.com", "state": "completed", "transport": "tcp", "messages": 6,
            "invite_us": null, "trying_us": at_us(110), "answer_us": at_us(1100), "end_us": at_us(3100),
            "src": "192.0.2.10:5060", "dst": "198.51.100.20:5060" }),
        ])
        .counter("sip", 6)
        .counter("sip_bad", 0)
}

/// Media that TURN relays over TCP (RFC 8656), on connections that were open before the capture. ChannelData
/// of 174 bytes and 2 of padding come in segments of 500: the capture begins at byte 100, within the first,
/// and lacks bytes 3,600 to 4,099, which cut the messages 20 to 23. On a port that is not TURN's, ChannelData
/// and Data indications begin segments.
pub(super) fn turn() -> Story {
    let mut wire = Wire::new();
    let end = |last, port| Endpoint::new([203, 0, 113, last].into(), port);
    let (client, relay) = (end(1, 40_000), end(2, 3478));
    let mut connection = Connection { ends: [client, relay], next: [100, 9000] };
    let mut voice = Rtp::new(client, relay, 0x40).codec(0, 160, 158);
    let bytes: Vec<u8> = std::iter::repeat_with(|| {
        let packet = channel_data(&voice.packet());
        voice.lose(1);
        packet
    })
    .take(300)
    .flatten()
    .collect();
    for (number, segment) in bytes[100..].chunks(500).enumerate() {
        let at = ms(0) + Nanos::from_millis(57 * number as u64);
        if number == 7 {
            connection.next[CLIENT] += 500;
        } else {
            connection.send(&mut wire, at, CLIENT, segment, &[500]);
        }
    }
    let (client, relay) = (end(3, 40_000), end(4, 443));
    let mut connection = Connection { ends: [client, relay], next: [70, 8000] };
    let (mut up, mut down) = (Rtp::new(client, relay, 0x41), Rtp::new(relay, client, 0x42));
    for number in 0..50 {
        connection.send(&mut wire, ms(20 * number), CLIENT, &channel_data(&up.packet()), &[1400]);
        connection.send(&mut wire, ms(20 * number + 5), SERVER, &data_indication(&down.packet()), &[1400]);
        up.lose(1);
        down.lose(1);
    }
    let stream = |ssrc: u32| json!({ "ssrc": ssrc, "packets": 50, "lost": 0, "delta_ms_max": 20.0 });
    Story::new("turn-over-tcp", wire)
        .streams([
            json!({ "ssrc": 0x40, "packets": 295, "lost": 4, "src": "203.0.113.1:40000",
                "dst": "203.0.113.2:3478", "delta_ms_max": 114.0 }),
            stream(0x41),
            stream(0x42),
        ])
        .counter("tcp_holes", 1)
}

/// RFC 8656 section 12.4, padded to four bytes as over TCP.
fn channel_data(content: &[u8]) -> Vec<u8> {
    let mut message = vec![0x40, 0x01];
    message.extend((content.len() as u16).to_be_bytes());
    message.extend(content);
    message.resize(message.len().next_multiple_of(4), 0);
    message
}

/// RFC 8656 section 11.5: a peer's address and the data.
fn data_indication(content: &[u8]) -> Vec<u8> {
    let mut attributes = vec![0, 0x12, 0, 8, 0, 1, 0x32, 0xd6, 0xe1, 0x12, 0xa6, 0x43, 0, 0x13];
    attributes.extend((content.len() as u16).to_be_bytes());
    attributes.extend(content);
    attributes.resize(attributes.len().next_multiple_of(4), 0);
    let mut message = vec![0, 0x17];
    message.extend((attributes.len() as u16).to_be_bytes());
    message.extend([0x21, 0x12, 0xa4, 0x42]);
    message.extend([7; 12]);
    message.extend(attributes);
    message
}

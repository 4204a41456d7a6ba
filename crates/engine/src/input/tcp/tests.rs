use super::*;
use proptest::prelude::*;
use ringtap_wire::frame::TcpFlags;

const SYN: u8 = 2;
const FIN: u8 = 1;
const ACK: u8 = 16;

fn ends() -> (Endpoint, Endpoint) {
    let end = |last| Endpoint::new([192, 0, 2, last].into(), 5060);
    (end(1), end(2))
}

fn message(number: usize) -> Vec<u8> {
    let body = "x".repeat(number * 37 % 200);
    format!(
        "OPTIONS sip:a@example.com SIP/2.0\r\nCall-ID: {number}\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

struct Stream {
    table: Connections,
    timers: TimerWheel,
    got: Vec<Vec<u8>>,
    frames: Vec<Vec<u64>>,
    number: u64,
}

impl Stream {
    fn new() -> Self {
        let table = Connections::new(4, 64 << 10, Hasher::new(1));
        Self { table, timers: TimerWheel::new(4), got: Vec::new(), frames: Vec::new(), number: 0 }
    }

    fn segment(&mut self, seq: u32, flags: u8, data: &[u8]) {
        self.at(Nanos::from_secs(1), seq, flags, data, data.len());
    }

    fn at(&mut self, now: Nanos, seq: u32, flags: u8, data: &[u8], len: usize) {
        self.number += 1;
        let tcp = Tcp { src_port: 5060, dst_port: 5060, seq, ack: 0, flags: TcpFlags(flags), data, len };
        let Self { table, timers, got, frames, number } = self;
        table.push(ends(), &tcp, now, &[*number], timers, |delivery| {
            got.push(delivery.bytes.to_vec());
            frames.push(delivery.frames.to_vec());
        });
    }
}

#[test]
fn two_messages_in_a_segment_and_one_over_three() {
    let mut stream = Stream::new();
    let (a, b, c) = (message(1), message(2), message(3));
    stream.segment(99, SYN, &[]);
    let both = [&a[..], b"\r\n\r\n", &b[..]].concat();
    stream.segment(100, ACK, &both);
    let at = 100 + both.len() as u32;
    stream.segment(at, ACK, &c[..20]);
    stream.segment(at + 20, ACK, &c[20..50]);
    stream.segment(at + 50, ACK | FIN, &c[50..]);
    assert_eq!(stream.got, [a, b, c]);
    assert_eq!(stream.frames, [vec![2], vec![2], vec![3, 4, 5]]);
}

#[test]
fn starting_inside_a_message_loses_that_one_alone() {
    let mut stream = Stream::new();
    stream.segment(500, ACK, &message(1)[40..]);
    stream.segment(500 + message(1).len() as u32 - 40, ACK, &message(2));
    assert_eq!(stream.got, [message(2)]);
}

#[test]
fn a_hole_that_stays_costs_what_was_in_it() {
    let mut stream = Stream::new();
    let all: Vec<Vec<u8>> = (0..4).map(message).collect();
    let starts: Vec<u32> =
        all.iter().scan(100u32, |at, one| Some(std::mem::replace(at, *at + one.len() as u32))).collect();
    stream.segment(starts[0], ACK, &all[0]);
    stream.at(Nanos::from_secs(2), starts[2], ACK, &all[2], all[2].len());
    stream.at(Nanos::from_secs(9), starts[3], ACK, &all[3], all[3].len());
    assert_eq!(stream.got, [all[0].clone(), all[2].clone(), all[3].clone()]);
    assert_eq!(stream.table.counts.holes, 1);
}

#[test]
fn a_segment_that_the_capture_cut_is_a_hole() {
    let mut stream = Stream::new();
    let (a, b) = (message(1), message(2));
    stream.at(Nanos::ZERO, 100, ACK, &a[..30], a.len());
    stream.segment(100 + a.len() as u32, ACK, &b);
    assert_eq!(stream.got, [b]);
}

#[test]
fn turn_over_tcp_cut_anywhere() {
    let mut stun = vec![0, 0x17, 0, 8, 0x21, 0x12, 0xa4, 0x42];
    stun.extend([7; 12]);
    stun.extend([0, 0x13, 0, 4, 1, 2, 3, 4]);
    let channel = [0x40, 0, 0, 5, b'h', b'e', b'l', b'l', b'o'];
    let wire = [&stun[..], &channel, &[0; 3], &stun].concat();
    for cut in 8..wire.len() {
        let mut stream = Stream::new();
        stream.segment(100, ACK, &wire[..cut]);
        stream.segment(100 + cut as u32, ACK, &wire[cut..]);
        assert_eq!(stream.got, [&stun[..], &channel, &stun], "cut at {cut}");
    }
}

#[test]
fn websocket_masked_and_in_fragments() {
    let mut stream = Stream::new();
    let head = b"GET / HTTP/1.1\r\nHost: example.com\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Protocol: sip\r\n\r\n";
    let text = message(0);
    let frame = |first: u8, part: &[u8]| {
        let mask = [1, 2, 3, 4];
        let mut bytes = vec![first, 0x80 | part.len() as u8];
        bytes.extend(mask);
        bytes.extend(part.iter().enumerate().map(|(at, byte)| byte ^ mask[at % 4]));
        bytes
    };
    let wire =
        [&head[..], &frame(0x01, &text[..30]), &frame(0x89, b"ping"), &frame(0x80, &text[30..])].concat();
    for (index, chunk) in wire.chunks(17).enumerate() {
        stream.segment(1000 + index as u32 * 17, ACK, chunk);
    }
    assert_eq!(stream.got, [text]);
}

proptest! {
    /// Any cut, any order within a window, any segment again, overlapping its neighbours: the same messages.
    #[test]
    fn cut_anywhere_gives_the_same_messages(
        count in 1usize..12,
        cuts in proptest::collection::vec(1usize..300, 1..60),
        start in any::<u32>(),
        shuffle in any::<u64>(),
    ) {
        let messages: Vec<Vec<u8>> = (0..count).map(message).collect();
        let wire = messages.concat();
        let mut pieces = Vec::new();
        let mut at = 0;
        for cut in cuts.iter().cycle() {
            let end = (at + cut).min(wire.len());
            // Some reach back over what was sent before, some are sent again.
            let from = at.saturating_sub(cut % 5 * 3);
            pieces.push((from, end));
            if cut % 7 == 0 { pieces.push((at, end)); }
            at = end;
            if at == wire.len() { break; }
        }
        let hasher = Hasher::new(shuffle);
        for window in pieces.chunks_mut(6) {
            window.sort_by_key(|piece| hasher.of(*piece));
        }
        let mut stream = Stream::new();
        stream.segment(start.wrapping_sub(1), SYN, &[]);
        for (from, end) in pieces {
            stream.segment(start.wrapping_add(from as u32), ACK, &wire[from..end]);
        }
        prop_assert_eq!(stream.got, messages);
    }

    #[test]
    fn hostile_segments_never_panic(
        segments in proptest::collection::vec((any::<u32>(), 0u8..32, proptest::collection::vec(any::<u8>(), 0..80), 0usize..200, 0u64..20), 0..60),
    ) {
        let mut stream = Stream::new();
        for (seq, flags, data, more, secs) in segments {
            stream.at(Nanos::from_secs(secs), seq % 4096, flags, &data, data.len() + more);
        }
        stream.table.close(|_, _, _| {});
    }
}

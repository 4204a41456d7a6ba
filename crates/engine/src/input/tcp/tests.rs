use super::direction::MAX_HELD;
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
        let table = Connections::new(4, 64 << 10, 1 << 30, Hasher::new(1));
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
    let head = b"GET / HTTP/1.1\r\nHost: example.com\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
                 Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\
                 Sec-WebSocket-Protocol: sip\r\n\r\n";
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
        segments in proptest::collection::vec(
            (any::<u32>(), 0u8..32, proptest::collection::vec(any::<u8>(), 0..80), 0usize..200, 0u64..20),
            0..60,
        ),
    ) {
        let mut stream = Stream::new();
        for (seq, flags, data, more, secs) in segments {
            stream.at(Nanos::from_secs(secs), seq % 4096, flags, &data, data.len() + more);
        }
        stream.table.close(|_, _| {});
    }
}

/// RFC 9293 section 3.8.1: what lies behind a hole waits for it.
#[test]
fn segments_that_overtake_each_other_give_messages_in_order_with_their_frames() {
    let mut stream = Stream::new();
    let (a, b) = (message(1), message(2));
    let wire = [&a[..], &b].concat();
    stream.segment(99, SYN, &[]);
    stream.segment(100 + 60, ACK, &wire[60..]);
    assert!(stream.got.is_empty());
    stream.segment(100, ACK, &wire[..60]);
    assert_eq!(stream.got, [a, b]);
    assert_eq!(stream.frames, [[2, 3], [2, 3]]);
    assert_eq!(stream.table.counts, TcpCounts::default());
}

/// RFC 9293 section 3.7: what is sent again may be cut in other places.
#[test]
fn behind_a_hole_the_longest_copy_of_a_segment_is_held() {
    let (a, b) = (message(1), message(2));
    let wire = [&a[..], &b].concat();
    let behind = |len: usize| (160, &wire[60..60 + len]);
    for copies in [[behind(10), behind(wire.len() - 60)], [behind(wire.len() - 60), behind(10)]] {
        let mut stream = Stream::new();
        stream.segment(99, SYN, &[]);
        copies.into_iter().for_each(|(seq, bytes)| stream.segment(seq, ACK, bytes));
        stream.segment(100, ACK, &wire[..60]);
        assert_eq!(stream.got, [a.clone(), b.clone()]);
    }
}

#[test]
fn a_segment_that_is_sent_again_behind_a_hole_is_held_once() {
    let mut stream = Stream::new();
    stream.segment(99, SYN, &[]);
    for _ in 0..=MAX_HELD {
        stream.segment(1000, ACK, b"0123456789");
    }
    assert_eq!(stream.table.counts.holes, 0, "the hole is not given up");
}

#[test]
fn a_segment_that_is_sent_again_is_delivered_once() {
    let mut stream = Stream::new();
    let (a, b) = (message(1), message(2));
    stream.segment(100, ACK, &a);
    stream.segment(100, ACK, &a);
    let both = [&a[..], &b].concat();
    stream.segment(100, ACK, &both);
    assert_eq!(stream.got, [a, b]);
}

#[test]
fn a_hole_is_given_up_after_three_seconds() {
    for (seconds, messages) in [(4, 0), (5, 2)] {
        let mut stream = Stream::new();
        let at = Nanos::from_secs;
        stream.at(at(1), 99, SYN, &[], 0);
        stream.at(at(1), 5000, ACK, &message(1), message(1).len());
        let next = 5000 + message(1).len() as u32;
        stream.at(at(seconds), next, ACK, &message(2), message(2).len());
        assert_eq!(
            (stream.got.len(), stream.table.counts.holes),
            (messages, u64::from(messages > 0)),
            "{seconds} s"
        );
    }
}

#[test]
fn a_hole_is_given_up_when_more_waits_than_the_ceiling_or_the_connection_ends() {
    let mut stream = Stream::new();
    stream.segment(99, SYN, &[]);
    for index in 0..=MAX_HELD as u32 {
        stream.segment(1000 + index * 10, ACK, b"0123456789");
        assert_eq!(stream.table.counts.holes, u64::from(index == MAX_HELD as u32));
    }
    let mut stream = Stream::new();
    stream.segment(99, SYN, &[]);
    for index in 0..7 {
        assert_eq!(stream.table.counts.holes, 0);
        stream.segment(1000 + index * 10_000, ACK, &[b'x'; 10_000]);
    }
    assert_eq!(stream.table.counts.holes, 1);
    let mut stream = Stream::new();
    stream.segment(99, SYN, &[]);
    stream.segment(1000, ACK, &message(1));
    stream.segment(0, FIN, &[]);
    assert_eq!(stream.got, [message(1)]);
}

#[test]
fn a_jump_beyond_the_ceiling_begins_again() {
    let mut stream = Stream::new();
    stream.segment(100, ACK, &message(1)[..20]);
    stream.segment(100 + 20 + (64 << 10) + 1, ACK, &message(2));
    assert_eq!((stream.got.as_slice(), stream.table.counts.holes), ([message(2)].as_slice(), 1));
}

#[test]
fn a_new_connection_on_the_same_ports_forgets_the_old_one_and_a_repeated_syn_does_not() {
    let mut stream = Stream::new();
    let a = message(1);
    stream.segment(99, SYN, &[]);
    stream.segment(99, SYN, &[]);
    stream.segment(100, ACK, &a[..30]);
    stream.segment(4_000_000, SYN, &[]);
    stream.segment(4_000_001, ACK, &a);
    assert_eq!(stream.got, [a]);
}

#[test]
fn a_message_longer_than_the_ceiling_is_thrown_away_and_counted() {
    let mut stream = Stream::new();
    stream.table = Connections::new(4, 1000, 1 << 30, Hasher::new(1));
    let head = b"OPTIONS sip:a@example.com SIP/2.0\r\nCall-ID: 1\r\nContent-Length: 5000\r\n\r\n";
    stream.segment(100, ACK, head);
    let mut next = 100 + head.len() as u32;
    for _ in 0..4 {
        stream.segment(next, ACK, &[b'x'; 300]);
        next += 300;
    }
    assert!(stream.got.is_empty());
    assert_eq!(stream.table.counts.overflow, head.len() as u64 + 900);
}

#[test]
fn a_connection_is_followed_when_it_talks_on_5060_or_begins_like_signalling() {
    let wanted = |ports, flags, data: &[u8]| is_wanted(ports, TcpFlags(flags), data);
    assert!(wanted((5060, 40_000), SYN, b"") && wanted((40_000, 5060), SYN, b""));
    assert!(!wanted((5060, 40_000), ACK, b"") && !wanted((443, 40_000), SYN, b""));
    assert!(wanted((5060, 40_000), ACK, b"\x16anything"));
    assert!(wanted((8080, 40_000), ACK, b"INVITE sip:a@example.com SIP/2.0\r\n"));
    assert!(!wanted((8080, 40_000), ACK, b"GET / HTTP/1.1\r\nHost: example.com\r\n\r\n"));
    assert!(!wanted((443, 40_000), ACK, &[0x16, 3, 3, 0, 5, 1, 2, 3]));
    assert!(wanted((3478, 40_000), ACK, &[0, 1, 0, 0, 0x21, 0x12, 0xa4, 0x42]));
    assert!(!wanted((3478, 40_000), ACK, &[0x80, 1, 0, 0, 0x21, 0x12, 0xa4, 0x42]));
    assert!(!wanted((3478, 40_000), ACK, &[0, 1, 0, 0, 0x21, 0x12, 0xa4]));
}

#[test]
fn the_ceiling_counts_connections_of_two_directions() {
    let mut table = Connections::new(1, 1000, 1 << 30, Hasher::new(1));
    let mut timers = TimerWheel::new(4);
    let tcp =
        |flags| Tcp { src_port: 0, dst_port: 0, seq: 1, ack: 0, flags: TcpFlags(flags), data: &[], len: 0 };
    let end = |port| Endpoint::new([192, 0, 2, 1].into(), port);
    let text = message(1);
    let mut push = |table: &mut Connections, (src, dst), tcp: &Tcp<'_>| {
        table.push((end(src), end(dst)), tcp, Nanos::ZERO, &[1], &mut timers, |_| {});
    };
    // One that has said nothing gives way to another.
    for (src, dst, evicted) in [(5060, 1, 0), (1, 5060, 0), (5060, 2, 1)] {
        push(&mut table, (src, dst), &tcp(SYN));
        assert_eq!((table.counts.evicted, table.counts.refused), (evicted, 0));
    }
    // Those that have delivered messages do not.
    for ends in [(1, 5060), (5060, 2)] {
        push(&mut table, ends, &Tcp { seq: 2, data: &text, len: text.len(), ..tcp(ACK) });
    }
    push(&mut table, (5060, 3), &tcp(SYN));
    assert_eq!((table.counts.evicted, table.counts.refused), (1, 1));
    push(&mut table, (5060, 2), &tcp(FIN));
    push(&mut table, (5060, 3), &tcp(SYN));
    assert_eq!((table.counts.evicted, table.counts.refused), (1, 1));
}

#[test]
fn all_connections_together_hold_no_more_than_their_share() {
    let mut table = Connections::new(100, 1 << 16, 100_000, Hasher::new(1));
    let mut timers = TimerWheel::new(4);
    let end = |port| Endpoint::new([192, 0, 2, 1].into(), port);
    for port in 1..=20 {
        let text = if port == 1 { message(1) } else { b"INVITE sip:a@example.com SIP/2.0\r\nX: ".to_vec() };
        for (seq, data) in [(1, &text[..]), (1 + text.len() as u32, &[b'x'; 8_000])] {
            let flags = TcpFlags(ACK);
            let tcp = Tcp { src_port: 0, dst_port: 0, seq, ack: 0, flags, data, len: data.len() };
            table.push((end(5060), end(port)), &tcp, Nanos::ZERO, &[1], &mut timers, |_| {});
            assert!(table.memory <= 100_000);
        }
    }
    assert!(table.counts.evicted > 5);
    assert!(table.halves.iter().any(|(_, half)| half.key.1.port == 1), "the one that delivered a message");
    table.close(|_, _| {});
    assert_eq!(table.memory, 0);
}

#[test]
fn a_connection_without_data_for_ten_minutes_is_forgotten() {
    let mut stream = Stream::new();
    let at = Nanos::from_secs;
    stream.at(at(0), 99, SYN, &[], 0);
    stream.at(at(400), 100, ACK, &message(1), message(1).len());
    let ticket = stream.table.halves.ticket(0);
    let mut fired = Vec::new();
    stream.table.expire(ticket, at(600), &mut stream.timers);
    assert_eq!(stream.table.halves.len(), 1);
    stream.timers.expired(at(999), &mut fired);
    stream.table.expire(ticket, at(1000), &mut stream.timers);
    assert_eq!(stream.table.halves.len(), 0);
    assert!(stream.table.is_untracked(0));
}

#[test]
fn what_waits_behind_a_hole_when_the_input_ends_is_delivered_by_time() {
    let mut table = Connections::new(4, 64 << 10, 1 << 30, Hasher::new(1));
    let mut timers = TimerWheel::new(4);
    let end = |port| Endpoint::new([192, 0, 2, 1].into(), port);
    for (port, second) in [(9, 3), (7, 2), (8, 2)] {
        let text = message(usize::from(port));
        for (seq, flags, data) in [(99, SYN, &[][..]), (500, ACK, &text)] {
            let tcp = Tcp {
                src_port: 5060,
                dst_port: port,
                seq,
                ack: 0,
                flags: TcpFlags(flags),
                data,
                len: data.len(),
            };
            table.push((end(5060), end(port)), &tcp, Nanos::from_secs(second), &[1], &mut timers, |_| {});
        }
    }
    let mut ports = Vec::new();
    table.close(|(_, dst), delivery| {
        assert!(!delivery.bytes.is_empty());
        ports.push((dst.port, delivery.time.0 / 1_000_000_000));
    });
    assert_eq!(ports, [(7, 2), (8, 2), (9, 3)]);
    assert_eq!((table.halves.len(), table.counts.holes), (0, 3));
}

/// RFC 6455 section 5.2: lengths of 7 bits, 16 bits and 64 bits.
#[test]
fn websocket_messages_longer_than_the_ceiling_are_thrown_away_and_the_next_is_not() {
    let head = b"GET / HTTP/1.1\r\nHost: example.com\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
                 Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\
                 Sec-WebSocket-Protocol: sip\r\n\r\n";
    let frame = |first: u8, data: &[u8]| {
        let mut bytes = vec![first, 126];
        bytes.extend((data.len() as u16).to_be_bytes());
        bytes.extend(data);
        bytes
    };
    let mut table = Connections::new(4, 1000, 1 << 30, Hasher::new(1));
    let mut timers = TimerWheel::new(4);
    let mut seq = 1;
    let mut got: Vec<usize> = Vec::new();
    // 600 and 400 octets are the ceiling, one more is over it; what is left of that one is a message of its
    // own.
    let parts = [
        frame(0x01, &[b'x'; 600]),
        frame(0x80, &[b'y'; 400]),
        frame(0x01, &[b'x'; 600]),
        frame(0x80, &[b'y'; 401]),
        b"\x81\x05short".to_vec(),
    ];
    for part in std::iter::once(head.to_vec()).chain(parts) {
        let tcp = Tcp {
            src_port: 5060,
            dst_port: 5060,
            seq,
            ack: 0,
            flags: TcpFlags(ACK),
            data: &part,
            len: part.len(),
        };
        seq += part.len() as u32;
        table.push(ends(), &tcp, Nanos::from_secs(1), &[1], &mut timers, |delivery| {
            got.push(delivery.bytes.len())
        });
    }
    assert_eq!(got, [1000, 5]);
    assert_eq!(table.counts.overflow, 600);
}

/// An INVITE with that many bytes of body, and what looks like a request at the end of it.
fn long_message(body: usize) -> Vec<u8> {
    let inner = b"\r\nINVITE sip:inner@example.com SIP/2.0\r\nCall-ID: inner\r\nContent-Length: 0\r\n\r\n";
    let mut bytes =
        format!("INVITE sip:a@example.com SIP/2.0\r\nContent-Length: {body}\r\n\r\n").into_bytes();
    bytes.resize(bytes.len() + body - inner.len(), b'x');
    bytes.extend(inner);
    bytes
}

/// Sends a stream in segments of that many bytes, without those that `is_lost` names.
fn cut(wire: &[u8], size: usize, is_lost: impl Fn(usize) -> bool) -> Stream {
    let mut stream = Stream::new();
    for (index, piece) in wire.chunks(size).enumerate() {
        let (seq, at) = (100 + (index * size) as u32, Nanos::from_secs(index as u64));
        if is_lost(index) {
            stream.number += 1;
        } else {
            stream.at(at, seq, ACK, piece, piece.len());
        }
    }
    stream
}

#[test]
fn a_long_message_has_all_its_frames_and_nothing_is_found_in_it() {
    let (front, next) = (long::MAX_FRONT, message(3));
    for body in [65_600, 100_000, 900_000] {
        let wire = [message(1), long_message(body), next.clone()].concat();
        for size in [1_400, 9_000, 65_000] {
            let stream = cut(&wire, size, |_| false);
            let first = message(1).len();
            let front = [message(1), wire[first..first + front].to_vec(), next.clone()];
            assert_eq!(stream.got, front, "{body} in segments of {size}");
            let last = ((wire.len() - next.len() - 1) / size + 1) as u64;
            assert_eq!(stream.frames[1], (1..=last).collect::<Vec<_>>(), "{body} in segments of {size}");
            assert_eq!(stream.table.counts, TcpCounts::default());
        }
    }
    // What claims more is not believed: the body is looked through.
    let stream = cut(&long_message(2_000_000), 9_000, |_| false);
    assert_eq!((stream.got.len(), stream.got[0].len()), (2, 61));
}

#[test]
fn a_long_message_ends_where_its_rest_was_lost_or_never_comes() {
    let (long, next) = (long_message(200_000), message(3));
    let wire = [&long[..], &next].concat();
    // In the body, within what is kept or behind it: as long as its end is known, nothing is looked for.
    for lost in [20, 100] {
        let stream = cut(&wire, 1_400, |index| index == lost);
        let front = long::MAX_FRONT.min(lost * 1_400);
        assert_eq!(stream.got, [long[..front].to_vec(), next.clone()], "{lost}");
        assert!(!stream.frames[0].contains(&(lost as u64 + 1)), "{lost}");
        assert_eq!(stream.table.counts.holes, 1);
    }
    // Its end, together with the beginning of the next message.
    let end = long.len() / 1_400;
    let wire = [&wire[..], &next].concat();
    let mut stream = cut(&wire, 1_400, |index| index == end);
    stream.segment(100 + wire.len() as u32, FIN, &[]);
    assert_eq!(stream.got[0], &long[..long::MAX_FRONT]);
    // The end of the connection, of the input, or a new connection.
    let begun = &long[..70_000];
    let mut stream = cut(begun, 1_400, |_| false);
    assert_eq!(stream.got.len(), 0);
    stream.segment(100 + begun.len() as u32, FIN, &[]);
    assert_eq!(stream.got, [&long[..long::MAX_FRONT]]);
    let mut stream = cut(begun, 1_400, |_| false);
    let mut left = Vec::new();
    stream.table.close(|_, delivery| left.push(delivery.bytes.to_vec()));
    assert_eq!(left, [&long[..long::MAX_FRONT]]);
    let mut stream = cut(begun, 1_400, |_| false);
    stream.segment(7_000_000, SYN, &[]);
    stream.segment(7_000_001, ACK, &next);
    assert_eq!(stream.got, [next]);
}

#[test]
fn a_long_message_that_the_capture_cut_is_one_message() {
    let mut stream = Stream::new();
    let (long, next) = (long_message(100_000), message(3));
    for (index, piece) in long.chunks(1_400).enumerate() {
        let seq = 100 + (index * 1_400) as u32;
        stream.at(Nanos::from_secs(1), seq, ACK, &piece[..piece.len().min(500)], piece.len());
    }
    stream.segment(100 + long.len() as u32, ACK, &next);
    assert_eq!(stream.got, [long[..500].to_vec(), next]);
}

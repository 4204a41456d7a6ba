//! SIP messages out of TCP: RFC 9293 sequence space, RFC 3261 section 18.3 framing, RFC 7118 WebSocket.
//!
//! Any cut, any order, retransmitted, overlapping, starting in mid-stream. Only connections that carry signalling are
//! followed: one that talks on port 5060, begins a segment with a SIP message, or upgrades to WebSocket.

use ringtap_model::{Endpoint, Nanos, Transport};
use ringtap_wire::frame::{Tcp, TcpFlags};
use ringtap_wire::{sip, websocket};

use crate::context::Hop;
use crate::media::{FlowKey, Key};
use crate::table::hash::Hasher;
use crate::table::index::{Index, NONE};
use crate::table::slots::{Slots, Ticket};
use crate::table::timers::{Timer, TimerOwner, TimerWheel};

/// A hole that is still there after this long was lost by the capture, not on the way.
const HOLE_LIMIT: Nanos = Nanos::from_secs(3);
/// A connection without data for this long is forgotten; a later message starts it anew.
const IDLE: Nanos = Nanos::from_secs(600);
/// Segments held back behind a hole.
const MAX_AHEAD: usize = 256;
const SIP_PORT: u16 = 5060;

/// One direction of a connection.
struct Half {
    key: (Endpoint, Endpoint),
    hash: u64,
    /// Sequence number of the next byte; None until the first segment.
    next: Option<u32>,
    /// Upgraded to WebSocket.
    websocket: bool,
    /// Carries TURN (RFC 8656).
    turn: bool,
    /// Bytes in order that are not yet a whole message.
    buffer: Vec<u8>,
    /// Frames that `buffer` came from.
    frames: Vec<u64>,
    /// Segments behind a hole.
    ahead: Vec<Segment>,
    ahead_bytes: usize,
    hole_since: Nanos,
    /// A WebSocket message that continues.
    message: Vec<u8>,
    last: Nanos,
}

struct Segment {
    seq: u32,
    bytes: Vec<u8>,
    /// Length on the wire.
    len: u32,
    frames: Vec<u64>,
}

/// What was not delivered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TcpCounts {
    /// Connections not followed at the ceiling.
    pub(crate) refused: u64,
    /// Holes that were never filled.
    pub(crate) holes: u64,
    /// Bytes thrown away at a ceiling.
    pub(crate) overflow: u64,
}

/// The connections that carry signalling.
pub(crate) struct Connections {
    halves: Slots<Half>,
    index: Index,
    hasher: Hasher,
    max_bytes: usize,
    scratch: Vec<u8>,
    pub(crate) counts: TcpCounts,
}

/// A whole message out of a connection.
pub(crate) struct Delivery<'a> {
    pub(crate) bytes: &'a [u8],
    /// STUN or TURN channel data, not SIP.
    pub(crate) is_turn: bool,
    pub(crate) transport: Transport,
    pub(crate) frames: &'a [u64],
}

impl Delivery<'_> {
    /// A copy that outlives the connection's buffers, with the hop that it came on.
    pub(crate) fn into_owned(self, (src, dst): (Endpoint, Endpoint), time: Nanos) -> DeliveredMessage {
        let hop = Hop { time, src, dst, transport: self.transport };
        let (bytes, frames) = (self.bytes.to_vec(), self.frames.to_vec());
        DeliveredMessage { bytes, is_turn: self.is_turn, hop, frames }
    }
}

/// See [`Delivery::into_owned`].
pub(crate) struct DeliveredMessage {
    pub(crate) bytes: Vec<u8>,
    pub(crate) is_turn: bool,
    pub(crate) hop: Hop,
    pub(crate) frames: Vec<u64>,
}

impl Connections {
    pub(crate) fn new(ceiling: usize, max_bytes: usize, hasher: Hasher) -> Self {
        Self {
            // Two directions each.
            halves: Slots::new(ceiling.saturating_mul(2)),
            index: Index::new(ceiling.saturating_mul(2)),
            hasher,
            max_bytes,
            scratch: Vec::new(),
            counts: TcpCounts::default(),
        }
    }

    /// Takes one segment and hands on each message that it completes.
    pub(crate) fn push(
        &mut self,
        (src, dst): (Endpoint, Endpoint),
        tcp: &Tcp<'_>,
        now: Nanos,
        frames: &[u64],
        timers: &mut TimerWheel,
        mut deliver: impl FnMut(Delivery<'_>),
    ) {
        let key = (src, dst);
        let hash = Key::of(&FlowKey { src, dst, ssrc: 0 }, &self.hasher).0.hash(&self.hasher);
        let found = self.index.find(hash, |slot| self.halves[slot].key == key);
        let slot = match found {
            Some(slot) => slot,
            None => match self.begin(key, hash, tcp, now) {
                Some(slot) => {
                    timers.arm(
                        now + IDLE,
                        Timer { owner: TimerOwner::Connections, ticket: self.halves.ticket(slot) },
                    );
                    slot
                }
                None => return,
            },
        };
        let half = &mut self.halves[slot];
        half.last = now;
        let mut work = Work {
            counts: &mut self.counts,
            scratch: &mut self.scratch,
            deliver: &mut deliver,
            max: self.max_bytes,
        };
        if tcp.flags.syn() {
            half.restart(tcp.seq.wrapping_add(1));
        } else if tcp.len > 0 {
            half.segment(tcp.seq, tcp.data, tcp.len as u32, now, frames, &mut work);
        }
        if tcp.flags.fin() || tcp.flags.rst() {
            half.skip_holes(&mut work);
            self.remove(slot);
        }
    }

    /// Whether no followed connection has that hash, which is the one of its addresses and ports as [`Key`] has them: then a
    /// segment that [`is_wanted`] does not want is nobody's. HOT.
    #[inline]
    pub(crate) fn is_untracked(&self, hash: u64) -> bool {
        self.halves.len() == 0 || self.index.first(hash) == NONE
    }

    /// A connection's timer fired.
    pub(crate) fn expire(&mut self, ticket: Ticket, now: Nanos, timers: &mut TimerWheel) {
        let Some(slot) = self.halves.redeem(ticket) else { return };
        let deadline = self.halves[slot].last + IDLE;
        if deadline > now {
            timers.arm(deadline, Timer { owner: TimerOwner::Connections, ticket });
        } else {
            self.remove(slot);
        }
    }

    /// At the end of the input: what waits behind a hole is handed on.
    pub(crate) fn close(&mut self, mut deliver: impl FnMut((Endpoint, Endpoint), Nanos, Delivery<'_>)) {
        // An order that names no place in the table: it is the same for any number of workers.
        let mut slots = self.halves.indices();
        slots.sort_by_key(|slot| (self.halves[*slot].last, self.halves[*slot].key));
        for slot in slots {
            let half = &mut self.halves[slot];
            let (key, last) = (half.key, half.last);
            let mut each = |delivery: Delivery<'_>| deliver(key, last, delivery);
            let mut work = Work {
                counts: &mut self.counts,
                scratch: &mut self.scratch,
                deliver: &mut each,
                max: self.max_bytes,
            };
            half.skip_holes(&mut work);
            self.remove(slot);
        }
    }

    fn begin(&mut self, key: (Endpoint, Endpoint), hash: u64, tcp: &Tcp<'_>, now: Nanos) -> Option<u32> {
        let wanted = is_wanted((key.0.port, key.1.port), tcp.flags, tcp.data);
        if !wanted {
            return None;
        }
        let half = Half {
            key,
            hash,
            next: None,
            websocket: false,
            turn: false,
            buffer: Vec::new(),
            frames: Vec::new(),
            ahead: Vec::new(),
            ahead_bytes: 0,
            hole_since: now,
            message: Vec::new(),
            last: now,
        };
        let Some(slot) = self.halves.insert(half) else {
            self.counts.refused += 1;
            return None;
        };
        self.index.insert(hash, slot);
        Some(slot)
    }

    fn remove(&mut self, slot: u32) {
        if let Some(half) = self.halves.remove(slot) {
            self.index.remove(half.hash, slot);
        }
    }
}

/// Whether a segment begins a connection that is worth following. HOT: most segments carry nothing, or what is encrypted; no
/// start line and no upgrade begins with anything but a graphic character.
#[inline]
pub(crate) fn is_wanted(ports: (u16, u16), flags: TcpFlags, data: &[u8]) -> bool {
    let on_port = ports.0 == SIP_PORT || ports.1 == SIP_PORT;
    match data {
        [] => flags.syn() && on_port,
        [first, ..] if !on_port && !first.is_ascii_graphic() => begins_turn(data),
        data => on_port || sip::sniff(data) == Some(0) || is_upgrade(data) || begins_turn(data),
    }
}

struct Work<'a, D> {
    counts: &'a mut TcpCounts,
    scratch: &'a mut Vec<u8>,
    deliver: &'a mut D,
    max: usize,
}

impl Half {
    /// A new connection on the same ports. A SYN that is sent again changes nothing.
    fn restart(&mut self, next: u32) {
        if self.next == Some(next) {
            return;
        }
        self.next = Some(next);
        self.websocket = false;
        self.turn = false;
        self.buffer.clear();
        self.frames.clear();
        self.ahead.clear();
        self.ahead_bytes = 0;
        self.message.clear();
    }

    fn segment<D: FnMut(Delivery<'_>)>(
        &mut self,
        seq: u32,
        data: &[u8],
        len: u32,
        now: Nanos,
        frames: &[u64],
        work: &mut Work<'_, D>,
    ) {
        let next = *self.next.get_or_insert(seq);
        let ahead = seq.wrapping_sub(next) as i32;
        if ahead <= 0 {
            self.in_order(seq, data, len, frames, work);
            self.drain(work);
        } else if ahead as usize > work.max {
            // Not this connection any more, or one whose bytes the capture lost: begin again here.
            work.counts.holes += 1;
            self.restart(seq);
            self.in_order(seq, data, len, frames, work);
        } else {
            self.hold(Segment { seq, bytes: data.to_vec(), len, frames: frames.to_vec() }, now);
        }
        let full = self.ahead_bytes > work.max || self.ahead.len() > MAX_AHEAD;
        if !self.ahead.is_empty() && (full || now.since(self.hole_since) > HOLE_LIMIT) {
            self.skip_holes(work);
        }
    }

    fn hold(&mut self, segment: Segment, now: Nanos) {
        if self.ahead.is_empty() {
            self.hole_since = now;
        }
        if self.ahead.iter().any(|other| other.seq == segment.seq && other.len >= segment.len) {
            return;
        }
        self.ahead_bytes += segment.bytes.len();
        self.ahead.push(segment);
    }

    /// Takes held segments that have become due.
    fn drain<D: FnMut(Delivery<'_>)>(&mut self, work: &mut Work<'_, D>) {
        while let Some(next) = self.next {
            let due = self.ahead.iter().position(|segment| segment.seq.wrapping_sub(next) as i32 <= 0);
            let Some(place) = due else { return };
            let segment = self.ahead.swap_remove(place);
            self.ahead_bytes -= segment.bytes.len();
            self.in_order(segment.seq, &segment.bytes, segment.len, &segment.frames, work);
        }
    }

    /// Gives holes up and takes what lies behind them.
    fn skip_holes<D: FnMut(Delivery<'_>)>(&mut self, work: &mut Work<'_, D>) {
        while let Some(next) = self.next {
            let Some(nearest) =
                self.ahead.iter().map(|segment| segment.seq).min_by_key(|seq| seq.wrapping_sub(next))
            else {
                return;
            };
            work.counts.holes += 1;
            self.buffer.clear();
            self.frames.clear();
            self.message.clear();
            self.next = Some(nearest);
            self.drain(work);
        }
    }

    /// Takes a segment that begins at or before the next byte.
    fn in_order<D: FnMut(Delivery<'_>)>(
        &mut self,
        seq: u32,
        data: &[u8],
        len: u32,
        frames: &[u64],
        work: &mut Work<'_, D>,
    ) {
        let Some(next) = self.next else { return };
        let old = next.wrapping_sub(seq);
        if old >= len {
            return;
        }
        self.next = Some(seq.wrapping_add(len));
        let fresh = data.get(old as usize..).unwrap_or_default();
        if self.buffer.is_empty() && !self.is_special() && !is_upgrade(fresh) && !begins_turn(fresh) {
            // Whole messages in one segment, the usual case: nothing is copied.
            let used = consume_sip(fresh, frames, work);
            self.keep(&fresh[used..], frames, work);
        } else {
            self.keep(fresh, frames, work);
            self.consume(work);
        }
        if data.len() < len as usize {
            // The rest was on the wire, but not in the capture.
            self.buffer.clear();
            self.frames.clear();
        }
    }

    fn keep<D>(&mut self, bytes: &[u8], frames: &[u64], work: &mut Work<'_, D>) {
        if bytes.is_empty() {
            return;
        }
        if self.buffer.len() + bytes.len() > work.max {
            work.counts.overflow += self.buffer.len() as u64;
            self.buffer.clear();
            self.frames.clear();
        }
        self.buffer.extend_from_slice(bytes);
        for frame in frames {
            if self.frames.last() != Some(frame) {
                self.frames.push(*frame);
            }
        }
    }

    fn consume<D: FnMut(Delivery<'_>)>(&mut self, work: &mut Work<'_, D>) {
        if !self.is_special() {
            self.turn = begins_turn(&self.buffer);
        }
        if !self.is_special() {
            match websocket::upgrade(&self.buffer) {
                websocket::Upgrade::Complete(head) => {
                    self.websocket = true;
                    // Its frames go with the first message: without the handshake nobody can read that again.
                    self.buffer.drain(..head.min(self.buffer.len()));
                }
                websocket::Upgrade::Incomplete => return,
                websocket::Upgrade::No => {}
            }
        }
        // A segment that filled a hole was captured after those behind it; frames are told in order of capture.
        let in_stream = self.frames.clone();
        self.frames.sort_unstable();
        let used = if self.turn {
            consume_turn(&self.buffer, &self.frames, work)
        } else if self.websocket {
            self.consume_websocket(work)
        } else {
            consume_sip(&self.buffer, &self.frames, work)
        };
        self.frames = in_stream;
        self.drop_front(used);
    }

    /// Whether what it carries is framed by something else than SIP.
    fn is_special(&self) -> bool {
        self.websocket || self.turn
    }

    fn drop_front(&mut self, used: usize) {
        if used == 0 {
            return;
        }
        self.buffer.drain(..used.min(self.buffer.len()));
        // What is left came with the last segment, as a rule.
        let last = self.frames.last().copied();
        self.frames.clear();
        if !self.buffer.is_empty() {
            self.frames.extend(last);
        }
    }

    /// RFC 6455 section 5: frames to messages. One WebSocket message is one SIP message (RFC 7118 section 5).
    fn consume_websocket<D: FnMut(Delivery<'_>)>(&mut self, work: &mut Work<'_, D>) -> usize {
        let mut used = 0;
        loop {
            let header = match websocket::Header::parse(&self.buffer[used..]) {
                Ok(Some(header)) => header,
                Ok(None) => return used,
                // Not WebSocket after all, or out of step: nothing here can be trusted.
                Err(_) => return self.buffer.len(),
            };
            let start = used + header.header_len;
            let Some(payload) = self.buffer.get(start..start + header.payload_len) else { return used };
            used = start + header.payload_len;
            // Control frames (RFC 6455 section 5.5) may stand between the frames of a message.
            if header.opcode >= 8 {
                continue;
            }
            if header.opcode != 0 {
                self.message.clear();
            }
            if self.message.len() + payload.len() > work.max {
                work.counts.overflow += self.message.len() as u64;
                self.message.clear();
                continue;
            }
            work.scratch.clear();
            work.scratch.extend_from_slice(payload);
            if let Some(mask) = header.mask {
                websocket::unmask(mask, work.scratch);
            }
            self.message.extend_from_slice(work.scratch);
            if header.fin {
                (work.deliver)(Delivery {
                    bytes: &self.message,
                    is_turn: false,
                    transport: Transport::Ws,
                    frames: &self.frames,
                });
                self.message.clear();
            }
        }
    }
}

/// STUN's magic cookie where RFC 8489 section 5 has it.
fn begins_turn(data: &[u8]) -> bool {
    data.first().is_some_and(|first| first >> 6 == 0) && data.get(4..8) == Some(&[0x21, 0x12, 0xa4, 0x42])
}

/// RFC 8489 section 6.2.2 and RFC 8656 section 12.5: messages and channel data tell their length; the latter is padded
/// to four bytes over TCP. Gives the bytes used.
fn consume_turn<D: FnMut(Delivery<'_>)>(bytes: &[u8], frames: &[u64], work: &mut Work<'_, D>) -> usize {
    let mut used = 0;
    while let Some(&[first, _, high, low]) = bytes.get(used..).and_then(|rest| rest.first_chunk::<4>()) {
        let stated = usize::from(u16::from_be_bytes([high, low]));
        let (len, padded) = match first >> 6 {
            0 => (20 + stated, 20 + stated),
            1 => (4 + stated, 4 + stated.next_multiple_of(4)),
            // Out of step: nothing here can be trusted.
            _ => return bytes.len(),
        };
        if bytes.len() - used < padded {
            break;
        }
        let message = &bytes[used..used + len];
        (work.deliver)(Delivery { bytes: message, is_turn: true, transport: Transport::Tcp, frames });
        used += padded;
    }
    used
}

fn is_upgrade(data: &[u8]) -> bool {
    !matches!(websocket::upgrade(data), websocket::Upgrade::No)
}

/// Hands on each whole message at the front; gives the bytes used.
fn consume_sip<D: FnMut(Delivery<'_>)>(bytes: &[u8], frames: &[u64], work: &mut Work<'_, D>) -> usize {
    let mut used = 0;
    loop {
        let rest = &bytes[used..];
        if rest.is_empty() {
            return used;
        }
        match sip::framing(rest) {
            sip::Framing::Incomplete => return used,
            sip::Framing::Message(len) => {
                let len = len.clamp(1, rest.len());
                (work.deliver)(Delivery {
                    bytes: &rest[..len],
                    is_turn: false,
                    transport: Transport::Tcp,
                    frames,
                });
                used += len;
            }
            sip::Framing::Skip(len) => used += len.clamp(1, rest.len()),
        }
    }
}

#[cfg(test)]
mod tests {
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
}

//! One direction of a connection: RFC 9293 sequence space into bytes in order, with gaps given up.

use ringtap_model::{Endpoint, Nanos, Transport};
use ringtap_wire::sip::FramingProgress;
use ringtap_wire::websocket;

use super::framing::{Delivery, MessageKind, Output, TurnStream, carries_turn, consume_sip, is_upgrade};
use super::long::{LongMessage, MAX_FRONT};
use crate::tcp_wants::TcpFraming;

/// A hole that is still there after this long was lost by the capture, not on the way.
const HOLE_LIMIT: Nanos = Nanos::from_secs(3);
/// Bytes of memory that a direction keeps for its next message.
const SPARE: usize = 2048;
/// Segments held back behind a hole.
pub(super) const MAX_HELD: usize = 256;

/// One direction of a connection.
pub(super) struct HalfConnection {
    pub(super) key: (Endpoint, Endpoint),
    pub(super) hash: u64,
    /// Sequence number of the next byte; None until the first segment.
    pub(super) next: Option<u32>,
    /// Upgraded to WebSocket.
    websocket: bool,
    /// Carries TURN (RFC 8656).
    turn: Option<TurnStream>,
    /// Carries what the added tracker wants.
    added: Option<fn(&[u8]) -> TcpFraming>,
    /// Bytes in order that are not yet a whole message.
    buffer: Vec<u8>,
    /// Frames that `buffer` came from, ascending: a segment that filled a hole was captured after those
    /// behind it.
    frames: Vec<u64>,
    /// The frame that the last bytes of `buffer` came in.
    last_frame: u64,
    /// How far `buffer` was read: as SIP, and as the head of an upgrade.
    progress: FramingProgress,
    upgrade_seen: usize,
    /// `buffer` is the front of a long message.
    long: Option<LongMessage>,
    /// Segments behind a hole.
    held: Vec<Segment>,
    held_bytes: usize,
    hole_since: Nanos,
    /// A WebSocket message that continues.
    message: Vec<u8>,
    pub(super) last: Nanos,
    /// Bytes that the table counts for it.
    pub(super) memory: usize,
}

struct Segment {
    seq: u32,
    bytes: Vec<u8>,
    /// Length on the wire.
    len: u32,
    frames: Vec<u64>,
    time: Nanos,
}

impl Segment {
    fn heap_bytes(&self) -> usize {
        self.bytes.capacity() + self.frames.capacity() * size_of::<u64>()
    }
}

impl HalfConnection {
    pub(super) fn new(
        key: (Endpoint, Endpoint),
        hash: u64,
        now: Nanos,
        added: Option<fn(&[u8]) -> TcpFraming>,
    ) -> Self {
        Self {
            key,
            hash,
            next: None,
            websocket: false,
            turn: None,
            added,
            buffer: Vec::new(),
            frames: Vec::new(),
            last_frame: 0,
            progress: FramingProgress::default(),
            upgrade_seen: 0,
            long: None,
            held: Vec::new(),
            held_bytes: 0,
            hole_since: now,
            message: Vec::new(),
            last: now,
            memory: 0,
        }
    }

    /// A new connection on the same ports. A SYN that is sent again changes nothing.
    pub(super) fn restart(&mut self, next: u32) {
        if self.next == Some(next) {
            return;
        }
        self.next = Some(next);
        self.websocket = false;
        self.turn = None;
        self.clear_buffer();
        self.held = Vec::new();
        self.held_bytes = 0;
        self.message = Vec::new();
    }

    /// Throws away what is not yet a whole message.
    fn clear_buffer(&mut self) {
        self.long = None;
        self.drop_front(self.buffer.len());
        if let Some(turn) = &mut self.turn {
            turn.lose();
        }
    }

    /// What it holds on the heap, in bytes.
    pub(super) fn heap_bytes(&self) -> usize {
        let held = self.held.capacity() * size_of::<Segment>() + self.held_bytes;
        self.buffer.capacity() + self.frames.capacity() * size_of::<u64>() + held + self.message.capacity()
    }

    pub(super) fn segment<D: FnMut(Delivery<'_>)>(
        &mut self,
        seq: u32,
        data: &[u8],
        len: u32,
        now: Nanos,
        frames: &[u64],
        output: &mut Output<'_, D>,
    ) {
        let next = *self.next.get_or_insert(seq);
        let ahead = seq.wrapping_sub(next) as i32;
        if ahead <= 0 {
            self.in_order(seq, data, len, frames, output);
            self.drain(false, output);
        } else if ahead as usize > output.max {
            // Not this connection any more, or one whose bytes the capture lost: begin again here.
            output.counts.holes += 1;
            self.end_long(output);
            self.restart(seq);
            self.in_order(seq, data, len, frames, output);
        } else {
            self.hold_back(Segment { seq, bytes: data.to_vec(), len, frames: frames.to_vec(), time: now });
        }
        let full = self.held_bytes > output.max || self.held.len() > MAX_HELD;
        if !self.held.is_empty() && (full || now.since(self.hole_since) > HOLE_LIMIT) {
            self.skip_holes(output);
        }
    }

    fn hold_back(&mut self, segment: Segment) {
        if self.held.is_empty() {
            self.hole_since = segment.time;
        }
        if self.held.iter().any(|other| other.seq == segment.seq && other.len >= segment.len) {
            return;
        }
        self.held_bytes += segment.heap_bytes();
        self.held.push(segment);
    }

    /// Takes held segments that have become due. Media behind a hole that nothing filled came when they were
    /// captured: the capture has the hole, not the connection.
    fn drain<D: FnMut(Delivery<'_>)>(&mut self, is_given_up: bool, output: &mut Output<'_, D>) {
        let now = output.time;
        while let Some(next) = self.next {
            let due = self.held.iter().position(|segment| segment.seq.wrapping_sub(next) as i32 <= 0);
            let Some(index) = due else { break };
            let segment = self.held.swap_remove(index);
            self.held_bytes -= segment.heap_bytes();
            if is_given_up && self.turn.is_some() {
                output.time = segment.time;
            }
            self.in_order(segment.seq, &segment.bytes, segment.len, &segment.frames, output);
        }
        output.time = now;
        if self.held.is_empty() {
            self.held = Vec::new();
        }
    }

    /// Gives holes up and takes what lies behind them.
    pub(super) fn skip_holes<D: FnMut(Delivery<'_>)>(&mut self, output: &mut Output<'_, D>) {
        while let Some(next) = self.next {
            let Some(nearest) =
                self.held.iter().map(|segment| segment.seq).min_by_key(|seq| seq.wrapping_sub(next))
            else {
                return;
            };
            output.counts.holes += 1;
            self.lose(nearest.wrapping_sub(next), output);
            self.next = Some(nearest);
            self.drain(true, output);
        }
    }

    /// That many bytes in order will not come any more.
    fn lose<D: FnMut(Delivery<'_>)>(&mut self, count: u32, output: &mut Output<'_, D>) {
        if self.long.as_mut().is_some_and(|long| long.lose(count as usize)) {
            return;
        }
        self.end_long(output);
        self.clear_buffer();
        self.message = Vec::new();
    }

    /// Hands on what there is of a long message.
    #[cold]
    pub(super) fn end_long<D: FnMut(Delivery<'_>)>(&mut self, output: &mut Output<'_, D>) {
        if self.long.take().is_some() && !self.buffer.is_empty() {
            (output.deliver)(Delivery {
                bytes: &self.buffer,
                kind: MessageKind::Sip,
                transport: Transport::Tcp,
                time: output.time,
                frames: &self.frames,
            });
            self.clear_buffer();
        }
    }

    /// A message of `len` bytes begins the buffer, of which `there` are there.
    #[cold]
    fn begin_long(&mut self, len: usize, there: usize) {
        self.long = Some(LongMessage::new(len.saturating_sub(there)));
        self.buffer.truncate(MAX_FRONT);
    }

    /// Takes bytes of a long message, and returns those behind it.
    #[cold]
    fn take_long<'a, D: FnMut(Delivery<'_>)>(
        &mut self,
        bytes: &'a [u8],
        frames: &[u64],
        output: &mut Output<'_, D>,
    ) -> &'a [u8] {
        let Some(long) = &mut self.long else { return bytes };
        let rest = long.take(bytes, &mut self.buffer);
        let is_whole = long.is_whole();
        self.add_frames(frames);
        if is_whole {
            self.end_long(output);
        }
        rest
    }

    /// Takes a segment that begins at or before the next byte.
    fn in_order<D: FnMut(Delivery<'_>)>(
        &mut self,
        seq: u32,
        data: &[u8],
        len: u32,
        frames: &[u64],
        output: &mut Output<'_, D>,
    ) {
        let Some(next) = self.next else { return };
        let old = next.wrapping_sub(seq);
        if old >= len {
            return;
        }
        self.next = Some(seq.wrapping_add(len));
        let mut fresh = data.get(old as usize..).unwrap_or_default();
        if self.long.is_some() {
            fresh = self.take_long(fresh, frames, output);
        }
        if self.long.is_none() {
            self.read(fresh, frames, output);
        }
        if data.len() < len as usize {
            // The rest was on the wire, but not in the capture.
            self.lose(len - old.max(data.len() as u32), output);
        }
    }

    /// Hands on each message that these bytes complete.
    fn read<D: FnMut(Delivery<'_>)>(&mut self, fresh: &[u8], frames: &[u64], output: &mut Output<'_, D>) {
        if self.buffer.is_empty() && !self.is_special() && !is_upgrade(fresh) && !self.carries_turn(fresh) {
            // Whole messages in one segment, the usual case: nothing is copied.
            let (used, long) = consume_sip(fresh, frames, &mut self.progress, output);
            self.append(&fresh[used..], frames, output);
            if let Some(len) = long {
                self.begin_long(len, fresh.len() - used);
            }
        } else {
            self.append(fresh, frames, output);
            self.consume(output);
        }
    }

    fn append<D>(&mut self, bytes: &[u8], frames: &[u64], output: &mut Output<'_, D>) {
        if bytes.is_empty() {
            return;
        }
        if self.buffer.len() + bytes.len() > output.max {
            output.counts.overflow += self.buffer.len() as u64;
            self.clear_buffer();
        }
        self.buffer.extend_from_slice(bytes);
        self.add_frames(frames);
    }

    fn add_frames(&mut self, frames: &[u64]) {
        for &frame in frames {
            let place = self.frames.partition_point(|other| *other < frame);
            if self.frames.get(place) != Some(&frame) {
                self.frames.insert(place, frame);
            }
            self.last_frame = frame;
        }
    }

    fn consume<D: FnMut(Delivery<'_>)>(&mut self, output: &mut Output<'_, D>) {
        if !self.is_special() && self.carries_turn(&self.buffer) {
            self.turn = Some(TurnStream::new());
        }
        if !self.is_special() {
            match websocket::upgrade_again(&self.buffer, self.upgrade_seen) {
                websocket::Upgrade::Complete(head) => {
                    (self.websocket, self.upgrade_seen) = (true, 0);
                    // Its frames go with the first message: without the handshake nobody can read that again.
                    self.buffer.drain(..head.min(self.buffer.len()));
                }
                websocket::Upgrade::Incomplete => {
                    self.upgrade_seen = self.buffer.len();
                    return;
                }
                websocket::Upgrade::No => self.upgrade_seen = 0,
            }
        }
        let ports = self.ports();
        let mut long = None;
        let used = if let Some(framing) = self.added {
            self.consume_added(framing, output)
        } else if let Some(turn) = &mut self.turn {
            turn.consume(&self.buffer, (ports, &self.frames), output)
        } else if self.websocket {
            self.consume_websocket(output)
        } else {
            let (used, begun) = consume_sip(&self.buffer, &self.frames, &mut self.progress, output);
            long = begun;
            used
        };
        self.drop_front(used);
        if let Some(len) = long {
            self.begin_long(len, self.buffer.len());
        }
    }

    fn ports(&self) -> (u16, u16) {
        (self.key.0.port, self.key.1.port)
    }

    fn carries_turn(&self, bytes: &[u8]) -> bool {
        carries_turn(self.ports(), bytes)
    }

    /// Whether what it carries is framed by something else than SIP.
    fn is_special(&self) -> bool {
        self.websocket || self.turn.is_some() || self.added.is_some()
    }

    /// Hands on each whole message of the added tracker; gives the bytes used.
    fn consume_added<D: FnMut(Delivery<'_>)>(
        &mut self,
        framing: fn(&[u8]) -> TcpFraming,
        output: &mut Output<'_, D>,
    ) -> usize {
        let mut used = 0;
        while let Some(rest) = self.buffer.get(used..).filter(|rest| !rest.is_empty()) {
            let (len, time) = match framing(rest) {
                TcpFraming::Incomplete => break,
                TcpFraming::OutOfStep => return self.buffer.len(),
                TcpFraming::Message(len) => (len.clamp(1, rest.len()), output.time),
            };
            let (bytes, frames) = (&rest[..len], &self.frames[..]);
            let (kind, transport) = (MessageKind::Added, Transport::Tcp);
            (output.deliver)(Delivery { bytes, kind, transport, time, frames });
            used += len;
        }
        used
    }

    /// Throws bytes away that were read. What was large gives its memory back.
    fn drop_front(&mut self, used: usize) {
        if used == 0 {
            return;
        }
        self.buffer.drain(..used.min(self.buffer.len()));
        self.buffer.shrink_to(self.buffer.len().max(SPARE));
        self.frames.clear();
        self.frames.shrink_to(SPARE / size_of::<u64>());
        // What is left came with the last segment, as a rule.
        if !self.buffer.is_empty() {
            self.frames.push(self.last_frame);
        } else {
            (self.progress, self.upgrade_seen) = (FramingProgress::default(), 0);
        }
    }

    /// RFC 6455 section 5: frames to messages. One WebSocket message is one SIP message (RFC 7118 section 5).
    fn consume_websocket<D: FnMut(Delivery<'_>)>(&mut self, output: &mut Output<'_, D>) -> usize {
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
            if self.message.len() + payload.len() > output.max {
                output.counts.overflow += self.message.len() as u64;
                self.message.clear();
                continue;
            }
            output.scratch.clear();
            output.scratch.extend_from_slice(payload);
            if let Some(mask) = header.mask {
                websocket::unmask(mask, output.scratch);
            }
            self.message.extend_from_slice(output.scratch);
            if header.fin {
                (output.deliver)(Delivery {
                    bytes: &self.message,
                    kind: MessageKind::Sip,
                    transport: Transport::Ws,
                    time: output.time,
                    frames: &self.frames,
                });
                self.message = Vec::new();
            }
        }
    }
}

//! A TCP connection that carries signalling, as seen on the wire: RFC 9293.

use ringtap_model::Nanos;

use crate::dialog::{PlannedMessage, Side};
use crate::frame::{Framer, Head, TcpHeader, max_segment};
use crate::rng::Rng;

/// A segment to be captured.
#[derive(Clone, Debug)]
struct Segment {
    at: Nanos,
    from: Side,
    header: TcpHeader,
    data: Vec<u8>,
    /// The message that it completes.
    completes: Option<PlannedMessage>,
}

/// Both directions of a connection between caller and callee.
#[derive(Clone, Debug)]
pub(crate) struct Connection {
    /// Headers of each side's segments.
    heads: [Head; 2],
    /// Sequence number of the next byte of each side.
    next: [u32; 2],
    /// In order of time.
    outbox: Vec<Segment>,
    rng: Rng,
}

impl Connection {
    /// Opens a connection; also returns when the first message may be sent.
    pub(crate) fn open(heads: [Head; 2], at: Nanos, mut rng: Rng) -> (Self, Nanos) {
        let next = [rng.next_u64() as u32, rng.next_u64() as u32];
        let trip = Nanos::from_micros(rng.between(300, 20_000));
        let mut connection = Self { heads, next, outbox: Vec::new(), rng };
        connection.control(at, Side::Caller, TcpHeader::SYN);
        connection.control(at + trip, Side::Callee, TcpHeader::SYN | TcpHeader::ACK);
        let ready = at + trip + Nanos::from_micros(60);
        connection.control(ready, Side::Caller, TcpHeader::ACK);
        (connection, ready + Nanos::from_micros(200))
    }

    /// Sends a message in one or more segments; the other side acknowledges it.
    pub(crate) fn send(&mut self, from: Side, text: &str, step: PlannedMessage) {
        let cut = if self.rng.chance(CUT) { self.rng.below(text.len() as u64) as usize } else { 0 };
        let (head, tail) = text.as_bytes().split_at(cut);
        let most = max_segment(self.heads[0].is_v6());
        let pieces: Vec<&[u8]> = head.chunks(most).chain(tail.chunks(most)).collect();
        let mut at = step.at;
        for (index, piece) in pieces.iter().enumerate() {
            let completes = (index + 1 == pieces.len()).then_some(step);
            let header = self.header(from, TcpHeader::ACK | TcpHeader::PUSH);
            self.push(Segment { at, from, header, data: piece.to_vec(), completes });
            if completes.is_some() && step.resend {
                // The acknowledgement was lost: the retransmission timer expires (RFC 6298 section 2.4).
                let at = at + RESEND;
                self.push(Segment { at, from, header, data: piece.to_vec(), completes: None });
            }
            let sent = &mut self.next[from as usize];
            *sent = sent.wrapping_add(piece.len() as u32);
            at += Nanos::from_micros(40);
        }
        let delay = Nanos::from_micros(self.rng.between(50, 500));
        self.control(at + delay, from.other(), TcpHeader::ACK);
    }

    /// Closes both sides after the last message.
    pub(crate) fn close(&mut self) {
        let last = self.outbox.last().map_or(Nanos::ZERO, |segment| segment.at);
        let trip = Nanos::from_micros(self.rng.between(300, 20_000));
        self.control(last + trip, Side::Caller, TcpHeader::FIN | TcpHeader::ACK);
        self.control(last + trip + trip, Side::Callee, TcpHeader::FIN | TcpHeader::ACK);
        self.control(last + trip + trip + Nanos::from_micros(60), Side::Caller, TcpHeader::ACK);
    }

    /// Time of the next segment.
    pub(crate) fn next_at(&self) -> Option<Nanos> {
        self.outbox.first().map(|segment| segment.at)
    }

    /// Writes the next segment; returns the message that it completes, and its time.
    pub(crate) fn emit(&mut self, framer: &mut Framer) -> Option<(PlannedMessage, Nanos)> {
        if self.outbox.is_empty() {
            return None;
        }
        let Segment { at, from, header, data, completes } = self.outbox.remove(0);
        framer.tcp(&self.heads[from as usize], header, &data);
        completes.map(|step| (step, at))
    }

    fn header(&self, from: Side, flags: u8) -> TcpHeader {
        TcpHeader {
            sequence: self.next[from as usize],
            acknowledged: if flags & TcpHeader::ACK == 0 { 0 } else { self.next[from.other() as usize] },
            flags,
        }
    }

    /// A segment without data. SYN and FIN use one sequence number each.
    fn control(&mut self, at: Nanos, from: Side, flags: u8) {
        let header = self.header(from, flags);
        self.push(Segment { at, from, header, data: Vec::new(), completes: None });
        if flags & (TcpHeader::SYN | TcpHeader::FIN) != 0 {
            let next = &mut self.next[from as usize];
            *next = next.wrapping_add(1);
        }
    }

    fn push(&mut self, segment: Segment) {
        let index = self.outbox.partition_point(|other| other.at <= segment.at);
        self.outbox.insert(index, segment);
    }
}

/// Share of messages that are split into two segments without need.
const CUT: f64 = 0.2;
const RESEND: Nanos = Nanos::from_millis(200);

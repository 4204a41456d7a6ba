//! Streams and their packets.

use ringtap_model::{Endpoint, Nanos};

use super::wire::Wire;

/// The state of a source's stream: sequence number and timestamp of the next packet. By default PCMU in
/// packets of 20 ms.
#[derive(Clone, Debug)]
pub struct Rtp {
    /// Sender.
    pub src: Endpoint,
    /// Receiver.
    pub dst: Endpoint,
    /// Synchronisation source.
    pub ssrc: u32,
    /// Payload type.
    pub payload_type: u8,
    /// Sequence number of the next packet.
    pub sequence: u16,
    /// Timestamp of the next packet.
    pub timestamp: u32,
    /// Ticks per packet.
    pub step: u32,
    /// Time per packet.
    pub ptime: Nanos,
    /// Bytes of payload.
    pub size: usize,
}

impl Rtp {
    /// A stream of PCMU that starts at sequence number 1000 and timestamp 8000.
    pub fn new(src: Endpoint, dst: Endpoint, ssrc: u32) -> Self {
        Self {
            src,
            dst,
            ssrc,
            payload_type: 0,
            sequence: 1000,
            timestamp: 8000,
            step: 160,
            ptime: Nanos::from_millis(20),
            size: 160,
        }
    }

    /// Sets the first sequence number and timestamp.
    #[must_use]
    pub fn from(mut self, sequence: u16, timestamp: u32) -> Self {
        (self.sequence, self.timestamp) = (sequence, timestamp);
        self
    }

    /// Sets another codec: payload type, ticks and bytes per packet.
    #[must_use]
    pub fn codec(mut self, payload_type: u8, step: u32, size: usize) -> Self {
        (self.payload_type, self.step, self.size) = (payload_type, step, size);
        self
    }

    /// Sends `count` packets, one per packet time from `at` on, and returns when the next is due.
    pub fn run(&mut self, wire: &mut Wire, at: Nanos, count: usize) -> Nanos {
        (0..count).fold(at, |at, _| {
            self.send(wire, at);
            at + self.ptime
        })
    }

    /// Sends the next packet.
    pub fn send(&mut self, wire: &mut Wire, at: Nanos) {
        wire.udp(at, self.src, self.dst, &self.packet());
        self.lose(1);
    }

    /// Skips `count` packets: they are sent, and lost before the tap.
    pub fn lose(&mut self, count: u16) {
        self.sequence = self.sequence.wrapping_add(count);
        self.timestamp = self.timestamp.wrapping_add(self.step.wrapping_mul(u32::from(count)));
    }

    /// Pauses for `count` packet times: the timestamp advances, the sequence number does not.
    pub fn hush(&mut self, count: u32) {
        self.timestamp = self.timestamp.wrapping_add(self.step.wrapping_mul(count));
    }

    /// The state of the stream `count` packets later.
    #[must_use]
    pub fn nth(&self, count: u16) -> Self {
        let mut later = self.clone();
        later.lose(count);
        later
    }

    /// The next packet.
    pub fn packet(&self) -> Vec<u8> {
        self.packet_of(self.payload_type, &self.sound())
    }

    /// The next packet with a given payload.
    pub fn packet_of(&self, payload_type: u8, payload: &[u8]) -> Vec<u8> {
        let mut packet = vec![0x80, payload_type];
        packet.extend(self.sequence.to_be_bytes());
        packet.extend(self.timestamp.to_be_bytes());
        packet.extend(self.ssrc.to_be_bytes());
        packet.extend(payload);
        packet
    }

    /// A payload that is neither silent nor clipped in any codec: medium G.711 codes of both signs.
    fn sound(&self) -> Vec<u8> {
        (0..self.size).map(|index| if index / 4 % 2 == 0 { 0x9a } else { 0x1a }).collect()
    }
}

/// A packet of a telephone-event (RFC 4733 section 2.3): event, end bit, duration in ticks.
pub fn event(code: u8, end: bool, duration: u16) -> Vec<u8> {
    let [high, low] = duration.to_be_bytes();
    vec![code, if end { 0x8a } else { 0x0a }, high, low]
}

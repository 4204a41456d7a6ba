//! Streams and their packets.

use ringtap_model::{Endpoint, Nanos};

use super::wire::Wire;

/// One source's stream as it stands: the next packet's number and timestamp. PCMU in packets of 20 ms unless
/// told otherwise.
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
    /// A stream of PCMU that begins at number 1000, timestamp 8000.
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

    /// The same with other numbers to begin with.
    #[must_use]
    pub fn from(mut self, sequence: u16, timestamp: u32) -> Self {
        (self.sequence, self.timestamp) = (sequence, timestamp);
        self
    }

    /// The same in another codec: payload type, ticks and bytes per packet.
    #[must_use]
    pub fn codec(mut self, payload_type: u8, step: u32, size: usize) -> Self {
        (self.payload_type, self.step, self.size) = (payload_type, step, size);
        self
    }

    /// Sends `count` packets, one each packet time from `at` on; gives when the next would be due.
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

    /// Passes `count` packets over: sent, and lost before the tap.
    pub fn lose(&mut self, count: u16) {
        self.sequence = self.sequence.wrapping_add(count);
        self.timestamp = self.timestamp.wrapping_add(self.step.wrapping_mul(u32::from(count)));
    }

    /// Is silent for `count` packet times: the clock runs, the numbering does not.
    pub fn hush(&mut self, count: u32) {
        self.timestamp = self.timestamp.wrapping_add(self.step.wrapping_mul(count));
    }

    /// The stream as it will stand `count` packets later.
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

    /// The next packet's header before another payload.
    pub fn packet_of(&self, payload_type: u8, payload: &[u8]) -> Vec<u8> {
        let mut packet = vec![0x80, payload_type];
        packet.extend(self.sequence.to_be_bytes());
        packet.extend(self.timestamp.to_be_bytes());
        packet.extend(self.ssrc.to_be_bytes());
        packet.extend(payload);
        packet
    }

    /// A payload that is neither silence nor clipped in any codec: G.711 codes of middling size, either sign.
    fn sound(&self) -> Vec<u8> {
        (0..self.size).map(|index| if index / 4 % 2 == 0 { 0x9a } else { 0x1a }).collect()
    }
}

/// One packet of a telephone-event (RFC 4733 section 2.3): event, end bit, duration in ticks.
pub fn event(code: u8, end: bool, duration: u16) -> Vec<u8> {
    let [high, low] = duration.to_be_bytes();
    vec![code, if end { 0x8a } else { 0x0a }, high, low]
}

//! Statistics of a stream, counted while its packets are sent, by the definitions of the records.
//!
//! Loss is counted when the network drops a packet, order and jitter when packets are captured: no window, no
//! estimate, and no code shared with a monitor.

use ringtap_model::{Direction, Dtmf, DtmfSource, Nanos};

use crate::addresses::endpoint;
use crate::dialog::Side;
use crate::sender::{Sender, SentPacket};
use crate::truth::{LossPlaces, StreamTruth};

/// Statistics of one stream; it is told of every packet, sent or lost.
#[derive(Clone, Debug, Default)]
pub(crate) struct StreamStatistics {
    first: Option<Nanos>,
    last: Nanos,
    packets: u64,
    unique: u64,
    reordered: u64,
    bytes: u64,
    highest: u32,
    lowest: u32,
    /// Lost since the last packet that arrived.
    run: u64,
    /// Losses before the first packet that arrives do not count.
    begun: bool,
    lost: u64,
    bursts: u64,
    longest: u64,
    last_first: Nanos,
    delta: Nanos,
    clocked: Option<(Nanos, u32)>,
    jitter: f64,
    jitter_sum: f64,
    jitter_max: f64,
    jitters: u64,
    digits: Vec<(Nanos, u8)>,
    /// Timestamp of the last telephone event.
    pressed: Option<u32>,
    /// What the receiver got: lowest and highest index, and packets, repeats included.
    reached: Option<(u32, u32, u64)>,
    pub(crate) places: LossPlaces,
}

/// What a receiver reports of a stream.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReceiverStatistics {
    /// Index of the packet in the stream, from 0.
    pub(crate) highest: u32,
    pub(crate) expected: u64,
    /// Repeats included.
    pub(crate) packets: u64,
    pub(crate) jitter_ms: f64,
}

impl StreamStatistics {
    /// Reads it, see [`Stream::touch`](crate::stream::Stream::touch).
    pub(crate) fn touch(&self) -> u64 {
        self.last.0
            ^ self.packets
            ^ self.longest
            ^ self.jitter.to_bits()
            ^ self.jitters
            ^ u64::from(self.highest)
    }

    /// Records whether the next packet in sequence is lost. Called once per packet, in order.
    pub(crate) fn decided(&mut self, is_lost: bool) {
        if is_lost {
            self.run += u64::from(self.begun);
            return;
        }
        self.begun = true;
        if self.run > 0 {
            self.lost += self.run;
            self.bursts += 1;
            self.longest = self.longest.max(self.run);
            self.run = 0;
        }
    }

    /// Records a packet that reached the receiver. Called in order of time.
    pub(crate) fn reached(&mut self, index: u32) {
        let (lowest, highest, packets) = self.reached.unwrap_or((index, index, 0));
        self.reached = Some((lowest.min(index), highest.max(index), packets + 1));
    }

    /// Records a captured packet. Called in order of time.
    pub(crate) fn sent(&mut self, sent: &SentPacket, clock: f64) {
        let is_first = self.first.is_none();
        if is_first {
            self.first = Some(sent.at);
            self.lowest = sent.index;
        }
        self.last = sent.at;
        self.packets += 1;
        self.bytes += sent.payload as u64;
        if sent.repeat {
            return;
        }
        self.unique += 1;
        if !is_first {
            self.delta = self.delta.max(sent.at - self.last_first);
            self.reordered += u64::from(sent.index < self.highest);
        }
        self.highest = self.highest.max(sent.index);
        self.lowest = self.lowest.min(sent.index);
        self.last_first = sent.at;
        match sent.event {
            Some(code) => self.digit(sent, code),
            None => self.clock(sent, clock),
        }
    }

    /// All packets of one event have its timestamp (RFC 4733 section 2.5.1).
    fn digit(&mut self, sent: &SentPacket, code: u8) {
        if self.pressed != Some(sent.timestamp) {
            self.pressed = Some(sent.timestamp);
            self.digits.push((sent.at, code));
        }
    }

    /// D(i-1,i) = (R_i - R_i-1) - (S_i - S_i-1); J += (|D| - J) / 16.
    fn clock(&mut self, sent: &SentPacket, clock: f64) {
        if let Some((at, timestamp)) = self.clocked.replace((sent.at, sent.timestamp)) {
            let passed = (sent.at - at).millis_f64();
            let ticks = f64::from(sent.timestamp.wrapping_sub(timestamp).cast_signed());
            let difference = passed - ticks * 1_000.0 / clock;
            self.jitter += (difference.abs() - self.jitter) / 16.0;
            self.jitter_max = self.jitter_max.max(self.jitter);
            self.jitter_sum += self.jitter;
            self.jitters += 1;
        }
    }

    /// What a receiver would report so far (RFC 3550 section 6.4.1); None before the first packet.
    pub(crate) fn received(&self) -> Option<ReceiverStatistics> {
        let (lowest, highest, packets) = self.reached?;
        let expected = u64::from(highest - lowest) + 1;
        Some(ReceiverStatistics { highest, expected, packets, jitter_ms: self.jitter })
    }

    /// The stream's record; None if no packet arrived.
    pub(crate) fn record(&self, call_id: &str, sender: &Sender) -> Option<StreamTruth> {
        let Sender { side, ref head, ssrc, codec, ptime, .. } = *sender;
        Some(StreamTruth {
            call_id: call_id.to_owned(),
            direction: match side {
                Side::Caller => Direction::CallerToCallee,
                Side::Callee => Direction::CalleeToCaller,
            },
            src: endpoint(head.src()),
            dst: endpoint(head.dst()),
            ssrc,
            payload_type: codec.payload_type(),
            codec: codec.name(),
            clock_hz: codec.clock().0,
            ptime_ms: ptime.millis_f64(),
            first: self.first?,
            last: self.last,
            packets: self.packets,
            unique: self.unique,
            lost: self.lost,
            duplicates: self.packets - self.unique,
            reordered: self.reordered,
            bytes: self.bytes,
            ip_bytes: self.bytes + self.packets * headers(head.is_v6()),
            jitter_ms_mean: (self.jitters > 0).then(|| self.jitter_sum / self.jitters as f64),
            jitter_ms_max: (self.jitters > 0).then_some(self.jitter_max),
            delta_ms_max: (self.unique > 1).then(|| self.delta.millis_f64()),
            loss_bursts: self.bursts,
            burst_len_max: (self.bursts > 0).then_some(self.longest),
            path: None,
        })
    }

    /// The digits that arrived.
    pub(crate) fn digits(&self) -> impl Iterator<Item = Dtmf> {
        self.digits.iter().map(|&(time, code)| Dtmf {
            digit: digit_name(code).to_string(),
            source: DtmfSource::Rfc4733,
            time,
        })
    }
}

/// RFC 4733 section 3.2.
fn digit_name(code: u8) -> char {
    match code {
        0..=9 => char::from(b'0' + code),
        10 => '*',
        _ => '#',
    }
}

/// IP, UDP and RTP.
fn headers(v6: bool) -> u64 {
    if v6 { 40 + 8 + 12 } else { 20 + 8 + 12 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(index: u32, millis: u64) -> SentPacket {
        let at = Nanos::from_secs(1) + Nanos::from_millis(millis);
        SentPacket { at, index, timestamp: index * 160, repeat: false, event: None, payload: 160 }
    }

    /// RFC 3550 section 6.4.1, worked by hand: on time, 4 ms late, on time again.
    #[test]
    fn jitter_by_hand() {
        let mut statistics = StreamStatistics::default();
        for packet in [sent(0, 0), sent(1, 20), sent(2, 44), sent(3, 60)] {
            statistics.sent(&packet, 8_000.0);
        }
        let j2 = 4.0 / 16.0;
        let j3 = j2 + (4.0 - j2) / 16.0;
        assert_eq!((statistics.jitter_max, statistics.jitter_sum, statistics.jitters), (j3, j2 + j3, 3));
        assert_eq!(statistics.delta, Nanos::from_millis(24));
    }

    #[test]
    fn loss_counts_between_the_first_and_the_last_that_got_through() {
        let mut statistics = StreamStatistics::default();
        // Lost: 0, 2, 3, 6 and 8, 9.
        for index in 0..10 {
            statistics.decided(matches!(index, 0 | 2 | 3 | 6 | 8 | 9));
        }
        assert_eq!((statistics.lost, statistics.bursts, statistics.longest), (3, 2, 2));
    }

    #[test]
    fn repeats_and_order() {
        let mut statistics = StreamStatistics::default();
        let twice = SentPacket { repeat: true, ..sent(1, 45) };
        for packet in [sent(0, 0), sent(2, 40), sent(1, 41), twice, sent(3, 60)] {
            statistics.sent(&packet, 8_000.0);
        }
        assert_eq!((statistics.packets, statistics.unique, statistics.reordered), (5, 4, 1));
    }
}

//! Gaps in RTP streams: times without packets, though packets were sent.

use ringtap_engine::{RtpSeen, StreamEnd};
use ringtap_model::{Nanos, Stream};

use super::facts::Gap;
use super::trouble::NOTICED;

/// From one packet to the next, where no two of a stream have told that yet.
const USUAL_PACE: u32 = 20_000;
/// A number that is so far back, or more, begins a new numbering.
const LATE: u16 = 0x8000;
/// Streams with fewer packets say nothing of what followed what.
const FEW: u64 = 10;

/// The last packet of each stream, and gaps so far. All memory is taken at the start.
#[derive(Debug)]
pub(crate) struct GapWatch {
    streams: Vec<LastPacket>,
    found: Vec<LostTime>,
    refused: u64,
}

#[derive(Clone, Copy, Debug)]
struct LastPacket {
    serial: u64,
    time: Nanos,
    sequence: u16,
    /// Microseconds from packet to packet.
    pace: u32,
}

/// A time of one stream in which numbers were lost.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LostTime {
    serial: u64,
    from: Nanos,
    until: Nanos,
    lost: u16,
}

impl GapWatch {
    /// For so many streams at once, and so many gaps.
    pub(crate) fn new(streams: usize, gaps: usize) -> Self {
        let none = LastPacket { serial: u64::MAX, time: Nanos::ZERO, sequence: 0, pace: USUAL_PACE };
        Self { streams: vec![none; streams], found: Vec::with_capacity(gaps), refused: 0 }
    }

    /// A packet. HOT: no allocation.
    pub(crate) fn packet(&mut self, packet: &RtpSeen<'_>) {
        if packet.duplicate {
            return;
        }
        let Some(last) = self.streams.get_mut(packet.stream_slot as usize) else {
            self.refused += 1;
            return;
        };
        let (time, sequence) = (packet.time, packet.sequence);
        if last.serial != packet.serial {
            *last = LastPacket { serial: packet.serial, time, sequence, pace: USUAL_PACE };
            return;
        }
        let ahead = sequence.wrapping_sub(last.sequence);
        if ahead == 0 || ahead >= LATE {
            // Late, or a new numbering, in which nothing tells what is missing.
            if ahead.wrapping_neg() > 1_000 {
                (last.time, last.sequence) = (time, sequence);
            }
            return;
        }
        let waited = time.since(last.time);
        if waited < NOTICED {
            if ahead == 1 {
                let step = (waited.0 / 1_000) as u32;
                last.pace = (last.pace * 7 + step) / 8;
            }
        } else if is_lost(ahead, last.pace, waited) {
            let found = LostTime { serial: packet.serial, from: last.time, until: time, lost: ahead - 1 };
            if self.found.len() < self.found.capacity() {
                self.found.push(found);
            } else {
                self.refused += 1;
            }
        }
        (last.time, last.sequence) = (time, sequence);
    }

    /// The input has ended: sorts them by stream.
    pub(crate) fn close(&mut self) -> LostTimes {
        let mut found = std::mem::take(&mut self.found);
        found.sort_by_key(|lost| (lost.serial, lost.from));
        LostTimes { found, refused: self.refused }
    }
}

/// Whether the missing numbers fill at least half of that time. A stream that is silent sends nothing, and
/// counts on afterwards (RFC 3389, RFC 3551 section 4.1): one packet lost there is no gap. Many more than fit
/// into it are a new numbering.
fn is_lost(ahead: u16, pace: u32, waited: Nanos) -> bool {
    let missing = u64::from(ahead) * u64::from(pace) * 1_000;
    ahead > 1 && missing * 2 >= waited.0 && missing / 4 <= waited.0
}

/// Gaps of all streams.
#[derive(Debug, Default)]
pub(crate) struct LostTimes {
    found: Vec<LostTime>,
    /// Gaps, and packets of streams, that the ceilings turned away.
    pub(crate) refused: u64,
}

impl LostTimes {
    /// Those of a stream that lost so many numbers in all. More would be numbers that its source spent
    /// elsewhere.
    pub(crate) fn of(&self, serial: u64, lost: u64) -> impl Iterator<Item = (Nanos, Nanos)> {
        let first = self.found.partition_point(|known| known.serial < serial);
        let own = self.found[first..].iter().take_while(move |known| known.serial == serial);
        own.filter(move |known| u64::from(known.lost) <= lost).map(|known| (known.from, known.until))
    }
}

/// Times between the end of a stream and the first packet of another that took its place: the same direction
/// of the call, from the same sender or to the same receiver.
pub(crate) fn successions(streams: &[StreamEnd]) -> Vec<Gap> {
    let real = |stream: &&Stream| stream.packets >= FEW && stream.direction.is_some();
    let streams: Vec<&Stream> = streams.iter().map(|stream| &stream.record).filter(real).collect();
    let gap = |next: &&Stream| {
        let is_related = |other: &&&Stream| {
            let other = **other;
            other.direction == next.direction
                && (other.src == next.src || other.dst == next.dst)
                && (other.src, other.dst, other.ssrc) != (next.src, next.dst, next.ssrc)
                && other.first < next.first
        };
        // One that goes on leaves no gap: it is the latest.
        let before = streams.iter().filter(is_related).max_by_key(|other| other.last)?;
        let is_gap = next.first.since(before.last) >= NOTICED;
        is_gap.then_some(Gap { direction: next.direction, from: before.last, until: next.first })
    };
    streams.iter().filter_map(gap).collect()
}

#[cfg(test)]
mod tests {
    use ringtap_model::Endpoint;

    use super::*;

    /// The packet of a slot: its stream, number and time in milliseconds.
    fn seen(slot: u32, serial: u64, sequence: u16, millis: u64) -> RtpSeen<'static> {
        let end = Endpoint::new([192, 0, 2, 1].into(), 4000);
        RtpSeen {
            time: Nanos::from_millis(millis),
            frames: &[],
            serial,
            stream_slot: slot,
            src: end,
            dst: end,
            ssrc: 1,
            payload_type: 8,
            sequence,
            timestamp: 0,
            payload: &[],
            duplicate: false,
            call: None,
            packet: None,
        }
    }

    fn found(packets: &[(u16, u64)]) -> Vec<(u64, u64)> {
        let mut watch = GapWatch::new(1, 10);
        packets.iter().for_each(|(sequence, millis)| watch.packet(&seen(0, 7, *sequence, *millis)));
        let millis = |time: Nanos| time.micros() / 1_000;
        watch.close().of(7, u64::MAX).map(|(from, until)| (millis(from), millis(until))).collect()
    }

    #[test]
    fn what_is_missing_has_to_fill_the_time() {
        // 50 packets of 20 ms.
        assert_eq!(found(&[(65_530, 0), (65_531, 20), (45, 1_020)]), [(20, 1_020)]);
        // Half of it, a little less, nothing.
        assert_eq!(found(&[(0, 0), (1, 20), (26, 1_020)]), [(20, 1_020)]);
        assert_eq!(found(&[(0, 0), (1, 20), (25, 1_020)]), []);
        assert_eq!(found(&[(0, 0), (1, 20), (2, 1_020)]), []);
        // Not long enough to be noticed.
        assert_eq!(found(&[(0, 0), (1, 20), (6, 119)]), []);
        // A stream of 60 ms, once that is known.
        let mut slow: Vec<(u16, u64)> = (0..40).map(|number| (number, 60 * u64::from(number))).collect();
        slow.push((50, 40 * 60 + 1_200));
        assert_eq!(found(&slow), [(39 * 60, 40 * 60 + 1_200)]);
    }

    #[test]
    fn late_packets_copies_and_new_numberings_are_no_gaps() {
        assert_eq!(found(&[(9, 0), (10, 20), (8, 40), (10, 60), (11, 80), (12, 100)]), []);
        assert_eq!(found(&[(40_000, 0), (40_001, 20), (10, 900), (11, 920)]), []);
        let mut watch = GapWatch::new(1, 10);
        watch.packet(&seen(0, 7, 1, 0));
        watch.packet(&RtpSeen { duplicate: true, ..seen(0, 7, 60, 1_000) });
        // The slot is another stream's now.
        watch.packet(&seen(0, 8, 60, 1_000));
        assert_eq!(watch.close().found.len(), 0);
    }

    #[test]
    fn more_than_the_stream_lost_was_spent_elsewhere() {
        let mut watch = GapWatch::new(1, 10);
        watch.packet(&seen(0, 7, 0, 0));
        watch.packet(&seen(0, 7, 51, 1_000));
        let lost = watch.close();
        assert_eq!((lost.of(7, 50).count(), lost.of(7, 49).count(), lost.of(6, 50).count()), (1, 0, 0));
    }

    #[test]
    fn ceilings_hold_and_are_counted() {
        let mut watch = GapWatch::new(1, 1);
        watch.packet(&seen(1, 9, 0, 0));
        for step in 0..4_u16 {
            watch.packet(&seen(0, 7, step * 51, u64::from(step) * 1_000));
        }
        let lost = watch.close();
        assert_eq!((lost.found.len(), lost.refused), (1, 3));
    }
}

//! One RTP stream as it passes: what each packet costs.

use ringtap_model::{Endpoint, Nanos};

use super::numbering::{Evidence, Numbering, Place};

/// Who sends what to whom: one SSRC from one endpoint to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct FlowKey {
    pub(crate) src: Endpoint,
    pub(crate) dst: Endpoint,
    pub(crate) ssrc: u32,
}

/// An RTP packet, as far as figures need it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RtpPacket {
    pub(crate) now: Nanos,
    pub(crate) sequence: u16,
    pub(crate) timestamp: u32,
    pub(crate) payload_type: u8,
    pub(crate) marker: bool,
    /// Payload bytes, as sent.
    pub(crate) payload_len: u32,
    /// Bytes at the IP layer, as sent.
    pub(crate) ip_len: u32,
}

/// How the payload type in use is treated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Timing {
    /// Nanoseconds per tick of the RTP clock; 0 where it is not known. (Single precision: 1 ns in a packet time.)
    pub(crate) tick: f32,
    /// telephone-event: its timestamps stand still and tell nothing of jitter (RFC 4733 section 2.2.1).
    pub(crate) event: bool,
}

/// Ten seconds of a stream, as kept until its record is made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct IntervalRow {
    pub(crate) start: Nanos,
    pub(crate) packets: u32,
    /// Without repeats.
    pub(crate) unique: u32,
    pub(crate) lost: u32,
    /// Mean, in ns.
    pub(crate) jitter: f32,
    pub(crate) bins: [u16; BINS],
}

/// Bins of delay variation, see [`ringtap_quality::jitterbuffer`].
pub(crate) const BINS: usize = ringtap_quality::jitterbuffer::BINS;
/// Length of an interval.
pub(crate) const INTERVAL: Nanos = Nanos::from_secs(10);
/// A timestamp that disagrees with the time that passed by more than this is a new time base, not delay.
const REBASE: f32 = 3e9;
/// No network delivers a packet this late in its order; one that seems to be is a new beginning.
const LATE_LIMIT: f64 = 500e6;

/// The figures of one stream that packets change. Kept small: there are two of them a call.
#[derive(Clone)]
pub(crate) struct Flow {
    pub(crate) key: FlowKey,
    /// What makes a packet leave the straight path, see the constants.
    pub(crate) flags: u8,
    pub(crate) payload_type: u8,
    votes: u16,
    pub(crate) timing: Timing,
    pub(crate) numbering: Numbering,
    /// Packets of the payload type in use since it came into use.
    pub(crate) of_type: u32,

    /// First packet; the last; the last that was no repeat.
    pub(crate) first: Nanos,
    pub(crate) last: Nanos,
    last_first: Nanos,
    /// Arrival and timestamp of the last packet that counts for jitter.
    clocked: Nanos,
    timestamp: u32,
    /// Ticks from one packet to the next, by majority vote.
    pub(crate) step: u32,
    /// Sequence and clock have advanced together this often.
    pub(crate) steady: u16,
    /// Interval that is running, counted from the first packet.
    interval_index: u16,

    /// RFC 3550 section 6.4.1, in ns.
    jitter: f32,
    pub(crate) jitter_max: f32,
    pub(crate) jitter_sum: f64,
    pub(crate) jitters: u32,

    /// Longest time between first copies; shortest and longest between any two; in ns. Their sum is last - first.
    pub(crate) delta_max: f32,
    pub(crate) iat_min: f32,
    pub(crate) iat_max: f32,
    pub(crate) iat_squares: f64,

    pub(crate) size_min: u16,
    pub(crate) size_max: u16,
    pub(crate) size_sum: u64,
    pub(crate) size_squares: f64,
    pub(crate) payload_sum: u64,

    /// Delay in ns against the fastest packet of the last whole second; the smallest of it in that second and in the
    /// running one, which began at `second` (in 2^20 ns, wrapping).
    delay: f32,
    fastest: f32,
    fastest_now: f32,
    second: u32,

    interval_packets: u32,
    interval_unique: u32,
    interval_lost: u32,
    interval_jitter: f32,
    interval_bins: [u16; BINS],
}

/// The next packet begins another record: another call has taken these endpoints over.
pub(crate) const SPLIT: u8 = 1;
/// The same source and SSRC also send elsewhere.
pub(crate) const SIBLINGS: u8 = 2;
/// Not yet known to be a stream.
pub(crate) const PROVISIONAL: u8 = 4;
/// G.711, whose payload is looked at.
pub(crate) const SOUND: u8 = 8;
/// Its call has offered T.38.
pub(crate) const FAX: u8 = 16;
/// It has carried a telephone-event.
pub(crate) const EVENT: u8 = 32;
/// The payload type has changed to one of another clock: its first timestamp is a new base.
pub(crate) const RECLOCKED: u8 = 64;
/// Its timestamps have advanced.
pub(crate) const ADVANCED: u8 = 128;

/// What a packet meant, for whoever has more to do.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Taken {
    pub(crate) place: Place,
    /// An interval that this packet ended.
    pub(crate) ended: Option<IntervalRow>,
}

impl Flow {
    /// With its first packet.
    pub(crate) fn new(key: FlowKey, packet: &RtpPacket, timing: Timing, flags: u8) -> Self {
        let size = short(packet.ip_len);
        let mut flow = Self {
            key,
            flags,
            payload_type: packet.payload_type,
            votes: 0,
            timing,
            numbering: Numbering::new(packet.sequence),
            of_type: 1,
            first: packet.now,
            last: packet.now,
            last_first: packet.now,
            clocked: packet.now,
            timestamp: packet.timestamp,
            step: 0,
            steady: 0,
            interval_index: 0,
            jitter: 0.0,
            jitter_max: 0.0,
            jitter_sum: 0.0,
            jitters: 0,
            delta_max: 0.0,
            iat_min: f32::INFINITY,
            iat_max: 0.0,
            iat_squares: 0.0,
            size_min: size,
            size_max: size,
            size_sum: u64::from(packet.ip_len),
            size_squares: f64::from(packet.ip_len) * f64::from(packet.ip_len),
            payload_sum: u64::from(packet.payload_len),
            delay: 0.0,
            fastest: 0.0,
            fastest_now: 0.0,
            second: coarse(packet.now),
            interval_packets: 1,
            interval_unique: 1,
            interval_lost: 0,
            interval_jitter: 0.0,
            interval_bins: [0; BINS],
        };
        flow.observe_delay(packet.now);
        flow
    }

    /// Takes the next packet of the payload type in use. `elsewhere` is asked, with the highest number so far
    /// and how many are missing after it, how many of those the source spent on other destinations. HOT: straight for the packet that follows its predecessor.
    #[inline]
    pub(crate) fn take(&mut self, packet: &RtpPacket, elsewhere: impl FnOnce(u32, u32) -> u32) -> Taken {
        // Past the last number, after 7.6 days, the interval goes on to the end.
        let over = packet.now.since(self.interval_start()) >= INTERVAL && self.interval_index < u16::MAX;
        let ended = over.then(|| self.end_interval(packet.now));
        let arrival = packet.now.since(self.last).0;
        self.last = self.last.max(packet.now);
        self.iat_min = self.iat_min.min(arrival as f32);
        self.iat_max = self.iat_max.max(arrival as f32);
        self.iat_squares += arrival as f64 * arrival as f64;
        self.size_min = self.size_min.min(short(packet.ip_len));
        self.size_max = self.size_max.max(short(packet.ip_len));
        self.size_sum += u64::from(packet.ip_len);
        self.size_squares += f64::from(packet.ip_len) * f64::from(packet.ip_len);
        self.payload_sum += u64::from(packet.payload_len);
        self.of_type += 1;
        self.interval_packets += 1;

        let (tick, step) = (self.timing.tick, self.step);
        let passed = packet.now.since(self.clocked).0 as f64;
        let ticks = packet.timestamp.wrapping_sub(self.timestamp);
        let place = self.numbering.take(packet.sequence, |numbering, distance| Evidence {
            late_limit: late_limit(tick, step),
            sent_between: sent_between(tick, step, ticks, passed),
            elsewhere: if distance > 1 { elsewhere(numbering.highest(), distance as u32 - 1) } else { 0 },
        });
        if place == Place::Repeat {
            return Taken { place, ended };
        }
        self.interval_unique += 1;
        match place {
            Place::Ahead { missing } => self.interval_lost = self.interval_lost.saturating_add(missing),
            Place::Repeat => {}
            Place::Late => self.interval_lost = self.interval_lost.saturating_sub(1),
            Place::Stray => {}
            Place::Restart => {
                self.rebase(packet);
                self.last_first = packet.now;
                return Taken { place, ended };
            }
        }
        self.delta_max = self.delta_max.max(packet.now.since(self.last_first).0 as f32);
        self.last_first = self.last_first.max(packet.now);
        if place != Place::Stray {
            self.clock(packet, matches!(place, Place::Ahead { missing: 0 }));
        }
        Taken { place, ended }
    }

    /// Jitter, delay variation, packet time.
    #[inline]
    fn clock(&mut self, packet: &RtpPacket, follows: bool) {
        let ticks = packet.timestamp.wrapping_sub(self.timestamp) as i32;
        if follows && (0..MAX_STEP).contains(&ticks) {
            self.steady = self.steady.saturating_add(1);
            if ticks > 0 {
                self.flags |= ADVANCED;
            }
            // Silence descriptors are shorter than speech, and carry the time of many packets.
            let speech =
                u64::from(packet.payload_len) * u64::from(self.numbering.packets) >= self.payload_sum;
            if speech && !self.timing.event {
                self.vote(ticks as u32);
            }
        }
        if self.timing.event {
            return;
        }
        if self.flags & RECLOCKED != 0 {
            self.flags &= !RECLOCKED;
            self.rebase(packet);
            return;
        }
        if self.timing.tick > 0.0 {
            let passed = packet.now.0.wrapping_sub(self.clocked.0) as i64 as f64;
            let difference = (passed - f64::from(ticks) * f64::from(self.timing.tick)) as f32;
            if difference.abs() > REBASE {
                self.rebase(packet);
                return;
            }
            self.jitter += (difference.abs() - self.jitter) * (1.0 / 16.0);
            self.jitter_max = self.jitter_max.max(self.jitter);
            self.jitter_sum += f64::from(self.jitter);
            self.jitters += 1;
            self.interval_jitter += self.jitter;
            self.delay += difference;
            // RFC 3551 section 4.1: a talkspurt is where a receiver sets its playout anew. The first packets of a
            // stream are often sent to open a NAT, long before the sound.
            let talkspurt = packet.marker && ticks as u32 > 2 * self.step;
            if talkspurt || self.numbering.unique <= OPENERS {
                self.fastest = self.delay;
                self.fastest_now = self.delay;
            }
            self.observe_delay(packet.now);
        }
        self.clocked = packet.now;
        self.timestamp = packet.timestamp;
    }

    /// A new time base: the time between it and the old one says nothing of the network.
    #[cold]
    fn rebase(&mut self, packet: &RtpPacket) {
        self.clocked = packet.now;
        self.timestamp = packet.timestamp;
        self.delay = 0.0;
        self.fastest = 0.0;
        self.fastest_now = 0.0;
        self.second = coarse(packet.now);
        self.observe_delay(packet.now);
    }

    /// Delay variation against the fastest packet of the last second or two. A clock that drifts, or a path that
    /// becomes longer for good, moves that base as a jitter buffer moves its own; what comes late meanwhile counts.
    #[inline]
    fn observe_delay(&mut self, now: Nanos) {
        let now = coarse(now);
        if now.wrapping_sub(self.second) >= SECOND {
            self.second = now;
            // Kept near zero, so that single precision is enough for a stream of weeks.
            self.delay -= self.fastest_now;
            self.fastest = 0.0;
            self.fastest_now = self.delay;
        }
        self.fastest_now = self.fastest_now.min(self.delay);
        let behind = (self.delay - self.fastest.min(self.fastest_now)) as u64;
        let bin = ringtap_quality::jitterbuffer::bin(Nanos(behind));
        self.interval_bins[bin] = self.interval_bins[bin].saturating_add(1);
    }

    /// Boyer and Moore's majority: the packet time of most packets, whatever silence lies between them.
    #[inline]
    fn vote(&mut self, ticks: u32) {
        if self.step == ticks {
            self.votes = self.votes.saturating_add(1);
        } else if self.votes == 0 {
            self.step = ticks;
            self.votes = 1;
        } else {
            self.votes -= 1;
        }
    }

    fn interval_start(&self) -> Nanos {
        self.first + Nanos(u64::from(self.interval_index) * INTERVAL.0)
    }

    /// Ends the running interval and begins the one that `now` lies in.
    #[cold]
    fn end_interval(&mut self, now: Nanos) -> IntervalRow {
        let row = self.running_interval();
        self.interval_index = u16::try_from(now.since(self.first).0 / INTERVAL.0).unwrap_or(u16::MAX);
        (self.interval_packets, self.interval_unique) = (0, 0);
        self.interval_lost = 0;
        self.interval_jitter = 0.0;
        self.interval_bins = [0; BINS];
        row
    }

    /// The running interval as it stands.
    pub(crate) fn running_interval(&self) -> IntervalRow {
        // The bins hold what was measured: neither repeats nor events.
        let measured: u32 = self.interval_bins.iter().map(|&count| u32::from(count)).sum();
        IntervalRow {
            start: self.interval_start(),
            packets: self.interval_packets,
            unique: self.interval_unique,
            lost: self.interval_lost,
            jitter: self.interval_jitter / measured.max(1) as f32,
            bins: self.interval_bins,
        }
    }

    /// Another payload type comes into use.
    pub(crate) fn switch(&mut self, payload_type: u8, timing: Timing) {
        // While events pass, the clock of the sound before them is kept: it goes on after them.
        let tick = if timing.event { self.timing.tick } else { timing.tick };
        if tick != self.timing.tick {
            // Ticks of two clocks cannot be compared.
            self.votes = 0;
            self.flags |= RECLOCKED;
        }
        let timing = Timing { tick, ..timing };
        self.payload_type = payload_type;
        self.timing = timing;
        self.of_type = 0;
    }

    /// Every packet so far, repeats included.
    pub(crate) fn packets(&self) -> u32 {
        self.numbering.packets
    }
}

/// A second, and the time since 1970 in the same unit of 2^20 ns; wraps after 52 days, differences do not mind.
const SECOND: u32 = 954;

fn coarse(time: Nanos) -> u32 {
    (time.0 >> 20) as u32
}

fn short(len: u32) -> u16 {
    u16::try_from(len).unwrap_or(u16::MAX)
}

/// Packets at the start of a stream that do not yet set the delay that others are measured against.
const OPENERS: u32 = 4;

/// Longest step between two packets that still counts as a clock that advances: 10 s at 90 kHz.
const MAX_STEP: i32 = 900_000;

fn late_limit(tick: f32, step: u32) -> i32 {
    let packet = f64::from(tick) * f64::from(step);
    if packet > 0.0 { (LATE_LIMIT / packet).clamp(4.0, 100.0) as i32 } else { 100 }
}

/// Packets that must have been sent since the last one, if clock and time agree.
fn sent_between(tick: f32, step: u32, ticks: u32, passed: f64) -> Option<u32> {
    let clock = f64::from(ticks) * f64::from(tick);
    if clock <= 0.0 || step == 0 || (clock - passed).abs() > 0.1 * passed.max(1e9) {
        return None;
    }
    Some(ticks / step)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PCMU: Timing = Timing { tick: 125_000.0, event: false };

    fn key() -> FlowKey {
        let end = |last| Endpoint::new([192, 0, 2, last].into(), 4000);
        FlowKey { src: end(1), dst: end(2), ssrc: 7 }
    }

    fn packet(index: u32, micros: u64) -> RtpPacket {
        RtpPacket {
            now: Nanos::from_micros(1_000_000_000 + micros),
            sequence: index as u16,
            timestamp: index * 160,
            payload_type: 0,
            marker: index == 0,
            payload_len: 160,
            ip_len: 200,
        }
    }

    fn flow(packets: impl IntoIterator<Item = RtpPacket>) -> (Flow, Vec<IntervalRow>) {
        let mut packets = packets.into_iter();
        let mut flow = Flow::new(key(), &packets.next().unwrap(), PCMU, 0);
        let mut rows = Vec::new();
        for packet in packets {
            rows.extend(flow.take(&packet, |_, _| 0).ended);
        }
        flow.numbering.close();
        (flow, rows)
    }

    /// RFC 3550 section 6.4.1, worked by hand: three packets on time, one 4 ms late, one back on time.
    #[test]
    fn jitter_by_hand() {
        let (flow, _) = flow([packet(0, 0), packet(1, 20_000), packet(2, 44_000), packet(3, 60_000)]);
        let j2 = 4.0 / 16.0;
        let j3 = j2 + (4.0 - j2) / 16.0;
        assert!((f64::from(flow.jitter_max) / 1e6 - j3).abs() < 1e-6);
        assert!((flow.jitter_sum / 1e6 - (j2 + j3)).abs() < 1e-6);
        assert_eq!((flow.step, flow.jitters), (160, 3));
    }

    #[test]
    fn repeats_leave_jitter_and_delta_alone() {
        let once: Vec<_> =
            (0..500).map(|i| packet(i, u64::from(i) * 20_000 + u64::from(i * 7919 % 3000))).collect();
        let twice =
            once.iter().flat_map(|packet| [*packet, RtpPacket { now: packet.now + Nanos(5000), ..*packet }]);
        let (a, _) = flow(once.clone());
        let (b, _) = flow(twice);
        assert_eq!(
            (a.jitter_sum, a.delta_max, a.numbering.unique),
            (b.jitter_sum, b.delta_max, b.numbering.unique)
        );
        assert_eq!(b.packets(), 1000);
    }

    #[test]
    fn intervals_are_ten_seconds() {
        let (flow, rows) =
            flow((0..1250).filter(|i| !(600..610).contains(i)).map(|i| packet(i, u64::from(i) * 20_000)));
        let counts: Vec<_> = rows.iter().map(|row| (row.packets, row.lost)).collect();
        assert_eq!(counts, [(500, 0), (490, 10)]);
        assert_eq!(flow.running_interval().packets, 250);
    }

    /// A path that becomes 300 ms longer for good costs what comes late until a buffer has followed, no more.
    #[test]
    fn a_step_in_delay_is_followed() {
        let (flow, rows) =
            flow((0..1000).map(|i| packet(i, u64::from(i) * 20_000 + if i < 250 { 0 } else { 300_000 })));
        let late: u32 = [rows[0], flow.running_interval()]
            .iter()
            .map(|row| ringtap_quality::jitterbuffer::discards(&row.bins).fixed50)
            .sum();
        assert!((35..=110).contains(&late), "{late} packets late");
    }

    /// One packet opens the NAT half a second before the sound, with the same timestamp.
    #[test]
    fn a_packet_that_opens_a_nat_is_no_base() {
        let (flow, _) =
            flow((0..400).map(|i| packet(i, u64::from(i) * 20_000 + if i == 0 { 0 } else { 500_000 })));
        assert_eq!(ringtap_quality::jitterbuffer::discards(&flow.running_interval().bins).fixed50, 0);
    }

    /// Speech of 20 ms between silence descriptors every 160 ms, which are more.
    #[test]
    fn packet_time_is_that_of_speech() {
        let mut packets = Vec::new();
        let mut timestamp = 0;
        for index in 0..300u32 {
            let speech = index % 10 < 4;
            timestamp += if speech { 160 } else { 1280 };
            let len = if speech { 33 } else { 7 };
            packets.push(RtpPacket {
                timestamp,
                payload_len: len,
                ..packet(index, u64::from(timestamp) * 125)
            });
        }
        assert_eq!(flow(packets).0.step, 160);
    }

    #[test]
    fn a_stream_of_weeks_fills_no_table() {
        let (_, rows) = flow((0..300).map(|i| packet(i, u64::from(i) * 86_400_000_000 / 20)));
        assert!(rows.len() < 200, "{} intervals", rows.len());
    }

    #[test]
    fn a_restart_of_numbering_is_no_loss_and_no_jitter() {
        let second = (0..300)
            .map(|i| RtpPacket { timestamp: 99 + i * 160, ..packet(i, 6_000_000 + u64::from(i) * 20_000) });
        let (flow, _) = flow((0..300).map(|i| packet(i, u64::from(i) * 20_000)).chain(second));
        assert_eq!((flow.numbering.lost(), flow.numbering.unique), (0, 600));
        assert!(flow.jitter_max < 1.0);
    }

    #[test]
    fn an_outage_that_clock_and_time_vouch_for_is_loss() {
        let kept = (0..100).chain(5100..5200);
        let (flow, _) = flow(kept.map(|i| packet(i, u64::from(i) * 20_000)));
        assert_eq!(flow.numbering.lost(), 5000);
    }
}

//! One RTP stream as it passes: what each packet costs.

use std::net::{IpAddr, Ipv4Addr};

use ringtap_model::{Endpoint, Nanos};
use ringtap_wire::rtp;

use super::flows::Key;
use super::numbering::{Arrival, Evidence, Numbering, Numbers, Runs};
use super::sound::Sound;

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

impl RtpPacket {
    /// As it came at `now`, in `ip_len` bytes at the IP layer.
    #[inline]
    pub(crate) fn new(view: &rtp::View<'_>, now: Nanos, ip_len: u32) -> Self {
        Self::of(view.head(), now, view.payload_len() as u32, ip_len)
    }

    /// By how it begins, see [`rtp::View::head`].
    #[inline]
    pub(crate) fn of(head: u64, now: Nanos, payload_len: u32, ip_len: u32) -> Self {
        Self {
            now,
            sequence: (head >> 32) as u16,
            timestamp: head as u32,
            payload_type: (head >> 48) as u8 & 0x7f,
            marker: head >> 55 & 1 != 0,
            payload_len,
            ip_len,
        }
    }
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

/// The figures of one stream that every packet changes: three cache lines, so that the streams of 52,000 calls stay in
/// the last-level cache. What packets change rarely is in [`Rest`].
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(crate) struct Flow {
    pub(super) key: Key,
    numbering: Numbering,
    /// What sends a packet to the slow path, see the constants.
    pub(crate) flags: u16,
    pub(crate) payload_type: u8,
    votes: u16,
    /// Nanoseconds per tick of the RTP clock; 0 where it is not known. (Single precision: 1 ns in a packet time.)
    tick: f32,
    /// Ticks from one packet to the next, by majority vote.
    step: u32,
    /// The last packet. Unless [`APART`] says otherwise it is also the last that was no repeat, and the last that
    /// counts for jitter.
    pub(crate) last: Nanos,
    /// Timestamp of the last packet that counts for jitter.
    timestamp: u32,

    /// RFC 3550 section 6.4.1, in ns.
    jitter: f32,
    jitter_max: f32,
    jitters: u32,

    /// Times between packets, in ns: the shortest of all; the longest of those taken straight, the others are in [`Rest`].
    /// Their sum is last - first.
    iat_min: f32,
    iat_max: f32,
    iat_squares: f64,

    /// Of packets at the IP layer, but for those since `even_since`.
    size_min: u16,
    size_max: u16,
    size_squares: u64,
    payload_sum: u64,
    /// Bytes around the payload of the first packet.
    overhead: u16,
    /// So long a payload had every packet since there were so many: sizes seldom change, so what they add up to is
    /// reckoned when they do.
    even_len: u32,
    even_since: u32,

    /// Delay in ns against the fastest packet of the last whole second; the smallest of it in that second and in the
    /// running one, which began at `second` (in 2^20 ns, wrapping).
    delay: f32,
    fastest: f32,
    fastest_now: f32,
    second: u32,

    /// The running interval is over at this time or shortly after, in 2^20 ns, wrapping.
    interval_end: u32,
    interval_jitter: f32,
    interval_bins: [u16; BINS],
    pub(super) sound: Sound,
}

const _: () = assert!(size_of::<Flow>() == 192 && align_of::<Flow>() == 64);

/// The figures of one stream that losses, repeats, switches and the ends of intervals change, and its full key.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rest {
    pub(crate) key: FlowKey,
    pub(crate) runs: Runs,
    pub(crate) first: Nanos,
    /// Where [`APART`]: the last packet that was no repeat, and the last that counts for jitter.
    last_first: Nanos,
    clocked: Nanos,
    /// Longest times in ns between first copies and between any two, where not both were taken straight.
    delta_max: f32,
    iat_max: f32,
    /// What packets had around their payload beyond the overhead of the first, in sum.
    overhead: i64,
    /// Of the intervals before this one; and of this one, before what the flow has of it.
    jitter_sum: f64,
    interval_jitter: f64,
    /// Packets when the payload type in use came into use, and when the interval began.
    type_since: u32,
    interval_since: u32,
    interval_repeats: u32,
    interval_lost: u32,
    /// Interval that is running, counted from the first packet.
    interval_index: u16,
    /// While provisional: sequence and clock have advanced together this often.
    pub(crate) steady: u16,
}

/// All figures of a stream, with the last run of its numbering closed.
#[derive(Clone, Debug)]
pub(crate) struct Totals {
    pub(crate) key: FlowKey,
    pub(crate) numbering: Numbers,
    pub(crate) step: u32,
    pub(crate) first: Nanos,
    pub(crate) last: Nanos,
    pub(crate) jitter_max: f32,
    pub(crate) jitter_sum: f64,
    pub(crate) jitters: u32,
    pub(crate) delta_max: f32,
    pub(crate) iat_min: f32,
    pub(crate) iat_max: f32,
    pub(crate) iat_squares: f64,
    pub(crate) size_min: u16,
    pub(crate) size_max: u16,
    pub(crate) size_sum: u64,
    pub(crate) size_squares: f64,
    pub(crate) payload_sum: u64,
    pub(crate) sound: Sound,
}

impl Totals {
    /// Every packet, repeats included.
    pub(crate) fn packets(&self) -> u32 {
        self.numbering.packets
    }
}

/// The next packet begins another record: another call has taken these endpoints over.
pub(crate) const SPLIT: u16 = 1;
/// The same source and SSRC also send elsewhere.
pub(crate) const SIBLINGS: u16 = 1 << 1;
/// Not yet known to be a stream.
pub(crate) const PROVISIONAL: u16 = 1 << 2;
/// G.711, whose payload is looked at.
pub(crate) const SOUND: u16 = 1 << 3;
/// Its call has offered T.38.
pub(crate) const FAX: u16 = 1 << 4;
/// It has carried a telephone-event.
pub(crate) const EVENT: u16 = 1 << 5;
/// The payload type has changed to one of another clock: its first timestamp is a new base.
pub(crate) const RECLOCKED: u16 = 1 << 6;
/// Its timestamps have advanced.
pub(crate) const ADVANCED: u16 = 1 << 7;
/// The payload type in use is telephone-event: its timestamps stand still and tell nothing of jitter (RFC 4733 section
/// 2.2.1).
pub(super) const EVENTS: u16 = 1 << 8;
/// Its first packets: they do not yet set the delay that others are measured against.
const OPENING: u16 = 1 << 9;
/// [`Runs::unsettled`].
const UNSETTLED: u16 = 1 << 10;
/// Its last packet, its last first copy and the last that counts for jitter are not one.
const APART: u16 = 1 << 11;
/// No flow: a free slot.
pub(super) const VACANT: u16 = 1 << 12;
/// Its key is a hash; who finds it has to look at the full one.
pub(super) const HASHED: u16 = 1 << 13;
/// Packets of the size in use are shorter than those before them: silence descriptors, which carry the time of many packets.
const SHORTER: u16 = 1 << 14;

/// Flags that send every packet of the stream to the slow path.
const SLOW: u16 = SPLIT | PROVISIONAL | RECLOCKED | EVENTS | OPENING | UNSETTLED | APART | VACANT | HASHED;

/// What a packet meant, for whoever has more to do.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SlowResult {
    pub(crate) arrival: Arrival,
    /// An interval that this packet ended.
    pub(crate) ended: Option<IntervalRow>,
}

impl Flow {
    /// A free slot.
    pub(super) const NONE: Self = Self {
        key: Key::NONE,
        numbering: Numbering::NONE,
        flags: VACANT,
        payload_type: 0,
        votes: 0,
        tick: 0.0,
        step: 0,
        last: Nanos::ZERO,
        timestamp: 0,
        jitter: 0.0,
        jitter_max: 0.0,
        jitters: 0,
        iat_min: f32::INFINITY,
        iat_max: 0.0,
        iat_squares: 0.0,
        size_min: 0,
        size_max: 0,
        size_squares: 0,
        payload_sum: 0,
        overhead: 0,
        even_len: 0,
        even_since: 0,
        delay: 0.0,
        fastest: 0.0,
        fastest_now: 0.0,
        second: 0,
        interval_end: 0,
        interval_jitter: 0.0,
        interval_bins: [0; BINS],
        sound: Sound::NONE,
    };

    /// With its first packet, of a payload type of which nothing is known yet.
    pub(crate) fn new(hashed: Key, key: FlowKey, packet: &RtpPacket, flags: u16) -> (Self, Rest) {
        let size = short(packet.ip_len);
        let around = i64::from(packet.ip_len) - i64::from(packet.payload_len);
        let overhead = u16::try_from(around).unwrap_or(0);
        let (numbering, runs) = Numbering::new(packet.sequence);
        let mut flow = Self {
            key: hashed,
            numbering,
            flags: flags | OPENING,
            payload_type: packet.payload_type,
            last: packet.now,
            timestamp: packet.timestamp,
            size_min: size,
            size_max: size,
            size_squares: u64::from(packet.ip_len).pow(2),
            payload_sum: u64::from(packet.payload_len),
            overhead,
            even_len: packet.payload_len,
            even_since: 1,
            second: coarse(packet.now),
            interval_end: coarse(packet.now + INTERVAL),
            ..Self::NONE
        };
        flow.observe_delay(packet.now);
        let rest = Rest {
            key,
            runs,
            first: packet.now,
            last_first: packet.now,
            clocked: packet.now,
            overhead: around - i64::from(overhead),
            ..Rest::NONE
        };
        (flow, rest)
    }

    /// Takes a packet that follows its predecessor in number and time, of the payload type in use, in a stream where
    /// nothing is unsettled; false, and nothing done, for every other. HOT: three cache lines, hardly a branch.
    #[inline]
    pub(crate) fn fast_path(&mut self, packet: &RtpPacket) -> bool {
        let ticks = packet.timestamp.wrapping_sub(self.timestamp) as i32;
        let around = packet.ip_len.wrapping_sub(packet.payload_len);
        let usual = self.flags & SLOW == 0
            && self.payload_type == packet.payload_type
            && self.numbering.follows(packet.sequence)
            && packet.now >= self.last
            && (coarse(packet.now).wrapping_sub(self.interval_end) as i32) < 0
            && around == u32::from(self.overhead);
        if !usual {
            return false;
        }
        let passed = signed(packet.now.since(self.last)) as f64;
        let difference = (passed - f64::from(ticks) * f64::from(self.tick)) as f32;
        if self.tick > 0.0 && difference.abs() > REBASE {
            return false;
        }
        if packet.payload_len != self.even_len {
            self.resize(packet.payload_len);
        }
        self.last = packet.now;
        self.iat_min = smaller(self.iat_min, passed as f32);
        self.iat_max = larger(self.iat_max, passed as f32);
        self.iat_squares += passed * passed;
        self.numbering.step();
        if self.flags & SHORTER == 0 {
            self.vote(ticks);
        }
        if self.tick > 0.0 {
            self.jitter_by(packet, ticks, difference);
        }
        self.timestamp = packet.timestamp;
        true
    }

    /// Takes any packet of the payload type in use. `elsewhere` is asked, with the highest number so far and how many
    /// are missing after it, how many of those the source spent on other destinations.
    #[cold]
    pub(crate) fn slow_path(
        &mut self,
        rest: &mut Rest,
        packet: &RtpPacket,
        elsewhere: impl FnOnce(u32, u32) -> u32,
    ) -> SlowResult {
        let (last_first, clocked) =
            if self.flags & APART != 0 { (rest.last_first, rest.clocked) } else { (self.last, self.last) };
        (rest.last_first, rest.clocked) = (last_first, clocked);
        let ended = self.interval_over(rest, packet.now);
        let passed = signed(packet.now.since(self.last)) as f64;
        self.last = self.last.max(packet.now);
        self.count(rest, packet, passed);
        rest.overhead += i64::from(packet.ip_len) - i64::from(packet.payload_len) - i64::from(self.overhead);
        let arrival = self.sequence(rest, packet, elsewhere);
        match arrival {
            Arrival::Ahead { missing } => rest.interval_lost = rest.interval_lost.saturating_add(missing),
            Arrival::Late => rest.interval_lost = rest.interval_lost.saturating_sub(1),
            Arrival::Duplicate => rest.interval_repeats += 1,
            Arrival::Stray => {}
            Arrival::Restart => {
                self.rebase(rest, packet);
                rest.last_first = packet.now;
            }
        }
        if !matches!(arrival, Arrival::Duplicate | Arrival::Restart) {
            rest.delta_max = rest.delta_max.max(packet.now.since(last_first).0 as f32);
            rest.last_first = last_first.max(packet.now);
            if arrival != Arrival::Stray {
                self.clock(rest, packet, matches!(arrival, Arrival::Ahead { missing: 0 }));
            }
        }
        self.begin_even(self.even_len);
        self.set(UNSETTLED, rest.runs.unsettled());
        self.set(APART, rest.last_first != self.last || rest.clocked != self.last);
        self.set(OPENING, self.numbering.packets.wrapping_sub(rest.runs.repeats) <= OPENERS);
        SlowResult { arrival, ended }
    }

    fn sequence(
        &mut self,
        rest: &mut Rest,
        packet: &RtpPacket,
        elsewhere: impl FnOnce(u32, u32) -> u32,
    ) -> Arrival {
        if self.flags & UNSETTLED == 0 && self.numbering.follows(packet.sequence) {
            self.numbering.step();
            return Arrival::Ahead { missing: 0 };
        }
        let distance = self.numbering.distance(packet.sequence);
        let passed = packet.now.since(rest.clocked).0 as f64;
        let ticks = packet.timestamp.wrapping_sub(self.timestamp);
        let evidence = Evidence {
            late_limit: late_limit(self.tick, self.step),
            sent_between: sent_between(self.tick, self.step, ticks, passed),
            elsewhere: if distance > 1 {
                elsewhere(self.numbering.highest(), distance as u32 - 1)
            } else {
                0
            },
        };
        self.numbering.update(&mut rest.runs, packet.sequence, evidence)
    }

    /// What every packet adds, whatever its number, that is not taken straight.
    fn count(&mut self, rest: &mut Rest, packet: &RtpPacket, passed: f64) {
        self.iat_min = smaller(self.iat_min, passed as f32);
        rest.iat_max = larger(rest.iat_max, passed as f32);
        self.iat_squares += passed * passed;
        self.end_even();
        self.add_sizes(packet.payload_len, packet.ip_len, 1);
    }

    /// Packets of another size begin to come.
    #[inline(never)]
    fn resize(&mut self, payload_len: u32) {
        self.end_even();
        self.begin_even(payload_len);
    }

    /// Adds the sizes of the packets that were taken straight since the last that was not, or had another size.
    fn end_even(&mut self) {
        let packets = self.numbering.packets.wrapping_sub(self.even_since);
        if packets > 0 {
            self.add_sizes(self.even_len, self.even_len + u32::from(self.overhead), packets);
            self.even_since = self.numbering.packets;
        }
    }

    fn begin_even(&mut self, payload_len: u32) {
        (self.even_len, self.even_since) = (payload_len, self.numbering.packets);
        self.set(SHORTER, u64::from(payload_len) * u64::from(self.numbering.packets) < self.payload_sum);
    }

    /// Adds so many packets of a size.
    fn add_sizes(&mut self, payload_len: u32, ip_len: u32, packets: u32) {
        self.size_min = self.size_min.min(short(ip_len));
        self.size_max = self.size_max.max(short(ip_len));
        let squares = u64::from(ip_len).pow(2).wrapping_mul(u64::from(packets));
        self.size_squares = self.size_squares.wrapping_add(squares);
        self.payload_sum += u64::from(payload_len) * u64::from(packets);
    }

    /// Jitter, delay variation and packet time of a packet that is neither late nor repeated.
    fn clock(&mut self, rest: &mut Rest, packet: &RtpPacket, follows: bool) {
        let ticks = packet.timestamp.wrapping_sub(self.timestamp) as i32;
        if follows && (0..MAX_STEP).contains(&ticks) {
            rest.steady = rest.steady.saturating_add(1);
            if ticks > 0 {
                self.flags |= ADVANCED;
            }
        }
        if self.is_event() {
            return;
        }
        // Silence descriptors are shorter than speech, and carry the time of many packets.
        if follows && u64::from(packet.payload_len) * u64::from(self.numbering.packets) >= self.payload_sum {
            self.vote(ticks);
        }
        if self.flags & RECLOCKED != 0 {
            self.flags &= !RECLOCKED;
            self.rebase(rest, packet);
            return;
        }
        if self.tick > 0.0 {
            let passed = packet.now.0.wrapping_sub(rest.clocked.0) as i64 as f64;
            let difference = (passed - f64::from(ticks) * f64::from(self.tick)) as f32;
            if difference.abs() > REBASE {
                self.rebase(rest, packet);
                return;
            }
            // RFC 3551 section 4.1: the first packets of a stream are often sent to open a NAT, long before the sound.
            if self.numbering.packets.wrapping_sub(rest.runs.repeats) <= OPENERS {
                self.fastest = self.delay + difference;
                self.fastest_now = self.fastest;
            }
            self.jitter_by(packet, ticks, difference);
        }
        rest.clocked = packet.now;
        self.timestamp = packet.timestamp;
    }

    /// RFC 3550 section 6.4.1; `difference` is how much later than its predecessor the packet took, in ns.
    #[inline(always)]
    fn jitter_by(&mut self, packet: &RtpPacket, ticks: i32, difference: f32) {
        self.jitter += (difference.abs() - self.jitter) * (1.0 / 16.0);
        self.jitter_max = larger(self.jitter_max, self.jitter);
        self.jitters += 1;
        self.interval_jitter += self.jitter;
        self.delay += difference;
        // RFC 3551 section 4.1: a talkspurt is where a receiver sets its playout anew.
        if packet.marker && ticks as u32 > 2 * self.step {
            self.fastest = self.delay;
            self.fastest_now = self.delay;
        }
        self.observe_delay(packet.now);
    }

    /// A new time base: the time between it and the old one says nothing of the network.
    #[cold]
    fn rebase(&mut self, rest: &mut Rest, packet: &RtpPacket) {
        rest.clocked = packet.now;
        self.timestamp = packet.timestamp;
        self.delay = 0.0;
        self.fastest = 0.0;
        self.fastest_now = 0.0;
        self.second = coarse(packet.now);
        self.observe_delay(packet.now);
    }

    /// Delay variation against the fastest packet of the last second or two. A clock that drifts, or a path that
    /// becomes longer for good, moves that base as a jitter buffer moves its own; what comes late meanwhile counts.
    #[inline(always)]
    fn observe_delay(&mut self, now: Nanos) {
        let now = coarse(now);
        if now.wrapping_sub(self.second) >= SECOND {
            self.second = now;
            // Kept near zero, so that single precision is enough for a stream of weeks.
            self.delay -= self.fastest_now;
            self.fastest = 0.0;
            self.fastest_now = self.delay;
        }
        self.fastest_now = smaller(self.fastest_now, self.delay);
        let behind = self.delay - smaller(self.fastest, self.fastest_now);
        // Most are in the first bin. Where that is guessed right, nothing waits for the delay to be reckoned.
        let bin = if behind <= FIRST_EDGE {
            0
        } else {
            ringtap_quality::jitterbuffer::bin(Nanos(u64::from(whole(behind))))
        };
        self.interval_bins[bin] = self.interval_bins[bin].saturating_add(1);
    }

    /// Packet time, from a packet that follows its predecessor: Boyer and Moore's majority, the time of most packets, whatever
    /// silence lies between them.
    #[inline]
    fn vote(&mut self, ticks: i32) {
        if !(0..MAX_STEP).contains(&ticks) {
            return;
        }
        let ticks = ticks as u32;
        if self.step == ticks {
            self.votes = self.votes.saturating_add(1);
        } else if self.votes == 0 {
            self.step = ticks;
            self.votes = 1;
        } else {
            self.votes -= 1;
        }
    }

    /// Ends the running interval if it is over, and begins the one that `now` lies in.
    fn interval_over(&mut self, rest: &mut Rest, now: Nanos) -> Option<IntervalRow> {
        if now.since(rest.interval_start()) < INTERVAL {
            return None;
        }
        rest.interval_jitter += f64::from(std::mem::take(&mut self.interval_jitter));
        if rest.interval_index == u16::MAX {
            // Past the last number, after 7.6 days, the interval goes on to the end.
            self.interval_end = coarse(now + INTERVAL);
            return None;
        }
        let row = self.running_interval(rest);
        rest.interval_index = u16::try_from(now.since(rest.first).0 / INTERVAL.0).unwrap_or(u16::MAX);
        self.interval_end = coarse(rest.interval_start() + INTERVAL);
        rest.interval_since = self.numbering.packets;
        (rest.interval_repeats, rest.interval_lost) = (0, 0);
        rest.jitter_sum += std::mem::take(&mut rest.interval_jitter);
        self.interval_bins = [0; BINS];
        Some(row)
    }

    /// The running interval as it stands.
    pub(crate) fn running_interval(&self, rest: &Rest) -> IntervalRow {
        // The bins hold what was measured: neither repeats nor events.
        let measured: u32 = self.interval_bins.iter().map(|&count| u32::from(count)).sum();
        let jitter = rest.interval_jitter + f64::from(self.interval_jitter);
        let packets = self.numbering.packets.wrapping_sub(rest.interval_since);
        IntervalRow {
            start: rest.interval_start(),
            packets,
            unique: packets.saturating_sub(rest.interval_repeats),
            lost: rest.interval_lost,
            jitter: jitter as f32 / measured.max(1) as f32,
            bins: self.interval_bins,
        }
    }

    /// Another payload type comes into use.
    pub(crate) fn switch(&mut self, rest: &mut Rest, payload_type: u8, timing: Timing) {
        // While events pass, the clock of the sound before them is kept: it goes on after them.
        if !timing.event && timing.tick != self.tick {
            // Ticks of two clocks cannot be compared.
            self.votes = 0;
            self.flags |= RECLOCKED;
            self.tick = timing.tick;
        }
        self.set(EVENTS, timing.event);
        self.payload_type = payload_type;
        self.set_of_type(rest, 0);
    }

    fn set(&mut self, flag: u16, on: bool) {
        self.flags = self.flags & !flag | if on { flag } else { 0 };
    }

    /// Whether the payload type in use is telephone-event.
    pub(crate) fn is_event(&self) -> bool {
        self.flags & EVENTS != 0
    }

    /// Packets of the payload type in use since it came into use.
    pub(crate) fn of_type(&self, rest: &Rest) -> u32 {
        self.numbering.packets.wrapping_sub(rest.type_since)
    }

    pub(crate) fn set_of_type(&self, rest: &mut Rest, packets: u32) {
        rest.type_since = self.numbering.packets.wrapping_sub(packets);
    }

    /// Every packet so far, repeats included.
    pub(crate) fn packets(&self) -> u32 {
        self.numbering.packets
    }

    /// The lowest and the highest number of its run, 16 bits.
    pub(crate) fn numbers(&self, rest: &Rest) -> (u16, u16) {
        (rest.runs.base() as u16, self.numbering.highest() as u16)
    }

    /// Whether numbers may be missing before this one.
    #[inline]
    pub(crate) fn leaps(&self, sequence: u16) -> bool {
        self.numbering.distance(sequence) > 1
    }

    /// All figures, as if the stream ended now.
    pub(crate) fn totals(mut self, rest: &Rest) -> Totals {
        self.end_even();
        let around =
            i128::from(self.numbering.packets) * i128::from(self.overhead) + i128::from(rest.overhead);
        Totals {
            key: rest.key,
            numbering: self.numbering.close(rest.runs),
            step: self.step,
            first: rest.first,
            last: self.last,
            jitter_max: self.jitter_max,
            jitter_sum: rest.jitter_sum + rest.interval_jitter + f64::from(self.interval_jitter),
            jitters: self.jitters,
            delta_max: self.iat_max.max(rest.delta_max),
            iat_min: self.iat_min,
            iat_max: self.iat_max.max(rest.iat_max),
            iat_squares: self.iat_squares,
            size_min: self.size_min,
            size_max: self.size_max,
            size_sum: u64::try_from(i128::from(self.payload_sum) + around).unwrap_or(0),
            size_squares: self.size_squares as f64,
            payload_sum: self.payload_sum,
            sound: self.sound,
        }
    }
}

impl Rest {
    /// Of no stream.
    pub(super) const NONE: Self = {
        let nobody = Endpoint::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0);
        Self {
            key: FlowKey { src: nobody, dst: nobody, ssrc: 0 },
            runs: Runs::NONE,
            first: Nanos::ZERO,
            last_first: Nanos::ZERO,
            clocked: Nanos::ZERO,
            delta_max: 0.0,
            iat_max: 0.0,
            overhead: 0,
            jitter_sum: 0.0,
            interval_jitter: 0.0,
            type_since: 0,
            interval_since: 0,
            interval_repeats: 0,
            interval_lost: 0,
            interval_index: 0,
            steady: 0,
        }
    };

    fn interval_start(&self) -> Nanos {
        self.first + Nanos(u64::from(self.interval_index) * INTERVAL.0)
    }
}

/// In 64 bits with a sign, which processors convert in one instruction; 292 years are enough.
fn signed(span: Nanos) -> i64 {
    span.0.min(i64::MAX as u64) as i64
}

/// Where the first bin ends, in ns; the number and single precision hold it exactly.
const FIRST_EDGE: f32 = (ringtap_quality::jitterbuffer::EDGES[0] * 1_000_000) as f32;

/// The smaller of two numbers that are numbers: one instruction, unlike `f32::min`.
#[inline]
fn smaller(a: f32, b: f32) -> f32 {
    if b < a { b } else { a }
}

/// The larger of two.
#[inline]
fn larger(a: f32, b: f32) -> f32 {
    if b > a { b } else { a }
}

/// Whole nanoseconds of a delay that is not negative; four seconds and more are one bin, and stand for each other. Where a
/// double has its units is known, so they are read off it: a third of what a conversion that saturates costs.
#[inline]
fn whole(delay: f32) -> u32 {
    const UNITS: f64 = (1u64 << 52) as f64;
    (f64::from(smaller(4e9, delay)) + UNITS).to_bits() as u32
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

    /// As the engine takes them: straight where that is allowed.
    fn run(packets: impl IntoIterator<Item = RtpPacket>) -> (Flow, Rest, Vec<IntervalRow>) {
        let mut packets = packets.into_iter();
        let (mut flow, mut rest) = Flow::new(Key::NONE, key(), &packets.next().unwrap(), 0);
        flow.switch(&mut rest, 0, PCMU);
        flow.flags &= !RECLOCKED;
        let mut rows = Vec::new();
        for packet in packets {
            if !flow.fast_path(&packet) {
                rows.extend(flow.slow_path(&mut rest, &packet, |_, _| 0).ended);
            }
        }
        (flow, rest, rows)
    }

    fn totals(packets: impl IntoIterator<Item = RtpPacket>) -> Totals {
        let (flow, rest, _) = run(packets);
        flow.totals(&rest)
    }

    /// RFC 3550 section 6.4.1, worked by hand: three packets on time, one 4 ms late, one back on time.
    #[test]
    fn jitter_by_hand() {
        let flow = totals([packet(0, 0), packet(1, 20_000), packet(2, 44_000), packet(3, 60_000)]);
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
        let a = totals(once.clone());
        let b = totals(twice);
        assert_eq!(
            (a.jitter_sum, a.delta_max, a.numbering.unique),
            (b.jitter_sum, b.delta_max, b.numbering.unique)
        );
        assert_eq!(b.packets(), 1000);
    }

    /// Whatever way packets take, and whatever they have around their payload.
    #[test]
    fn sizes_add_up() {
        let sized = |index: u32| {
            let payload_len = match index % 50 {
                ..20 => 160,
                20..40 => 33,
                _ => 20 + index % 7,
            };
            let ip_len = payload_len + if index % 101 == 3 { 44 } else { 40 };
            RtpPacket { payload_len, ip_len, ..packet(index, u64::from(index) * 20_000) }
        };
        let all: Vec<_> = (0..600)
            .filter(|index| index % 97 != 5)
            .flat_map(|index| std::iter::repeat_n(sized(index), if index % 83 == 9 { 2 } else { 1 }))
            .collect();
        let flow = totals(all.iter().copied());
        let sizes = || all.iter().map(|packet| u64::from(packet.ip_len));
        assert_eq!(
            (flow.size_sum, flow.size_squares),
            (sizes().sum(), sizes().map(|n| (n * n) as f64).sum())
        );
        assert_eq!(
            (Some(u64::from(flow.size_min)), Some(u64::from(flow.size_max))),
            (sizes().min(), sizes().max())
        );
        assert_eq!(flow.payload_sum, all.iter().map(|packet| u64::from(packet.payload_len)).sum());
        assert_eq!((flow.size_min, flow.size_max), (60, 204));
    }

    #[test]
    fn intervals_are_ten_seconds() {
        let (flow, rest, rows) =
            run((0..1250).filter(|i| !(600..610).contains(i)).map(|i| packet(i, u64::from(i) * 20_000)));
        let counts: Vec<_> = rows.iter().map(|row| (row.packets, row.lost)).collect();
        assert_eq!(counts, [(500, 0), (490, 10)]);
        assert_eq!(flow.running_interval(&rest).packets, 250);
    }

    /// A path that becomes 300 ms longer for good costs what comes late until a buffer has followed, no more.
    #[test]
    fn a_step_in_delay_is_followed() {
        let (flow, rest, rows) =
            run((0..1000).map(|i| packet(i, u64::from(i) * 20_000 + if i < 250 { 0 } else { 300_000 })));
        let late: u32 = [rows[0], flow.running_interval(&rest)]
            .iter()
            .map(|row| ringtap_quality::jitterbuffer::discards(&row.bins).fixed50)
            .sum();
        assert!((35..=110).contains(&late), "{late} packets late");
    }

    /// One packet opens the NAT half a second before the sound, with the same timestamp.
    #[test]
    fn a_packet_that_opens_a_nat_is_no_base() {
        let (flow, rest, _) =
            run((0..400).map(|i| packet(i, u64::from(i) * 20_000 + if i == 0 { 0 } else { 500_000 })));
        assert_eq!(ringtap_quality::jitterbuffer::discards(&flow.running_interval(&rest).bins).fixed50, 0);
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
        assert_eq!(totals(packets).step, 160);
    }

    #[test]
    fn a_stream_of_weeks_fills_no_table() {
        let (_, _, rows) = run((0..300).map(|i| packet(i, u64::from(i) * 86_400_000_000 / 20)));
        assert!(rows.len() < 200, "{} intervals", rows.len());
    }

    #[test]
    fn a_restart_of_numbering_is_no_loss_and_no_jitter() {
        let second = (0..300)
            .map(|i| RtpPacket { timestamp: 99 + i * 160, ..packet(i, 6_000_000 + u64::from(i) * 20_000) });
        let flow = totals((0..300).map(|i| packet(i, u64::from(i) * 20_000)).chain(second));
        assert_eq!((flow.numbering.lost(), flow.numbering.unique), (0, 600));
        assert!(flow.jitter_max < 1.0);
    }

    #[test]
    fn an_outage_that_clock_and_time_vouch_for_is_loss() {
        let kept = (0..100).chain(5100..5200);
        let flow = totals(kept.map(|i| packet(i, u64::from(i) * 20_000)));
        assert_eq!(flow.numbering.lost(), 5000);
    }
}

//! Jitter, delay variation and packet time of one stream: RFC 3550 section 6.4.1 and what a jitter buffer
//! would see.

use ringtap_model::Nanos;

use super::packet::RtpPacket;
use super::state::{ADVANCED, EVENTS, Flow, RECLOCKED, SlowState};

/// How the payload type in use is treated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Timing {
    /// Nanoseconds per tick of the RTP clock; 0 where it is not known. (Single precision: 1 ns in a packet
    /// time.)
    pub(crate) tick: f32,
    /// telephone-event: its timestamps stand still and tell nothing of jitter (RFC 4733 section 2.2.1).
    pub(crate) event: bool,
}

/// A timestamp that disagrees with the time that passed by more than this is a new time base, not delay.
pub(super) const REBASE: f32 = 3e9;
/// Packets at the start of a stream that do not yet set the delay that others are measured against.
pub(super) const OPENERS: u32 = 4;

/// Longest step between two packets that still counts as a clock that advances: 10 s at 90 kHz.
const MAX_STEP: i32 = 900_000;

impl Flow {
    /// Jitter, delay variation and packet time of a packet that is neither late nor repeated.
    pub(super) fn clock(&mut self, slow: &mut SlowState, packet: &RtpPacket, follows: bool) {
        let ticks = packet.timestamp.wrapping_sub(self.timestamp) as i32;
        if follows && (0..MAX_STEP).contains(&ticks) {
            slow.sequential = slow.sequential.saturating_add(1);
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
            self.rebase(slow, packet);
            return;
        }
        if self.tick > 0.0 {
            let passed = packet.now.0.wrapping_sub(slow.last_clocked.0) as i64 as f64;
            let difference = (passed - f64::from(ticks) * f64::from(self.tick)) as f32;
            if difference.abs() > REBASE {
                self.rebase(slow, packet);
                return;
            }
            // RFC 3551 section 4.1: the first packets of a stream are often sent to open a NAT, long before
            // the sound.
            if self.numbering.packets.wrapping_sub(slow.runs.duplicates) <= OPENERS {
                self.fastest = self.delay + difference;
                self.fastest_now = self.fastest;
            }
            self.jitter_by(packet, ticks, difference);
        }
        slow.last_clocked = packet.now;
        self.timestamp = packet.timestamp;
    }

    /// RFC 3550 section 6.4.1; `difference` is how much later than its predecessor the packet took, in ns.
    #[inline(always)]
    pub(super) fn jitter_by(&mut self, packet: &RtpPacket, ticks: i32, difference: f32) {
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
    pub(super) fn rebase(&mut self, slow: &mut SlowState, packet: &RtpPacket) {
        slow.last_clocked = packet.now;
        self.timestamp = packet.timestamp;
        self.delay = 0.0;
        self.fastest = 0.0;
        self.fastest_now = 0.0;
        self.second = coarse(packet.now);
        self.observe_delay(packet.now);
    }

    /// Delay variation against the fastest packet of the last second or two. A clock that drifts, or a path
    /// that becomes longer for good, moves that base as a jitter buffer moves its own; what comes late
    /// meanwhile counts.
    #[inline(always)]
    pub(super) fn observe_delay(&mut self, now: Nanos) {
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

    /// Packet time, from a packet that follows its predecessor: Boyer and Moore's majority, the time of most
    /// packets, whatever silence lies between them.
    #[inline]
    pub(super) fn vote(&mut self, ticks: i32) {
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

    /// Another payload type comes into use.
    pub(crate) fn switch(&mut self, slow: &mut SlowState, payload_type: u8, timing: Timing) {
        // While events pass, the clock of the sound before them is kept: it goes on after them.
        if !timing.event && timing.tick != self.tick {
            // Ticks of two clocks cannot be compared.
            self.votes = 0;
            self.flags |= RECLOCKED;
            self.tick = timing.tick;
        }
        self.set(EVENTS, timing.event);
        self.payload_type = payload_type;
        self.set_type_packets(slow, 0);
    }
}

/// In 64 bits with a sign, which processors convert in one instruction; 292 years are enough.
pub(super) fn signed(span: Nanos) -> i64 {
    span.0.min(i64::MAX as u64) as i64
}

/// Where the first bin ends, in ns; the number and single precision hold it exactly.
const FIRST_EDGE: f32 = (ringtap_quality::jitterbuffer::EDGES[0] * 1_000_000) as f32;

/// The smaller of two numbers that are numbers: one instruction, unlike `f32::min`.
#[inline]
pub(super) fn smaller(a: f32, b: f32) -> f32 {
    if b < a { b } else { a }
}

/// The larger of two.
#[inline]
pub(super) fn larger(a: f32, b: f32) -> f32 {
    if b > a { b } else { a }
}

/// Whole nanoseconds of a delay that is not negative; four seconds and more are one bin, and stand for each
/// other. Where a double has its units is known, so they are read off it: a third of what a conversion that
/// saturates costs.
#[inline]
pub(super) fn whole(delay: f32) -> u32 {
    const UNITS: f64 = (1u64 << 52) as f64;
    (f64::from(smaller(4e9, delay)) + UNITS).to_bits() as u32
}

/// A second, and the time since 1970 in the same unit of 2^20 ns; wraps after 52 days, differences do not
/// mind.
const SECOND: u32 = 954;

pub(super) fn coarse(time: Nanos) -> u32 {
    (time.0 >> 20) as u32
}

//! One RTP stream as it passes: what each packet costs.

mod clock;
mod interval;
mod key;
mod packet;
mod sizes;
mod state;
#[cfg(test)]
mod tests;

use ringtap_model::Nanos;

pub(crate) use clock::Timing;
use clock::{OPENERS, REBASE, coarse, larger, signed, smaller};
pub(crate) use interval::IntervalRow;
pub(crate) use key::{FlowKey, Key};
pub(crate) use packet::RtpPacket;
use sizes::short;
pub(crate) use state::{
    ADVANCED, EVENT, FAX, Flow, PROVISIONAL, RECLOCKED, SIBLINGS, SOUND, SPLIT, SlowState,
};
use state::{BINS, INTERVAL, LASTS_DIFFER, OPENING, SHORTER, SLOW, UNSETTLED};
pub(in crate::media) use state::{HASHED, VACANT};

use super::numbering::{Arrival, JumpEvidence, Numbering, Passed, SequenceCounts};
use super::sound::Sound;

/// No network delivers a packet this late in its order; one that seems to be is a new beginning.
const LATE_LIMIT: f64 = 500e6;
/// 20 ms (RFC 3551 section 4.2).
const USUAL_PACE: u64 = 20_000_000;

/// All figures of a stream, with the last run of its numbering closed.
#[derive(Clone, Debug)]
pub(crate) struct Totals {
    pub(crate) key: FlowKey,
    pub(crate) numbering: SequenceCounts,
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

/// What a packet meant, for whoever has more to do.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SlowResult {
    pub(crate) arrival: Arrival,
    /// An interval that this packet ended.
    pub(crate) ended: Option<IntervalRow>,
}

impl Flow {
    /// With its first packet, of a payload type of which nothing is known yet.
    pub(crate) fn new(hashed: Key, key: FlowKey, packet: &RtpPacket, flags: u16) -> (Self, SlowState) {
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
            equal_len: packet.payload_len,
            equal_since: 1,
            second: coarse(packet.now),
            interval_end: coarse(packet.now + INTERVAL),
            ..Self::NONE
        };
        flow.observe_delay(packet.now);
        let slow = SlowState {
            key,
            runs,
            first: packet.now,
            last_new: packet.now,
            last_clocked: packet.now,
            overhead: around - i64::from(overhead),
            ..SlowState::NONE
        };
        (flow, slow)
    }

    /// Takes a packet that follows its predecessor in number and time, of the payload type in use, in a
    /// stream where nothing is unsettled; false, and nothing done, for every other. HOT: three cache lines,
    /// hardly a branch.
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
        if packet.payload_len != self.equal_len {
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

    /// Takes any packet of the payload type in use. `elsewhere` is asked, with the highest number so far and
    /// how many are missing after it, how many of those the source spent on other destinations.
    #[cold]
    pub(crate) fn slow_path(
        &mut self,
        slow: &mut SlowState,
        packet: &RtpPacket,
        elsewhere: impl FnOnce(u32, u32) -> u32,
    ) -> SlowResult {
        let (last_new, last_clocked) = if self.flags & LASTS_DIFFER != 0 {
            (slow.last_new, slow.last_clocked)
        } else {
            (self.last, self.last)
        };
        (slow.last_new, slow.last_clocked) = (last_new, last_clocked);
        let ended = self.interval_over(slow, packet.now);
        let passed = signed(packet.now.since(self.last)) as f64;
        self.last = self.last.max(packet.now);
        self.count(slow, packet, passed);
        slow.overhead += i64::from(packet.ip_len) - i64::from(packet.payload_len) - i64::from(self.overhead);
        let arrival = self.sequence(slow, packet, elsewhere);
        if std::mem::take(&mut slow.runs.stray_was_late) {
            self.discard_stray(slow);
        }
        match arrival {
            Arrival::Ahead { missing } => slow.interval_lost = slow.interval_lost.saturating_add(missing),
            Arrival::Late => slow.interval_lost = slow.interval_lost.saturating_sub(1),
            Arrival::Duplicate => slow.interval_repeats += 1,
            Arrival::Stray => {}
            Arrival::Restart => {
                self.rebase(slow, packet);
                slow.last_new = packet.now;
            }
        }
        if !matches!(arrival, Arrival::Duplicate | Arrival::Restart) {
            slow.delta_max = slow.delta_max.max(packet.now.since(last_new).0 as f32);
            slow.last_new = last_new.max(packet.now);
            if arrival != Arrival::Stray {
                self.clock(slow, packet, matches!(arrival, Arrival::Ahead { missing: 0 }));
            }
        }
        self.begin_equal_sizes(self.equal_len);
        self.set(UNSETTLED, slow.runs.unsettled());
        self.set(LASTS_DIFFER, slow.last_new != self.last || slow.last_clocked != self.last);
        self.set(OPENING, self.numbering.packets.wrapping_sub(slow.runs.duplicates) <= OPENERS);
        SlowResult { arrival, ended }
    }

    /// The last packet came so late that only the one after it showed which number it had: it was not lost,
    /// and no jitter buffer plays it.
    fn discard_stray(&mut self, slow: &mut SlowState) {
        slow.interval_lost = slow.interval_lost.saturating_sub(1);
        if self.tick > 0.0 && !self.is_event() {
            let last = &mut self.interval_bins[BINS - 1];
            *last = last.saturating_add(1);
        }
    }

    /// When the last packet came that was no repeat.
    pub(crate) fn last_first_copy(&self, slow: &SlowState) -> Nanos {
        if self.flags & LASTS_DIFFER != 0 { slow.last_new } else { self.last }
    }

    /// Nanoseconds from packet to packet; those of usual telephony where its packets have not told.
    pub(crate) fn pace(&self) -> u64 {
        let pace = f64::from(self.tick) * f64::from(self.step);
        if pace > 0.0 { pace as u64 } else { USUAL_PACE }
    }

    fn sequence(
        &mut self,
        slow: &mut SlowState,
        packet: &RtpPacket,
        elsewhere: impl FnOnce(u32, u32) -> u32,
    ) -> Arrival {
        if self.flags & UNSETTLED == 0 && self.numbering.follows(packet.sequence) {
            self.numbering.step();
            return Arrival::Ahead { missing: 0 };
        }
        let distance = self.numbering.distance(packet.sequence);
        let passed = packet.now.since(slow.last_clocked).0 as f64;
        let ticks = packet.timestamp.wrapping_sub(self.timestamp);
        let evidence = JumpEvidence {
            late_limit: late_limit(self.tick, self.step),
            sent_between: sent_between(self.tick, self.step, ticks, passed),
            elsewhere: if distance > 1 {
                elsewhere(self.numbering.extended_max(), distance as u32 - 1)
            } else {
                0
            },
        };
        self.numbering.update(&mut slow.runs, packet.sequence, evidence)
    }

    /// What every packet adds, whatever its number, on the slow path.
    fn count(&mut self, slow: &mut SlowState, packet: &RtpPacket, passed: f64) {
        self.iat_min = smaller(self.iat_min, passed as f32);
        slow.iat_max = larger(slow.iat_max, passed as f32);
        self.iat_squares += passed * passed;
        self.end_equal_sizes();
        self.add_sizes(packet.payload_len, packet.ip_len, 1);
    }

    /// What has passed so far.
    pub(crate) fn passed(&self, slow: &SlowState) -> Passed {
        self.numbering.passed(slow.runs)
    }

    /// What has passed up to a sequence number, see [`Numbering::passed_up_to`].
    pub(crate) fn passed_up_to(&self, slow: &SlowState, sequence: u16) -> Option<Passed> {
        self.numbering.passed_up_to(slow.runs, sequence)
    }

    /// All figures, as if the stream ended now.
    pub(crate) fn totals(mut self, slow: &SlowState) -> Totals {
        self.end_equal_sizes();
        let around =
            i128::from(self.numbering.packets) * i128::from(self.overhead) + i128::from(slow.overhead);
        Totals {
            key: slow.key,
            numbering: self.numbering.close(slow.runs),
            step: self.step,
            first: slow.first,
            last: self.last,
            jitter_max: self.jitter_max,
            jitter_sum: slow.jitter_sum + slow.interval_jitter + f64::from(self.interval_jitter),
            jitters: self.jitters,
            delta_max: self.iat_max.max(slow.delta_max),
            iat_min: self.iat_min,
            iat_max: self.iat_max.max(slow.iat_max),
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

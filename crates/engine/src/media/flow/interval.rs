//! The ten-second intervals of a stream.

use ringtap_model::Nanos;

use super::clock::coarse;
use super::state::{BINS, Flow, INTERVAL, SlowState};

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

impl Flow {
    /// Ends the running interval if it is over, and begins the one that `now` lies in.
    pub(super) fn interval_over(&mut self, slow: &mut SlowState, now: Nanos) -> Option<IntervalRow> {
        if now.since(slow.interval_start()) < INTERVAL {
            return None;
        }
        slow.interval_jitter += f64::from(std::mem::take(&mut self.interval_jitter));
        if slow.interval_index == u16::MAX {
            // Past the last number, after 7.6 days, the interval goes on to the end.
            self.interval_end = coarse(now + INTERVAL);
            return None;
        }
        let row = self.running_interval(slow);
        slow.interval_index = u16::try_from(now.since(slow.first).0 / INTERVAL.0).unwrap_or(u16::MAX);
        self.interval_end = coarse(slow.interval_start() + INTERVAL);
        slow.interval_since = self.numbering.packets;
        slow.interval_jitters = self.jitters;
        (slow.interval_repeats, slow.interval_lost) = (0, 0);
        slow.jitter_sum += std::mem::take(&mut slow.interval_jitter);
        self.interval_bins = [0; BINS];
        Some(row)
    }

    /// The running interval as it stands.
    pub(crate) fn running_interval(&self, slow: &SlowState) -> IntervalRow {
        // Neither repeats nor events have one, nor the first packet behind a new time base.
        let jitters = self.jitters.wrapping_sub(slow.interval_jitters);
        let jitter = slow.interval_jitter + f64::from(self.interval_jitter);
        let packets = self.numbering.packets.wrapping_sub(slow.interval_since);
        IntervalRow {
            start: slow.interval_start(),
            packets,
            unique: packets.saturating_sub(slow.interval_repeats),
            lost: slow.interval_lost,
            jitter: jitter as f32 / jitters.max(1) as f32,
            bins: self.interval_bins,
        }
    }
}

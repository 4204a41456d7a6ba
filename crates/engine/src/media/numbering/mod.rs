//! Sequence numbers of one stream: RFC 3550 appendix A.1, with exact loss, repeats, order and bursts.
//!
//! A window of the last 128 numbers tells a repeat from a late packet, and decides what is lost when a number
//! leaves it: so a packet that comes late neither counts as lost nor splits a burst.

#[cfg(test)]
mod tests;

/// RFC 3550 appendix A.1, MAX_DROPOUT: a jump further ahead is no loss unless clock and time say so.
const MAX_DROPOUT: i32 = 3000;
/// RFC 3550 appendix A.1, MAX_MISORDER: a packet further behind is a new beginning, not a late one.
const MAX_MISORDER: i32 = 100;
/// SequenceCounts that are remembered one by one.
const WINDOW: u32 = 128;
/// Where extended numbers begin: one cycle up, so that a late first packet finds room below.
const ORIGIN: u32 = 1 << 16;
/// Extended numbers start over long before they could overflow, whatever a sender does.
const RENEW: u32 = 1 << 31;

/// What a packet's number says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arrival {
    /// Ahead of all before it, with so many numbers missing in between.
    Ahead { missing: u32 },
    /// Behind the highest, not seen before.
    Late,
    /// Seen before.
    Duplicate,
    /// Far off: a stray, or the first packet of a new beginning.
    Stray,
    /// The second packet of a new beginning: numbering restarts.
    Restart,
}

/// What the caller knows of time, for jumps that numbers alone cannot judge.
#[derive(Clone, Copy, Debug)]
pub(crate) struct JumpEvidence {
    /// A late packet this many numbers behind would be later than any network makes it.
    pub(crate) late_limit: i32,
    /// The RTP clock and the time that passed both say that about this many packets were sent since the last.
    pub(crate) sent_between: Option<u32>,
    /// So many of the missing numbers were spent elsewhere: on another destination, on T.38.
    pub(crate) elsewhere: u32,
}

/// What every packet touches: the window of the current run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Numbering {
    /// Bit n: whether the number n below the highest was seen; ones, too, below the lowest number of the run,
    /// which nobody misses. Two halves, low first, to need no 16-byte alignment.
    window: [u64; 2],
    extended_max: u32,
    /// Every packet so far, repeats included.
    pub(crate) packets: u32,
}

/// What only losses, repeats and jumps touch: bounds of the current run, and sums over all runs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RunTotals {
    base_seq: u32,
    /// Length of the run of lost numbers that is leaving the window.
    leaving: u32,
    expected_before: u32,
    pub(crate) duplicates: u32,
    reordered: u32,
    bursts: u32,
    burst_max: u32,
    burst_lost: u32,
    /// Number that would confirm a new beginning.
    bad_seq: Option<u16>,
    /// The stray before this packet was one of the missing, later than any jitter buffer waits; to be taken.
    pub(crate) stray_was_late: bool,
}

/// The figures of all runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SequenceCounts {
    expected: u32,
    pub(crate) packets: u32,
    pub(crate) unique: u32,
    pub(crate) reordered: u32,
    pub(crate) bursts: u32,
    pub(crate) burst_max: u32,
    pub(crate) burst_lost: u32,
}

/// What passed here of a stream, up to one of its sequence numbers. Over all runs of its numbering.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Passed {
    /// Sequence numbers that should have passed.
    pub(crate) expected: u32,
    /// Of these, missing.
    pub(crate) lost: u32,
    /// Packets that came again.
    pub(crate) duplicates: u32,
}

impl SequenceCounts {
    /// SequenceCounts that were expected, over all runs.
    pub(crate) fn expected(&self) -> u32 {
        self.expected
    }

    /// SequenceCounts that never came.
    pub(crate) fn lost(&self) -> u32 {
        self.expected.saturating_sub(self.unique)
    }
}

impl RunTotals {
    /// Of no stream.
    pub(crate) const NONE: Self = Self {
        base_seq: 0,
        leaving: 0,
        expected_before: 0,
        duplicates: 0,
        reordered: 0,
        bursts: 0,
        burst_max: 0,
        burst_lost: 0,
        bad_seq: None,
        stray_was_late: false,
    };

    /// Whether the next number may not be taken by [`Numbering::step`]: it could confirm a new beginning, or
    /// end a burst.
    pub(crate) fn unsettled(&self) -> bool {
        self.bad_seq.is_some() || self.leaving > 0
    }

    /// The lowest extended number of this run.
    pub(crate) fn base_seq(&self) -> u32 {
        self.base_seq
    }

    #[cold]
    fn end_burst(&mut self) {
        self.bursts += 1;
        self.burst_max = self.burst_max.max(self.leaving);
        self.burst_lost = self.burst_lost.saturating_add(self.leaving);
        self.leaving = 0;
    }
}

impl Numbering {
    /// Of no stream.
    pub(crate) const NONE: Self = Self { window: [0; 2], extended_max: 0, packets: 0 };

    /// With the first packet's number.
    pub(crate) fn new(sequence: u16) -> (Self, RunTotals) {
        let extended_max = ORIGIN + u32::from(sequence);
        let runs = RunTotals { base_seq: extended_max, ..RunTotals::NONE };
        (Self { window: [u64::MAX; 2], extended_max, packets: 1 }, runs)
    }

    /// Distance of a number from the highest, in -32768..=32767.
    #[inline]
    pub(crate) fn distance(&self, sequence: u16) -> i32 {
        i32::from(sequence.wrapping_sub(self.extended_max as u16) as i16)
    }

    /// The highest extended number of this run.
    pub(crate) fn extended_max(&self) -> u32 {
        self.extended_max
    }

    /// Whether a number is the next one, and the one that leaves the window for it was not lost.
    #[inline]
    pub(crate) fn follows(&self, sequence: u16) -> bool {
        sequence == (self.extended_max as u16).wrapping_add(1) && self.window[1] >> 63 != 0
    }

    /// Takes the next number, one that [`Numbering::follows`] where nothing is [`RunTotals::unsettled`]. HOT:
    /// two shifts.
    #[inline]
    pub(crate) fn step(&mut self) {
        self.packets = self.packets.wrapping_add(1);
        self.push(1);
    }

    /// Takes any packet.
    #[cold]
    pub(crate) fn update(&mut self, runs: &mut RunTotals, sequence: u16, evidence: JumpEvidence) -> Arrival {
        self.packets = self.packets.wrapping_add(1);
        let distance = self.distance(sequence);
        if self.extended_max >= RENEW {
            self.flush(runs);
            self.begin(runs, ORIGIN + (self.extended_max & 0xffff));
            runs.expected_before -= 1;
        }
        let bad_seq = runs.bad_seq.take();
        if bad_seq == Some(sequence) && !(1..=MAX_MISORDER).contains(&distance) {
            self.restart(runs, sequence.wrapping_sub(1));
            self.shift(runs, 1);
            // The stray before it was counted when it came, and is the first of the new run.
            runs.expected_before -= 1;
            return Arrival::Restart;
        }
        match bad_seq {
            // The stray once more: a mirror gives each packet twice.
            Some(next) if next == sequence.wrapping_add(1) => {
                runs.bad_seq = bad_seq;
                runs.duplicates += 1;
                return Arrival::Duplicate;
            }
            Some(next) => self.resolve_stray(runs, next.wrapping_sub(1)),
            None => {}
        }
        match distance {
            0 => {
                runs.duplicates += 1;
                Arrival::Duplicate
            }
            1.. if evidence.elsewhere > 0 => self.resume(runs, sequence, distance as u32, evidence.elsewhere),
            1..=MAX_DROPOUT => self.ahead(runs, distance as u32),
            _ if distance > 0
                && evidence.sent_between.is_some_and(|sent| is_about(sent, distance as u32)) =>
            {
                self.ahead(runs, distance as u32)
            }
            _ if distance < 0 && -distance <= MAX_MISORDER.min(evidence.late_limit) => {
                self.late(runs, -distance as u32)
            }
            _ => {
                runs.bad_seq = Some(sequence.wrapping_add(1));
                // A run of its own, so that it does not stand for a number that was lost.
                runs.expected_before = runs.expected_before.saturating_add(1);
                Arrival::Stray
            }
        }
    }

    fn ahead(&mut self, runs: &mut RunTotals, distance: u32) -> Arrival {
        let missing = distance - 1;
        for _ in 0..missing.min(WINDOW) {
            self.shift(runs, 0);
        }
        if missing > WINDOW {
            // SequenceCounts that enter and leave the window in one jump.
            let skipped = missing - WINDOW;
            runs.leaving = runs.leaving.saturating_add(skipped);
            self.extended_max += skipped;
        }
        self.shift(runs, 1);
        Arrival::Ahead { missing }
    }

    /// The stray was no new beginning. Where its number is still in the window, it was late after all, or a
    /// repeat.
    fn resolve_stray(&mut self, runs: &mut RunTotals, sequence: u16) {
        let distance = self.distance(sequence);
        if (1 - WINDOW as i32..0).contains(&distance) {
            runs.expected_before -= 1;
            runs.stray_was_late = self.late(runs, distance.unsigned_abs()) == Arrival::Late;
        }
    }

    /// Continues after numbers that were spent elsewhere, as a new run; the rest of the missing ones is one
    /// burst.
    fn resume(&mut self, runs: &mut RunTotals, sequence: u16, distance: u32, elsewhere: u32) -> Arrival {
        let lost = (distance - 1).saturating_sub(elsewhere);
        self.flush(runs);
        if lost > 0 {
            runs.leaving = lost;
            runs.end_burst();
            runs.expected_before = runs.expected_before.saturating_add(lost);
        }
        let extended_max = self.extended_max + distance;
        debug_assert_eq!(extended_max as u16, sequence);
        self.begin(runs, extended_max);
        Arrival::Ahead { missing: lost }
    }

    fn late(&mut self, runs: &mut RunTotals, behind: u32) -> Arrival {
        let number = self.extended_max - behind;
        if number < runs.base_seq {
            // What lies between it and the old base belongs to the run now, and has not been seen.
            for gap in number + 1..runs.base_seq {
                self.window[((self.extended_max - gap) / 64) as usize] &=
                    !(1 << ((self.extended_max - gap) % 64));
            }
            runs.base_seq = number;
        } else {
            let (half, bit) = (&mut self.window[behind as usize / 64], 1u64 << (behind % 64));
            if *half & bit != 0 {
                runs.duplicates += 1;
                return Arrival::Duplicate;
            }
            *half |= bit;
        }
        runs.reordered += 1;
        Arrival::Late
    }

    /// Moves the window by one number, received (1) or not (0), and judges the one that leaves it.
    fn shift(&mut self, runs: &mut RunTotals, received: u64) {
        if self.window[1] >> 63 == 0 {
            runs.leaving += 1;
        } else if runs.leaving > 0 {
            runs.end_burst();
        }
        self.push(received);
    }

    #[inline]
    fn push(&mut self, received: u64) {
        self.window = [self.window[0] << 1 | received, self.window[1] << 1 | self.window[0] >> 63];
        self.extended_max = self.extended_max.wrapping_add(1);
    }

    /// Ends the run: all that is still in the window is judged.
    fn flush(&mut self, runs: &mut RunTotals) {
        let of_run = (self.extended_max - runs.base_seq).min(WINDOW - 1);
        let window = u128::from(self.window[1]) << 64 | u128::from(self.window[0]);
        if !window << (WINDOW - 1 - of_run) == 0 {
            // All came, as nearly always: only what left the window before may be a burst.
            if runs.leaving > 0 {
                runs.end_burst();
            }
            runs.expected_before = runs.expected_before.saturating_add(self.extended_max - runs.base_seq + 1);
            return;
        }
        for behind in (0..WINDOW).rev() {
            if self.extended_max - behind < runs.base_seq {
                continue;
            }
            if self.window[behind as usize / 64] >> (behind % 64) & 1 == 0 {
                runs.leaving += 1;
            } else if runs.leaving > 0 {
                runs.end_burst();
            }
        }
        if runs.leaving > 0 {
            runs.end_burst();
        }
        runs.expected_before = runs.expected_before.saturating_add(self.extended_max - runs.base_seq + 1);
    }

    /// A new run begins with this number, already counted.
    fn restart(&mut self, runs: &mut RunTotals, sequence: u16) {
        self.flush(runs);
        self.begin(runs, ORIGIN + u32::from(sequence));
    }

    fn begin(&mut self, runs: &mut RunTotals, extended_max: u32) {
        self.extended_max = extended_max;
        self.window = [u64::MAX; 2];
        runs.base_seq = extended_max;
    }

    /// What has passed so far.
    #[cold]
    pub(crate) fn passed(self, runs: RunTotals) -> Passed {
        let counts = self.close(runs);
        let duplicates = counts.packets.saturating_sub(counts.unique);
        Passed { expected: counts.expected(), lost: counts.lost(), duplicates }
    }

    /// What has passed up to a number that somebody else received; None where that number is not among the
    /// last 128 that passed here, nor shortly after them.
    pub(crate) fn passed_up_to(self, runs: RunTotals, sequence: u16) -> Option<Passed> {
        let all = self.passed(runs);
        let distance = self.distance(sequence);
        if (0..=MAX_MISORDER).contains(&distance) {
            // It passed, and was not captured.
            let ahead = distance.unsigned_abs();
            return Some(Passed { expected: all.expected + ahead, lost: all.lost + ahead, ..all });
        }
        let behind = distance.unsigned_abs();
        if behind >= WINDOW || distance > 0 {
            return None;
        }
        let window = u128::from(self.window[1]) << 64 | u128::from(self.window[0]);
        let missing = (!window & ((1 << behind) - 1)).count_ones();
        let (expected, lost) = (all.expected.checked_sub(behind)?, all.lost.saturating_sub(missing));
        Some(Passed { expected, lost, ..all })
    }

    /// The figures, with the last run ended here.
    pub(crate) fn close(mut self, mut runs: RunTotals) -> SequenceCounts {
        if let Some(bad_seq) = runs.bad_seq.take() {
            self.resolve_stray(&mut runs, bad_seq.wrapping_sub(1));
        }
        self.flush(&mut runs);
        SequenceCounts {
            expected: runs.expected_before,
            packets: self.packets,
            unique: self.packets.saturating_sub(runs.duplicates),
            reordered: runs.reordered,
            bursts: runs.bursts,
            burst_max: runs.burst_max,
            burst_lost: runs.burst_lost,
        }
    }
}

/// Within a tenth, or two.
fn is_about(a: u32, b: u32) -> bool {
    a.abs_diff(b) <= (b / 10).max(2)
}

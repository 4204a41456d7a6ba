//! Sequence numbers of one stream: RFC 3550 appendix A.1, with exact loss, repeats, order and bursts.
//!
//! A window of the last 128 numbers tells a repeat from a late packet, and decides what is lost when a number
//! leaves it: so a packet that comes late neither counts as lost nor splits a burst.

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
            self.late(runs, distance.unsigned_abs());
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const NOTHING_KNOWN: JumpEvidence = JumpEvidence { late_limit: 100, sent_between: None, elsewhere: 0 };

    /// SequenceCounts as a flow takes them: on the straight way where that is allowed.
    struct Stream {
        numbering: Numbering,
        runs: RunTotals,
    }

    impl Stream {
        fn new(first: u16) -> Self {
            let (numbering, runs) = Numbering::new(first);
            Self { numbering, runs }
        }

        fn take(&mut self, number: u16, evidence: impl FnOnce(i32) -> JumpEvidence) -> Arrival {
            if !self.runs.unsettled() && self.numbering.follows(number) {
                self.numbering.step();
                return Arrival::Ahead { missing: 0 };
            }
            let evidence = evidence(self.numbering.distance(number));
            self.numbering.update(&mut self.runs, number, evidence)
        }

        fn close(self) -> SequenceCounts {
            self.numbering.close(self.runs)
        }
    }

    fn run(numbers: impl IntoIterator<Item = u16>) -> SequenceCounts {
        let mut numbers = numbers.into_iter();
        let mut stream = Stream::new(numbers.next().unwrap());
        for number in numbers {
            stream.take(number, |_| NOTHING_KNOWN);
        }
        stream.close()
    }

    #[test]
    fn wraps_are_followed_however_often() {
        let numbering = run((0..200_000u32).map(|n| n as u16));
        assert_eq!((numbering.expected(), numbering.unique, numbering.lost()), (200_000, 200_000, 0));
    }

    #[test]
    fn bursts_of_loss() {
        let numbering = run((0..1000u16).filter(|n| !matches!(n, 10 | 20..=22 | 500..=799)));
        assert_eq!((numbering.lost(), numbering.bursts, numbering.burst_max), (304, 3, 300));
    }

    #[test]
    fn a_late_packet_is_not_lost_and_splits_no_burst() {
        let numbering = run([1, 2, 4, 3, 5, 5, 9, 7]);
        assert_eq!((numbering.lost(), numbering.reordered, numbering.packets - numbering.unique), (2, 2, 1));
        assert_eq!((numbering.bursts, numbering.burst_max), (2, 1));
    }

    #[test]
    fn a_late_first_packet_lowers_the_base() {
        let numbering = run([2, 3, 1, 4]);
        assert_eq!((numbering.expected(), numbering.lost(), numbering.reordered), (4, 0, 1));
    }

    #[test]
    fn numbering_that_restarts_loses_nothing() {
        let numbering = run((5..=174).chain(0..=299).chain(0..=2075));
        assert_eq!((numbering.lost(), numbering.unique, numbering.packets), (0, 2546, 2546));
    }

    #[test]
    fn a_jump_ahead_restarts_unless_clock_and_time_vouch_for_it() {
        assert_eq!(run((0..100).chain(20_000..20_100)).lost(), 0);
        let mut numbering = Stream::new(0);
        let place = numbering.take(5000, |_| JumpEvidence { sent_between: Some(5001), ..NOTHING_KNOWN });
        assert_eq!(place, Arrival::Ahead { missing: 4999 });
        let numbering = numbering.close();
        assert_eq!((numbering.lost(), numbering.bursts, numbering.burst_max), (4999, 1, 4999));
    }

    #[test]
    fn a_stray_changes_nothing() {
        let numbering = run([1, 2, 3, 30_000, 4, 5]);
        assert_eq!((numbering.lost(), numbering.bursts), (0, 0));
    }

    #[test]
    fn later_than_any_network_is_still_late_unless_it_begins_anew() {
        let late = JumpEvidence { late_limit: 4, ..NOTHING_KNOWN };
        let run = |numbers: &[u16]| {
            let mut numbering = Stream::new(numbers[0]);
            for number in &numbers[1..] {
                numbering.take(*number, |_| late);
            }
            let numbering = numbering.close();
            (numbering.lost(), numbering.reordered, numbering.packets - numbering.unique)
        };
        assert_eq!(run(&[1, 2, 4, 5, 6, 7, 8, 9, 10, 3, 11, 12]), (0, 1, 0));
        assert_eq!(run(&[1, 2, 3, 4, 5, 6, 7, 8, 1, 9, 2, 10, 3]), (0, 0, 3));
        assert_eq!(run(&[1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3]), (0, 0, 0));
    }

    #[test]
    fn a_stray_hides_no_loss() {
        let numbering = run([1, 2, 3, 30_000, 8, 9]);
        assert_eq!((numbering.lost(), numbering.bursts, numbering.burst_max), (4, 1, 4));
        let numbering = run([1, 2, 5, 30_000, 30_001, 30_003, 7]);
        assert_eq!((numbering.lost(), numbering.bursts, numbering.burst_max), (3, 2, 2));
    }

    #[test]
    fn a_stray_that_comes_twice_is_counted_once() {
        let numbers = (5..=174u16).chain(0..=299).chain([20_000]).chain(300..=310);
        let numbering = run(numbers.flat_map(|number| [number, number]));
        assert_eq!((numbering.lost(), numbering.unique, numbering.packets), (0, 482, 964));
    }

    #[test]
    fn a_stray_within_the_window_that_comes_twice_is_settled_once() {
        let mut numbering = Stream::new(100);
        for number in [101, 102, 103, 104, 105, 95, 95, 106] {
            numbering.take(number, |_| JumpEvidence { late_limit: 4, ..NOTHING_KNOWN });
        }
        let numbering = numbering.close();
        assert_eq!((numbering.unique, numbering.packets, numbering.lost()), (8, 9, 4));
    }

    #[test]
    fn numbers_spent_elsewhere_are_not_lost() {
        for gap in [5u16, 126, 127, 128, 129, 384] {
            let mut numbering = Stream::new(0);
            for number in 1..200 {
                numbering.take(number, |_| NOTHING_KNOWN);
            }
            let elsewhere = u32::from(gap) - 2;
            let place = numbering.take(200 + gap, |_| JumpEvidence { elsewhere, ..NOTHING_KNOWN });
            assert_eq!(place, Arrival::Ahead { missing: 2 });
            for number in 201..400 {
                numbering.take(gap + number, |_| NOTHING_KNOWN);
            }
            let numbering = numbering.close();
            assert_eq!((numbering.lost(), numbering.bursts, numbering.burst_max), (2, 1, 2), "gap {gap}");
        }
    }

    fn arrivals(numbers: &[u16]) -> Vec<Arrival> {
        let mut stream = Stream::new(numbers[0]);
        numbers[1..].iter().map(|number| stream.take(*number, |_| NOTHING_KNOWN)).collect()
    }

    const NEXT: Arrival = Arrival::Ahead { missing: 0 };

    /// RFC 3550 appendix A.1: a jump of up to MAX_DROPOUT is loss, up to MAX_MISORDER behind is late.
    #[test]
    fn a_jump_is_judged_by_the_limits_of_rfc_3550() {
        assert_eq!(arrivals(&[0, 3000]), [Arrival::Ahead { missing: 2999 }]);
        assert_eq!(arrivals(&[0, 3001]), [Arrival::Stray]);
        assert_eq!(arrivals(&[200, 100]), [Arrival::Late]);
        assert_eq!(arrivals(&[200, 99]), [Arrival::Stray]);
    }

    /// RFC 3550 appendix A.1, bad_seq: two packets in a row begin a new numbering.
    #[test]
    fn the_second_packet_in_a_row_far_off_restarts_the_numbering() {
        assert_eq!(arrivals(&[1, 2, 30_000, 30_001, 30_002]), [NEXT, Arrival::Stray, Arrival::Restart, NEXT]);
        assert_eq!(arrivals(&[1, 2, 30_000, 30_002]), [NEXT, Arrival::Stray, Arrival::Stray]);
        assert_eq!(arrivals(&[1, 30_000, 2, 30_001]), [Arrival::Stray, NEXT, Arrival::Stray]);
    }

    #[test]
    fn a_copy_is_a_duplicate_as_far_back_as_packets_may_be_late() {
        let mut numbers: Vec<u16> = (0..=100).collect();
        numbers.extend([100, 0, 50]);
        assert_eq!(arrivals(&numbers)[100..], [Arrival::Duplicate; 3]);
        assert_eq!(arrivals(&[5, 6, 8, 7, 7])[2..], [Arrival::Late, Arrival::Duplicate]);
    }

    #[test]
    fn what_lies_between_a_late_first_packet_and_the_old_base_is_missing() {
        let numbers = run([10, 7, 8]);
        assert_eq!((numbers.expected(), numbers.lost(), numbers.reordered), (4, 1, 2));
        assert_eq!((numbers.bursts, numbers.burst_max, numbers.burst_lost), (1, 1, 1));
        let numbers = run([100, 30, 65, 64]);
        assert_eq!((numbers.expected(), numbers.lost(), numbers.burst_max), (71, 67, 34));
    }

    #[test]
    fn a_gap_longer_than_the_window_is_one_burst() {
        for gap in [126, 127, 128, 129, 130, 2999] {
            let numbers = run([0, gap + 1, gap + 2]);
            assert_eq!((numbers.lost(), numbers.bursts), (u32::from(gap), 1), "{gap}");
            assert_eq!((numbers.burst_max, numbers.burst_lost), (u32::from(gap), u32::from(gap)), "{gap}");
        }
    }

    #[test]
    fn bursts_that_leave_the_window_one_by_one_are_counted_as_they_are() {
        let numbers = run((0..400u16).filter(|number| !matches!(number, 100..=102 | 104 | 300..=349)));
        assert_eq!((numbers.lost(), numbers.bursts, numbers.burst_max), (54, 3, 50));
        assert_eq!(numbers.burst_lost, 54);
    }

    #[test]
    fn a_run_whose_last_packets_are_lost_ends_with_the_last_that_came() {
        assert_eq!((run([1, 2, 3]).expected(), run([1, 2, 9]).expected()), (3, 9));
    }

    #[test]
    fn packets_that_the_clock_vouches_for_agree_within_a_tenth() {
        for (sent, is_loss) in [(4500, true), (5500, true), (4499, false), (5501, false)] {
            let mut stream = Stream::new(0);
            let arrival = stream.take(5000, |_| JumpEvidence { sent_between: Some(sent), ..NOTHING_KNOWN });
            assert_eq!(arrival == Arrival::Ahead { missing: 4999 }, is_loss, "{sent} sent");
        }
    }

    #[test]
    fn more_numbers_spent_elsewhere_than_are_missing_lose_nothing() {
        let mut stream = Stream::new(0);
        let arrival = stream.take(10, |_| JumpEvidence { elsewhere: 50, ..NOTHING_KNOWN });
        assert_eq!(arrival, NEXT);
        assert_eq!(stream.numbering.distance(11), 1);
        let numbers = stream.close();
        assert_eq!((numbers.expected(), numbers.lost(), numbers.bursts), (2, 0, 0));
    }

    #[test]
    fn a_number_is_near_in_either_direction_around_the_wrap() {
        let (numbering, _) = Numbering::new(65_535);
        assert_eq!(
            (numbering.distance(0), numbering.distance(65_534), numbering.distance(65_535)),
            (1, -1, 0)
        );
        assert_eq!((numbering.distance(32_766), numbering.distance(32_767)), (32_767, -32_768));
        assert!(numbering.follows(0) && !numbering.follows(1) && !numbering.follows(65_535));
    }

    #[test]
    fn extended_numbers_start_over_before_they_overflow_and_nothing_is_lost() {
        let mut stream = Stream::new(7);
        stream.numbering.extended_max = RENEW + 7;
        stream.runs.base_seq = RENEW;
        assert_eq!(stream.take(9, |_| NOTHING_KNOWN), Arrival::Ahead { missing: 1 });
        assert_eq!(stream.numbering.extended_max(), ORIGIN + 9);
        assert_eq!(stream.runs.base_seq(), ORIGIN + 7);
        let numbers = stream.close();
        assert_eq!((numbers.expected(), numbers.packets), (10, 2));
    }

    #[test]
    fn a_stream_is_unsettled_while_a_stray_waits_or_a_burst_leaves_the_window() {
        let mut stream = Stream::new(0);
        assert!(!stream.runs.unsettled());
        stream.take(30_000, |_| NOTHING_KNOWN);
        assert!(stream.runs.unsettled());
        stream.take(1, |_| NOTHING_KNOWN);
        assert!(!stream.runs.unsettled());
        for number in 3..131 {
            stream.take(number, |_| NOTHING_KNOWN);
        }
        assert!(stream.runs.unsettled());
        stream.take(131, |_| NOTHING_KNOWN);
        assert!(!stream.runs.unsettled());
    }

    proptest! {
        /// Against a plain set of numbers: loss, reordering within the window and repeats, in any mix.
        #[test]
        fn agrees_with_a_set(
            start in any::<u16>(),
            fate in proptest::collection::vec((0u8..20, 0usize..40), 2..600),
        ) {
            let mut sent: Vec<(usize, u32)> = Vec::new();
            for (index, &(kind, shift)) in fate.iter().enumerate() {
                match kind {
                    0 | 1 if index > 0 => {}
                    2 => sent.push((index + shift, index as u32)),
                    3 => sent.extend([(index, index as u32), (index + shift, index as u32)]),
                    _ => sent.push((index, index as u32)),
                }
            }
            sent.sort_by_key(|&(at, _)| at);
            let numbers: Vec<u32> = sent.iter().map(|&(_, number)| number).collect();
            let numbering = run(numbers.iter().map(|number| start.wrapping_add(*number as u16)));
            let set: std::collections::BTreeSet<u32> = numbers.iter().copied().collect();
            let (low, high) = (*set.first().unwrap(), *set.last().unwrap());
            prop_assert_eq!(numbering.unique as usize, set.len());
            prop_assert_eq!(numbering.lost() as usize, (high - low + 1) as usize - set.len());
            let mut bursts = Vec::new();
            let mut previous = low;
            for &number in &set {
                if number - previous > 1 { bursts.push(number - previous - 1); }
                previous = number;
            }
            prop_assert_eq!(numbering.bursts as usize, bursts.len());
            prop_assert_eq!(numbering.burst_max, bursts.into_iter().max().unwrap_or(0));
        }

        #[test]
        fn any_numbers_never_panic(numbers in proptest::collection::vec(any::<u16>(), 1..300), sent in any::<u32>()) {
            let mut numbering = Stream::new(numbers[0]);
            for number in &numbers {
                numbering.take(*number, |distance| JumpEvidence {
                    late_limit: (sent % 200) as i32,
                    sent_between: Some(sent >> 16),
                    elsewhere: if sent % 3 == 0 { distance.unsigned_abs() / 2 } else { 0 },
                });
            }
            let numbering = numbering.close();
            let _ = numbering.lost();
        }
    }
}

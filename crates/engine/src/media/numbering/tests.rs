use super::*;
use proptest::prelude::*;

const NOTHING_KNOWN: JumpEvidence = JumpEvidence { late_limit: 100, sent_between: None, elsewhere: 0 };

/// Sequence numbers as a flow handles them: on the fast path where that is allowed.
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
    assert_eq!((numbering.distance(0), numbering.distance(65_534), numbering.distance(65_535)), (1, -1, 0));
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
    fn any_numbers_never_panic(
        numbers in proptest::collection::vec(any::<u16>(), 1..300),
        sent in any::<u32>(),
    ) {
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

//! SequenceCounts that the same source spent on other destinations, or while T.38 ran.

use ringtap_model::Nanos;

use super::endpoints::{Endpoints, OwnerList};
use super::flow::FlowKey;
use super::flows::Flows;

/// RTP pauses for at least this long while T.38 runs.
pub(super) const FAX_GAP: Nanos = Nanos::from_secs(1);
/// RTP may go on for so long after T.38 was offered.
pub(super) const FAX_LEAD: Nanos = Nanos::from_secs(5);
/// The message that tells of a pressed key may come so long before the last packet ahead of the gap.
pub(super) const KEY_LEAD: Nanos = Nanos::from_millis(100);

/// Where else the numbers of a stream may have gone.
#[derive(Clone, Copy)]
pub(super) struct Siblings {
    /// Number ranges of up to four siblings: low and high, 16 bits.
    ranges: [Option<(u16, u16)>; 4],
    /// All missing numbers were spent elsewhere.
    all: bool,
}

impl Siblings {
    #[cold]
    pub(super) fn of(flows: &Flows, endpoints: &Endpoints, slot: u32, key: &FlowKey, all: bool) -> Self {
        let mut ranges = [None; 4];
        let siblings =
            endpoints.owners(key.src, OwnerList::Flows).filter(|other| *other != slot).filter_map(|other| {
                let slow = &flows.details(other).slow;
                let same = slow.key.src == key.src && slow.key.ssrc == key.ssrc;
                same.then(|| flows.flow(other).numbers(slow))
            });
        for (range, sibling) in ranges.iter_mut().zip(siblings) {
            *range = Some(sibling);
        }
        Self { ranges, all }
    }

    /// Of `missing` numbers after `highest`, how many a sibling used. A sibling that already ran in parallel
    /// before the gap is a fork: it has the same numbers, so they were sent here too.
    pub(super) fn spent(&self, highest: u32, missing: u32) -> u32 {
        if self.all {
            return missing;
        }
        let relative = |number: u16| i64::from(number.wrapping_sub(highest as u16) as i16);
        let used = self.ranges.iter().flatten().map(|&(low, high)| match (relative(low), relative(high)) {
            (low, high) if low >= 1 && high >= low => (high.min(i64::from(missing)) - low + 1).max(0) as u32,
            _ => 0,
        });
        used.sum::<u32>().min(missing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spent(ranges: &[(u16, u16)], highest: u32, missing: u32) -> u32 {
        let mut siblings = Siblings { ranges: [None; 4], all: false };
        for (range, given) in siblings.ranges.iter_mut().zip(ranges) {
            *range = Some(*given);
        }
        siblings.spent(highest, missing)
    }

    #[test]
    fn numbers_of_a_sibling_that_began_after_the_gap_were_spent_there() {
        // Missing are 101 to 130.
        assert_eq!(spent(&[(101, 130)], 100, 30), 30);
        assert_eq!(spent(&[(101, 110)], 100, 30), 10);
        assert_eq!(spent(&[(121, 200)], 100, 30), 10);
        assert_eq!(spent(&[(131, 200)], 100, 30), 0);
        assert_eq!(spent(&[(130, 130)], 100, 30), 1);
        assert_eq!(spent(&[], 100, 30), 0);
    }

    #[test]
    fn a_sibling_that_ran_before_the_gap_is_a_fork_with_the_same_numbers() {
        assert_eq!(spent(&[(100, 130)], 100, 30), 0);
        assert_eq!(spent(&[(50, 120)], 100, 30), 0);
    }

    #[test]
    fn several_siblings_add_up_to_no_more_than_what_is_missing() {
        assert_eq!(spent(&[(101, 105), (106, 120)], 100, 30), 20);
        assert_eq!(spent(&[(101, 130), (101, 130)], 100, 30), 30);
    }

    #[test]
    fn numbers_wrap() {
        assert_eq!(spent(&[(65_535, 4)], 0x1_fffe, 6), 6);
    }

    #[test]
    fn while_t38_runs_all_missing_numbers_were_spent_elsewhere() {
        assert_eq!(Siblings { ranges: [None; 4], all: true }.spent(100, 30), 30);
    }
}

//! What was lost here and what elsewhere, report by report: the numbers behind [`ringtap_quality::place`].
//!
//! Each report of the receiver names the highest sequence number that it covers, so what it lost is compared
//! with what is missing here up to the same number. A report whose number never passed here is of another
//! numbering (a relay that numbers anew) and is not compared.

use ringtap_quality::{ReceiverCounts, SenderCounts};
use ringtap_wire::rtcp::Report;

use crate::media::numbering::Passed;

/// A report of the receiver beside what had passed here.
#[derive(Clone, Copy, Debug)]
struct Point {
    here: Passed,
    highest: u32,
    lost: i32,
    fraction: u8,
}

/// A report of the sender beside what had passed here.
#[derive(Clone, Copy, Debug)]
struct Sent {
    expected: u32,
    lost: u32,
    packets: u32,
}

/// See the module.
#[derive(Clone, Debug, Default)]
pub(crate) struct LossAccount {
    /// The first report that could be compared, and the last of the same count.
    first: Option<Point>,
    last: Option<Point>,
    /// SSRC of the receiver.
    receiver: u32,
    /// Sums over pairs of successive reports.
    expected: u64,
    lost_here: u64,
    lost_there: i64,
    duplicates: u64,
    /// Missing here alone, and at the receiver alone, interval by interval.
    here_only: u64,
    there_only: u64,
    reports: u32,
    pub(crate) unusable: u32,
    sent: Option<(Sent, Sent)>,
}

/// A receiver that counts this much less than before began anew; less is a late packet, or a repeat.
const RESTART: i64 = 100;
/// How far numbers may advance differently here and there between two reports.
const DIFFERENT: i64 = 100;
/// The sender's first report may count so many more or fewer packets than numbers that passed here, and
/// still count from our first packet.
const SAME_START: u32 = 10;

impl LossAccount {
    /// A report block of the receiver with that SSRC; `here` up to the number that it names, None if that
    /// number is far from those that pass here.
    pub(super) fn received(&mut self, report: &Report, receiver: u32, here: Option<Passed>) {
        let Some(here) = here else {
            self.unusable = self.unusable.saturating_add(1);
            return;
        };
        let point = Point {
            here,
            highest: report.highest_sequence,
            lost: report.cumulative_lost,
            fraction: report.fraction_lost,
        };
        let same = std::mem::replace(&mut self.receiver, receiver) == receiver;
        let before = self.last.replace(point).filter(|_| same);
        if let Some(before) = before {
            self.add(before, point);
        }
        self.first.get_or_insert(point);
        self.reports = self.reports.saturating_add(1);
    }

    /// Counts what lies between two reports, unless their counts have nothing to do with each other.
    fn add(&mut self, before: Point, point: Point) {
        let expected = i64::from(point.here.expected) - i64::from(before.here.expected);
        let advanced = i64::from(point.highest.wrapping_sub(before.highest).cast_signed());
        let there = i64::from(point.lost) - i64::from(before.lost);
        if expected < 0 || (advanced - expected).abs() > DIFFERENT || there < -RESTART {
            return;
        }
        let here = i64::from(point.here.lost) - i64::from(before.here.lost);
        let repeated =
            counted_repeats(point.here.duplicates.saturating_sub(before.here.duplicates), expected);
        if there + repeated > expected + DIFFERENT {
            return;
        }
        self.sum(expected, here, (there, repeated));
    }

    fn sum(&mut self, expected: i64, here: i64, (there, repeated): (i64, i64)) {
        self.expected = self.expected.saturating_add_signed(expected);
        self.lost_here = self.lost_here.saturating_add_signed(here);
        self.lost_there += there;
        self.duplicates = self.duplicates.saturating_add_signed(repeated);
        let here_only = here - (there + repeated);
        self.here_only += here_only.max(0).unsigned_abs();
        self.there_only += (-here_only).max(0).unsigned_abs();
    }

    /// A report of the sender.
    pub(super) fn sent(&mut self, packets: u32, here: Passed) {
        let now = Sent { expected: here.expected, lost: here.lost, packets };
        let goes_on = |(_, last): &(Sent, Sent)| {
            packets.wrapping_sub(last.packets).cast_signed() >= 0 && here.expected >= last.expected
        };
        let first = self.sent.filter(goes_on).map_or(now, |(first, _)| first);
        self.sent = Some((first, now));
    }

    /// Whether the sender counts from our first packet.
    fn is_from_start(&self) -> Option<bool> {
        let (first, _) = self.sent?;
        Some(first.expected.abs_diff(first.packets) <= SAME_START + first.lost)
    }

    /// Whether the receiver's first count is of what passed here, and not of what was before.
    fn counts_from_start(&self, first: &Point) -> bool {
        let Point { here, lost, fraction, .. } = *first;
        let repeated = counted_repeats(here.duplicates, i64::from(here.expected));
        if (-repeated..=0).contains(&i64::from(lost)) {
            return true;
        }
        if lost < 0 || i64::from(lost) > i64::from(here.expected) {
            return false;
        }
        // RFC 3550 section 6.4.1: in the first report of all, the fraction is of the same packets.
        let of_all = i64::from(lost) * 256 / i64::from(here.expected.max(1));
        self.is_from_start().unwrap_or((of_all - i64::from(fraction)).abs() <= 1)
    }

    /// What the receiver's reports cover; None where none could be compared.
    pub(crate) fn receiver(&self) -> Option<ReceiverCounts> {
        let mut all = self.clone();
        let first = self.first?;
        if self.counts_from_start(&first) {
            let repeated = counted_repeats(first.here.duplicates, i64::from(first.here.expected));
            let there = (i64::from(first.lost), repeated);
            all.sum(i64::from(first.here.expected), i64::from(first.here.lost), there);
        }
        (all.expected > 0).then_some(ReceiverCounts {
            expected: all.expected,
            lost_here: all.lost_here,
            lost_there: all.lost_there,
            duplicates: all.duplicates,
            crossed: all.here_only.min(all.there_only),
            reports: u64::from(all.reports),
        })
    }

    /// Numbers and packets between the sender's first report, or our first packet, and its last; `slack` for
    /// packets that travel slower than reports.
    pub(crate) fn sender(&self, slack: u64) -> Option<SenderCounts> {
        let (first, last) = self.sent?;
        let (expected, packets) = match self.is_from_start() {
            Some(true) => (0, 0),
            _ => (first.expected, first.packets),
        };
        let numbers = u64::from(last.expected.saturating_sub(expected));
        (numbers > 0).then(|| SenderCounts {
            numbers,
            sent: u64::from(last.packets.wrapping_sub(packets)),
            slack,
        })
    }
}

/// Repeats that a receiver counts as packets. Where nearly all packets come twice, it is the mirror port that
/// repeats them, and the receiver sees none.
fn counted_repeats(duplicates: u32, expected: i64) -> i64 {
    let duplicates = i64::from(duplicates);
    if duplicates * 2 > expected { 0 } else { duplicates }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(highest: u32, lost: i32, fraction: u8) -> Report {
        Report {
            ssrc: 1,
            fraction_lost: fraction,
            cumulative_lost: lost,
            highest_sequence: highest,
            jitter: 0,
            last_sr: 0,
            delay_since_last_sr: 0,
        }
    }

    fn here(expected: u32, lost: u32) -> Option<Passed> {
        Some(Passed { expected, lost, duplicates: 0 })
    }

    fn counts(account: &LossAccount) -> (u64, u64, i64) {
        let counts = account.receiver().unwrap();
        (counts.expected, counts.lost_here, counts.lost_there)
    }

    #[test]
    fn a_count_from_our_first_packet_is_taken_whole() {
        let mut account = LossAccount::default();
        // 16 of 256 are a sixteenth.
        account.received(&report(1255, 16, 16), 7, here(256, 16));
        account.received(&report(1511, 20, 4), 7, here(512, 20));
        assert_eq!(counts(&account), (512, 20, 20));
    }

    #[test]
    fn a_count_that_began_before_our_first_packet_is_a_base() {
        let mut account = LossAccount::default();
        account.received(&report(50_000, 900, 3), 7, here(256, 16));
        assert_eq!(account.receiver(), None);
        account.received(&report(50_256, 904, 4), 7, here(512, 20));
        assert_eq!(counts(&account), (256, 4, 4));
    }

    #[test]
    fn the_senders_count_tells_whether_our_first_packet_was_its_first() {
        for (packets, covered) in [(256, 512), (9000, 256)] {
            let mut account = LossAccount::default();
            account.sent(packets, Passed { expected: 256, lost: 16, duplicates: 0 });
            account.received(&report(1255, 16, 99), 7, here(256, 16));
            account.received(&report(1511, 20, 4), 7, here(512, 20));
            assert_eq!(counts(&account).0, covered);
        }
    }

    #[test]
    fn a_receiver_that_begins_anew_gives_a_new_base() {
        let mut account = LossAccount::default();
        account.received(&report(1255, 0, 0), 7, here(256, 0));
        account.received(&report(1511, 200, 200), 7, here(512, 200));
        // Its count fell; then another receiver answers.
        account.received(&report(1767, 5, 5), 7, here(768, 205));
        account.received(&report(2023, 6, 1), 7, here(1024, 206));
        account.received(&report(2279, 0, 0), 8, here(1280, 210));
        account.received(&report(2535, 1, 1), 8, here(1536, 211));
        assert_eq!(counts(&account), (256 + 256 + 256 + 256, 202, 202));
    }

    #[test]
    fn reports_of_another_numbering_are_not_compared() {
        let mut account = LossAccount::default();
        account.received(&report(1255, 0, 0), 7, None);
        assert_eq!((account.receiver(), account.unusable), (None, 1));
        account.received(&report(1255, 0, 0), 7, here(256, 0));
        // 9000 further there, 256 here.
        account.received(&report(10_255, 9, 0), 7, here(512, 0));
        assert_eq!(counts(&account), (256, 0, 0));
    }

    #[test]
    fn what_is_missing_by_turns_here_and_there_is_noticed() {
        let mut account = LossAccount::default();
        account.received(&report(1255, 0, 0), 7, here(256, 0));
        account.received(&report(1511, 20, 0), 7, here(512, 0));
        account.received(&report(1767, 20, 0), 7, here(768, 30));
        assert_eq!(account.receiver().map(|counts| counts.crossed), Some(20));
    }

    #[test]
    fn repeats_of_the_network_are_counted_and_those_of_the_mirror_are_not() {
        for (duplicates, counted) in [(30, 30), (256, 0)] {
            let mut account = LossAccount::default();
            account.received(&report(1255, 0, 0), 7, here(256, 0));
            account.received(&report(1511, 0, 0), 7, Some(Passed { expected: 512, lost: 0, duplicates }));
            assert_eq!(account.receiver().map(|counts| counts.duplicates), Some(counted));
        }
    }

    #[test]
    fn the_sender_is_counted_over_a_wrap_and_anew_after_a_restart() {
        let mut account = LossAccount::default();
        let here = |expected| Passed { expected, lost: 0, duplicates: 0 };
        account.sent(u32::MAX - 99, here(500));
        account.sent(100, here(750));
        assert_eq!(account.sender(3), Some(SenderCounts { numbers: 250, sent: 200, slack: 3 }));
        account.sent(u32::MAX / 2, here(1000));
        account.sent(5, here(1100));
        assert_eq!(account.sender(3), None);
        account.sent(55, here(1150));
        assert_eq!(account.sender(3), Some(SenderCounts { numbers: 50, sent: 50, slack: 3 }));
    }
}

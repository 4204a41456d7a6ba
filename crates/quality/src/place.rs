//! Where packets were lost, from three views of one stream: what passed here, what its receiver counted, what
//! its sender counted.
//!
//! A number that is missing here and at the receiver was lost before it came here, or never sent. One that is
//! missing at the receiver alone was lost behind here. One that is missing here alone passed here, and our
//! capture lacks it. Counts tell how many of each there were as long as a stream did not lose some behind
//! here and others in our capture: that would look like loss before here. Where it is possible, and would
//! change the answer, the place is unknown.

use std::fmt::{self, Formatter};

use ringtap_model::LostAt;

use crate::Texts;

/// What is known of one stream's loss. All counts are of packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LossFacts {
    /// Sequence numbers missing here.
    pub lost: u64,
    /// Sequence numbers that should have passed here.
    pub expected: u64,
    /// What the receiver's reports say; None where no report can be compared.
    pub receiver: Option<ReceiverCounts>,
    /// What the sender's reports say.
    pub sender: Option<SenderCounts>,
    /// Packets that this monitor is known to have dropped meanwhile, of whatever stream.
    pub capture_drops: u64,
    /// Reports of the receiver that do not fit the numbers that passed here.
    pub unusable: u64,
}

/// Loss in that part of a stream which the receiver's reports cover.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReceiverCounts {
    /// Sequence numbers covered.
    pub expected: u64,
    /// Of these, missing here.
    pub lost_here: u64,
    /// Lost according to the receiver: negative where it counted repeats as packets received.
    pub lost_there: i64,
    /// Repeats that passed here on their way to the receiver, which counts them as received (RFC 3550 section
    /// 6.4.1).
    pub duplicates: u64,
    /// Packets that were missing here alone in some intervals, and as many at the receiver alone in others:
    /// the sums hide them.
    pub crossed: u64,
    /// Reports that say so.
    pub reports: u64,
}

/// Sequence numbers against packets sent, between two reports of the sender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SenderCounts {
    /// Sequence numbers that the sender used.
    pub numbers: u64,
    /// Packets that it says it sent.
    pub sent: u64,
    /// How far the two may differ, since packets and reports do not travel at the same speed.
    pub slack: u64,
}

/// The answer, with its evidence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LossPlace {
    /// Where most of it was lost.
    pub at: LostAt,
    /// The numbers behind it, in words.
    pub evidence: String,
}

/// Packets lost at each place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Shares {
    before: u64,
    sender: u64,
    behind: u64,
    capture: u64,
}

/// Where the packets of a stream were lost; None if none was.
pub fn place(facts: &LossFacts, texts: Texts<'_>) -> Option<LossPlace> {
    let Some(receiver) = &facts.receiver else {
        return (facts.lost > 0).then(|| without_receiver(facts, texts));
    };
    let there = receiver.lost();
    if facts.lost == 0 && there == 0 {
        return None;
    }
    let shares = shares(facts, receiver, 0);
    let at = settled(facts, receiver).unwrap_or(LostAt::Unknown);
    let words = fmt::from_fn(|f| words(f, facts, receiver, (shares, at)));
    Some(LossPlace { at, evidence: texts(format_args!("{words}")) })
}

/// The receiver says nothing that can be used: only what was never sent can be told from the rest.
fn without_receiver(facts: &LossFacts, texts: Texts<'_>) -> LossPlace {
    let unsent = facts.sender.map_or(0, |sender| sender.unsent());
    let lost = fmt::from_fn(|f| count(f, facts.lost, "packet"));
    let why = fmt::from_fn(|f| match (facts.unusable, facts.sender) {
        (0, None) => f.write_str("no RTCP about it can be read"),
        (0, Some(_)) => f.write_str("its receiver reports nothing"),
        (1, _) => f.write_str("1 report of the receiver does not fit the numbers here"),
        (unusable, _) => write!(f, "{unusable} reports of the receiver do not fit the numbers here"),
    });
    if unsent * 2 > facts.lost {
        let SenderCounts { numbers, sent, .. } = facts.sender.unwrap_or_default();
        let evidence = texts(format_args!(
            "{lost} missing here; the sender used {numbers} numbers for {sent} packets sent"
        ));
        return LossPlace { at: LostAt::Sender, evidence };
    }
    let drops = fmt::from_fn(|f| drops(f, facts));
    LossPlace { at: LostAt::Unknown, evidence: texts(format_args!("{lost} missing here; {why}{drops}")) }
}

/// The place of most, if it is the same whatever the counts leave open.
fn settled(facts: &LossFacts, receiver: &ReceiverCounts) -> Option<LostAt> {
    let common = receiver.lost_here.min(receiver.lost());
    // Reordering at the moment of a report looks like a few that cross.
    let noise = 3 + receiver.reports / 8;
    let crossed = if receiver.crossed > noise { receiver.crossed } else { 0 };
    let open = common.min(crossed.max(facts.capture_drops));
    let first = most(facts, receiver, shares(facts, receiver, 0))?;
    (most(facts, receiver, shares(facts, receiver, open))? == first).then_some(first)
}

/// The place of most; None where packets that no report covers could change it.
fn most(facts: &LossFacts, receiver: &ReceiverCounts, shares: Shares) -> Option<LostAt> {
    let Shares { before, sender, behind, capture } = shares;
    let uncovered = facts.lost.saturating_sub(receiver.lost_here);
    let places = [
        (LostAt::Sender, sender, uncovered),
        (LostAt::BeforeTap, before, uncovered),
        (LostAt::BehindTap, behind, 0),
        (LostAt::Capture, capture, uncovered),
    ];
    // Of equals the first on the way.
    let (at, most, _) = places.into_iter().rev().max_by_key(|(_, lost, _)| *lost)?;
    let others = places.into_iter().filter(|(other, ..)| *other != at);
    let is_most = others.map(|(_, lost, open)| lost + open).all(|lost| lost <= most);
    (is_most && most > 0).then_some(at)
}

/// What was lost where, if `crossed` packets were lost behind here and as many others in our capture.
fn shares(facts: &LossFacts, receiver: &ReceiverCounts, crossed: u64) -> Shares {
    let (here, there) = (receiver.lost_here, receiver.lost());
    let common = here.min(there) - crossed;
    let sender = facts.sender.map_or(0, |sender| sender.unsent()).min(common);
    let (behind, capture) = (there.saturating_sub(here) + crossed, here.saturating_sub(there) + crossed);
    Shares { before: common - sender, sender, behind, capture }
}

impl ReceiverCounts {
    /// Packets that did not reach the receiver.
    fn lost(&self) -> u64 {
        u64::try_from(self.lost_there.saturating_add_unsigned(self.duplicates))
            .unwrap_or(0)
            .min(self.expected)
    }
}

impl SenderCounts {
    /// Numbers that were used and never sent; 0 within the slack.
    fn unsent(&self) -> u64 {
        let unsent = self.numbers.saturating_sub(self.sent);
        if unsent > self.slack { unsent } else { 0 }
    }
}

fn words(
    f: &mut Formatter<'_>,
    facts: &LossFacts,
    receiver: &ReceiverCounts,
    (shares, at): (Shares, LostAt),
) -> fmt::Result {
    let Shares { before, sender, behind, capture } = shares;
    let (here, there) = (receiver.lost_here, receiver.lost());
    write!(f, "of {} reported on, {here} missing here, {there} at the receiver", receiver.expected)?;
    let parts = [
        (sender, "never sent"),
        (before, "lost before here"),
        (behind, "lost behind here"),
        (capture, "received but not captured"),
    ];
    let mut separator = ":";
    for (lost, place) in parts.into_iter().filter(|(lost, _)| *lost > 0) {
        write!(f, "{separator} {lost} {place}")?;
        separator = ",";
    }
    let uncovered = facts.lost.saturating_sub(here);
    if uncovered > 0 {
        write!(f, "; {uncovered} more missing here outside its reports")?;
    }
    if at == LostAt::Unknown && receiver.crossed > 0 {
        write!(f, "; {} missing by turns here and there", receiver.crossed)?;
    }
    if let Some(SenderCounts { numbers, sent, .. }) = facts.sender.filter(|_| sender > 0) {
        write!(f, "; the sender used {numbers} numbers for {sent} packets sent")?;
    }
    drops(f, facts)
}

fn drops(f: &mut Formatter<'_>, facts: &LossFacts) -> fmt::Result {
    if facts.capture_drops == 0 {
        return Ok(());
    }
    f.write_str("; this monitor dropped ")?;
    count(f, facts.capture_drops, "packet")?;
    f.write_str(" meanwhile")
}

fn count(f: &mut Formatter<'_>, number: u64, noun: &str) -> fmt::Result {
    write!(f, "{number} {noun}{}", if number == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(here: u64, there: i64) -> LossFacts {
        let receiver = ReceiverCounts {
            expected: 1000,
            lost_here: here,
            lost_there: there,
            reports: 10,
            ..ReceiverCounts::default()
        };
        LossFacts { lost: here, expected: 1000, receiver: Some(receiver), ..LossFacts::default() }
    }

    fn at(facts: &LossFacts) -> Option<LostAt> {
        place(facts, &fmt::format).map(|place| place.at)
    }

    fn with(here: u64, there: i64, change: impl FnOnce(&mut ReceiverCounts)) -> LossFacts {
        let mut facts = facts(here, there);
        if let Some(receiver) = &mut facts.receiver {
            change(receiver);
        }
        facts
    }

    const SENDER: SenderCounts = SenderCounts { numbers: 1000, sent: 960, slack: 4 };

    #[test]
    fn counts_tell_the_place() {
        use LostAt::{BeforeTap, BehindTap, Capture};
        for (here, there, wanted) in [
            (0, 0, None),
            (40, 40, Some(BeforeTap)),
            (0, 1, Some(BehindTap)),
            (1, 0, Some(Capture)),
            (30, 50, Some(BeforeTap)), // 30 before, 20 behind
            (20, 50, Some(BehindTap)), // 20 before, 30 behind
            (50, 20, Some(Capture)),
            (20, 40, Some(BeforeTap)), // 20 each: the first on the way
            (5, -3, Some(Capture)),
            (0, -3, None),
        ] {
            assert_eq!(at(&facts(here, there)), wanted, "{here} here, {there} there");
        }
    }

    #[test]
    fn what_the_sender_says_it_did_not_send_was_not_lost_on_the_way() {
        let with_sender = |here, there| LossFacts { sender: Some(SENDER), ..facts(here, there) };
        assert_eq!(at(&with_sender(40, 40)), Some(LostAt::Sender));
        assert_eq!(at(&with_sender(90, 90)), Some(LostAt::BeforeTap), "40 never sent, 50 lost before here");
        assert_eq!(at(&with_sender(40, 140)), Some(LostAt::BehindTap));
        let alike = SenderCounts { sent: 997, ..SENDER };
        assert_eq!(at(&LossFacts { sender: Some(alike), ..facts(40, 40) }), Some(LostAt::BeforeTap));
        let more = SenderCounts { sent: 5000, ..SENDER };
        assert_eq!(at(&LossFacts { sender: Some(more), ..facts(40, 40) }), Some(LostAt::BeforeTap));
    }

    #[test]
    fn without_reports_of_the_receiver_only_the_sender_can_tell() {
        let none = LossFacts { lost: 40, expected: 1000, ..LossFacts::default() };
        assert_eq!(at(&none), Some(LostAt::Unknown));
        assert_eq!(at(&LossFacts { sender: Some(SENDER), ..none }), Some(LostAt::Sender));
        let few = SenderCounts { sent: 990, ..SENDER };
        assert_eq!(at(&LossFacts { sender: Some(few), ..none }), Some(LostAt::Unknown));
        assert_eq!(place(&LossFacts { lost: 0, ..none }, &fmt::format), None);
        let unusable = place(&LossFacts { unusable: 7, capture_drops: 1, ..none }, &fmt::format).unwrap();
        assert!(unusable.evidence.contains("7 reports of the receiver do not fit"), "{}", unusable.evidence);
        assert!(unusable.evidence.contains("this monitor dropped 1 packet meanwhile"));
    }

    #[test]
    fn repeats_that_the_receiver_counted_are_counted_back() {
        assert_eq!(at(&with(40, 10, |receiver| receiver.duplicates = 30)), Some(LostAt::BeforeTap));
        assert_eq!(at(&with(0, -30, |receiver| receiver.duplicates = 30)), None);
    }

    #[test]
    fn drops_of_our_own_make_it_unknown_only_where_they_could_change_the_answer() {
        let dropped = |here, there, capture_drops| LossFacts { capture_drops, ..facts(here, there) };
        assert_eq!(at(&dropped(40, 40, 5)), Some(LostAt::BeforeTap));
        assert_eq!(at(&dropped(40, 40, 39)), Some(LostAt::Unknown));
        assert_eq!(at(&dropped(10, 90, 1000)), Some(LostAt::BehindTap));
        assert_eq!(at(&dropped(40, 0, 40)), Some(LostAt::Capture));
    }

    #[test]
    fn what_crossed_makes_it_unknown_where_it_could_change_the_answer() {
        assert_eq!(at(&with(30, 50, |receiver| receiver.crossed = 20)), Some(LostAt::Unknown));
        assert_eq!(at(&with(30, 50, |receiver| receiver.crossed = 4)), Some(LostAt::BeforeTap));
        assert_eq!(at(&with(30, 900, |receiver| receiver.crossed = 20)), Some(LostAt::BehindTap));
    }

    #[test]
    fn packets_that_no_report_covers_count_against_the_answer() {
        let uncovered = |lost, here, there| LossFacts { lost, ..facts(here, there) };
        assert_eq!(at(&uncovered(50, 30, 30)), Some(LostAt::BeforeTap));
        assert_eq!(at(&uncovered(70, 30, 30)), Some(LostAt::Unknown));
        assert_eq!(at(&uncovered(5, 0, 0)), Some(LostAt::Unknown));
        assert_eq!(at(&uncovered(5, 0, 9)), Some(LostAt::BehindTap));
    }

    #[test]
    fn the_evidence_has_both_numbers() {
        let both = place(&facts(30, 50), &fmt::format).unwrap();
        assert_eq!(
            both.evidence,
            "of 1000 reported on, 30 missing here, 50 at the receiver: 30 lost before here, \
             20 lost behind here"
        );
        let unsent = place(&LossFacts { sender: Some(SENDER), ..facts(45, 45) }, &fmt::format).unwrap();
        assert!(unsent.evidence.ends_with("; the sender used 1000 numbers for 960 packets sent"));
        assert!(unsent.evidence.contains("40 never sent, 5 lost before here"), "{}", unsent.evidence);
    }

    #[test]
    fn hostile_counts_neither_overflow_nor_panic() {
        for there in [i64::MIN, -1, 0, i64::MAX] {
            for big in [0, 1, u64::MAX / 4] {
                let receiver = ReceiverCounts {
                    expected: big,
                    lost_here: big,
                    lost_there: there,
                    duplicates: big,
                    crossed: big,
                    reports: big,
                };
                let sender = Some(SenderCounts { numbers: big, sent: 0, slack: 0 });
                let facts = LossFacts { receiver: Some(receiver), sender, ..LossFacts::default() };
                let _ = place(
                    &LossFacts { lost: big, expected: big, capture_drops: big, unusable: big, ..facts },
                    &fmt::format,
                );
                let _ = place(&LossFacts { receiver: None, lost: big, ..facts }, &fmt::format);
            }
        }
    }
}

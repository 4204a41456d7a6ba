//! Notices on their way to the process that tells the targets, and what became of them.

use std::collections::{BTreeMap, BTreeSet};

use ringtap_model::Id;
use ringtap_notify::{Counts, Notice, NoticeKind, TargetReport};

use crate::processes::notice_exchange::{Answer, Numbered};

/// Notices until something has become of them: the process that tells the targets may end, and another one
/// gets them again. Under a ceiling.
#[derive(Debug, Default)]
pub(super) struct Pending {
    last: u64,
    waiting: BTreeMap<u64, Waiting>,
    /// Alarms that stand, for a process that is started again.
    standing: BTreeMap<Id, Notice>,
    /// The process has to hear of them.
    tell_standing: bool,
    /// The process that answered last; 0 for none.
    started: u64,
    reports: Vec<TargetReport>,
    /// Counts of earlier processes.
    earlier: BTreeMap<String, Counts>,
    /// Notices that found no room.
    pub(super) dropped: u64,
}

#[derive(Debug)]
struct Waiting {
    notice: Notice,
    is_sent: bool,
}

impl Pending {
    pub(super) fn push(&mut self, notice: Notice) {
        let id = notice.alarm.id;
        if notice.alarm.cleared.is_some() {
            self.standing.remove(&id);
        } else if self.standing.len() < MOST || self.standing.contains_key(&id) {
            self.standing.insert(id, Notice { kind: NoticeKind::Standing, ..notice.clone() });
        }
        if notice.kind == NoticeKind::Standing {
            self.tell_standing = true;
            return;
        }
        if self.waiting.len() >= MOST {
            self.waiting.pop_first();
            self.dropped += 1;
        }
        self.last += 1;
        self.waiting.insert(self.last, Waiting { notice, is_sent: false });
    }

    /// What the process does not have yet: at most twice [`MOST`].
    pub(super) fn unsent(&self) -> Vec<Numbered> {
        let standing = self.standing.values().filter(|_| self.tell_standing);
        let standing = standing.map(|notice| Numbered { number: 0, notice: notice.clone() });
        let waiting = self.waiting.iter().filter(|(_, waiting)| !waiting.is_sent);
        let waiting =
            waiting.map(|(number, waiting)| Numbered { number: *number, notice: waiting.notice.clone() });
        standing.chain(waiting).collect()
    }

    pub(super) fn is_anything_unsent(&self) -> bool {
        self.tell_standing || self.waiting.values().any(|waiting| !waiting.is_sent)
    }

    pub(super) fn is_anything_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// The process has these notices, and says what became of all that it has.
    pub(super) fn answered(&mut self, sent: &[Numbered], answer: Answer) {
        let is_another = answer.started != self.started;
        if is_another {
            for report in std::mem::take(&mut self.reports) {
                add(self.earlier.entry(report.target).or_default(), &report.counts);
            }
        }
        // Those that were told of alarms by the process before need not hear of them again.
        let had_standing = sent.iter().any(|sent| sent.number == 0);
        self.tell_standing = is_another && self.started != 0 && !had_standing && !self.standing.is_empty();
        self.started = answer.started;
        let sent: BTreeSet<u64> = sent.iter().map(|sent| sent.number).collect();
        for (number, waiting) in &mut self.waiting {
            waiting.is_sent = sent.contains(number) || waiting.is_sent && !is_another;
        }
        let held: Vec<(&str, BTreeSet<u64>)> = answer
            .reports
            .iter()
            .map(|report| (report.target.as_str(), report.waiting.iter().copied().collect()))
            .collect();
        self.waiting.retain(|number, waiting| {
            if waiting.is_sent {
                let of = held.iter().filter(|(_, numbers)| numbers.contains(number));
                waiting.notice.to = of.map(|(name, _)| (*name).to_owned()).collect();
            }
            !waiting.is_sent || !waiting.notice.to.is_empty()
        });
        self.reports = answer.reports;
    }

    /// What became of the notices of each target, since the start; and how many wait.
    pub(super) fn figures(&self) -> Vec<(String, Counts, u64)> {
        let figures = self.reports.iter().map(|report| {
            let mut counts = self.earlier.get(&report.target).copied().unwrap_or_default();
            add(&mut counts, &report.counts);
            (report.target.clone(), counts, report.waiting.len() as u64)
        });
        figures.collect()
    }
}

fn add(sum: &mut Counts, counts: &Counts) {
    sum.delivered += counts.delivered;
    sum.refused += counts.refused;
    sum.dropped += counts.dropped;
    sum.replaced += counts.replaced;
    sum.retried += counts.retried;
}

/// Most notices on their way, and most alarms that stand.
const MOST: usize = 1024;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::notices::tests::notice;

    fn answer(started: u64, waiting: &[(&str, &[u64])], delivered: u64) -> Answer {
        let report = |(target, waiting): &(&str, &[u64])| TargetReport {
            target: (*target).to_owned(),
            counts: Counts { delivered, ..Counts::default() },
            waiting: waiting.to_vec(),
        };
        Answer { started, reports: waiting.iter().map(report).collect() }
    }

    fn numbers(sent: &[Numbered]) -> Vec<u64> {
        sent.iter().map(|sent| sent.number).collect()
    }

    #[test]
    fn a_process_that_is_started_again_gets_what_was_not_told() {
        let mut pending = Pending::default();
        (1..=3).for_each(|alarm| pending.push(notice(alarm)));
        let sent = pending.unsent();
        assert_eq!(numbers(&sent), [1, 2, 3]);
        // One is told to all, one to the second target alone, one to none.
        pending.answered(&sent, answer(10, &[("a", &[2, 3]), ("b", &[3])], 1));
        assert!(!pending.is_anything_unsent() && pending.is_anything_waiting());
        pending.push(notice(4));
        let sent = pending.unsent();
        assert_eq!(numbers(&sent), [4]);
        // Another process: it has the new one alone.
        pending.answered(&sent, answer(20, &[("a", &[4]), ("b", &[])], 1));
        let sent = pending.unsent();
        // 0 are alarms that stand.
        assert_eq!(numbers(&sent), [0, 0, 0, 0, 2, 3]);
        assert_eq!(sent[4].notice.to, ["a"]);
        assert_eq!(sent[5].notice.to, ["a", "b"]);
        pending.answered(&sent, answer(20, &[("a", &[]), ("b", &[])], 4));
        assert!(!pending.is_anything_unsent() && !pending.is_anything_waiting());
        let delivered: Vec<u64> = pending.figures().iter().map(|(_, counts, _)| counts.delivered).collect();
        assert_eq!(delivered, [5, 5]);
    }

    #[test]
    fn what_was_not_sent_stays_and_the_oldest_gives_way() {
        let mut pending = Pending::default();
        for _ in 0..MOST + 2 {
            pending.push(notice(1));
        }
        assert_eq!((pending.unsent().len(), pending.unsent()[0].number, pending.dropped), (MOST, 3, 2));
    }

    #[test]
    fn alarms_from_before_the_start_are_told_to_who_forgets_them() {
        let mut pending = Pending::default();
        pending.push(Notice { kind: NoticeKind::Standing, ..notice(1) });
        let sent = pending.unsent();
        assert_eq!((numbers(&sent), sent[0].notice.kind), (vec![0], NoticeKind::Standing));
        pending.answered(&sent, answer(10, &[("a", &[])], 0));
        assert!(!pending.is_anything_unsent());
    }
}

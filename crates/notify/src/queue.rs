//! Notices that wait for one target.

use std::collections::VecDeque;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::backoff::Backoff;
use crate::error::NotifyError;
use crate::notice::Notice;

/// What became of the notices for a target.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Accepted by the target; of a trap: sent.
    pub delivered: u64,
    /// Refused by the target for good.
    pub refused: u64,
    /// Dropped because too many waited.
    pub dropped: u64,
    /// Not sent because a newer notice of the same alarm was.
    pub replaced: u64,
    /// Attempts that failed and were made again.
    pub retried: u64,
}

/// How often a target is tried.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// Wait after the first failure; it doubles with each.
    pub first: Duration,
    /// Longest wait.
    pub longest: Duration,
    /// How often a target that forgets hears of alarms that stand.
    pub resend: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        let [first, longest, resend] = [5, 300, 60].map(Duration::from_secs);
        Self { first, longest, resend }
    }
}

/// Notices that wait, in their order: at most [`MOST`]. Time comes with each call.
#[derive(Debug)]
pub(crate) struct Queue {
    waiting: VecDeque<Waiting>,
    /// The one that is being sent.
    sending: Option<Waiting>,
    backoff: Backoff,
    pub(crate) counts: Counts,
}

#[derive(Clone, Debug)]
struct Waiting {
    number: u64,
    notice: Notice,
}

impl Queue {
    pub(crate) fn new(pace: Pace) -> Self {
        Self {
            waiting: VecDeque::new(),
            sending: None,
            backoff: Backoff::new(pace.first, pace.longest),
            counts: Counts::default(),
        }
    }

    /// Adds a notice in the place of an older one of the same alarm. Drops the oldest where there is no room.
    pub(crate) fn push(&mut self, number: u64, notice: Notice) {
        let same = |waiting: &Waiting| waiting.notice.alarm.id == notice.alarm.id;
        if let Some(older) = self.waiting.iter().position(same) {
            self.waiting.remove(older);
            self.counts.replaced += 1;
        } else if self.waiting.len() >= MOST {
            self.waiting.pop_front();
            self.counts.dropped += 1;
        }
        self.waiting.push_back(Waiting { number, notice });
    }

    /// The notice to send now. Call [`done`](Self::done) with what became of it.
    pub(crate) fn begin(&mut self, now: Duration) -> Option<Notice> {
        if !self.backoff.wait(now).is_zero() {
            return None;
        }
        self.sending = self.waiting.pop_front();
        self.sending.as_ref().map(|waiting| waiting.notice.clone())
    }

    /// What became of the notice that was being sent.
    pub(crate) fn done(&mut self, now: Duration, result: &Result<(), NotifyError>) {
        let Some(sent) = self.sending.take() else { return };
        match result {
            Ok(()) => self.counts.delivered += 1,
            Err(error) if !error.is_retryable => self.counts.refused += 1,
            Err(_) => return self.wait(now, sent),
        }
        self.backoff.succeeded();
    }

    fn wait(&mut self, now: Duration, failed: Waiting) {
        self.counts.retried += 1;
        self.backoff.failed(now);
        if self.waiting.iter().any(|newer| newer.notice.alarm.id == failed.notice.alarm.id) {
            self.counts.replaced += 1;
        } else if self.waiting.len() >= MOST {
            self.counts.dropped += 1;
        } else {
            self.waiting.push_front(failed);
        }
    }

    /// How long until something can be sent; None while nothing waits.
    pub(crate) fn wait_time(&self, now: Duration) -> Option<Duration> {
        (!self.waiting.is_empty()).then(|| self.backoff.wait(now))
    }

    /// Whether the last attempt failed.
    pub(crate) fn is_failing(&self) -> bool {
        self.backoff.is_failing()
    }

    /// Numbers of the notices of which nothing has become yet.
    pub(crate) fn numbers(&self) -> Vec<u64> {
        self.sending.iter().chain(&self.waiting).map(|waiting| waiting.number).collect()
    }
}

/// Most notices that wait.
pub(crate) const MOST: usize = 1024;

#[cfg(test)]
mod tests {
    use ringtap_model::Id;

    use super::*;
    use crate::notice::NoticeKind;
    use crate::notice::tests::notice;

    fn of(alarm: u16, kind: NoticeKind) -> Notice {
        let mut told = notice(kind);
        let mut id = [0; 16];
        id[..2].copy_from_slice(&alarm.to_be_bytes());
        told.alarm.id = Id(id);
        told
    }

    fn at(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn the_newest_state_of_an_alarm_replaces_the_older_one() {
        let mut queue = Queue::new(Pace::default());
        queue.push(1, of(1, NoticeKind::Raised));
        queue.push(2, of(2, NoticeKind::Raised));
        queue.push(3, of(1, NoticeKind::Cleared));
        assert_eq!(queue.numbers(), [2, 3]);
        assert_eq!(queue.begin(at(0)).unwrap().alarm.id, of(2, NoticeKind::Raised).alarm.id);
        // It fails, and meanwhile its alarm clears.
        queue.push(4, of(2, NoticeKind::Cleared));
        queue.done(at(0), &Err(NotifyError::later("down")));
        assert_eq!(queue.numbers(), [3, 4]);
        assert_eq!(queue.counts, Counts { replaced: 2, retried: 1, ..Counts::default() });
    }

    #[test]
    fn waits_grow_and_end_with_a_success() {
        let mut queue = Queue::new(Pace::default());
        queue.push(1, of(1, NoticeKind::Raised));
        let mut now = at(0);
        let mut waits = Vec::new();
        for _ in 0..8 {
            assert!(queue.begin(now).is_some());
            queue.done(now, &Err(NotifyError::later("down")));
            let wait = queue.wait_time(now).unwrap();
            assert!(queue.begin(now + wait - Duration::from_nanos(1)).is_none());
            waits.push(wait.as_secs());
            now += wait;
        }
        assert_eq!(waits, [5, 10, 20, 40, 80, 160, 300, 300]);
        assert!(queue.begin(now).is_some());
        queue.done(now, &Ok(()));
        assert_eq!((queue.wait_time(now), queue.is_failing()), (None, false));
        assert_eq!((queue.counts.delivered, queue.counts.retried), (1, 8));
    }

    #[test]
    fn a_refusal_for_good_is_not_tried_again() {
        let mut queue = Queue::new(Pace::default());
        queue.push(1, of(1, NoticeKind::Raised));
        queue.push(2, of(2, NoticeKind::Raised));
        queue.begin(at(0));
        queue.done(at(0), &Err(NotifyError::refused("400")));
        assert!(queue.begin(at(0)).is_some());
        assert_eq!(queue.counts.refused, 1);
    }

    #[test]
    fn the_oldest_gives_way_where_there_is_no_room() {
        let mut queue = Queue::new(Pace::default());
        for alarm in 0..MOST as u16 + 3 {
            queue.push(u64::from(alarm), of(alarm, NoticeKind::Raised));
        }
        assert_eq!((queue.numbers().len(), queue.numbers()[0], queue.counts.dropped), (MOST, 3, 3));
    }
}

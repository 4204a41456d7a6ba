//! Calls that wait for one hook.

use std::collections::VecDeque;

use ringtap_model::Id;
use serde::{Deserialize, Serialize};

/// What became of the calls of a hook, since its queue was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct HookCounts {
    /// Delivered.
    pub delivered: u64,
    /// Given up: refused for good, or tried as often as it may be.
    pub refused: u64,
    /// Dropped because too many waited.
    pub dropped: u64,
    /// Not delivered because the call was forgotten, or its record deleted, while it waited.
    pub forgotten: u64,
    /// Attempts that failed and were made again.
    pub retried: u64,
}

/// A call that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Waiting {
    /// Of the call.
    pub(crate) id: Id,
    /// It is delivered at this time or later: seconds since 1970.
    pub(crate) ready: u64,
    /// Attempts that failed.
    #[serde(default)]
    pub(crate) failures: u32,
}

/// Calls that wait, in the order in which they are delivered, those that are being delivered included.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct HookQueue {
    pub(crate) waiting: VecDeque<Waiting>,
    pub(crate) counts: HookCounts,
}

impl HookQueue {
    /// Adds a call, unless it waits already: its newest record is read when it is delivered. Drops the oldest
    /// where there are more than `most`, and says so.
    pub(crate) fn push(&mut self, call: Waiting, most: usize) -> bool {
        if self.waiting.iter().any(|other| other.id == call.id) {
            return false;
        }
        self.waiting.push_back(call);
        let is_full = self.waiting.len() > most;
        if is_full {
            self.waiting.pop_front();
            self.counts.dropped += 1;
        }
        is_full
    }

    /// The first call that can be delivered now and is not being delivered.
    pub(crate) fn next(&self, now: u64, under_way: &[Id]) -> Option<Waiting> {
        let is_due = |call: &&Waiting| call.ready <= now && !under_way.contains(&call.id);
        self.waiting.iter().find(is_due).copied()
    }

    /// Removes a call: None where it gave way meanwhile.
    pub(crate) fn remove(&mut self, id: Id) -> Option<Waiting> {
        let place = self.waiting.iter().position(|call| call.id == id)?;
        self.waiting.remove(place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(number: u8, ready: u64) -> Waiting {
        Waiting { id: Id([number; 16]), ready, failures: 0 }
    }

    #[test]
    fn a_call_waits_once_until_its_time_and_the_oldest_gives_way() {
        let mut queue = HookQueue::default();
        assert!(!queue.push(call(1, 5), 2) && !queue.push(call(1, 9), 2) && !queue.push(call(2, 3), 2));
        assert_eq!(queue.next(2, &[]), None);
        assert_eq!(queue.next(3, &[]), Some(call(2, 3)));
        assert_eq!(queue.next(5, &[]), Some(call(1, 5)));
        assert_eq!(queue.next(5, &[Id([1; 16])]), Some(call(2, 3)));
        assert!(queue.push(call(3, 0), 2));
        assert_eq!((queue.counts.dropped, queue.remove(Id([1; 16]))), (1, None));
        assert_eq!((queue.remove(Id([2; 16])), queue.waiting.len()), (Some(call(2, 3)), 1));
    }
}

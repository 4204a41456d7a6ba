//! What the daemon said in the last minutes: rates are over that time, whoever asked.

use std::collections::VecDeque;
use std::sync::Arc;

use serde_json::Value;

/// What it said lately, the oldest first, and when it last said anything.
#[derive(Debug, Default)]
pub(crate) struct Recent {
    answers: VecDeque<Arc<Value>>,
    seen_us: Option<u64>,
}

impl Recent {
    /// Remembers an answer of this moment. What another start of the daemon said is forgotten, since its
    /// counts began anew.
    pub(crate) fn add(&mut self, status: &Arc<Value>, now_us: u64) {
        self.seen_us = Some(now_us);
        let Some(last) = self.answers.back() else { return self.answers.push_back(Arc::clone(status)) };
        if at(last) == at(status) {
            return;
        }
        if at(last) > at(status) || last["packets"].as_u64() > status["packets"].as_u64() {
            self.answers.clear();
        }
        self.answers.push_back(Arc::clone(status));
        let is_older = |answer: Option<&Arc<Value>>, span| {
            answer.is_some_and(|answer| at(status).saturating_sub(at(answer)) >= span)
        };
        while is_older(self.answers.get(1), SHORTEST_US) || is_older(self.answers.front(), LONGEST_US) {
            self.answers.pop_front();
        }
    }

    /// What it said before its last answer: some 10 s before where that is known, 2 minutes at most.
    pub(crate) fn before(&self) -> Option<&Arc<Value>> {
        self.answers.front().filter(|_| self.answers.len() > 1)
    }

    /// When it answered last.
    pub(crate) fn seen_us(&self) -> Option<u64> {
        self.seen_us
    }
}

/// When it was said, by the clock of the daemon.
fn at(status: &Value) -> u64 {
    status["now_us"].as_u64().unwrap_or(0)
}

/// Over less, rates say little.
const SHORTEST_US: u64 = 10_000_000;
/// What was said longer ago is not of now.
const LONGEST_US: u64 = 120_000_000;

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn status(second: u64, packets: u64) -> Arc<Value> {
        Arc::new(json!({ "now_us": second * 1_000_000, "packets": packets }))
    }

    #[test]
    fn rates_are_over_ten_seconds_where_that_is_known_and_two_minutes_at_most() {
        let mut recent = Recent::default();
        assert_eq!((recent.before(), recent.seen_us()), (None, None));
        let before = |recent: &Recent| recent.before().map(|answer| at(answer) / 1_000_000);
        let said = [
            (100, None),
            (100, None),
            (101, Some(100)),
            (109, Some(100)),
            (111, Some(101)),
            (120, Some(109)),
            (230, Some(120)),
            // Nobody asked for an hour.
            (3_900, None),
            (3_901, Some(3_900)),
        ];
        for (second, expected) in said {
            recent.add(&status(second, second), second + 7);
            assert_eq!((before(&recent), recent.seen_us()), (expected, Some(second + 7)), "{second}");
        }
    }

    #[test]
    fn a_daemon_that_was_started_again_has_no_rates_yet() {
        for later in [status(102, 3), status(99, 1_000)] {
            let mut recent = Recent::default();
            recent.add(&status(100, 900), 1);
            recent.add(&status(101, 950), 2);
            assert!(recent.before().is_some());
            recent.add(&later, 3);
            assert_eq!(recent.before(), None);
        }
    }
}

//! Which countries a subject calls usually.

use std::collections::{BTreeMap, HashMap};

use ringtap_model::Nanos;
use serde::{Deserialize, Serialize};

use crate::rule::Per;

/// First and last call to a country.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Known {
    first: Nanos,
    last: Nanos,
}

/// The countries that subjects called in the time of learning.
#[derive(Clone, Debug)]
pub(crate) struct Learned {
    since: Nanos,
    learning: Nanos,
    most: usize,
    subjects: HashMap<(Per, Box<str>), BTreeMap<u16, Known>>,
    next_sweep: Nanos,
}

/// What is learned, as it is kept over a restart.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct LearnedState {
    since: Nanos,
    /// Per, subject, and its countries.
    subjects: Vec<(String, Box<str>, BTreeMap<u16, Known>)>,
}

impl Learned {
    pub(crate) fn new(since: Nanos, learning: Nanos, most: usize) -> Self {
        Self { since, learning, most, subjects: HashMap::new(), next_sweep: since + DAY }
    }

    /// Notes a call, and says whether its country is new for the subject: not called but in the last day.
    pub(crate) fn is_new(&mut self, per: Per, name: &str, country: u16, time: Nanos) -> bool {
        let key = (per, Box::from(name));
        if !self.subjects.contains_key(&key) && self.subjects.len() >= self.most {
            return false;
        }
        let known = self.subjects.entry(key).or_default();
        let call = known.entry(country).or_insert(Known { first: time, last: time });
        call.last = call.last.max(time);
        time >= self.since + self.learning && time < call.first + DAY
    }

    /// Forgets what was not called in the time of learning.
    pub(crate) fn advance(&mut self, now: Nanos) {
        if now < self.next_sweep {
            return;
        }
        self.next_sweep = now + DAY;
        let oldest = now - self.learning;
        self.subjects.retain(|_, known| {
            known.retain(|_, call| call.last >= oldest);
            !known.is_empty()
        });
    }

    pub(crate) fn state(&self) -> LearnedState {
        let mut subjects: Vec<_> = self
            .subjects
            .iter()
            .map(|((per, name), known)| (per.name().to_owned(), name.clone(), known.clone()))
            .collect();
        subjects.sort_by(|one, other| (&one.0, &one.1).cmp(&(&other.0, &other.1)));
        LearnedState { since: self.since, subjects }
    }

    pub(crate) fn restore(&mut self, state: LearnedState) -> Result<(), String> {
        let mut subjects = HashMap::new();
        for (per, name, known) in state.subjects.into_iter().take(self.most) {
            subjects.insert((Per::from_name(&per)?, name), known);
        }
        self.since = self.since.min(state.since);
        self.subjects = subjects;
        Ok(())
    }
}

const DAY: Nanos = Nanos::from_secs(86_400);

#[cfg(test)]
mod tests {
    use super::*;

    fn day(day: u64) -> Nanos {
        Nanos::from_secs(day * 86_400)
    }

    #[test]
    fn a_country_is_new_after_learning_and_for_a_day() {
        let mut learned = Learned::new(day(0), day(14), 10);
        assert!(!learned.is_new(Per::Source, "a", 33, day(1)), "still learning");
        assert!(!learned.is_new(Per::Source, "a", 33, day(20)));
        assert!(learned.is_new(Per::Source, "a", 53, day(20)));
        assert!(learned.is_new(Per::Source, "a", 53, day(20) + Nanos::from_secs(3_600)));
        assert!(!learned.is_new(Per::Source, "a", 53, day(22)));
        // Forgotten when it was not called for the time of learning.
        learned.advance(day(40));
        assert!(learned.is_new(Per::Source, "a", 33, day(40)));
        let mut again = Learned::new(day(41), day(14), 10);
        again.restore(learned.state()).unwrap();
        assert!(!again.is_new(Per::Source, "a", 33, day(42)));
        assert!(again.is_new(Per::Source, "a", 34, day(42)));
    }

    #[test]
    fn subjects_have_a_ceiling() {
        let mut learned = Learned::new(day(0), day(0), 2);
        assert!(learned.is_new(Per::Caller, "a", 1, day(1)) && learned.is_new(Per::Caller, "b", 1, day(1)));
        assert!(!learned.is_new(Per::Caller, "c", 1, day(1)));
        assert_eq!(learned.subjects.len(), 2);
    }
}

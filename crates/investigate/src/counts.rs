//! How many calls have each value of a field: exactly, as long as the values have room.

use std::collections::HashMap;

/// How many calls, of the marked and of the others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Count {
    pub(crate) marked: u64,
    pub(crate) others: u64,
}

/// What is counted of one value.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    /// Its number among all values of all fields.
    pub(crate) id: u32,
    /// Calls that have it.
    pub(crate) calls: Count,
    /// Calls that may have had it before it was counted, at most.
    missed: Count,
    /// The call that was counted last.
    last: u64,
}

/// The values of one field.
#[derive(Debug)]
pub(crate) struct Counts {
    values: HashMap<Box<[u8]>, Entry, foldhash::fast::RandomState>,
    ceiling: usize,
    /// Calls that have the field at all.
    pub(crate) known: Count,
    /// What a value that is not in the table may have been counted, at most.
    forgotten: Count,
    /// Values that had to give way.
    pub(crate) dropped: u64,
}

impl Count {
    pub(crate) fn add(&mut self, is_marked: bool) {
        match is_marked {
            true => self.marked += 1,
            false => self.others += 1,
        }
    }

    pub(crate) fn sum(self) -> u64 {
        self.marked + self.others
    }

    fn plus(self, other: Self) -> Self {
        Self { marked: self.marked + other.marked, others: self.others + other.others }
    }
}

impl Entry {
    /// The least that the marked, and the most that the others can be: what holds for these holds.
    pub(crate) fn bounds(&self) -> Count {
        Count { marked: self.calls.marked, others: self.calls.others + self.missed.others }
    }
}

impl Counts {
    /// Of at most `ceiling` values at once, 4 or more.
    pub(crate) fn new(ceiling: usize) -> Self {
        Self {
            values: HashMap::default(),
            ceiling: ceiling.max(4),
            known: Count::default(),
            forgotten: Count::default(),
            dropped: 0,
        }
    }

    /// Counts the call of that number with this value, once; returns the number of the value, which is `next`
    /// if it is new.
    pub(crate) fn add(&mut self, value: &[u8], (call, is_marked): (u64, bool), next: u32) -> u32 {
        if let Some(entry) = self.values.get_mut(value) {
            if std::mem::replace(&mut entry.last, call) != call {
                entry.calls.add(is_marked);
            }
            return entry.id;
        }
        if self.values.len() >= self.ceiling {
            self.make_room();
        }
        let mut calls = Count::default();
        calls.add(is_marked);
        self.values.insert(value.into(), Entry { id: next, calls, missed: self.forgotten, last: call });
        next
    }

    /// The values, in no order.
    pub(crate) fn values(&self) -> impl Iterator<Item = (&[u8], &Entry)> {
        self.values.iter().map(|(value, entry)| (&**value, entry))
    }

    /// Lets all give way but a quarter of the room for those that most marked calls have, and a quarter for
    /// those that most others have.
    ///
    /// A value that comes back counts from 0, with the note that it may have been missed so often. That grows
    /// by the smallest counts that are kept, as in lossy counting (Manku and Motwani, 2002).
    #[cold]
    fn make_room(&mut self) {
        let share = self.ceiling / 4;
        let smallest = |count: fn(Count) -> u64| {
            let mut all: Vec<u64> =
                self.values.values().map(|entry| count(entry.calls.plus(entry.missed))).collect();
            let place = all.len().saturating_sub(share).min(all.len() - 1);
            *all.select_nth_unstable(place).1
        };
        let marked = smallest(|count| count.marked);
        let others = smallest(|count| count.others);
        let before = self.values.len();
        let mut forgotten = self.forgotten;
        self.values.retain(|_, entry| {
            let count = entry.calls.plus(entry.missed);
            let keeps = count.marked > marked || count.others > others;
            if !keeps {
                forgotten.marked = forgotten.marked.max(count.marked);
                forgotten.others = forgotten.others.max(count.others);
            }
            keeps
        });
        self.forgotten = forgotten;
        self.dropped += (before - self.values.len()) as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts calls with these values, of which `marked` tells some; returns the table.
    fn count<'a>(ceiling: usize, calls: impl Iterator<Item = (&'a str, bool)>) -> Counts {
        let mut counts = Counts::new(ceiling);
        for (number, (value, is_marked)) in calls.enumerate() {
            counts.add(value.as_bytes(), (number as u64, is_marked), number as u32);
        }
        counts
    }

    fn of<'a>(counts: &'a Counts, value: &str) -> Option<&'a Entry> {
        counts.values().find(|(other, _)| *other == value.as_bytes()).map(|(_, entry)| entry)
    }

    #[test]
    fn below_the_ceiling_all_is_exact() {
        let calls = [("a", true), ("b", false), ("a", false), ("a", false)];
        let counts = count(4, calls.into_iter());
        let a = of(&counts, "a").unwrap();
        assert_eq!((a.id, a.calls), (0, Count { marked: 1, others: 2 }));
        assert_eq!(a.bounds(), a.calls);
        assert_eq!((counts.dropped, of(&counts, "b").unwrap().id), (0, 1));
    }

    #[test]
    fn frequent_values_stay_among_many_that_are_seen_once() {
        let names: Vec<String> = (0..100_000).map(|number| format!("n{number}")).collect();
        // Every tenth call is of one value, every hundredth of another that only marked calls have.
        let calls = names.iter().enumerate().map(|(number, name)| match number % 100 {
            7 => ("rare", true),
            place if place % 10 == 0 => ("frequent", false),
            _ => (name.as_str(), false),
        });
        let counts = count(1_000, calls);
        assert!(counts.values().count() <= 1_000 && counts.dropped > 80_000);
        let frequent = of(&counts, "frequent").unwrap();
        assert_eq!(frequent.calls, Count { marked: 0, others: 10_000 });
        assert_eq!(of(&counts, "rare").unwrap().calls, Count { marked: 1_000, others: 0 });
        // Whatever is new may have been there before, so often as such a flood allows.
        let last = of(&counts, "n99999").unwrap();
        assert!((1..=250).contains(&last.bounds().others), "{last:?}");
    }

    #[test]
    fn bounds_hold_whatever_gave_way() {
        // Values come back after they had to give way: the truth lies within the bounds.
        let names: Vec<String> = (0..500).map(|number| format!("n{number}")).collect();
        let mut truth = vec![Count::default(); names.len()];
        let mut counts = Counts::new(64);
        let mut state = 7_u64;
        for number in 0..50_000_u32 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let skewed = (state >> 33) % 500 * ((state >> 45) % 500) / 500;
            let is_marked = (state >> 60) == 0;
            truth[skewed as usize].add(is_marked);
            counts.add(names[skewed as usize].as_bytes(), (number.into(), is_marked), number);
        }
        assert!(counts.dropped > 0);
        for (name, truth) in names.iter().zip(truth) {
            if let Some(entry) = of(&counts, name) {
                let bounds = entry.bounds();
                assert!(bounds.marked <= truth.marked && bounds.others >= truth.others, "{name} {entry:?}");
                assert!(entry.calls.others <= truth.others);
            }
        }
    }
}

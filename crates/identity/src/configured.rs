//! Ranges of a file, which begin and end with time alone.

use std::cmp::Reverse;

use ringtap_model::{HeldAddress, Identity, Nanos};

/// Ranges of a file.
#[derive(Debug, Default)]
pub(crate) struct Configured {
    /// The earliest last.
    to_come: Vec<Identity>,
    in_force: Vec<Identity>,
    /// Those that began since this was last asked.
    begun: Vec<Identity>,
}

impl Configured {
    /// Of these ranges, none of which has begun.
    pub(crate) fn new(mut ranges: Vec<Identity>) -> Self {
        ranges.sort_by_key(|range| Reverse(range.start));
        Self { to_come: ranges, ..Self::default() }
    }

    /// When one begins or ends next.
    pub(crate) fn next(&self) -> Nanos {
        let ends = self.in_force.iter().filter_map(|range| range.end);
        let begins = self.to_come.last().map(|range| range.start);
        ends.chain(begins).min().unwrap_or(Nanos::MAX)
    }

    /// Begins those that are due, and gives those that end.
    pub(crate) fn advance(&mut self, now: Nanos) -> impl Iterator<Item = Identity> {
        while let Some(range) = self.to_come.pop_if(|range| range.start <= now) {
            // One that ended before the input began is nobody's any more.
            if range.end.is_none_or(|end| end > now) {
                self.begun.push(going_on(&range));
                self.in_force.push(range);
            }
        }
        self.in_force.extract_if(.., move |range| range.end.is_some_and(|end| end <= now))
    }

    /// Those in force, each as a session that goes on, with the time at which it ends.
    pub(crate) fn in_force(&self) -> impl Iterator<Item = Identity> {
        self.in_force.iter().map(going_on)
    }

    pub(crate) fn take_begun(&mut self) -> Vec<Identity> {
        std::mem::take(&mut self.begun)
    }
}

/// A range as a session that goes on.
fn going_on(range: &Identity) -> Identity {
    let held = |held: &HeldAddress| HeldAddress { until: None, ..held.clone() };
    let addresses = range.addresses.iter().map(held).collect();
    Identity { end: None, last: range.start, expires: range.end, addresses, ..range.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Limits, Secrets, Sessions, static_ranges};

    #[test]
    fn ranges_begin_and_end_with_time() {
        let text = "[[range]]\nnetworks = [\"192.0.2.0/28\"]\nsubscriber = \"old\"\nuntil = 2026-01-01\n\
                    [[range]]\nnetworks = [\"192.0.2.16/28\"]\nsubscriber = \"ever\"\n\
                    [[range]]\nnetworks = [\"192.0.2.32/28\"]\nsubscriber = \"some\"\n\
                    from = 2026-03-01\nuntil = 2026-04-01\n";
        let ranges = static_ranges(text, "lines.toml").unwrap_or_default();
        let [february, march, april] = [1_769_904_000, 1_772_323_200, 1_775_001_600].map(Nanos::from_secs);
        let sessions = Sessions::new(Limits::default(), Secrets::default());
        let mut sessions = sessions.noting_changes().with_ranges(ranges);
        let users = |records: Vec<Identity>| -> Vec<(String, Option<Nanos>)> {
            records.into_iter().map(|range| (range.user.unwrap_or_default(), range.end)).collect()
        };
        let one = |user: &str, end| vec![(user.to_owned(), end)];
        sessions.advance(february);
        assert_eq!(users(sessions.take_changed(9)), one("ever", None));
        assert_eq!(sessions.next_range(), march);
        sessions.advance(march);
        assert_eq!(users(sessions.records().collect()), [one("ever", None), one("some", None)].concat());
        let some = sessions.take_changed(9).pop();
        assert_eq!(some.map(|range| (range.start, range.expires)), Some((march, Some(april))));
        assert_eq!(sessions.next_range(), april);
        sessions.advance(Nanos(april.0 + 7));
        assert_eq!(users(sessions.take()), one("some", Some(april)));
        assert_eq!((sessions.next_range(), sessions.close()), (Nanos::MAX, vec![]));
    }
}

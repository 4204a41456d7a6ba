//! How many calls are in progress at a time: sampled at full seconds.

use std::collections::BTreeMap;

use ringtap_model::Nanos;

use crate::bytes::{Bytes, put, put_signed};

/// By how much the number of calls in progress changes at which second.
///
/// A call is in progress at a full second if it began at it or before, and ended after it. The mean over a
/// time is then its traffic in erlangs, but for what one sample a second leaves open.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Occupancy(BTreeMap<u32, i64>);

/// The most and the mean number of calls in progress over a time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Concurrent {
    /// Most at one full second.
    pub most: u64,
    /// Mean over all full seconds.
    pub mean: f64,
}

impl Occupancy {
    /// Adds a call from its beginning to its end.
    pub fn add(&mut self, from: Nanos, to: Nanos) {
        let (from, to) = (second(from), second(to));
        if from < to {
            self.change(from, 1);
            self.change(to, -1);
        }
    }

    fn change(&mut self, second: u32, by: i64) {
        let change = self.0.entry(second).or_default();
        *change += by;
        if *change == 0 {
            self.0.remove(&second);
        }
    }

    /// Adds the calls of another.
    pub fn merge(&mut self, other: &Self) {
        other.0.iter().for_each(|(second, by)| self.change(*second, *by));
    }

    /// Of each time from one of these moments to the next: moments in order.
    pub fn within(&self, moments: &[Nanos]) -> Vec<Concurrent> {
        let mut changes = self.0.iter().peekable();
        let mut now = 0_i64;
        let mut found = Vec::with_capacity(moments.len().saturating_sub(1));
        for pair in moments.windows(2) {
            let (first, end) = (second(pair[0]), second(pair[1]));
            while let Some((_, by)) = changes.next_if(|(second, _)| **second <= first) {
                now += by;
            }
            let (mut most, mut total, mut at) = (if first < end { now } else { 0 }, 0_i64, first);
            while let Some((second, by)) = changes.next_if(|(second, _)| **second < end) {
                total += now * i64::from(second - at);
                (now, at) = (now + by, *second);
                most = most.max(now);
            }
            total += now * i64::from(end.saturating_sub(at));
            let seconds = end.saturating_sub(first).max(1);
            let most = u64::try_from(most).unwrap_or(0);
            found.push(Concurrent { most, mean: total.max(0) as f64 / f64::from(seconds) });
        }
        found
    }

    /// The second after the last change; `None` without calls.
    pub fn end(&self) -> Option<Nanos> {
        self.0.last_key_value().map(|(second, _)| Nanos::from_secs(u64::from(*second)))
    }

    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        put(out, self.0.len() as u64);
        let mut before = 0;
        for (second, by) in &self.0 {
            put(out, u64::from(second - before));
            put_signed(out, *by);
            before = *second;
        }
    }

    pub(crate) fn read(bytes: &mut Bytes<'_>) -> Option<Self> {
        let mut changes = BTreeMap::new();
        let mut second = 0_u32;
        for _ in 0..bytes.length()? {
            second = second.checked_add(u32::try_from(bytes.number()?).ok()?)?;
            // Far from overflow, however many are merged.
            let by = i64::from(i32::try_from(bytes.signed()?).ok()?);
            changes.insert(second, by);
        }
        Some(Self(changes))
    }
}

/// The first full second that is not before a moment; the last that is known after 2106.
fn second(time: Nanos) -> u32 {
    u32::try_from(time.0.div_ceil(1_000_000_000)).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn at(seconds: f64) -> Nanos {
        Nanos((seconds * 1e9) as u64)
    }

    /// By hand: calls 0-10, 5-15 and 5.5-5.9; at second 5 to 9 there are two, the third is at no full second.
    #[test]
    fn three_calls() {
        let mut occupancy = Occupancy::default();
        for (from, to) in [(0.0, 10.0), (5.0, 15.0), (5.5, 5.9)] {
            occupancy.add(at(from), at(to));
        }
        let found = occupancy.within(&[at(0.0), at(10.0), at(20.0)]);
        assert_eq!(found, [Concurrent { most: 2, mean: 1.5 }, Concurrent { most: 1, mean: 0.5 }]);
        assert_eq!(occupancy.end(), Some(at(15.0)));
    }

    proptest! {
        #[test]
        fn as_counted_second_by_second(
            calls in prop::collection::vec((0.0..50.0f64, 0.0..30.0f64), 0..30), split in 0..30_usize
        ) {
            let split = split.min(calls.len());
            let of = |calls: &[(f64, f64)]| {
                let mut occupancy = Occupancy::default();
                calls.iter().for_each(|(from, length)| occupancy.add(at(*from), at(from + length)));
                occupancy
            };
            let mut merged = of(&calls[split..]);
            merged.merge(&of(&calls[..split]));
            prop_assert_eq!(&merged, &of(&calls));
            let found = merged.within(&[at(10.0), at(40.0)])[0];
            let at_second = |second: u64| {
                let second = Nanos::from_secs(second);
                let lasts = |from: f64, to: f64| at(from) <= second && second < at(to);
                calls.iter().filter(|(from, length)| lasts(*from, from + length)).count()
            };
            prop_assert_eq!(found.most, (10..40).map(at_second).max().unwrap() as u64);
            let mean = (10..40).map(at_second).sum::<usize>() as f64 / 30.0;
            prop_assert!((found.mean - mean).abs() < 1e-9);
            let mut bytes = Vec::new();
            merged.write(&mut bytes);
            prop_assert_eq!(Occupancy::read(&mut Bytes::new(&bytes)), Some(merged));
        }
    }
}

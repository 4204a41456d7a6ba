//! How old data was when it was asked for.

use ringtap_model::Nanos;

/// A month: the twelfth part of 365.25 days.
pub const MONTH: Nanos = Nanos::from_secs(2_629_800);
/// Bands of age: one for each completed month, and the last for 24 months and more, where Article 6 of
/// Directive 2006/24/EC ends.
pub const MONTHS: usize = 25;

/// The times of what was given, and its ages when the request was received.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataAges {
    received: Nanos,
    /// The time of the earliest communication.
    pub earliest: Option<Nanos>,
    /// The time of the latest.
    pub latest: Option<Nanos>,
    /// How many there are of each age, in completed months.
    pub by_month: [u64; MONTHS],
}

impl DataAges {
    /// Of nothing yet, for a request that was received then.
    pub fn new(received: Nanos) -> Self {
        Self { received, earliest: None, latest: None, by_month: [0; MONTHS] }
    }

    /// Counts a communication that began then. One that began after the request was received has no age.
    pub fn add(&mut self, begin: Nanos) {
        // Microseconds, as acts have them.
        let begin = Nanos::from_micros(begin.micros());
        self.earliest = Some(self.earliest.map_or(begin, |earliest| earliest.min(begin)));
        self.latest = Some(self.latest.map_or(begin, |latest| latest.max(begin)));
        self.by_month[month_of(self.received.since(begin))] += 1;
    }
}

/// The band of an age.
pub(super) fn month_of(age: Nanos) -> usize {
    usize::try_from(age.0 / MONTH.0).unwrap_or(usize::MAX).min(MONTHS - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_count_in_completed_months() {
        let received = Nanos::from_secs(100 * 2_629_800);
        let mut ages = DataAges::new(received);
        let before = |nanos: u64| Nanos(received.0 - nanos);
        ages.add(Nanos(received.0 + 5_000));
        ages.add(before(MONTH.0 - 1_000));
        ages.add(before(MONTH.0));
        ages.add(before(24 * MONTH.0 - 1_000));
        ages.add(before(24 * MONTH.0));
        ages.add(before(90 * MONTH.0));
        let bands: Vec<_> = ages.by_month.iter().enumerate().filter(|(_, count)| **count > 0).collect();
        assert_eq!(bands, [(0, &2), (1, &1), (23, &1), (24, &2)]);
        assert_eq!(ages.earliest, Some(before(90 * MONTH.0)));
        assert_eq!(ages.latest, Some(Nanos(received.0 + 5_000)));
    }
}

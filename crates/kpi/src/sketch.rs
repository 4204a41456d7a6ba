//! A distribution in little memory: a sketch that merges, with quantiles of a bounded relative error.
//!
//! The buckets are those of DDSketch (Masson, Rim, Lee: "DDSketch: a fast and fully-mergeable quantile sketch
//! with relative-error guarantees", VLDB 2019): bucket `i` holds values from GAMMA^(i-1), excluded, to
//! GAMMA^i.

use crate::bytes::{Bytes, put, put_signed};

/// Values of one kind, such as the post-dial delays of a minute.
///
/// Two sketches merge into the one that all values would have made: in any order, in any grouping. A quantile
/// is within 1 % of the value that has its rank, as long as that lies between [`LEAST`] and [`MOST`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sketch {
    /// Values below [`LEAST`].
    zeros: u64,
    /// Number and count of each bucket that is not empty, in order.
    buckets: Vec<(i16, u64)>,
    /// Sum of the values in millionths, so that it is the same in any order.
    sum: u64,
}

impl Sketch {
    /// Adds a value. One that is negative or not a number is left out.
    pub fn add(&mut self, value: f64) {
        if !value.is_finite() || value < 0.0 {
            return;
        }
        let value = value.min(MOST);
        self.sum = self.sum.saturating_add((value * MILLION).round() as u64);
        if value < LEAST {
            self.zeros = self.zeros.saturating_add(1);
            return;
        }
        let bucket = (value.ln() / GAMMA.ln()).ceil() as i16;
        match self.buckets.binary_search_by_key(&bucket, |(number, _)| *number) {
            Ok(place) => self.buckets[place].1 = self.buckets[place].1.saturating_add(1),
            Err(place) => self.buckets.insert(place, (bucket, 1)),
        }
    }

    /// Adds all values of another sketch.
    pub fn merge(&mut self, other: &Self) {
        self.zeros = self.zeros.saturating_add(other.zeros);
        self.sum = self.sum.saturating_add(other.sum);
        if self.buckets.is_empty() {
            self.buckets.clone_from(&other.buckets);
            return;
        }
        for (bucket, count) in &other.buckets {
            match self.buckets.binary_search_by_key(bucket, |(number, _)| *number) {
                Ok(place) => self.buckets[place].1 = self.buckets[place].1.saturating_add(*count),
                Err(place) => self.buckets.insert(place, (*bucket, *count)),
            }
        }
    }

    /// Takes back what [`merge`](Self::merge) added of another.
    pub fn subtract(&mut self, other: &Self) {
        self.zeros = self.zeros.saturating_sub(other.zeros);
        self.sum = self.sum.saturating_sub(other.sum);
        let mut gone = other.buckets.iter().peekable();
        self.buckets.retain_mut(|(bucket, count)| {
            while gone.next_if(|(other, _)| other < bucket).is_some() {}
            if let Some((_, less)) = gone.next_if(|(other, _)| other == bucket) {
                *count = count.saturating_sub(*less);
            }
            *count > 0
        });
    }

    /// How many values it has.
    pub fn count(&self) -> u64 {
        self.buckets.iter().fold(self.zeros, |sum, (_, count)| sum.saturating_add(*count))
    }

    /// The mean of the values, exact but for rounding to millionths; `None` without values.
    pub fn mean(&self) -> Option<f64> {
        let count = self.count();
        (count > 0).then(|| self.sum as f64 / MILLION / count as f64)
    }

    /// The value of rank `ceil(share * count)`, the smallest having rank 1; `None` without values.
    pub fn quantile(&self, share: f64) -> Option<f64> {
        let count = self.count();
        if count == 0 {
            return None;
        }
        let rank = ((share * count as f64).ceil() as u64).clamp(1, count);
        let mut below = self.zeros;
        if rank <= below {
            return Some(0.0);
        }
        for (bucket, count) in &self.buckets {
            below = below.saturating_add(*count);
            if rank <= below {
                // The value whose relative distance to both ends of the bucket is the same.
                return Some(2.0 * GAMMA.powi(i32::from(*bucket)) / (GAMMA + 1.0));
            }
        }
        None
    }

    /// Appends it to bytes.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        put(out, self.zeros);
        put(out, self.sum);
        put(out, self.buckets.len() as u64);
        let mut before = 0;
        for (bucket, count) in &self.buckets {
            put_signed(out, i64::from(*bucket) - before);
            put(out, *count);
            before = i64::from(*bucket);
        }
    }

    /// Reads what [`write`](Self::write) wrote; `None` where it was not that.
    pub(crate) fn read(bytes: &mut Bytes<'_>) -> Option<Self> {
        let (zeros, sum, length) = (bytes.number()?, bytes.number()?, bytes.length()?);
        let mut buckets = Vec::with_capacity(length);
        let mut before = None;
        for _ in 0..length {
            let bucket = i16::try_from(bytes.signed()?.checked_add(before.unwrap_or(0))?).ok()?;
            if before.is_some_and(|before| i64::from(bucket) <= before) {
                return None;
            }
            buckets.push((bucket, bytes.number()?));
            before = Some(i64::from(bucket));
        }
        Some(Self { zeros, buckets, sum })
    }
}

/// Relative error of a quantile: below 1 %, so that rounding leaves it there.
const ERROR: f64 = 0.0095;
/// Upper end of a bucket, as a multiple of its lower end.
const GAMMA: f64 = (1.0 + ERROR) / (1.0 - ERROR);
/// Smaller values count as 0: a millionth of a millisecond or of a percent.
pub const LEAST: f64 = 1e-6;
/// Larger values count as this one. There are 1,818 buckets in between.
pub const MOST: f64 = 1e9;
const MILLION: f64 = 1e6;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(values: &[f64]) -> Sketch {
        let mut sketch = Sketch::default();
        values.iter().for_each(|value| sketch.add(*value));
        sketch
    }

    fn merged(mut one: Sketch, other: &Sketch) -> Sketch {
        one.merge(other);
        one
    }

    #[test]
    fn nothing_has_no_quantile() {
        assert_eq!(Sketch::default().quantile(0.5), None);
        assert_eq!(Sketch::default().mean(), None);
        assert_eq!(of(&[f64::NAN, -1.0, f64::INFINITY]), Sketch::default());
        assert_eq!(of(&[0.0, 0.0, 5.0]).quantile(0.5), Some(0.0));
        assert_eq!(of(&[1.0, 2.0, 6.0]).mean(), Some(3.0));
    }

    /// By hand: of 1 to 100, the value of rank 95 is 95.
    #[test]
    fn quantiles_of_known_values() {
        let hundred = of(&(1..=100).map(f64::from).collect::<Vec<_>>());
        for (share, exact) in [(0.0, 1.0), (0.05, 5.0), (0.5, 50.0), (0.95, 95.0), (1.0, 100.0)] {
            let found = hundred.quantile(share).unwrap();
            assert!((found - exact).abs() <= 0.01 * exact, "{share}: {found} instead of {exact}");
        }
    }

    fn values() -> impl Strategy<Value = Vec<f64>> {
        let value = prop_oneof![Just(0.0), 1e-6..1e-3, 1e-3..10.0, 10.0..1e9f64];
        prop::collection::vec(value, 0..200)
    }

    proptest! {
        #[test]
        fn merging_is_associative_and_commutative(a in values(), b in values(), c in values()) {
            let (a, b, c) = (of(&a), of(&b), of(&c));
            let left = merged(merged(a.clone(), &b), &c);
            prop_assert_eq!(&left, &merged(a.clone(), &merged(b.clone(), &c)));
            prop_assert_eq!(left, merged(c, &merged(b, &a)));
        }

        #[test]
        fn subtracting_takes_back_what_merging_added(a in values(), b in values()) {
            let (a, b) = (of(&a), of(&b));
            let mut sum = merged(a.clone(), &b);
            sum.subtract(&b);
            prop_assert_eq!(sum, a);
        }

        #[test]
        fn merged_quantiles_are_within_one_percent(
            mut a in values(), b in values(), share in 0.0..=1.0f64
        ) {
            let sketch = merged(of(&a), &of(&b));
            a.extend(b);
            a.sort_by(f64::total_cmp);
            prop_assert_eq!(sketch.count(), a.len() as u64);
            let rank = ((share * a.len() as f64).ceil() as usize).clamp(1, a.len().max(1));
            match (sketch.quantile(share), a.get(rank - 1)) {
                (Some(found), Some(exact)) => {
                    let exact = if *exact < LEAST { 0.0 } else { *exact };
                    prop_assert!((found - exact).abs() <= 0.01 * exact, "{} instead of {}", found, exact);
                }
                (found, exact) => prop_assert!(found.is_none() && exact.is_none()),
            }
        }

        #[test]
        fn written_and_read_it_is_the_same(a in values(), cut in any::<prop::sample::Index>()) {
            let sketch = of(&a);
            let mut bytes = Vec::new();
            sketch.write(&mut bytes);
            prop_assert_eq!(Sketch::read(&mut Bytes::new(&bytes)), Some(sketch));
            let short = cut.index(bytes.len());
            prop_assert_eq!(Sketch::read(&mut Bytes::new(&bytes[..short])), None);
        }

        #[test]
        fn any_bytes_are_read_without_harm(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            let _ = Sketch::read(&mut Bytes::new(&bytes));
        }
    }
}

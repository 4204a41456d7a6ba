//! Shares, and choices by weight.

use std::fmt;
use std::str::FromStr;

use crate::error::Error;
use crate::rng::Rng;

/// A share of cases, from 0 to 1. Written `5%` or `0.05`.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct Share(f64);

impl Share {
    /// Never.
    pub const NONE: Self = Self(0.0);

    /// A share; None outside 0 to 1.
    pub fn new(share: f64) -> Option<Self> {
        (0.0..=1.0).contains(&share).then_some(Self(share))
    }

    /// From 0 to 1.
    pub fn value(self) -> f64 {
        self.0
    }
}

impl FromStr for Share {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let share = match text.strip_suffix('%') {
            Some(percent) => percent.trim_end().parse().map(|percent: f64| percent / 100.0),
            None => text.parse(),
        };
        share.ok().and_then(Self::new).ok_or_else(|| Error::Share(text.to_owned()))
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Ten digits hide rounding errors.
        let percent = format!("{:.10}", self.0 * 100.0);
        write!(f, "{}%", percent.trim_end_matches('0').trim_end_matches('.'))
    }
}

/// Several values, one of which is chosen by weight. Written `PCMU=60,PCMA=30`, or `PCMU` alone.
#[derive(Clone, Debug, PartialEq)]
pub struct Mix<T>(Vec<(T, f64)>);

impl<T> Mix<T> {
    /// Always the same.
    pub fn only(value: T) -> Self {
        Self(vec![(value, 1.0)])
    }

    /// Weighted values; None if no weight is above 0, one is negative or not finite, or there are more than
    /// 256.
    pub fn new(weights: Vec<(T, f64)>) -> Option<Self> {
        let valid =
            weights.len() <= 256 && weights.iter().all(|(_, weight)| weight.is_finite() && *weight >= 0.0);
        let total: f64 = weights.iter().map(|(_, weight)| weight).sum();
        (valid && total > 0.0 && total.is_finite()).then_some(Self(weights))
    }

    /// The values that can be chosen.
    pub fn values(&self) -> impl Iterator<Item = &T> {
        self.0.iter().filter(|(_, weight)| *weight > 0.0).map(|(value, _)| value)
    }

    /// Other values with the same weights.
    pub fn map<U>(self, change: impl Fn(T) -> U) -> Mix<U> {
        Mix(self.0.into_iter().map(|(value, weight)| (change(value), weight)).collect())
    }

    pub(crate) fn pick(&self, rng: &mut Rng) -> &T {
        self.at(self.pick_index(rng))
    }

    /// The index of a random value. INVARIANT: there are at most 256.
    pub(crate) fn pick_index(&self, rng: &mut Rng) -> u8 {
        let total: f64 = self.0.iter().map(|(_, weight)| weight).sum();
        let mut left = rng.unit() * total;
        for (index, (_, weight)) in self.0.iter().enumerate() {
            if left < *weight {
                return index as u8;
            }
            left -= weight;
        }
        // Rounding ran past the end: choose the last with a weight. INVARIANT: some weight is above 0.
        self.0.iter().rposition(|(_, weight)| *weight > 0.0).unwrap_or(0) as u8
    }

    /// The value at an index from [`Self::pick_index`].
    pub(crate) fn at(&self, index: u8) -> &T {
        &self.0[usize::from(index)].0
    }

    /// The suitable values; None if there are none.
    pub(crate) fn only_those(&self, suits: impl Fn(&T) -> bool) -> Option<Self>
    where
        T: Clone,
    {
        Self::new(self.0.iter().filter(|(value, _)| suits(value)).cloned().collect())
    }
}

impl<T: FromStr<Err = Error>> FromStr for Mix<T> {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let wrong = || Error::Weights(text.to_owned());
        let item = |item: &str| {
            let (name, weight) = item.split_once('=').unwrap_or((item, "1"));
            Ok((name.trim().parse()?, weight.trim().parse().map_err(|_| wrong())?))
        };
        let weights: Vec<(T, f64)> = text.split(',').map(item).collect::<Result<_, Error>>()?;
        if weights.iter().any(|(_, weight)| *weight <= 0.0) {
            return Err(wrong());
        }
        Self::new(weights).ok_or_else(wrong)
    }
}

/// A model for a share of the streams, or for the rest of them. Written `MODEL@10%`, or `MODEL`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ModelShare<T> {
    /// The model.
    pub model: T,
    /// Its share of the streams; None for the remainder.
    pub share: Option<Share>,
}

impl<T: FromStr<Err = Error>> FromStr for ModelShare<T> {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        match text.rsplit_once('@') {
            Some((model, share)) => Ok(Self { model: model.parse()?, share: Some(share.parse()?) }),
            None => Ok(Self { model: text.parse()?, share: None }),
        }
    }
}

impl<T: Copy + Default> Mix<T> {
    /// Models with their shares; the remainder goes to the one without a share, or to the default.
    ///
    /// # Errors
    ///
    /// They exceed 100 %, or two have no share.
    pub fn of_shares(models: &[ModelShare<T>]) -> Result<Self, Error> {
        let shares: f64 = models.iter().filter_map(|model| model.share).map(Share::value).sum();
        if shares > 1.0 + 1e-9 {
            return Err(Error::Shares("the shares exceed 100 %"));
        }
        let mut rest = models.iter().filter(|model| model.share.is_none());
        let left = rest.next().map_or_else(T::default, |model| model.model);
        if rest.next().is_some() {
            return Err(Error::Shares("two of them have no share"));
        }
        let mut weights: Vec<_> =
            models.iter().filter_map(|model| Some((model.model, model.share?.value()))).collect();
        weights.push((left, (1.0 - shares).max(0.0)));
        Self::new(weights).ok_or(Error::Shares("nothing is chosen"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_written_both_ways() {
        assert_eq!("5%".parse(), Ok(Share(0.05)));
        assert_eq!("0.05".parse(), Ok(Share(0.05)));
        assert_eq!("0.1 %".parse::<Share>().map(|share| share.to_string()), Ok("0.1%".to_owned()));
        assert_eq!(Share(1.0).to_string(), "100%");
        for wrong in ["5", "-1%", "101%", "NaN", "", "%", "a few"] {
            let error = wrong.parse::<Share>().unwrap_err().to_string();
            assert!(error.contains("5% or 0.05"), "{error}");
        }
    }

    #[derive(Clone, Copy, Debug, Default, PartialEq)]
    struct Named(char);

    impl FromStr for Named {
        type Err = Error;
        fn from_str(text: &str) -> Result<Self, Error> {
            text.parse().map(Self).map_err(|_| Error::Weights(text.to_owned()))
        }
    }

    #[test]
    fn a_mix_chooses_by_weight() {
        let mix: Mix<Named> = "a=60,b=30, c=10".parse().unwrap();
        let mut rng = Rng::new(1, 2);
        let mut counts = [0_u32; 3];
        for _ in 0..10_000 {
            counts[(mix.pick(&mut rng).0 as u8 - b'a') as usize] += 1;
        }
        for (count, expected) in counts.iter().zip([6000, 3000, 1000]) {
            assert!(count.abs_diff(expected) < 200, "{counts:?}");
        }
        assert_eq!("x".parse(), Ok(Mix::only(Named('x'))));
        for wrong in ["", "a=", "a=0", "a=-1", "a=1,,b=2", "a=inf", "a=NaN", "ab"] {
            assert!(wrong.parse::<Mix<Named>>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_rest_goes_to_the_model_without_a_share() {
        let parse = |text: &str| text.parse::<ModelShare<Named>>().unwrap();
        let mix = Mix::of_shares(&[parse("a@10%"), parse("b")]).unwrap();
        assert_eq!(mix, Mix(vec![(Named('a'), 0.1), (Named('b'), 0.9)]));
        assert_eq!(Mix::<Named>::of_shares(&[]), Ok(Mix::only(Named::default())));
        assert!(Mix::of_shares(&[parse("a@60%"), parse("b@60%")]).is_err());
        assert!(Mix::of_shares(&[parse("a"), parse("b")]).is_err());
        assert!("a@".parse::<ModelShare<Named>>().is_err());
    }
}

//! Jitter: variable delay in the network.

use std::str::FromStr;

use ringtap_model::Nanos;

use crate::error::Error;
use crate::rng::Rng;

/// Distribution of the delay. Packets stay in order, as in a queue: a delayed packet delays those after it.
/// Written `none` or `gamma:SHAPE,SCALE`, the scale in milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Jitter {
    /// No jitter.
    #[default]
    None,
    /// Gamma-distributed: its mean is shape times scale, its deviation the square root of the shape times
    /// scale.
    Gamma {
        /// 1 is exponential; higher shapes have fewer extremes.
        shape: f64,
        /// In milliseconds.
        scale: f64,
    },
}

impl Jitter {
    /// The delay of one packet.
    pub(crate) fn sample(&self, rng: &mut Rng) -> Nanos {
        match *self {
            Self::None => Nanos::ZERO,
            Self::Gamma { shape, scale } => {
                Nanos::from_micros((rng.gamma(shape) * scale * 1e3).min(LONGEST.micros() as f64) as u64)
            }
        }
    }
}

impl FromStr for Jitter {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let wrong = || Error::Model { given: text.to_owned(), right: RIGHT };
        if text == "none" {
            return Ok(Self::None);
        }
        let (shape, scale) =
            text.strip_prefix("gamma:").and_then(|numbers| numbers.split_once(',')).ok_or_else(wrong)?;
        let number = |text: &str, range: std::ops::RangeInclusive<f64>| {
            text.trim().parse().ok().filter(|number| range.contains(number)).ok_or_else(wrong)
        };
        Ok(Self::Gamma { shape: number(shape, 0.1..=100.0)?, scale: number(scale, 0.001..=200.0)? })
    }
}

/// Maximum delay.
const LONGEST: Nanos = Nanos::from_secs(2);
const RIGHT: &str = "none, or gamma:SHAPE,SCALE with a shape from 0.1 to 100 and a scale from 0.001 to 200 \
    ms, for example gamma:2,1.5";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_is_shape_times_scale() {
        let jitter: Jitter = "gamma:4,2.5".parse().unwrap();
        let mut rng = Rng::new(5, 0);
        let sum: f64 = (0..100_000).map(|_| jitter.sample(&mut rng).millis_f64()).sum();
        assert!((sum / 100_000.0 / 10.0 - 1.0).abs() < 0.02);
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for wrong in
            ["", "gamma", "gamma:1", "gamma:0,1", "gamma:1,0", "gamma:1,2,3", "gamma:NaN,1", "normal:1,2"]
        {
            let error = wrong.parse::<Jitter>().unwrap_err().to_string();
            assert!(error.contains("gamma:2,1.5"), "{error}");
        }
    }
}

//! Holding times of calls.

use std::str::FromStr;

use ringtap_model::Nanos;

use crate::error::Error;
use crate::rng::Rng;

/// The distribution of the time from answer to release. All numbers but `sigma` and `shape` are seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum HoldingTime {
    /// The same for every call.
    Constant(f64),
    /// Uniform between two values.
    Uniform {
        /// The shortest.
        low: f64,
        /// The longest.
        high: f64,
    },
    /// Exponential: the assumption behind Erlang's formulas.
    Exponential {
        /// Mean.
        mean: f64,
    },
    /// Lognormal, with a long tail: typical of free calls.
    LogNormal {
        /// Median.
        median: f64,
        /// Standard deviation of the logarithm.
        sigma: f64,
    },
    /// Inverse Gaussian (Wald): many short calls and a long tail, with a finite mean that can be chosen.
    InverseGaussian {
        /// Mean.
        mean: f64,
        /// Shape, lambda: the variance is mean^3 / shape.
        shape: f64,
    },
}

impl HoldingTime {
    pub(crate) fn sample(&self, rng: &mut Rng) -> Nanos {
        let seconds = match *self {
            Self::Constant(seconds) => seconds,
            Self::Uniform { low, high } => low + (high - low) * rng.unit(),
            Self::Exponential { mean } => mean * rng.exponential(),
            Self::LogNormal { median, sigma } => median * libm::exp(sigma * rng.normal()),
            Self::InverseGaussian { mean, shape } => rng.inverse_gaussian(mean, shape),
        };
        Nanos::from_micros((seconds.clamp(SHORTEST, LONGEST) * 1e6) as u64)
    }
}

impl FromStr for HoldingTime {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let wrong = || Error::Model { given: text.to_owned(), right: RIGHT };
        let (name, numbers) = text.split_once(':').ok_or_else(wrong)?;
        let numbers: Vec<f64> = numbers
            .split(',')
            .map(|number| number.trim().parse().ok().filter(|number| (1e-3..=LONGEST).contains(number)))
            .collect::<Option<_>>()
            .ok_or_else(wrong)?;
        match (name, &numbers[..]) {
            ("constant", &[seconds]) => Ok(Self::Constant(seconds)),
            ("uniform", &[low, high]) if low <= high => Ok(Self::Uniform { low, high }),
            ("exponential", &[mean]) => Ok(Self::Exponential { mean }),
            ("lognormal", &[median, sigma]) if sigma <= 5.0 => Ok(Self::LogNormal { median, sigma }),
            ("inverse-gaussian", &[mean, shape]) => Ok(Self::InverseGaussian { mean, shape }),
            _ => Err(wrong()),
        }
    }
}

/// Minimum holding time: ACK and BYE need some time.
const SHORTEST: f64 = 0.1;
/// A day.
const LONGEST: f64 = 86_400.0;
const RIGHT: &str = "constant:SECONDS, uniform:LOW,HIGH, exponential:MEAN, lognormal:MEDIAN,SIGMA or \
                     inverse-gaussian:MEAN,SHAPE, in seconds from 0.001 to 86400 (SIGMA up to 5)";

#[cfg(test)]
mod tests {
    use super::*;

    fn mean(text: &str) -> f64 {
        let hold: HoldingTime = text.parse().unwrap();
        let mut rng = Rng::new(3, 0);
        let count = 200_000;
        (0..count).map(|_| hold.sample(&mut rng).secs_f64()).sum::<f64>() / f64::from(count)
    }

    #[test]
    fn means_are_as_asked() {
        let cases = [
            ("constant:60", 60.0),
            ("uniform:6,15", 10.5),
            ("exponential:120", 120.0),
            // Mean of a lognormal: median * exp(sigma^2 / 2).
            ("lognormal:60,0.5", 60.0 * 0.125_f64.exp()),
            ("inverse-gaussian:117,19", 117.0),
        ];
        for (text, expected) in cases {
            assert!((mean(text) / expected - 1.0).abs() < 0.02, "{text}: {}", mean(text));
        }
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for wrong in [
            "60",
            "constant",
            "constant:",
            "constant:0",
            "constant:-1",
            "constant:NaN",
            "constant:1,2",
            "uniform:5,4",
            "poisson:3",
            "lognormal:60,6",
            "exponential:100000",
        ] {
            let error = wrong.parse::<HoldingTime>().unwrap_err().to_string();
            assert!(error.contains("exponential:MEAN"), "{error}");
        }
    }
}

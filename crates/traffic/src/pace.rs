//! When the packets of no call come.

use ringtap_model::Nanos;

use crate::cross::Rate;
use crate::rng::Rng;

/// Random pauses between packets, with a mean rate.
#[derive(Debug)]
pub(crate) struct Pace {
    rate: Rate,
    /// Fraction of a microsecond to add to the next pause, so that a high rate stays exact.
    fraction: f64,
}

impl Pace {
    pub(crate) fn new(rate: Rate) -> Self {
        Self { rate, fraction: 0.0 }
    }

    /// The pause after a packet of this size.
    pub(crate) fn pause(&mut self, octets: usize, rng: &mut Rng) -> Nanos {
        let mean = match self.rate {
            Rate::Bits(rate) => octets as f64 * 8.0 / rate,
            Rate::Packets(rate) => 1.0 / rate,
        };
        let micros = rng.exponential() * mean * 1e6 + self.fraction;
        self.fraction = micros - libm::floor(micros);
        Nanos::from_micros(micros as u64)
    }
}

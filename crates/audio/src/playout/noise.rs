//! Comfort noise (RFC 3389): filtered white noise.

use crate::track::{FLAT, ORDER};

/// A deterministic noise generator: a call always sounds the same.
#[derive(Clone, Debug)]
pub(super) struct Noise {
    seed: u32,
    /// Reflection coefficients and the memory of the lattice.
    k: [f32; ORDER],
    memory: [f32; ORDER],
    gain: f32,
}

impl Noise {
    pub(super) fn new() -> Self {
        Self { seed: 1, k: [0.0; ORDER], memory: [0.0; ORDER], gain: 0.0 }
    }

    /// Sets level (in -dBov) and coefficients (in steps of 1/127, with 127 for zero), as in a packet (section
    /// 3).
    pub(super) fn set(&mut self, level: u8, filter: &[u8; ORDER]) {
        let mut passed = 1.0;
        for (k, quantised) in self.k.iter_mut().zip(filter) {
            // A pole on the unit circle would not decay.
            *k = ((f32::from(*quantised) - f32::from(FLAT)) / 127.0).clamp(-0.97, 0.97);
            passed *= 1.0 - *k * *k;
        }
        // The filter amplifies by 1 / passed; uniform noise in -1..1 has a power of a third. 0 dBov is a
        // square wave at the end of the scale.
        let rms = 32_768.0 * 10_f32.powf(-f32::from(level) / 20.0);
        self.gain = rms * (3.0_f32 * passed).sqrt();
    }

    pub(super) fn fill(&mut self, out: &mut [i16]) {
        for sample in out {
            self.seed = self.seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let white = (self.seed >> 8) as f32 / (1 << 23) as f32 - 1.0;
            let mut value = white * self.gain;
            // All-pole lattice, the highest order first.
            for i in (0..ORDER).rev() {
                value -= self.k[i] * self.memory[i];
                if i + 1 < ORDER {
                    self.memory[i + 1] = self.memory[i] + self.k[i] * value;
                }
            }
            self.memory[0] = value;
            *sample = value as i16;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_level_is_what_was_sent() {
        let coloured = [200, 90, 140, 127, 127, 127, 127, 127, 127, 127];
        for (level, filter) in [(40, [FLAT; ORDER]), (40, coloured), (60, coloured)] {
            let mut noise = Noise::new();
            noise.set(level, &filter);
            let mut out = [0; 16_000];
            noise.fill(&mut out);
            let power: f64 = out.iter().map(|sample| f64::from(*sample).powi(2)).sum::<f64>() / 16_000.0;
            let dbov = 10.0 * (power / 32_768_f64.powi(2)).log10();
            assert!((dbov + f64::from(level)).abs() < 1.0, "{dbov} for -{level}");
        }
    }

    #[test]
    fn hostile_filters_stay_finite() {
        let mut noise = Noise::new();
        for extreme in [0, 255] {
            noise.set(0, &[extreme; ORDER]);
            noise.fill(&mut [0; 8_000]);
            assert!(noise.memory.iter().all(|value| value.is_finite()));
        }
    }
}

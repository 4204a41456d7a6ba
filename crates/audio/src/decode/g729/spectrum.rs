//! The spectral envelope: line spectral frequencies out of codewords, and the filter that they stand for
//! (section 3.2).

use std::f32::consts::PI;

use super::tables::{FIRST, NOISE_FIRST, NOISE_SECOND, PREDICTORS, SECOND};

/// Coefficients a1 to a10 of the prediction filter.
pub(super) type Filter = [f32; 10];

/// The codewords of a frame's envelope.
#[derive(Clone, Copy, Debug)]
pub(super) struct Codewords {
    /// L0.
    pub(super) predictor: usize,
    /// L1.
    pub(super) first: usize,
    /// L2 and L3.
    pub(super) second: [usize; 2],
}

/// The state of the quantiser and of the interpolation between frames.
#[derive(Clone, Debug)]
pub(super) struct Spectrum {
    /// Quantiser outputs of the four frames before, the last first; radians.
    past: [[f32; 10]; 4],
    /// Frequencies of the last frame, and the predictor that it had.
    frequencies: [f32; 10],
    predictor: usize,
    /// Cosines of the last frame.
    cosines: [f32; 10],
}

impl Spectrum {
    pub(super) fn new() -> Self {
        let even = std::array::from_fn(|at| (at + 1) as f32 * PI / 11.0);
        // What the software of the Recommendation begins with; its text has the cosines of the above.
        let cosines = [30_000, 26_000, 21_000, 15_000, 8_000, 0, -8_000, -15_000, -21_000, -26_000_i16];
        Self {
            past: [even; 4],
            frequencies: even,
            predictor: 0,
            cosines: cosines.map(|cosine| f32::from(cosine) / 32_768.0),
        }
    }

    /// The filters of both subframes of a frame of speech.
    pub(super) fn speech(&mut self, words: Codewords) -> [Filter; 2] {
        let [low, high] = words.second;
        let mut wanted = sum(words.first, [low, high]);
        spread(&mut wanted, 10.0 / 8_192.0);
        spread(&mut wanted, 5.0 / 8_192.0);
        let predictor = PREDICTORS[words.predictor].map(|row| row.map(q15));
        self.set_frequencies(wanted, &predictor);
        self.predictor = words.predictor;
        self.filters()
    }

    /// The same of a frame that describes comfort noise (B.4.2.2).
    pub(super) fn set_noise(&mut self, words: Codewords) {
        let [low, high] = words.second;
        let rows = [NOISE_SECOND[0][low], NOISE_SECOND[1][high]].map(usize::from);
        let mut wanted = sum(usize::from(NOISE_FIRST[words.first]), rows);
        spread(&mut wanted, 10.0 / 8_192.0);
        let predictor = if words.predictor == 0 { PREDICTORS[0].map(|row| row.map(q15)) } else { mixed() };
        self.set_frequencies(wanted, &predictor);
    }

    /// For a lost frame: repeats the envelope and updates the memory as if it had been sent (section 4.4.1).
    pub(super) fn repeat(&mut self) -> [Filter; 2] {
        let predictor = PREDICTORS[self.predictor].map(|row| row.map(q15));
        let mut wanted = [0.0; 10];
        for (at, value) in wanted.iter_mut().enumerate() {
            let (past, weight) = self.predicted(at, &predictor);
            *value = (self.frequencies[at] - past) / weight;
        }
        self.remember(wanted);
        self.filters()
    }

    /// The filters between the last frame and the one whose frequencies are known (section 3.2.5).
    pub(super) fn filters(&mut self) -> [Filter; 2] {
        let cosines = self.frequencies.map(f32::cos);
        let between = std::array::from_fn(|at| (self.cosines[at] + cosines[at]) / 2.0);
        self.cosines = cosines;
        [filter(&between), filter(&cosines)]
    }

    /// The prediction of a frequency from earlier frames, and the weight of this one.
    fn predicted(&self, at: usize, predictor: &[[f32; 10]; 4]) -> (f32, f32) {
        let past = self.past.iter().zip(predictor);
        past.fold((0.0, 1.0), |(sum, weight), (frame, row)| (sum + frame[at] * row[at], weight - row[at]))
    }

    /// Equation 20, and what keeps the filter stable.
    fn set_frequencies(&mut self, wanted: [f32; 10], predictor: &[[f32; 10]; 4]) {
        let mut found: [f32; 10] = std::array::from_fn(|at| {
            let (past, weight) = self.predicted(at, predictor);
            past + wanted[at] * weight
        });
        self.remember(wanted);
        for at in 1..10 {
            if found[at] < found[at - 1] {
                found.swap(at, at - 1);
            }
        }
        found[0] = found[0].max(LOWEST);
        for at in 1..10 {
            found[at] = found[at].max(found[at - 1] + APART);
        }
        found[9] = found[9].min(HIGHEST);
        self.frequencies = found;
    }

    fn remember(&mut self, wanted: [f32; 10]) {
        self.past.copy_within(..3, 1);
        self.past[0] = wanted;
    }
}

/// Both stages.
fn sum(first: usize, [low, high]: [usize; 2]) -> [f32; 10] {
    std::array::from_fn(|at| {
        let second = SECOND[if at < 5 { low } else { high }][at];
        f32::from(FIRST[first][at] + second) / 8_192.0
    })
}

/// Neighbours are at least so far apart (section 3.2.4).
fn spread(values: &mut [f32; 10], gap: f32) {
    for at in 1..10 {
        let close = (values[at - 1] - values[at] + gap) / 2.0;
        if close > 0.0 {
            values[at - 1] -= close;
            values[at] += close;
        }
    }
}

/// Equation B.18.
fn mixed() -> [[f32; 10]; 4] {
    let [one, other] = &PREDICTORS;
    std::array::from_fn(|frame| {
        std::array::from_fn(|at| 0.6 * q15(one[frame][at]) + 0.4 * q15(other[frame][at]))
    })
}

pub(super) fn q15(value: i16) -> f32 {
    f32::from(value) / 32_768.0
}

/// Cosines of line spectral frequencies into coefficients (section 3.2.6).
fn filter(cosines: &[f32; 10]) -> Filter {
    let (sums, differences) = (polynomial(cosines, 0), polynomial(cosines, 1));
    let mut out = [0.0; 10];
    for at in 1..=5 {
        // F1(z) (1 + z^-1) and F2(z) (1 - z^-1): one is symmetric, the other is not.
        let (one, two) = (sums[at] + sums[at - 1], differences[at] - differences[at - 1]);
        out[at - 1] = (one + two) / 2.0;
        out[10 - at] = (one - two) / 2.0;
    }
    out
}

/// The product of 1 - 2 q z^-1 + z^-2 over every second cosine from `first` on: its first half, for it is
/// symmetric.
fn polynomial(cosines: &[f32; 10], first: usize) -> [f32; 6] {
    let mut out = [0.0; 6];
    out[0] = 1.0;
    for (count, cosine) in cosines.iter().skip(first).step_by(2).enumerate() {
        let twice = -2.0 * cosine;
        let top = count + 1;
        // The coefficient above the middle is that as far below it.
        let above = if top >= 2 { out[top - 2] } else { 0.0 };
        out[top] = twice * out[top - 1] + 2.0 * above;
        for at in (1..top).rev() {
            let second = if at >= 2 { out[at - 2] } else { 0.0 };
            out[at] += twice * out[at - 1] + second;
        }
    }
    out
}

/// Section 3.2.4: the lowest and highest frequency, and how far apart they are.
const LOWEST: f32 = 0.005;
const HIGHEST: f32 = 3.135;
const APART: f32 = 0.0392;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_filter_has_the_frequencies_that_it_was_made_of() {
        // On a line spectral frequency A(z) + z^-11 A(1/z) is zero, or the difference is, by turns.
        let frequencies: [f32; 10] = std::array::from_fn(|at| 0.2 + 0.28 * at as f32);
        let found = filter(&frequencies.map(f32::cos));
        let whole: Vec<f64> =
            std::iter::once(1.0).chain(found.iter().map(|value| f64::from(*value))).chain([0.0]).collect();
        for (at, frequency) in frequencies.iter().enumerate() {
            let sign = if at % 2 == 0 { 1.0 } else { -1.0 };
            let (mut real, mut imaginary) = (0.0, 0.0);
            for (delay, value) in whole.iter().enumerate() {
                let both = value + sign * whole[11 - delay];
                real += both * (f64::from(*frequency) * delay as f64).cos();
                imaginary += both * (f64::from(*frequency) * delay as f64).sin();
            }
            assert!(real.hypot(imaginary) < 1e-4, "{at}: {real} {imaginary}");
        }
    }
}

//! The excitation: the delayed past (adaptive codebook), four pulses (fixed codebook), and their gains.

use super::arithmetic::{add, faded, part};
use super::tables::{GAINS_A, GAINS_B, INTERPOLATION};

/// Samples of a subframe.
pub(super) const SUBFRAME: usize = 40;

/// A delay in thirds of a sample: `whole` + `third` / 3, the latter -1, 0 or 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Delay {
    pub(super) whole: usize,
    pub(super) third: i32,
}

impl Delay {
    /// Of the first subframe, by its eight bits (equation 76).
    pub(super) fn first(word: usize) -> Self {
        if word < 197 {
            let whole = word.div_ceil(3) + 19;
            Self { whole, third: word as i32 - 3 * whole as i32 + 58 }
        } else {
            Self { whole: word - 112, third: 0 }
        }
    }

    /// Of the second, by its five bits, beside the first (equation 77).
    pub(super) fn second(word: usize, first: usize) -> Self {
        let least = first.saturating_sub(5).clamp(SHORTEST, LONGEST - 9);
        let whole = word.div_ceil(3);
        Self { whole: whole + least - 1, third: word as i32 - 3 * whole as i32 + 1 }
    }
}

/// Codewords of pulses and gains.
#[derive(Clone, Copy, Debug)]
pub(super) struct Codewords {
    pub(super) pulses: usize,
    pub(super) signs: usize,
    /// GA and GB.
    pub(super) gains: [usize; 2],
}

/// Past excitation, and what gains are predicted from.
#[derive(Clone, Debug)]
pub(super) struct Excitation {
    /// [`PAST`] samples, then those of two subframes.
    line: [f32; PAST + 2 * SUBFRAME],
    /// In dB, the last first.
    energies: [f32; 4],
    /// Adaptive, bounded: of the last subframe; it sharpens the pulses of the next.
    sharpness: f32,
    /// Adaptive and fixed, of the last subframe.
    gains: [f32; 2],
    seed: i16,
}

impl Excitation {
    pub(super) fn new() -> Self {
        Self {
            line: [0.0; PAST + 2 * SUBFRAME],
            energies: [QUIETEST; 4],
            sharpness: SHARP[0],
            gains: [0.0; 2],
            seed: 21_845,
        }
    }

    /// The excitation of a subframe (0 or 1) of speech.
    pub(super) fn speech(&mut self, subframe: usize, delay: Delay, words: Codewords) -> &[f32; SUBFRAME] {
        let adaptive = self.adaptive(subframe, delay);
        let fixed = self.fixed(delay.whole, words.pulses, words.signs);
        let [a, b] = [GAINS_A[words.gains[0]], GAINS_B[words.gains[1]]];
        let pitch = (f32::from(a[0]) + f32::from(b[0])) / 16_384.0;
        let correction = (f32::from(a[1]) + f32::from(b[1])) / 8_192.0;
        let gain = correction * self.predicted(&fixed);
        self.energies.copy_within(..3, 1);
        self.energies[0] = 20.0 * correction.max(1e-4).log10();
        self.finish(subframe, [pitch, gain], &adaptive, &fixed)
    }

    /// For a lost subframe (sections 4.4.2 to 4.4.4): periodic excitation continues, other excitation becomes
    /// noise, and both fade.
    pub(super) fn lost(&mut self, subframe: usize, delay: Delay, periodic: bool) -> &[f32; SUBFRAME] {
        let adaptive = self.adaptive(subframe, delay);
        let pulses = random(&mut self.seed) as usize & 0x1fff;
        let signs = random(&mut self.seed) as usize & 0xf;
        let fixed = self.fixed(delay.whole, pulses, signs);
        let [pitch, gain] = [(self.gains[0] * 0.9).min(0.9), self.gains[1] * 0.98];
        let mean = self.energies.iter().sum::<f32>() / 4.0;
        self.energies.copy_within(..3, 1);
        self.energies[0] = (mean - 4.0).max(QUIETEST);
        let used = if periodic { [pitch, 0.0] } else { [0.0, gain] };
        let _ = self.finish(subframe, used, &adaptive, &fixed);
        self.sharpness = pitch.clamp(SHARP[0], SHARP[1]);
        self.gains = [pitch, gain];
        self.current(subframe)
    }

    /// Of a subframe of comfort noise at `level` a sample (B.4.4): sharpness begins anew after it. The random
    /// numbers are drawn in the order of the Recommendation, so that the state at the next speech equals the
    /// encoder's.
    pub(super) fn noise(&mut self, subframe: usize, level: f32, seed: &mut i16) -> &[f32; SUBFRAME] {
        let bits = random(seed);
        let delay =
            Delay { whole: (bits >> 2 & 63) as usize + 40, third: [-1, 0, 1, 0][(bits & 3) as usize] };
        let more = random(seed);
        let pulse = |bits: i16, from: i16| (usize::from((bits & 7) as u8) * 5 + from as usize, bits >> 3 & 1);
        let last = ((more >> 4 & 15) >> 1) * 5 + (more >> 4 & 1) + 3;
        let pulses =
            [pulse(bits >> 8, 0), pulse(bits >> 12, 1), pulse(more, 2), (last as usize, more >> 8 & 1)];
        let pulses = pulses.map(|(at, sign)| (at, if sign == 0 { -1.0 } else { 1.0 }));
        let pitch = f32::from(random(seed) & 0x1fff) / 16_384.0;
        let mut gaussian = [0.0; SUBFRAME];
        for value in &mut gaussian {
            let sum: i32 = (0..12).map(|_| i32::from(random(seed))).sum();
            *value = (sum >> 7) as f32;
        }
        let wanted = level * level * SUBFRAME as f32;
        let scale = 0.5 * (wanted / energy(&gaussian).max(1.0)).sqrt();
        gaussian.iter_mut().for_each(|value| *value *= scale);
        let adaptive = self.adaptive(subframe, delay);
        let mut sum: [f32; SUBFRAME] = std::array::from_fn(|at| gaussian[at] + pitch * adaptive[at]);
        let inner = |of: &[f32; SUBFRAME]| pulses.iter().map(|(at, sign)| of[*at] * sign).sum::<f32>();
        // 4 g^2 + 2 inner g + (energy - wanted) = 0, where the four pulses are apart.
        let mut product = inner(&sum);
        let mut root = product * product + 4.0 * (wanted - energy(&sum));
        if root < 0.0 {
            sum = gaussian;
            product = inner(&sum);
            root = product * product + 4.0 * 0.75 * wanted;
        }
        let roots = [(root.sqrt() - product) / 4.0, (-root.sqrt() - product) / 4.0];
        let gain = if roots[1].abs() < roots[0].abs() { roots[1] } else { roots[0] };
        for (at, sign) in pulses {
            sum[at] += sign * gain.clamp(-5_000.0, 5_000.0);
        }
        self.sharpness = SHARP[0];
        let _ = self.finish(subframe, [0.0, 1.0], &[0.0; SUBFRAME], &sum);
        self.sharpness = SHARP[0];
        self.gains = [0.0; 2];
        self.current(subframe)
    }

    /// Moves both subframes into the past.
    pub(super) fn advance(&mut self) {
        self.line.copy_within(2 * SUBFRAME.., 0);
        for value in &mut self.line[..PAST] {
            *value = faded(*value);
        }
    }

    fn current(&self, subframe: usize) -> &[f32; SUBFRAME] {
        part(&self.line, PAST + subframe * SUBFRAME)
    }

    /// What was a delay ago, interpolated (equation 78). Eight at a time: the nearest that the filter touches
    /// is ten back.
    fn adaptive(&mut self, subframe: usize, delay: Delay) -> [f32; SUBFRAME] {
        let from = PAST + subframe * SUBFRAME;
        // Thirds count backwards: -1 is a third after the sample, 1 is two thirds after the one before.
        let (taps, base) = match delay.third {
            0 => (&TAPS[0], from - delay.whole),
            ..0 => (&TAPS[1], from - delay.whole),
            _ => (&TAPS[2], from - delay.whole - 1),
        };
        for block in (0..SUBFRAME).step_by(8) {
            let (past, now) = self.line.split_at_mut(from + block);
            let window = part::<27>(past, base + block - 9);
            let mut sum = [0.0_f32; 8];
            for (tap, weight) in taps.iter().enumerate() {
                add(&mut sum, *weight, part(window, tap));
            }
            now[..8].copy_from_slice(&sum);
        }
        *self.current(subframe)
    }

    /// Four pulses (table 7), repeated by the delay where that is short (equation 48).
    fn fixed(&self, delay: usize, pulses: usize, signs: usize) -> [f32; SUBFRAME] {
        let mut out = [0.0; SUBFRAME];
        let places = [
            (pulses & 7) * 5,
            (pulses >> 3 & 7) * 5 + 1,
            (pulses >> 6 & 7) * 5 + 2,
            (pulses >> 10 & 7) * 5 + 3 + (pulses >> 9 & 1),
        ];
        for (index, place) in places.into_iter().enumerate() {
            out[place] += if signs >> index & 1 == 1 { 1.0 } else { -1.0 };
        }
        for at in delay..SUBFRAME {
            out[at] += self.sharpness * out[at - delay];
        }
        out
    }

    /// The gain of the fixed codebook as those before let expect it (section 3.9.1).
    fn predicted(&self, fixed: &[f32; SUBFRAME]) -> f32 {
        let expected: f32 = self.energies.iter().zip(WEIGHTS).map(|(energy, weight)| energy * weight).sum();
        let mean = energy(fixed) / SUBFRAME as f32;
        // exp(x ln 10 / 20) is a gain of x dB.
        ((expected + MEAN) * (std::f32::consts::LN_10 / 20.0)).exp() / mean.sqrt()
    }

    fn finish(
        &mut self,
        subframe: usize,
        [pitch, gain]: [f32; 2],
        adaptive: &[f32; SUBFRAME],
        fixed: &[f32; SUBFRAME],
    ) -> &[f32; SUBFRAME] {
        let from = PAST + subframe * SUBFRAME;
        for ((out, adaptive), fixed) in self.line[from..].iter_mut().zip(adaptive).zip(fixed) {
            // 16 bits in the Recommendation: so hostile gains above one end somewhere.
            *out = (pitch * adaptive + gain * fixed).clamp(-32_768.0, 32_767.0);
        }
        self.sharpness = pitch.clamp(SHARP[0], SHARP[1]);
        self.gains = [pitch, gain];
        self.current(subframe)
    }
}

fn energy(values: &[f32; SUBFRAME]) -> f32 {
    values.iter().map(|value| value * value).sum()
}

/// The generator of sections 4.4.4 and B.4.4.
fn random(seed: &mut i16) -> i16 {
    *seed = seed.wrapping_mul(31_821).wrapping_add(13_849);
    *seed
}

/// The longest delay, and what the interpolation reaches beyond it.
pub(super) const LONGEST: usize = 143;
const SHORTEST: usize = 20;
const PAST: usize = LONGEST + 11;
/// Bounds of the sharpening.
const SHARP: [f32; 2] = [0.2, 0.794_5];
/// In dB: the quietest correction, and what energies are counted from.
const QUIETEST: f32 = -14.0;
const MEAN: f32 = 30.0;
const WEIGHTS: [f32; 4] = [0.68, 0.58, 0.34, 0.19];

/// For no third, one and two: the weights of 20 samples from nine before to ten after.
const TAPS: [[f32; 20]; 3] = [taps(0), taps(1), taps(2)];

const fn taps(third: usize) -> [f32; 20] {
    let mut out = [0.0; 20];
    let mut at = 0;
    while at < 10 {
        out[9 - at] = INTERPOLATION[third + 3 * at] as f32 / 32_768.0;
        out[10 + at] = INTERPOLATION[3 - third + 3 * at] as f32 / 32_768.0;
        at += 1;
    }
    out
}

//! G.722 (ITU-T G.722, 09/2012) at 64 kbit/s: two sub-bands of ADPCM, 16000 samples a second out of 8000
//! bytes.
//!
//! Names of blocks (in capitals) and variables are those of clause 6 of the Recommendation.

use super::decoder::{FrameDecoder, clip};

/// A decoder of mode 1: six bits of each byte for the lower band, two for the higher.
#[derive(Clone, Debug)]
pub(crate) struct G722 {
    low: Band,
    high: Band,
    /// Sums and differences of the bands that the receive QMF still needs, the newest last.
    history: [i32; 24],
}

/// The adaptive predictor and quantiser of one sub-band.
#[derive(Clone, Debug, Default)]
struct Band {
    /// Predicted signal.
    s: i32,
    sz: i32,
    /// Coefficients of the two poles and the six zeros.
    a: [i32; 2],
    b: [i32; 6],
    /// Quantised differences, reconstructed signals and partial signals of the samples before.
    dlt: [i32; 6],
    rlt: [i32; 2],
    plt: [i32; 2],
    /// Scale factor, logarithmic and linear.
    nb: i32,
    det: i32,
}

impl G722 {
    pub(crate) fn new() -> Self {
        Self {
            low: Band { det: 32, ..Band::default() },
            high: Band { det: 8, ..Band::default() },
            history: [0; 24],
        }
    }

    fn lower(&mut self, ilr: usize) -> i32 {
        let band = &mut self.low;
        let reconstructed = (band.s + ((band.det * QM6[ilr]) >> 15)).clamp(-16_384, 16_383);
        let truncated = ilr >> 2;
        let difference = (band.det * QM4[truncated]) >> 15;
        band.nb = (((band.nb * 127) >> 7) + WL[RL42[truncated]]).clamp(0, 18_432);
        band.det = scale(band.nb, 8);
        band.adapt(difference);
        reconstructed
    }

    fn higher(&mut self, ihr: usize) -> i32 {
        let band = &mut self.high;
        let difference = (band.det * QM2[ihr]) >> 15;
        let reconstructed = (band.s + difference).clamp(-16_384, 16_383);
        band.nb = (((band.nb * 127) >> 7) + WH[RH2[ihr]]).clamp(0, 22_528);
        band.det = scale(band.nb, 10);
        band.adapt(difference);
        reconstructed
    }

    /// The receive quadrature mirror filter: one sample of each band into two at twice the rate (ACCUMC,
    /// ACCUMD).
    fn join(&mut self, low: i32, high: i32) -> [i16; 2] {
        self.history.copy_within(2.., 0);
        self.history[22] = low + high;
        self.history[23] = low - high;
        let (mut first, mut second) = (0, 0);
        for (pair, tap) in self.history.chunks_exact(2).zip(0..) {
            second += pair[0] * QMF[tap];
            first += pair[1] * QMF[11 - tap];
        }
        [clip(first >> 11), clip(second >> 11)]
    }
}

impl FrameDecoder for G722 {
    fn decode(&mut self, payload: &[u8], out: &mut Vec<i16>) {
        for byte in payload {
            let low = self.lower(usize::from(byte & 0x3f));
            let high = self.higher(usize::from(byte >> 6));
            out.extend(self.join(low, high));
        }
    }
}

/// SCALEL, SCALEH.
fn scale(nb: i32, exponent: i32) -> i32 {
    let mantissa = ILB[(nb >> 6 & 31) as usize];
    match exponent - (nb >> 11) {
        right @ 0.. => (mantissa >> right) << 2,
        left => (mantissa << -left) << 2,
    }
}

/// A saturated 16-bit value.
fn limit(value: i32) -> i32 {
    value.clamp(-32_768, 32_767)
}

impl Band {
    /// From the quantised difference: the coefficients and the prediction for the next sample (block 4).
    fn adapt(&mut self, difference: i32) {
        let reconstructed = limit(self.s + difference);
        let partial = limit(self.sz + difference);
        self.poles(partial);
        self.zeros(difference);
        self.dlt.copy_within(..5, 1);
        self.dlt[0] = difference;
        self.rlt = [reconstructed, self.rlt[0]];
        self.plt = [partial, self.plt[0]];
        // FILTEP, FILTEZ, PREDIC.
        let product = |coefficient: &i32, value: &i32| (coefficient * limit(value + value)) >> 15;
        let pole = limit(self.a.iter().zip(&self.rlt).map(|(a, r)| product(a, r)).sum());
        self.sz = limit(self.b.iter().zip(&self.dlt).map(|(b, d)| product(b, d)).sum());
        self.s = limit(pole + self.sz);
    }

    /// UPPOL2, UPPOL1.
    fn poles(&mut self, partial: i32) {
        let same = |value: i32| (partial < 0) == (value < 0);
        let four = limit(self.a[0] * 4);
        let toward = if same(self.plt[0]) { limit(-four) } else { four };
        let second =
            (toward >> 7) + if same(self.plt[1]) { 128 } else { -128 } + ((self.a[1] * 32_512) >> 15);
        let second = second.clamp(-12_288, 12_288);
        let first = limit(((self.a[0] * 32_640) >> 15) + if same(self.plt[0]) { 192 } else { -192 });
        let bound = limit(15_360 - second);
        self.a = [first.clamp(-bound, bound), second];
    }

    /// UPZERO.
    fn zeros(&mut self, difference: i32) {
        let step = if difference == 0 { 0 } else { 128 };
        for (b, before) in self.b.iter_mut().zip(&self.dlt) {
            let signed = if (difference < 0) == (*before < 0) { step } else { -step };
            *b = limit(((*b * 32_640) >> 15) + signed);
        }
    }
}

/// Table 17: output levels of the six-bit, four-bit and two-bit inverse quantisers.
const QM6: [i32; 64] = [
    -136, -136, -136, -136, -24_808, -21_904, -19_008, -16_704, -14_984, -13_512, -12_280, -11_192, -10_232,
    -9_360, -8_576, -7_856, -7_192, -6_576, -6_000, -5_456, -4_944, -4_464, -4_008, -3_576, -3_168, -2_776,
    -2_400, -2_032, -1_688, -1_360, -1_040, -728, 24_808, 21_904, 19_008, 16_704, 14_984, 13_512, 12_280,
    11_192, 10_232, 9_360, 8_576, 7_856, 7_192, 6_576, 6_000, 5_456, 4_944, 4_464, 4_008, 3_576, 3_168,
    2_776, 2_400, 2_032, 1_688, 1_360, 1_040, 728, 432, 136, -432, -136,
];
const QM4: [i32; 16] = [
    0, -20_456, -12_896, -8_968, -6_288, -4_240, -2_584, -1_200, 20_456, 12_896, 8_968, 6_288, 4_240, 2_584,
    1_200, 0,
];
const QM2: [i32; 4] = [-7_408, -1_616, 7_408, 1_616];
/// Multipliers of the logarithmic scale factors, and which one a code selects.
const WL: [i32; 8] = [-60, -30, 58, 172, 334, 538, 1_198, 3_042];
const RL42: [usize; 16] = [0, 7, 6, 5, 4, 3, 2, 1, 7, 6, 5, 4, 3, 2, 1, 0];
const WH: [i32; 3] = [0, -214, 798];
const RH2: [usize; 4] = [2, 1, 2, 1];
/// Antilogarithms, 32 to an octave.
const ILB: [i32; 32] = [
    2_048, 2_093, 2_139, 2_186, 2_233, 2_282, 2_332, 2_383, 2_435, 2_489, 2_543, 2_599, 2_656, 2_714, 2_774,
    2_834, 2_896, 2_960, 3_025, 3_091, 3_158, 3_228, 3_298, 3_371, 3_444, 3_520, 3_597, 3_676, 3_756, 3_838,
    3_922, 4_008,
];
/// Table 11: every second coefficient of the filter, which is symmetric.
const QMF: [i32; 12] = [3, -11, 12, 32, -210, 951, 3_876, -805, 362, -156, 53, -11];

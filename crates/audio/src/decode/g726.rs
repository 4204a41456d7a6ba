//! G.726 (ITU-T G.726, 12/1990): ADPCM of 16, 24, 32 and 40 kbit/s, and both ways to pack it.
//!
//! Names of blocks (in capitals) and signals are those of clause 4 of the Recommendation. The decoder gives
//! the linear signal SR; the conversion to G.711 and its synchronous adjustment are not done, since linear
//! sound is what is wanted.

use super::decoder::{FrameDecoder, clip};

/// Which end of a byte the first code is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Packing {
    /// The least significant bits first (RFC 3551 section 4.5.4).
    Rfc3551,
    /// The most significant bits first (ITU-T I.366.2 annex E; the names beginning with AAL2 in RFC 3551).
    Aal2,
}

/// A decoder for codes of 2 to 5 bits.
#[derive(Clone, Debug)]
pub(crate) struct G726 {
    bits: u32,
    packing: Packing,
    levels: &'static [Level],
    /// Locked and unlocked scale factors.
    yl: i32,
    yu: i32,
    /// Short and long averages of F(I), and the speed control made of them.
    dms: i32,
    dml: i32,
    ap: i32,
    /// Coefficients of the predictor: two poles, six zeros.
    a: [i32; 2],
    b: [i32; 6],
    /// Signs of DQSEZ before.
    pk: [bool; 2],
    /// Differences and reconstructed signals before.
    dq: [Float; 6],
    sr: [Float; 2],
    /// Tone detected.
    td: bool,
}

/// What a magnitude of a code stands for: the normalised logarithm of the difference, W(I) and F(I).
#[derive(Clone, Copy, Debug)]
struct Level {
    dqln: i32,
    w: i32,
    f: i32,
}

/// A sign, an exponent and a mantissa of six bits (FLOATA, FLOATB).
#[derive(Clone, Copy, Debug)]
struct Float {
    negative: bool,
    exponent: i32,
    mantissa: i32,
}

impl Float {
    const ZERO: Self = Self { negative: false, exponent: 0, mantissa: 32 };

    fn new(negative: bool, magnitude: i32) -> Self {
        let exponent = bits(magnitude);
        let mantissa = if magnitude == 0 { 32 } else { (magnitude << 6) >> exponent };
        Self { negative, exponent, mantissa }
    }
}

/// The number of bits that a magnitude takes.
fn bits(magnitude: i32) -> i32 {
    32 - magnitude.leading_zeros() as i32
}

impl G726 {
    /// For codes of `bits` bits, 2 to 5; others are taken for the nearest of these.
    pub(crate) fn new(bits: u8, packing: Packing) -> Self {
        let bits = u32::from(bits.clamp(2, 5));
        let levels = match bits {
            2 => &LEVELS_16[..],
            3 => &LEVELS_24,
            4 => &LEVELS_32,
            _ => &LEVELS_40,
        };
        Self {
            bits,
            packing,
            levels,
            yl: 34_816,
            yu: 544,
            dms: 0,
            dml: 0,
            ap: 0,
            a: [0; 2],
            b: [0; 6],
            pk: [false; 2],
            dq: [Float::ZERO; 6],
            sr: [Float::ZERO; 2],
            td: false,
        }
    }

    fn sample(&mut self, code: u32) -> i16 {
        // The top bit is the sign, by which the rest is inverted.
        let half = 1 << (self.bits - 1);
        let negative = code & half != 0;
        let index = if negative { !code & (half - 1) } else { code & (half - 1) };
        let level = self.levels[index as usize];

        let zeros: i32 = self.b.iter().zip(&self.dq).map(|(b, dq)| product(*b, *dq)).sum();
        let poles: i32 = self.a.iter().zip(&self.sr).map(|(a, sr)| product(*a, *sr)).sum();
        let (sez, se) = (wrap(zeros) >> 1, wrap(zeros + poles) >> 1);
        let y = self.scale();
        let magnitude = antilog(level.dqln + (y >> 2));
        let dq = if negative { -magnitude } else { magnitude };
        let sr = wrap(se + dq);
        self.update(y, level, negative, magnitude, sr, dq + sez);
        clip(sr * 4)
    }

    /// LIMA, MIX.
    fn scale(&self) -> i32 {
        let al = (self.ap >> 2).min(64);
        let (locked, difference) = (self.yl >> 6, self.yu - (self.yl >> 6));
        locked + if difference >= 0 { (difference * al) >> 6 } else { -((-difference * al) >> 6) }
    }

    fn update(&mut self, y: i32, level: Level, negative: bool, magnitude: i32, sr: i32, dqsez: i32) {
        let transition = self.td && magnitude > self.threshold();
        // FUNCTW, FILTD, LIMB, FILTE.
        self.yu = (y + ((level.w - y) >> 5)).clamp(544, 5_120);
        self.yl += self.yu + (-self.yl >> 6);

        let pk = dqsez < 0;
        if transition {
            (self.a, self.b, self.td) = ([0; 2], [0; 6], false);
        } else {
            self.poles(pk, dqsez == 0);
            self.zeros(negative, magnitude);
            self.td = self.a[1] < -11_776;
        }
        // FILTA, FILTB, SUBTC, FILTC, TRIGA.
        self.dms += (level.f - self.dms) >> 5;
        self.dml += ((level.f << 2) - self.dml) >> 7;
        let changing = y < 1_536 || self.td || ((self.dms << 2) - self.dml).abs() >= self.dml >> 3;
        self.ap = match (transition, changing) {
            (true, _) => 256,
            (false, true) => self.ap + ((512 - self.ap) >> 4),
            (false, false) => self.ap + (-self.ap >> 4),
        };
        self.pk = [pk, self.pk[0]];
        self.dq.copy_within(..5, 1);
        self.dq[0] = Float::new(negative, magnitude);
        // 16 bits in the Recommendation, whose most negative value has no magnitude.
        let magnitude = if sr <= -32_768 { 0 } else { sr.abs().min(32_767) };
        self.sr = [Float::new(sr < 0, magnitude), self.sr[0]];
    }

    /// TRANS: a difference that a tone does not explain.
    fn threshold(&self) -> i32 {
        let (integer, fraction) = (self.yl >> 15, self.yl >> 10 & 31);
        let threshold = if integer > 9 { 31 << 10 } else { (32 + fraction) << integer };
        (threshold + (threshold >> 1)) >> 1
    }

    /// UPA2, LIMC, UPA1, LIMD.
    fn poles(&mut self, pk: bool, still: bool) {
        let [mut first, mut second] = self.a;
        let changed = pk != self.pk[0];
        second -= second >> 7;
        if !still {
            let f = if changed { first } else { -first };
            second += f.clamp(-8_191, 8_191) >> 5;
            second += if pk != self.pk[1] { -128 } else { 128 };
        }
        second = second.clamp(-12_288, 12_288);
        first -= first >> 8;
        if !still {
            first += if changed { -192 } else { 192 };
        }
        let bound = 15_360 - second;
        self.a = [first.clamp(-bound, bound), second];
    }

    /// UPB.
    fn zeros(&mut self, negative: bool, magnitude: i32) {
        let leak = if self.bits == 5 { 9 } else { 8 };
        for (b, before) in self.b.iter_mut().zip(&self.dq) {
            *b -= *b >> leak;
            if magnitude != 0 {
                *b += if negative == before.negative { 128 } else { -128 };
            }
        }
    }
}

impl FrameDecoder for G726 {
    fn decode(&mut self, payload: &[u8], out: &mut Vec<i16>) {
        let mask = (1 << self.bits) - 1;
        let (mut held, mut count) = (0_u32, 0);
        for byte in payload {
            match self.packing {
                Packing::Rfc3551 => held |= u32::from(*byte) << count,
                Packing::Aal2 => held = held << 8 | u32::from(*byte),
            }
            count += 8;
            while count >= self.bits {
                count -= self.bits;
                let code = match self.packing {
                    Packing::Rfc3551 => {
                        let code = held & mask;
                        held >>= self.bits;
                        code
                    }
                    Packing::Aal2 => held >> count & mask,
                };
                out.push(self.sample(code));
            }
        }
    }
}

/// Sums have 16 bits in the Recommendation.
fn wrap(sum: i32) -> i32 {
    i32::from(sum as i16)
}

/// FMULT: a coefficient times a floating signal.
fn product(coefficient: i32, signal: Float) -> i32 {
    let coefficient = coefficient >> 2;
    let magnitude = if coefficient < 0 { -coefficient & 0x1fff } else { coefficient };
    let exponent = bits(magnitude);
    let mantissa = if magnitude == 0 { 32 } else { (magnitude << 6) >> exponent };
    let product = (mantissa * signal.mantissa + 48) >> 4;
    let product = match exponent + signal.exponent {
        sum @ 0..=26 => (product << 7) >> (26 - sum),
        sum => ((product << 7) << (sum - 26)) & 0x7fff,
    };
    if (coefficient < 0) != signal.negative { -product } else { product }
}

/// ANTILOG: the magnitude of the difference.
fn antilog(dql: i32) -> i32 {
    match dql {
        ..0 => 0,
        dql => ((128 + (dql & 127)) << 7) >> (14 - (dql >> 7 & 15)),
    }
}

const fn level(dqln: i32, w: i32, f: i32) -> Level {
    // W(I) in units of 1/16 of that of the table, F(I) in 1/512.
    Level { dqln, w: w * 32, f: f * 512 }
}

/// Tables 7 to 10 (inverse quantisers), W(I) and F(I) of clauses 4.2.5 and 4.2.6. The logarithm "minus
/// infinity" is -2048.
const LEVELS_16: [Level; 2] = [level(116, -22, 0), level(365, 439, 7)];
const LEVELS_24: [Level; 4] =
    [level(-2048, -4, 0), level(135, 30, 1), level(273, 137, 2), level(373, 582, 7)];
const LEVELS_32: [Level; 8] = [
    level(-2048, -12, 0),
    level(4, 18, 0),
    level(135, 41, 0),
    level(213, 64, 1),
    level(273, 112, 1),
    level(323, 198, 1),
    level(373, 355, 3),
    level(425, 1_122, 7),
];
const LEVELS_40: [Level; 16] = [
    level(-2048, 14, 0),
    level(-66, 14, 0),
    level(28, 24, 0),
    level(104, 39, 0),
    level(169, 40, 0),
    level(224, 41, 1),
    level(274, 58, 1),
    level(318, 100, 1),
    level(358, 141, 1),
    level(395, 179, 1),
    level(429, 219, 2),
    level(459, 280, 3),
    level(488, 358, 4),
    level(514, 440, 5),
    level(539, 529, 6),
    level(566, 696, 6),
];

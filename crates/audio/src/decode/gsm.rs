//! GSM full rate (ETSI EN 300 961, GSM 06.10): 33 bytes into 160 samples, in the exact arithmetic of the
//! standard.
//!
//! Names in capitals and of variables are those of clause 5.3 of the standard.

use super::decoder::{FrameDecoder, clip};

/// Bytes of a frame (RFC 3551 section 4.5.8.1).
pub(crate) const FRAME: usize = 33;

/// A decoder.
#[derive(Clone, Debug)]
pub(crate) struct Gsm {
    /// Reconstructed long-term residual: 120 samples before, 40 of the sub-frame.
    drp: [i16; 160],
    nrp: usize,
    /// Log-area ratios of the frame before.
    larpp: [i16; 8],
    /// Memory of the synthesis filter.
    v: [i16; 9],
    /// Memory of the de-emphasis.
    msr: i16,
}

/// Reads bits of a frame, the most significant bits first.
struct BitReader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl BitReader<'_> {
    fn read(&mut self, width: usize) -> i16 {
        let mut value = 0;
        for bit in self.at..self.at + width {
            let byte = self.bytes.get(bit / 8).copied().unwrap_or_default();
            value = value << 1 | i16::from(byte >> (7 - bit % 8) & 1);
        }
        self.at += width;
        value
    }
}

impl Gsm {
    pub(crate) fn new() -> Self {
        Self { drp: [0; 160], nrp: 40, larpp: [0; 8], v: [0; 9], msr: 0 }
    }

    fn frame(&mut self, frame: &[u8], out: &mut Vec<i16>) {
        // The first four bits are a signature.
        let mut bits = BitReader { bytes: frame, at: 4 };
        let larc: [i16; 8] = LAR_BITS.map(|width| bits.read(width));
        let mut wt = [0; 160];
        for sub in wt.chunks_exact_mut(40) {
            sub.copy_from_slice(&self.residual(&mut bits));
        }
        let larpp = std::array::from_fn(|i| ratio(i, larc[i]));
        let ranges = [(0..13, 0), (13..27, 1), (27..40, 2), (40..160, 3)];
        for (range, part) in ranges {
            let rp = std::array::from_fn(|i| reflection(interpolated(self.larpp[i], larpp[i], part)));
            for sample in &wt[range] {
                let sr = self.synthesis(&rp, *sample);
                // De-emphasis, upscaling, truncation to 13 bits (clause 5.3.6).
                self.msr = add(sr, mult_r(self.msr, 28_180));
                out.push(add(self.msr, self.msr) & !7);
            }
        }
        self.larpp = larpp;
    }

    /// One sub-frame: the long-term prediction plus the decoded pulses (clauses 5.3.1 and 5.3.2).
    fn residual(&mut self, bits: &mut BitReader<'_>) -> [i16; 40] {
        let [lag, gain, grid, xmaxc] = [7, 2, 2, 6].map(|width| bits.read(width));
        let mut erp = [0; 40];
        let (factor, shift) = step(xmaxc);
        for pulse in 0..13 {
            let level = mult_r(factor, ((bits.read(3) << 1) - 7) << 12);
            let rounding = if shift == 0 { 0 } else { 1 << (shift - 1) };
            erp[grid as usize + 3 * pulse] = add(level, rounding) >> shift;
        }
        if (40..=120).contains(&lag) {
            self.nrp = lag as usize;
        }
        for (k, erp) in erp.iter().enumerate() {
            let predicted = mult_r(QLB[gain as usize], self.drp[120 + k - self.nrp]);
            self.drp[120 + k] = add(*erp, predicted);
        }
        let mut residual = [0; 40];
        residual.copy_from_slice(&self.drp[120..]);
        self.drp.copy_within(40.., 0);
        residual
    }

    /// The lattice filter (clause 5.3.4).
    fn synthesis(&mut self, rp: &[i16; 8], sample: i16) -> i16 {
        let mut sri = sample;
        for i in (0..8).rev() {
            sri = sub(sri, mult_r(rp[i], self.v[i]));
            self.v[i + 1] = add(self.v[i], mult_r(rp[i], sri));
        }
        self.v[0] = sri;
        sri
    }
}

impl FrameDecoder for Gsm {
    fn decode(&mut self, payload: &[u8], out: &mut Vec<i16>) {
        payload.chunks_exact(FRAME).for_each(|frame| self.frame(frame, out));
    }
}

/// Mantissa factor and shift of the block maximum (clause 4.2.15).
fn step(xmaxc: i16) -> (i16, i16) {
    let mut exponent = if xmaxc > 15 { (xmaxc >> 3) - 1 } else { 0 };
    let mut mantissa = xmaxc - (exponent << 3);
    if mantissa == 0 {
        (exponent, mantissa) = (-4, 7);
    } else {
        while mantissa <= 7 {
            mantissa = mantissa << 1 | 1;
            exponent -= 1;
        }
        mantissa -= 8;
    }
    (FAC[mantissa as usize], 6 - exponent)
}

/// A decoded log-area ratio (clause 5.3.3, table 4.1).
fn ratio(i: usize, coded: i16) -> i16 {
    let centred = sub((coded + MIC[i]) << 10, B[i] << 1);
    let scaled = mult_r(INVA[i], centred);
    add(scaled, scaled)
}

/// Interpolation with the frame before (table 3.2).
fn interpolated(old: i16, new: i16, part: u8) -> i16 {
    match part {
        0 => add(add(old >> 2, new >> 2), old >> 1),
        1 => add(old >> 1, new >> 1),
        2 => add(add(old >> 2, new >> 2), new >> 1),
        _ => new,
    }
}

/// A log-area ratio as a reflection coefficient (equation 3.5).
fn reflection(lar: i16) -> i16 {
    let magnitude = lar.saturating_abs();
    let coefficient = match magnitude {
        ..11_059 => magnitude << 1,
        11_059..20_070 => magnitude + 11_059,
        _ => add(magnitude >> 2, 26_112),
    };
    if lar < 0 { -coefficient } else { coefficient }
}

fn add(a: i16, b: i16) -> i16 {
    a.saturating_add(b)
}

fn sub(a: i16, b: i16) -> i16 {
    a.saturating_sub(b)
}

/// A product of fractions, rounded.
fn mult_r(a: i16, b: i16) -> i16 {
    clip((i32::from(a) * i32::from(b) + 16_384) >> 15)
}

const LAR_BITS: [usize; 8] = [6, 6, 5, 5, 4, 4, 3, 3];
/// Table 4.1.
const B: [i16; 8] = [0, 0, 2_048, -2_560, 94, -1_792, -341, -1_144];
const MIC: [i16; 8] = [-32, -32, -16, -16, -8, -8, -4, -4];
const INVA: [i16; 8] = [13_107, 13_107, 13_107, 13_107, 19_223, 17_476, 31_454, 29_708];
/// Table 4.3b: gains of the long-term predictor.
const QLB: [i16; 4] = [3_277, 11_469, 21_299, 32_767];
/// Table 4.6: normalised direct mantissas.
const FAC: [i16; 8] = [18_431, 20_479, 22_527, 24_575, 26_623, 28_671, 30_719, 32_767];

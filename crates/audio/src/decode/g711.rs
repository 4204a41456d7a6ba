//! G.711 (ITU-T G.711, 11/1988): mu-law and A-law, eight bits a sample.

use super::decoder::FrameDecoder;

/// A table of 256 values: there is no state.
#[derive(Clone, Copy, Debug)]
pub(crate) struct G711(&'static [i16; 256]);

impl G711 {
    pub(crate) fn new(is_mu_law: bool) -> Self {
        Self(table(is_mu_law))
    }
}

impl FrameDecoder for G711 {
    fn decode(&mut self, payload: &[u8], out: &mut Vec<i16>) {
        let Self(table) = self;
        out.extend(payload.iter().map(|byte| table[usize::from(*byte)]));
    }
}

/// The values of all bytes as linear 16-bit PCM: the 14 (mu-law) or 13 (A-law) bits of the standard, shifted
/// up to full scale.
pub(crate) fn table(is_mu_law: bool) -> &'static [i16; 256] {
    if is_mu_law { &MU_LAW } else { &A_LAW }
}

/// Table 2a of G.711. All bits are inverted on the wire; sign, three bits of segment, four of mantissa; a
/// bias of 33 (132 at 16 bits) makes every segment twice as long as the one before it.
const fn mu_law(byte: u8) -> i16 {
    let bits = !byte;
    let mantissa = (bits & 0x0f) as i16;
    let segment = (bits >> 4) & 0x07;
    let magnitude = (((mantissa << 3) + BIAS) << segment) - BIAS;
    if bits & 0x80 != 0 { -magnitude } else { magnitude }
}

/// Table 1a of G.711. Every second bit is inverted on the wire; the first two segments have the same step,
/// values lie in the middle of it.
const fn a_law(byte: u8) -> i16 {
    let bits = byte ^ 0x55;
    let mantissa = (bits & 0x0f) as i16;
    let segment = (bits >> 4) & 0x07;
    let magnitude = match segment {
        0 => (mantissa << 4) + 8,
        _ => ((mantissa << 4) + 0x108) << (segment - 1),
    };
    if bits & 0x80 != 0 { magnitude } else { -magnitude }
}

const fn values(decode_mu_law: bool) -> [i16; 256] {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = if decode_mu_law { mu_law(byte as u8) } else { a_law(byte as u8) };
        byte += 1;
    }
    table
}

const BIAS: i16 = 132;

static MU_LAW: [i16; 256] = values(true);
static A_LAW: [i16; 256] = values(false);

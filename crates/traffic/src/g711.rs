//! G.711: 16-bit linear sound to mu-law and A-law.

/// Mu-law (ITU-T G.711 table 2): a sign, an exponent and four bits of mantissa, all inverted.
pub(crate) fn mu_law(sample: i16) -> u8 {
    // 14 significant bits with the bias of 33 that makes every segment begin at a power of two, clipped.
    let magnitude = (sample.unsigned_abs() >> 2).min(8158) + 33;
    let sign = if sample < 0 { 0x80 } else { 0 };
    // INVARIANT: 33 <= magnitude <= 8191, so the highest bit is one of 5 to 12.
    let exponent = magnitude.ilog2() - 5;
    let mantissa = (magnitude >> (exponent + 1)) as u8 & 0x0f;
    !(sign | (exponent as u8) << 4 | mantissa)
}

/// A-law (ITU-T G.711 table 1): 13 bits, no bias but a first segment without a leading one, every second bit
/// inverted.
pub(crate) fn a_law(sample: i16) -> u8 {
    // A negative value is coded by its ones' complement: -1 is the smallest negative step.
    let sign = if sample < 0 { 0 } else { 0x80 };
    let linear = if sample < 0 { !sample } else { sample };
    let magnitude = (linear as u16) >> 3;
    let code = match magnitude {
        0..32 => magnitude as u8 >> 1,
        _ => {
            let exponent = magnitude.ilog2() - 4;
            (exponent as u8) << 4 | (magnitude >> exponent) as u8 & 0x0f
        }
    };
    (sign | code) ^ 0x55
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The decoders, from the tables of the Recommendation.
    fn from_mu_law(octet: u8) -> i32 {
        let octet = !octet;
        let (exponent, mantissa) = (i32::from(octet >> 4 & 7), i32::from(octet & 15));
        let magnitude = (((2 * mantissa + 33) << exponent) - 33) * 4;
        if octet & 0x80 != 0 { -magnitude } else { magnitude }
    }

    fn from_a_law(octet: u8) -> i32 {
        let octet = octet ^ 0x55;
        let (exponent, mantissa) = (i32::from(octet >> 4 & 7), i32::from(octet & 15));
        let magnitude = match exponent {
            0 => 2 * mantissa + 1,
            _ => (2 * mantissa + 33) << (exponent - 1),
        } * 8;
        if octet & 0x80 == 0 { -magnitude } else { magnitude }
    }

    #[test]
    fn known_codes() {
        let cases: [(i16, u8, u8); 6] = [
            (0, 0xff, 0xd5),
            (-1, 0x7f, 0x55),
            (i16::MAX, 0x80, 0xaa),
            (i16::MIN, 0x00, 0x2a),
            // Where the second segment begins.
            (31 * 4, 0xef, 0xd2),
            (1000, 0xce, 0xfa),
        ];
        for (sample, mu, a) in cases {
            assert_eq!((mu_law(sample), a_law(sample)), (mu, a), "{sample}");
        }
    }

    #[test]
    fn every_code_comes_back() {
        for octet in 0..=255_u8 {
            let sample = from_a_law(octet) as i16;
            assert_eq!(a_law(sample), octet);
            // Negative zero is zero: 0x7f decodes to what 0xff decodes to.
            let sample = from_mu_law(octet) as i16;
            assert_eq!(mu_law(sample), if octet == 0x7f { 0xff } else { octet });
        }
    }

    /// Half a step of the segment is the most that a sample may be off.
    #[test]
    fn no_sample_is_far_off() {
        for sample in i16::MIN..=i16::MAX {
            let (linear, step) = (i32::from(sample), i32::from(sample.unsigned_abs() >> 5).max(8));
            assert!((from_a_law(a_law(sample)) - linear).abs() <= step + 8, "A-law {sample}");
            let clipped = linear.clamp(-32_124, 32_124);
            assert!((from_mu_law(mu_law(sample)) - clipped).abs() <= step + 8, "mu-law {sample}");
        }
    }
}

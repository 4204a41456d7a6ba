//! G.711 (ITU-T G.711, 11/1988): mu-law and A-law, eight bits a sample.

use crate::Error;

/// A codec that can be decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Codec {
    /// mu-law, static payload type 0 (RFC 3551 section 4.5.14).
    Pcmu,
    /// A-law, static payload type 8.
    Pcma,
}

impl Codec {
    /// By its name in SDP, in any case (RFC 4855 section 3); [`Error::Unsupported`] for every other.
    pub fn from_name(name: &str) -> Result<Self, Error> {
        [Self::Pcmu, Self::Pcma]
            .into_iter()
            .find(|codec| name.eq_ignore_ascii_case(codec.name()))
            .ok_or_else(|| Error::Unsupported { codec: name.to_owned() })
    }

    /// By a static payload type (RFC 3551 section 6).
    pub fn from_payload_type(payload_type: u8) -> Option<Self> {
        match payload_type {
            0 => Some(Self::Pcmu),
            8 => Some(Self::Pcma),
            _ => None,
        }
    }

    /// Its name in SDP.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pcmu => "PCMU",
            Self::Pcma => "PCMA",
        }
    }

    /// One sample as linear 16-bit PCM: the 14 (mu-law) or 13 (A-law) bits of the standard, shifted up to full scale.
    #[inline]
    pub fn decode(self, byte: u8) -> i16 {
        let table = match self {
            Self::Pcmu => &MU_LAW,
            Self::Pcma => &A_LAW,
        };
        table[usize::from(byte)]
    }
}

/// Table 2a of G.711. All bits are inverted on the wire; sign, three bits of segment, four of mantissa; a bias of 33 (132 at
/// 16 bits) makes every segment twice as long as the one before it.
const fn mu_law(byte: u8) -> i16 {
    let bits = !byte;
    let mantissa = (bits & 0x0f) as i16;
    let segment = (bits >> 4) & 0x07;
    let magnitude = (((mantissa << 3) + BIAS) << segment) - BIAS;
    if bits & 0x80 != 0 { -magnitude } else { magnitude }
}

/// Table 1a of G.711. Every second bit is inverted on the wire; the first two segments have the same step, values lie in
/// the middle of it.
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

const fn table(decode_mu_law: bool) -> [i16; 256] {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = if decode_mu_law { mu_law(byte as u8) } else { a_law(byte as u8) };
        byte += 1;
    }
    table
}

const BIAS: i16 = 132;

static MU_LAW: [i16; 256] = table(true);
static A_LAW: [i16; 256] = table(false);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decision_values_of_the_standard() {
        // Table 2a: 8031 of 8159 is the largest output, at 14 bits; table 1a: 4032 of 4096, at 13 bits.
        assert_eq!(Codec::Pcmu.decode(0x80), 8031 * 4);
        assert_eq!(Codec::Pcmu.decode(0x00), -8031 * 4);
        assert_eq!((Codec::Pcmu.decode(0xff), Codec::Pcmu.decode(0x7f)), (0, 0));
        assert_eq!(Codec::Pcmu.decode(0xfe), 2 * 4);
        assert_eq!(Codec::Pcmu.decode(0x8f), 4191 * 4);
        assert_eq!(Codec::Pcma.decode(0xaa), 4032 * 8);
        assert_eq!(Codec::Pcma.decode(0x2a), -4032 * 8);
        assert_eq!((Codec::Pcma.decode(0xd5), Codec::Pcma.decode(0x55)), (8, -8));
        assert_eq!(Codec::Pcma.decode(0xb5), 1056 * 8);
    }

    #[test]
    fn values_rise_and_mirror() {
        for codec in [Codec::Pcmu, Codec::Pcma] {
            let mut values: Vec<i16> = (0..=255).map(|byte| codec.decode(byte)).collect();
            for byte in 0..128 {
                assert_eq!(values[byte], -values[byte + 128]);
            }
            values.sort_unstable();
            values.dedup();
            // mu-law has two zeros.
            assert_eq!(values.len(), if codec == Codec::Pcmu { 255 } else { 256 });
        }
    }

    #[test]
    fn names() {
        assert_eq!(Codec::from_name("pcmu").ok(), Some(Codec::Pcmu));
        assert_eq!(Codec::from_name("PCMA").ok(), Codec::from_payload_type(8));
        let message = Codec::from_name("G729").expect_err("no decoder").to_string();
        assert!(message.starts_with("G729 cannot be decoded") && message.contains("only G.711"));
    }
}

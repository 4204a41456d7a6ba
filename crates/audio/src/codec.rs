//! The codecs: names, clocks, rates, and the duration of a payload.

use ringtap_model::Hz;

use crate::Error;
use crate::decode::{self, AmrFrame, Packing, Width};

/// A codec that can be decoded, built in or by a library.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Codec {
    /// G.711 mu-law, static payload type 0 (RFC 3551 section 4.5.14).
    Pcmu,
    /// G.711 A-law, static payload type 8.
    Pcma,
    /// Linear 16-bit (RFC 3551 section 4.5.11); several channels are averaged.
    L16 {
        /// Interleaved in the payload.
        channels: u8,
    },
    /// G.722 at 64 kbit/s, static payload type 9: 16000 samples a second under an RTP clock of 8000.
    G722,
    /// G.726.
    G726 {
        /// Bits per code: 2 to 5, for 16 to 40 kbit/s.
        bits: u8,
        /// Bit order of the codes in a byte.
        packing: Packing,
    },
    /// GSM full rate, static payload type 3.
    Gsm,
    /// iLBC (RFC 3951, RFC 3952), frames of 20 or 30 ms by their length.
    Ilbc,
    /// G.729 with annexes A and B, static payload type 18.
    G729,
    /// AMR (RFC 4867).
    AmrNb,
    /// AMR-WB, which is G.722.2.
    AmrWb,
    /// Opus (RFC 6716, RFC 7587).
    Opus,
}

impl Codec {
    /// By its name in SDP, in any case (RFC 4855 section 3); [`Error::Unsupported`] for every other. L16 is
    /// assumed to have one channel.
    pub fn from_name(name: &str) -> Result<Self, Error> {
        NAMES
            .iter()
            .find(|(known, _)| name.eq_ignore_ascii_case(known))
            .map(|(_, codec)| *codec)
            .ok_or_else(|| Error::unsupported(name))
    }

    /// Whether that is the name of video, text, events or what repairs other streams: no sound, so nothing is
    /// missing where it is not decoded.
    pub fn is_no_sound(name: &str) -> bool {
        NO_SOUND.iter().any(|known| name.eq_ignore_ascii_case(known))
    }

    /// By a static payload type (RFC 3551 section 6; 2 was G.721, which is G726-32, before it was withdrawn).
    pub fn from_payload_type(payload_type: u8) -> Option<Self> {
        match payload_type {
            0 => Some(Self::Pcmu),
            2 => Some(Self::G726 { bits: 4, packing: Packing::Rfc3551 }),
            3 => Some(Self::Gsm),
            8 => Some(Self::Pcma),
            9 => Some(Self::G722),
            10 => Some(Self::L16 { channels: 2 }),
            11 => Some(Self::L16 { channels: 1 }),
            18 => Some(Self::G729),
            _ => None,
        }
    }

    /// Its name in SDP.
    pub fn name(self) -> &'static str {
        NAMES.iter().find(|(_, codec)| *codec == self).map_or("L16", |(name, _)| name)
    }

    /// Its RTP clock, given the announced one: most codecs have a single clock, which some senders announce
    /// wrongly.
    pub fn clock(self, announced: Hz) -> Hz {
        match self {
            Self::Pcmu | Self::Pcma | Self::G726 { .. } | Self::L16 { .. }
                if RATES.contains(&announced.0) =>
            {
                announced
            }
            Self::AmrWb => Hz(16_000),
            Self::Opus => Hz(48_000),
            Self::L16 { .. } => Hz(44_100),
            _ => Hz(8_000),
        }
    }

    /// Its sampling rate at one of its RTP clocks.
    pub fn rate(self, clock: Hz) -> Hz {
        if self == Self::G722 { Hz(16_000) } else { clock }
    }

    /// Number of samples of a payload at [`Codec::rate`]; `None` if it is empty or not a payload of this
    /// codec.
    pub fn samples(self, payload: &[u8]) -> Option<usize> {
        let length = payload.len();
        let samples = match self {
            Self::Pcmu | Self::Pcma => length,
            Self::L16 { channels } => length / 2 / usize::from(channels.max(1)),
            Self::G722 => 2 * length,
            Self::G726 { bits, .. } => length * 8 / usize::from(bits),
            Self::Gsm => frames(length, decode::GSM_FRAME, 160)?,
            Self::Ilbc => frames(length, ILBC_20, 160).or_else(|| frames(length, ILBC_30, 240))?,
            // The last frame may be comfort noise (RFC 3551 section 4.5.6).
            Self::G729 => frames(length - length % 10, 10, 80)? + frames(length % 10, 2, 80)?,
            Self::AmrNb => decode::amr_frames(Width::Narrow, payload)?.len() * 160,
            Self::AmrWb => decode::amr_frames(Width::Wide, payload)?.len() * 320,
            Self::Opus => decode::opus_samples(payload)?,
        };
        (samples > 0).then_some(samples)
    }

    /// Whether the last frame of a payload describes comfort noise in the codec's own format.
    pub(crate) fn announces_noise(self, payload: &[u8]) -> bool {
        let ends = |width: Width| {
            let kinds = decode::amr_frames(width, payload).unwrap_or_default();
            let kind =
                kinds.iter().rev().find(|frame| frame.bytes.len() > 1).map(|frame: &AmrFrame| frame.kind);
            kind == Some(width.noise())
        };
        match self {
            Self::G729 => payload.len() % 10 == 2,
            Self::AmrNb => ends(Width::Narrow),
            Self::AmrWb => ends(Width::Wide),
            _ => false,
        }
    }

    /// One byte of G.711 as linear 16-bit PCM; silence for every other codec.
    #[inline]
    pub fn decode(self, byte: u8) -> i16 {
        match self {
            Self::Pcmu | Self::Pcma => decode::table(self == Self::Pcmu)[usize::from(byte)],
            _ => 0,
        }
    }
}

/// Samples of a whole number of frames.
fn frames(length: usize, frame: usize, samples: usize) -> Option<usize> {
    length.is_multiple_of(frame).then_some(length / frame * samples)
}

/// RFC 3951 section 3: 304 and 400 bits.
const ILBC_20: usize = 38;
const ILBC_30: usize = 50;

/// Plausible sampling rates; any other clock is considered a mistake.
pub(crate) const RATES: std::ops::RangeInclusive<u32> = 1_000..=192_000;

const fn g726(bits: u8, packing: Packing) -> Codec {
    Codec::G726 { bits, packing }
}

/// The first name of a codec is its main one.
const NAMES: [(&str, Codec); 21] = [
    ("PCMU", Codec::Pcmu),
    ("PCMA", Codec::Pcma),
    ("L16", Codec::L16 { channels: 1 }),
    ("G722", Codec::G722),
    ("G726-16", g726(2, Packing::Rfc3551)),
    ("G726-24", g726(3, Packing::Rfc3551)),
    ("G726-32", g726(4, Packing::Rfc3551)),
    ("G726-40", g726(5, Packing::Rfc3551)),
    ("G721", g726(4, Packing::Rfc3551)),
    ("AAL2-G726-16", g726(2, Packing::Aal2)),
    ("AAL2-G726-24", g726(3, Packing::Aal2)),
    ("AAL2-G726-32", g726(4, Packing::Aal2)),
    ("AAL2-G726-40", g726(5, Packing::Aal2)),
    ("GSM", Codec::Gsm),
    ("iLBC", Codec::Ilbc),
    ("G729", Codec::G729),
    ("G729A", Codec::G729),
    ("AMR", Codec::AmrNb),
    ("AMR-WB", Codec::AmrWb),
    ("opus", Codec::Opus),
    ("G729AB", Codec::G729),
];

/// Encoding names of RTP payload that is no sound.
const NO_SOUND: [&str; 29] = [
    "telephone-event",
    "tone",
    "CN",
    "t140",
    "red",
    "rtx",
    "ulpfec",
    "parityfec",
    "flexfec",
    "flexfec-03",
    "H261",
    "H263",
    "H263-1998",
    "H263-2000",
    "H264",
    "H264-SVC",
    "H265",
    "H266",
    "VP8",
    "VP9",
    "AV1",
    "JPEG",
    "jpeg2000",
    "MPV",
    "MP2T",
    "MP4V-ES",
    "nv",
    "CelB",
    "theora",
];

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
        for (name, codec) in NAMES {
            assert_eq!(Codec::from_name(&name.to_lowercase()).ok(), Some(codec));
            assert_eq!(Codec::from_name(codec.name()).ok(), Some(codec));
        }
        assert_eq!(Codec::L16 { channels: 2 }.name(), "L16");
        let message = Codec::from_name("SPEEX").expect_err("no decoder").to_string();
        assert!(message.starts_with("SPEEX cannot be decoded") && message.contains("G.711"));
    }

    #[test]
    fn lengths() {
        let samples = |codec: Codec, length| codec.samples(&vec![0; length]);
        assert_eq!(samples(Codec::G722, 160), Some(320));
        assert_eq!(samples(g726(5, Packing::Aal2), 100), Some(160));
        assert_eq!((samples(Codec::Gsm, 66), samples(Codec::Gsm, 34)), (Some(320), None));
        assert_eq!((samples(Codec::Ilbc, 38), samples(Codec::Ilbc, 100)), (Some(160), Some(480)));
        assert_eq!((samples(Codec::G729, 22), samples(Codec::G729, 2)), (Some(240), Some(80)));
        assert_eq!((samples(Codec::G729, 11), samples(Codec::G729, 0)), (None, None));
        assert_eq!(samples(Codec::L16 { channels: 2 }, 640), Some(160));
        assert!(Codec::G729.announces_noise(&[0; 12]) && !Codec::G729.announces_noise(&[0; 10]));
    }
}

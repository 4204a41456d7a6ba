//! The codecs of generated calls.

use std::str::FromStr;

use ringtap_model::{Hz, Nanos};

use crate::error::Error;
use crate::voice::Law;

/// A codec, as SDP and RFC 3551 describe it. Written by its name in SDP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Codec(&'static Row);

#[derive(Debug, PartialEq, Eq)]
struct Row {
    name: &'static str,
    payload_type: u8,
    clock: u32,
    /// Channels in `a=rtpmap`, where it names them.
    channels: Option<u8>,
    frame_ms: u64,
    size: Size,
}

/// Payload bytes.
#[derive(Debug, PartialEq, Eq)]
enum Size {
    /// Bytes in each frame.
    Frame(u64),
    /// Bytes in 10 ms: varies with the speech between these two.
    Varies(u64, u64),
}

impl Codec {
    /// G.711 with mu-law.
    pub const PCMU: Self = Self(&CODECS[0]);
    /// G.711 with A-law.
    pub const PCMA: Self = Self(&CODECS[1]);

    /// Every codec.
    pub fn all() -> impl Iterator<Item = Self> {
        CODECS.iter().map(Self)
    }

    /// Encoding name.
    pub fn name(self) -> &'static str {
        self.0.name
    }

    /// Static payload type, or the dynamic one in the offers.
    pub fn payload_type(self) -> u8 {
        self.0.payload_type
    }

    /// RTP clock.
    pub fn clock(self) -> Hz {
        Hz(self.0.clock)
    }

    /// The text after the payload type in `a=rtpmap`.
    pub(crate) fn rtpmap(self) -> String {
        let Row { name, clock, channels, .. } = self.0;
        channels.map_or_else(|| format!("{name}/{clock}"), |channels| format!("{name}/{clock}/{channels}"))
    }

    /// Ticks of the RTP clock in one packet.
    pub(crate) fn ticks(self, ptime: Nanos) -> u32 {
        (ptime.0 / 1_000_000 * u64::from(self.0.clock) / 1_000) as u32
    }

    /// Minimum and maximum payload bytes of a packet.
    pub(crate) fn sizes(self, ptime: Nanos) -> (u64, u64) {
        let millis = ptime.0 / 1_000_000;
        match self.0.size {
            Size::Frame(bytes) => {
                let whole = millis / self.0.frame_ms * bytes;
                (whole, whole)
            }
            Size::Varies(least, most) => (least * millis / 10, most * millis / 10),
        }
    }

    /// The law of the codecs with real sound; the others carry noise.
    pub(crate) fn law(self) -> Option<Law> {
        match self {
            Self::PCMU => Some(Law::Mu),
            Self::PCMA => Some(Law::A),
            _ => None,
        }
    }

    /// Makes the headers in a payload of noise valid, which receivers check before decoding.
    pub(crate) fn mark(self, ptime: Nanos, payload: &mut [u8]) {
        match (self.0.name, payload.first_mut()) {
            // RFC 6716 section 3.1: one frame; hybrid fullband of 20 ms, or SILK wideband of 40 or 60 ms.
            ("opus", Some(first)) => {
                *first = match ptime.0 / 1_000_000 {
                    40 => 10 << 3,
                    60 => 11 << 3,
                    _ => 15 << 3,
                }
            }
            // RFC 3551 section 4.5.8: every frame begins with the signature 0xd.
            ("GSM", _) => payload.chunks_mut(33).for_each(|frame| frame[0] = 0xd0 | frame[0] & 0x0f),
            _ => {}
        }
    }

    /// Checks that packets of that length hold whole frames.
    pub(crate) fn check(self, ptime: Nanos) -> Result<(), Error> {
        let (ptime_ms, frame_ms) = (ptime.0 / 1_000_000, self.0.frame_ms);
        let whole = Nanos::from_millis(ptime_ms) == ptime && ptime_ms.is_multiple_of(frame_ms);
        if whole && (frame_ms..=MAX_MS).contains(&ptime_ms) {
            return Ok(());
        }
        Err(Error::PacketTime { ptime_ms, codec: self.0.name, frame_ms, most_ms: MAX_MS })
    }
}

/// Packet time. Written in whole milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketTime(pub Nanos);

impl FromStr for PacketTime {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let millis = text.parse().ok().filter(|millis| (1..=MAX_MS).contains(millis));
        let wrong = || Error::Model { given: text.to_owned(), right: "milliseconds, from 1 to 60" };
        millis.map(|millis| Self(Nanos::from_millis(millis))).ok_or_else(wrong)
    }
}

impl FromStr for Codec {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        Self::all().find(|codec| codec.name().eq_ignore_ascii_case(text)).ok_or_else(|| {
            let known: Vec<_> = Self::all().map(Self::name).collect();
            Error::Codec { given: text.to_owned(), known: known.join(", ") }
        })
    }
}

/// The longest packet: RFC 3551 section 4.2 asks receivers to accept up to 200 ms; 60 ms fit an Ethernet
/// frame in any codec.
const MAX_MS: u64 = 60;

const fn row(name: &'static str, payload_type: u8, frame_ms: u64, size: Size) -> Row {
    Row { name, payload_type, clock: 8_000, channels: None, frame_ms, size }
}

/// RFC 3551 section 6; RFC 3952 (iLBC); RFC 7587 (opus, about 24 kbit/s).
static CODECS: [Row; 7] = [
    row("PCMU", 0, 10, Size::Frame(80)),
    row("PCMA", 8, 10, Size::Frame(80)),
    row("G722", 9, 10, Size::Frame(80)),
    row("G729", 18, 10, Size::Frame(10)),
    row("GSM", 3, 20, Size::Frame(33)),
    row("iLBC", 97, 30, Size::Frame(50)),
    Row { clock: 48_000, channels: Some(2), ..row("opus", 111, 20, Size::Varies(20, 40)) },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn payload_sizes() {
        let twenty = Nanos::from_millis(20);
        let of = |name: &str| name.parse::<Codec>().unwrap();
        assert_eq!((of("pcmu").sizes(twenty), of("PCMU").ticks(twenty)), ((160, 160), 160));
        assert_eq!(of("G729").sizes(twenty), (20, 20));
        assert_eq!((of("G722").sizes(twenty), of("G722").ticks(twenty)), ((160, 160), 160));
        assert_eq!((of("OPUS").sizes(twenty), of("opus").ticks(twenty)), ((40, 80), 960));
        assert_eq!(of("opus").rtpmap(), "opus/48000/2");
        assert_eq!(of("iLBC").check(twenty).unwrap_err().to_string().matches("30 ms").count(), 1);
        assert!(of("iLBC").check(Nanos::from_millis(60)).is_ok());
        assert!(of("PCMU").check(Nanos(20_500_000)).is_err() && of("PCMU").check(Nanos::ZERO).is_err());
        assert!("H264".parse::<Codec>().unwrap_err().to_string().contains("PCMU, PCMA, G722"));
    }
}

//! A row of the table: a codec at one of its modes.

use ringtap_model::Hz;

use crate::rating::Model;

/// The basis of a row's factors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Basis {
    /// Both factors are G.113's for this codec and mode.
    Published,
    /// Ie is G.113's for this codec or for one with the same bit stream; Bpl is borrowed from a relative.
    Derived,
    /// No value was published for this codec: those of a codec of similar type and rate.
    StandIn,
}

impl Basis {
    /// Its name in records.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Published => "published",
            Self::Derived => "derived",
            Self::StandIn => "stand-in",
        }
    }
}

/// What fills the place of a packet that is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Concealment {
    /// The codec's own decoder.
    Codec,
    /// The receiver: the codec leaves it to him.
    Receiver,
    /// Nothing.
    Missing,
}

impl Concealment {
    /// Its name in records.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Codec => "codec",
            Self::Receiver => "receiver",
            Self::Missing => "none",
        }
    }
}

/// A codec at one of its modes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CodecProfile {
    /// Name as in SDP (`a=rtpmap`).
    pub name: &'static str,
    /// RTP clocks that it is announced with. For Opus, the clock gives the bandwidth (48000 unless the sender
    /// ignores RFC 7587).
    pub clocks: &'static [Hz],
    /// Bit rate of the mode, kbit/s.
    pub kbps: f64,
    /// The E-model that its factors belong to.
    pub model: Model,
    /// Equipment impairment factor Ie, Ie,WB or Ie,FB.
    pub ie: f64,
    /// Packet-loss robustness factor Bpl, on the same scale.
    pub bpl: f64,
    /// Speech in one frame, ms.
    pub frame_ms: f64,
    /// Lookahead of the coder, ms; frame and lookahead are the algorithmic delay.
    pub lookahead_ms: f64,
    /// What the factors take to fill the place of missing packets.
    pub concealment: Concealment,
    /// Basis of `ie` and `bpl`.
    pub basis: Basis,
    /// Their source.
    pub source: &'static str,
}

//! Content of communication: the target's packets.

use ringtap_model::Nanos;

use crate::Direction;

/// One packet of a session or call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Content<'a> {
    /// When it was on the wire.
    pub at: Nanos,
    /// Which way it went.
    pub direction: Direction,
    /// What it is.
    pub kind: ContentKind,
    /// Its octets: of an IP packet from the first of the IP header to the last of the packet, without a
    /// link layer.
    pub packet: &'a [u8],
}

/// What a packet is, and so which part of the standard it is encoded by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContentKind {
    /// An IP packet of an internet access (IPCC, TS 102 232-3 clause 8).
    IpPacket,
    /// A packet of a call (IPMMCC, TS 102 232-5 clause 6).
    Media {
        /// The layer that its octets start with.
        frame: FrameType,
        /// What it carries.
        protocol: MediaProtocol,
    },
}

impl ContentKind {
    /// An IP packet with RTP: what a call's media usually is.
    pub const RTP: Self = Self::Media { frame: FrameType::Ip, protocol: MediaProtocol::Rtp };
}

/// The layer that the octets of a call's packet start with (frameType).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameType {
    /// IP.
    Ip,
    /// UDP.
    Udp,
    /// RTP.
    Rtp,
    /// The sound alone.
    Audio,
    /// TCP.
    Tcp,
    /// RTP that the operator made.
    ArtificialRtp,
    /// UDPTL (T.38).
    Udptl,
    /// MSRP.
    Msrp,
}

/// What a call's packet carries (mMCCprotocol).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MediaProtocol {
    /// RTP, RTCP.
    Rtp,
    /// MSRP.
    Msrp,
    /// UDPTL (T.38).
    Udptl,
}

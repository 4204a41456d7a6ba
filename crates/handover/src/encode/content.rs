//! The payload of a packet.

use super::ber;
use crate::{Content, ContentKind, Direction, FrameType, MediaProtocol};

/// Lengths of the elements around a packet, from the inside out.
pub(crate) struct ContentLengths {
    /// IPCCContents, or the fields of IPMMCC.
    inner: usize,
    /// IPCC; of media the same as `inner`.
    body: usize,
    /// cCContents.
    contents: usize,
    /// CCPayload.
    payload: usize,
    /// cCPayloadSequence.
    sequence: usize,
    /// Payload.
    whole: usize,
}

impl ContentLengths {
    #[inline]
    pub(crate) fn new(content: &Content<'_>) -> Self {
        let packet = ber::element(content.packet.len());
        let (inner, body) = match content.kind {
            ContentKind::IpPacket => (packet, OID + ber::element(packet)),
            ContentKind::Media { .. } => (packet, OID + packet + FRAME_AND_PROTOCOL),
        };
        let contents = ber::element(body);
        let payload = DIRECTION + ber::element(contents);
        let sequence = ber::element(payload);
        Self { inner, body, contents, payload, sequence, whole: ber::element(sequence) }
    }

    /// Octets of the payload with its own head.
    #[inline]
    pub(crate) fn total(&self) -> usize {
        ber::element(self.whole)
    }
}

/// Writes the payload with its own head (TS 102 232-1 clause 5.3; IPCC of TS 102 232-3, IPMMCC of TS 102
/// 232-5).
// HOT: once a packet.
#[inline]
pub(crate) fn put_content(out: &mut Vec<u8>, content: &Content<'_>, lengths: &ContentLengths) {
    ber::put_head(out, ber::constructed(2), lengths.whole);
    ber::put_head(out, ber::constructed(1), lengths.sequence);
    ber::put_head(out, ber::SEQUENCE, lengths.payload);
    out.extend_from_slice(&[ber::primitive(0), 1, direction(content.direction)]);
    ber::put_head(out, ber::constructed(2), lengths.contents);
    match content.kind {
        ContentKind::IpPacket => {
            ber::put_head(out, ber::constructed(2), lengths.body);
            ber::put(out, ber::primitive(0), IPCC);
            ber::put_head(out, ber::constructed(1), lengths.inner);
            ber::put(out, ber::primitive(0), content.packet);
        }
        ContentKind::Media { frame, protocol } => {
            ber::put_head(out, ber::constructed(12), lengths.body);
            ber::put(out, ber::primitive(0), IPMMCC);
            ber::put(out, ber::primitive(1), content.packet);
            out.extend_from_slice(&[ber::primitive(2), 1, frame_type(frame)]);
            out.extend_from_slice(&[ber::primitive(4), 1, media_protocol(protocol)]);
        }
    }
}

fn direction(direction: Direction) -> u8 {
    match direction {
        Direction::FromTarget => 0,
        Direction::ToTarget => 1,
        Direction::Indeterminate => 2,
    }
}

fn frame_type(frame: FrameType) -> u8 {
    match frame {
        FrameType::Ip => 0,
        FrameType::Udp => 1,
        FrameType::Rtp => 2,
        FrameType::Audio => 3,
        FrameType::Tcp => 4,
        FrameType::ArtificialRtp => 5,
        FrameType::Udptl => 6,
        FrameType::Msrp => 7,
    }
}

fn media_protocol(protocol: MediaProtocol) -> u8 {
    match protocol {
        MediaProtocol::Rtp => 0,
        MediaProtocol::Msrp => 1,
        MediaProtocol::Udptl => 2,
    }
}

/// li-ps(5) iPAccess(3) version18(18) iPIRI(1): that module has pOPPortID.
pub(crate) const IPIRI: &[u8] = &[5, 3, 18, 1];
/// li-ps(5) iPAccess(3) version18(18) iPCC(2).
pub(crate) const IPCC: &[u8] = &[5, 3, 18, 2];
/// li-ps(5) iPMultimedia(5) version6(6) iPMMIRI(1).
pub(crate) const IPMMIRI: &[u8] = &[5, 5, 6, 1];
/// li-ps(5) iPMultimedia(5) version6(6) iPMMCC(2).
pub(crate) const IPMMCC: &[u8] = &[5, 5, 6, 2];

/// Octets of each of these with its tag and its length.
const OID: usize = 6;
/// Octets of payloadDirection.
const DIRECTION: usize = 3;
/// Octets of frameType and mMCCprotocol.
const FRAME_AND_PROTOCOL: usize = 6;

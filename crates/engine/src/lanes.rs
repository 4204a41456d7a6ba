//! Frames decoded ahead of their turn, so that the tables they need are in the cache when it comes.

use ringtap_model::Frame;
use ringtap_wire::{frame, rtcp, rtp, sip, stun};

use crate::hash::Hasher;
use crate::index::NONE;
use crate::media::{Key, Media, RtpPacket};
use crate::tcp;

/// How many frames lie between a look at a frame, at its place in the index, and its turn: enough for memory to answer, few
/// enough that all they brought is still in the first-level cache.
const DEPTH: usize = 24;
/// How many frames ahead of that their first cache lines are asked for.
const AHEAD: usize = 8;
/// Frames under way.
const LANES: usize = 64;

const _: () = assert!(2 * DEPTH < LANES && LANES.is_power_of_two());

/// What a frame seems to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// To be decoded in its turn.
    Any,
    /// Plain RTP.
    Media,
    /// A TCP segment that begins no signalling: nobody's, unless its connection is followed.
    Segment,
    /// A UDP datagram that is nothing the engine knows.
    Nothing,
}

/// What is known of a frame before its turn.
#[derive(Clone, Copy)]
pub(crate) struct Lane {
    pub(crate) kind: Kind,
    /// Of media.
    pub(crate) key: Key,
    /// Of media and of segments.
    pub(crate) hash: u64,
    /// Its flow, as far as the index knew: to be verified.
    pub(crate) slot: u32,
    pub(crate) packet: RtpPacket,
    /// Where its payload is in the frame.
    start: usize,
    end: usize,
}

impl Lane {
    pub(crate) const EMPTY: Self = Self {
        kind: Kind::Any,
        key: Key::NONE,
        hash: 0,
        slot: NONE,
        packet: RtpPacket::NONE,
        start: 0,
        end: 0,
    };

    /// The captured payload.
    #[inline]
    pub(crate) fn payload<'a>(&self, frame: &Frame<'a>) -> &'a [u8] {
        frame.data.get(self.start..self.end).unwrap_or_default()
    }
}

/// The lanes of the frames that are under way.
pub(crate) struct Lanes(Box<[Lane; LANES]>);

impl Lanes {
    pub(crate) fn new() -> Self {
        Self(Box::new([Lane::EMPTY; LANES]))
    }

    /// How far ahead frames are looked at, for so many of them.
    pub(crate) fn depth(frames: usize) -> usize {
        DEPTH.min(frames)
    }

    /// Decodes and hashes a frame, and asks for its place in the index. HOT.
    #[inline]
    pub(crate) fn look(&mut self, frames: &[Frame<'_>], at: usize, media: &Media, hasher: &Hasher) {
        let Some(frame) = frames.get(at) else { return };
        if let Some(ahead) = frames.get(at + AHEAD) {
            // Headers, and the payload that is looked at.
            ringtap_cpu::prefetch_byte(ahead.data, 0);
            ringtap_cpu::prefetch_byte(ahead.data, ringtap_cpu::LINE);
        }
        let lane = &mut self.0[at % LANES];
        lane.kind = decode(frame, lane, hasher);
        if lane.kind == Kind::Media {
            media.prefetch_index(lane.hash);
        }
    }

    /// Looks a frame's flow up, and asks for it. HOT.
    #[inline]
    pub(crate) fn find(&mut self, at: usize, media: &Media) {
        let lane = &mut self.0[at % LANES];
        if lane.kind == Kind::Media {
            lane.slot = media.prefetch(lane.hash);
        }
    }

    /// The lane of a frame.
    #[inline]
    pub(crate) fn of(&self, at: usize) -> &Lane {
        &self.0[at % LANES]
    }
}

/// What a frame is, as far as it tells by itself; media is in the lane then.
#[inline]
fn decode(frame: &Frame<'_>, lane: &mut Lane, hasher: &Hasher) -> Kind {
    let Some(plain) = frame::plain(frame.link.0, frame.data) else { return segment(frame, lane, hasher) };
    let Ok(view) = rtp::View::parse(plain.udp.data, plain.udp.len) else { return datagram(plain.udp.data) };
    lane.key = Key::v4(plain.src, plain.dst, (plain.udp.src_port, plain.udp.dst_port), view.ssrc());
    lane.hash = lane.key.hash(hasher);
    lane.packet = RtpPacket::new(&view, frame.time, u32::from(plain.ip_len));
    let payload = view.payload();
    // An empty one need not lie in the frame.
    lane.start =
        if payload.is_empty() { 0 } else { payload.as_ptr() as usize - frame.data.as_ptr() as usize };
    lane.end = lane.start + payload.len();
    Kind::Media
}

#[inline(never)]
fn segment(frame: &Frame<'_>, lane: &mut Lane, hasher: &Hasher) -> Kind {
    let Some(tcp) = frame::plain_tcp(frame.link.0, frame.data) else { return Kind::Any };
    if tcp::is_wanted(tcp.ports, tcp.flags, tcp.data) {
        return Kind::Any;
    }
    lane.hash = Key::v4(tcp.src, tcp.dst, tcp.ports, 0).hash(hasher);
    Kind::Segment
}

/// UDP that is no RTP: the same questions as in its turn, those that most datagrams answer by their first bytes.
#[inline(never)]
fn datagram(data: &[u8]) -> Kind {
    // What a start line cannot do without; longer datagrams are looked at more closely.
    let may_be_sip = data.len() > SHORT || data.contains(&b'/');
    let is_known = may_be_sip && sip::sniff(data).is_some()
        || rtcp::looks_like_rtcp(data)
        || stun::relayed(data).is_some()
        || stun::is_stun(data)
        || data.starts_with(b"HEP3")
        || data.starts_with(b"EEP3");
    if is_known { Kind::Any } else { Kind::Nothing }
}

/// Bytes in which one that is looked for is found, or not, at once.
const SHORT: usize = 128;

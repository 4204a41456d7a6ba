//! Frames decoded ahead of their turn, so that the tables they need are in the cache when it comes.

use ringtap_model::Frame;
use ringtap_wire::{frame, rtp};

use crate::hash::Hasher;
use crate::index::NONE;
use crate::media::{Key, Media, RtpPacket};

/// How many frames lie between a look at a frame, at its place in the index, and its turn: enough for memory to answer, few
/// enough that all they brought is still in the first-level cache.
const DEPTH: usize = 24;
/// How many frames ahead of that their first cache lines are asked for.
const AHEAD: usize = 8;
/// Frames under way.
const LANES: usize = 64;

const _: () = assert!(2 * DEPTH < LANES && LANES.is_power_of_two());

/// What is known of a frame before its turn.
#[derive(Clone, Copy)]
pub(crate) struct Lane {
    /// It has the shape of RTP; otherwise nothing else here means anything.
    pub(crate) media: bool,
    pub(crate) key: Key,
    hash: u64,
    /// Its flow, as far as the index knew: to be verified.
    pub(crate) slot: u32,
    pub(crate) packet: RtpPacket,
    /// Where its payload is in the frame.
    start: usize,
    end: usize,
}

impl Lane {
    pub(crate) const EMPTY: Self =
        Self { media: false, key: Key::NONE, hash: 0, slot: NONE, packet: RtpPacket::NONE, start: 0, end: 0 };

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
        lane.media = decode(frame, lane, hasher);
        if lane.media {
            media.prefetch_index(lane.hash);
        }
    }

    /// Looks a frame's flow up, and asks for it. HOT.
    #[inline]
    pub(crate) fn find(&mut self, at: usize, media: &Media) {
        let lane = &mut self.0[at % LANES];
        if lane.media {
            lane.slot = media.prefetch(lane.hash);
        }
    }

    /// The lane of a frame.
    #[inline]
    pub(crate) fn of(&self, at: usize) -> &Lane {
        &self.0[at % LANES]
    }
}

/// Whether a frame is plain RTP; if so, it is in the lane.
#[inline]
fn decode(frame: &Frame<'_>, lane: &mut Lane, hasher: &Hasher) -> bool {
    let Some(plain) = frame::plain(frame.link.0, frame.data) else { return false };
    let Ok(view) = rtp::View::parse(plain.udp.data, plain.udp.len) else { return false };
    lane.key = Key::v4(plain.src, plain.dst, (plain.udp.src_port, plain.udp.dst_port), view.ssrc());
    lane.hash = lane.key.hash(hasher);
    lane.packet = RtpPacket::new(&view, frame.time, u32::from(plain.ip_len));
    let payload = view.payload();
    // An empty one need not lie in the frame.
    lane.start =
        if payload.is_empty() { 0 } else { payload.as_ptr() as usize - frame.data.as_ptr() as usize };
    lane.end = lane.start + payload.len();
    true
}

//! Frames decoded ahead of their turn, so that the tables they need are in the cache when it comes.

use ringtap_model::Frame;
use ringtap_wire::{frame, rtp};

use crate::hash::Hasher;
use crate::index::NONE;
use crate::media::{Key, Media, RtpPacket};

/// Frames that are looked at together: enough for memory to answer, few enough that all they brought is still in the
/// first-level cache.
pub(crate) const LANES: usize = 64;
/// How many frames ahead their first cache lines are asked for.
const AHEAD: usize = 16;

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

/// Decodes and hashes the first frames, asks for their places in the index, then for their flows. Changes nothing but
/// the lanes; gives how many were taken. HOT.
#[inline]
pub(crate) fn look_ahead(frames: &[Frame<'_>], lanes: &mut [Lane; LANES], media: &Media, hasher: &Hasher) {
    for (at, (frame, lane)) in frames.iter().zip(lanes.iter_mut()).enumerate() {
        if let Some(ahead) = frames.get(at + AHEAD) {
            // Headers and the payload that is looked at.
            ringtap_cpu::prefetch_byte(ahead.data, 0);
            ringtap_cpu::prefetch_byte(ahead.data, ringtap_cpu::LINE);
        }
        lane.media = decode(frame, lane, hasher);
        if lane.media {
            media.prefetch_index(lane.hash);
        }
    }
    for lane in lanes.iter_mut().take(frames.len()).filter(|lane| lane.media) {
        lane.slot = media.prefetch(lane.hash);
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
    lane.start = view.payload().as_ptr() as usize - frame.data.as_ptr() as usize;
    lane.end = lane.start + view.payload().len();
    true
}

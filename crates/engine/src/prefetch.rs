//! Frames decoded ahead of their turn, so that the tables they need are in the cache when it comes.

use ringtap_model::{Frame, Nanos};
use ringtap_wire::{frame, rtcp, rtp, sip, stun};

use crate::input::tcp;
use crate::sink::Sink;
use crate::table::hash::Hasher;
use crate::table::index::NONE;
use crate::trackers::media::{Key, Media, RtpPacket};

/// How many frames lie between a look at a frame, at its place in the index, and its turn: enough for memory to answer, few
/// enough that all they brought is still in the first-level cache, where each has eight lines.
const DEPTH: usize = 8;
/// How many frames ahead of that their first cache lines are asked for.
const AHEAD: usize = 8;
/// Frames under way.
const LANES: usize = 32;

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

/// What is known of a frame before its turn: one cache line.
#[derive(Clone, Copy)]
#[repr(align(64))]
pub(crate) struct Lane {
    /// Of media.
    pub(crate) key: Key,
    /// Of media and of segments.
    pub(crate) hash: u64,
    /// Of media: how its RTP begins, see [`rtp::View::head`].
    head: u64,
    payload_len: u32,
    ip_len: u32,
    /// Where its payload is in the frame.
    start: u32,
    end: u32,
    /// Its flow, as far as the index knew: to be verified.
    pub(crate) slot: u32,
    pub(crate) kind: Kind,
}

const _: () = assert!(size_of::<Lane>() == ringtap_cpu::LINE);

impl Lane {
    const EMPTY: Self = Self {
        key: Key::NONE,
        hash: 0,
        head: 0,
        payload_len: 0,
        ip_len: 0,
        start: 0,
        end: 0,
        slot: NONE,
        kind: Kind::Any,
    };

    /// The packet.
    #[inline]
    pub(crate) fn packet(&self, now: Nanos) -> RtpPacket {
        RtpPacket::of(self.head, now, self.payload_len, self.ip_len)
    }

    /// The captured payload.
    #[inline]
    pub(crate) fn payload<'a>(&self, frame: &Frame<'a>) -> &'a [u8] {
        frame.data.get(self.start as usize..self.end as usize).unwrap_or_default()
    }
}

/// The lanes of the frames that are under way.
pub(crate) struct Lanes([Lane; LANES]);

impl Default for Lanes {
    fn default() -> Self {
        Self([Lane::EMPTY; LANES])
    }
}

impl Lanes {
    /// Looks at the first frames of a batch.
    pub(crate) fn begin(&mut self, frames: &[Frame<'_>], media: &Media, hasher: &Hasher) {
        frames.iter().take(AHEAD).for_each(fetch);
        for at in 0..2 * DEPTH {
            self.look(frames, at, media, hasher);
        }
        for at in 0..DEPTH.min(frames.len()) {
            self.find(at, media);
        }
    }

    /// A frame's turn has come: gives its lane, and does for those after it what is to be done before theirs. HOT.
    #[inline]
    pub(crate) fn step(
        &mut self,
        frames: &[Frame<'_>],
        turn: usize,
        media: &Media,
        hasher: &Hasher,
    ) -> &Lane {
        self.look(frames, turn + 2 * DEPTH, media, hasher);
        // Behind the last frame, once more for one of those before it: that costs less than to ask.
        self.find(turn + DEPTH, media);
        &self.0[turn % LANES]
    }

    /// Before [`Lanes::step`], for a sink that is told of every packet: asks for what it is told of those to come.
    #[inline]
    pub(crate) fn name<S: Sink>(&self, turn: usize, media: &Media, sink: &S) {
        let of = |at: usize| self.0.get(at % LANES).filter(|lane| lane.kind == Kind::Media);
        // The last one that was found.
        if let Some(lane) = of(turn + DEPTH - 1) {
            media.prefetch_names(lane.slot);
        }
        if let Some(lane) = of(turn + DEPTH / 2) {
            media.prefetch_view(lane.slot);
            sink.prefetch(lane.slot);
        }
    }

    /// Decodes and hashes a frame, and asks for its place in the index.
    #[inline]
    fn look(&mut self, frames: &[Frame<'_>], at: usize, media: &Media, hasher: &Hasher) {
        let Some(frame) = frames.get(at) else { return };
        if let Some(ahead) = frames.get(at + AHEAD) {
            fetch(ahead);
        }
        let lane = &mut self.0[at % LANES];
        lane.kind = decode(frame, lane, hasher);
        if lane.kind == Kind::Media {
            media.prefetch_index(lane.hash);
        }
    }

    /// Looks a frame's flow up, and asks for it.
    #[inline]
    fn find(&mut self, at: usize, media: &Media) {
        let lane = &mut self.0[at % LANES];
        if lane.kind == Kind::Media {
            lane.slot = media.prefetch(lane.hash);
        }
    }
}

/// Brings into the cache what is looked at of a frame: its headers, and the payload behind them.
#[inline]
fn fetch(frame: &Frame<'_>) {
    ringtap_cpu::prefetch_byte(frame.data, 0);
    ringtap_cpu::prefetch_byte(frame.data, ringtap_cpu::LINE);
}

/// What a frame is, as far as it tells by itself; media is in the lane then.
#[inline]
fn decode(frame: &Frame<'_>, lane: &mut Lane, hasher: &Hasher) -> Kind {
    let Some(plain) = frame::plain_udp(frame.link.0, frame.data) else { return segment(frame, lane, hasher) };
    let Ok(view) = rtp::View::parse(plain.udp.data, plain.udp.len) else { return datagram(plain.udp.data) };
    lane.key = Key::v4(plain.src, plain.dst, (plain.udp.src_port, plain.udp.dst_port), view.ssrc());
    lane.hash = lane.key.hash(hasher);
    lane.head = view.head();
    (lane.payload_len, lane.ip_len) = (view.payload_len() as u32, u32::from(plain.ip_len));
    let payload = view.payload();
    // An empty one need not lie in the frame.
    let start = if payload.is_empty() { 0 } else { payload.as_ptr() as usize - frame.data.as_ptr() as usize };
    (lane.start, lane.end) = (start as u32, (start + payload.len()) as u32);
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
    // What begins as a method or a version does is looked at in its turn.
    if let Some(begin) = data.first_chunk::<4>()
        && begin[..3].iter().all(u8::is_ascii_uppercase)
        && (begin[3].is_ascii_uppercase() || matches!(begin[3], b'/' | b' '))
    {
        return Kind::Any;
    }
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

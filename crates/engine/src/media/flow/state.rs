//! What is kept of one stream: the figures that every packet changes, apart from those that few packets
//! change.

use std::net::{IpAddr, Ipv4Addr};

use ringtap_model::{Endpoint, Nanos};

use super::key::{FlowKey, Key};
use crate::media::numbering::{Numbering, RunTotals};
use crate::media::sound::Sound;

/// The figures of one stream that every packet changes: three cache lines, so that the streams of 52,000
/// calls stay in the last-level cache. What packets change rarely is in [`SlowState`].
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(crate) struct Flow {
    pub(in crate::media) key: Key,
    pub(super) numbering: Numbering,
    /// What sends a packet to the slow path, see the constants.
    pub(crate) flags: u16,
    pub(crate) payload_type: u8,
    pub(super) votes: u16,
    /// Nanoseconds per tick of the RTP clock; 0 where it is not known. (Single precision: 1 ns in a packet
    /// time.)
    pub(super) tick: f32,
    /// Ticks from one packet to the next, by majority vote.
    pub(super) step: u32,
    /// The last packet. Unless [`LASTS_DIFFER`] says otherwise it is also the last that was no repeat, and
    /// the last that counts for jitter.
    pub(crate) last: Nanos,
    /// Timestamp of the last packet that counts for jitter.
    pub(super) timestamp: u32,

    /// RFC 3550 section 6.4.1, in ns.
    pub(super) jitter: f32,
    pub(super) jitter_max: f32,
    pub(super) jitters: u32,

    /// Times between packets, in ns: the shortest of all; the longest on the fast path, the others are
    /// in [`SlowState`]. Their sum is last - first.
    pub(super) iat_min: f32,
    pub(super) iat_max: f32,
    pub(super) iat_squares: f64,

    /// Of packets at the IP layer, but for those since `equal_since`.
    pub(super) size_min: u16,
    pub(super) size_max: u16,
    pub(super) size_squares: u64,
    pub(super) payload_sum: u64,
    /// Bytes around the payload of the first packet.
    pub(super) overhead: u16,
    /// So long a payload had every packet since there were so many: sizes seldom change, so what they add up
    /// to is reckoned when they do.
    pub(super) equal_len: u32,
    pub(super) equal_since: u32,

    /// Delay in ns against the fastest packet of the last whole second; the smallest of it in that second and
    /// in the running one, which began at `second` (in 2^20 ns, wrapping).
    pub(super) delay: f32,
    pub(super) fastest: f32,
    pub(super) fastest_now: f32,
    pub(super) second: u32,

    /// The running interval is over at this time or shortly after, in 2^20 ns, wrapping.
    pub(super) interval_end: u32,
    pub(super) interval_jitter: f32,
    pub(super) interval_bins: [u16; BINS],
    pub(in crate::media) sound: Sound,
}

const _: () = assert!(size_of::<Flow>() == 192 && align_of::<Flow>() == 64);

/// The figures of one stream that losses, repeats, switches and the ends of intervals change, and its full
/// key.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SlowState {
    pub(crate) key: FlowKey,
    pub(crate) runs: RunTotals,
    pub(crate) first: Nanos,
    /// Where [`LASTS_DIFFER`]: the last packet that was no repeat, and the last that counts for jitter.
    pub(super) last_new: Nanos,
    pub(super) last_clocked: Nanos,
    /// Longest times in ns between first copies and between any two, where not both took the fast path.
    pub(super) delta_max: f32,
    pub(super) iat_max: f32,
    /// What packets had around their payload beyond the overhead of the first, in sum.
    pub(super) overhead: i64,
    /// Of the intervals before this one; and of this one, before what the flow has of it.
    pub(super) jitter_sum: f64,
    pub(super) interval_jitter: f64,
    /// Packets when the payload type in use came into use, and when the interval began.
    pub(super) type_since: u32,
    pub(super) interval_since: u32,
    /// Values of jitter before the running interval.
    pub(super) interval_jitters: u32,
    pub(super) interval_repeats: u32,
    pub(super) interval_lost: u32,
    /// Interval that is running, counted from the first packet.
    pub(super) interval_index: u16,
    /// While provisional: sequence and clock have advanced together this often.
    pub(crate) sequential: u16,
}

/// Bins of delay variation, see [`ringtap_quality::jitterbuffer`].
pub(super) const BINS: usize = ringtap_quality::jitterbuffer::BINS;
/// Length of an interval.
pub(super) const INTERVAL: Nanos = Nanos::from_secs(10);

/// The next packet begins another record: another call has taken these endpoints over.
pub(crate) const SPLIT: u16 = 1;
/// The same source and SSRC also send elsewhere.
pub(crate) const SIBLINGS: u16 = 1 << 1;
/// Not yet known to be a stream.
pub(crate) const PROVISIONAL: u16 = 1 << 2;
/// G.711, whose payload is looked at.
pub(crate) const SOUND: u16 = 1 << 3;
/// Its call has offered T.38, or told of a pressed key: numbers may be missing that nobody lost.
pub(crate) const FAX: u16 = 1 << 4;
/// It has carried a telephone-event.
pub(crate) const EVENT: u16 = 1 << 5;
/// The payload type has changed to one of another clock: its first timestamp is a new base.
pub(crate) const RECLOCKED: u16 = 1 << 6;
/// Its timestamps have advanced.
pub(crate) const ADVANCED: u16 = 1 << 7;
/// The payload type in use is telephone-event: its timestamps stand still and tell nothing of jitter (RFC
/// 4733 section 2.2.1).
pub(in crate::media) const EVENTS: u16 = 1 << 8;
/// Its first packets: they do not yet set the delay that others are measured against.
pub(super) const OPENING: u16 = 1 << 9;
/// [`RunTotals::unsettled`].
pub(super) const UNSETTLED: u16 = 1 << 10;
/// Its last packet, its last first copy and the last that counts for jitter are not one.
pub(super) const LASTS_DIFFER: u16 = 1 << 11;
/// No flow: a free slot.
pub(in crate::media) const VACANT: u16 = 1 << 12;
/// Its key is a hash. The slow path compares the full one too; the fast path trusts 128 bits under keys that
/// nobody outside knows: two flows share them less often than memory fails.
pub(in crate::media) const HASHED: u16 = 1 << 13;
/// Packets of the size in use are shorter than those before them: silence descriptors, which carry the time
/// of many packets.
pub(super) const SHORTER: u16 = 1 << 14;

/// Flags that send every packet of the stream to the slow path.
pub(super) const SLOW: u16 =
    SPLIT | PROVISIONAL | RECLOCKED | EVENTS | OPENING | UNSETTLED | LASTS_DIFFER | VACANT;

impl Flow {
    /// A free slot.
    pub(in crate::media) const NONE: Self = Self {
        key: Key::NONE,
        numbering: Numbering::NONE,
        flags: VACANT,
        payload_type: 0,
        votes: 0,
        tick: 0.0,
        step: 0,
        last: Nanos::ZERO,
        timestamp: 0,
        jitter: 0.0,
        jitter_max: 0.0,
        jitters: 0,
        iat_min: f32::INFINITY,
        iat_max: 0.0,
        iat_squares: 0.0,
        size_min: 0,
        size_max: 0,
        size_squares: 0,
        payload_sum: 0,
        overhead: 0,
        equal_len: 0,
        equal_since: 0,
        delay: 0.0,
        fastest: 0.0,
        fastest_now: 0.0,
        second: 0,
        interval_end: 0,
        interval_jitter: 0.0,
        interval_bins: [0; BINS],
        sound: Sound::NONE,
    };

    pub(super) fn set(&mut self, flag: u16, on: bool) {
        self.flags = self.flags & !flag | if on { flag } else { 0 };
    }

    /// Whether the payload type in use is telephone-event.
    pub(crate) fn is_event(&self) -> bool {
        self.flags & EVENTS != 0
    }

    /// Packets of the payload type in use since it came into use.
    pub(crate) fn type_packets(&self, slow: &SlowState) -> u32 {
        self.numbering.packets.wrapping_sub(slow.type_since)
    }

    pub(crate) fn set_type_packets(&self, slow: &mut SlowState, packets: u32) {
        slow.type_since = self.numbering.packets.wrapping_sub(packets);
    }

    /// Every packet so far, repeats included.
    pub(crate) fn packets(&self) -> u32 {
        self.numbering.packets
    }

    /// The lowest and the highest number of its run, 16 bits.
    pub(crate) fn numbers(&self, slow: &SlowState) -> (u16, u16) {
        (slow.runs.base_seq() as u16, self.numbering.extended_max() as u16)
    }

    /// Whether numbers may be missing before this one.
    #[inline]
    pub(crate) fn leaps(&self, sequence: u16) -> bool {
        self.numbering.distance(sequence) > 1
    }
}

impl SlowState {
    /// Of no stream.
    pub(in crate::media) const NONE: Self = {
        let nobody = Endpoint::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0);
        Self {
            key: FlowKey { src: nobody, dst: nobody, ssrc: 0 },
            runs: RunTotals::NONE,
            first: Nanos::ZERO,
            last_new: Nanos::ZERO,
            last_clocked: Nanos::ZERO,
            delta_max: 0.0,
            iat_max: 0.0,
            overhead: 0,
            jitter_sum: 0.0,
            interval_jitter: 0.0,
            type_since: 0,
            interval_since: 0,
            interval_jitters: 0,
            interval_repeats: 0,
            interval_lost: 0,
            interval_index: 0,
            sequential: 0,
        }
    };

    pub(super) fn interval_start(&self) -> Nanos {
        self.first + Nanos(u64::from(self.interval_index) * INTERVAL.0)
    }
}

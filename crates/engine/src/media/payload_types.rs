//! Which payload type a stream uses, with which codec, and the digits in its telephone-events.

use ringtap_wire::rtp;

use super::details::{Digit, count_type};
use super::flow::{EVENT, FlowKey, RECLOCKED, RtpPacket, SOUND, Timing};
use super::replicas::Leg;
use super::{EVENT_BYTES, StreamTable};
use crate::codecs::CodecId;
use crate::update::Side;

impl StreamTable {
    /// A payload type that was not in use: its codec, its clock, whether it is telephone-event.
    #[cold]
    pub(super) fn switch_type(&mut self, slot: u32, packet: &RtpPacket) {
        self.add_type_count(slot);
        self.begin_type(slot, packet.payload_type, packet.payload_len);
    }

    /// Adds the packets of the type in use to its count.
    fn add_type_count(&mut self, slot: u32) {
        let (flow, details) = self.flows.both_mut(slot);
        let packets = flow.type_packets(&details.slow);
        flow.set_type_packets(&mut details.slow, 0);
        let before = details.types;
        count_type(&mut details.types, flow.payload_type, packets, details.codec, flow.is_event());
        details.types.iter().for_each(|count| self.codecs.acquire(count.codec));
        before.iter().for_each(|count| self.codecs.release(count.codec));
    }

    /// Brings a payload type into use.
    pub(super) fn begin_type(&mut self, slot: u32, payload_type: u8, payload_len: u32) {
        let codec = self.codec_of(slot, payload_type);
        let (flow, details) = self.flows.both_mut(slot);
        // Nothing names it, but only a telephone-event is four bytes long (RFC 4733 section 2.3).
        let guessed = codec.is_none() && payload_type >= 96 && payload_len == EVENT_BYTES;
        self.codecs.exchange(&mut details.codec, codec);
        let known = codec.and_then(|id| self.codecs.get(id));
        let event = known.map_or(guessed, |codec| codec.event);
        let tick = known.map_or(0.0, |codec| (1e9 / f64::from(codec.clock.0.max(1))) as f32);
        let was_new = flow.type_packets(&details.slow);
        flow.switch(&mut details.slow, payload_type, Timing { tick, event });
        if flow.packets() == 1 {
            flow.set_type_packets(&mut details.slow, was_new);
        }
        let is_g711 = known.is_some_and(|codec| matches!(&*codec.name, "PCMU" | "PCMA"));
        flow.flags &= !SOUND;
        if is_g711 && self.measure_sound && matches!(payload_type, 0 | 8) {
            flow.flags |= SOUND;
        }
    }

    /// The codec of a payload type: what the receiver announced (RFC 3264 section 5.1), else the sender, else
    /// any leg of the call, else RFC 3551.
    fn codec_of(&self, slot: u32, payload_type: u8) -> Option<CodecId> {
        let details = self.flows.details(slot);
        let FlowKey { src, dst, .. } = details.slow.key;
        let receiver = details.side.map(Side::other);
        // The newest leg among equals.
        let rank = |leg: &Leg| match leg {
            leg if leg.endpoint == dst => OF_RECEIVER,
            leg if leg.endpoint == src => 2,
            leg if Some(leg.side) == receiver => 1,
            _ => 0,
        };
        let mut best = None;
        let call = details.call().and_then(|call| self.replicas.get(call));
        for leg in call.into_iter().flat_map(|call| call.legs.iter().rev()) {
            let Some(codec) = leg.codec(payload_type) else { continue };
            let rank = rank(leg);
            // A name that nothing used for long may have left the table since it was announced.
            if best.is_none_or(|(other, _)| rank > other) && self.codecs.get(codec).is_some() {
                best = Some((rank, codec));
                if rank == OF_RECEIVER {
                    break;
                }
            }
        }
        best.map(|(_, codec)| codec).or_else(|| self.codecs.of_static(payload_type))
    }

    /// A telephone-event packet: a new digit unless it continues the one before (RFC 4733 section 2.5.1).
    #[cold]
    pub(super) fn telephone_event(&mut self, slot: u32, packet: &RtpPacket, view: &rtp::View<'_>) {
        let (flow, details) = self.flows.both_mut(slot);
        if flow.flags & EVENT != 0 && details.event == packet.timestamp {
            return;
        }
        if let Some(event) = rtp::TelephoneEvent::parse(view.payload()) {
            flow.flags |= EVENT;
            details.event = packet.timestamp;
            if event.code <= 16 {
                self.digits.push(&mut details.digits, Digit { time: packet.now, code: event.code });
            }
        }
    }

    /// After a new announcement: the codec of the type in use may only now be known.
    pub(super) fn refresh_type(&mut self, slot: u32) {
        let (payload_type, event) = {
            let flow = self.flows.flow(slot);
            (flow.payload_type, flow.is_event())
        };
        let codec = self.codec_of(slot, payload_type);
        if codec != self.flows.details(slot).codec {
            let type_packets = self.flows.flow(slot).type_packets(&self.flows.details(slot).slow);
            let len = if event { EVENT_BYTES } else { 0 };
            self.begin_type(slot, payload_type, len);
            let (flow, details) = self.flows.both_mut(slot);
            flow.set_type_packets(&mut details.slow, type_packets);
            // The same packets as before, whose clock is only now known.
            flow.flags &= !RECLOCKED;
        }
    }
}

/// The rank of a leg that is the receiver of a stream: none explains its payload types better.
const OF_RECEIVER: u8 = 3;

//! Media streams: found by what SDP announced, by symmetric reply, or by their own behaviour.
//!
//! A flow (source, destination, SSRC) is provisional from its first packet. An announcement, before or after
//! it, confirms it, or a sequence and a clock that advance together do; what nothing confirms is dropped
//! unreported.

mod binding;
mod continued;
mod details;
mod ending;
mod endpoints;
mod far_end;
mod flow;
mod flows;
mod live_interval;
mod lost_time;
mod natted;
mod numbering;
mod payload_types;
mod record;
mod record_memory;
mod replicas;
mod rtcp_lookup;
mod siblings;
mod sound;
#[cfg(test)]
mod tests;
mod twins;

use ringtap_model::{Endpoint, Nanos};
use ringtap_wire::rtp;

pub(crate) use far_end::{BlockKind, FarEnd, MessageKind, Room};
pub(crate) use flow::{FlowKey, Key, RtpPacket};
pub(crate) use numbering::Arrival;
pub use record::stream_id;
pub(crate) use record::{CallStreams, EndedStream, StreamContext};
pub(crate) use record_memory::RecordMemory;

use crate::codecs::Codecs;
use crate::config::Config;
use crate::table::hash::Hasher;
use crate::table::lists::Lists;
use crate::table::rows::Rows;
use crate::table::slots::Ticket;
use crate::table::timers::{Timer, TimerOwner, TimerWheel};
use crate::update::{CallRef, InputOrder, LearnedEndpoint, LostTime};
use details::{Digit, FlowDetails, NONE};
use endpoints::{Endpoints, OwnerList};
use flow::{ADVANCED, EVENT, FAX, Flow, HASHED, IntervalRow, PROVISIONAL, RECLOCKED, SIBLINGS, SOUND, SPLIT};
use flows::Flows;
use replicas::CallReplicas;
pub(crate) use replicas::replica_bytes;
use siblings::{FAX_GAP, FAX_LEAD, KEY_LEAD, Siblings};

/// Sequence and clock must have advanced together this often before a stream that nothing announced is
/// believed.
const MIN_SEQUENTIAL: u16 = 5;
/// Payload bytes of a telephone-event (RFC 4733 section 2.3).
const EVENT_BYTES: u32 = 4;
/// Media legs of one call.
pub(crate) const MAX_LEGS: usize = 32;

/// What became of a packet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Accepted {
    pub(crate) slot: u32,
    pub(crate) serial: u64,
    pub(crate) arrival: Arrival,
}

/// Counts of packets and streams that led to no record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct MediaCounts {
    /// Packets of flows that nothing confirmed.
    pub(crate) unconfirmed: u64,
    /// Packets that found no place for their flow.
    pub(crate) refused: u64,
    /// Announcements that found no place.
    pub(crate) legs_refused: u64,
}

/// The table of flows.
pub(crate) struct StreamTable {
    flows: Flows,
    endpoints: Endpoints,
    replicas: CallReplicas,
    pub(crate) codecs: Codecs,
    intervals: Rows<IntervalRow>,
    /// The interval that the last packet ended, for who asks before the next packet.
    ended_interval: Option<(u32, IntervalRow)>,
    /// What the last packet told of lost ones, for the same.
    lost_time: Option<LostTime>,
    digits: Rows<Digit>,
    measure_sound: bool,
    provisional_limit: Nanos,
    /// Endpoints learned from streams since the last tick of the clock; and those of them that other workers
    /// do not know yet.
    learned: Vec<LearnedEndpoint>,
    pub(crate) unsent_learned: Vec<LearnedEndpoint>,
    /// Which worker this is, of how many.
    worker: usize,
    workers: usize,
    pub(crate) counts: MediaCounts,
    /// Memory for records, and for the lists of streams that end with a call.
    pub(crate) memory: RecordMemory,
    pub(crate) ended: Lists<EndedStream>,
}

/// What a stream costs beside its entries in the tables of endpoints and intervals and in the index of flows.
const _: () = assert!(size_of::<Flow>() + size_of::<FlowDetails>() < 480);

impl StreamTable {
    /// For one of several workers with that part of the ceilings. The calls of all are known to each.
    pub(crate) fn new(config: &Config, worker: usize, workers: usize, hasher: Hasher) -> Self {
        let (streams, calls) = (config.max_streams, config.max_calls * workers);
        Self {
            flows: Flows::new(streams, hasher.clone(), config.live),
            endpoints: Endpoints::new(2 * streams + MAX_LEGS * calls, hasher.clone(), config.live),
            replicas: CallReplicas::new(calls, hasher.clone()),
            codecs: Codecs::new(hasher),
            intervals: Rows::new(streams.saturating_mul(32)),
            ended_interval: None,
            lost_time: None,
            digits: Rows::new(streams.min(1 << 16)),
            measure_sound: config.measure_sound,
            provisional_limit: config.provisional_limit,
            learned: Vec::new(),
            unsent_learned: Vec::new(),
            worker,
            workers,
            counts: MediaCounts::default(),
            memory: RecordMemory::default(),
            ended: Lists::default(),
        }
    }

    /// Prefetches the index entry of a call that will announce media.
    pub(crate) fn prefetch_call_index(&self, call: CallRef) {
        self.replicas.prefetch_index(call);
    }

    /// Prefetches the replica of a call whose index entry was prefetched a while ago.
    pub(crate) fn prefetch_call_replica(&self, call: CallRef) {
        self.replicas.prefetch(call);
    }

    /// Prefetches the index entry of an endpoint that will be announced.
    pub(crate) fn prefetch_endpoint_index(&self, endpoint: Endpoint) {
        self.endpoints.prefetch_index(endpoint);
    }

    /// The call of the stream from `src` to `dst` with this SSRC.
    pub(crate) fn find_call_of(&self, src: Endpoint, dst: Endpoint, ssrc: u32) -> Option<CallRef> {
        self.call_of(self.find(&FlowKey { src, dst, ssrc })?)
    }

    pub(crate) fn len(&self) -> usize {
        self.flows.len()
    }

    pub(crate) fn intervals_refused(&self) -> u64 {
        self.intervals.refused
    }

    /// Brings the place of a flow in the index into the cache.
    #[inline]
    pub(crate) fn prefetch_index(&self, hash: u64) {
        self.flows.prefetch_index(hash);
    }

    /// The flow that a hash seems to mean, brought into the cache.
    #[inline]
    pub(crate) fn prefetch(&self, hash: u64) -> u32 {
        self.flows.prefetch(hash)
    }

    /// Brings what a sink of packets is told of a flow into the cache: its ends, its number.
    #[inline]
    pub(crate) fn prefetch_names(&self, slot: u32) {
        self.flows.prefetch_details(slot);
    }

    /// And its call; the names have come by now.
    #[inline]
    pub(crate) fn prefetch_replica(&self, slot: u32) {
        if let Some(view) = self.flows.details_at(slot).and_then(FlowDetails::call) {
            self.replicas.prefetch_slot(view);
        }
    }

    /// The number of a live flow among all streams, see [`crate::StreamEnd`].
    pub(crate) fn serial(&self, slot: u32) -> u64 {
        self.flows.details(slot).serial
    }

    /// Between whom a live flow runs.
    pub(crate) fn ends(&self, slot: u32) -> FlowKey {
        self.flows.details(slot).slow.key
    }

    /// The call of a live flow.
    pub(crate) fn call_of(&self, slot: u32) -> Option<CallRef> {
        let view = self.replicas.get(self.flows.details(slot).call()?)?;
        Some(view.call)
    }

    /// The flow of a packet, if there is one.
    #[inline]
    pub(crate) fn find(&self, key: &FlowKey) -> Option<u32> {
        self.flows.find(key)
    }

    /// Whether the flow must give way to a new one before its next packet: another call took its endpoints
    /// over.
    pub(crate) fn must_split(&self, slot: u32) -> bool {
        self.flows.flow(slot).flags & SPLIT != 0
    }

    /// Takes the next packet of a flow, if it is one like those before it. HOT.
    #[inline]
    pub(crate) fn fast_path(&mut self, slot: u32, key: Key, packet: &RtpPacket, payload: &[u8]) -> bool {
        let Some(flow) = self.flows.verified(slot, key) else { return false };
        if !flow.fast_path(packet) {
            return false;
        }
        if flow.flags & SOUND != 0 {
            flow.sound.listen(payload, packet.payload_type);
        }
        true
    }

    /// Takes the next packet of a flow, whatever it is.
    pub(crate) fn slow_path(&mut self, slot: u32, packet: &RtpPacket, view: &rtp::View<'_>) -> Accepted {
        let flow = self.flows.flow_mut(slot);
        if flow.fast_path(packet) {
            if flow.flags & SOUND != 0 {
                flow.sound.listen(view.payload(), packet.payload_type);
            }
            let serial = self.flows.details(slot).serial;
            return Accepted { slot, serial, arrival: Arrival::Ahead { missing: 0 } };
        }
        if packet.payload_type != flow.payload_type || (flow.is_event() && packet.payload_len != EVENT_BYTES)
        {
            self.switch_type(slot, packet);
        }
        let elsewhere = self.spent_elsewhere(slot, packet);
        let (flow, details) = self.flows.both_mut(slot);
        let (before, pace) = (flow.last_first_copy(&details.slow), flow.pace());
        let result = flow.slow_path(&mut details.slow, packet, |highest, missing| {
            elsewhere.map_or(0, |siblings| siblings.spent(highest, missing))
        });
        if let Some(row) = result.ended {
            self.intervals.push(&mut details.intervals, row);
            self.ended_interval = Some((slot, row));
        }
        if result.arrival != Arrival::Duplicate && flow.flags & SOUND != 0 {
            flow.sound.listen(view.payload(), packet.payload_type);
        }
        if flow.is_event() && matches!(result.arrival, Arrival::Ahead { .. } | Arrival::Restart) {
            self.telephone_event(slot, packet, view);
        }
        if let Arrival::Ahead { missing: missing @ 1.. } = result.arrival {
            self.note_lost_time(slot, (before, packet.now), missing, pace);
        }
        let (flow, details) = self.flows.both_mut(slot);
        let advances = flow.flags & ADVANCED != 0 || flow.is_event();
        if flow.flags & PROVISIONAL != 0 && details.slow.sequential >= MIN_SEQUENTIAL && advances {
            flow.flags &= !PROVISIONAL;
        }
        Accepted { slot, serial: details.serial, arrival: result.arrival }
    }

    /// Where the numbers that may be missing before a packet went, if the flow has had reason to spend them
    /// elsewhere.
    fn spent_elsewhere(&self, slot: u32, packet: &RtpPacket) -> Option<Siblings> {
        let (flow, details) = (self.flows.flow(slot), self.flows.details(slot));
        if flow.flags & (SIBLINGS | FAX | EVENT) == 0 || !flow.leaps(packet.sequence) {
            return None;
        }
        let status = details.call().filter(|_| flow.flags & FAX != 0);
        let status = status.and_then(|call| Some(self.replicas.get(call)?.status));
        let offered = status.and_then(|status| status.fax);
        let fax =
            packet.now.since(flow.last) > FAX_GAP && offered.is_some_and(|at| at + FAX_LEAD > flow.last);
        // A gateway turned telephone-events into messages, which come while these would have.
        let keyed = status.and_then(|status| status.keyed).is_some_and(|at| at + KEY_LEAD > flow.last);
        // Events alone, whose sound was left out of the capture: what lies between two of them was never
        // here.
        let between = flow.is_event() && details.types.iter().all(|count| count.packets == 0 || count.event);
        Some(Siblings::of(&self.flows, &self.endpoints, slot, &details.slow.key, fax || keyed || between))
    }

    /// Begins a flow with its first packet, which has that place in the order of the input. None when there
    /// is no place for it.
    #[cold]
    pub(crate) fn begin(
        &mut self,
        key: FlowKey,
        packet: &RtpPacket,
        view: &rtp::View<'_>,
        order: InputOrder,
        timers: &mut TimerWheel,
    ) -> Option<Accepted> {
        if self.flows.is_full() {
            self.counts.refused += 1;
            return None;
        }
        // The same with any number of workers: what began it says it.
        let serial = order.number << 8 | u64::from(order.index.min(0xff));
        let (short, hashed) = Key::of(&key, self.flows.hasher());
        let flags = PROVISIONAL | if hashed { HASHED } else { 0 };
        let (flow, slow) = Flow::new(short, key, packet, flags);
        let slot = self.flows.insert(flow, FlowDetails { slow, serial, ..FlowDetails::NONE })?;
        self.mark_siblings(slot);
        let nodes =
            [key.src, key.dst].map(|end| self.endpoints.add(end, OwnerList::Flows, slot).unwrap_or(NONE));
        self.flows.details_mut(slot).nodes = nodes;
        self.find_call(slot, order);
        self.begin_type(slot, packet.payload_type, packet.payload_len);
        let flow = self.flows.flow_mut(slot);
        flow.flags &= !RECLOCKED;
        if flow.flags & SOUND != 0 {
            flow.sound.listen(view.payload(), packet.payload_type);
        }
        if flow.is_event() {
            self.telephone_event(slot, packet, view);
        }
        timers.arm(
            packet.now + self.provisional_limit,
            Timer { owner: TimerOwner::Streams, ticket: self.flows.ticket(slot) },
        );
        Some(Accepted { slot, serial, arrival: Arrival::Ahead { missing: 0 } })
    }

    /// Streams of the same source and SSRC to other destinations share one numbering.
    fn mark_siblings(&mut self, slot: u32) {
        let Self { flows, endpoints, .. } = self;
        let key = flows.details(slot).slow.key;
        for owner in endpoints.owners(key.src, OwnerList::Flows) {
            let other = &flows.details(owner).slow.key;
            if other.src == key.src && other.ssrc == key.ssrc && other.dst != key.dst {
                flows.flow_mut(owner).flags |= SIBLINGS;
                flows.flow_mut(slot).flags |= SIBLINGS;
            }
        }
    }

    /// When a flow was last heard.
    pub(crate) fn last(&self, slot: u32) -> Nanos {
        self.flows.get(slot).map_or(Nanos::ZERO, |(flow, _)| flow.last)
    }

    /// Whether a call has a flow.
    pub(crate) fn has_call(&self, slot: u32) -> bool {
        self.flows.get(slot).is_some_and(|(_, details)| details.call().is_some())
    }

    pub(crate) fn is_provisional(&self, slot: u32) -> bool {
        self.flows.flow(slot).flags & PROVISIONAL != 0
    }

    pub(crate) fn redeem(&self, ticket: Ticket) -> Option<u32> {
        self.flows.redeem(ticket)
    }

    pub(crate) fn slots(&self) -> Vec<u32> {
        let mut slots = self.flows.indices();
        slots.sort_by_key(|slot| self.flows.details(*slot).serial);
        slots
    }
}

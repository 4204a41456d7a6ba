//! What media knows of calls: a replica in every worker, kept equal by applying the same updates in the same
//! order.

use std::net::IpAddr;

use ringtap_model::Endpoint;

use super::record::EndedStream;
use crate::codecs::CodecId;
use crate::memory::{ALLOCATION_BYTES, PLACE_BYTES};
use crate::table::hash::Hasher;
use crate::table::index::Index;
use crate::table::slots::Slots;
use crate::update::{CallRef, CallStatus, InputOrder, PayloadTypes, Side};

/// A media endpoint that SDP announced, or that was learned from a stream behind NAT.
#[derive(Clone, Debug)]
pub(super) struct Leg {
    pub(super) endpoint: Endpoint,
    /// Its entry in the table of endpoints.
    pub(super) node: u32,
    pub(super) side: Side,
    /// Number of its endpoint in that table, and its side.
    end: u32,
    /// Payload types as this side announced them; empty where it was learned.
    types: PayloadTypes,
    /// Those that are among them: a bit each.
    numbers: [u64; 2],
}

impl Leg {
    /// Of an endpoint that has this number in the table of endpoints.
    pub(super) fn new(
        (endpoint, number): (Endpoint, u32),
        node: u32,
        side: Side,
        types: PayloadTypes,
    ) -> Self {
        Self { endpoint, node, side, end: end(number, side), numbers: bits(&types), types }
    }

    /// Its side announced other payload types.
    pub(super) fn announce(&mut self, types: PayloadTypes) {
        self.numbers = bits(&types);
        self.types = types;
    }

    pub(super) fn types(&self) -> &PayloadTypes {
        &self.types
    }

    /// What its side announced a payload type to be.
    pub(super) fn codec(&self, payload_type: u8) -> Option<CodecId> {
        let (word, bit) = bit(payload_type);
        if self.numbers[word] & bit == 0 {
            return None;
        }
        self.types.iter().find(|(number, _)| *number == payload_type).map(|&(_, codec)| codec)
    }
}

fn bits(types: &PayloadTypes) -> [u64; 2] {
    let mut bits = [0; 2];
    for (number, _) in types.iter() {
        let (word, bit) = bit(*number);
        bits[word] |= bit;
    }
    bits
}

/// Where the bit of a payload type is.
fn bit(payload_type: u8) -> (usize, u64) {
    (usize::from(payload_type >> 6 & 1), 1 << (payload_type & 63))
}

fn end(number: u32, side: Side) -> u32 {
    number << 1 | side as u32
}

/// Which sides of a call have an endpoint, and which of them was first.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LegSides {
    pub(super) caller: bool,
    pub(super) callee: bool,
    pub(super) first: Option<Side>,
}

impl LegSides {
    pub(super) fn one(side: Side) -> Self {
        Self { caller: side == Side::Caller, callee: side == Side::Callee, first: Some(side) }
    }

    fn of(legs: &[Leg], number: u32) -> Self {
        let mut sides = Self::default();
        for leg in legs.iter().filter(|leg| leg.end >> 1 == number) {
            sides.caller |= leg.side == Side::Caller;
            sides.callee |= leg.side == Side::Callee;
            sides.first = sides.first.or(Some(leg.side));
        }
        sides
    }
}

/// A call, as far as its streams need it.
pub(super) struct CallReplica {
    pub(super) call: CallRef,
    /// Position of its first update.
    pub(super) born: InputOrder,
    pub(super) status: CallStatus,
    pub(super) legs: Vec<Leg>,
    /// Where its sides may have their media behind NAT.
    pub(super) natted: Vec<NattedLeg>,
    /// The ends of its legs, in the same order, where there are many: a scan over them touches a cache line
    /// or two.
    ends: Vec<u32>,
    /// Its streams in this worker, in order of their first packet.
    pub(super) flows: Vec<u32>,
    /// Its streams that ended before it: at most one per stream that replaced one, so bounded.
    pub(super) retired: Vec<EndedStream>,
    /// A call that announced the same endpoint for each side, see [`super::twins`].
    pub(super) twin: Option<CallRef>,
    /// One that has ended had streams in this worker.
    pub(super) is_heard_at_twin: bool,
}

impl CallReplica {
    /// Whether it has streams in this worker.
    pub(super) fn is_heard(&self) -> bool {
        !self.flows.is_empty() || !self.retired.is_empty()
    }

    /// Whether another call has the same media, and began later.
    pub(super) fn is_first_of_twins(&self, other: &Self) -> bool {
        (other.twin == Some(self.call) || self.twin == Some(other.call)) && self.born < other.born
    }

    /// Whether another call has an endpoint of this side too.
    pub(super) fn shares(&self, other: &Self, side: Side) -> bool {
        let few = |replica: &Self| replica.legs.len().min(FEW);
        let others = &other.legs[..few(other)];
        let of_side = self.legs[..few(self)].iter().filter(|leg| leg.side == side);
        of_side.into_iter().any(|leg| others.iter().any(|other| other.end == leg.end))
    }

    pub(super) fn add(&mut self, leg: Leg) {
        match self.legs.len() {
            ..FEW => {}
            FEW => self.ends = self.legs.iter().chain([&leg]).map(|leg| leg.end).collect(),
            _ => self.ends.push(leg.end),
        }
        self.legs.push(leg);
    }

    /// The sides that have the endpoint of that number.
    pub(super) fn sides(&self, number: Option<u32>) -> LegSides {
        let Some(number) = number else { return LegSides::default() };
        if self.ends.is_empty() {
            return LegSides::of(&self.legs, number);
        }
        // No end that is found ends the scan: so it needs one instruction for several.
        let is_any = |wanted: u32| self.ends.iter().fold(false, |any, end| any | (*end == wanted));
        match [Side::Caller, Side::Callee].map(|side| is_any(end(number, side))) {
            [false, false] => LegSides::default(),
            [true, false] => LegSides::one(Side::Caller),
            [false, true] => LegSides::one(Side::Callee),
            [true, true] => LegSides::of(&self.legs, number),
        }
    }

    /// Address of a side's signalling.
    pub(super) fn host(&self, side: Side) -> IpAddr {
        self.status.hosts[side as usize]
    }
}

/// Where a side may have its media behind NAT.
#[derive(Clone, Copy, Debug)]
pub(super) struct NattedLeg {
    /// Its entry in the table of endpoints, and the number of its endpoint there.
    pub(super) node: u32,
    pub(super) number: u32,
    pub(super) side: Side,
    /// The address is private, so it is one host's.
    pub(super) is_one_host: bool,
}

/// Such endpoints of a call: of sound and picture of both sides.
pub(super) const MAX_NATTED: usize = 4;

/// Bytes of an endpoint's entries in the table of endpoints and its index.
const ENDPOINT_BYTES: usize = 96;

/// Bytes that a worker holds of the media of a call that announced so many endpoints, each with that many
/// bytes of payload types: its lists have room for more, as vectors grow, and it may be behind NAT.
pub(crate) fn replica_bytes(ends: usize, types: usize) -> usize {
    if ends == 0 {
        return 0;
    }
    let legs = ends.next_power_of_two().max(4) * size_of::<Leg>();
    let natted = ends.min(MAX_NATTED) * (size_of::<NattedLeg>() + ENDPOINT_BYTES);
    let places = size_of::<CallReplica>() + PLACE_BYTES;
    places + legs + natted + ends * (ENDPOINT_BYTES + types) + 2 * ALLOCATION_BYTES
}

impl CallReplica {
    fn natted(&self, number: Option<u32>) -> Option<&NattedLeg> {
        self.natted.iter().find(|leg| Some(leg.number) == number)
    }

    /// The side that sends a stream, if the call explains it as media behind NAT.
    pub(super) fn natted_sender(&self, ends: &FlowEnds) -> Option<Side> {
        let [src, dst] = ends.ips;
        match (self.natted(ends.src), self.natted(ends.dst)) {
            (Some(from), Some(to)) => (from.side != to.side).then_some(from.side),
            (Some(from), None) => {
                (from.is_one_host && self.host(from.side.other()) == dst).then_some(from.side)
            }
            (None, Some(to)) => {
                (to.is_one_host && self.host(to.side.other()) == src).then(|| to.side.other())
            }
            (None, None) => None,
        }
    }
}

/// The ends of a flow: their numbers in the table of endpoints, and their addresses.
pub(super) struct FlowEnds {
    pub(super) src: Option<u32>,
    pub(super) dst: Option<u32>,
    pub(super) ips: [IpAddr; 2],
}

/// Legs that are scanned one by one.
const FEW: usize = 8;

/// The calls of all workers that announced media.
pub(super) struct CallReplicas {
    entries: Slots<CallReplica>,
    index: Index,
    hasher: Hasher,
}

impl CallReplicas {
    pub(super) fn new(ceiling: usize, hasher: Hasher) -> Self {
        Self { entries: Slots::new(ceiling), index: Index::new(ceiling), hasher }
    }

    /// Prefetches the index entry of a call.
    pub(super) fn prefetch_index(&self, call: CallRef) {
        self.index.prefetch(self.hasher.of(call));
    }

    /// Prefetches the replica of a call.
    pub(super) fn prefetch(&self, call: CallRef) {
        if let Some(replica) = self.find(call).and_then(|slot| self.get(slot)) {
            ringtap_cpu::prefetch(replica);
        }
    }

    pub(super) fn find(&self, call: CallRef) -> Option<u32> {
        self.index.find(self.hasher.of(call), |slot| self.entries[slot].call == call)
    }

    /// The replica of a call, created if new; None at the ceiling.
    pub(super) fn find_or_begin(
        &mut self,
        call: CallRef,
        born: InputOrder,
        status: CallStatus,
    ) -> Option<u32> {
        if let Some(slot) = self.find(call) {
            return Some(slot);
        }
        let (legs, ends) = (Vec::new(), Vec::new());
        let (natted, flows, retired) = (Vec::new(), Vec::new(), Vec::new());
        let (twin, is_heard_at_twin) = (None, false);
        let replica =
            CallReplica { call, born, status, legs, natted, ends, flows, retired, twin, is_heard_at_twin };
        let slot = self.entries.insert(replica)?;
        self.index.insert(self.hasher.of(call), slot);
        Some(slot)
    }

    pub(super) fn get(&self, slot: u32) -> Option<&CallReplica> {
        self.entries.get(slot)
    }

    /// Prefetches the replica in a slot.
    #[inline]
    pub(super) fn prefetch_slot(&self, slot: u32) {
        self.entries.prefetch(slot);
    }

    pub(super) fn get_mut(&mut self, slot: u32) -> Option<&mut CallReplica> {
        self.entries.get_mut(slot)
    }

    pub(super) fn remove(&mut self, call: CallRef) -> Option<CallReplica> {
        let slot = self.find(call)?;
        self.index.remove(self.hasher.of(call), slot);
        self.entries.remove(slot)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::slots::Ticket;

    fn call(slot: u32) -> CallRef {
        CallRef::new(0, Ticket { slot, generation: 0 })
    }

    fn begin(replicas: &mut CallReplicas, slot: u32, number: u64) -> Option<u32> {
        let hosts = [[192, 0, 2, 1].into(), [198, 51, 100, 1].into()];
        let status = CallStatus { hosts, is_over: false, fax: None, keyed: None };
        replicas.find_or_begin(call(slot), InputOrder { number, index: 0 }, status)
    }

    #[test]
    fn a_call_has_one_replica_that_remembers_its_first_update() {
        let mut replicas = CallReplicas::new(2, Hasher::new(1));
        let slot = begin(&mut replicas, 7, 100).unwrap();
        assert_eq!(begin(&mut replicas, 7, 200), Some(slot));
        assert_eq!(replicas.find(call(7)), Some(slot));
        let replica = replicas.get(slot).unwrap();
        assert_eq!((replica.call, replica.born.number), (call(7), 100));
        assert_eq!(replica.host(Side::Caller), IpAddr::from([192, 0, 2, 1]));
        assert_eq!(replica.host(Side::Callee), IpAddr::from([198, 51, 100, 1]));
    }

    #[test]
    fn at_the_ceiling_no_call_begins_until_one_has_ended() {
        let mut replicas = CallReplicas::new(1, Hasher::new(1));
        assert!(begin(&mut replicas, 1, 1).is_some());
        assert!(begin(&mut replicas, 2, 2).is_none());
        assert!(replicas.remove(call(2)).is_none());
        assert_eq!(replicas.remove(call(1)).map(|replica| replica.call), Some(call(1)));
        assert_eq!(replicas.find(call(1)), None);
        assert!(begin(&mut replicas, 2, 3).is_some());
    }
}

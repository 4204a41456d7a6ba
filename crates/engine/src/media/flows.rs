//! The table of flows: what every packet touches in one array, the rest in another, and the index that finds
//! them.

use super::details::FlowDetails;
use super::flow::{Flow, FlowKey, HASHED, Key, VACANT};
use crate::table::hash::Hasher;
use crate::table::index::Index;
use crate::table::slots::Ticket;

/// Flows under numbers that stay the same while they live. All places are reserved at the start; freed ones
/// are used again, newest first.
pub(crate) struct Flows {
    hot: Vec<Flow>,
    details: Vec<FlowDetails>,
    generations: Vec<u32>,
    free: Vec<u32>,
    index: Index,
    hasher: Hasher,
    ceiling: usize,
}

impl Flows {
    /// With places for `ceiling` flows. `prefault` touches every page of them now, not when a stream begins.
    pub(crate) fn new(ceiling: usize, hasher: Hasher, prefault: bool) -> Self {
        let ceiling = ceiling.min(u32::MAX as usize - 1);
        let mut flows = Self {
            hot: Vec::with_capacity(ceiling),
            details: Vec::with_capacity(ceiling),
            generations: Vec::with_capacity(ceiling),
            free: Vec::with_capacity(ceiling),
            index: Index::new(ceiling),
            hasher,
            ceiling,
        };
        ringtap_cpu::large_pages(flows.hot.spare_capacity_mut());
        ringtap_cpu::large_pages(flows.details.spare_capacity_mut());
        if prefault {
            flows.hot.resize(ceiling, Flow::NONE);
            flows.details.resize(ceiling, FlowDetails::NONE);
            flows.generations.resize(ceiling, u32::MAX);
            flows.free.extend((0..ceiling as u32).rev());
            flows.index.prefault();
        }
        flows
    }

    pub(crate) fn len(&self) -> usize {
        self.hot.len() - self.free.len()
    }

    /// Whether another flow finds a place.
    pub(crate) fn is_full(&self) -> bool {
        self.len() >= self.ceiling
    }

    pub(super) fn hasher(&self) -> &Hasher {
        &self.hasher
    }

    /// Puts a flow in; None at the ceiling.
    pub(super) fn insert(&mut self, flow: Flow, details: FlowDetails) -> Option<u32> {
        let slot = match self.free.pop() {
            Some(slot) => {
                (self.hot[slot as usize], self.details[slot as usize]) = (flow, details);
                slot
            }
            None if self.hot.len() < self.ceiling => {
                self.hot.push(flow);
                self.details.push(details);
                self.generations.push(u32::MAX);
                (self.hot.len() - 1) as u32
            }
            None => return None,
        };
        let generation = &mut self.generations[slot as usize];
        *generation = generation.wrapping_add(1);
        // The index has room for more than the ceiling.
        let entered = self.index.insert(flow.key.hash(&self.hasher), slot);
        debug_assert!(entered);
        Some(slot)
    }

    /// Takes a flow out.
    pub(super) fn remove(&mut self, slot: u32) -> Option<(Flow, FlowDetails)> {
        let flow = self.hot.get_mut(slot as usize).filter(|flow| flow.flags & VACANT == 0)?;
        let taken = (*flow, self.details[slot as usize]);
        flow.flags = VACANT;
        self.index.remove(taken.0.key.hash(&self.hasher), slot);
        self.free.push(slot);
        Some(taken)
    }

    /// The flow of a key.
    pub(crate) fn find(&self, key: &FlowKey) -> Option<u32> {
        let (short, hashed) = Key::of(key, &self.hasher);
        let hash = short.hash(&self.hasher);
        self.index.find(hash, |slot| {
            let flow = &self.hot[slot as usize];
            flow.key == short
                && (flow.flags & HASHED != 0) == hashed
                && (!hashed || self.details[slot as usize].slow.key == *key)
        })
    }

    /// Brings the place of a hash in the index into the cache.
    #[inline]
    pub(crate) fn prefetch_index(&self, hash: u64) {
        self.index.prefetch(hash);
    }

    /// The flow that seems to be meant by a hash, brought into the cache; [`crate::table::index::NONE`] where
    /// there is none.
    #[inline]
    pub(crate) fn prefetch(&self, hash: u64) -> u32 {
        let slot = self.index.first(hash);
        if let Some(flow) = self.hot.get(slot as usize) {
            ringtap_cpu::prefetch(flow);
        }
        slot
    }

    /// Asks for the place of a live flow in the index.
    pub(super) fn prefetch_index_of(&self, slot: u32) {
        if let Some((flow, _)) = self.get(slot) {
            self.index.prefetch(flow.key.hash(&self.hasher));
        }
    }

    /// Asks for a flow in both its parts.
    pub(super) fn prefetch_slot(&self, slot: u32) {
        if let (Some(flow), Some(details)) = (self.hot.get(slot as usize), self.details.get(slot as usize)) {
            ringtap_cpu::prefetch(flow);
            ringtap_cpu::prefetch(details);
        }
    }

    /// Asks for the part that few packets touch.
    #[inline]
    pub(super) fn prefetch_details(&self, slot: u32) {
        self.details.get(slot as usize).into_iter().for_each(ringtap_cpu::prefetch);
    }

    /// That part of a slot that may be any.
    #[inline]
    pub(super) fn details_at(&self, slot: u32) -> Option<&FlowDetails> {
        self.details.get(slot as usize)
    }

    /// The flow in a slot, if it is the one of this key. HOT.
    #[inline]
    pub(super) fn verified(&mut self, slot: u32, key: Key) -> Option<&mut Flow> {
        self.hot.get_mut(slot as usize).filter(|flow| flow.key == key)
    }

    /// What every packet touches of a live flow.
    pub(super) fn flow(&self, slot: u32) -> &Flow {
        &self.hot[slot as usize]
    }

    pub(super) fn flow_mut(&mut self, slot: u32) -> &mut Flow {
        &mut self.hot[slot as usize]
    }

    /// What packets change rarely of a live flow.
    pub(super) fn details(&self, slot: u32) -> &FlowDetails {
        &self.details[slot as usize]
    }

    pub(super) fn details_mut(&mut self, slot: u32) -> &mut FlowDetails {
        &mut self.details[slot as usize]
    }

    /// Both parts of a live flow.
    pub(super) fn both_mut(&mut self, slot: u32) -> (&mut Flow, &mut FlowDetails) {
        (&mut self.hot[slot as usize], &mut self.details[slot as usize])
    }

    /// Both parts, if there is a flow.
    pub(super) fn get(&self, slot: u32) -> Option<(&Flow, &FlowDetails)> {
        let flow = self.hot.get(slot as usize).filter(|flow| flow.flags & VACANT == 0)?;
        Some((flow, &self.details[slot as usize]))
    }

    /// The name of a live flow, for a timer.
    pub(crate) fn ticket(&self, slot: u32) -> Ticket {
        Ticket { slot, generation: self.generations.get(slot as usize).copied().unwrap_or(0) }
    }

    /// The slot, if the flow of that name still lives.
    pub(crate) fn redeem(&self, ticket: Ticket) -> Option<u32> {
        self.get(ticket.slot)?;
        (self.ticket(ticket.slot) == ticket).then_some(ticket.slot)
    }

    /// Every live flow's number, ascending.
    pub(crate) fn indices(&self) -> Vec<u32> {
        (0..self.hot.len() as u32).filter(|slot| self.get(*slot).is_some()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::media::flow::RtpPacket;
    use crate::testing::{at, end};

    fn table(ceiling: usize) -> Flows {
        Flows::new(ceiling, Hasher::new(1), false)
    }

    fn key(src: &str, dst: &str, ssrc: u32) -> FlowKey {
        FlowKey { src: end(src), dst: end(dst), ssrc }
    }

    fn insert(flows: &mut Flows, key: FlowKey) -> Option<u32> {
        let (short, hashed) = Key::of(&key, flows.hasher());
        let packet = RtpPacket {
            now: at(0),
            sequence: 1,
            timestamp: 0,
            payload_type: 8,
            marker: false,
            payload_len: 160,
            ip_len: 200,
        };
        let (flow, slow) = Flow::new(short, key, &packet, if hashed { HASHED } else { 0 });
        flows.insert(flow, FlowDetails { slow, ..FlowDetails::NONE })
    }

    const V4: (&str, &str) = ("192.0.2.1:4000", "198.51.100.1:6000");
    const V6: (&str, &str) = ("[2001:db8::1]:4000", "[2001:db8::2]:6000");

    #[test]
    fn a_flow_is_found_by_source_destination_and_ssrc() {
        for (src, dst) in [V4, V6] {
            let mut flows = table(4);
            let slot = insert(&mut flows, key(src, dst, 7));
            assert_eq!(flows.find(&key(src, dst, 7)), slot);
            for other in [key(src, dst, 8), key(dst, src, 7), key(src, src, 7)] {
                assert_eq!(flows.find(&other), None);
            }
        }
    }

    #[test]
    fn the_ceiling_holds_and_a_freed_slot_is_used_again_under_another_ticket() {
        for prefault in [false, true] {
            let mut flows = Flows::new(2, Hasher::new(1), prefault);
            let first = insert(&mut flows, key(V4.0, V4.1, 1)).unwrap();
            let second = insert(&mut flows, key(V6.0, V6.1, 2)).unwrap();
            assert!(flows.is_full() && insert(&mut flows, key(V4.0, V4.1, 3)).is_none());
            assert_eq!(flows.indices(), [0, 1]);
            let ticket = flows.ticket(first);
            assert_eq!(flows.redeem(ticket), Some(first));
            assert!(flows.remove(first).is_some() && flows.remove(first).is_none());
            assert_eq!((flows.len(), flows.redeem(ticket), flows.find(&key(V4.0, V4.1, 1))), (1, None, None));
            assert_eq!(insert(&mut flows, key(V4.0, V4.1, 3)), Some(first));
            assert_eq!((flows.redeem(ticket), flows.indices().len()), (None, 2));
            assert_eq!(flows.find(&key(V6.0, V6.1, 2)), Some(second));
        }
    }

    #[test]
    fn a_slot_that_the_index_guessed_is_verified() {
        let mut flows = table(4);
        let slot = insert(&mut flows, key(V4.0, V4.1, 1)).unwrap();
        let (short, _) = Key::of(&key(V4.0, V4.1, 1), flows.hasher());
        let (other, _) = Key::of(&key(V4.0, V4.1, 2), flows.hasher());
        assert!(flows.verified(slot, short).is_some());
        assert!(flows.verified(slot, other).is_none() && flows.verified(9, short).is_none());
    }
}

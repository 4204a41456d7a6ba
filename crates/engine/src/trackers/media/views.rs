//! What media knows of calls: a replica in every worker, kept the same by the same notes in the same order.

use std::net::IpAddr;

use ringtap_model::Endpoint;

use super::Figures;
use crate::table::hash::Hasher;
use crate::table::index::Index;
use crate::table::slots::Slots;
use crate::trackers::calls::{Side, Standing};
use crate::trackers::update::{CallRef, Order, Types};

/// A media endpoint that SDP named, or that a stream behind NAT turned out to use.
#[derive(Clone, Debug)]
pub(super) struct Leg {
    pub(super) endpoint: Endpoint,
    /// Its entry in the table of endpoints.
    pub(super) node: u32,
    pub(super) side: Side,
    /// Payload types as this side announced them; none where a stream taught it.
    pub(super) types: Types,
}

/// A call, as far as its streams need it.
pub(super) struct View {
    pub(super) call: CallRef,
    /// Its first note.
    pub(super) born: Order,
    pub(super) standing: Standing,
    pub(super) legs: Vec<Leg>,
    /// Its streams that this worker has, in order of their first packet.
    pub(super) flows: Vec<u32>,
    /// Those that ended before it: at most one per stream that took over, so bounded by them.
    pub(super) retired: Vec<Figures>,
}

impl View {
    /// Where the signalling of a side comes from.
    pub(super) fn host(&self, side: Side) -> IpAddr {
        self.standing.hosts[side as usize]
    }
}

/// The calls of all workers that announced media.
pub(super) struct Views {
    entries: Slots<View>,
    index: Index,
    hasher: Hasher,
}

impl Views {
    pub(super) fn new(ceiling: usize, hasher: Hasher) -> Self {
        Self { entries: Slots::new(ceiling), index: Index::new(ceiling), hasher }
    }

    /// Asks for the place of a call in the index.
    pub(super) fn prefetch_index(&self, call: CallRef) {
        self.index.prefetch(self.hasher.of(call));
    }

    /// Asks for the view of a call.
    pub(super) fn prefetch(&self, call: CallRef) {
        if let Some(view) = self.find(call).and_then(|slot| self.get(slot)) {
            ringtap_cpu::prefetch(view);
        }
    }

    pub(super) fn find(&self, call: CallRef) -> Option<u32> {
        self.index.find(self.hasher.of(call), |slot| self.entries[slot].call == call)
    }

    /// The view of a call that may be new; None at the ceiling.
    pub(super) fn find_or_begin(&mut self, call: CallRef, born: Order, standing: Standing) -> Option<u32> {
        if let Some(slot) = self.find(call) {
            return Some(slot);
        }
        let view = View { call, born, standing, legs: Vec::new(), flows: Vec::new(), retired: Vec::new() };
        let slot = self.entries.insert(view)?;
        self.index.insert(self.hasher.of(call), slot);
        Some(slot)
    }

    pub(super) fn get(&self, slot: u32) -> Option<&View> {
        self.entries.get(slot)
    }

    /// Asks for the view in a slot.
    #[inline]
    pub(super) fn prefetch_slot(&self, slot: u32) {
        self.entries.prefetch(slot);
    }

    pub(super) fn get_mut(&mut self, slot: u32) -> Option<&mut View> {
        self.entries.get_mut(slot)
    }

    pub(super) fn remove(&mut self, call: CallRef) -> Option<View> {
        let slot = self.find(call)?;
        self.index.remove(self.hasher.of(call), slot);
        self.entries.remove(slot)
    }
}

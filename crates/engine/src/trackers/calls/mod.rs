//! Calls by Call-ID.

mod call;
mod callid;
mod seen;
mod text;
mod told;
pub(crate) mod tracker;

pub(crate) use call::{CallEntry, Hop, Novelty, Side, Standing, Taken, round};
pub(crate) use text::text;
pub(crate) use told::Told;

use ringtap_model::Nanos;

use crate::table::hash::Hasher;
use crate::table::index::Index;
use crate::table::slots::{Slots, Ticket};

/// The table of calls under way.
pub(crate) struct Calls {
    entries: Slots<CallEntry>,
    index: Index,
    /// Of each place, the earliest time at which its call may end: timers that come before need not look at the call.
    dues: Vec<Nanos>,
    pub(crate) hasher: Hasher,
    /// Calls that found no place.
    pub(crate) refused: u64,
}

impl Calls {
    pub(crate) fn new(ceiling: usize, hasher: Hasher) -> Self {
        let mut dues = Vec::new();
        // Where a system does not promise so much, it grows instead.
        let _ = dues.try_reserve_exact(ceiling);
        Self { entries: Slots::new(ceiling), index: Index::new(ceiling), dues, hasher, refused: 0 }
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Asks for the place of a hash in the index. HOT.
    #[inline]
    pub(crate) fn prefetch_index(&self, hash: u64) {
        self.index.prefetch(hash);
    }

    /// Asks for the call that a hash seems to mean. HOT.
    #[inline]
    pub(crate) fn prefetch(&self, hash: u64) {
        if let Some(call) = self.entries.get(self.index.first(hash)) {
            ringtap_cpu::prefetch(call);
        }
    }

    /// The call of a Call-ID, whose hash is given.
    pub(crate) fn find(&self, call_id: &[u8], hash: u64) -> Option<u32> {
        self.index.find(hash, |slot| self.entries[slot].call_id.bytes() == call_id)
    }

    /// Begins a call; None at the ceiling.
    pub(crate) fn begin(&mut self, call_id: &[u8], hash: u64, hop: &Hop, drops: u64) -> Option<u32> {
        let slot = self.entries.insert(CallEntry::new(call_id, hash, hop, drops))?;
        self.index.insert(hash, slot);
        if self.dues.len() <= slot as usize {
            self.dues.resize(slot as usize + 1, Nanos::ZERO);
        }
        Some(slot)
    }

    /// The call in a slot ends at this time at the earliest.
    pub(crate) fn set_due(&mut self, slot: u32, due: Nanos) {
        if let Some(place) = self.dues.get_mut(slot as usize) {
            *place = due;
        }
    }

    /// The earliest time at which a call may end; zero for one that is gone.
    pub(crate) fn due(&self, ticket: Ticket) -> Nanos {
        let due = self.dues.get(ticket.slot as usize).copied();
        due.filter(|_| self.entries.ticket(ticket.slot) == ticket).unwrap_or_default()
    }

    /// Asks for the call in a slot.
    pub(crate) fn prefetch_slot(&self, slot: u32) {
        if let Some(call) = self.entries.get(slot) {
            ringtap_cpu::prefetch(call);
        }
    }

    pub(crate) fn get(&self, slot: u32) -> Option<&CallEntry> {
        self.entries.get(slot)
    }

    /// A call, and what its messages are hashed with.
    pub(crate) fn with_hasher(&mut self, slot: u32) -> (&Hasher, Option<&mut CallEntry>) {
        (&self.hasher, self.entries.get_mut(slot))
    }

    pub(crate) fn remove(&mut self, slot: u32) -> Option<CallEntry> {
        let entry = self.entries.remove(slot)?;
        self.index.remove(entry.hash, slot);
        self.set_due(slot, Nanos::ZERO);
        Some(entry)
    }

    pub(crate) fn ticket(&self, slot: u32) -> Ticket {
        self.entries.ticket(slot)
    }

    pub(crate) fn redeem(&self, ticket: Ticket) -> Option<u32> {
        self.entries.redeem(ticket)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, &CallEntry)> {
        self.entries.iter()
    }

    pub(crate) fn slots(&self) -> Vec<u32> {
        self.entries.indices()
    }
}

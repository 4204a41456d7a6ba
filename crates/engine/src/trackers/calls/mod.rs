//! Calls by Call-ID (RFC 3261).

mod announcement;
mod call;
mod continuation;
mod disconnect;
mod eviction;
mod holds;
mod links;
mod message;
mod rank;
mod seen;
mod session_timer;
mod strays;
#[cfg(test)]
mod tests;
mod tracker;

pub(crate) use call::{CallEntry, Handled, Novelty};
pub(crate) use continuation::{interrupt, whole_call_id};
pub(crate) use message::CallMessage;
use rank::{CALL_RANKS, SOURCES, UNANSWERED};
pub(crate) use tracker::CallTracker;

use ringtap_model::Nanos;

use crate::context::Hop;
use crate::table::hash::Hasher;
use crate::table::index::Index;
use crate::table::queues::Queues;
use crate::table::slots::{Slots, Ticket};

/// The table of calls in progress.
pub(crate) struct Calls {
    entries: Slots<CallEntry>,
    index: Index,
    /// Those that are not in conversation, by what became of them; see [`CallRank`].
    ranks: Queues,
    /// The same of those without an answer, by the address that their INVITE came from.
    sources: Queues,
    ceiling: usize,
    /// Bytes that all calls hold, and may hold.
    memory: usize,
    max_memory: usize,
    /// Per slot, the earliest time at which its call may end: a timer that fires before need not touch the
    /// call.
    dues: Vec<Nanos>,
    pub(crate) hasher: Hasher,
}

impl Calls {
    /// For up to `ceiling` calls, which hold up to `max_memory` bytes together.
    pub(crate) fn new(ceiling: usize, max_memory: usize, hasher: Hasher) -> Self {
        let mut dues = Vec::new();
        // Where the system refuses to reserve that much, it grows on demand.
        let _ = dues.try_reserve_exact(ceiling);
        Self {
            entries: Slots::new(ceiling),
            index: Index::new(ceiling),
            ranks: Queues::new(CALL_RANKS, ceiling),
            sources: Queues::new(SOURCES * UNANSWERED, ceiling),
            ceiling,
            memory: 0,
            max_memory,
            dues,
            hasher,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Prefetches the index entry of a hash. HOT.
    #[inline]
    pub(crate) fn prefetch_index(&self, hash: u64) {
        self.index.prefetch(hash);
    }

    /// Prefetches the call that a hash probably belongs to. HOT.
    #[inline]
    pub(crate) fn prefetch(&self, hash: u64) {
        if let Some(call) = self.entries.get(self.index.first(hash)) {
            ringtap_cpu::prefetch(call);
        }
    }

    /// The call of a Call-ID with that hash.
    pub(crate) fn find(&self, call_id: &[u8], hash: u64) -> Option<u32> {
        self.index.find(hash, |slot| self.entries[slot].call_id.is(call_id))
    }

    /// Begins a call; None at a ceiling.
    pub(crate) fn begin(&mut self, call_id: &[u8], hash: u64, hop: &Hop, drops: u64) -> Option<u32> {
        self.enter(CallEntry::new(call_id, hash, hop, drops))
    }

    /// Enters a call; None at a ceiling.
    pub(crate) fn enter(&mut self, mut call: CallEntry) -> Option<u32> {
        if self.memory > self.max_memory {
            return None;
        }
        let hash = call.hash;
        call.source = self.source(call.src.ip);
        let slot = self.entries.insert(call)?;
        self.index.insert(hash, slot);
        if self.dues.len() <= slot as usize {
            self.dues.resize(slot as usize + 1, Nanos::ZERO);
        }
        Some(slot)
    }

    /// Sets the earliest time at which the call in a slot may end.
    pub(crate) fn set_due(&mut self, slot: u32, due: Nanos) {
        if let Some(entry) = self.dues.get_mut(slot as usize) {
            *entry = due;
        }
    }

    /// The earliest time at which a call may end; zero for one that is gone.
    pub(crate) fn due(&self, ticket: Ticket) -> Nanos {
        let due = self.dues.get(ticket.slot as usize).copied();
        due.filter(|_| self.entries.ticket(ticket.slot) == ticket).unwrap_or_default()
    }

    /// Prefetches the call in a slot.
    pub(crate) fn prefetch_slot(&self, slot: u32) {
        if let Some(call) = self.entries.get(slot) {
            ringtap_cpu::prefetch(call);
        }
    }

    pub(crate) fn get(&self, slot: u32) -> Option<&CallEntry> {
        self.entries.get(slot)
    }

    /// A call, with the hasher of its messages.
    pub(crate) fn with_hasher(&mut self, slot: u32) -> (&Hasher, Option<&mut CallEntry>) {
        (&self.hasher, self.entries.get_mut(slot))
    }

    pub(crate) fn remove(&mut self, slot: u32) -> Option<CallEntry> {
        self.set_rank(slot, None);
        let entry = self.entries.remove(slot)?;
        self.memory -= entry.memory as usize;
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

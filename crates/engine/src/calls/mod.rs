//! Calls by Call-ID.

mod call;
mod text;

pub(crate) use call::{CallEntry, Hop, Novelty, Side, Standing, round};
pub(crate) use text::text;

use crate::hash::Hasher;
use crate::index::Index;
use crate::slots::{Slots, Ticket};

/// The table of calls under way.
pub(crate) struct Calls {
    entries: Slots<CallEntry>,
    index: Index,
    pub(crate) hasher: Hasher,
    /// Calls that found no place.
    pub(crate) refused: u64,
}

impl Calls {
    pub(crate) fn new(ceiling: usize, hasher: Hasher) -> Self {
        Self { entries: Slots::new(ceiling), index: Index::new(ceiling), hasher, refused: 0 }
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// The call of a Call-ID, whose hash is given.
    pub(crate) fn find(&self, call_id: &[u8], hash: u64) -> Option<u32> {
        self.index.find(hash, |slot| *self.entries[slot].call_id == *call_id)
    }

    /// Begins a call; None at the ceiling.
    pub(crate) fn begin(&mut self, call_id: &[u8], hash: u64, hop: &Hop, drops: u64) -> Option<u32> {
        let slot = self.entries.insert(CallEntry::new(call_id, hash, hop, drops))?;
        self.index.insert(hash, slot);
        Some(slot)
    }

    pub(crate) fn get(&self, slot: u32) -> Option<&CallEntry> {
        self.entries.get(slot)
    }

    pub(crate) fn get_mut(&mut self, slot: u32) -> Option<&mut CallEntry> {
        self.entries.get_mut(slot)
    }

    pub(crate) fn remove(&mut self, slot: u32) -> Option<CallEntry> {
        let entry = self.entries.remove(slot)?;
        self.index.remove(entry.hash, slot);
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

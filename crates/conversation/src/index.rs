//! Which remembered calls have an identifier, a number at a host, a target.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hash, RandomState};

use ringtap_model::Nanos;

/// Slots of calls by the keyed hash of what they have: nobody can choose identifiers that fall together.
#[derive(Default)]
pub(crate) struct Index {
    entries: HashMap<u64, Entry>,
    hasher: RandomState,
}

/// The calls with one key.
#[derive(Default)]
struct Entry {
    /// Those that are compared, oldest record first.
    slots: Vec<u32>,
    /// Remembered calls that have it, also those that are not compared.
    calls: u32,
    /// Unrelated calls have it: it tells nothing.
    is_worn: bool,
    /// When the last call ended that had to leave the list while it was remembered.
    crowded: Option<Nanos>,
}

/// What keys are made of.
#[derive(Clone, Copy, Hash)]
pub(crate) enum KeyKind {
    Identifier(u8),
    CallId,
    /// A number of a leg that a host got or sent.
    AtHost,
    /// A number that a host was told to call.
    Target,
}

impl Index {
    pub(crate) fn key(&self, kind: KeyKind, what: impl Hash) -> u64 {
        self.hasher.hash_one((kind, what))
    }

    /// The calls that have a key; none where it tells nothing.
    pub(crate) fn slots(&self, key: u64) -> &[u32] {
        self.entries.get(&key).map_or(&[], |entry| &entry.slots)
    }

    pub(crate) fn is_worn(&self, key: u64) -> bool {
        self.entries.get(&key).is_some_and(|entry| entry.is_worn)
    }

    /// Whether calls that ended up to `span` before `end` may have left the list.
    pub(crate) fn is_crowded(&self, key: u64, end: Nanos, span: Nanos) -> bool {
        self.entries.get(&key).and_then(|entry| entry.crowded).is_some_and(|crowded| crowded + span >= end)
    }

    /// Adds a call, and takes the oldest from the list where there are `most`: `end_of` tells when it ended.
    pub(crate) fn insert(&mut self, key: u64, slot: u32, most: usize, end_of: impl Fn(u32) -> Option<Nanos>) {
        let entry = self.entries.entry(key).or_default();
        entry.calls += 1;
        if entry.is_worn {
            return;
        }
        if entry.slots.len() >= most {
            let oldest = entry.slots.remove(0);
            entry.crowded = entry.crowded.max(end_of(oldest));
        }
        entry.slots.push(slot);
    }

    pub(crate) fn remove(&mut self, key: u64, slot: u32) {
        let Some(entry) = self.entries.get_mut(&key) else { return };
        entry.slots.retain(|other| *other != slot);
        entry.calls -= 1;
        if entry.calls == 0 {
            self.entries.remove(&key);
        }
    }

    /// From now on the key tells nothing, for as long as a remembered call has it.
    pub(crate) fn wear_out(&mut self, key: u64) {
        let entry = self.entries.entry(key).or_default();
        entry.is_worn = true;
        entry.slots = Vec::new();
    }
}

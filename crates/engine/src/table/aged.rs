//! A table of what is being put together: under a ceiling of entries and one of bytes, the oldest leaves
//! first.

use std::hash::Hash;

use hashbrown::HashTable;

use crate::table::hash::Hasher;
use crate::table::queues::Queues;
use crate::table::slots::Slots;

/// What an entry holds on the heap, in bytes.
pub(crate) trait HeapBytes {
    fn heap_bytes(&self) -> usize;
}

struct Entry<K, T> {
    key: K,
    hash: u64,
    value: T,
    bytes: usize,
}

/// Entries by key, in order of their age.
pub(crate) struct Aged<K, T> {
    entries: Slots<Entry<K, T>>,
    index: HashTable<u32>,
    order: Queues,
    hasher: Hasher,
    bytes: usize,
    max_bytes: usize,
    /// Entries that left before their time.
    pub(crate) evicted: u64,
}

impl<K: Eq + Hash, T: HeapBytes> Aged<K, T> {
    /// For up to `ceiling` entries, which hold up to `max_bytes` together.
    pub(crate) fn new(ceiling: usize, max_bytes: usize, hasher: Hasher) -> Self {
        let ceiling = ceiling.max(1);
        Self {
            entries: Slots::new(ceiling),
            index: HashTable::new(),
            order: Queues::new(1, ceiling),
            hasher,
            bytes: 0,
            max_bytes,
            evicted: 0,
        }
    }

    /// The entry of a key; a new one where there is none.
    pub(crate) fn find_or_insert(&mut self, key: K, new: impl FnOnce() -> T) -> Option<u32> {
        let hash = self.hasher.of(&key);
        if let Some(slot) = self.find_hashed(&key, hash) {
            return Some(slot);
        }
        if self.entries.is_full() {
            self.evict();
        }
        let slot = self.entries.insert(Entry { key, hash, value: new(), bytes: 0 })?;
        let Self { entries, index, .. } = self;
        index.insert_unique(hash, slot, |slot| entries[*slot].hash);
        self.order.push(slot, 0);
        Some(slot)
    }

    /// The entry of a key.
    pub(crate) fn find(&self, key: &K) -> Option<u32> {
        self.find_hashed(key, self.hasher.of(key))
    }

    fn find_hashed(&self, key: &K, hash: u64) -> Option<u32> {
        self.index.find(hash, |slot| self.entries[*slot].key == *key).copied()
    }

    /// INVARIANT: the slot is that of an entry.
    pub(crate) fn get_mut(&mut self, slot: u32) -> &mut T {
        &mut self.entries[slot].value
    }

    /// An entry has grown: makes room for it, which may cost the entry itself.
    pub(crate) fn grown(&mut self, slot: u32) {
        let entry = &mut self.entries[slot];
        let bytes = size_of::<Entry<K, T>>() + entry.value.heap_bytes();
        self.bytes = self.bytes - entry.bytes + bytes;
        entry.bytes = bytes;
        while self.bytes > self.max_bytes && self.entries.len() > 0 {
            self.evict();
        }
    }

    /// Takes an entry out.
    pub(crate) fn remove(&mut self, slot: u32) -> Option<T> {
        let entry = self.entries.remove(slot)?;
        self.order.remove(slot);
        self.bytes -= entry.bytes;
        if let Ok(found) = self.index.find_entry(entry.hash, |other| *other == slot) {
            found.remove();
        }
        Some(entry.value)
    }

    /// Takes the oldest entry out if `is_due` holds for it.
    pub(crate) fn remove_oldest_if(&mut self, is_due: impl FnOnce(&T) -> bool) -> Option<T> {
        let slot = self.order.oldest(0).filter(|slot| is_due(&self.entries[*slot].value))?;
        self.remove(slot)
    }

    fn evict(&mut self) {
        if self.remove_oldest_if(|_| true).is_some() {
            self.evicted += 1;
        }
    }

    /// Bytes that the entries hold.
    #[cfg(test)]
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl HeapBytes for Vec<u8> {
        fn heap_bytes(&self) -> usize {
            self.capacity()
        }
    }

    fn put(table: &mut Aged<u32, Vec<u8>>, key: u32, bytes: usize) {
        let slot = table.find_or_insert(key, Vec::new).unwrap();
        *table.get_mut(slot) = vec![0; bytes];
        table.grown(slot);
    }

    fn keys(table: &Aged<u32, Vec<u8>>) -> Vec<u32> {
        (0..10).filter(|key| table.find(key).is_some()).collect()
    }

    #[test]
    fn the_oldest_leaves_at_the_ceiling_of_entries_and_at_that_of_bytes() {
        let mut table = Aged::new(3, 4000, Hasher::new(1));
        for key in 1..=4 {
            put(&mut table, key, 10);
        }
        assert_eq!((keys(&table), table.evicted), (vec![2, 3, 4], 1));
        put(&mut table, 3, 3850);
        assert_eq!((keys(&table), table.evicted), (vec![3, 4], 2));
        put(&mut table, 4, 5000);
        assert_eq!((keys(&table), table.bytes()), (vec![], 0), "one that is too large for all leaves too");
    }

    #[test]
    fn what_is_taken_out_gives_its_bytes_back() {
        let mut table = Aged::new(3, 4000, Hasher::new(1));
        put(&mut table, 1, 100);
        put(&mut table, 2, 100);
        assert!(table.remove_oldest_if(|value| value.len() > 100).is_none());
        assert!(table.remove_oldest_if(|value| value.len() == 100).is_some());
        let slot = table.find(&2).unwrap();
        assert!(table.remove(slot).is_some());
        assert_eq!((table.bytes(), table.evicted), (0, 0));
    }
}

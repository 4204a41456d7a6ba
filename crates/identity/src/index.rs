//! Places by the hash of what is kept there.

use hashbrown::HashTable;

/// Places by hashes of 32 bits, in nine bytes each: who looks for something compares what it finds there.
#[derive(Debug, Default)]
pub(crate) struct Index(HashTable<(u32, u32)>);

impl Index {
    /// Adds a place, once more where it has that hash already.
    pub(crate) fn insert(&mut self, hash: u32, place: u32) {
        self.0.insert_unique(spread(hash), (hash, place), |(hash, _)| spread(*hash));
    }

    /// Places with that hash, in no order.
    pub(crate) fn places(&self, hash: u32) -> impl Iterator<Item = u32> {
        self.0.iter_hash(spread(hash)).filter(move |(own, _)| *own == hash).map(|(_, place)| *place)
    }

    /// Takes out a place once, if it has that hash.
    pub(crate) fn remove(&mut self, hash: u32, place: u32) {
        if let Ok(found) = self.0.find_entry(spread(hash), |found| *found == (hash, place)) {
            found.remove();
        }
    }
}

/// All bits of it, from the hash alone: the table takes buckets from the lowest, and tags from the highest.
fn spread(hash: u32) -> u64 {
    u64::from(hash).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_found_by_their_hash_until_they_are_taken_out() {
        let mut index = Index::default();
        (0..10_000).for_each(|place| index.insert(place / 2, place));
        for hash in 0..5_000 {
            let mut places: Vec<u32> = index.places(hash).collect();
            places.sort_unstable();
            assert_eq!(places, [2 * hash, 2 * hash + 1]);
            index.remove(hash, 2 * hash);
            index.remove(hash, 7);
        }
        assert!((4..5_000).all(|hash| index.places(hash).eq([2 * hash + 1])));
        assert_eq!(index.places(3).count(), 0);
    }
}

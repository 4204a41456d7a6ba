//! Keys of the maps of the table: hashes instead of texts, which would be stored three times.

use std::collections::HashMap;
use std::hash::{BuildHasher, BuildHasherDefault, Hash, Hasher, RandomState};

/// Two hashes with secret keys, of 128 bits together: by chance no two of a billion values have the same, and
/// who sends packets cannot choose any that do.
pub(crate) type Key = [u64; 2];

/// A map by keys, which are hashes already.
pub(crate) type ByKey<T> = HashMap<Key, T, BuildHasherDefault<FirstHalf>>;

/// Makes keys.
#[derive(Debug, Default)]
pub(crate) struct Keys([RandomState; 2]);

impl Keys {
    pub(crate) fn of(&self, value: impl Hash) -> Key {
        let [one, other] = &self.0;
        [one.hash_one(&value), other.hash_one(&value)]
    }
}

/// Its first half is the hash of a key.
#[derive(Debug, Default)]
pub(crate) struct FirstHalf(u64);

impl Hasher for FirstHalf {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        // A key is hashed as its bytes, whose length, which comes before, says nothing.
        if let Some(first) = bytes.first_chunk() {
            self.0 = u64::from_ne_bytes(*first);
        }
    }

    fn write_usize(&mut self, _: usize) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_those_of_their_values_and_spread_over_a_map() {
        let keys = Keys::default();
        assert_eq!(keys.of(("nas", "S1")), keys.of((&*"nas".to_owned(), &*"S1".to_owned())));
        assert_ne!(keys.of(("nas", "S1")), keys.of(("nasS", "1")));
        assert_ne!(keys.of(("nas", "S1"))[0], keys.of(("nas", "S1"))[1]);
        let map: ByKey<u32> = (0..10_000).map(|number| (keys.of(number), number)).collect();
        assert!((0..10_000).all(|number| map.get(&keys.of(number)) == Some(&number)));
        let hashes: std::collections::BTreeSet<u64> =
            map.keys().map(|key| map.hasher().hash_one(key)).collect();
        assert_eq!(hashes.len(), map.len());
    }
}

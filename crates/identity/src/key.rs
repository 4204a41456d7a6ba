//! Keys of what is found in the table: hashes instead of texts, which would be stored three times.

use std::hash::{BuildHasher, Hash, RandomState};

/// Two hashes with secret keys, of which 96 bits are kept: by chance no two of a billion values have the
/// same, and who sends packets cannot choose any that do.
pub(crate) type Key = [u64; 2];

/// Makes keys.
#[derive(Debug, Default)]
pub(crate) struct Keys([RandomState; 2]);

impl Keys {
    pub(crate) fn of(&self, value: impl Hash) -> Key {
        let [one, other] = &self.0;
        [one.hash_one(&value), other.hash_one(&value)]
    }

    /// A hash for what is compared where it leads to.
    pub(crate) fn short(&self, value: impl Hash) -> u32 {
        self.0[0].hash_one(value) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_those_of_their_values() {
        let keys = Keys::default();
        assert_eq!(keys.of(("nas", "S1")), keys.of((&*"nas".to_owned(), &*"S1".to_owned())));
        assert_ne!(keys.of(("nas", "S1")), keys.of(("nasS", "1")));
        assert_ne!(keys.of(("nas", "S1"))[0], keys.of(("nas", "S1"))[1]);
    }
}

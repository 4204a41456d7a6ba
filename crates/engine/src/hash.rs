//! One keyed hash for every table.

use std::hash::{BuildHasher, Hash};

use foldhash::fast::FixedState;
use sha2::{Digest, Sha256};

use ringtap_model::Id;

/// Hashes what tables are keyed by. Seeded, so that a sender cannot aim at one bucket; equal seeds give equal runs.
#[derive(Clone, Debug)]
pub(crate) struct Hasher(FixedState);

impl Hasher {
    pub(crate) fn new(seed: u64) -> Self {
        Self(FixedState::with_seed(seed))
    }

    pub(crate) fn of<K: Hash>(&self, key: K) -> u64 {
        self.0.hash_one(key)
    }
}

/// The id of a record: SHA-256 over its parts, cut to 128 bits. Parts are framed by their length, so that no two
/// lists of parts run together; a sender cannot make two calls share an id and so write over a record.
pub(crate) fn id<'a>(kind: &str, parts: impl IntoIterator<Item = &'a [u8]>) -> Id {
    let mut digest = Sha256::new();
    digest.update(kind.as_bytes());
    for part in parts {
        digest.update((part.len() as u64).to_le_bytes());
        digest.update(part);
    }
    let mut id = [0; 16];
    id.copy_from_slice(&digest.finalize()[..16]);
    Id(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_do_not_run_together() {
        assert_ne!(id("call", [&b"ab"[..], b"c"]), id("call", [&b"a"[..], b"bc"]));
        assert_ne!(id("call", [&b"ab"[..]]), id("stream", [&b"ab"[..]]));
    }
}

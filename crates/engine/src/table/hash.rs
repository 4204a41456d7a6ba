//! One keyed hash for every table.

use std::hash::{BuildHasher, Hash};

use foldhash::fast::FixedState;
use sha2::{Digest, Sha256};

use ringtap_model::Id;

/// Hashes what tables are keyed by. Seeded, so that a sender cannot aim at one bucket; equal seeds give equal
/// runs.
#[derive(Clone, Debug)]
pub(crate) struct Hasher {
    state: FixedState,
    keys: [u64; KEYS],
}

/// Two for each pair of the longest key that [`Hasher::wide`] takes, and two more.
const KEYS: usize = 8;

impl Hasher {
    pub(crate) fn new(seed: u64) -> Self {
        let state = FixedState::with_seed(seed);
        let keys = std::array::from_fn(|at| state.hash_one(at as u8 + 1));
        Self { state, keys }
    }

    pub(crate) fn of<K: Hash>(&self, key: K) -> u64 {
        self.state.hash_one(key)
    }

    /// Of sixteen bytes. Two multiplications: the first mixes what is secret into both halves before they
    /// meet, the second spreads the result over all bits. (CRC32C would be one instruction less, but it is
    /// linear: keys that collide under one seed collide under every seed, and are found by hand.)
    // HOT: once a media packet.
    #[inline]
    pub(crate) fn pair(&self, [a, b]: [u64; 2]) -> u64 {
        let [k0, k1, k2, k3, ..] = self.keys;
        fold(fold(a ^ k0, b ^ k1) ^ k2, k3 | 1)
    }

    /// 128 bits of up to three pairs, so many that nobody finds two keys with the same: two sums of products,
    /// each factor with a secret of its own, the second sum with those two further on.
    // HOT: once a media packet of IPv6, unrolled where the number of pairs is known. No product waits for
    // another.
    #[inline]
    pub(crate) fn wide<const N: usize>(&self, pairs: &[[u64; 2]; N]) -> [u64; 2] {
        const { assert!(2 * N + 2 <= KEYS) };
        let mut sums = [0u64; 2];
        for (at, [a, b]) in pairs.iter().enumerate() {
            for (half, sum) in sums.iter_mut().enumerate() {
                let from = 2 * (at + half);
                *sum = sum.wrapping_add(fold(a ^ self.keys[from], b ^ self.keys[from + 1]));
            }
        }
        let [first, second] = sums;
        [self.pair([first, second]), self.pair([second ^ self.keys[3], first ^ self.keys[2]])]
    }
}

/// Both halves of a product of 128 bits, in one word.
#[inline]
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}

/// The id of a record: SHA-256 over its parts, cut to 128 bits. Parts are framed by their length, so that no
/// two lists of parts run together; a sender cannot make two calls share an id and so write over a record.
pub(crate) fn id<'a>(kind: &str, parts: impl IntoIterator<Item = &'a [u8]>) -> Id {
    let mut digest = Sha256::new();
    // Gathered first: the digest is fed whole blocks then, which it needs not copy.
    let (mut bytes, mut len) = ([0; 256], 0);
    let mut feed = |length: Option<[u8; 8]>, part: &[u8]| {
        let needed = part.len() + 8;
        if needed > bytes.len() - len {
            digest.update(&bytes[..len]);
            len = 0;
        }
        if let (Some(length), Some(place)) = (length, bytes[len..].first_chunk_mut()) {
            *place = length;
            len += 8;
        }
        match bytes.get_mut(len..len + part.len()) {
            Some(place) => {
                place.copy_from_slice(part);
                len += part.len();
            }
            None => {
                digest.update(&bytes[..len]);
                digest.update(part);
                len = 0;
            }
        }
    };
    feed(None, kind.as_bytes());
    for part in parts {
        feed(Some((part.len() as u64).to_le_bytes()), part);
    }
    digest.update(&bytes[..len]);
    let mut id = [0; 16];
    id.copy_from_slice(&digest.finalize()[..16]);
    Id(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Keys as telephone networks have them, one bit or one number apart, spread over an index like any
    /// others.
    #[test]
    fn near_keys_spread() {
        for seed in [0, 1, 0x7269_6e67_7461_7000] {
            let hasher = Hasher::new(seed);
            let mut buckets = vec![0u32; 1 << 12];
            let mut wide = std::collections::HashSet::new();
            for n in 0..1 << 14u64 {
                let key = [0x0a00_0001_0b00_0000 | (n >> 7), (10_000 + 2 * (n & 0x7f)) << 48 | n];
                buckets[(hasher.pair(key) >> 52) as usize] += 1;
                wide.insert(hasher.wide(&[key, [0, n & 3]])[(n & 1) as usize]);
            }
            // Four each on average; 20 is once in ten million for chance alone.
            assert!(buckets.iter().all(|count| *count < 20));
            assert_eq!(wide.len(), 1 << 14);
            let one = hasher.pair([7, 7]);
            for bit in 0..128 {
                let flipped = (1u128 << bit) ^ (7 | 7 << 64);
                let changed = (one ^ hasher.pair([flipped as u64, (flipped >> 64) as u64])) >> 32;
                assert!((4..=28).contains(&changed.count_ones()), "bit {bit}");
            }
        }
    }

    #[test]
    fn gathered_or_not_it_is_the_same() {
        for lens in [
            [0, 1, 7],
            [200, 50, 3],
            [240, 8, 8],
            // Too few bytes are left for the length of the part that is empty.
            [241, 0, 5],
            [256, 0, 256],
            [1000, 4, 248],
            [248, 257, 240],
        ] {
            let bytes: Vec<u8> = (0..1000u32).map(|at| (at * 7) as u8).collect();
            let mut digest = Sha256::new();
            digest.update(b"kind");
            for len in lens {
                digest.update((len as u64).to_le_bytes());
                digest.update(&bytes[..len]);
            }
            assert_eq!(id("kind", lens.map(|len| &bytes[..len])).0, digest.finalize()[..16], "{lens:?}");
        }
    }

    #[test]
    fn parts_do_not_run_together() {
        assert_ne!(id("call", [&b"ab"[..], b"c"]), id("call", [&b"a"[..], b"bc"]));
        assert_ne!(id("call", [&b"ab"[..]]), id("stream", [&b"ab"[..]]));
    }
}

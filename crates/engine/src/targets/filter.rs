//! A set of keys that readers test without a lock: some keys that are not in it seem to be, never the other
//! way round.

use std::hash::BuildHasher;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use foldhash::fast::FixedState;
use hashbrown::HashMap;

/// Bits of a filter, as a power of two. It starts small, so that the few targets of most networks stay in the
/// first-level cache, and takes the next size when one in [`SPARSENESS`] of its bits would be set.
const SIZES: [u32; 5] = [14, 17, 20, 23, 25];
/// Bits for each key: one in 32 other keys seems to be in the set.
const SPARSENESS: usize = 32;

/// What readers see: one bit for each value of a short hash. One writer changes it, with its [`Members`].
#[derive(Debug)]
pub(super) struct Filter {
    sizes: [OnceLock<Box<[AtomicU64]>>; SIZES.len()],
    /// Which of them is read.
    size: AtomicUsize,
    multiplier: u64,
}

impl Filter {
    /// Empty. The seed keeps senders from choosing addresses that seem to be targets.
    pub(super) fn new(seed: u64) -> Self {
        let multiplier = FixedState::with_seed(seed).hash_one(seed) | 1;
        Self { sizes: [const { OnceLock::new() }; SIZES.len()], size: AtomicUsize::new(0), multiplier }
    }

    /// As it is until the next change.
    pub(super) fn view(&self) -> FilterView<'_> {
        let size = self.size.load(Ordering::Acquire);
        let words = self.sizes.get(size).and_then(OnceLock::get);
        let bits = SIZES.get(size).copied().unwrap_or(SIZES[0]);
        FilterView { words: words.map_or(&[], |words| words), multiplier: self.multiplier, shift: 64 - bits }
    }

    #[inline]
    fn bit(&self, key: u64, size: usize) -> u32 {
        (key.wrapping_mul(self.multiplier) >> (64 - SIZES[size])) as u32
    }

    fn words(&self, size: usize) -> &[AtomicU64] {
        self.sizes[size].get_or_init(|| (0..1usize << (SIZES[size] - 6)).map(|_| AtomicU64::new(0)).collect())
    }
}

/// A [`Filter`] of which the size is known.
#[derive(Clone, Copy, Debug)]
pub(super) struct FilterView<'a> {
    /// None while nothing was ever added.
    words: &'a [AtomicU64],
    multiplier: u64,
    shift: u32,
}

impl FilterView<'_> {
    /// Whether either key may be in the set: both, since what they need is the same. HOT.
    #[inline]
    pub(super) fn may_have(&self, keys: [u64; 2]) -> bool {
        // Not one after the other: a branch for each key would cost more.
        keys.into_iter().fold(0, |found, key| {
            let bit = key.wrapping_mul(self.multiplier) >> self.shift;
            let word = self.words.get((bit / 64) as usize).map_or(0, |word| word.load(Ordering::Relaxed));
            found | word >> (bit % 64) & 1
        }) != 0
    }
}

/// The writer's side: which keys there are, how often, and how many share a bit.
#[derive(Debug, Default)]
pub(super) struct Members {
    keys: HashMap<u64, u32, FixedState>,
    bits: HashMap<u32, u32, FixedState>,
}

impl Members {
    /// Adds a key, once more if it is there. Whether it was not.
    pub(super) fn add(&mut self, key: u64, filter: &Filter) -> bool {
        let count = self.keys.entry(key).or_default();
        *count += 1;
        if *count > 1 {
            return false;
        }
        let size = filter.size.load(Ordering::Relaxed);
        if self.keys.len() > (1 << SIZES[size]) / SPARSENESS && size + 1 < SIZES.len() {
            self.grow(size + 1, filter);
            return true;
        }
        self.set(key, filter, size);
        true
    }

    /// Takes a key away that was added, once.
    pub(super) fn remove(&mut self, key: u64, filter: &Filter) {
        let Some(count) = self.keys.get_mut(&key) else { return };
        *count -= 1;
        if *count > 0 {
            return;
        }
        self.keys.remove(&key);
        let size = filter.size.load(Ordering::Relaxed);
        let bit = filter.bit(key, size);
        let Some(sharing) = self.bits.get_mut(&bit) else { return };
        *sharing -= 1;
        if *sharing == 0 {
            self.bits.remove(&bit);
            filter.words(size)[(bit / 64) as usize].fetch_and(!(1 << (bit % 64)), Ordering::Relaxed);
        }
    }

    fn set(&mut self, key: u64, filter: &Filter, size: usize) {
        let bit = filter.bit(key, size);
        *self.bits.entry(bit).or_default() += 1;
        filter.words(size)[(bit / 64) as usize].fetch_or(1 << (bit % 64), Ordering::Relaxed);
    }

    /// Readers go on with the former size until every key is in the next.
    fn grow(&mut self, size: usize, filter: &Filter) {
        self.bits.clear();
        let keys: Vec<u64> = self.keys.keys().copied().collect();
        keys.into_iter().for_each(|key| self.set(key, filter, size));
        filter.size.store(size, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn has(filter: &Filter, key: u64) -> bool {
        filter.view().may_have([key, key])
    }

    #[test]
    fn few_other_keys_seem_to_be_in_the_set_at_any_size() {
        let (filter, mut members) = (Filter::new(7), Members::default());
        let mut state = 1u64;
        let mut random = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            state >> 32
        };
        for count in [1, 500, 4_000, 100_000] {
            let keys: Vec<u64> = (0..count).map(|_| random()).collect();
            keys.iter().for_each(|key| _ = members.add(*key, &filter));
            assert!(keys.iter().all(|key| has(&filter, *key)));
            let others = (0..10_000).filter(|_| has(&filter, random() | 1 << 40)).count();
            assert!(others < 10_000 / 20, "{others} of 10,000 beside {count}");
        }
    }

    proptest! {
        /// What was added and not removed as often is never missing, also across sizes.
        #[test]
        fn no_key_is_missed(
            seed: u64,
            changes in prop::collection::vec((any::<bool>(), 0u64..1500), 1..4000),
        ) {
            let (filter, mut members) = (Filter::new(seed), Members::default());
            let mut counts = HashMap::<u64, u32, FixedState>::default();
            for (is_added, key) in changes {
                let count = counts.entry(key).or_default();
                if is_added {
                    *count += 1;
                    members.add(key, &filter);
                } else if *count > 0 {
                    *count -= 1;
                    members.remove(key, &filter);
                }
            }
            for (key, count) in counts {
                prop_assert!(count == 0 || has(&filter, key));
            }
        }

        #[test]
        fn an_empty_set_has_nothing(
            seed: u64,
            keys in prop::collection::vec(any::<u64>(), 1..50),
            other: u64,
        ) {
            let (filter, mut members) = (Filter::new(seed), Members::default());
            prop_assert!(!has(&filter, other));
            keys.iter().for_each(|key| _ = members.add(*key, &filter));
            keys.iter().for_each(|key| members.remove(*key, &filter));
            prop_assert!(!has(&filter, other));
        }
    }
}

//! Where objects of a table are found by their hash: one cache line a look-up, for live captures without
//! growth and rehash while they run.

/// An open-addressed table from hashes to slots of a slab.
///
/// An entry is a word: the upper half of the hash, which also tells where it belongs, and the slot. Linear
/// probing at a load of two thirds at most, so a look-up ends in the line where it began, as a rule; taking
/// an entry out moves the next ones back, so that no tombstones gather. One sized for its ceiling is never
/// rehashed.
///
/// INVARIANT: the hash is keyed, so that nobody can aim entries at one place.
pub(crate) struct Index {
    entries: Box<[u64]>,
    mask: usize,
    shift: u32,
    len: usize,
    /// Positions to which it may grow.
    most: usize,
}

/// No slot.
pub(crate) const NONE: u32 = u32::MAX;

impl Index {
    /// For up to `ceiling` entries. Zeroed pages of the system: what is never used costs no memory.
    pub(crate) fn new(ceiling: usize) -> Self {
        let positions = positions(ceiling);
        let bits = positions.trailing_zeros();
        let mut entries = vec![EMPTY; positions].into_boxed_slice();
        ringtap_cpu::large_pages(&mut entries);
        Self { entries, mask: positions - 1, shift: 32 - bits.min(32), len: 0, most: positions }
    }

    /// As [`Index::new`], but small at the beginning, and twice as large whenever it is two thirds full: for
    /// files, where a pause of milliseconds is none, and the memory of a ceiling that is far away is.
    pub(crate) fn growing(ceiling: usize) -> Self {
        Self { most: positions(ceiling), ..Self::new(ceiling.min(FIRST)) }
    }

    /// Moves all entries into twice the room.
    #[cold]
    fn grow(&mut self) {
        let larger = Self { most: self.most, len: self.len, ..Self::new(self.entries.len()) };
        let entries = std::mem::replace(self, larger).entries;
        for entry in entries.into_iter().filter(|entry| *entry != EMPTY) {
            let mut position = self.home((entry >> 32) as u32);
            while self.entries[position] != EMPTY {
                position = (position + 1) & self.mask;
            }
            self.entries[position] = entry;
        }
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Brings the place of a hash into the cache.
    #[inline]
    pub(crate) fn prefetch(&self, hash: u64) {
        ringtap_cpu::prefetch(&self.entries[self.home(tag(hash))]);
    }

    /// The first slot under a hash that looks like it, to be verified; [`NONE`] where there is none. HOT.
    #[inline]
    pub(crate) fn first(&self, hash: u64) -> u32 {
        self.find(hash, |_| true).unwrap_or(NONE)
    }

    /// The slot under a hash for which `is` holds.
    #[inline]
    pub(crate) fn find(&self, hash: u64, mut is: impl FnMut(u32) -> bool) -> Option<u32> {
        let tag = tag(hash);
        let mut position = self.home(tag);
        loop {
            let entry = self.entries[position];
            if entry == EMPTY {
                return None;
            }
            if (entry >> 32) as u32 == tag && is(slot(entry)) {
                return Some(slot(entry));
            }
            position = (position + 1) & self.mask;
        }
    }

    /// Enters a slot. False, and nothing done, when all places that the ceiling allows are taken.
    pub(crate) fn insert(&mut self, hash: u64, slot: u32) -> bool {
        if self.len * 3 > self.mask * 2 && self.mask + 1 < self.most {
            self.grow();
        }
        // One place stays empty, so that every search ends.
        if self.len >= self.mask || slot == NONE {
            return false;
        }
        let tag = tag(hash);
        let mut position = self.home(tag);
        while self.entries[position] != EMPTY {
            position = (position + 1) & self.mask;
        }
        self.entries[position] = u64::from(tag) << 32 | u64::from(slot + 1);
        self.len += 1;
        true
    }

    /// Takes a slot out; false when it was not in.
    pub(crate) fn remove(&mut self, hash: u64, of: u32) -> bool {
        let tag = tag(hash);
        let mut hole = self.home(tag);
        loop {
            let entry = self.entries[hole];
            if entry == EMPTY {
                return false;
            }
            if (entry >> 32) as u32 == tag && slot(entry) == of {
                break;
            }
            hole = (hole + 1) & self.mask;
        }
        self.len -= 1;
        let mut position = hole;
        loop {
            position = (position + 1) & self.mask;
            let entry = self.entries[position];
            if entry == EMPTY {
                break;
            }
            // An entry may move back as far as the place where its search begins.
            let home = self.home((entry >> 32) as u32);
            if position.wrapping_sub(home) & self.mask >= position.wrapping_sub(hole) & self.mask {
                self.entries[hole] = entry;
                hole = position;
            }
        }
        self.entries[hole] = EMPTY;
        true
    }

    /// Touches every page, so that none is missing when a packet needs it.
    pub(crate) fn prefault(&mut self) {
        self.entries.fill(EMPTY);
    }

    #[inline]
    fn home(&self, tag: u32) -> usize {
        (tag as usize >> self.shift) & self.mask
    }
}

/// Positions for up to `ceiling` entries.
fn positions(ceiling: usize) -> usize {
    (ceiling.min(NONE as usize - 1) * 3 / 2 + 1).next_power_of_two().max(8)
}

/// Entries for which a growing index has room at the beginning.
const FIRST: usize = 4096;

/// No entry: slots are kept plus one.
const EMPTY: u64 = 0;

#[inline]
fn tag(hash: u64) -> u32 {
    (hash >> 32) as u32
}

#[inline]
fn slot(entry: u64) -> u32 {
    (entry as u32).wrapping_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn full_is_full_and_searches_end() {
        let mut index = Index::new(4);
        let mut entered = 0;
        while index.insert(u64::MAX, entered) {
            entered += 1;
        }
        assert!((4..=8).contains(&entered));
        assert_eq!(index.find(u64::MAX, |slot| slot == entered), None);
        assert_eq!(index.find(u64::MAX, |slot| slot == entered - 1), Some(entered - 1));
        assert_eq!(index.first(0), NONE);
    }

    #[test]
    fn a_growing_index_keeps_what_it_has() {
        let mut index = Index::growing(1 << 20);
        let hash = |slot: u32| u64::from(slot).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let first = index.entries.len();
        for slot in 0..100_000 {
            assert!(index.insert(hash(slot), slot));
        }
        assert!(first < 20_000 && index.entries.len() < 1 << 19, "{first}, {}", index.entries.len());
        assert!((0..100_000).all(|slot| index.find(hash(slot), |found| found == slot) == Some(slot)));
        assert!((0..100_000).all(|slot| index.remove(hash(slot), slot)));
        assert_eq!(index.len(), 0);
        let mut small = Index::growing(5);
        while small.insert(1 << 40, small.len() as u32) {}
        assert_eq!(small.entries.len(), Index::new(5).entries.len());
    }

    proptest! {
        /// Against a plain list, with hashes so few that all collide.
        #[test]
        fn agrees_with_a_list(
            steps in proptest::collection::vec((any::<bool>(), 0u64..6, 0u32..12), 1..200),
        ) {
            let mut index = Index::new(16);
            let mut list: Vec<(u64, u32)> = Vec::new();
            for (insert, hash, slot) in steps {
                let hash = (hash * 7) << 60 | hash << 32;
                if insert && !list.contains(&(hash, slot)) && list.len() < 16 {
                    prop_assert!(index.insert(hash, slot));
                    list.push((hash, slot));
                } else if !insert {
                    let known = list.iter().position(|entry| *entry == (hash, slot));
                    prop_assert_eq!(index.remove(hash, slot), known.is_some());
                    known.map(|position| list.swap_remove(position));
                }
                prop_assert_eq!(index.len(), list.len());
                for (hash, slot) in &list {
                    prop_assert_eq!(index.find(*hash, |found| found == *slot), Some(*slot));
                }
            }
        }
    }

    /// A hash whose search begins at that entry of an index of eight.
    fn home(entry: u64, rest: u64) -> u64 {
        entry << 61 | rest << 32
    }

    #[test]
    fn an_index_has_half_as_many_entries_more_than_its_ceiling() {
        for (ceiling, entries) in [(0, 8), (4, 8), (5, 8), (6, 16), (100, 256), (170, 256), (171, 512)] {
            assert_eq!(Index::new(ceiling).entries.len(), entries, "ceiling {ceiling}");
        }
    }

    #[test]
    fn entries_of_one_home_follow_each_other_around_the_end() {
        let mut index = Index::new(5);
        for slot in 0..4 {
            assert!(index.insert(home(6, u64::from(slot)), slot));
        }
        let slots: Vec<u32> = [6, 7, 0, 1].iter().map(|entry| slot(index.entries[*entry])).collect();
        assert_eq!(slots, [0, 1, 2, 3]);
        assert_eq!(index.find(home(6, 3), |_| true), Some(3));
        assert_eq!(index.find(home(6, 3), |_| false), None);
    }

    #[test]
    fn removing_an_entry_moves_back_those_that_searched_past_it_and_no_others() {
        let mut index = Index::new(5);
        // Homes 6, 6, 7, 1: they lie at 6, 7, 0, 1.
        for (slot, entry) in [(0, 6), (1, 6), (2, 7), (3, 1)] {
            index.insert(home(entry, 9), slot);
        }
        assert!(index.remove(home(6, 9), 0));
        let slots = |index: &Index| index.entries.iter().map(|entry| slot(*entry)).collect::<Vec<_>>();
        assert_eq!(slots(&index), [NONE, 3, NONE, NONE, NONE, NONE, 1, 2]);
        assert!(!index.remove(home(6, 9), 0));
        assert_eq!(index.len(), 3);
        for (slot, entry) in [(1, 6), (2, 7), (3, 1)] {
            assert_eq!(index.find(home(entry, 9), |found| found == slot), Some(slot));
        }
    }

    #[test]
    fn one_entry_stays_empty_so_that_every_search_ends() {
        let mut index = Index::new(5);
        assert!((0..7).all(|slot| index.insert(home(0, 0), slot)));
        assert!(!index.insert(home(0, 0), 7));
        assert!(!index.insert(home(3, 0), NONE));
        assert_eq!(index.find(home(0, 1), |_| true), None);
        index.prefault();
        assert_eq!(index.first(home(0, 0)), NONE);
    }
}

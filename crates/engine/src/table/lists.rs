//! Lists that are empty, for their memory.

use std::cell::RefCell;

/// Lists that stay, and the bytes of one: longer ones are those of few calls.
const MOST_LISTS: usize = 64;
const MOST_BYTES: usize = 16 << 10;

/// Empty lists with room for something. A ceiling; what is above it goes back to the allocator.
pub(crate) struct Lists<T>(RefCell<Vec<Vec<T>>>);

impl<T> Default for Lists<T> {
    fn default() -> Self {
        Self(RefCell::default())
    }
}

impl<T> Lists<T> {
    /// An empty list with room for so many.
    pub(crate) fn take(&self, room: usize) -> Vec<T> {
        if room == 0 {
            return Vec::new();
        }
        let mut lists = self.0.borrow_mut();
        match lists.iter().rposition(|list| list.capacity() >= room) {
            Some(at) => lists.swap_remove(at),
            None => Vec::with_capacity(room),
        }
    }

    /// An empty list with whatever room it has.
    pub(crate) fn take_any(&self) -> Vec<T> {
        self.0.borrow_mut().pop().unwrap_or_default()
    }

    /// Keeps the memory of a list, whose elements are dropped.
    pub(crate) fn give(&self, mut list: Vec<T>) {
        list.clear();
        let bytes = list.capacity() * size_of::<T>();
        if bytes == 0 || bytes > MOST_BYTES {
            return;
        }
        let mut lists = self.0.borrow_mut();
        if lists.capacity() == 0 {
            // All at once, so that it never grows while a call ends.
            lists.reserve_exact(MOST_LISTS);
        }
        if lists.len() < MOST_LISTS {
            lists.push(list);
        } else if let Some(smaller) = lists.iter_mut().find(|other| other.capacity() < list.capacity()) {
            *smaller = list;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_fits_and_long_ones_do_not_stay() {
        let lists = Lists::<u64>::default();
        for room in [4, 8, 2] {
            lists.give(Vec::with_capacity(room));
        }
        assert_eq!(lists.take(6).capacity(), 8);
        assert_eq!(lists.take(6).capacity(), 6, "none that fits is left");
        assert_eq!(lists.take(0).capacity(), 0);
        lists.give(Vec::with_capacity(MOST_BYTES / 8 + 1));
        assert_eq!(lists.0.borrow().len(), 2);
        (0..2 * MOST_LISTS).for_each(|_| lists.give(Vec::with_capacity(16)));
        assert_eq!(lists.0.borrow().len(), MOST_LISTS);
        assert!(lists.0.borrow().iter().all(|list| list.capacity() == 16), "larger ones replace smaller");
    }
}

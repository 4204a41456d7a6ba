//! In which order entries of a table leave when it is full.

/// No slot.
const NONE: u32 = u32::MAX;
/// Of a slot that waits in no queue.
const OUT: u16 = u16::MAX;

/// The slots of a table in a few queues, each in order of entering. A slot waits in one of them or in none.
/// Every operation takes the same few steps, whatever the table holds.
pub(crate) struct Queues {
    links: Vec<Link>,
    ends: Box<[Ends]>,
}

#[derive(Clone, Copy)]
struct Link {
    older: u32,
    newer: u32,
    queue: u16,
}

#[derive(Clone, Copy)]
struct Ends {
    oldest: u32,
    newest: u32,
    len: u32,
}

impl Queues {
    /// That many, empty, for slots below `ceiling`: the memory is reserved, not touched.
    pub(crate) fn new(queues: u16, ceiling: usize) -> Self {
        let mut links = Vec::new();
        // Where the system refuses to reserve that much, it grows on demand.
        let _ = links.try_reserve_exact(ceiling.min(NONE as usize - 1));
        let ends = vec![Ends { oldest: NONE, newest: NONE, len: 0 }; usize::from(queues)];
        Self { links, ends: ends.into_boxed_slice() }
    }

    /// Puts a slot at the end of a queue, whichever it was in.
    pub(crate) fn push(&mut self, slot: u32, queue: usize) {
        self.remove(slot);
        let index = slot as usize;
        if self.links.len() <= index {
            self.links.resize(index + 1, Link { older: NONE, newer: NONE, queue: OUT });
        }
        let ends = &mut self.ends[queue];
        let older = std::mem::replace(&mut ends.newest, slot);
        ends.len += 1;
        match self.links.get_mut(older as usize) {
            Some(older) => older.newer = slot,
            None => ends.oldest = slot,
        }
        self.links[index] = Link { older, newer: NONE, queue: queue as u16 };
    }

    /// Takes a slot out of its queue, if it is in one.
    pub(crate) fn remove(&mut self, slot: u32) {
        let Some(link) = self.links.get_mut(slot as usize) else { return };
        let Link { older, newer, queue } = *link;
        let Some(ends) = self.ends.get_mut(usize::from(queue)) else { return };
        link.queue = OUT;
        ends.len -= 1;
        match self.links.get_mut(older as usize) {
            Some(older) => older.newer = newer,
            None => ends.oldest = newer,
        }
        match self.links.get_mut(newer as usize) {
            Some(newer) => newer.older = older,
            None => ends.newest = older,
        }
    }

    /// The queue that a slot is in.
    #[inline]
    pub(crate) fn queue_of(&self, slot: u32) -> Option<usize> {
        let link = self.links.get(slot as usize).filter(|link| link.queue != OUT)?;
        Some(usize::from(link.queue))
    }

    /// The slots of a queue, the one that entered first at the front.
    pub(crate) fn iter(&self, queue: usize) -> impl Iterator<Item = u32> {
        let mut next = self.ends[queue].oldest;
        std::iter::from_fn(move || {
            let slot = next;
            next = self.links.get(slot as usize)?.newer;
            Some(slot)
        })
    }

    /// The slot that entered a queue first.
    pub(crate) fn oldest(&self, queue: usize) -> Option<u32> {
        self.iter(queue).next()
    }

    /// Slots in a queue.
    pub(crate) fn len(&self, queue: usize) -> usize {
        self.ends[queue].len as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_slot_waits_in_one_queue_and_leaves_from_anywhere() {
        let mut queues = Queues::new(2, 4);
        for slot in [3, 1, 2] {
            queues.push(slot, 0);
        }
        queues.push(1, 1);
        assert_eq!((queues.iter(0).collect::<Vec<_>>(), queues.oldest(1)), (vec![3, 2], Some(1)));
        assert_eq!((queues.len(0), queues.queue_of(1), queues.queue_of(9)), (2, Some(1), None));
        queues.push(3, 0);
        queues.remove(7);
        assert_eq!(queues.iter(0).collect::<Vec<_>>(), [2, 3]);
        queues.remove(2);
        queues.remove(2);
        assert_eq!((queues.oldest(0), queues.queue_of(2), queues.len(0)), (Some(3), None, 1));
    }

    proptest! {
        /// Against plain lists.
        #[test]
        fn agrees_with_lists(steps in proptest::collection::vec((0u32..10, 0usize..4), 1..200)) {
            let mut queues = Queues::new(3, 2);
            let mut lists = [const { Vec::new() }; 3];
            for (slot, rank) in steps {
                lists.iter_mut().for_each(|list| list.retain(|other| *other != slot));
                match lists.get_mut(rank) {
                    Some(list) => {
                        list.push(slot);
                        queues.push(slot, rank);
                    }
                    None => queues.remove(slot),
                }
                for (rank, list) in lists.iter().enumerate() {
                    prop_assert_eq!(&queues.iter(rank).collect::<Vec<_>>(), list);
                    prop_assert_eq!(queues.len(rank), list.len());
                }
            }
        }
    }
}

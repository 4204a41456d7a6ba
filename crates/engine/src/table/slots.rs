//! A slab with a ceiling: where calls, flows and connections live.

/// Lives of a place are counted in 24 bits: nothing that names one outlasts so many others.
pub(crate) const GENERATIONS: u32 = 0xff_ffff;

/// Names one life of a slot: a timer that outlives its object must not touch the next one in the same place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ticket {
    pub(crate) slot: u32,
    pub(crate) generation: u32,
}

/// Objects under numbers that stay the same while they live. Freed places are used again, newest first.
pub(crate) struct Slots<T> {
    places: Vec<Option<T>>,
    generations: Vec<u32>,
    free: Vec<u32>,
    ceiling: usize,
}

impl<T> Slots<T> {
    /// With room for `ceiling` objects. Reserved, not touched: pages that no object needs cost no memory.
    pub(crate) fn new(ceiling: usize) -> Self {
        let ceiling = ceiling.min(u32::MAX as usize - 1);
        let mut slots = Self { places: Vec::new(), generations: Vec::new(), free: Vec::new(), ceiling };
        // Where a system does not promise so much, they grow instead.
        let _ = slots.places.try_reserve_exact(ceiling);
        let _ = slots.generations.try_reserve_exact(ceiling);
        let _ = slots.free.try_reserve_exact(ceiling);
        ringtap_cpu::large_pages(slots.places.spare_capacity_mut());
        slots
    }

    pub(crate) fn len(&self) -> usize {
        self.places.len() - self.free.len()
    }

    /// Whether another object finds a place.
    pub(crate) fn is_full(&self) -> bool {
        self.len() >= self.ceiling
    }

    /// Puts an object in; None at the ceiling.
    pub(crate) fn insert(&mut self, object: T) -> Option<u32> {
        if self.is_full() {
            return None;
        }
        Some(match self.free.pop() {
            Some(index) => {
                self.places[index as usize] = Some(object);
                self.generations[index as usize] = (self.generations[index as usize] + 1) & GENERATIONS;
                index
            }
            None => {
                self.places.push(Some(object));
                self.generations.push(0);
                (self.places.len() - 1) as u32
            }
        })
    }

    /// The name of a live object, for a timer.
    pub(crate) fn ticket(&self, slot: u32) -> Ticket {
        Ticket { slot, generation: self.generations.get(slot as usize).copied().unwrap_or(0) }
    }

    /// The slot, if the object of that name still lives.
    pub(crate) fn redeem(&self, ticket: Ticket) -> Option<u32> {
        self.get(ticket.slot)?;
        (self.ticket(ticket.slot) == ticket).then_some(ticket.slot)
    }

    pub(crate) fn get(&self, index: u32) -> Option<&T> {
        self.places.get(index as usize)?.as_ref()
    }

    /// Brings an object into the cache, if there is one under this number.
    #[inline]
    pub(crate) fn prefetch(&self, index: u32) {
        self.places.get(index as usize).into_iter().for_each(ringtap_cpu::prefetch);
    }

    pub(crate) fn get_mut(&mut self, index: u32) -> Option<&mut T> {
        self.places.get_mut(index as usize)?.as_mut()
    }

    pub(crate) fn remove(&mut self, index: u32) -> Option<T> {
        let object = self.places.get_mut(index as usize)?.take()?;
        self.free.push(index);
        Some(object)
    }

    /// Every live object under its number, ascending.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, &T)> {
        (0..).zip(&self.places).filter_map(|(index, place)| Some((index, place.as_ref()?)))
    }

    /// Every live object's number, ascending.
    pub(crate) fn indices(&self) -> Vec<u32> {
        (0..self.places.len() as u32).filter(|index| self.places[*index as usize].is_some()).collect()
    }
}

impl<T> std::ops::Index<u32> for Slots<T> {
    type Output = T;

    /// INVARIANT: the caller holds the number of a live object; tables that hand numbers out take them back first.
    fn index(&self, index: u32) -> &T {
        match &self.places[index as usize] {
            Some(object) => object,
            None => unreachable!("a freed slot was used"),
        }
    }
}

impl<T> std::ops::IndexMut<u32> for Slots<T> {
    fn index_mut(&mut self, index: u32) -> &mut T {
        match &mut self.places[index as usize] {
            Some(object) => object,
            None => unreachable!("a freed slot was used"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ticket_is_for_one_life() {
        let mut slots = Slots::new(1);
        let slot = slots.insert('a').unwrap();
        let ticket = slots.ticket(slot);
        assert_eq!(slots.insert('b'), None);
        slots.remove(slot);
        assert_eq!(slots.redeem(ticket), None);
        assert_eq!(slots.insert('c'), Some(slot));
        assert_eq!(slots.redeem(ticket), None);
        assert_eq!(slots.redeem(slots.ticket(slot)), Some(slot));
    }
}

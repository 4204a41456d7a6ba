//! A slab with a ceiling: where calls, flows and connections live.

/// Generations of a slot count 24 bits: no reference outlasts that many.
pub(crate) const GENERATIONS: u32 = 0xff_ffff;

/// Identifies one object in [`Slots`]: a timer that outlives its object must not touch the next one in the
/// same slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ticket {
    pub(crate) slot: u32,
    pub(crate) generation: u32,
}

/// A table with a ceiling whose objects keep their slot number while they live. Freed slots are reused,
/// newest first.
pub struct Slots<T> {
    objects: Vec<Option<T>>,
    generations: Vec<u32>,
    free: Vec<u32>,
    ceiling: usize,
}

impl<T> Slots<T> {
    /// With room for `ceiling` objects. The memory is reserved, not touched: unused pages cost nothing.
    pub fn new(ceiling: usize) -> Self {
        let ceiling = ceiling.min(u32::MAX as usize - 1);
        let mut slots = Self { objects: Vec::new(), generations: Vec::new(), free: Vec::new(), ceiling };
        // Where the system refuses to reserve that much, they grow on demand.
        let _ = slots.objects.try_reserve_exact(ceiling);
        let _ = slots.generations.try_reserve_exact(ceiling);
        let _ = slots.free.try_reserve_exact(ceiling);
        ringtap_cpu::large_pages(slots.objects.spare_capacity_mut());
        slots
    }

    /// Objects in the table.
    #[expect(clippy::len_without_is_empty, reason = "nobody asks")]
    pub fn len(&self) -> usize {
        self.objects.len() - self.free.len()
    }

    /// Whether the ceiling is reached.
    pub(crate) fn is_full(&self) -> bool {
        self.len() >= self.ceiling
    }

    /// Inserts an object and returns its slot; None at the ceiling.
    pub fn insert(&mut self, object: T) -> Option<u32> {
        if self.is_full() {
            return None;
        }
        Some(match self.free.pop() {
            Some(index) => {
                self.objects[index as usize] = Some(object);
                self.generations[index as usize] = (self.generations[index as usize] + 1) & GENERATIONS;
                index
            }
            None => {
                self.objects.push(Some(object));
                self.generations.push(0);
                (self.objects.len() - 1) as u32
            }
        })
    }

    /// As [`Slots::insert`], where another ceiling leaves room too.
    pub(crate) fn insert_if(&mut self, has_room: bool, object: T) -> Option<u32> {
        if has_room { self.insert(object) } else { None }
    }

    /// The ticket of a live object, for a timer.
    pub fn ticket(&self, slot: u32) -> Ticket {
        Ticket { slot, generation: self.generations.get(slot as usize).copied().unwrap_or(0) }
    }

    /// The slot of a ticket whose object still lives.
    pub fn redeem(&self, ticket: Ticket) -> Option<u32> {
        self.get(ticket.slot)?;
        (self.ticket(ticket.slot) == ticket).then_some(ticket.slot)
    }

    /// The object in a slot.
    pub fn get(&self, index: u32) -> Option<&T> {
        self.objects.get(index as usize)?.as_ref()
    }

    /// Prefetches the object in a slot.
    #[inline]
    pub(crate) fn prefetch(&self, index: u32) {
        self.objects.get(index as usize).into_iter().for_each(ringtap_cpu::prefetch);
    }

    /// The object in a slot.
    pub fn get_mut(&mut self, index: u32) -> Option<&mut T> {
        self.objects.get_mut(index as usize)?.as_mut()
    }

    /// Removes the object in a slot.
    pub fn remove(&mut self, index: u32) -> Option<T> {
        let object = self.objects.get_mut(index as usize)?.take()?;
        self.free.push(index);
        Some(object)
    }

    /// Every live object with its slot, ascending.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &T)> {
        (0..).zip(&self.objects).filter_map(|(index, place)| Some((index, place.as_ref()?)))
    }

    /// Every occupied slot, ascending.
    pub(crate) fn indices(&self) -> Vec<u32> {
        (0..self.objects.len() as u32).filter(|index| self.objects[*index as usize].is_some()).collect()
    }
}

impl<T> std::ops::Index<u32> for Slots<T> {
    type Output = T;

    /// INVARIANT: the caller holds the number of a live object; tables that hand numbers out take them back
    /// first.
    fn index(&self, index: u32) -> &T {
        match &self.objects[index as usize] {
            Some(object) => object,
            None => unreachable!("a freed slot was used"),
        }
    }
}

impl<T> std::ops::IndexMut<u32> for Slots<T> {
    fn index_mut(&mut self, index: u32) -> &mut T {
        match &mut self.objects[index as usize] {
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

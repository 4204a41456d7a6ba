//! Small rows of many owners in one preallocated table: ten-second intervals, digits.

const NONE: u32 = u32::MAX;

/// The first and last row of one owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Chain {
    head: u32,
    tail: u32,
}

impl Chain {
    pub(crate) const EMPTY: Self = Self { head: NONE, tail: NONE };
}

/// Rows linked into chains; a ceiling, a free list, no allocation once it has grown to its use.
pub(crate) struct Rows<T> {
    rows: Vec<(T, u32)>,
    free: u32,
    ceiling: usize,
    /// Rows that found no place.
    pub(crate) refused: u64,
}

impl<T: Copy> Rows<T> {
    pub(crate) fn new(ceiling: usize) -> Self {
        // Reserved, not touched: pages that no row needs cost no memory.
        let ceiling = ceiling.min(NONE as usize - 1);
        let mut rows = Vec::with_capacity(ceiling);
        ringtap_cpu::large_pages(rows.spare_capacity_mut());
        Self { rows, free: NONE, ceiling, refused: 0 }
    }

    /// Appends a row; at the ceiling it is counted and dropped.
    pub(crate) fn push(&mut self, chain: &mut Chain, row: T) {
        let index = if self.free != NONE {
            let index = self.free;
            self.free = self.rows[index as usize].1;
            self.rows[index as usize] = (row, NONE);
            index
        } else if self.rows.len() < self.ceiling {
            self.rows.push((row, NONE));
            (self.rows.len() - 1) as u32
        } else {
            self.refused += 1;
            return;
        };
        match chain.tail {
            NONE => chain.head = index,
            tail => self.rows[tail as usize].1 = index,
        }
        chain.tail = index;
    }

    /// The rows of a chain, oldest first.
    pub(crate) fn iter(&self, chain: Chain) -> impl Iterator<Item = &T> {
        let mut next = chain.head;
        std::iter::from_fn(move || {
            let (row, following) = self.rows.get(next as usize)?;
            next = *following;
            Some(row)
        })
    }

    /// Gives the rows of a chain back.
    pub(crate) fn release(&mut self, chain: &mut Chain) {
        if chain.tail != NONE {
            self.rows[chain.tail as usize].1 = self.free;
            self.free = chain.head;
        }
        *chain = Chain::EMPTY;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chains_interleave_and_come_back() {
        let mut rows = Rows::new(4);
        let (mut a, mut b) = (Chain::EMPTY, Chain::EMPTY);
        rows.push(&mut a, 1);
        rows.push(&mut b, 10);
        rows.push(&mut a, 2);
        assert_eq!(rows.iter(a).copied().collect::<Vec<_>>(), [1, 2]);
        rows.release(&mut a);
        for n in 11..=14 {
            rows.push(&mut b, n);
        }
        assert_eq!(rows.iter(b).copied().collect::<Vec<_>>(), [10, 11, 12, 13]);
        assert_eq!(rows.refused, 1);
        assert_eq!(rows.iter(a).count(), 0);
    }
}

//! Sets of calls, a bit for each: the marked calls first, then the others.

use crate::counts::Count;

/// Which calls of a fixed number are in a set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Bits {
    words: Box<[u64]>,
    /// Words of the marked calls.
    marked: usize,
}

/// How many calls there are, and so where each has its bit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layout {
    marked: usize,
    others: usize,
}

impl Layout {
    pub(crate) fn new(marked: usize, others: usize) -> Self {
        Self { marked, others }
    }

    /// How many of the calls are marked: those come first.
    pub(crate) fn marked(self) -> usize {
        self.marked
    }

    pub(crate) fn none(self) -> Bits {
        let marked = self.marked.div_ceil(64);
        Bits { words: vec![0; marked + self.others.div_ceil(64)].into(), marked }
    }

    pub(crate) fn all(self) -> Bits {
        let mut bits = self.none();
        (0..self.marked + self.others).for_each(|call| bits.set(self.place(call)));
        bits
    }

    /// The bit of a call: the others are numbered after the marked ones.
    pub(crate) fn place(self, call: usize) -> usize {
        match call.checked_sub(self.marked) {
            None => call,
            Some(other) => self.marked.div_ceil(64) * 64 + other,
        }
    }
}

impl Bits {
    pub(crate) fn set(&mut self, place: usize) {
        self.words[place / 64] |= 1 << (place % 64);
    }

    pub(crate) fn has(&self, place: usize) -> bool {
        self.words[place / 64] >> (place % 64) & 1 == 1
    }

    pub(crate) fn and(&self, other: &Self) -> Self {
        let both = self.words.iter().zip(&other.words).map(|(one, other)| one & other);
        Self { words: both.collect(), marked: self.marked }
    }

    pub(crate) fn without(&self, other: &Self) -> Self {
        let left = self.words.iter().zip(&other.words).map(|(one, other)| one & !other);
        Self { words: left.collect(), marked: self.marked }
    }

    pub(crate) fn count(&self) -> Count {
        let (marked, others) = self.words.split_at(self.marked);
        let ones = |words: &[u64]| words.iter().map(|word| u64::from(word.count_ones())).sum();
        Count { marked: ones(marked), others: ones(others) }
    }

    /// How many calls are in both.
    pub(crate) fn count_and(&self, other: &Self) -> Count {
        let ones = |from: usize, to: usize| {
            let both = self.words[from..to].iter().zip(&other.words[from..to]);
            both.map(|(one, other)| u64::from((one & other).count_ones())).sum()
        };
        Count { marked: ones(0, self.marked), others: ones(self.marked, self.words.len()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marked_calls_and_others_are_counted_apart() {
        let layout = Layout::new(70, 3);
        let all = layout.all();
        assert_eq!(all.count(), Count { marked: 70, others: 3 });
        let mut some = layout.none();
        [0, 69, 70, 72].into_iter().for_each(|call| some.set(layout.place(call)));
        assert_eq!(some.count(), Count { marked: 2, others: 2 });
        assert_eq!(some.count_and(&all), some.count());
        assert_eq!(all.without(&some).count(), Count { marked: 68, others: 1 });
        assert_eq!(all.without(&some).and(&some), layout.none());
        assert!(some.has(layout.place(70)) && !some.has(layout.place(71)));
    }
}

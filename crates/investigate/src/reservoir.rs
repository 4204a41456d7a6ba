//! A fair choice of calls, with the values of each.

/// A call: the numbers of its values, and which fields it has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Row {
    /// In ascending order, each once.
    pub(crate) values: Box<[u32]>,
    /// A bit for each field.
    pub(crate) known: u64,
}

/// Up to so many calls of all that were offered, each with the same chance (Vitter's algorithm R, 1985).
#[derive(Debug)]
pub(crate) struct Reservoir {
    pub(crate) rows: Vec<Row>,
    room: usize,
    /// Calls that were offered.
    pub(crate) offered: u64,
    state: u64,
}

impl Reservoir {
    /// With room for so many. The choice is the same for the same calls in the same order.
    pub(crate) fn new(room: usize, seed: u64) -> Self {
        Self { rows: Vec::new(), room, offered: 0, state: seed }
    }

    /// Offers a call, of which `row` makes what is stored.
    pub(crate) fn offer(&mut self, row: impl FnOnce() -> Row) {
        self.offered += 1;
        if self.rows.len() < self.room {
            return self.rows.push(row());
        }
        let place = self.below(self.offered);
        if let Some(old) = usize::try_from(place).ok().and_then(|place| self.rows.get_mut(place)) {
            *old = row();
        }
    }

    /// From 0 to below `end`, by SplitMix64 (Steele, Lea and Flood, 2014).
    fn below(&mut self, end: u64) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 31;
        ((u128::from(mixed) * u128::from(end)) >> 64) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_call_has_the_same_chance() {
        let mut reservoir = Reservoir::new(1_000, 1);
        for number in 0..100_000_u32 {
            reservoir.offer(|| Row { values: vec![number].into(), known: 0 });
        }
        assert_eq!((reservoir.rows.len(), reservoir.offered), (1_000, 100_000));
        // 100 of each tenth are expected, with a standard deviation below 10.
        let mut tenths = [0; 10];
        reservoir.rows.iter().for_each(|row| tenths[(row.values[0] / 10_000) as usize] += 1);
        assert!(tenths.iter().all(|count| (60..140).contains(count)), "{tenths:?}");
    }

    #[test]
    fn few_calls_are_all_stored() {
        let mut reservoir = Reservoir::new(10, 1);
        (0..10).for_each(|number| reservoir.offer(|| Row { values: vec![number].into(), known: 1 }));
        let numbers: Vec<u32> = reservoir.rows.iter().map(|row| row.values[0]).collect();
        assert_eq!(numbers, (0..10).collect::<Vec<u32>>());
    }
}

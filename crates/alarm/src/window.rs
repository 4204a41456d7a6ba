//! Figures of the last time: what happened is counted by slots, and the sum of the last slots is kept.

use std::collections::{BTreeSet, HashMap};

use ringtap_kpi::{Cell, View};
use ringtap_model::Nanos;

use crate::event::HealthFigure;
use crate::rule::Watched;

/// What is counted of one subject. `turn` is always the number of the open slot.
#[derive(Debug)]
pub(crate) enum Window {
    Cells(Cells),
    Tally(Tally),
    Distinct(Distinct),
    /// Calls in progress.
    Gauge(u64),
    /// Answered calls in progress: when each was answered, and its number.
    Longest(BTreeSet<(Nanos, u64)>),
    Health(Health),
}

/// A value, and how many calls, intervals, registrations or values it is made of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Reading {
    pub(crate) value: Option<f64>,
    pub(crate) behind: u64,
}

impl Window {
    /// Closes the open slot, and forgets the oldest one: returns whether something changed.
    pub(crate) fn close(&mut self, turn: usize) -> bool {
        match self {
            Self::Cells(cells) => cells.close(turn),
            Self::Tally(tally) => tally.close(turn),
            Self::Distinct(distinct) => distinct.close(turn),
            Self::Health(health) => health.close(turn),
            Self::Gauge(_) | Self::Longest(_) => true,
        }
    }

    /// Whether nothing stands behind it any more.
    pub(crate) fn is_empty(&self) -> bool {
        match self {
            Self::Cells(cells) => cells.filled == 0,
            Self::Tally(tally) => tally.sum == [0; 3] && tally.slots.iter().all(|slot| *slot == [0; 3]),
            Self::Distinct(distinct) => distinct.last.is_empty(),
            Self::Gauge(count) => *count == 0,
            Self::Longest(calls) => calls.is_empty(),
            Self::Health(health) => health.slots.iter().all(|slot| slot.1 == 0),
        }
    }

    /// What it says of the closed slots, of calls in progress now.
    pub(crate) fn read(&self, watched: &Watched, now: Nanos) -> Reading {
        match (self, watched) {
            (Self::Cells(cells), Watched::Kpi(figure)) => {
                let (value, behind) = (figure.value)(&View { cell: &cells.sum, concurrent: None });
                Reading { value, behind }
            }
            (Self::Tally(tally), Watched::LossShare) => {
                let [lost, expected, intervals] = tally.sum;
                let value = (expected > 0).then(|| 100.0 * lost as f64 / expected as f64);
                Reading { value, behind: intervals }
            }
            (Self::Tally(tally), _) => count(tally.sum[0]),
            (Self::Distinct(distinct), Watched::Sequential) => count(distinct.longest_run()),
            (Self::Distinct(distinct), _) => count(distinct.last.len() as u64),
            (Self::Gauge(calls), _) => count(*calls),
            (Self::Longest(calls), _) => {
                let value = calls.first().map(|(answer, _)| now.since(*answer).secs_f64());
                Reading { value, behind: calls.len() as u64 }
            }
            (Self::Health(health), Watched::Health(figure)) => health.read(*figure),
            _ => Reading { value: None, behind: 0 },
        }
    }
}

fn count(count: u64) -> Reading {
    Reading { value: Some(count as f64), behind: count }
}

/// The slot after one in a ring of so many.
pub(crate) fn after(turn: usize, slots: usize) -> usize {
    if turn + 1 < slots { turn + 1 } else { 0 }
}

/// Calls, intervals and registrations, as KPIs count them. The open slot is not in the sum.
#[derive(Debug)]
pub(crate) struct Cells {
    slots: Vec<Option<Box<Cell>>>,
    sum: Box<Cell>,
    filled: usize,
}

impl Cells {
    pub(crate) fn new(slots: usize) -> Self {
        Self { slots: vec![None; slots], sum: Box::default(), filled: 0 }
    }

    pub(crate) fn open(&mut self, turn: usize) -> &mut Cell {
        let slot = &mut self.slots[turn];
        if slot.is_none() {
            self.filled += 1;
        }
        slot.get_or_insert_default()
    }

    /// What the open slot has.
    pub(crate) fn opened(&self, turn: usize) -> Option<&Cell> {
        self.slots[turn].as_deref()
    }

    fn close(&mut self, turn: usize) -> bool {
        let oldest = after(turn, self.slots.len());
        if let Some(cell) = &self.slots[turn] {
            self.sum.merge(cell);
        }
        let gone = self.slots[oldest].take();
        if let Some(cell) = &gone {
            self.filled -= 1;
            if self.filled == 0 { *self.sum = Cell::default() } else { self.sum.subtract(cell) }
        }
        gone.is_some() || self.slots[turn].is_some()
    }
}

/// Up to three counts. The open slot is not in the sum.
#[derive(Debug)]
pub(crate) struct Tally {
    slots: Vec<[u64; 3]>,
    sum: [u64; 3],
}

impl Tally {
    pub(crate) fn new(slots: usize) -> Self {
        Self { slots: vec![[0; 3]; slots], sum: [0; 3] }
    }

    pub(crate) fn add(&mut self, turn: usize, counts: [u64; 3]) {
        for (count, more) in self.slots[turn].iter_mut().zip(counts) {
            *count = count.saturating_add(more);
        }
    }

    /// What the open slot has.
    pub(crate) fn opened(&self, turn: usize) -> Option<[u64; 3]> {
        Some(self.slots[turn]).filter(|counts| *counts != [0; 3])
    }

    fn close(&mut self, turn: usize) -> bool {
        let oldest = after(turn, self.slots.len());
        let (new, gone) = (self.slots[turn], std::mem::take(&mut self.slots[oldest]));
        for (place, sum) in self.sum.iter_mut().enumerate() {
            *sum = sum.saturating_add(new[place]).saturating_sub(gone[place]);
        }
        new != [0; 3] || gone != [0; 3]
    }
}

/// Different values: each is forgotten when it was not seen in the last slots. The open slot counts.
#[derive(Debug)]
pub(crate) struct Distinct {
    /// The slot in which a value was last seen.
    last: HashMap<u64, usize>,
    /// Values that were seen in each slot, each once: some were seen again since.
    slots: Vec<Vec<u64>>,
    changed: bool,
}

impl Distinct {
    pub(crate) fn new(slots: usize) -> Self {
        Self { last: HashMap::new(), slots: vec![Vec::new(); slots], changed: false }
    }

    /// Adds a value. With [`VALUES`] there, others are left out, so that the count is a lower bound.
    pub(crate) fn add(&mut self, turn: usize, value: u64) {
        let is_full = self.last.len() >= VALUES;
        match self.last.get_mut(&value) {
            Some(last) if *last == turn => return,
            Some(last) => *last = turn,
            None if is_full => return,
            None => {
                self.changed = true;
                self.last.insert(value, turn);
            }
        }
        self.slots[turn].push(value);
    }

    fn close(&mut self, turn: usize) -> bool {
        let oldest = after(turn, self.slots.len());
        for value in std::mem::take(&mut self.slots[oldest]) {
            if self.last.get(&value) == Some(&oldest) {
                self.last.remove(&value);
                self.changed = true;
            }
        }
        std::mem::take(&mut self.changed)
    }

    /// How many of the values follow one another, each one higher, at most.
    fn longest_run(&self) -> u64 {
        let mut values: Vec<u64> = self.last.keys().copied().collect();
        values.sort_unstable();
        let (mut longest, mut run, mut before) = (0, 0, None);
        for value in values {
            run = if before == Some(value.wrapping_sub(1)) { run + 1 } else { 1 };
            longest = longest.max(run);
            before = Some(value);
        }
        longest
    }
}

/// Values of a figure of this monitor: sum, number and the highest of each slot, and the last one.
#[derive(Debug)]
pub(crate) struct Health {
    slots: Vec<(f64, u64, f64)>,
    last: f64,
}

impl Health {
    pub(crate) fn new(slots: usize) -> Self {
        Self { slots: vec![(0.0, 0, 0.0); slots], last: 0.0 }
    }

    pub(crate) fn add(&mut self, turn: usize, value: f64) {
        let (sum, count, most) = &mut self.slots[turn];
        *sum += value.abs();
        *count += 1;
        *most = most.max(value);
        self.last = value;
    }

    fn close(&mut self, turn: usize) -> bool {
        let oldest = after(turn, self.slots.len());
        let gone = std::mem::take(&mut self.slots[oldest]);
        gone.1 > 0 || self.slots[turn].1 > 0
    }

    fn read(&self, figure: HealthFigure) -> Reading {
        let (sum, behind) =
            self.slots.iter().fold((0.0, 0), |(sum, count), slot| (sum + slot.0, count + slot.1));
        let value = match figure {
            _ if behind == 0 => None,
            HealthFigure::DiskUsed => Some(self.last),
            HealthFigure::CaptureLoss | HealthFigure::PacketRate => Some(sum / behind as f64),
            HealthFigure::ServiceOut => Some(self.slots.iter().fold(0.0, |most, slot| slot.2.max(most))),
            HealthFigure::RecordsDropped
            | HealthFigure::Refused
            | HealthFigure::ClockStep
            | HealthFigure::Failovers
            | HealthFigure::AddressConflicts => Some(sum),
        };
        Reading { value, behind }
    }
}

/// Different values that are told apart for one subject.
pub(crate) const VALUES: usize = 1_024;

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;
    use ringtap_kpi::{CallFacts, CallTimes};
    use ringtap_model::CallState;

    use super::*;

    fn facts(code: u16, delay: u16) -> CallFacts {
        let state = if code == 200 { CallState::Completed } else { CallState::Failed };
        let time = |millis: u16| Some(Nanos::from_millis(1_000 + u64::from(millis)));
        let times = CallTimes {
            state,
            code,
            invite: time(0),
            trying: None,
            ringing: time(delay),
            answer: None,
            end: time(delay),
            pdd_ms: Some(delay.into()),
            sdd_ms: None,
            duration_ms: Some(f64::from(delay) * 10.0),
        };
        CallFacts::whole(&times, Nanos::from_secs(3))
    }

    /// Slots that pass, then a value that comes.
    fn steps() -> impl Strategy<Value = Vec<(usize, u16)>> {
        prop::collection::vec((0_usize..4, 0_u16..12), 0..80)
    }

    proptest! {
        /// The sums are at each step what counting again all that came in the last slots gives.
        #[test]
        fn running_sums_are_those_of_the_last_slots(steps in steps(), length in 1_usize..6) {
            let slots = length + 1;
            let (mut cells, mut tally) = (Cells::new(slots), Tally::new(slots));
            let (mut distinct, mut health) = (Distinct::new(slots), Health::new(slots));
            let mut came: Vec<(usize, u16)> = Vec::new();
            let (mut slot, mut turn) = (0, 0);
            for (pass, value) in steps {
                for _ in 0..pass {
                    cells.close(turn);
                    tally.close(turn);
                    distinct.close(turn);
                    health.close(turn);
                    slot += 1;
                    turn = after(turn, slots);
                    let last: Vec<u16> = came
                        .iter()
                        .filter(|(when, _)| (slot.max(length) - length..slot).contains(when))
                        .map(|(_, value)| *value)
                        .collect();
                    let mut cell = Cell::default();
                    last.iter().for_each(|value| cell.call(&facts(200 + value % 4 * 100, *value), false));
                    prop_assert_eq!(&*cells.sum, &cell);
                    let sum: u64 = last.iter().map(|value| u64::from(*value)).sum();
                    prop_assert_eq!(tally.sum, [last.len() as u64, sum, 0]);
                    let different: BTreeSet<u16> = last.iter().copied().collect();
                    prop_assert_eq!(distinct.last.len(), different.len());
                    let run = (0..12).map(|first| (first..).take_while(|v| different.contains(v)).count());
                    prop_assert_eq!(distinct.longest_run(), run.max().unwrap_or(0) as u64);
                    let dropped = health.read(HealthFigure::RecordsDropped);
                    let expected = (!last.is_empty()).then_some(sum as f64);
                    prop_assert_eq!(dropped, Reading { value: expected, behind: last.len() as u64 });
                    let windows = [cells.filled == 0, distinct.last.is_empty()];
                    prop_assert_eq!(windows, [last.is_empty(); 2]);
                }
                came.push((slot, value));
                cells.open(turn).call(&facts(200 + value % 4 * 100, value), false);
                tally.add(turn, [1, value.into(), 0]);
                distinct.add(turn, value.into());
                health.add(turn, value.into());
            }
        }
    }

    #[test]
    fn different_values_have_a_ceiling() {
        let mut distinct = Distinct::new(3);
        (0..10_000).for_each(|value| distinct.add(0, value * 7));
        assert_eq!((distinct.last.len(), distinct.slots[0].len()), (VALUES, VALUES));
        (0..3).for_each(|turn| _ = distinct.close(turn));
        assert!(distinct.last.is_empty());
    }
}

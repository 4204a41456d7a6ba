//! From rollups to rows: a row for each group, or for each group and period.

use std::collections::BTreeMap;

use ringtap_model::Nanos;

use crate::cell::Cell;
use crate::key::{Dimension, Key};
use crate::occupancy::{Concurrent, Occupancy};
use crate::period::{Per, Zone};
use crate::rollup::{MINUTE, Rollup};

/// Adds up rollups by group, and by period where that is asked for.
#[derive(Clone, Debug)]
pub struct Table {
    dimensions: Vec<Dimension>,
    per: Option<(Per, Zone)>,
    legs: bool,
    groups: BTreeMap<Key, Group>,
    /// The first minute with records, and the one after the last.
    span: Option<(Nanos, Nanos)>,
    /// Since when and until when it is known that nothing else happened, where somebody has said so.
    observed: (Option<Nanos>, Option<Nanos>),
    /// Records that were counted in a group of all others.
    pub folded: u64,
}

#[derive(Clone, Debug, Default)]
struct Group {
    cells: BTreeMap<Nanos, Cell>,
    /// Of all periods and of what began before them.
    occupancy: Occupancy,
    /// Attempts by minute, where there is one period.
    attempts: BTreeMap<Nanos, u64>,
}

/// The figures of a group, over the whole time or over a period.
#[derive(Clone, Debug)]
pub struct Row {
    /// The group.
    pub key: Key,
    /// The period, from its beginning to its end; the whole time where no periods were asked for.
    pub from: Nanos,
    /// Its end.
    pub to: Nanos,
    /// Counts and distributions.
    pub cell: Cell,
    /// Calls in progress, where they are counted for this dimension.
    pub concurrent: Option<Concurrent>,
    /// Attempts by minute.
    attempts: BTreeMap<Nanos, u64>,
}

impl Row {
    /// Attempts over the time of the row, in [`STEPS`] steps of the same length, or one a minute where it has
    /// fewer.
    pub fn over_time(&self) -> Vec<u64> {
        let minutes = (self.to - self.from).0.div_ceil(MINUTE).max(1);
        let steps = minutes.min(STEPS);
        let mut counts = vec![0; steps as usize];
        for (minute, attempts) in &self.attempts {
            let step = (*minute - self.from).0 / MINUTE * steps / minutes;
            if let Some(count) = counts.get_mut(step as usize) {
                *count += attempts;
            }
        }
        counts
    }
}

impl Table {
    /// A table of these dimensions; `legs` counts every leg instead of conversations.
    pub fn new(dimensions: Vec<Dimension>, per: Option<(Per, Zone)>, legs: bool) -> Self {
        Self { dimensions, per, legs, groups: BTreeMap::new(), span: None, observed: (None, None), folded: 0 }
    }

    /// Says which time was observed: where nobody called in the first or the last minutes of it, the mean
    /// number of calls in progress is over these as well. Without a bound, it is that of the minutes that are
    /// added.
    #[must_use]
    pub fn observed(self, from: Option<Nanos>, until: Option<Nanos>) -> Self {
        Self { observed: (from, until), ..self }
    }

    /// The dimensions that it needs of a rollup.
    pub fn dimensions(&self) -> &[Dimension] {
        &self.dimensions
    }

    /// Adds the rollup of a minute.
    pub fn add(&mut self, minute: Nanos, rollup: &Rollup) {
        let end = minute + Nanos(MINUTE);
        let (first, last) = self.span.unwrap_or((minute, end));
        self.span = Some((first.min(minute), last.max(end)));
        self.folded = self.folded.saturating_add(rollup.folded);
        let has_periods = self.per.is_some();
        let period = self.per.as_ref().map_or(Nanos::ZERO, |(per, zone)| per.start(minute, zone));
        for (key, mut cell) in self.cells(rollup) {
            let group = self.group(&key);
            group.occupancy.merge(&std::mem::take(&mut cell.occupancy));
            if !has_periods {
                *group.attempts.entry(minute).or_default() += cell.attempts();
            }
            group.cells.entry(period).or_default().merge(&cell);
        }
    }

    /// Adds a minute before the time that was asked for: of its calls, those that are still in progress count
    /// as such.
    pub fn add_before(&mut self, rollup: &Rollup) {
        for (key, cell) in self.cells(rollup) {
            self.group(&key).occupancy.merge(&cell.occupancy);
        }
    }

    fn cells(&self, rollup: &Rollup) -> Vec<(Key, Cell)> {
        let wanted = rollup.groups().filter(|(key, _)| self.dimensions.contains(&key.dimension));
        let cells = wanted.map(|(key, cells)| (key.clone(), cells.of(self.legs)));
        cells.filter(|(_, cell)| *cell != Cell::default()).collect()
    }

    fn group(&mut self, key: &Key) -> &mut Group {
        let full = self.groups.len() >= GROUPS && !self.groups.contains_key(key);
        let key = if full { Key::new(key.dimension, "") } else { key.clone() };
        self.folded += u64::from(full);
        self.groups.entry(key).or_default()
    }

    /// The time that the rollups cover; `None` without any.
    pub fn span(&self) -> Option<(Nanos, Nanos)> {
        self.span
    }

    /// The rows: groups of a dimension with the most attempts first, periods of a group in order.
    pub fn rows(self) -> Vec<Row> {
        let Some((first, last)) = self.span else { return Vec::new() };
        // A minute with records was observed, whatever is said.
        let (from, until) = self.observed;
        let (first, last) =
            (from.map_or(first, |from| from.min(first)), until.map_or(last, |until| until.max(first)));
        let mut groups: Vec<(Key, Group)> =
            self.groups.into_iter().filter(|(_, group)| !group.cells.is_empty()).collect();
        let attempts = |group: &Group| group.cells.values().map(Cell::attempts).sum::<u64>();
        groups.sort_by(|(key, one), (other_key, other)| {
            let by_attempts = attempts(other).cmp(&attempts(one));
            key.dimension.cmp(&other_key.dimension).then(by_attempts).then_with(|| key.cmp(other_key))
        });
        let mut rows = Vec::new();
        for (key, group) in groups {
            let ends: Vec<(Nanos, Nanos)> = match &self.per {
                Some((per, zone)) => {
                    group.cells.keys().map(|start| (*start, per.next(*start, zone))).collect()
                }
                None => vec![(first, last)],
            };
            for ((from, to), cell) in ends.into_iter().zip(group.cells.into_values()) {
                let of = || group.occupancy.within(&[from.max(first), to.min(last)]).first().copied();
                let concurrent = key.dimension.has_occupancy().then(of).flatten();
                let attempts = group.attempts.clone();
                rows.push(Row { key: key.clone(), from, to, cell, concurrent, attempts });
            }
        }
        rows
    }
}

/// Steps in which attempts are given over time.
pub const STEPS: u64 = 24;
/// Groups over all minutes: beyond them, calls are counted together.
const GROUPS: usize = 8192;

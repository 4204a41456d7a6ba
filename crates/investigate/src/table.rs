//! The calls of a sample as a table: a row a call, a column a value that enough of the marked have.

use std::cmp::Reverse;
use std::collections::HashMap;

use crate::bits::{Bits, Layout};
use crate::counts::{Count, Entry};
use crate::field::Field;
use crate::reservoir::Row;
use crate::sample::Sample;
use crate::significance::Shares;
use crate::value::is_part;

/// A value that enough of the marked calls have.
#[derive(Debug)]
pub(crate) struct Candidate<'a> {
    pub(crate) field: &'static Field,
    /// Which of the fields asked that is.
    pub(crate) place: usize,
    pub(crate) value: &'a [u8],
    pub(crate) entry: &'a Entry,
    /// All calls that have the field.
    pub(crate) known: Count,
}

/// The calls of a sample.
#[derive(Debug)]
pub(crate) struct Table<'a> {
    pub(crate) layout: Layout,
    pub(crate) candidates: Vec<Candidate<'a>>,
    /// Of each field, the calls that have it.
    known: Vec<Bits>,
    /// Of each call, its candidates.
    rows: Vec<Box<[u32]>>,
    /// Values that enough calls have, whether of the marked or not: so many could have stood out.
    pub(crate) values: u64,
}

impl<'a> Table<'a> {
    pub(crate) fn new(sample: &'a Sample) -> Self {
        let layout = Layout::new(sample.marked.rows.len(), sample.others.rows.len());
        let (mut candidates, mut values, mut columns) = (Vec::new(), 0, HashMap::new());
        for (place, (field, counts)) in sample.fields.iter().enumerate() {
            values += counts.dropped;
            for (value, entry) in counts.values() {
                values += u64::from(entry.calls.sum() >= LEAST);
                if entry.calls.marked >= LEAST {
                    columns.insert(entry.id, candidates.len() as u32);
                    candidates.push(Candidate { field, place, value, entry, known: counts.known });
                }
            }
        }
        let mut known = vec![layout.none(); sample.fields.len()];
        let mut rows = Vec::new();
        for (call, row) in sample.marked.rows.iter().chain(&sample.others.rows).enumerate() {
            let Row { values, known: fields } = row;
            for (_, known) in known.iter_mut().enumerate().filter(|(field, _)| fields >> field & 1 == 1) {
                known.set(layout.place(call));
            }
            rows.push(values.iter().filter_map(|id| columns.get(id)).copied().collect());
        }
        Self { layout, candidates, known, rows, values }
    }

    /// The calls that have a field.
    pub(crate) fn known(&self, candidate: usize) -> &Bits {
        &self.known[self.candidates[candidate].place]
    }

    /// What comes first of candidates that say the same: the field that stands further up, and then a whole
    /// text before its parts, a longer part before a shorter one.
    pub(crate) fn order(&self, candidate: usize) -> (usize, bool, Reverse<(usize, &[u8])>) {
        let Candidate { place, value, .. } = self.candidates[candidate];
        (place, is_part(value), Reverse((value.len(), value)))
    }

    /// How many of these calls have each candidate.
    pub(crate) fn shares(&self, calls: &Bits) -> Vec<Shares> {
        let mut counts = vec![Count::default(); self.candidates.len()];
        let marked = self.layout.marked();
        for (call, row) in self.rows.iter().enumerate() {
            if calls.has(self.layout.place(call)) {
                row.iter().for_each(|candidate| counts[*candidate as usize].add(call < marked));
            }
        }
        let known: Vec<Count> = self.known.iter().map(|known| known.count_and(calls)).collect();
        let shares = |(candidate, count): (&Candidate, Count)| Shares::of(count, known[candidate.place]);
        self.candidates.iter().zip(counts).map(shares).collect()
    }

    /// The calls that have each of these candidates.
    pub(crate) fn columns(&self, candidates: &[usize]) -> Vec<Bits> {
        let mut columns = vec![self.layout.none(); candidates.len()];
        let mut places = vec![None; self.candidates.len()];
        candidates.iter().enumerate().for_each(|(place, candidate)| places[*candidate] = Some(place));
        for (call, row) in self.rows.iter().enumerate() {
            for place in row.iter().filter_map(|candidate| places[*candidate as usize]) {
                columns[place].set(self.layout.place(call));
            }
        }
        columns
    }
}

/// Calls that a value is compared from.
pub(crate) const LEAST: u64 = 5;

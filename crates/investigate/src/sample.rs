//! Collects what calls have in common, in one pass over them.

use ringtap_model::{Call, Stream};

use crate::counts::{Count, Counts};
use crate::field::{FIELDS, Field, Values};
use crate::reservoir::{Reservoir, Row};
use crate::topic::MarkedBy;
use crate::value::Encoder;

/// How much is stored of the calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Values counted of each field at once; those that few calls have give way.
    pub values: usize,
    /// Marked calls of which all values are stored together.
    pub marked: usize,
    /// Others of which all values are stored together.
    pub others: usize,
}

impl Default for Limits {
    /// Up to about 60 MB.
    fn default() -> Self {
        Self { values: 8_192, marked: 32_768, others: 65_536 }
    }
}

/// Marked calls and others of the same time.
///
/// How many calls have each value is counted of all of them. What values say together is counted of a fair
/// choice where there are more calls than [`Limits`] has room for.
#[derive(Debug)]
pub struct Sample {
    marked_by: MarkedBy,
    pub(crate) fields: Vec<(&'static Field, Counts)>,
    pub(crate) marked: Reservoir,
    pub(crate) others: Reservoir,
    /// Others that were not answered, where only calls that were answered can be marked.
    pub(crate) unanswered: u64,
    next: u32,
    encoder: Encoder,
    row: Vec<u32>,
}

impl Sample {
    /// Of calls that are marked by this: fields that would say it again are not asked.
    pub fn new(marked_by: MarkedBy) -> Self {
        Self::with_limits(marked_by, Limits::default())
    }

    /// The same with other limits.
    pub fn with_limits(marked_by: MarkedBy, limits: Limits) -> Self {
        let is_asked = |field: &&Field| !marked_by.explains(field.topic);
        let fields = FIELDS.iter().filter(is_asked).map(|field| (field, Counts::new(limits.values)));
        Self {
            fields: fields.collect(),
            marked: Reservoir::new(limits.marked, 1),
            others: Reservoir::new(limits.others, 2),
            unanswered: 0,
            next: 0,
            encoder: Encoder::default(),
            row: Vec::new(),
            marked_by,
        }
    }

    /// Adds a call with its streams: one of the marked, or one of the others of the same time.
    pub fn add(&mut self, call: &Call, streams: &[Stream], is_marked: bool) {
        if !is_marked && self.marked_by.needs_answer() && call.answer.is_none() {
            self.unanswered += 1;
            return;
        }
        let Self { fields, encoder, row, next, .. } = self;
        // From 1: the number of no call is 0.
        let number = self.marked.offered + self.others.offered + 1;
        row.clear();
        let mut known = 0;
        for (place, (field, counts)) in fields.iter_mut().enumerate() {
            let mut each = |value: &[u8]| {
                let id = counts.add(value, (number, is_marked), *next);
                // After four billion values, new ones are no longer told apart: they are of few calls.
                *next = next.saturating_add(u32::from(id == *next));
                row.push(id);
            };
            let mut values = Values { encoder: &mut *encoder, each: &mut each, is_known: false };
            (field.values)(call, streams, &mut values);
            if values.is_known {
                counts.known.add(is_marked);
                known |= 1 << place;
            }
        }
        row.sort_unstable();
        row.dedup();
        let reservoir = if is_marked { &mut self.marked } else { &mut self.others };
        reservoir.offer(|| Row { values: row.as_slice().into(), known });
    }

    /// How many calls were added.
    pub fn calls(&self) -> (u64, u64) {
        (self.marked.offered, self.others.offered)
    }

    pub(crate) fn count(&self) -> Count {
        Count { marked: self.marked.offered, others: self.others.offered }
    }
}

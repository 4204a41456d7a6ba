//! Memory of what streams end with and of their records, for the next.

use super::details::Digit;
use super::flow::IntervalRow;
use crate::spare::Spare;
use crate::table::lists::Lists;

/// See the module.
#[derive(Default)]
pub(crate) struct RecordMemory {
    /// Of records.
    pub(crate) spare: Spare,
    pub(super) rows: Lists<IntervalRow>,
    pub(super) digits: Lists<Digit>,
}

impl RecordMemory {
    /// Keeps that of a stream whose record is made.
    pub(super) fn give(&self, rows: Vec<IntervalRow>, digits: Vec<Digit>) {
        self.rows.give(rows);
        self.digits.give(digits);
    }
}

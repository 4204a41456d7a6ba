//! Reports of one kind in order of time: so many, however many there were.

/// Reports of one kind that are stored of a stream.
pub(super) const MAX_REPORTS: usize = 32;

/// The first report, every second, fourth, eighth, ... after it, and the last.
#[derive(Clone, Debug)]
pub(crate) struct Series<T> {
    rows: Vec<T>,
    /// Reports so far.
    count: u32,
    /// One of so many is stored for good.
    stride: u32,
    /// Whether the last row is one of these; else the next report replaces it.
    is_last_stored: bool,
}

impl<T> Default for Series<T> {
    fn default() -> Self {
        Self { rows: Vec::new(), count: 0, stride: 1, is_last_stored: true }
    }
}

impl<T> Series<T> {
    /// Adds a report; without room it replaces the last. Returns false where it finds no place at all.
    pub(super) fn push(&mut self, row: T, has_room: bool) -> bool {
        let is_stored = self.count.is_multiple_of(self.stride) && has_room;
        self.count = self.count.wrapping_add(1);
        if !self.is_last_stored || !has_room {
            self.rows.pop();
        }
        if self.rows.is_empty() && !has_room && self.rows.capacity() == 0 {
            return false;
        }
        self.is_last_stored = is_stored;
        self.rows.push(row);
        if self.rows.len() > MAX_REPORTS {
            self.thin();
        }
        true
    }

    /// Forgets every second row; the last is at an even place.
    fn thin(&mut self) {
        let mut number = 0;
        self.rows.retain(|_| {
            number += 1;
            number % 2 == 1
        });
        self.stride = self.stride.saturating_mul(2);
    }

    pub(super) fn rows(&self) -> &[T] {
        &self.rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_series_is_thinned_evenly_and_has_the_last() {
        for total in [1_u32, 31, 32, 33, 34, 100, 1000, 4321] {
            let mut series = Series::default();
            (0..total).for_each(|number| assert!(series.push(number, true)));
            let rows = series.rows();
            assert!(
                rows.len() <= MAX_REPORTS && rows.len() * 2 >= MAX_REPORTS.min(total as usize),
                "{total}"
            );
            assert_eq!((rows.first(), rows.last()), (Some(&0), Some(&(total - 1))));
            let stride = rows.get(1).copied().unwrap_or(1);
            assert!(stride.is_power_of_two());
            let whole = &rows[..rows.len() - 1];
            assert!(
                whole.iter().enumerate().all(|(at, row)| *row == at as u32 * stride),
                "{total}: {rows:?}"
            );
        }
    }

    #[test]
    fn without_room_the_last_report_replaces_the_one_before() {
        let mut series = Series::default();
        assert!(!series.push(0, false) && series.rows().is_empty());
        (1..4).for_each(|number| assert!(series.push(number, true)));
        assert!(series.push(4, false) && series.push(5, false));
        assert_eq!(series.rows(), [1, 2, 5]);
        assert!(series.push(6, true));
        assert_eq!(series.rows().last(), Some(&6));
    }
}

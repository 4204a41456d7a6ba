//! The calls of a day that a search may select, in its order: from blocks, and from the rows outside of them.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::RangeInclusive;

use rusqlite::types::Value as Sql;
use rusqlite::{Connection, params_from_iter};

use crate::Error;
use crate::blocks::{MOST_OUTSIDE, Rows, blocks_of, gaps};
use crate::columns::{ColumnBounds, ColumnTest, Columns, Numbers, Unpacker};
use crate::day_reader::DayReader;
use crate::search_sql::Bounds;

/// The calls of a day that a search may select, in its order.
pub(crate) struct Candidates<'f> {
    file: &'f DayReader,
    bounds: &'f Bounds,
    /// When they begin, in microseconds.
    start: RangeInclusive<i64>,
    test: ColumnTest<Numbers>,
    unpacker: Unpacker,
    is_newest_first: bool,
    /// What was not looked at yet, the next at the end.
    pending: Vec<Pending>,
    /// Found: by its place in the order, and its row.
    found: BinaryHeap<(Place, Reverse<i64>)>,
    /// Passed on last, or about to be.
    batch: Vec<(Place, i64)>,
}

/// Calls to look at.
#[derive(Debug)]
struct Pending {
    /// None of them comes before.
    place: Place,
    rows: Rows,
    is_block: bool,
}

/// A place in the order of a search, the greatest first: when a call began, or that with the other sign.
type Place = i64;

impl<'f> Candidates<'f> {
    /// Those of a file; `None` where more rows are outside of blocks than are soon compared.
    pub(crate) fn of(
        file: &'f DayReader,
        bounds: &'f Bounds,
        columns: &ColumnBounds,
        is_newest_first: bool,
    ) -> Result<Option<Self>, Error> {
        let failed = |error| file.failed(error);
        let connection = file.connection();
        let last = connection.query_row("SELECT coalesce(max(number), 0) FROM calls", [], |row| row.get(0));
        let blocks = blocks_of(connection).map_err(failed)?;
        let gaps = gaps(&blocks, last.map_err(failed)?);
        if gaps.iter().map(|gap| gap.end() - gap.start() + 1).fold(0, i64::saturating_add) > MOST_OUTSIDE {
            return Ok(None);
        }
        let look_up = |sql: &String| numbers(connection, sql, &bounds.values);
        let test = columns.test.resolve(&look_up).map_err(failed)?;
        let place = |start: &RangeInclusive<i64>| match is_newest_first {
            true => *start.end(),
            false => start.start().saturating_neg(),
        };
        let mut pending: Vec<Pending> = blocks
            .into_iter()
            .filter_map(|block| Some((block.rows, block.start?)))
            .filter(|(_, start)| start.start() <= columns.start.end() && columns.start.start() <= start.end())
            .map(|(rows, start)| Pending { place: place(&start), rows, is_block: true })
            .chain(gaps.into_iter().map(|rows| Pending { place: Place::MAX, rows, is_block: false }))
            .collect();
        pending.sort_by_key(|pending| pending.place);
        let unpacker = Unpacker::new().map_err(|error| Error::io(file.path(), error))?;
        let (found, batch) = (BinaryHeap::new(), Vec::new());
        let start = columns.start.clone();
        Ok(Some(Self { file, bounds, start, test, unpacker, is_newest_first, pending, found, batch }))
    }

    /// The rows of the next ones, about so many; none when there are no more, or when `is_over` says so,
    /// which is asked before each block. Those that began at one moment come together.
    pub(crate) fn next(&mut self, many: usize, is_over: impl Fn() -> bool) -> Result<Vec<i64>, Error> {
        self.batch.clear();
        loop {
            let next = self.found.peek().map(|(place, _)| *place);
            if self.pending.last().is_some_and(|pending| next.is_none_or(|next| pending.place >= next)) {
                if is_over() {
                    return Ok(Vec::new());
                }
                self.look_at_next()?;
                continue;
            }
            let is_enough = self.batch.len() >= many && self.batch.last().map(|(place, _)| *place) != next;
            match self.found.pop() {
                Some(found) if !is_enough => self.batch.push((found.0, found.1.0)),
                Some(found) => {
                    self.found.push(found);
                    break;
                }
                None => break,
            }
        }
        Ok(self.batch.iter().map(|(_, row)| *row).collect())
    }

    /// When the next calls begin, in microseconds, where all before them were passed on: in the order of the
    /// search, none comes before.
    pub(crate) fn reached(&self) -> Option<i64> {
        let places = self.batch.first().map(|(place, _)| *place).into_iter();
        let places = places.chain(self.found.peek().map(|(place, _)| *place));
        let place = places.chain(self.pending.last().map(|pending| pending.place)).max()?;
        let start = if self.is_newest_first { place } else { -place };
        (place != Place::MAX).then_some(start)
    }

    fn look_at_next(&mut self) -> Result<(), Error> {
        let Some(Pending { rows, is_block, .. }) = self.pending.pop() else { return Ok(()) };
        let found = if is_block { self.in_block(&rows)? } else { None };
        let found = match found {
            Some(found) => found,
            // Outside of blocks, or in one that is damaged.
            None => self.in_rows(&rows)?,
        };
        for (start, row) in found.into_iter().filter(|(start, _)| self.start.contains(start)) {
            self.found.push((if self.is_newest_first { start } else { -start }, Reverse(row)));
        }
        Ok(())
    }

    /// The calls of a block that satisfy the test: when each began, and its row. `None`: it cannot be read.
    fn in_block(&mut self, rows: &Rows) -> Result<Option<Vec<(i64, i64)>>, Error> {
        let failed = |error| self.file.failed(error);
        let sql = "SELECT calls, columns FROM call_blocks WHERE last_row = ?1";
        let mut select = self.file.connection().prepare_cached(sql).map_err(failed)?;
        let mut block = select.query([rows.end()]).map_err(failed)?;
        let Some(block) = block.next().map_err(failed)? else { return Ok(None) };
        let calls: u32 = block.get(0).map_err(failed)?;
        let bytes = block.get_ref(1).map_err(failed)?.as_blob().unwrap_or_default();
        if calls > MOST_CALLS {
            return Ok(None);
        }
        let selected = |mut columns: Columns<'_>| {
            let selected = self.test.select(&mut columns, true)?;
            let is_any = selected.contains(&true);
            if is_any { columns.starts_and_rows(&selected) } else { Some(Vec::new()) }
        };
        Ok(Columns::read(calls as usize, bytes, &mut self.unpacker).and_then(selected))
    }

    /// The same of rows of the table.
    fn in_rows(&self, rows: &Rows) -> Result<Vec<(i64, i64)>, Error> {
        let failed = |error| self.file.failed(error);
        let Bounds { condition, values, .. } = self.bounds;
        let (first, last) = (values.len() + 1, values.len() + 2);
        let sql = format!(
            "SELECT start_us, number FROM calls NOT INDEXED \
             WHERE number BETWEEN ?{first} AND ?{last} AND ({condition})"
        );
        let values = values.iter().cloned().chain([rows.start(), rows.end()].map(|row| Sql::Integer(*row)));
        let mut select = self.file.connection().prepare_cached(&sql).map_err(failed)?;
        let found = select.query_map(params_from_iter(values), |row| Ok((row.get(0)?, row.get(1)?)));
        found.and_then(Iterator::collect).map_err(failed)
    }
}

/// The numbers that a statement selects, in their order; it has the first of these values.
fn numbers(connection: &Connection, sql: &str, values: &[Sql]) -> rusqlite::Result<Numbers> {
    let mut select = connection.prepare_cached(sql)?;
    let values = &values[..select.parameter_count().min(values.len())];
    let numbers = select.query_map(params_from_iter(values), |row| row.get(0))?;
    let mut numbers = numbers.collect::<rusqlite::Result<Numbers>>()?;
    numbers.sort_unstable();
    Ok(numbers)
}

/// Calls that a block may have.
const MOST_CALLS: u32 = 1 << 20;

#[cfg(test)]
mod tests;

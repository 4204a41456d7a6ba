//! Blocks: what `columns` has of the calls of a few thousand rows, in the table `call_blocks`, for searches
//! that no key helps. A writer makes them once there are so many rows; a row that changes or goes takes its
//! block with it (a trigger of `schema`), until the writer makes it again. Rows outside of blocks are
//! searched in the table itself: blocks decide how long a search takes and never what it finds.

use std::ops::RangeInclusive;

use rusqlite::{Connection, params};

use crate::columns::{self, COLUMNS, START};

/// Rows, the first and the last.
pub(crate) type Rows = RangeInclusive<i64>;

/// What a writer knows of the blocks of a file.
#[derive(Debug, Default)]
pub(crate) struct BlockState {
    /// Up to this row there is nothing to do, unless one was deleted.
    until: i64,
    is_deleted: bool,
}

impl BlockState {
    /// Notes that a row was deleted.
    pub(crate) fn deleted(&mut self) {
        self.is_deleted = true;
    }

    /// Makes blocks of the rows that lack one, before a transaction ends: a few, that nobody waits long.
    /// Returns whether there are more to make.
    pub(crate) fn make(&mut self, connection: &Connection) -> rusqlite::Result<bool> {
        let sql = "SELECT coalesce(max(number), 0) FROM calls";
        let last: i64 = connection.prepare_cached(sql)?.query_row([], |row| row.get(0))?;
        if last < self.until && !self.is_deleted {
            return Ok(false);
        }
        let blocks = blocks_of(connection)?;
        let behind = blocks.last().map_or(0, |block| *block.rows.end());
        let mut due: Vec<Rows> = gaps(&blocks, behind).into_iter().flat_map(pieces).collect();
        due.extend(pieces(behind + 1..=last).filter(|rows| rows.end() - rows.start() + 1 == ROWS));
        for rows in due.iter().take(AT_ONCE) {
            make_block(connection, rows)?;
        }
        let is_more = due.len() > AT_ONCE;
        let behind = due.last().map_or(behind, |rows| behind.max(*rows.end()));
        *self = Self { until: if is_more { 0 } else { behind + ROWS }, is_deleted: is_more };
        Ok(is_more)
    }
}

/// A block as the table has it.
#[derive(Debug)]
pub(crate) struct Block {
    pub(crate) rows: Rows,
    /// When the first and the last of its calls began; `None` where it has none.
    pub(crate) start: Option<RangeInclusive<i64>>,
}

/// The blocks of a file, in the order of their rows. What damage made of one is left out: its rows are
/// searched in the table.
pub(crate) fn blocks_of(connection: &Connection) -> rusqlite::Result<Vec<Block>> {
    let sql = "SELECT first_row, last_row, first_us, last_us FROM call_blocks ORDER BY last_row";
    let mut select = connection.prepare_cached(sql)?;
    let blocks = select.query_map([], |row| {
        let start = row.get::<_, Option<i64>>(2)?.zip(row.get::<_, Option<i64>>(3)?);
        let start = start.map(|(first, last)| first..=last);
        Ok(Block { rows: row.get(0)?..=row.get(1)?, start })
    })?;
    let mut behind = 0;
    let mut is_block = |block: &Block| {
        let (first, last) = (*block.rows.start(), *block.rows.end());
        let is_block = behind < first && first <= last && last < i64::MAX;
        behind = if is_block { last } else { behind };
        is_block
    };
    blocks.filter(|block| block.as_ref().map_or(true, &mut is_block)).collect()
}

/// The rows up to `last` that no block has.
pub(crate) fn gaps(blocks: &[Block], last: i64) -> Vec<Rows> {
    let mut gaps = Vec::new();
    let mut next = 1;
    for block in blocks {
        gaps.push(next..=*block.rows.start() - 1);
        next = *block.rows.end() + 1;
    }
    gaps.push(next..=last);
    gaps.retain(|gap| !gap.is_empty());
    gaps
}

/// Cuts rows into those of a block each.
fn pieces(rows: Rows) -> impl Iterator<Item = Rows> {
    let last = *rows.end();
    let next = move |first: i64| first..=last.min(first + ROWS - 1);
    rows.step_by(ROWS as usize).map(next)
}

fn make_block(connection: &Connection, rows: &Rows) -> rusqlite::Result<()> {
    let sql = format!("SELECT {} FROM calls WHERE number BETWEEN ?1 AND ?2", COLUMNS.join(", "));
    let mut select = connection.prepare_cached(&sql)?;
    let mut found = select.query((rows.start(), rows.end()))?;
    let mut columns = vec![Vec::new(); COLUMNS.len()];
    while let Some(row) = found.next()? {
        for (place, column) in columns.iter_mut().enumerate() {
            column.push(row.get(place)?);
        }
    }
    let calls = columns[0].len() as i64;
    let starts = COLUMNS.iter().zip(&columns).filter(|(name, _)| **name == START);
    let starts = starts.flat_map(|(_, starts)| starts.iter().flatten());
    let (first, last) = (starts.clone().min(), starts.max());
    let packed =
        columns::pack(&columns).map_err(|error| rusqlite::Error::ToSqlConversionFailure(Box::new(error)))?;
    let sql = "INSERT OR REPLACE INTO call_blocks (last_row, first_row, first_us, last_us, calls, columns) \
               VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
    let values = params![rows.end(), rows.start(), first, last, calls, packed];
    connection.prepare_cached(sql)?.execute(values).map(|_| ())
}

/// Rows of a block. More would be packed a little better, and fewer are sooner read for a page of calls. The
/// tests have few calls, and many blocks of them.
const ROWS: i64 = if cfg!(test) { 4 } else { 8_192 };
/// Blocks that are made before a transaction ends: a tenth of a second or so.
const AT_ONCE: usize = 16;
/// Rows outside of blocks that a search compares before it finds any call. Where there are more, as in a file
/// that an older version wrote and this one may not write, the index by time finds the first calls sooner.
pub(crate) const MOST_OUTSIDE: i64 = 8 * ROWS;

#[cfg(test)]
mod tests;

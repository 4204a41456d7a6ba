use std::path::Path;
use std::sync::Arc;

use ringtap_model::{Call, Id, Nanos};
use ringtap_search::{Context, parse};
use ringtap_testing::samples;

use super::*;
use crate::{Day, ImportWriter, Reader, RunningSearch, Search, SearchOrder};

/// 2026-11-21 12:00 UTC.
const NOON: Nanos = Nanos(1_795_262_400_000_000_000);

fn call(number: u64) -> Call {
    let invite = Some(NOON + Nanos::from_secs(number * 7 % 40));
    let cause = Some(if number.is_multiple_of(5) { 16 } else { 17 });
    Call { id: Id(u128::from(number).to_be_bytes()), invite, cause, streams: vec![], ..samples::call() }
}

fn stored(calls: u64) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let mut writer = ImportWriter::open(dir.path()).unwrap();
    (0..calls).for_each(|number| writer.call(&call(number), &[]).unwrap());
    writer.close().unwrap();
    dir
}

fn change(dir: &Path, sql: &str) {
    let path = dir.join(Day::of(NOON).file_name());
    Connection::open(path).unwrap().execute_batch(sql).unwrap();
}

fn found(dir: &Path, text: &str, order: SearchOrder) -> Vec<Call> {
    let expression = parse(text, &Context::utc(NOON)).unwrap();
    let search = Search { order, ..Search::new(expression) };
    Reader::open(dir).unwrap().page(&search, &Arc::new(RunningSearch::new())).unwrap().calls
}

/// What is in no block, or in one that cannot be read, is found in the rows.
#[test]
fn blocks_decide_how_long_it_takes_and_not_what_is_found() {
    let dir = stored(62);
    let mut expected: Vec<Call> = (0..62).map(call).filter(|call| call.cause == Some(16)).collect();
    expected.sort_by_key(|call| (call.start(), call.id));
    let mut newest = expected.clone();
    newest.reverse();
    for sql in [
        "",
        "UPDATE call_blocks SET columns = x'' WHERE first_row = 5",
        "UPDATE call_blocks SET columns = zeroblob(9000) WHERE first_row = 9",
        "UPDATE call_blocks SET calls = calls + 1 WHERE first_row = 13",
        "UPDATE call_blocks SET calls = 4000000000 WHERE first_row = 17",
        "UPDATE call_blocks SET columns = CAST(replace(columns, x'28b52ffd', x'28b52ffe') AS BLOB) \
         WHERE first_row = 21",
        "DELETE FROM call_blocks WHERE first_row BETWEEN 25 AND 37",
        "UPDATE call_blocks SET first_row = -9223372036854775808 WHERE last_row = 44",
        "UPDATE call_blocks SET first_row = 30, last_row = 9223372036854775807 WHERE last_row = 60",
        // More rows than are compared before the first is found.
        "DELETE FROM call_blocks WHERE first_row > 5",
        "DELETE FROM call_blocks",
    ] {
        change(dir.path(), sql);
        assert_eq!(found(dir.path(), "cause:16", SearchOrder::OldestFirst), expected, "{sql}");
        assert_eq!(found(dir.path(), "cause:16", SearchOrder::NewestFirst), newest, "{sql}");
    }
}

/// The rows of a block are read only where its columns select them.
#[test]
fn what_is_in_blocks_is_not_read_from_the_rows() {
    let dir = stored(62);
    let path = dir.path().join(Day::of(NOON).file_name());
    let none = crate::columns::pack(&vec![Vec::new(); crate::columns::COLUMNS.len()]).unwrap();
    let sql = "UPDATE call_blocks SET calls = 0, columns = ?1";
    Connection::open(path).unwrap().execute(sql, [none]).unwrap();
    let numbers = |text: &str| -> Vec<u128> {
        let calls = found(dir.path(), text, SearchOrder::OldestFirst);
        calls.iter().map(|call| u128::from_be_bytes(call.id.0)).collect()
    };
    assert_eq!(numbers("cause:16"), [60], "the rest of the rows has no block yet");
    assert_eq!(numbers("cause:16 trunk:* or -cause:17"), [60]);
    // What no column tells, or a key, is looked for in the rows.
    assert_eq!(numbers("trunk:nowhere or cause:16").len(), 13);
    assert_eq!(numbers("id:00000000000000000000000000000005 cause:16"), [5]);
}

/// A search that finds nothing can be stopped, and goes on where it was.
#[test]
fn how_far_a_search_came_that_found_nothing() {
    let dir = stored(62);
    let file = Reader::open(dir.path()).unwrap().open_day(Day::of(NOON)).unwrap().unwrap();
    let expression = parse("cause:99", &Context::utc(NOON)).unwrap();
    let filter = ringtap_model::Filter::default();
    let bounds = crate::search_sql::of_day(&expression, &filter, Day::of(NOON), true, None);
    let columns = bounds.columns.as_ref().unwrap();
    for is_newest_first in [true, false] {
        let of = || Candidates::of(&file, &bounds, columns, is_newest_first).unwrap().unwrap();
        let blocks = blocks_of(file.connection()).unwrap();
        let mut ends: Vec<i64> = blocks
            .into_iter()
            .filter_map(|block| block.start)
            .map(|start| if is_newest_first { *start.end() } else { *start.start() })
            .collect();
        ends.sort_unstable();
        if is_newest_first {
            ends.reverse();
        }
        // The rows outside of blocks, which may have any call, are looked at first.
        assert_eq!(of().reached(), None);
        for (blocks, next) in ends.iter().enumerate() {
            let asked = std::cell::Cell::new(0);
            let mut candidates = of();
            let rows = candidates.next(10, || asked.replace(asked.get() + 1) > blocks).unwrap();
            assert_eq!((rows, candidates.reached()), (vec![], Some(*next)));
        }
        let mut candidates = of();
        assert_eq!((candidates.next(10, || false).unwrap(), candidates.reached()), (vec![], None));
    }
}

/// Only the rows are read that columns selected, by their numbers: what is found does not show it.
#[test]
fn rows_are_looked_up_by_their_numbers() {
    let dir = stored(9);
    let file = Reader::open(dir.path()).unwrap().open_day(Day::of(NOON)).unwrap().unwrap();
    let condition = "start_us / 1000000 % 86400 >= 1 AND notes = 0 AND number IN (SELECT call FROM keys)";
    let sql = format!("EXPLAIN QUERY PLAN {}", crate::day_reader::select_rows_of_calls(condition));
    let mut plan = file.connection().prepare(&sql).unwrap();
    let steps = plan.query_map(["[1, 2]"], |row| row.get::<_, String>(3)).unwrap();
    let steps: Vec<String> = steps.map(Result::unwrap).collect();
    assert!(steps[0].starts_with("SEARCH calls USING INTEGER PRIMARY KEY"), "{steps:?}");
}

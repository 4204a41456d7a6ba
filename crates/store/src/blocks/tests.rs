use std::path::Path;

use super::*;
use crate::columns::{Columns, Unpacker};
use crate::schema;

fn file() -> Connection {
    let mut connection = Connection::open_in_memory().unwrap();
    schema::create(&mut connection, Path::new("memory")).unwrap();
    connection
}

fn insert(connection: &Connection, calls: usize) {
    for _ in 0..calls {
        let sql = "INSERT INTO calls (id, start_us, src, dst, state, final_code, retransmissions, \
                   capture_drops, recorded, streams, notes, format, record) \
                   VALUES (randomblob(16), abs(random() % 1000), x'', x'', 1, 200, 0, 0, 1, 0, 0, 1, x'')";
        connection.execute(sql, []).unwrap();
    }
}

/// The rows of each block, as the table says and as the columns do.
fn blocks(connection: &Connection) -> Vec<(Rows, Vec<i64>)> {
    let of = |block: Block| {
        let sql = "SELECT calls, columns FROM call_blocks WHERE last_row = ?1";
        let values = |row: &rusqlite::Row<'_>| Ok((row.get::<_, u32>(0)?, row.get::<_, Vec<u8>>(1)?));
        let (calls, bytes) = connection.query_row(sql, [block.rows.end()], values).unwrap();
        let mut unpacker = Unpacker::new().unwrap();
        let mut columns = Columns::read(calls as usize, &bytes, &mut unpacker).unwrap();
        let calls = columns.starts_and_rows(&vec![true; calls as usize]).unwrap();
        let (starts, rows): (Vec<i64>, Vec<i64>) = calls.into_iter().unzip();
        let ends = starts.iter().min().zip(starts.iter().max());
        assert_eq!(block.start, ends.map(|(first, last)| *first..=*last));
        (block.rows, rows)
    };
    blocks_of(connection).unwrap().into_iter().map(of).collect()
}

fn rows(connection: &Connection) -> Vec<i64> {
    let mut sql = connection.prepare("SELECT number FROM calls ORDER BY number").unwrap();
    sql.query_map([], |row| row.get(0)).unwrap().collect::<Result<_, _>>().unwrap()
}

/// Whatever is stored, deleted and changed: a row is in a block, or outside of all, as it is.
#[test]
fn rows_that_change_are_outside_until_their_block_is_made_again() {
    let connection = file();
    let mut state = BlockState::default();
    insert(&connection, 3);
    assert!(!state.make(&connection).unwrap());
    assert_eq!(blocks(&connection), [], "a block has so many rows");
    insert(&connection, 7);
    assert!(!state.make(&connection).unwrap());
    assert_eq!(blocks(&connection), [(1..=4, vec![1, 2, 3, 4]), (5..=8, vec![5, 6, 7, 8])]);
    assert_eq!(gaps(&blocks_of(&connection).unwrap(), 10), [9..=10]);

    connection.execute("DELETE FROM calls WHERE number IN (2, 10)", []).unwrap();
    assert_eq!(blocks(&connection), [(5..=8, vec![5, 6, 7, 8])]);
    assert_eq!(gaps(&blocks_of(&connection).unwrap(), 9), [1..=4, 9..=9]);
    assert!(!state.make(&connection).unwrap());
    assert_eq!(blocks(&connection).len(), 1, "who deletes says so");
    state.deleted();
    state.make(&connection).unwrap();
    assert_eq!(blocks(&connection)[0], (1..=4, vec![1, 3, 4]));

    connection.execute("UPDATE calls SET cause = 17 WHERE number = 7", []).unwrap();
    assert_eq!(blocks(&connection), [(1..=4, vec![1, 3, 4])]);
    // All that there were: the next rows have the same numbers.
    connection.execute("DELETE FROM calls WHERE number > 4", []).unwrap();
    insert(&connection, 9);
    state.make(&connection).unwrap();
    assert_eq!(blocks(&connection)[1..], [(5..=8, vec![5, 6, 7, 8]), (9..=12, vec![9, 10, 11, 12])]);

    connection.execute("DELETE FROM calls WHERE number <= 4", []).unwrap();
    state.deleted();
    state.make(&connection).unwrap();
    assert_eq!(blocks(&connection)[0], (1..=4, vec![]), "nothing to look for again");
    let in_blocks: Vec<i64> = blocks(&connection).into_iter().flat_map(|(_, rows)| rows).collect();
    assert_eq!(in_blocks, rows(&connection)[..8]);
}

/// A transaction makes a few, and the next goes on.
#[test]
fn many_are_made_one_transaction_after_the_other() {
    let connection = file();
    insert(&connection, 4 * 40 + 1);
    let mut state = BlockState::default();
    for (blocks, is_more) in [(16, true), (32, true), (40, false), (40, false)] {
        assert_eq!(state.make(&connection).unwrap(), is_more);
        assert_eq!(blocks_of(&connection).unwrap().len(), blocks);
    }
    let in_blocks: Vec<i64> = blocks(&connection).into_iter().flat_map(|(_, rows)| rows).collect();
    assert_eq!(in_blocks, rows(&connection)[..160]);
}

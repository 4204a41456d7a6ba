//! How a day file of an older version becomes one of this.
//!
//! Versions 1 to 7 had the records as JSON beside columns. The first step puts the old tables aside and makes
//! the new ones; then records move in batches, each a transaction of its own. Whatever stops it, the next
//! program that opens the file goes on: an old table that is still there tells that it is not done. Two
//! programs at once take turns.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use ringtap_model::{Call, Id, Message, Registration, Stream};
use rusqlite::{Connection, Transaction, TransactionBehavior};

use crate::Error;
use crate::blocks::BlockState;
use crate::record::{AnyRecord, Encoders, StoredRecord};
use crate::schema;
use crate::tables::{FileState, Tables};

/// How far the migration of a day file has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Migration {
    /// The file.
    pub path: std::path::PathBuf,
    /// Records that this program has moved.
    pub moved: u64,
    /// Records that were there when it began.
    pub records: u64,
    /// Records that cannot be read: they stay in the file, in tables called `unreadable_calls` and so on.
    pub unreadable: u64,
    /// Whether it is done.
    pub is_done: bool,
}

impl fmt::Display for Migration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, moved, records, unreadable, is_done } = self;
        match is_done {
            true => write!(f, "{} is migrated to the present format: {moved} records", path.display())?,
            false => write!(
                f,
                "migrating {} to the present format: {moved} of {records} records; if it is interrupted, the \
                 next command goes on",
                path.display()
            )?,
        }
        if *unreadable > 0 {
            write!(
                f,
                "; {unreadable} cannot be read and stay in the file, in tables named `unreadable_...`: \
                 restore the file from a backup if you need them"
            )?;
        }
        Ok(())
    }
}

/// Who is told of migrations: once a batch.
#[derive(Clone, Default)]
pub struct OnMigration(Option<Arc<Tell>>);

/// What tells of a migration.
type Tell = dyn Fn(&Migration) + Send + Sync;

impl OnMigration {
    /// Tells `told`.
    pub fn new(told: impl Fn(&Migration) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(told)))
    }

    fn tell(&self, migration: &Migration) {
        self.0.iter().for_each(|told| told(migration));
    }
}

impl fmt::Debug for OnMigration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OnMigration")
    }
}

/// Whether a file of this version still has records in tables of an older one.
pub(crate) fn is_unfinished(connection: &Connection) -> rusqlite::Result<bool> {
    for table in OLD_TABLES {
        if has_table(connection, &format!("old_{table}"))? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Brings an open file to this version, where it has an older one.
pub(crate) fn migrate(
    connection: &mut Connection,
    path: &Path,
    encoders: &mut Encoders,
    on_migration: &OnMigration,
) -> Result<(), Error> {
    let failed = |error| Error::database(path, error);
    if (1..schema::COMPACT).contains(&schema::version(connection, path)?) {
        put_aside(connection, path)?;
    }
    if schema::add_missing(connection, path)? {
        make_blocks(connection).map_err(failed)?;
    }
    if !is_unfinished(connection).map_err(failed)? {
        return Ok(());
    }
    let records = OLD_TABLES.iter().map(|table| count(connection, table)).sum::<rusqlite::Result<u64>>();
    let mut told = Migration {
        path: path.to_owned(),
        moved: 0,
        records: records.map_err(failed)?,
        unreadable: 0,
        is_done: false,
    };
    on_migration.tell(&told);
    let mut each = |moved, unreadable| {
        told.moved += moved;
        told.unreadable += unreadable;
        on_migration.tell(&told);
    };
    move_table::<Call>(connection, encoders, &mut each).map_err(failed)?;
    move_table::<Stream>(connection, encoders, &mut each).map_err(failed)?;
    move_table::<Registration>(connection, encoders, &mut each).map_err(failed)?;
    move_table::<Message>(connection, encoders, &mut each).map_err(failed)?;
    finish(connection).map_err(failed)?;
    make_blocks(connection).map_err(failed)?;
    told.is_done = true;
    on_migration.tell(&told);
    Ok(())
}

/// Makes the blocks of a file, some at a time: others may write to it in between.
fn make_blocks(connection: &mut Connection) -> rusqlite::Result<()> {
    let mut state = BlockState::default();
    loop {
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let is_more = state.make(&transaction)?;
        transaction.commit()?;
        if !is_more {
            return Ok(());
        }
    }
}

/// The first step: renames the tables of an older version and makes those of this one.
fn put_aside(connection: &mut Connection, path: &Path) -> Result<(), Error> {
    let failed = |error| Error::database(path, error);
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(failed)?;
    // Of two programs that find an old file, one does this.
    if (1..schema::COMPACT).contains(&schema::version(&transaction, path)?) {
        rename(&transaction).map_err(failed)?;
    }
    transaction.commit().map_err(failed)
}

fn rename(transaction: &Transaction<'_>) -> rusqlite::Result<()> {
    for table in OLD_TABLES {
        let indexes =
            "SELECT name FROM sqlite_schema WHERE type = 'index' AND tbl_name = ?1 AND sql IS NOT NULL";
        let mut indexes = transaction.prepare(indexes)?;
        let names: Vec<String> = indexes.query_map([table], |row| row.get(0))?.collect::<Result<_, _>>()?;
        for name in names {
            transaction.execute_batch(&format!("DROP INDEX \"{name}\""))?;
        }
        transaction.execute_batch(&format!("ALTER TABLE {table} RENAME TO old_{table}"))?;
    }
    // Calls have these numbers in their record.
    transaction.execute_batch("DROP TABLE IF EXISTS diversions")?;
    schema::make(transaction)
}

/// Whether the file has a table of that name.
fn has_table(connection: &Connection, name: &str) -> rusqlite::Result<bool> {
    let sql = "SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?1)";
    connection.query_row(sql, [name], |row| row.get(0))
}

fn count(connection: &Connection, table: &str) -> rusqlite::Result<u64> {
    if !has_table(connection, &format!("old_{table}"))? {
        return Ok(0);
    }
    let count: i64 =
        connection.query_row(&format!("SELECT count(*) FROM old_{table}"), [], |row| row.get(0))?;
    Ok(count.unsigned_abs())
}

/// Moves the records of a table, and passes for each batch how many were moved and how many cannot be read.
fn move_table<R: StoredRecord>(
    connection: &mut Connection,
    encoders: &mut Encoders,
    each: &mut impl FnMut(u64, u64),
) -> rusqlite::Result<()> {
    let mut after = i64::MIN;
    loop {
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        if !has_table(&transaction, &format!("old_{}", R::TABLE))? {
            // Another program was done first.
            return transaction.commit();
        }
        let (moved, unreadable, last) = move_batch::<R>(&transaction, encoders, after)?;
        transaction.commit()?;
        let Some(last) = last else { return Ok(()) };
        after = last;
        each(moved, unreadable);
    }
}

/// Moves the next records behind a row: how many, how many cannot be read, and the last row.
fn move_batch<R: StoredRecord>(
    transaction: &Transaction<'_>,
    encoders: &mut Encoders,
    after: i64,
) -> rusqlite::Result<(u64, u64, Option<i64>)> {
    // Another program may write to the file between two batches.
    let mut state = FileState::default();
    let mut tables = Tables::new(transaction, &mut state, encoders)?;
    let sql =
        format!("SELECT rowid, json FROM old_{} WHERE rowid > ?1 ORDER BY rowid LIMIT {BATCH}", R::TABLE);
    let mut select = transaction.prepare_cached(&sql)?;
    let mut delete = transaction.prepare_cached(&format!("DELETE FROM old_{} WHERE rowid = ?1", R::TABLE))?;
    let mut rows = select.query([after])?;
    let (mut moved, mut unreadable, mut last) = (0, 0, None);
    while let Some(row) = rows.next()? {
        let number: i64 = row.get(0)?;
        last = Some(number);
        let record = row.get_ref(1)?.as_bytes().ok().and_then(AnyRecord::parse);
        match record.filter(|record| record.record_type() == R::TYPE) {
            Some(record) => {
                // A record that was written since then is newer.
                tables.write_if_new(&record)?;
                delete.execute([number])?;
                moved += 1;
            }
            None => unreadable += 1,
        }
    }
    drop((rows, tables));
    state.write_keys(transaction)?;
    Ok((moved, unreadable, last))
}

/// The last step: drops the old tables. Those that have records left, which cannot be read, stay.
fn finish(connection: &mut Connection) -> rusqlite::Result<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    for table in OLD_TABLES {
        if !has_table(&transaction, &format!("old_{table}"))? {
            continue;
        }
        match count(&transaction, table)? {
            0 => transaction.execute_batch(&format!("DROP TABLE old_{table}"))?,
            _ => {
                transaction.execute_batch(&format!("ALTER TABLE old_{table} RENAME TO unreadable_{table}"))?
            }
        }
    }
    transaction.commit()?;
    // Gives four fifths of the file back. Without room for that, or beside another program, it stays large.
    let _ = connection.execute_batch("VACUUM");
    Ok(())
}

/// Deletes what could not be read of a call: its own row and those of its streams. Returns whether rows of
/// other calls or streams are left that cannot be read.
pub(crate) fn remove_unreadable(connection: &Connection, call: &Id) -> rusqlite::Result<bool> {
    let mut are_left = false;
    for (table, column) in [(Call::TABLE, "id"), (Stream::TABLE, "call")] {
        let table = format!("unreadable_{table}");
        if has_table(connection, &table)? {
            connection.execute(&format!("DELETE FROM {table} WHERE {column} = ?1"), [call.to_string()])?;
            let any = format!("SELECT EXISTS (SELECT 1 FROM {table})");
            are_left |= connection.query_row(&any, [], |row| row.get::<_, bool>(0))?;
        }
    }
    Ok(are_left)
}

/// The tables that every older version has, each with a column `json`.
const OLD_TABLES: [&str; 4] = [Call::TABLE, Stream::TABLE, Registration::TABLE, Message::TABLE];
/// Records in a transaction.
const BATCH: usize = 1024;

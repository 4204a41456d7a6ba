//! Which minutes have other records than before: a number for each minute of a day file, which is raised in
//! the transaction that changes the minute. What was computed from a minute's records is valid as long as
//! the number is the one that it was computed at.

use std::collections::{BTreeSet, HashMap};

use ringtap_model::{Id, Nanos};
use rusqlite::{Connection, OptionalExtension, TransactionBehavior};

use crate::schema;

/// Minute of a day, UTC.
pub(crate) type Minute = u16;

/// The minutes of a file that were changed and are not yet marked.
#[derive(Debug, Default)]
pub(crate) struct ChangedMinutes {
    changed: BTreeSet<Minute>,
    /// The minute of each call that was written last, in two halves: streams follow their call.
    recent: [HashMap<Id, Minute>; 2],
    /// Calls of streams that came without their call: their minutes have to be looked up.
    unknown: BTreeSet<Id>,
}

impl ChangedMinutes {
    /// Notes a call that was written.
    pub(crate) fn call(&mut self, call: Id, start: Nanos) {
        self.changed.insert(minute(start));
        if self.recent[0].len() >= RECENT {
            self.recent.swap(0, 1);
            self.recent[0].clear();
        }
        self.recent[0].insert(call, minute(start));
    }

    /// Notes a stream that was written.
    pub(crate) fn stream(&mut self, call: Option<Id>) {
        let Some(call) = call else { return };
        match self.recent.iter().find_map(|half| half.get(&call)) {
            Some(minute) => _ = self.changed.insert(*minute),
            None => _ = self.unknown.insert(call),
        }
    }

    /// Notes what began at a moment and was written or deleted.
    pub(crate) fn at(&mut self, start: Nanos) {
        self.changed.insert(minute(start));
    }

    /// Looks up calls of streams that came without them, and returns those that are not in this file.
    pub(crate) fn look_up(&mut self, connection: &Connection) -> rusqlite::Result<BTreeSet<Id>> {
        let mut elsewhere = BTreeSet::new();
        for call in std::mem::take(&mut self.unknown) {
            match start_of(connection, &call)? {
                Some(start) => self.call(call, start),
                None => _ = elsewhere.insert(call),
            }
        }
        Ok(elsewhere)
    }

    /// Marks the minutes, in the transaction that is about to end.
    pub(crate) fn mark(&mut self, connection: &Connection) -> rusqlite::Result<()> {
        let sql = "INSERT INTO minutes (minute, version) VALUES (?1, 1) \
                   ON CONFLICT (minute) DO UPDATE SET version = version + 1";
        let mut mark = connection.prepare_cached(sql)?;
        std::mem::take(&mut self.changed).iter().try_for_each(|minute| mark.execute([minute]).map(|_| ()))
    }
}

/// The minute of the day of a moment.
pub(crate) fn minute(time: Nanos) -> Minute {
    (time.micros() / 60_000_000 % 1440) as Minute
}

/// When a call began that is in this file.
fn start_of(connection: &Connection, call: &Id) -> rusqlite::Result<Option<Nanos>> {
    let part = schema::part_of_day("start_us");
    let parts: Vec<String> = (0..schema::PARTS_OF_DAY).map(|part| part.to_string()).collect();
    let sql = format!("SELECT start_us FROM calls WHERE {part} IN ({}) AND id = ?1", parts.join(", "));
    let mut find = connection.prepare_cached(&sql)?;
    let start: Option<i64> = find.query_row([&call.0[..]], |row| row.get(0)).optional()?;
    Ok(start.map(|start| Nanos::from_micros(start.unsigned_abs())))
}

/// Whether a file has the tables.
pub(crate) fn is_prepared(connection: &Connection) -> rusqlite::Result<bool> {
    let sql = "SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'rollups')";
    connection.query_row(sql, [], |row| row.get(0))
}

/// Makes the tables in a file that lacks them, and marks the minutes of its records.
pub(crate) fn prepare(connection: &mut Connection) -> rusqlite::Result<()> {
    if is_prepared(connection)? {
        return Ok(());
    }
    // Immediate: of two programs that find such a file, one does this.
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    if !is_prepared(&transaction)? {
        transaction.execute_batch(TABLES)?;
    }
    transaction.commit()
}

/// `versions` has those of the minute and of the five before, which tell what is repeated.
const TABLES: &str = "
CREATE TABLE minutes (minute INTEGER PRIMARY KEY, version INTEGER NOT NULL) STRICT;
CREATE TABLE rollups (
    minute INTEGER PRIMARY KEY, settings INTEGER NOT NULL, versions BLOB NOT NULL, pairs BLOB NOT NULL,
    rollup BLOB NOT NULL
) STRICT;
INSERT INTO minutes SELECT DISTINCT start_us / 60000000 % 1440, 1 FROM calls
    UNION SELECT DISTINCT first_us / 60000000 % 1440, 1 FROM registrations;
";
/// Calls that are remembered in each half.
const RECENT: usize = 1 << 14;

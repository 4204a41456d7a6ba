//! The tables of a day file.
//!
//! `application_id` marks a file as this program's, `user_version` is the version of its tables. What older
//! versions had, `migration` knows.

use std::path::Path;

use rusqlite::{Connection, TransactionBehavior};

use crate::Error;

/// "RTAP" in `application_id`.
pub(crate) const APPLICATION: i64 = 0x5254_4150;
/// The version that this program writes.
pub(crate) const VERSION: i64 = 13;
/// The first version whose records have the compact form: later ones only add to it.
pub(crate) const COMPACT: i64 = 8;

/// Creates the tables of an open file where it has none.
pub(crate) fn create(connection: &mut Connection, path: &Path) -> Result<(), Error> {
    if version(connection, path)? != 0 {
        return Ok(());
    }
    let failed = |error| Error::database(path, error);
    // Immediate: of two processes that find an empty file, one creates the tables.
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(failed)?;
    if version(&transaction, path)? == 0 {
        make(&transaction).map_err(failed)?;
    }
    transaction.commit().map_err(failed)
}

/// Makes the tables of this version.
pub(crate) fn make(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch(TABLES)?;
    ADDED.iter().try_for_each(|(_, sql)| connection.execute_batch(sql))?;
    mark(connection)
}

/// Marks a file as one of this version.
fn mark(connection: &Connection) -> rusqlite::Result<()> {
    connection.pragma_update(None, "application_id", APPLICATION)?;
    connection.pragma_update(None, "user_version", VERSION)
}

/// The version of a file; 0 where it has no tables yet. A file of a newer version, or of another program, is
/// an error.
pub(crate) fn version(connection: &Connection, path: &Path) -> Result<i64, Error> {
    let failed = |error| Error::database(path, error);
    let pragma = |name| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0)).map_err(failed);
    let (application, version) = (pragma("application_id")?, pragma("user_version")?);
    if application == APPLICATION {
        if version > VERSION {
            return Err(Error::Newer { path: path.to_owned(), found: version, known: VERSION });
        }
        return Ok(version);
    }
    let tables: i64 =
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0)).map_err(failed)?;
    if tables > 0 || application != 0 || version != 0 {
        return Err(Error::Foreign { path: path.to_owned() });
    }
    Ok(0)
}

/// The part of the day, two hours of twelve, in which a row of that time lies. Indexes by id and by key begin
/// with it: ids and numbers come in no order, and without it every batch would change pages all over them.
pub(crate) fn part_of_day(column: &str) -> String {
    format!("{column} % 86400000000 / {PART_OF_DAY_US}")
}

/// The second of the day in which a row of that time lies: the indexes by time have it instead of the time,
/// which is longer.
pub(crate) fn second_of_day(column: &str) -> String {
    format!("{column} / 1000000 % 86400")
}

/// Microseconds in a part of the day.
pub(crate) const PART_OF_DAY_US: u64 = 7_200_000_000;
/// Parts of a day.
pub(crate) const PARTS_OF_DAY: u8 = 12;

/// `record` has the whole record, in a format of the table `formats`. The other columns are for searching:
/// times in microseconds since 1970, UTC; spans in milliseconds; MOS, loss, jitter, packet time and shares
/// in thousandths, rounded; names and User-Agents as the number of their text; addresses as their bytes and
/// those of the port; `notes` with the bit of each code. These are the tables of version [`COMPACT`].
const TABLES: &str = "
CREATE TABLE formats (
    number INTEGER PRIMARY KEY, record TEXT NOT NULL, fields TEXT NOT NULL, dictionary BLOB NOT NULL
) STRICT;
CREATE TABLE texts (number INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE) STRICT;
INSERT INTO texts VALUES (0, '(any other)');
CREATE TABLE notes (bit INTEGER PRIMARY KEY, code TEXT NOT NULL UNIQUE) STRICT;

CREATE TABLE calls (
    number INTEGER PRIMARY KEY, id BLOB NOT NULL, start_us INTEGER NOT NULL, span_ms INTEGER,
    src BLOB NOT NULL, dst BLOB NOT NULL, state INTEGER NOT NULL,
    final_code INTEGER NOT NULL, final_reason INTEGER, cause INTEGER, released_by INTEGER,
    pdd_ms INTEGER, ring_ms INTEGER, duration_ms INTEGER, retransmissions INTEGER NOT NULL,
    user_agent_caller INTEGER, user_agent_callee INTEGER, mos INTEGER, mos_worst_interval INTEGER,
    capture_drops INTEGER NOT NULL, recorded INTEGER NOT NULL, streams INTEGER NOT NULL,
    notes INTEGER NOT NULL, format INTEGER NOT NULL, record BLOB NOT NULL
) STRICT;
CREATE INDEX calls_start ON calls (start_us / 1000000 % 86400);
CREATE UNIQUE INDEX calls_id ON calls (start_us % 86400000000 / 7200000000, id);
CREATE TABLE keys (
    part INTEGER NOT NULL, key BLOB NOT NULL, call INTEGER NOT NULL, PRIMARY KEY (part, key, call)
) STRICT, WITHOUT ROWID;

CREATE TABLE streams (
    number INTEGER PRIMARY KEY, id BLOB NOT NULL, call BLOB NOT NULL, first_us INTEGER NOT NULL,
    span_ms INTEGER NOT NULL, call_id BLOB NOT NULL, src BLOB NOT NULL, dst BLOB NOT NULL, codec INTEGER,
    ptime INTEGER, mos INTEGER, loss INTEGER NOT NULL, jitter INTEGER, silence INTEGER, clipped INTEGER,
    notes INTEGER NOT NULL, format INTEGER NOT NULL, record BLOB NOT NULL
) STRICT;
CREATE INDEX streams_first ON streams (first_us / 1000000 % 86400);
CREATE UNIQUE INDEX streams_call ON streams
    (first_us % 86400000000 / 7200000000, substr(call, 9), substr(id, 9));

CREATE TABLE registrations (
    number INTEGER PRIMARY KEY, id BLOB NOT NULL, first_us INTEGER NOT NULL, src BLOB NOT NULL,
    dst BLOB NOT NULL, code INTEGER NOT NULL, format INTEGER NOT NULL, record BLOB NOT NULL
) STRICT;
CREATE INDEX registrations_first ON registrations (first_us / 1000000 % 86400);
CREATE UNIQUE INDEX registrations_id ON registrations (first_us % 86400000000 / 7200000000, id);

CREATE TABLE messages (
    number INTEGER PRIMARY KEY, id BLOB NOT NULL, time_us INTEGER NOT NULL, src BLOB NOT NULL,
    dst BLOB NOT NULL, code INTEGER NOT NULL, format INTEGER NOT NULL, record BLOB NOT NULL
) STRICT;
CREATE INDEX messages_time ON messages (time_us / 1000000 % 86400);
CREATE UNIQUE INDEX messages_id ON messages (time_us % 86400000000 / 7200000000, id);
";

/// What each later version added: the version, and its SQL.
///
/// 9: `conversation` of a call, empty where it is the call's own id, and `conversations`: calls whose
/// conversation is another than their record says.
/// 10: `transactions` outside of calls, and `alarms`.
/// 11: `call_blocks`, which `blocks` fills. `columns` is of the calls of the rows from the first to the last.
/// 12: `outages` and `failovers`, and `service_hours`: how available services were.
/// 13: `affected_calls`: what failovers did to calls, whose figures the records of `failovers` have from then
/// on.
const ADDED: &[(i64, &str)] = &[
    (
        9,
        "
ALTER TABLE calls ADD COLUMN conversation BLOB;
CREATE INDEX calls_conversation ON calls (start_us % 86400000000 / 7200000000, substr(conversation, 9))
    WHERE conversation > x'';
CREATE TABLE conversations (
    call BLOB PRIMARY KEY, conversation BLOB NOT NULL, joined_by BLOB, reason TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX conversations_conversation ON conversations (conversation);
",
    ),
    (
        10,
        "
CREATE TABLE transactions (
    number INTEGER PRIMARY KEY, id BLOB NOT NULL, time_us INTEGER NOT NULL, src BLOB NOT NULL,
    dst BLOB NOT NULL, code INTEGER NOT NULL, format INTEGER NOT NULL, record BLOB NOT NULL
) STRICT;
CREATE INDEX transactions_time ON transactions (time_us / 1000000 % 86400);
CREATE UNIQUE INDEX transactions_id ON transactions (time_us % 86400000000 / 7200000000, id);
CREATE TABLE alarms (
    number INTEGER PRIMARY KEY, id BLOB NOT NULL, raised_us INTEGER NOT NULL, format INTEGER NOT NULL,
    record BLOB NOT NULL
) STRICT;
CREATE INDEX alarms_raised ON alarms (raised_us / 1000000 % 86400);
CREATE UNIQUE INDEX alarms_id ON alarms (raised_us % 86400000000 / 7200000000, id);
",
    ),
    (
        11,
        "
CREATE TABLE call_blocks (
    last_row INTEGER PRIMARY KEY, first_row INTEGER NOT NULL, first_us INTEGER, last_us INTEGER,
    calls INTEGER NOT NULL, columns BLOB NOT NULL
) STRICT;
CREATE TRIGGER calls_deleted AFTER DELETE ON calls BEGIN
    DELETE FROM call_blocks WHERE first_row <= old.number AND last_row =
        (SELECT last_row FROM call_blocks WHERE last_row >= old.number ORDER BY last_row LIMIT 1);
END;
CREATE TRIGGER calls_updated AFTER UPDATE ON calls BEGIN
    DELETE FROM call_blocks WHERE first_row <= old.number AND last_row =
        (SELECT last_row FROM call_blocks WHERE last_row >= old.number ORDER BY last_row LIMIT 1);
END;
",
    ),
    (
        12,
        "
CREATE TABLE outages (
    number INTEGER PRIMARY KEY, id BLOB NOT NULL, from_us INTEGER NOT NULL, format INTEGER NOT NULL,
    record BLOB NOT NULL
) STRICT;
CREATE INDEX outages_from ON outages (from_us / 1000000 % 86400);
CREATE UNIQUE INDEX outages_id ON outages (from_us % 86400000000 / 7200000000, id);
CREATE TABLE failovers (
    number INTEGER PRIMARY KEY, id BLOB NOT NULL, from_us INTEGER NOT NULL, format INTEGER NOT NULL,
    record BLOB NOT NULL
) STRICT;
CREATE INDEX failovers_from ON failovers (from_us / 1000000 % 86400);
CREATE UNIQUE INDEX failovers_id ON failovers (from_us % 86400000000 / 7200000000, id);
CREATE TABLE service_hours (
    number INTEGER PRIMARY KEY, id BLOB NOT NULL, from_us INTEGER NOT NULL, format INTEGER NOT NULL,
    record BLOB NOT NULL
) STRICT;
CREATE INDEX service_hours_from ON service_hours (from_us / 1000000 % 86400);
CREATE UNIQUE INDEX service_hours_id ON service_hours (from_us % 86400000000 / 7200000000, id);
",
    ),
    (
        13,
        "
CREATE TABLE affected_calls (
    number INTEGER PRIMARY KEY, id BLOB NOT NULL, failover_us INTEGER NOT NULL, format INTEGER NOT NULL,
    record BLOB NOT NULL
) STRICT;
CREATE INDEX affected_calls_failover ON affected_calls (failover_us / 1000000 % 86400);
CREATE UNIQUE INDEX affected_calls_id ON affected_calls (failover_us % 86400000000 / 7200000000, id);
",
    ),
];

/// Adds to a file of a version from [`COMPACT`] on what it lacks, and returns whether that was anything. Its
/// records stay as they are.
pub(crate) fn add_missing(connection: &mut Connection, path: &Path) -> Result<bool, Error> {
    if !(COMPACT..VERSION).contains(&version(connection, path)?) {
        return Ok(false);
    }
    let failed = |error| Error::database(path, error);
    // Immediate: of two programs that find such a file, one adds to it.
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(failed)?;
    let found = version(&transaction, path)?;
    if (COMPACT..VERSION).contains(&found) {
        for (_, sql) in ADDED.iter().filter(|(version, _)| *version > found) {
            transaction.execute_batch(sql).map_err(failed)?;
        }
        mark(&transaction).map_err(failed)?;
    }
    transaction.commit().map_err(failed)?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The columns of the beginning of records.
    const TIMES: [&str; 6] = ["start_us", "first_us", "time_us", "raised_us", "from_us", "failover_us"];

    #[test]
    fn a_second_time_changes_nothing() {
        let mut connection = Connection::open_in_memory().unwrap();
        create(&mut connection, Path::new("memory")).unwrap();
        create(&mut connection, Path::new("memory")).unwrap();
        assert_eq!(version(&connection, Path::new("memory")).unwrap(), VERSION);
        let sql = |index: &str| -> String {
            let sql = "SELECT sql FROM sqlite_schema WHERE name = ?1";
            connection.query_row(sql, [index], |row| row.get(0)).unwrap()
        };
        for index in [
            "calls_start",
            "streams_first",
            "registrations_first",
            "messages_time",
            "transactions_time",
            "alarms_raised",
            "outages_from",
            "failovers_from",
            "service_hours_from",
            "affected_calls_failover",
        ] {
            let found = TIMES.iter().any(|time| sql(index).contains(&second_of_day(time)));
            assert!(found, "{index}");
        }
        for index in [
            "calls_id",
            "streams_call",
            "registrations_id",
            "messages_id",
            "transactions_id",
            "alarms_id",
            "outages_id",
            "failovers_id",
            "service_hours_id",
            "affected_calls_id",
        ] {
            let sql = sql(index);
            let found = TIMES.iter().any(|time| sql.contains(&part_of_day(time)));
            assert!(found, "{sql}");
        }
    }

    #[test]
    fn newer_and_foreign_files() {
        let mut connection = Connection::open_in_memory().unwrap();
        create(&mut connection, Path::new("memory")).unwrap();
        connection.pragma_update(None, "user_version", 99).unwrap();
        let newer = create(&mut connection, Path::new("memory"));
        assert!(matches!(newer, Err(Error::Newer { found: 99, known: VERSION, .. })));
        let mut other = Connection::open_in_memory().unwrap();
        other.execute_batch("CREATE TABLE x (y)").unwrap();
        assert!(matches!(create(&mut other, Path::new("memory")), Err(Error::Foreign { .. })));
    }
}

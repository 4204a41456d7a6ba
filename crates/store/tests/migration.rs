//! Day files of older versions are migrated when they are opened: the same records, whatever stops it.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends")]

#[expect(dead_code, reason = "shared with the other tests")]
mod common;

use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};

use common::{NOON, alarm, call, message, registration, stream, transaction};
use ringtap_model::{Call, Condition, Filter, Nanos, Stream};
use ringtap_store::{Error, ImportWriter, Migration, OnMigration, Query, Reader, release};
use rusqlite::Connection;
use rustix::thread::{CapabilitySet, CapabilitySets, set_capabilities};
use serde::Serialize;

const DAY: &str = "2026-11-21.sqlite";
/// The tables as version 7 had them, shortened to what a migration touches.
const VERSION_7: &str = "
PRAGMA journal_mode = WAL;
CREATE TABLE calls (
    id TEXT NOT NULL PRIMARY KEY, start_us INTEGER NOT NULL, from_user TEXT, json TEXT NOT NULL
) STRICT;
CREATE INDEX calls_start ON calls (start_us, id);
CREATE INDEX calls_from_separated ON calls (from_user) WHERE from_user GLOB '*[-.() /]*';
CREATE TABLE streams (
    id TEXT NOT NULL PRIMARY KEY, call TEXT, first_us INTEGER NOT NULL, json TEXT NOT NULL
) STRICT;
CREATE INDEX streams_first ON streams (first_us, id);
CREATE INDEX streams_call ON streams (call);
CREATE TABLE registrations (
    id TEXT NOT NULL PRIMARY KEY, first_us INTEGER NOT NULL, json TEXT NOT NULL
) STRICT;
CREATE INDEX registrations_first ON registrations (first_us, id);
CREATE TABLE messages (id TEXT NOT NULL PRIMARY KEY, time_us INTEGER NOT NULL, json TEXT NOT NULL) STRICT;
CREATE INDEX messages_time ON messages (time_us, id);
CREATE TABLE diversions (
    number TEXT NOT NULL, call TEXT NOT NULL, PRIMARY KEY (number, call)
) STRICT, WITHOUT ROWID;
PRAGMA application_id = 1381253456;
PRAGMA user_version = 7;
";

fn json(record: &impl Serialize) -> String {
    serde_json::to_string(record).unwrap()
}

/// A file of version 7 with so many calls, each with a stream, and a record of each other type.
fn old_file(dir: &Path, calls: u64) {
    let mut file = Connection::open(dir.join(DAY)).unwrap();
    file.execute_batch(VERSION_7).unwrap();
    let transaction = file.transaction().unwrap();
    for number in 0..calls {
        let (call, stream) = (call(number), stream(number));
        let insert = "INSERT INTO calls VALUES (?1, ?2, ?3, ?4)";
        transaction
            .execute(insert, (call.id.to_string(), NOON.micros() as i64, &call.from_user, json(&call)))
            .unwrap();
        let insert = "INSERT INTO streams VALUES (?1, ?2, ?3, ?4)";
        let values =
            (stream.id.to_string(), call.id.to_string(), stream.first.micros() as i64, json(&stream));
        transaction.execute(insert, values).unwrap();
    }
    for (table, id, json) in [
        ("registrations", registration(1).id, json(&registration(1))),
        ("messages", message(1).id, json(&message(1))),
    ] {
        let insert = format!("INSERT INTO {table} VALUES (?1, ?2, ?3)");
        transaction.execute(&insert, (id.to_string(), NOON.micros() as i64, json)).unwrap();
    }
    transaction.commit().unwrap();
}

/// The number of calls that fit into a file on one day, at one a minute.
const CALLS: u64 = 700;

fn is_whole(dir: &Path) {
    let reader = Reader::open(dir).unwrap();
    let calls: Vec<Call> = (0..CALLS).map(call).collect();
    let streams: Vec<Stream> = (0..CALLS).map(stream).collect();
    assert!(reader.calls(&Query::default()).unwrap().records == calls);
    assert!(reader.streams(&Query::default()).unwrap().records == streams);
    assert_eq!(reader.registrations(&Query::default()).unwrap().records, [registration(1)]);
    assert_eq!(reader.messages(&Query::default()).unwrap().records, [message(1)]);
    let number = Filter(vec![Condition::Number("*4000007".parse().unwrap())]);
    assert_eq!(reader.calls(&number.into()).unwrap().records, [call(7)]);
    assert_eq!(reader.streams_of(&call(9).id).unwrap(), [stream(9)]);
    let file = Connection::open(dir.join(DAY)).unwrap();
    let old = "SELECT count(*) FROM sqlite_schema \
               WHERE name LIKE 'old%' OR name LIKE 'unreadable%' OR name = 'diversions'";
    assert_eq!(file.query_row(old, [], |row| row.get::<_, i64>(0)).unwrap(), 0);
    assert_eq!(file.query_row("PRAGMA integrity_check", [], |row| row.get::<_, String>(0)).unwrap(), "ok");
}

#[test]
fn a_reader_migrates_and_tells_how_far_it_is() {
    let dir = tempfile::tempdir().unwrap();
    old_file(dir.path(), CALLS);
    let before = std::fs::metadata(dir.path().join(DAY)).unwrap().len();
    let told = Arc::new(Mutex::new(Vec::<Migration>::new()));
    let tell = Arc::clone(&told);
    let on_migration = OnMigration::new(move |migration| tell.lock().unwrap().push(migration.clone()));
    let reader = Reader::open(dir.path()).unwrap().on_migration(on_migration);
    assert_eq!(reader.calls(&Query::default()).unwrap().records.len() as u64, CALLS);
    let told = told.lock().unwrap();
    let (first, last) = (told.first().unwrap(), told.last().unwrap());
    assert_eq!((first.moved, first.records, first.is_done), (0, 2 * CALLS + 2, false));
    assert_eq!((last.moved, last.unreadable, last.is_done), (2 * CALLS + 2, 0, true));
    is_whole(dir.path());
    let after = std::fs::metadata(dir.path().join(DAY)).unwrap().len();
    assert!(after < before / 2, "{before} bytes before, {after} after");
}

#[test]
fn a_writer_migrates() {
    let dir = tempfile::tempdir().unwrap();
    old_file(dir.path(), CALLS - 1);
    let mut writer = ImportWriter::open(dir.path()).unwrap();
    for number in [3, CALLS - 1] {
        writer.call(&call(number), &[stream(number)]).unwrap();
    }
    writer.close().unwrap();
    is_whole(dir.path());
}

/// Of two programs that migrate a file at once, none loses a record.
#[test]
fn two_at_once() {
    let dir = tempfile::tempdir().unwrap();
    old_file(dir.path(), CALLS);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| Reader::open(dir.path()).unwrap().calls(&Query::default()).unwrap());
        }
    });
    is_whole(dir.path());
}

#[test]
fn what_cannot_be_read_stays_in_the_file() {
    let dir = tempfile::tempdir().unwrap();
    old_file(dir.path(), 5);
    let file = Connection::open(dir.path().join(DAY)).unwrap();
    file.execute("UPDATE calls SET json = '{' WHERE id = ?1", [call(2).id.to_string()]).unwrap();
    drop(file);
    let unreadable = Arc::new(Mutex::new(0));
    let tell = Arc::clone(&unreadable);
    let on_migration = OnMigration::new(move |migration| *tell.lock().unwrap() = migration.unreadable);
    let reader = Reader::open(dir.path()).unwrap().on_migration(on_migration);
    let found = reader.calls(&Query::default()).unwrap().records;
    assert_eq!(found, [0, 1, 3, 4].map(call));
    assert_eq!(*unreadable.lock().unwrap(), 1);
    let file = Connection::open(dir.path().join(DAY)).unwrap();
    let left: String = file.query_row("SELECT id FROM unreadable_calls", [], |row| row.get(0)).unwrap();
    assert_eq!(left, call(2).id.to_string());
    // The next program has nothing to do.
    assert_eq!(reader.calls(&Query::default()).unwrap().records.len(), 4);
}

/// Calls on hold are in such files too: what is released is gone, and takes nobody else's record with it.
#[test]
fn what_cannot_be_read_of_a_released_call_is_gone() {
    let dir = tempfile::tempdir().unwrap();
    let held = dir.path().join("held");
    std::fs::create_dir(&held).unwrap();
    old_file(&held, 3);
    let file = Connection::open(held.join(DAY)).unwrap();
    file.execute("UPDATE calls SET json = '{'", []).unwrap();
    drop(file);
    release(dir.path(), &call(2).id).unwrap();
    let left = || -> Vec<String> {
        let file = Connection::open(held.join(DAY)).unwrap();
        let mut ids = file.prepare("SELECT id FROM unreadable_calls ORDER BY rowid").unwrap();
        ids.query_map([], |row| row.get(0)).unwrap().collect::<Result<_, _>>().unwrap()
    };
    assert_eq!(left(), [0, 1].map(|number| call(number).id.to_string()));
    release(dir.path(), &call(0).id).unwrap();
    assert_eq!(left(), [call(1).id.to_string()], "the last record that can be read is another's");
    release(dir.path(), &call(1).id).unwrap();
    assert!(!held.join(DAY).exists());
}

/// A record of version 1, without the fields that came later: they are unknown.
#[test]
fn version_1_file() {
    let dir = tempfile::tempdir().unwrap();
    old_file(dir.path(), 0);
    let mut value = serde_json::to_value(Call { notes: vec![], ..call(1) }).unwrap();
    let later = ["recorded_packets", "recorded_missing", "recorded_empty", "unmonitored_ms", "notes"];
    later.iter().for_each(|name| _ = value.as_object_mut().unwrap().remove(*name));
    let file = Connection::open(dir.path().join(DAY)).unwrap();
    file.execute_batch("DROP TABLE diversions; PRAGMA user_version = 1").unwrap();
    let insert = "INSERT INTO calls VALUES (?1, 5, 'x', ?2)";
    file.execute(insert, (call(1).id.to_string(), value.to_string())).unwrap();
    drop(file);
    let number = Filter(vec![Condition::To("voice*".parse().unwrap())]);
    let found = Reader::open(dir.path()).unwrap().calls(&number.into()).unwrap();
    let expected = Call {
        recorded_packets: None,
        recorded_missing: None,
        recorded_empty: None,
        unmonitored_ms: None,
        ..call(1)
    };
    assert_eq!(found.records, [expected]);
}

/// Who may not write is told who has to open the file once.
#[test]
fn who_may_not_write_is_told_what_to_do() {
    let dir = tempfile::tempdir().unwrap();
    old_file(dir.path(), 3);
    let mode = |path: &Path, mode| std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
    mode(&dir.path().join(DAY), 0o444);
    mode(dir.path(), 0o555);
    let none = CapabilitySets {
        effective: CapabilitySet::empty(),
        permitted: CapabilitySet::empty(),
        inheritable: CapabilitySet::empty(),
    };
    std::thread::scope(|scope| {
        let search = || {
            set_capabilities(None, none).unwrap();
            let found = Reader::open(dir.path()).unwrap().call(&call(1).id);
            assert!(matches!(found, Err(Error::OldVersion { found: 7, .. })), "{found:?}");
        };
        scope.spawn(search).join().unwrap();
    });
    mode(dir.path(), 0o755);
}

const CHILD: &str = "RINGTAP_STORE_MIGRATION_CHILD";

/// The child: migrates a file, and says how far it is.
#[test]
#[ignore = "started by `killed`"]
fn child() {
    let dir = std::env::var_os(CHILD).expect("a directory from `killed`");
    let on_migration = OnMigration::new(|migration| {
        println!("moved {}", migration.moved);
        std::io::stdout().flush().unwrap();
    });
    let reader = Reader::open(Path::new(&dir)).unwrap().on_migration(on_migration);
    reader.calls(&Query { limit: 1, ..Query::default() }).unwrap();
}

/// Killed at any moment, it loses nothing: the next program goes on.
#[test]
fn killed() {
    use std::io::{BufRead, BufReader};
    for lines in [1, 2, 3] {
        let dir = tempfile::tempdir().unwrap();
        old_file(dir.path(), CALLS);
        for _ in 0..2 {
            let mut child = Command::new(std::env::current_exe().unwrap())
                .args(["--exact", "child", "--ignored", "--nocapture", "--test-threads=1"])
                .env(CHILD, dir.path())
                .stdout(Stdio::piped())
                .stderr(Stdio::null())
                .spawn()
                .unwrap();
            let output = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
            // It may be done before.
            let _ = output.filter(|line| line.contains("moved")).nth(lines - 1);
            child.kill().unwrap();
            child.wait().unwrap();
        }
        is_whole(dir.path());
    }
}

/// Records that are written again while the file is half migrated, by the day of a call.
#[test]
fn a_newer_record_wins() {
    let dir = tempfile::tempdir().unwrap();
    old_file(dir.path(), 3);
    let newer = Call { end: Some(NOON + Nanos::from_secs(9)), ..call(1) };
    let mut writer = ImportWriter::open(dir.path()).unwrap();
    writer.call(&newer, &[]).unwrap();
    writer.close().unwrap();
    assert_eq!(Reader::open(dir.path()).unwrap().call(&call(1).id).unwrap(), Some(newer));
}

fn records(dir: &Path) -> Vec<Call> {
    Reader::open(dir).unwrap().calls(&Query::default()).unwrap().records
}

/// What takes a file back to version 12, from there to version 11, and so on.
const VERSION_12: &str = "DROP TABLE affected_calls; PRAGMA user_version = 12";
const VERSION_11: &str =
    "DROP TABLE outages; DROP TABLE failovers; DROP TABLE service_hours; PRAGMA user_version = 11";
const VERSION_10: &str = "DROP TABLE call_blocks; DROP TRIGGER calls_deleted; DROP TRIGGER calls_updated; \
                          PRAGMA user_version = 10";
const VERSION_9: &str = "DROP TABLE transactions; DROP TABLE alarms; PRAGMA user_version = 9";
const VERSION_8: &str = "DROP TABLE conversations; DROP INDEX calls_conversation; \
                         ALTER TABLE calls DROP COLUMN conversation; PRAGMA user_version = 8";

/// Files from version 8 on have the records in the compact form: they get what later versions added, and
/// nothing moves.
#[test]
fn what_later_versions_added_is_added_in_place() {
    let steps = [VERSION_12, VERSION_11, VERSION_10, VERSION_9, VERSION_8];
    (1..=steps.len()).for_each(|count| added_in_place(&steps[..count]));
}

fn added_in_place(steps: &[&str]) {
    let dir = tempfile::tempdir().unwrap();
    let mut writer = ImportWriter::open(dir.path()).unwrap();
    let before = Call { conversation: None, ..call(1) };
    writer.call(&before, &[stream(1)]).unwrap();
    writer.close().unwrap();
    let file = Connection::open(dir.path().join(DAY)).unwrap();
    steps.iter().for_each(|sql| file.execute_batch(sql).unwrap());
    drop(file);
    assert_eq!(records(dir.path()), std::slice::from_ref(&before));
    let file = Connection::open(dir.path().join(DAY)).unwrap();
    let version: i64 = file.pragma_query_value(None, "user_version", |row| row.get(0)).unwrap();
    assert_eq!(version, 13);
    drop(file);
    let mut writer = ImportWriter::open(dir.path()).unwrap();
    writer.call(&call(2), &[]).unwrap();
    writer.transaction(&transaction(2)).unwrap();
    writer.alarm(&alarm(2)).unwrap();
    writer.close().unwrap();
    assert_eq!(records(dir.path()), [before, call(2)]);
    let reader = Reader::open(dir.path()).unwrap();
    assert_eq!(reader.transactions(&Query::default()).unwrap().records, [transaction(2)]);
    assert_eq!(reader.alarms(&Query::default()).unwrap().records, [alarm(2)]);
}

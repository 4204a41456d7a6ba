//! Records written, found again, written twice, changed; and what goes wrong.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends")]

mod common;

use std::fs;
use std::path::Path;

use common::{DAY, NOON, alarm, call, id, message, registration, stream, transaction};
use ringtap_model::{Alarm, Call, CallState, Condition, Filter, Nanos, Stream};
use ringtap_store::{Error, Found, ImportWriter, Query, Reader, RecordCounts};
use rusqlite::Connection;
use rusqlite::types::Value;
use rustix::thread::{CapabilitySet, CapabilitySets, set_capabilities};
use tempfile::TempDir;

/// A directory with those calls in it.
fn stored(calls: &[Call]) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    let mut writer = ImportWriter::open(dir.path()).unwrap();
    calls.iter().for_each(|call| writer.call(call, &[]).unwrap());
    assert_eq!(writer.close().unwrap().calls, calls.len() as u64);
    dir
}

fn find(dir: &Path, query: &Query) -> Found<Call> {
    Reader::open(dir).unwrap().calls(query).unwrap()
}

/// Numbers of the calls found, which their ids carry.
fn numbers(found: &Found<Call>) -> Vec<u8> {
    found.records.iter().map(|row| row.id.0[15]).collect()
}

/// Every row of every table of a day file.
fn dump(path: &Path) -> Vec<(String, Vec<Vec<Value>>)> {
    let connection = Connection::open(path).unwrap();
    let mut names =
        connection.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name").unwrap();
    let names: Vec<String> =
        names.query_map([], |row| row.get(0)).unwrap().collect::<Result<_, _>>().unwrap();
    names
        .into_iter()
        .map(|name| {
            let mut statement = connection.prepare(&format!("SELECT * FROM {name} ORDER BY 1")).unwrap();
            let columns = statement.column_count();
            let rows = statement
                .query_map([], |row| (0..columns).map(|column| row.get(column)).collect())
                .unwrap()
                .collect::<Result<_, _>>()
                .unwrap();
            (name, rows)
        })
        .collect()
}

#[test]
fn over_days_and_limits() {
    let moved = |number, days: u64| {
        let moved = (0..days).fold(NOON, |time, _| time + DAY);
        Call { invite: Some(moved), ..call(number) }
    };
    let dir = stored(&[moved(3, 2), moved(1, 0), moved(2, 1), moved(4, 5)]);
    let found = |limit, since: Option<Nanos>| {
        let filter = Filter(since.map(Condition::Since).into_iter().collect());
        find(dir.path(), &Query { filter, limit, newest: false })
    };
    assert_eq!(Reader::open(dir.path()).unwrap().days().unwrap().len(), 4);
    let all = found(usize::MAX, None);
    assert_eq!((numbers(&all), all.cut, all.days), (vec![1, 2, 3, 4], false, 4));
    let cut = found(2, None);
    assert_eq!((numbers(&cut), cut.cut), (vec![1, 2], true));
    let whole = found(4, None);
    assert_eq!((numbers(&whole), whole.cut), (vec![1, 2, 3, 4], false));
    assert!(found(0, None).cut);
    let later = found(usize::MAX, Some(NOON + DAY + Nanos(1)));
    assert_eq!((numbers(&later), later.days), (vec![3, 4], 3));
    // No file for that time: no rows, and said so.
    let never = found(usize::MAX, Some(NOON + Nanos(DAY.0 * 30)));
    assert_eq!((never.records.len(), never.days), (0, 0));
}

#[test]
fn records_come_back_whole() {
    let dir = tempfile::tempdir().unwrap();
    let mut writer = ImportWriter::open(dir.path()).unwrap();
    let late = Stream { id: id(2, 9), first: NOON + DAY, ..stream(7) };
    writer.call(&call(7), &[stream(7), late.clone()]).unwrap();
    writer.registration(&registration(1)).unwrap();
    writer.message(&message(1)).unwrap();
    writer.transaction(&transaction(1)).unwrap();
    writer.alarm(&alarm(1)).unwrap();
    let written = writer.close().unwrap();
    assert_eq!(
        written,
        RecordCounts {
            calls: 1,
            streams: 2,
            registrations: 1,
            messages: 1,
            transactions: 1,
            alarms: 1,
            outages: 0,
            identities: 0,
            amendments: 0,
            days: 2
        }
    );
    let reader = Reader::open(dir.path()).unwrap();
    assert_eq!(reader.call(&id(1, 7)).unwrap(), Some(call(7)));
    assert_eq!(reader.streams_of(&id(1, 7)).unwrap(), [stream(7), late]);
    assert_eq!(reader.streams_of(&id(1, 8)).unwrap().len(), 0);
    assert_eq!(reader.transactions(&Query::default()).unwrap().records, [transaction(1)]);
    assert_eq!(reader.alarms(&Query::default()).unwrap().records, [alarm(1)]);
    assert_eq!(reader.call(&id(1, 8)).unwrap(), None);
}

#[test]
fn written_twice_changes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("2026-11-21.sqlite");
    let write = |calls: &[Call]| {
        let mut writer = ImportWriter::open(dir.path()).unwrap();
        calls.iter().for_each(|call| writer.call(call, &[stream(1)]).unwrap());
        writer.registration(&registration(1)).unwrap();
        writer.message(&message(1)).unwrap();
        writer.transaction(&transaction(1)).unwrap();
        writer.alarm(&alarm(1)).unwrap();
        writer.close().unwrap()
    };
    let first = write(&[call(1), call(2)]);
    let (rows, bytes) = (dump(&path), fs::read(&path).unwrap());
    assert_eq!(write(&[call(2), call(1), call(1)]).calls, 3);
    assert_eq!((dump(&path), fs::read(&path).unwrap()), (rows, bytes), "not one byte");
    assert_eq!(first.calls, 2);

    // The same call, known better: its row is replaced, its diversions with it.
    let changed = Call { state: CallState::Failed, diverted_to: vec!["112".into()], ..call(1) };
    write(&[changed]);
    let number = |number: &str| Filter(vec![Condition::Number(number.parse().unwrap())]).into();
    assert_eq!(numbers(&find(dir.path(), &number("112"))), [1]);
    assert_eq!(find(dir.path(), &number("+494000001")).records, []);
    assert_eq!(numbers(&find(dir.path(), &number("voicemail"))), [2]);
    let state = Filter(vec![Condition::State(vec![CallState::Failed])]).into();
    assert_eq!(numbers(&find(dir.path(), &state)), [1]);
}

/// What only columns have is compared as well, and what is too long for them is whole.
#[test]
fn a_record_that_differs_in_one_field_replaces_the_other() {
    let dir = tempfile::tempdir().unwrap();
    let reader = || Reader::open(dir.path()).unwrap();
    let agent = |agent: &str| Call { user_agent_caller: Some(agent.into()), ..call(1) };
    let long = "agent ".repeat(100);
    let unknown = Call { user_agent_caller: None, ..call(1) };
    let moved = Call { src: call(1).dst, ..call(1) };
    let reason = Call { final_reason: Some("other".into()), ..call(1) };
    for call in [agent("a"), agent("b"), unknown, agent(&long), agent(&(long.clone() + "x")), moved, reason] {
        let mut writer = ImportWriter::open(dir.path()).unwrap();
        writer.call(&call, &[]).unwrap();
        writer.close().unwrap();
        assert_eq!(reader().calls(&Query::default()).unwrap().records, std::slice::from_ref(&call));
        let found = |text: &str| {
            let filter = Filter(vec![Condition::UserAgent(text.parse().unwrap())]);
            reader().calls(&filter.into()).unwrap().records.len()
        };
        if let Some(agent) = &call.user_agent_caller {
            assert_eq!((found(agent), found(&agent[agent.len() - 1..])), (1, 1), "{agent}");
        }
    }
    let moved = Stream { dst: stream(1).src, ..stream(1) };
    let loose = Stream { call: None, call_id: None, ..stream(1) };
    for stream in [stream(1), moved, loose.clone(), loose] {
        let mut writer = ImportWriter::open(dir.path()).unwrap();
        writer.stream(&stream).unwrap();
        writer.close().unwrap();
        let streams = reader().streams(&Query::default()).unwrap().records;
        assert!(streams.contains(&stream), "{streams:?}");
    }
}

/// A call of which the INVITE was not seen is one record, whatever is known of its start.
#[test]
fn a_call_without_invite_is_stored_once() {
    let dir = tempfile::tempdir().unwrap();
    let joined = |hours: u64| Call {
        invite: None,
        trying: Some(NOON + Nanos::from_secs(3_600 * hours)),
        ringing: None,
        ..call(1)
    };
    for hours in [0, 5, 5, 0] {
        let mut writer = ImportWriter::open(dir.path()).unwrap();
        writer.call(&joined(hours), &[]).unwrap();
        writer.close().unwrap();
        assert_eq!(find(dir.path(), &Query::default()).records, [joined(hours)]);
    }
}

/// A reader sees what was flushed while the writer goes on.
#[test]
fn reading_while_writing() {
    let dir = tempfile::tempdir().unwrap();
    let mut writer = ImportWriter::open(dir.path()).unwrap();
    for number in 1..=20 {
        writer.call(&call(number), &[]).unwrap();
        writer.flush().unwrap();
        assert_eq!(find(dir.path(), &Query::default()).records.len() as u64, number);
    }
    drop(writer);
    assert_eq!(find(dir.path(), &Query::default()).records.len(), 20);
}

#[test]
fn not_one_file_that_fails_is_passed_over() {
    let dir = stored(&[call(1)]);
    let search = || Reader::open(dir.path()).unwrap().calls(&Query::default());
    assert_eq!(search().unwrap().records.len(), 1);
    let path = dir.path().join("2026-11-22.sqlite");

    fs::write(&path, b"this is no database, and longer than a header of one hundred bytes: ".repeat(3))
        .unwrap();
    let error = search().unwrap_err();
    assert!(matches!(&error, Error::Corrupt { path: at, .. } if *at == path), "{error}");
    assert!(ImportWriter::open(dir.path()).is_ok(), "the writer looks at a file when it needs it");

    fs::remove_file(&path).unwrap();
    Connection::open(&path).unwrap().execute_batch("CREATE TABLE x (y)").unwrap();
    assert!(matches!(search(), Err(Error::Foreign { .. })));

    fs::remove_file(&path).unwrap();
    fs::copy(dir.path().join("2026-11-21.sqlite"), &path).unwrap();
    let known: i64 =
        Connection::open(&path).unwrap().pragma_query_value(None, "user_version", |row| row.get(0)).unwrap();
    Connection::open(&path).unwrap().pragma_update(None, "user_version", 77).unwrap();
    let error = search().unwrap_err();
    assert!(matches!(error, Error::Newer { found: 77, .. }));
    assert!(error.to_string().contains("2026-11-22.sqlite") && error.to_string().contains("newer version"));

    // A record that is damaged inside a sound file.
    Connection::open(&path)
        .unwrap()
        .execute_batch(&format!("PRAGMA user_version = {known}; UPDATE calls SET record = x'00'"))
        .unwrap();
    assert!(matches!(search(), Err(Error::Corrupt { .. })));

    // Created by a writer that was killed before its first commit: nothing in it was ever acknowledged.
    fs::write(&path, b"").unwrap();
    assert_eq!(search().unwrap().records.len(), 1);
}

#[test]
fn a_damaged_file_stops_the_writer() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("2026-11-21.sqlite"), [7; 4096]).unwrap();
    let mut writer = ImportWriter::open(dir.path()).unwrap();
    let sent = writer.call(&call(1), &[]);
    let error = sent.and_then(|()| writer.flush()).unwrap_err();
    assert!(matches!(error, Error::Corrupt { .. }), "{error}");
    assert!(matches!(writer.close(), Err(Error::Corrupt { .. })));
}

#[test]
fn directories() {
    let dir = tempfile::tempdir().unwrap();
    assert!(matches!(Reader::open(dir.path()), Err(Error::NoDays { .. })));
    assert!(matches!(Reader::open(&dir.path().join("none")), Err(Error::NoDirectory { .. })));
    let file = dir.path().join("file");
    fs::write(&file, "").unwrap();
    assert!(matches!(Reader::open(&file), Err(Error::NotADirectory { .. })));
    assert!(matches!(ImportWriter::open(&file), Err(Error::NotADirectory { .. })));
    assert!(matches!(ImportWriter::open(&file.join("below")), Err(Error::NotADirectory { .. })));
    let deep = dir.path().join("a/b/c");
    assert_eq!(ImportWriter::open(&deep).unwrap().close().unwrap(), RecordCounts::default());
    assert!(deep.is_dir());
    // Emptied while a reader is open: an error, not an empty answer.
    let stored = stored(&[call(1)]);
    let reader = Reader::open(stored.path()).unwrap();
    fs::remove_file(stored.path().join("2026-11-21.sqlite")).unwrap();
    assert!(matches!(reader.calls(&Query::default()), Err(Error::NoDays { .. })));
}

/// A user who may only read searches all the same, as long as no writer has left its log behind; one who may
/// not even read is told so.
#[cfg(unix)]
#[test]
fn permissions() {
    use std::os::unix::fs::PermissionsExt;
    let dir = stored(&[call(1)]);
    let path = dir.path().join("2026-11-21.sqlite");
    let mode = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    mode(&path, 0o444);
    mode(dir.path(), 0o555);
    assert_eq!(numbers(&find(dir.path(), &Query::default())), [1]);
    as_ordinary_user(|| {
        let mut writer = ImportWriter::open(dir.path()).unwrap();
        let sent = writer.call(&call(2), &[]).and_then(|()| writer.flush());
        assert!(matches!(sent, Err(Error::Permission { .. })), "{sent:?}");
        mode(&path, 0);
        let found = Reader::open(dir.path()).unwrap().calls(&Query::default());
        assert!(matches!(found, Err(Error::Permission { .. })), "{found:?}");
        mode(dir.path(), 0);
        assert!(matches!(Reader::open(dir.path()), Err(Error::Permission { .. })));
    });
    mode(dir.path(), 0o755);
}

/// In a thread to which the permissions of files apply, whoever runs the tests.
fn as_ordinary_user(test: impl FnOnce() + Send) {
    let none = CapabilitySets {
        effective: CapabilitySet::empty(),
        permitted: CapabilitySet::empty(),
        inheritable: CapabilitySet::empty(),
    };
    std::thread::scope(|scope| {
        let run = || {
            set_capabilities(None, none).unwrap();
            test();
        };
        scope.spawn(run).join().unwrap();
    });
}

/// A call of which no moment is known is kept, at the epoch.
#[test]
fn a_call_without_time() {
    let none = Call { invite: None, trying: None, ringing: None, answer: None, end: None, ..call(1) };
    let dir = stored(&[none]);
    assert!(dir.path().join("1970-01-01.sqlite").exists());
    assert_eq!(numbers(&find(dir.path(), &Query::default())), [1]);
}

/// An alarm is stored when it is raised, and again when it changes: in the day in which it was raised.
#[test]
fn an_alarm_written_again_replaces_the_earlier_one() {
    let dir = tempfile::tempdir().unwrap();
    let mut writer = ImportWriter::open(dir.path()).unwrap();
    writer.alarm(&alarm(1)).unwrap();
    writer.alarm(&alarm(2)).unwrap();
    writer.flush().unwrap();
    let cleared = Alarm { cleared: Some(NOON + DAY), last: NOON + DAY, calls: vec![], ..alarm(1) };
    writer.alarm(&Alarm { acknowledged_by: Some("anna".into()), ..alarm(1) }).unwrap();
    writer.alarm(&cleared).unwrap();
    assert_eq!(writer.close().unwrap().days, 1);
    let reader = Reader::open(dir.path()).unwrap();
    let find = |condition| reader.alarms(&Filter(vec![condition]).into()).unwrap().records;
    assert_eq!(find(Condition::Since(alarm(1).raised)), [cleared.clone(), alarm(2)]);
    assert_eq!(find(Condition::Since(alarm(2).raised)), [alarm(2)]);
    assert_eq!(find(Condition::Until(alarm(2).raised)), [cleared]);
    assert_eq!(find(Condition::Number("1".parse().unwrap())), []);
}

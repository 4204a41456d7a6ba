//! A writer survives a database that is locked, full or gone, and restarts; what it could not store it
//! counts.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends")]

#[expect(dead_code, reason = "shared with the other tests")]
mod common;

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use common::{NOON, alarm, call, message, registration, stream, transaction};
use ringtap_model::{Alarm, Call, CallState, Nanos};
use ringtap_store::{CallNote, Query, Reader, Retain, StoreEvent, StoreSettings, StoreWriter};
use rusqlite::Connection;
use tempfile::TempDir;

const DAY: &str = "2026-11-21.sqlite";
/// Long enough for a machine that does much else.
const PATIENCE: Duration = Duration::from_secs(30);

fn settings(dir: &Path) -> StoreSettings {
    StoreSettings {
        directory: dir.join("store"),
        queue: 4_096,
        cache: 1 << 20,
        outbox: dir.join("outbox"),
        outbox_size: 64 << 20,
        journal: Some(dir.join("journal")),
        retain: Retain::default(),
    }
}

fn open(settings: &StoreSettings) -> (StoreWriter, Receiver<StoreEvent>) {
    let (report, events) = channel();
    let (writer, recovered) = StoreWriter::open(settings, move |event| _ = report.send(event)).unwrap();
    let sender = writer.sender().unwrap();
    recovered.calls.into_iter().for_each(|call| sender.recover(call.record, Vec::new()));
    (writer, events)
}

/// Waits for a event of that name; those before it are passed over.
fn wait_for(events: &Receiver<StoreEvent>, name: &str) -> StoreEvent {
    loop {
        let event = events.recv_timeout(PATIENCE).unwrap_or_else(|_| panic!("no {name}"));
        if format!("{event:?}").starts_with(name) {
            return event;
        }
    }
}

/// The calls of a store by number, with their states.
fn stored(dir: &Path) -> Vec<(u8, String)> {
    let found = Reader::open(&dir.join("store")).unwrap().calls(&Query::default()).unwrap();
    let mut calls: Vec<_> =
        found.records.iter().map(|call| (call.id.0[15], call.state.name().to_owned())).collect();
    calls.sort();
    calls
}

fn numbers(dir: &Path) -> Vec<u8> {
    stored(dir).into_iter().map(|(number, _)| number).collect()
}

/// Holds the day file as another program would.
fn lock(dir: &Path) -> Connection {
    let connection = Connection::open(dir.join("store").join(DAY)).unwrap();
    connection.execute_batch("BEGIN IMMEDIATE").unwrap();
    connection
}

fn with_call(dir: &TempDir, number: u64) {
    let (writer, _events) = open(&settings(dir.path()));
    writer.sender().unwrap().call(call(number), vec![stream(number)]);
    assert_eq!(writer.close(PATIENCE).written.calls, 1);
}

#[test]
fn every_kind_is_kept_and_counted() {
    let dir = tempfile::tempdir().unwrap();
    let (writer, events) = open(&settings(dir.path()));
    let mut sender = writer.sender().unwrap();
    sender.progress(1, &call(1));
    sender.call(call(1), vec![stream(1), stream(2)]);
    sender.stream(stream(3));
    sender.registration(registration(1));
    sender.message(message(1));
    sender.transaction(transaction(1));
    sender.alarm(alarm(1));
    drop(sender);
    let counts = writer.close(PATIENCE);
    let written = counts.written;
    assert_eq!((written.calls, written.streams, written.registrations, written.messages), (1, 3, 1, 1));
    assert_eq!((written.transactions, written.alarms), (1, 1));
    assert_eq!((counts.records_dropped(), counts.waiting, counts.outbox_records), (0, 0, 0));
    assert_eq!((counts.journal_calls, counts.journal_missed), (0, 0));
    assert_eq!(events.try_iter().count(), 0);
    let reader = Reader::open(&dir.path().join("store")).unwrap();
    assert_eq!(reader.streams_of(&call(1).id).unwrap()[0], stream(1));
}

/// Locked for a while: what came meanwhile is acknowledged from the outbox, and stored when the lock is gone.
#[test]
fn a_locked_file_is_waited_for() {
    let dir = tempfile::tempdir().unwrap();
    with_call(&dir, 0);
    let lock = lock(dir.path());
    let (writer, events) = open(&settings(dir.path()));
    let mut sender = writer.sender().unwrap();
    for number in 1..=20 {
        sender.call(call(number), vec![stream(number)]);
    }
    sender.transaction(transaction(1));
    sender.alarm(alarm(1));
    sender.alarm(Alarm { cleared: Some(NOON), ..alarm(1) });
    assert!(writer.flush(PATIENCE));
    assert!(matches!(
        wait_for(&events, "Unavailable"),
        StoreEvent::Unavailable(ringtap_store::Error::Busy { .. })
    ));
    let counts = writer.counts();
    assert_eq!((counts.outbox_records, counts.written.calls, counts.away), (43, 0, true));
    drop(lock);
    assert!(matches!(wait_for(&events, "Available"), StoreEvent::Available { waiting: 43, .. }));
    wait_for(&events, "CaughtUp");
    sender.call(call(21), vec![]);
    drop(sender);
    let counts = writer.close(PATIENCE);
    assert_eq!((counts.written.calls, counts.written.streams, counts.outbox_records), (21, 20, 0));
    assert_eq!(numbers(dir.path()), (0..=21).collect::<Vec<_>>());
    let reader = Reader::open(&dir.path().join("store")).unwrap();
    assert_eq!(reader.transactions(&Query::default()).unwrap().records, [transaction(1)]);
    let cleared = Alarm { cleared: Some(NOON), ..alarm(1) };
    assert_eq!(reader.alarms(&Query::default()).unwrap().records, [cleared]);
}

/// Locked to the end and beyond: the next run stores what waits, before its own.
#[test]
fn what_waits_outlives_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    with_call(&dir, 0);
    let lock = lock(dir.path());
    for run in 0..3_u64 {
        let (writer, _events) = open(&settings(dir.path()));
        // The last of them again, which changes nothing.
        for number in (run * 10).saturating_sub(1)..run * 10 + 10 {
            writer.sender().unwrap().call(call(number), vec![]);
        }
        let counts = writer.close(Duration::ZERO);
        assert_eq!((counts.written.calls, counts.records_dropped()), (0, 0));
    }
    drop(lock);
    let (writer, events) = open(&settings(dir.path()));
    assert!(matches!(
        wait_for(&events, "Recovered"),
        StoreEvent::Recovered { calls: 0, waiting: 32, cut: 0 }
    ));
    writer.close(PATIENCE);
    assert_eq!(numbers(dir.path()), (0..30).collect::<Vec<_>>());
    assert_eq!(std::fs::read_dir(dir.path().join("outbox")).unwrap().count(), 0);
}

/// With no room anywhere, what was sent is what was kept and what was counted.
#[test]
fn what_finds_no_room_is_counted() {
    let dir = tempfile::tempdir().unwrap();
    with_call(&dir, 0);
    let lock = lock(dir.path());
    let settings = StoreSettings { queue: 16, outbox_size: 20_000, ..settings(dir.path()) };
    let (writer, events) = open(&settings);
    let mut sender = writer.sender().unwrap();
    let mut sent = 0_u64;
    // Until the outbox, what is held in memory and the queue are full; then some more.
    while writer.counts().dropped.calls < 100 {
        sent += 1;
        sender.call(call(sent), vec![stream(sent)]);
        std::thread::yield_now();
    }
    wait_for(&events, "OutboxFull");
    drop(lock);
    drop(sender);
    let counts = writer.close(PATIENCE);
    assert_eq!(counts.written.calls + counts.dropped.calls, sent);
    assert_eq!(counts.written.streams + counts.dropped.streams, sent);
    assert_eq!((counts.waiting, counts.outbox_records), (0, 0));
    let found = Reader::open(&dir.path().join("store")).unwrap().calls(&Query::default()).unwrap();
    assert_eq!(found.records.len() as u64, counts.written.calls + 1);
}

/// A flood of calls that nobody answers comes faster than any disk writes: it takes half of the queue.
#[test]
fn what_nobody_answers_leaves_room_for_calls_that_came_to_something() {
    let dir = tempfile::tempdir().unwrap();
    with_call(&dir, 0);
    let lock = lock(dir.path());
    let settings = StoreSettings { queue: 16, outbox_size: 20_000, ..settings(dir.path()) };
    let (writer, _events) = open(&settings);
    let mut sender = writer.sender().unwrap();
    let unanswered = Call { state: CallState::Trying, answer: None, final_code: 0, ..call(0) };
    while writer.counts().dropped.calls < 100 {
        sender.call(unanswered.clone(), vec![]);
        std::thread::yield_now();
    }
    let dropped = writer.counts().dropped.calls;
    (1..=5).for_each(|number| sender.call(call(number), vec![stream(number)]));
    assert_eq!((writer.counts().dropped.calls, writer.counts().dropped.streams), (dropped, 0));
    drop((lock, sender));
    writer.close(PATIENCE);
    let stored = stored(dir.path());
    assert!((1..=5).all(|number| stored.contains(&(number, "completed".to_owned()))), "{stored:?}");
}

/// The directory goes away and comes back; a file that is moved away is missed at once.
#[test]
fn a_directory_that_goes_away_is_missed() {
    let dir = tempfile::tempdir().unwrap();
    let (writer, events) = open(&settings(dir.path()));
    let mut sender = writer.sender().unwrap();
    sender.call(call(1), vec![]);
    assert!(writer.flush(PATIENCE));
    let (there, aside) = (dir.path().join("store"), dir.path().join("aside"));
    std::fs::rename(&there, &aside).unwrap();
    sender.call(call(2), vec![]);
    assert!(writer.flush(PATIENCE));
    wait_for(&events, "Unavailable");
    std::fs::create_dir(&there).unwrap();
    wait_for(&events, "Available");
    drop(sender);
    writer.close(PATIENCE);
    assert_eq!(numbers(dir.path()), [2]);
    let aside = Reader::open(&aside).unwrap().calls(&Query::default()).unwrap();
    assert_eq!(aside.records.len(), 1);
}

/// Days older than records are kept are deleted, others not.
#[test]
fn old_days_are_forgotten() {
    let dir = tempfile::tempdir().unwrap();
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
    let at = |number, days: u64| Call { invite: Some(Nanos::from_secs(now - days * 86_400)), ..call(number) };
    let (writer, _events) = open(&settings(dir.path()));
    let mut sender = writer.sender().unwrap();
    for (number, days) in [(0, 0), (1, 1), (5, 5), (30, 30)] {
        sender.call(at(number, days), vec![]);
    }
    drop(sender);
    writer.close(PATIENCE);
    assert_eq!(numbers(dir.path()), [0, 1, 5, 30]);
    let retain = Nanos::from_secs(3 * 86_400);
    let (writer, events) = open(&StoreSettings { retain: Retain::all(retain), ..settings(dir.path()) });
    assert!(matches!(wait_for(&events, "DaysDeleted"), StoreEvent::DaysDeleted(days) if days.len() == 2));
    writer.close(PATIENCE);
    assert_eq!(numbers(dir.path()), [0, 1]);
}

/// What is held of a call is found where its day is gone, and nothing else of that day.
#[test]
fn held_records_outlive_their_day() {
    let dir = tempfile::tempdir().unwrap();
    let (writer, _events) = open(&settings(dir.path()));
    let mut sender = writer.sender().unwrap();
    (0..4).for_each(|number| sender.call(call(number), vec![stream(number)]));
    drop(sender);
    writer.close(PATIENCE);
    let store = dir.path().join("store");
    let reader = Reader::open(&store).unwrap();
    for number in [1, 3] {
        let call = reader.call(&call(number).id).unwrap().unwrap();
        let streams = reader.streams_of(&call.id).unwrap();
        assert_eq!(streams.len(), 1);
        ringtap_store::hold(&store, &call, &streams).unwrap();
        ringtap_store::hold(&store, &call, &streams).unwrap();
    }
    // While the day is there, each is found once.
    assert_eq!(numbers(dir.path()), [0, 1, 2, 3]);
    let days = reader.days().unwrap();
    for day in &days {
        std::fs::remove_file(store.join(day.file_name())).unwrap();
    }
    assert_eq!((numbers(dir.path()), reader.days().unwrap()), (vec![1, 3], days));
    assert_eq!(reader.streams_of(&call(3).id).unwrap().len(), 1);
    ringtap_store::release(&store, &call(3).id).unwrap();
    assert_eq!(numbers(dir.path()), [1]);
    ringtap_store::release(&store, &call(1).id).unwrap();
    assert!(Reader::open(&store).is_err());
    assert_eq!(std::fs::read_dir(store.join("held")).unwrap().count(), 0);
    ringtap_store::release(&store, &call(1).id).unwrap();
}

/// A call that was under way and whose record is known after all stays as it is known, whichever comes first.
#[test]
fn interrupted_never_takes_the_place_of_a_record() {
    let under_way = |number| Call { state: CallState::Ringing, answer: None, end: None, ..call(number) };
    let dir = tempfile::tempdir().unwrap();
    let (writer, _events) = open(&settings(dir.path()));
    let mut sender = writer.sender().unwrap();
    sender.clock(NOON + Nanos::from_secs(100));
    sender.progress(1, &under_way(1));
    sender.progress(2, &under_way(2));
    assert!(writer.flush(PATIENCE));
    // As a kill leaves it.
    let journal = std::fs::read(dir.path().join("journal")).unwrap();
    sender.call(call(1), vec![]);
    drop(sender);
    writer.close(PATIENCE);
    std::fs::write(dir.path().join("journal"), journal).unwrap();

    let (writer, events) = open(&settings(dir.path()));
    assert!(matches!(wait_for(&events, "Recovered"), StoreEvent::Recovered { calls: 2, .. }));
    assert!(writer.flush(PATIENCE));
    let states = stored(dir.path());
    assert_eq!(states, [(1, "completed".to_owned()), (2, "interrupted".to_owned())]);
    // A record that comes later takes its place.
    writer.sender().unwrap().call(call(2), vec![]);
    let counts = writer.close(PATIENCE);
    assert_eq!(counts.journal_calls, 0);
    assert_eq!(stored(dir.path())[1], (2, "completed".to_owned()));
}

/// A run that ends in the middle of a call stores it as it is, and leaves it in the journal. A next run that
/// does not go on with it, since it comes too late, says that it was interrupted.
#[test]
fn a_call_that_was_handed_over_and_does_not_go_on_is_interrupted() {
    let dir = tempfile::tempdir().unwrap();
    let under_way = Call { state: CallState::Active, end: None, ..call(1) };
    let notes = vec![CallNote::Decision(7), CallNote::State(b"{}".to_vec())];
    let (writer, _events) = open(&settings(dir.path()));
    writer.sender().unwrap().call(under_way.clone(), vec![]);
    let counts = writer.hand_over(PATIENCE, NOON, vec![(under_way.clone(), notes.clone())]);
    assert_eq!((stored(dir.path()), counts.journal_calls), (vec![(1, "active".to_owned())], 1));

    let (writer, recovered) = StoreWriter::open(&settings(dir.path()), |_| ()).unwrap();
    let [handed_over] = &recovered.calls[..] else { panic!("{recovered:?}") };
    assert!(handed_over.is_handed_over() && handed_over.state == CallState::Active);
    assert_eq!((&handed_over.notes, recovered.last), (&notes, NOON));
    writer.sender().unwrap().recover(handed_over.record.clone(), vec![]);
    writer.close(PATIENCE);
    assert_eq!(stored(dir.path()), [(1, "interrupted".to_owned())]);
    assert_eq!(StoreWriter::open(&settings(dir.path()), |_| ()).unwrap().1.calls, []);
}

/// The id of a call changes when its INVITE comes after another message of it: it is one call all the same.
#[test]
fn a_call_whose_id_changes_is_in_the_journal_once() {
    let dir = tempfile::tempdir().unwrap();
    let (writer, _events) = open(&settings(dir.path()));
    let mut sender = writer.sender().unwrap();
    let under_way = |number| Call { state: CallState::Trying, answer: None, end: None, ..call(number) };
    // The 7 names the call, whatever its id; another call that ended has had that name before.
    for number in [9, 1, 2] {
        sender.progress(7, &under_way(number));
        if number == 9 {
            sender.call(call(9), vec![]);
            assert!(writer.flush(PATIENCE));
        }
    }
    assert!(writer.flush(PATIENCE));
    assert_eq!(writer.counts().journal_calls, 1);
    let journal = std::fs::read(dir.path().join("journal")).unwrap();
    drop((sender, writer));
    std::fs::write(dir.path().join("journal"), journal).unwrap();
    drop(open(&settings(dir.path())));
    assert_eq!(stored(dir.path()), [(2, "interrupted".to_owned()), (9, "completed".to_owned())]);
}

/// Calls that begin while the day files cannot be written are in the journal at once.
#[test]
fn the_journal_does_not_wait_for_the_day_files() {
    let dir = tempfile::tempdir().unwrap();
    with_call(&dir, 0);
    let _lock = lock(dir.path());
    let (writer, _events) = open(&settings(dir.path()));
    let mut sender = writer.sender().unwrap();
    for number in 1..=50 {
        sender.progress(number, &Call { state: CallState::Trying, answer: None, end: None, ..call(number) });
        sender.call(call(100 + number), vec![]);
    }
    // The lock is waited for a quarter of a second at a time.
    let began = Instant::now();
    while writer.counts().journal_calls < 50 {
        assert!(began.elapsed() < PATIENCE, "{:?}", writer.counts());
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn what_cannot_be_opened_says_so() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("journal"), "somebody's notes").unwrap();
    let error = StoreWriter::open(&settings(dir.path()), |_| ()).unwrap_err().to_string();
    assert!(error.contains("journal was not written by ringtap"), "{error}");
    let settings = StoreSettings { journal: Some(dir.path().join("no/journal")), ..settings(dir.path()) };
    let error = StoreWriter::open(&settings, |_| ()).unwrap_err().to_string();
    assert!(error.contains("/no does not exist"), "{error}");
}

const CHILD: &str = "RINGTAP_STORE_WRITER_CHILD";

/// The child: begins calls without end, ends every second of them, and says after each flush how many are
/// durable. Does
#[test]
#[ignore = "started by `killed`"]
fn child() {
    let dir = std::env::var_os(CHILD).expect("a directory from `killed`");
    let (writer, _events) = open(&settings(Path::new(&dir)));
    let mut sender = writer.sender().unwrap();
    for number in 0..100 {
        let under_way = Call { state: CallState::Trying, answer: None, end: None, ..call(number) };
        sender.progress(number, &under_way);
        if number % 2 == 1 {
            sender.call(call(number), vec![stream(number)]);
        }
        if number % 5 == 4 {
            assert!(writer.flush(PATIENCE));
            println!("durable {}", number + 1);
            std::io::stdout().flush().unwrap();
        }
    }
    std::thread::sleep(PATIENCE);
}

/// Killed by SIGKILL: what was acknowledged is there, what was under way is there as interrupted, nothing is
/// doubled.
#[test]
fn killed() {
    for flushes in [1, 4, 20] {
        let dir = tempfile::tempdir().unwrap();
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "child", "--ignored", "--nocapture", "--test-threads=1"])
            .env(CHILD, dir.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        let mut durable = lines.filter_map(|line| line.split_once("durable ")?.1.trim().parse::<u8>().ok());
        let last = durable.nth(flushes - 1);
        child.kill().unwrap();
        child.wait().unwrap();
        let durable = durable.last().or(last).unwrap();

        let (writer, events) = open(&settings(dir.path()));
        assert!(matches!(wait_for(&events, "Recovered"), StoreEvent::Recovered { calls: 1.., .. }));
        assert_eq!(writer.close(PATIENCE).journal_calls, 0);
        let states = stored(dir.path());
        let ids: BTreeSet<u8> = states.iter().map(|(number, _)| *number).collect();
        assert_eq!(ids.len(), states.len(), "a call is doubled");
        assert!((0..durable).all(|number| ids.contains(&number)), "of {durable} there are {states:?}");
        for (number, state) in &states {
            // The last, which was not acknowledged, may have ended and lost its record.
            let expected = if number % 2 == 1 { "completed" } else { "interrupted" };
            assert!(state == expected || *number >= durable, "call {number} is {state}");
        }
        let (_writer, events) = open(&settings(dir.path()));
        assert_eq!(events.try_iter().count(), 0);
    }
}

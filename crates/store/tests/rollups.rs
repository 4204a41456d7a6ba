//! What is computed of each minute is always that of its records, whatever was stored before.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends")]

#[expect(dead_code, reason = "shared with the other tests")]
mod common;

use std::cell::Cell;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use common::{DAY, NOON, call, id, message, registration, stream};
use proptest::prelude::*;
use ringtap_model::{Amendment, Call, JoinReason, Nanos, Registration, Stream};
use ringtap_store::{
    Error, FoldMinute, FoldedMinute, ImportWriter, MakeRollup, Reader, RollupCounts, RunningSearch,
};
use rusqlite::Connection;

const MINUTE: u64 = 60_000_000_000;
/// Midnight after [`NOON`].
const MIDNIGHT: Nanos = Nanos::from_secs(1_795_305_600);
const ALL: (Nanos, Nanos) = (Nanos::ZERO, Nanos::MAX);

/// Lists what it was given: calls with their streams and MOS, registrations, and what the minutes before had.
struct Listing {
    settings: u64,
    begun: Cell<u64>,
}

struct List {
    pairs: Vec<String>,
    rest: Vec<String>,
}

impl MakeRollup for Listing {
    fn settings(&self) -> u64 {
        self.settings
    }

    fn begin(&self, minute: Nanos, before: &[Vec<u8>]) -> Box<dyn FoldMinute + '_> {
        self.begun.set(self.begun.get() + 1);
        let mut before: Vec<_> = before.iter().map(|text| String::from_utf8(text.clone()).unwrap()).collect();
        before.sort();
        Box::new(List { pairs: Vec::new(), rest: vec![minute.0.to_string(), format!("{before:?}")] })
    }
}

impl FoldMinute for List {
    fn call(&mut self, call: &Call, streams: &[Stream]) {
        let streams: Vec<_> = streams.iter().map(|stream| (stream.id, stream.mos)).collect();
        self.pairs.push(call.id.to_string());
        let conversation = call.conversation;
        self.rest.push(format!("{} {} {conversation:?} {streams:?}", call.id, call.final_code));
    }

    fn registration(&mut self, registration: &Registration) {
        self.rest.push(format!("{} {}", registration.id, registration.code));
    }

    fn finish(mut self: Box<Self>) -> FoldedMinute {
        self.pairs.sort();
        self.rest[2..].sort();
        FoldedMinute { pairs: self.pairs.join(" ").into(), rollup: self.rest.join("\n").into() }
    }
}

fn write(dir: &Path, records: &[Record]) {
    let mut writer = ImportWriter::open(dir).unwrap();
    for record in records {
        match record {
            Record::Call(call, streams) => writer.call(call, streams).unwrap(),
            Record::Stream(stream) => writer.stream(stream).unwrap(),
            Record::Registration(registration) => writer.registration(registration).unwrap(),
        }
    }
    writer.close().unwrap();
}

#[expect(clippy::large_enum_variant, reason = "a handful of records")]
#[derive(Clone, Debug)]
enum Record {
    Call(Call, Vec<Stream>),
    Stream(Stream),
    Registration(Registration),
}

fn read(dir: &Path, settings: u64) -> (RollupCounts, BTreeMap<Nanos, String>) {
    let make = Listing { settings, begun: Cell::new(0) };
    let mut found = BTreeMap::new();
    let counts = Reader::open(dir).unwrap().rollups(ALL, &make, |minute, rollup| {
        assert!(found.insert(minute, String::from_utf8(rollup.to_vec()).unwrap()).is_none(), "twice");
        Ok(())
    });
    (counts.unwrap(), found)
}

/// As without anything stored: of a copy, in which nothing is stored under these settings.
fn anew(dir: &Path) -> BTreeMap<Nanos, String> {
    let copy = tempfile::tempdir().unwrap();
    for file in std::fs::read_dir(dir).unwrap().flatten() {
        std::fs::copy(file.path(), copy.path().join(file.file_name())).unwrap();
    }
    let (counts, found) = read(copy.path(), 0x5eed);
    assert_eq!(counts.stored, 0);
    found
}

/// Call `number` at a moment, with one stream a second later.
fn at(number: u64, time: Nanos) -> Record {
    let invite = Some(time);
    let call = Call { invite, trying: None, ringing: None, answer: None, end: invite, ..call(number) };
    let first = time + Nanos::from_secs(1);
    Record::Call(call, vec![Stream { first, last: first, call: Some(id(1, number)), ..stream(number) }])
}

#[test]
fn what_is_stored_is_used_until_a_record_changes() {
    let dir = tempfile::tempdir().unwrap();
    let minute = |number: u64| NOON + Nanos(number * MINUTE);
    let calls: Vec<Record> = (0..10).map(|number| at(number, minute(number))).collect();
    write(dir.path(), &calls);
    let (counts, first) = read(dir.path(), 1);
    assert_eq!(counts, RollupCounts { stored: 0, computed: 10, days: 1 });
    let (counts, second) = read(dir.path(), 1);
    assert_eq!((counts.stored, counts.computed), (10, 0));
    assert_eq!(first, second);
    // The same records again change nothing.
    write(dir.path(), &calls);
    assert_eq!(read(dir.path(), 1).0.computed, 0);
    // Nor does a message, of which nothing is computed.
    let mut writer = ImportWriter::open(dir.path()).unwrap();
    writer.message(&message(1)).unwrap();
    writer.close().unwrap();
    assert_eq!(read(dir.path(), 1).0.computed, 0);
    // A late call: its minute and the five after it.
    write(dir.path(), &[at(77, minute(2))]);
    let (counts, third) = read(dir.path(), 1);
    assert_eq!((counts.stored, counts.computed), (4, 6));
    assert_ne!(third[&minute(2)], second[&minute(2)]);
    assert_eq!(third, anew(dir.path()));
    // Other settings, and back again: one of them is stored.
    assert_eq!(read(dir.path(), 2).0.computed, 10);
    assert_eq!(read(dir.path(), 2).0.computed, 0);
}

#[test]
fn what_was_computed_before_a_stop_is_not_computed_again() {
    let dir = tempfile::tempdir().unwrap();
    let calls: Vec<Record> = (0..10).map(|number| at(number, NOON + Nanos(number * MINUTE))).collect();
    write(dir.path(), &calls);
    let running = Arc::new(RunningSearch::new());
    let make = Listing { settings: 1, begun: Cell::new(0) };
    let mut passed = 0;
    let stopped =
        Reader::open(dir.path()).unwrap().stopped_by(running.clone()).rollups(ALL, &make, |_, _| {
            passed += 1;
            if passed == 3 {
                running.stop();
            }
            Ok(())
        });
    assert!(matches!(stopped, Err(Error::Interrupted { .. })), "{stopped:?}");
    let (counts, found) = read(dir.path(), 1);
    assert_eq!((passed, counts.stored, counts.computed), (3, 3, 7));
    assert_eq!(found, anew(dir.path()));
}

/// A call before midnight whose stream begins after it, and comes, or changes, later.
#[test]
fn a_stream_after_midnight_changes_the_minute_of_its_call() {
    let dir = tempfile::tempdir().unwrap();
    let time = MIDNIGHT - Nanos::from_secs(1);
    let Record::Call(call, _) = at(1, time) else { unreachable!() };
    let first = MIDNIGHT + Nanos::from_secs(2);
    let late = Stream { first, last: first, call: Some(call.id), ..stream(1) };
    let call = Call { streams: vec![late.id], ..call };
    write(dir.path(), &[Record::Call(call, Vec::new()), at(2, MIDNIGHT)]);
    let (_, before) = read(dir.path(), 1);
    write(dir.path(), &[Record::Stream(late.clone())]);
    let (_, after) = read(dir.path(), 1);
    assert_ne!(before, after);
    assert_eq!(after, anew(dir.path()));
    write(dir.path(), &[Record::Stream(Stream { mos: Some(1.5), ..late })]);
    let (_, changed) = read(dir.path(), 1);
    assert_ne!(after, changed);
    assert_eq!(changed, anew(dir.path()));
    // The call after midnight was told of the one before it.
    assert!(changed[&MIDNIGHT].contains(&id(1, 1).to_string()), "{changed:?}");
}

/// A later record that joins a call to another conversation changes what is counted of its minute.
#[test]
fn an_amendment_changes_the_minute_of_its_call() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), &[at(1, NOON), at(2, NOON + Nanos(7 * MINUTE))]);
    assert_eq!(read(dir.path(), 1).0.computed, 2);
    let mut writer = ImportWriter::open(dir.path()).unwrap();
    let amendment = Amendment {
        call: id(1, 2),
        start: NOON + Nanos(7 * MINUTE),
        conversation: id(1, 1),
        joined_by: Some(id(1, 3)),
        reason: JoinReason::SessionId,
    };
    writer.amend(&amendment).unwrap();
    writer.close().unwrap();
    let (counts, found) = read(dir.path(), 1);
    assert_eq!((counts.stored, counts.computed), (1, 1));
    assert_eq!(found, anew(dir.path()));
}

/// A file of an earlier version of the program, which marked nothing.
#[test]
fn a_file_without_marks_is_marked_when_it_is_opened() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), &[at(1, NOON), at(2, NOON + Nanos(MINUTE)), Record::Registration(registration(9))]);
    let expected = anew(dir.path());
    let path = dir.path().join("2026-11-21.sqlite");
    let connection = Connection::open(path).unwrap();
    connection.execute_batch("DROP TABLE minutes; DROP TABLE rollups").unwrap();
    drop(connection);
    assert_eq!(read(dir.path(), 1).1, expected);
    assert_eq!(read(dir.path(), 1).0.computed, 0);
}

#[test]
fn a_span_has_whole_minutes() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), &(0..10).map(|number| at(number, NOON + Nanos(number * MINUTE))).collect::<Vec<_>>());
    let make = Listing { settings: 1, begun: Cell::new(0) };
    let mut found = Vec::new();
    let span = (NOON + Nanos(2 * MINUTE + 5), NOON + Nanos(4 * MINUTE + 5));
    let reader = Reader::open(dir.path()).unwrap();
    reader
        .rollups(span, &make, |minute, _| {
            found.push((minute - NOON).0 / MINUTE);
            Ok(())
        })
        .unwrap();
    assert_eq!(found, [2, 3, 4]);
    // The next day has nothing.
    let counts = reader.rollups((NOON + DAY, NOON + DAY + DAY), &make, |_, _| Ok(())).unwrap();
    assert_eq!(counts, RollupCounts::default());
}

fn any_record() -> impl Strategy<Value = Record> {
    // Around midnight, of few calls: many come again, changed or not.
    (0_u64..12, 0_u64..20, 0_u8..4, 0_u16..3).prop_map(|(number, minute, kind, change)| {
        // On the same day: on both sides of midnight it would be two records, and its streams of either.
        let minute = if kind == 2 { minute % 10 + 10 * (number / 2 % 2) } else { minute };
        let time =
            MIDNIGHT - Nanos(10 * MINUTE) + Nanos(minute * MINUTE) + Nanos::from_secs(59 * (number % 2));
        let Record::Call(call, mut streams) = at(number, time) else { unreachable!() };
        streams[0].mos = Some(f64::from(change) + 1.0);
        // Streams begin up to two minutes after their call.
        streams[0].first = time + Nanos(number % 3 * MINUTE);
        streams[0].id = id(2, number * 100 + minute);
        match kind {
            0 => Record::Stream(streams.remove(0)),
            1 => {
                Record::Registration(Registration { first: time, code: 200 + change, ..registration(number) })
            }
            // Without an INVITE the same call may come with another beginning.
            2 => Record::Call(
                Call { invite: None, trying: Some(time), final_code: 480 + change, ..call },
                streams,
            ),
            _ => Record::Call(Call { id: id(1, 1000 + number * 100 + minute), ..call }, streams),
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Records in any order, in several imports, with a query after each.
    #[test]
    fn always_as_computed_anew(
        imports in prop::collection::vec(prop::collection::vec(any_record(), 1..12), 1..6)
    ) {
        let dir = tempfile::tempdir().unwrap();
        for records in imports {
            write(dir.path(), &records);
            let (_, found) = read(dir.path(), 1);
            prop_assert_eq!(&found, &anew(dir.path()));
            let (counts, again) = read(dir.path(), 1);
            prop_assert_eq!(counts.computed, 0);
            prop_assert_eq!(&again, &found);
        }
    }
}

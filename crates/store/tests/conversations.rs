//! The conversation of a call is stored with it, and what a later record changes of that as well.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends")]

#[expect(dead_code, reason = "shared with the other tests")]
mod common;

use std::path::Path;
use std::time::Duration;

use common::{DAY, call, id, stream};
use ringtap_model::{Amendment, Call, Id, JoinReason};
use ringtap_store::{Annotate, ImportWriter, Query, Reader, Retain, StoreSettings, StoreWriter, hold};
use rusqlite::Connection;

const PATIENCE: Duration = Duration::from_secs(30);

fn settings(dir: &Path) -> StoreSettings {
    StoreSettings {
        directory: dir.join("store"),
        queue: 4_096,
        cache: 1 << 20,
        outbox: dir.join("outbox"),
        outbox_size: 64 << 20,
        journal: None,
        retain: Retain::default(),
    }
}

/// Call 2 joins call 0 and call 1, which had conversations of their own.
struct Second;

impl Annotate for Second {
    fn call(&mut self, call: &mut Call) -> Vec<Amendment> {
        if call.id != id(1, 2) {
            call.conversation = Some(call.id);
            return Vec::new();
        }
        call.conversation = Some(id(1, 0));
        vec![amendment(&common::call(1), id(1, 0))]
    }
}

fn amendment(call: &Call, conversation: Id) -> Amendment {
    Amendment {
        call: call.id,
        start: call.start().unwrap(),
        conversation,
        joined_by: Some(id(1, 2)),
        reason: JoinReason::Replaces,
    }
}

/// The calls with their conversations, by number.
fn conversations(dir: &Path) -> Vec<(u8, Option<u8>)> {
    let found = Reader::open(dir).unwrap().calls(&Query::default()).unwrap().records;
    found.iter().map(|call| (call.id.0[15], call.conversation.map(|id| id.0[15]))).collect()
}

#[test]
fn an_annotated_record_is_stored_with_what_it_changes() {
    let dir = tempfile::tempdir().unwrap();
    let settings = settings(dir.path());
    let (writer, _) = StoreWriter::open_annotating(&settings, vec![Box::new(Second)], |_| ()).unwrap();
    let mut sender = writer.sender().unwrap();
    (0..3).for_each(|number| sender.call(call(number), vec![stream(number)]));
    drop(sender);
    assert_eq!(writer.close(PATIENCE).written.amendments, 1);
    assert_eq!(conversations(&settings.directory), [(0, Some(0)), (1, Some(0)), (2, Some(0))]);
}

/// While the day file is locked the amendment waits in the outbox, and is stored by the next run.
#[test]
fn an_amendment_waits_with_the_records() {
    let dir = tempfile::tempdir().unwrap();
    let settings = settings(dir.path());
    let (writer, _) = StoreWriter::open_annotating(&settings, vec![Box::new(Second)], |_| ()).unwrap();
    let mut sender = writer.sender().unwrap();
    (0..2).for_each(|number| sender.call(call(number), vec![]));
    assert!(writer.flush(PATIENCE));
    let lock = Connection::open(settings.directory.join("2026-11-21.sqlite")).unwrap();
    lock.execute_batch("BEGIN IMMEDIATE").unwrap();
    sender.call(call(2), vec![]);
    drop(sender);
    assert_eq!(writer.close(Duration::ZERO).outbox_records, 2);
    drop(lock);
    assert_eq!(conversations(&settings.directory), [(0, Some(0)), (1, Some(1))]);
    StoreWriter::open(&settings, |_| ()).unwrap().0.close(PATIENCE);
    assert_eq!(conversations(&settings.directory), [(0, Some(0)), (1, Some(0)), (2, Some(0))]);
}

/// Of another day than the call that joined it, before its own record, and amended again.
#[test]
fn the_last_amendment_counts_wherever_it_is() {
    let dir = tempfile::tempdir().unwrap();
    let earlier = Call { invite: call(1).invite.map(|time| time - DAY), ..call(1) };
    let mut writer = ImportWriter::open(dir.path()).unwrap();
    writer.amend(&amendment(&earlier, id(1, 2))).unwrap();
    writer.call(&earlier, &[]).unwrap();
    writer.call(&call(2), &[]).unwrap();
    writer.flush().unwrap();
    assert_eq!(conversations(dir.path()), [(1, Some(2)), (2, Some(2))]);
    writer.amend(&amendment(&earlier, id(1, 7))).unwrap();
    writer.close().unwrap();
    assert_eq!(conversations(dir.path()), [(1, Some(7)), (2, Some(2))]);
    let legs = |number| -> Vec<u8> {
        let legs = Reader::open(dir.path()).unwrap().conversation(&id(1, number)).unwrap();
        legs.iter().map(|call| call.id.0[15]).collect()
    };
    assert_eq!((legs(7), legs(2), legs(1), legs(3)), (vec![1], vec![2], vec![], vec![]));
    // A call on hold has it in its record.
    let reader = Reader::open(dir.path()).unwrap();
    let held = reader.call(&earlier.id).unwrap().unwrap();
    hold(dir.path(), &held, &[]).unwrap();
    std::fs::remove_file(dir.path().join("2026-11-20.sqlite")).unwrap();
    assert_eq!(reader.call(&earlier.id).unwrap().unwrap(), held);
    assert_eq!(held, Call { conversation: Some(id(1, 7)), ..earlier });
}

/// A join that was taken back is not shown again.
#[test]
fn a_join_is_taken_back() {
    let dir = tempfile::tempdir().unwrap();
    let joined = Call { conversation: Some(id(1, 0)), ..call(1) };
    let reason = joined.joins[0].reason;
    let mut writer = ImportWriter::open(dir.path()).unwrap();
    writer.call(&joined, &[]).unwrap();
    writer.amend(&Amendment { joined_by: None, reason, ..amendment(&joined, joined.id) }).unwrap();
    writer.close().unwrap();
    let expected = Call { conversation: Some(joined.id), joins: vec![], ..joined };
    assert_eq!(Reader::open(dir.path()).unwrap().call(&expected.id).unwrap().unwrap(), expected);
}

/// Null where nobody looked, the own id, another: each is given back, and the same again changes nothing.
#[test]
fn every_conversation_is_given_back() {
    let dir = tempfile::tempdir().unwrap();
    let calls = [None, Some(id(1, 1)), Some(id(1, 9))]
        .into_iter()
        .zip(0..)
        .map(|(conversation, number)| Call { conversation, ..call(number) })
        .collect::<Vec<_>>();
    for _ in 0..2 {
        let mut writer = ImportWriter::open(dir.path()).unwrap();
        calls.iter().for_each(|call| writer.call(call, &[]).unwrap());
        writer.close().unwrap();
        let reader = Reader::open(dir.path()).unwrap();
        assert_eq!(reader.calls(&Query::default()).unwrap().records, calls);
        assert_eq!(reader.conversation(&id(1, 1)).unwrap(), calls[1..2]);
        assert_eq!(reader.conversation(&id(1, 9)).unwrap(), calls[2..]);
    }
    let changed = Call { conversation: None, ..calls[1].clone() };
    let mut writer = ImportWriter::open(dir.path()).unwrap();
    writer.call(&changed, &[]).unwrap();
    writer.close().unwrap();
    assert_eq!(Reader::open(dir.path()).unwrap().call(&changed.id).unwrap().unwrap(), changed);
}

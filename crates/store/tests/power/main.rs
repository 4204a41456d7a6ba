//! Power cuts at any moment while records are written to day files, outbox and journal: a record that was
//! told to be on the disk is there afterwards. `RINGTAP_POWER_CUTS=1000` tries more.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends")]

#[expect(dead_code, reason = "shared with the other tests")]
#[path = "../common/mod.rs"]
mod common;
#[expect(dead_code, reason = "shared with the faults of a spool")]
#[path = "../../../spool/tests/faults/dice.rs"]
mod dice;
#[path = "../../../spool/tests/power/record.rs"]
mod record;
#[expect(dead_code, reason = "shared with the spool, whose syncs fail as well")]
#[path = "../../../spool/tests/power/sys.rs"]
mod sys;

use std::collections::BTreeSet;
use std::env;
use std::path::Path;
use std::time::Duration;

use common::{call, stream};
use dice::Dice;
use record::{Event, Loss};
use ringtap_store::{Query, Reader, Retain, StoreSettings, StoreWriter};
use rusqlite::Connection;

/// Power cuts that the ordinary tests try.
const SAMPLE: u64 = 60;
const RECORDS: u64 = 24;
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

/// Stores calls, some of them while another program has the day file.
fn work(dir: &Path) {
    let (writer, _) = StoreWriter::open(&settings(dir), |_| ()).unwrap();
    let mut sender = writer.sender().unwrap();
    let mut lock = None;
    for number in 0..RECORDS {
        if number % 8 == 4 {
            let connection = Connection::open(dir.join("store/2026-11-21.sqlite")).unwrap();
            connection.execute_batch("BEGIN IMMEDIATE").unwrap();
            lock = Some(connection);
        }
        if number % 8 == 0 {
            lock = None;
        }
        sender.call(call(number), vec![stream(number)]);
        assert!(writer.flush(PATIENCE), "{number}");
        sys::mark(number as usize);
    }
    drop((lock, sender));
    writer.close(PATIENCE);
}

/// The records after a start on what a power cut left.
fn recovered(dir: &Path) -> BTreeSet<u64> {
    StoreWriter::open(&settings(dir), |_| ()).unwrap().0.close(PATIENCE);
    // Without any record there is no day file.
    let Ok(reader) = Reader::open(&dir.join("store")) else { return BTreeSet::new() };
    let found = reader.calls(&Query::default()).unwrap();
    found.records.iter().map(|call| call.id.0[15].into()).collect()
}

#[test]
fn a_power_cut_at_any_moment_loses_no_record_that_was_told_to_be_stored() {
    let memory = Path::new("/dev/shm");
    let parent = if memory.is_dir() { memory.to_owned() } else { env::temp_dir() };
    let home = tempfile::Builder::new().prefix("ringtap-power").tempdir_in(parent).unwrap();
    let live = home.path().join("live");
    sys::watch(live.to_str().unwrap());
    work(&live);
    let events = sys::unwatch();
    assert!(events.len() > 200, "{} calls were recorded", events.len());
    let cuts = env::var("RINGTAP_POWER_CUTS").map_or(SAMPLE, |value| value.parse().unwrap());
    let mut problems = Vec::new();
    for number in 0..cuts {
        let mut dice = Dice::of(number);
        let end = 1 + dice.below(events.len());
        let loss = [Loss::All, Loss::Some, Loss::Journal][dice.below(3)];
        let dir = home.path().join("cut");
        record::cut(&events[..end], loss, &mut dice, &dir);
        let told = events[..end].iter().filter_map(|event| match event {
            Event::Mark(number) => Some(*number as u64),
            _ => None,
        });
        let there = recovered(&dir);
        let lost: Vec<u64> = told.filter(|number| !there.contains(number)).collect();
        if !lost.is_empty() {
            problems.push(format!(
                "{number}: after {end} of {} calls, {loss:?}: {lost:?} are lost",
                events.len()
            ));
        }
        std::fs::remove_dir_all(&dir).unwrap();
    }
    println!("{cuts} power cuts, {} with a problem", problems.len());
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

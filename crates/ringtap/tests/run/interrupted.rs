//! Calls that a kill cut off: what the disk has of them is found by their records, held, exported, forgotten.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends")]

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use ringtap_model::Id;
use ringtap_store::{Journal, Query, Reader};

use crate::daemon::Place;
use crate::replayed::{nothing, ringtap};
use crate::rules::{holds, spooled};
use crate::talk::{Talk, write};

/// Seconds that the calls of [`capture`] last.
const LASTS: u64 = 12;

/// Three calls under way for as long as the capture lasts, and one that ends early. Each packet says whose it
/// is.
fn capture(dir: &Path) -> Vec<(String, String)> {
    let talks: Vec<Talk> = ["ann", "ben", "cay", "dan"]
        .into_iter()
        .zip(1..)
        .map(|(name, number)| {
            let mut talk = Talk::new(number, name, "+4911");
            let begins = 100 * u64::from(number);
            let ends = if name == "dan" { 2_000 } else { LASTS * 1_000 };
            talk.begins(begins);
            talk.both_say(begins + 200, ends, "talk");
            talk.ends_at(ends);
            talk
        })
        .collect();
    let names = talks.iter().map(|talk| (talk.call_id.clone(), talk.word("talk"))).collect();
    write(talks, &dir.join("calls.pcap"));
    names
}

/// The lines of a configuration that record into `spool`.
fn configure(place: &Place, capture: &str, spool: &str) {
    let path = place.configure(capture, "");
    let text = fs::read_to_string(&path).unwrap();
    let dir = place.dir.display();
    let text = format!("{text}[spool]\ndirectory = \"{dir}/spool\"\nsegment = \"5s\"\nage = \"1s\"\n{spool}");
    fs::write(&path, text).unwrap();
}

/// A daemon that records, killed when it has seen that many frames, and started again with nothing to do.
fn killed(place: &mut Place, frames: u64, spool: &str) {
    let dir = place.dir.display().to_string();
    configure(place, &format!("files = [\"{dir}/calls.pcap\"]\nspeed = 4"), spool);
    let mut daemon = place.start();
    daemon.counts("ringtap_frames_total", |seen| seen >= frames);
    daemon.signal("KILL");
    assert_eq!(daemon.end().0, None);
    configure(place, &nothing(&place.dir), spool);
    let (status, log) = place.start().end();
    assert_eq!(status, Some(0), "{log}");
}

/// Whoever forgets a call that a kill cut off makes all of it unreadable, its media too.
#[test]
fn a_call_cut_off_by_a_kill_can_be_held_exported_and_forgotten() {
    for frames in [1_200, 2_400] {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
        let (records, spool, pcap) = (at("records"), at("spool"), at("call.pcap"));
        let both = ["--store", &records, "--spool", &spool];
        let names = capture(dir.path());
        let mut place = Place::new(dir.path());
        killed(&mut place, frames, "");
        let calls = place.calls();
        for (call_id, word) in &names {
            let bytes = spooled(dir.path());
            assert!(
                holds(&bytes, call_id) && holds(&bytes, word),
                "{call_id} is not on the disk at {frames}"
            );
            let (call, streams) = &calls[call_id];
            assert_eq!((&call["recorded"], streams.len()), (&"full".into(), 2), "{call}");

            let (status, told) =
                ringtap(&[&["export", call_id, "--pcap", &pcap, "--force"], &both[..]].concat());
            assert!(status == Some(0), "{told}");
            assert!(holds(&fs::read(&pcap).unwrap(), word), "{told}");

            let (status, told) = ringtap(&[&["hold", call_id, "--case", "K-1"], &both[..]].concat());
            assert_eq!(status, Some(0), "{told}");
            let (status, told) = ringtap(&[&["forget", call_id, "--yes"], &both[..]].concat());
            assert!(status == Some(1) && told.contains("K-1"), "on hold: {told}");
            let (status, told) = ringtap(&[&["release", "--case", "K-1"], &both[..]].concat());
            assert_eq!(status, Some(0), "{told}");

            let (status, told) = ringtap(&[&["forget", call_id, "--yes"], &both[..]].concat());
            assert_eq!(status, Some(0), "{told}");
            let bytes = spooled(dir.path());
            assert!(!holds(&bytes, call_id) && !holds(&bytes, word), "{call_id} can be read: {told}");
        }
    }
}

/// How often [`every_call_of_the_journal_has_one_record_after_a_kill`] kills, if not a few times.
const KILLS: &str = "RINGTAP_TEST_KILLS";

/// The calls that were durable when the daemon was killed: in the store, or in the journal.
fn durable(dir: &Path) -> BTreeSet<Id> {
    let copy = dir.join("journal-copy");
    fs::copy(dir.join("journal"), &copy).unwrap();
    let (_, recovered) = Journal::open(&copy).unwrap();
    let stored = Reader::open(&dir.join("records")).and_then(|reader| reader.calls(&Query::default()));
    let stored = stored.map_or_else(|_| Vec::new(), |found| found.records);
    stored.iter().map(|call| call.id).chain(recovered.calls.iter().map(|call| call.record.id)).collect()
}

/// Many calls a second begin and end while the daemon is killed, at moments that nobody chose. Each call that
/// it had noted has one record, and no call has two.
#[test]
fn every_call_of_the_journal_has_one_record_after_a_kill() {
    let dir = tempfile::tempdir().unwrap();
    let capture = dir.path().join("calls.pcap");
    let output = ["--calls", "2000", "--rate", "100", "--hold", "1", "--ptime", "60", "--codec", "PCMU=1"];
    let (status, said) = ringtap(&[&["generate", "--out", capture.to_str().unwrap()], &output[..]].concat());
    assert_eq!(status, Some(0), "{said}");
    let kills = std::env::var(KILLS).map_or(5, |kills| kills.parse().unwrap());
    let (mut all, mut interrupted, mut unnoted) = (0, 0, 0);
    for round in 0..kills {
        let run = dir.path().join("run");
        fs::create_dir(&run).unwrap();
        let mut place = Place::new(&run);
        configure(&place, &format!("files = [\"{}\"]\nspeed = 10", capture.display()), "");
        let mut daemon = place.start();
        // Spread over the first half of the capture.
        let at_least = 20 + round * 271 % 980;
        let begun = daemon.counts("ringtap_calls_begun_total", |begun| begun >= at_least);
        daemon.signal("KILL");
        assert_eq!(daemon.end().0, None);
        let expected = durable(&run);
        configure(&place, &nothing(&run), "");
        let (status, log) = place.start().end();
        assert_eq!(status, Some(0), "{log}");
        // None of them is there twice.
        let calls = place.calls();
        let found: BTreeSet<Id> =
            calls.values().map(|(call, _)| call["id"].as_str().unwrap().parse().unwrap()).collect();
        assert_eq!(found, expected, "round {round}");
        let cut_off = calls.values().filter(|(call, _)| call["state"] == "interrupted").count();
        assert!(cut_off > 0, "round {round}");
        fs::remove_dir_all(&run).unwrap();
        (all, interrupted) = (all + calls.len(), interrupted + cut_off);
        unnoted += begun.saturating_sub(calls.len() as u64);
    }
    println!(
        "{kills} kills: {all} calls, {interrupted} interrupted, {unnoted} killed before they were noted"
    );
}

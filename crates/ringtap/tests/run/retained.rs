//! Clocks that run out, calls on hold, a disk that is full.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends")]

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::daemon::Place;
use crate::disk::SmallDisk;
use crate::replayed::{files, nothing, ringtap};

/// A configuration with a spool and these further lines.
fn configure(place: &Place, capture: &str, store: &str, more: &str) {
    let path = place.configure(capture, store);
    let text = fs::read_to_string(&path).unwrap().replace("linger = \"1s\"\n", "");
    let spool = place.dir.join("spool");
    fs::write(&path, format!("{text}[spool]\ndirectory = \"{}\"\nsegment = \"5s\"\n{more}", spool.display()))
        .unwrap();
}

#[test]
fn a_held_call_outlives_its_record_and_its_segments() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let (records, spool, pcap) = (at("records"), at("spool"), at("call.pcap"));
    let mut place = Place::new(dir.path());
    configure(&place, &files("\"max\""), "", "[retention]\nfree = \"0%\"\n");
    assert_eq!(place.start().end().0, Some(0));
    let calls = place.calls();
    let held = calls.iter().find(|(_, (_, streams))| streams.len() >= 2).unwrap().0.clone();
    let other = calls.keys().find(|call_id| **call_id != held).unwrap().clone();
    let case = ["--case", "K-2026-17", "--store", &records, "--spool", &spool];
    let export = |call: &str| {
        ringtap(&["export", call, "--store", &records, "--spool", &spool, "--pcap", &pcap, "--force"])
    };
    let (status, whole) = export(&held);
    assert_eq!(status, Some(0), "{whole}");
    let packets = fs::read(&pcap).unwrap();

    let (status, told) = ringtap(&[&["hold", &held][..], &case].concat());
    assert_eq!(status, Some(0), "{told}");
    assert!(told.contains("1 call on hold for K-2026-17") && !told.contains("no packets of it"), "{told}");
    let (status, told) = ringtap(&[&["hold", "nobody@nowhere"][..], &case].concat());
    assert!(status == Some(1) && told.contains("nobody@nowhere"), "{told}");
    let (_, told) = ringtap(&["holds", "--spool", &spool]);
    assert!(told.contains("1 call on hold"), "{told}");

    // Every clock has run out for calls of the beginning of 2026.
    let clocks = "[retention]\nsignalling = \"1m\"\nmedia = \"1m\"\nfree = \"0%\"\n";
    configure(&place, &nothing(dir.path()), "retain = \"1d\"", clocks);
    let (status, log) = place.start().end();
    assert_eq!(status, Some(0), "{log}");
    assert!(log.contains("older than [retention] media") && log.contains("of held calls copied"), "{log}");
    assert!(log.contains("older than [store] retain"), "{log}");
    assert!(!dir.path().join("records/2026-01-01.sqlite").exists());
    let (status, told) = export(&held);
    assert_eq!((status, told), (Some(0), whole));
    assert_eq!(fs::read(&pcap).unwrap(), packets);
    let (status, told) = export(&other);
    assert!(status == Some(1) && told.contains("no call"), "{told}");

    let (status, told) = ringtap(&[&["release"][..], &case].concat());
    assert!(status == Some(0) && told.contains("1 call released"), "{told}");
    assert_eq!(export(&held).0, Some(1));
    let (status, told) = ringtap(&[&["release"][..], &case].concat());
    assert!(status == Some(1) && told.contains("K-2026-17"), "{told}");
}

/// The time that was noted before is a year away, in this boot: as if the clock had been set meanwhile.
#[test]
fn a_clock_that_stepped_lets_nothing_expire_until_it_is_confirmed() {
    let dir = tempfile::tempdir().unwrap();
    let mut place = Place::new(dir.path());
    configure(&place, &files("\"max\""), "", "[retention]\nfree = \"0%\"\n");
    assert_eq!(place.start().end().0, Some(0));
    let noted = dir.path().join("clock");
    let mut reading: serde_json::Value = serde_json::from_slice(&fs::read(&noted).unwrap()).unwrap();
    let wall = reading["wall"].as_u64().unwrap();
    reading["wall"] = (wall - 365 * 86_400 * 1_000_000_000).into();
    fs::write(&noted, reading.to_string()).unwrap();

    let control = dir.path().join("control").to_str().unwrap().to_owned();
    // Two calls a second for a while: time to ask.
    let clocks = "[retention]\nsignalling = \"1m\"\nmedia = \"1m\"\nfree = \"0%\"\n";
    let clocks = format!("{clocks}[process]\ncontrol = \"{control}\"\n");
    configure(&place, &files("1.0"), "retain = \"1d\"", &clocks);
    let day = dir.path().join("records/2026-01-01.sqlite");
    let mut daemon = place.start();
    daemon.says("the clock has stepped forwards by 365 d");
    daemon.counts("ringtap_spool_age_suspended", |suspended| suspended == 1);
    daemon.says("clock=STEPPED");
    let clock = |more: &[&str]| ringtap(&[&["clock", "--control", &control][..], more].concat());
    let (status, told) = clock(&[]);
    assert!(status == Some(0) && told.contains("nothing is deleted by age"), "{told}");
    assert!(day.exists() && !daemon.log().contains("older than"), "{}", daemon.log());
    let (status, told) = clock(&["--confirm"]);
    assert!(status == Some(0) && told.contains("is confirmed"), "{told}");
    daemon.says("older than [retention] media");
    daemon.counts("ringtap_spool_age_suspended", |suspended| suspended == 0);
    let (_, told) = clock(&[]);
    assert!(told.contains("the clock is trusted"), "{told}");
}

/// Calls of the demo: one of its beginning, and one of its end.
const EARLY: &str = "9e05e6ff2872490d00000002@192.0.2.107";
const LATE: &str = "0d6d8cadbfcfc2aa0000000b@192.0.2.76";

#[test]
fn a_call_under_way_is_held_when_it_has_ended_whatever_becomes_of_the_daemon() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let (records, spool, control) = (at("records"), at("spool"), at("control"));
    let mut place = Place::new(dir.path());
    let configure = |place: &Place, capture: &str, more: &str| {
        configure(place, capture, "", more);
        let path = dir.path().join("ringtap.toml");
        // Calls are over soon after their BYE.
        let text = fs::read_to_string(&path).unwrap().replace("[engine]\n", "[engine]\nlinger = \"1s\"\n");
        fs::write(&path, format!("{text}[process]\ncontrol = \"{control}\"\n")).unwrap();
    };
    configure(&place, &files("2.0"), "[retention]\nfree = \"0%\"\n");
    let hold = |call: &str, case: &str| {
        let both = ["--case", case, "--store", &records, "--spool", &spool, "--control", &control];
        ringtap(&[&["hold", call][..], &both].concat())
    };
    let holds = || {
        let output =
            Command::new(env!("CARGO_BIN_EXE_ringtap")).args(["holds", "--spool", &spool]).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let mut daemon = place.start();
    daemon.says(&format!("rules: call {EARLY}: "));
    let (status, told) = hold(EARLY, "K-1");
    assert!(
        status == Some(0) && told.contains("is in progress: it will be held for K-1 when it ends"),
        "{told}"
    );
    assert!(
        holds().starts_with("K-1  ")
            && holds().contains(&format!("  under way                         {EARLY}\n")),
        "{}",
        holds()
    );
    let (status, told) = hold("nobody@nowhere", "K-1");
    assert!(
        status == Some(1) && told.contains("none under way is put on hold: no call in progress has"),
        "{told}"
    );
    let (status, told) = hold(EARLY, "no name");
    assert!(status == Some(1) && told.contains("cannot name a case"), "{told}");
    daemon.says(&format!("call {EARLY}: ended, now on hold for K-1"));
    assert!(!holds().contains("under way"), "{}", holds());
    // One is held for two cases, of which the one ends before the call does.
    daemon.says(&format!("rules: call {LATE}: "));
    for case in ["K-2", "K-3"] {
        assert_eq!(hold(LATE, case).0, Some(0));
    }
    let release = ["release", LATE, "--case", "K-3", "--store", &records, "--spool", &spool];
    assert_eq!(ringtap(&release).0, Some(0));
    assert_eq!(holds().matches("  under way  ").count(), 1, "{}", holds());
    // Killed while the call is under way: its record comes out of the journal, and its hold from the disk.
    daemon.signal("KILL");
    assert_eq!(daemon.end().0, None);
    configure(&place, &nothing(dir.path()), "[retention]\nfree = \"0%\"\n");
    assert_eq!(place.start().end().0, Some(0));
    assert_eq!(place.start().end().0, Some(0));
    let held = holds();
    let (late, _) = &place.calls()[LATE];
    let id = late["id"].as_str().unwrap();
    assert!(held.lines().count() == 2 && held.contains(id) && !held.contains("under way"), "{held}");

    // Every clock has run out: what is held is there, whole where its call was.
    configure(
        &place,
        &nothing(dir.path()),
        "[retention]\nsignalling = \"1m\"\nmedia = \"1m\"\nfree = \"0%\"\n",
    );
    let (status, log) = place.start().end();
    assert!(status == Some(0) && log.contains("of held calls copied"), "{log}");
    let pcap = at("call.pcap");
    let export = |call: &str| {
        ringtap(&["export", call, "--store", &records, "--spool", &spool, "--pcap", &pcap, "--force"])
    };
    assert_eq!(export(EARLY).0, Some(0), "{}", export(EARLY).1);
    // What a kill took of the other is not there; its hold is.
    assert_eq!(holds(), held);
}

fn fill(path: &Path, mebibytes: usize) {
    fs::write(path, vec![1; mebibytes << 20]).unwrap();
}

#[test]
fn a_full_disk_stops_recording_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let Some(disk) = SmallDisk::mount(folder.path(), "64m") else { return };
    let mut place = Place::new(disk.path());
    configure(&place, &files("2.0"), "", "[retention]\nfree = \"50%\"\nfree_again = \"60%\"\n");
    fill(&disk.file("ballast"), 40);
    let mut daemon = place.start();
    daemon.says("recording has stopped");
    assert_eq!(daemon.counts("ringtap_spool_stopped", |stopped| stopped == 1), 1);
    daemon.says("spool=STOPPED");
    let lost = daemon.counts("ringtap_spool_lost_packets_total", |lost| lost > 0);
    assert!(lost > 0);
    fs::remove_file(disk.file("ballast")).unwrap();
    daemon.says("recording resumes");
    let before = daemon.metric("ringtap_spool_packets_total");
    daemon.counts("ringtap_spool_packets_total", |packets| packets > before);
    assert_eq!(daemon.metric("ringtap_spool_stopped"), 0);
    let (status, log) = daemon.end();
    assert_eq!(status, Some(0), "{log}");
    assert!(log.contains("stopped: 12 calls") && log.contains("drops began at spool"), "{log}");
    assert_eq!(place.calls().len(), 12);
}

/// What the disk refuses when a call's record is made already is in the record all the same, and in the log.
#[test]
fn a_disk_that_refuses_is_in_the_records() {
    // On a busy machine the disk may be looked at during the replay: then recording stops, another story.
    assert!((0..10).any(|_| !recording_stops_on_a_disk_that_refuses()), "recording stopped ten times");
}

/// Whether it stopped; if not, everything is as it should be.
fn recording_stops_on_a_disk_that_refuses() -> bool {
    let folder = tempfile::tempdir().unwrap();
    let Some(disk) = SmallDisk::mount(folder.path(), "64m") else { return false };
    let dir = tempfile::tempdir().unwrap();
    let mut place = Place::new(dir.path());
    let path = place.configure(&files("\"max\""), "");
    let text = fs::read_to_string(&path).unwrap();
    let spool = disk.file("spool");
    let more = format!("[spool]\ndirectory = \"{}\"\n[retention]\nfree = \"0%\"\n", spool.display());
    fs::write(&path, format!("{text}{more}")).unwrap();
    // Room for files, and for none of their megabytes.
    let ballast = fs::write(disk.file("ballast"), vec![1; 65 << 20]);
    assert!(ballast.is_err(), "the disk is full");
    let (status, log) = place.start().end();
    assert_eq!(status, Some(0), "{log}");
    if log.contains("recording has stopped") {
        return true;
    }
    // The log names the disk, and no memory that would be too small.
    let lines: Vec<&str> =
        log.lines().filter(|line| line.contains("packets could not be recorded")).collect();
    assert!(!lines.is_empty() && lines.iter().all(|line| line.contains("No space left")), "{log}");
    let calls = place.calls();
    assert_eq!(calls.len(), 12);
    for (call_id, (call, _)) in &calls {
        assert_eq!(
            (&call["recorded"], &call["recorded_packets"]),
            (&"full".into(), &0.into()),
            "{call}\n{log}"
        );
        let missing = call["recorded_missing"].as_u64().unwrap();
        assert!(missing >= call["messages"].as_u64().unwrap(), "{call}");
        assert!(log.contains(&format!("call {call_id}: {missing} packets could not be written")), "{log}");
    }
    false
}

/// Whoever removes the directories of the records and the outbox loses what was there, and nothing that
/// comes: it waits in an outbox that is made again.
#[test]
fn what_comes_after_the_directories_were_removed_is_stored_by_the_next_start() {
    let dir = tempfile::tempdir().unwrap();
    let mut place = Place::new(dir.path());
    place.configure(&files("4"), "");
    let mut daemon = place.start();
    daemon.counts("ringtap_journal_calls", |calls| calls >= 3);
    for name in ["records", "outbox"] {
        fs::remove_dir_all(dir.path().join(name)).unwrap();
    }
    fs::remove_file(dir.path().join("journal")).unwrap();
    let (status, log) = daemon.end();
    assert_eq!(status, Some(0), "{log}");
    assert!(dir.path().join("journal").exists(), "{log}");
    let line = log.lines().find(|line| line.contains("stopped: 12 calls")).unwrap();
    let waiting = line.split(" wait in the outbox").next().unwrap().rsplit(' ').next().unwrap();
    place.configure(&nothing(dir.path()), "");
    let (status, log) = place.start().end();
    assert!(status == Some(0) && log.contains(&format!("{waiting} records written")), "{line}\n{log}");
    assert!(place.calls().len() >= 9, "{log}");
}

/// Records that can be written nowhere are counted in the log, and the exit status says so.
#[test]
fn records_that_are_lost_at_the_end_are_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let mut place = Place::new(dir.path());
    place.configure(&files("4"), "");
    let mut daemon = place.start();
    daemon.counts("ringtap_journal_calls", |calls| calls >= 3);
    for name in ["records", "outbox"] {
        let path = dir.path().join(name);
        fs::remove_dir_all(&path).unwrap();
        fs::write(&path, "not a directory").unwrap();
    }
    daemon.signal("TERM");
    let (status, log) = daemon.end();
    let line = log.lines().find(|line| line.contains(" lost at the end: ")).unwrap_or_default();
    let lost: u64 = line.split(" records lost").next().unwrap().rsplit(' ').next().unwrap().parse().unwrap();
    assert!(status == Some(1) && lost > 0 && line.contains(" error "), "{status:?}\n{log}");
    assert!(log.contains(&format!(", {lost} dropped")), "{log}");
}

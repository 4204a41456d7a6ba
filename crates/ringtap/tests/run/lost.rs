//! Calls whose BYE is lost, or late.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends")]

use std::fs;
use std::thread;
use std::time::Duration;

use crate::kept::{TEAMS, place};
use crate::replayed::ringtap;
use crate::talk::{Talk, play};
use crate::wire::{assert_inside, inside};

#[test]
fn a_call_whose_bye_is_lost_is_recorded_when_its_media_fall_silent() {
    inside("lost::inside_silent");
}

#[test]
#[ignore = "started in a network namespace by the test above"]
fn inside_silent() {
    assert_inside();
    TEAMS.into_iter().for_each(|(interfaces, wires)| silent(interfaces, wires));
}

const RULES: &str = "[[keep]]\ncaller = [\"+491*\"]\nkeep = \"full\"\n";

/// One call without a BYE, and one whose BYE comes when the silence is long over.
fn talks() -> Vec<Talk> {
    let mut lost = Talk::new(1, "lost", "+4911");
    lost.begins(100);
    lost.both_say(300, 1_500, "word");
    let mut late = Talk::new(2, "late", "+4911");
    late.begins(100);
    late.both_say(300, 1_500, "word");
    late.ends_at(7_000);
    vec![lost, late]
}

fn silent(interfaces: &str, wires: &'static [&str]) {
    let dir = tempfile::tempdir().unwrap();
    let mut place = place(dir.path(), interfaces, "", RULES);
    let path = dir.path().join("ringtap.toml");
    let text = fs::read_to_string(&path).unwrap();
    let text = match text.split_once("[engine]\n") {
        Some((before, after)) => format!("{before}[engine]\nsilence_limit = \"2s\"\n{after}"),
        None => format!("{text}[engine]\nsilence_limit = \"2s\"\n"),
    };
    fs::write(&path, text).unwrap();
    let mut daemon = place.start();
    daemon.says("/metrics and /health");
    let sender = thread::spawn(move || play(talks(), wires));
    daemon.counts("ringtap_calls_begun_total", |begun| begun >= 2);
    daemon.counts("ringtap_calls", |under_way| under_way == 0);
    thread::sleep(Duration::from_millis(1_200));
    let silent = place.calls();
    let id = |name: &str| silent.keys().find(|call_id| call_id.starts_with(name)).unwrap().clone();
    for name in ["lost", "late"] {
        let (call, streams) = &silent[&id(name)];
        assert_eq!((&call["state"], &call["recorded"]), (&"timeout".into(), &"full".into()), "{call}");
        assert_eq!(streams.len(), 2, "{interfaces}: {call}");
        let last = streams.iter().map(|stream| stream["last_us"].as_u64()).max().unwrap();
        assert_eq!(call["end_us"].as_u64(), last, "{interfaces}: {call}");
    }
    // More may be recorded of it.
    let at = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let forget = ["forget", &id("lost"), "--yes", "--store", &at("records"), "--spool", &at("spool")];
    let (status, told) = ringtap(&forget);
    assert!(status == Some(3) && told.contains("repeat this when the call has ended"), "{told}");
    sender.join().unwrap();
    thread::sleep(Duration::from_millis(500));
    daemon.signal("TERM");
    let (status, log) = daemon.end();
    assert!(status == Some(0) && !log.contains(" error "), "{log}");

    let ended = place.calls();
    assert_eq!(ended.len(), 2, "{interfaces}");
    let (lost, late) = (&ended[&id("lost")].0, &ended[&id("late")].0);
    assert_eq!((&lost["state"], &late["state"]), (&"timeout".into(), &"completed".into()), "{interfaces}");
    assert_eq!(lost["end_us"], silent[&id("lost")].0["end_us"]);
    for name in ["lost", "late"] {
        let (before, after) = (&silent[&id(name)], &ended[&id(name)]);
        assert_eq!(
            (&before.0["id"], before.1.len()),
            (&after.0["id"], after.1.len()),
            "{interfaces}: {name}"
        );
        assert_eq!(before.0["streams"], after.0["streams"], "{interfaces}: {name}");
        assert!(after.0["recorded_packets"].as_u64().is_some_and(|packets| packets > 100), "{}", after.0);
    }
    assert_eq!(late["released_by"], "caller");
    let (status, told) = ringtap(&forget);
    assert_eq!(status, Some(0), "{told}");
}

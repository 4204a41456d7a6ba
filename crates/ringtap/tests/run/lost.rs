//! Calls whose BYE is lost, or late.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends")]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::kept::{Calls, TEAMS, place};
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

fn silent(interfaces: &str, wires: &[&str]) {
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
    let mut silent = BTreeMap::new();
    play(talks(), wires, &[3_000], |_, _| {
        daemon.counts("ringtap_calls_begun_total", |begun| begun >= 2);
        daemon.counts("ringtap_calls", |under_way| under_way == 0);
        // Two calls with two streams each.
        daemon.counts("ringtap_store_written_total", |written| written >= 6);
        silent = place.calls();
        more_may_come(dir.path(), &silent, interfaces);
    });
    daemon.until("the BYE is stored", |_| {
        let is_late = |(name, (call, _)): (&String, &(Value, _))| {
            name.starts_with("late") && call["state"] == "completed"
        };
        place.calls().iter().any(is_late)
    });
    daemon.signal("TERM");
    let (status, log) = daemon.end();
    assert!(status == Some(0) && !log.contains(" error "), "{log}");

    let ended = place.calls();
    assert_eq!(ended.len(), 2, "{interfaces}");
    let (lost, late) = (&ended[&id(&ended, "lost")].0, &ended[&id(&ended, "late")].0);
    assert_eq!((&lost["state"], &late["state"]), (&"timeout".into(), &"completed".into()), "{interfaces}");
    assert_eq!(lost["end_us"], silent[&id(&silent, "lost")].0["end_us"]);
    for name in ["lost", "late"] {
        let (before, after) = (&silent[&id(&silent, name)], &ended[&id(&ended, name)]);
        assert_eq!(
            (&before.0["id"], before.1.len()),
            (&after.0["id"], after.1.len()),
            "{interfaces}: {name}"
        );
        assert_eq!(before.0["streams"], after.0["streams"], "{interfaces}: {name}");
        assert!(after.0["recorded_packets"].as_u64().is_some_and(|packets| packets > 100), "{}", after.0);
    }
    assert_eq!(late["released_by"], "caller");
    let (status, told) = forget(dir.path(), &id(&ended, "lost"));
    assert_eq!(status, Some(0), "{told}");
}

/// Both calls are recorded to their last packets, and nothing of them can be forgotten yet.
fn more_may_come(dir: &Path, silent: &Calls, interfaces: &str) {
    for name in ["lost", "late"] {
        let (call, streams) = &silent[&id(silent, name)];
        assert_eq!((&call["state"], &call["recorded"]), (&"timeout".into(), &"full".into()), "{call}");
        let last = streams.iter().map(|stream| stream["last_us"].as_u64()).max().unwrap();
        assert_eq!(call["end_us"].as_u64(), last, "{interfaces}: {call}");
    }
    let (status, told) = forget(dir, &id(silent, "lost"));
    assert!(status == Some(3) && told.contains("repeat this when the call has ended"), "{told}");
}

/// The Call-ID that begins so.
fn id(calls: &Calls, name: &str) -> String {
    calls.keys().find(|call_id| call_id.starts_with(name)).unwrap().clone()
}

fn forget(dir: &Path, call_id: &str) -> (Option<i32>, String) {
    let at = |name: &str| dir.join(name).to_str().unwrap().to_owned();
    ringtap(&["forget", call_id, "--yes", "--store", &at("records"), "--spool", &at("spool")])
}

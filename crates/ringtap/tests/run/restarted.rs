//! Calls in progress while the daemon is stopped and started again, or killed: by one worker and by two.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends")]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Instant;

use serde_json::Value;

use crate::daemon::Place;
use crate::kept::{TEAMS, place};
use crate::replayed::ringtap;
use crate::rules::{holds, spooled};
use crate::talk::{Side, Talk, play};
use crate::wire::{assert_inside, inside};

#[test]
fn calls_go_on_over_a_restart() {
    inside("restarted::inside_stopped");
}

#[test]
fn calls_go_on_over_a_kill() {
    inside("restarted::inside_killed");
}

#[test]
#[ignore = "started in a network namespace by `calls_go_on_over_a_restart`"]
fn inside_stopped() {
    assert_inside();
    TEAMS.into_iter().for_each(|(interfaces, wires)| restarted("TERM", interfaces, wires));
}

#[test]
#[ignore = "started in a network namespace by `calls_go_on_over_a_kill`"]
fn inside_killed() {
    assert_inside();
    TEAMS.into_iter().for_each(|(interfaces, wires)| restarted("KILL", interfaces, wires));
}

/// One call talks all the time, one rings when the daemon ends and is answered after it, one is paused by
/// command, one begins when the daemon is back, one presses digits that are masked, one is forgotten while
/// the daemon is down.
fn talks() -> Vec<Talk> {
    let mut long = Talk::new(1, "long", "+4911");
    long.begins(100);
    long.both_say(300, 3_000, "before");
    long.both_say(3_000, 9_000, "after");
    long.ends_at(9_000);
    let mut rings = Talk::new(2, "rings", "+4911");
    rings.invites(2_000);
    rings.answers(2_050, "180 Ringing");
    rings.answers(6_500, "200 OK");
    rings.acknowledges(6_550);
    rings.both_say(6_600, 9_000, "after");
    rings.ends_at(9_000);
    let mut paused = Talk::new(3, "paused", "+4911");
    paused.begins(100);
    paused.both_say(300, 1_500, "before");
    paused.both_say(2_500, 9_000, "secret");
    paused.ends_at(9_000);
    let mut fresh = Talk::new(4, "fresh", "+4911");
    fresh.begins(6_500);
    fresh.both_say(6_700, 9_000, "after");
    fresh.ends_at(9_000);
    let mut masked = Talk::new(5, "masked", "+4921");
    masked.begins(100);
    masked.both_say(300, 9_000, "after");
    masked.presses(Side::Caller, 1_500, 7);
    masked.presses(Side::Caller, 8_000, 7);
    masked.ends_at(9_000);
    let mut erased = Talk::new(6, "erased", "+4911");
    erased.begins(100);
    erased.both_say(300, 3_000, "before");
    erased.both_say(3_000, 9_000, "after");
    erased.ends_at(9_000);
    vec![long, rings, paused, fresh, masked, erased]
}

const RULES: &str = r#"
[[keep]]
caller = ["+491*"]
keep = "full"
may_pause = true

[[keep]]
caller = ["+492*"]
keep = "full"
mask_dtmf = true
"#;

/// What two runs of the daemon left.
struct Runs {
    /// The records of the first, where it was not killed.
    stopped: BTreeMap<String, (Value, Vec<Value>)>,
    calls: BTreeMap<String, (Value, Vec<Value>)>,
    /// Between the first's last packet and the second's first one at most.
    away_ms: f64,
}

/// Runs the daemon from the beginning to 3.5 s and again from there.
fn runs(signal: &str, place: &mut Place, wires: &[&str]) -> Runs {
    let control = place.dir.join("control").to_str().unwrap().to_owned();
    let (mut stopped, mut away, mut away_ms) = (BTreeMap::new(), Instant::now(), 0.0);
    let mut running = place.start();
    running.says("/metrics and /health");
    play(talks(), wires, &[1_700, 3_500, 5_500], |at, sent| match at {
        1_700 => {
            running.counts("ringtap_frames_total", |frames| frames >= sent);
            let (status, told) = ringtap(&["pause", "paused-3@ringtap.example", "--control", &control]);
            assert_eq!(status, Some(0), "{told}");
        }
        3_500 => {
            running.counts("ringtap_frames_total", |frames| frames >= sent);
            away = Instant::now();
            running.signal(signal);
            let (status, log) = running.ends();
            assert_eq!(status, (signal == "TERM").then_some(0), "{log}");
            if signal == "TERM" {
                stopped = between_runs(place);
            }
            // Until it captures, packets pass that nobody sees.
            running = place.start();
        }
        _ => {
            running.says("5 of 5 calls of the previous run go on");
            running.says("/metrics and /health");
            away_ms = away.elapsed().as_secs_f64() * 1e3;
            if !stopped.is_empty() {
                // The record is that of the first run: it does not say what is recorded now.
                let (status, told) = forget(&place.dir, ERASED);
                assert!(status != Some(0) && told.contains("repeat this when the call has ended"), "{told}");
            }
        }
    });
    running.counts("ringtap_calls_begun_total", |begun| begun >= 6);
    running.counts("ringtap_calls", |under_way| under_way == 0);
    running.signal("TERM");
    let (status, log) = running.end();
    assert!(status == Some(0) && !log.contains(" error "), "{log}");
    Runs { stopped, calls: place.calls(), away_ms }
}

/// The records of the first run, which can be forgotten as far as it came.
fn between_runs(place: &Place) -> BTreeMap<String, (Value, Vec<Value>)> {
    let stopped = place.calls();
    let (status, told) = forget(&place.dir, ERASED);
    assert_eq!(status, Some(0), "{told}");
    let bytes = spooled(&place.dir);
    assert!(!holds(&bytes, "<before:erased>") && holds(&bytes, "<before:long>"), "{told}");
    stopped
}

fn restarted(signal: &str, interfaces: &str, wires: &[&str]) {
    let dir = tempfile::tempdir().unwrap();
    let mut place = place(dir.path(), interfaces, "", RULES);
    let Runs { stopped, calls, away_ms } = runs(signal, &mut place, wires);
    let which = format!("{signal}, {interfaces}");
    assert_eq!(calls.len(), 6, "{which}: {:?}", calls.keys());
    let id = |name: &str| calls.keys().find(|call_id| call_id.starts_with(name)).unwrap().clone();
    let bytes = spooled(dir.path());
    let said = |name: &str, word: &str| holds(&bytes, &format!("<{word}:{name}>"));
    for (name, streams) in
        [("long", 4), ("rings", 2), ("paused", 4), ("fresh", 2), ("masked", 4), ("erased", 4)]
    {
        let (call, found) = &calls[&id(name)];
        assert_eq!(
            (&call["state"], &call["recorded"]),
            (&"completed".into(), &"full".into()),
            "{which}: {call}"
        );
        assert_eq!(
            (found.len(), call["streams"].as_array().unwrap().len()),
            (streams, streams),
            "{which}: {call}"
        );
        let gap = call["unmonitored_ms"].as_f64();
        assert_eq!(gap.is_some_and(|gap| (50.0..away_ms).contains(&gap)), name != "fresh", "{which}: {call}");
        assert_eq!(call["released_by"], "caller", "{which}: {call}");
        // While the daemon was down, the record said how far the call had come.
        if let Some((before, _)) = stopped.get(&id(name)) {
            assert_eq!(
                (&before["id"], name == "rings"),
                (&call["id"], before["state"] == "ringing"),
                "{which}"
            );
        }
    }
    assert!(said("long", "before") && said("long", "after") && said("rings", "after"), "{which}");
    assert!(said("paused", "before") && !said("paused", "secret"), "a pause ended with the restart: {which}");
    let digit = Talk::new(5, "masked", "").event(7);
    assert!(!bytes.windows(4).any(|part| part == digit), "digits can be read: {which}");
    assert!(said("masked", "after"), "{which}");
    assert_eq!(said("erased", "before"), stopped.is_empty(), "{which}");
    assert!(said("erased", "after"), "{which}");
    forgotten(dir.path(), &id("long"), &which);
    let (status, told) = forget(dir.path(), ERASED);
    assert_eq!(status, Some(0), "{which}: {told}");
    assert!(!holds(&spooled(dir.path()), ":erased>"), "{which}: {told}");
}

const ERASED: &str = "erased-6@ringtap.example";

fn forget(dir: &Path, call_id: &str) -> (Option<i32>, String) {
    let at = |name: &str| dir.join(name).to_str().unwrap().to_owned();
    ringtap(&["forget", call_id, "--yes", "--store", &at("records"), "--spool", &at("spool")])
}

/// What both runs recorded of a call is exported, and forgotten.
fn forgotten(dir: &Path, call_id: &str, which: &str) {
    let at = |name: &str| dir.join(name).to_str().unwrap().to_owned();
    let (records, spool, pcap) = (at("records"), at("spool"), at("call.pcap"));
    let both = ["--store", &records, "--spool", &spool];
    let (status, told) = ringtap(&[&["export", call_id, "--pcap", &pcap], &both[..]].concat());
    assert_eq!(status, Some(0), "{which}: {told}");
    let exported = fs::read(&pcap).unwrap();
    let name = call_id.split('-').next().unwrap();
    for word in ["before", "after"] {
        assert!(holds(&exported, &format!("<{word}:{name}>")), "{word}, {which}");
    }
    let (status, told) = forget(dir, call_id);
    assert_eq!(status, Some(0), "{which}: {told}");
    let bytes = spooled(dir);
    for word in ["before", "after"] {
        assert!(!holds(&bytes, &format!("<{word}:{name}>")), "{word} can be read, {which}: {told}");
    }
}

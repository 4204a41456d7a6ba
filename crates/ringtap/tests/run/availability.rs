//! Outages of services, found while a capture of a failover is replayed by two workers: the database, the
//! alarms and the metrics say what `ringtap availability` says of the capture.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends")]

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::daemon::Place;
use crate::failover_capture::{Capture, PROXY, START, calls, capture};
use crate::replayed::files;

const RULES: &str = "
[[alarm]]
name = \"out\"
figure = \"service_out_s\"
per = \"part\"
over = \"30s\"
above = 2
[[alarm]]
name = \"failover\"
figure = \"failovers\"
over = \"1m\"
above = 1
";

fn place(dir: &Path, capture: &str, more: &str) -> Place {
    let place = Place::new(dir);
    let path = place.configure(capture, "");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, format!("{text}[availability]\nfollow = true\n{more}")).unwrap();
    place
}

/// What `ringtap availability` prints: status, output, remarks.
fn told(arguments: &[&str]) -> (Option<i32>, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ringtap"));
    let output = command.arg("availability").args(arguments).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

/// Its lines of JSON but the summary, whose figures are of the whole pass.
fn lines(arguments: &[&str]) -> Vec<Value> {
    let (status, out, err) = told(&[arguments, &["--format", "jsonl"]].concat());
    assert_eq!(status, Some(0), "{err}");
    let lines = out.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines.filter(|line| line["type"] != "summary").collect()
}

#[test]
fn the_daemon_finds_what_the_command_finds() {
    for (workers, speed) in [(1, "\"max\""), (2, "20.0")] {
        let dir = tempfile::tempdir().unwrap();
        let file = capture(dir.path());
        let file = file.to_str().unwrap();
        let source = format!("files = [{file:?}]\nspeed = {speed}\nworkers = {workers}");
        let (status, log) = place(dir.path(), &source, RULES).start().end();
        assert_eq!(status, Some(0), "{log}");
        assert!(log.contains("3 services followed, 2 outages found"), "{log}");
        for raised in ["raised: out: ", "192.0.2.1:5060/udp", "192.0.2.20:5060/udp", "raised: failover: "] {
            assert!(log.contains(raised), "{raised} in {log}");
        }
        tell_the_same(file, &dir.path().join("records"));
    }
}

/// The command says of the database what it says of the capture, of each call.
fn tell_the_same(file: &str, records: &Path) {
    let store = ["--store", records.to_str().unwrap()];
    let of_file = lines(&[file]);
    assert_eq!(lines(&store), of_file);
    let of = |kind: &str, field: &str| -> Vec<Value> {
        of_file.iter().filter(|line| line["type"] == kind).map(|line| line[field].clone()).collect()
    };
    assert_eq!(of("failover", "causes"), [json!(["proxy_lost"]), json!(["pbx_lost"])]);
    assert_eq!(of("outage", "down_ms"), [3_503.0, 4_003.0]);
    let effects = of("affected_call", "call_id").into_iter().zip(of("affected_call", "effect"));
    let effects: Vec<(Value, Value)> = effects.collect();
    assert_eq!(effects, calls().map(|(id, effect)| (json!(id), json!(effect))));
    let figures = ["delayed", "failed", "cut", "given_up", "users", "registering_users", "gaps"];
    assert_eq!(
        figures.map(|figure| of("failover", figure)[0].clone()),
        [1, 2, 2, 1, 15, 1, 2].map(|n| json!(n))
    );
    assert_eq!(of("failover", "cut")[1], 0);
    let table = told(&[file]).1;
    let of_a_time = |line: &&str| !line.contains(" lost: ");
    let expected: Vec<&str> = table.lines().filter(of_a_time).collect();
    assert_eq!(told(&store).1.lines().collect::<Vec<_>>(), expected);
    let late = lines(&[&store[..], &["--since", "2026-11-21T02:00:30Z"]].concat());
    let count = |kind: &str| late.iter().filter(|line| line["type"] == kind).count();
    assert_eq!((count("outage"), count("affected_call")), (1, 0));
    let none = told(&[&store[..], &["--since", "2026-11-22"]].concat());
    assert!(none.2.contains("no day was searched"), "{none:?}");
}

/// The address moves, and nobody announces it: where answers come from tells.
#[test]
fn a_lost_proxy_is_one_without_an_announcement_too() {
    for (workers, speed) in [(1, "\"max\""), (2, "20.0")] {
        let dir = tempfile::tempdir().unwrap();
        let mut capture = Capture::with_next_owner(12_000);
        capture.pings(PROXY, (10_000, 13_500));
        let file = dir.path().join("moved.pcap");
        capture.write(&file);
        let source = format!("files = [{file:?}]\nspeed = {speed}\nworkers = {workers}");
        let (status, log) = place(dir.path(), &source, "").start().end();
        assert_eq!(status, Some(0), "{log}");
        let records = dir.path().join("records");
        for arguments in [&["--store", records.to_str().unwrap()][..], &[file.to_str().unwrap()]] {
            let found = lines(arguments);
            let failover = found.iter().find(|line| line["type"] == "failover").unwrap();
            assert_eq!(failover["causes"], json!(["proxy_lost"]), "{arguments:?}");
            assert_eq!(failover["evidence"][0]["kind"], "source_moved", "{arguments:?}");
        }
    }
}

#[test]
fn a_file_and_a_database_exclude_each_other() {
    let (status, _, err) = told(&["calls.pcap", "--store", "/nowhere"]);
    assert!(status != Some(0) && err.contains("--store") && err.contains("cannot be used with"), "{err}");
    let (status, _, err) = told(&["--store", "/nowhere", "--after", "700"]);
    assert!(status != Some(0) && err.contains("--after"), "{err}");
    let (status, _, err) = told(&["calls.pcap", "--since", "2026-11-21"]);
    assert!(status != Some(0) && err.contains("--since"), "{err}");
}

/// What the store has acknowledged is there after a kill, as it was then: an outage that lasts, too.
#[test]
fn an_outage_outlives_a_kill() {
    let dir = tempfile::tempdir().unwrap();
    let mut capture = Capture::default();
    capture.pings(PROXY, (10_000, 600_000));
    let file = dir.path().join("lost.pcap");
    capture.write(&file);
    let mut place = place(dir.path(), &format!("files = [{file:?}]\nspeed = 8.0"), "");
    let mut daemon = place.start();
    let written = "ringtap_store_written_total{record=\"outage\"}";
    daemon.counts(written, |written| written >= 1);
    daemon.signal("KILL");
    daemon.end();
    let records = dir.path().join("records");
    let found = lines(&["--store", records.to_str().unwrap()]);
    let outage = found.iter().find(|line| line["type"] == "outage").unwrap();
    assert_eq!((&outage["service"], &outage["first_answer_us"]), (&"192.0.2.1:5060".into(), &Value::Null));
    assert_eq!(outage["first_unanswered_us"], (START + 10) * 1_000_000);
}

/// What is not switched on follows nothing.
#[test]
fn nothing_is_followed_unless_it_is_switched_on() {
    let dir = tempfile::tempdir().unwrap();
    let mut place = Place::new(dir.path());
    place.configure(&files("\"max\""), "");
    let (status, log) = place.start().end();
    assert_eq!(status, Some(0), "{log}");
    assert!(!log.contains("services followed"), "{log}");
    let records = dir.path().join("records");
    let (_, _, err) = told(&["--store", records.to_str().unwrap()]);
    assert!(err.contains("follow = true"), "{err}");
}

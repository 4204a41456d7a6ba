//! What the running daemon answers: its state, and the calls in progress.

use std::fs;

use serde_json::Value;

use crate::daemon::Place;
use crate::rules::ringtap;
use crate::talk::{Talk, write};

#[test]
fn a_running_daemon_says_how_it_is_and_which_calls_are_in_progress() {
    let dir = tempfile::tempdir().unwrap();
    let talks = [("short", "+442079460139", 1), ("live", "+442079460138", 2)].map(|(name, to, number)| {
        let mut talk = Talk::new(number, name, "+4930221").to(to);
        talk.begins(0);
        let end = if name == "live" { 60_000 } else { 1_000 };
        talk.both_say(200, end, "talk");
        talk.ends_at(end);
        talk
    });
    write(talks.into(), &dir.path().join("calls.pcap"));
    let mut place = Place::new(dir.path());
    let shown = dir.path().display();
    let path = place.configure(&format!("files = [\"{shown}/calls.pcap\"]\nspeed = 2"), "");
    let text = fs::read_to_string(&path).unwrap();
    let more = format!("[process]\ncontrol = \"{shown}/control\"\n[spool]\ndirectory = \"{shown}/spool\"\n");
    fs::write(&path, format!("{text}{more}")).unwrap();
    let control = format!("{shown}/control");
    let ask = |words: &[&str]| ringtap(&[words, &["--control", &control]].concat());

    let (status, out, said) = ask(&["status"]);
    assert!((status, out.as_str()) == (Some(1), "") && said.contains("is it running"), "{said}");

    let mut daemon = place.start();
    daemon.counts("ringtap_calls_begun_total", |begun| begun >= 2);
    daemon.counts("ringtap_calls", |calls| calls == 1);
    let (status, out, said) = ask(&["status", "--format", "json"]);
    let answer: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((status, &answer["status"]["calls"]), (Some(0), &Value::from(1)), "{said} {out}");
    assert_eq!(answer["status"]["workers"].as_array().unwrap().len(), 1, "{out}");
    assert!(
        answer["status"]["packets"].as_u64() > Some(100) && answer["packets_per_second"].is_f64(),
        "{out}"
    );
    assert!(answer["status"]["spool"]["ok"] == true && answer["status"]["store"]["ok"] == true, "{out}");
    let (_, out, _) = ask(&["status"]);
    assert!(out.contains("Calls       1 now, 2 since the start"), "{out}");

    let live = |filters: &[&str]| ask(&[&["calls", "--live", "--format", "jsonl"], filters].concat()).1;
    let call: Value = serde_json::from_str(&live(&["--number", "*0138"])).unwrap();
    assert_eq!((&call["state"], &call["call_id"]), (&"active".into(), &"live-2@ringtap.example".into()));
    assert!(live(&["--codec", "PCMU"]).contains("live-2"), "with its streams");
    assert_eq!(live(&["--number", "*0139"]), "", "it has ended");
    let (_, table, _) = ask(&["calls", "--live"]);
    assert!(table.contains("1 call found; 1 call in progress"), "{table}");

    let (status, _, said) = ask(&["pause", "live…"]);
    assert_eq!((status, said.as_str()), (Some(0), "ringtap: paused\n"));
    let (status, _, said) = ask(&["resume", "nobody"]);
    assert!(status == Some(1) && said.contains("no call in progress has the Call-ID `nobody`"), "{said}");
    daemon.signal("TERM");
    let (status, log) = daemon.end();
    assert!(status == Some(0) && log.contains("pause live-2@ringtap.example"), "{log}");
}

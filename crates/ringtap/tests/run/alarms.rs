//! Alarms: raised and cleared while captures are replayed, acknowledged and silenced meanwhile, stored, and
//! found again when their rules are applied to the past.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::Duration;

use serde_json::Value;

use crate::daemon::Place;

/// A minute without fault; one in which more calls begin, most fail and packets are lost; two without fault.
const PHASES: [(&str, &[&str]); 3] = [
    ("00", &["--calls", "120", "--rate", "2", "--failed", "0%", "--loss", "none"]),
    ("01", &["--calls", "360", "--rate", "6", "--failed", "80%", "--loss", "bernoulli:5%"]),
    ("02", &["--calls", "240", "--rate", "2", "--failed", "0%", "--loss", "none"]),
];

const RULES: &str = "
[[alarm]]
name = \"loss\"
severity = \"critical\"
figure = \"loss_pct\"
over = \"20s\"
minimum = 20
above = 2
clear = 1
[[alarm]]
name = \"few answers\"
figure = \"asr\"
over = \"30s\"
minimum = 10
below = 60
clear = 80
[[alarm]]
name = \"burst\"
severity = \"info\"
figure = \"begun\"
over = \"20s\"
above = 80
clear = 60
";

/// What the program prints, on both outputs.
fn ringtap(arguments: &[&str]) -> (bool, String, String) {
    let output =
        Command::new(env!("CARGO_BIN_EXE_ringtap")).args(arguments).output().expect("the program starts");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
    (output.status.success(), text(output.stdout), text(output.stderr))
}

fn captures(dir: &Path) -> Vec<String> {
    let made = PHASES.iter().map(|(minute, options)| {
        let (file, start) = (dir.join(format!("{minute}.pcap")), format!("2026-11-21T02:{minute}:00Z"));
        let file = file.to_str().expect("a path").to_owned();
        let usual = ["--hold", "15", "--cancelled", "0%", "--challenged", "0%"];
        let place = ["generate", "--out", &file, "--start", &start, "--seed", minute];
        let (made, _, told) = ringtap(&[&place[..], &usual[..], options].concat());
        assert!(made, "{told}");
        file
    });
    made.collect()
}

/// The alarms of a command, in order of time, with their rules.
fn alarms(arguments: &[&str]) -> Vec<(String, Value)> {
    let (done, lines, told) = ringtap(&[&["alarms", "--format", "jsonl"], arguments].concat());
    assert!(done, "{told}");
    let alarms = lines.lines().map(|line| serde_json::from_str::<Value>(line).expect("a record"));
    alarms.map(|alarm| (alarm["rule"].as_str().expect("a rule").to_owned(), alarm)).collect()
}

#[test]
fn alarms_are_raised_cleared_and_found_again_in_the_past() {
    let dir = tempfile::tempdir().expect("a directory");
    let (files, shown) = (captures(dir.path()), dir.path().display().to_string());
    let mut place = Place::new(dir.path());
    let path = place.configure(&format!("files = {files:?}\nspeed = 12.0"), "");
    let control = format!("{shown}/control");
    let text = fs::read_to_string(&path).expect("a configuration");
    fs::write(&path, format!("{text}[process]\ncontrol = {control:?}\n{RULES}")).expect("a configuration");
    let mut daemon = place.start();
    daemon.says("raised: loss: ");
    let (_, _, told) = ringtap(&["silence", "few*", "--for", "1h", "--control", &control]);
    assert!(told.contains("silent until 2026-11-21T03:"), "{told}");
    let id = daemon
        .log()
        .split("raised: loss: ")
        .nth(1)
        .and_then(|rest| rest.split(['[', ']']).nth(1))
        .map(str::to_owned);
    let id = id.expect("an id in the log");
    let (known, _, told) =
        ringtap(&["acknowledge", &id, "--by", "eva", "--comment", "known", "--control", &control]);
    assert!(known && told.contains("acknowledged: All traffic: "), "{told}");
    daemon.says("acknowledged by eva (user ");
    let (refused, _, told) = ringtap(&["acknowledge", "ffffffff", "--control", &control]);
    assert!(!refused && told.contains("no standing alarm has the id `ffffffff`"), "{told}");
    daemon.says("cleared: loss: ");
    daemon.says("cleared (silenced): few answers: ");
    assert_eq!(daemon.metric("ringtap_alarms_raised_total"), 3);
    let (status, log) = daemon.end();
    assert_eq!(status, Some(0), "{log}");

    let records = format!("{shown}/records");
    let stored = alarms(&["--store", &records]);
    let rules = |alarms: &[(String, Value)]| alarms.iter().map(|(rule, _)| rule.clone()).collect::<Vec<_>>();
    assert_eq!(rules(&stored), ["burst", "few answers", "loss"]);
    assert!(stored.iter().all(|(_, alarm)| alarm["cleared_us"].is_u64()), "{stored:?}");
    let loss = &stored[2].1;
    assert_eq!((&loss["comment"], &loss["severity"]), (&Value::from("known"), &Value::from("critical")));
    assert!(!loss["calls"].as_array().expect("Call-IDs").is_empty());
    assert_eq!(rules(&alarms(&["--store", &records, "--rule", "b*"])), ["burst"]);
    assert!(alarms(&["--store", &records, "--standing"]).is_empty());

    let path = path.to_str().expect("a path");
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    let captured = alarms(&[&["--replay", "--config", path], &files[..]].concat());
    let recorded = alarms(&["--replay", "--config", path, "--store", &records]);
    for past in [captured, recorded] {
        assert_eq!(rules(&past), rules(&stored));
        for ((_, past), (_, stored)) in past.iter().zip(&stored) {
            let raised = |alarm: &Value| alarm["raised_us"].as_u64().expect("a time") / 1_000_000;
            // Records have intervals from a stream's first packet on, the daemon tells them a packet later.
            assert!(raised(past).abs_diff(raised(stored)) <= 5, "{past}\n{stored}");
            assert!(past["cleared_us"].is_u64(), "{past}");
        }
    }
}

/// Without a rule there is nothing to apply, and nobody to ask.
#[test]
fn without_rules_there_are_no_alarms() {
    let dir = tempfile::tempdir().expect("a directory");
    let mut place = Place::new(dir.path());
    let path = place.configure(&crate::daemon::silence(dir.path()), "");
    let control = format!("{}/control", dir.path().display());
    let text = fs::read_to_string(&path).expect("a configuration");
    fs::write(&path, format!("{text}[process]\ncontrol = {control:?}\n")).expect("a configuration");
    let mut daemon = place.start();
    daemon.says("/metrics and /health");
    thread::sleep(Duration::from_millis(200));
    let (done, _, told) = ringtap(&["silence", "--control", &control]);
    assert!(!done && told.contains("no alarms are configured: add [[alarm]]"), "{told}");
    let path = path.to_str().expect("a path");
    let (done, _, told) = ringtap(&["alarms", "--replay", "--config", path, "--store", "/nowhere"]);
    assert!(!done && told.contains("has no rule: add an [[alarm]]"), "{told}");
}

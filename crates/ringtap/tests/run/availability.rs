//! Outages of services, found while a capture of a failover is replayed by two workers: the database, the
//! alarms and the metrics say what `ringtap availability` says of the capture.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::daemon::Place;
use crate::replayed::files;

const CLIENT: [u8; 4] = [198, 51, 100, 7];
const PROXY: [u8; 4] = [192, 0, 2, 1];
const PBX: [u8; 4] = [192, 0, 2, 20];
const OWNERS: [[u8; 6]; 2] = [[2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2]];
/// 2026-11-21 02:00 UTC.
const START: u64 = 1_795_226_400;

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

/// Frames of Ethernet with their milliseconds.
#[derive(Default)]
struct Capture(Vec<(u64, Vec<u8>)>);

impl Capture {
    fn message(&mut self, millis: u64, [src, dst]: [[u8; 4]; 2], first_line: &str, id: &str) {
        let text = format!(
            "{first_line}\r\nVia: SIP/2.0/UDP 198.51.100.7;branch=z9hG4bK{id}\r\n\
             From: <sip:a@example.org>;tag=1\r\nTo: <sip:b@example.org>\r\nCall-ID: {id}\r\n\
             CSeq: 1 OPTIONS\r\nContent-Length: 0\r\n\r\n"
        );
        let length = |headers: usize| ((headers + text.len()) as u16).to_be_bytes();
        let ip = [&[0x45, 0][..], &length(28), &[0, 1, 0, 0, 64, 17, 0, 0], &src, &dst].concat();
        let udp = [&5060_u16.to_be_bytes()[..], &5060_u16.to_be_bytes(), &length(8), &[0, 0]].concat();
        self.0.push((millis, [&[2; 12][..], &[8, 0], &ip, &udp, text.as_bytes()].concat()));
    }

    /// OPTIONS each 500 ms; there is no answer from `down` to `up`, but each is repeated.
    fn pings(&mut self, service: [u8; 4], (down, up): (u64, u64)) {
        for number in 0..180 {
            let (millis, id) = (500 * number, format!("{}-{number}", service[3]));
            self.message(millis, [CLIENT, service], "OPTIONS sip:b@example.org SIP/2.0", &id);
            if (down..up).contains(&millis) {
                self.message(millis + 500, [CLIENT, service], "OPTIONS sip:b@example.org SIP/2.0", &id);
            } else {
                self.message(millis + 3, [service, CLIENT], "SIP/2.0 200 OK", &id);
            }
        }
    }

    fn announced(&mut self, millis: u64, mac: [u8; 6]) {
        let body = [&[0, 1, 8, 0, 6, 4, 0, 1][..], &mac, &PROXY, &[0; 6], &PROXY].concat();
        self.0.push((millis, [&[0xff; 6][..], &mac, &[8, 6], &body].concat()));
    }

    fn write(mut self, path: &Path) {
        self.0.sort_by_key(|(millis, _)| *millis);
        let mut bytes = [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, 65_535, 1].map(u32::to_le_bytes).concat();
        for (millis, frame) in self.0 {
            let length = frame.len() as u32;
            let time = [(START + millis / 1_000) as u32, (millis % 1_000 * 1_000) as u32];
            bytes.extend([time[0], time[1], length, length].map(u32::to_le_bytes).concat());
            bytes.extend(frame);
        }
        fs::write(path, bytes).unwrap();
    }
}

/// A proxy whose address another host takes over after three and a half seconds, and a PBX that is lost for
/// four.
fn capture(dir: &Path) -> PathBuf {
    let mut capture = Capture::default();
    capture.pings(PROXY, (10_000, 13_500));
    capture.pings(PBX, (40_000, 44_000));
    capture.announced(100, OWNERS[0]);
    [12_900, 13_000, 13_400].into_iter().for_each(|millis| capture.announced(millis, OWNERS[1]));
    let path = dir.join("failover.pcap");
    capture.write(&path);
    path
}

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
        assert!(log.contains("2 services followed, 2 outages found"), "{log}");
        for raised in ["raised: out: ", "192.0.2.1:5060/udp", "192.0.2.20:5060/udp", "raised: failover: "] {
            assert!(log.contains(raised), "{raised} in {log}");
        }
        tell_the_same(file, &dir.path().join("records"));
    }
}

/// What a failover did to calls: packets tell alone.
const EFFECTS: [&str; 16] = [
    "calls",
    "delayed",
    "failed",
    "cut",
    "given_up",
    "unknown",
    "users",
    "registering_users",
    "lost_per_million",
    "delay_ms_median",
    "delay_ms_p95",
    "delay_ms_max",
    "gaps",
    "gap_ms_median",
    "gap_ms_p95",
    "gap_ms_max",
];

fn without_effects(mut line: Value) -> Value {
    if let Some(failover) = line.as_object_mut().filter(|line| line["type"] == "failover") {
        for field in EFFECTS {
            assert!(failover.remove(field).is_some(), "{field}: {failover:?}");
        }
    }
    line
}

/// The command says of the database what it says of the capture.
fn tell_the_same(file: &str, records: &Path) {
    let store = ["--store", records.to_str().unwrap()];
    let of_file: Vec<Value> = lines(&[file]).into_iter().map(without_effects).collect();
    assert_eq!(lines(&store), of_file);
    let of = |kind: &str, field: &str| -> Vec<Value> {
        of_file.iter().filter(|line| line["type"] == kind).map(|line| line[field].clone()).collect()
    };
    assert_eq!(of("failover", "causes"), [json!(["proxy_lost"]), json!(["pbx_lost"])]);
    assert_eq!(of("outage", "down_ms"), [3_503.0, 4_003.0]);
    let of_calls = |line: &&str| {
        ["calls:", "delay:", "media:", "people:"].iter().any(|word| line.trim_start().starts_with(word))
    };
    let table = told(&[file]).1;
    let of_outages: Vec<&str> = table.lines().filter(|line| !of_calls(line)).collect();
    assert!(of_outages.len() < table.lines().count(), "{table}");
    assert_eq!(told(&store).1.lines().collect::<Vec<_>>(), of_outages);
    let late = lines(&[&store[..], &["--since", "2026-11-21T02:00:30Z"]].concat());
    assert_eq!(late.iter().filter(|line| line["type"] == "outage").count(), 1);
    let none = told(&[&store[..], &["--since", "2026-11-22"]].concat());
    assert!(none.2.contains("no day was searched"), "{none:?}");
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

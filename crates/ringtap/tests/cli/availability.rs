//! `ringtap availability`: the tables, JSON lines, and remarks.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::built::Built;
use crate::found::text;
use crate::run::run;

const CLIENT: (u8, u16) = (7, 5060);
const SERVICE: (u8, u16) = (1, 5060);

fn message(id: &str, first_line: &str) -> Vec<u8> {
    format!(
        "{first_line}\r\nVia: SIP/2.0/UDP 192.0.2.7;branch=z9hG4bK{id}\r\nFrom: <sip:a@example.org>;tag=1\r\n\
         To: <sip:b@example.org>\r\nCall-ID: {id}\r\nCSeq: 1 OPTIONS\r\nContent-Length: 0\r\n\r\n"
    )
    .into_bytes()
}

/// OPTIONS each second for 20 s; from 5 s to 8.4 s there is no answer.
fn capture(folder: &Path) -> PathBuf {
    let mut built = Built::default();
    for second in 0..20 {
        let (id, at) = (format!("ping{second}"), 1_000 * second);
        built.udp(at, CLIENT, SERVICE, &message(&id, "OPTIONS sip:pbx.example.org SIP/2.0"));
        if (5..8).contains(&second) {
            built.udp(at + 500, CLIENT, SERVICE, &message(&id, "OPTIONS sip:pbx.example.org SIP/2.0"));
        } else {
            let delay = if second == 8 { 400 } else { 3 };
            built.udp(at + delay, SERVICE, CLIENT, &message(&id, "SIP/2.0 200 OK"));
        }
    }
    let path = folder.join("pings.pcap");
    built.write(&path);
    path
}

#[test]
fn an_outage_as_a_table_and_as_json() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = capture(folder.path());
    let table = run(["availability", text(&path)]);
    assert_eq!((table.status, table.err.as_str()), (0, ""), "{table:?}");
    for shown in
        ["ANSWERS AGAIN", "3.400 s", ":5060/udp", "no answer", "monitored", "82.", "1 outage of 1 service"]
    {
        assert!(table.out.contains(shown), "{shown}: {}", table.out);
    }
    let jsonl = run(["availability", text(&path), "--format", "jsonl"]).out;
    let lines: Vec<Value> = jsonl.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let types: Vec<_> = lines.iter().map(|line| line["type"].as_str().expect("a type")).collect();
    assert_eq!(types, ["failover", "outage", "service", "summary"]);
    let span = |from: &str, to: &str| lines[1][to].as_u64().unwrap() - lines[1][from].as_u64().unwrap();
    assert_eq!(span("last_answer_us", "first_unanswered_us"), 997_000);
    assert_eq!(span("first_unanswered_us", "first_answer_us"), 3_400_000);
    assert_eq!((&lines[1]["down_ms"], &lines[1]["requests"]), (&3400.0.into(), &3.into()));
    assert_eq!(lines[0]["causes"], serde_json::json!(["pbx_lost"]));
    let longer = run(["availability", text(&path), "--after", "3500"]).out;
    assert!(longer.contains("0 outages of 1 service"), "{longer}");
}

#[test]
fn what_nothing_is_told_of_is_remarked() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("empty.pcap");
    Built::default().write(&path);
    let none = run(["availability", text(&path)]);
    assert!(none.err.contains("no SIP request was found"), "{none:?}");
    let wrong = run(["availability", text(&path), "--after", "5"]);
    assert!(wrong.status != 0 && wrong.err.contains("50..=600000"), "{wrong:?}");
}

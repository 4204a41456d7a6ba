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
pub(crate) fn capture(folder: &Path) -> PathBuf {
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

/// A call by hosts 7 and 1, from the INVITE on.
fn call(id: &str, first_line: &str, cseq: &str, tag: &str) -> Vec<u8> {
    let sdp = |host: u8, port: u16| {
        format!(
            "v=0\r\no=- 1 1 IN IP4 192.0.2.{host}\r\ns=-\r\nc=IN IP4 192.0.2.{host}\r\nt=0 0\r\n\
             m=audio {port} RTP/AVP 8\r\na=rtpmap:8 PCMA/8000\r\n"
        )
    };
    let body = match (first_line, cseq) {
        (line, "1 INVITE") if line.starts_with("INVITE") => sdp(7, 4000),
        ("SIP/2.0 200 OK", "1 INVITE") => sdp(1, 6000),
        _ => String::new(),
    };
    let kind = if body.is_empty() { "" } else { "Content-Type: application/sdp\r\n" };
    format!(
        "{first_line}\r\nVia: SIP/2.0/UDP 192.0.2.7;branch=z9hG4bK{id}{}\r\n\
         From: <sip:{id}@192.0.2.7>;tag=a\r\nTo: <sip:all@192.0.2.1>{tag}\r\nCall-ID: {id}\r\n\
         CSeq: {cseq}\r\n{kind}Content-Length: {}\r\n\r\n{body}",
        cseq.replace(' ', ""),
        body.len()
    )
    .into_bytes()
}

/// OPTIONS each second for 60 s, in vain from 5 s to 8 s. One call is established with sound, of which
/// 2,500 ms are lost one way; one waits for 4,010 ms; one is refused.
fn failover(folder: &Path) -> PathBuf {
    let mut built = Built::default();
    for second in 0..60 {
        let (id, at) = (format!("ping{second}"), 1_000 * second);
        built.udp(at, CLIENT, SERVICE, &message(&id, "OPTIONS sip:pbx.example.org SIP/2.0"));
        match second {
            5..8 => {
                built.udp(at + 500, CLIENT, SERVICE, &message(&id, "OPTIONS sip:pbx.example.org SIP/2.0"));
            }
            _ => built.udp(at + 3, SERVICE, CLIENT, &message(&id, "SIP/2.0 200 OK")),
        }
    }
    let invite = "INVITE sip:all@192.0.2.1 SIP/2.0";
    let answer = |id: &str, line: &str| call(id, line, "1 INVITE", ";tag=b");
    built.udp(1_000, CLIENT, SERVICE, &call("heard", invite, "1 INVITE", ""));
    built.udp(1_020, SERVICE, CLIENT, &answer("heard", "SIP/2.0 180 Ringing"));
    built.udp(1_040, SERVICE, CLIENT, &answer("heard", "SIP/2.0 200 OK"));
    for number in 0..1_000_u16 {
        let at = 1_100 + 20 * u64::from(number);
        built.rtp(at, (7, 4000), (1, 6000), 1, number, 0xd5);
        if !(5_200..7_700).contains(&at) {
            built.rtp(at + 5, (1, 6000), (7, 4000), 2, number, 0xd5);
        }
    }
    built.udp(21_200, CLIENT, SERVICE, &call("heard", "BYE sip:all@192.0.2.1 SIP/2.0", "2 BYE", ";tag=b"));
    built.udp(21_210, SERVICE, CLIENT, &call("heard", "SIP/2.0 200 OK", "2 BYE", ";tag=b"));
    for (id, line) in [("waits", "SIP/2.0 180 Ringing"), ("refused", "SIP/2.0 503 Service Unavailable")] {
        for repeat in [5_200, 5_700, 6_700, 8_700] {
            built.udp(repeat, CLIENT, SERVICE, &call(id, invite, "1 INVITE", ""));
        }
        built.udp(9_210, SERVICE, CLIENT, &answer(id, line));
    }
    built.udp(9_500, SERVICE, CLIENT, &answer("waits", "SIP/2.0 486 Busy Here"));
    let path = folder.join("failover.pcap");
    built.write(&path);
    path
}

#[test]
fn effects_of_a_failover_in_words_and_as_json() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = failover(folder.path());
    let table = run(["availability", text(&path)]);
    assert_eq!((table.status, table.err.as_str()), (0, ""), "{table:?}");
    for shown in [
        "calls:   1 delayed, 1 failed, 0 cut; 3 calls then, 333,333 of a million lost",
        "delay:   median 4.010 s, 95 % within 4.010 s, longest 4.010 s",
        "media:   gaps in 1 direction: median 2.520 s",
        "people:  4 users",
        "1 of 3 calls lost: 333,333 of a million",
    ] {
        let flat = table.out.split_whitespace().collect::<Vec<_>>().join(" ");
        let shown = shown.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(flat.contains(&shown), "{shown}: {}", table.out);
    }
    let jsonl = run(["availability", text(&path), "--format", "jsonl"]).out;
    let lines: Vec<Value> = jsonl.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let of = |kind: &str| lines.iter().filter(|line| line["type"] == kind).collect::<Vec<_>>();
    let failover = of("failover")[0];
    for (name, value) in
        [("delayed", 1), ("failed", 1), ("cut", 0), ("users", 4), ("gaps", 1), ("calls", 3), ("unknown", 0)]
    {
        assert_eq!(failover[name], value, "{name}: {failover}");
    }
    assert_eq!((&failover["delay_ms_max"], &failover["gap_ms_max"]), (&4010.0.into(), &2520.0.into()));
    let affected = of("affected_call");
    let effects: Vec<_> = affected.iter().map(|call| (&call["call_id"], &call["effect"])).collect();
    let expected = [("heard", Value::Null), ("waits", "delayed".into()), ("refused", "failed".into())];
    let found: Vec<_> = expected
        .iter()
        .filter(|(id, effect)| effects.iter().any(|(call_id, found)| *call_id == id && *found == effect))
        .collect();
    assert_eq!((found.len(), effects.len()), (3, 3), "{effects:?}");
    let heard = affected.iter().find(|call| call["call_id"] == "heard").expect("affected");
    assert_eq!(heard["gaps"][0]["direction"], "callee_to_caller");
    assert_eq!(heard["failover_us"], failover["from_us"]);
    let summary = of("summary")[0];
    assert_eq!((&summary["calls"], &summary["lost_calls"]), (&3.into(), &1.into()));
}

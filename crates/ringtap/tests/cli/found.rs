//! The same filters find the same records in a capture and in the database made of it.

use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::built::Built;
use crate::run::{Run, run};

/// Two calls to numbers that end alike, one busy and one answered with media; a registration that is
/// refused, and a MESSAGE. The capture, and the database made of it.
pub(crate) fn stored() -> (TempDir, PathBuf, PathBuf) {
    let mut built = Built::default();
    let message = |start: &str, call: &str, from: &str, to: &str, cseq: &str, rest: &str| {
        format!(
            "{start}\r\nVia: SIP/2.0/UDP 192.0.2.1;branch=z9hG4bK{call}{cseq}\r\n\
             From: <sip:{from}@x>;tag=a\r\nTo: <sip:{to}@y>;tag=b\r\n\
             Call-ID: {call}@192.0.2.1\r\nCSeq: {cseq}\r\n{rest}\r\n"
        )
    };
    let sdp = |port: u16| {
        let body = format!(
            "v=0\r\no=- 1 1 IN IP4 192.0.2.1\r\ns=-\r\nc=IN IP4 192.0.2.{}\r\nt=0 0\r\n\
             m=audio {port} RTP/AVP 8\r\n",
            if port == 4000 { 1 } else { 2 }
        );
        format!("Content-Type: application/sdp\r\nContent-Length: {}\r\n\r\n{body}", body.len())
    };
    for (at, call, to) in [(0, "4f2a19c0", "+442079460138"), (60_000, "4f2a19c1", "0044 20 7946-0139")] {
        let to = to.replace(' ', "");
        let invite = format!("INVITE sip:{to}@y SIP/2.0");
        let headers = format!("User-Agent: Yealink T46\r\n{}", sdp(4000));
        built.sip(at, true, &message(&invite, call, "221", &to, "1 INVITE", &headers));
        if call == "4f2a19c0" {
            built.sip(at + 300, false, &message("SIP/2.0 486 Busy", call, "221", &to, "1 INVITE", ""));
            continue;
        }
        built.sip(at + 300, false, &message("SIP/2.0 200 OK", call, "221", &to, "1 INVITE", &sdp(5000)));
        for number in 0..500 {
            let millis = at + 400 + 20 * u64::from(number);
            // One in fifty is lost on the way back.
            built.rtp(millis, (1, 4000), (2, 5000), 1, number, 0xd5);
            if number % 50 != 7 {
                built.rtp(millis, (2, 5000), (1, 4000), 2, number, 0xd5);
            }
        }
        built.sip(
            at + 11_000,
            true,
            &message(&format!("BYE sip:{to}@y SIP/2.0"), call, "221", &to, "2 BYE", ""),
        );
        built.sip(at + 11_050, false, &message("SIP/2.0 200 OK", call, "221", &to, "2 BYE", ""));
    }
    built.sip(90_000, true, &message("REGISTER sip:y SIP/2.0", "reg", "2001", "2001", "1 REGISTER", ""));
    built.sip(90_010, false, &message("SIP/2.0 403 No", "reg", "2001", "2001", "1 REGISTER", ""));
    built.sip(91_000, true, &message("MESSAGE sip:2002@y SIP/2.0", "msg", "221", "2002", "1 MESSAGE", ""));
    built.sip(91_010, false, &message("SIP/2.0 200 OK", "msg", "221", "2002", "1 MESSAGE", ""));
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (path, store) = (folder.path().join("in.pcap"), folder.path().join("store"));
    built.write(&path);
    let stored = run(["analyze", "--store", text(&store), text(&path)]);
    assert_eq!(stored.status, 0, "{stored:?}");
    (folder, path, store)
}

pub(crate) fn text(path: &Path) -> &str {
    path.to_str().expect("temporary paths are UTF-8")
}

pub(crate) fn done(run: Run) -> String {
    assert_eq!(run.status, 0, "{run:?}");
    run.out
}

pub(crate) fn lines(out: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = out.lines().collect();
    lines.sort_unstable();
    lines
}

#[test]
fn a_file_and_its_database_give_the_same_records() {
    let (_folder, path, store) = stored();
    let cases: [(&str, &[&str], usize); 23] = [
        ("calls", &[], 2),
        ("calls", &["--number", "*0138"], 1),
        ("calls", &["--number", "+44*"], 2),
        ("calls", &["--to", "+442079460139"], 1),
        ("calls", &["--code", "4xx"], 1),
        ("calls", &["--duration", ">10s", "--codec", "G.711", "--ip", "192.0.2.0/24"], 1),
        ("calls", &["--loss-above", "1"], 1),
        ("calls", &["--loss-above", "3"], 0),
        ("calls", &["--ua", "yealink"], 2),
        ("streams", &[], 2),
        ("streams", &["--loss-above", "1"], 1),
        ("streams", &["--number", "*0139", "--codec", "PCMA"], 2),
        ("streams", &["--number", "*0138"], 0),
        ("registrations", &["--number", "2001", "--code", "403"], 1),
        ("registrations", &["--number", "2002"], 0),
        ("registrations", &["--ip", "192.0.2.1"], 1),
        ("messages", &["--to", "2002", "--code", "2xx"], 1),
        ("messages", &["--from", "2002"], 0),
        ("messages", &["--call-id", "msg*"], 1),
        ("users", &[], 5),
        ("users", &["--number", "2001"], 1),
        ("users", &["--code", "4xx"], 3),
        ("users", &["--loss-above", "1"], 2),
    ];
    for (command, filters, count) in cases {
        let of_file = match command {
            "calls" => done(run([&["analyze", "--format", "jsonl"], filters, &[text(&path)]].concat())),
            _ => done(run([&[command, "--format", "jsonl"], filters, &[text(&path)]].concat())),
        };
        let is_call = |line: &&str| line.starts_with(r#"{"type":"call""#) || command != "calls";
        let of_file: Vec<&str> = lines(&of_file).into_iter().filter(is_call).collect();
        let arguments = [&[command, "--format", "jsonl", "--store", text(&store)], filters].concat();
        let of_store = done(run(arguments));
        assert_eq!(of_file, lines(&of_store), "{command} {filters:?}");
        assert_eq!(of_file.len(), count, "{command} {filters:?}");
    }
    for command in ["streams", "registrations", "messages", "users"] {
        for format in ["table", "csv"] {
            let of_file = done(run([command, "--format", format, text(&path)]));
            let of_store = done(run([command, "--format", format, "--store", text(&store)]));
            let of_store = of_store.replace("; 1 day searched", "");
            assert_eq!(lines(&of_file), lines(&of_store), "{command} {format}");
        }
    }
    let refused = run(["registrations", "--codec", "PCMA", text(&path)]);
    assert!(refused.status == 2 && refused.err.contains("`--codec`"), "{refused:?}");
}

/// What is no call, registration or MESSAGE is counted too; each user once, whatever it did.
#[test]
fn users_of_a_capture_have_what_they_sent_by_method_and_what_failed() {
    let mut built = Built::default();
    let message = |start: &str, call: u64, method: &str, more: &str| {
        format!(
            "{start}\r\nVia: SIP/2.0/UDP 192.0.2.1;branch=z9hG4bK{call}\r\n\
             From: \"Alice\" <sip:alice@x>;tag=a\r\nTo: <sip:alice@x>\r\n\
             Call-ID: {call}@192.0.2.1\r\nCSeq: 1 {method}\r\n{more}\r\n"
        )
    };
    let sent = [("REGISTER", 200), ("OPTIONS", 200), ("OPTIONS", 408), ("SUBSCRIBE", 489), ("PUBLISH", 200)];
    for (call, (method, code)) in (0..).zip(sent) {
        let device = "User-Agent: Phone/2\r\nContact: <sip:alice@192.0.2.1>\r\nExpires: 600\r\n";
        let request = format!("{method} sip:x SIP/2.0");
        built.sip(1_000 * call, true, &message(&request, call, method, device));
        built.sip(1_000 * call + 20, false, &message(&format!("SIP/2.0 {code} X"), call, method, ""));
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("in.pcap");
    built.write(&path);
    let out = done(run(["users", "--format", "jsonl", text(&path)]));
    let user: serde_json::Value = serde_json::from_str(&out).expect("one line");
    assert_eq!(user["aor"], "alice@x");
    assert_eq!((&user["user_agent"], &user["contact"]), (&"Phone/2".into(), &"sip:alice@192.0.2.1".into()));
    let expected = serde_json::json!([
        { "method": "OPTIONS", "count": 2 }, { "method": "PUBLISH", "count": 1 },
        { "method": "REGISTER", "count": 1 }, { "method": "SUBSCRIBE", "count": 1 }
    ]);
    assert_eq!(user["methods"], expected);
    let expected = serde_json::json!([{ "code": 408, "count": 1 }, { "code": 489, "count": 1 }]);
    assert_eq!(user["failures"], expected);
    let table = done(run(["users", text(&path)]));
    assert!(table.contains("1x408 1x489") && table.contains("2 OPTIONS"), "{table}");
    let csv = done(run(["users", "--format", "csv", text(&path)]));
    assert!(csv.contains("OPTIONS=2 PUBLISH=1 REGISTER=1 SUBSCRIBE=1,408=1 489=1"), "{csv}");
}

#[test]
fn analyze_lists_who_cannot_register() {
    let (_folder, path, _store) = stored();
    let out = done(run(["analyze", "--number", "2001", text(&path)]));
    let line = out.lines().find(|line| line.contains("2001@")).expect("the registration");
    for shown in ["192.0.2.1:5060", "refused", "403"] {
        assert!(line.contains(shown), "{shown}: {line}");
    }
    assert!(out.contains("Registrations") && !out.contains("4f2a19"), "{out}");
}

#[test]
fn a_call_of_the_database_is_shown_and_says_what_is_missing() {
    let (_folder, path, store) = stored();
    let shown = done(run(["call", "4f2a19c1…", "--store", text(&store)]));
    assert!(shown.contains("No ladder: no packets of this call were recorded"), "{shown}");
    let of_file = done(run(["call", "4f2a19c1", text(&path)]));
    for line in of_file.lines().filter(|line| line.contains("Outcome") || line.contains("Lost")) {
        assert!(shown.contains(line), "{line}: {shown}");
    }
    let ambiguous = run(["call", "4f2a", "--store", text(&store)]);
    assert_eq!((ambiguous.status, ambiguous.out.as_str()), (1, ""));
    let candidates: Vec<&str> = ambiguous.err.lines().skip(1).collect();
    assert!(ambiguous.err.contains("several calls begin with `4f2a`"), "{ambiguous:?}");
    assert!(candidates.len() == 2 && candidates[0].contains("221 -> +442079460138"), "{candidates:?}");
    let same = run(["call", "4f2a", text(&path)]);
    assert_eq!(same.err, ambiguous.err, "as in a file");
    let without = run(["call", "4f2a", "--spool", "x", text(&path)]);
    assert!(without.status == 2 && without.err.contains("cannot be used with"), "{without:?}");
}

/// Erasing cannot be undone: what could mean two calls erases none.
#[test]
fn an_ambiguous_beginning_forgets_nothing() {
    let (folder, _path, store) = stored();
    let spool = folder.path().join("spool");
    std::fs::create_dir(&spool).unwrap();
    let forget =
        |call: &str| run(["forget", call, "--store", text(&store), "--spool", text(&spool), "--yes"]);
    let ambiguous = forget("4f2a…");
    assert_eq!(ambiguous.status, 1, "{ambiguous:?}");
    assert!(ambiguous.err.contains("several calls begin with `4f2a…`"), "{ambiguous:?}");
    assert!(!ambiguous.err.contains("forgetting"), "{ambiguous:?}");
    let named = forget("4f2a19c1");
    assert!(named.err.contains("forgetting 2026-11-21 02:01:00.000 UTC  221 -> "), "{named:?}");
}

#[test]
fn times_are_in_the_zone_that_is_asked_for_and_in_utc_elsewhere() {
    let (_folder, path, store) = stored();
    let utc = done(run(["analyze", text(&path)]));
    assert!(utc.contains("2026-11-21 (UTC)") && utc.contains("02:00:00 "), "{utc}");
    let berlin = done(run(["analyze", "--tz", "Europe/Berlin", text(&path)]));
    assert!(berlin.contains("2026-11-21 (Europe/Berlin)") && berlin.contains("03:01:00 "), "{berlin}");
    assert!(berlin.contains(" Europe/Berlin ("), "the span of the capture: {berlin}");
    // A time without an offset is one of that zone.
    let since = ["calls", "--store", text(&store), "--since", "2026-11-21 03:00:30", "--format", "jsonl"];
    let found = |zone: &str| done(run([&["--tz", zone], &since[..]].concat())).lines().count();
    assert_eq!((found("Europe/Berlin"), found("UTC")), (1, 0));
    let wrong = run(["--tz", "Berlin", "analyze", text(&path)]);
    assert!(wrong.status == 2 && wrong.err.contains("Europe/Berlin"), "{wrong:?}");
}

//! Captures that name nobody: the same calls with the same figures, and none of the names.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::built::{Built, call};
use crate::run::{ringtap, run};

/// What a record has of a call that names nobody. Phrases are left out: what people wrote themselves is
/// replaced.
const CALL: [&str; 17] = [
    "protocol",
    "state",
    "final_code",
    "cause",
    "released_by",
    "invite_us",
    "trying_us",
    "ringing_us",
    "answer_us",
    "end_us",
    "pdd_ms",
    "duration_ms",
    "messages",
    "retransmissions",
    "user_agent_caller",
    "mos",
    "mos_worst_interval",
];
const STREAM: [&str; 19] = [
    "direction",
    "ssrc",
    "payload_type",
    "codec",
    "clock_hz",
    "ptime_ms",
    "first_us",
    "last_us",
    "packets",
    "unique",
    "lost",
    "duplicates",
    "reordered",
    "bytes",
    "jitter_ms_mean",
    "delta_ms_max",
    "rtt_ms",
    "mos",
    "mos_fixed50",
];
const NAMES: [&str; 9] = [
    "call_id",
    "from_user",
    "from_host",
    "from_display",
    "to_user",
    "to_host",
    "ruri_user",
    "ruri_host",
    "asserted_identity",
];

fn records(path: &Path) -> Vec<Value> {
    let run =
        ringtap().args(["analyze", "--format", "jsonl"]).arg(path).output().expect("the program starts");
    let text = String::from_utf8(run.stdout).expect("UTF-8");
    text.lines().map(|line| serde_json::from_str(line).expect("a record")).collect()
}

/// Records of that kind, each as its fields in text, in order.
fn figures(records: &[Value], kind: &str, fields: &[&str]) -> Vec<String> {
    let kind = records.iter().filter(|record| record["type"] == kind);
    let mut figures: Vec<String> = kind
        .map(|record| fields.iter().map(|field| format!("{field}={} ", record[*field])).collect::<String>())
        .collect();
    figures.sort();
    figures
}

/// Who is named in the records; what is too short to be looked for, or a word of signalling, left out.
fn names(records: &[Value]) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for record in records {
        let texts = NAMES.iter().filter_map(|field| record[*field].as_str()).map(str::to_owned);
        let routed = record["diverted_to"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|number| Some(number.as_str()?.to_owned()));
        let hosts = ["src", "dst"].iter().filter_map(|field| record[*field].as_str()?.rsplit_once(':'));
        names.extend(
            texts.chain(routed).chain(hosts.map(|(host, _)| host.trim_matches(['[', ']']).to_owned())),
        );
    }
    names.retain(|name| {
        name.len() >= 5 && !name.starts_with("127.") && !WORDS.contains(&name.to_lowercase().as_str())
    });
    names
}

/// Names that say that there is none, and names that are those of products or codecs too, which stay.
const WORDS: [&str; 14] = [
    "anonymous",
    "anonymous.invalid",
    "localhost",
    "unknown",
    "unavailable",
    "restricted",
    "private",
    "phone",
    "linphone",
    "desktop",
    "ekiga.net",
    "g722/8000",
    "g729/8000",
    "opus/48000/2",
];

fn anonymised(input: &Path, out: &Path, key: &Path) -> Option<()> {
    let run = run([
        Path::new("anonymise"),
        input,
        Path::new("--out"),
        out,
        Path::new("--force"),
        Path::new("--anonymise-key"),
        key,
    ]);
    match run.status {
        0 | 3 => Some(()),
        _ => {
            assert!(run.err.contains("neither a SIP message nor a stream"), "{}: {run:?}", input.display());
            None
        }
    }
}

fn captures(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(captures(&path));
        } else if path
            .extension()
            .is_some_and(|end| ["pcap", "pcapng", "cap"].iter().any(|known| end == *known))
        {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// Wireshark's opinion of every checksum; None, and the test is skipped, where it is not installed.
fn bad_checksums(path: &Path) -> Option<usize> {
    if !ringtap_testing::program("tshark") {
        return None;
    }
    let filter =
        "ip.checksum.status == 0 || udp.checksum.status == 0 || tcp.checksum.status == 0 || _ws.malformed";
    let checked =
        ["-o", "ip.check_checksum:TRUE", "-o", "udp.check_checksum:TRUE", "-o", "tcp.check_checksum:TRUE"];
    let output = Command::new("tshark").arg("-r").arg(path).args(checked).args(["-Y", filter]).output();
    let output = output.expect("tshark runs");
    Some(String::from_utf8_lossy(&output.stdout).lines().count())
}

#[test]
fn every_capture_keeps_its_calls_and_loses_its_names() {
    let Some(shared) = ringtap_testing::shared() else { return };
    let shared = shared.join("captures");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (out, key) = (folder.path().join("out.pcap"), folder.path().join("key"));
    fs::write(&key, b"a secret for tests alone").expect("written");
    let mut count = 0;
    let mut wrong = Vec::new();
    for path in captures(&shared) {
        if anonymised(&path, &out, &key).is_none() {
            continue;
        }
        count += 1;
        let (before, after) = (records(&path), records(&out));
        let name = path.strip_prefix(&shared).unwrap_or(&path).display().to_string();
        // Packets of other things made time go on there until the call was given up.
        let ends_early = name.contains("arkime_synthetic");
        if !ends_early && figures(&before, "call", &CALL) != figures(&after, "call", &CALL) {
            wrong.push(format!(
                "{name}: calls {:#?} {:#?}",
                figures(&before, "call", &CALL),
                figures(&after, "call", &CALL)
            ));
        }
        if figures(&before, "stream", &STREAM) != figures(&after, "stream", &STREAM) {
            wrong.push(format!("{name}: streams"));
        }
        let bytes = fs::read(&out).expect("written").to_ascii_lowercase();
        let text = String::from_utf8_lossy(&bytes);
        wrong.extend(
            names(&before)
                .iter()
                .filter(|who| text.contains(&who.to_lowercase()))
                .map(|who| format!("{name}: {who}")),
        );
        // It takes a while to start: every sixth.
        if count % 6 == 0 && bad_checksums(&out).is_some_and(|bad| bad > 0) {
            wrong.push(format!("{name}: checksums"));
        }
    }
    assert!(count > 150, "{count} captures");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_call_is_taken_out_without_its_names() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let at = |name: &str| folder.path().join(name);
    let mut built = Built::default();
    call(&mut built);
    built.write(&at("in.pcap"));
    let whole = records(&at("in.pcap"));
    let call_id = whole[0]["call_id"].as_str().expect("a call").to_owned();
    let arguments = |out: &str| {
        let path = |name: &str| at(name).display().to_string();
        [
            "extract".to_owned(),
            path("in.pcap"),
            "--call".into(),
            call_id.clone(),
            "--pcap".into(),
            path(out),
            "--anonymise".into(),
        ]
    };
    let done = run(arguments("out.pcap"));
    assert_eq!(done.status, 0, "{done:?}");
    let after = records(&at("out.pcap"));
    assert_eq!(figures(&whole, "call", &CALL), figures(&after, "call", &CALL));
    assert_eq!(figures(&whole, "stream", &STREAM), figures(&after, "stream", &STREAM));
    let text = String::from_utf8_lossy(&fs::read(at("out.pcap")).expect("written")).to_lowercase();
    assert!(!names(&whole).is_empty());
    for name in names(&whole) {
        assert!(!text.contains(&name.to_lowercase()), "{name}");
    }
    // Without a secret of its own, each run has other names.
    assert_eq!(run(arguments("again.pcap")).status, 0);
    assert_ne!(fs::read(at("out.pcap")).expect("written"), fs::read(at("again.pcap")).expect("written"));
    let short = at("short");
    fs::write(&short, "secret").expect("written");
    let refused =
        run(arguments("x.pcap").into_iter().chain(["--anonymise-key".into(), short.display().to_string()]));
    assert!(refused.status == 1 && refused.err.contains("fewer than 16 bytes"), "{refused:?}");
}

#[test]
fn a_drawing_is_made_of_a_capture() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (input, out) = (folder.path().join("in.pcap"), folder.path().join("ladder.svg"));
    let mut built = Built::default();
    call(&mut built);
    built.write(&input);
    let call_id = records(&input)[0]["call_id"].as_str().expect("a call").to_owned();
    let done = run(["call", &call_id, input.to_str().expect("UTF-8"), "--svg", out.to_str().expect("UTF-8")]);
    assert_eq!(done.status, 0, "{done:?}");
    let svg = fs::read_to_string(&out).expect("written");
    assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n") && svg.contains("INVITE"), "{svg}");
}

//! Captures as other programs write them, and messages as large as few write them.

use std::path::Path;
use std::process::Command;

use ringtap_capture::Capture;

use crate::run::{Run, run};

fn case(name: &str) -> String {
    format!("{}/../../cases/{name}/in.pcap", env!("CARGO_MANIFEST_DIR"))
}

fn done(run: Run) -> String {
    assert_eq!(run.status, 0, "{run:?}");
    run.out
}

fn text(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

/// The INVITE has 51 segments; what is left out are six segments that open and close the connection.
#[test]
fn a_message_beyond_64_kib_is_taken_out_whole() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (capture, out) = (case("tcp-long-message"), folder.path().join("out.pcap"));
    done(run(["extract", &capture, "--call", "long@example.com", "--pcap", text(&out)]));
    let frames = |path: &Path| Capture::open(path, None).expect("a capture").frames().owned();
    let (all, taken) = (frames(Path::new(&capture)), frames(&out));
    assert_eq!(taken.len() + 5, all.len());
    let bytes = |from: &[u8]| taken.iter().filter(|frame| frame.data.ends_with(from)).count();
    assert_eq!(bytes(b"--edge--\r\n"), 1, "the end of the message");
    let ladder = |path: &str| done(run(["call", "long@example.com", path]));
    assert_eq!(ladder(&capture), ladder(text(&out)), "the same call");
    assert!(!ladder(&capture).contains("inner@"), "{}", ladder(&capture));
}

/// What another program makes of a capture holds the same calls.
#[test]
fn a_capture_in_another_format_gives_the_same_records() {
    if !ringtap_testing::program("editcap") {
        return;
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    for name in ["multipart-offer", "tcp-long-message", "dtmf-by-notify", "fragmented-tunnel"] {
        let original = done(run(["analyze", "--format", "jsonl", &case(name)]));
        for format in ["snoop", "netmon2"] {
            let converted = folder.path().join(format);
            let mut command = Command::new("editcap");
            command.args(["-F", format, &case(name)]).arg(&converted).env("TZ", "UTC");
            assert!(command.output().expect("editcap runs").status.success(), "{name} as {format}");
            let records = done(run(["analyze", "--format", "jsonl", text(&converted)]));
            assert_eq!(records, original, "{name} as {format}");
        }
    }
}

/// What is wrong is told with its file and its place, and the packets before it are read.
#[test]
fn a_damaged_capture_of_another_format_is_read_to_the_damage() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let seed = |name: &str| format!("{}/../../fuzz/seeds/capture/{name}", env!("CARGO_MANIFEST_DIR"));
    for (name, place) in [("snoop-cut", "at byte 140"), ("netmon-cut", "at byte 257")] {
        let run = run(["analyze", &seed(name)]);
        assert_eq!(run.status, 3, "{run:?}");
        assert!(run.err.contains(name) && run.err.contains(place), "{run:?}");
        assert!(run.out.contains("Packets        1: 1 SIP"), "{run:?}");
    }
    let mut lying = std::fs::read(seed("netmon-23")).expect("a seed");
    lying[28..32].copy_from_slice(&u32::MAX.to_le_bytes());
    let path = folder.path().join("lying.cap");
    std::fs::write(&path, lying).expect("written");
    let run = run(["analyze", text(&path)]);
    assert_eq!(run.status, 3, "{run:?}");
    assert!(run.err.contains("lying.cap") && run.err.contains("editcap -F pcapng"), "{run:?}");
    assert!(run.out.contains("Packets        2: 2 SIP"), "{run:?}");
}

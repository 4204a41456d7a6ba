//! Hostile traffic beside calls: each call is recorded as without it.

use std::path::Path;

use crate::run::{file, run};

const KINDS: [&str; 13] = [
    "invite",
    "register",
    "message",
    "codecs",
    "ssrc",
    "collision",
    "fragment",
    "hole",
    "bytes",
    "synfin",
    "websocket",
    "chunks",
    "lengths",
];

/// Generates 20 calls in a flood and analyses them; what `ringtap compare` says.
fn compared(folder: &Path, kind: &str) -> String {
    let path = |name: &str| folder.join(name).display().to_string();
    let [capture, truth, found] = ["flood.pcap", "truth.jsonl", "found.jsonl"].map(path);
    let options = "--calls 20 --rate 20 --hold 2 --impair all --flood 1kpps --flood-mix";
    let generate = ["generate", "--out", &capture, "--truth", &truth].into_iter();
    let generated = run(generate.chain(options.split(' ')).chain([kind]));
    assert_eq!(generated.status, 0, "{}", generated.err);
    let records = run(["analyze", "--format", "jsonl", &capture]).out;
    file(folder, "found.jsonl", records.as_bytes());
    run(["compare", "--allow-others", "--truth", &truth, &found]).out
}

#[test]
fn each_kind_of_flood_leaves_the_records_of_calls_as_they_are() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut wrong = Vec::new();
    for kind in KINDS {
        let said = compared(folder.path(), kind);
        if !said.ends_with("they agree\n") {
            wrong.push(format!("{kind}: {said}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

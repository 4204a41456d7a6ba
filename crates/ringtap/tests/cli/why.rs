//! What distinguishes marked calls: traffic with a cause and without, of captures and of the database.

use std::path::Path;

use serde_json::Value;

use crate::run::{Run, run};

/// Generates calls into a capture of that name.
fn generate(dir: &Path, name: &str, options: &str) -> String {
    let path = dir.join(name).display().to_string();
    let common = ["generate", "--hold-distribution", "exponential:4", "--out", &path];
    let generated = run(common.into_iter().chain(options.split_whitespace()));
    assert_eq!(generated.status, 0, "{}", generated.err);
    path
}

fn lines(run: &Run) -> Vec<Value> {
    assert_eq!(run.status, 0, "{}", run.err);
    run.out.lines().map(|line| serde_json::from_str(line).expect("a line is JSON")).collect()
}

#[test]
fn a_codec_that_loses_packets_is_found_in_captures_and_in_the_database() {
    let dir = tempfile::tempdir().unwrap();
    let good =
        generate(dir.path(), "good.pcap", "--calls 300 --rate 5 --codec PCMA=70,opus=25,G729=5 --seed 1");
    let bad =
        generate(dir.path(), "bad.pcap", "--calls 60 --rate 1 --codec G729 --loss bernoulli:6% --seed 2");
    let marks = ["--loss-above", "3"];
    let found = run(["why", &good, &bad, "--format", "jsonl"].into_iter().chain(marks));
    let found = lines(&found);
    let [summary, first] = &found[..] else { panic!("{found:?}") };
    assert_eq!((summary["type"].as_str(), summary["claims"].as_bool()), (Some("why"), Some(true)));
    assert_eq!((first["field"].as_str(), first["value"].as_str()), (Some("codec"), Some("G729")));
    assert_eq!((first["q"].as_str(), first["also"].is_null()), (Some("codec:G729"), true));
    assert_eq!(first["marked"], first["marked_of"], "all calls that lose packets have that codec");
    assert!(first["p_value"].as_f64().unwrap() < 1e-10 && first["others_pct"].as_f64().unwrap() < 10.0);
    // The counts are those of the searches.
    let store = dir.path().join("store").display().to_string();
    assert_eq!(run(["analyze", &good, &bad, "--store", &store]).status, 0);
    let count = |options: &[&str]| {
        let calls = run(["calls", "--store", &store, "--format", "csv"].iter().chain(options));
        assert_eq!(calls.status, 0, "{}", calls.err);
        calls.out.lines().count() as u64 - 1
    };
    assert_eq!(first["marked"], count(&["--loss-above", "3", "--codec", "G729"]));
    let with_codec = count(&["--codec", "G729"]);
    assert_eq!(first["others"].as_u64().unwrap(), with_codec - first["marked"].as_u64().unwrap());
    // The database says the same of the same calls.
    let stored = run(["why", "--store", &store, "--format", "jsonl"].into_iter().chain(marks));
    assert_eq!(lines(&stored), found);
    let table = run(["why", "--store", &store].into_iter().chain(marks));
    let sentence = first["text"].as_str().unwrap();
    assert!(table.out.starts_with(sentence) && table.out.contains("codec:G729"), "{}", table.out);
    // The others are those of the same time.
    let later = run(["why", "--store", &store, "--since", "2100-01-01", "--loss-above", "3"]);
    assert!(later.out.starts_with("No call is marked") && later.err.contains("no day"), "{later:?}");
}

#[test]
fn loss_that_strikes_at_random_has_no_cause() {
    let dir = tempfile::tempdir().unwrap();
    let options = "--calls 300 --rate 5 --codec PCMA=70,opus=25,G729=5 --loss bernoulli:6%@20% --seed 3";
    let capture = generate(dir.path(), "random.pcap", options);
    let found = run(["why", &capture, "--loss-above", "3"]);
    assert_eq!(found.status, 0, "{}", found.err);
    assert!(found.out.starts_with("Nothing distinguishes the "), "{}", found.out);
    let found = lines(&run(["why", &capture, "--loss-above", "3", "--format", "jsonl"]));
    assert!(found[0]["marked"].as_u64().unwrap() > 50, "{found:?}");
    assert_eq!((found.len(), found[0]["claims"].as_bool()), (1, Some(false)));
    let csv = run(["why", &capture, "--loss-above", "3", "--format", "csv"]);
    assert_eq!(csv.out.lines().count(), 1, "{}", csv.out);
}

#[test]
fn without_a_mark_there_is_nothing_to_ask() {
    let refused = run(["why", "--since", "2026-11-21", "x.pcap"]);
    assert_eq!(refused.status, 2);
    assert!(refused.err.contains("say which calls are marked"), "{}", refused.err);
}

//! From files: like `analyze`, stopped, killed, configured wrongly.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends")]

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::daemon::{Place, calls};

const DEMO: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../demo/calls.pcap");

fn ringtap(arguments: &[&str]) -> (Option<i32>, String) {
    let output =
        Command::new(env!("CARGO_BIN_EXE_ringtap")).args(arguments).output().expect("the program starts");
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

fn files(speed: &str) -> String {
    format!("files = [\"{DEMO}\"]\nspeed = {speed}")
}

/// A capture in which nothing happens, to start again with.
fn nothing(dir: &Path) -> String {
    let whole = fs::read(DEMO).unwrap();
    // The file header and the first packet's: 24 and 16 bytes.
    let length = u32::from_le_bytes(whole[32..36].try_into().unwrap()) as usize;
    let mut one = whole[..40 + length].to_vec();
    one[40..].fill(0);
    fs::write(dir.join("nothing.pcap"), one).unwrap();
    format!("files = [\"{}/nothing.pcap\"]", dir.display())
}

#[test]
fn a_replay_gives_what_analyze_gives() {
    let dir = tempfile::tempdir().unwrap();
    let mut place = Place::new(dir.path());
    let analyzed = dir.path().join("analyzed");
    ringtap(&["analyze", DEMO, "--store", analyzed.to_str().unwrap()]);
    let path = place.configure(&files("\"max\""), "");
    // The limits of `analyze`.
    let text = fs::read_to_string(&path).unwrap().replace("linger = \"1s\"\n", "");
    fs::write(&path, text).unwrap();
    let (status, log) = place.start().end();
    assert_eq!(status, Some(0), "{log}");
    assert!(log.contains("stopped: 12 calls"), "{log}");
    assert_eq!(place.calls(), calls(&analyzed));
    assert_eq!(place.calls().len(), 12);
}

/// What is kept of a call is all of it: its record and its streams' are those that the whole capture gives.
#[test]
fn a_call_comes_back_out_of_the_spool() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let mut place = Place::new(dir.path());
    let path = place.configure(&files("\"max\""), "");
    let text = fs::read_to_string(&path).unwrap().replace("linger = \"1s\"\n", "");
    fs::write(&path, format!("{text}[spool]\ndirectory = \"{}\"\nsegment = \"5s\"\n", at("spool"))).unwrap();
    let (status, log) = place.start().end();
    assert_eq!(status, Some(0), "{log}");
    assert!(log.contains("0 lost"), "{log}");
    let whole = place.calls();
    assert_eq!(whole.len(), 12);
    let figures = |call: &(serde_json::Value, Vec<serde_json::Value>)| {
        let stream = |stream: &serde_json::Value| {
            ["id", "packets", "unique", "lost", "jitter_ms_mean", "mos", "codec"]
                .map(|name| stream[name].clone())
        };
        (call.0["id"].clone(), call.0["messages"].clone(), call.1.iter().map(stream).collect::<Vec<_>>())
    };
    let (records, spool, pcap) = (at("records"), at("spool"), at("call.pcap"));
    for (call_id, call) in &whole {
        // Its record says that nothing of it is missing.
        let counted = |record: &serde_json::Value, name: &str| record[name].as_u64().unwrap();
        let packets: u64 = call.1.iter().map(|stream| counted(stream, "packets")).sum();
        assert_eq!((call.0["recorded"].as_str(), counted(&call.0, "recorded_missing")), (Some("full"), 0));
        assert!(counted(&call.0, "recorded_packets") >= counted(&call.0, "messages") + packets, "{}", call.0);
        let (status, told) =
            ringtap(&["export", call_id, "--store", &records, "--spool", &spool, "--pcap", &pcap]);
        assert_eq!(status, Some(0), "{told}");
        let again = at("again");
        ringtap(&["analyze", &pcap, "--store", &again]);
        let found = calls(Path::new(&again));
        assert_eq!(found.len(), 1);
        assert_eq!(figures(&found[call_id]), figures(call), "{call_id}");
        fs::remove_dir_all(again).unwrap();
    }
    // A segment that is gone is told.
    let day = fs::read_dir(&spool).unwrap().next().unwrap().unwrap().path();
    let mut segments: Vec<_> = fs::read_dir(day).unwrap().map(|file| file.unwrap().path()).collect();
    segments.sort();
    assert!(segments.len() >= 6, "{segments:?}");
    segments[2..4].iter().for_each(|file| fs::remove_file(file).unwrap());
    let outcomes: Vec<(Option<i32>, String)> = whole
        .keys()
        .map(|call_id| ringtap(&["export", call_id, "--store", &records, "--spool", &spool, "--pcap", &pcap]))
        .collect();
    assert!(
        outcomes.iter().any(|(status, told)| *status == Some(3) && told.contains(" of ")),
        "{outcomes:?}"
    );
    assert!(outcomes.iter().any(|(status, _)| *status == Some(0)));
}

#[test]
fn a_stop_writes_everything_and_a_reload_says_what_it_did() {
    let dir = tempfile::tempdir().unwrap();
    let mut place = Place::new(dir.path());
    let path = place.configure(&files("2"), "");
    let mut daemon = place.start();
    daemon.says("status: calls=");
    daemon.counts("ringtap_journal_calls", |calls| calls > 0);
    assert!(daemon.page("/health").unwrap().starts_with("HTTP/1.1 200 OK"));
    assert!(daemon.page("/other").unwrap().starts_with("HTTP/1.1 404 "));

    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace("[store]", "[store]\nquue = 5")).unwrap();
    daemon.signal("HUP");
    daemon.says("nothing changes: ");
    daemon.says("[store] quue: there is no such key; did you mean `queue`?");
    fs::write(
        &path,
        text.replace("level = \"debug\"", "level = \"warn\"").replace("[store]", "[store]\nqueue = 64"),
    )
    .unwrap();
    daemon.signal("HUP");
    daemon.says("SIGHUP: in effect: [log] level; needs a restart: [store] queue");

    // The first of them fails at once.
    daemon.counts("ringtap_calls", |calls| calls >= 3);
    daemon.signal("TERM");
    let (status, log) = daemon.end();
    assert_eq!(status, Some(0), "{log}");
    let states: Vec<_> =
        place.calls().values().map(|(call, _)| call["state"].as_str().unwrap().to_owned()).collect();
    assert!(
        states.iter().any(|state| ["active", "ringing", "trying"].contains(&state.as_str())),
        "{states:?}"
    );
    assert_eq!(fs::metadata(dir.path().join("journal")).unwrap().len(), 8, "the journal is empty");
}

#[test]
fn after_a_kill_every_call_is_there_once() {
    let dir = tempfile::tempdir().unwrap();
    let mut place = Place::new(dir.path());
    place.configure(&files("4"), "");
    let mut daemon = place.start();
    let written = daemon.counts("ringtap_store_written_total", |records| records >= 3);
    daemon.counts("ringtap_journal_calls", |calls| calls > 0);
    daemon.signal("KILL");
    let (status, _) = daemon.end();
    assert_eq!(status, None);

    place.configure(&nothing(dir.path()), "");
    let (status, log) = place.start().end();
    assert_eq!(status, Some(0), "{log}");
    assert!(log.contains("the run before did not end cleanly: "), "{log}");
    let calls = place.calls();
    let records = calls.values().map(|(_, streams)| 1 + streams.len() as u64).sum::<u64>();
    assert!(records >= written, "{records} of {written}");
    let cut_off: Vec<_> = calls.values().filter(|(call, _)| call["state"] == "interrupted").collect();
    assert!(!cut_off.is_empty(), "{calls:?}");
    for (call, _) in cut_off {
        assert!(
            call["end_us"].as_u64() >= call["invite_us"].as_u64() && call["invite_us"].is_u64(),
            "{call}"
        );
    }
    let (_, log) = place.start().end();
    assert!(!log.contains("did not end cleanly"), "{log}");
}

#[test]
fn a_wrong_configuration_starts_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("ringtap.toml");
    fs::write(&path, "[capture]\ninterfaces = [\"eth0\"]\nring = 64 MiB\n").unwrap();
    let path = path.to_str().unwrap();
    for arguments in [&["run", "-c", path][..], &["run", "--check", "-c", path]] {
        let (status, said) = ringtap(arguments);
        assert_eq!(status, Some(2));
        assert!(said.starts_with(&format!("ringtap: {path}:3: ")), "{said}");
    }
    let (status, said) = ringtap(&["run", "-c", "/nowhere.toml"]);
    assert!(status == Some(2) && said.contains("ringtap run --print-default"), "{said}");
}

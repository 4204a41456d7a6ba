//! From files: like `analyze`, stopped, killed, configured wrongly.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::daemon::{Place, calls};

const DEMO: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../demo/calls.pcap");

pub(crate) fn ringtap(arguments: &[&str]) -> (Option<i32>, String) {
    let output =
        Command::new(env!("CARGO_BIN_EXE_ringtap")).args(arguments).output().expect("the program starts");
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

pub(crate) fn files(speed: &str) -> String {
    format!("files = [\"{DEMO}\"]\nspeed = {speed}")
}

/// A capture in which nothing happens, to start again with.
pub(crate) fn nothing(dir: &Path) -> String {
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
    let figures = |call: &(Value, Vec<Value>)| {
        let stream = |stream: &Value| {
            ["id", "packets", "unique", "lost", "jitter_ms_mean", "mos", "codec"]
                .map(|name| stream[name].clone())
        };
        (call.0["id"].clone(), call.0["messages"].clone(), call.1.iter().map(stream).collect::<Vec<_>>())
    };
    let (records, spool, pcap) = (at("records"), at("spool"), at("call.pcap"));
    for (call_id, call) in &whole {
        // Its record says that nothing of it is missing.
        let counted = |record: &Value, name: &str| record[name].as_u64().unwrap();
        let packets: u64 = call.1.iter().map(|stream| counted(stream, "packets")).sum();
        assert_eq!((call.0["recorded"].as_str(), counted(&call.0, "recorded_missing")), (Some("full"), 0));
        assert!(counted(&call.0, "recorded_packets") >= counted(&call.0, "messages") + packets, "{}", call.0);
        let (status, told) =
            ringtap(&["export", call_id, "--store", &records, "--spool", &spool, "--pcap", &pcap, "--force"]);
        assert_eq!(status, Some(0), "{told}");
        let again = at("again");
        ringtap(&["analyze", &pcap, "--store", &again]);
        let found = calls(Path::new(&again));
        assert_eq!(found.len(), 1);
        assert_eq!(figures(&found[call_id]), figures(call), "{call_id}");
        fs::remove_dir_all(again).unwrap();
    }
    every_kind_of_file(dir.path(), &whole);
    opus_for_keeping(dir.path(), &whole);
    other_programs_agree(dir.path(), &whole);
    nobody_is_named(dir.path(), &whole);
    a_search_goes_on(dir.path(), &whole);
}

type Calls = BTreeMap<String, (Value, Vec<Value>)>;

/// One that was answered, with sound in G.711.
fn answered(whole: &Calls) -> &str {
    let is = |call: &(Value, Vec<Value>)| {
        call.1.len() == 2 && call.1.iter().all(|stream| stream["codec"] == "PCMU")
    };
    whole.iter().find(|(_, call)| is(call)).map(|(call_id, _)| call_id.as_str()).unwrap()
}

fn export(dir: &Path, arguments: &[&str]) -> (Option<i32>, String) {
    let [records, spool] = ["records", "spool"].map(|name| dir.join(name).to_str().unwrap().to_owned());
    ringtap(&[&["export", "--store", &records, "--spool", &spool], arguments].concat())
}

fn json(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

fn every_kind_of_file(dir: &Path, whole: &Calls) {
    let call_id = answered(whole);
    let (call, streams) = &whole[call_id];
    let at = |name: &str| dir.join(name).to_str().unwrap().to_owned();
    let (json_file, svg, text, peaks) = (at("call.json"), at("call.svg"), at("call.txt"), at("peaks.json"));
    let (wav, flac) = (at("call.wav"), at("call.flac"));
    let (status, told) = export(
        dir,
        &[
            call_id, "--json", &json_file, "--svg", &svg, "--text", &text, "--wav", &wav, "--flac", &flac,
            "--peaks", &peaks, "--rate", "16000", "--mix", "mono",
        ],
    );
    assert_eq!(status, Some(0), "{told}");
    let value = json(Path::new(&json_file));
    assert_eq!((&value["call"], value["streams"].as_array()), (call, Some(streams)));
    let messages = value["messages"].as_array().unwrap();
    assert_eq!(messages.len() as u64, call["messages"].as_u64().unwrap());
    assert_eq!(messages[0]["time_us"], call["invite_us"]);
    assert!(messages[0]["text"].as_str().unwrap().starts_with("INVITE sip:"));
    assert_eq!(value["kept"]["complete"], true);
    let drawing = fs::read_to_string(&svg).unwrap();
    assert!(drawing.starts_with("<svg ") && drawing.contains("INVITE (SDP)") && drawing.contains("RTP PCMU"));
    let page = fs::read_to_string(&text).unwrap();
    assert!(page.contains("═ RTP PCMU") && page.contains("ends: "), "{page}");
    assert_eq!(json(Path::new(&peaks))["channels"], 1);
    // What `extract` makes of the same packets is the same, sample for sample.
    let (pcap, again) = (at("call.pcap"), at("again.wav"));
    assert_eq!(export(dir, &[call_id, "--pcap", &pcap, "--force"]).0, Some(0));
    ringtap(&["extract", &pcap, "--call", call_id, "--wav", &again, "--rate", "16000", "--mix", "mono"]);
    assert_eq!(fs::read(&wav).unwrap(), fs::read(&again).unwrap());
    // What is there is not written over.
    let (status, told) = export(dir, &[call_id, "--json", &json_file]);
    assert!(status == Some(2) && told.contains("--force"), "{status:?} {told}");
}

/// One call, and all that a search finds; or what to install.
fn opus_for_keeping(dir: &Path, whole: &Calls) {
    let call_id = answered(whole);
    let at = |name: &str| dir.join(name).to_str().unwrap().to_owned();
    let (opus, wav, out) = (at("kept.opus"), at("kept.wav"), at("kept"));
    let (status, told) = export(dir, &[call_id, "--opus", &opus, "--wav", &wav]);
    if status == Some(1) && told.contains("libopus0") {
        return ringtap_testing::skip("libopus", told);
    }
    assert!(status == Some(0) && told.contains("kept.opus: ") && told.contains("left the caller"), "{told}");
    // The last page says how many samples there are at 48 kHz, those to be skipped included.
    let file = fs::read(&opus).unwrap();
    let page = file.windows(5).rposition(|bytes| bytes == b"OggS\0").unwrap();
    let granule = u64::from_le_bytes(file[page + 6..page + 14].try_into().unwrap());
    let frames = (fs::metadata(&wav).unwrap().len() - 44) / 4;
    assert_eq!((file[page + 5], granule), (4, 312 + 6 * frames));
    let (status, told) = export(dir, &["--out", &out, "--opus"]);
    assert_eq!(status, Some(0), "{told}");
    let written: Vec<_> = days(Path::new(&out)).iter().flat_map(|day| within(day)).collect();
    let with_media = whole.values().filter(|(_, streams)| !streams.is_empty()).count();
    assert_eq!(written.len(), with_media);
    assert!(written.iter().all(|path| fs::read(path).unwrap().starts_with(b"OggS")));
    fs::remove_dir_all(out).unwrap();
}

/// What tshark prints; None, and the test is skipped, where it is not installed.
#[track_caller]
pub(crate) fn tshark(arguments: &[&str]) -> Option<String> {
    if !ringtap_testing::program("tshark") {
        return None;
    }
    let output = Command::new("tshark").args(arguments).output().expect("tshark runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn within(dir: &Path) -> Vec<PathBuf> {
    fs::read_dir(dir).unwrap().map(|file| file.unwrap().path()).collect()
}

/// The days of a spool; what is held, or moved, lies beside them.
fn days(spool: &Path) -> Vec<PathBuf> {
    let is_day = |path: &PathBuf| {
        path.is_dir() && path.file_name().is_some_and(|name| name.as_encoded_bytes()[0].is_ascii_digit())
    };
    within(spool).into_iter().filter(is_day).collect()
}

/// Wireshark opens segments and exports, and counts in them what the records count.
fn other_programs_agree(dir: &Path, whole: &Calls) {
    let segments = days(&dir.join("spool")).into_iter().flat_map(|day| within(&day));
    let segments = segments.filter(|path| path.extension().is_some_and(|e| e == "pcap"));
    let segment = segments.max_by_key(|path| path.metadata().unwrap().len());
    let segment = segment.unwrap().to_str().unwrap().to_owned();
    let Some(frames) =
        tshark(&["-r", &segment, "-Y", "rtp || rtcp || sip || udp", "-T", "fields", "-e", "frame.number"])
    else {
        return;
    };
    assert!(frames.lines().count() > 100, "{segment}");
    let mut compared = 0;
    for (call_id, (_, streams)) in whole {
        let pcap = dir.join("oracle.pcap").to_str().unwrap().to_owned();
        assert_eq!(export(dir, &[call_id, "--pcap", &pcap, "--force"]).0, Some(0));
        let figures = tshark(&["-r", &pcap, "-q", "-z", "rtp,streams"]).unwrap();
        for stream in streams {
            let ssrc = format!("0x{:08X}", stream["ssrc"].as_u64().unwrap());
            let lines: Vec<&str> = figures.lines().filter(|line| line.contains(&ssrc)).collect();
            // Where a re-INVITE sets the stream up anew, it begins a new one.
            let [line] = lines[..] else {
                assert!(lines.len() > 1, "{ssrc} in {figures}");
                continue;
            };
            let words: Vec<&str> = line.split_whitespace().collect();
            // From the end: the problems' mark, three of jitter, three of delta, the share that was lost, how
            // many, packets.
            let words = words.strip_suffix(&["X"]).unwrap_or(&words);
            let number = |back: usize| words[words.len() - back].parse::<f64>().unwrap();
            assert_eq!(number(9), stream["packets"].as_f64().unwrap(), "{line}");
            assert_eq!(number(8), stream["lost"].as_f64().unwrap(), "{line}");
            let near = |ours: &str, theirs: f64, by: f64| {
                let ours = stream[ours].as_f64().unwrap();
                assert!((ours - theirs).abs() <= by, "{ours} and {line}");
            };
            near("delta_ms_max", number(4), 0.001);
            // Its jitter takes time stamps of telephone events at their word.
            if !line.contains("telephone-event") {
                near("jitter_ms_max", number(1), 0.01);
                near("jitter_ms_mean", number(2), 0.01);
            }
            compared += 1;
        }
    }
    assert!(compared >= 14, "{compared}");
}

fn nobody_is_named(dir: &Path, whole: &Calls) {
    let call_id = answered(whole);
    let (call, streams) = &whole[call_id];
    let at = |name: &str| dir.join(name).to_str().unwrap().to_owned();
    let (pcap, json_file, key) = (at("nobody.pcap"), at("nobody.json"), at("key"));
    fs::write(&key, [7; 32]).unwrap();
    let arguments = [call_id, "--anonymise", "--anonymise-key", &key, "--pcap", &pcap, "--json", &json_file];
    let (status, told) = export(dir, &arguments);
    assert_eq!(status, Some(0), "{told}");
    let written = [fs::read(&pcap).unwrap(), fs::read(&json_file).unwrap(), told.into_bytes()].concat();
    let written = String::from_utf8_lossy(&written).to_lowercase();
    for name in ["from_user", "to_user", "from_host", "to_host", "call_id", "id"] {
        let name = call[name].as_str().unwrap().to_lowercase();
        assert!(!written.contains(&name), "{name}");
    }
    let value = json(Path::new(&json_file));
    for name in ["state", "final_code", "invite_us", "answer_us", "end_us", "messages", "released_by", "mos"]
    {
        assert_eq!(value["call"][name], call[name], "{name}");
    }
    let by_ssrc = |streams: &[Value]| {
        let figures = ["ssrc", "packets", "lost", "jitter_ms_mean", "codec", "mos", "direction"];
        let mut streams: Vec<_> =
            streams.iter().map(|stream| figures.map(|name| stream[name].to_string())).collect();
        streams.sort();
        streams
    };
    assert_eq!(by_ssrc(value["streams"].as_array().unwrap()), by_ssrc(streams));
    // With the key the names are the same again; a voice is not written by mistake.
    let again = at("again.pcap");
    export(dir, &[call_id, "--anonymise", "--anonymise-key", &key, "--pcap", &again]);
    assert_eq!(fs::read(&again).unwrap(), fs::read(&pcap).unwrap());
    let (status, told) = export(dir, &[call_id, "--anonymise", "--wav", &at("no.wav")]);
    assert!(status == Some(2) && told.contains("--keep-voice"), "{told}");
}

/// Every call of a search is tried, whatever became of the one before.
fn a_search_goes_on(dir: &Path, whole: &Calls) {
    let out = dir.join("out");
    let place = out.to_str().unwrap();
    let index = || -> Vec<Value> {
        let lines = fs::read_to_string(out.join("index.jsonl")).unwrap();
        lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    let (status, told) = export(dir, &["--out", place, "--pcap", "--svg"]);
    assert_eq!(status, Some(0), "{told}");
    let lines = index();
    assert_eq!(lines.len(), whole.len());
    let mut names = std::collections::BTreeSet::new();
    for line in &lines {
        assert_eq!((&line["complete"], &line["error"]), (&Value::Bool(true), &Value::Null), "{line}");
        for file in line["files"].as_array().unwrap() {
            let file = file.as_str().unwrap();
            assert!(out.join(file).is_file() && file.contains(line["id"].as_str().unwrap()), "{file}");
            assert!(names.insert(file.to_owned()), "{file} twice");
        }
    }
    assert_eq!(names.len(), 2 * whole.len());
    let (status, told) = export(dir, &["--out", place, "--pcap"]);
    assert!(status == Some(2) && told.contains("--force"), "{told}");
    let (status, _) = export(dir, &["--out", place, "--pcap", "--force", "--state", "failed"]);
    assert_eq!((status, index().len()), (Some(0), 2));
    // Segments that are gone are told, and the other calls are written all the same.
    let mut segments: Vec<_> = days(&dir.join("spool")).iter().flat_map(|day| within(day)).collect();
    segments.sort();
    assert!(segments.len() >= 6, "{segments:?}");
    segments[2..4].iter().for_each(|file| fs::remove_file(file).unwrap());
    let (status, told) = export(dir, &["--out", place, "--pcap", "--force"]);
    assert_eq!(status, Some(3), "{told}");
    let lines = index();
    assert_eq!(lines.len(), whole.len());
    let complete = lines.iter().filter(|line| line["complete"] == true).count();
    assert!(complete > 0 && complete < whole.len(), "{complete}");
    let lacking = lines.iter().find(|line| line["complete"] == false).unwrap();
    assert!(
        lacking["remarks"].to_string().contains(" of ") || lacking["kept"]["damaged_chunks"] != 0,
        "{lacking}"
    );
    assert_eq!(export(dir, &[answered(whole), "--limit", "1", "--json", "x"]).0, Some(2));
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
    daemon.says("[store] quue: no such key; did you mean `queue`?");
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
    assert!(log.contains("the previous run did not end cleanly: "), "{log}");
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

/// Two daemons on one spool, store, outbox or journal would each write over what the other has.
#[test]
fn a_second_daemon_on_the_same_files_does_not_start() {
    let dir = tempfile::tempdir().unwrap();
    let mut place = Place::new(dir.path());
    place.configure(&files("2"), "");
    let mut first = place.start();
    first.says("/metrics and /health");
    let elsewhere = tempfile::tempdir().unwrap();
    let mut second = Place::new(elsewhere.path());
    let path = second.configure(&files("\"max\""), "");
    let own = fs::read_to_string(&path).unwrap();
    for (name, key) in
        [("records", "[store] directory"), ("outbox", "[store] outbox"), ("journal", "[journal] path")]
    {
        let shared = |dir: &Path| format!("\"{}/{name}\"", dir.display());
        fs::write(&path, own.replace(&shared(elsewhere.path()), &shared(dir.path()))).unwrap();
        let (status, log) = second.start().end();
        let told = format!("{key}: another ringtap, process {}, writes to", first.id());
        assert!(status == Some(1) && log.contains(&told), "{name}: {log}");
    }
    // Of the first nothing is lost, and what a kill leaves locks nobody out.
    first.signal("KILL");
    assert_eq!(first.end().0, None);
    fs::write(&path, own.replace(&elsewhere.path().display().to_string(), &dir.path().display().to_string()))
        .unwrap();
    let (status, log) = second.start().end();
    assert_eq!(status, Some(0), "{log}");
    assert_eq!(place.calls().len(), 12);
}

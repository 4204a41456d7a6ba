//! What rules keep of a capture is on the disk, and nothing else is.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use ringtap_model::{Endpoint, Nanos};
use ringtap_spool::{Reader, of_call, of_stream, scan};
use serde_json::Value;

use crate::daemon::{Daemon, Place};

const DEMO: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../demo/calls.pcap");

/// Calls of it, by what is told apart here.
const TO_BUSY: &str = "34b3d0356221e30b00000000@192.0.2.1";
const LISTED: &str = "9e05e6ff2872490d00000002@192.0.2.107";
const OPUS: &str = "a0362e94c90c09e900000003@192.0.2.160";
const TRUNK: &str = "cc00db21a8ccd0d200000008@192.0.2.171";
const BAD: &str = "96627f0a73a2461b00000009@192.0.2.224";
const DIGIT: &str = "b4f9cb8add267e880000000a@192.0.2.23";
const PCMU: &str = "0d6d8cadbfcfc2aa0000000b@192.0.2.76";

/// A daemon's folder with these rules.
fn place(dir: &Path, speed: &str, rules: &str) -> (Place, PathBuf) {
    let place = Place::new(dir);
    let path = place.configure(&format!("files = [\"{DEMO}\"]\nspeed = {speed}"), "");
    let text = fs::read_to_string(&path).unwrap();
    let (dir, spool) = (dir.display(), dir.join("spool"));
    let text = format!(
        "{text}[process]\ncontrol = \"{dir}/control\"\n\
         [spool]\ndirectory = \"{}\"\nsegment = \"5s\"\n{rules}",
        spool.display()
    );
    fs::write(&path, text).unwrap();
    (place, path)
}

/// Runs it to its end: the records by Call-ID.
fn run(dir: &Path, rules: &str) -> BTreeMap<String, (Value, Vec<Value>)> {
    let (mut place, _) = place(dir, "\"max\"", rules);
    let (status, log) = place.start().end();
    assert_eq!(status, Some(0), "{log}");
    place.calls()
}

/// All that is on the disk.
pub(crate) fn spooled(dir: &Path) -> Vec<u8> {
    let mut bytes = Vec::new();
    for day in fs::read_dir(dir.join("spool")).unwrap().flatten() {
        for file in fs::read_dir(day.path()).into_iter().flatten().flatten() {
            bytes.extend(fs::read(file.path()).unwrap());
        }
    }
    bytes
}

/// Whether anything of a call can be read there: its Call-ID stands in each of its messages.
pub(crate) fn holds(bytes: &[u8], call_id: &str) -> bool {
    bytes.windows(call_id.len()).any(|part| part == call_id.as_bytes())
}

/// Captured and sent length of each packet of a stream.
pub(crate) fn packets(dir: &Path, stream: &Value) -> Vec<(usize, u32)> {
    let end = |name: &str| stream[name].as_str().unwrap().parse::<Endpoint>().unwrap();
    let key = of_stream(end("src"), end("dst"), u32::try_from(stream["ssrc"].as_u64().unwrap()).unwrap());
    of(dir, key)
}

pub(crate) fn of(dir: &Path, key: u64) -> Vec<(usize, u32)> {
    let mut reader = Reader::open(&dir.join("spool")).unwrap();
    let segments = reader.between(Nanos::ZERO, Nanos::MAX).unwrap();
    let found = reader.read(&[key], &segments).unwrap();
    found.packets().map(|packet| (packet.data.len(), packet.wire_len)).collect()
}

pub(crate) fn ringtap(arguments: &[&str]) -> (Option<i32>, String, String) {
    let output =
        Command::new(env!("CARGO_BIN_EXE_ringtap")).args(arguments).output().expect("the program starts");
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

#[test]
fn the_first_rule_that_matches_says_what_is_kept() {
    let dir = tempfile::tempdir().unwrap();
    let list = dir.path().join("never");
    fs::write(&list, "+1 808 *  # an island\n").unwrap();
    let rules = format!(
        "[[keep]]\nnumber = [\"@{}\"]\nkeep = \"nothing\"\n[[keep]]\ncodec = [\"OPUS\"]\nkeep = \"headers\"\n\
         [[keep]]\nname = \"bad\"\nmos_below = 3.0\nkeep = \"full\"\n\
         [[keep]]\ntrunk = [\"198.51.100.39\"]\nkeep = \"signalling\"\n",
        list.display()
    );
    let calls = run(dir.path(), &rules);
    let recorded: BTreeMap<&str, &str> =
        calls.iter().map(|(id, (call, _))| (id.as_str(), call["recorded"].as_str().unwrap())).collect();
    let expected = |id: &str| match id {
        OPUS => "headers",
        BAD => "full",
        TRUNK => "signalling",
        _ => "none",
    };
    for (id, recorded) in &recorded {
        assert_eq!(*recorded, expected(id), "{id}");
    }
    // What is kept is all there.
    for id in [OPUS, BAD, TRUNK] {
        assert_eq!(calls[id].0["recorded_missing"], 0, "{id}");
        assert_eq!(
            of(dir.path(), of_call(id.as_bytes())).len() as u64,
            calls[id].0["messages"].as_u64().unwrap()
        );
    }
    for stream in &calls[BAD].1 {
        let packets = packets(dir.path(), stream);
        assert_eq!(packets.len() as u64, stream["packets"].as_u64().unwrap());
        assert!(packets.iter().all(|(captured, sent)| *captured == *sent as usize));
    }
    for stream in &calls[OPUS].1 {
        let packets = packets(dir.path(), stream);
        assert_eq!(packets.len() as u64, stream["packets"].as_u64().unwrap());
        // Ethernet, IPv4, UDP and RTP, and not a byte of what is said.
        assert!(packets.iter().all(|(captured, sent)| *captured == 54 && *sent > 54));
    }
    // What is not is nowhere: neither what was never written nor what was erased.
    let bytes = spooled(dir.path());
    for (id, (_, streams)) in &calls {
        assert_eq!(holds(&bytes, id), expected(id) != "none", "{id}");
        let kept = streams.iter().map(|stream| packets(dir.path(), stream).len()).sum::<usize>();
        assert_eq!(kept > 0, matches!(expected(id), "headers" | "full"), "{id}: {kept} packets");
    }
    // And the operator's way to it.
    let at = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let (records, spool, pcap) = (at("records"), at("spool"), at("call.pcap"));
    let export = |id: &str| ringtap(&["export", id, "--store", &records, "--spool", &spool, "--pcap", &pcap]);
    let (status, _, told) = export(BAD);
    assert_eq!(status, Some(0), "{told}");
    let (status, _, told) = export(LISTED);
    assert!(status == Some(1) && told.contains("no packet of the call is in"), "{told}");
}

/// A rule that matches at the answer has the call from its INVITE; what it does not match was never written.
#[test]
fn what_waits_is_not_on_the_disk() {
    let dir = tempfile::tempdir().unwrap();
    let calls = run(dir.path(), "[[keep]]\nanswered = true\ncodec = [\"PCMU\"]\nkeep = \"full\"\n");
    let log = fs::read_to_string(dir.path().join("log-1")).unwrap();
    assert!(log.contains(&format!("rules: call {PCMU}: full, by rule 1")), "{log}");
    assert!(log.contains(&format!("rules: call {TO_BUSY}: nothing, by no rule")), "{log}");
    let bytes = spooled(dir.path());
    for (id, (call, streams)) in &calls {
        let wanted = [PCMU, TRUNK, BAD].contains(&id.as_str());
        assert_eq!(call["recorded"], if wanted { "full" } else { "none" }, "{id}");
        assert_eq!(holds(&bytes, id), wanted, "{id}");
        if wanted {
            assert_eq!(call["recorded_missing"], 0, "{id}");
            let messages = of(dir.path(), of_call(id.as_bytes())).len() as u64;
            assert_eq!(Some(messages), call["messages"].as_u64());
            for stream in streams {
                assert_eq!(Some(packets(dir.path(), stream).len() as u64), stream["packets"].as_u64());
            }
        }
    }
    assert!(!dir.path().join("spool/deletions.jsonl").exists(), "nothing had to be erased");
}

#[test]
fn digits_are_masked() {
    let rules =
        |mask| format!("[[keep]]\ncaller = [\"+441632960867\"]\nkeep = \"full\"\nmask_dtmf = {mask}\n");
    for (mask, digit) in [(false, "0"), (true, "x")] {
        let dir = tempfile::tempdir().unwrap();
        let calls = run(dir.path(), &rules(mask));
        let (call, streams) = &calls[DIGIT];
        assert_eq!(call["dtmf"][0]["digit"], digit);
        let cut = |(captured, sent): &(usize, u32)| *captured < *sent as usize;
        let all: Vec<_> = streams.iter().flat_map(|stream| packets(dir.path(), stream)).collect();
        let masked: Vec<_> = all.iter().filter(|packet| cut(packet)).collect();
        assert_eq!(masked.is_empty(), !mask);
        // Four bytes of payload were behind the RTP header, RFC 4733 section 2.3.
        assert!(masked.iter().all(|(captured, sent)| (*captured, *sent) == (54, 58)), "{masked:?}");
        assert_eq!(call["recorded_missing"], 0);
        // What comes out of the spool has no digits either.
        let at = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
        let (records, spool, pcap) = (at("records"), at("spool"), at("call.pcap"));
        let (status, _, told) =
            ringtap(&["export", DIGIT, "--store", &records, "--spool", &spool, "--pcap", &pcap]);
        assert_eq!(status, Some(0), "{told}");
        let (_, lines, _) = ringtap(&["analyze", "--format", "jsonl", &pcap]);
        let record: Value = serde_json::from_str(lines.lines().next().unwrap()).unwrap();
        assert_eq!(record["dtmf"].as_array().unwrap().len(), usize::from(!mask), "{record}");
    }
}

/// Waits until the log says that a call was decided: it is under way then.
fn begun(daemon: &mut Daemon, call_id: &str) {
    daemon.says(&format!("rules: call {call_id}: "));
}

#[test]
fn calls_under_way_are_commanded_and_rules_replaced() {
    let dir = tempfile::tempdir().unwrap();
    let (mut place, path) = place(dir.path(), "2", "[[keep]]\nname = \"none\"\nkeep = \"nothing\"\n");
    let control = dir.path().join("control").to_str().unwrap().to_owned();
    let mut daemon = place.start();
    begun(&mut daemon, LISTED);
    let (status, _, told) = ringtap(&["keep", LISTED, "--what", "full", "--control", &control]);
    assert_eq!((status, told.as_str()), (Some(0), "ringtap: full from now on (was nothing)\n"));
    let (status, _, told) = ringtap(&["keep", "nobody@nowhere", "--control", &control]);
    assert_eq!(
        (status, told.as_str()),
        (Some(1), "ringtap: no call in progress has the Call-ID `nobody@nowhere`\n")
    );
    // Later calls by other rules.
    let text = fs::read_to_string(&path).unwrap();
    fs::write(
        &path,
        text.replace("keep = \"nothing\"", "keep = \"full\"").replace("\"none\"", "\"all of it\""),
    )
    .unwrap();
    daemon.signal("HUP");
    daemon.says("SIGHUP: in effect: [[keep]]");
    begun(&mut daemon, DIGIT);
    // Its digit comes 4 s after its beginning: by then it is paused.
    let (status, _, told) = ringtap(&["pause", DIGIT, "--control", &control]);
    assert_eq!((status, told.as_str()), (Some(0), "ringtap: paused\n"));
    let (_, _, told) = ringtap(&["pause", DIGIT, "--control", &control]);
    assert_eq!(told, "ringtap: was paused already\n");
    let (status, out, _) = ringtap(&["rules", "--control", &control]);
    assert_eq!(status, Some(0));
    assert!(out.starts_with("KEEPS          CALLS  RULE\nfull ") && out.contains("  all of it\n"), "{out}");
    assert!(daemon.metric("ringtap_calls_kept_total") >= 5);
    std::thread::sleep(std::time::Duration::from_millis(1500));
    let (_, _, told) = ringtap(&["resume", DIGIT, "--control", &control]);
    assert_eq!(told, "ringtap: resumed\n");
    let (status, log) = daemon.end();
    assert_eq!(status, Some(0), "{log}");
    let calls = place.calls();
    let (call, streams) = &calls[LISTED];
    assert_eq!((&call["recorded"], &call["recorded_missing"]), (&"full".into(), &0.into()));
    // What passed before is not there, the INVITE at least.
    let messages = of(dir.path(), of_call(LISTED.as_bytes())).len() as u64;
    assert!(messages > 0 && messages < call["messages"].as_u64().unwrap(), "{messages}");
    let media = streams.iter().map(|stream| packets(dir.path(), stream).len()).sum::<usize>();
    assert!(media > 0);
    let (call, streams) = &calls[DIGIT];
    assert_eq!(call["recorded_missing"], 0);
    let all: Vec<_> = streams.iter().flat_map(|stream| packets(dir.path(), stream)).collect();
    let paused = all.iter().filter(|(captured, sent)| *captured < *sent as usize).count();
    assert!(paused > 0 && paused < all.len(), "{paused} of {}", all.len());
    assert_eq!(calls[PCMU].0["recorded"], "full");
    let (status, _, told) = ringtap(&["rules", "--control", &control]);
    assert!(status == Some(1) && told.contains("is it running, does [process] control"), "{told}");
}

/// Every frame of the capture, of calls or not, once.
#[test]
fn everything() {
    let dir = tempfile::tempdir().unwrap();
    run(dir.path(), "keep = \"everything\"\n");
    let whole = fs::read(DEMO).unwrap();
    let (mut at, mut frames) = (24, 0);
    while at < whole.len() {
        at += 16 + u32::from_le_bytes(whole[at + 8..at + 12].try_into().unwrap()) as usize;
        frames += 1;
    }
    let mut kept = 0;
    for day in fs::read_dir(dir.path().join("spool")).unwrap().flatten() {
        for file in fs::read_dir(day.path()).into_iter().flatten().flatten() {
            if file.path().extension().is_some_and(|end| end == "pcap") {
                let scanned = scan(&fs::read(file.path()).unwrap());
                kept += scanned.rows.iter().map(|row| row.chunk.packets).sum::<u32>();
            }
        }
    }
    assert_eq!(kept, frames);
}

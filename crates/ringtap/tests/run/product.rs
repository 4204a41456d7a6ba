//! Interception product: a copy of its own, which nothing else shows.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends")]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use ringtap_model::Nanos;
use ringtap_spool::{Category, ProductLog, Reader, of_call};
use serde_json::Value;

use crate::daemon::{Daemon, Place};
use crate::replayed::{files, nothing};

/// Calls of the demo.
const TARGET: &str = "0d6d8cadbfcfc2aa0000000b@192.0.2.76";
const OPUS: &str = "a0362e94c90c09e900000003@192.0.2.160";
const DIGIT: &str = "b4f9cb8add267e880000000a@192.0.2.23";

type Calls = BTreeMap<String, (Value, Vec<Value>)>;

/// A daemon's folder with these lines behind `[spool]`.
fn place(dir: &Path, capture: &str, rules: &str) -> Place {
    let place = Place::new(dir);
    configure(&place, capture, rules);
    place
}

fn configure(place: &Place, capture: &str, rules: &str) {
    let path = place.configure(capture, "");
    let text = fs::read_to_string(&path).unwrap().replace("linger = \"1s\"\n", "");
    let dir = place.dir.display();
    let own = format!(
        "[process]\ncontrol = \"{dir}/control\"\n[spool]\ndirectory = \"{dir}/spool\"\nsegment = \"5s\"\n"
    );
    fs::write(&path, format!("{text}{own}{rules}")).unwrap();
    place.ignore_free_space();
}

/// Runs it to its end: the records, and the log.
fn run(dir: &Path, workers: usize, rules: &str) -> (Calls, String) {
    // Several keep up with each other at a speed alone.
    let speed = if workers == 1 { "\"max\"" } else { "8.0" };
    let mut place = place(dir, &format!("{}\nworkers = {workers}", files(speed)), rules);
    let (status, log) = place.start().end();
    assert_eq!(status, Some(0), "{log}");
    (place.calls(), log)
}

fn ringtap(arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_ringtap"))
        .args(arguments)
        .output()
        .expect("the program starts");
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

/// Every packet on the disk of these categories, as bytes in order of time, by call and stream alike.
fn kept(dir: &Path, categories: &[Category], owners: &[u64]) -> Vec<(u64, Vec<u8>)> {
    let mut reader = Reader::open(&dir.join("spool")).unwrap();
    let mut segments = reader.between(Nanos::ZERO, Nanos::MAX).unwrap();
    segments.retain(|segment| categories.contains(&segment.category()));
    let found = reader.read(owners, &segments).unwrap();
    assert_eq!((found.damaged, found.erased), (0, 0));
    found.packets().map(|packet| (packet.time.0, packet.data.to_vec())).collect()
}

pub(crate) fn owners(calls: &Calls, call_id: &str) -> Vec<u64> {
    let end = |stream: &Value, name: &str| stream[name].as_str().unwrap().parse().unwrap();
    let streams = calls[call_id].1.iter().map(|stream| {
        let ssrc = u32::try_from(stream["ssrc"].as_u64().unwrap()).unwrap();
        ringtap_spool::of_stream(end(stream, "src"), end(stream, "dst"), ssrc)
    });
    std::iter::once(of_call(call_id.as_bytes())).chain(streams).collect()
}

/// How many packets of product there are of these owners.
pub(crate) fn kept_of_product(dir: &Path, owners: &[u64]) -> usize {
    kept(dir, &[Category::Product], owners).len()
}

/// Both numbers of a call, as a rule has them.
pub(crate) fn numbers_of(calls: &Calls, call_id: &str) -> String {
    let call = &calls[call_id].0;
    format!("caller = [{}]\ncallee = [{}]\n", call["from_user"], call["to_user"])
}

#[test]
fn a_call_that_is_intercepted_is_kept_whole_and_looks_like_any_other() {
    intercepted(1);
}

/// Signalling and media come to different ones.
#[test]
fn so_is_one_that_several_workers_see() {
    intercepted(3);
}

fn intercepted(workers: usize) {
    let (plain, tapped) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    // What the operator keeps: headers of some calls without digits, and of none that matters here what is
    // said.
    let own =
        "[[keep]]\ncodec = [\"PCMU\"]\nkeep = \"headers\"\nmask_dtmf = true\n[[keep]]\nkeep = \"nothing\"\n";
    let (before, _) = run(plain.path(), workers, own);
    // The one is known at once, the other when it is answered, two cases want it, and the third matches
    // nobody.
    let rules = format!(
        "[[keep]]\nproduct = \"LI-17\"\n{}keep = \"full\"\n\
         [[keep]]\nproduct = \"LI-18\"\ncodec = [\"OPUS\"]\nanswered = true\nkeep = \"full\"\n{own}\
         [[keep]]\nproduct = \"LI-19\"\n{}answered = true\nkeep = \"signalling\"\n\
         [[keep]]\nproduct = \"LI-20\"\ncaller = [\"1\"]\nkeep = \"full\"\n",
        numbers_of(&before, TARGET),
        numbers_of(&before, OPUS),
    );
    let (calls, log) = run(tapped.path(), workers, &rules);
    // Nothing that others see is another: neither records, nor what is kept of them, nor the log. (Several
    // workers that read files take them as fast as each can: figures of time are not the same twice.)
    let seen = |calls: &Calls| {
        let mut calls = calls.clone();
        if workers > 1 {
            let shown = ["recorded", "recorded_packets", "recorded_missing", "recorded_empty"];
            calls.values_mut().for_each(|(call, streams)| {
                *call = shown.iter().map(|name| call[name].clone()).collect();
                streams.clear();
            });
        }
        calls
    };
    assert!(seen(&calls) == seen(&before), "{:#?}\n{:#?}", seen(&calls), seen(&before));
    assert_eq!(
        (&calls[TARGET].0["recorded"], &calls[OPUS].0["recorded"]),
        (&"headers".into(), &"none".into())
    );
    let everybody: Vec<u64> = calls.keys().flat_map(|call_id| owners(&calls, call_id)).collect();
    assert_eq!(
        kept(tapped.path(), &Category::ORDINARY, &everybody),
        kept(plain.path(), &Category::ORDINARY, &everybody)
    );
    assert!(!log.contains("LI-1") && !log.contains("product"), "{log}");
    // The product is whole, and theirs alone.
    for (call_id, (call, streams)) in &calls {
        let owners = owners(&calls, call_id);
        let product = kept(tapped.path(), &[Category::Product], &owners);
        if ![TARGET, OPUS].contains(&call_id.as_str()) {
            assert_eq!(product.len(), 0, "{call_id}");
            continue;
        }
        let messages = kept(tapped.path(), &[Category::Product], &owners[..1]).len() as u64;
        assert_eq!(Some(messages), call["messages"].as_u64(), "{call_id}");
        for (stream, owner) in streams.iter().zip(&owners[1..]) {
            let packets = kept(tapped.path(), &[Category::Product], &[*owner]);
            assert_eq!(Some(packets.len() as u64), stream["packets"].as_u64());
            // Ethernet, IPv4, UDP and RTP, and what is said.
            assert!(packets.iter().all(|(_, data)| data.len() > 54));
        }
    }
    // Whose it is.
    let told = ProductLog::of(&tapped.path().join("spool")).all().unwrap();
    for (call_id, expected) in [(TARGET, vec!["LI-17"]), (OPUS, vec!["LI-18", "LI-19"])] {
        for owner in owners(&calls, call_id) {
            let cases: Vec<&str> =
                told.iter().filter(|entry| entry.owner == owner).map(|entry| &*entry.case).collect();
            assert_eq!(cases, expected, "{call_id}");
        }
    }
    the_operator_reads_holds_and_forgets_each_for_itself(tapped.path());
}

fn the_operator_reads_holds_and_forgets_each_for_itself(dir: &Path) {
    let at = |name: &str| dir.join(name).to_str().unwrap().to_owned();
    let (records, spool, pcap) = (at("records"), at("spool"), at("call.pcap"));
    let both = ["--store", &records, "--spool", &spool];
    let export = |call: &str, more: &[&str]| {
        ringtap(&[&["export", call, "--pcap", &pcap, "--force"][..], &both, more].concat())
    };
    let (status, _, told) = export(TARGET, &[]);
    assert!(status == Some(0) && told.contains("headers only"), "{told}");
    let (status, _, told) = export(TARGET, &["--product"]);
    assert!(status == Some(0) && !told.contains("headers only"), "{told}");
    let (status, _, told) = export(OPUS, &[]);
    assert!(status == Some(1) && told.contains("no packet of the call is in"), "{told}");
    assert_eq!(export(OPUS, &["--product"]).0, Some(0));
    let (status, _, told) = export(DIGIT, &["--product"]);
    assert!(status == Some(1) && told.contains("no packet of the call is in"), "{told}");
    let (status, shown, told) = ringtap(&["verify", &spool]);
    assert_eq!(status, Some(0), "{shown}{told}");

    // A hold of the product is nothing to who asks for holds, and a hold of the call none of the product.
    let hold = |what: &str, case: &str, more: &[&str]| {
        let arguments = match what {
            "hold" => vec![what, OPUS, "--case", case],
            _ => vec![what, "--case", case],
        };
        ringtap(&[&arguments[..], &both, more].concat())
    };
    let holds = |more: &[&str]| ringtap(&[&["holds", "--spool", &spool][..], more].concat()).2;
    let (status, _, told) = hold("hold", "A", &["--product"]);
    assert!(status == Some(0) && !told.contains("no packets of it"), "{told}");
    assert_eq!(
        (holds(&[]), holds(&["--product"])),
        ("ringtap: 0 calls on hold\n".into(), "ringtap: 1 call on hold\n".into())
    );
    let (status, _, told) = hold("hold", "B", &[]);
    assert!(status == Some(0) && told.contains("no packets of it"), "{told}");
    let (status, _, told) = hold("release", "B", &[]);
    assert!(status == Some(0) && !told.contains("another case"), "{told}");
    let (status, _, told) = hold("release", "A", &[]);
    assert!(status == Some(1) && told.contains("no call on hold"), "{told}");
    let forget = |call: &str, more: &[&str]| ringtap(&[&["forget", call, "--yes"][..], &both, more].concat());
    let (status, _, told) = forget(OPUS, &["--product"]);
    assert!(status == Some(1) && told.contains("is held for the case `A`"), "{told}");
    assert_eq!(hold("release", "A", &["--product"]).0, Some(0));

    let (status, _, told) = forget(TARGET, &[]);
    assert!(status == Some(0) && told.contains("overwritten"), "{told}");
    assert_eq!((export(TARGET, &[]).0, export(TARGET, &["--product"]).0), (Some(1), Some(0)));
    let (status, _, told) = forget(OPUS, &["--product"]);
    assert!(status == Some(0) && told.contains("overwritten"), "{told}");
    assert_eq!(export(OPUS, &["--product"]).0, Some(1));
}

/// Waits until the log says that a call was decided: it is under way then.
fn begun(daemon: &mut Daemon, call_id: &str) {
    daemon.says(&format!("rules: call {call_id}: "));
}

#[test]
fn a_case_begins_while_its_call_is_under_way_and_its_product_goes_by_its_own_clock() {
    let dir = tempfile::tempdir().unwrap();
    let learnt = tempfile::tempdir().unwrap();
    let (known, _) = run(learnt.path(), 1, "keep = \"nothing\"\n");
    let mut place = place(dir.path(), &files("2.0"), "keep = \"nothing\"\n");
    let control = dir.path().join("control").to_str().unwrap().to_owned();
    let mut daemon = place.start();
    begun(&mut daemon, DIGIT);
    let rule = format!(
        "[[keep]]\nproduct = \"LI-7\"\nname = \"seventh\"\n{}keep = \"full\"\n",
        numbers_of(&known, DIGIT)
    );
    configure(&place, &files("2.0"), &rule);
    let text = fs::read_to_string(dir.path().join("ringtap.toml")).unwrap();
    fs::write(
        dir.path().join("ringtap.toml"),
        text.replace("segment = \"5s\"\n", "segment = \"5s\"\nkeep = \"nothing\"\n"),
    )
    .unwrap();
    daemon.signal("HUP");
    daemon.says("SIGHUP: in effect");
    let (status, out, told) = ringtap(&["rules", "--control", &control]);
    assert_eq!(status, Some(0), "{told}");
    assert!(!out.contains("seventh") && !out.contains("LI-7") && out.contains("[spool] keep"), "{out}");
    let (status, log) = daemon.end();
    assert_eq!(status, Some(0), "{log}");
    assert!(!log.contains("LI-7") && !log.contains("seventh"), "{log}");
    let calls = place.calls();
    assert_eq!(calls, known, "a record of a call that is intercepted is that of any other");
    // From then on: the rest of it, not its INVITE.
    let messages = kept(dir.path(), &[Category::Product], &owners(&calls, DIGIT)[..1]).len() as u64;
    assert!(messages > 0 && messages < calls[DIGIT].0["messages"].as_u64().unwrap(), "{messages}");
    assert!(kept(dir.path(), &[Category::Product], &owners(&calls, DIGIT)).len() > 100);

    // Its clock has run out; the log of deletions says whose it was.
    let clocks = "[retention]\nproduct = \"1m\"\nfree = \"0%\"\n";
    configure(&place, &nothing(dir.path()), clocks);
    let (status, log) = place.start().end();
    assert_eq!(status, Some(0), "{log}");
    assert!(log.contains("older than [retention] product") && !log.contains("LI-7"), "{log}");
    assert_eq!(kept(dir.path(), &[Category::Product], &owners(&calls, DIGIT)).len(), 0);
    let deletions = fs::read_to_string(dir.path().join("spool/deletions.log")).unwrap();
    assert!(
        deletions.lines().count() > 0 && deletions.lines().all(|line| line.contains("\"cases\":[\"LI-7\"]")),
        "{deletions}"
    );
}

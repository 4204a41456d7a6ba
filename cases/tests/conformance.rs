//! Every call and every stream of the reference answers, against ours.
//!
//! The answers are tshark's. Where they differ from ours, `cases/differences.md` has a row that says why ours is right;
//! a difference without a row fails, and so does a row without its difference.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use ringtap_cases::{run, shared};
use ringtap_engine::Config;
use ringtap_model::{Call, Nanos, Stream};
use serde_json::Value;

/// A field in which one answer and one record differ.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Difference {
    capture: String,
    record: String,
    field: String,
    reference: String,
    ours: String,
}

#[derive(Default)]
struct Tally {
    captures: usize,
    calls: usize,
    calls_agreed: usize,
    streams: usize,
    streams_agreed: usize,
    differences: Vec<Difference>,
}

#[test]
fn every_reference_answer_agrees_or_is_listed() {
    let Some(folder) = shared::folder() else { return };
    let mut tally = Tally::default();
    let mut answers: Vec<_> = std::fs::read_dir(folder.join("expected"))
        .unwrap()
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|end| end == "json"))
        .collect();
    answers.sort();
    for path in answers {
        let answer: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        let capture = answer["file"].as_str().unwrap();
        compare_capture(&folder, capture.trim_start_matches("captures/"), &answer, &mut tally);
    }
    let list = Path::new(env!("CARGO_MANIFEST_DIR")).join("differences.md");
    let listed = listed(&std::fs::read_to_string(list).unwrap());
    let found: BTreeSet<Difference> = tally.differences.iter().cloned().collect();
    let unlisted: Vec<_> = found.iter().filter(|difference| !listed.contains(difference)).collect();
    let stale: Vec<_> = listed.iter().filter(|difference| !found.contains(difference)).collect();
    println!(
        "conformance: {} captures, {} calls ({} agreed in every field), {} streams ({} agreed in every field), {} listed differences",
        tally.captures,
        tally.calls,
        tally.calls_agreed,
        tally.streams,
        tally.streams_agreed,
        found.len() - unlisted.len(),
    );
    for difference in &unlisted {
        let Difference { capture, record, field, reference, ours } = difference;
        println!("| {capture} | {record} | {field} | {reference} | {ours} |");
    }
    for difference in &stale {
        println!("listed but not found: {difference:?}");
    }
    assert!(unlisted.is_empty(), "{} differences are not listed", unlisted.len());
    assert!(stale.is_empty(), "{} listed differences were not found", stale.len());
}

fn listed(text: &str) -> BTreeSet<Difference> {
    let rows = text.lines().filter(|line| line.starts_with("| ") && line.contains('/'));
    rows.filter_map(|row| {
        let mut cells = row.trim_matches('|').split(" | ").map(|cell| cell.trim().to_owned());
        Some(Difference {
            capture: cells.next()?,
            record: cells.next()?,
            field: cells.next()?,
            reference: cells.next()?,
            ours: cells.next()?,
        })
    })
    .collect()
}

fn compare_capture(folder: &Path, capture: &str, answer: &Value, tally: &mut Tally) {
    let records = run::file(&folder.join("captures").join(capture), Config::default(), 64).unwrap();
    tally.captures += 1;
    let mut comparer = Comparer { capture, tally };
    comparer.calls(answer, &records.calls);
    comparer.streams(answer, &records.streams);
}

struct Comparer<'a> {
    capture: &'a str,
    tally: &'a mut Tally,
}

impl Comparer<'_> {
    fn differ(&mut self, record: &str, field: &str, reference: impl ToString, ours: impl ToString) -> bool {
        let clean = |text: String| text.replace('|', "/").trim().to_owned();
        let (reference, ours) = (clean(reference.to_string()), clean(ours.to_string()));
        if reference == ours {
            return false;
        }
        let (capture, record, field) = (self.capture.to_owned(), clean(record.to_owned()), field.to_owned());
        self.tally.differences.push(Difference { capture, record, field, reference, ours });
        true
    }

    fn calls(&mut self, answer: &Value, ours: &[Call]) {
        let theirs = answer["sip_calls"].as_array().unwrap();
        for call in theirs {
            self.tally.calls += 1;
            let call_id = call["call_id"].as_str().unwrap();
            let same = ours.iter().find(|other| other.call_id == call_id);
            let agreed = match same {
                Some(same) => self.call(call_id, call, same),
                None => !self.differ(call_id, "call", "present", "absent"),
            };
            self.tally.calls_agreed += usize::from(agreed);
        }
        for call in ours.iter().filter(|call| !theirs.iter().any(|other| other["call_id"] == *call.call_id)) {
            self.differ(&call.call_id, "call", "absent", "present");
        }
    }

    fn call(&mut self, id: &str, theirs: &Value, ours: &Call) -> bool {
        let name = |text: &Option<String>| text.clone().unwrap_or_default();
        let given = |key: &str| theirs[key].as_str().unwrap_or_default().to_owned();
        let at = |time: Option<Nanos>| time.map_or("-".to_owned(), |time| time.micros().to_string());
        let told = |key: &str| theirs[key].as_str().map_or("-".to_owned(), micros);
        // tshark's end: the BYE, or the CANCEL of a call that was not answered.
        let end = if theirs["answered_time"].is_null() { told("cancel_time") } else { told("bye_time") };
        let ended = ours.answer.is_some() || end != "-";
        let differences = [
            self.differ(id, "from_user", given("from_user"), name(&ours.from_user)),
            self.differ(id, "from_host", given("from_host"), name(&ours.from_host)),
            self.differ(id, "to_user", given("to_user"), name(&ours.to_user)),
            self.differ(id, "to_host", given("to_host"), name(&ours.to_host)),
            self.differ(id, "ruri_user", given("request_user"), name(&ours.ruri_user)),
            self.differ(id, "invite", told("first_invite_time"), at(ours.invite)),
            self.differ(id, "ringing", told("ringing_time"), at(ours.ringing)),
            self.differ(id, "answer", told("answered_time"), at(ours.answer)),
            self.differ(id, "final_code", theirs["final_status"].as_u64().unwrap_or(0), ours.final_code),
            ended && self.differ(id, "end", end, at(ours.end)),
            self.differ(id, "messages", theirs["messages"].as_u64().unwrap_or(0), ours.messages),
        ];
        !differences.contains(&true)
    }

    fn streams(&mut self, answer: &Value, ours: &[Stream]) {
        let mut theirs: BTreeMap<String, &Value> = BTreeMap::new();
        // tshark answers twice: with the streams that SDP names, and by heuristics. The one that saw more is taken.
        for stream in
            ["rtp_streams", "rtp_streams_heuristic"].iter().flat_map(|list| answer[list].as_array().unwrap())
        {
            let known = theirs.entry(their_key(stream)).or_insert(stream);
            if stream["packets"].as_u64() > known["packets"].as_u64() {
                *known = stream;
            }
        }
        let mut own: BTreeMap<String, Vec<&Stream>> = BTreeMap::new();
        for stream in ours {
            own.entry(our_key(stream)).or_default().push(stream);
        }
        for (key, stream) in &theirs {
            self.tally.streams += 1;
            let agreed = match own.get(key) {
                Some(same) => self.stream(key, stream, same),
                None => !self.differ(key, "stream", format!("{} packets", stream["packets"]), "absent"),
            };
            self.tally.streams_agreed += usize::from(agreed);
        }
        for (key, streams) in own.iter().filter(|(key, _)| !theirs.contains_key(*key)) {
            let packets: u64 = streams.iter().map(|stream| stream.packets).sum();
            self.differ(key, "stream", "absent", format!("{packets} packets"));
        }
    }

    /// tshark knows one stream per (source, destination, SSRC), and subtracts repeats from loss.
    fn stream(&mut self, key: &str, theirs: &Value, ours: &[&Stream]) -> bool {
        let sum = |field: fn(&Stream) -> u64| ours.iter().map(|stream| field(stream)).sum::<u64>();
        let lost = sum(|stream| stream.lost) as i64 - sum(|stream| stream.duplicates) as i64;
        let mut differences = vec![
            self.differ(key, "packets", &theirs["packets"], sum(|stream| stream.packets)),
            self.differ(key, "lost - duplicates", &theirs["lost"], lost),
        ];
        if let [one] = ours {
            let number =
                |name: &str| theirs[name].as_str().and_then(|text| text.parse::<f64>().ok()).unwrap_or(0.0);
            let pairs = [
                ("jitter_mean", number("mean_jitter_ms"), one.jitter_ms_mean),
                ("jitter_max", number("max_jitter_ms"), one.jitter_ms_max),
                ("delta_max", number("max_delta_ms"), one.delta_ms_max),
            ];
            for (field, reference, own) in pairs {
                let Some(own) = own else { continue };
                // tshark has no clock for a dynamic type without SDP: 0, or -1 for events alone.
                let unknown = field != "delta_max" && number("max_jitter_ms") <= 0.0;
                // Its figures are rounded to the microsecond.
                if !unknown && (reference - own).abs() > 0.01 * reference.abs() + 0.0006 {
                    differences.push(self.differ(key, field, format!("{reference:.3}"), format!("{own:.3}")));
                }
            }
        } else if ours.len() > 1 {
            differences.push(self.differ(key, "records", 1, ours.len()));
        }
        !differences.contains(&true)
    }
}

fn micros(seconds: &str) -> String {
    let (whole, fraction) = seconds.split_once('.').unwrap_or((seconds, "0"));
    let micros: String = format!("{fraction:0<6}").chars().take(6).collect();
    format!("{whole}{micros}").trim_start_matches('0').to_owned()
}

fn their_key(stream: &Value) -> String {
    let end = |ip: &str, port: &str| {
        let (ip, port) = (stream[ip].as_str().unwrap(), stream[port].as_u64().unwrap());
        if ip.contains(':') { format!("[{ip}]:{port}") } else { format!("{ip}:{port}") }
    };
    format!("{} > {} {}", end("src", "src_port"), end("dst", "dst_port"), stream["ssrc"].as_str().unwrap())
}

fn our_key(stream: &Stream) -> String {
    format!("{} > {} 0x{:08x}", stream.src, stream.dst, stream.ssrc)
}

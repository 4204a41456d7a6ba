//! Every call and every stream of the reference answers, against ours.
//!
//! The answers are tshark's. Where they differ from ours, `cases/differences.md` has a row that says why ours
//! is right; a difference without a row fails, and so does a row without its difference. rtpproxy is a second
//! opinion on streams. Beside that, what holds for every capture, with an answer or without: the same records
//! however its frames are cut into batches, and no panic wherever the file is cut off.
#![expect(clippy::unwrap_used, reason = "an answer that is not as it should be fails the test")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use ringtap_capture::Capture;
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
    let Some(folder) = ringtap_testing::shared() else { return };
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
    let listed = listed(&std::fs::read_to_string(list()).unwrap());
    let found: BTreeSet<Difference> = tally.differences.iter().cloned().collect();
    let unlisted: Vec<_> = found.iter().filter(|difference| !listed.contains(difference)).collect();
    let stale: Vec<_> = listed.iter().filter(|difference| !found.contains(difference)).collect();
    println!(
        "conformance: {} captures, {} calls ({} agreed in every field), {} streams ({} agreed in every \
         field), {} listed differences",
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

/// The list, or what `RINGTAP_DIFFERENCES` names: with `/dev/null` every difference is printed, to write the
/// list again.
fn list() -> PathBuf {
    let own = || Path::new(env!("CARGO_MANIFEST_DIR")).join("differences.md");
    std::env::var_os("RINGTAP_DIFFERENCES").map_or_else(own, PathBuf::from)
}

/// The rows of the list. Each must say why ours is right, and in which frames that is to be seen.
fn listed(text: &str) -> BTreeSet<Difference> {
    let capture = |line: &&str| line.strip_prefix("| ")?.split(" | ").next()?.contains('/').then_some(());
    text.lines()
        .filter(|line| capture(line).is_some())
        .map(|row| {
            let cells: Vec<&str> = row.trim().trim_matches('|').split(" | ").map(str::trim).collect();
            let [capture, record, field, reference, ours, why] = cells[..] else {
                panic!("{} cells where six belong: {row}", cells.len());
            };
            assert!(why.to_lowercase().contains("frame"), "no frame shows this: {row}");
            let [capture, record, field, reference, ours] =
                [capture, record, field, reference, ours].map(str::to_owned);
            Difference { capture, record, field, reference, ours }
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
        // tshark answers twice: with the streams that SDP names, and by heuristics. The one that saw more is
        // taken.
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

/// Figures of rtpproxy's `extractaudio -S`, one file to each of its own captures.
///
/// `psent` and `precvd` are what was expected and what came, without repeats, over all runs of the numbering;
/// `duplicates` are those of the last run. Its jitter is that of RFC 3550 in ticks of the payload's clock,
/// here always 8000, with arrivals rounded down to whole ticks: each difference, and so the jitter, is off by
/// less than a tick, and over these captures by less than half of one. `dups` is left out there: a repeat of
/// a first packet (frame 2) takes its place as the reference of the next, which the definition of repeats
/// rules out.
#[test]
fn rtpproxy_agrees() {
    const HALF_TICK_MS: f64 = 0.5 / 8.0;
    let Some(folder) = ringtap_testing::shared() else { return };
    let mut compared = 0;
    for entry in std::fs::read_dir(folder.join("expected/rtpproxy")).unwrap().flatten() {
        let text = std::fs::read_to_string(entry.path()).unwrap();
        let answer: BTreeMap<&str, &str> =
            text.split([',', '\n']).filter_map(|pair| pair.trim().split_once('=')).collect();
        let name = entry.file_name().into_string().unwrap();
        let stem = name.strip_suffix(".output").unwrap();
        let captures = folder.join("captures/rtp-quality");
        let path = ["", ".a"]
            .map(|side| captures.join(format!("rtpproxy-{stem}{side}.rtp.pcap")))
            .into_iter()
            .find(|path| path.is_file())
            .unwrap_or_else(|| panic!("no capture of {name}"));
        let records = run::file(&path, Config::default(), 64).unwrap();
        let ssrc = u32::from_str_radix(answer["ssrc"].trim_start_matches("0x"), 16).unwrap();
        // One source may send from two ports in turn: to rtpproxy that is one stream.
        let ours: Vec<&Stream> = records.streams.iter().filter(|stream| stream.ssrc == ssrc).collect();
        let count = |key: &str| answer[key].parse::<i64>().unwrap();
        let sum = |field: fn(&Stream) -> u64| ours.iter().map(|stream| field(stream)).sum::<u64>() as i64;
        assert_eq!(count("psent"), sum(|stream| stream.unique + stream.lost), "{stem}: packets sent");
        assert_eq!(count("precvd"), sum(|stream| stream.unique), "{stem}: packets received");
        assert_eq!(count("plost"), sum(|stream| stream.lost), "{stem}: packets lost");
        assert_eq!(count("duplicates"), sum(|stream| stream.duplicates), "{stem}: duplicates");
        if stem != "dups" {
            let ms = |key: &str| answer[key].parse::<f64>().unwrap() / 8.0;
            let max = ours.iter().filter_map(|stream| stream.jitter_ms_max).fold(0.0, f64::max);
            let weighted = |stream: &&Stream| Some(stream.jitter_ms_mean? * stream.unique as f64);
            let mean = ours.iter().filter_map(weighted).sum::<f64>() / sum(|stream| stream.unique) as f64;
            for (field, theirs, own) in
                [("mean", ms("average_jitter"), mean), ("maximum", ms("max_jitter"), max)]
            {
                assert!(
                    (theirs - own).abs() < HALF_TICK_MS,
                    "{stem}: {field} jitter {theirs:.3} and {own:.3}"
                );
            }
        }
        compared += 1;
    }
    assert_eq!(compared, 7);
}

/// The reference captures, all of them.
fn captures(folder: &Path) -> Vec<PathBuf> {
    let captures = shared::captures(&folder.join("captures"));
    assert!(captures.len() >= 303, "only {} captures", captures.len());
    captures
}

fn lines(path: &Path, batch: usize) -> Vec<String> {
    run::file(path, Config::default(), batch)
        .map_or_else(|error| vec![error.to_string()], |records| records.lines().collect())
}

/// The records of a capture depend on its bytes alone: not on the run, not on how many frames come at a time.
#[test]
fn captures_are_deterministic() {
    let Some(folder) = ringtap_testing::shared() else { return };
    let mut records = 0;
    for path in captures(&folder) {
        let first = lines(&path, 64);
        records += first.len();
        for batch in [64, 1, 7, 1000] {
            let again = lines(&path, batch);
            let differs = first.iter().zip(&again).find(|(first, again)| first != again);
            assert!(differs.is_none(), "{}, {batch} frames at a time: {differs:?}", path.display());
            assert_eq!(first.len(), again.len(), "{}, {batch} frames at a time", path.display());
        }
    }
    println!("deterministic: {records} records");
    assert!(records > 1000, "only {records} records");
}

/// Every capture cut off at every 997th byte, through the engine: what is left of a file must not bring it
/// down.
///
/// That is quadratic in the size of a file. Of the large ones only some of the cuts are made, evenly spread,
/// unless `RINGTAP_FULL=1` asks for all of them.
#[test]
fn truncated_captures_never_panic() {
    const STEP: usize = 997;
    /// Bytes that may be read for one file.
    const BUDGET: usize = 64 << 20;
    let Some(folder) = ringtap_testing::shared() else { return };
    let full = std::env::var_os("RINGTAP_FULL").is_some_and(|value| value == "1");
    let (started, mut cuts) = (std::time::Instant::now(), 0_usize);
    for path in captures(&folder) {
        let bytes = std::fs::read(&path).unwrap();
        let affordable = (2 * BUDGET / bytes.len().max(1)).max(2);
        let every = if full { 1 } else { (bytes.len() / STEP).div_ceil(affordable).max(1) };
        for length in (0..bytes.len()).step_by(STEP * every) {
            cuts += 1;
            let outcome = std::panic::catch_unwind(|| {
                let name = path.to_string_lossy();
                // A file too short for its own header is an error, which is as good as any record.
                if let Ok(capture) = Capture::from_bytes(&name, bytes[..length].to_vec()) {
                    run::frames(capture.frames().owned().iter(), Config::default(), 64);
                }
            });
            assert!(
                outcome.is_ok(),
                "{} cut off after {length} bytes brings the engine down",
                path.display()
            );
        }
    }
    println!("truncated: {cuts} cuts in {:.1} s", started.elapsed().as_secs_f64());
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

//! The golden cases: each folder's capture through the engine, its records against `expect.jsonl`, byte for
//! byte.
//!
//! `RINGTAP_BLESS=1 cargo test -p ringtap-cases --test golden` (or `cases/bless.sh`) writes captures,
//! configurations and expectations anew, but only of stories whose records are as they were worked out by
//! hand. Look at the difference before committing it.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Once;

use ringtap_cases::run::{self, Records};
use ringtap_cases::story::{Story, cases};
use ringtap_engine::Config;
use ringtap_model::Nanos;
use ringtap_wire::sip::Method;
use serde::Deserialize;
use serde_json::Value;

const BLESS: &str = "RINGTAP_BLESS=1 cargo test -p ringtap-cases --test golden";
/// Folders beside the cases that are none.
const NO_CASES: [&str; 5] = ["src", "tests", "examples", "oracle", "proptest-regressions"];
/// The records must not depend on how frames are cut into batches.
const BATCHES: [usize; 2] = [1, 64];

/// The keys that a case may set; one that is absent keeps the engine's default.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Settings {
    max_calls: Option<usize>,
    max_streams: Option<usize>,
    max_registrations: Option<usize>,
    max_messages: Option<usize>,
    max_fragmented: Option<usize>,
    max_connections: Option<usize>,
    max_stream_bytes: Option<usize>,
    invite_limit_s: Option<u64>,
    idle_limit_s: Option<u64>,
    linger_s: Option<u64>,
    challenge_limit_s: Option<u64>,
    stream_idle_s: Option<u64>,
    provisional_limit_s: Option<u64>,
    seed: Option<u64>,
    measure_sound: Option<bool>,
    transactions: Vec<String>,
}

impl Settings {
    fn parse(text: &str) -> Result<Config, String> {
        let settings: Self = toml::from_str(text).map_err(|error| format!("config.toml: {error}"))?;
        let base = Config::default();
        let span = |seconds: Option<u64>, default: Nanos| seconds.map_or(default, Nanos::from_secs);
        Ok(Config {
            max_calls: settings.max_calls.unwrap_or(base.max_calls),
            max_streams: settings.max_streams.unwrap_or(base.max_streams),
            max_registrations: settings.max_registrations.unwrap_or(base.max_registrations),
            max_messages: settings.max_messages.unwrap_or(base.max_messages),
            max_fragmented: settings.max_fragmented.unwrap_or(base.max_fragmented),
            max_connections: settings.max_connections.unwrap_or(base.max_connections),
            max_stream_bytes: settings.max_stream_bytes.unwrap_or(base.max_stream_bytes),
            invite_limit: span(settings.invite_limit_s, base.invite_limit),
            idle_limit: span(settings.idle_limit_s, base.idle_limit),
            linger: span(settings.linger_s, base.linger),
            challenge_limit: span(settings.challenge_limit_s, base.challenge_limit),
            stream_idle: span(settings.stream_idle_s, base.stream_idle),
            provisional_limit: span(settings.provisional_limit_s, base.provisional_limit),
            seed: settings.seed.unwrap_or(base.seed),
            measure_sound: settings.measure_sound.unwrap_or(base.measure_sound),
            transactions: settings.transactions.iter().map(|name| Method::parse(name.as_bytes())).collect(),
            ..base
        })
    }
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Every folder that is or should be a case, in order of name.
fn folders() -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> = fs::read_dir(root())
        .expect("the folder of this crate")
        .map(|entry| entry.expect("an entry of it").path())
        .filter(|path| path.is_dir() && !NO_CASES.contains(&name(path)))
        .collect();
    folders.sort();
    folders
}

fn name(path: &Path) -> &str {
    path.file_name().and_then(|name| name.to_str()).unwrap_or_default()
}

/// Runs a check over many cases and fails with everything that was wrong in any of them.
fn each<T>(cases: impl IntoIterator<Item = T>, mut check: impl FnMut(T) -> Result<(), String>) {
    let faults: Vec<String> = cases.into_iter().filter_map(|case| check(case).err()).collect();
    assert!(faults.is_empty(), "{} cases are wrong\n\n{}\n", faults.len(), faults.join("\n\n"));
}

fn by_hand(story: &Story) -> Result<(), String> {
    for batch in BATCHES {
        let records = run::frames(story.frames(), Settings::parse(story.config)?, batch);
        let disagreements = story.disagreements(&records);
        if !disagreements.is_empty() {
            let list = disagreements.join("\n  ");
            return Err(format!("{}: not what was worked out by hand:\n  {list}", story.name));
        }
    }
    Ok(())
}

/// Writes the folders anew where the environment asks for it, once for all tests of this file.
fn prepare() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        if std::env::var_os("RINGTAP_BLESS").is_some_and(|value| value == "1") {
            each(cases::all(), |story| by_hand(&story).and_then(|()| bless(&story)));
        }
    });
}

fn bless(story: &Story) -> Result<(), String> {
    let folder = root().join(story.name);
    let write = |name: &str, bytes: &[u8]| {
        fs::write(folder.join(name), bytes).map_err(|error| format!("{}/{name}: {error}", story.name))
    };
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", story.name))?;
    write(story.file_name(), &story.capture().map_err(|error| format!("{}: {error}", story.name))?)?;
    write("config.toml", story.config.as_bytes())?;
    write("expect.jsonl", text(&golden(&folder, 1)?).as_bytes())
}

/// The records of a folder's capture under its configuration.
fn golden(folder: &Path, batch: usize) -> Result<Records, String> {
    seeded(folder, batch, None)
}

/// The same with another seed of the hashes.
fn seeded(folder: &Path, batch: usize, seed: Option<u64>) -> Result<Records, String> {
    let name = name(folder);
    let capture =
        ["in.pcap", "in.pcapng"].map(|file| folder.join(file)).into_iter().find(|file| file.exists());
    let capture =
        capture.ok_or_else(|| format!("{name}: has neither in.pcap nor in.pcapng; make it: {BLESS}"))?;
    let config = fs::read_to_string(folder.join("config.toml"))
        .map_err(|error| format!("{name}: config.toml: {error}; make it: {BLESS}"))?;
    let mut config = Settings::parse(&config).map_err(|error| format!("{name}: {error}"))?;
    config.seed = seed.unwrap_or(config.seed);
    run::file(&capture, config, batch).map_err(|error| format!("{name}: {error}"))
}

fn text(records: &Records) -> String {
    records.lines().map(|line| line + "\n").collect()
}

fn expectation(folder: &Path) -> Result<String, String> {
    fs::read_to_string(folder.join("expect.jsonl"))
        .map_err(|error| format!("{}: expect.jsonl: {error}; make it: {BLESS}", name(folder)))
}

/// The first line that differs, and the fields in which it does.
fn difference(expected: &str, ours: &str) -> String {
    let (mut expected, mut ours) = (expected.lines(), ours.lines());
    for number in 1.. {
        let (wanted, found) = match (expected.next(), ours.next()) {
            (Some(wanted), Some(found)) if wanted == found => continue,
            (Some(wanted), Some(found)) => (wanted, found),
            (Some(wanted), None) => return format!("line {number} is missing: {wanted}"),
            (None, Some(found)) => return format!("line {number} is not expected: {found}"),
            (None, None) => break,
        };
        let parse = |line: &str| serde_json::from_str::<Value>(line).unwrap_or_default();
        let (wanted_value, found_value) = (parse(wanted), parse(found));
        let keys: BTreeSet<&String> = [&wanted_value, &found_value]
            .iter()
            .filter_map(|value| value.as_object())
            .flat_map(|o| o.keys())
            .collect();
        let fields: Vec<String> = keys
            .into_iter()
            .filter(|key| wanted_value.get(key) != found_value.get(key))
            .map(|key| {
                let show = |value: Option<&Value>| value.map_or("(absent)".to_owned(), Value::to_string);
                format!(
                    "{key}: expected {}, found {}",
                    show(wanted_value.get(key)),
                    show(found_value.get(key))
                )
            })
            .collect();
        return format!("line {number} differs ({})\n    {}", found_value["type"], fields.join("\n    "));
    }
    "the same lines, different bytes between or after them".to_owned()
}

#[test]
fn stories_are_as_worked_out_by_hand() {
    prepare();
    each(cases::all(), |story| by_hand(&story));
}

#[test]
fn stories_still_make_the_captures() {
    prepare();
    each(cases::all(), |story| {
        let file = root().join(story.name).join(story.file_name());
        let committed =
            fs::read(&file).map_err(|error| format!("{}: {error}; make it: {BLESS}", file.display()))?;
        if committed != story.capture().unwrap() {
            return Err(format!(
                "{}: the story makes other bytes than {}; {BLESS}",
                story.name,
                story.file_name()
            ));
        }
        if fs::read_to_string(file.with_file_name("config.toml")).ok().as_deref() != Some(story.config) {
            return Err(format!("{}: the story has another config.toml; {BLESS}", story.name));
        }
        Ok(())
    });
}

#[test]
fn every_folder_has_its_story_and_every_name_is_used_once() {
    prepare();
    let names: Vec<&str> = cases::all().iter().map(|story| story.name).collect();
    let unique: BTreeSet<&str> = names.iter().copied().collect();
    assert_eq!(unique.len(), names.len(), "a name is used twice: {names:?}");
    each(folders(), |folder| {
        let known = unique.contains(name(&folder));
        known.then_some(()).ok_or_else(|| format!("{}: no story tells this case", name(&folder)))
    });
}

#[test]
fn every_case_gives_its_records() {
    prepare();
    let folders = folders();
    assert!(!folders.is_empty());
    each(&folders, |folder| {
        let expected = expectation(folder)?;
        for batch in BATCHES {
            let ours = text(&golden(folder, batch)?);
            if ours != expected {
                let (name, difference) = (name(folder), difference(&expected, &ours));
                return Err(format!(
                    "{name}: in batches of {batch}, {difference}\n  if that is right: {BLESS}"
                ));
            }
        }
        Ok(())
    });
}

/// A live capture takes a random seed: what it finds must not depend on it.
#[test]
fn the_seed_changes_nothing() {
    prepare();
    each(folders(), |folder| {
        let expected = expectation(&folder)?;
        for seed in [0, 1, 0x0123_4567_89ab_cdef, u64::MAX] {
            let ours = text(&seeded(&folder, 64, Some(seed))?);
            if ours != expected {
                let (name, difference) = (name(&folder), difference(&expected, &ours));
                return Err(format!("{name}: with the seed {seed}, {difference}"));
            }
        }
        Ok(())
    });
}

#[test]
fn every_expectation_keeps_the_invariants() {
    prepare();
    each(folders(), |folder| {
        let lines = expectation(&folder)?;
        let records: Vec<Value> = lines
            .lines()
            .map(|line| serde_json::from_str(line).map_err(|error| format!("{}: {error}", name(&folder))))
            .collect::<Result<_, _>>()?;
        let mut faults = Vec::new();
        records.iter().for_each(|record| invariants(record, &records, &mut faults));
        if faults.is_empty() { Ok(()) } else { Err(format!("{}:\n  {}", name(&folder), faults.join("\n  "))) }
    });
}

/// What holds of every record, whatever it is about.
fn invariants(record: &Value, all: &[Value], faults: &mut Vec<String>) {
    let id = record["id"].as_str().unwrap_or_default();
    let mut hold = |holds: bool, what: &str| {
        if !holds {
            faults.push(format!("{} {id}: {what}", record["type"]));
        }
    };
    hold(id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit()), "the id is 32 hex digits");
    let same = |other: &&Value| other["id"] == record["id"];
    hold(all.iter().filter(same).count() == 1, "no other record has its id");
    for (field, value) in record.as_object().into_iter().flatten() {
        hold(value != "", &format!("{field}: what is not known is null, never empty"));
        hold(!(field.ends_with("_us") && value == 0), &format!("{field}: no time is 0"));
        hold(!(field.ends_with("_us") && value.is_f64()), &format!("{field}: times are integers"));
        hold(value.as_f64().is_none_or(f64::is_finite), &format!("{field}: a number"));
        let is_span = field.ends_with("_ms") || field.contains("_ms_");
        hold(
            !(is_span && value.as_f64().is_some_and(|span| span < 0.0)),
            &format!("{field}: no span is negative"),
        );
    }
    match record["type"].as_str() {
        Some("call") => call_invariants(record, all, &mut hold),
        Some("stream") => stream_invariants(record, all, &mut hold),
        Some("registration" | "message") => {}
        Some("transaction") => {
            let has_answer = record["code"] != 0;
            hold(record["delay_ms"].is_f64() == has_answer, "an answer took as long as it took");
        }
        _ => hold(false, "a type that is not known"),
    }
}

fn call_invariants(call: &Value, all: &[Value], hold: &mut impl FnMut(bool, &str)) {
    let number = |field: &str| call[field].as_f64();
    hold(number("retransmissions") < number("messages"), "fewer messages are repeats than messages");
    let answered = call["answer_us"].is_u64();
    let state = call["state"].as_str().unwrap_or_default();
    hold(!matches!(state, "completed" | "active") || answered, "completed and active calls were answered");
    hold(
        !matches!(state, "failed" | "redirected" | "trying" | "ringing") || !answered,
        "the others were not",
    );
    hold(call["duration_ms"].is_null() || answered, "only answered calls have a duration");
    hold(
        (number("final_code") == Some(0.0)) == call["final_reason"].is_null() || !answered,
        "no code, no phrase",
    );
    let order = ["invite_us", "answer_us", "end_us"].map(|field| call[field].as_u64());
    let known: Vec<u64> = order.into_iter().flatten().collect();
    hold(known.is_sorted(), "INVITE, answer and end follow one another");
    for id in call["streams"].as_array().into_iter().flatten() {
        let stream = all.iter().find(|record| record["id"] == *id);
        hold(stream.is_some_and(|stream| stream["call"] == call["id"]), "its streams are there and name it");
    }
}

fn stream_invariants(stream: &Value, all: &[Value], hold: &mut impl FnMut(bool, &str)) {
    let count = |field: &str| stream[field].as_u64().unwrap_or(u64::MAX / 4);
    hold(count("packets") == count("unique") + count("duplicates"), "packets = unique + duplicates");
    hold(count("unique") > 0, "a stream has packets");
    hold(count("reordered") < count("unique"), "the first packet cannot be out of order");
    let lossless = count("lost") == 0;
    hold(lossless == (count("loss_bursts") == 0), "loss comes in bursts, bursts are of loss");
    hold(count("loss_bursts") <= count("lost"), "no burst is empty");
    hold(lossless == stream["burst_len_mean"].is_null(), "no loss: the length of a burst is null");
    hold(lossless == stream["burst_len_max"].is_null(), "no loss: the longest burst is null");
    hold(
        lossless || stream["burst_len_max"].as_u64() <= stream["lost"].as_u64(),
        "no burst is longer than the loss",
    );
    hold(count("first_us") <= count("last_us"), "it ends after it begins");
    hold(count("bytes") < count("ip_bytes"), "headers cost something");
    hold((count("packets") > 1) != stream["iat_ms_mean"].is_null(), "one packet has no interarrival time");
    hold(stream["jitter_ms_mean"].is_null() || !stream["clock_hz"].is_null(), "no clock, no jitter");
    let intervals = stream["intervals"].as_array().cloned().unwrap_or_default();
    let packets: u64 = intervals.iter().filter_map(|interval| interval["packets"].as_u64()).sum();
    hold(packets == count("packets"), "the intervals hold all packets");
    hold(stream["call"].is_null() == stream["call_id"].is_null(), "call and Call-ID go together");
    hold(!stream["call"].is_null() || stream["direction"].is_null(), "no call, no direction");
    let owners = all.iter().filter(|record| record["type"] == "call" && record["id"] == stream["call"]);
    let listed = |call: &Value| call["streams"].as_array().is_some_and(|ids| ids.contains(&stream["id"]));
    hold(
        owners.filter(|call| listed(call)).count() == usize::from(!stream["call"].is_null()),
        "its call lists it",
    );
}

#[test]
fn differences_name_line_and_field() {
    let found = difference(
        "{\"type\":\"call\",\"a\":1}\n{\"b\":1}\n",
        "{\"type\":\"call\",\"a\":1}\n{\"b\":2,\"c\":3}\n",
    );
    assert_eq!(found, "line 2 differs (null)\n    b: expected 1, found 2\n    c: expected (absent), found 3");
    assert!(difference("{}\n", "").starts_with("line 1 is missing"));
    assert!(difference("", "{}\n").starts_with("line 1 is not expected"));
}

#[test]
fn a_setting_that_does_not_exist_is_refused() {
    assert_eq!(Settings::parse("max_calls = 2\nlinger_s = 1").map(|config| config.max_calls), Ok(2));
    let error = Settings::parse("max_cals = 2").map(|_| ()).unwrap_err();
    assert!(error.contains("max_cals"), "{error}");
}

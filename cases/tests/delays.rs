//! Delays and failures of signalling in the shared captures against tshark's reading of the same messages.
//!
//! tshark tells method, numbers, branches and credentials of each message; this test works out from all of
//! them together how long the answer to a BYE took, and what became of each attempt to register (RFC 6076
//! sections 4.1, 4.2 and 4.4). A capture with several messages in a frame is left out.
#![expect(clippy::expect_used, reason = "what cannot be read fails the test")]

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use ringtap_cases::{run, shared};
use ringtap_engine::Config;
use ringtap_model::{Call, Registration};

const FIELDS: [&str; 10] = [
    "frame.time_epoch",
    "sip.Call-ID",
    "sip.CSeq.seq",
    "sip.CSeq.method",
    "sip.Method",
    "sip.Status-Code",
    "sip.Via",
    "sip.from.tag",
    "sip.to.addr",
    "sip.auth",
];

/// A SIP message, by tshark.
#[derive(Clone, Debug)]
struct Message {
    /// Microseconds.
    time: i64,
    call_id: String,
    cseq: u32,
    method: String,
    code: Option<u16>,
    branch: String,
    from_tag: String,
    to: String,
    has_credentials: bool,
}

#[test]
fn disconnect_delays_and_registration_attempts_are_those_of_tsharks_messages() {
    if !ringtap_testing::program("tshark") {
        return;
    }
    let Some(folder) = ringtap_testing::shared() else { return };
    let (mut captures, mut disconnects, mut registrations, mut delays, mut failed) = (0, 0, 0, 0, 0);
    for path in shared::captures(&folder.join("captures")) {
        let Ok(records) = run::file(&path, Config::default(), 512) else { continue };
        let ended: Vec<&Call> = records.calls.iter().filter(|call| call.answer.is_some()).collect();
        if ended.is_empty() && records.registrations.is_empty() {
            continue;
        }
        let Some(messages) = messages(&path) else { continue };
        captures += 1;
        for call in ended.iter().filter(|call| call.end.is_some() && is_alone(&records.calls, call)) {
            let oracle = disconnect(&messages, &call.call_id);
            compare(call.sdd_ms, oracle, &format!("{} {}", path.display(), call.call_id));
            disconnects += usize::from(oracle.is_some());
        }
        for record in &records.registrations {
            if let Some(attempts) = compare_registration(record, &records.registrations, &messages, &path) {
                registrations += 1;
                delays += usize::from(record.rrd_ms_max.is_some());
                failed += attempts.iter().filter(|attempt| attempt.is_failed).count();
            }
        }
    }
    println!(
        "delays: {captures} captures; {disconnects} answers to a BYE, {registrations} registrations \
         ({delays} with a delay, {failed} failed attempts) agree"
    );
    assert!(disconnects >= 100 && delays >= 10 && failed >= 5, "{disconnects}, {delays}, {failed}");
}

fn is_alone(calls: &[Call], call: &Call) -> bool {
    calls.iter().filter(|other| other.call_id == call.call_id).count() == 1
}

fn compare(ours: Option<f64>, oracle: Option<f64>, name: &str) {
    let agrees = match (ours, oracle) {
        (Some(ours), Some(oracle)) => (ours - oracle).abs() < 0.0021,
        (None, None) => true,
        _ => false,
    };
    assert!(agrees, "{name}: {ours:?} ms, by tshark {oracle:?} ms");
}

/// The messages of a capture; None where one frame has several, or none of them can be read.
fn messages(path: &Path) -> Option<Vec<Message>> {
    let mut command = Command::new("tshark");
    command.arg("-r").arg(path).args(["-Y", "sip"]);
    command.args(["-T", "fields", "-E", "occurrence=a", "-E", "aggregator=\u{1}", "-E", "separator=\u{2}"]);
    FIELDS.iter().for_each(|field| _ = command.args(["-e", field]));
    let output = command.output().expect("tshark runs: `make packages-test` installs it");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let mut messages = Vec::new();
    for line in text.lines() {
        let columns: Vec<&str> = line.split('\u{2}').collect();
        let [time, call_id, cseq, cseq_method, method, code, via, from_tag, to, auth] = columns[..] else {
            continue;
        };
        let first = |text: &str| text.split('\u{1}').next().unwrap_or_default().to_owned();
        if call_id.contains('\u{1}') {
            return None;
        }
        let (Ok(cseq), Some(time)) = (first(cseq).parse(), micros(time)) else { continue };
        messages.push(Message {
            time,
            call_id: call_id.to_owned(),
            cseq,
            method: if method.is_empty() { first(cseq_method) } else { first(method) },
            code: first(code).parse().ok(),
            branch: top_branch(&first(via)),
            from_tag: first(from_tag),
            to: first(to),
            has_credentials: !auth.is_empty(),
        });
    }
    messages.sort_by_key(|message| message.time);
    (!messages.is_empty()).then_some(messages)
}

/// The branch of the first Via; that of another names another hop's transaction.
fn top_branch(via: &str) -> String {
    let branch = via.split(';').find_map(|part| part.trim().strip_prefix("branch="));
    branch.unwrap_or_default().to_owned()
}

fn micros(seconds: &str) -> Option<i64> {
    let (whole, fraction) = seconds.split_once('.')?;
    Some(whole.parse::<i64>().ok()? * 1_000_000 + fraction.get(..6)?.parse::<i64>().ok()?)
}

/// From the first BYE of a call to the first 2xx of its transaction, in ms; a challenge that the same side
/// answers does not end it. Without a branch (RFC 2543) nobody can tell two hops apart.
fn disconnect(messages: &[Message], call_id: &str) -> Option<f64> {
    let byes: Vec<&Message> =
        messages.iter().filter(|message| message.call_id == call_id && message.method == "BYE").collect();
    let first = byes.iter().find(|message| message.code.is_none()).filter(|bye| !bye.branch.is_empty())?;
    let mut current = *first;
    loop {
        let answers = || {
            byes.iter().filter(|other| {
                other.code.is_some_and(|code| code >= 200)
                    && (&other.branch, other.cseq) == (&current.branch, current.cseq)
            })
        };
        if let Some(answer) = answers().find(|answer| answer.code.is_some_and(|code| code < 300)) {
            return Some((answer.time - first.time) as f64 / 1e3);
        }
        let challenge = answers().find(|answer| matches!(answer.code, Some(401 | 407)))?;
        current = byes.iter().find(|next| {
            next.code.is_none()
                && next.time >= challenge.time
                && next.cseq > current.cseq
                && next.from_tag == first.from_tag
        })?;
    }
}

/// An attempt to register, by tshark.
#[derive(Clone, Copy, Debug)]
struct Attempt {
    delay_ms: Option<f64>,
    is_failed: bool,
}

fn compare_registration(
    record: &Registration,
    all: &[Registration],
    messages: &[Message],
    path: &Path,
) -> Option<Vec<Attempt>> {
    // The record does not have its Call-ID: it is that of the message at its time.
    let is_of =
        |message: &&Message| message.method == "REGISTER" && message.to == format!("sip:{}", record.aor);
    let first = messages.iter().filter(is_of).find(|message| message.time == record.first.micros() as i64)?;
    let own: Vec<&Message> =
        messages.iter().filter(is_of).filter(|message| message.call_id == first.call_id).collect();
    // One that ended and began again has several records.
    let records = all.iter().filter(|other| {
        own.iter().any(|message| message.time == other.first.micros() as i64) && other.aor == record.aor
    });
    if records.count() > 1 || own.first().map(|message| message.time) != Some(first.time) {
        return None;
    }
    // Where several hops pass, or copies of one, the answer of which counts depends on which was seen first.
    let is_on_one_hop = own.iter().all(|message| {
        let same = |other: &&&Message| (other.cseq, other.code) == (message.cseq, message.code);
        own.iter().filter(same).all(|other| other.branch == message.branch)
    });
    if !is_on_one_hop {
        return None;
    }
    let attempts = attempts(&own);
    let name = format!("{} {}", path.display(), record.aor);
    let failed = attempts.iter().filter(|attempt| attempt.is_failed).count();
    assert_eq!(record.attempts, Some(attempts.len() as u32), "{name}: attempts {attempts:?}");
    assert_eq!(record.failed, Some(failed as u32), "{name}: failed {attempts:?}");
    let delays: Vec<f64> = attempts.iter().filter_map(|attempt| attempt.delay_ms).collect();
    let mean = delays.iter().sum::<f64>() / delays.len() as f64;
    compare(record.rrd_ms_mean, (!delays.is_empty()).then_some(mean), &name);
    compare(record.rrd_ms_max, delays.iter().copied().reduce(f64::max), &name);
    Some(attempts)
}

/// What became of the REGISTERs of one Call-ID: first each number for itself, then numbers that belong
/// together.
fn attempts(messages: &[&Message]) -> Vec<Attempt> {
    let mut transactions: Vec<(&Message, Vec<&Message>)> = Vec::new();
    for message in messages {
        let known = transactions.iter_mut().rfind(|(first, _)| first.cseq == message.cseq);
        match (message.code, known) {
            (None, None) => transactions.push((message, Vec::new())),
            (Some(code), Some((_, answers))) if code >= 200 => answers.push(message),
            _ => {}
        }
    }
    let mut attempts = Vec::new();
    let mut began = None;
    for (index, (first, answers)) in transactions.iter().enumerate() {
        let began_at = *began.get_or_insert(first.time);
        let codes: Vec<u16> = answers.iter().filter_map(|answer| answer.code).collect();
        let answered: Vec<&&Message> =
            answers.iter().filter(|answer| answer.code.is_some_and(|code| code < 300)).collect();
        if let Some(last) = answered.last() {
            let own = answered.iter().find(|answer| answer.branch == first.branch).unwrap_or(last);
            attempts.push(Attempt { delay_ms: Some((own.time - began_at) as f64 / 1e3), is_failed: false });
            began = None;
            continue;
        }
        let is_challenged = matches!(codes.first(), Some(401 | 407));
        let next = transactions.get(index + 1);
        let is_answered =
            next.is_some_and(|(next, _)| next.has_credentials && next.time - first.time < 40_000_000);
        if !(is_challenged && is_answered) {
            let is_redirected = codes.first().is_some_and(|code| (300..400).contains(code));
            attempts.push(Attempt { delay_ms: None, is_failed: !is_redirected });
            began = None;
        }
    }
    attempts
}

#[test]
fn the_oracle_joins_a_challenge_with_its_answer() {
    let message = |time: i64, cseq, code| Message {
        time: time * 1000,
        call_id: "a".into(),
        cseq,
        method: "REGISTER".into(),
        code,
        branch: cseq.to_string(),
        from_tag: String::new(),
        to: String::new(),
        has_credentials: cseq > 1,
    };
    let all = [
        message(0, 1, None),
        message(10, 1, Some(401)),
        message(20, 2, None),
        message(50, 2, Some(200)),
        message(60_000, 3, None),
        message(60_010, 3, Some(401)),
    ];
    let found = attempts(&all.iter().collect::<Vec<_>>());
    let found: BTreeMap<usize, (Option<f64>, bool)> =
        found.iter().map(|attempt| (attempt.delay_ms, attempt.is_failed)).enumerate().collect();
    assert_eq!(found, BTreeMap::from([(0, (Some(50.0), false)), (1, (None, true))]));
}

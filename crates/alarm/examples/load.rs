//! What alarms cost: 200 rules over 1,000 trunks, at 1,000 calls a second, of which 52,000 are in progress
//! with 104,000 streams. Prints the share of a core for the events, and for the rules.
//!
//! `cargo run --release -p ringtap-alarm --example load [SECONDS]`
#![expect(clippy::print_stdout, reason = "it is a measurement")]

use std::net::{IpAddr, Ipv4Addr};

use ringtap_alarm::{
    CallAnswered, CallBegan, CallEnded, Evaluator, Event, IntervalSeen, Limit, Per, Rule, Settings, Watched,
};
use ringtap_model::{CallState, Nanos, Severity};

const TRUNKS: u64 = 1_000;
const CALLS_A_SECOND: u64 = 1_000;
/// Seconds that a call lasts.
const LENGTH: u64 = 52;
/// Seconds before the measurement: the calls in progress, and the windows of most rules, are there then.
const BEFORE: u64 = 70;

fn main() {
    let seconds = std::env::args().nth(1).and_then(|seconds| seconds.parse().ok()).unwrap_or(60_u64);
    let rules = rules();
    println!("{} rules", rules.len());
    let trunks = (0..TRUNKS).map(|number| trunk(number).into()).collect();
    let start = 1_795_392_000;
    let mut evaluator = Evaluator::new(Settings { rules, trunks, ..Settings::default() }, second(start));
    let (mut counting, mut looking, mut events, mut before) = (0, 0, 0, 0);
    for number in start..start + BEFORE + seconds {
        let all = events_of(number, start);
        if number == start + BEFORE {
            (counting, looking, events) = (0, 0, 0);
            before = evaluator.counts().evaluations;
        }
        let begun = cpu_time();
        all.iter().for_each(|event| evaluator.event(event));
        let counted = cpu_time();
        let changes = evaluator.advance(second(number + 1));
        let looked = cpu_time();
        assert!(changes.is_empty(), "{}", changes[0].alarm.text);
        (counting, looking) = (counting + counted - begun, looking + looked - counted);
        events += all.len() as u64;
    }
    let counts = evaluator.counts();
    let share = |nanos: u64| nanos as f64 / seconds as f64 / 1e7;
    let a_second = |count: u64| count / seconds;
    println!("{} calls and {} subjects are followed", counts.calls, counts.subjects);
    println!(
        "events: {} a second, {} ns each: {:.2} % of a core",
        a_second(events),
        counting / events,
        share(counting)
    );
    let evaluations = counts.evaluations - before;
    println!(
        "rules: {} evaluations a second, {} ns each with the slots: {:.2} % of a core",
        a_second(evaluations),
        looking / evaluations.max(1),
        share(looking)
    );
}

/// 24 figures over four times with two severities each, and eight that look at the last seconds.
fn rules() -> Vec<Rule> {
    let figures = [
        ("asr", false),
        ("ner", false),
        ("ner_isa", false),
        ("ner_without_4xx", false),
        ("ser", false),
        ("seer", false),
        ("isa", true),
        ("sdd_ms_p50", true),
        ("acd_ms", true),
        ("duration_ms_p50", true),
        ("pdd_ms_p50", true),
        ("pdd_ms_p95", true),
        ("srd_failed_ms_p50", true),
        ("ttr_ms_p50", true),
        ("answer_ms_p50", true),
        ("sdd_ms_p95", true),
        ("short_calls", true),
        ("mos_p50", false),
        ("mos_p5", false),
        ("loss_pct_p95", true),
        ("jitter_ms_p95", true),
        ("loss_pct", true),
        ("begun", true),
        ("in_progress", true),
    ];
    let mut rules = Vec::new();
    for severity in [Severity::Warning, Severity::Critical] {
        for (figure, is_above) in figures {
            rules.extend([60, 300, 900, 3_600].map(|over| rule(figure, is_above, over, severity)));
        }
        let short = [("loss_pct", true), ("mos_p5", false), ("jitter_ms_p95", true), ("begun", false)];
        rules.extend(short.map(|(figure, is_above)| rule(figure, is_above, 20, severity)));
    }
    rules
}

/// A rule that never holds, but has to be looked at.
fn rule(figure: &str, is_above: bool, over: u64, severity: Severity) -> Rule {
    let raise = if is_above { 1e12 } else { 0.001 };
    let rule = Rule {
        name: format!("{figure} {over} {}", severity.name()),
        severity,
        watched: Watched::from_name(figure).expect("it is a figure"),
        per: Per::Trunk,
        only: Vec::new(),
        over: Nanos::from_secs(over),
        minimum: 1,
        limit: Limit { is_above, raise, clear: raise, of_week_ago: false },
        lasting: Nanos::ZERO,
        hours: None,
        notify: Vec::new(),
    };
    rule.check().expect("it can be evaluated");
    rule
}

/// All that happens in a second: calls begin, are answered in the same, and end; ten seconds of a tenth of
/// the streams are over.
fn events_of(number: u64, start: u64) -> Vec<Event> {
    let mut events = Vec::new();
    let passed = number - start;
    let calls = |from: u64| from * CALLS_A_SECOND..(from + 1) * CALLS_A_SECOND;
    for call in calls(passed) {
        events.push(began(call, number));
        events.push(Event::Answered(Box::new(CallAnswered {
            number: call,
            time: second(number),
            invite: Some(second(number)),
            trying: Some(second(number) + Nanos::from_millis(20)),
            ringing: Some(second(number) + Nanos::from_millis(500 + call % 400)),
            pdd_ms: Some(500.0 + (call % 400) as f64),
        })));
    }
    if passed >= LENGTH {
        events.extend(calls(passed - LENGTH).map(|call| ended(call, number)));
    }
    for age in (10..=LENGTH).step_by(10).filter(|age| *age <= passed) {
        for call in calls(passed - age) {
            events.extend((0..2).map(|side| interval(call, call + side, number)));
        }
    }
    events
}

fn began(call: u64, number: u64) -> Event {
    let address = |number: u64| IpAddr::V4(Ipv4Addr::from(0x0a00_0000 + number as u32));
    let (from, to) = (call % TRUNKS, (call * 7 + 1) % TRUNKS);
    Event::Began(Box::new(CallBegan {
        number: call,
        time: second(number),
        is_attempt: true,
        call_id: format!("{call:016x}-7dec-11d0@192.0.2.1").into(),
        from: Some(format!("+4930{:07}", call % 1_000_000).into()),
        to: Some(format!("+4989{:07}", call * 31 % 1_000_000).into()),
        src: address(from),
        dst: address(to),
        trunk_from: trunk(from).into(),
        trunk_to: trunk(to).into(),
        device: Some("Phone/1.0".into()),
    }))
}

fn ended(call: u64, number: u64) -> Event {
    let begun = second(number - LENGTH);
    Event::Ended(Box::new(CallEnded {
        number: call,
        time: second(number),
        state: CallState::Completed,
        code: 200,
        invite: Some(begun),
        trying: Some(begun + Nanos::from_millis(20)),
        ringing: Some(begun + Nanos::from_millis(500)),
        answer: Some(begun),
        pdd_ms: Some(500.0),
        sdd_ms: Some(20.0 + (call % 50) as f64),
        duration_ms: Some(52_000.0),
    }))
}

fn interval(call: u64, stream: u64, number: u64) -> Event {
    Event::Interval(Box::new(IntervalSeen {
        call: Some(call),
        time: second(number),
        codec: Some("PCMA".into()),
        packets: 500,
        lost: stream.is_multiple_of(50).into(),
        jitter_ms: 1.0 + (stream % 80) as f64 / 10.0,
        mos: Some(4.4 - (stream % 90) as f64 / 100.0),
    }))
}

fn trunk(number: u64) -> String {
    format!("carrier-{number}")
}

fn second(number: u64) -> Nanos {
    Nanos::from_secs(number)
}

/// Nanoseconds that this thread ran.
fn cpu_time() -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").expect("the kernel counts CPU time");
    text.split(' ').next().and_then(|nanos| nanos.parse().ok()).expect("it begins with nanoseconds")
}

//! Rules, one by one: what raises and clears them, and what they say.

mod common;

use common::{MONDAY, TestCall, at, health, interval, play, rule, shown};
use ringtap_alarm::{Evaluator, Event, HealthFigure, Hours, Rule, Settings, Silence};
use ringtap_model::Nanos;

fn evaluator(rules: Vec<Rule>) -> Evaluator {
    let trunks = vec!["carrier-a".into(), "carrier-b".into()];
    Evaluator::new(Settings { rules, trunks, ..Settings::default() }, MONDAY)
}

fn calls(calls: &[TestCall]) -> Vec<Event> {
    calls.iter().flat_map(TestCall::events).collect()
}

/// 20 calls on carrier-a, all answered, then 20 that fail with 503.
#[test]
fn asr_of_a_trunk() {
    let mut evaluator = evaluator(vec![rule("asr", "asr", "trunk", 60, ("below", 40.0, 60.0))]);
    let mut all: Vec<TestCall> = (0..20).map(|n| TestCall::answered(n, n as f64, 30.0)).collect();
    all.extend((20..40).map(|n| TestCall::failed(n, 60.0 + (n - 20) as f64, 503)));
    all.extend((40..100).map(|n| TestCall::answered(n, 80.0 + (n - 40) as f64, 10.0)));
    let changes = play(&mut evaluator, calls(&all), 300.0);
    // Answered 4 s to 24 s, failed 62 s to 82 s: at 76 s, 60 s hold 8 answered and 14 failed: 36 %.
    assert_eq!(shown(&changes), ["raised 76 asr carrier-a", "cleared 116 asr carrier-a"]);
    let alarm = &changes[0].alarm;
    assert_eq!(
        alarm.text,
        "Trunk carrier-a: ASR 36.4 % over the last 1 min (at least 40 %), 22 calls behind it."
    );
    assert_eq!((alarm.behind, alarm.calls.len()), (22, 10));
    assert_eq!(alarm.calls[0], "call-33");
    assert!(changes[1].alarm.worst.unwrap() < 20.0);
    assert_eq!(evaluator.standing().count(), 0);
}

/// No calls on a trunk: one that had calls, and one that never had any.
#[test]
fn absence_on_a_trunk() {
    let mut rule = rule("silent", "begun", "trunk", 300, ("below", 1.0, 1.0));
    rule.minimum = 0;
    let mut evaluator = evaluator(vec![rule]);
    // A slot has 20 s: the call counts from 100 s to 120 s, and leaves with its slot.
    let all = [TestCall::answered(1, 100.0, 10.0), TestCall::answered(2, 1_000.0, 10.0)];
    let changes = play(&mut evaluator, calls(&all), 1_200.0);
    assert_eq!(
        shown(&changes),
        ["raised 300 silent carrier-b", "raised 420 silent carrier-a", "cleared 1020 silent carrier-a"]
    );
    let alarm = &changes[1].alarm;
    assert_eq!((alarm.value, alarm.threshold), (None, 1.0));
    assert_eq!(alarm.text, "Trunk carrier-a: no call began over the last 5 min (at least 1).");
}

/// While the capture loses packets, and for as long as the rule looks back, silence says nothing.
#[test]
fn absence_is_suspended_while_the_capture_loses_packets() {
    let mut rule = rule("silent", "begun", "total", 60, ("below", 1.0, 1.0));
    rule.minimum = 0;
    let mut evaluator = evaluator(vec![rule]);
    let mut events = calls(&[TestCall::answered(1, 10.0, 10.0)]);
    let loss = |second: u32| if second < 200 { 0.2 } else { 0.05 };
    events.extend((0..60).map(|n| health(f64::from(n * 5), HealthFigure::CaptureLoss, "eth0", loss(n * 5))));
    let changes = play(&mut evaluator, events, 400.0);
    // The last loss at 195 s: suspended until the beat after 255 s.
    assert_eq!(shown(&changes), ["raised 256 silent "]);
    assert!(evaluator.counts().suspended > 0);
}

#[test]
fn loss_says_that_the_capture_loses_packets_too() {
    let mut evaluator = evaluator(vec![rule("loss", "loss_pct", "trunk", 20, ("above", 1.0, 0.5))]);
    let mut events = vec![health(1.0, HealthFigure::CaptureLoss, "eth0", 0.4)];
    for n in 0..5 {
        let call = TestCall::answered(n, 0.0, 1_000.0);
        events.extend(call.events());
        events.extend((1..6).map(|ten| interval(Some(n), f64::from(ten) * 10.0, 485, 15, 3.0)));
    }
    let changes = play(&mut evaluator, events, 200.0);
    let alarm = &changes[0].alarm;
    assert_eq!(
        alarm.text,
        "Trunk carrier-a: 3 % of packets lost over the last 20 s (limit 1 %), 10 intervals of streams behind \
         it; this monitor loses 0.40 % of the packets itself at this time."
    );
    assert_eq!(alarm.calls.len(), 5);
    // The last interval ends at 50 s: when nothing is behind it, it clears.
    assert_eq!(shown(&changes)[1], "cleared 72 loss carrier-a");
}

#[test]
fn silenced_acknowledged_repeated() {
    let mut evaluator = {
        let mut rule = rule("silent", "begun", "trunk", 60, ("below", 1.0, 1.0));
        (rule.minimum, rule.only) = (0, vec!["carrier-b".into()]);
        let settings = Settings {
            rules: vec![rule],
            trunks: vec!["carrier-a".into(), "carrier-b".into()],
            repeat: Nanos::from_secs(100),
            ..Settings::default()
        };
        Evaluator::new(settings, MONDAY)
    };
    let silence = |until: f64| Silence {
        rule: "sil*".into(),
        subject: "carrier-b".into(),
        until: at(until),
        by: "ann".into(),
        comment: "works on the line".into(),
    };
    assert!(evaluator.silence(silence(0.0), at(0.0)).is_err());
    evaluator.silence(silence(90.0), at(0.0)).unwrap();
    let changes = play(&mut evaluator, Vec::new(), 250.0);
    // Silenced when it is raised; told when the silence is over, and again.
    assert_eq!(changes.iter().map(|change| change.silenced).collect::<Vec<_>>(), [true, false, false]);
    assert_eq!(changes[0].alarm.silenced_until, Some(at(90.0)));
    assert_eq!(changes[1].alarm.last, at(88.0));
    assert_eq!(changes[2].alarm.last, at(188.0));
    let id = changes[0].alarm.id;
    let change = evaluator.acknowledge(id, "ann", "seen", at(251.0)).unwrap();
    assert_eq!(change.alarm.acknowledged_by.as_deref(), Some("ann"));
    let mut later = Vec::new();
    (251..600).for_each(|second| later.extend(evaluator.advance(at(f64::from(second)))));
    assert_eq!(later, []);
    assert!(evaluator.acknowledge(ringtap_model::Id([9; 16]), "ann", "", at(600.0)).is_err());
    assert!(!evaluator.unsilence("x", "y", at(600.0)));
}

/// A rule for nights: what happened before 22:00 does not count, and its alarm ends with the night.
#[test]
fn hours() {
    let mut rule = rule("night", "begun", "total", 600, ("above", 5.0, 1.0));
    rule.hours = Some(Hours { days: [true; 7], from: 22 * 60, to: 6 * 60 });
    rule.minimum = 0;
    let mut evaluator = evaluator(vec![rule]);
    let hour = 3_600.0;
    let burst =
        |hours: f64, number: u64| (0..8).map(move |n| TestCall::failed(number + n, hours * hour, 486));
    let all: Vec<TestCall> = burst(12.0, 0).chain(burst(21.99, 100)).chain(burst(29.95, 200)).collect();
    let changes = play(&mut evaluator, calls(&all), 32.0 * hour);
    assert_eq!(shown(&changes), ["raised 107840 night ", "cleared 108000 night "]);
}

/// The rules of several times count the same as each alone, though only the shortest counts events.
#[test]
fn several_times_count_the_same_as_each_alone() {
    let asr = |over: u64| rule(&format!("asr {over}"), "asr", "trunk", over, ("below", 50.0, 70.0));
    let loss = |over: u64| rule(&format!("loss {over}"), "loss_pct", "trunk", over, ("above", 1.0, 0.5));
    let mos = |over: u64| rule(&format!("mos {over}"), "mos_p5", "trunk", over, ("below", 3.5, 3.8));
    let mut events = Vec::new();
    for n in 0..600_u64 {
        let is_bad = n % 200 > 120;
        let call = match is_bad && n % 3 > 0 {
            true => TestCall::failed(n, n as f64, 503),
            false => TestCall::answered(n, n as f64, 40.0),
        };
        events.extend(call.events());
        let (lost, mos) = if is_bad { (20, 3.0) } else { (0, 4.4) };
        events.push(interval(Some(n), n as f64 + 1.5, 480, lost, mos));
    }
    // Slots of 1, 4, 20 and 60 s, which divide each other.
    let overs = [300, 15, 900, 60];
    let rules = |overs: &[u64]| overs.iter().flat_map(|over| [asr(*over), loss(*over), mos(*over)]).collect();
    let together = play(&mut evaluator(rules(&overs)), events.clone(), 2_000.0);
    assert!(together.len() > 30, "{:#?}", shown(&together));
    let mut alone = Vec::new();
    for over in overs {
        alone.extend(play(&mut evaluator(rules(&[over])), events.clone(), 2_000.0));
    }
    let lines = |changes: &[ringtap_alarm::Change]| {
        let mut lines: Vec<String> = shown(changes)
            .into_iter()
            .zip(changes)
            .map(|(line, c)| format!("{line} {}", c.alarm.text))
            .collect();
        lines.sort();
        lines
    };
    assert_eq!(lines(&together), lines(&alone));
}

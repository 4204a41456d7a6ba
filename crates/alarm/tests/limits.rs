//! Ceilings, restarts, and the hour a week ago.

mod common;

use common::{MONDAY, TestCall, at, interval, play, registration, rule, shown};
use ringtap_alarm::{ChangeKind, Evaluator, Event, Rule, Settings, Silence};
use ringtap_kpi::{CallFacts, CallTimes, Cell, Dimension, Key};
use ringtap_model::{CallState, Nanos};

fn evaluator(rules: Vec<Rule>) -> Evaluator {
    Evaluator::new(Settings { rules, trunks: vec!["carrier-a".into()], ..Settings::default() }, MONDAY)
}

/// Names from the wire fill no memory, and what finds no room is counted.
#[test]
fn hostile_names_have_a_ceiling() {
    let figures = [
        ("callees", "caller"),
        ("begun", "callee"),
        ("asr", "device"),
        ("begun", "prefix"),
        ("refused_users", "source"),
        ("registrations", "user"),
        ("new_country", "caller"),
        ("longest_call_s", "caller"),
        ("begun", "country"),
    ];
    let rules = figures.map(|(figure, per)| rule(figure, figure, per, 60, ("above", 1e9, 1e9)));
    let settings = Settings { rules: rules.into(), max_groups: 50, max_calls: 200, ..Settings::default() };
    let mut evaluator = Evaluator::new(settings, MONDAY);
    let mut events = Vec::new();
    for n in 0..2_000_u64 {
        let wild = format!("{}\u{1b}[2J\u{202e}{n}", "x".repeat((n % 300) as usize));
        let mut call = TestCall::failed(n, n as f64 / 20.0, 404);
        (call.from, call.to, call.end) = (Some(wild.clone()), format!("+{}{wild}", n % 998), 60.0);
        call.src = std::net::Ipv4Addr::from(n as u32);
        events.extend(call.events());
        events.push(registration(n as f64 / 20.0, &wild, call.src, 403));
        events.push(interval(Some(n), n as f64 / 20.0, u32::MAX, u32::MAX, f64::NAN));
    }
    let changes = play(&mut evaluator, events, 110.0);
    let counts = evaluator.counts();
    assert_eq!(shown(&changes), [""; 0]);
    assert!(counts.calls <= 200 && counts.calls_refused > 500, "{counts:?}");
    assert!(counts.subjects <= 50 * 8 && counts.subjects_refused > 1_000, "{counts:?}");
    // When all is over, all is forgotten.
    play(&mut evaluator, Vec::new(), 3_000.0);
    let counts = evaluator.counts();
    assert_eq!((counts.calls, counts.subjects), (0, 0), "{counts:?}");
}

#[test]
fn alarms_that_stand_have_a_ceiling() {
    let rules = vec![rule("many", "begun", "callee", 60, ("above", 1.0, 1.0))];
    let rules = rules.into_iter().map(|rule| Rule { minimum: 0, ..rule }).collect();
    let settings = Settings { rules, max_standing: 10, ..Settings::default() };
    let mut evaluator = Evaluator::new(settings, MONDAY);
    let call = |n: u64| TestCall { to: format!("+4930{n}"), ..TestCall::failed(n, 1.0, 486) };
    let changes = play(&mut evaluator, (0..40).flat_map(|n| call(n).events()).collect(), 200.0);
    assert_eq!(changes.iter().filter(|change| change.kind == ChangeKind::Raised).count(), 10);
    assert_eq!(changes.iter().filter(|change| change.kind == ChangeKind::Cleared).count(), 10);
    assert!(evaluator.counts().alarms_refused >= 30);
}

/// What was told twice, out of order, late or of nobody known changes nothing.
#[test]
fn events_that_make_no_sense() {
    let rules = || vec![rule("asr", "asr", "trunk", 60, ("below", 99.0, 99.0))];
    let mut calls: Vec<TestCall> = (0..20).map(|n| TestCall::answered(n, n as f64, 10.0)).collect();
    calls.extend((20..40).map(|n| TestCall::failed(n, n as f64, 503)));
    let events: Vec<Event> = calls.iter().flat_map(TestCall::events).collect();
    let mut once = evaluator(rules());
    let expected = play(&mut once, events.clone(), 200.0);
    assert_eq!(expected.len(), 2);
    let mut twice = evaluator(rules());
    let mut more: Vec<Event> = events
        .into_iter()
        .flat_map(|event| match event {
            Event::Began(_) => vec![event],
            event => vec![event.clone(), event],
        })
        .collect();
    more.push(TestCall::failed(77, 30.0, 503).ended());
    let changes = play(&mut twice, more, 200.0);
    assert_eq!(changes, expected);
    assert_eq!(twice.counts().unknown, 1);
    // Older than the time of the rule.
    let mut late = evaluator(rules());
    late.advance(at(1_000.0));
    let old = TestCall::failed(1, 1.0, 503);
    old.events().iter().for_each(|event| late.event(event));
    assert_eq!(late.counts().late, 2);
}

#[test]
fn the_order_within_a_slot_changes_nothing() {
    let rules = || {
        vec![
            rule("asr", "asr", "trunk_in", 60, ("below", 80.0, 90.0)),
            rule("loss", "loss_pct", "trunk_in", 60, ("above", 1.0, 0.5)),
            rule("callees", "callees", "trunk_in", 60, ("above", 5.0, 1.0)),
        ]
    };
    let run = |reverse: bool| {
        let mut evaluator = evaluator(rules());
        let mut changes = Vec::new();
        for slot in 0..30_u64 {
            changes.extend(evaluator.advance(at(slot as f64 * 4.0)));
            // Begin and end of a call stay in order.
            let mut calls: Vec<TestCall> = (0..8)
                .map(|n| TestCall {
                    trunk_from: format!("192.0.2.{}", n % 3),
                    to: format!("+49301{n}"),
                    ..TestCall::failed(slot * 8 + n, slot as f64 * 4.0, if n < 4 { 503 } else { 486 })
                })
                .collect();
            if reverse {
                calls.reverse();
            }
            for call in &calls {
                call.events().iter().for_each(|event| evaluator.event(event));
                evaluator.event(&interval(Some(call.number), slot as f64 * 4.0, 400, 20, 3.0));
            }
        }
        changes.extend((120..400).flat_map(|second| evaluator.advance(at(f64::from(second)))));
        // Which ten of the calls are shown is not the same: the newest ones.
        changes.iter_mut().for_each(|change| change.alarm.calls.clear());
        changes
    };
    let changes = run(false);
    assert!(changes.len() >= 12, "{:#?}", shown(&changes));
    assert_eq!(changes, run(true));
}

/// An alarm stands over a restart, until it was watched for long enough.
#[test]
fn a_restart() {
    let rules = || vec![Rule { minimum: 0, ..rule("busy", "begun", "trunk", 60, ("above", 5.0, 1.0)) }];
    let mut first = evaluator(rules());
    let calls: Vec<Event> = (0..8).flat_map(|n| TestCall::answered(n, n as f64, 300.0).events()).collect();
    let changes = play(&mut first, calls.into_iter().filter(|event| event.time() < at(30.0)).collect(), 30.0);
    assert_eq!(changes.len(), 1);
    let silence = Silence {
        rule: "x".into(),
        subject: "*".into(),
        until: at(9_000.0),
        by: "ann".into(),
        comment: String::new(),
    };
    first.silence(silence.clone(), at(30.0)).unwrap();
    let id = changes[0].alarm.id;
    first.acknowledge(id, "ann", "I know", at(30.0)).unwrap();
    let text = first.state();

    let mut second = Evaluator::new(
        Settings { rules: rules(), trunks: vec!["carrier-a".into()], ..Settings::default() },
        at(40.0),
    );
    for wrong in ["", "{}", "[1]", &text.replace("\"version\":1", "\"version\":2"), &text[..text.len() / 2]] {
        assert!(second.restore(wrong).is_err(), "{wrong}");
        assert_eq!((second.standing().count(), second.silences().len()), (0, 0));
    }
    second.restore(&text).unwrap();
    assert_eq!(second.state(), text);
    assert_eq!(second.silences(), [silence]);
    assert_eq!(second.standing().map(|alarm| alarm.id).collect::<Vec<_>>(), [id]);
    let mut later = Vec::new();
    (41..200).for_each(|second_| later.extend(second.advance(at(f64::from(second_)))));
    assert_eq!(shown(&later), ["cleared 100 busy carrier-a"]);
    assert_eq!(later[0].alarm.acknowledged_by.as_deref(), Some("ann"));

    // Without the rule, the alarm is over at once.
    let mut third = evaluator(Vec::new());
    third.restore(&text).unwrap();
    assert_eq!(third.advance(at(41.0)).len(), 1);
    assert_eq!(third.standing().count(), 0);
}

/// Half of the calls of the hour a week ago.
#[test]
fn the_hour_a_week_ago() {
    let mut few = rule("few", "begun", "trunk", 600, ("below", 50.0, 80.0));
    (few.limit.of_week_ago, few.minimum) = (true, 10);
    let mut evaluator = evaluator(vec![few]);
    let week = Nanos::from_secs(7 * 86_400);
    let hour = (MONDAY - week, MONDAY - week + Nanos::from_secs(3_600));
    assert_eq!(evaluator.wanted_baseline(at(10.0)), Some(hour));
    // 120 calls an hour: 20 in ten minutes.
    let mut cell = Cell::default();
    let times = CallTimes {
        state: CallState::Failed,
        code: 486,
        invite: Some(MONDAY),
        trying: None,
        ringing: None,
        answer: None,
        end: Some(MONDAY),
        pdd_ms: None,
        sdd_ms: None,
        duration_ms: None,
    };
    (0..120).for_each(|_| cell.call(&CallFacts::whole(&times, Nanos::ZERO), false));
    let calls = |from: u64, count: u64, every: f64| {
        (from..from + count).flat_map(move |n| {
            TestCall::failed(n, 1.0 + (n - from) as f64 * every + from as f64, 486).events()
        })
    };
    // 30 s apart for ten minutes, then 75 s apart, which is 8 in ten minutes.
    let events: Vec<Event> = calls(0, 20, 30.0).chain(calls(600, 36, 75.0)).collect();
    let before = play(&mut evaluator, events.clone(), 1_500.0);
    assert_eq!(shown(&before), [""; 0]);
    assert!(evaluator.counts().without_baseline > 0);

    let mut evaluator = Evaluator::new(
        Settings {
            rules: vec![Rule {
                limit: ringtap_alarm::Limit { is_above: false, raise: 50.0, clear: 80.0, of_week_ago: true },
                ..rule("few", "begun", "trunk", 600, ("below", 50.0, 80.0))
            }],
            trunks: vec!["carrier-a".into()],
            ..Settings::default()
        },
        MONDAY,
    );
    evaluator.set_baseline(hour, &[(Key::new(Dimension::TrunkOut, "carrier-a"), cell)]);
    assert_eq!(evaluator.wanted_baseline(at(10.0)), None);
    assert_ne!(evaluator.wanted_baseline(at(3_600.0)), None);
    let changes = play(&mut evaluator, events, 3_000.0);
    assert_eq!(changes.len(), 1, "{:?}", shown(&changes));
    assert_eq!(
        changes[0].alarm.text,
        "Trunk carrier-a: 9 calls began over the last 10 min (at least 10, the same hour a week ago had 20)."
    );
    assert_eq!((changes[0].alarm.threshold, changes[0].alarm.value), (10.0, Some(9.0)));
}

//! Rules in generated traffic: what is wrong is found, once, and what is usual raises nothing.

mod common;

use std::net::Ipv4Addr;

use common::traffic::{Player, TRANSIT, TRUNKS, World, address, trunk};
use common::{MONDAY, TestCall, at, health, registration, rule, shown};
use ringtap_alarm::{ChangeKind, Evaluator, Event, HealthFigure, Hours, Rule, Settings, patterns};
use ringtap_model::{CallState, Nanos};

const HOUR: f64 = 3_600.0;
const DAY: f64 = 86_400.0;

/// The rules that the manual shows.
fn ready_rules() -> Vec<Rule> {
    let with = |mut rule: Rule, minimum: u64, lasting: u64| {
        (rule.minimum, rule.lasting) = (minimum, Nanos::from_secs(lasting));
        rule
    };
    let mut silent = with(rule("no calls", "begun", "trunk", 3_600, ("below", 1.0, 1.0)), 0, 0);
    let workdays = [true, true, true, true, true, false, false];
    silent.hours = Some(Hours { days: workdays, from: 8 * 60, to: 18 * 60 });
    vec![
        with(rule("packet loss", "loss_pct", "trunk", 20, ("above", 1.0, 0.5)), 100, 0),
        with(rule("bad quality", "mos_p50", "trunk", 300, ("below", 3.6, 3.8)), 200, 0),
        with(rule("calls fail", "ner", "trunk", 900, ("below", 60.0, 75.0)), 50, 0),
        with(rule("slow set-up", "pdd_ms_p95", "trunk", 900, ("above", 10_000.0, 8_000.0)), 50, 0),
        silent,
        with(rule("registrations fail", "ira", "total", 600, ("above", 20.0, 10.0)), 50, 60),
        with(rule("capture loss", "capture_loss_pct", "part", 60, ("above", 0.1, 0.05)), 0, 0),
        with(rule("disk full", "disk_used_pct", "part", 60, ("above", 90.0, 85.0)), 0, 0),
    ]
}

fn all_patterns() -> Vec<Rule> {
    patterns().into_iter().flat_map(|pattern| pattern.rules).collect()
}

fn player(rules: Vec<Rule>, learning: f64, from: f64) -> Player {
    let settings = Settings {
        rules,
        trunks: (0..TRUNKS).map(|number| trunk(number).into()).collect(),
        country: "49".into(),
        premium: vec!["+49900".into()],
        learning: Nanos::from_secs(learning as u64),
        repeat: Nanos::ZERO,
        ..Settings::default()
    };
    settings.rules.iter().for_each(|rule| assert_eq!(rule.check(), Ok(())));
    Player::new(Evaluator::new(settings, at(from)), from as u64)
}

/// 1,250 calls at a time over fifty trunks, so about fifty of each; 3 % loss on one of them for four minutes.
fn trunk_with_loss(seed: u64) {
    let mut world = World::new(seed, 1.0, true);
    let mut player = player([ready_rules(), all_patterns()].concat(), 14.0 * DAY, 9.0 * HOUR);
    let (from, to) = (9.0 * HOUR, 9.0 * HOUR + 1_500.0);
    // It begins at an odd second.
    let (bad_from, bad_to) = (from + 903.7, from + 1_143.7);
    let mut events = Vec::new();
    let mut time = from;
    while time < to {
        // 7 calls a second of 180 s: 1,260 in progress, of which 50 pass each trunk.
        time += 1.0 / 7.0;
        let mut call = world.call(time);
        (call.state, call.code, call.answer) = (CallState::Completed, 200, Some(4.0));
        call.end = 94.0 + 180.0 * world.random.share();
        let is_bad = call.trunk_from == "customer-17" || call.trunk_to == "customer-17";
        world.add(&call, is_bad.then_some((bad_from, bad_to, 0.03)), &mut events);
    }
    events.extend(
        (0..15).map(|n| health(9.0 * HOUR + f64::from(n) * 100.0, HealthFigure::DiskUsed, "/", 60.0)),
    );
    let changes = player.play(events, to + 600.0);
    let [raised, cleared] = changes.as_slice() else { panic!("seed {seed}: {:#?}", shown(&changes)) };
    assert_eq!((raised.kind, cleared.kind), (ChangeKind::Raised, ChangeKind::Cleared));
    assert_eq!((raised.alarm.rule.as_str(), raised.alarm.subject.as_str()), ("packet loss", "customer-17"));
    let after = |time: Nanos, second: f64| time.since(MONDAY).secs_f64() - second;
    let delay = after(raised.alarm.raised, bad_from);
    assert!((0.0..=20.0).contains(&delay), "seed {seed}: raised after {delay} s");
    let delay = after(cleared.alarm.cleared.expect("it cleared"), bad_to);
    assert!((0.0..=40.0).contains(&delay), "seed {seed}: cleared after {delay} s");
    assert_eq!(raised.alarm.calls.len(), 10);
    assert!(raised.alarm.text.starts_with("Trunk customer-17: 1."), "{}", raised.alarm.text);
}

#[test]
fn loss_on_one_of_fifty_trunks_is_one_alarm_within_20_seconds() {
    (1..=3).for_each(trunk_with_loss);
}

/// A week of 0.3 calls a second at the busiest time, with streams, registrations and figures of the monitor.
fn quiet_week(seed: u64) {
    let mut world = World::new(seed, 0.3, true);
    let mut player = player([ready_rules(), all_patterns()].concat(), 3.0 * DAY, 0.0);
    for day in 0..7 {
        let mut events = world.day(day);
        events.extend((0..8_640).flat_map(|ten| {
            let time = day as f64 * DAY + 10.0 * f64::from(ten);
            [
                health(time, HealthFigure::CaptureLoss, "eth0", 0.01),
                health(time, HealthFigure::DiskUsed, "/", 70.0),
            ]
        }));
        let changes = player.play(events, (day + 1) as f64 * DAY);
        assert_eq!(shown(&changes), [""; 0], "seed {seed}, day {day}");
    }
    let counts = player.evaluator.counts();
    assert!(player.events > 1_000_000 && counts.evaluations > 1_000_000, "{counts:?}");
    assert_eq!((counts.calls_refused, counts.subjects_refused, counts.late), (0, 0, 0));
    // What was followed is forgotten.
    assert!(counts.calls < 200 && counts.subjects < 3_000, "{counts:?}");
}

#[test]
fn a_quiet_week_raises_nothing() {
    quiet_week(4);
}

/// A month with all patterns, of 0.2 calls a second at the busiest time and 200 devices.
fn normal_month(seed: u64) {
    let mut world = World::new(seed, 0.2, false);
    let mut player = player(all_patterns(), 14.0 * DAY, 0.0);
    for day in 0..30 {
        let events = world.day(day);
        let changes = player.play(events, (day + 1) as f64 * DAY);
        assert_eq!(shown(&changes), [""; 0], "seed {seed}, day {day}");
    }
    assert!(player.events > 1_000_000);
}

#[test]
fn a_normal_month_raises_nothing() {
    normal_month(5);
}

#[test]
fn another_normal_month_raises_nothing() {
    normal_month(6);
}

/// A call of an attack: answered, for a minute.
fn call(number: u64, start: f64, from: &str, to: String, src: u64) -> TestCall {
    TestCall {
        from: Some(from.into()),
        to,
        src: address(src),
        trunk_from: trunk(src),
        trunk_to: trunk((src + 1) % TRUNKS),
        ..TestCall::answered(1_000_000_000 + number, start, 64.0)
    }
}

/// Each attack: its pattern, whom the alarm names, and what happens in the hour from then.
fn attacks(start: f64) -> Vec<(&'static str, &'static str, Vec<Event>)> {
    let caller = "+4930555000";
    let calls = |count: u64, every: f64, to: &dyn Fn(u64) -> String, src: u64| -> Vec<TestCall> {
        (0..count).map(|n| call(n, start + n as f64 * every, caller, to(n), src)).collect()
    };
    let events = |calls: Vec<TestCall>| calls.iter().flat_map(TestCall::events).collect::<Vec<_>>();
    let spread = |n: u64| n * 7_919 % 1_000_000;
    let mut from_anyone = calls(15, 120.0, &|n| format!("+535{:07}", spread(n)), 20);
    from_anyone.iter_mut().zip(0..).for_each(|(call, n)| call.from = Some(format!("+4930020{n:05}")));
    let countries = [1, 7, 20, 27, 30, 31, 33, 34, 39, 44, 48, 61];
    let mut unanswered = calls(60, 4.0, &|n| format!("08955{:06}", spread(n)), 2);
    for call in &mut unanswered {
        (call.answer, call.ringing, call.end) = (None, Some(1.0), 3.0);
        (call.state, call.code) = (CallState::Cancelled, 487);
    }
    let scanner = Ipv4Addr::new(192, 0, 2, 66);
    let register = |n: u64, every: f64, aor: String, code: u16| {
        registration(start + n as f64 * every, &aor, scanner, code)
    };
    let mut long = call(1, start, caller, "08912345".into(), 30);
    long.end = 6.0 * HOUR;
    let new_country_source = "198.51.100.20";
    vec![
        ("premium_burst", caller, events(calls(20, 90.0, &|n| format!("09001{:07}", spread(n)), 20))),
        ("new_destination", new_country_source, events(from_anyone)),
        (
            "many_countries",
            caller,
            events(calls(12, 200.0, &|n| format!("+{}5{:07}", countries[n as usize], spread(n)), TRANSIT)),
        ),
        ("sequential_numbers", caller, events(calls(20, 60.0, &|n| format!("089700{n:03}"), 20))),
        (
            "extension_scan",
            "192.0.2.66",
            (0..60).map(|n| register(n, 2.0, format!("{}@example.org", 1_000 + n), 403)).collect(),
        ),
        (
            "registration_storm",
            "9@example.org",
            (0..300).map(|n| register(n, 0.4, "9@example.org".into(), 200)).collect(),
        ),
        (
            "password_guessing",
            "9@example.org",
            (0..80).map(|n| register(n, 5.0, "9@example.org".into(), 403)).collect(),
        ),
        ("very_long_call", caller, events(vec![long])),
        ("wangiri", caller, events(unanswered)),
    ]
}

fn attacked(seed: u64, name: &str, subject: &str, attack: Vec<Event>) {
    let mut world = World::new(seed, 0.1, false);
    let mut player = player(all_patterns(), DAY, 0.0);
    let mut events: Vec<Event> = (0..3).flat_map(|day| world.day(day)).collect();
    events.extend(attack);
    let changes = player.play(events, 3.0 * DAY);
    let raised = |kind: ChangeKind| changes.iter().filter(move |change| change.kind == kind);
    let lines: Vec<_> = shown(&changes);
    assert_eq!(raised(ChangeKind::Raised).count(), 1, "seed {seed}, {name}: {lines:#?}");
    assert_eq!(raised(ChangeKind::Cleared).count(), 1, "seed {seed}, {name}: {lines:#?}");
    let alarm = &changes[0].alarm;
    assert_eq!((alarm.rule.as_str(), alarm.subject.as_str()), (name, subject), "{lines:#?}");
    let is_about_calls = !matches!(name, "extension_scan" | "registration_storm" | "password_guessing");
    assert_eq!(!alarm.calls.is_empty(), is_about_calls, "{name}: {:?}", alarm.calls);
    assert!(alarm.calls.iter().all(|id| id.starts_with("call-1000000")), "{name}: {:?}", alarm.calls);
}

fn each_attack(seed: u64) {
    for (name, subject, attack) in attacks(2.0 * DAY + 10.0 * HOUR) {
        attacked(seed, name, subject, attack);
    }
    // At night: fifteen calls to a country that is called from there by day, too.
    let abroad = |n: u64| {
        let start = 2.0 * DAY + 2.0 * HOUR + n as f64 * 100.0;
        call(n, start, "+4930555000", format!("+335{:07}", n * 7_919), TRANSIT)
    };
    let night = (0..15).flat_map(|n| abroad(n).events()).collect();
    attacked(seed, "night_calls", "+4930555000", night);
}

#[test]
fn each_attack_is_one_alarm() {
    each_attack(7);
}

#[test]
fn each_attack_is_one_alarm_in_other_traffic() {
    each_attack(8);
}

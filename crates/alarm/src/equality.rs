//! A figure of a rule is the KPI of the same calls.

use proptest::prelude::*;
use ringtap_kpi::{Dimension, FIGURES, Fold, Table, View};
use ringtap_model::{Call, CallState, Id, Nanos, Registration, Severity, Stream};
use ringtap_testing::samples;

use crate::{Evaluator, Event, Limit, Per, RegistrationSeen, Rule, Settings, Watched};

/// A call of the last 50 minutes, with the code and the length that a number gives.
fn call(number: u16, second: u32, code: u16, length: u16) -> (Call, Vec<Stream>) {
    let start = samples::START + Nanos::from_secs(second.into());
    let after = |millis: u64| Some(start + Nanos::from_millis(millis));
    let millis = u64::from(length) * 137;
    let mut id = [0; 16];
    id[..2].copy_from_slice(&number.to_be_bytes());
    let answered = code == 200;
    let call = Call {
        id: Id(id),
        call_id: format!("call-{number}"),
        trunk_from: Some("carrier-a".into()),
        trunk_to: None,
        state: match code {
            200 => CallState::Completed,
            487 => CallState::Cancelled,
            300..400 => CallState::Redirected,
            0 => CallState::Timeout,
            _ => CallState::Failed,
        },
        final_code: code,
        invite: Some(start),
        trying: after(20),
        ringing: after(100 + millis),
        answer: after(200 + millis).filter(|_| answered),
        end: after(300 + 3 * millis),
        pdd_ms: Some(100.0 + millis as f64),
        sdd_ms: answered.then_some(f64::from(length)),
        duration_ms: answered.then_some(100.0 + 2.0 * millis as f64),
        conversation: None,
        ..samples::call()
    };
    let stream = |packets: u32, lost: u32| {
        let mut stream = samples::stream();
        (stream.packets, stream.unique, stream.lost) = (packets.into(), packets.into(), lost.into());
        (stream.mos, stream.jitter_ms_mean) = (Some(f64::from(length % 30) / 10.0 + 1.0), Some(2.5));
        stream.rtt_ms = None;
        stream.codec = Some("PCMA".into());
        stream.intervals = vec![ringtap_model::Interval {
            start,
            packets,
            lost,
            jitter_ms: 2.5,
            mos: stream.mos,
            ..stream.intervals[0].clone()
        }];
        stream
    };
    let streams = if answered { vec![stream(500, length.into()), stream(480, 0)] } else { Vec::new() };
    (call, streams)
}

fn rule(figure: &str, per: Per) -> Rule {
    let rule = Rule {
        name: figure.into(),
        severity: Severity::Info,
        watched: Watched::from_name(figure).unwrap(),
        per,
        only: Vec::new(),
        over: Nanos::from_secs(86_400),
        minimum: 1,
        limit: Limit { is_above: true, raise: 1e9, clear: 1e9, of_week_ago: false },
        lasting: Nanos::ZERO,
        hours: None,
        notify: Vec::new(),
    };
    assert_eq!(rule.check(), Ok(()));
    rule
}

const CODES: [u16; 11] = [0, 200, 200, 200, 302, 404, 480, 486, 487, 503, 603];

fn is_of_registrations(figure: &str) -> bool {
    figure == "ira" || figure.starts_with("rrd_")
}

/// The KPIs that [`Fold`] computes of the records.
fn folded(calls: &[(Call, Vec<Stream>)], registrations: &[Registration], name: &str) -> (Option<f64>, u64) {
    let mut fold = Fold::new(ringtap_kpi::Settings::default());
    calls.iter().for_each(|(call, streams)| fold.call(call, streams));
    registrations.iter().for_each(|registration| fold.registration(registration));
    let dimension = if is_of_registrations(name) { Dimension::Total } else { Dimension::TrunkIn };
    let mut table = Table::new(vec![dimension], None, true);
    fold.finish().iter().for_each(|(minute, rollup)| table.add(*minute, rollup));
    let rows = table.rows();
    let figure = FIGURES.iter().find(|figure| figure.name == name).unwrap();
    let Some(row) = rows.first() else { return (None, 0) };
    (figure.value)(&View { cell: &row.cell, concurrent: None })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn each_figure_of_a_rule_is_the_kpi_of_the_records(
        given in prop::collection::vec(
            (0_u32..3_000, prop::sample::select(CODES.to_vec()), 0_u16..1_000),
            1..40,
        ),
        attempts in prop::collection::vec((0_u32..3_000, any::<bool>(), 1_u16..900), 1..10),
    ) {
        let calls: Vec<_> = given
            .iter()
            .enumerate()
            .map(|(number, (second, code, length))| call(number as u16, *second, *code, *length))
            .collect();
        let registrations: Vec<Registration> = attempts
            .iter()
            .map(|(second, failed, delay)| Registration {
                first: samples::START + Nanos::from_secs(u64::from(*second)),
                attempts: Some(1),
                failed: Some((*failed).into()),
                rrd_ms_mean: (!failed).then_some((*delay).into()),
                ..samples::registration()
            })
            .collect();
        let mut events: Vec<Event> = Vec::new();
        for (number, (call, streams)) in calls.iter().enumerate() {
            events.extend(Event::of_record(number as u64, call, streams));
        }
        events.extend(registrations.iter().map(|registration| {
            Event::Registration(Box::new(RegistrationSeen {
                time: registration.first,
                aor: "a@b".into(),
                src: registration.src.ip,
                device: None,
                code: if registration.failed == Some(1) { 403 } else { 200 },
                delay_ms: registration.rrd_ms_mean,
            }))
        }));
        events.sort_by_key(Event::time);
        let rules = vec![rule("ira", Per::Total), rule("asr", Per::TrunkIn), rule("mos_p5", Per::TrunkIn)];
        let settings = Settings { rules, ..Settings::default() };
        let mut evaluator = Evaluator::new(settings, samples::START);
        for event in &events {
            evaluator.advance(event.time());
            evaluator.event(event);
        }
        // A slot has 96 minutes: after two of them, all that came is in the sum.
        evaluator.advance(samples::START + Nanos::from_secs(4 * 3_600));
        for name in Watched::names().into_iter().filter(|name| FIGURES.iter().any(|f| f.name == *name)) {
            let place = usize::from(!is_of_registrations(name));
            let watched = Watched::from_name(name).unwrap();
            let now = evaluator.now;
            let group = evaluator.series[place].existing(0).unwrap();
            let reading = group.window.read(&watched, now);
            let expected = folded(&calls, &registrations, name);
            prop_assert_eq!((reading.value, reading.behind), expected, "{}", name);
        }
    }
}

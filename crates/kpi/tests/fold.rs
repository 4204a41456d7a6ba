//! Records into rollups and rows: in any order, merged in any grouping, with every count by hand.

use proptest::prelude::*;
use ringtap_kpi::figure::figure;
use ringtap_kpi::{Dimension, Fold, Per, Rollup, Row, Settings, Table, View, Zone};
use ringtap_model::{Call, CallState, Id, Nanos, Registration, Stream};
use ringtap_testing::samples;

fn at(seconds: u64) -> Nanos {
    samples::START + Nanos::from_secs(seconds)
}

/// A call that began so many seconds after the start, was answered after 5 s, and ended after `length` more.
fn answered(number: u8, second: u64, length: u64) -> Call {
    Call {
        id: Id([number; 16]),
        from_user: Some(format!("+4930{number}")),
        invite: Some(at(second)),
        trying: Some(at(second)),
        ringing: Some(at(second + 1)),
        answer: Some(at(second + 5)),
        end: Some(at(second + 5 + length)),
        pdd_ms: Some(1000.0),
        duration_ms: Some(length as f64 * 1e3),
        sdd_ms: Some(20.0),
        ..samples::call()
    }
}

fn failed(number: u8, second: u64, code: u16) -> Call {
    Call {
        state: CallState::Failed,
        final_code: code,
        answer: None,
        end: Some(at(second + 2)),
        duration_ms: None,
        sdd_ms: None,
        ..answered(number, second, 0)
    }
}

fn rows(calls: &[Call], dimensions: &[Dimension], per: Option<(Per, Zone)>, legs: bool) -> Vec<Row> {
    let mut fold = Fold::new(Settings::default());
    let streams = [Stream { codec: Some("PCMA".into()), ..samples::stream() }];
    calls.iter().for_each(|call| fold.call(call, &streams));
    let mut table = Table::new(dimensions.to_vec(), per, legs);
    fold.finish().iter().for_each(|(minute, rollup)| table.add(*minute, rollup));
    table.rows()
}

fn value(row: &Row, name: &str) -> (Option<f64>, u64) {
    (figure(name).expect("a figure has this name").value)(&View {
        cell: &row.cell,
        concurrent: row.concurrent,
    })
}

#[test]
fn five_calls_by_hand() {
    let calls = [
        answered(1, 0, 60),
        answered(2, 10, 2),
        failed(3, 20, 486),
        failed(4, 30, 503),
        Call { state: CallState::Redirected, ..failed(5, 40, 302) },
    ];
    let row = &rows(&calls, &[Dimension::Total], None, false)[0];
    for (name, expected, count) in [
        ("attempts", Some(5.0), 5),
        ("asr", Some(40.0), 5),
        ("ner", Some(60.0), 5),
        ("ser", Some(50.0), 4),
        ("isa", Some(20.0), 5),
        ("scr", Some(40.0), 5),
        ("acd_ms", Some(31_000.0), 2),
        ("short_calls", Some(1.0), 2),
        ("repeated_calls", Some(0.0), 5),
        // 0-65, 10-17, 20-22, 30-32, 40-42: never more than two, and 73 s of calls in the first minute.
        ("concurrent_max", Some(2.0), 5),
        ("concurrent_mean", Some((60.0 + 7.0 + 2.0 + 2.0 + 2.0) / 60.0), 5),
    ] {
        assert_eq!(value(row, name), (expected, count), "{name}");
    }
    for (name, exact, count) in
        [("pdd_ms_p50", 1000.0, 5), ("srd_failed_ms_p50", 2000.0, 2), ("answer_ms_p50", 5000.0, 2)]
    {
        let (found, behind) = value(row, name);
        assert!((found.unwrap() - exact).abs() <= 0.01 * exact && behind == count, "{name}: {found:?}");
    }
    let by_code: Vec<_> = rows(&calls, &[Dimension::Code], None, false)
        .iter()
        .map(|row| (row.key.shown().to_owned(), row.cell.attempts()))
        .collect();
    let expected = [("200", 2), ("302", 1), ("486", 1), ("503", 1)];
    assert_eq!(by_code, expected.map(|(code, count)| (code.to_owned(), count)));
}

/// The second leg of a conversation counts as an attempt at the configured trunk that it goes to, and with
/// `--legs`.
/// One call of 65 s, within ten minutes that were observed.
#[test]
fn the_mean_of_calls_in_progress_is_over_the_time_that_was_observed() {
    let table = |from, until| Table::new(vec![Dimension::Total], None, false).observed(from, until);
    let mean = |from, until| {
        let mut fold = Fold::new(Settings::default());
        fold.call(&answered(1, 120, 60), &[]);
        let mut table = table(from, until);
        fold.finish().iter().for_each(|(minute, rollup)| table.add(*minute, rollup));
        table.rows()[0].concurrent.unwrap().mean
    };
    assert!((mean(Some(at(0)), Some(at(600))) - 65.0 / 600.0).abs() < 1e-9);
    // Without a bound, it is over the minute of the call.
    assert!(mean(None, None) > 0.5);
    assert!(table(Some(at(0)), Some(at(600))).rows().is_empty());
}

#[test]
fn conversations_are_counted_once() {
    let first = Call {
        conversation: Some(Id([1; 16])),
        trunk_from: Some("carrier-a".into()),
        trunk_to: Some("192.0.2.2".into()),
        ..answered(1, 0, 60)
    };
    let second = Call {
        conversation: Some(Id([1; 16])),
        trunk_from: Some("192.0.2.2".into()),
        trunk_to: Some("carrier-b".into()),
        ..failed(2, 1, 503)
    };
    let attempts = |dimension, legs| -> Vec<(String, u64)> {
        let rows = rows(&[first.clone(), second.clone()], &[dimension], None, legs);
        rows.iter().map(|row| (row.key.shown().to_owned(), row.cell.attempts())).collect()
    };
    let of = |counts: &[(&str, u64)]| -> Vec<(String, u64)> {
        counts.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect()
    };
    assert_eq!(attempts(Dimension::Total, false), of(&[("all calls", 1)]));
    assert_eq!(attempts(Dimension::Total, true), of(&[("all calls", 2)]));
    assert_eq!(attempts(Dimension::TrunkIn, false), of(&[("carrier-a", 1)]));
    assert_eq!(attempts(Dimension::TrunkIn, true), of(&[("192.0.2.2", 1), ("carrier-a", 1)]));
    assert_eq!(attempts(Dimension::TrunkOut, false), of(&[("192.0.2.2", 1), ("carrier-b", 1)]));
    assert_eq!(attempts(Dimension::Direction, true), of(&[("in", 1), ("out", 1)]));
}

/// The same pair again after 299 s and, later, after 301 s; another caller; and what the minute before had.
#[test]
fn repeated_within_five_minutes() {
    let again = |second| Call { from_user: Some("+49301".into()), ..failed(9, second, 486) };
    let calls = [failed(1, 0, 486), again(299), again(600), failed(2, 610, 486)];
    let row = &rows(&calls, &[Dimension::Total], None, false)[0];
    assert_eq!(value(row, "repeated_calls"), (Some(1.0), 4));

    let mut first = Fold::new(Settings::default());
    first.call(&calls[0], &[]);
    let pairs = first.pairs(ringtap_kpi::rollup::minute_of(at(0)));
    let bytes = ringtap_kpi::fold::pairs_to_bytes(&pairs);
    assert_eq!(ringtap_kpi::fold::pairs_from_bytes(&bytes), Some(pairs.clone()));
    assert_eq!(ringtap_kpi::fold::pairs_from_bytes(&bytes[1..]), None);
    let mut second = Fold::new(Settings::default());
    second.before(&pairs);
    second.call(&calls[1], &[]);
    let minutes = second.finish();
    assert_eq!(minutes.len(), 1);
    let mut whole = Fold::new(Settings::default());
    calls[..2].iter().for_each(|call| whole.call(call, &[]));
    assert_eq!(minutes.last_key_value(), whole.finish().last_key_value());
}

#[test]
fn a_late_call_changes_its_minute_alone() {
    let calls = [answered(1, 0, 600), answered(2, 70, 5)];
    let per = || Some((Per::Minute, Zone::UTC));
    let one = rows(&calls[1..], &[Dimension::Total], per(), false);
    let both = rows(&calls, &[Dimension::Total], per(), false);
    assert_eq!((one.len(), both.len()), (1, 2));
    assert_eq!(both[1].cell, one[0].cell);
    // But it is in progress meanwhile.
    assert_eq!(value(&both[1], "concurrent_max").0, Some(2.0));
}

#[test]
fn registrations_and_codecs() {
    let mut fold = Fold::new(Settings::default());
    let registration = |attempts, failed, mean| Registration {
        attempts: Some(attempts),
        failed: Some(failed),
        rrd_ms_mean: mean,
        ..samples::registration()
    };
    fold.registration(&registration(3, 1, Some(50.0)));
    fold.registration(&registration(1, 1, None));
    let codec = |name: &str, mos| Stream { codec: Some(name.into()), mos: Some(mos), ..samples::stream() };
    fold.call(&samples::call(), &[codec("PCMA", 4.4), codec("G729", 2.0)]);
    let mut table = Table::new(vec![Dimension::Total, Dimension::Codec], None, false);
    fold.finish().iter().for_each(|(minute, rollup)| table.add(*minute, rollup));
    let rows = table.rows();
    assert_eq!(value(&rows[0], "ira"), (Some(50.0), 4));
    assert_eq!(value(&rows[0], "rrd_ms_p50").1, 1);
    assert_eq!(value(&rows[0], "mos_p50").1, 2);
    let g729 = rows.iter().find(|row| &*row.key.name == "G729").unwrap();
    assert_eq!(g729.cell.attempts(), 1);
    let (mos, count) = value(g729, "mos_p50");
    assert!((mos.unwrap() - 2.0).abs() <= 0.02 && count == 1);
}

/// Names from the wire fill no memory: the groups with the most attempts stay, the others are one group.
#[test]
fn groups_are_bounded() {
    let mut fold = Fold::new(Settings::default());
    for number in 0..10_000_u32 {
        let name = if number % 2 == 0 { "phone".to_owned() } else { format!("phone {number}") };
        fold.call(&Call { user_agent_caller: Some(name), ..answered(1, 0, 1) }, &[]);
    }
    let (_, rollup) = fold.finish().pop_first().unwrap();
    let devices: Vec<_> = rollup.groups().filter(|(key, _)| key.dimension == Dimension::Device).collect();
    assert_eq!(devices.len(), ringtap_kpi::fold::GROUPS + 1);
    let all: u64 = devices.iter().map(|(_, cells)| cells.of(true).attempts()).sum();
    assert_eq!(all, 10_000);
    let phone = devices.iter().find(|(key, _)| &*key.name == "phone").unwrap();
    assert_eq!(phone.1.of(false).attempts(), 5_000);
    assert_eq!(rollup.folded, 5_000 - (ringtap_kpi::fold::GROUPS as u64 - 1));
}

/// Two calls of a pair at the same moment, with different outcomes: the one that counts as repeated is the
/// same in whatever order they come.
#[test]
fn the_repeated_one_of_a_moment() {
    let calls = [failed(1, 0, 486), failed(1, 0, 503)];
    let fold = |order: [usize; 2]| {
        let mut fold = Fold::new(Settings::default());
        order.iter().for_each(|place| fold.call(&calls[*place], &[]));
        fold.finish()
    };
    assert_eq!(fold([0, 1]), fold([1, 0]));
}

fn any_call() -> impl Strategy<Value = Call> {
    let code = prop::sample::select(vec![0_u16, 200, 302, 404, 480, 486, 487, 503, 603]);
    (0_u8..6, 0_u64..900, 0_u64..400, code, any::<bool>()).prop_map(|(number, second, length, code, leg)| {
        let call = if code == 200 { answered(number, second, length) } else { failed(number, second, code) };
        // Ids differ, so that records of the same pair do.
        let id = Id([
            number,
            code as u8,
            second as u8,
            (second >> 8) as u8,
            length as u8,
            0,
            0,
            0,
            0,
            0,
            0,
            0,
            0,
            0,
            0,
            0,
        ]);
        Call { id, conversation: leg.then_some(Id([7; 16])), ..call }
    })
}

fn merged(rollups: impl Iterator<Item = Rollup>) -> Rollup {
    rollups.fold(Rollup::default(), |mut sum, rollup| {
        sum.merge(&rollup);
        sum
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_order_and_any_grouping_give_the_same(
        calls in prop::collection::vec(any_call(), 1..60), turn in any::<prop::sample::Index>()
    ) {
        let fold = |calls: &[Call]| {
            let mut fold = Fold::new(Settings::default());
            calls.iter().for_each(|call| fold.call(call, &[samples::stream()]));
            fold.finish()
        };
        let minutes = fold(&calls);
        let mut turned = calls.clone();
        turned.rotate_left(turn.index(calls.len()));
        turned.reverse();
        prop_assert_eq!(&minutes, &fold(&turned));

        let rollups: Vec<Rollup> = minutes.into_values().collect();
        let place = turn.index(rollups.len());
        let whole = merged(rollups.iter().cloned());
        let (left, right) = rollups.split_at(place);
        let halves = [merged(right.iter().rev().cloned()), merged(left.iter().cloned())];
        prop_assert_eq!(&whole, &merged(halves.into_iter()));

        let bytes = whole.to_bytes();
        prop_assert_eq!(Rollup::from_bytes(&bytes, &Dimension::ALL), Some(whole.clone()));
        let total = Rollup::from_bytes(&bytes, &[Dimension::Total]).unwrap();
        prop_assert_eq!(total.groups().count(), 1);
    }

    #[test]
    fn any_bytes_are_read_without_harm(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = Rollup::from_bytes(&bytes, &Dimension::ALL);
    }
}

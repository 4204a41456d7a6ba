//! A search finds in the database what it selects among the calls that were written to it: page by page,
//! while others are stored, and also after it was stopped.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends")]

#[expect(dead_code, reason = "shared with the other tests")]
mod common;
mod generated;

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Instant;

use common::{NOON, id};
use generated::{call_with_streams, numbered, stored};
use proptest::prelude::*;
use proptest::sample::select;
use ringtap_model::{Call, Condition, Filter, Id, Nanos, Stream};
use ringtap_search::{Context, Expression, parse};
use ringtap_store::{
    Error, ImportWriter, OpenFiles, Page, Query, Reader, RunningSearch, Search, SearchEnd, SearchOrder,
};
use ringtap_testing::samples;

/// Conditions on all that has a column, a key, or neither.
const CONDITIONS: [&str; 62] = [
    "0138",
    "+44*",
    "44",
    "from:alice",
    "to:[*0138,alice]",
    "diverted:*72*",
    "diverted:\"*72\"",
    "alice@example.net",
    "uri:*@example.org",
    "callid:call-1*",
    "callid:call-3@example.org",
    "callid:*",
    "ip:10.0.0.7",
    "10.0.0.0/9",
    "ip:10.0.0.7:5060",
    "ip:10.0.0.7:1",
    "2001:db8::1",
    "ua:yealink",
    "ua:Gate*",
    "ua:*",
    "trunk:c*",
    "gateway",
    "state:[completed,failed]",
    "timeout",
    "code:486",
    "code>=400",
    "code:*",
    "cause:16",
    "cause>16",
    "cause:*",
    "reason:ok",
    "hangup:caller",
    "hangup:*",
    "retrans:0",
    "retrans>=1",
    "mos<3",
    "mos:3",
    "mos>=4.2",
    "mos:*",
    "mosworst<=2.5",
    "pdd>1.4s",
    "pdd:1500ms",
    "ring:2.5s",
    "dur:30s..60s",
    "dur<10s",
    "dur:*",
    "drops>1",
    "drops:1",
    "attest:A",
    "recorded:[full,none]",
    "note:one_way",
    "note:*",
    "problem:yes",
    "problem:no",
    "began:2026-11-22",
    "began>\"2026-11-21 18:00\"",
    "at:\"2026-11-22 12:00\"",
    "at:2026-11-23",
    "ended:2026-11-22",
    "ended<\"2026-11-22 18:00\"",
    "conversation:*",
    "id:01010101010101010000000000000003",
];

/// Conditions on a stream.
const STREAMS: [&str; 13] = [
    "codec:G711",
    "codec:AMR*",
    "codec:*",
    "loss>2",
    "loss:0..5",
    "ptime:20",
    "jitter>1ms",
    "mos<3",
    "mos:*",
    "dur>50s",
    "ip:10.0.0.0/9",
    "note:fax",
    "note:*",
];

/// A search that combines them.
fn text() -> impl Strategy<Value = String> {
    let within =
        (select(STREAMS.to_vec()), select(STREAMS.to_vec()), select(vec![" ", " -", " or ", " or -"]));
    let leaf = prop_oneof![
        6 => select(CONDITIONS.to_vec()).prop_map(str::to_owned),
        2 => select(STREAMS.to_vec()).prop_map(str::to_owned),
        2 => within.prop_map(|(a, b, with)| format!("stream({a}{with}{b})")),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            inner.clone().prop_map(|inner| format!("-{inner}")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a} {b})")),
            (inner.clone(), inner).prop_map(|(a, b)| format!("({a} or {b})")),
        ]
    })
}

fn expression(text: &str) -> Expression {
    let now = NOON + Nanos::from_secs(3 * 86_400);
    parse(text, &Context::utc(now)).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn running() -> Arc<RunningSearch> {
    Arc::new(RunningSearch::new())
}

fn ids(calls: &[Call]) -> Vec<Id> {
    calls.iter().map(|call| call.id).collect()
}

/// All pages of a search, each of which goes on where the one before ended.
fn pages(reader: &Reader, search: &Search) -> Vec<Page> {
    let mut search = search.clone();
    let mut pages = Vec::new();
    loop {
        let page = reader.page(&search, &running()).unwrap();
        assert_eq!(page.coverage.next.is_none(), page.coverage.end == SearchEnd::Complete);
        search.after = page.coverage.next;
        pages.push(page);
        if search.after.is_none() {
            return pages;
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn a_search_finds_what_it_selects(
        calls in prop::collection::vec(call_with_streams(), 1..16),
        texts in prop::collection::vec(text(), 1..24),
        limit in 1_usize..6,
        is_newest_first in any::<bool>(),
        until in 0_u64..3_000,
    ) {
        let mut calls = numbered(calls);
        let dir = stored(&calls, &[]);
        let reader = Reader::open(dir.path()).unwrap();
        calls.sort_by_key(|(call, _)| (call.start(), call.id));
        if is_newest_first {
            calls.reverse();
        }
        let order = if is_newest_first { SearchOrder::NewestFirst } else { SearchOrder::OldestFirst };
        let filter = Filter(vec![Condition::Until(NOON + Nanos::from_secs(60 * until))]);
        for text in texts {
            let expression = expression(&text);
            for filter in [Filter::default(), filter.clone()] {
                let selects = |(call, streams): &&(Call, Vec<Stream>)| {
                    expression.matches(call, streams) && filter.selects_call(call, streams)
                };
                let expected: Vec<(Call, Vec<Stream>)> = calls.iter().filter(selects).cloned().collect();
                let search = Search {
                    expression: expression.clone(),
                    filter,
                    order,
                    limit,
                    after: None,
                };
                let pages = pages(&reader, &search);
                prop_assert!(pages.iter().all(|page| page.calls.len() <= limit));
                let found: Vec<Call> = pages.into_iter().flat_map(|page| page.calls).collect();
                let records: Vec<Call> = expected.iter().map(|(call, _)| call.clone()).collect();
                prop_assert_eq!(&found, &records, "{}", &text);

                let mut passed = Vec::new();
                let coverage = reader
                    .each_call(&search, true, &running(), |call, mut streams| {
                        streams.sort_by_key(|stream| stream.id);
                        passed.push((call, streams));
                        ControlFlow::Continue(())
                    })
                    .unwrap();
                prop_assert_eq!(&passed, &expected, "{}", &text);
                prop_assert_eq!(coverage.end, SearchEnd::Complete);
                prop_assert_eq!(coverage.days, coverage.days_searched);
            }
        }
    }
}

/// Calls of this number of minutes after noon, each with an id of its own.
fn calls(minutes: impl IntoIterator<Item = u64>, kind: u8) -> Vec<(Call, Vec<Stream>)> {
    let call = |(number, minute): (u64, u64)| {
        let invite = Some(NOON + Nanos::from_secs(60 * minute));
        let call = Call { id: id(kind, number), invite, streams: vec![], ..samples::call() };
        (call, Vec::new())
    };
    (0..).zip(minutes).map(call).collect()
}

fn store(dir: &std::path::Path, calls: &[(Call, Vec<Stream>)]) {
    let mut writer = ImportWriter::open(dir).unwrap();
    calls.iter().for_each(|(call, streams)| writer.call(call, streams).unwrap());
    writer.close().unwrap();
}

#[test]
fn pages_stay_right_while_calls_are_stored() {
    for order in [SearchOrder::NewestFirst, SearchOrder::OldestFirst] {
        // Over three days, several at each moment.
        let before = calls((0..120).map(|number| number / 4 * 90), 1);
        let dir = stored(&before, &[]);
        let reader = Reader::open(dir.path()).unwrap();
        let mut search = Search { order, limit: 7, ..Search::new(expression("state:completed")) };
        let mut found = Vec::new();
        for round in 2.. {
            let page = reader.page(&search, &running()).unwrap();
            found.extend(ids(&page.calls));
            search.after = page.coverage.next;
            if page.coverage.next.is_none() {
                break;
            }
            // At moments that have calls, between them, before and behind.
            store(dir.path(), &calls([0, 45, 90, 900, 2_000, 2_610, 9_000], round));
        }
        let mut sorted = found.clone();
        sorted.sort();
        sorted.dedup();
        assert_eq!(sorted.len(), found.len(), "nothing comes twice");
        let missing: Vec<Id> =
            before.iter().map(|(call, _)| call.id).filter(|id| !found.contains(id)).collect();
        assert_eq!(missing, [], "{order:?}");
    }
}

/// Whatever was stored between them.
#[test]
fn calls_of_one_moment_come_in_the_order_of_their_ids() {
    let mut all = calls((0..60).map(|number| number % 3), 1);
    for (number, (call, _)) in all.iter_mut().enumerate() {
        call.id = id(1, (number as u64 * 37) % 60);
    }
    let dir = stored(&all, &[]);
    let reader = Reader::open(dir.path()).unwrap();
    all.sort_by_key(|(call, _)| (call.start(), call.id));
    let mut expected: Vec<Id> = all.iter().map(|(call, _)| call.id).collect();
    for order in [SearchOrder::OldestFirst, SearchOrder::NewestFirst] {
        for limit in [1, 7, 100] {
            let search = Search { order, limit, ..Search::new(expression("state:completed")) };
            let found: Vec<Id> = pages(&reader, &search).iter().flat_map(|page| ids(&page.calls)).collect();
            assert_eq!(found, expected, "{order:?}, {limit} a page");
        }
        expected.reverse();
    }
}

/// Columns are rounded to milliseconds and thousandths: beside a bound, the record decides.
#[test]
fn bounds_within_what_is_rounded_away() {
    let mut all = calls(0..8, 1);
    for (call, _) in &mut all {
        (call.pdd_ms, call.duration_ms) = (Some(1_499.6), Some(29_999.6));
        (call.mos, call.mos_worst_interval) = (Some(2.9996), Some(2.9996));
    }
    let dir = stored(&all, &[]);
    let reader = Reader::open(dir.path()).unwrap();
    for (text, selects) in [
        ("pdd<1499.7ms", true),
        ("-pdd>=1499.7ms", true),
        ("pdd>=1499.7ms", false),
        ("dur<29999.7ms", true),
        ("-dur>=29999.7ms", true),
        ("mos<2.9997", true),
        ("-mos>=2.9997", true),
        ("mos>=2.9997", false),
        ("mosworst<2.9997", true),
        ("-mosworst>=2.9997", true),
    ] {
        let page = reader.page(&Search::new(expression(text)), &running()).unwrap();
        assert_eq!(page.calls.len(), if selects { 8 } else { 0 }, "{text}");
    }
}

#[test]
fn a_search_that_is_stopped_goes_on() {
    let all = calls((0..600).map(|number| number * 7), 1);
    let dir = stored(&all, &[]);
    let reader = Reader::open(dir.path()).unwrap();
    let search = Search::new(expression("state:completed"));

    let stopped = running();
    stopped.stop();
    let page = reader.page(&search, &stopped).unwrap();
    assert_eq!((page.calls.len(), page.coverage.end), (0, SearchEnd::Stopped));
    let again =
        Search { after: Some(page.coverage.next.unwrap().to_string().parse().unwrap()), ..search.clone() };
    assert_eq!(reader.page(&again, &running()).unwrap().calls.len(), all.len());
    let late = Arc::new(RunningSearch::until(Instant::now()));
    assert_eq!(reader.page(&search, &late).unwrap().coverage.end, SearchEnd::Stopped);

    // Stopped while it runs: what was passed on, and what the next search gives, is all.
    let stopped = running();
    let mut found = Vec::new();
    let coverage = reader
        .each_call(&search, false, &stopped, |call, _| {
            found.push(call.id);
            if found.len() == 100 {
                stopped.stop();
            }
            ControlFlow::Continue(())
        })
        .unwrap();
    assert_eq!(coverage.end, SearchEnd::Stopped);
    assert!(found.len() < all.len() && coverage.days_searched < coverage.days, "{coverage:?}");
    assert!(coverage.looked_at >= found.len() as u64 && stopped.days() == coverage.days);
    let after = all.iter().map(|(call, _)| call).find(|call| Some(&call.id) == found.last());
    let search = Search { after: after.map(ringtap_store::Cursor::of), ..search };
    found.extend(ids(&reader.page(&search, &running()).unwrap().calls));
    let mut expected: Vec<Id> = all.iter().map(|(call, _)| call.id).collect();
    expected.reverse();
    assert_eq!(found, expected);
}

/// Files of that directory that this process has open.
fn open_files(dir: &std::path::Path) -> usize {
    let links = std::fs::read_dir("/proc/self/fd").unwrap().flatten();
    let links = links.filter_map(|entry| std::fs::read_link(entry.path()).ok());
    links.filter(|link| link.starts_with(dir) && link.extension().is_some_and(|end| end == "sqlite")).count()
}

/// What is read again and again is opened once, and anew where it is another file by then.
#[test]
fn files_stay_open_for_readers_that_share_them() {
    let all = calls([0, 45, 1_500], 1);
    let dir = stored(&all, &[]);
    let files = Arc::new(OpenFiles::default());
    let open = || Reader::open(dir.path()).unwrap().sharing(files.clone());
    let stopped = running();
    let reader = open().stopped_by(stopped.clone());
    let search = Search::new(expression("state:completed"));
    for _ in 0..3 {
        let page = reader.page(&search, &running()).unwrap();
        assert_eq!(page.calls.len(), 3);
        assert_eq!(reader.call(&all[0].0.id).unwrap().as_ref(), Some(&all[0].0));
        reader.with_streams(&page.calls, |_, streams| assert!(streams.is_empty())).unwrap();
        assert_eq!(open_files(dir.path()), 2);
    }
    // Over for who asked first, and not for who asks next.
    stopped.stop();
    assert_eq!(reader.page(&search, &running()).unwrap().coverage.end, SearchEnd::Stopped);
    drop(reader);
    let reader = open();
    assert_eq!(reader.page(&search, &running()).unwrap().coverage.end, SearchEnd::Complete);
    files.close_old();
    assert_eq!(open_files(dir.path()), 2);
    store(dir.path(), &calls([90], 2));
    assert_eq!(reader.page(&search, &running()).unwrap().calls.len(), 4);

    let other = stored(&calls([7], 3), &[]);
    for entry in std::fs::read_dir(dir.path()).unwrap() {
        std::fs::remove_file(entry.unwrap().path()).unwrap();
    }
    assert!(matches!(reader.page(&search, &running()), Err(Error::NoDays { .. })));
    for entry in std::fs::read_dir(other.path()).unwrap() {
        let entry = entry.unwrap();
        std::fs::copy(entry.path(), dir.path().join(entry.file_name())).unwrap();
    }
    assert_eq!(ids(&reader.page(&search, &running()).unwrap().calls), [id(3, 0)]);
    drop((reader, files));
    assert_eq!(open_files(dir.path()), 0);
}

/// A copy of it has all records then, and who may not write beside it can read it.
#[test]
fn a_file_is_whole_once_its_writer_is_gone_though_somebody_reads_it() {
    let dir = stored(&calls([0], 1), &[]);
    let files = Arc::new(OpenFiles::default());
    let reader = Reader::open(dir.path()).unwrap().sharing(files.clone());
    let all = Search::new(expression(""));
    assert_eq!(reader.page(&all, &running()).unwrap().calls.len(), 1);
    assert_eq!(open_files(dir.path()), 1);
    store(dir.path(), &calls([90], 2));
    let copies = tempfile::tempdir().unwrap();
    for entry in std::fs::read_dir(dir.path()).unwrap().map(Result::unwrap) {
        if entry.path().extension().is_some_and(|end| end == "sqlite") {
            std::fs::copy(entry.path(), copies.path().join(entry.file_name())).unwrap();
        } else if entry.path().to_string_lossy().ends_with("-wal") {
            assert_eq!(entry.metadata().unwrap().len(), 0, "{}", entry.path().display());
        }
    }
    let copied = Reader::open(copies.path()).unwrap();
    assert_eq!(copied.page(&all, &running()).unwrap().calls.len(), 2);
    assert_eq!(reader.page(&all, &running()).unwrap().calls.len(), 2);
}

#[test]
fn whatever_reads_records_ends_with_the_search_that_stops_it() {
    let dir = tempfile::tempdir().unwrap();
    store(dir.path(), &calls((0..600).map(|number| number * 7), 1));
    let running = running();
    let reader = Reader::open(dir.path()).unwrap().stopped_by(running.clone());
    let all = Query::default();
    assert_eq!(reader.calls(&all).unwrap().records.len(), 600);
    // Over between two calls that it passes on, whichever of both stops it.
    let (mut passed, other) = (0, self::running());
    let coverage = reader.each_call(&Search::new(expression("")), false, &other, |_, _| {
        passed += 1;
        running.stop();
        ControlFlow::Continue(())
    });
    assert_eq!(coverage.unwrap().end, SearchEnd::Stopped);
    assert!(passed < 600, "{passed}");
    let is_stopped = |error| matches!(error, Err(Error::Interrupted { .. }));
    assert!(is_stopped(reader.calls(&all).map(drop)));
    assert!(is_stopped(reader.streams(&all).map(drop)));
    assert!(is_stopped(reader.registrations(&all).map(drop)));
    assert!(is_stopped(reader.alarms(&all).map(drop)));
    assert!(is_stopped(reader.call(&id(1, 1)).map(drop)));
    assert!(is_stopped(reader.streams_of(&id(1, 1)).map(drop)));
    // The days are known without reading one.
    assert!(reader.days().unwrap().len() > 1);
}

/// The greatest nice value of threads that search.
fn nicest() -> i32 {
    let stats = std::fs::read_dir("/proc/self/task").unwrap().flatten();
    // It may have ended meanwhile.
    let stats = stats.filter_map(|task| std::fs::read_to_string(task.path().join("stat")).ok());
    let searching =
        stats.filter_map(|stat| stat.split_once("(search) ").map(|(_, fields)| fields.to_owned()));
    // Field 19 of proc_pid_stat(5), of which two are gone.
    searching.map(|fields| fields.split(' ').nth(16).unwrap().parse().unwrap()).max().unwrap_or(-20)
}

#[test]
fn a_search_that_takes_long_gives_way() {
    let dir = stored(&calls((0..1_000).map(|number| number * 3), 1), &[]);
    let reader = Reader::open(dir.path()).unwrap();
    let running = Arc::new(RunningSearch::new().giving_way(17));
    let (mut passed, mut first, mut last) = (0, 0, 0);
    let search = Search::new(expression("-cause:99"));
    reader
        .each_call(&search, false, &running, |_, _| {
            passed += 1;
            if passed == 1 {
                first = nicest();
            } else if passed % 16 == 0 {
                last = last.max(nicest());
            }
            ControlFlow::Continue(())
        })
        .unwrap();
    assert!(first < 17 && last == 17, "{first} {last}");
}

#[test]
fn whoever_has_enough_ends_the_search() {
    let dir = stored(&calls((0..2_000).map(|number| number * 3), 1), &[]);
    let reader = Reader::open(dir.path()).unwrap();
    let running = running();
    let mut passed = 0;
    let coverage = reader
        .each_call(&Search::new(Expression::default()), false, &running, |_, _| {
            passed += 1;
            if passed == 5 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })
        .unwrap();
    assert_eq!((passed, coverage.end), (5, SearchEnd::Enough));
    assert!(!running.is_over(), "it is not stopped for others");
    let page = reader.page(&Search { limit: 0, ..Search::new(Expression::default()) }, &running).unwrap();
    assert_eq!(
        (page.calls.len(), page.coverage.next.is_some(), page.coverage.end),
        (0, true, SearchEnd::Enough)
    );
}

#[test]
fn only_days_of_the_time_are_searched() {
    let dir = stored(&calls((0..6).map(|number| number * 1_440), 1), &[]);
    let reader = Reader::open(dir.path()).unwrap();
    let page = |text: &str| reader.page(&Search::new(expression(text)), &running()).unwrap();
    assert_eq!(page("began:2026-11-22").coverage.days, 1);
    assert_eq!(page("at:\"2026-11-23 12:00\"").coverage.days, 2, "calls of the day before may be up");
    assert_eq!(page("began:2026-11-22 began:2026-11-24").coverage.days, 0);
    assert_eq!(page("began:2026-11-22 or began:2026-11-24").coverage.days, 3);
    assert_eq!(page("").coverage.days, 6);
}

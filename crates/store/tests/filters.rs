//! A filter finds the same records in the database as among the records that were written to it.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends")]

#[expect(dead_code, reason = "shared with the other tests")]
mod common;

use common::{DAY, NOON, call, id, message, registration, stream, transaction};
use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use ringtap_model::{
    Call, CallState, Condition, Endpoint, Filter, Id, Message, Nanos, Note, NoteCode, Registration, Stream,
    Transaction,
};
use ringtap_store::{ImportWriter, Query, Reader};
use tempfile::TempDir;

/// Users of URIs: numbers in every spelling, and what is no number.
const USERS: [&str; 16] = [
    "+442079460138",
    "00442079460138",
    "442079460138",
    "+44 20 7946-0138",
    "+44-20-7946.0138;phone-context=x",
    "%2B442079460138",
    "02079460138",
    "2079460138",
    "+4930123",
    "alice",
    "Alice",
    "j.smith",
    "*72",
    "",
    "%",
    "ä😀",
];

const NUMBERS: [&str; 20] = [
    "*0138",
    "+44*",
    "0044*",
    "44*0138",
    "*7946*",
    "+442079460138",
    "00442079460138",
    "+44 20 7946 0138",
    "0*",
    "00*",
    "+*",
    "*",
    "alice",
    "a*",
    "*e",
    "*.*",
    "%",
    "*😀",
    "20*",
    "-*20",
];

fn condition() -> impl Strategy<Value = Condition> {
    let number = || select(&NUMBERS[..]).prop_map(|text| text.parse().unwrap());
    let time = (0_u64..4 * 24 * 60, 0_u64..1_500)
        .prop_map(|(minute, nanos)| NOON + Nanos::from_secs(60 * minute) + Nanos(nanos));
    let limit = select(vec![0.0, 0.5, 2.0, 50.0]);
    let codecs = select(vec!["PCMA", "g.729", "g711", "AMR*", "*"]).prop_map(|name| name.parse().unwrap());
    let ranges = select(vec![">30s", "<=60s", "0s-1s", ">1m", "60s-70s"]);
    let networks =
        select(vec!["192.0.2.0/24", "10.0.0.7", "10.0.0.0/9", "0.0.0.0/0", "2001:db8::/32", "2001:db8::1"]);
    let notes = subsequence(vec![NoteCode::OneWay, NoteCode::Fax, NoteCode::NoAudio], 1..3);
    prop_oneof![
        number().prop_map(Condition::Number),
        number().prop_map(Condition::From),
        number().prop_map(Condition::To),
        select(vec!["call-1@example.org", "call-1…", "*org", "call*", "c*0@*"])
            .prop_map(|text| Condition::CallId(text.parse().unwrap())),
        subsequence(CallState::ALL.to_vec(), 1..3).prop_map(Condition::State),
        select(vec!["486", "4xx", "100-699"]).prop_map(|range| Condition::Code(vec![range.parse().unwrap()])),
        time.clone().prop_map(Condition::Since),
        time.prop_map(Condition::Until),
        limit.clone().prop_map(Condition::MosBelow),
        limit.prop_map(Condition::LossAbove),
        ranges.prop_map(|range| Condition::Duration(range.parse().unwrap())),
        codecs.prop_map(|name| Condition::Codec(vec![name])),
        networks.prop_map(|network| Condition::Ip(vec![network.parse().unwrap()])),
        select(vec!["gate", "G*", "yealink"]).prop_map(|text| Condition::UserAgent(text.parse().unwrap())),
        notes.prop_map(Condition::Note),
        select(vec!["carrier", "pbx", "c*", "192.0.2.1"])
            .prop_map(|text| Condition::Trunk(vec![text.parse().unwrap()])),
        Just(Condition::Problems),
    ]
}

fn filter() -> impl Strategy<Value = Filter> {
    prop::collection::vec(condition(), 0..3).prop_map(Filter)
}

fn hosts() -> impl Strategy<Value = Endpoint> {
    let addresses = ["192.0.2.1", "10.0.0.7", "10.0.0.77", "10.200.0.1", "2001:db8::1", "fe80::1"];
    select(addresses.to_vec()).prop_map(|address| Endpoint::new(address.parse().unwrap(), 5060))
}

fn notes() -> impl Strategy<Value = Vec<Note>> {
    let codes = subsequence(vec![NoteCode::OneWay, NoteCode::Fax], 0..2);
    codes.prop_map(|codes| codes.into_iter().map(|code| Note::new(code, "evidence".into())).collect())
}

/// A stream that begins so many hours after its call, of one of these hosts.
fn media() -> impl Strategy<Value = Stream> {
    let codec = prop::option::of(select(vec!["PCMA", "PCMU", "G729", "AMR-WB", "opus"]));
    let mos = prop::option::of(1.0..4.5);
    (0_u64..30, hosts(), codec, 0_u64..200, mos, 0_u64..100_000, notes()).prop_map(
        |(hours, src, codec, lost, mos, millis, notes)| {
            let first = Nanos::from_secs(3_600 * hours);
            let last = first + Nanos::from_millis(millis);
            let codec = codec.map(str::to_owned);
            Stream { src, codec, lost, unique: 1_000, mos, first, last, notes, ..stream(0) }
        },
    )
}

/// A call some minutes after noon, and its streams.
fn call_with_streams() -> impl Strategy<Value = (Call, Vec<Stream>)> {
    let user = || prop::option::of(select(&USERS[..]).prop_map(str::to_owned));
    let parties = (user(), user(), user(), user(), prop::option::of(select(&USERS[..])));
    let outcome = (select(CallState::ALL.to_vec()), select(vec![0_u16, 200, 486, 503]));
    let figures = (prop::option::of(1.0..4.5), prop::option::of(0.0..100_000.0));
    let agent = prop::option::of(select(vec!["Gateway", "Yealink T46"]).prop_map(str::to_owned));
    let streams = prop::collection::vec(media(), 0..3);
    (0_u64..3_000, parties, outcome, figures, agent, notes(), hosts(), streams).prop_map(
        |(minute, parties, (state, final_code), (mos, duration_ms), agent, notes, src, streams)| {
            let (from_user, asserted_identity, to_user, ruri_user, diverted) = parties;
            let call = Call {
                from_user,
                asserted_identity,
                to_user,
                ruri_user,
                diverted_to: diverted.into_iter().map(str::to_owned).collect(),
                state,
                final_code,
                mos,
                duration_ms,
                user_agent_caller: agent,
                notes,
                src,
                invite: Some(NOON + Nanos::from_secs(60 * minute)),
                ..call(minute)
            };
            (call, streams)
        },
    )
}

/// Gives each call and stream an id of its own, and each stream its call and time.
fn numbered(calls: Vec<(Call, Vec<Stream>)>) -> Vec<(Call, Vec<Stream>)> {
    let mut number = 0;
    let mut next = |kind| {
        number += 1;
        id(kind, number)
    };
    let numbered = calls.into_iter().map(|(mut call, mut streams)| {
        call.id = next(1);
        call.call_id = format!("call-{}@example.org", call.id.0[15] % 12);
        let start = call.start().unwrap();
        for stream in &mut streams {
            (stream.first, stream.last) = (start + stream.first, start + stream.last);
            (stream.id, stream.call, stream.call_id) = (next(2), Some(call.id), Some(call.call_id.clone()));
        }
        call.streams = streams.iter().map(|stream| stream.id).collect();
        (call, streams)
    });
    numbered.collect()
}

fn stored(calls: &[(Call, Vec<Stream>)], loose: &[Stream]) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    let mut writer = ImportWriter::open(dir.path()).unwrap();
    calls.iter().for_each(|(call, streams)| writer.call(call, streams).unwrap());
    loose.iter().for_each(|stream| writer.stream(stream).unwrap());
    writer.close().unwrap();
    dir
}

fn sorted(ids: impl Iterator<Item = Id>) -> Vec<Id> {
    let mut ids: Vec<Id> = ids.collect();
    ids.sort();
    ids
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn a_filter_finds_the_same_calls_and_streams(
        calls in prop::collection::vec(call_with_streams(), 1..14),
        loose in media(),
        filters in prop::collection::vec(filter(), 1..16),
        limit in 1_usize..4,
    ) {
        let calls = numbered(calls);
        let loose = Stream { call: None, call_id: None, id: id(9, 9), first: NOON + loose.first, ..loose };
        let dir = stored(&calls, std::slice::from_ref(&loose));
        let reader = Reader::open(dir.path()).unwrap();
        for filter in filters {
            let selected = calls.iter().filter(|(call, streams)| filter.selects_call(call, streams));
            let expected = sorted(selected.map(|(call, _)| call.id));
            let found = reader.calls(&filter.clone().into()).unwrap();
            prop_assert_eq!(sorted(found.records.iter().map(|call| call.id)), &*expected, "{:?}", filter);
            prop_assert!(found.records.is_sorted_by_key(|call| (call.start(), call.id)));
            let part = |newest| reader.calls(&Query { filter: filter.clone(), limit, newest }).unwrap();
            let shown = limit.min(expected.len());
            prop_assert_eq!(&part(false).records[..], &found.records[..shown], "{:?}", filter);
            let last = &found.records[expected.len() - shown..];
            prop_assert_eq!(&part(true).records[..], last, "{:?}", filter);
            prop_assert_eq!(part(false).cut, expected.len() > limit);
            prop_assert_eq!(part(true).cut, expected.len() > limit);

            let of_call = |(call, streams): &(Call, Vec<Stream>)| {
                let selects = |stream: &&Stream| filter.selects_stream(stream, Some(call));
                streams.iter().filter(selects).map(|stream| stream.id).collect::<Vec<_>>()
            };
            let alone = filter.selects_stream(&loose, None).then_some(loose.id);
            let expected = sorted(calls.iter().flat_map(of_call).chain(alone));
            let found = reader.streams(&filter.clone().into()).unwrap();
            prop_assert_eq!(sorted(found.records.iter().map(|stream| stream.id)), &*expected, "{:?}", filter);
            prop_assert!(found.records.is_sorted_by_key(|stream| (stream.first, stream.id)));
            let part = |newest| reader.streams(&Query { filter: filter.clone(), limit, newest }).unwrap();
            let shown = limit.min(expected.len());
            prop_assert_eq!(&part(false).records[..], &found.records[..shown], "{:?}", filter);
            let last = &found.records[expected.len() - shown..];
            prop_assert_eq!(&part(true).records[..], last, "{:?}", filter);
        }
    }

    #[test]
    fn a_filter_finds_the_same_other_records(
        users in prop::collection::vec((select(&USERS[..]), hosts(), select(vec![0_u16, 200, 403])), 1..8),
        filters in prop::collection::vec(filter(), 1..16),
    ) {
        let dir = tempfile::tempdir().unwrap();
        let mut writer = ImportWriter::open(dir.path()).unwrap();
        let (mut registrations, mut messages, mut transactions) = (Vec::new(), Vec::new(), Vec::new());
        for (number, (user, src, code)) in (0_u64..).zip(users) {
            let (address, time) = (format!("{user}@example.org"), NOON + Nanos(DAY.0 / 3 * number));
            let aor = address.clone();
            registrations.push(Registration { aor, src, code, first: time, ..registration(number) });
            messages.push(Message { from: Some(address.clone()), src, code, time, ..message(number) });
            let from = Some(address);
            transactions.push(Transaction { from, src, code, time, ..transaction(number) });
        }
        registrations.iter().for_each(|registration| writer.registration(registration).unwrap());
        messages.iter().for_each(|message| writer.message(message).unwrap());
        transactions.iter().for_each(|transaction| writer.transaction(transaction).unwrap());
        writer.close().unwrap();
        let reader = Reader::open(dir.path()).unwrap();
        for filter in filters {
            let expected: Vec<_> =
                registrations.iter().filter(|record| filter.selects_registration(record)).cloned().collect();
            prop_assert_eq!(reader.registrations(&filter.clone().into()).unwrap().records, expected);
            let expected: Vec<_> =
                messages.iter().filter(|record| filter.selects_message(record)).cloned().collect();
            prop_assert_eq!(reader.messages(&filter.clone().into()).unwrap().records, expected);
            let expected: Vec<_> =
                transactions.iter().filter(|record| filter.selects_transaction(record)).cloned().collect();
            prop_assert_eq!(reader.transactions(&filter.into()).unwrap().records, expected);
        }
    }
}

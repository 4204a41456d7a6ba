//! A filter finds the same records in the database as among the records that were written to it.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends")]

#[expect(dead_code, reason = "shared with the other tests")]
mod common;
mod generated;

use common::{DAY, NOON, id, message, registration, transaction};
use generated::{USERS, call_with_streams, hosts, media, numbered, stored};
use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use ringtap_model::{
    Call, CallState, Condition, Filter, Id, Message, Nanos, NoteCode, Registration, Stream, Transaction,
};
use ringtap_store::{ImportWriter, Query, Reader};

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

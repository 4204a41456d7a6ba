//! Calls and streams of any kind.

use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use ringtap_model::{Call, CallState, Endpoint, Nanos, Note, NoteCode, Party, Recorded, Stream};
use ringtap_store::ImportWriter;
use tempfile::TempDir;

use super::common::{NOON, call, id, stream};

/// Users of URIs: numbers in every spelling, and what is no number.
pub(crate) const USERS: [&str; 16] = [
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

pub(crate) fn hosts() -> impl Strategy<Value = Endpoint> {
    let addresses = ["192.0.2.1", "10.0.0.7", "10.0.0.77", "10.200.0.1", "2001:db8::1", "fe80::1"];
    select(addresses.to_vec()).prop_map(|address| Endpoint::new(address.parse().unwrap(), 5060))
}

fn notes() -> impl Strategy<Value = Vec<Note>> {
    let codes = subsequence(vec![NoteCode::OneWay, NoteCode::Fax], 0..2);
    codes.prop_map(|codes| codes.into_iter().map(|code| Note::new(code, "evidence".into())).collect())
}

/// A stream that begins so many hours after its call, of one of these hosts.
pub(crate) fn media() -> impl Strategy<Value = Stream> {
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
pub(crate) fn call_with_streams() -> impl Strategy<Value = (Call, Vec<Stream>)> {
    let user = || prop::option::of(select(&USERS[..]).prop_map(str::to_owned));
    let parties = (user(), user(), user(), user(), prop::option::of(select(&USERS[..])));
    let outcome = (select(CallState::ALL.to_vec()), select(vec![0_u16, 200, 486, 503]));
    // Also close to what is searched for, as the columns of the database are rounded.
    let mos = prop_oneof![1.0..4.5, select(vec![2.9996, 3.0, 3.0004, 2.97, 3.02])];
    let duration = prop_oneof![0.0..100_000.0, select(vec![29_999.6, 30_000.0, 60_000.4])];
    let figures = (prop::option::of(mos), prop::option::of(duration));
    let agent = prop::option::of(select(vec!["Gateway", "Yealink T46"]).prop_map(str::to_owned));
    let released = (prop::option::of(select(Party::ALL.to_vec())), prop::option::of(0_u64..90_000));
    let rare = (prop::option::of(select(vec![16_u16, 34])), select(Recorded::ALL.to_vec()), 0_u64..3);
    let streams = prop::collection::vec(media(), 0..3);
    // A third of them begin at the same moment.
    let minute = (0_u64..3_000).prop_map(|minute| if minute % 3 == 0 { 1_440 } else { minute });
    (minute, parties, outcome, figures, agent, notes(), hosts(), (streams, released, rare)).prop_map(
        |(minute, parties, (state, final_code), (mos, duration_ms), agent, notes, src, rest)| {
            let (streams, (released_by, seconds), (cause, recorded, capture_drops)) = rest;
            let invite = NOON + Nanos::from_secs(60 * minute);
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
                released_by,
                end: seconds.map(|seconds| invite + Nanos::from_secs(seconds)),
                cause,
                recorded,
                capture_drops,
                mos_worst_interval: mos.map(|mos| mos - 0.5),
                invite: Some(invite),
                ..call(minute)
            };
            (call, streams)
        },
    )
}

/// Gives each call and stream an id of its own, and each stream its call and time.
pub(crate) fn numbered(calls: Vec<(Call, Vec<Stream>)>) -> Vec<(Call, Vec<Stream>)> {
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

pub(crate) fn stored(calls: &[(Call, Vec<Stream>)], loose: &[Stream]) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    let mut writer = ImportWriter::open(dir.path()).unwrap();
    calls.iter().for_each(|(call, streams)| writer.call(call, streams).unwrap());
    loose.iter().for_each(|stream| writer.stream(stream).unwrap());
    writer.close().unwrap();
    dir
}

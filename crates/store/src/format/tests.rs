use proptest::prelude::*;
use ringtap_model::{
    Call, Direction, Dtmf, DtmfSource, Endpoint, Hz, Id, Interval, Message, Nanos, Note, NoteCode, Record,
    Stream, Value,
};
use ringtap_testing::samples;

use super::*;

const DICTIONARY: &[u8] = include_bytes!("stream.dictionary");

/// The record after it was written and read again, and its compact form.
fn again<R: Record>(record: &R, start: u64, dictionary: &[u8]) -> (Result<R, String>, Vec<u8>) {
    let mut compact = Vec::new();
    let mut encoder = Encoder::<R>::new(&["id"], dictionary).unwrap();
    encoder.encode(record, start, &[], &mut compact).unwrap();
    let mut decoder = Decoder::<R>::new(&Encoder::<R>::description(&["id"]), dictionary).unwrap();
    (decoder.decode(&compact, start, id_column), compact)
}

fn id_column(name: &str) -> Value<'static> {
    if name == "id" { Value::Id(Id([7; 16])) } else { Value::Null }
}

fn reals() -> impl Strategy<Value = f64> {
    prop_oneof![
        any::<f64>(),
        (-2_000_000_i64..2_000_000_000).prop_map(|number| number as f64 / 1e3),
        (-2_000_000_i64..2_000_000_000).prop_map(|number| number as f64 / 1e6),
        prop::sample::select(vec![
            0.0,
            -0.0,
            f64::INFINITY,
            f64::NEG_INFINITY,
            f64::MIN_POSITIVE,
            4.503_6e12
        ]),
    ]
}

fn real() -> impl Strategy<Value = Option<f64>> {
    prop::option::of(reals())
}

fn moment() -> impl Strategy<Value = Nanos> {
    prop_oneof![0_u64..=u64::MAX / 1_000, 1_795_262_400_000_000_u64..1_795_272_400_000_000]
        .prop_map(Nanos::from_micros)
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof!["[ -~]{0,20}", "\\PC{0,5}", "[a-f0-9]{32}"]
}

fn endpoint() -> impl Strategy<Value = Endpoint> {
    (any::<std::net::IpAddr>(), any::<u16>()).prop_map(|(ip, port)| Endpoint::new(ip, port))
}

fn note() -> impl Strategy<Value = Note> {
    let code = prop::sample::select(NoteCode::ALL);
    let direction = prop::option::of(prop::sample::select(Direction::ALL));
    (code, direction, prop::option::of(moment()), real(), real(), text()).prop_map(
        |(code, direction, since, value, threshold, evidence)| Note {
            code,
            direction,
            since,
            value,
            threshold,
            evidence,
        },
    )
}

fn interval() -> impl Strategy<Value = Interval> {
    (moment(), any::<[u32; 3]>(), reals(), [real(), real(), real()]).prop_map(
        |(start, [packets, lost, discarded], jitter_ms, [mos, mos_fixed50, mos_fixed200])| Interval {
            start,
            packets,
            lost,
            jitter_ms,
            discarded,
            mos,
            mos_fixed50,
            mos_fixed200,
        },
    )
}

fn stream() -> impl Strategy<Value = Stream> {
    let ends = (endpoint(), endpoint(), any::<u32>(), any::<u8>());
    let times = (moment(), moment(), prop::option::of(moment()));
    let texts = [(); 4].map(|()| prop::option::of(text()));
    let lists = (prop::collection::vec(interval(), 0..6), prop::collection::vec(note(), 0..4));
    let rest = (any::<[u64; 4]>(), [real(), real(), real(), real()], prop::option::of(any::<u32>()), reals());
    (ends, times, texts, lists, rest).prop_map(
        |(
            (src, dst, ssrc, payload_type),
            (first, last, rtcp_bye),
            [call_id, codec, cname, basis],
            lists,
            rest,
        )| {
            let (intervals, notes) = lists;
            let ([packets, lost, bytes, reports], [mos, rtt_ms, ptime_ms, rate_bps], clock, size_mean) = rest;
            Stream {
                id: Id([7; 16]),
                call: Some(Id([8; 16])),
                src,
                dst,
                ssrc,
                payload_type,
                first,
                last,
                rtcp_bye,
                call_id,
                codec,
                rtcp_cname: cname,
                mos_basis: basis,
                intervals,
                notes,
                packets,
                lost,
                bytes,
                rtcp_reports: Some(reports),
                mos,
                rtt_ms,
                ptime_ms,
                rate_bps,
                clock: clock.map(Hz),
                size_mean,
                ..samples::stream()
            }
        },
    )
}

fn call() -> impl Strategy<Value = Call> {
    let digits = prop::collection::vec((text(), prop::sample::select(DtmfSource::ALL), moment()), 0..4);
    let lists = (prop::collection::vec(text(), 0..3), prop::collection::vec(any::<[u8; 16]>(), 0..4), digits);
    let texts = [(); 3].map(|()| prop::option::of(text()));
    let times = [(); 3].map(|()| prop::option::of(moment()));
    (lists, texts, times, text(), any::<u64>(), prop::option::of(any::<u64>()), real()).prop_map(
        |(
            (diverted_to, streams, dtmf),
            [from_user, to_user, agent],
            [invite, ringing, end],
            call_id,
            drops,
            packets,
            pdd_ms,
        )| Call {
            id: Id([7; 16]),
            diverted_to,
            streams: streams.into_iter().map(Id).collect(),
            dtmf: dtmf.into_iter().map(|(digit, source, time)| Dtmf { digit, source, time }).collect(),
            from_user,
            to_user,
            user_agent_callee: agent,
            invite,
            ringing,
            end,
            call_id,
            capture_drops: drops,
            recorded_packets: packets,
            pdd_ms,
            ..samples::call()
        },
    )
}

/// As debug output, which tells numbers that are none apart, and zeros of either sign.
fn same<R: Record + std::fmt::Debug>(one: &R, other: &R) -> bool {
    format!("{one:?}") == format!("{other:?}")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn a_stream_comes_back(stream in stream(), start in any::<u64>()) {
        let (back, _) = again(&stream, start, DICTIONARY);
        prop_assert!(same(&back.unwrap(), &stream));
    }

    #[test]
    fn a_call_comes_back(call in call(), start in any::<u64>()) {
        let (back, _) = again(&call, start, &[]);
        prop_assert!(same(&back.unwrap(), &call));
    }

    /// Bytes that anybody wrote are a record or none; nothing else happens.
    #[test]
    fn damage_is_found_or_gives_another_record(
        call in call(),
        flips in prop::collection::vec((any::<u16>(), any::<u8>()), 1..4),
        end in any::<u16>(),
    ) {
        let mut encoder = Encoder::<Call>::new(&["id"], &[]).unwrap();
        let mut body = encoder.body(&call, 5, &[]).to_vec();
        for (place, value) in flips {
            let place = usize::from(place) % body.len();
            body[place] ^= value;
        }
        let layout = layout(Call::SHAPE, &["id"]);
        let _ = read::read(&layout, 5, &body);
        let cut = usize::from(end) % body.len();
        prop_assert!(read::read(&layout, 5, &body[..cut]).is_none_or(|values| values.len() == layout.len()));

        let (_, mut compact) = again(&call, 5, &[]);
        let place = usize::from(end) % compact.len();
        compact[place] ^= 0x55;
        let mut decoder = Decoder::<Call>::new(&Encoder::<Call>::description(&["id"]), &[]).unwrap();
        let _ = decoder.decode(&compact, 5, id_column);
        let _ = decoder.decode(&compact[..place], 5, id_column);
    }

    #[test]
    fn any_bytes_are_read_without_harm(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = read::read(&layout(Stream::SHAPE, &["id"]), 5, &bytes);
        let _ = read::read(&layout(Call::SHAPE, &["id"]), 5, &bytes);
    }
}

/// A stream of more than a month: what is written can be read.
#[test]
fn of_too_many_intervals_the_first_are_kept() {
    let stream = samples::stream();
    let first = stream.intervals[0].clone();
    let interval = |number| Interval { start: first.start + Nanos::from_secs(10 * number), ..first.clone() };
    let intervals: Vec<Interval> = (0..write::MOST_PARTS as u64 + 3).map(interval).collect();
    let long = Stream { intervals, ..stream };
    let (read, _) = again(&long, long.first.micros(), &[]);
    let read = read.unwrap();
    assert_eq!(read.intervals[..], long.intervals[..write::MOST_PARTS]);
    assert_eq!((read.packets, read.notes), (long.packets, long.notes));
}

/// Ten minutes of two intervals that hardly change take little: the first of each field, then nothing.
#[test]
fn intervals_take_little() {
    let stream = Stream { notes: vec![], ..samples::stream() };
    let longer = |count: usize| {
        let first = &stream.intervals[0];
        let intervals = (0..count).map(|number| Interval {
            start: first.start + Nanos::from_secs(10 * number as u64),
            ..first.clone()
        });
        let stream = Stream { intervals: intervals.collect(), ..stream.clone() };
        Encoder::new(&["id"], &[]).unwrap().body(&stream, 0, &[]).len()
    };
    assert_eq!(longer(3_600), longer(3) + 1, "the count has one byte more");
}

/// A file whose format lacks a field, has another, and has them in another order.
#[test]
fn a_format_of_another_version_is_read() {
    let message = samples::message();
    let mut encoder = Encoder::<Message>::new(&["id", "code"], &[]).unwrap();
    let mut compact = Vec::new();
    encoder.encode(&message, 0, &[], &mut compact).unwrap();
    let description = Encoder::<Message>::description(&["id", "code"]);
    let read = |description: &str| {
        let mut decoder = Decoder::<Message>::new(description, &[]).ok_or("no format")?;
        decoder.decode(&compact, 0, |name| match name {
            "id" => Value::Id(message.id),
            "code" => Value::Integer(202),
            _ => Value::Null,
        })
    };
    assert_eq!(read(&description), Ok(message.clone()));
    // The writer called a field by a name that is not known here, and the reader knows one that is not there.
    let renamed = description.replace("content_type", "media_type");
    assert_eq!(read(&renamed), Ok(Message { content_type: None, ..message.clone() }));
    let missing = read(&description.replace("\"call_id\"", "\"other\""));
    assert_eq!(missing, Err("its call_id is none".into()));
    assert_eq!(read("[{}]"), Err("no format".into()));
    assert!(read("[]").is_err());
    let notes = r#"[{"name":"call_id","kind":"parts","fields":[{"name":"x","kind":"parts","fields":[]}]}]"#;
    assert!(read(notes).is_err());
}

/// Of most frames everything but the block is left out; files of before have whole ones, and say nothing of
/// it.
#[test]
fn frames_are_bare_or_whole() {
    let stream = Stream { id: Id([7; 16]), ..samples::stream() };
    let start = stream.first.micros();
    let (read, compact) = again(&stream, start, DICTIONARY);
    assert_eq!(read.as_ref(), Ok(&stream));
    let whole = [&frame_header(compact.len())[..], &compact].concat();
    assert_eq!(bare(&whole), compact);
    let of_before = serde_json::to_string(&layout(Stream::SHAPE, &["id"])).unwrap();
    let decode = |description: &str, compact: &[u8]| {
        Decoder::<Stream>::new(description, DICTIONARY).unwrap().decode(compact, start, id_column)
    };
    assert_eq!(decode(&of_before, &whole), read);
    assert!(decode(&of_before, &compact).is_err());
    assert_eq!(decode(&Encoder::<Stream>::description(&["id"]), &whole), read);
}

/// A block that begins as a whole frame does, with no literals and no sequences. Blocks that are not the
/// last, have a larger window, or another length.
#[test]
fn a_frame_that_would_not_be_told_apart_stays_whole() {
    let empty = [&frame_header(2)[..], &[0, 0]].concat();
    assert_eq!(bare(&empty), empty);
    let mut decoder = Decoder::<Stream>::new(&Encoder::<Stream>::description(&["id"]), DICTIONARY).unwrap();
    let read = decoder.decode(bare(&empty), 0, id_column);
    assert_eq!(read, Err("its fields are damaged".into()));
    for other in [[0, 0, 0x14, 0, 0, 9, 9], [0, 8, 0x15, 0, 0, 9, 9], [0, 0, 0x1d, 0, 0, 9, 9]] {
        assert_eq!(bare(&other), other);
    }
}

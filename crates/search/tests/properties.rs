//! What holds for every search and every call: the tree means what a plain reading of the text means, nothing
//! is left out beforehand that matches, and what is printed reads back.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends")]

use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use ringtap_model::stream::LostAt;
use ringtap_model::{
    Attestation, Call, CallState, Direction, Endpoint, Id, Nanos, Note, NoteCode, Party, Recorded, Stream,
};
use ringtap_search::{Context, Expression, parse};
use ringtap_testing::samples;

/// 2026-11-21 16:00 UTC.
const NOW: Nanos = Nanos(1_795_276_800_000_000_000);
const HOUR: u64 = 3_600;

fn context() -> Context {
    let mut context = Context::utc(NOW);
    context.lists.insert("vip".into(), vec!["*0138".into(), "alice".into()]);
    context
}

/// A condition as a person writes it, and what it means, worked out by hand.
type Atom = (&'static str, fn(&Call, &[Stream]) -> bool);

fn callers(call: &Call) -> Vec<String> {
    [call.from_user.clone(), call.asserted_identity.clone()].into_iter().flatten().collect()
}

fn callees(call: &Call) -> Vec<String> {
    let mut all = call.diverted_to.clone();
    all.extend(call.to_user.clone());
    all.extend(call.ruri_user.clone());
    all
}

fn parties(call: &Call) -> Vec<String> {
    [callers(call), callees(call)].concat()
}

/// The digits that a telephone number comes down to, for the few spellings of this test.
fn digits(user: &str) -> String {
    user.replace([' ', '-'], "").trim_start_matches('+').trim_start_matches("00").to_owned()
}

fn ends(users: Vec<String>, end: &str) -> bool {
    users.iter().any(|user| user.ends_with(end) || digits(user).ends_with(end))
}

fn begins(users: Vec<String>, begin: &str) -> bool {
    users.iter().any(|user| digits(user).starts_with(begin) || user.starts_with(begin))
}

fn ip(endpoint: Endpoint) -> String {
    endpoint.ip.to_string()
}

fn seconds(time: Nanos) -> u64 {
    time.0 / 1_000_000_000
}

fn up_until(call: &Call) -> u64 {
    match call.state {
        _ if call.end.is_some() => seconds(call.end.unwrap()),
        CallState::Active | CallState::Ringing | CallState::Trying => u64::MAX,
        _ => seconds(call.answer.or(call.ringing).or(call.trying).or(call.invite).unwrap()),
    }
}

const CALLS: &[Atom] = &[
    ("0138", |call, _| ends(parties(call), "0138") || begins(parties(call), "0138")),
    ("44", |call, _| ends(parties(call), "44") || begins(parties(call), "44")),
    ("+44*", |call, _| begins(parties(call), "44")),
    ("from:alice", |call, _| callers(call).contains(&"alice".to_owned())),
    ("to:[*0138,alice]", |call, _| ends(callees(call), "0138") || callees(call).contains(&"alice".into())),
    ("number:$vip", |call, _| ends(parties(call), "0138") || parties(call).contains(&"alice".into())),
    ("diverted:*", |call, _| !call.diverted_to.is_empty()),
    ("callid:call-1*", |call, _| call.call_id.starts_with("call-1")),
    ("uri:*@Example.org", |call, _| {
        [&call.from_host, &call.to_host].iter().any(|host| host.as_deref() == Some("Example.org"))
    }),
    ("10.1", |call, streams| {
        let mut hosts = vec![ip(call.src), ip(call.dst)];
        streams.iter().for_each(|stream| hosts.extend([ip(stream.src), ip(stream.dst)]));
        hosts.iter().any(|host| host.starts_with("10.1."))
    }),
    ("ip:10.1.0.7:5060", |call, streams| {
        let mut hosts = vec![call.src, call.dst];
        streams.iter().for_each(|stream| hosts.extend([stream.src, stream.dst]));
        hosts.iter().any(|host| host.to_string() == "10.1.0.7:5060")
    }),
    ("ua:yealink", |call, _| {
        let agents = [&call.user_agent_caller, &call.user_agent_callee];
        agents.into_iter().flatten().any(|agent| agent.to_lowercase().contains("yealink"))
    }),
    ("trunk:carrier*", |call, _| {
        [&call.trunk_from, &call.trunk_to].into_iter().flatten().any(|trunk| trunk.starts_with("carrier"))
    }),
    ("yealink", |call, _| {
        let json = format!("{call:?}").to_lowercase();
        json.contains("yealink")
    }),
    ("state:[failed,timeout]", |call, _| matches!(call.state, CallState::Failed | CallState::Timeout)),
    ("cancelled", |call, _| call.state == CallState::Cancelled),
    ("code:4xx", |call, _| call.final_code / 100 == 4),
    ("code>=486", |call, _| call.final_code >= 486),
    ("-code:*", |call, _| call.final_code == 0),
    ("cause:34", |call, _| call.cause == Some(34)),
    ("reason:busy", |call, _| {
        call.final_reason.as_ref().is_some_and(|reason| reason.to_lowercase().contains("busy"))
    }),
    ("hangup:callee", |call, _| call.released_by == Some(Party::Callee)),
    ("retrans>1", |call, _| call.retransmissions > 1),
    ("retrans:0..1", |call, _| call.retransmissions < 2),
    ("mos<3", |call, _| call.mos.unwrap_or(9.0) < 3.0),
    ("mos:3", |call, _| call.mos.is_some_and(|mos| (2.5..=3.5).contains(&mos))),
    ("mosworst<=3", |call, _| call.mos_worst_interval.unwrap_or(9.0) <= 3.0),
    ("pdd>2s", |call, _| call.pdd_ms.unwrap_or(0.0) > 2_000.0),
    ("ring>=10s", |call, _| {
        let end = call.answer.or(call.end);
        call.ringing.zip(end).is_some_and(|(from, to)| to.0 >= from.0 + 10_000_000_000)
    }),
    ("dur:30s..60s", |call, _| call.duration_ms.is_some_and(|dur| (30e3..=60e3).contains(&dur))),
    ("dur:*", |call, _| call.duration_ms.is_some()),
    ("drops>0", |call, _| call.capture_drops > 0),
    ("attest:a", |call, _| call.attestation == Some(Attestation::Full)),
    ("transport:udp", |_, _| true),
    ("recorded:full", |call, _| call.recorded == Recorded::Full),
    ("note:[one_way,fax]", |call, _| {
        call.notes.iter().any(|note| matches!(note.code, NoteCode::OneWay | NoteCode::Fax))
    }),
    ("problem:yes", |call, _| call.notes.iter().any(|note| note.code != NoteCode::Hold)),
    ("problem:no", |call, _| call.notes.iter().all(|note| note.code == NoteCode::Hold)),
    ("conversation:*", |call, _| call.conversation.is_some()),
    ("id:abababababababababababababababab", |call, _| call.id == Id([0xab; 16])),
    ("began:-2h", |call, _| {
        (seconds(NOW) - 2 * HOUR..seconds(NOW)).contains(&seconds(call.start().unwrap()))
    }),
    ("began<15:00", |call, _| seconds(call.start().unwrap()) < seconds(NOW) - HOUR),
    ("ended>=2026-11-21", |call, _| {
        call.end.is_some_and(|end| seconds(end) >= seconds(NOW) - 16 * HOUR)
            && seconds(call.start().unwrap()) >= seconds(NOW) - 40 * HOUR
    }),
    ("15:00", |call, _| {
        let (from, to) = (seconds(NOW) - HOUR, seconds(NOW) - HOUR + 60);
        let start = seconds(call.start().unwrap());
        start < to && up_until(call) >= from && start >= from - 24 * HOUR
    }),
    ("at:yesterday", |call, _| {
        let (from, to) = (seconds(NOW) - 40 * HOUR, seconds(NOW) - 16 * HOUR);
        let start = seconds(call.start().unwrap());
        start < to && up_until(call) >= from && start >= from - 24 * HOUR
    }),
];

/// The same of one stream.
type StreamAtom = (&'static str, fn(&Stream) -> bool);

const STREAMS: &[StreamAtom] = &[
    ("codec:G711", |stream| matches!(stream.codec.as_deref(), Some("PCMA" | "PCMU"))),
    ("G.729", |stream| stream.codec.as_deref() == Some("G729")),
    ("codec:*", |stream| stream.codec.is_some()),
    ("ptime>20", |stream| stream.ptime_ms.is_some_and(|ptime| ptime > 20.0)),
    ("loss>2", |stream| stream.lost as f64 / (stream.lost + stream.unique) as f64 > 0.02),
    ("loss:0..1%", |stream| stream.lost as f64 / (stream.lost + stream.unique) as f64 <= 0.01),
    ("jitter>30ms", |stream| stream.jitter_ms_mean.is_some_and(|jitter| jitter > 30.0)),
    ("silence>90", |stream| stream.silence_pct.is_some_and(|share| share > 90.0)),
    ("clipped:*", |stream| stream.clipped_pct.is_some()),
    ("rtt>100", |stream| stream.rtt_ms.is_some_and(|rtt| rtt > 100.0)),
    ("lostat:sender", |stream| stream.lost_at == Some(LostAt::Sender)),
    ("direction:callee_to_caller", |stream| stream.direction == Some(Direction::CalleeToCaller)),
];

/// Fields that mean the stream within `stream(...)` and the call outside.
const WITHIN: &[StreamAtom] = &[
    ("mos<3", |stream| stream.mos.is_some_and(|mos| mos < 3.0)),
    ("dur>30s", |stream| stream.last.0.saturating_sub(stream.first.0) > 30_000_000_000),
    ("ip:10.1.0.0/16", |stream| [stream.src, stream.dst].iter().any(|host| ip(*host).starts_with("10.1."))),
    ("note:fax", |stream| stream.notes.iter().any(|note| note.code == NoteCode::Fax)),
    ("problem:no", |stream| stream.notes.iter().all(|note| note.code == NoteCode::Hold)),
];

/// A search as a tree, of which the text is made.
#[derive(Clone, Debug)]
enum Plain {
    Call(usize),
    Stream(usize),
    /// Several conditions on one stream, each of which may be negated, joined by `or` or side by side.
    OneStream(Vec<(usize, bool)>, bool),
    Not(Box<Plain>),
    All(Vec<Plain>),
    Any(Vec<Plain>),
}

fn within(number: usize) -> StreamAtom {
    STREAMS.iter().chain(WITHIN).nth(number).copied().unwrap()
}

impl Plain {
    fn text(&self) -> String {
        let joined = |parts: &[Self], with: &str| {
            format!("({})", parts.iter().map(Self::text).collect::<Vec<_>>().join(with))
        };
        match self {
            Self::Call(number) => CALLS[*number].0.to_owned(),
            Self::Stream(number) => STREAMS[*number].0.to_owned(),
            Self::OneStream(atoms, is_any) => {
                let atoms = atoms.iter().map(|(number, is_not)| {
                    format!("{}{}", if *is_not { "-" } else { "" }, within(*number).0)
                });
                let with = if *is_any { " or " } else { " " };
                format!("stream({})", atoms.collect::<Vec<_>>().join(with))
            }
            Self::Not(inner) => format!("not {}", inner.text()),
            Self::All(parts) => joined(parts, " "),
            Self::Any(parts) => joined(parts, " OR "),
        }
    }

    fn holds(&self, call: &Call, streams: &[Stream]) -> bool {
        let count = |parts: &[Self]| parts.iter().filter(|part| part.holds(call, streams)).count();
        match self {
            Self::Call(number) => CALLS[*number].1(call, streams),
            Self::Stream(number) => streams.iter().filter(|stream| STREAMS[*number].1(stream)).count() > 0,
            Self::OneStream(atoms, is_any) => {
                let holding = |stream: &Stream| {
                    let holds = |(number, is_not): &&(usize, bool)| within(*number).1(stream) != *is_not;
                    atoms.iter().filter(holds).count()
                };
                let enough = if *is_any { 1 } else { atoms.len() };
                streams.iter().any(|stream| holding(stream) >= enough)
            }
            Self::Not(inner) => !inner.holds(call, streams),
            Self::All(parts) => count(parts) == parts.len(),
            Self::Any(parts) => count(parts) > 0,
        }
    }
}

fn plain() -> impl Strategy<Value = Plain> {
    let one_stream = prop::collection::vec((0..STREAMS.len() + WITHIN.len(), any::<bool>()), 1..4);
    let leaf = prop_oneof![
        4 => (0..CALLS.len()).prop_map(Plain::Call),
        2 => (0..STREAMS.len()).prop_map(Plain::Stream),
        1 => (one_stream, any::<bool>()).prop_map(|(atoms, is_any)| Plain::OneStream(atoms, is_any)),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            inner.clone().prop_map(|inner| Plain::Not(Box::new(inner))),
            prop::collection::vec(inner.clone(), 1..4).prop_map(Plain::All),
            prop::collection::vec(inner, 1..4).prop_map(Plain::Any),
        ]
    })
}

fn user() -> impl Strategy<Value = Option<String>> {
    let users = ["+442079460138", "00442079460138", "01380000", "44 20 1", "alice", "Alice"];
    prop::option::of(select(users.to_vec()).prop_map(str::to_owned))
}

fn host() -> impl Strategy<Value = Endpoint> {
    let hosts = ["192.0.2.1:5060", "10.1.0.7:5060", "10.1.9.9:4000", "[2001:db8::1]:5060"];
    select(hosts.to_vec()).prop_map(|host| host.parse().unwrap())
}

fn notes() -> impl Strategy<Value = Vec<Note>> {
    let codes = subsequence(vec![NoteCode::OneWay, NoteCode::Fax, NoteCode::Hold], 0..3);
    codes.prop_map(|codes| codes.into_iter().map(|code| Note::new(code, "heard".into())).collect())
}

fn stream() -> impl Strategy<Value = Stream> {
    let figure = |numbers: Vec<f64>| prop::option::of(select(numbers));
    let figures = (
        figure(vec![10.0, 20.0, 30.0]),
        figure(vec![0.5, 29.9, 30.1]),
        figure(vec![89.0, 91.0]),
        figure(vec![99.0, 101.0]),
        figure(vec![2.4, 2.9, 3.0, 4.1]),
    );
    let codec = prop::option::of(select(vec!["PCMA", "PCMU", "G729", "opus"]));
    let way = prop::option::of(select(Direction::ALL.to_vec()));
    let place = prop::option::of(select(LostAt::ALL.to_vec()));
    (figures, codec, way, place, host(), select(vec![0, 1, 5, 20, 21, 400]), 0_u64..60, notes()).prop_map(
        |(
            (ptime_ms, jitter_ms_mean, silence_pct, rtt_ms, mos),
            codec,
            direction,
            lost_at,
            src,
            lost,
            long,
            notes,
        )| {
            let last = NOW + Nanos::from_secs(long);
            Stream {
                ptime_ms,
                jitter_ms_mean,
                silence_pct,
                clipped_pct: silence_pct,
                rtt_ms,
                mos,
                codec: codec.map(str::to_owned),
                direction,
                lost_at,
                src,
                lost,
                unique: 980,
                first: NOW,
                last,
                notes,
                ..samples::stream()
            }
        },
    )
}

/// A call within the last three days.
fn call() -> impl Strategy<Value = Call> {
    let users = (user(), user(), user(), user());
    let figure = |numbers: Vec<f64>| prop::option::of(select(numbers));
    let figures = (
        figure(vec![2.4, 2.99, 3.0, 3.5, 4.2]),
        figure(vec![1_999.0, 2_001.0]),
        figure(vec![29_999.0, 30_000.0, 60_001.0]),
        0_u32..3,
    );
    let texts = (
        prop::option::of(select(vec!["Yealink SIP-T46S", "Gateway"])),
        prop::option::of(select(vec!["Busy Here", "OK"])),
        prop::option::of(select(vec!["carrier-a", "10.1.0.7"])),
        select(vec!["call-1@x", "call-2@yealink"]),
        select(vec!["example.org", "Example.org"]),
    );
    let outcome = (
        select(CallState::ALL.to_vec()),
        select(vec![0_u16, 200, 404, 486, 503]),
        prop::option::of(select(vec![16_u16, 34])),
        prop::option::of(select(Party::ALL.to_vec())),
        prop::option::of(select(Attestation::ALL.to_vec())),
        select(Recorded::ALL.to_vec()),
    );
    // Minutes before now, seconds until it rang and until it was over.
    let times = (0_u64..4_500, prop::option::of(0_u64..20), prop::option::of(0_u64..200_000));
    (users, figures, texts, outcome, times, (host(), notes(), any::<bool>())).prop_map(
        |(users, figures, texts, outcome, times, (src, notes, is_odd))| {
            let (minutes, ringing, end) = times;
            let invite = NOW.since(Nanos::from_secs(minutes * 60 + u64::from(is_odd)));
            let later = |seconds: u64| invite + Nanos::from_secs(seconds);
            Call {
                id: Id([if is_odd { 0xab } else { 0xcd }; 16]),
                call_id: texts.3.to_owned(),
                src,
                from_user: users.0,
                from_host: Some(texts.4.to_owned()),
                asserted_identity: users.1,
                to_user: users.2,
                ruri_user: None,
                diverted_to: users.3.into_iter().collect(),
                conversation: is_odd.then_some(Id([1; 16])),
                trunk_from: texts.2.map(str::to_owned),
                user_agent_callee: texts.0.map(str::to_owned),
                attestation: outcome.4,
                state: outcome.0,
                final_code: outcome.1,
                final_reason: texts.1.map(str::to_owned),
                cause: outcome.2,
                released_by: outcome.3,
                recorded: outcome.5,
                invite: Some(invite),
                trying: None,
                ringing: ringing.map(later),
                answer: None,
                end: end.map(later),
                mos: figures.0,
                mos_worst_interval: figures.0.map(|mos| mos - 0.5),
                pdd_ms: figures.1,
                duration_ms: figures.2,
                retransmissions: figures.3,
                capture_drops: u64::from(figures.3),
                quality_reports: vec![],
                notes,
                ..samples::call()
            }
        },
    )
}

fn with_streams() -> impl Strategy<Value = (Call, Vec<Stream>)> {
    (call(), prop::collection::vec(stream(), 0..3)).prop_map(|(call, streams)| {
        let ids = (0..streams.len()).map(|number| Id([number as u8; 16])).collect();
        (Call { streams: ids, ..call }, streams)
    })
}

/// What is printed reads back as the same, and can be said in words.
fn reads_back(expression: &Expression) {
    let printed = expression.to_string();
    let again = parse(&printed, &context()).unwrap_or_else(|error| panic!("{printed}: {error}"));
    assert_eq!(&again, expression, "{printed}");
    assert!(expression.is_empty() || expression.in_words(&context()).starts_with("calls "));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    #[test]
    fn a_search_means_what_it_says(plain in plain(), (call, streams) in with_streams()) {
        let text = plain.text();
        let expression = parse(&text, &context()).unwrap_or_else(|error| panic!("{text}: {error}"));
        let matches = expression.matches(&call, &streams);
        prop_assert_eq!(matches, plain.holds(&call, &streams), "{}", &text);
        // Without the streams it is the same, where it is known.
        prop_assert!(expression.matches_call(&call).is_none_or(|known| known == matches), "{}", &text);
        if !expression.needs_streams() {
            prop_assert_eq!(expression.matches_call(&call), Some(matches), "{}", &text);
        }
        if matches {
            prop_assert!(expression.prefilter().selects_call(&call, &streams), "{}", &text);
            prop_assert!(expression.time_span().contains(call.start().unwrap()), "{}", &text);
        }
        reads_back(&expression);
    }

    #[test]
    fn any_text_is_read_or_refused(
        words in prop::collection::vec(select(WORDS.to_vec()), 0..12),
        odd in "\\PC{0,20}",
        place in 0_usize..12,
    ) {
        let mut text = words.concat();
        let at = text.char_indices().map(|(at, _)| at).nth(place).unwrap_or(0);
        text.insert_str(at, if place % 3 == 0 { &odd } else { "" });
        let length = text.chars().count();
        match parse(&text, &context()) {
            Ok(expression) => reads_back(&expression),
            Err(error) => {
                let end = error.column + error.length;
                prop_assert!(error.column >= 1 && end <= length.max(1) + 2, "{text:?}: {error}");
                prop_assert!(!error.problem.is_empty() && !error.remedy.is_empty());
            }
        }
        for found in ringtap_search::complete(&text, place + 1) {
            prop_assert!(found.column >= 1 && found.column + found.length <= place + 1, "{text:?} {found:?}");
        }
    }
}

/// Pieces of searches.
const WORDS: [&str; 62] = [
    " ",
    " ",
    " ",
    "(",
    ")",
    "-",
    "not ",
    " or ",
    " and ",
    "stream(",
    "[",
    "]",
    ",",
    ":",
    ">",
    "<=",
    "=",
    "*",
    "\"",
    "\\",
    "..",
    "…",
    "$vip",
    "from",
    "number",
    "code",
    "4xx",
    "486",
    "mos",
    "3.25",
    "dur",
    "1m",
    "30s",
    "4:05",
    "500ms",
    "at",
    "began",
    "14:03",
    "yesterday",
    "yesterday 15:00",
    "-2h",
    "2026-11-21",
    "T10:00:00.5Z",
    "ip",
    "192.0.2",
    "10.1.0.7:5060",
    "2001:db8::1",
    "/64",
    "state",
    "failed",
    "note",
    "codec",
    "G.729",
    "loss",
    "2%",
    "ua",
    "Yealink",
    "id",
    "a@b",
    "sip:",
    "+44",
    "é",
];

#[test]
fn the_largest_search_is_read_quickly() {
    let text = "(".repeat(31) + &"zz or ".repeat(198) + "zz" + &")".repeat(31);
    let expression = parse(&text, &context()).unwrap();
    assert!(!expression.matches(&samples::call(), &[]));
    let stars = format!("text:{}", "*a".repeat(2_000));
    let call = Call { call_id: "a".repeat(4_000), ..samples::call() };
    assert!(parse(&stars, &context()).unwrap().matches(&call, &[]));
}

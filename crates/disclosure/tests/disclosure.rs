//! What a request finds in a database, what is joined to it, and the files that are made of it.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;

use proptest::option;
use proptest::prelude::*;
use ringtap_disclosure::{Error, Files, Found, Store, search};
use ringtap_model::{Call, CallState, Direction, Endpoint, HeldAddress, Id, Identity, Nanos, Stream};
use ringtap_store::{IdentityReader, ImportWriter, Reader, RunningSearch};
use ringtap_testing::samples::{self, START};
use ringtap_warrant::{Category, NewRequest};

fn at(second: u64) -> Nanos {
    START + Nanos::from_secs(second)
}

fn endpoint(text: &str) -> Endpoint {
    let end: std::net::SocketAddr = text.parse().unwrap();
    Endpoint::new(end.ip(), end.port())
}

/// An answered call of a minute, with media of both sides from the addresses of its signalling.
fn call(number: u8, second: u64, from: &str, src: &str, dst: &str) -> (Call, Vec<Stream>) {
    let (src, dst) = (endpoint(src), endpoint(dst));
    let id = |kind: u8| Id([kind, number, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
    let media = |end: Endpoint| Endpoint::new(end.ip, end.port + 10);
    let call = Call {
        id: id(1),
        call_id: format!("{number}@x"),
        src,
        dst,
        from_user: Some(from.into()),
        invite: Some(at(second)),
        trying: None,
        ringing: None,
        answer: Some(at(second + 4)),
        end: Some(at(second + 64)),
        streams: vec![id(2), id(3)],
        ..samples::call()
    };
    let stream = |id, src, dst, direction| Stream {
        id,
        call_id: Some(call.call_id.clone()),
        call: Some(call.id),
        direction: Some(direction),
        src: media(src),
        dst: media(dst),
        first: at(second + 4),
        last: at(second + 64),
        ..samples::stream()
    };
    let streams = vec![
        stream(id(2), src, dst, Direction::CallerToCallee),
        stream(id(3), dst, src, Direction::CalleeToCaller),
    ];
    (call, streams)
}

fn held(network: &str, ports: Option<(u16, u16)>, from: u64, until: Option<u64>) -> HeldAddress {
    HeldAddress {
        network: network.into(),
        first_port: ports.map(|(first, _)| first),
        last_port: ports.map(|(_, last)| last),
        from: at(from),
        until: until.map(at),
        ..samples::identity().addresses.remove(0)
    }
}

fn session(number: u8, user: &str, addresses: Vec<HeldAddress>) -> Identity {
    let start = addresses.iter().map(|held| held.from).min().unwrap_or(START);
    let is_open = addresses.iter().any(|held| held.until.is_none());
    let end = addresses.iter().filter_map(|held| held.until).max().filter(|_| !is_open);
    Identity {
        id: Id([number; 16]),
        user: Some(user.into()),
        names: vec![user.into(), "02-00-5E-10-00-01".into()],
        start,
        first: start,
        last: end.unwrap_or(start),
        end,
        addresses,
        imsi: Some(format!("23415000000000{number}")),
        ..samples::identity()
    }
}

fn stored(dir: &Path, calls: &[(Call, Vec<Stream>)], sessions: &[Identity]) -> Store {
    let mut writer = ImportWriter::open(dir).unwrap();
    for (call, streams) in calls {
        writer.call(call, streams).unwrap();
        streams.iter().for_each(|stream| writer.stream(stream).unwrap());
    }
    sessions.iter().for_each(|session| writer.identity(session).unwrap());
    writer.close().unwrap();
    let sessions = (!sessions.is_empty()).then(|| IdentityReader::open(dir).unwrap());
    Store { calls: (!calls.is_empty()).then(|| Reader::open(dir).unwrap()), sessions }
}

fn request(subjects: &[&str], from: u64, until: u64) -> NewRequest {
    NewRequest {
        case_number: "C-1".into(),
        authority: "Police".into(),
        legal_basis: "Act 1".into(),
        received: at(200_000),
        from: at(from),
        until: at(until),
        categories: Category::ALL.to_vec(),
        subjects: subjects.iter().map(|text| text.parse().unwrap()).collect(),
    }
}

fn found(store: &Store, request: &NewRequest) -> Found {
    search(store, request, 1_000, &Arc::new(RunningSearch::new())).unwrap()
}

/// A number, and by what it was found.
type Numbered = (u8, String);

/// The numbers of calls, by what each was found, and those of sessions.
fn numbers(found: &Found) -> (Vec<Numbered>, Vec<Numbered>) {
    let calls = found.calls.iter().map(|row| (row.id.0[1], row.found_by.join(" ")));
    let accesses = found.accesses.iter().map(|row| (row.id.0[0], row.found_by.join(" ")));
    (calls.collect(), accesses.collect())
}

fn by(number: u8, found_by: &str) -> Numbered {
    (number, found_by.to_owned())
}

/// Alice behind a shared address, bob alone on his, calls among them and strangers.
fn town(dir: &Path) -> Store {
    let alice = held("203.0.113.7", Some((40_000, 40_999)), 0, Some(1_000));
    let after = held("203.0.113.7", Some((40_000, 40_999)), 1_000, None);
    let next = held("203.0.113.7", Some((41_000, 41_999)), 0, None);
    let bob = held("198.51.100.2", None, 0, None);
    let sessions = [
        session(1, "alice@a.example", vec![alice]),
        session(2, "carol", vec![after]),
        session(3, "dave", vec![next]),
        session(4, "bob", vec![bob]),
    ];
    let mut calls = [
        call(1, 100, "+441601234567", "203.0.113.7:40060", "192.0.2.2:5060"),
        call(2, 200, "0044160-1234-567", "203.0.113.7:41060", "192.0.2.2:5060"),
        call(3, 1_200, "anonymous", "203.0.113.7:40060", "198.51.100.2:5060"),
        call(4, 90_000, "+441601234567", "192.0.2.1:5060", "192.0.2.2:5060"),
    ];
    calls[3].0.diverted_to = vec!["+441609999999".into()];
    stored(dir, &calls, &sessions)
}

#[test]
fn a_number_finds_its_calls_in_any_notation_and_who_had_the_addresses_then() {
    let dir = tempfile::tempdir().unwrap();
    let store = town(dir.path());
    let all = found(&store, &request(&["number:+441601234567"], 0, 100_000));
    assert_eq!(numbers(&all), (vec![by(1, "calling"), by(2, "calling"), by(4, "calling")], vec![]));
    assert_eq!(all.days, Some(2));
    let rows = &all.calls;
    let users = |row: usize| -> Vec<&str> {
        let holders = rows[row].caller.holders.iter();
        holders.filter_map(|holder| holder.user.as_deref()).collect()
    };
    // The same address: the port tells alice and dave apart.
    assert_eq!((users(0), users(1), users(2)), (vec!["alice@a.example"], vec!["dave"], vec![]));
    let holder = &rows[0].caller.holders[0];
    assert_eq!((holder.first_port, holder.until), (Some(40_000), Some(at(1_000))));
    assert_eq!(holder.imsi.as_deref(), Some("234150000000001"));
    assert_eq!(rows[0].caller.media, [endpoint("203.0.113.7:40070")]);
    assert_eq!(rows[0].callee.media, [endpoint("192.0.2.2:5070")]);
    assert_eq!(rows[0].routed_to, ["voicemail"]);
    // The period is of their begin, its end is not in it.
    let some = found(&store, &request(&["number:+441601234567"], 100, 200));
    assert_eq!(numbers(&some).0, [by(1, "calling")]);
    assert!(found(&store, &request(&["number:+441601234567"], 101, 200)).calls.is_empty());
    // What it was routed on to is a number of it as well.
    let routed = found(&store, &request(&["number:0044160999*"], 0, 100_000));
    assert_eq!(numbers(&routed).0, [by(4, "routed_to")]);
}

#[test]
fn an_address_with_a_port_finds_one_of_those_who_share_it() {
    let dir = tempfile::tempdir().unwrap();
    let store = town(dir.path());
    let of = |subject: &str, from, until| numbers(&found(&store, &request(&[subject], from, until)));
    // Calls of the address and port itself, and those of the session that has it.
    let (calls, sessions) = of("address:203.0.113.7:40070", 0, 1_000);
    assert_eq!((calls, sessions), (vec![by(1, "address session")], vec![by(1, "address")]));
    let (calls, sessions) = of("address:203.0.113.7:40001", 1_100, 1_300);
    assert_eq!((calls, sessions), (vec![by(3, "session")], vec![by(2, "address")]));
    let (calls, sessions) = of("address:203.0.113.0/24", 0, 900);
    assert_eq!(calls, [by(1, "address session"), by(2, "address session")]);
    assert_eq!(sessions, [by(1, "address"), by(3, "address")]);
    assert_eq!(of("address:203.0.113.8", 0, 100_000), (vec![], vec![]));
}

#[test]
fn a_user_finds_sessions_and_the_calls_from_where_the_user_was() {
    let dir = tempfile::tempdir().unwrap();
    let store = town(dir.path());
    let of = |subject: &str, from, until| numbers(&found(&store, &request(&[subject], from, until)));
    assert_eq!(of("user~:ALICE", 0, 100_000), (vec![by(1, "session")], vec![by(1, "user~")]));
    assert_eq!(of("user:bob", 0, 100_000), (vec![by(3, "session")], vec![by(4, "user")]));
    assert_eq!(of("imsi:234150000000002", 0, 100_000), (vec![by(3, "session")], vec![by(2, "imsi")]));
    // It had ended before.
    assert_eq!(of("user~:alice", 1_000, 2_000), (vec![], vec![]));
    let mut only = request(&["user~:alice"], 0, 100_000);
    only.categories = vec![Category::InternetAccess];
    assert_eq!(numbers(&found(&store, &only)), (vec![], vec![by(1, "user~")]));
    only.categories = vec![Category::Telephony];
    assert_eq!(numbers(&found(&store, &only)), (vec![by(1, "session")], vec![]));
}

#[test]
fn media_elsewhere_than_signalling_finds_a_call_and_who_had_its_address() {
    let dir = tempfile::tempdir().unwrap();
    let (call, mut streams) = call(1, 100, "alice", "192.0.2.1:5060", "192.0.2.2:5060");
    // From 4 s on; the telephone got another address in between.
    (streams[0].src, streams[1].dst) = (endpoint("203.0.113.7:40001"), endpoint("203.0.113.7:40001"));
    let sessions = [
        session(1, "before", vec![held("203.0.113.7", None, 0, Some(102))]),
        session(2, "then", vec![held("203.0.113.7", Some((40_000, 40_999)), 102, None)]),
        session(3, "neighbour", vec![held("203.0.113.7", Some((41_000, 41_999)), 0, None)]),
    ];
    let store = stored(dir.path(), &[(call, streams)], &sessions);
    // Its media begins after the period, in which the call began.
    let of = |subject: &str| found(&store, &request(&[subject], 0, 103)).calls;
    for (subject, found_by) in [
        ("address:203.0.113.7:40001", "address session"),
        ("address:203.0.113.0/25", "address session"),
        ("user:then", "session"),
        ("sip:alice@*", "calling"),
    ] {
        let calls = of(subject);
        assert_eq!(calls.len(), 1, "{subject}");
        assert_eq!(calls[0].found_by.join(" "), found_by, "{subject}");
        let holders = calls[0].caller.holders.iter().filter_map(|holder| holder.user.as_deref());
        assert_eq!(holders.collect::<Vec<_>>(), ["then"], "{subject}");
        assert_eq!(calls[0].caller.media, [endpoint("203.0.113.7:40001")]);
    }
    for subject in ["address:203.0.113.7:41001", "user:before", "user:neighbour", "sip:alice@192.0.2.1"] {
        assert!(of(subject).is_empty(), "{subject}");
    }
}

#[test]
fn more_than_the_limit_and_a_stop_are_errors_and_never_less() {
    let dir = tempfile::tempdir().unwrap();
    let store = town(dir.path());
    let all = request(&["address:203.0.113.7"], 0, 100_000);
    let limited = |most| search(&store, &all, most, &Arc::new(RunningSearch::new()));
    assert_eq!(limited(3).unwrap().calls.len(), 3);
    let error = limited(2).unwrap_err();
    assert!(matches!(error, Error::TooMany { what: "sessions of the subjects", limit: 2 }), "{error}");
    let calls = request(&["number:+441601234567"], 0, 100_000);
    let error = search(&store, &calls, 2, &Arc::new(RunningSearch::new())).unwrap_err();
    assert!(matches!(error, Error::TooMany { what: "calls of the subjects", .. }), "{error}");
    for request in [&all, &calls] {
        let stopped = RunningSearch::new();
        stopped.stop();
        let error = search(&store, request, 1_000, &Arc::new(stopped)).unwrap_err();
        assert!(matches!(error, Error::Interrupted), "{error}");
    }
    let none = Store { calls: None, sessions: None };
    let error = search(&none, &calls, 2, &Arc::new(RunningSearch::new())).unwrap_err();
    assert!(matches!(error, Error::NoCalls), "{error}");
}

#[test]
fn files_are_private_hashed_and_whole_or_not_there() {
    let dir = tempfile::tempdir().unwrap();
    let store = town(dir.path());
    let request = request(&["number:+441601234567", "user:bob"], 0, 100_000);
    let found = found(&store, &request);
    let out = tempfile::tempdir().unwrap();
    let names = || {
        let entries = fs::read_dir(out.path()).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    };
    let files = Files::write(out.path(), 7, &request, &found).unwrap();
    assert_eq!(names(), ["accesses.csv.part", "answer.jsonl.part", "calls.csv.part"]);
    drop(files);
    assert!(names().is_empty(), "what was not recorded is gone");
    // One that cannot be written takes the others with it.
    fs::create_dir(out.path().join("answer.jsonl.part")).unwrap();
    let error = Files::write(out.path(), 7, &request, &found).unwrap_err().to_string();
    assert!(error.contains("answer.jsonl.part` cannot be written"), "{error}");
    assert_eq!(names(), ["answer.jsonl.part"]);
    fs::remove_dir(out.path().join("answer.jsonl.part")).unwrap();
    let files = Files::write(out.path(), 7, &request, &found).unwrap();
    let written = files.written().to_vec();
    files.publish().unwrap();
    assert_eq!(names(), ["accesses.csv", "answer.jsonl", "calls.csv"]);
    for file in &written {
        let path = out.path().join(&file.name);
        let metadata = fs::metadata(&path).unwrap();
        assert_eq!((metadata.permissions().mode() & 0o777, metadata.len()), (0o600, file.octets));
        assert_eq!(sha256sum(&path), file.sha256);
    }
    let text = fs::read_to_string(out.path().join("answer.jsonl")).unwrap();
    let lines: Vec<serde_json::Value> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((&lines[0]["type"], &lines[0]["request"], lines.len()), (&"answer".into(), &7.into(), 6));
    assert_eq!(
        (&lines[0]["calls"], &lines[0]["accesses"], &lines[0]["time_zone"]),
        (&4.into(), &1.into(), &"UTC".into())
    );
    let holder = &lines[1]["caller"]["holders"][0];
    assert_eq!((&lines[1]["type"], &holder["user"]), (&"call".into(), &"alice@a.example".into()));
    assert_eq!(lines[1]["begin_us"], at(100).micros());
    assert_eq!((&lines[5]["type"], &lines[5]["user"]), (&"access".into(), &"bob".into()));
    // Nothing that is no traffic data.
    for hidden in ["Božena", "Phone/1.0", "@x", "dtmf", "OK"] {
        assert!(!text.contains(hidden), "{hidden}");
    }
}

fn sha256sum(path: &Path) -> String {
    let output = std::process::Command::new("sha256sum").arg(path).output().unwrap();
    String::from_utf8(output.stdout).unwrap()[..64].to_owned()
}

/// The lines of a CSV by the names of its columns.
fn csv(path: &Path) -> Vec<std::collections::HashMap<String, String>> {
    let mut reader = csv::Reader::from_path(path).unwrap();
    let rows = reader.deserialize();
    rows.map(|row| row.unwrap()).collect()
}

#[test]
fn whoever_called_writes_no_formula_and_no_line_into_the_files() {
    let dir = tempfile::tempdir().unwrap();
    let (mut evil, streams) = call(1, 100, "=cmd|' /C calc'!A0", "192.0.2.1:5060", "192.0.2.2:5060");
    evil.from_host = Some("@SUM(A1)".into());
    evil.to_user = Some("a\r\nb,\"c\"\x1b[31m".into());
    evil.ruri_user = Some("+1+1".into());
    evil.diverted_to = vec!["-2+3".into(), "\t=1".into()];
    evil.state = CallState::Failed;
    evil.final_code = 486;
    let mut bad = session(1, "=evil", vec![held("192.0.2.1", None, 0, Some(5_000))]);
    bad.nas = "+49 30\n".into();
    bad.circuit = Some("\u{202e}=HYPERLINK(1)".into());
    let store = stored(dir.path(), &[(evil, streams)], &[bad]);
    let request = request(&["address:192.0.2.1"], 0, 1_000);
    let out = tempfile::tempdir().unwrap();
    Files::write(out.path(), 1, &request, &found(&store, &request)).unwrap().publish().unwrap();
    let calls = out.path().join("calls.csv");
    assert_eq!(fs::read_to_string(&calls).unwrap().lines().count(), 2);
    let row = csv(&calls).remove(0);
    let expected = [
        ("calling_user", "'=cmd|' /C calc'!A0"),
        ("calling_host", "'@SUM(A1)"),
        ("called_user", "a\\r\\nb,\"c\"\\x1b[31m"),
        ("dialled_user", "'+1+1"),
        ("routed_to", "'-2+3 \\t=1"),
        ("caller_subscriber", "'=evil"),
        ("outcome", "failed"),
        ("final_code", "486"),
        ("begin", "2026-11-21T02:01:40.000000+00:00"),
        ("caller_media", "192.0.2.1:5070"),
    ];
    for (column, text) in expected {
        assert_eq!(row[column], text, "{column}");
    }
    let accesses = out.path().join("accesses.csv");
    let row = csv(&accesses).remove(0);
    assert_eq!((row["user"].as_str(), row["nas"].as_str()), ("'=evil", "'+49 30\\n"));
    assert_eq!(row["circuit"], "\\u{202e}=HYPERLINK(1)");
    for path in [calls, accesses] {
        let text = fs::read_to_string(path).unwrap();
        assert!(!text.contains(['\x1b', '\t', '\r', '\u{202e}']), "{text:?}");
        for row in csv::Reader::from_reader(text.as_bytes()).records() {
            for cell in &row.unwrap() {
                let is_number = cell[1.min(cell.len())..].bytes().all(|byte| byte.is_ascii_digit());
                assert!(!cell.starts_with(['=', '+', '-', '@']) || is_number, "{cell}");
            }
        }
    }
}

#[test]
fn a_session_has_a_line_for_each_address_of_the_period() {
    let dir = tempfile::tempdir().unwrap();
    let addresses = vec![
        held("203.0.113.7", Some((1_024, 2_047)), 0, Some(100)),
        held("203.0.113.8", None, 100, Some(200)),
        held("2001:db8:7::/56", None, 150, None),
    ];
    let mut without = session(2, "bob", vec![]);
    without.end = None;
    let store = stored(dir.path(), &[], &[session(1, "bob", addresses), without]);
    let mut request = request(&["user:bob"], 100, 300);
    request.categories = vec![Category::InternetAccess];
    let out = tempfile::tempdir().unwrap();
    let found = found(&store, &request);
    assert_eq!((found.accesses.len(), found.days), (2, None));
    Files::write(out.path(), 1, &request, &found).unwrap().publish().unwrap();
    assert!(!out.path().join("calls.csv").exists());
    let rows = csv(&out.path().join("accesses.csv"));
    let mut told: Vec<[&str; 3]> = rows
        .iter()
        .map(|row| [row["address"].as_str(), row["address_until"].as_str(), row["log_off"].as_str()])
        .collect();
    told.sort_unstable();
    let until = "2026-11-21T02:03:20.000000+00:00";
    assert_eq!(told, [["", "", ""], ["2001:db8:7::/56", "", ""], ["203.0.113.8", until, ""]]);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// Against a plain comparison of everything with everything.
    #[test]
    fn answers_are_those_of_a_plain_comparison(
        calls in proptest::collection::vec((0_u64..100_000, 0_u8..4, 0_u16..3, 0_u8..3), 1..20),
        sessions in proptest::collection::vec(
            (0_u8..4, option::of(0_u16..3), 0_u64..100_000, option::of(1_u64..50_000)), 1..20,
        ),
        (host, port, from, length) in (0_u8..4, option::of(0_u16..3), 0_u64..100_000, 1_u64..50_000),
    ) {
        let ports = |block: u16| (10_000 * (block + 1), 10_000 * (block + 1) + 9_999);
        let dir = tempfile::tempdir().unwrap();
        let calls: Vec<_> = (1..).zip(&calls).map(|(number, (second, host, block, user))| {
            let src = format!("203.0.113.{host}:{}", ports(*block).0 + 60);
            call(number, *second, &format!("+4416012345{user}"), &src, "192.0.2.2:5060")
        }).collect();
        let sessions: Vec<_> = (1..).zip(&sessions).map(|(number, (host, block, from, lasted))| {
            let network = format!("203.0.113.{host}");
            session(number, "x", vec![held(&network, block.map(ports), *from, lasted.map(|l| from + l))])
        }).collect();
        let store = stored(dir.path(), &calls, &sessions);
        let asked = port.map(|block| ports(block).0 + 60);
        let subject = match asked {
            Some(port) => format!("address:203.0.113.{host}:{port}"),
            None => format!("address:203.0.113.{host}"),
        };
        let found = found(&store, &request(&[&subject, "number:+44160123451"], from, from + length));

        let period = at(from)..at(from + length);
        let address = format!("203.0.113.{host}");
        let had = |held: &HeldAddress, port: Option<u16>| {
            held.first_port.zip(port).is_none_or(|(first, port)| port / 10_000 == first / 10_000)
        };
        let of_subject = |session: &&Identity| {
            let held = &session.addresses[0];
            let until = held.until.unwrap_or(Nanos::MAX);
            held.network == address && had(held, asked) && held.from < period.end && until > period.start
        };
        let mut own: Vec<&Identity> = sessions.iter().filter(of_subject).collect();
        own.sort_by_key(|session| (session.start, session.id));
        let accesses: Vec<Id> = found.accesses.iter().map(|row| row.id).collect();
        prop_assert_eq!(accesses, own.iter().map(|session| session.id).collect::<Vec<_>>());

        // Signalling at the begin, media 4 s later at a port of the same block.
        let had_at = |session: &Identity, end: Endpoint, time: Nanos| {
            let held = &session.addresses[0];
            let until = held.until.unwrap_or(Nanos::MAX);
            held.network == end.ip.to_string() && had(held, Some(end.port))
                && held.from <= time && time < until
        };
        let used_by = |call: &Call, session: &Identity| {
            let begin = call.invite.unwrap();
            had_at(session, call.src, begin) || had_at(session, call.src, begin + Nanos::from_secs(4))
        };
        let mut expected: Vec<&Call> = calls.iter().map(|(call, _)| call).filter(|call| {
            let is_asked = call.src.ip.to_string() == address
                && asked.is_none_or(|port| port == call.src.port || port == call.src.port + 10);
            let is_named = call.from_user.as_deref() == Some("+44160123451");
            let is_of_session = own.iter().any(|session| used_by(call, session));
            period.contains(&call.invite.unwrap()) && (is_asked || is_named || is_of_session)
        }).collect();
        expected.sort_by_key(|call| (call.invite, call.id));
        let rows: Vec<Id> = found.calls.iter().map(|row| row.id).collect();
        prop_assert_eq!(rows, expected.iter().map(|call| call.id).collect::<Vec<_>>());
        for (row, call) in found.calls.iter().zip(expected) {
            let mut holders: Vec<Id> = row.caller.holders.iter().map(|holder| holder.session).collect();
            holders.sort_unstable();
            holders.dedup();
            let mut expected: Vec<Id> =
                sessions.iter().filter(|session| used_by(call, session)).map(|session| session.id).collect();
            expected.sort_unstable();
            // Of one endpoint 8 are given.
            if expected.len() <= 8 {
                prop_assert_eq!(holders, expected);
            }
        }
    }
}

//! Sessions of subscribers in their files: found by address, port, name and time; changed, ended, deleted.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends")]

use std::fs;
use std::net::IpAddr;
use std::ops::ControlFlow;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::LazyLock;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use proptest::option;
use proptest::prelude::*;
use ringtap_model::{HeldAddress, Id, Identity, Nanos, SessionBegin, SessionEnd, SessionSource};
use ringtap_store::{
    Day, Error, IdentityReader, ImportWriter, Retain, StoreSettings, StoreWriter, write_ranges,
};
use ringtap_testing::samples;

/// 2026-11-21 00:00:00 UTC.
const NIGHT: Nanos = Nanos::from_secs(1_795_219_200);

fn at(second: u64) -> Nanos {
    NIGHT + Nanos::from_secs(second)
}

fn held(network: &str, ports: Option<(u16, u16)>, from: u64, until: Option<u64>) -> HeldAddress {
    HeldAddress {
        network: network.into(),
        first_port: ports.map(|(first, _)| first),
        last_port: ports.map(|(_, last)| last),
        from: at(from),
        until: until.map(at),
        until_frame: until.map(|_| 9),
        end_cause: until.map(|_| SessionEnd::Stopped),
        ..samples::identity().addresses.remove(0)
    }
}

/// A session that is first heard of when its first address begins, and ends when its last one does.
fn session(number: u8, name: &str, addresses: Vec<HeldAddress>) -> Identity {
    let start = addresses.iter().map(|held| held.from).min().unwrap_or(NIGHT);
    let is_open = addresses.iter().any(|held| held.until.is_none());
    let end = addresses.iter().filter_map(|held| held.until).max().filter(|_| !is_open);
    Identity {
        id: Id([number; 16]),
        user: Some(name.into()),
        station: None,
        names: vec![name.into()],
        first: start,
        start,
        last: end.unwrap_or(start),
        end,
        end_cause: end.map(|_| SessionEnd::Stopped),
        addresses,
        ..samples::identity()
    }
}

fn store(dir: &Path, sessions: &[Identity]) {
    let mut writer = ImportWriter::open(dir).unwrap();
    sessions.iter().for_each(|session| writer.identity(session).unwrap());
    let written = writer.close().unwrap();
    assert_eq!(written.identities, sessions.len() as u64);
}

fn numbers(sessions: &[Identity]) -> Vec<u8> {
    sessions.iter().map(|session| session.id.0[0]).collect()
}

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

#[test]
fn a_lease_is_read_as_it_was_written() {
    let dir = tempfile::tempdir().unwrap();
    let lease = Identity {
        begun_by: SessionBegin::Leased,
        source: Some(SessionSource::Dhcpv6),
        client_id: Some("0003000102005e100001".into()),
        subscriber: Some("s1".into()),
        hostname: Some("phone".into()),
        expires: Some(at(3_600)),
        circuit: Some("0x00040009".into()),
        ..session(1, "02:00:5e:10:00:01", vec![held("2001:db8:7::/56", None, 0, None)])
    };
    let ended = Identity {
        end_cause: Some(SessionEnd::Declined),
        ..session(2, "02:00:5e:10:00:02", vec![held("203.0.113.9", None, 0, Some(9))])
    };
    store(dir.path(), &[lease.clone(), ended.clone()]);
    let reader = IdentityReader::open(dir.path()).unwrap();
    let found = reader.with_address(ip("2001:db8:7:9::1"), None, Some(at(5))).unwrap();
    assert_eq!(found, std::slice::from_ref(&lease));
    assert_eq!(reader.named("0200.5e10.0002", None).unwrap(), [ended]);
    let mut open = Vec::new();
    reader.open_sessions(|session| open.push(session)).unwrap();
    assert_eq!(open, [lease], "the next run goes on with it");
}

/// What a version wrote that knew RADIUS alone may still be in an outbox.
#[test]
fn a_record_without_a_source_is_read() {
    let new = ["source", "client_id", "subscriber", "hostname", "expires_us", "interim_s"];
    let mut json = serde_json::to_value(samples::identity()).unwrap();
    let fields = json.as_object_mut().unwrap();
    assert!(new.iter().all(|name| fields.remove(*name).is_some()));
    let read: Identity = serde_json::from_value(json).unwrap();
    assert_eq!(read, Identity { source: None, ..samples::identity() });
}

#[test]
fn who_had_an_address_over_days_with_and_without_an_end() {
    let dir = tempfile::tempdir().unwrap();
    let day = 86_400;
    store(
        dir.path(),
        &[
            session(1, "alice", vec![held("203.0.113.7", None, 100, Some(200))]),
            // It begins on one day, and has not ended on the third.
            session(
                2,
                "bob",
                vec![held("203.0.113.7", None, 200, None), held("2001:db8:7::/56", None, 200, None)],
            ),
            session(3, "carol", vec![held("198.51.100.1", Some((40_000, 40_999)), day, Some(day + 60))]),
            session(4, "dave", vec![held("198.51.100.1", Some((41_000, 41_999)), day, None)]),
            session(5, "erin", vec![held("203.0.113.0/24", None, 2 * day, None)]),
        ],
    );
    let reader = IdentityReader::open(dir.path()).unwrap();
    assert_eq!(reader.days().unwrap().len(), 3);
    let had = |address, port, second: Option<u64>| {
        numbers(&reader.with_address(ip(address), port, second.map(at)).unwrap())
    };
    assert_eq!(had("203.0.113.7", None, Some(150)), [1]);
    assert_eq!(had("203.0.113.7", Some(443), Some(199)), [1], "without a block it has all ports");
    assert_eq!(had("203.0.113.7", None, Some(200)), [2], "the end is no longer its own");
    assert_eq!(had("203.0.113.7", None, Some(99)), [0; 0]);
    assert_eq!(had("203.0.113.7", None, Some(2 * day + 5)), [2, 5], "an address, and a route that holds it");
    assert_eq!(had("2001:db8:7:9::1", Some(443), Some(day)), [2]);
    assert_eq!(had("::ffff:203.0.113.7", None, Some(150)), [1], "as a socket of both families has it");
    assert_eq!(had("198.51.100.1", Some(40_001), Some(day + 5)), [3]);
    assert_eq!(had("198.51.100.1", Some(41_000), Some(day + 5)), [4]);
    assert_eq!(had("198.51.100.1", None, Some(day + 5)), [3, 4]);
    assert_eq!(had("198.51.100.1", Some(40_001), Some(day + 60)), [0; 0]);
    assert_eq!(had("203.0.113.7", None, None), [1, 2, 5]);

    let named = |name: &str, second: Option<u64>| numbers(&reader.named(name, second.map(at)).unwrap());
    assert_eq!(named("Bob@example.org", None), [2]);
    assert_eq!((named("alice", Some(150)), named("alice", Some(200))), (vec![1], vec![]));
    assert_eq!(named("nobody", None), [0; 0]);
    let mut open = Vec::new();
    reader.open_sessions(|session| open.push(session.id.0[0])).unwrap();
    assert_eq!(open, [2, 4, 5]);
}

#[test]
fn a_session_that_changes_and_ends_replaces_what_is_stored_of_it() {
    let dir = tempfile::tempdir().unwrap();
    let begun = session(1, "alice", vec![held("203.0.113.7", None, 100, None)]);
    let addresses = vec![held("203.0.113.7", None, 100, Some(150)), held("203.0.113.8", None, 150, None)];
    // What is learnt of its beginning does not move it, not even to another day.
    let changed = Identity {
        names: vec!["alice".into(), "02-00-5E-10-00-01".into()],
        start: Nanos(NIGHT.0 - 1_000),
        first: begun.first,
        ..session(1, "alice", addresses.clone())
    };
    let ended = Identity { end: Some(at(300)), end_cause: Some(SessionEnd::Stopped), ..changed.clone() };
    let ended = Identity {
        addresses: vec![addresses[0].clone(), held("203.0.113.8", None, 150, Some(300))],
        ..ended
    };
    for stored in [&begun, &changed, &ended, &ended] {
        store(dir.path(), std::slice::from_ref(stored));
        let reader = IdentityReader::open(dir.path()).unwrap();
        assert_eq!(reader.days().unwrap().len(), 1);
        assert_eq!(reader.named("alice", None).unwrap(), std::slice::from_ref(stored));
        let first = reader.with_address(ip("203.0.113.7"), None, Some(at(120))).unwrap();
        assert_eq!(first, std::slice::from_ref(stored));
        let later = reader.with_address(ip("203.0.113.7"), None, Some(at(200))).unwrap();
        assert_eq!(later.is_empty(), stored != &begun);
        let other = reader.with_address(ip("203.0.113.8"), None, Some(at(200))).unwrap();
        assert_eq!(other.is_empty(), stored == &begun);
        let mut open = 0;
        reader.open_sessions(|_| open += 1).unwrap();
        assert_eq!(open, usize::from(stored.end.is_none()));
    }
    let station = IdentityReader::open(dir.path()).unwrap().named("02:00:5e:10:00:01", None).unwrap();
    assert_eq!(station, [ended]);
}

#[test]
fn only_the_owner_reads_them_and_the_day_files_have_none() {
    let dir = tempfile::tempdir().unwrap();
    assert!(matches!(IdentityReader::open(dir.path()), Err(Error::NoDays { .. })));
    store(dir.path(), &[session(1, "alice", vec![held("203.0.113.7", None, 100, None)])]);
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let folder = dir.path().join("identity");
    assert_eq!(mode(&folder), 0o700);
    let files: Vec<_> = fs::read_dir(&folder).unwrap().map(|file| file.unwrap().path()).collect();
    assert!(files.iter().any(|file| file.ends_with("2026-11-21.sqlite")), "{files:?}");
    assert!(files.iter().all(|file| mode(file) == 0o600), "{files:?}");
    assert!(!dir.path().join("2026-11-21.sqlite").exists());
    fs::write(folder.join("2026-11-22.sqlite"), b"SQLite format 3").unwrap();
    let damaged = IdentityReader::open(dir.path()).unwrap().named("alice", None);
    assert!(damaged.unwrap_err().to_string().contains("2026-11-22.sqlite"), "no part of an answer");
}

/// The writer of the service: sessions go through its queue.
#[test]
fn the_service_writes_them() {
    let dir = tempfile::tempdir().unwrap();
    let (settings, sent) =
        (settings(dir.path(), Nanos::ZERO), [1, 2, 3].map(|number| lasting(number, 40, None)));
    let writer = written_by_service(&settings, &sent);
    let reader = IdentityReader::open(&settings.directory).unwrap();
    assert_eq!(numbers(&reader.named("user2", None).unwrap()), [2]);
    let mut open = Vec::new();
    reader.open_sessions(|session| open.push(session.id.0[0])).unwrap();
    assert_eq!(open, [1, 2, 3], "what is kept for ever is not deleted");
    assert_eq!(writer.close(PATIENCE).written.identities, 3);
}

/// How long a session is kept counts from its end, or from when it was last heard of.
#[test]
fn sessions_that_go_on_outlive_the_day_on_which_they_began() {
    let dir = tempfile::tempdir().unwrap();
    let settings = settings(dir.path(), Nanos::from_secs(10 * DAY));
    let heard = |number, day| Identity { last: days_ago(day), ..lasting(number, 30, None) };
    let mut sessions = vec![
        lasting(1, 30, Some(30)),
        heard(2, 0),
        lasting(3, 30, Some(1)),
        heard(4, 25),
        lasting(5, 31, Some(29)),
        lasting(6, 1, Some(1)),
    ];
    sessions.extend((100..250).map(|number| lasting(number, 30, Some(29))));
    store(&settings.directory, &sessions);
    let file = settings.directory.join("identity").join(Day::of(days_ago(30)).file_name());
    let has_name = |name: &str| {
        let bytes = fs::read(&file).unwrap();
        bytes.windows(name.len()).any(|window| window == name.as_bytes())
    };
    let whole = fs::metadata(&file).unwrap().len();
    assert!(has_name("user4") && has_name("user249"));

    // Due sessions are looked for when the writer starts.
    let recent = lasting(9, 0, None);
    let writer = written_by_service(&settings, std::slice::from_ref(&recent));
    let reader = IdentityReader::open(&settings.directory).unwrap();
    assert_eq!(reader.days().unwrap(), [30, 1, 0].map(|day| Day::of(days_ago(day))));
    let left: Vec<Identity> =
        [1, 2, 3, 4, 5, 6, 9, 100, 249].iter().flat_map(|number| named(&reader, *number)).collect();
    assert_eq!(numbers(&left), [2, 3, 6, 9]);
    assert_eq!(left[0], sessions[1], "as it was");
    let had = reader.with_address(ip("203.0.113.3"), None, Some(days_ago(20))).unwrap();
    assert_eq!(numbers(&had), [3]);
    assert_eq!(reader.with_address(ip("203.0.113.4"), None, None).unwrap(), []);
    let mut open = Vec::new();
    reader.open_sessions(|session| open.push(session.id.0[0])).unwrap();
    assert_eq!(open, [2, 9]);

    // What is due is nowhere in the file any more, and what is left can change.
    writer.close(PATIENCE);
    assert!(!has_name("user4") && !has_name("user100") && !has_name("user249") && has_name("user2"));
    let pragma = |name| {
        let connection = rusqlite::Connection::open(&file).unwrap();
        connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0)).unwrap()
    };
    assert!(fs::metadata(&file).unwrap().len() < whole && pragma("freelist_count") == 0);
    let ended = lasting(2, 30, Some(0));
    store(&settings.directory, std::slice::from_ref(&ended));
    assert_eq!(named(&IdentityReader::open(&settings.directory).unwrap(), 2), [ended]);
}

fn named(reader: &IdentityReader, number: u8) -> Vec<Identity> {
    reader.named(&format!("user{number}"), None).unwrap()
}

const DAY: u64 = 86_400;
const PATIENCE: Duration = Duration::from_secs(300);

/// The clock's time, so many days ago.
fn days_ago(days: u64) -> Nanos {
    static NOW: LazyLock<Nanos> = LazyLock::new(|| {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        Nanos::from_secs(now.as_secs())
    });
    NOW.since(Nanos::from_secs(days * DAY))
}

/// A session from so many days ago until so many days ago, in the middle of which nothing was heard of it.
fn lasting(number: u8, began: u64, ended: Option<u64>) -> Identity {
    let name = format!("user{number}");
    let mut address = held(&format!("203.0.113.{number}"), None, 0, ended.map(|_| 0));
    (address.from, address.until) = (days_ago(began), ended.map(days_ago));
    session(number, &name, vec![address])
}

/// A law may have sessions kept for another time than calls.
#[test]
fn sessions_have_a_clock_of_their_own() {
    for (records, sessions, left) in [(10, 0, vec![1]), (0, 10, vec![]), (10, 60, vec![1])] {
        let dir = tempfile::tempdir().unwrap();
        let days = |days: u64| Nanos::from_secs(days * DAY);
        let retain = Retain { records: days(records), sessions: days(sessions) };
        let settings = StoreSettings { retain, ..settings(dir.path(), Nanos::ZERO) };
        store(&settings.directory, &[lasting(1, 40, Some(40))]);
        let writer = written_by_service(&settings, &[]);
        writer.close(PATIENCE);
        let found = match IdentityReader::open(&settings.directory) {
            Err(Error::NoDays { .. }) => Vec::new(),
            reader => reader.unwrap().named("user1", None).unwrap(),
        };
        assert_eq!(numbers(&found), left, "{records} {sessions}");
    }
}

fn settings(dir: &Path, retain: Nanos) -> StoreSettings {
    StoreSettings {
        directory: dir.join("records"),
        outbox: dir.join("outbox"),
        queue: 64,
        cache: 8 << 20,
        outbox_size: 1 << 20,
        journal: None,
        retain: Retain::all(retain),
    }
}

/// A writer that has written these.
fn written_by_service(settings: &StoreSettings, sessions: &[Identity]) -> StoreWriter {
    let (writer, _) = StoreWriter::open(settings, |_| {}).unwrap();
    let sender = writer.sender().unwrap();
    for session in sessions {
        sender.identity(Box::new(session.clone())).unwrap();
    }
    assert!(writer.flush(PATIENCE));
    writer
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]
    /// As all records compared one by one would answer, whatever was written how often.
    #[test]
    fn answers_are_those_of_a_plain_comparison(
        sessions in proptest::collection::vec(
            (0_u8..12, 0_u8..4, 24_u8..=32, 0_u64..200_000, option::of(0_u64..100_000), any::<bool>()),
            1..40,
        ),
        asked in proptest::collection::vec((0_u8..4, any::<bool>(), 0_u64..300_000), 1..20),
    ) {
        let dir = tempfile::tempdir().unwrap();
        let (mut last, mut written) = (std::collections::BTreeMap::new(), Vec::new());
        for (number, host, bits, from, lasted, has_block) in sessions {
            let ports = has_block.then_some((1_000 * u16::from(number), 1_000 * u16::from(number) + 999));
            let mask = u8::MAX << (32 - bits).min(7);
            let network = format!("203.0.113.{}/{}", (64 * host) & mask, bits.max(25));
            let address = held(&network, ports, from, lasted.map(|lasted| from + lasted));
            let mut session = session(number, "x", vec![address]);
            // Always of the same day, as a session that is written again.
            session.first = at(86_400 * u64::from(number % 3));
            last.insert(number, session.clone());
            written.push(session);
        }
        // Some are written again in the same transaction, some later.
        let (some, rest) = written.split_at(written.len() / 2);
        store(dir.path(), some);
        store(dir.path(), rest);
        let reader = IdentityReader::open(dir.path()).unwrap();
        for (host, has_port, second) in asked {
            let address = ip(&format!("203.0.113.{}", 64 * host));
            let port = has_port.then_some(5_500);
            let mut found = numbers(&reader.with_address(address, port, Some(at(second))).unwrap());
            found.sort_unstable();
            let expected: Vec<u8> = last.values().filter(|session| {
                let held = &session.addresses[0];
                let network: ringtap_model::Network = held.network.parse().unwrap();
                let is_block = |first: u16| port.is_none_or(|port: u16| port / 1_000 == first / 1_000);
                let fits = held.first_port.is_none_or(is_block);
                let until = held.until.unwrap_or(Nanos::MAX);
                network.holds(address) && fits && held.from <= at(second) && at(second) < until
            }).map(|session| session.id.0[0]).collect();
            prop_assert_eq!(found, expected);
            let time = at(second)..at(second + 10_000);
            let mut found = Vec::new();
            let _ = reader.each_between(time.clone(), |session| {
                found.push(session.id.0[0]);
                ControlFlow::Continue(())
            }).unwrap();
            found.sort_unstable();
            let went_on = |session: &&Identity| {
                session.start < time.end && session.end.is_none_or(|end| end > time.start)
            };
            let expected: Vec<u8> = last.values().filter(went_on).map(|session| session.id.0[0]).collect();
            prop_assert_eq!(&found, &expected);
            let mut passed = 0;
            let flow = reader.each_between(time, |_| {
                passed += 1;
                ControlFlow::Break(())
            }).unwrap();
            prop_assert_eq!((passed, flow.is_break()), (expected.len().min(1), !expected.is_empty()));
        }
    }
}

/// Ranges of a file answer beside sessions and alone, and the last ones that were written count.
#[test]
fn ranges_that_never_change_hands_answer_beside_sessions() {
    let dir = tempfile::tempdir().unwrap();
    let range = |number, name, until| {
        let range = session(number, name, vec![held("198.51.100.0/24", None, 0, until)]);
        Identity { source: Some(SessionSource::Static), ..range }
    };
    assert!(IdentityReader::open(dir.path()).is_err(), "there is nothing");
    write_ranges(dir.path(), &[]).unwrap();
    write_ranges(dir.path(), &[range(1, "old", None)]).unwrap();
    write_ranges(dir.path(), &[range(2, "Example Ltd", Some(500)), range(3, "other", None)]).unwrap();
    let path = dir.path().join("identity/static.jsonl");
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    store(dir.path(), &[session(4, "alice", vec![held("198.51.100.9", None, 100, Some(200))])]);
    let reader = IdentityReader::open(dir.path()).unwrap();
    let had = |address, second: Option<u64>| {
        numbers(&reader.with_address(ip(address), Some(443), second.map(at)).unwrap())
    };
    assert_eq!((had("198.51.100.9", Some(150)), had("198.51.100.9", Some(600))), (vec![2, 3, 4], vec![3]));
    assert_eq!(
        (had("198.51.101.9", None), numbers(&reader.named("example ltd", None).unwrap())),
        (vec![], vec![2])
    );
    let mut between = Vec::new();
    let flow = reader.each_between(at(500)..at(900), |session| {
        between.push(session.id.0[0]);
        ControlFlow::Continue(())
    });
    assert_eq!((flow.unwrap(), between), (ControlFlow::Continue(()), vec![3]));
    let mut open = 0;
    reader.open_sessions(|_| open += 1).unwrap();
    assert_eq!(open, 0, "no run goes on with them");
    fs::write(&path, "{}\n").unwrap();
    assert!(reader.named("alice", None).unwrap_err().to_string().contains("static.jsonl"));
    write_ranges(dir.path(), &[]).unwrap();
    assert_eq!(had("198.51.100.9", None), [4]);
}

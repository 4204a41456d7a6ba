//! Sessions by RADIUS over TLS (RFC 6614): connections of rustls, whose keys are logged as OpenSSL logs them.

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;

use ringtap_engine::{Config, Engine};
use ringtap_identity::{IdentityTracker, KeyLog, KeyLogError, Limits, Secrets, Sessions, TlsCounts};
use ringtap_model::{Frame, LinkType, Nanos};
use ringtap_wire::radius::code;
use rustls::crypto::ring::cipher_suite;
use rustls::version::{TLS12, TLS13};

use crate::packets::{START, STOP, bytes, id, int, user, v4};
use crate::radsec_link::Link;
use crate::tcp::Found;

/// What an engine makes of it with the keys of a file.
fn followed(packets: &[Vec<u8>], keys: Option<KeyLog>) -> Found {
    let sessions = Sessions::new(Limits::default(), Secrets::default()).with_tls_keys(keys);
    let mut engine = Engine::with_tracker(Config::default(), IdentityTracker::new(sessions));
    let mut found = Found::default();
    for (number, data) in (1..).zip(packets) {
        let (time, link, wire_len) =
            (Nanos::from_millis(1_000_000 + number), LinkType(101), data.len() as u32);
        engine.batch(&[Frame { time, number, link, wire_len, data }], &mut found);
    }
    engine.close(&mut found);
    found
}

/// Users log on and off, one after the other.
fn sessions(link: &mut Link, numbers: std::ops::Range<u8>) {
    for number in numbers {
        let (name, session) = (user(&format!("user{number}")), id(&format!("S{number}")));
        let name = [name, int(5, number.into())].concat();
        let address = v4(&format!("203.0.113.{number}"));
        link.ask(&bytes(code::ACCESS_REQUEST, 3 * number, 7, &name));
        link.answer(&bytes(code::ACCESS_ACCEPT, 3 * number, 0, &address));
        for (place, status) in [(1, START), (2, STOP)] {
            let report = [int(40, status), name.clone(), session.clone(), address.clone()].concat();
            link.ask(&bytes(code::ACCOUNTING_REQUEST, 3 * number + place, u128::from(place), &report));
        }
    }
}

/// Users, their addresses, and whether their sessions have ended.
fn users(found: &Found) -> Vec<(String, Vec<String>, bool)> {
    let mut users: Vec<_> = found
        .records
        .iter()
        .map(|record| (record.user.clone().unwrap_or_default(), record.ipv4.clone(), record.end.is_some()))
        .collect();
    users.sort();
    users
}

fn expected(numbers: std::ops::Range<u8>) -> Vec<(String, Vec<String>, bool)> {
    numbers.map(|number| (format!("user{number}"), vec![format!("203.0.113.{number}")], true)).collect()
}

#[test]
fn every_cipher_of_both_versions_is_read_however_segments_are_cut() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("keys");
    for (version, suite) in [
        (&TLS13, cipher_suite::TLS13_AES_128_GCM_SHA256),
        (&TLS13, cipher_suite::TLS13_AES_256_GCM_SHA384),
        (&TLS13, cipher_suite::TLS13_CHACHA20_POLY1305_SHA256),
        (&TLS12, cipher_suite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256),
        (&TLS12, cipher_suite::TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384),
        (&TLS12, cipher_suite::TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256),
    ] {
        let mut link = Link::new(version, suite);
        sessions(&mut link, 1..4);
        if version.version == TLS13.version {
            link.client.refresh_traffic_keys().unwrap();
            link.server.refresh_traffic_keys().unwrap();
        }
        sessions(&mut link, 4..8);
        link.log(&path);
        for most in [1, 7, 1_400, 65_000] {
            let found = followed(&link.segments(most), Some(KeyLog::open(&path).unwrap()));
            assert_eq!(users(&found), expected(1..8), "{suite:?}, {most}: {:?}", found.counts.tls);
            let opened = TlsCounts { opened: found.counts.tls.opened, ..TlsCounts::default() };
            assert_eq!(found.counts.tls, opened, "{suite:?}, {most}");
            assert!(opened.opened >= 28 && found.counts.wrong == 0);
        }
    }
}

#[test]
fn without_keys_and_without_its_beginning_a_connection_says_nothing_and_is_counted() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("keys");
    let mut link = Link::new(&TLS13, cipher_suite::TLS13_AES_128_GCM_SHA256);
    sessions(&mut link, 1..40);
    assert_eq!(users(&followed(&link.segments(1_400), None)), []);
    fs::write(&path, "CLIENT_RANDOM 00 00\n# nothing\n\nCLIENT_TRAFFIC_SECRET_0 zz\n").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    let found = followed(&link.segments(1_400), Some(KeyLog::open(&path).unwrap()));
    assert!(users(&found).is_empty() && found.counts.malformed == 0, "{:?}", found.counts);
    link.log(&path);
    let late = followed(&link.segments(1_400)[12..], Some(KeyLog::open(&path).unwrap()));
    assert!(users(&late).is_empty() && late.counts.tls.no_key > 20, "{:?}", late.counts.tls);
}

/// What was changed on its way opens nothing, and nothing behind it: records are numbered.
#[test]
fn a_record_that_was_changed_is_not_believed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("keys");
    for (version, suite) in [
        (&TLS13, cipher_suite::TLS13_AES_128_GCM_SHA256),
        (&TLS12, cipher_suite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256),
    ] {
        let mut link = Link::new(version, suite);
        sessions(&mut link, 1..3);
        let before = link.passed.len();
        sessions(&mut link, 3..6);
        link.log(&path);
        let last = link.passed[before].1.len() - 1;
        link.passed[before].1[last] ^= 1;
        let found = followed(&link.segments(1_400), Some(KeyLog::open(&path).unwrap()));
        // Its answers name nobody.
        let mut known = users(&found);
        known.retain(|(user, ..)| !user.is_empty());
        assert_eq!(known, expected(1..3), "{suite:?}");
        assert!(found.counts.tls.wrong >= 9, "{:?}", found.counts.tls);
    }
}

/// `ringtap run` has the record before its end has logged the key.
#[test]
fn a_key_that_is_logged_later_opens_what_has_waited() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("keys");
    fs::write(&path, "").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    let mut link = Link::new(&TLS13, cipher_suite::TLS13_AES_256_GCM_SHA384);
    sessions(&mut link, 1..3);
    let early = link.segments(1_400).len();
    sessions(&mut link, 3..5);
    let segments = link.segments(1_400);
    let sessions = Sessions::new(Limits::default(), Secrets::default());
    let sessions = sessions.with_tls_keys(Some(KeyLog::open(&path).unwrap()));
    let mut engine = Engine::with_tracker(Config::default(), IdentityTracker::new(sessions));
    let mut found = Found::default();
    for (number, data) in (1..).zip(&segments) {
        if number == early as u64 + 1 {
            // In two parts, and the engine looks again a moment later.
            let whole = folder.path().join("whole");
            link.log(&whole);
            let keys = fs::read_to_string(whole).unwrap();
            let mut file = fs::OpenOptions::new().append(true).open(&path).unwrap();
            file.write_all(&keys.as_bytes()[..100]).unwrap();
            file.write_all(&keys.as_bytes()[100..]).unwrap();
            std::thread::sleep(std::time::Duration::from_millis(250));
        }
        let (time, link, wire_len) =
            (Nanos::from_millis(1_000_000 + number), LinkType(101), data.len() as u32);
        engine.batch(&[Frame { time, number, link, wire_len, data }], &mut found);
    }
    engine.close(&mut found);
    assert_eq!(users(&found), expected(1..5), "{:?}", found.counts.tls);
}

#[test]
fn a_log_that_everybody_may_read_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("keys");
    assert!(matches!(KeyLog::open(&path), Err(KeyLogError::Unreadable { .. })));
    fs::write(&path, "").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    let error = KeyLog::open(&path).unwrap_err().to_string();
    assert!(error.contains("chmod 600"), "{error}");
}

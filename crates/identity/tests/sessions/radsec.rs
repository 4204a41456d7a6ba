//! Sessions by RADIUS over TLS (RFC 6614): connections of rustls, whose keys are logged as OpenSSL logs them.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends")]

use std::fmt::Write as _;
use std::fs;
use std::io::{Read, Write};
use std::net::SocketAddrV4;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::{Arc, Mutex};

use ringtap_engine::{Config, Engine};
use ringtap_identity::{IdentityTracker, KeyLog, KeyLogError, Limits, Secrets, Sessions, TlsCounts};
use ringtap_model::{Frame, LinkType, Nanos};
use ringtap_testing::tcp;
use ringtap_wire::radius::code;
use rustls::crypto::ring::{cipher_suite, default_provider};
use rustls::pki_types::{PrivateKeyDer, ServerName};
use rustls::version::{TLS12, TLS13};
use rustls::{
    ClientConfig, ClientConnection, ConnectionCommon, RootCertStore, ServerConfig, ServerConnection,
    SupportedCipherSuite, SupportedProtocolVersion,
};

use crate::packets::{START, STOP, bytes, id, int, user, v4};
use crate::tcp::Found;

const CLIENT: SocketAddrV4 = SocketAddrV4::new(std::net::Ipv4Addr::new(192, 0, 2, 1), 40_000);
const SERVER: SocketAddrV4 = SocketAddrV4::new(std::net::Ipv4Addr::new(192, 0, 2, 250), 2083);

/// Lines of a key log.
#[derive(Debug, Default)]
struct Lines(Mutex<String>);

impl rustls::KeyLog for Lines {
    fn log(&self, label: &str, client: &[u8], secret: &[u8]) {
        let hex = |bytes: &[u8]| bytes.iter().fold(String::new(), |text, byte| format!("{text}{byte:02x}"));
        writeln!(self.0.lock().unwrap(), "{label} {} {}", hex(client), hex(secret)).unwrap();
    }
}

/// A connection, and what passed: which end sent it, and the bytes.
struct Link {
    client: ClientConnection,
    server: ServerConnection,
    passed: Vec<(bool, Vec<u8>)>,
    keys: Arc<Lines>,
}

impl Link {
    fn new(version: &'static SupportedProtocolVersion, suite: SupportedCipherSuite) -> Self {
        let own = rcgen::generate_simple_self_signed(vec!["radius.example.org".to_owned()]).unwrap();
        let (certificate, key) = (own.cert.der().clone(), own.signing_key.serialize_der());
        let provider =
            Arc::new(rustls::crypto::CryptoProvider { cipher_suites: vec![suite], ..default_provider() });
        let mut roots = RootCertStore::empty();
        roots.add(certificate.clone()).unwrap();
        let keys = Arc::new(Lines::default());
        let mut client = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(&[version])
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        client.key_log = Arc::clone(&keys) as _;
        let server = ServerConfig::builder_with_provider(provider)
            .with_protocol_versions(&[version])
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate], PrivateKeyDer::try_from(key).unwrap())
            .unwrap();
        let name = ServerName::try_from("radius.example.org").unwrap();
        let client = ClientConnection::new(Arc::new(client), name).unwrap();
        let server = ServerConnection::new(Arc::new(server)).unwrap();
        let mut link = Self { client, server, passed: Vec::new(), keys };
        link.settle();
        link
    }

    /// Passes on what both ends have to say.
    fn settle(&mut self) {
        loop {
            let Self { client, server, passed, .. } = self;
            let said = passed.len();
            pass(client, server, true, passed);
            pass(server, client, false, passed);
            if passed.len() == said {
                return;
            }
        }
    }

    fn ask(&mut self, packet: &[u8]) {
        self.client.writer().write_all(packet).unwrap();
        self.settle();
    }

    fn answer(&mut self, packet: &[u8]) {
        self.server.writer().write_all(packet).unwrap();
        self.settle();
    }

    fn log(&self, path: &Path) {
        fs::write(path, self.keys.0.lock().unwrap().as_bytes()).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
    }

    /// What passed, in segments of that many bytes at most.
    fn segments(&self, most: usize) -> Vec<Vec<u8>> {
        let mut next = [100u32, 500];
        let mut segments = vec![tcp::segment(CLIENT, SERVER, 99, tcp::SYN, &[])];
        for (is_client, bytes) in &self.passed {
            for part in bytes.chunks(most) {
                let (src, dst) = if *is_client { (CLIENT, SERVER) } else { (SERVER, CLIENT) };
                let seq = &mut next[usize::from(!is_client)];
                segments.push(tcp::segment(src, dst, *seq, tcp::ACK, part));
                *seq += part.len() as u32;
            }
        }
        segments
    }
}

fn pass<A, B>(
    from: &mut ConnectionCommon<A>,
    to: &mut ConnectionCommon<B>,
    is_client: bool,
    passed: &mut Vec<(bool, Vec<u8>)>,
) {
    let mut bytes = Vec::new();
    while from.wants_write() {
        from.write_tls(&mut bytes).unwrap();
    }
    if bytes.is_empty() {
        return;
    }
    let mut rest = &bytes[..];
    while !rest.is_empty() {
        to.read_tls(&mut rest).unwrap();
        to.process_new_packets().unwrap();
    }
    let _ = to.reader().read_to_end(&mut Vec::new());
    passed.push((is_client, bytes));
}

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
            let keys = link.keys.0.lock().unwrap().clone();
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

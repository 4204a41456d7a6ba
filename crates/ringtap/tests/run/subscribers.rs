//! Sessions of subscribers while the daemon is killed and started again: by one worker and by two.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use ringtap_capture::live::{Injector, Source};
use ringtap_model::{SessionEnd, SessionSource};
use ringtap_store::IdentityReader;
use ringtap_testing::pppoe::{Link, PADT, Side, line};
use ringtap_testing::tcp;
use rustls::crypto::ring::cipher_suite;
use rustls::version::TLS13;

use crate::daemon::{Daemon, Place};
use crate::radsec_link::Link as RadsecLink;
use crate::wire::{INTERFACE, assert_inside, inside};

/// Made with Python's hashlib, the secret `testing123`: bob's start with an address and a prefix, its answer,
/// bob's stop, and a stop of eve's that was changed on its way.
const START: &str = concat!(
    "0401003478c5f54654ddd4e1e12534549a2fb4492806000000010105626f622c0453310806cb0071077b0b0038",
    "20010db8000700",
);
const ANSWER: &str = "050100143ea0996ab64714f94d436c08d6d047a7";
const STOP: &str = concat!(
    "040300414fe7ebf048932c32c031c2ade7a4de002806000000020105626f622c0453312a06000004d22b060000",
    "00053506000000013106000000012e060000003c",
);
const FORGED: &str = "0404002396d597820a34c090bf1e8e77c453924728060000000201056576652c045332";

const READ: &str = "ringtap_radius_packets_total{what=\"read\"}";
const WRITTEN: &str = "ringtap_store_written_total{record=\"identity\"}";

#[test]
fn sessions_go_on_over_a_kill() {
    inside("subscribers::inside_killed");
}

#[test]
#[ignore = "started in a network namespace by `sessions_go_on_over_a_kill`"]
fn inside_killed() {
    assert_inside();
    for workers in [1, 2] {
        let dir = tempfile::tempdir().unwrap();
        let mut place = configured(dir.path(), workers);
        let mut daemon = started(&mut place);
        let (nas, server) = ((1, 40_000), (250, 1_813));
        send(&[(nas, server, START), (server, nas, ANSWER)]);
        daemon.counts(READ, |read| read == 2);
        daemon.counts(WRITTEN, |written| written >= 1);
        daemon.signal("KILL");
        let (_, first_log) = daemon.end();

        let records = dir.path().join("records");
        let bob = |records: &Path| IdentityReader::open(records).unwrap().named("bob", None).unwrap();
        let begun = bob(&records).pop().unwrap();
        assert_eq!((begun.end, &begun.ipv4[..]), (None, &["203.0.113.7".to_owned()][..]));

        let mut daemon = started(&mut place);
        daemon.says("goes on with 1 session of the previous run");
        send(&[(nas, server, STOP), (nas, server, FORGED)]);
        daemon.counts(READ, |read| read == 2);
        daemon.counts(WRITTEN, |written| written >= 1);
        assert_eq!(daemon.metric("ringtap_radius_packets_total{what=\"wrong\"}"), 1);
        daemon.signal("TERM");
        let (status, log) = daemon.end();
        assert_eq!(status, Some(0), "{log}");

        let ended = bob(&records);
        let [ended] = &ended[..] else { panic!("one session: {ended:?}") };
        assert_eq!((ended.id, ended.first, ended.start), (begun.id, begun.first, begun.start));
        assert_eq!((ended.end_cause, ended.octets_in), (Some(SessionEnd::Stopped), Some(1_234)));
        assert!(ended.addresses.iter().all(|held| held.until == ended.end), "{ended:?}");
        assert_eq!(IdentityReader::open(&records).unwrap().named("eve", None).unwrap(), []);
        let line = who_had("198.51.100.9", &records);
        assert!(line.contains("Example Ltd") && line.contains("lines.toml:1"), "{line}");
        let told = who_had("203.0.113.7:443", &records);
        assert!(told.contains("bob") && told.contains("Framed-IP-Address"), "{told}");
        for personal in ["bob", "203.0.113.7", "2001:db8:7"] {
            assert!(!first_log.contains(personal) && !log.contains(personal), "{first_log}\n{log}");
        }
    }
}

#[test]
fn leases_go_on_over_a_kill() {
    inside("subscribers::inside_killed_with_leases");
}

#[test]
#[ignore = "started in a network namespace by `leases_go_on_over_a_kill`"]
fn inside_killed_with_leases() {
    assert_inside();
    const READ: &str = "ringtap_dhcp_messages_total{what=\"read\"}";
    for workers in [1, 2] {
        let dir = tempfile::tempdir().unwrap();
        let mut place = configured(dir.path(), workers);
        let mut daemon = started(&mut place);
        let (agent, server) = ((1, 67), (250, 67));
        send(&[(agent, server, &dhcp(3, false)), (server, agent, &dhcp(5, false))]);
        daemon.counts(READ, |read| read == 2);
        daemon.counts(WRITTEN, |written| written >= 1);
        daemon.signal("KILL");
        let (_, first_log) = daemon.end();

        let records = dir.path().join("records");
        let of_phone = || IdentityReader::open(&records).unwrap().named("0200.5e10.0001", None).unwrap();
        let begun = of_phone().pop().unwrap();
        assert_eq!((begun.end, begun.source), (None, Some(SessionSource::Dhcpv4)));
        let hour = begun.expires.unwrap().micros() - begun.start.micros();
        assert_eq!((hour, begun.hostname.as_deref()), (3_600_000_000, Some("phone")), "by the request");

        let mut daemon = started(&mut place);
        daemon.says("goes on with 1 session of the previous run");
        send(&[(agent, server, &dhcp(7, true))]);
        daemon.counts(READ, |read| read == 1);
        daemon.counts(WRITTEN, |written| written >= 1);
        daemon.signal("TERM");
        let (status, log) = daemon.end();
        assert_eq!(status, Some(0), "{log}");
        let ended = of_phone();
        let [ended] = &ended[..] else { panic!("one lease: {ended:?}") };
        assert_eq!((ended.id, ended.end_cause), (begun.id, Some(SessionEnd::Released)));
        assert_eq!((ended.hostname.as_deref(), ended.addresses[0].until), (Some("phone"), ended.end));
        let told = who_had("203.0.113.9", &records);
        assert!(told.contains("02:00:5e:10:00:01") && told.contains("yiaddr"), "{told}");
        for personal in ["phone", "203.0.113.9", "02:00:5e"] {
            assert!(!first_log.contains(personal) && !log.contains(personal), "{first_log}\n{log}");
        }
    }
}

#[test]
fn sessions_by_radius_over_tcp() {
    inside("subscribers::inside_by_tcp");
}

#[test]
#[ignore = "started in a network namespace by `sessions_by_radius_over_tcp`"]
fn inside_by_tcp() {
    assert_inside();
    for workers in [1, 2] {
        let dir = tempfile::tempdir().unwrap();
        let mut place = configured(dir.path(), workers);
        let mut daemon = started(&mut place);
        let [start, answer] = [START, ANSWER].map(bytes);
        let (nas, server) = ("192.0.2.1:40000".parse().unwrap(), "192.0.2.250:1813".parse().unwrap());
        let ethernet = |packet: Vec<u8>| [&[2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0][..], &packet].concat();
        inject(&[
            ethernet(tcp::segment(nas, server, 99, tcp::SYN, &[])),
            ethernet(tcp::segment(nas, server, 100, tcp::ACK, &start[..25])),
            ethernet(tcp::segment(nas, server, 125, tcp::ACK, &start[25..])),
            ethernet(tcp::segment(server, nas, 7, tcp::ACK, &answer)),
        ]);
        daemon.counts(READ, |read| read == 2);
        assert_eq!(daemon.metric("ringtap_radius_packets_total{what=\"right\"}"), 2);
        daemon.counts(WRITTEN, |written| written >= 1);
        daemon.signal("TERM");
        let (status, log) = daemon.end();
        assert_eq!(status, Some(0), "{log}");
        let told = who_had("203.0.113.7", &dir.path().join("records"));
        assert!(told.contains("bob"), "{told}");
    }
}

#[test]
fn sessions_by_radius_over_tls() {
    inside("subscribers::inside_by_tls");
}

/// The end of the connection logs its keys after its records have passed. Nothing of them is logged here.
#[test]
#[ignore = "started in a network namespace by `sessions_by_radius_over_tls`"]
fn inside_by_tls() {
    assert_inside();
    for workers in [1, 2] {
        let dir = tempfile::tempdir().unwrap();
        let keys = dir.path().join("keys");
        fs::write(&keys, "").unwrap();
        fs::set_permissions(&keys, fs::Permissions::from_mode(0o640)).unwrap();
        let mut place = configured(dir.path(), workers);
        let path = dir.path().join("ringtap.toml");
        let text = fs::read_to_string(&path).unwrap();
        let with_keys = format!("[radius]\ntls_keys = \"{}\"\n", keys.display());
        fs::write(&path, text.replace("[radius]\n", &with_keys)).unwrap();
        let mut daemon = started(&mut place);
        let mut link = RadsecLink::new(&TLS13, cipher_suite::TLS13_AES_128_GCM_SHA256);
        let [start, answer] = [START, ANSWER].map(bytes);
        link.ask(&start);
        link.answer(&answer);
        let ethernet = |packet: Vec<u8>| [&[2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0][..], &packet].concat();
        inject(&link.segments(1_400).into_iter().map(ethernet).collect::<Vec<_>>());
        link.log(&keys);
        daemon.counts(READ, |read| read == 2);
        assert_eq!(daemon.metric("ringtap_radius_tls_records_total{what=\"opened\"}"), 2);
        daemon.counts(WRITTEN, |written| written >= 1);
        daemon.signal("TERM");
        let (status, log) = daemon.end();
        assert_eq!(status, Some(0), "{log}");
        assert!(!log.contains("bob") && !log.contains("SECRET"), "{log}");
        let told = who_had("203.0.113.7", &dir.path().join("records"));
        assert!(told.contains("bob"), "{told}");
    }
}

#[test]
fn sessions_of_pppoe_go_on_over_a_kill() {
    inside("subscribers::inside_killed_with_pppoe");
}

#[test]
#[ignore = "started in a network namespace by `sessions_of_pppoe_go_on_over_a_kill`"]
fn inside_killed_with_pppoe() {
    assert_inside();
    const READ: &str = "ringtap_pppoe_frames_total{what=\"read\"}";
    for workers in [1, 2] {
        let dir = tempfile::tempdir().unwrap();
        let mut place = configured(dir.path(), workers);
        let mut daemon = started(&mut place);
        let link = Link::new(1, 15);
        let login = link.login("ana@example.org", [203, 0, 113, 7], &line("eth 0/7:101", "LINE-7"));
        inject(&login);
        daemon.counts(READ, |read| read == login.len() as u64);
        daemon.counts(WRITTEN, |written| written >= 1);
        daemon.signal("KILL");
        let (_, first_log) = daemon.end();
        let records = dir.path().join("records");
        let of_line = || IdentityReader::open(&records).unwrap().named("line-7", None).unwrap();
        let begun = of_line().pop().unwrap();
        assert_eq!((begun.end, begun.source), (None, Some(SessionSource::Pppoe)));

        let mut daemon = started(&mut place);
        daemon.says("goes on with 1 session of the previous run");
        inject(&[link.discovery(Side::Client, PADT, 15, &[])]);
        daemon.counts(READ, |read| read == 1);
        daemon.counts(WRITTEN, |written| written >= 1);
        daemon.signal("TERM");
        let (status, log) = daemon.end();
        assert_eq!(status, Some(0), "{log}");
        let ended = of_line();
        let [ended] = &ended[..] else { panic!("one session: {ended:?}") };
        assert_eq!((ended.id, ended.end_cause), (begun.id, Some(SessionEnd::Terminated)));
        let told = who_had("203.0.113.7", &records);
        assert!(told.contains("ana@example.org") && told.contains("IP-Address"), "{told}");
        for personal in ["ana", "203.0.113.7", "02:00:5e", "LINE-7"] {
            assert!(!first_log.contains(personal) && !log.contains(personal), "{first_log}\n{log}");
        }
    }
}

/// A message of DHCPv4 between a relay agent and a server, in hexadecimal digits.
fn dhcp(kind: u8, has_address: bool) -> String {
    let mut bytes = vec![0; 240];
    bytes[..8].copy_from_slice(&[1 + u8::from(kind == 5), 1, 6, 1, 0, 0, 0, 9 + u8::from(has_address)]);
    let at = if has_address { 12 } else { 16 };
    bytes[at..at + 4].copy_from_slice(&[203, 0, 113, if has_address || kind == 5 { 9 } else { 0 }]);
    bytes[24..28].copy_from_slice(&[192, 0, 2, 1]);
    bytes[28..34].copy_from_slice(&[2, 0, 0x5e, 0x10, 0, 1]);
    bytes[236..].copy_from_slice(&[99, 130, 83, 99]);
    bytes.extend([53, 1, kind]);
    match kind {
        5 => bytes.extend([51, 4, 0, 0, 14, 16]),
        _ => bytes.extend([&[12, 5][..], b"phone"].concat()),
    }
    bytes.push(255);
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn configured(dir: &Path, workers: u8) -> Place {
    let place = Place::new(dir);
    let secrets = dir.join("secrets");
    fs::write(&secrets, "192.0.2.0/28 testing123\n").unwrap();
    fs::set_permissions(&secrets, fs::Permissions::from_mode(0o600)).unwrap();
    let lines = dir.join("lines.toml");
    fs::write(&lines, "[[range]]\nnetworks = [\"198.51.100.0/28\"]\nsubscriber = \"Example Ltd\"\n").unwrap();
    let path = place.configure(&format!("{INTERFACE}\nworkers = {workers}"), "");
    let text = fs::read_to_string(&path).unwrap();
    let radius =
        format!("[radius]\nfollow = true\ndhcp = true\npppoe = true\nsecrets = \"{}\"\n", secrets.display());
    let radius = format!("{radius}static = \"{}\"\n", lines.display());
    fs::write(&path, format!("{text}{radius}")).unwrap();
    place
}

/// What the command says of an address.
fn who_had(address: &str, records: &Path) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ringtap"));
    let output = command.args(["identity", address, "--store"]).arg(records).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// A daemon that captures.
fn started(place: &mut Place) -> Daemon {
    let mut daemon = place.start();
    daemon.says("/metrics and /health");
    daemon
}

type Host = (u8, u16);

/// Sends datagrams between hosts of 192.0.2.0/24.
fn send(packets: &[(Host, Host, &str)]) {
    let frames: Vec<_> = packets.iter().map(|(src, dst, hex)| frame(*src, *dst, hex)).collect();
    inject(&frames);
}

fn inject(frames: &[Vec<u8>]) {
    let mut injector = Injector::open("vb", Source::Packet).unwrap();
    for frame in frames {
        while injector.send(&[frame]).unwrap() == 0 {
            injector.flush().unwrap();
        }
    }
    injector.flush().unwrap();
}

fn bytes(hex: &str) -> Vec<u8> {
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
}

fn frame(src: Host, dst: Host, hex: &str) -> Vec<u8> {
    let payload = bytes(hex);
    let length = 28 + payload.len() as u16;
    let mut frame = vec![2, 0, 0, 0, 0, dst.0, 2, 0, 0, 0, 0, src.0, 8, 0, 0x45, 0];
    frame.extend(length.to_be_bytes());
    frame.extend([0, 1, 0, 0, 64, 17, 0, 0, 192, 0, 2, src.0, 192, 0, 2, dst.0]);
    for word in [src.1, dst.1, length - 20, 0] {
        frame.extend(word.to_be_bytes());
    }
    frame.extend(payload);
    frame
}

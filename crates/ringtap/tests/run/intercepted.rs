//! Product of warrants in force: in replays what the command gives of captures, on a wire what the register
//! says at that time. And that nothing else shows it.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends")]

use std::collections::BTreeSet;
use std::fs;
use std::net::{SocketAddrV4, TcpListener};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use ringtap_capture::Writer;
use ringtap_capture::live::{Injector, Source};
use ringtap_handover::{Pdu, PduPayload};
use ringtap_model::{Frame, LinkType, Nanos};
use ringtap_testing::pppoe::{LCP, Link, Side, line};
use ringtap_testing::tcp;
use serde_json::Value;

use crate::daemon::{Daemon, Place};
use crate::disk::SmallDisk;
use crate::mediation::{function, pdus};
use crate::officers::Officers;
use crate::wire::{INTERFACE, assert_inside, inside};

const DEMO: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../demo/calls.pcap");
const FOR_EVER: &str = "begins = '2020-01-01'";

/// A daemon's folder with these lines in `[capture]`, which intercepts; `more` are further keys of that.
pub(crate) fn configure(dir: &Path, officers: &Officers, capture: &str, more: &str) -> Place {
    let place = Place::new(dir);
    let path = place.configure(capture, "");
    let text = fs::read_to_string(&path).unwrap().replace("linger = \"1s\"\n", "");
    let own = format!(
        "[process]\ncontrol = \"{0}/control\"\n{1}product = \"{0}/product\"\n{more}\n",
        dir.display(),
        officers.section(),
    );
    fs::write(&path, format!("{text}{own}")).unwrap();
    place
}

/// The files of product with that ending, in order of their names.
pub(crate) fn files(dir: &Path, ending: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> =
        entries.filter(|path| path.extension().is_some_and(|own| own == ending)).collect();
    files.sort();
    files
}

/// What an agency has of them, by communication and number. Notices have the time at which the interception
/// began, which is that of its first packet.
pub(crate) fn product(dir: &Path) -> Vec<Pdu> {
    let all = ["hi2", "hi3"].into_iter().flat_map(|ending| files(dir, ending));
    let mut all: Vec<Pdu> = all.flat_map(|path| pdus(&path)).collect();
    all.retain(|pdu| !matches!(pdu.payload, PduPayload::Notification(_)));
    all.sort_by_key(|pdu| {
        let is_content = matches!(pdu.payload, PduPayload::Content { .. });
        (is_content, pdu.number.cin.0, pdu.number.sequence)
    });
    all
}

/// The newest report, of the only order.
pub(crate) fn report(dir: &Path) -> Value {
    let text = fs::read(dir.join("product/report.json")).unwrap_or_default();
    serde_json::from_slice(&text).unwrap_or_default()
}

fn figure(dir: &Path, name: &str) -> u64 {
    report(dir)["orders"][0][name].as_u64().unwrap_or_default()
}

/// Has a capture replayed, and compares with what the command gives of it: how many packets there were, and
/// how many of them were remembered. `sections` are further ones of the configuration.
fn replayed_as_the_command_does(
    capture: &Path,
    target: &str,
    ring: &str,
    sections: &str,
) -> (usize, u64, Vec<Pdu>) {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    let mut officers = Officers::new(dir);
    let number = officers.enter("LI-17", target, FOR_EVER);
    officers.approve(number);
    let out = dir.join("by-command");
    let (ranges, sections) = (dir.join("lines.toml"), sections.replace("LINES", "lines.toml"));
    fs::write(&ranges, LINES).unwrap();
    let mut command =
        vec!["product", capture.to_str().unwrap(), "--out", out.to_str().unwrap(), "--why", "a test"];
    if sections.contains("static") {
        command.extend(["--static", ranges.to_str().unwrap()]);
    }
    officers.act(&command);
    let sections = sections.replace("lines.toml", ranges.to_str().unwrap());
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let arriving = function(listener, 2);
    let functions = dir.join("functions.toml");
    let text = format!(
        "[[function]]\nagency = 'agency-a'\noperator = 'operator'\nhi2 = '{address}'\nhi3 = '{address}'\n"
    );
    fs::write(&functions, text).unwrap();
    let capture = format!("files = [\"{}\"]\nspeed = \"max\"", capture.display());
    let more = format!("ring = {ring}\ndeliver = \"{}\"\n{sections}", functions.display());
    let (status, log) = configure(dir, &officers, &capture, &more).start().end();
    assert_eq!(status, Some(0), "{log}");
    let (given, expected) = (product(&dir.join("product")), product(&out));
    let mut arrived = arriving.join().unwrap();
    for pdu in &given {
        let place = arrived.iter().position(|arrived| arrived.payload == pdu.payload);
        arrived.swap_remove(place.expect("what is in the files is delivered"));
    }
    assert!(arrived.iter().all(|pdu| matches!(pdu.payload, PduPayload::Notification(_))), "{arrived:?}");
    for sums in files(&dir.join("product"), "sha256") {
        let mut check = std::process::Command::new("sha256sum");
        let checked = check.arg("-c").arg(&sums).current_dir(dir.join("product")).output().unwrap();
        assert!(checked.status.success(), "{checked:?}");
    }
    let product_dir = dir.join("product");
    let verified = officers.act(&["verify-product", product_dir.to_str().unwrap()]);
    assert!(verified.contains("as they were signed\n  manifests 1 to 1:"), "{verified}");
    assert!(report(dir)["orders"][0]["manifest"].is_null(), "nothing was finished while it ran");
    // Whoever has the public key alone finds what was changed.
    let events = files(&product_dir, "hi2").remove(0);
    let bytes = fs::read(&events).unwrap();
    fs::write(&events, &bytes[1..]).unwrap();
    let mut verify = std::process::Command::new(env!("CARGO_BIN_EXE_ringtap"));
    verify
        .args(["warrant", "verify-product"])
        .arg(&product_dir)
        .arg("--key")
        .arg(dir.join("register/sign.pub"));
    let damaged = verify.output().unwrap();
    let said = String::from_utf8_lossy(&damaged.stdout);
    assert!(damaged.status.code() == Some(3) && said.contains("it is not what was signed"), "{damaged:?}");
    fs::write(&events, bytes).unwrap();
    if ring != "0" {
        assert_eq!(given.len(), expected.len(), "{log}");
        for (given, expected) in given.iter().zip(&expected) {
            assert_eq!((given.at, &given.payload), (expected.at, &expected.payload));
            assert_eq!(given.number, expected.number);
        }
    }
    let acts = officers.act(&["acts", "--why", "a test", "--format", "jsonl"]);
    assert!(acts.contains("\"begin\""), "{acts}");
    (expected.len(), figure(dir, "recalled"), given)
}

#[test]
fn a_replay_gives_what_the_command_gives_of_a_call() {
    let target = "number:+441632960203";
    let (expected, _, _) = replayed_as_the_command_does(Path::new(DEMO), target, "\"64MiB\"", "");
    assert!(expected > 100, "{expected}");
}

/// Gap 10: what passed before a target was followed was lost. RADIUS lets bob in, and he sends at once: until
/// his address is known, frames are only remembered.
#[test]
fn gap_10_nothing_is_missing_after_the_packet_that_gives_an_address() {
    let dir = tempfile::tempdir().unwrap();
    let capture = dir.path().join("session.pcap");
    write_session(&capture);
    let (_, recalled, given) = replayed_as_the_command_does(&capture, "user:bob", "\"16MiB\"", "");
    assert_eq!(packets(&given), 300, "one each 10 ms, while the address was his");
    assert!((50..=300).contains(&recalled), "{recalled} were there before he was known");
    let (_, recalled, given) = replayed_as_the_command_does(&capture, "user:bob", "0", "");
    assert_eq!(recalled, 0);
    let packets = packets(&given);
    assert!((1..300).contains(&packets), "without memory, what came at once is missing: {packets}");
}

/// DHCP leases an address for three seconds, and nothing is heard at its end.
#[test]
fn leases_are_followed_where_the_configuration_says_so() {
    let dir = tempfile::tempdir().unwrap();
    let capture = dir.path().join("lease.pcap");
    let mut frames = two_hosts();
    let message = |op: u8, kind: u8, address: [u8; 4], options: &[u8]| {
        let mut bytes = vec![0; 240];
        bytes[..3].copy_from_slice(&[op, 1, 6]);
        bytes[16..20].copy_from_slice(&address);
        bytes[28..34].copy_from_slice(&[2, 0, 0x5e, 0, 0, 7]);
        bytes[236..].copy_from_slice(&[99, 130, 83, 99]);
        bytes.extend([53, 1, kind, 54, 4, 192, 0, 2, 250]);
        [&bytes, options, &[255]].concat()
    };
    let (request, ack) = (message(1, 3, [0; 4], &[]), message(2, 5, [203, 0, 113, 7], &[51, 4, 0, 0, 0, 3]));
    frames.push((999, packet("0.0.0.0:68", "255.255.255.255:67", &request)));
    frames.push((1000, packet("192.0.2.250:67", "255.255.255.255:68", &ack)));
    write(&capture, frames);
    let leases = "[radius]\nfollow = true\ndhcp = true\n";
    let target = "mac:02:00:5e:00:00:07";
    let (expected, recalled, given) = replayed_as_the_command_does(&capture, target, "\"16MiB\"", leases);
    assert_eq!(packets(&given), 300, "one each 10 ms, while the address was leased");
    assert!(expected > 300 && recalled >= 50, "{expected} {recalled}");
}

const LINES: &str = "[[range]]\nnetworks = [\"203.0.113.7\"]\nsubscriber = \"line 9\"\n";

#[test]
fn ranges_of_a_file_are_their_subscribers() {
    let dir = tempfile::tempdir().unwrap();
    let capture = dir.path().join("lines.pcap");
    write(&capture, two_hosts());
    let ranges = "[radius]\nfollow = true\nstatic = \"LINES\"\n";
    let (_, _, given) = replayed_as_the_command_does(&capture, "user:line 9", "\"16MiB\"", ranges);
    assert_eq!(packets(&given), 500, "from the first packet to the last");
}

/// PPP gives an address and takes it back, in the same frames that carry the packets.
#[test]
fn sessions_of_pppoe_are_followed_where_the_configuration_says_so() {
    let dir = tempfile::tempdir().unwrap();
    let capture = dir.path().join("pppoe.pcap");
    let (ana, other) = (Link::new(7, 15), Link::new(8, 16));
    let mut frames = Vec::new();
    for (at, packet) in two_hosts() {
        let link = if packet[15] == 7 { &ana } else { &other };
        frames.push((at, link.session(Side::Client, 0x21, &packet)));
    }
    let login = ana.login("ana", [203, 0, 113, 7], &line("eth 0/7", "LINE-7"));
    frames.extend(login.into_iter().map(|frame| (995, frame)));
    frames.push((3995, ana.control(Side::Client, LCP, (5, 1), &[])));
    frames.push((3995, ana.control(Side::Concentrator, LCP, (6, 1), &[])));
    write_as(LinkType(1), &capture, frames);
    let pppoe = "[radius]\nfollow = true\npppoe = true\n";
    let (expected, recalled, given) =
        replayed_as_the_command_does(&capture, "calling:LINE-7", "\"16MiB\"", pppoe);
    assert_eq!(packets(&given), 300, "one each 10 ms, while the session had the address");
    assert!(expected > 300 && recalled >= 50, "{expected} {recalled}");
}

fn packets(given: &[Pdu]) -> usize {
    given.iter().filter(|pdu| matches!(pdu.payload, PduPayload::Content { .. })).count()
}

pub(crate) fn packet(src: &str, dst: &str, payload: &[u8]) -> Vec<u8> {
    datagram(src.parse().unwrap(), dst.parse().unwrap(), payload)
}

/// Packets of two addresses, each with one every 10 ms for five seconds.
fn two_hosts() -> Vec<(u64, Vec<u8>)> {
    let hosts = (0..500u64).flat_map(|count| [(count, 7, 1), (count, 8, 2)]);
    let sent = |(count, host, offset)| {
        let src = format!("203.0.113.{host}:4000");
        (count * 10 + offset, packet(&src, "198.51.100.1:6000", format!("{host} {count}").as_bytes()))
    };
    hosts.map(sent).collect()
}

/// A session of bob with the address of one of two hosts, which sends before, during and after.
fn write_session(path: &Path) {
    let mut frames = two_hosts();
    let user = b"\x01\x05bob";
    let address = b"\x08\x06\xcb\x00\x71\x07";
    let session = b"\x2c\x041\x31";
    let mut radius = |at: u64, (src, dst): (&str, &str), code: u8, id: u8, attributes: &[&[u8]]| {
        frames.push((at, packet(src, dst, &radius_packet(code, id, attributes))));
    };
    let (nas, server, nas_acct, acct) =
        ("192.0.2.1:1812", "192.0.2.9:1812", "192.0.2.1:1813", "192.0.2.9:1813");
    radius(995, (nas, server), 1, 1, &[user]);
    radius(1000, (server, nas), 2, 1, &[address]);
    radius(1100, (nas_acct, acct), 4, 2, &[user, address, session, &[40, 6, 0, 0, 0, 1]]);
    radius(4000, (nas_acct, acct), 4, 3, &[user, address, session, &[40, 6, 0, 0, 0, 2]]);
    write(path, frames);
}

/// RADIUS over TCP, a request cut in the middle: the thread that intercepts has it from the workers.
#[test]
fn sessions_by_radius_over_tcp_are_followed() {
    let dir = tempfile::tempdir().unwrap();
    let capture = dir.path().join("tcp.pcap");
    let mut frames = two_hosts();
    let (nas, server) = ("192.0.2.1:40000".parse().unwrap(), "192.0.2.9:1812".parse().unwrap());
    let request = radius_packet(1, 1, &[b"\x01\x05bob"]);
    let accept = radius_packet(2, 1, &[b"\x08\x06\xcb\x00\x71\x07"]);
    frames.push((990, tcp::segment(nas, server, 99, tcp::SYN, &[])));
    frames.push((994, tcp::segment(nas, server, 100, tcp::ACK, &request[..9])));
    frames.push((995, tcp::segment(nas, server, 109, tcp::ACK, &request[9..])));
    frames.push((1000, tcp::segment(server, nas, 500, tcp::ACK, &accept)));
    write(&capture, frames);
    let radius = "[radius]\nfollow = true\n";
    let (_, _, given) = replayed_as_the_command_does(&capture, "user:bob", "\"16MiB\"", radius);
    assert_eq!(packets(&given), 400, "from the Access-Accept on");
}

pub(crate) fn radius_packet(code: u8, id: u8, attributes: &[&[u8]]) -> Vec<u8> {
    let attributes = attributes.concat();
    let length = (20 + attributes.len() as u16).to_be_bytes();
    [&[code, id][..], &length, &[id; 16], &attributes].concat()
}

/// A capture of packets, each at its millisecond.
fn write(path: &Path, frames: Vec<(u64, Vec<u8>)>) {
    write_as(LinkType(101), path, frames);
}

fn write_as(link: LinkType, path: &Path, mut frames: Vec<(u64, Vec<u8>)>) {
    frames.sort_by_key(|(at, _)| *at);
    let mut writer = Writer::new(fs::File::create(path).unwrap(), &[link]).unwrap();
    for (number, (at, data)) in (1..).zip(&frames) {
        let (time, wire_len) = (Nanos::from_secs(1_790_000_000) + Nanos::from_millis(*at), data.len() as u32);
        writer.write(&Frame { time, number, link, wire_len, data }).unwrap();
    }
    writer.finish().unwrap();
}

#[test]
fn orders_on_a_wire() {
    inside("intercepted::inside_orders");
}

/// Sends so many datagrams of an address, one a millisecond.
fn send(address: u8, count: u32) {
    let src = format!("203.0.113.{address}:4000");
    let packets = (0..count).map(|number| packet(&src, "198.51.100.1:6000", &number.to_be_bytes()));
    inject(packets);
}

/// Sends packets, one a millisecond.
fn inject(packets: impl Iterator<Item = Vec<u8>>) {
    inject_on("vb", packets);
}

/// The same on an interface.
pub(crate) fn inject_on(interface: &str, packets: impl Iterator<Item = Vec<u8>>) {
    let mut injector = Injector::open(interface, Source::Packet).unwrap();
    for packet in packets {
        let frame = [&[2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0][..], &packet].concat();
        while injector.send(&[&frame]).unwrap() == 0 {
            injector.flush().unwrap();
        }
        injector.flush().unwrap();
        thread::sleep(Duration::from_millis(1));
    }
}

/// UDP over IPv4.
fn datagram(src: SocketAddrV4, dst: SocketAddrV4, payload: &[u8]) -> Vec<u8> {
    let length = 28 + payload.len() as u16;
    let mut packet = vec![0x45, 0];
    packet.extend(length.to_be_bytes());
    packet.extend([0, 1, 0, 0, 64, 17, 0, 0]);
    packet.extend([src.ip().octets(), dst.ip().octets()].concat());
    packet.extend([src.port(), dst.port(), length - 20, 0].map(u16::to_be_bytes).concat());
    packet.extend(payload);
    packet
}

pub(crate) fn started(place: &mut Place) -> Daemon {
    let mut daemon = place.start();
    daemon.says("/metrics and /health");
    daemon
}

/// Whoever is no officer: metrics, their names, the log, files that are not the product's.
fn seen_by_others(dir: &Path, daemon: &Daemon) -> (BTreeSet<String>, String) {
    let page = daemon.page("/metrics").unwrap();
    let name = |line: &str| line.split([' ', '}']).next().unwrap_or_default().to_owned();
    let names = page.lines().filter(|line| line.starts_with("ringtap_")).map(name).collect();
    let health = daemon.page("/health").unwrap();
    let control = dir.join("control");
    let status = std::process::Command::new(env!("CARGO_BIN_EXE_ringtap"))
        .args(["status", "--control", control.to_str().unwrap(), "--format", "json"])
        .output()
        .unwrap();
    let status = String::from_utf8(status.stdout).unwrap();
    (names, format!("{page}{health}{status}{}", daemon.log()))
}

/// Files that others than their owner may read, and what is in them.
fn readable(dir: &Path, found: &mut String) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let mode = path.metadata().unwrap().permissions().mode();
        if path.is_dir() && mode & 0o055 != 0 {
            readable(&path, found);
        } else if path.is_file() && mode & 0o044 != 0 && path.file_name().unwrap() != "warrant.toml" {
            found.push_str(&format!(
                "{} {}\n",
                path.display(),
                String::from_utf8_lossy(&fs::read(&path).unwrap())
            ));
        }
    }
}

pub(crate) fn content(dir: &Path) -> usize {
    files(&dir.join("product"), "hi3").iter().map(|path| pdus(path).len()).sum()
}

/// Approved, killed, started again, extended and withdrawn while packets come.
#[test]
#[ignore = "started in a network namespace by `orders_on_a_wire`"]
fn inside_orders() {
    assert_inside();
    for workers in [1, 2] {
        let folder = tempfile::tempdir().unwrap();
        let dir = folder.path();
        let mut officers = Officers::new(dir);
        let capture = format!("{INTERFACE}\nworkers = {workers}");
        let mut place = configure(dir, &officers, &capture, "ring = \"16MiB\"");
        let mut daemon = started(&mut place);
        send(7, 20);
        daemon.counts("ringtap_frames_total", |frames| frames >= 20);
        let (names, _) = seen_by_others(dir, &daemon);

        let number = officers.enter("LI-QUAGGA", "address:203.0.113.7", "");
        send(7, 20);
        officers.approve(number);
        daemon.until("it begins", |_| report(dir)["orders"][0]["liid"] == "LI-QUAGGA");
        send(8, 20);
        send(7, 50);
        daemon.until("its packets are counted", |_| figure(dir, "packets") >= 50);
        let (figures, given) = (report(dir), content(dir));
        assert_eq!(given, 50, "neither of the time before nor of others: {figures}");
        let shown = officers.act(&[
            "show",
            "1",
            "--why",
            "a test",
            "--product",
            dir.join("product").to_str().unwrap(),
        ]);
        assert!(shown.contains("50 packets") && shown.contains("are remembered"), "{shown}");
        let (names_now, seen) = seen_by_others(dir, &daemon);
        assert_eq!(names, names_now, "metrics are the same");
        daemon.signal("KILL");
        daemon.ends();
        assert_eq!(content(dir), 50, "a kill loses nothing that was told");

        let mut daemon = started(&mut place);
        daemon.until("it goes on by itself", |_| report(dir)["orders"][0]["packets"] == 0);
        let extend = ["extend", "1", "--ends", "2101-01-01", "--reference", "O-2", "--authority", "Court"];
        officers.act(&extend);
        officers.approve(number);
        send(7, 30);
        daemon.until("its packets are counted", |_| figure(dir, "packets") >= 30);
        assert_eq!(
            (figure(dir, "packets"), figure(dir, "events")),
            (30, 1),
            "an extension interrupts nothing"
        );
        officers.act(&["withdraw", "1", "--reason", "lifted"]);
        send(7, 20);
        daemon.until("it has ended", |_| report(dir)["orders"].as_array().is_some_and(Vec::is_empty));
        send(7, 20);
        let (_, seen_later) = seen_by_others(dir, &daemon);
        daemon.signal("TERM");
        let (status, log) = daemon.end();
        assert_eq!(status, Some(0), "{log}");
        assert_eq!(content(dir), 80, "nothing after it was withdrawn");
        let acts = officers.act(&["acts", "--why", "a test", "--format", "jsonl"]);
        assert!(acts.contains("\"stop\""), "{acts}");
        let mut on_disk = String::new();
        readable(dir, &mut on_disk);
        for trace in ["QUAGGA", "203.0.113", "agency-a", "quagga"] {
            for seen in [&seen, &seen_later, &log, &on_disk] {
                assert!(!seen.contains(trace), "{trace}: {seen}");
            }
        }
        let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&dir.join("product")), 0o700);
        let all = fs::read_dir(dir.join("product")).unwrap().map(|entry| mode(&entry.unwrap().path()));
        assert!({ all }.all(|mode| mode == 0o600));
    }
}

#[test]
fn sessions_of_targets_over_a_restart() {
    inside("intercepted::inside_restart");
}

/// A session goes on as the target's after a kill, with the same number, and with a key from a command.
#[test]
#[ignore = "started in a network namespace by `sessions_of_targets_over_a_restart`"]
fn inside_restart() {
    assert_inside();
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    let mut officers = Officers::new(dir);
    let number = officers.enter("LI-QUAGGA", "user:bob", "");
    officers.approve(number);
    let mut place = configure(dir, &officers, INTERFACE, "ring = \"16MiB\"\n[radius]\nfollow = true");
    let path = dir.join("ringtap.toml");
    let text = fs::read_to_string(&path).unwrap();
    let key = dir.join("register-key").display().to_string();
    let by_command = text.replace(&format!("key = \"{key}\""), &format!("key_command = \"cat {key}\""));
    assert_ne!(text, by_command);
    fs::write(&path, by_command).unwrap();

    let mut daemon = started(&mut place);
    daemon.until("the order is in force", |_| report(dir)["orders"][0]["liid"] == "LI-QUAGGA");
    let (nas, server) = ("192.0.2.1:1813", "192.0.2.9:1813");
    let start: [&[u8]; 4] =
        [b"\x01\x05bob", b"\x08\x06\xcb\x00\x71\x07", b"\x2c\x041\x31", &[40, 6, 0, 0, 0, 1]];
    inject([packet(nas, server, &radius_packet(4, 1, &start))].into_iter());
    send(7, 20);
    daemon.until("its packets are counted", |_| figure(dir, "packets") >= 20);
    let records = dir.join("records");
    let known = || {
        let mut identity = std::process::Command::new(env!("CARGO_BIN_EXE_ringtap"));
        identity.args(["identity", "203.0.113.7", "--store"]).arg(&records).output().unwrap().status.success()
    };
    daemon.until("the session is stored", |_| known());
    daemon.signal("KILL");
    daemon.ends();
    send(7, 5);

    let mut daemon = started(&mut place);
    daemon.until("the session goes on", |_| figure(dir, "events") == 1);
    send(8, 5);
    send(7, 30);
    daemon.until("its packets are counted", |_| figure(dir, "packets") >= 30);
    daemon.signal("TERM");
    let (status, log) = daemon.end();
    assert_eq!(status, Some(0), "{log}");
    let given = product(&dir.join("product"));
    assert_eq!(
        packets(&given),
        50,
        "what passed while nothing ran is missing, and nothing of others is there"
    );
    let of_session = given.iter().filter(|pdu| matches!(pdu.payload, PduPayload::Content { .. }));
    assert_eq!(of_session.map(|pdu| pdu.number.cin.0).collect::<BTreeSet<_>>().len(), 1, "one session");
    // What the kill left is signed as well.
    let verified = officers.act(&["verify-product", dir.join("product").to_str().unwrap()]);
    assert!(verified.contains("manifests 1 to 2:") && verified.contains("signed them later"), "{verified}");
}

#[test]
fn a_full_disk_of_product() {
    inside("intercepted::inside_full");
}

/// What finds no room is counted and told to officers; nothing else stops, and what follows is whole.
#[test]
#[ignore = "started in a network namespace by `a_full_disk_of_product`"]
fn inside_full() {
    assert_inside();
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    let mut officers = Officers::new(dir);
    let number = officers.enter("LI-QUAGGA", "address:203.0.113.7", "");
    officers.approve(number);
    fs::create_dir(dir.join("product")).unwrap();
    let disk = SmallDisk::mount(&dir.join("product"), "512k").expect("a small disk");
    fs::set_permissions(disk.path(), fs::Permissions::from_mode(0o700)).unwrap();
    let mut place = configure(dir, &officers, INTERFACE, "ring = \"1MiB\"");
    let mut daemon = started(&mut place);
    daemon.until("it begins", |_| report(dir)["orders"][0]["liid"] == "LI-QUAGGA");
    send(7, 20);
    daemon.until("its packets are counted", |_| figure(dir, "packets") >= 20);
    fs::write(disk.file("ballast"), vec![0; 400 << 10]).unwrap();
    send(7, 2_000);
    daemon.counts("ringtap_frames_total", |frames| frames >= 2_020);
    thread::sleep(Duration::from_millis(2_500));
    fs::remove_file(disk.file("ballast")).unwrap();
    send(7, 20);
    daemon.until("what is missing is counted", |_| {
        figure(dir, "unwritten") > 0 && figure(dir, "packets") >= 2_040
    });
    let unwritten = figure(dir, "unwritten");
    daemon.signal("TERM");
    let (status, log) = daemon.end();
    assert_eq!(status, Some(0), "{log}");
    assert!(!log.contains("product") && !log.contains("No space"), "{log}");
    let written = content(dir);
    assert!(written < 2_040 && written as u64 + unwritten >= 2_040, "{written}, {unwritten}");
}

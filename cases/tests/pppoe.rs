//! Frames of PPPoE against tshark: every field that the view reads, of frames laid out by hand and of the
//! shared captures; and the sessions of a router of others.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on ends")]

use std::fs;
use std::path::Path;
use std::process::Command;

use ringtap_capture::{Capture, Merge, Writer};
use ringtap_cases::identities::identities;
use ringtap_cases::shared;
use ringtap_identity::{Limits, Secrets, Sessions};
use ringtap_model::{Frame, LinkType, Nanos, SessionEnd, SessionSource};
use ringtap_testing::pppoe::{CHAP, IPCP, LCP, Link, PADT, Side, line};
use ringtap_wire::pppoe::{View, is_control, protocol};

#[test]
fn every_field_of_frames_laid_out_by_hand_is_tsharks() {
    if !ringtap_testing::program("tshark") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("by-hand.pcap");
    let frames = by_hand();
    let mut writer = Writer::new(fs::File::create(&path).unwrap(), &[LinkType(1)]).unwrap();
    for (number, data) in (1..).zip(&frames) {
        let time = Nanos::from_secs(1_795_226_400 + number);
        writer.write(&Frame { time, number, link: LinkType(1), wire_len: data.len() as u32, data }).unwrap();
    }
    writer.finish().unwrap();
    assert_eq!(compared(&path), frames.len());
}

#[test]
fn every_field_of_the_shared_captures_is_tsharks() {
    if !ringtap_testing::program("tshark") {
        return;
    }
    let Some(folder) = ringtap_testing::shared() else { return };
    let found: usize = shared::captures(&folder.join("captures")).iter().map(|path| compared(path)).sum();
    println!("pppoe: {found} frames agree");
    assert!(found >= 70, "{found}");
}

/// A router that lets three users in by PAP, who go again. RADIUS tells the same of them.
#[test]
fn sessions_of_a_router_are_those_that_its_radius_reports() {
    let Some(folder) = ringtap_testing::shared() else { return };
    let path = folder.join("captures/radius/russo-eth_pppoe_bng.pcapng");
    let sessions = Sessions::new(Limits::default(), Secrets::default()).following_pppoe();
    let records = identities(&path, sessions).unwrap();
    let of = |source| {
        let of_source = records.iter().filter(move |record| record.source == Some(source));
        let told = of_source.filter(|record| record.user.is_some());
        told.map(|record| (record.user.clone().unwrap(), record.ipv4.clone())).collect::<Vec<_>>()
    };
    let (own, reported) = (of(SessionSource::Pppoe), of(SessionSource::Radius));
    let users: Vec<&str> = own.iter().map(|(user, _)| user.as_str()).collect();
    assert_eq!(users, ["user1", "user2@VPN_A", "user3"]);
    for (user, addresses) in &own {
        // The router takes the name of the VPN off, behind the `@`.
        let same = reported.iter().find(|(other, _)| user.split('@').next() == Some(other));
        assert_eq!(same.map(|(_, addresses)| addresses), Some(addresses), "{user}");
    }
    let pppoe = records.iter().filter(|record| record.source == Some(SessionSource::Pppoe));
    for record in pppoe {
        assert_eq!(record.end_cause, Some(SessionEnd::Terminated), "{record:?}");
        assert_eq!(
            (record.nas_identifier.as_deref(), record.nas_port_id.as_deref()),
            (Some("bng"), Some("vlan 10"))
        );
    }
}

fn by_hand() -> Vec<Vec<u8>> {
    let link = Link::new(1, 15);
    let mut frames = link.login("ana@example.org", [203, 0, 113, 7], &line("eth 0/7:101", "LINE-7"));
    let other = Link { vlans: vec![100, 7], ..Link::new(2, 0xffff) };
    frames.extend([
        other.control(Side::Concentrator, CHAP, (1, 5), b"\x04abcdbng"),
        other.control(Side::Client, CHAP, (2, 5), b"\x04abcdbob"),
        other.control(Side::Concentrator, CHAP, (3, 5), b"welcome"),
        other.control(Side::Concentrator, IPCP, (4, 1), &[0x81, 6, 192, 0, 2, 53]),
        other.control(Side::Client, LCP, (9, 5), &[1, 2, 3, 4]),
        other.control(Side::Client, LCP, (5, 6), b"bye"),
        other.control(Side::Concentrator, LCP, (6, 6), &[]),
        other.discovery(Side::Client, PADT, 0xffff, &[]),
        Link { vlans: Vec::new(), ..link }.discovery(Side::Concentrator, PADT, 15, &[]),
    ]);
    frames
}

/// Compares all frames of a capture, and returns how many there are.
fn compared(path: &Path) -> usize {
    let own = ours(path);
    if own.is_empty() {
        return 0;
    }
    // Other packets are no frames of control; those in other tunnels have no addresses of Ethernet.
    let filter = "(pppoed || pppoes && ppp.protocol >= 0x8000) && !_ws.malformed && !_ws.short";
    let mut command = Command::new("tshark");
    command.arg("-r").arg(path).args(["-Y", filter, "-T", "fields", "-E", "aggregator=|"]);
    FIELDS.iter().for_each(|name| _ = command.args(["-e", name]));
    let output = command.output().expect("tshark runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let theirs: Vec<Vec<String>> =
        text.lines().map(|line| line.split('\t').map(str::to_owned).collect()).collect();
    assert_eq!(own.len(), theirs.len(), "{}: frames that only one of both sees", path.display());
    for (own, theirs) in own.iter().zip(&theirs) {
        let number = &theirs[0];
        let place = |wanted: &str| FIELDS.iter().position(|name| *name == wanted).unwrap();
        // The name of a challenge is the concentrator's: we read that of the response alone.
        let is_challenge = theirs[place("chap.code")] == "1";
        for ((name, own), theirs) in FIELDS.iter().zip(own).zip(theirs) {
            if is_challenge && *name == "chap.name" {
                continue;
            }
            assert_eq!(own, theirs, "{} frame {number}: {name}", path.display());
        }
    }
    own.len()
}

fn ours(path: &Path) -> Vec<Vec<String>> {
    let Ok(capture) = Capture::open(path, None) else { return Vec::new() };
    let mut found = Vec::new();
    for frame in Merge::new(&[capture]).owned().iter() {
        if is_control(frame.link.0, frame.data)
            && let Ok(view) = View::parse(frame.link.0, frame.data)
        {
            found.push(of(frame.number, &view));
        }
    }
    found
}

const FIELDS: &[&str] = &[
    "frame.number",
    "eth.src",
    "eth.dst",
    "vlan.id",
    "pppoe.code",
    "pppoe.session_id",
    "pppoed.tags.ac_name",
    "pppoed.tags.circuit_id",
    "pppoed.tags.remote_id",
    "ppp.protocol",
    "ppp.code",
    "ppp.identifier",
    "pap.code",
    "pap.identifier",
    "pap.peer_id",
    "chap.code",
    "chap.identifier",
    "chap.name",
    "ipcp.opt.ip_address",
    "ipv6cp.interface_identifier",
];

fn of(number: u64, view: &View<'_>) -> Vec<String> {
    let mac = |bytes: [u8; 6]| bytes.map(|byte| format!("{byte:02x}")).join(":");
    let text =
        |bytes: Option<&[u8]>| bytes.map_or(String::new(), |bytes| String::from_utf8_lossy(bytes).into());
    let control = view.control();
    let is_of = |wanted: &[u16]| control.filter(|control| wanted.contains(&control.protocol));
    let code = |wanted: &[u16]| is_of(wanted).map_or(String::new(), |control| control.code.to_string());
    let id = |wanted: &[u16]| is_of(wanted).map_or(String::new(), |control| control.identifier.to_string());
    let network = [protocol::LCP, protocol::IPCP, protocol::IPV6CP];
    let name = |wanted: u16| text(is_of(&[wanted]).and_then(|control| control.peer_name()));
    let address = is_of(&[protocol::IPCP]).and_then(|control| control.option(3));
    let address =
        address.map_or(String::new(), |bytes| bytes.iter().map(u8::to_string).collect::<Vec<_>>().join("."));
    let interface = is_of(&[protocol::IPV6CP]).and_then(|control| control.option(1));
    let interface = interface.map_or(String::new(), |bytes| {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(":")
    });
    let vlans: Vec<String> = view.vlans().iter().map(|id| id.to_string()).collect();
    vec![
        number.to_string(),
        mac(view.src()),
        mac(view.dst()),
        vlans.join("|"),
        format!("0x{:02x}", view.code()),
        format!("0x{:04x}", view.session()),
        text(view.concentrator()),
        text(view.circuit()),
        text(view.remote()),
        control.map_or(String::new(), |control| format!("0x{:04x}", control.protocol)),
        code(&network),
        id(&network),
        code(&[protocol::PAP]),
        id(&[protocol::PAP]),
        name(protocol::PAP),
        code(&[protocol::CHAP]),
        id(&[protocol::CHAP]),
        name(protocol::CHAP),
        address,
        interface,
    ]
}

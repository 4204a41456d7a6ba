//! RADIUS packets of the shared captures against tshark: every header and every attribute of each packet, and
//! every address of the sessions that follow from them.
#![expect(clippy::expect_used, reason = "what cannot be read fails the test")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use ringtap_capture::{Capture, Merge};
use ringtap_cases::identities::identities;
use ringtap_cases::shared;
use ringtap_identity::{Limits, Secrets, Sessions};
use ringtap_wire::frame::{Payload, decode};
use ringtap_wire::radius::{Number, View};

/// A packet: code, identifier and authenticator as tshark writes them, and its attributes with their values.
#[derive(Debug, Default, PartialEq, Eq)]
struct Packet {
    code: u8,
    identifier: u8,
    authenticator: String,
    attributes: Vec<(Number, String)>,
}

#[test]
fn every_attribute_of_every_packet_is_tsharks() {
    if !ringtap_testing::program("tshark") {
        return;
    }
    let Some(folder) = ringtap_testing::shared() else { return };
    let (mut packets, mut attributes, mut of_vendors) = (0, 0, 0);
    for path in shared::captures(&folder.join("captures")) {
        let ours = ours(&path);
        if ours.is_empty() {
            continue;
        }
        let theirs = theirs(&path);
        for (number, packet) in theirs {
            let ours = ours.get(&number).unwrap_or_else(|| panic!("{} {number}: none", path.display()));
            assert_eq!(*ours, packet, "{} frame {number}", path.display());
            packets += 1;
            attributes += packet.attributes.len();
            of_vendors += packet.attributes.iter().filter(|(number, _)| number.space == 26).count();
        }
    }
    println!("radius: {packets} packets, {attributes} attributes, {of_vendors} of vendors agree");
    assert!(
        packets >= 150 && attributes >= 1_500 && of_vendors >= 100,
        "{packets} {attributes} {of_vendors}"
    );
}

/// Every Framed-IP-Address that an Access-Accept or an accounting request gives is one of a session, and the
/// sessions have no others.
#[test]
fn sessions_have_the_addresses_that_tshark_reads() {
    if !ringtap_testing::program("tshark") {
        return;
    }
    let Some(folder) = ringtap_testing::shared() else { return };
    let (mut captures, mut addresses) = (0, 0);
    for path in shared::captures(&folder.join("captures/radius")) {
        let sessions = Sessions::new(Limits::default(), Secrets::default());
        let sessions = identities(&path, sessions).expect("a capture");
        let given = given(&path);
        let of_attribute = sessions.iter().flat_map(|session| &session.addresses);
        let framed = of_attribute.filter(|held| held.attribute == "Framed-IP-Address");
        let ours: BTreeSet<String> = framed.map(|held| held.network.clone()).collect();
        assert_eq!(ours, given, "{}", path.display());
        captures += usize::from(!given.is_empty());
        addresses += given.len();
    }
    println!("radius: {addresses} addresses of {captures} captures agree");
    assert!(captures >= 4 && addresses >= 5, "{captures}, {addresses}");
}

/// Framed-IP-Addresses by tshark, but those that leave the choice to somebody else.
fn given(path: &Path) -> BTreeSet<String> {
    let mut command = Command::new("tshark");
    command.arg("-r").arg(path).args(["-Y", "radius.code == 2 || radius.code == 4", "-T", "fields"]);
    let output = command.args(["-e", "radius.Framed-IP-Address"]).output().expect("tshark runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let words = text.split(['\n', ',']).filter(|word| !word.is_empty());
    words
        .filter(|word| !word.starts_with("255.255.255.25") && *word != "0.0.0.0")
        .map(str::to_owned)
        .collect()
}

/// Frames that the view reads as RADIUS on the usual ports.
fn ours(path: &Path) -> BTreeMap<u64, Packet> {
    let Ok(capture) = Capture::open(path, None) else { return BTreeMap::new() };
    let mut found = BTreeMap::new();
    for frame in Merge::new(&[capture]).owned().iter() {
        let Ok(packet) = decode(frame.link.0, frame.wire_len, frame.data) else { continue };
        let Payload::Udp(udp) = packet.payload else { continue };
        if ![udp.src_port, udp.dst_port].iter().any(|port| PORTS.contains(port)) {
            continue;
        }
        let Ok(view) = View::parse(udp.data) else { continue };
        let attributes = view.attributes().map(|one| (one.number, hex(one.value))).collect();
        let authenticator = hex(view.authenticator());
        let (code, identifier) = (view.code(), view.identifier());
        found.insert(frame.number, Packet { code, identifier, authenticator, attributes });
    }
    found
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Frames that tshark reads as RADIUS, by the tree that it makes of them.
fn theirs(path: &Path) -> BTreeMap<u64, Packet> {
    let mut command = Command::new("tshark");
    command.arg("-r").arg(path).args(["-Y", "radius && !icmp && !_ws.malformed", "-T", "pdml"]);
    let output = command.output().expect("tshark runs: `make packages-test` installs it");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let mut found = BTreeMap::new();
    for packet in text.split("<packet>").skip(1) {
        let number = attribute_of(packet, "<field name=\"num\"", "show").expect("frames have numbers");
        let protocol = packet.split("<proto name=\"radius\"").nth(1).expect("it was selected");
        found.insert(number.parse().expect("a number"), read(protocol));
    }
    found
}

fn read(protocol: &str) -> Packet {
    let field = |name: &str| {
        let value = attribute_of(protocol, &format!("<field name=\"{name}\""), "value");
        value.unwrap_or_default()
    };
    let byte = |name: &str| u8::from_str_radix(&field(name), 16).expect("a byte");
    let mut packet = Packet {
        code: byte("radius.code"),
        identifier: byte("radius.id"),
        authenticator: field("radius.authenticator"),
        attributes: Vec::new(),
    };
    for attribute in protocol.split("<field name=\"radius.avp\"").skip(1) {
        let whole = attribute_of(attribute, "", "value").unwrap_or_default();
        let kind = u8::from_str_radix(&whole[..2], 16).expect("a type");
        let Some(vendor) = attribute_of(attribute, "<field name=\"radius.avp.vendor_id\"", "show") else {
            packet.attributes.push((Number::standard(kind), whole[4..].to_owned()));
            continue;
        };
        let vendor = vendor.parse().expect("a number");
        // Each attribute of the vendor is a field without a name: its header and its value.
        for inner in attribute.split("<field name=\"\" show=\"VSA: ").skip(1) {
            let header = |name: &str| attribute_of(inner, &format!("<field name=\"{name}\""), "size");
            let sizes = [header("radius.avp.vendor_type"), header("radius.avp.vendor_len")];
            let skipped: usize =
                sizes.iter().flatten().map(|size| size.parse::<usize>().expect("a size")).sum();
            let kind = attribute_of(inner, "<field name=\"radius.avp.vendor_type\"", "show");
            let kind = kind.and_then(|kind| kind.parse().ok()).expect("a type");
            let value = attribute_of(inner, "", "value").unwrap_or_default();
            packet.attributes.push((Number::vendor(vendor, kind), value[2 * skipped..].to_owned()));
        }
    }
    packet
}

/// An attribute of the first element that begins like this.
fn attribute_of(text: &str, element: &str, name: &str) -> Option<String> {
    // Without a name, the text begins in the element.
    let begin = if element.is_empty() { Some(text) } else { text.split(element).nth(1) };
    let element = begin?.split('>').next()?;
    let value = element.split(&format!(" {name}=\"")).nth(1)?.split('"').next()?;
    Some(value.to_owned())
}

const PORTS: [u16; 6] = [1645, 1646, 1700, 1812, 1813, 3799];

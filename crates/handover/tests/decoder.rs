//! Every kind of PDU, field by field, by the decoder in `decode.py`.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends")]

mod common;

use std::collections::BTreeMap;
use std::io::Write;
use std::process::{Command, Stdio};

use common::{identifiers, nanos};
use ringtap_handover::{
    AccessEvent, AccessIri, AccessType, Assignment, Authentication, CheckKind, Cin, Content, ContentKind,
    Direction, Encoder, EndReason, FrameType, Handover, IntegrityCheck, Iri, IriEvent, IriKind, Mark,
    MediaProtocol, Notification, NotificationKind, Number, PayloadKey, PointOfPresence, SipIri,
    TargetAddress, TimeFormat,
};
use ringtap_model::Nanos;
use ringtap_testing::program;

const NUMBER: Number = Number { cin: Cin(0x8000_0001), sequence: 70_000 };

/// The fields of a PDU by the path of their tags, in hexadecimal digits.
fn fields(pdu: &[u8]) -> BTreeMap<String, String> {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/decode.py");
    let mut child = Command::new("python3")
        .arg(script)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("python3 runs the independent decoder");
    let line: String = pdu.iter().map(|octet| format!("{octet:02x}")).collect();
    writeln!(child.stdin.take().unwrap(), "{line}").unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "the decoder refused {line}");
    let text = String::from_utf8(output.stdout).unwrap();
    let pairs = text.lines().filter_map(|line| line.split_once(' '));
    pairs.map(|(path, contents)| (path.to_owned(), contents.to_owned())).collect()
}

fn encoder(format: TimeFormat) -> Encoder {
    Encoder::new(identifiers(), format, None, nanos())
}

fn hex(octets: &[u8]) -> String {
    octets.iter().map(|octet| format!("{octet:02x}")).collect()
}

/// The fields that stand below `u16.2`, the payload, without that; those of the header are checked and
/// left out.
fn payload(pdu: &[u8]) -> BTreeMap<String, String> {
    let mut fields = fields(pdu);
    for (path, contents) in [
        ("u16.1.0", "04000202050111".to_owned()),
        ("u16.1.1", hex(b"LI-17")),
        ("u16.1.2", hex(b"DE")),
        ("u16.1.3.0.0", hex(b"oper")),
        ("u16.1.3.0.1", hex(b"bng")),
        ("u16.1.3.1", "0080000001".to_owned()),
        ("u16.1.3.2", hex(b"FR")),
        ("u16.1.4", "011170".to_owned()),
        ("u16.1.6", hex(b"P01")),
        ("u16.1.7.0", "6b059ce8".to_owned()),
        ("u16.1.7.1", "04d2".to_owned()),
        ("u16.1.8", "01".to_owned()),
    ] {
        assert_eq!(fields.remove(path), Some(contents), "{path}");
    }
    fields
        .into_iter()
        .map(|(path, contents)| (path.strip_prefix("u16.2.").unwrap().to_owned(), contents))
        .collect()
}

fn expect(fields: &BTreeMap<String, String>, expected: &[(&str, String)]) {
    let expected: BTreeMap<String, String> =
        expected.iter().map(|(path, contents)| ((*path).to_owned(), contents.clone())).collect();
    assert_eq!(fields, &expected);
}

fn whole_access() -> AccessIri {
    let mut access = AccessIri::new(AccessEvent::End, b"alice@isp", AccessType::Dsl);
    access.addresses = vec![
        TargetAddress::host("192.0.2.9".parse().unwrap(), Assignment::Dynamic),
        TargetAddress { ip: "2001:db8:1::".parse().unwrap(), prefix: 56, assignment: Assignment::Dynamic },
        TargetAddress { ip: "198.51.100.0".parse().unwrap(), prefix: 29, assignment: Assignment::Static },
    ];
    access.network_id = Some("00-11-22-33-44-55".into());
    access.equipment_id = Some("slot3".into());
    access.location = Some("Mast 7".into());
    access.pop = PointOfPresence {
        port: Some(4_000_000_000),
        port_id: Some(b"eth 1/2".to_vec()),
        identifier: Some("bng-7".into()),
        address: Some("192.0.2.1".parse().unwrap()),
        phone: Some("4930123".into()),
    };
    access.call_back = Some("4930555".into());
    access.start = Some(Nanos::from_secs(1_795_500_000));
    access.end = Some(Nanos(1_795_529_960_500_000_000));
    access.expected_end = Some(Nanos::from_secs(1_795_600_000));
    access.end_reason = Some(EndReason::Timeout);
    access.octets_received = Some(u64::MAX);
    access.octets_sent = Some(5_000_000_000);
    access.raw = Some(vec![4, 1, 0, 20]);
    access.authentication = Some(Authentication::Radius);
    access
}

#[test]
fn an_event_of_internet_access_with_all_fields() {
    if !program("python3") {
        return;
    }
    let iri = Iri { kind: IriKind::End, at: nanos(), event: IriEvent::Access(Box::new(whole_access())) };
    let mut pdu = Vec::new();
    encoder(TimeFormat::MicroSeconds).iri(NUMBER, &iri, &mut pdu).unwrap();

    // [0] iRIPayloadSequence, SEQUENCE, [2] iRIContents, [2] iPIRI, [1] iPIRIContents.
    let read = payload(&pdu);
    assert_eq!(read["0.u16.0"], "02", "iRI-End");
    assert_eq!(read["0.u16.2.2.0"], "05031201", "iPIRIObjId");
    let contents: BTreeMap<String, String> = read
        .iter()
        .filter_map(|(path, contents)| {
            Some((path.strip_prefix("0.u16.2.2.1.")?.to_owned(), contents.clone()))
        })
        .collect();
    assert_eq!(contents.len() + 2, read.len());
    expect(
        &contents,
        &[
            ("0", "08".into()),
            ("1", hex(b"alice@isp")),
            ("2", "02".into()),
            ("3", "03".into()),
            ("4.1", "00".into()),
            ("4.2.1", "c0000209".into()),
            ("4.3", "02".into()),
            ("5", hex(b"00-11-22-33-44-55")),
            ("6", hex(b"slot3")),
            ("7", hex(b"Mast 7")),
            ("8", "00ee6b2800".into()),
            ("9", hex(b"4930555")),
            ("10", hex(b"20261124060000.000000Z")),
            ("11", hex(b"20261124141920.500000Z")),
            ("12", "03".into()),
            ("13", "00ffffffffffffffff".into()),
            ("14", "012a05f200".into()),
            ("15", "04010014".into()),
            ("16", hex(b"20261125094640.000000Z")),
            ("17", hex(b"4930123")),
            ("18.0", hex(b"bng-7")),
            ("19.1", "00".into()),
            ("19.2.1", "c0000201".into()),
            ("19.3", "03".into()),
            ("21.1", "01".into()),
            ("21.2.1", "20010db8000100000000000000000000".into()),
            ("21.3", "02".into()),
            ("21.4", "38".into()),
            ("22", "02".into()),
            ("23.0.1", "00".into()),
            ("23.0.2.1", "c6336400".into()),
            ("23.0.3", "01".into()),
            ("23.0.5", "fffffff8".into()),
            ("25", hex(b"eth 1/2")),
        ],
    );
}

#[test]
fn ip_version_is_that_of_the_addresses() {
    if !program("python3") {
        return;
    }
    for (addresses, version) in [
        (vec![], "03"),
        (vec!["192.0.2.1"], "01"),
        (vec!["2001:db8::1"], "02"),
        (vec!["2001:db8::1", "192.0.2.1"], "03"),
    ] {
        let mut access = AccessIri::new(AccessEvent::Attempt, b"", AccessType::Undefined);
        let host = |ip: &str| TargetAddress::host(ip.parse().unwrap(), Assignment::NotKnown);
        access.addresses = addresses.iter().map(|ip| host(ip)).collect();
        let iri = Iri { kind: IriKind::Report, at: nanos(), event: IriEvent::Access(Box::new(access)) };
        let mut pdu = Vec::new();
        encoder(TimeFormat::MicroSeconds).iri(NUMBER, &iri, &mut pdu).unwrap();
        let read = payload(&pdu);
        assert_eq!(read["0.u16.2.2.1.3"], version);
        assert_eq!(read.contains_key("0.u16.2.2.1.4.2.1"), !addresses.is_empty());
        // Of two versions, the first field has the IPv4 address, and the additional one the IPv6 address.
        assert_eq!(read.contains_key("0.u16.2.2.1.21.2.1"), addresses.len() == 2);
        if addresses.len() == 2 {
            assert_eq!(read["0.u16.2.2.1.4.2.1"], "c0000201");
        }
    }
}

#[test]
fn a_sip_message() {
    if !program("python3") {
        return;
    }
    let sip = SipIri {
        source: "192.0.2.1".parse().unwrap(),
        destination: "198.51.100.2".parse().unwrap(),
        message: b"INVITE sip:bob@example.com SIP/2.0\r\n\r\n".to_vec(),
    };
    let message = hex(&sip.message);
    let iri = Iri { kind: IriKind::Begin, at: nanos(), event: IriEvent::Sip(sip) };
    let mut pdu = Vec::new();
    encoder(TimeFormat::MicroSeconds).iri(NUMBER, &iri, &mut pdu).unwrap();
    expect(
        &payload(&pdu),
        &[
            ("0.u16.0", "01".into()),
            ("0.u16.2.11.0", "05050601".into()),
            ("0.u16.2.11.1.1.0.1", "00".into()),
            ("0.u16.2.11.1.1.0.2.1", "c0000201".into()),
            ("0.u16.2.11.1.1.0.3", "03".into()),
            ("0.u16.2.11.1.1.1.1", "00".into()),
            ("0.u16.2.11.1.1.1.2.1", "c6336402".into()),
            ("0.u16.2.11.1.1.1.3", "03".into()),
            ("0.u16.2.11.1.1.2", message),
        ],
    );
}

#[test]
fn packets_of_both_kinds() {
    if !program("python3") {
        return;
    }
    let packet = vec![0x45; 1500];
    let mut pdu = Vec::new();
    let content = Content {
        at: nanos(),
        direction: Direction::Indeterminate,
        kind: ContentKind::IpPacket,
        packet: &packet,
    };
    encoder(TimeFormat::MicroSeconds).content(NUMBER, &content, &mut pdu).unwrap();
    expect(
        &payload(&pdu),
        &[("1.u16.0", "02".into()), ("1.u16.2.2.0", "05031202".into()), ("1.u16.2.2.1.0", hex(&packet))],
    );

    pdu.clear();
    let kind = ContentKind::Media { frame: FrameType::Udptl, protocol: MediaProtocol::Udptl };
    let content = Content { at: nanos(), direction: Direction::FromTarget, kind, packet: &packet[..200] };
    encoder(TimeFormat::MicroSeconds).content(NUMBER, &content, &mut pdu).unwrap();
    expect(
        &payload(&pdu),
        &[
            ("1.u16.0", "00".into()),
            ("1.u16.2.12.0", "05050602".into()),
            ("1.u16.2.12.1", hex(&packet[..200])),
            ("1.u16.2.12.2", "06".into()),
            ("1.u16.2.12.4", "02".into()),
        ],
    );
}

#[test]
fn a_time_as_text() {
    if !program("python3") {
        return;
    }
    let mut pdu = Vec::new();
    encoder(TimeFormat::Generalized).mark(NUMBER, nanos(), Mark::KeepAlive, &mut pdu).unwrap();
    let read = fields(&pdu);
    assert_eq!(read["u16.1.5"], hex(b"20261124141920.001234Z"));
    assert!(!read.contains_key("u16.1.7.0"));
}

#[test]
fn marks() {
    if !program("python3") {
        return;
    }
    for (mark, path) in [
        (Mark::KeepAlive, "2.3"),
        (Mark::KeepAliveResponse, "2.4"),
        (Mark::FirstSegment, "2.5"),
        (Mark::LastSegment, "2.6"),
        (Mark::CinReset, "2.7"),
    ] {
        let mut pdu = Vec::new();
        encoder(TimeFormat::MicroSeconds).mark(NUMBER, nanos(), mark, &mut pdu).unwrap();
        expect(&payload(&pdu), &[(path, String::new())]);
    }
}

#[test]
fn notifications() {
    if !program("python3") {
        return;
    }
    for (kind, number) in [
        (NotificationKind::Activated, 1),
        (NotificationKind::Deactivated, 2),
        (NotificationKind::Modified, 3),
    ] {
        let told = Notification { kind, at: nanos(), text: Some("sip:alice@example.com".into()) };
        let mut pdu = Vec::new();
        encoder(TimeFormat::MicroSeconds).notification(NUMBER, &told, &mut pdu).unwrap();
        let path = |field: &str| format!("3.{number}.{field}");
        expect(
            &payload(&pdu),
            &[
                (path("0").as_str(), "04000202000106".into()),
                (path("1").as_str(), hex(b"LI-17")),
                (path("2.1.0").as_str(), hex(b"oper")),
                (path("3.1").as_str(), hex(b"261124141920Z")),
                (path("6").as_str(), hex(b"sip:alice@example.com")),
            ],
        );
    }
    let told = Notification { kind: NotificationKind::Alarm, at: nanos(), text: Some("12 lost".into()) };
    let mut pdu = Vec::new();
    encoder(TimeFormat::MicroSeconds).notification(NUMBER, &told, &mut pdu).unwrap();
    expect(
        &payload(&pdu),
        &[
            ("3.4.0", "04000202000106".into()),
            ("3.4.1.1.0", hex(b"oper")),
            ("3.4.2.1", hex(b"261124141920Z")),
            ("3.4.3", hex(b"12 lost")),
            ("3.4.4", hex(b"LI-17")),
        ],
    );
}

#[test]
fn integrity_checks() {
    if !program("python3") {
        return;
    }
    let check = IntegrityCheck {
        included: vec![0, 1, 128, 70_000],
        kind: CheckKind::Hash,
        handover: Handover::Hi3,
        value: vec![7; 32],
    };
    let mut pdu = Vec::new();
    encoder(TimeFormat::MicroSeconds).integrity_check(NUMBER, nanos(), &check, &mut pdu).unwrap();
    expect(
        &payload(&pdu),
        &[
            ("2.0.0.u2", "00".into()),
            ("2.0.0.u2[1]", "01".into()),
            ("2.0.0.u2[2]", "0080".into()),
            ("2.0.0.u2[3]", "011170".into()),
            ("2.0.1", "01".into()),
            ("2.0.2", "02".into()),
            ("2.0.3", "07".repeat(32)),
            ("2.0.4", "02".into()),
        ],
    );
}

#[test]
fn an_encrypted_packet_is_decrypted_by_openssl() {
    if !program("python3") || !program("openssl") {
        return;
    }
    let key = [0x42; 24];
    let packet = vec![0x45; 333];
    let mut encoder =
        Encoder::new(identifiers(), TimeFormat::MicroSeconds, Some(PayloadKey::Aes192(key.into())), nanos());
    let mut pdu = Vec::new();
    let content =
        Content { at: nanos(), direction: Direction::ToTarget, kind: ContentKind::IpPacket, packet: &packet };
    encoder.content(NUMBER, &content, &mut pdu).unwrap();
    let read = payload(&pdu);
    assert_eq!(read["4.0"], "03", "aES-192-CBC");
    assert_eq!(read["4.2"], "03", "part3");
    assert_eq!(read.len(), 3);

    let vector = "00011170".repeat(4);
    let mut child = Command::new("openssl")
        .args(["enc", "-d", "-aes-192-cbc", "-nopad", "-K", &hex(&key), "-iv", &vector])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("openssl decrypts");
    let encrypted: Vec<u8> = (0..read["4.1"].len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&read["4.1"][at..at + 2], 16).unwrap())
        .collect();
    child.stdin.take().unwrap().write_all(&encrypted).unwrap();
    let mut plain = child.wait_with_output().unwrap().stdout;
    // EncryptedPayload: a SEQUENCE of 333 + 39 octets and its head, then zeros up to the block.
    assert_eq!(&plain[..2], [0x30, 0x82]);
    let length = 4 + usize::from(u16::from_be_bytes([plain[2], plain[3]]));
    assert!(plain[length..].iter().all(|octet| *octet == 0) && plain.len() - length < 16);
    plain.truncate(length);
    let inner = fields(&plain);
    assert_eq!(inner["u16.0"], "6b059ce800000000", "the byte counter starts at the time");
    assert_eq!(inner["u16.1.1.u16.2.2.1.0"], hex(&packet));
}

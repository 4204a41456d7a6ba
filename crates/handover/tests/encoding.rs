//! What is encoded: literal octets, the same values back, and the same by an independent decoder.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends")]

mod common;

use common::{any_access, any_content, any_identifiers, any_iri, identifiers, nanos};
use proptest::prelude::*;
use ringtap_handover::{
    Cin, Content, ContentKind, Direction, Encoder, FrameType, Iri, IriEvent, IriKind, Liid, Mark,
    MediaProtocol, Notification, NotificationKind, Number, Pdu, PduPayload, SipIri, TimeFormat,
};
use ringtap_model::Nanos;

fn encoder() -> Encoder {
    Encoder::new(identifiers(), TimeFormat::MicroSeconds, None, nanos())
}

/// Octets of pairs of hexadecimal digits, with spaces between them.
fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(|octet| !octet.is_ascii_whitespace()).collect();
    digits.chunks(2).map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}

/// The header of every PDU below, but for its CIN and its sequence number, by hand from TS 102 232-1 annex A:
///
/// | octets | what |
/// |---|---|
/// | `80 07 04000202050111` | li-psDomainId: 0.4 is 0 * 40 + 4, then 0.2.2.5.1.17 |
/// | `81 05 4c 49 2d 31 37` | LIID `LI-17` |
/// | `82 02 44 45` | authorizationCountryCode `DE` |
/// | `a3 ..` | communicationIdentifier |
/// | `a0 0b 80 04 6f706572 81 03 626e67` | operator `oper`, element `bng` |
/// | `81 01 07` | CIN 7 |
/// | `82 02 4652` | deliveryCountryCode `FR` |
/// | `84 01 ..` | sequenceNumber |
/// | `86 03 503031` | interceptionPointID `P01` |
/// | `a7 0a 80 04 6b059ce8 81 02 04d2` | 1795529960 s, 1234 µs |
/// | `88 01 01` | timeOfInterception |
const HEADER_BEFORE_SEQUENCE: &str = "80 07 04000202050111 81 05 4c492d3137 82 02 4445
    a3 14 a0 0b 80 04 6f706572 81 03 626e67 81 01 07 82 02 4652";
const HEADER_BEHIND_SEQUENCE: &str = "86 03 503031 a7 0a 80 04 6b059ce8 81 02 04d2 88 01 01";

#[test]
fn a_packet_in_literal_octets() {
    let mut pdu = Vec::new();
    let packet = [0x45, 0, 0, 20];
    let content =
        Content { at: nanos(), direction: Direction::ToTarget, kind: ContentKind::IpPacket, packet: &packet };
    encoder().content(Number { cin: Cin(7), sequence: 128 }, &content, &mut pdu).unwrap();
    // The sequence number 128 takes two octets, as its first bit would be a sign. Lengths from the inside
    // out: the packet is 6 with its head (80 04), iPCCContents 8 (a1 06), with the OID 14, iPCC 16 (a2
    // 0e), cCContents 18 (a2 10), with the direction 21, CCPayload 23 (30 15), the sequence 25 (a1 17),
    // the payload 27 (a2 19). The header has 9 + 7 + 4 + 22 + 4 + 5 + 12 + 3 = 66 (42), with its head 68,
    // with the payload 95 (5f).
    let expected = format!(
        "30 5f a1 42 {HEADER_BEFORE_SEQUENCE} 84 02 0080 {HEADER_BEHIND_SEQUENCE}
         a2 19 a1 17 30 15 80 01 01 a2 10 a2 0e 80 04 05031202 a1 06 80 04 45000014"
    );
    assert_eq!(pdu, hex(&expected));
}

#[test]
fn rtp_of_a_call_in_literal_octets() {
    let mut pdu = Vec::new();
    let packet = [0x80, 0];
    let kind = ContentKind::Media { frame: FrameType::Rtp, protocol: MediaProtocol::Rtp };
    let content = Content { at: nanos(), direction: Direction::FromTarget, kind, packet: &packet };
    encoder().content(Number { cin: Cin(7), sequence: 0 }, &content, &mut pdu).unwrap();
    // 80 04 is the OID, 81 02 the packet, 82 frameType rtpFrame(2), 84 mMCCprotocol rTP(0): 16 octets (10) in
    // iPMMCC [12] (ac), cCContents 18 (12), with the direction 23 (17), 25 (19), 27 (1b).
    let expected = format!(
        "30 60 a1 41 {HEADER_BEFORE_SEQUENCE} 84 01 00 {HEADER_BEHIND_SEQUENCE}
         a2 1b a1 19 30 17 80 01 00 a2 12 ac 10 80 04 05050602 81 02 8000 82 01 02 84 01 00"
    );
    assert_eq!(pdu, hex(&expected));
}

#[test]
fn a_keep_alive_in_literal_octets() {
    let mut pdu = Vec::new();
    encoder().mark(Number { cin: Cin(7), sequence: 3 }, nanos(), Mark::KeepAlive, &mut pdu).unwrap();
    // Payload [2], tRIPayload [2], keep-alive [3] NULL.
    let expected =
        format!("30 49 a1 41 {HEADER_BEFORE_SEQUENCE} 84 01 03 {HEADER_BEHIND_SEQUENCE} a2 04 a2 02 83 00");
    assert_eq!(pdu, hex(&expected));
}

#[test]
fn a_sip_message_in_literal_octets() {
    let mut pdu = Vec::new();
    let sip = SipIri {
        source: "192.0.2.1".parse().unwrap(),
        destination: "2001:db8::1".parse().unwrap(),
        message: b"BYE".to_vec(),
    };
    let iri = Iri { kind: IriKind::End, at: nanos(), event: IriEvent::Sip(sip) };
    encoder().iri(Number { cin: Cin(7), sequence: 0 }, &iri, &mut pdu).unwrap();
    // An IPAddress is iP-type [1], iP-value [2] with iPBinaryAddress [1], iP-assignment [3] notKnown(3):
    // 3 + 8 + 3 = 14 octets for IPv4, 3 + 20 + 3 = 26 for IPv6. sIPMessage [1] has 16 + 28 + 5 = 49 (31),
    // iPMMIRIContents [1] 51 (33), with the OID 59 (3b) in iPMMIRI [11] (ab), iRIContents [2] 61 (3d),
    // with iRIType end(2) 66 (42), 68, 70 (a0 44 in a2 46).
    let expected = format!(
        "30 81 8b a1 41 {HEADER_BEFORE_SEQUENCE} 84 01 00 {HEADER_BEHIND_SEQUENCE}
         a2 46 a0 44 30 42 80 01 02 a2 3d ab 3b 80 04 05050601 a1 33 a1 31
         a0 0e 81 01 00 a2 06 81 04 c0000201 83 01 03
         a1 1a 81 01 01 a2 12 81 10 20010db8000000000000000000000001 83 01 03
         82 03 425945"
    );
    assert_eq!(pdu, hex(&expected));
}

proptest! {
    #[test]
    fn events_are_read_as_they_were(
        ids in any_identifiers(),
        iri in any_iri(),
        cin: u32,
        sequence: u32,
        generalized: bool,
    ) {
        let format = if generalized { TimeFormat::Generalized } else { TimeFormat::MicroSeconds };
        let number = Number { cin: Cin(cin), sequence };
        let mut octets = Vec::new();
        Encoder::new(ids, format, None, nanos()).iri(number, &iri, &mut octets).unwrap();
        let pdu = Pdu::decode(&octets).unwrap();
        let at = Some(iri.at);
        prop_assert_eq!(pdu, Pdu { identifiers: ids, number, at, payload: PduPayload::Iri(iri) });
    }

    #[test]
    fn packets_are_read_as_they_were(
        ids in any_identifiers(),
        content in any_content(),
        cin: u32,
        sequence: u32,
        generalized: bool,
    ) {
        let format = if generalized { TimeFormat::Generalized } else { TimeFormat::MicroSeconds };
        let number = Number { cin: Cin(cin), sequence };
        let (at, direction, kind, packet) = content;
        let mut octets = Vec::new();
        let content = Content { at, direction, kind, packet: &packet };
        Encoder::new(ids, format, None, nanos()).content(number, &content, &mut octets).unwrap();
        let pdu = Pdu::decode(&octets).unwrap();
        let payload = PduPayload::Content { direction, kind, packet };
        prop_assert_eq!(pdu, Pdu { identifiers: ids, number, at: Some(at), payload });
    }

    #[test]
    fn encrypted_payloads_are_read_with_their_key(
        iri in any_iri(),
        content in any_content(),
        sequence: u32,
        key: [u8; 32],
        is_long: bool,
    ) {
        let key = common::payload_key(key, is_long);
        let number = Number { cin: Cin(9), sequence };
        let mut encoder = Encoder::new(identifiers(), TimeFormat::MicroSeconds, Some(key.clone()), nanos());
        let mut octets = Vec::new();
        encoder.iri(number, &iri, &mut octets).unwrap();
        prop_assert_eq!(Pdu::decode(&octets).unwrap().payload, PduPayload::Encrypted);
        prop_assert_eq!(Pdu::decode_encrypted(&octets, &key).unwrap().payload, PduPayload::Iri(iri));
        let other = common::payload_key([0x5a; 32], is_long);
        prop_assert!(Pdu::decode_encrypted(&octets, &other).is_err());

        let (at, direction, kind, packet) = content;
        octets.clear();
        encoder.content(number, &Content { at, direction, kind, packet: &packet }, &mut octets).unwrap();
        let payload = PduPayload::Content { direction, kind, packet };
        prop_assert_eq!(Pdu::decode_encrypted(&octets, &key).unwrap().payload, payload);
    }

    #[test]
    fn any_octets_are_read_or_refused(octets in proptest::collection::vec(any::<u8>(), 0..300)) {
        let _ = Pdu::decode(&octets);
        let _ = ringtap_handover::pdu_length(&octets, 1000);
    }

    #[test]
    fn a_changed_octet_is_read_or_refused(access in any_access(), at: prop::sample::Index, to: u8) {
        let iri = Iri { kind: IriKind::Begin, at: nanos(), event: IriEvent::Access(Box::new(access)) };
        let mut octets = Vec::new();
        encoder().iri(Number { cin: Cin(1), sequence: 1 }, &iri, &mut octets).unwrap();
        *at.get_mut(&mut octets) = to;
        let _ = Pdu::decode(&octets);
    }

    #[test]
    fn notifications_are_read_as_they_were(
        seconds in 0..4_000_000_000_u64,
        kind in prop::sample::select(vec![
            NotificationKind::Activated,
            NotificationKind::Deactivated,
            NotificationKind::Modified,
            NotificationKind::Alarm,
        ]),
        text in "[a-z ]{1,256}",
    ) {
        let told = Notification { kind, at: Nanos::from_secs(seconds), text: Some(text) };
        let mut octets = Vec::new();
        encoder().notification(Number { cin: Cin(0), sequence: 5 }, &told, &mut octets).unwrap();
        prop_assert_eq!(Pdu::decode(&octets).unwrap().payload, PduPayload::Notification(told));
    }
}

#[test]
fn a_long_text_is_cut_at_a_character() {
    let text = Some("é".repeat(200));
    let told = Notification { kind: NotificationKind::Alarm, at: nanos(), text };
    let mut octets = Vec::new();
    encoder().notification(Number { cin: Cin(0), sequence: 0 }, &told, &mut octets).unwrap();
    let PduPayload::Notification(read) = Pdu::decode(&octets).unwrap().payload else {
        panic!("a notification")
    };
    assert_eq!(read.text.unwrap(), "é".repeat(128));
}

#[test]
fn what_is_too_long_is_refused_and_leaves_nothing() {
    let packet = vec![0; ringtap_handover::MOST_PDU];
    let content =
        Content { at: nanos(), direction: Direction::ToTarget, kind: ContentKind::RTP, packet: &packet };
    let mut octets = vec![1, 2, 3];
    assert!(encoder().content(Number { cin: Cin(0), sequence: 0 }, &content, &mut octets).is_err());
    assert_eq!(octets, [1, 2, 3]);
    assert!(Liid::from_text("x").is_ok());
}

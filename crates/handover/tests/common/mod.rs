//! Values for the tests.
#![allow(dead_code, reason = "not every test needs all of it")]

pub(crate) mod function;

use std::net::IpAddr;

use proptest::prelude::*;
use ringtap_handover::{
    AccessEvent, AccessIri, AccessType, Assignment, Authentication, ContentKind, CountryCode, Direction,
    ElementId, EndReason, FrameType, Identifiers, InterceptionPoint, Iri, IriEvent, IriKind, Liid,
    MediaProtocol, OperatorId, PayloadKey, PointOfPresence, SipIri, TargetAddress,
};
use ringtap_model::Nanos;

/// 2026-11-24 14:53:28.001234 UTC.
pub(crate) fn nanos() -> Nanos {
    Nanos(1_795_529_960_001_234_000)
}

pub(crate) fn identifiers() -> Identifiers {
    Identifiers {
        liid: Liid::from_text("LI-17").unwrap(),
        authorisation: Some(CountryCode::new("DE").unwrap()),
        operator: OperatorId::new(b"oper").unwrap(),
        element: Some(ElementId::new(b"bng").unwrap()),
        delivery: Some(CountryCode::new("FR").unwrap()),
        point: Some(InterceptionPoint::new("P01").unwrap()),
    }
}

pub(crate) fn keep_alive_identifiers() -> Identifiers {
    Identifiers { liid: Liid::from_text("keep-alive").unwrap(), ..identifiers() }
}

pub(crate) fn payload_key(octets: [u8; 32], is_long: bool) -> PayloadKey {
    if is_long {
        PayloadKey::Aes256(octets.into())
    } else {
        PayloadKey::Aes192(<[u8; 24]>::try_from(&octets[..24]).unwrap().into())
    }
}

fn octets(most: usize) -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(any::<u8>(), 1..=most)
}

pub(crate) fn any_identifiers() -> impl Strategy<Value = Identifiers> {
    let country = || prop::option::of("[A-Z]{2}".prop_map(|text| CountryCode::new(&text).unwrap()));
    (
        octets(25),
        country(),
        octets(16),
        prop::option::of(octets(16)),
        country(),
        prop::option::of("[a-zA-Z0-9 ()+,./:=?-]{1,8}"),
    )
        .prop_map(|(liid, authorisation, operator, element, delivery, point)| Identifiers {
            liid: Liid::new(&liid).unwrap(),
            authorisation,
            operator: OperatorId::new(&operator).unwrap(),
            element: element.map(|element| ElementId::new(&element).unwrap()),
            delivery,
            point: point.map(|point| InterceptionPoint::new(&point).unwrap()),
        })
}

/// Whole microseconds, as PDUs have them.
fn any_time() -> impl Strategy<Value = Nanos> {
    (0..9_000_000_000_000_000_u64).prop_map(Nanos::from_micros)
}

pub(crate) fn any_content() -> impl Strategy<Value = (Nanos, Direction, ContentKind, Vec<u8>)> {
    let direction =
        prop::sample::select(vec![Direction::FromTarget, Direction::ToTarget, Direction::Indeterminate]);
    let frames = vec![
        FrameType::Ip,
        FrameType::Udp,
        FrameType::Rtp,
        FrameType::Audio,
        FrameType::Tcp,
        FrameType::ArtificialRtp,
        FrameType::Udptl,
        FrameType::Msrp,
    ];
    let protocols = vec![MediaProtocol::Rtp, MediaProtocol::Msrp, MediaProtocol::Udptl];
    let media = (prop::sample::select(frames), prop::sample::select(protocols))
        .prop_map(|(frame, protocol)| ContentKind::Media { frame, protocol });
    let kind = prop_oneof![Just(ContentKind::IpPacket), media];
    let length = prop_oneof![0..300_usize, 65_400..65_600_usize];
    let packet = length.prop_flat_map(|length| any::<u8>().prop_map(move |octet| vec![octet; length]));
    (any_time(), direction, kind, packet)
}

fn any_address() -> impl Strategy<Value = TargetAddress> {
    let assignment =
        prop::sample::select(vec![Assignment::Static, Assignment::Dynamic, Assignment::NotKnown]);
    let v4 = (any::<[u8; 4]>(), 0..=32_u8).prop_map(|(ip, prefix)| (IpAddr::from(ip), prefix));
    let v6 = (any::<[u8; 16]>(), 1..=128_u8).prop_map(|(ip, prefix)| (IpAddr::from(ip), prefix));
    (prop_oneof![v4, v6], assignment).prop_map(|((ip, prefix), assignment)| TargetAddress {
        ip,
        prefix,
        assignment,
    })
}

pub(crate) fn any_iri() -> impl Strategy<Value = Iri> {
    let kind = prop::sample::select(vec![IriKind::Begin, IriKind::End, IriKind::Continue, IriKind::Report]);
    let sip = (any::<IpAddr>(), any::<IpAddr>(), prop::collection::vec(any::<u8>(), 0..600))
        .prop_map(|(source, destination, message)| IriEvent::Sip(SipIri { source, destination, message }));
    let event = prop_oneof![any_access().prop_map(|access| IriEvent::Access(Box::new(access))), sip];
    (kind, any_time(), event).prop_map(|(kind, at, event)| Iri { kind, at, event })
}

/// Addresses in the order in which they are read: the first IPv4 one, the first IPv6 one, the others.
fn in_order(mut addresses: Vec<TargetAddress>) -> Vec<TargetAddress> {
    let mut ordered = Vec::new();
    for is_v4 in [true, false] {
        if let Some(at) = addresses.iter().position(|address| address.ip.is_ipv4() == is_v4) {
            ordered.push(addresses.remove(at));
        }
    }
    ordered.extend(addresses);
    ordered
}

const EVENTS: [AccessEvent; 9] = [
    AccessEvent::Attempt,
    AccessEvent::Accept,
    AccessEvent::Reject,
    AccessEvent::Failed,
    AccessEvent::Interim,
    AccessEvent::StartWhileActive,
    AccessEvent::End,
    AccessEvent::EndWhileActive,
    AccessEvent::Unknown,
];

const ACCESS_TYPES: [AccessType; 10] = [
    AccessType::Undefined,
    AccessType::DialUp,
    AccessType::Dsl,
    AccessType::Cable,
    AccessType::Lan,
    AccessType::WirelessLan,
    AccessType::Fibre,
    AccessType::WiMax,
    AccessType::Satellite,
    AccessType::OtherWireless,
];

const END_REASONS: [EndReason; 5] = [
    EndReason::Undefined,
    EndReason::RegularLogoff,
    EndReason::ConnectionLoss,
    EndReason::Timeout,
    EndReason::LeaseExpired,
];

const AUTHENTICATIONS: [Authentication; 5] = [
    Authentication::Unknown,
    Authentication::Static,
    Authentication::Radius,
    Authentication::Dhcp,
    Authentication::Diameter,
];

pub(crate) fn any_access() -> impl Strategy<Value = AccessIri> {
    let text = |most: usize| {
        prop::option::of(prop::collection::vec(any::<char>(), 1..=most).prop_map(String::from_iter))
    };
    let pop =
        (any::<Option<u32>>(), prop::option::of(octets(30)), text(40), any::<Option<IpAddr>>(), text(20))
            .prop_map(|(port, port_id, identifier, address, phone)| PointOfPresence {
                port,
                port_id,
                identifier,
                address,
                phone,
            });
    let times = (prop::option::of(any_time()), prop::option::of(any_time()), prop::option::of(any_time()));
    let who = (
        prop::sample::select(&EVENTS[..]),
        octets(60),
        prop::sample::select(&ACCESS_TYPES[..]),
        prop::collection::vec(any_address(), 0..6),
        text(20),
        text(128),
        text(64),
    );
    let rest = (
        pop,
        text(20),
        times,
        prop::option::of(prop::sample::select(&END_REASONS[..])),
        any::<(Option<u64>, Option<u64>)>(),
        prop::option::of(octets(80)),
        prop::option::of(prop::sample::select(&AUTHENTICATIONS[..])),
    );
    (who, rest).prop_map(
        |(
            (event, username, access, addresses, network_id, equipment_id, location),
            (pop, call_back, (start, end, expected_end), end_reason, (received, sent), raw, authentication),
        )| AccessIri {
            event,
            username,
            access,
            addresses: in_order(addresses),
            network_id,
            equipment_id,
            location,
            pop,
            call_back,
            start,
            end,
            expected_end,
            end_reason,
            octets_received: received,
            octets_sent: sent,
            raw,
            authentication,
        },
    )
}

//! An event as its ASN.1 type.

use std::net::IpAddr;

use rasn::types::OctetString;
use ringtap_model::Nanos;

use super::content::{IPIRI, IPMMIRI};
use super::header::octets;
use super::time;
use crate::asn1;
use crate::{
    AccessEvent, AccessIri, AccessType, Assignment, Authentication, EndReason, Iri, IriEvent, IriKind,
    MOST_ADDRESSES, SipIri, TargetAddress,
};

pub(crate) fn payload(iri: &Iri) -> asn1::Payload {
    let kind = match iri.kind {
        IriKind::Begin => asn1::IriType::Begin,
        IriKind::End => asn1::IriType::End,
        IriKind::Continue => asn1::IriType::Continue,
        IriKind::Report => asn1::IriType::Report,
    };
    let contents = match &iri.event {
        IriEvent::Access(access) => {
            asn1::IriContents::Ip(asn1::IpIri { id: octets(IPIRI), contents: of_access(access) })
        }
        IriEvent::Sip(sip) => asn1::IriContents::Multimedia(asn1::IpmmIri {
            id: octets(IPMMIRI),
            contents: asn1::IpmmIriContents::Sip(of_sip(sip)),
        }),
    };
    asn1::Payload::Iri(vec![asn1::IriPayload { kind: Some(kind), time: None, contents }])
}

fn of_access(access: &AccessIri) -> asn1::IpIriContents {
    let mut addresses = Addresses::of(&access.addresses);
    let pop = &access.pop;
    asn1::IpIriContents {
        event: of_event(access.event),
        username: octets(&access.username),
        access: of_type(access.access),
        version: addresses.version(),
        target: addresses.target.take(),
        network_id: access.network_id.as_deref().map(|text| cut(text, 20)),
        equipment_id: access.equipment_id.as_deref().map(|text| cut(text, 128)),
        location: access.location.as_deref().map(|text| cut(text, 64)),
        pop_port: pop.port,
        call_back: access.call_back.as_deref().map(|text| cut(text, 20)),
        start: access.start.map(time_octets),
        end: access.end.map(time_octets),
        end_reason: access.end_reason.map(of_end_reason),
        received: access.octets_received,
        sent: access.octets_sent,
        raw: access.raw.as_deref().map(octets),
        expected_end: access.expected_end.map(time_octets),
        pop_phone: pop.phone.as_deref().map(|text| cut(text, 20)),
        pop_id: pop.identifier.as_deref().map(|text| asn1::IpIriIdType::Printable(cut(text, 128))),
        pop_address: pop.address.map(|ip| of_address(&TargetAddress::host(ip, Assignment::NotKnown))),
        additional: addresses.additional.take(),
        authentication: access.authentication.map(of_authentication),
        others: (!addresses.others.is_empty())
            .then(|| addresses.others.into_iter().map(asn1::OtherTargetIdentifier::Ip).collect()),
        pop_port_id: pop.port_id.as_deref().map(octets),
    }
}

/// The addresses of a target in the three fields that take them (TS 102 232-3 clause 6.2.1): the first
/// one, of two versions the first IPv4 one; the first IPv6 one beside an IPv4 one; all further ones.
struct Addresses {
    target: Option<asn1::IpAddress>,
    additional: Option<asn1::IpAddress>,
    others: Vec<asn1::IpAddress>,
    has_v4: bool,
    has_v6: bool,
}

impl Addresses {
    fn of(addresses: &[TargetAddress]) -> Self {
        let addresses = &addresses[..addresses.len().min(MOST_ADDRESSES)];
        let first = |is_v4: bool| addresses.iter().position(|address| address.ip.is_ipv4() == is_v4);
        let (v4, v6) = (first(true), first(false));
        let target = v4.or(v6);
        let additional = v4.and(v6);
        let others =
            addresses.iter().enumerate().filter(|(at, _)| Some(*at) != target && Some(*at) != additional);
        Self {
            target: target.map(|at| of_address(&addresses[at])),
            additional: additional.map(|at| of_address(&addresses[at])),
            others: others.map(|(_, address)| of_address(address)).collect(),
            has_v4: v4.is_some(),
            has_v6: v6.is_some(),
        }
    }

    /// The field is mandatory: where no address is known, IPv4 and IPv6 are both possible.
    fn version(&self) -> asn1::IpVersion {
        match (self.has_v4, self.has_v6) {
            (true, false) => asn1::IpVersion::V4,
            (false, true) => asn1::IpVersion::V6,
            _ => asn1::IpVersion::Both,
        }
    }
}

fn of_address(address: &TargetAddress) -> asn1::IpAddress {
    let assignment = match address.assignment {
        Assignment::Static => asn1::IpAssignment::Static,
        Assignment::Dynamic => asn1::IpAssignment::Dynamic,
        Assignment::NotKnown => asn1::IpAssignment::NotKnown,
    };
    let (family, value, prefix, mask) = match address.ip {
        IpAddr::V4(ip) => {
            let mask = u32::MAX.checked_shl(32_u32.saturating_sub(u32::from(address.prefix))).unwrap_or(0);
            let mask = (address.prefix < 32).then(|| octets(&mask.to_be_bytes()));
            (asn1::IpType::V4, octets(&ip.octets()), None, mask)
        }
        IpAddr::V6(ip) => {
            // The field takes 1 to 128, and is for a prefix: a whole address is one without it.
            let prefix = (1..128).contains(&address.prefix).then_some(address.prefix);
            (asn1::IpType::V6, octets(&ip.octets()), prefix, None)
        }
    };
    asn1::IpAddress {
        family,
        value: asn1::IpValue::Binary(value),
        assignment: Some(assignment),
        prefix,
        mask,
    }
}

fn of_sip(sip: &SipIri) -> asn1::SipMessage {
    let address = |ip| of_address(&TargetAddress::host(ip, Assignment::NotKnown));
    asn1::SipMessage {
        source: address(sip.source),
        destination: address(sip.destination),
        content: octets(&sip.message),
    }
}

fn of_event(event: AccessEvent) -> asn1::AccessEventType {
    match event {
        AccessEvent::Attempt => asn1::AccessEventType::Attempt,
        AccessEvent::Accept => asn1::AccessEventType::Accept,
        AccessEvent::Reject => asn1::AccessEventType::Reject,
        AccessEvent::Failed => asn1::AccessEventType::Failed,
        AccessEvent::Interim => asn1::AccessEventType::Interim,
        AccessEvent::StartWhileActive => asn1::AccessEventType::StartWhileActive,
        AccessEvent::End => asn1::AccessEventType::End,
        AccessEvent::EndWhileActive => asn1::AccessEventType::EndWhileActive,
        AccessEvent::Unknown => asn1::AccessEventType::Unknown,
    }
}

fn of_type(access: AccessType) -> asn1::InternetAccessType {
    match access {
        AccessType::Undefined => asn1::InternetAccessType::Undefined,
        AccessType::DialUp => asn1::InternetAccessType::DialUp,
        AccessType::Dsl => asn1::InternetAccessType::Dsl,
        AccessType::Cable => asn1::InternetAccessType::Cable,
        AccessType::Lan => asn1::InternetAccessType::Lan,
        AccessType::WirelessLan => asn1::InternetAccessType::WirelessLan,
        AccessType::Fibre => asn1::InternetAccessType::Fibre,
        AccessType::WiMax => asn1::InternetAccessType::WiMax,
        AccessType::Satellite => asn1::InternetAccessType::Satellite,
        AccessType::OtherWireless => asn1::InternetAccessType::OtherWireless,
    }
}

fn of_end_reason(reason: EndReason) -> asn1::EndReason {
    match reason {
        EndReason::Undefined => asn1::EndReason::Undefined,
        EndReason::RegularLogoff => asn1::EndReason::RegularLogoff,
        EndReason::ConnectionLoss => asn1::EndReason::ConnectionLoss,
        EndReason::Timeout => asn1::EndReason::Timeout,
        EndReason::LeaseExpired => asn1::EndReason::LeaseExpired,
    }
}

fn of_authentication(authentication: Authentication) -> asn1::AuthenticationType {
    match authentication {
        Authentication::Unknown => asn1::AuthenticationType::Unknown,
        Authentication::Static => asn1::AuthenticationType::Static,
        Authentication::Radius => asn1::AuthenticationType::Radius,
        Authentication::Dhcp => asn1::AuthenticationType::Dhcp,
        Authentication::Diameter => asn1::AuthenticationType::Diameter,
    }
}

fn time_octets(at: Nanos) -> OctetString {
    octets(&time::generalized(at))
}

/// The first `most` characters.
fn cut(text: &str, most: usize) -> String {
    text.chars().take(most).collect()
}

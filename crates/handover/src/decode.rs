//! From PDUs to plain values: what a mediation function answers, and what was sent.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ringtap_model::Nanos;

use crate::asn1;
use crate::encode::{PayloadKey, decrypt, read_generalized};
use crate::integrity::{CheckKind, IntegrityCheck};
use crate::{
    AccessEvent, AccessIri, AccessType, Assignment, Authentication, Cin, ContentKind, CountryCode, Direction,
    ElementId, EndReason, FrameType, Handover, Identifiers, InterceptionPoint, Iri, IriEvent, IriKind, Liid,
    Mark, MediaProtocol, Notification, NotificationKind, Number, OperatorId, PointOfPresence, SipIri,
    TargetAddress,
};

/// Why octets are no PDU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// They are not of a PDU at all: the stream cannot be read on.
    #[error("the octets are not a PS-PDU")]
    NotAPdu,
    /// The PDU is longer than was allowed.
    #[error("the PDU has {0} octets, more than are read")]
    TooLong(usize),
    /// The PDU has a field that is not as its ASN.1 module says, or that this crate does not write.
    #[error("the PDU has a field that is not understood")]
    Field,
    /// The payload cannot be decrypted with the key.
    #[error("the payload cannot be decrypted with this key")]
    Encrypted,
}

/// A PDU in plain values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pdu {
    /// Whose it is.
    pub identifiers: Identifiers,
    /// Its place.
    pub number: Number,
    /// Its time.
    pub at: Option<Nanos>,
    /// What it carries.
    pub payload: PduPayload,
}

/// What a PDU carries.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PduPayload {
    /// An event.
    Iri(Iri),
    /// A packet.
    Content {
        /// Which way it went.
        direction: Direction,
        /// What it is.
        kind: ContentKind,
        /// Its octets.
        packet: Vec<u8>,
    },
    /// A notification.
    Notification(Notification),
    /// A mark.
    Mark(Mark),
    /// An integrity check.
    IntegrityCheck(IntegrityCheck),
    /// Something encrypted.
    Encrypted,
}

/// Octets of the first PDU in `stream`, once its head is there.
///
/// # Errors
/// If it is no PDU, or longer than `most`.
pub fn pdu_length(stream: &[u8], most: usize) -> Result<Option<usize>, DecodeError> {
    let [tag, rest @ ..] = stream else { return Ok(None) };
    // A PDU is a SEQUENCE. The form without a length, which BER has too, would have to be searched for
    // its end.
    if *tag != 0x30 || rest.first() == Some(&0x80) {
        return Err(DecodeError::NotAPdu);
    }
    let Some((&first, rest)) = rest.split_first() else { return Ok(None) };
    let (octets, length) = match first {
        0..=0x7f => (0, usize::from(first)),
        0x81..=0x84 => {
            let octets = usize::from(first & 0x7f);
            let Some(length) = rest.get(..octets) else { return Ok(None) };
            (octets, length.iter().fold(0, |length, octet| length << 8 | usize::from(*octet)))
        }
        0x80 | 0x85.. => return Err(DecodeError::NotAPdu),
    };
    match 2 + octets + length {
        whole if whole > most => Err(DecodeError::TooLong(whole)),
        whole => Ok(Some(whole)),
    }
}

impl Pdu {
    /// Reads one PDU.
    ///
    /// # Errors
    /// If it is none, or has what this crate does not write.
    pub fn decode(octets: &[u8]) -> Result<Self, DecodeError> {
        let pdu: asn1::PsPdu = rasn::ber::decode(octets).map_err(|_| DecodeError::NotAPdu)?;
        let (identifiers, number, at) = of_header(&pdu.header)?;
        let payload = of_payload(&pdu.payload, at)?;
        Ok(Self { identifiers, number, at, payload })
    }

    /// Reads one PDU whose payload is encrypted with this key.
    ///
    /// # Errors
    /// If it is none, or is not decrypted by the key.
    pub fn decode_encrypted(octets: &[u8], key: &PayloadKey) -> Result<Self, DecodeError> {
        let pdu: asn1::PsPdu = rasn::ber::decode(octets).map_err(|_| DecodeError::NotAPdu)?;
        let (identifiers, number, at) = of_header(&pdu.header)?;
        let asn1::Payload::Encrypted(container) = &pdu.payload else { return Err(DecodeError::Field) };
        let plain = decrypt(key, number.sequence, &container.payload).ok_or(DecodeError::Encrypted)?;
        let length = pdu_length(&plain, plain.len()).ok().flatten().ok_or(DecodeError::Encrypted)?;
        let inner: asn1::EncryptedPayload =
            rasn::ber::decode(&plain[..length]).map_err(|_| DecodeError::Encrypted)?;
        let payload = of_payload(&inner.payload, at)?;
        Ok(Self { identifiers, number, at, payload })
    }
}

fn of_header(header: &asn1::PsHeader) -> Result<(Identifiers, Number, Option<Nanos>), DecodeError> {
    let field = |_| DecodeError::Field;
    let country = |octets: &rasn::types::OctetString| {
        std::str::from_utf8(octets)
            .ok()
            .and_then(|text| CountryCode::new(text).ok())
            .ok_or(DecodeError::Field)
    };
    let point = |octets: &rasn::types::OctetString| {
        std::str::from_utf8(octets)
            .ok()
            .and_then(|text| InterceptionPoint::new(text).ok())
            .ok_or(DecodeError::Field)
    };
    let network = &header.communication.network;
    let identifiers = Identifiers {
        liid: Liid::new(&header.liid).map_err(field)?,
        authorisation: header.authorisation.as_ref().map(country).transpose()?,
        operator: OperatorId::new(&network.operator).map_err(field)?,
        element: network.element.as_deref().map(ElementId::new).transpose().map_err(field)?,
        delivery: header.communication.delivery.as_ref().map(country).transpose()?,
        point: header.point.as_ref().map(point).transpose()?,
    };
    let number = Number { cin: Cin(header.communication.cin.unwrap_or(0)), sequence: header.sequence };
    let at = match (&header.micros, &header.time) {
        (Some(stamp), _) => {
            let seconds = stamp.seconds.checked_mul(1_000_000_000).ok_or(DecodeError::Field)?;
            Some(Nanos(seconds.checked_add(u64::from(stamp.micros) * 1_000).ok_or(DecodeError::Field)?))
        }
        (None, Some(text)) => Some(read_generalized(text).ok_or(DecodeError::Field)?),
        (None, None) => None,
    };
    Ok((identifiers, number, at))
}

fn of_payload(payload: &asn1::Payload, at: Option<Nanos>) -> Result<PduPayload, DecodeError> {
    match payload {
        asn1::Payload::Iri(payloads) => match payloads.as_slice() {
            [one] => of_iri(one, at).map(PduPayload::Iri),
            _ => Err(DecodeError::Field),
        },
        asn1::Payload::Cc(payloads) => match payloads.as_slice() {
            [one] => of_content(one),
            _ => Err(DecodeError::Field),
        },
        asn1::Payload::Tri(tri) => of_tri(tri),
        asn1::Payload::Hi1(operation) => Ok(PduPayload::Notification(of_hi1(operation, at)?)),
        asn1::Payload::Encrypted(_) => Ok(PduPayload::Encrypted),
    }
}

fn of_tri(tri: &asn1::TriPayload) -> Result<PduPayload, DecodeError> {
    let mark = match tri {
        asn1::TriPayload::KeepAlive(()) => Mark::KeepAlive,
        asn1::TriPayload::KeepAliveResponse(()) => Mark::KeepAliveResponse,
        asn1::TriPayload::FirstSegment(()) => Mark::FirstSegment,
        asn1::TriPayload::LastSegment(()) => Mark::LastSegment,
        asn1::TriPayload::CinReset(()) => Mark::CinReset,
        asn1::TriPayload::IntegrityCheck(check) => {
            return Ok(PduPayload::IntegrityCheck(IntegrityCheck {
                included: check.included.clone(),
                kind: match check.kind {
                    asn1::CheckType::Hash => CheckKind::Hash,
                    asn1::CheckType::Signature => CheckKind::Signature,
                },
                handover: match check.data {
                    Some(asn1::DataType::Iri) => Handover::Hi2,
                    Some(asn1::DataType::Cc) => Handover::Hi3,
                    None => return Err(DecodeError::Field),
                },
                value: check.value.to_vec(),
            }));
        }
        asn1::TriPayload::Test(()) | asn1::TriPayload::Padding(_) => return Err(DecodeError::Field),
    };
    Ok(PduPayload::Mark(mark))
}

fn of_hi1(operation: &asn1::Hi1Operation, at: Option<Nanos>) -> Result<Notification, DecodeError> {
    let at = at.ok_or(DecodeError::Field)?;
    let (kind, text) = match operation {
        asn1::Hi1Operation::Activated(told) => (NotificationKind::Activated, told.target.as_ref()),
        asn1::Hi1Operation::Deactivated(told) => (NotificationKind::Deactivated, told.target.as_ref()),
        asn1::Hi1Operation::Modified(told) => (NotificationKind::Modified, told.target.as_ref()),
        asn1::Hi1Operation::Alarm(alarm) => (NotificationKind::Alarm, Some(&alarm.text)),
    };
    let text = text.map(|text| String::from_utf8_lossy(text).into_owned());
    Ok(Notification { kind, at, text })
}

fn of_content(payload: &asn1::CcPayload) -> Result<PduPayload, DecodeError> {
    let direction = match payload.direction {
        Some(asn1::PayloadDirection::FromTarget) => Direction::FromTarget,
        Some(asn1::PayloadDirection::ToTarget) => Direction::ToTarget,
        Some(asn1::PayloadDirection::Indeterminate) => Direction::Indeterminate,
        None => return Err(DecodeError::Field),
    };
    let (kind, packet) = match &payload.contents {
        asn1::CcContents::Ip(asn1::IpCc { contents: asn1::IpCcContents::Packet(packet), .. }) => {
            (ContentKind::IpPacket, packet)
        }
        asn1::CcContents::Multimedia(media) => {
            let frame = match media.frame.ok_or(DecodeError::Field)? {
                asn1::FrameTypes::Ip => FrameType::Ip,
                asn1::FrameTypes::Udp => FrameType::Udp,
                asn1::FrameTypes::Rtp => FrameType::Rtp,
                asn1::FrameTypes::Audio => FrameType::Audio,
                asn1::FrameTypes::Tcp => FrameType::Tcp,
                asn1::FrameTypes::ArtificialRtp => FrameType::ArtificialRtp,
                asn1::FrameTypes::Udptl => FrameType::Udptl,
                asn1::FrameTypes::Msrp => FrameType::Msrp,
            };
            let protocol = match media.protocol.ok_or(DecodeError::Field)? {
                asn1::MediaProtocols::Rtp => MediaProtocol::Rtp,
                asn1::MediaProtocols::Msrp => MediaProtocol::Msrp,
                asn1::MediaProtocols::Udptl => MediaProtocol::Udptl,
            };
            (ContentKind::Media { frame, protocol }, &media.contents)
        }
    };
    Ok(PduPayload::Content { direction, kind, packet: packet.to_vec() })
}

fn of_iri(payload: &asn1::IriPayload, at: Option<Nanos>) -> Result<Iri, DecodeError> {
    let kind = match payload.kind.ok_or(DecodeError::Field)? {
        asn1::IriType::Begin => IriKind::Begin,
        asn1::IriType::End => IriKind::End,
        asn1::IriType::Continue => IriKind::Continue,
        asn1::IriType::Report => IriKind::Report,
    };
    let event = match &payload.contents {
        asn1::IriContents::Ip(ip) => IriEvent::Access(Box::new(of_access(&ip.contents)?)),
        asn1::IriContents::Multimedia(asn1::IpmmIri {
            contents: asn1::IpmmIriContents::Sip(sip), ..
        }) => IriEvent::Sip(SipIri {
            source: of_address(&sip.source)?.ip,
            destination: of_address(&sip.destination)?.ip,
            message: sip.content.to_vec(),
        }),
    };
    Ok(Iri { kind, at: at.ok_or(DecodeError::Field)?, event })
}

fn of_access(contents: &asn1::IpIriContents) -> Result<AccessIri, DecodeError> {
    let time = |text: &rasn::types::OctetString| read_generalized(text).ok_or(DecodeError::Field);
    let mut addresses = Vec::new();
    for address in contents.target.iter().chain(&contents.additional) {
        addresses.push(of_address(address)?);
    }
    for asn1::OtherTargetIdentifier::Ip(address) in contents.others.iter().flatten() {
        addresses.push(of_address(address)?);
    }
    Ok(AccessIri {
        event: of_event(contents.event),
        username: contents.username.to_vec(),
        access: of_type(contents.access),
        addresses,
        network_id: contents.network_id.clone(),
        equipment_id: contents.equipment_id.clone(),
        location: contents.location.clone(),
        pop: PointOfPresence {
            port: contents.pop_port,
            port_id: contents.pop_port_id.as_ref().map(|id| id.to_vec()),
            identifier: contents.pop_id.as_ref().map(|asn1::IpIriIdType::Printable(text)| text.clone()),
            address: contents.pop_address.as_ref().map(of_address).transpose()?.map(|address| address.ip),
            phone: contents.pop_phone.clone(),
        },
        call_back: contents.call_back.clone(),
        start: contents.start.as_ref().map(time).transpose()?,
        end: contents.end.as_ref().map(time).transpose()?,
        expected_end: contents.expected_end.as_ref().map(time).transpose()?,
        end_reason: contents.end_reason.map(of_end_reason),
        octets_received: contents.received,
        octets_sent: contents.sent,
        raw: contents.raw.as_ref().map(|raw| raw.to_vec()),
        authentication: contents.authentication.map(of_authentication),
    })
}

fn of_address(address: &asn1::IpAddress) -> Result<TargetAddress, DecodeError> {
    let asn1::IpValue::Binary(octets) = &address.value;
    let (ip, prefix) = match address.family {
        asn1::IpType::V4 => {
            let octets: [u8; 4] = octets[..].try_into().map_err(|_| DecodeError::Field)?;
            let prefix = match &address.mask {
                None => 32,
                Some(mask) => {
                    let mask: [u8; 4] = mask[..].try_into().map_err(|_| DecodeError::Field)?;
                    u32::from_be_bytes(mask).leading_ones() as u8
                }
            };
            (IpAddr::V4(Ipv4Addr::from(octets)), prefix)
        }
        asn1::IpType::V6 => {
            let octets: [u8; 16] = octets[..].try_into().map_err(|_| DecodeError::Field)?;
            (IpAddr::V6(Ipv6Addr::from(octets)), address.prefix.unwrap_or(128))
        }
    };
    let assignment = match address.assignment {
        Some(asn1::IpAssignment::Static) => Assignment::Static,
        Some(asn1::IpAssignment::Dynamic) => Assignment::Dynamic,
        Some(asn1::IpAssignment::NotKnown) | None => Assignment::NotKnown,
    };
    Ok(TargetAddress { ip, prefix, assignment })
}

fn of_event(event: asn1::AccessEventType) -> AccessEvent {
    match event {
        asn1::AccessEventType::Attempt => AccessEvent::Attempt,
        asn1::AccessEventType::Accept => AccessEvent::Accept,
        asn1::AccessEventType::Reject => AccessEvent::Reject,
        asn1::AccessEventType::Failed => AccessEvent::Failed,
        asn1::AccessEventType::Interim => AccessEvent::Interim,
        asn1::AccessEventType::StartWhileActive => AccessEvent::StartWhileActive,
        asn1::AccessEventType::End => AccessEvent::End,
        asn1::AccessEventType::EndWhileActive => AccessEvent::EndWhileActive,
        asn1::AccessEventType::SessionStart
        | asn1::AccessEventType::SessionEnd
        | asn1::AccessEventType::Unknown => AccessEvent::Unknown,
    }
}

fn of_type(access: asn1::InternetAccessType) -> AccessType {
    match access {
        asn1::InternetAccessType::Undefined => AccessType::Undefined,
        asn1::InternetAccessType::DialUp => AccessType::DialUp,
        asn1::InternetAccessType::Dsl => AccessType::Dsl,
        asn1::InternetAccessType::Cable => AccessType::Cable,
        asn1::InternetAccessType::Lan => AccessType::Lan,
        asn1::InternetAccessType::WirelessLan => AccessType::WirelessLan,
        asn1::InternetAccessType::Fibre => AccessType::Fibre,
        asn1::InternetAccessType::WiMax => AccessType::WiMax,
        asn1::InternetAccessType::Satellite => AccessType::Satellite,
        asn1::InternetAccessType::OtherWireless => AccessType::OtherWireless,
    }
}

fn of_end_reason(reason: asn1::EndReason) -> EndReason {
    match reason {
        asn1::EndReason::Undefined => EndReason::Undefined,
        asn1::EndReason::RegularLogoff => EndReason::RegularLogoff,
        asn1::EndReason::ConnectionLoss => EndReason::ConnectionLoss,
        asn1::EndReason::Timeout => EndReason::Timeout,
        asn1::EndReason::LeaseExpired => EndReason::LeaseExpired,
    }
}

fn of_authentication(authentication: asn1::AuthenticationType) -> Authentication {
    match authentication {
        asn1::AuthenticationType::Unknown => Authentication::Unknown,
        asn1::AuthenticationType::Static => Authentication::Static,
        asn1::AuthenticationType::Radius => Authentication::Radius,
        asn1::AuthenticationType::Dhcp => Authentication::Dhcp,
        asn1::AuthenticationType::Diameter => Authentication::Diameter,
    }
}

//! The PDUs of one warrant.

use ringtap_model::Nanos;

use super::content::{self, ContentLengths};
use super::encryption::{self, Encryption, PayloadKey};
use super::header::{HeaderTemplate, TimeFormat};
use super::{iri, notification};
use crate::asn1;
use crate::integrity::IntegrityCheck;
use crate::{Content, ContentKind, Identifiers, Iri, IriEvent, MOST_PDU, Notification, Number};

/// Why something was not encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EncodeError {
    /// Its PDU would be longer than [`MOST_PDU`].
    #[error("the PDU would have {0} octets: at most {MOST_PDU} are sent")]
    TooLong(usize),
    /// The library refused it.
    #[error("the payload cannot be encoded")]
    Payload,
}

/// A PDU that says something of the others (TRIPayload, TS 102 232-1 clause 6.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// The mediation function is asked to answer.
    KeepAlive,
    /// It answered.
    KeepAliveResponse,
    /// The first PDU of a CIN's content from this function follows.
    FirstSegment,
    /// The last one was sent.
    LastSegment,
    /// The CIN is used for another communication from now on.
    CinReset,
}

/// Encodes what a warrant delivers. What is the same in all its PDUs is encoded once.
#[derive(Debug)]
pub struct Encoder {
    identifiers: Identifiers,
    header: HeaderTemplate,
    encryption: Option<Encryption>,
    payload: Vec<u8>,
}

impl Encoder {
    /// For the PDUs of these identifiers. With a key, payloads are encrypted; `now` is where the byte
    /// counter of the encryption starts, and has to be later with each encoder that uses the key.
    pub fn new(identifiers: Identifiers, format: TimeFormat, key: Option<PayloadKey>, now: Nanos) -> Self {
        let header = HeaderTemplate::new(&identifiers, format);
        let encryption = key.map(|key| Encryption::new(key, now));
        Self { identifiers, header, encryption, payload: Vec::new() }
    }

    /// Whose PDUs these are.
    pub fn identifiers(&self) -> &Identifiers {
        &self.identifiers
    }

    /// Appends the PDU of a packet to `out`.
    ///
    /// # Errors
    /// If it is too long. Then nothing is appended.
    // HOT: once a packet.
    pub fn content(
        &mut self,
        number: Number,
        content: &Content<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), EncodeError> {
        if content.packet.len() > MOST_PDU - OVERHEAD {
            return Err(EncodeError::TooLong(content.packet.len() + OVERHEAD));
        }
        let lengths = ContentLengths::new(content);
        if self.encryption.is_none() {
            out.reserve(self.header.most() + lengths.total());
            self.header.put(out, number, content.at, lengths.total());
            content::put_content(out, content, &lengths);
            return Ok(());
        }
        let mut payload = std::mem::take(&mut self.payload);
        payload.clear();
        content::put_content(&mut payload, content, &lengths);
        let part = match content.kind {
            ContentKind::IpPacket => encryption::PART_3,
            ContentKind::Media { .. } => encryption::PART_5,
        };
        let result = self.finish(number, content.at, &payload, part, out);
        self.payload = payload;
        result
    }

    /// Appends the PDU of an event to `out`.
    ///
    /// # Errors
    /// If it is too long. Then nothing is appended.
    pub fn iri(&mut self, number: Number, iri: &Iri, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        let part = match iri.event {
            IriEvent::Access(_) => encryption::PART_3,
            IriEvent::Sip(_) => encryption::PART_5,
        };
        self.encode(number, iri.at, &iri::payload(iri), part, out)
    }

    /// Appends the PDU of a notification to `out`.
    ///
    /// # Errors
    /// None today.
    pub fn notification(
        &mut self,
        number: Number,
        notification: &Notification,
        out: &mut Vec<u8>,
    ) -> Result<(), EncodeError> {
        let payload = notification::payload(&self.identifiers, notification);
        self.encode(number, notification.at, &payload, encryption::PART_1, out)
    }

    /// Appends a mark to `out`. Marks are not encrypted: they say nothing of the target.
    ///
    /// # Errors
    /// None today.
    pub fn mark(
        &mut self,
        number: Number,
        at: Nanos,
        mark: Mark,
        out: &mut Vec<u8>,
    ) -> Result<(), EncodeError> {
        let tri = match mark {
            Mark::KeepAlive => asn1::TriPayload::KeepAlive(()),
            Mark::KeepAliveResponse => asn1::TriPayload::KeepAliveResponse(()),
            Mark::FirstSegment => asn1::TriPayload::FirstSegment(()),
            Mark::LastSegment => asn1::TriPayload::LastSegment(()),
            Mark::CinReset => asn1::TriPayload::CinReset(()),
        };
        let payload = wrapped(&asn1::Payload::Tri(tri))?;
        self.put(number, at, &payload, out)
    }

    /// Appends an integrity check to `out`.
    ///
    /// # Errors
    /// If it names so many PDUs that it is too long. Then nothing is appended.
    pub fn integrity_check(
        &mut self,
        number: Number,
        at: Nanos,
        check: &IntegrityCheck,
        out: &mut Vec<u8>,
    ) -> Result<(), EncodeError> {
        let payload = asn1::Payload::Tri(asn1::TriPayload::IntegrityCheck(check.to_asn1()));
        self.encode(number, at, &payload, encryption::PART_1, out)
    }

    fn encode(
        &mut self,
        number: Number,
        at: Nanos,
        payload: &asn1::Payload,
        part: u8,
        out: &mut Vec<u8>,
    ) -> Result<(), EncodeError> {
        let payload = wrapped(payload)?;
        self.finish(number, at, &payload, part, out)
    }

    fn finish(
        &mut self,
        number: Number,
        at: Nanos,
        payload: &[u8],
        part: u8,
        out: &mut Vec<u8>,
    ) -> Result<(), EncodeError> {
        match &mut self.encryption {
            None => self.put(number, at, payload, out),
            Some(encryption) => {
                let container = encryption.container(payload, part, number.sequence);
                self.put(number, at, &container, out)
            }
        }
    }

    fn put(&self, number: Number, at: Nanos, payload: &[u8], out: &mut Vec<u8>) -> Result<(), EncodeError> {
        if payload.len() > MOST_PDU - OVERHEAD {
            return Err(EncodeError::TooLong(payload.len() + OVERHEAD));
        }
        out.reserve(self.header.most() + payload.len());
        self.header.put(out, number, at, payload.len());
        out.extend_from_slice(payload);
        Ok(())
    }
}

/// The payload as field 2 of the PS-PDU: as it is a CHOICE, its tag is explicit.
fn wrapped(payload: &asn1::Payload) -> Result<Vec<u8>, EncodeError> {
    let encoded = rasn::ber::encode(payload).map_err(|_| EncodeError::Payload)?;
    let mut out = Vec::with_capacity(encoded.len() + 6);
    super::ber::put(&mut out, super::ber::constructed(2), &encoded);
    Ok(out)
}

/// More than the header, the heads around a packet and the encryption add to it.
const OVERHEAD: usize = 512;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{
        Cin, CountryCode, Direction, ElementId, FrameType, InterceptionPoint, Liid, MediaProtocol, OperatorId,
    };

    fn identifiers(is_long: bool) -> Identifiers {
        Identifiers {
            liid: Liid::from_text("LI-17").unwrap(),
            authorisation: is_long.then(|| CountryCode::new("DE").unwrap()),
            operator: OperatorId::new(b"operator").unwrap(),
            element: is_long.then(|| ElementId::new(b"bng").unwrap()),
            delivery: is_long.then(|| CountryCode::new("FR").unwrap()),
            point: is_long.then(|| InterceptionPoint::new("P01").unwrap()),
        }
    }

    proptest! {
        /// What is written by hand is what the library writes of the same fields.
        #[test]
        fn a_packet_is_encoded_as_the_library_does(
            length in prop_oneof![0..300_usize, 65_300..65_700_usize],
            numbers: [u32; 2],
            at in 0..9_000_000_000_000_u64,
            is_media: bool,
            is_long: bool,
            generalized: bool,
        ) {
            let kind = if is_media {
                ContentKind::Media { frame: FrameType::Udptl, protocol: MediaProtocol::Udptl }
            } else {
                ContentKind::IpPacket
            };
            let format = if generalized { TimeFormat::Generalized } else { TimeFormat::MicroSeconds };
            let packet = vec![0x45; length];
            let at = Nanos::from_micros(at);
            let content = Content { at, direction: Direction::ToTarget, kind, packet: &packet };
            let number = Number { cin: Cin(numbers[0]), sequence: numbers[1] };
            let mut pdu = Vec::new();
            Encoder::new(identifiers(is_long), format, None, at).content(number, &content, &mut pdu).unwrap();
            let read: asn1::PsPdu = rasn::ber::decode(&pdu).unwrap();
            prop_assert_eq!(rasn::ber::encode(&read).unwrap(), pdu);
        }
    }
}

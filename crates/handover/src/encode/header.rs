//! The header of a PDU: what is the same in all of a warrant is encoded once, the rest beside it.

use rasn::types::OctetString;
use ringtap_model::Nanos;

use super::ber::{self, Unsigned};
use super::time;
use crate::{Identifiers, Number};

/// Which of its two fields a PDU's time is in (TS 102 232-1 clause 5.2.6 lets one be used).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TimeFormat {
    /// microSecondTimeStamp: seconds and microseconds as numbers.
    #[default]
    MicroSeconds,
    /// timeStamp: GeneralizedTime in UTC, with microseconds.
    Generalized,
}

/// The encoded parts of the PSHeader of a warrant.
#[derive(Clone, Debug)]
pub(crate) struct HeaderTemplate {
    /// li-psDomainId, lawfulInterceptionIdentifier, authorizationCountryCode.
    start: Vec<u8>,
    /// networkIdentifier.
    network: Vec<u8>,
    /// deliveryCountryCode.
    delivery: Vec<u8>,
    /// interceptionPointID.
    point: Vec<u8>,
    format: TimeFormat,
}

impl HeaderTemplate {
    pub(crate) fn new(identifiers: &Identifiers, format: TimeFormat) -> Self {
        let mut start = Vec::new();
        ber::put(&mut start, ber::primitive(0), DOMAIN);
        ber::put(&mut start, ber::primitive(1), identifiers.liid.as_bytes());
        if let Some(country) = &identifiers.authorisation {
            ber::put(&mut start, ber::primitive(2), country.as_bytes());
        }
        let mut names = Vec::new();
        ber::put(&mut names, ber::primitive(0), identifiers.operator.as_bytes());
        if let Some(element) = &identifiers.element {
            ber::put(&mut names, ber::primitive(1), element.as_bytes());
        }
        let mut network = Vec::new();
        ber::put(&mut network, ber::constructed(0), &names);
        let mut delivery = Vec::new();
        if let Some(country) = &identifiers.delivery {
            ber::put(&mut delivery, ber::primitive(2), country.as_bytes());
        }
        let mut point = Vec::new();
        if let Some(id) = &identifiers.point {
            ber::put(&mut point, ber::primitive(6), id.as_bytes());
        }
        Self { start, network, delivery, point, format }
    }

    /// Most octets that a header takes beyond its fixed parts.
    pub(crate) fn most(&self) -> usize {
        self.start.len() + self.network.len() + self.delivery.len() + self.point.len() + 64
    }

    /// Writes the PS-PDU's head and its header: the payload, of so many octets with its own head, has to
    /// follow.
    // HOT: once a packet.
    #[inline]
    pub(crate) fn put(&self, out: &mut Vec<u8>, number: Number, at: Nanos, payload: usize) {
        let cin = Unsigned::new(u64::from(number.cin.0));
        let sequence = Unsigned::new(u64::from(number.sequence));
        let seconds = Unsigned::new(at.0 / 1_000_000_000);
        let micros = Unsigned::new(at.0 / 1_000 % 1_000_000);
        let of = |integer: &Unsigned| 2 + integer.contents().len();
        let communication = self.network.len() + of(&cin) + self.delivery.len();
        let stamp = of(&seconds) + of(&micros);
        let time = match self.format {
            TimeFormat::MicroSeconds => 2 + stamp,
            TimeFormat::Generalized => GENERALIZED,
        };
        let header = self.start.len()
            + ber::element(communication)
            + of(&sequence)
            + time
            + self.point.len()
            + QUALIFIER.len();

        ber::put_head(out, ber::SEQUENCE, ber::element(header) + payload);
        ber::put_head(out, ber::constructed(1), header);
        out.extend_from_slice(&self.start);
        ber::put_head(out, ber::constructed(3), communication);
        out.extend_from_slice(&self.network);
        ber::put(out, ber::primitive(1), cin.contents());
        out.extend_from_slice(&self.delivery);
        ber::put(out, ber::primitive(4), sequence.contents());
        if self.format == TimeFormat::Generalized {
            ber::put(out, ber::primitive(5), &time::generalized(at));
        }
        out.extend_from_slice(&self.point);
        if self.format == TimeFormat::MicroSeconds {
            ber::put_head(out, ber::constructed(7), stamp);
            ber::put(out, ber::primitive(0), seconds.contents());
            ber::put(out, ber::primitive(1), micros.contents());
        }
        out.extend_from_slice(QUALIFIER);
    }
}

pub(crate) fn octets(bytes: &[u8]) -> OctetString {
    OctetString::from_slice(bytes)
}

/// itu-t(0) identified-organization(4) etsi(0) securityDomain(2) lawfulIntercept(2) li-ps(5) genHeader(1)
/// version17(17), with the first two arcs in one octet. The fields that this crate writes are those of
/// that version; later ones only add to it.
const DOMAIN: &[u8] = &[0x04, 0x00, 0x02, 0x02, 0x05, 0x01, 0x11];

/// Octets of a timeStamp with its tag and its length.
const GENERALIZED: usize = 24;

/// timeStampQualifier: the time is that of the interception.
const QUALIFIER: &[u8] = &[0x88, 1, 1];

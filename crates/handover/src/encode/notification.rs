//! A notification as its ASN.1 type.

use std::borrow::Cow;

use rasn::types::ObjectIdentifier;

use super::header::octets;
use super::time;
use crate::asn1;
use crate::{Identifiers, Notification, NotificationKind};

pub(crate) fn payload(identifiers: &Identifiers, notification: &Notification) -> asn1::Payload {
    let operator = identifiers.operator.as_bytes();
    let communication = asn1::Hi2Communication {
        number: None,
        network: asn1::Hi2Network { operator: octets(&operator[..operator.len().min(SHORT_OPERATOR)]) },
    };
    let time = asn1::Hi2TimeStamp::Utc(octets(&time::utc(notification.at)));
    let liid = octets(identifiers.liid.as_bytes());
    let text = notification.text.as_deref().map(|text| octets(cut(text).as_bytes()));
    let told = |text| asn1::Hi1Notification {
        domain: Some(domain()),
        liid: liid.clone(),
        communication: Some(communication.clone()),
        time: time.clone(),
        target: text,
    };
    asn1::Payload::Hi1(match notification.kind {
        NotificationKind::Activated => asn1::Hi1Operation::Activated(told(text)),
        NotificationKind::Deactivated => asn1::Hi1Operation::Deactivated(told(text)),
        NotificationKind::Modified => asn1::Hi1Operation::Modified(told(text)),
        NotificationKind::Alarm => asn1::Hi1Operation::Alarm(asn1::Hi1Alarm {
            domain: Some(domain()),
            communication: Some(communication.clone()),
            time: time.clone(),
            // The field is mandatory, and not empty.
            text: text.unwrap_or_else(|| octets(b"alarm")),
            liid: Some(liid.clone()),
        }),
    })
}

/// As much of a text as its field takes; None of nothing.
fn cut(text: &str) -> &str {
    let end = text.floor_char_boundary(MOST_TEXT);
    if end == 0 { "-" } else { &text[..end] }
}

/// itu-t(0) identified-organization(4) etsi(0) securityDomain(2) lawfulIntercept(2) hi1(0)
/// notificationOperations(1) version(6): the constant of HI1-Operation (hi1OperationId).
fn domain() -> ObjectIdentifier {
    ObjectIdentifier::new_unchecked(Cow::Borrowed(&[0, 4, 0, 2, 2, 0, 1, 6]))
}

/// Octets of an operator in HI2Operations: a longer name is cut.
const SHORT_OPERATOR: usize = 5;
/// Octets of target-Information and of alarm-information.
const MOST_TEXT: usize = 256;

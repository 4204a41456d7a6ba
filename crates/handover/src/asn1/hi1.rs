//! HI1 notifications (TS 101 671 annex D.4).

use rasn::prelude::*;

/// HI1-Operation, TS 101 671 annex D.4.
#[derive(AsnType, Encode, Decode, Clone, Debug, PartialEq)]
#[rasn(choice)]
#[non_exhaustive]
pub(crate) enum Hi1Operation {
    #[rasn(tag(1))]
    Activated(Hi1Notification),
    #[rasn(tag(2))]
    Deactivated(Hi1Notification),
    #[rasn(tag(3))]
    Modified(Hi1Notification),
    #[rasn(tag(4))]
    Alarm(Hi1Alarm),
}

/// Notification, TS 101 671 annex D.4.
#[derive(AsnType, Encode, Decode, Clone, Debug, PartialEq)]
#[non_exhaustive]
pub(crate) struct Hi1Notification {
    #[rasn(tag(0))]
    pub(crate) domain: Option<ObjectIdentifier>,
    #[rasn(tag(1))]
    pub(crate) liid: OctetString,
    #[rasn(tag(2))]
    pub(crate) communication: Option<Hi2Communication>,
    #[rasn(tag(explicit(3)))]
    pub(crate) time: Hi2TimeStamp,
    #[rasn(extension_addition, tag(6))]
    pub(crate) target: Option<OctetString>,
}

/// Alarm-Indicator, TS 101 671 annex D.4.
#[derive(AsnType, Encode, Decode, Clone, Debug, PartialEq)]
#[non_exhaustive]
pub(crate) struct Hi1Alarm {
    #[rasn(tag(0))]
    pub(crate) domain: Option<ObjectIdentifier>,
    #[rasn(tag(1))]
    pub(crate) communication: Option<Hi2Communication>,
    #[rasn(tag(explicit(2)))]
    pub(crate) time: Hi2TimeStamp,
    #[rasn(tag(3))]
    pub(crate) text: OctetString,
    #[rasn(extension_addition, tag(4))]
    pub(crate) liid: Option<OctetString>,
}

/// CommunicationIdentifier of HI2Operations, TS 101 671 annex D.5.
#[derive(AsnType, Encode, Decode, Clone, Debug, PartialEq)]
#[non_exhaustive]
pub(crate) struct Hi2Communication {
    #[rasn(tag(0))]
    pub(crate) number: Option<OctetString>,
    #[rasn(tag(1))]
    pub(crate) network: Hi2Network,
}

/// Network-Identifier of HI2Operations, whose operator has 1 to 5 octets.
#[derive(AsnType, Encode, Decode, Clone, Debug, PartialEq)]
#[non_exhaustive]
pub(crate) struct Hi2Network {
    #[rasn(tag(0))]
    pub(crate) operator: OctetString,
}

/// TimeStamp of HI2Operations: of its two forms, the one in UTC.
#[derive(AsnType, Encode, Decode, Clone, Debug, PartialEq)]
#[rasn(choice)]
pub(crate) enum Hi2TimeStamp {
    #[rasn(tag(1))]
    Utc(OctetString),
}

//! The ASN.1 types of a PS-PDU, as far as this crate writes or reads them, for [`rasn`].
//!
//! TS 102 232-1 annex A (module LI-PS-PDU), TS 102 232-3 annex A (IPAccessPDU), TS 102 232-5 annex A
//! (IPMultimediaPDU) and TS 101 671 annex D (HI1NotificationOperations, HI2Operations). All these modules
//! have implicit tags; a tag on a CHOICE is explicit (X.680 clause 31.2.7). `rasn` has no RELATIVE-OID,
//! and its GeneralizedTime takes a calendar: below an implicit tag both are encoded as an OCTET STRING
//! is, and their contents are made here.

mod hi1;

use rasn::prelude::*;

pub(crate) use hi1::*;

/// PS-PDU, TS 102 232-1 annex A.
#[derive(AsnType, Encode, Decode, Clone, Debug, PartialEq)]
pub(crate) struct PsPdu {
    #[rasn(tag(1))]
    pub(crate) header: PsHeader,
    #[rasn(tag(explicit(2)))]
    pub(crate) payload: Payload,
}

/// PSHeader, clause 5.2.
#[derive(AsnType, Encode, Decode, Clone, Debug, PartialEq)]
#[non_exhaustive]
pub(crate) struct PsHeader {
    #[rasn(tag(0))]
    pub(crate) domain: ObjectIdentifier,
    #[rasn(tag(1))]
    pub(crate) liid: OctetString,
    #[rasn(tag(2))]
    pub(crate) authorisation: Option<OctetString>,
    #[rasn(tag(3))]
    pub(crate) communication: CommunicationIdentifier,
    #[rasn(tag(4))]
    pub(crate) sequence: u32,
    #[rasn(tag(5))]
    pub(crate) time: Option<OctetString>,
    #[rasn(extension_addition, tag(6))]
    pub(crate) point: Option<OctetString>,
    #[rasn(extension_addition, tag(7))]
    pub(crate) micros: Option<MicroSecondTimeStamp>,
    #[rasn(extension_addition, tag(8))]
    pub(crate) qualifier: Option<TimeStampQualifier>,
}

/// CommunicationIdentifier, clause 5.2.4.
#[derive(AsnType, Encode, Decode, Clone, Debug, PartialEq)]
#[non_exhaustive]
pub(crate) struct CommunicationIdentifier {
    #[rasn(tag(0))]
    pub(crate) network: NetworkIdentifier,
    #[rasn(tag(1))]
    pub(crate) cin: Option<u32>,
    #[rasn(tag(2))]
    pub(crate) delivery: Option<OctetString>,
}

/// NetworkIdentifier, clause 5.2.4.
#[derive(AsnType, Encode, Decode, Clone, Debug, PartialEq)]
#[non_exhaustive]
pub(crate) struct NetworkIdentifier {
    #[rasn(tag(0))]
    pub(crate) operator: OctetString,
    #[rasn(tag(1))]
    pub(crate) element: Option<OctetString>,
}

/// MicroSecondTimeStamp, clause 5.2.6.
#[derive(AsnType, Encode, Decode, Clone, Debug, PartialEq)]
pub(crate) struct MicroSecondTimeStamp {
    #[rasn(tag(0))]
    pub(crate) seconds: u64,
    #[rasn(tag(1))]
    pub(crate) micros: u32,
}

/// TimeStampQualifier, clause 5.2.6.
#[derive(AsnType, Encode, Decode, Clone, Copy, Debug, PartialEq)]
#[rasn(enumerated)]
#[non_exhaustive]
pub(crate) enum TimeStampQualifier {
    Unknown = 0,
    Interception = 1,
    Mediation = 2,
    Aggregation = 3,
}

/// Payload, clause 5.1.
#[derive(AsnType, Encode, Decode, Clone, Debug, PartialEq)]
#[rasn(choice)]
#[non_exhaustive]
pub(crate) enum Payload {
    #[rasn(tag(0))]
    Iri(Vec<IriPayload>),
    #[rasn(tag(1))]
    Cc(Vec<CcPayload>),
    #[rasn(tag(explicit(2)))]
    Tri(TriPayload),
    #[rasn(tag(explicit(3)))]
    Hi1(Hi1Operation),
    #[rasn(tag(4))]
    Encrypted(EncryptionContainer),
}

/// IRIPayload, clause 5.3.
#[derive(AsnType, Encode, Decode, Clone, Debug, PartialEq)]
#[non_exhaustive]
pub(crate) struct IriPayload {
    #[rasn(tag(0))]
    pub(crate) kind: Option<IriType>,
    #[rasn(tag(1))]
    pub(crate) time: Option<OctetString>,
    #[rasn(tag(explicit(2)))]
    pub(crate) contents: IriContents,
}

/// IRIType, clause 5.2.10.
#[derive(AsnType, Encode, Decode, Clone, Copy, Debug, PartialEq)]
#[rasn(enumerated)]
pub(crate) enum IriType {
    Begin = 1,
    End = 2,
    Continue = 3,
    Report = 4,
}

/// IRIContents: those of TS 102 232-3 and TS 102 232-5.
#[derive(AsnType, Encode, Decode, Clone, Debug, PartialEq)]
#[rasn(choice)]
#[non_exhaustive]
#[expect(clippy::large_enum_variant, reason = "there is one at a time, and it is encoded at once")]
pub(crate) enum IriContents {
    #[rasn(tag(2))]
    Ip(IpIri),
    #[rasn(tag(11))]
    Multimedia(IpmmIri),
}

/// IPIRI, TS 102 232-3 clause 8.
#[derive(AsnType, Encode, Decode, Clone, Debug, PartialEq)]
#[non_exhaustive]
pub(crate) struct IpIri {
    #[rasn(tag(0))]
    pub(crate) id: OctetString,
    #[rasn(tag(1))]
    pub(crate) contents: IpIriContents,
}

/// IPIRIContents, TS 102 232-3 clause 8.
#[derive(AsnType, Encode, Decode, Clone, Debug, PartialEq)]
#[non_exhaustive]
pub(crate) struct IpIriContents {
    #[rasn(tag(0))]
    pub(crate) event: AccessEventType,
    #[rasn(tag(1))]
    pub(crate) username: OctetString,
    #[rasn(tag(2))]
    pub(crate) access: InternetAccessType,
    #[rasn(tag(3))]
    pub(crate) version: IpVersion,
    #[rasn(tag(4))]
    pub(crate) target: Option<IpAddress>,
    #[rasn(tag(5))]
    pub(crate) network_id: Option<Utf8String>,
    #[rasn(tag(6))]
    pub(crate) equipment_id: Option<Utf8String>,
    #[rasn(tag(7))]
    pub(crate) location: Option<Utf8String>,
    #[rasn(tag(8))]
    pub(crate) pop_port: Option<u32>,
    #[rasn(tag(9))]
    pub(crate) call_back: Option<Utf8String>,
    #[rasn(tag(10))]
    pub(crate) start: Option<OctetString>,
    #[rasn(tag(11))]
    pub(crate) end: Option<OctetString>,
    #[rasn(tag(12))]
    pub(crate) end_reason: Option<EndReason>,
    #[rasn(tag(13))]
    pub(crate) received: Option<u64>,
    #[rasn(tag(14))]
    pub(crate) sent: Option<u64>,
    #[rasn(tag(15))]
    pub(crate) raw: Option<OctetString>,
    #[rasn(tag(16))]
    pub(crate) expected_end: Option<OctetString>,
    #[rasn(tag(17))]
    pub(crate) pop_phone: Option<Utf8String>,
    #[rasn(tag(explicit(18)))]
    pub(crate) pop_id: Option<IpIriIdType>,
    #[rasn(tag(19))]
    pub(crate) pop_address: Option<IpAddress>,
    #[rasn(tag(21))]
    pub(crate) additional: Option<IpAddress>,
    #[rasn(tag(22))]
    pub(crate) authentication: Option<AuthenticationType>,
    #[rasn(tag(23))]
    pub(crate) others: Option<Vec<OtherTargetIdentifier>>,
    #[rasn(tag(25))]
    pub(crate) pop_port_id: Option<OctetString>,
}

/// AccessEventType; 4 and 5 are out of use since version 4.
#[derive(AsnType, Encode, Decode, Clone, Copy, Debug, PartialEq)]
#[rasn(enumerated)]
pub(crate) enum AccessEventType {
    Attempt = 0,
    Accept = 1,
    Reject = 2,
    Failed = 3,
    SessionStart = 4,
    SessionEnd = 5,
    Interim = 6,
    StartWhileActive = 7,
    End = 8,
    EndWhileActive = 9,
    Unknown = 10,
}

/// InternetAccessType.
#[derive(AsnType, Encode, Decode, Clone, Copy, Debug, PartialEq)]
#[rasn(enumerated)]
pub(crate) enum InternetAccessType {
    Undefined = 0,
    DialUp = 1,
    Dsl = 2,
    Cable = 3,
    Lan = 4,
    WirelessLan = 5,
    Fibre = 6,
    WiMax = 7,
    Satellite = 8,
    OtherWireless = 9,
}

/// IPVersion.
#[derive(AsnType, Encode, Decode, Clone, Copy, Debug, PartialEq)]
#[rasn(enumerated)]
pub(crate) enum IpVersion {
    V4 = 1,
    V6 = 2,
    Both = 3,
}

/// EndReason.
#[derive(AsnType, Encode, Decode, Clone, Copy, Debug, PartialEq)]
#[rasn(enumerated)]
pub(crate) enum EndReason {
    Undefined = 0,
    RegularLogoff = 1,
    ConnectionLoss = 2,
    Timeout = 3,
    LeaseExpired = 4,
}

/// AuthenticationType.
#[derive(AsnType, Encode, Decode, Clone, Copy, Debug, PartialEq)]
#[rasn(enumerated)]
pub(crate) enum AuthenticationType {
    Unknown = 0,
    Static = 1,
    Radius = 2,
    Dhcp = 3,
    Diameter = 4,
}

/// IPIRIIDType.
#[derive(AsnType, Encode, Decode, Clone, Debug, PartialEq)]
#[rasn(choice)]
#[non_exhaustive]
pub(crate) enum IpIriIdType {
    #[rasn(tag(0))]
    Printable(Utf8String),
}

/// OtherTargetIdentifiers.
#[derive(AsnType, Encode, Decode, Clone, Debug, PartialEq)]
#[rasn(choice)]
#[non_exhaustive]
pub(crate) enum OtherTargetIdentifier {
    #[rasn(tag(0))]
    Ip(IpAddress),
}

/// IPAddress, TS 102 232-1 annex A.
#[derive(AsnType, Encode, Decode, Clone, Debug, PartialEq)]
#[non_exhaustive]
pub(crate) struct IpAddress {
    #[rasn(tag(1))]
    pub(crate) family: IpType,
    #[rasn(tag(explicit(2)))]
    pub(crate) value: IpValue,
    #[rasn(tag(3))]
    pub(crate) assignment: Option<IpAssignment>,
    #[rasn(extension_addition, tag(4))]
    pub(crate) prefix: Option<u8>,
    #[rasn(extension_addition, tag(5))]
    pub(crate) mask: Option<OctetString>,
}

/// iP-type.
#[derive(AsnType, Encode, Decode, Clone, Copy, Debug, PartialEq)]
#[rasn(enumerated)]
pub(crate) enum IpType {
    V4 = 0,
    V6 = 1,
}

/// IP-value: of its two forms, the binary one.
#[derive(AsnType, Encode, Decode, Clone, Debug, PartialEq)]
#[rasn(choice)]
#[non_exhaustive]
pub(crate) enum IpValue {
    #[rasn(tag(1))]
    Binary(OctetString),
}

/// iP-assignment.
#[derive(AsnType, Encode, Decode, Clone, Copy, Debug, PartialEq)]
#[rasn(enumerated)]
pub(crate) enum IpAssignment {
    Static = 1,
    Dynamic = 2,
    NotKnown = 3,
}

/// IPMMIRI, TS 102 232-5 clause 5.3.
#[derive(AsnType, Encode, Decode, Clone, Debug, PartialEq)]
#[non_exhaustive]
pub(crate) struct IpmmIri {
    #[rasn(tag(0))]
    pub(crate) id: OctetString,
    #[rasn(tag(explicit(1)))]
    pub(crate) contents: IpmmIriContents,
}

/// IPMMIRIContents: the SIP message with its addresses.
#[derive(AsnType, Encode, Decode, Clone, Debug, PartialEq)]
#[rasn(choice)]
#[non_exhaustive]
pub(crate) enum IpmmIriContents {
    #[rasn(tag(1))]
    Sip(SipMessage),
}

/// SIPMessage, TS 102 232-5 clause 5.3.
#[derive(AsnType, Encode, Decode, Clone, Debug, PartialEq)]
#[non_exhaustive]
pub(crate) struct SipMessage {
    #[rasn(tag(0))]
    pub(crate) source: IpAddress,
    #[rasn(tag(1))]
    pub(crate) destination: IpAddress,
    #[rasn(tag(2))]
    pub(crate) content: OctetString,
}

/// CCPayload, TS 102 232-1 clause 5.3.
#[derive(AsnType, Encode, Decode, Clone, Debug, PartialEq)]
#[non_exhaustive]
pub(crate) struct CcPayload {
    #[rasn(tag(0))]
    pub(crate) direction: Option<PayloadDirection>,
    #[rasn(tag(1))]
    pub(crate) time: Option<OctetString>,
    #[rasn(tag(explicit(2)))]
    pub(crate) contents: CcContents,
}

/// PayloadDirection.
#[derive(AsnType, Encode, Decode, Clone, Copy, Debug, PartialEq)]
#[rasn(enumerated)]
#[non_exhaustive]
pub(crate) enum PayloadDirection {
    FromTarget = 0,
    ToTarget = 1,
    Indeterminate = 2,
}

/// CCContents: those of TS 102 232-3 and TS 102 232-5.
#[derive(AsnType, Encode, Decode, Clone, Debug, PartialEq)]
#[rasn(choice)]
#[non_exhaustive]
pub(crate) enum CcContents {
    #[rasn(tag(2))]
    Ip(IpCc),
    #[rasn(tag(12))]
    Multimedia(IpmmCc),
}

/// IPCC, TS 102 232-3 clause 8.
#[derive(AsnType, Encode, Decode, Clone, Debug, PartialEq)]
#[non_exhaustive]
pub(crate) struct IpCc {
    #[rasn(tag(0))]
    pub(crate) id: OctetString,
    #[rasn(tag(explicit(1)))]
    pub(crate) contents: IpCcContents,
}

/// IPCCContents.
#[derive(AsnType, Encode, Decode, Clone, Debug, PartialEq)]
#[rasn(choice)]
#[non_exhaustive]
pub(crate) enum IpCcContents {
    #[rasn(tag(0))]
    Packet(OctetString),
}

/// IPMMCC, TS 102 232-5 clause 6.
#[derive(AsnType, Encode, Decode, Clone, Debug, PartialEq)]
#[non_exhaustive]
pub(crate) struct IpmmCc {
    #[rasn(tag(0))]
    pub(crate) id: OctetString,
    #[rasn(tag(1))]
    pub(crate) contents: OctetString,
    #[rasn(extension_addition, tag(2))]
    pub(crate) frame: Option<FrameTypes>,
    #[rasn(extension_addition, tag(4))]
    pub(crate) protocol: Option<MediaProtocols>,
}

/// frameType.
#[derive(AsnType, Encode, Decode, Clone, Copy, Debug, PartialEq)]
#[rasn(enumerated)]
pub(crate) enum FrameTypes {
    Ip = 0,
    Udp = 1,
    Rtp = 2,
    Audio = 3,
    Tcp = 4,
    ArtificialRtp = 5,
    Udptl = 6,
    Msrp = 7,
}

/// mMCCprotocol.
#[derive(AsnType, Encode, Decode, Clone, Copy, Debug, PartialEq)]
#[rasn(enumerated)]
pub(crate) enum MediaProtocols {
    Rtp = 0,
    Msrp = 1,
    Udptl = 2,
}

/// TRIPayload, TS 102 232-1 clause 6.2.
#[derive(AsnType, Encode, Decode, Clone, Debug, PartialEq)]
#[rasn(choice)]
#[non_exhaustive]
pub(crate) enum TriPayload {
    #[rasn(tag(0))]
    IntegrityCheck(IntegrityCheck),
    #[rasn(tag(1))]
    Test(()),
    #[rasn(tag(2))]
    Padding(OctetString),
    #[rasn(tag(3))]
    KeepAlive(()),
    #[rasn(tag(4))]
    KeepAliveResponse(()),
    #[rasn(tag(5))]
    FirstSegment(()),
    #[rasn(tag(6))]
    LastSegment(()),
    #[rasn(tag(7))]
    CinReset(()),
}

/// IntegrityCheck, TS 102 232-1 clause 7.2.3.
#[derive(AsnType, Encode, Decode, Clone, Debug, PartialEq)]
#[non_exhaustive]
pub(crate) struct IntegrityCheck {
    #[rasn(tag(0))]
    pub(crate) included: Vec<u32>,
    #[rasn(tag(1))]
    pub(crate) kind: CheckType,
    #[rasn(extension_addition, tag(2))]
    pub(crate) data: Option<DataType>,
    #[rasn(tag(3))]
    pub(crate) value: OctetString,
    #[rasn(extension_addition, tag(4))]
    pub(crate) algorithm: Option<HashAlgorithm>,
}

/// CheckType.
#[derive(AsnType, Encode, Decode, Clone, Copy, Debug, PartialEq)]
#[rasn(enumerated)]
pub(crate) enum CheckType {
    Hash = 1,
    Signature = 2,
}

/// DataType.
#[derive(AsnType, Encode, Decode, Clone, Copy, Debug, PartialEq)]
#[rasn(enumerated)]
pub(crate) enum DataType {
    Iri = 1,
    Cc = 2,
}

/// HashAlgorithm.
#[derive(AsnType, Encode, Decode, Clone, Copy, Debug, PartialEq)]
#[rasn(enumerated)]
#[non_exhaustive]
pub(crate) enum HashAlgorithm {
    Sha1 = 1,
    Sha256 = 2,
    Sha384 = 3,
    Sha512 = 4,
}

/// EncryptionContainer, TS 102 232-1 clause 7.2.4.
#[derive(AsnType, Encode, Decode, Clone, Debug, PartialEq)]
#[non_exhaustive]
pub(crate) struct EncryptionContainer {
    #[rasn(tag(0))]
    pub(crate) algorithm: EncryptionType,
    #[rasn(tag(1))]
    pub(crate) payload: OctetString,
    #[rasn(tag(2))]
    pub(crate) part: Option<EncryptedPayloadType>,
}

/// EncryptionType.
#[derive(AsnType, Encode, Decode, Clone, Copy, Debug, PartialEq)]
#[rasn(enumerated)]
#[non_exhaustive]
pub(crate) enum EncryptionType {
    None = 1,
    National = 2,
    Aes192Cbc = 3,
    Aes256Cbc = 4,
}

/// EncryptedPayloadType: the part of TS 102 232 that the payload is encoded by.
#[derive(AsnType, Encode, Decode, Clone, Copy, Debug, PartialEq)]
#[rasn(enumerated)]
#[non_exhaustive]
pub(crate) enum EncryptedPayloadType {
    Unknown = 1,
    Part2 = 2,
    Part3 = 3,
    Part4 = 4,
    Part5 = 5,
    Part6 = 6,
    Part7 = 7,
    Part1 = 8,
}

/// EncryptedPayload: what is encrypted.
#[derive(AsnType, Encode, Decode, Clone, Debug, PartialEq)]
#[non_exhaustive]
pub(crate) struct EncryptedPayload {
    #[rasn(tag(0))]
    pub(crate) byte_counter: u64,
    #[rasn(tag(explicit(1)))]
    pub(crate) payload: Payload,
}

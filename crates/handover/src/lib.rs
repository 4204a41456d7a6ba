//! Handover: what a warrant delivers, as ETSI TS 102 232 lays it out, and its way to a mediation function.
//!
//! Not here: which warrants there are, and which traffic is a target's; mail (TS 102 232-2).
//!
//! The one invariant: a PDU is in the buffer before its first octet is sent. So its number is never used for
//! other octets, whatever ends the process.
//!
//! ```
//! use ringtap_handover::{
//!     Cin, Content, ContentKind, Direction, Encoder, Identifiers, Liid, Number, OperatorId, TimeFormat,
//! };
//! use ringtap_model::Nanos;
//!
//! let identifiers = Identifiers {
//!     liid: Liid::from_text("LI-2026-17")?,
//!     authorisation: None,
//!     operator: OperatorId::new(b"example")?,
//!     element: None,
//!     delivery: None,
//!     point: None,
//! };
//! let mut encoder = Encoder::new(identifiers, TimeFormat::MicroSeconds, None, Nanos::ZERO);
//! let packet = [0x45; 60];
//! let (at, direction, kind) = (Nanos::from_secs(1), Direction::ToTarget, ContentKind::IpPacket);
//! let content = Content { at, direction, kind, packet: &packet };
//! let mut pdu = Vec::new();
//! encoder.content(Number { cin: Cin(7), sequence: 0 }, &content, &mut pdu)?;
//! assert!(pdu.ends_with(&packet));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | module | what |
//! |---|---|
//! | `identifiers`, `names`, `iri`, `content`, `notification` | what callers give |
//! | `asn1` | the types of the standard's modules, for `rasn` |
//! | `encode` | from values to PDUs: packets by hand, the rest by `rasn` |
//! | `decode` | from PDUs to values, and where a PDU ends in a stream |
//! | `integrity` | hashes and signatures over PDUs |
//! | `delivery` | numbers, the buffer on the disk, the connections |
#![forbid(unsafe_code)]

mod asn1;
mod content;
mod decode;
mod delivery;
mod encode;
mod identifiers;
mod integrity;
mod iri;
mod names;
mod notification;

pub use content::{Content, ContentKind, FrameType, MediaProtocol};
pub use decode::{DecodeError, Pdu, PduPayload, pdu_length};
pub use delivery::{
    BufferKey, Delivery, Ended, HandoverError, LinkCounts, LinkStatus, LossCause, Losses, MediationFunction,
    Pace, Peer, Product, Receipt, Sent, Settings, Tls, Warrant, WarrantKey,
};
pub use encode::{EncodeError, Encoder, Mark, PayloadKey, TimeFormat};
pub use identifiers::{Cin, Direction, Handover, Identifiers, Number};
pub use integrity::{CheckKind, Checked, IntegrityCheck, MOST_INCLUDED};
pub use iri::{
    AccessEvent, AccessIri, AccessType, Assignment, Authentication, EndReason, Iri, IriEvent, IriKind,
    MOST_ADDRESSES, PointOfPresence, SipIri, TargetAddress,
};
pub use names::{CountryCode, ElementId, InterceptionPoint, Liid, NameError, OperatorId};
pub use notification::{Notification, NotificationKind};

/// Most octets of a PDU: more than the largest IP packet or SIP message needs.
pub const MOST_PDU: usize = 256 * 1024;

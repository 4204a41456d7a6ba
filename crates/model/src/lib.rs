//! Plain records and units that every other crate uses: time, addresses, ids, frames, `Call`, `Stream`.
//!
//! Not here: parsing, state, files, sockets, clocks. A value of this crate is data and nothing else.
//!
//! The one invariant: the names under which records serialise are a public contract. Fields may be added,
//! none may change its meaning, and a value that is not known is `null`, never 0 or an empty string.
//!
//! ```
//! use ringtap_model::{Endpoint, Nanos};
//!
//! let at = Nanos::from_micros(1_105_725_482_965_944);
//! assert_eq!((at + Nanos::from_millis(20)).micros(), 1_105_725_482_985_944);
//! assert_eq!(Endpoint::new([192, 0, 2, 1].into(), 5060).to_string(), "192.0.2.1:5060");
//! ```
//!
//! | module | holds |
//! |---|---|
//! | [`units`] | [`Nanos`], [`Hz`] |
//! | [`address`], [`network`] | [`Endpoint`], [`Network`] |
//! | [`id`] | [`Id`], the 128-bit name of a record |
//! | [`frame`] | [`Frame`], one captured packet, and [`LinkType`] |
//! | [`filter`] | [`Filter`]: conditions on records |
//! | [`record`] | [`Record`]: what is known of a record's fields |
//! | `definition` | macros that define each field once |
//! | [`note`], [`direction`] | [`Note`], what an engineer would remark, and [`Direction`] |
//! | [`call`], [`stream`], [`registration`], [`message`], [`transaction`], [`alarm`] | the records |
//! | [`identity`], [`subscriber`] | the record of a subscriber's session; when two names are one subscriber's
//! |
//! | [`outage`] | records of outages and failovers, and of how long services were available |
//! | [`amendment`] | what a later record changes of earlier ones |
#![forbid(unsafe_code)]

pub mod address;
pub mod alarm;
pub mod amendment;
pub mod call;
mod definition;
pub mod direction;
pub mod filter;
pub mod frame;
pub mod id;
pub mod identity;
pub mod message;
pub mod network;
pub mod note;
pub mod outage;
pub mod record;
pub mod registration;
pub mod stream;
pub mod subscriber;
pub mod transaction;
pub mod units;
pub mod user;

pub use address::Endpoint;
pub use alarm::{Alarm, Severity};
pub use amendment::Amendment;
pub use call::{
    Attestation, Call, CallState, Dtmf, DtmfSource, IdentityHeader, IdentityStatus, Join, JoinReason, Party,
    Protocol, QualityReport, QualityReportKind, QualityView, Recorded, Transport,
};
pub use direction::Direction;
pub use filter::{Condition, Filter};
pub use frame::{Frame, LinkType};
pub use id::Id;
pub use identity::{HeldAddress, Identity, SessionBegin, SessionEnd, SessionSource};
pub use message::Message;
pub use network::{Network, NotANetwork};
pub use note::{Note, NoteCode};
pub use outage::{
    AffectedCall, AffectedGap, EvidenceKind, Failover, FailoverCause, FailoverSign, Outage, OutageKind,
    ServiceHour, ServiceRole,
};
pub use record::{Field, FieldShape, FieldType, PartList, Record, Unit, Value};
pub use registration::{Registration, RegistrationState};
pub use stream::{Interval, LostAt, RtcpReport, RtcpReportKind, RttSource, Stream};
pub use transaction::Transaction;
pub use units::{Hz, Nanos};
pub use user::{Failure, MethodCount, User};

//! Tells people and other programs of alarms: by webhook, Alertmanager, mail and SNMP trap.
//!
//! It does not decide which alarms there are, or when somebody is told again: see `ringtap_alarm`.
//!
//! The one invariant: whoever gives a notice to [`Delivery`] never waits for a target, and no secret is in an
//! error or a log line.
//!
//! ```
//! use ringtap_notify::{Http, Protocol, Target};
//!
//! let http = Http { url: "https://example.org/alarms".into(), header_file: None, ca: None };
//! let target = Target { name: "noc".into(), protocol: Protocol::Webhook(http) };
//! assert_eq!((target.check(), target.tcp_port()), (Ok(()), Some(443)));
//! ```
//!
//! | module | holds |
//! |---|---|
//! | `target`, `url` | [`Target`]: who is told, and how |
//! | `notice`, `texts` | [`Notice`]: what they are told |
//! | `sender` | [`Sender`]: delivers a notice, and waits for it |
//! | `http`, `smtp`, `snmp`, `timeouts` | how each is told |
//! | `poster` | [`Poster`] of what is no notice |
//! | `absent` | [`Sender`] and [`Poster`] without the feature `network`: they refuse |
//! | `backoff` | [`Backoff`]: waits between attempts |
//! | `queue` | notices that wait, and [`Counts`] of what became of them |
//! | `delivery` | [`Delivery`]: a thread, its queue and its sender |
//! | `error` | [`NotifyError`] |
#![forbid(unsafe_code)]

#[cfg(not(feature = "network"))]
mod absent;
mod backoff;
mod delivery;
mod error;
#[cfg(feature = "network")]
mod http;
mod notice;
#[cfg(feature = "network")]
mod poster;
mod queue;
#[cfg(feature = "network")]
mod sender;
#[cfg(feature = "network")]
mod smtp;
#[cfg(feature = "network")]
mod snmp;
mod target;
#[cfg(feature = "network")]
mod texts;
#[cfg(feature = "network")]
mod timeouts;
mod url;

#[cfg(not(feature = "network"))]
pub use absent::{Poster, Sender};
pub use backoff::Backoff;
pub use delivery::{Delivery, TargetReport};
pub use error::NotifyError;
pub use notice::{Notice, NoticeKind};
#[cfg(feature = "network")]
pub use poster::Poster;
pub use queue::{Counts, Pace};
#[cfg(feature = "network")]
pub use sender::Sender;
pub use target::{Http, Oid, Protocol, Smtp, Snmp, Target, TargetProblem, Tls};

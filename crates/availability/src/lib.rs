//! Availability: outages of telephone services, from the requests and answers on the wire.
//!
//! [`Monitor`] follows SIP transactions by service (address, port, transport); [`AvailabilityTracker`] does
//! so in an engine and emits [`Findings`] at the end. [`LinkWatch`] follows who has an address, and
//! [`failovers`] joins both. [`effects()`] tells what each failover did to calls and people, out of facts
//! that [`EffectsTracker`] collects beside. [`Watch`] does all of it without an end, from
//! [`Observation`]s and [`CallReport`]s of several engines.
//!
//! Not here: reading of captures, tables for people.
//!
//! The one invariant: time of which packets tell nothing is unobserved. It is never counted as available, nor
//! as an outage.
//!
//! ```
//! use ringtap_availability::{Monitor, Settings};
//!
//! let findings = Monitor::new(Settings::default()).close();
//! assert!(findings.outages.is_empty() && findings.services.is_empty());
//! ```
//!
//! | module | holds |
//! |---|---|
//! | `settings` | when a silence is an outage; ceilings |
//! | `observation`, `call_seen` | what is known of a SIP message; what it tells of its call |
//! | `monitor`, `transactions` | requests and answers of all services |
//! | `service`, `silence`, `refusals` | one service, a time without answers, a time of 500 and 503 only |
//! | `attempts`, `rate` | INVITEs that go elsewhere, users who are registered; bursts of REGISTER |
//! | `link`, `evidence` | owners of addresses, by ARP, advertisements, MAC addresses; what was seen |
//! | `failover` | outages and evidence that belong together, and their cause |
//! | `record`, `rows` | what is reported; the same as records |
//! | `effects` | what failovers did to calls and people |
//! | `watch` | services, links and failovers without an end |
//! | `tracker` | the engine's way in |
#![forbid(unsafe_code)]

mod attempts;
mod call_seen;
mod effects;
mod evidence;
mod failover;
mod link;
mod monitor;
mod observation;
mod rate;
mod record;
mod refusals;
mod rows;
mod service;
mod settings;
mod silence;
mod tracker;
mod transactions;
mod watch;

pub use effects::{
    AffectedCall, AffectedDirection, Attempt, CallFacts, CallReport, Delays, Effect, EffectCounts, Effects,
    EffectsTracker, Ending, Gap, GapLengths, MediaFacts, Observed, RegisterFacts, Release, Totals, effects,
    totals,
};
pub use evidence::{Evidence, EvidenceKind, Mac, Place};
pub use failover::{Cause, Failover, failovers};
pub use link::LinkWatch;
pub use monitor::Monitor;
pub use observation::{Observation, Observer};
pub use record::{Counts, Findings, Outage, OutageKind, Role, ServiceAddress, ServiceSummary};
pub use rows::summaries;
pub use settings::{GIVEN_UP, Settings, T1};
pub use tracker::AvailabilityTracker;
pub use watch::{Figures, Found, Watch};

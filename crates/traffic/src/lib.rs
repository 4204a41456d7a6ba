//! Generates telephone traffic from a scenario: Ethernet frames of SIP calls, registrations and RTP streams
//! in order of time, and the records that a monitor should find in them.
//!
//! Not here: files, sockets, clocks, system randomness. The scenario sets the start time.
//!
//! Invariant: the same scenario gives the same frames, byte for byte, on every machine; the truth counts what
//! was sent, not what was requested.
//!
//! ```
//! use ringtap_traffic::{Mix, Scenario, Traffic, Truth};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let loss = Mix::only("bernoulli:1%".parse()?);
//! let scenario = Scenario { calls: 3, loss, ..Scenario::new(7) };
//! let mut traffic = Traffic::new(scenario)?;
//! let mut frames = 0;
//! while let Some((_time, _frame)) = traffic.next() {
//!     frames += 1;
//! }
//! assert!(frames > 1_000);
//! assert_eq!(traffic.truth().filter(|truth| matches!(truth, Truth::Call(_))).count(), 3);
//! # Ok(())
//! # }
//! ```
//!
//! | module | holds |
//! |---|---|
//! | `scenario` | [`Scenario`], all parameters of the traffic |
//! | `share`, `hold` | its values: [`Share`], [`Mix`], [`HoldingTime`] |
//! | `loss`, `jitter`, `codec` | its values: [`Loss`], [`Jitter`], [`Codec`] |
//! | `traffic`, `batch` | [`Traffic`], the frames, one by one or by the [`Batch`] |
//! | `queue`, `slab` | the next frame of all active calls |
//! | `plan`, `options`, `dialog` | the course of one call, its transport, its messages |
//! | `session`, `reports` | an active call: its messages and its RTCP |
//! | `cross`, `cross_traffic` | [`Cross`], traffic other than telephony, and its packets |
//! | `flood`, `flood_traffic` | [`Flood`], hostile traffic, and its packets |
//! | `background`, `pace` | the packets of both, in order of time |
//! | `sip`, `tcp`, `frame` | messages, segments, frames as bytes |
//! | `sender`, `stream`, `voice`, `g711` | RTP, its way through a network, and its sound |
//! | `truth`, `statistics` | [`Truth`], the records, and how they are counted |
//! | `compare` | [`Comparison`] of a monitor's records with the truth |
//! | `addresses`, `rng` | addresses and numbers reserved for documentation; a seeded random generator |
//! | `error` | [`Error`] |
#![forbid(unsafe_code)]

mod addresses;
mod background;
mod batch;
mod codec;
mod compare;
mod cross;
mod cross_traffic;
mod dialog;
mod error;
mod flood;
mod flood_traffic;
mod frame;
mod g711;
mod hold;
mod jitter;
mod loss;
mod options;
mod pace;
mod plan;
mod queue;
mod reports;
mod rng;
mod scenario;
mod sender;
mod session;
mod share;
mod sip;
mod slab;
mod statistics;
mod stream;
mod tcp;
mod traffic;
mod truth;
mod voice;

pub use batch::Batch;
pub use codec::{Codec, PacketTime};
pub use compare::{CompareError, Comparison, ComparisonReport, RecordCounts, RecordKind, Tolerance};
pub use cross::{Cross, CrossKind, Rate};
pub use error::Error;
pub use flood::{Flood, FloodKind};
pub use hold::HoldingTime;
pub use jitter::Jitter;
pub use loss::Loss;
pub use scenario::{Scenario, Transport};
pub use share::{Mix, ModelShare, Share};
pub use traffic::Traffic;
pub use truth::{CallTruth, LossPlaces, PathTruth, RegistrationTruth, StreamTruth, SummaryTruth, Truth};
pub use voice::Voice;

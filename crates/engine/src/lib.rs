//! Frames in, records out: reassembly, calls, registrations and media streams of one packet source.
//!
//! Not here: files, sockets, threads, clocks. Time comes in with the packet, so the same frames give the same
//! records, every time.
//!
//! The one invariant: every table has a ceiling and a counter for what it turned away.
//!
//! ```
//! use ringtap_engine::{Config, Engine, Sink, StreamEnd};
//! use ringtap_model::{Call, Message, Registration};
//!
//! #[derive(Default)]
//! struct Count(usize);
//! impl Sink for Count {
//!     fn call(&mut self, _: Call, _: Vec<StreamEnd>) { self.0 += 1; }
//!     fn stream(&mut self, _: StreamEnd) {}
//!     fn registration(&mut self, _: Registration) {}
//!     fn message(&mut self, _: Message) {}
//! }
//!
//! let mut engine = Engine::new(Config::default());
//! let mut count = Count::default();
//! engine.batch(&[], &mut count);
//! engine.close(&mut count);
//! assert_eq!(count.0, 0);
//! ```
//!
//! | module | holds |
//! |---|---|
//! | [`config`], [`sink`], [`counters`] | what goes in, where records go, what was counted |
//! | `engine`, `prefetch` | the packet path: frames, the fast path of RTP |
//! | `expiry` | timers that are due: all at once, or a few between packets |
//! | `decode`, `input` | frames to datagrams and messages: reassembly, classification |
//! | `tracker`, `context` | the interface of trackers: what they want, what they are lent |
//! | `trackers` | calls, registrations, transactions outside of calls, streams, RTCP |
//! | `transaction_counts` | those transactions by method and final code |
//! | `media` | the stream table: numbering, jitter, binding to calls, records |
//! | `delivery`, `deferred` | records of calls and streams that have ended, made here or by another thread |
//! | `continued`, `restart` | calls that go on over a restart of the program |
//! | [`team`], `exchange`, `stages`, `media_stage`, `round_robin` | several engines that share the work |
//! | `update` | what signalling tells media, between workers too |
//! | `targets` | addresses whose packets a sink wants |
//! | `memory` | how tables divide their memory |
//! | `table` | tables of fixed size, hashes, timers |
#![forbid(unsafe_code)]

pub mod config;
pub mod counters;
pub mod sink;
pub mod team;

mod address_text;
mod codecs;
mod context;
mod continued;
mod decode;
mod deferred;
mod delivery;
mod engine;
mod exchange;
mod expiry;
mod input;
mod media;
mod media_paths;
mod media_stage;
mod memory;
mod prefetch;
mod restart;
mod round_robin;
mod spare;
mod stages;
mod table;
mod targets;
mod tcp_wants;
#[cfg(test)]
mod testing;
mod text;
mod tracker;
mod trackers;
mod transaction_counts;
mod update;

pub use config::Config;
pub use context::{Context, Datagram, Hop, SipMessage};
pub use continued::{ContinuedCall, ContinuedCodec, ContinuedLeg, ContinuedMedia};
pub use counters::Counters;
pub use deferred::DeferredCall;
pub use delivery::Completer;
pub use engine::Engine;
pub use media::stream_id;
pub use round_robin::RoundRobin;
pub use sink::{
    CallPhase, IntervalSeen, LostTime, RegistrationAttempt, RtcpSeen, RtpSeen, Sink, SipSeen, StreamEnd,
    TargetSeen,
};
pub use table::slots::{Slots, Ticket};
pub use targets::Targets;
pub use tcp_wants::{TcpFraming, TcpWants};
pub use tracker::{Sharing, Tracker, Wants};
pub use transaction_counts::TransactionCounts;
pub use update::{CallNumber, RecordedPackets};

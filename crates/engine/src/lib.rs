//! Frames in, records out: reassembly, calls, registrations and media streams of one packet source.
//!
//! Not here: files, sockets, threads, clocks. Time comes in with the packet, so the same frames give the same records,
//! every time.
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
//! | `engine`, `prefetch` | frames to datagrams, messages and media |
//! | [`team`] | several engines that share the work |
//! | `tracker` | signalling and media together |
//! | `input` | the capture clock; datagrams and messages put together |
//! | `trackers` | calls, registrations, messages, media streams |
//! | `table` | timers and tables |
#![forbid(unsafe_code)]

pub mod config;
pub mod counters;
pub mod sink;
pub mod team;

mod engine;
mod input;
mod prefetch;
mod table;
mod tracker;
mod trackers;

pub use config::Config;
pub use counters::Counters;
pub use engine::Engine;
pub use sink::{CallNumber, CallPhase, RecordedPackets, RtcpSeen, RtpSeen, Sink, SipSeen, StreamEnd};

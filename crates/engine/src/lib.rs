//! Frames in, records out: reassembly, calls, registrations and media streams of one packet source.
#![forbid(unsafe_code)]

pub mod config;
pub mod counters;
pub mod sink;

pub use config::Config;
pub use counters::Counters;
pub use sink::{RtpSeen, Sink, SipSeen, StreamEnd};

use ringtap_model::{Frame, Nanos};

/// The engine.
pub struct Engine { counters: Counters }

impl Engine {
    /// With its tables allocated.
    pub fn new(_config: Config) -> Self { Self { counters: Counters::default() } }
    /// Takes frames in order of capture.
    pub fn batch<S: Sink>(&mut self, _frames: &[Frame<'_>], _sink: &mut S) {}
    /// Tells that time has passed without a frame.
    pub fn tick<S: Sink>(&mut self, _now: Nanos, _sink: &mut S) {}
    /// Ends everything that is under way.
    pub fn close<S: Sink>(&mut self, _sink: &mut S) {}
    /// What was counted so far.
    pub fn counters(&self) -> &Counters { &self.counters }
}

//! An engine for the packets of one call.

use std::hash::{BuildHasher, RandomState};

use ringtap_engine::{Config, Engine, Sink};
use ringtap_model::Frame;

/// Runs `frames` through a new engine. The same frames give the same, ascending serials in each run.
pub fn run<S: Sink>(frames: &[Frame<'_>], config: &Config, sink: &mut S) {
    let mut engine = Engine::new(Config { seed: seed(), ..config.clone() });
    for batch in frames.chunks(512) {
        engine.batch(batch, sink);
    }
    engine.close(sink);
}

/// A seed that no sender of packets knows.
pub(crate) fn seed() -> u64 {
    RandomState::new().hash_one("ringtap")
}

/// Limits for an engine that reads so many packets of one call. They are small because a search exports many
/// calls one after the other.
pub fn small_config(packets: usize) -> Config {
    let few = packets.clamp(64, 100_000);
    Config {
        max_calls: few.min(1_000),
        max_streams: few,
        max_registrations: few.min(1_000),
        max_messages: few.min(1_000),
        max_fragmented: 256,
        max_connections: few.min(1_000),
        seed: seed(),
        ..Config::default()
    }
}

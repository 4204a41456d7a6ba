//! Reads a call's packets in order of time, any number of times, with a few hundred in memory at once.

use ringtap_engine::{Config, Engine, Sink};
use ringtap_model::Frame;
use ringtap_spool::Reader;

use crate::batch::{BATCH, OnBatch};
use crate::call_packets::{CallPackets, SpoolPass};
use crate::engine::small_config;

/// Source of a call's packets.
pub enum Source<'a> {
    /// Reads them from the spool in each pass.
    Spool {
        /// Position of the packets.
        packets: &'a CallPackets,
        /// Reader of the spool.
        reader: &'a mut Reader,
    },
    /// Reads them from memory.
    Frames(&'a [Frame<'a>]),
}

impl Source<'_> {
    /// Passes all packets to `on_batch`, numbered from 1.
    pub fn for_each_batch(&mut self, on_batch: OnBatch<'_>) -> anyhow::Result<()> {
        match self {
            Self::Frames(frames) => frames.chunks(BATCH).try_for_each(on_batch),
            Self::Spool { packets, reader } => {
                SpoolPass::new(packets, reader).for_each_batch(on_batch).map(drop)
            }
        }
    }

    /// Runs the packets through a new engine. The same packets give the same, ascending serials in each run.
    pub fn run<S: Sink>(&mut self, sink: &mut S) -> anyhow::Result<()> {
        let config = self.config();
        let mut engine = Engine::new(config);
        self.for_each_batch(&mut |frames| {
            engine.batch(frames, sink);
            Ok(())
        })?;
        engine.close(sink);
        Ok(())
    }

    fn config(&self) -> Config {
        match self {
            Self::Spool { packets, .. } => small_config(packets.packet_limit()),
            Self::Frames(frames) => small_config(frames.len()),
        }
    }
}

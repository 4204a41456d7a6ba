//! Reads a call's packets in order of time, any number of times, with a few hundred in memory at once.

use std::collections::BTreeMap;

use ringtap_engine::{Config, Engine, Sink};
use ringtap_model::{Frame, LinkType, Nanos};
use ringtap_spool::{MissingChunks, OrderedPackets, Reader};

use crate::call_packets::{CallPackets, PacketCount};
use crate::connections::ConnectionBuilder;
use crate::replay::small;

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

/// Called with each batch of packets.
pub type OnBatch<'a> = &'a mut dyn FnMut(&[Frame<'_>]) -> anyhow::Result<()>;

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
            Self::Spool { packets, .. } => small(packets.packet_limit()),
            Self::Frames(frames) => small(frames.len()),
        }
    }
}

/// One pass over a call's packets in the spool.
pub struct SpoolPass<'a> {
    packets: &'a CallPackets,
    ordered: OrderedPackets<'a>,
    connections: Option<ConnectionBuilder>,
    counts: Vec<PacketCount>,
}

/// Counts of a finished pass.
pub struct PassResult {
    /// Packets of each part.
    pub counts: Vec<PacketCount>,
    /// Missing chunks by owner key.
    pub missing: BTreeMap<u64, MissingChunks>,
    /// Packets passed on, after connections were rebuilt.
    pub packets: u64,
}

impl<'a> SpoolPass<'a> {
    /// Starts a pass.
    pub fn new(packets: &'a CallPackets, spool: &'a mut Reader) -> Self {
        let counts = vec![PacketCount::default(); packets.parts.len()];
        let connections = packets.connection_builder();
        Self { packets, ordered: spool.in_order(&packets.chunks), connections, counts }
    }

    /// Passes all packets to `on_batch`.
    pub fn for_each_batch(mut self, on_batch: OnBatch<'_>) -> anyhow::Result<PassResult> {
        let (mut batch, mut packets) = (FrameBuffer::default(), 0);
        while let Some((owner, link, packet)) = self.ordered.next_packet()? {
            if !self.packets.count(owner, link, &packet, &mut self.counts) {
                continue;
            }
            let frame =
                Frame { time: packet.time, number: 0, link, wire_len: packet.wire_len, data: packet.data };
            match &mut self.connections {
                Some(builder) => builder.push(&frame, &mut |frame| batch.push(frame)),
                None => batch.push(&frame),
            }
            if batch.frames.len() >= BATCH {
                packets = batch.flush(packets, on_batch)?;
            }
        }
        packets = batch.flush(packets, on_batch)?;
        Ok(PassResult { counts: self.counts, missing: self.ordered.lacks().clone(), packets })
    }
}

/// Packets in memory, their bytes in one buffer.
#[derive(Default)]
pub struct FrameBuffer {
    frames: Vec<(Nanos, LinkType, u32, std::ops::Range<usize>)>,
    bytes: Vec<u8>,
}

impl FrameBuffer {
    /// Appends a packet.
    pub fn push(&mut self, frame: &Frame<'_>) {
        let from = self.bytes.len();
        self.bytes.extend_from_slice(frame.data);
        self.frames.push((frame.time, frame.link, frame.wire_len, from..self.bytes.len()));
    }

    /// All packets, numbered from 1.
    pub fn frames(&self) -> Vec<Frame<'_>> {
        self.numbered(1)
    }

    fn numbered(&self, first: u64) -> Vec<Frame<'_>> {
        let frames = self.frames.iter().zip(first..);
        let frames = frames.map(|((time, link, wire_len, range), number)| Frame {
            time: *time,
            number,
            link: *link,
            wire_len: *wire_len,
            data: &self.bytes[range.clone()],
        });
        frames.collect()
    }

    /// Passes the packets to `on_batch`, numbered from `before` + 1, and empties the buffer. Returns the last
    /// number.
    fn flush(&mut self, before: u64, on_batch: OnBatch<'_>) -> anyhow::Result<u64> {
        let frames = self.numbered(before + 1);
        let last = before + frames.len() as u64;
        if !frames.is_empty() {
            on_batch(&frames)?;
        }
        self.frames.clear();
        self.bytes.clear();
        Ok(last)
    }
}

/// Packets in a batch.
const BATCH: usize = 512;

//! A call's packets in order of time, as often as one likes, a few hundred in memory at once.

use std::collections::BTreeMap;

use ringtap_engine::{Config, Engine, Sink};
use ringtap_model::{Frame, LinkType, Nanos};
use ringtap_spool::{MissingChunks, OrderedPackets, Reader};

use crate::joined::Joiner;
use crate::kept::{Count, Kept};
use crate::replay::small;

/// Where the packets come from.
pub enum Source<'a> {
    /// Out of the spool, anew each time.
    Kept {
        /// Its packets, found before.
        kept: &'a Kept,
        /// Where they are read.
        spool: &'a mut Reader,
    },
    /// Out of memory.
    Frames(&'a [Frame<'a>]),
}

/// Takes what the next batch of packets is.
pub type Take<'a> = &'a mut dyn FnMut(&[Frame<'_>]) -> anyhow::Result<()>;

impl Source<'_> {
    /// Gives all of them, numbered from 1.
    pub fn each(&mut self, take: Take<'_>) -> anyhow::Result<()> {
        match self {
            Self::Frames(frames) => frames.chunks(BATCH).try_for_each(take),
            Self::Kept { kept, spool } => Pass::new(kept, spool).each(take).map(drop),
        }
    }

    /// Runs them through an engine: the same packets give the same serials, time after time, ascending.
    pub fn run<S: Sink>(&mut self, sink: &mut S) -> anyhow::Result<()> {
        let config = self.config();
        let mut engine = Engine::new(config);
        self.each(&mut |frames| {
            engine.batch(frames, sink);
            Ok(())
        })?;
        engine.close(sink);
        Ok(())
    }

    fn config(&self) -> Config {
        match self {
            Self::Kept { kept, .. } => small(kept.most()),
            Self::Frames(frames) => small(frames.len()),
        }
    }
}

/// One way through what the spool has of a call.
pub struct Pass<'a> {
    kept: &'a Kept,
    ordered: OrderedPackets<'a>,
    joiner: Option<Joiner>,
    counts: Vec<Count>,
}

/// What a pass found.
pub struct Passed {
    /// By part.
    pub counts: Vec<Count>,
    /// By owner.
    pub lacks: BTreeMap<u64, MissingChunks>,
    /// Packets that were given.
    pub packets: u64,
}

impl<'a> Pass<'a> {
    /// Begins one.
    pub fn new(kept: &'a Kept, spool: &'a mut Reader) -> Self {
        let counts = vec![Count::default(); kept.parts.len()];
        Self { kept, ordered: spool.in_order(&kept.chunks), joiner: kept.joiner(), counts }
    }

    /// Gives all packets.
    pub fn each(mut self, take: Take<'_>) -> anyhow::Result<Passed> {
        let (mut batch, mut packets) = (Whole::default(), 0);
        while let Some((owner, link, packet)) = self.ordered.next_packet()? {
            if !self.kept.place(owner, link, &packet, &mut self.counts) {
                continue;
            }
            let frame =
                Frame { time: packet.time, number: 0, link, wire_len: packet.wire_len, data: packet.data };
            match &mut self.joiner {
                Some(joiner) => joiner.frame(&frame, &mut |frame| batch.push(frame)),
                None => batch.push(&frame),
            }
            if batch.frames.len() >= BATCH {
                packets = batch.give(packets, take)?;
            }
        }
        packets = batch.give(packets, take)?;
        Ok(Passed { counts: self.counts, lacks: self.ordered.lacks().clone(), packets })
    }
}

/// Packets, and their bytes one behind the other.
#[derive(Default)]
pub struct Whole {
    frames: Vec<(Nanos, LinkType, u32, std::ops::Range<usize>)>,
    bytes: Vec<u8>,
}

impl Whole {
    /// Adds a packet behind the others.
    pub fn push(&mut self, frame: &Frame<'_>) {
        let from = self.bytes.len();
        self.bytes.extend_from_slice(frame.data);
        self.frames.push((frame.time, frame.link, frame.wire_len, from..self.bytes.len()));
    }

    /// Numbered from 1.
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

    /// Gives them away, with numbers behind those that were given before; the last one.
    fn give(&mut self, before: u64, take: Take<'_>) -> anyhow::Result<u64> {
        let frames = self.numbered(before + 1);
        let last = before + frames.len() as u64;
        if !frames.is_empty() {
            take(&frames)?;
        }
        self.frames.clear();
        self.bytes.clear();
        Ok(last)
    }
}

/// Packets at a time.
const BATCH: usize = 512;

//! Batches of packets, as the readers of a call's packets pass them on.

use ringtap_model::{Frame, LinkType, Nanos};

/// Called with each batch of packets.
pub type OnBatch<'a> = &'a mut dyn FnMut(&[Frame<'_>]) -> anyhow::Result<()>;

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

    /// How many packets are in memory.
    pub(crate) fn len(&self) -> usize {
        self.frames.len()
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
    pub(crate) fn flush(&mut self, before: u64, on_batch: OnBatch<'_>) -> anyhow::Result<u64> {
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
pub(crate) const BATCH: usize = 512;

//! Frames that stay in memory.

use ringtap_model::{Frame, LinkType, Nanos};

/// Frames with their data, in one block of memory.
#[derive(Clone, Debug, Default)]
pub struct OwnedFrames {
    bytes: Vec<u8>,
    frames: Vec<OwnedFrame>,
}

/// A frame whose data end at `end`, and begin where those of the frame before it end.
#[derive(Clone, Copy, Debug)]
struct OwnedFrame {
    time: Nanos,
    number: u64,
    link: LinkType,
    wire_len: u32,
    end: usize,
}

impl OwnedFrames {
    /// Adds a copy of a frame.
    pub fn push(&mut self, frame: &Frame<'_>) {
        self.bytes.extend_from_slice(frame.data);
        let Frame { time, number, link, wire_len, .. } = *frame;
        self.frames.push(OwnedFrame { time, number, link, wire_len, end: self.bytes.len() });
    }

    /// Number of frames.
    pub fn len(&self) -> usize {
        self.frames.len()
    }

    /// Whether there is no frame.
    pub fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }

    /// The frames, in the order in which they were added.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Frame<'_>> {
        let mut begin = 0;
        self.frames.iter().map(move |&OwnedFrame { time, number, link, wire_len, end }| {
            let data = &self.bytes[begin..end];
            begin = end;
            Frame { time, number, link, wire_len, data }
        })
    }

    /// Removes all frames and keeps their memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.frames.clear();
    }
}

impl<'a> Extend<Frame<'a>> for OwnedFrames {
    fn extend<I: IntoIterator<Item = Frame<'a>>>(&mut self, frames: I) {
        frames.into_iter().for_each(|frame| self.push(&frame));
    }
}

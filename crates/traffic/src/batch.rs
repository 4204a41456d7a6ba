//! Frames by the batch.

use ringtap_model::Nanos;

/// Frames in one reusable block of memory.
#[derive(Clone, Debug)]
pub struct Batch {
    bytes: Vec<u8>,
    /// Capture time and end offset of each frame.
    frames: Vec<(Nanos, u32)>,
    most: usize,
}

impl Batch {
    /// Room for `frames` frames, at least one.
    pub fn new(frames: usize) -> Self {
        let most = frames.max(1);
        Self { bytes: Vec::with_capacity(most * TYPICAL), frames: Vec::with_capacity(most), most }
    }

    /// Number of frames.
    pub fn len(&self) -> usize {
        self.frames.len()
    }

    /// Whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }

    /// Bytes of all frames.
    pub fn bytes(&self) -> usize {
        self.bytes.len()
    }

    /// The frames, from their Ethernet headers on, with their capture times.
    pub fn frames(&self) -> impl ExactSizeIterator<Item = (Nanos, &[u8])> {
        let mut begin = 0;
        self.frames.iter().map(move |(at, end)| {
            let frame = &self.bytes[begin..*end as usize];
            begin = *end as usize;
            (*at, frame)
        })
    }

    /// Removes all frames.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.frames.clear();
    }

    pub(crate) fn has_room(&self) -> bool {
        self.frames.len() < self.most && self.bytes.len() < MAX_OCTETS
    }

    pub(crate) fn push(&mut self, at: Nanos, frame: &[u8]) {
        self.bytes.extend_from_slice(frame);
        self.frames.push((at, self.bytes.len() as u32));
    }
}

const TYPICAL: usize = 256;
/// Offsets have 32 bits.
const MAX_OCTETS: usize = 1 << 30;

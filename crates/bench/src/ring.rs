//! Frames in memory as in a capture ring: contiguous, each after its time and length.

use ringtap_model::{Frame, LinkType, Nanos};

/// Time; captured length, length on the wire and link type.
const HEADER: usize = 16;
/// Longest frame.
const LONGEST: u64 = (1 << 24) - 1;
/// Alignment of frames, as in a kernel ring (TPACKET_ALIGNMENT).
const ALIGNMENT: usize = 16;
/// LINKTYPE_ETHERNET.
pub(crate) const ETHERNET: LinkType = LinkType(1);

/// Frames in contiguous memory.
pub(crate) struct Ring {
    memory: Vec<u8>,
    frames: u64,
    bytes: u64,
    /// Number of the frame before the first.
    before: u64,
}

/// A position between two frames.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Position {
    offset: usize,
    frames: u64,
    bytes: u64,
}

impl Ring {
    /// An empty ring with room for `frames` frames of `frame_bytes` bytes in all.
    pub(crate) fn with_capacity(frames: usize, frame_bytes: usize) -> Self {
        let capacity = frames * (HEADER + frame_bytes).next_multiple_of(ALIGNMENT);
        Self { memory: Vec::with_capacity(capacity), frames: 0, bytes: 0, before: 0 }
    }

    /// Numbers its frames after `before`, so that several rings have unique numbers.
    pub(crate) fn numbered_after(self, before: u64) -> Self {
        Self { before, ..self }
    }

    /// Appends a whole Ethernet frame.
    pub(crate) fn push(&mut self, time: Nanos, data: &[u8]) {
        self.append(&Frame { time, number: 0, link: ETHERNET, wire_len: data.len() as u32, data });
    }

    /// Appends a captured frame.
    pub(crate) fn append(&mut self, frame: &Frame<'_>) {
        let Frame { time, link, wire_len, data, .. } = *frame;
        let data = &data[..data.len().min(LONGEST as usize)];
        let word = u64::from(link.0) << 48 | (u64::from(wire_len) & LONGEST) << 24 | data.len() as u64;
        self.memory.extend(time.0.to_le_bytes());
        self.memory.extend(word.to_le_bytes());
        self.memory.extend_from_slice(data);
        self.memory.resize(self.memory.len().next_multiple_of(ALIGNMENT), 0);
        self.frames += 1;
        self.bytes += data.len() as u64;
    }

    /// Number of frames.
    pub(crate) fn len(&self) -> u64 {
        self.frames
    }

    /// Bytes of its frames.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The position after the last frame.
    pub(crate) fn mark(&self) -> Position {
        Position { offset: self.memory.len(), frames: self.frames, bytes: self.bytes }
    }

    /// All frames.
    pub(crate) fn whole(&self) -> FrameRange<'_> {
        self.between(Position::default(), self.mark())
    }

    /// The frames between two positions.
    pub(crate) fn between(&self, from: Position, to: Position) -> FrameRange<'_> {
        FrameRange {
            memory: &self.memory[from.offset..to.offset],
            first: self.before + from.frames + 1,
            frames: to.frames - from.frames,
            bytes: to.bytes - from.bytes,
        }
    }

    /// Modifies the time and bytes of every frame.
    pub(crate) fn each(&mut self, mut change: impl FnMut(&mut Nanos, &mut [u8])) {
        let mut rest = &mut self.memory[..];
        while let Some((head, behind)) = rest.split_at_mut_checked(HEADER) {
            let (mut time, word) = read(head);
            let len = length(word);
            let (frame, behind) = behind.split_at_mut(padded(len));
            change(&mut time, &mut frame[..len]);
            head[..8].copy_from_slice(&time.0.to_le_bytes());
            rest = behind;
        }
    }
}

/// Consecutive frames of a ring.
#[derive(Clone, Copy)]
pub(crate) struct FrameRange<'a> {
    memory: &'a [u8],
    first: u64,
    /// Number of frames.
    pub(crate) frames: u64,
    /// Their bytes in all.
    pub(crate) bytes: u64,
}

impl<'a> FrameRange<'a> {
    /// Calls `take` for each frame.
    #[inline]
    pub(crate) fn each(&self, mut take: impl FnMut(Frame<'a>)) {
        let mut rest = self.memory;
        let mut number = self.first;
        while let Some((head, behind)) = rest.split_at_checked(HEADER) {
            let (time, word) = read(head);
            let len = length(word);
            let link = LinkType((word >> 48) as u16);
            let wire_len = (word >> 24 & LONGEST) as u32;
            take(Frame { time, number, link, wire_len, data: &behind[..len] });
            number += 1;
            rest = &behind[padded(len)..];
        }
    }

    /// Calls `take` for batches of frames, as a capture source does, which also prefetches the frames to be
    /// read next.
    #[inline]
    pub(crate) fn batches(&self, size: usize, mut take: impl FnMut(&[Frame<'a>])) {
        let mut batch = Vec::with_capacity(size);
        self.each(|frame| {
            prefetch(frame.data);
            batch.push(frame);
            if batch.len() == size {
                take(&batch);
                batch.clear();
            }
        });
        if !batch.is_empty() {
            take(&batch);
        }
    }
}

/// Prefetches frames after this one, as far ahead as the readers of `capture` do.
#[inline(always)]
fn prefetch(data: &[u8]) {
    for line in 0..LINES {
        ringtap_cpu::prefetch_byte(data, AHEAD + line * ringtap_cpu::LINE);
    }
}

/// Distance in bytes.
const AHEAD: usize = 1024;
/// Cache lines of a voice packet.
const LINES: usize = 4;

#[inline]
fn read(head: &[u8]) -> (Nanos, u64) {
    let word = |at: usize| head[at..].first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
    (Nanos(word(0)), word(8))
}

#[inline]
fn length(word: u64) -> usize {
    (word & LONGEST) as usize
}

/// Bytes from the end of a frame's header to the next frame.
#[inline]
fn padded(len: usize) -> usize {
    len.next_multiple_of(ALIGNMENT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_goes_in_comes_out() {
        let mut ring = Ring::with_capacity(3, 20);
        for (time, frame) in [(1, &[7; 20][..]), (2, &[8; 1]), (3, &[9; 32])] {
            ring.push(Nanos(time), frame);
        }
        let mark = ring.mark();
        ring.push(Nanos(4), &[10; 5]);
        ring.each(|time, frame| {
            *time += Nanos(10);
            frame[0] += 1;
        });
        let mut found = Vec::new();
        ring.whole().each(|frame| found.push((frame.time.0, frame.data[0], frame.data.len())));
        assert_eq!(found, [(11, 8, 20), (12, 9, 1), (13, 10, 32), (14, 11, 5)]);
        assert_eq!((ring.len(), ring.bytes()), (4, 58));
        let mut batches = Vec::new();
        ring.whole()
            .batches(3, |batch| batches.push(batch.iter().map(|frame| frame.number).collect::<Vec<_>>()));
        assert_eq!(batches, [vec![1, 2, 3], vec![4]]);
        let behind = ring.between(mark, ring.mark());
        assert_eq!((behind.frames, behind.bytes), (1, 5));
        behind.batches(8, |batch| assert_eq!((batch.len(), batch[0].number, batch[0].time.0), (1, 4, 14)));
    }
}

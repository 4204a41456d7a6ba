//! Frames on their way from one thread to another.

use std::sync::atomic::{AtomicU64, Ordering};

use ringtap_model::{Frame, LinkType, Nanos};

use crate::words::{Head, Words};

/// A frame out of a [`FrameRing`] or a [`FrameHistory`](crate::FrameHistory), with bytes of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PassedFrame {
    /// Capture time.
    pub time: Nanos,
    /// Its number.
    pub number: u64,
    /// What its bytes begin with.
    pub link: LinkType,
    /// Its length when it was sent.
    pub wire_len: u32,
    /// Its captured bytes.
    pub data: Vec<u8>,
    /// Of a ring: whether it may change who is a target's (signalling). Of a history: whether it was passed
    /// on.
    pub is_marked: bool,
}

impl PassedFrame {
    pub(crate) fn new(head: &Head, data: Vec<u8>) -> Self {
        let Head { time, number, link, wire_len, is_marked, .. } = *head;
        Self { time, number, link, wire_len, data, is_marked }
    }

    /// As engines take it.
    pub fn frame(&self) -> Frame<'_> {
        let Self { time, number, link, wire_len, data, .. } = self;
        Frame { time: *time, number: *number, link: *link, wire_len: *wire_len, data }
    }
}

/// Frames from one thread to another, in order, in memory of a fixed size: what finds no room is counted.
#[derive(Debug)]
pub struct FrameRing {
    words: Words,
    /// Where the writer goes on.
    head: AtomicU64,
    /// Where the reader goes on.
    tail: AtomicU64,
    dropped: AtomicU64,
}

impl FrameRing {
    /// Of so many bytes, or up to half of it.
    pub fn new(bytes: u64) -> Self {
        Self {
            words: Words::new(bytes),
            head: AtomicU64::new(0),
            tail: AtomicU64::new(0),
            dropped: AtomicU64::new(0),
        }
    }

    /// Keeps it out of swap space and core dumps. Whether the system does.
    pub fn keep_in_memory(&mut self) -> bool {
        self.words.keep_in_memory()
    }

    /// Passes a frame on; false, and counted, if there is no room. One thread alone.
    // HOT: once a frame that is passed on.
    pub fn push(&self, frame: &Frame<'_>, is_marked: bool) -> bool {
        let head = Head::of(frame, is_marked);
        let place = self.head.load(Ordering::Relaxed);
        let end = place + head.words();
        if end - self.tail.load(Ordering::Acquire) > self.words.len() {
            self.dropped.fetch_add(1, Ordering::Relaxed);
            return false;
        }
        self.words.put(place, &head, frame.data);
        self.head.store(end, Ordering::Release);
        true
    }

    /// Counts a frame that could not even be built.
    pub fn count_dropped(&self) {
        self.dropped.fetch_add(1, Ordering::Relaxed);
    }

    /// The next frame. One thread alone.
    pub fn pop(&self) -> Option<PassedFrame> {
        let place = self.tail.load(Ordering::Relaxed);
        if place == self.head.load(Ordering::Acquire) {
            return None;
        }
        let head = self.words.head(place);
        let mut data = Vec::with_capacity(head.len as usize + 7);
        self.words.data(place, &head, &mut data);
        self.tail.store(place + head.words(), Ordering::Release);
        Some(PassedFrame::new(&head, data))
    }

    /// Frames that found no room so far.
    pub fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn frame(number: u64, data: &[u8]) -> Frame<'_> {
        Frame { time: Nanos(number * 10), number, link: LinkType(101), wire_len: 2000, data }
    }

    proptest! {
        /// Whatever the sizes and however often it is read: all that was accepted, in order, and no more.
        #[test]
        fn what_is_accepted_comes_out_as_it_was(steps in prop::collection::vec(
            (prop::collection::vec(any::<u8>(), 0..9000), any::<bool>(), 0usize..4), 1..60,
        )) {
            let ring = FrameRing::new(1);
            let (mut expected, mut dropped) = (std::collections::VecDeque::new(), 0);
            for (number, (data, is_marked, reads)) in (1..).zip(steps) {
                if ring.push(&frame(number, &data), is_marked) {
                    expected.push_back((number, data, is_marked));
                } else {
                    dropped += 1;
                }
                for _ in 0..reads {
                    let passed = ring.pop();
                    let expected = expected.pop_front().map(|(number, data, is_marked)| {
                        PassedFrame::new(&Head::of(&frame(number, &data), is_marked), data.clone())
                    });
                    prop_assert_eq!(passed, expected);
                }
            }
            prop_assert_eq!(ring.dropped(), dropped);
        }
    }

    #[test]
    fn a_full_ring_counts_what_it_cannot_take() {
        let ring = FrameRing::new(1);
        let data = vec![7; 40_000];
        assert!(ring.push(&frame(1, &data), true) && !ring.push(&frame(2, &data), true));
        assert_eq!(ring.dropped(), 1);
        assert_eq!(ring.pop().map(|frame| (frame.number, frame.data.len())), Some((1, 40_000)));
        assert!(ring.push(&frame(3, &data), false));
    }
}

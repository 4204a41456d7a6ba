//! Many files in order of time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use ringtap_model::{Frame, Nanos};

use crate::{Capture, Damage, Frames};

/// The frames of several captures, merged by the time of each file's next frame and numbered anew from 1.
///
/// The order within a file never changes, also where its times go back; of equal times the earlier capture comes first.
#[derive(Clone, Debug)]
pub struct Merge<'a> {
    sources: Vec<Source<'a>>,
    /// Every source that has a head, but the current one.
    waiting: BinaryHeap<Reverse<(Nanos, usize)>>,
    /// The source that gave the last frame; while it stays the earliest, the heap is not touched.
    current: Option<usize>,
    number: u64,
}

#[derive(Clone, Debug)]
struct Source<'a> {
    frames: Frames<'a>,
    head: Option<Frame<'a>>,
}

impl<'a> Merge<'a> {
    /// At the first frame of the earliest capture.
    pub fn new(captures: &'a [Capture]) -> Self {
        let mut sources = Vec::with_capacity(captures.len());
        let mut waiting = BinaryHeap::with_capacity(captures.len());
        for (index, capture) in captures.iter().enumerate() {
            let mut frames = capture.frames();
            let head = frames.next();
            waiting.extend(head.map(|frame| Reverse((frame.time, index))));
            sources.push(Source { frames, head });
        }
        let current = waiting.pop().map(|Reverse((_, index))| index);
        Self { sources, waiting, current, number: 0 }
    }

    /// Where captures turned out to be damaged so far, with their indices; complete once the iterator has ended.
    pub fn damages(&self) -> Vec<(usize, Damage)> {
        let damage = |(index, source): (usize, &Source<'a>)| Some((index, source.frames.damage()?));
        self.sources.iter().enumerate().filter_map(damage).collect()
    }

    /// Bytes consumed of all captures, out of the sum of their sizes.
    pub fn offset(&self) -> u64 {
        self.sources.iter().map(|source| source.frames.offset()).sum()
    }
}

impl<'a> Iterator for Merge<'a> {
    type Item = Frame<'a>;

    #[inline]
    fn next(&mut self) -> Option<Frame<'a>> {
        let index = self.current?;
        let source = self.sources.get_mut(index)?;
        let frame = source.head.take()?;
        source.head = source.frames.next();
        self.current = match source.head {
            Some(head) => Some(self.earliest((head.time, index))),
            None => self.waiting.pop().map(|Reverse((_, index))| index),
        };
        self.number += 1;
        Some(Frame { number: self.number, ..frame })
    }
}

impl Merge<'_> {
    /// The index of whichever comes first: the key given or one that waits, whose place the key then takes.
    #[inline]
    fn earliest(&mut self, key: (Nanos, usize)) -> usize {
        match self.waiting.peek_mut() {
            Some(mut first) if first.0 < key => std::mem::replace(&mut *first, Reverse(key)).0.1,
            _ => key.1,
        }
    }
}

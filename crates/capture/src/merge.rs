//! Many files in order of time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use ringtap_model::{Frame, Nanos};

use crate::{Capture, Damage, Frames};

/// The frames of several captures, merged by the time of each file's next frame and numbered anew from 1.
///
/// The order within a file never changes, even if its times go back; at equal times the earlier capture comes
/// first.
#[derive(Clone, Debug)]
pub struct Merge<'a> {
    inputs: Vec<Input<'a>>,
    /// Every input with a next frame, except the current one.
    waiting: BinaryHeap<Reverse<(Nanos, usize)>>,
    /// The input that gave the last frame; while it stays the earliest, the heap is not touched.
    current: Option<usize>,
    number: u64,
}

#[derive(Clone, Debug)]
struct Input<'a> {
    frames: Frames<'a>,
    head: Option<Frame<'a>>,
}

impl<'a> Merge<'a> {
    /// Starts at the earliest frame.
    pub fn new(captures: &'a [Capture]) -> Self {
        let mut inputs = Vec::with_capacity(captures.len());
        let mut waiting = BinaryHeap::with_capacity(captures.len());
        for (index, capture) in captures.iter().enumerate() {
            let mut frames = capture.frames();
            let head = frames.next();
            waiting.extend(head.map(|frame| Reverse((frame.time, index))));
            inputs.push(Input { frames, head });
        }
        let current = waiting.pop().map(|Reverse((_, index))| index);
        Self { inputs, waiting, current, number: 0 }
    }

    /// Damage found in the captures so far, with their indices; complete once the iterator has ended.
    pub fn damages(&self) -> Vec<(usize, Damage)> {
        let damage = |(index, input): (usize, &Input<'a>)| Some((index, input.frames.damage()?));
        self.inputs.iter().enumerate().filter_map(damage).collect()
    }

    /// Bytes consumed of all captures, out of the sum of their sizes.
    pub fn offset(&self) -> u64 {
        self.inputs.iter().map(|input| input.frames.offset()).sum()
    }
}

impl<'a> Iterator for Merge<'a> {
    type Item = Frame<'a>;

    #[inline]
    fn next(&mut self) -> Option<Frame<'a>> {
        let frame = match &mut self.inputs[..] {
            // A single input needs no comparison.
            [only] => only.head.take().or_else(|| only.frames.next())?,
            _ => self.first()?,
        };
        self.number += 1;
        Some(Frame { number: self.number, ..frame })
    }
}

impl<'a> Merge<'a> {
    /// The earliest of the heads.
    #[inline]
    fn first(&mut self) -> Option<Frame<'a>> {
        let index = self.current?;
        let input = self.inputs.get_mut(index)?;
        let frame = input.head.take()?;
        input.head = input.frames.next();
        self.current = match input.head {
            Some(head) => Some(self.earliest((head.time, index))),
            None => self.waiting.pop().map(|Reverse((_, index))| index),
        };
        Some(frame)
    }

    /// The index of the earliest: `key` or a waiting one, which `key` then replaces in the heap.
    #[inline]
    fn earliest(&mut self, key: (Nanos, usize)) -> usize {
        match self.waiting.peek_mut() {
            Some(mut first) if first.0 < key => std::mem::replace(&mut *first, Reverse(key)).0.1,
            _ => key.1,
        }
    }
}

#[cfg(test)]
mod tests {
    use ringtap_model::LinkType;

    use super::*;
    use crate::Writer;

    /// A capture with a packet at each of the seconds, whose data is the capture's letter.
    fn capture(letter: u8, seconds: &[u64]) -> Capture {
        let mut writer = Writer::new(Vec::new(), &[LinkType(1)]).expect("a vector takes everything");
        for second in seconds {
            let time = Nanos::from_secs(*second);
            let frame = Frame { time, number: 0, link: LinkType(1), wire_len: 1, data: &[letter] };
            writer.write(&frame).expect("a vector takes everything");
        }
        let bytes = writer.finish().expect("a vector takes everything");
        Capture::from_bytes("test", bytes).expect("a capture")
    }

    fn letters(captures: &[Capture]) -> String {
        Merge::new(captures).map(|frame| char::from(frame.data[0])).collect()
    }

    #[test]
    fn by_time_then_by_place() {
        let captures =
            [capture(b'a', &[1, 4, 4, 9]), capture(b'b', &[1, 2, 4]), capture(b'c', &[4, 5, 10, 11])];
        assert_eq!(letters(&captures), "abbaabccacc");
        let numbers: Vec<u64> = Merge::new(&captures).map(|frame| frame.number).collect();
        assert_eq!(numbers, (1..=11).collect::<Vec<_>>());
    }

    #[test]
    fn the_order_inside_a_capture_stays() {
        let captures = [capture(b'a', &[5, 1, 9]), capture(b'b', &[2, 6])];
        assert_eq!(letters(&captures), "baaba");
    }

    #[test]
    fn none_empty_and_one() {
        assert_eq!(letters(&[]), "");
        assert_eq!(letters(&[capture(b'a', &[])]), "");
        assert_eq!(letters(&[capture(b'a', &[]), capture(b'b', &[3, 1])]), "bb");
    }

    #[test]
    fn offsets_and_damages_are_told() {
        let whole = capture(b'a', &[1, 2]);
        let mut merge_input = vec![whole];
        let mut writer = Writer::new(Vec::new(), &[LinkType(1)]).expect("a vector takes everything");
        let frame = Frame { time: Nanos(1), number: 0, link: LinkType(1), wire_len: 1, data: b"b" };
        writer.write(&frame).expect("a vector takes everything");
        let mut bytes = writer.finish().expect("a vector takes everything");
        bytes.extend([0; 5]);
        merge_input.push(Capture::from_bytes("cut", bytes).expect("a capture"));

        let mut merge = Merge::new(&merge_input);
        assert_eq!(merge.by_ref().count(), 3);
        let damage = Damage { offset: 41, kind: crate::DamageKind::Truncated };
        assert_eq!(merge.damages(), [(1, damage)]);
        assert_eq!(merge.offset(), merge_input[0].size() + 41);
    }
}

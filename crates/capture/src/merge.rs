//! Many files in order of time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use ringtap_model::{Frame, Nanos};

use crate::frames::{Cursor, FrameChoice, MOST_RESERVED};
use crate::owned_frames::OwnedFrames;
use crate::shared_frames::{SharedFrame, SharedFrames};
use crate::window::Window;
use crate::{Capture, Damage};

/// The frames of several captures, merged by the time of each file's next frame and numbered anew from 1.
///
/// The order within a file never changes, even if its times go back; at equal times the earlier capture comes
/// first.
#[derive(Debug)]
pub struct Merge {
    windows: Vec<Window>,
    cursors: Vec<Cursor>,
    /// Every input with a next frame, except the current one.
    waiting: BinaryHeap<Reverse<(Nanos, usize)>>,
    /// The input that has the next frame; while it stays the earliest, the heap is not touched.
    current: Option<usize>,
    /// Inputs whose next frame is not known.
    unknown: Vec<usize>,
    number: u64,
}

impl Merge {
    /// Starts at the earliest frame.
    pub fn new(captures: &[Capture]) -> Self {
        let (windows, cursors): (Vec<_>, Vec<_>) =
            captures.iter().map(|capture| (capture.window(), Cursor::new(capture.format()))).unzip();
        let unknown = (0..windows.len()).collect();
        Self { windows, cursors, waiting: BinaryHeap::new(), current: None, unknown, number: 0 }
    }

    /// The next frames, at most `most`; none at the end. There may be fewer at any time: where the window of
    /// a file ends, frames that borrow from it must go before it is read further.
    pub fn batch(&mut self, most: usize) -> Vec<Frame<'_>> {
        self.select(most, |_| FrameChoice::Deliver)
    }

    /// The next frames that `choose` delivers, at most `most`. None may mean that others follow: see
    /// [`peek`](Self::peek).
    #[inline]
    pub fn select(
        &mut self,
        most: usize,
        mut choose: impl FnMut(&Frame<'_>) -> FrameChoice,
    ) -> Vec<Frame<'_>> {
        self.prepare();
        let Self { windows, cursors, waiting, current, unknown, number } = self;
        let mut batch = Vec::with_capacity(most.min(MOST_RESERVED));
        let mut numbered = |frame: &mut Frame<'_>| {
            frame.number = *number + 1;
            let choice = choose(frame);
            *number += u64::from(choice != FrameChoice::Stop);
            choice
        };
        if let ([window], [cursor]) = (&windows[..], &mut cursors[..]) {
            // A single input needs no comparison.
            cursor.select(window, most, &mut batch, numbered);
            if cursor.head(window).is_none() && current.take().is_some() {
                unknown.push(0);
            }
            return batch;
        }
        while batch.len() < most
            && let Some(index) = *current
            && let (Some(window), Some(cursor)) = (windows.get(index), cursors.get_mut(index))
            && let Some(mut frame) = cursor.head(window)
        {
            match numbered(&mut frame) {
                FrameChoice::Deliver => batch.push(frame),
                FrameChoice::Skip => {}
                FrameChoice::Stop => break,
            }
            match cursor.next(window) {
                Some(time) => *current = Some(earliest(waiting, (time, index))),
                None => {
                    *current = None;
                    unknown.push(index);
                }
            }
        }
        batch
    }

    /// Shares the next frames, at most `most` and little more than 2 MiB, passing each to `add`; returns
    /// their number, 0 at the end. `to` keeps their bytes while this reads on.
    pub fn share(
        &mut self,
        most: usize,
        to: &mut SharedFrames,
        mut add: impl FnMut(&Frame<'_>, SharedFrame),
    ) -> usize {
        let (mut count, mut bytes) = (0, 0);
        while count < most && bytes < MOST_SHARED && to.has_room(self.windows.len()) {
            let before = count;
            self.prepare();
            let Self { windows, cursors, waiting, current, unknown, number } = self;
            if let ([window], [cursor]) = (&windows[..], &mut cursors[..]) {
                let index = to.hold(0, window);
                cursor.select(window, usize::MAX, &mut Vec::new(), |frame| {
                    if count == most || bytes >= MOST_SHARED {
                        return FrameChoice::Stop;
                    }
                    *number += 1;
                    frame.number = *number;
                    add(frame, SharedFrame::new(frame, window, index));
                    count += 1;
                    bytes += frame.data.len();
                    FrameChoice::Skip
                });
                if cursor.head(window).is_none() && current.take().is_some() {
                    unknown.push(0);
                }
            }
            while windows.len() > 1
                && count < most
                && bytes < MOST_SHARED
                && let Some(file) = *current
                && let (Some(window), Some(cursor)) = (windows.get(file), cursors.get_mut(file))
                && let Some(mut frame) = cursor.head(window)
            {
                *number += 1;
                frame.number = *number;
                add(&frame, SharedFrame::new(&frame, window, to.hold(file, window)));
                count += 1;
                bytes += frame.data.len();
                match cursor.next(window) {
                    Some(time) => *current = Some(earliest(waiting, (time, file))),
                    None => {
                        *current = None;
                        unknown.push(file);
                    }
                }
            }
            if count == before {
                break;
            }
        }
        count
    }

    /// The next frame, which stays the next; `None` at the end.
    pub fn peek(&mut self) -> Option<Frame<'_>> {
        self.prepare();
        let index = self.current?;
        let frame = self.cursors.get(index)?.head(self.windows.get(index)?)?;
        Some(Frame { number: self.number + 1, ..frame })
    }

    /// All frames that are left, in memory.
    pub fn owned(mut self) -> OwnedFrames {
        let mut all = OwnedFrames::default();
        loop {
            let batch = self.batch(MOST_RESERVED);
            if batch.is_empty() {
                return all;
            }
            all.extend(batch);
        }
    }

    /// Damage found in the captures so far, with their indices; complete once all frames were given.
    pub fn damages(&self) -> Vec<(usize, Damage)> {
        let inputs = self.windows.iter().zip(&self.cursors).enumerate();
        inputs.filter_map(|(index, (window, cursor))| Some((index, cursor.damage(window)?))).collect()
    }

    /// Bytes of the stored files consumed so far, out of the sum of their sizes.
    pub fn offset(&self) -> u64 {
        self.windows.iter().zip(&self.cursors).map(|(window, cursor)| cursor.position(window)).sum()
    }

    /// Finds the earliest of the next frames.
    #[inline]
    fn prepare(&mut self) {
        while let Some(index) = self.unknown.pop() {
            let (window, cursor) = (&mut self.windows[index], &mut self.cursors[index]);
            cursor.prepare(window);
            self.waiting.extend(cursor.head(window).map(|frame| Reverse((frame.time, index))));
        }
        if self.current.is_none() {
            self.current = self.waiting.pop().map(|Reverse((_, index))| index);
        }
    }
}

/// Bytes of frames that are shared at once: their windows stay in memory.
const MOST_SHARED: usize = 2 << 20;

/// The index of the earliest: `key` or a waiting one, which `key` then replaces in the heap.
#[inline]
fn earliest(waiting: &mut BinaryHeap<Reverse<(Nanos, usize)>>, key: (Nanos, usize)) -> usize {
    match waiting.peek_mut() {
        Some(mut first) if first.0 < key => std::mem::replace(&mut *first, Reverse(key)).0.1,
        _ => key.1,
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
        Merge::new(captures).owned().iter().map(|frame| char::from(frame.data[0])).collect()
    }

    #[test]
    fn by_time_then_by_place() {
        let captures =
            [capture(b'a', &[1, 4, 4, 9]), capture(b'b', &[1, 2, 4]), capture(b'c', &[4, 5, 10, 11])];
        assert_eq!(letters(&captures), "abbaabccacc");
        let numbers: Vec<u64> = Merge::new(&captures).owned().iter().map(|frame| frame.number).collect();
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

    /// Frames of many windows, with a new batch before the last is let go.
    #[test]
    fn shared_frames_stay_while_their_source_reads_on() {
        let long: Vec<u64> = (1..40_000).collect();
        for captures in [vec![capture(b'a', &long)], vec![capture(b'a', &long), capture(b'b', &long[500..])]]
        {
            let wanted = Merge::new(&captures).owned();
            let mut wanted = wanted.iter();
            let (mut merge, mut held) = (Merge::new(&captures), std::collections::VecDeque::new());
            loop {
                let (mut frames, mut list) = (SharedFrames::default(), Vec::new());
                let count = merge.share(7_000, &mut frames, |frame, shared| {
                    list.push((frame.number, frame.data[0], shared));
                });
                assert_eq!(count, list.len());
                held.push_back((frames, list));
                while held.len() > 3 || count == 0 {
                    let Some((frames, list)) = held.pop_front() else { break };
                    for (number, letter, shared) in list {
                        let (frame, wanted) = (frames.frame(&shared), wanted.next().expect("as many"));
                        assert_eq!((frame.number, frame.data), (number, &[letter][..]));
                        assert_eq!(
                            (frame.number, frame.time, frame.data),
                            (wanted.number, wanted.time, wanted.data)
                        );
                    }
                }
                if count == 0 {
                    break;
                }
            }
            assert!(wanted.next().is_none());
        }
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
        let mut count = 0;
        while merge.peek().is_some() {
            count += merge.batch(2).len();
        }
        assert_eq!(count, 3);
        let damage = Damage { offset: 41, kind: crate::DamageKind::Truncated };
        assert_eq!(merge.damages(), [(1, damage)]);
        assert_eq!(merge.offset(), merge_input[0].size() + 41);
    }
}

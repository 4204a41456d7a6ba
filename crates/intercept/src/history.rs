//! The latest frames that have passed a worker: what a target sent while nobody knew yet that it is one.
//!
//! One thread writes and never waits: the oldest frames give way. Another one reads, and notices by the
//! writer's place what was written over while it read.

use std::sync::atomic::{AtomicU64, Ordering, fence};

use ringtap_model::{Frame, Nanos};

use crate::ring::PassedFrame;
use crate::words::{Head, Words};

/// The latest frames, in memory of a fixed size.
#[derive(Debug)]
pub struct FrameHistory {
    words: Words,
    /// Up to where frames are written.
    head: AtomicU64,
    /// Up to where the writer may be writing: what is a whole size below is gone.
    reserved: AtomicU64,
    /// The first frame that begins in each part of the memory.
    marks: Box<[Mark]>,
}

/// Where a frame begins, plus one; 0 for none. And its time.
#[derive(Debug, Default)]
struct Mark {
    place: AtomicU64,
    time: AtomicU64,
}

impl FrameHistory {
    /// Of so many bytes, or up to half of it.
    pub fn new(bytes: u64) -> Self {
        Self {
            words: Words::new(bytes),
            head: AtomicU64::new(0),
            reserved: AtomicU64::new(0),
            marks: (0..PARTS).map(|_| Mark::default()).collect(),
        }
    }

    /// Keeps it out of swap space and core dumps. Whether the system does.
    pub fn keep_in_memory(&mut self) -> bool {
        self.words.keep_in_memory()
    }

    fn part(&self, place: u64) -> u64 {
        place / (self.words.len() / PARTS)
    }

    /// Remembers a frame, and whether it was passed on. One thread alone. Frames that would take more than a
    /// part of the memory are left out.
    // HOT: once a frame, while there is a history. It allocates nothing.
    pub fn push(&self, frame: &Frame<'_>, is_marked: bool) {
        let head = Head::of(frame, is_marked);
        if head.words() > self.words.len() / 4 {
            return;
        }
        let place = self.head.load(Ordering::Relaxed);
        let end = place + head.words();
        self.reserved.store(end, Ordering::Relaxed);
        // Whoever reads what follows sees that what it writes over is gone.
        fence(Ordering::Release);
        self.words.put(place, &head, frame.data);
        if self.begins_part(place) {
            let mark = &self.marks[(self.part(place) % PARTS) as usize];
            mark.time.store(frame.time.0, Ordering::Relaxed);
            mark.place.store(place + 1, Ordering::Release);
        }
        self.head.store(end, Ordering::Release);
    }

    /// Whether no frame begins before in its part.
    fn begins_part(&self, place: u64) -> bool {
        let mark = &self.marks[(self.part(place) % PARTS) as usize];
        let known = mark.place.load(Ordering::Relaxed);
        known == 0 || self.part(known - 1) != self.part(place)
    }

    /// Whether what stands there is still what was written.
    fn is_there(&self, place: u64) -> bool {
        fence(Ordering::Acquire);
        self.reserved.load(Ordering::Relaxed) <= place + self.words.len()
    }

    /// Places of frames that are there, oldest first, with their times: one in each part.
    fn marks(&self) -> Vec<(u64, Nanos)> {
        let known = self.marks.iter().filter_map(|mark| {
            let place = mark.place.load(Ordering::Acquire).checked_sub(1)?;
            let time = mark.time.load(Ordering::Relaxed);
            self.is_there(place).then_some((place, Nanos(time)))
        });
        let mut known: Vec<(u64, Nanos)> = known.collect();
        known.sort_unstable_by_key(|(place, _)| *place);
        known
    }

    /// The time of the oldest frame that can be found; None if there is none.
    pub fn oldest(&self) -> Option<Nanos> {
        self.marks().first().map(|(_, time)| *time)
    }

    /// Frames of that time or a later one that `wants` and that were not passed on, oldest first. One thread
    /// at a time. Returns whether it goes back to that time.
    pub fn since(
        &self,
        from: Nanos,
        mut wants: impl FnMut(&Frame<'_>) -> bool,
        found: &mut Vec<PassedFrame>,
    ) -> bool {
        let marks = self.marks();
        // Times may be a little out of order: a part more.
        let after = marks.partition_point(|(_, time)| *time < from);
        let Some((first, _)) = marks.get(after.saturating_sub(2)).or(marks.first()) else { return true };
        let begins_early = after > 0 || *first == 0;
        let (mut place, mut data) = (*first, Vec::new());
        let end = self.head.load(Ordering::Acquire);
        let mut is_whole = true;
        while place < end {
            let head = self.words.head(place);
            self.words.data(place, &head.within(self.words.len()), &mut data);
            if !self.is_there(place) {
                // The writer has come round: on with what it has not reached yet.
                is_whole = false;
                match self.marks().into_iter().find(|(mark, _)| *mark > place) {
                    Some((mark, _)) => place = mark,
                    None => break,
                }
                continue;
            }
            place += head.words();
            if head.time < from || head.is_marked {
                continue;
            }
            let frame = Frame {
                time: head.time,
                number: head.number,
                link: head.link,
                wire_len: head.wire_len,
                data: &data,
            };
            if wants(&frame) {
                found.push(PassedFrame::new(&head, data.clone()));
            }
        }
        begins_early && is_whole
    }
}

impl Head {
    /// What may be read while it is written over must not ask for more than there is.
    fn within(self, words: u64) -> Self {
        Self { len: self.len.min((words * 4) as u32), ..self }
    }
}

/// Parts of the memory, each with one frame that is found by its time.
const PARTS: u64 = 1024;

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;
    use std::thread;

    use ringtap_model::LinkType;

    use super::*;

    fn push(history: &FrameHistory, number: u64, data: &[u8]) {
        let frame =
            Frame { time: Nanos(number * 10), number, link: LinkType(1), wire_len: data.len() as u32, data };
        history.push(&frame, number.is_multiple_of(3));
    }

    fn numbers(history: &FrameHistory, from: u64) -> (Vec<u64>, bool) {
        let mut found = Vec::new();
        let is_whole = history.since(Nanos(from * 10), |_| true, &mut found);
        (found.iter().map(|frame| frame.number).collect(), is_whole)
    }

    #[test]
    fn the_latest_frames_are_found_by_their_time_but_for_those_that_were_passed_on() {
        let history = FrameHistory::new(1 << 20);
        assert_eq!((numbers(&history, 0), history.oldest()), ((vec![], true), None));
        (1..=10).for_each(|number| push(&history, number, &[number as u8; 100]));
        assert_eq!(numbers(&history, 5), (vec![5, 7, 8, 10], true));
        assert_eq!(numbers(&history, 0).0.len(), 7);
        assert_eq!(history.oldest(), Some(Nanos(10)));
        (11..=50_000).for_each(|number| push(&history, number, &[number as u8; 100]));
        let (found, is_whole) = numbers(&history, 49_990);
        assert_eq!(
            (found, is_whole),
            (vec![49_990, 49_991, 49_993, 49_994, 49_996, 49_997, 49_999, 50_000], true)
        );
        let oldest = history.oldest().unwrap().0 / 10;
        assert!(oldest > 40_000 && oldest < 50_000 - 5_000, "{oldest}");
        let (found, is_whole) = numbers(&history, 1);
        assert!(!is_whole && found[0] <= oldest + 1, "{found:?}");
        assert!(found.windows(2).all(|pair| pair[1] - pair[0] <= 2), "no hole");
    }

    #[test]
    fn a_frame_too_long_for_it_is_left_out() {
        let history = FrameHistory::new(1);
        push(&history, 1, &[0; 60_000]);
        push(&history, 2, &[0; 9000]);
        assert_eq!(numbers(&history, 0).0, [2]);
    }

    /// What a reader gets is always a frame as it was, however fast the writer comes round.
    #[test]
    fn nothing_that_is_written_over_is_given() {
        let (history, has_ended) = (FrameHistory::new(1 << 16), AtomicBool::new(false));
        thread::scope(|scope| {
            scope.spawn(|| {
                for number in 1..200_000u64 {
                    push(&history, number, &vec![number as u8; number as usize % 700]);
                }
                has_ended.store(true, Ordering::Release);
            });
            while !has_ended.load(Ordering::Acquire) {
                let mut found = Vec::new();
                history.since(Nanos(0), |_| true, &mut found);
                for frame in &found {
                    let (number, byte) = (frame.number, frame.number as u8);
                    assert_eq!((frame.time.0, frame.data.len() as u64), (number * 10, number % 700));
                    assert!(frame.data.iter().all(|one| *one == byte) && number % 3 != 0, "{number}");
                }
                assert!(found.windows(2).all(|pair| pair[0].number < pair[1].number));
            }
        });
        assert!(!numbers(&history, 0).0.is_empty());
    }
}

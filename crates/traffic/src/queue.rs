//! The queue of scheduled frames, in order of time.
//!
//! A calendar queue (Brown, "Calendar queues", 1988): the frames of the next second are in days of 64 us,
//! which are sorted when their day begins; later frames wait in a heap. With 100,000 streams this costs a
//! tenth of a single heap, which would be traversed from top to bottom for each packet.

use std::collections::BinaryHeap;

use ringtap_model::Nanos;

/// The time at which a source sends its next frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ScheduledFrame {
    pub(crate) at: Nanos,
    /// Number of insertion: of two frames at the same time, the one inserted first is sent first.
    pub(crate) order: u64,
    pub(crate) source: u32,
}

impl Ord for ScheduledFrame {
    /// The greatest is the earliest, at the end of a sorted list and at the top of a heap.
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (other.at, other.order).cmp(&(self.at, self.order))
    }
}

impl PartialOrd for ScheduledFrame {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

/// Scheduled frames; the earliest comes first.
#[derive(Debug)]
pub(crate) struct Queue {
    /// The frames of the current day, sorted: the earliest is the last.
    today: Vec<ScheduledFrame>,
    /// Number of the current day.
    day: u64,
    /// The following `DAYS - 1` days, each at its number modulo `DAYS`.
    days: Vec<Vec<ScheduledFrame>>,
    /// A bitmap of the days that have frames.
    busy: Vec<u64>,
    /// Number of frames in `days`.
    near: usize,
    far: BinaryHeap<ScheduledFrame>,
    /// Empty lists to reuse.
    spare: Vec<Vec<ScheduledFrame>>,
    inserted: u64,
}

impl Queue {
    pub(crate) fn new(start: Nanos) -> Self {
        Self {
            today: Vec::new(),
            day: day(start),
            days: vec![Vec::new(); DAYS as usize],
            busy: vec![0; DAYS as usize / 64],
            near: 0,
            far: BinaryHeap::new(),
            spare: Vec::new(),
            inserted: 0,
        }
    }

    /// Inserts a frame, which may not be earlier than one already removed.
    pub(crate) fn push(&mut self, at: Nanos, source: u32) {
        self.inserted += 1;
        let frame = ScheduledFrame { at, order: self.inserted, source };
        let day = day(at);
        if day <= self.day {
            let index = self.today.partition_point(|other| *other < frame);
            self.today.insert(index, frame);
        } else if day - self.day < DAYS {
            let index = (day % DAYS) as usize;
            let frames = &mut self.days[index];
            if frames.is_empty() {
                self.busy[index / 64] |= 1 << (index % 64);
                if frames.capacity() == 0 {
                    *frames = self.spare.pop().unwrap_or_default();
                }
            }
            frames.push(frame);
            self.near += 1;
        } else {
            self.far.push(frame);
        }
    }

    /// The time of the earliest frame; `None` if the queue is empty.
    pub(crate) fn next_at(&mut self) -> Option<Nanos> {
        if self.today.is_empty() {
            self.next_day()?;
        }
        self.today.last().map(|frame| frame.at)
    }

    /// Removes the earliest frame.
    pub(crate) fn pop(&mut self) -> Option<ScheduledFrame> {
        if self.today.is_empty() {
            self.next_day()?;
        }
        self.today.pop()
    }

    /// The sources of the next frames of the current day, up to [`AHEAD`].
    pub(crate) fn upcoming(&self) -> impl Iterator<Item = u32> {
        self.today.iter().rev().take(AHEAD).map(|frame| frame.source)
    }

    /// Advances to the next day that has a frame; `None` if there is none.
    #[cold]
    fn next_day(&mut self) -> Option<()> {
        let far = self.far.peek().map(|frame| day(frame.at));
        let next = self.next_near().into_iter().chain(far).min()?;
        self.day = next;
        let index = (next % DAYS) as usize;
        if self.busy[index / 64] & 1 << (index % 64) != 0 {
            self.busy[index / 64] &= !(1 << (index % 64));
            let used = std::mem::replace(&mut self.today, std::mem::take(&mut self.days[index]));
            self.spare.push(used);
            self.near -= self.today.len();
        }
        while self.far.peek().is_some_and(|frame| day(frame.at) == next) {
            self.today.extend(self.far.pop());
        }
        self.today.sort_unstable();
        Some(())
    }

    /// The first day after today that has frames in `days`.
    fn next_near(&self) -> Option<u64> {
        if self.near == 0 {
            return None;
        }
        let first = self.day + 1;
        let mut index = (first % DAYS) as usize;
        let mut passed = 0;
        // INVARIANT: `near` is not 0, so a bit is set and the loop ends.
        while passed < DAYS {
            let bits = self.busy[index / 64] >> (index % 64);
            if bits != 0 {
                return Some(first + passed + u64::from(bits.trailing_zeros()));
            }
            let step = 64 - index as u64 % 64;
            passed += step;
            index = (index + step as usize) % DAYS as usize;
        }
        None
    }
}

fn day(at: Nanos) -> u64 {
    at.0 >> DAY_BITS
}

/// Days of 65,536 ns.
const DAY_BITS: u32 = 16;
/// A little more than one second.
const DAYS: u64 = 1 << 14;

/// Number of frames to look ahead.
pub(crate) const AHEAD: usize = 32;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    /// Compares with a sort: near and far frames, some at the same time, inserted while others are removed.
    #[test]
    fn frames_come_in_order_of_time_then_of_insertion() {
        let mut rng = Rng::new(3, 3);
        for spread in [1, 50_000, 40_000_000, 3_000_000_000, 100_000_000_000] {
            let start = Nanos::from_secs(1_767_254_400);
            let mut queue = Queue::new(start);
            let (mut inserted, mut removed) = (Vec::new(), Vec::new());
            let mut now = start;
            for source in 0..3_000 {
                let at = now + Nanos(rng.below(spread));
                queue.push(at, source);
                inserted.push((at, source));
                if rng.chance(0.6) {
                    now = queue.next_at().unwrap();
                    let frame = queue.pop().unwrap();
                    assert_eq!(frame.at, now);
                    removed.push((frame.at, frame.source));
                }
            }
            while let Some(frame) = queue.pop() {
                removed.push((frame.at, frame.source));
            }
            // No frame was inserted before one already removed, so a stable sort gives the order.
            inserted.sort_by_key(|(at, _)| *at);
            assert_eq!(removed, inserted, "spread {spread}");
            assert_eq!(queue.next_at(), None);
        }
    }
}

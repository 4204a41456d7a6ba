//! Whose frame it is when: the sources of frames, in order of time.
//!
//! A calendar (Brown, "Calendar queues", 1988): near frames lie in days of 64 us, unsorted until their day
//! comes; what is further off waits in a heap. With 100,000 streams that costs a tenth of one heap, which has
//! to be searched from top to bottom for each packet.

use std::collections::BinaryHeap;

use ringtap_model::Nanos;

/// A frame of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ScheduledFrame {
    pub(crate) at: Nanos,
    /// Of two at the same time the one that was entered first.
    pub(crate) order: u64,
    pub(crate) source: u32,
}

impl Ord for ScheduledFrame {
    /// The greatest is the earliest: it is taken from the end of a list, or from the top of a heap.
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (other.at, other.order).cmp(&(self.at, self.order))
    }
}

impl PartialOrd for ScheduledFrame {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

/// Turns, the earliest first.
#[derive(Debug)]
pub(crate) struct Queue {
    /// The day that has come, sorted: its earliest frame is the last.
    today: Vec<ScheduledFrame>,
    /// Its number.
    day: u64,
    /// The `DAYS - 1` days that follow, each at its number modulo `DAYS`.
    days: Vec<Vec<ScheduledFrame>>,
    /// A bit for each day with frames.
    busy: Vec<u64>,
    /// Turns that lie in `days`.
    near: usize,
    far: BinaryHeap<ScheduledFrame>,
    /// Lists that were used, to be used again.
    spare: Vec<Vec<ScheduledFrame>>,
    entered: u64,
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
            entered: 0,
        }
    }

    /// Enters a frame: not before one that was already taken.
    pub(crate) fn push(&mut self, at: Nanos, source: u32) {
        self.entered += 1;
        let frame = ScheduledFrame { at, order: self.entered, source };
        let day = day(at);
        if day <= self.day {
            let place = self.today.partition_point(|other| *other < frame);
            self.today.insert(place, frame);
        } else if day - self.day < DAYS {
            let place = (day % DAYS) as usize;
            let frames = &mut self.days[place];
            if frames.is_empty() {
                self.busy[place / 64] |= 1 << (place % 64);
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

    /// When the earliest frame is, without taking it. None when there is none.
    pub(crate) fn next_at(&mut self) -> Option<Nanos> {
        if self.today.is_empty() {
            self.next_day()?;
        }
        self.today.last().map(|frame| frame.at)
    }

    /// Takes the earliest frame.
    pub(crate) fn pop(&mut self) -> Option<ScheduledFrame> {
        if self.today.is_empty() {
            self.next_day()?;
        }
        self.today.pop()
    }

    /// The sources of some frames that come next, as far as they are known.
    pub(crate) fn upcoming(&self) -> impl Iterator<Item = u32> {
        self.today.iter().rev().take(AHEAD).map(|frame| frame.source)
    }

    /// Goes on to the next day with a frame; None where there is none left.
    #[cold]
    fn next_day(&mut self) -> Option<()> {
        let far = self.far.peek().map(|frame| day(frame.at));
        let next = self.next_near().into_iter().chain(far).min()?;
        self.day = next;
        let place = (next % DAYS) as usize;
        if self.busy[place / 64] & 1 << (place % 64) != 0 {
            self.busy[place / 64] &= !(1 << (place % 64));
            let used = std::mem::replace(&mut self.today, std::mem::take(&mut self.days[place]));
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
        let mut place = (first % DAYS) as usize;
        let mut passed = 0;
        // INVARIANT: `near` is not 0, so a bit is set, and this ends.
        while passed < DAYS {
            let bits = self.busy[place / 64] >> (place % 64);
            if bits != 0 {
                return Some(first + passed + u64::from(bits.trailing_zeros()));
            }
            let step = 64 - place as u64 % 64;
            passed += step;
            place = (place + step as usize) % DAYS as usize;
        }
        None
    }
}

fn day(at: Nanos) -> u64 {
    at.0 >> DAY_BITS
}

/// Days of 65,536 ns.
const DAY_BITS: u32 = 16;
/// One second and a bit.
const DAYS: u64 = 1 << 14;

/// Turns that are looked ahead.
pub(crate) const AHEAD: usize = 32;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    /// Against a sort: frames near and far, some at the same time, entered while others are taken.
    #[test]
    fn turns_come_in_order_of_time_then_of_entry() {
        let mut rng = Rng::new(3, 3);
        for spread in [1, 50_000, 40_000_000, 3_000_000_000, 100_000_000_000] {
            let start = Nanos::from_secs(1_767_254_400);
            let mut queue = Queue::new(start);
            let (mut entered, mut taken) = (Vec::new(), Vec::new());
            let mut now = start;
            for source in 0..3_000 {
                let at = now + Nanos(rng.below(spread));
                queue.push(at, source);
                entered.push((at, source));
                if rng.chance(0.6) {
                    now = queue.next_at().unwrap();
                    let frame = queue.pop().unwrap();
                    assert_eq!(frame.at, now);
                    taken.push((frame.at, frame.source));
                }
            }
            while let Some(frame) = queue.pop() {
                taken.push((frame.at, frame.source));
            }
            // Nothing was entered before what was already taken: a stable sort of all is the order.
            entered.sort_by_key(|(at, _)| *at);
            assert_eq!(taken, entered, "spread {spread}");
            assert_eq!(queue.next_at(), None);
        }
    }
}

//! One timer wheel for everything that waits, on capture time.

use ringtap_model::Nanos;

use crate::slots::Ticket;

/// What a timer is for: an object in the table of that kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Timer {
    Call(Ticket),
    Flow(Ticket),
    Connection(Ticket),
    Registration(Ticket),
    Message(Ticket),
}

const TICK: Nanos = Nanos::from_millis(500);
const SLOTS: usize = 1024;
const NONE: u32 = u32::MAX;

#[derive(Debug)]
struct Entry {
    timer: Timer,
    next: u32,
}

/// A hashed wheel of 1024 half-second slots.
///
/// Each live object keeps exactly one entry. It fires at its time or, when that lies beyond the horizon of 512 s,
/// early: the owner looks at its own deadline and arms again. So an entry is never searched for or removed.
#[derive(Debug)]
pub(crate) struct Wheel {
    entries: Vec<Entry>,
    free: u32,
    heads: Box<[u32; SLOTS]>,
    /// Every tick up to and including this one has fired.
    done: u64,
    /// Entries in the wheel.
    armed: usize,
    /// Time that the source leapt over and that passed for no one.
    leapt: Nanos,
    /// When the next tick is over.
    next: Nanos,
}

impl Wheel {
    /// With room for `ceiling` timers, reserved now; more find a place, too.
    pub(crate) fn new(ceiling: usize) -> Self {
        Self {
            entries: Vec::with_capacity(ceiling),
            free: NONE,
            heads: Box::new([NONE; SLOTS]),
            done: 0,
            armed: 0,
            leapt: Nanos::ZERO,
            next: TICK,
        }
    }

    /// The source's clock leaps ahead by `by`: no timer fires for that.
    pub(crate) fn leap(&mut self, by: Nanos) {
        self.leapt += by;
        self.settle();
    }

    fn settle(&mut self) {
        self.next = self.leapt + Nanos((self.done + 1).saturating_mul(TICK.0));
    }

    fn tick(&self, at: Nanos) -> u64 {
        at.since(self.leapt).0 / TICK.0
    }

    /// Arms a timer for `at`; fires at the first [`Wheel::expired`] past it.
    pub(crate) fn arm(&mut self, at: Nanos, timer: Timer) {
        let tick = (self.tick(at) + 1).clamp(self.done + 1, self.done + SLOTS as u64 - 1);
        let slot = (tick % SLOTS as u64) as usize;
        let entry = Entry { timer, next: self.heads[slot] };
        let index = match self.entries.get_mut(self.free as usize) {
            Some(place) => {
                let index = self.free;
                self.free = place.next;
                *place = entry;
                index
            }
            None => {
                self.entries.push(entry);
                (self.entries.len() - 1) as u32
            }
        };
        self.heads[slot] = index;
        self.armed += 1;
    }

    /// Whether [`Wheel::expired`] has anything to look at. HOT: one comparison.
    #[inline]
    pub(crate) fn due(&self, now: Nanos) -> bool {
        now >= self.next
    }

    /// Moves on to `now` and appends what fired, in order of time and, within a tick, of arming.
    pub(crate) fn expired(&mut self, now: Nanos, fired: &mut Vec<Timer>) {
        let target = self.tick(now);
        if self.armed == 0 {
            self.done = self.done.max(target);
            self.settle();
            return;
        }
        let from = self.done + 1;
        // Past a whole turn every slot has come by once.
        let turn = target.min(self.done + SLOTS as u64);
        for tick in from..=turn {
            self.fire((tick % SLOTS as u64) as usize, fired);
        }
        self.done = self.done.max(target);
        self.settle();
    }

    fn fire(&mut self, slot: usize, fired: &mut Vec<Timer>) {
        let mut index = std::mem::replace(&mut self.heads[slot], NONE);
        let first = fired.len();
        while let Some(entry) = self.entries.get_mut(index as usize) {
            let next = entry.next;
            fired.push(entry.timer);
            entry.next = self.free;
            self.free = index;
            self.armed -= 1;
            index = next;
        }
        // The list is newest first.
        fired[first..].reverse();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(number: usize) -> Timer {
        let mut slots = crate::slots::Slots::new(9);
        for _ in 0..=number {
            slots.insert(());
        }
        Timer::Call(slots.ticket(number as u32))
    }

    fn at(secs: u64) -> Nanos {
        Nanos::from_secs(secs)
    }

    #[test]
    fn fires_in_order_and_not_early() {
        let mut wheel = Wheel::new(4);
        wheel.expired(at(1_000_000), &mut Vec::new());
        wheel.arm(at(1_000_010), call(1));
        wheel.arm(at(1_000_005), call(2));
        wheel.arm(at(1_000_010), call(3));
        let mut fired = Vec::new();
        wheel.expired(at(1_000_004), &mut fired);
        assert!(fired.is_empty());
        wheel.expired(at(1_000_020), &mut fired);
        assert_eq!(fired, [call(2), call(1), call(3)]);
    }

    #[test]
    fn beyond_the_horizon_fires_early_and_a_jump_fires_all() {
        let mut wheel = Wheel::new(4);
        wheel.expired(at(100), &mut Vec::new());
        wheel.arm(at(100_000), call(1));
        let mut fired = Vec::new();
        wheel.expired(at(613), &mut fired);
        assert_eq!(fired, [call(1)]);
        wheel.arm(at(700), call(2));
        wheel.arm(at(900), call(3));
        fired.clear();
        wheel.expired(at(1_000_000_000), &mut fired);
        assert_eq!(fired, [call(2), call(3)]);
    }

    #[test]
    fn an_entry_in_the_past_fires_at_the_next_tick() {
        let mut wheel = Wheel::new(4);
        wheel.expired(at(100), &mut Vec::new());
        wheel.arm(at(5), call(1));
        let mut fired = Vec::new();
        wheel.expired(at(101), &mut fired);
        assert_eq!(fired, [call(1)]);
    }
}

//! One timer wheel for everything that waits, in capture time.

use ringtap_model::Nanos;

use crate::table::slots::Ticket;

/// Which table a timer's ticket belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TimerOwner {
    Connections,
    Calls,
    Registrations,
    Transactions,
    Streams,
    Rtcp,
    Added,
}

/// A timer: an object in its owner's table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Timer {
    pub(crate) owner: TimerOwner,
    pub(crate) ticket: Ticket,
}

/// How soon a timer will be handled. With each stage the memory that the stage before prefetched has arrived,
/// and says what to prefetch next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PrefetchStage {
    /// 15 timers ahead.
    Farthest,
    /// 12 timers ahead.
    Far,
    /// 9 timers ahead.
    Middle,
    /// 6 timers ahead.
    Near,
    /// 3 timers ahead.
    Nearest,
}

impl PrefetchStage {
    /// Each stage with its distance in timers.
    pub(crate) const DISTANCES: [(Self, usize); 5] =
        [(Self::Farthest, 15), (Self::Far, 12), (Self::Middle, 9), (Self::Near, 6), (Self::Nearest, 3)];
}

pub(crate) const TICK: Nanos = Nanos::from_millis(500);
/// Between two slices of a tick: a record takes less than half of it, and packets the rest.
const APART: Nanos = Nanos::from_micros(20);
const SLOTS: usize = 1024;
const NONE: u32 = u32::MAX;
/// Timers of one slot that lie together: what fires together is read from memory in a row, not one by one.
const TOGETHER: usize = 20;

/// Timers of a slot in order of arming, and where the next ones are.
#[derive(Debug)]
struct Chunk {
    timers: [Timer; TOGETHER],
    count: u32,
    next: u32,
}

/// The timers of a tick: its first chunk, and its last, which has room.
#[derive(Clone, Copy, Debug)]
struct Slot {
    first: u32,
    last: u32,
}

const EMPTY: Slot = Slot { first: NONE, last: NONE };

/// A hashed timer wheel of 1024 half-second slots.
///
/// A timer fires at its time or, when that lies beyond the horizon of 512 s, early: the owner looks at its
/// own deadline and arms again. So one is never searched for or removed.
#[derive(Debug)]
pub(crate) struct TimerWheel {
    chunks: Vec<Chunk>,
    free: u32,
    slots: Box<[Slot; SLOTS]>,
    /// Every tick up to and including this one has fired.
    done: u64,
    /// Timers in the wheel.
    armed: usize,
    /// Time that the source leapt over and that passed for no one.
    leapt: Nanos,
    /// When the next tick is over, or the next slice of the last one is due.
    next: Nanos,
    /// By owner and slot.
    pending: [Vec<PendingTimer>; OWNERS],
    /// Timers that have fired and were not taken, of the ticks from this one up to `done`.
    firing: Slot,
    firing_from: u64,
}

/// The first timer of a slot that has not fired.
#[derive(Clone, Copy, Debug)]
struct PendingTimer {
    /// The low bits of its tick; of one that has fired they are no later than [`TimerWheel::done`].
    tick: u32,
    /// Of whoever armed a timer of the slot last.
    generation: u32,
}

/// Owners whose slots have one timer each.
const OWNERS: usize = 5;

/// The list of an owner whose objects compare their own deadline when their timer fires.
fn list_of(owner: TimerOwner) -> Option<usize> {
    match owner {
        TimerOwner::Connections => Some(0),
        TimerOwner::Calls => Some(1),
        TimerOwner::Registrations => Some(2),
        TimerOwner::Transactions => Some(3),
        TimerOwner::Streams => Some(4),
        TimerOwner::Rtcp | TimerOwner::Added => None,
    }
}

impl TimerWheel {
    /// With room for `ceiling` timers, reserved now; more find a place, too.
    pub(crate) fn new(ceiling: usize) -> Self {
        Self {
            // Each slot has one that is not full.
            chunks: Vec::with_capacity(if ceiling == 0 { 0 } else { ceiling / TOGETHER + SLOTS }),
            free: NONE,
            slots: Box::new([EMPTY; SLOTS]),
            done: 0,
            armed: 0,
            leapt: Nanos::ZERO,
            next: TICK,
            pending: [const { Vec::new() }; OWNERS],
            firing: EMPTY,
            firing_from: 1,
        }
    }

    /// The source's clock leaps ahead by `by`: no timer fires for that.
    pub(crate) fn leap(&mut self, by: Nanos) {
        self.leapt += by;
        self.set_next();
    }

    fn set_next(&mut self) {
        self.next = self.leapt + Nanos((self.done + 1).saturating_mul(TICK.0));
    }

    /// Has [`TimerWheel::due`] hold again soon after this time, for those timers of the last tick that are
    /// left; None: not before the next tick.
    pub(crate) fn set_slice(&mut self, now: Option<Nanos>) {
        self.set_next();
        self.next = now.map_or(self.next, |now| self.next.min(now + APART));
    }

    fn tick(&self, at: Nanos) -> u64 {
        at.since(self.leapt).0 / TICK.0
    }

    /// Arms a timer for `at`; fires at the first [`TimerWheel::expired`] past it. Where an earlier timer of
    /// the same slot has not fired yet, even one of an object that was in the slot before, that one fires
    /// instead: objects that come and go by the thousand leave no timers behind.
    pub(crate) fn arm(&mut self, at: Nanos, timer: Timer) {
        let tick = (self.tick(at) + 1).clamp(self.done + 1, self.done + SLOTS as u64 - 1);
        if !self.is_first(tick, timer) {
            return;
        }
        let slot = (tick % SLOTS as u64) as usize;
        self.armed += 1;
        let last = self.slots[slot].last;
        if let Some(chunk) = self.chunks.get_mut(last as usize)
            && let Some(entry) = chunk.timers.get_mut(chunk.count as usize)
        {
            *entry = timer;
            chunk.count += 1;
            return;
        }
        let new = self.chunk_with(timer);
        match self.chunks.get_mut(last as usize) {
            Some(chunk) => chunk.next = new,
            None => self.slots[slot].first = new,
        }
        self.slots[slot].last = new;
    }

    /// Notes a timer; false when an earlier one of its slot is pending.
    fn is_first(&mut self, tick: u64, timer: Timer) -> bool {
        let done = self.done as u32;
        let Some(list) = list_of(timer.owner) else { return true };
        let (list, index) = (&mut self.pending[list], timer.ticket.slot as usize);
        if list.len() <= index {
            list.resize(index + 1, PendingTimer { tick: done, generation: 0 });
        }
        let pending = &mut list[index];
        pending.generation = timer.ticket.generation;
        let ahead = pending.tick.wrapping_sub(done);
        if (1..SLOTS as u32).contains(&ahead) && ahead <= (tick as u32).wrapping_sub(done) {
            return false;
        }
        pending.tick = tick as u32;
        true
    }

    /// The timer to be reported when one fires: that of the object which is in its slot now. None when
    /// another one has fired for it, or it has been armed again since.
    fn current(&mut self, timer: Timer) -> Option<Timer> {
        let Some(list) = list_of(timer.owner) else { return Some(timer) };
        let pending = self.pending[list].get_mut(timer.ticket.slot as usize)?;
        let (from, done) = (self.firing_from as u32, self.done as u32);
        if pending.tick.wrapping_sub(from) > done.wrapping_sub(from) {
            return None;
        }
        pending.tick = from.wrapping_sub(SLOTS as u32);
        let ticket = Ticket { generation: pending.generation, ..timer.ticket };
        Some(Timer { ticket, ..timer })
    }

    /// A chunk that begins with that timer.
    fn chunk_with(&mut self, timer: Timer) -> u32 {
        match self.chunks.get_mut(self.free as usize) {
            Some(chunk) => {
                let index = self.free;
                self.free = chunk.next;
                chunk.timers[0] = timer;
                (chunk.count, chunk.next) = (1, NONE);
                index
            }
            None => {
                self.chunks.push(Chunk { timers: [timer; TOGETHER], count: 1, next: NONE });
                (self.chunks.len() - 1) as u32
            }
        }
    }

    /// Whether a tick is over, or a slice of it is due. HOT: one comparison.
    #[inline]
    pub(crate) fn due(&self, now: Nanos) -> bool {
        now >= self.next
    }

    /// Moves on to `now` and appends what fired, in order of time and, within a tick, of arming.
    pub(crate) fn expired(&mut self, now: Nanos, fired: &mut Vec<Timer>) {
        self.move_on(now);
        self.take_fired(usize::MAX, fired);
    }

    /// Moves on to `now`: [`TimerWheel::take_fired`] gives what fired.
    ///
    /// INVARIANT: all that fired before has been taken.
    pub(crate) fn move_on(&mut self, now: Nanos) {
        let target = self.tick(now);
        self.firing_from = self.done + 1;
        if self.armed > 0 {
            // After a whole revolution every slot has come by once.
            for tick in self.firing_from..=target.min(self.done + SLOTS as u64) {
                let next = std::mem::replace(&mut self.slots[(tick % SLOTS as u64) as usize], EMPTY);
                self.append_firing(next);
            }
        }
        self.done = self.done.max(target);
        self.set_next();
    }

    fn append_firing(&mut self, next: Slot) {
        match self.chunks.get_mut(self.firing.last as usize) {
            _ if next.first == NONE => {}
            Some(last) => (last.next, self.firing.last) = (next.first, next.last),
            None => self.firing = next,
        }
    }

    /// Appends what fired and has not been taken, at least `wanted` where there are so many. Whether more are
    /// left.
    pub(crate) fn take_fired(&mut self, wanted: usize, fired: &mut Vec<Timer>) -> bool {
        let enough = fired.len().saturating_add(wanted);
        while fired.len() < enough
            && let Some(chunk) = self.chunks.get_mut(self.firing.first as usize)
        {
            let (timers, count) = (chunk.timers, chunk.count as usize);
            let next = std::mem::replace(&mut chunk.next, self.free);
            self.free = self.firing.first;
            self.firing = if next == NONE { EMPTY } else { Slot { first: next, ..self.firing } };
            self.armed -= count;
            fired.extend(timers.iter().take(count).filter_map(|timer| self.current(*timer)));
        }
        self.is_firing()
    }

    /// Whether something has fired that was not taken.
    pub(crate) fn is_firing(&self) -> bool {
        self.firing.first != NONE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(number: usize) -> Timer {
        let mut slots = crate::table::slots::Slots::new(9);
        for _ in 0..=number {
            slots.insert(());
        }
        Timer { owner: TimerOwner::Calls, ticket: slots.ticket(number as u32) }
    }

    fn at(secs: u64) -> Nanos {
        Nanos::from_secs(secs)
    }

    #[test]
    fn fires_in_order_and_not_early() {
        let mut wheel = TimerWheel::new(4);
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
        let mut wheel = TimerWheel::new(4);
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
    fn many_in_one_slot_and_places_used_again() {
        let mut wheel = TimerWheel::new(4);
        wheel.expired(at(100), &mut Vec::new());
        let ticket = |number| Timer {
            owner: TimerOwner::Added,
            ticket: Ticket { slot: number, generation: number / 7 },
        };
        let mut fired = Vec::new();
        for round in 0..5u32 {
            let now = 100 + 10 * u64::from(round);
            let timers: Vec<Timer> = (0..round * 39 + 1).map(ticket).collect();
            for timer in &timers {
                wheel.arm(at(now + 3), *timer);
                wheel.arm(at(now + 5), *timer);
            }
            fired.clear();
            wheel.expired(at(now + 4), &mut fired);
            assert_eq!(fired, timers);
            wheel.expired(at(now + 6), &mut fired);
            assert_eq!(fired[timers.len()..], timers);
            assert_eq!(wheel.armed, 0);
        }
        // As many as were full or begun at once, and no more.
        assert!(wheel.chunks.len() <= 2 * (4 * 39 + 1 + TOGETHER) / TOGETHER, "{}", wheel.chunks.len());
    }

    fn connection(slot: u32, generation: u32) -> Timer {
        Timer { owner: TimerOwner::Connections, ticket: Ticket { slot, generation } }
    }

    #[test]
    fn the_first_timer_of_a_slot_fires_for_whoever_is_in_it_then() {
        let mut wheel = TimerWheel::new(4);
        wheel.expired(at(100), &mut Vec::new());
        for generation in 0..1000 {
            wheel.arm(at(200), connection(7, generation));
        }
        wheel.arm(at(300), connection(8, 0));
        assert_eq!(wheel.armed, 2);
        let mut fired = Vec::new();
        wheel.expired(at(201), &mut fired);
        assert_eq!(fired, [connection(7, 999)]);
        wheel.arm(at(250), connection(7, 999));
        wheel.expired(at(301), &mut fired);
        assert_eq!(fired[1..], [connection(7, 999), connection(8, 0)]);
    }

    #[test]
    fn of_an_earlier_and_a_later_timer_of_a_slot_the_earlier_one_fires() {
        let mut wheel = TimerWheel::new(4);
        wheel.expired(at(100), &mut Vec::new());
        for deadline in [200, 150, 170] {
            wheel.arm(at(deadline), connection(7, 1));
        }
        let mut fired = Vec::new();
        wheel.expired(at(151), &mut fired);
        assert_eq!(fired, [connection(7, 1)]);
        // Its owner arms again where it has to.
        wheel.arm(at(200), connection(7, 1));
        wheel.expired(at(300), &mut fired);
        assert_eq!((fired.len(), wheel.armed), (2, 0));
    }

    #[test]
    fn an_entry_in_the_past_fires_at_the_next_tick() {
        let mut wheel = TimerWheel::new(4);
        wheel.expired(at(100), &mut Vec::new());
        wheel.arm(at(5), call(1));
        let mut fired = Vec::new();
        wheel.expired(at(101), &mut fired);
        assert_eq!(fired, [call(1)]);
    }

    /// When a timer armed at `armed` for `deadline` fires, in milliseconds.
    fn fires(armed: u64, deadline: u64) -> u64 {
        let ms = Nanos::from_millis;
        let mut wheel = TimerWheel::new(4);
        wheel.expired(ms(armed), &mut Vec::new());
        wheel.arm(ms(deadline), call(1));
        let mut fired = Vec::new();
        (armed..)
            .find(|millis| {
                wheel.expired(ms(*millis), &mut fired);
                !fired.is_empty()
            })
            .unwrap_or_default()
    }

    #[test]
    fn a_timer_fires_at_the_first_tick_after_its_time() {
        assert_eq!(fires(10_000, 10_001), 10_500);
        assert_eq!(fires(10_000, 10_499), 10_500);
        assert_eq!(fires(10_000, 10_500), 11_000);
        assert_eq!(fires(10_400, 10_450), 10_500);
    }

    #[test]
    fn a_timer_beyond_the_horizon_fires_512_seconds_ahead() {
        assert_eq!(fires(10_000, 10_000 + 511_000), 10_000 + 511_500);
        assert_eq!(fires(10_000, 10_000 + 600_000), 10_000 + 511_500);
    }

    #[test]
    fn a_tick_is_due_every_half_second() {
        let mut wheel = TimerWheel::new(4);
        assert!(!wheel.due(Nanos::from_millis(499)) && wheel.due(Nanos::from_millis(500)));
        wheel.expired(Nanos::from_millis(1700), &mut Vec::new());
        assert!(!wheel.due(Nanos::from_millis(1999)) && wheel.due(Nanos::from_millis(2000)));
        // Time that goes back changes nothing.
        wheel.expired(Nanos::from_millis(100), &mut Vec::new());
        assert!(!wheel.due(Nanos::from_millis(1999)));
    }

    #[test]
    fn time_that_the_clock_leaps_over_passes_for_no_timer() {
        let mut wheel = TimerWheel::new(4);
        wheel.expired(at(100), &mut Vec::new());
        wheel.arm(at(110), call(1));
        wheel.leap(at(7200));
        let mut fired = Vec::new();
        wheel.expired(at(7305), &mut fired);
        assert!(fired.is_empty() && !wheel.due(at(7305)));
        wheel.expired(at(7311), &mut fired);
        assert_eq!(fired, [call(1)]);
        wheel.arm(at(7320), call(2));
        wheel.expired(at(7319), &mut fired);
        assert_eq!(fired.len(), 1);
        wheel.expired(at(7321), &mut fired);
        assert_eq!(fired, [call(1), call(2)]);
    }

    #[test]
    fn timers_of_several_chunks_fire_in_order_of_arming() {
        let mut wheel = TimerWheel::new(4);
        wheel.expired(at(100), &mut Vec::new());
        let timers: Vec<Timer> = (0..3 * TOGETHER as u32 + 1)
            .map(|slot| Timer { owner: TimerOwner::Rtcp, ticket: Ticket { slot, generation: 0 } })
            .collect();
        timers.iter().for_each(|timer| wheel.arm(at(105), *timer));
        assert_eq!((wheel.armed, wheel.chunks.len()), (timers.len(), 4));
        let mut fired = Vec::new();
        wheel.expired(at(106), &mut fired);
        assert_eq!(fired, timers);
        // Chunks are used again, and memory for timers of all slots was reserved.
        timers.iter().for_each(|timer| wheel.arm(at(115), *timer));
        assert_eq!(wheel.chunks.len(), 4);
        assert!(wheel.chunks.capacity() >= SLOTS);
        assert_eq!(TimerWheel::new(0).chunks.capacity(), 0);
        assert!(TimerWheel::new(40).chunks.capacity() >= SLOTS + 2);
    }

    #[test]
    fn what_fired_is_taken_bit_by_bit_and_what_is_armed_meanwhile_waits() {
        let mut wheel = TimerWheel::new(4);
        wheel.expired(at(100), &mut Vec::new());
        let timers: Vec<Timer> = (0..3 * TOGETHER as u32 + 1).map(|slot| connection(slot, 0)).collect();
        timers.iter().for_each(|timer| wheel.arm(at(105), *timer));
        wheel.move_on(at(106));
        let mut fired = Vec::new();
        assert!(!wheel.due(at(106)) && wheel.take_fired(1, &mut fired));
        assert_eq!(fired, timers[..TOGETHER]);
        wheel.set_slice(Some(at(106)));
        assert!(!wheel.due(at(106)) && wheel.due(at(106) + APART));
        // One that is armed again while it waits fires once, at its new time.
        wheel.arm(at(110), timers[2 * TOGETHER]);
        while wheel.take_fired(1, &mut fired) {}
        assert_eq!((fired.len(), wheel.armed), (timers.len() - 1, 1));
        wheel.expired(at(111), &mut fired);
        assert_eq!((fired.last(), wheel.armed), (Some(&timers[2 * TOGETHER]), 0));
    }
}

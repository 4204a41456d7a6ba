//! What was decided, for whoever sees packets of a call: signalling and media of one call may come to different workers.

use std::sync::atomic::{AtomicU64, Ordering};

use super::What;

/// Names a call over all workers: whose it is, its place there, which life of that place (24 bits).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Place {
    /// The worker that has its signalling.
    pub worker: usize,
    /// Where it stands in that worker's table.
    pub slot: usize,
    /// See the type.
    pub generation: u32,
}

/// How far the decision is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum State {
    /// Nobody has said anything yet, or the call is gone.
    #[default]
    Unknown,
    /// Its packets wait in memory.
    Open,
    /// Its packets are kept, and erased should the end decide so.
    UntilEnd,
    /// It is decided.
    Decided,
}

/// How a call stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Standing {
    /// How far the decision is.
    pub state: State,
    /// What is kept of it, or the most that may be.
    pub what: What,
    /// What is said is not kept for the moment.
    pub paused: bool,
    /// Digits are not kept.
    pub mask_digits: bool,
    /// Those who speak may pause it.
    pub may_pause: bool,
    /// Until the end, and its media would not all be kept if that never came.
    pub provisional: bool,
    /// Payload types that its descriptions gave to telephone-events: bit 0 is 96, bit 31 is 127.
    pub events: u32,
}

impl Standing {
    /// Whether packets of that payload type are telephone-events.
    pub fn is_event(&self, payload_type: u8) -> bool {
        (96..128).contains(&payload_type) && self.events >> (payload_type - 96) & 1 == 1
    }

    fn pack(self, generation: u32) -> u64 {
        let bit = |set: bool, place: u32| u64::from(set) << place;
        let flags = self.what as u64
            | (self.state as u64) << 2
            | bit(self.paused, PAUSED)
            | bit(self.mask_digits, 5)
            | bit(self.may_pause, 6)
            | bit(self.provisional, 7);
        u64::from(self.events) << 32 | u64::from(generation & GENERATIONS) << 8 | flags
    }

    fn unpack(word: u64) -> Self {
        let bit = |place: u32| word >> place & 1 == 1;
        Self {
            what: What::ALL[(word & 3) as usize],
            state: match word >> 2 & 3 {
                0 => State::Unknown,
                1 => State::Open,
                2 => State::UntilEnd,
                _ => State::Decided,
            },
            paused: bit(PAUSED),
            mask_digits: bit(5),
            may_pause: bit(6),
            provisional: bit(7),
            events: (word >> 32) as u32,
        }
    }
}

const PAUSED: u32 = 4;
const GENERATIONS: u32 = 0xff_ffff;

/// A word for each call that there may be. Whoever has a call's signalling writes, everybody reads, nobody waits.
#[derive(Debug)]
pub struct Table {
    words: Box<[Box<[AtomicU64]>]>,
    changes: AtomicU64,
}

impl Table {
    /// For so many workers with so many calls each.
    pub fn new(workers: usize, calls: usize) -> Self {
        let of_worker = |_| (0..calls).map(|_| AtomicU64::new(0)).collect();
        Self { words: (0..workers).map(of_worker).collect(), changes: AtomicU64::new(0) }
    }

    /// Counts how often what was decided of a call has been changed, of any call: while it stays the same, so does every
    /// standing that was [`State::UntilEnd`] or [`State::Decided`]. HOT.
    pub fn changes(&self) -> u64 {
        self.changes.load(Ordering::Acquire)
    }

    fn word(&self, place: Place) -> Option<&AtomicU64> {
        self.words.get(place.worker)?.get(place.slot)
    }

    /// How the call stands. HOT: one load.
    pub fn look(&self, place: Place) -> Standing {
        let word = self.word(place).map_or(0, |word| word.load(Ordering::Acquire));
        if is_of(word, place) { Standing::unpack(word) } else { Standing::default() }
    }

    /// From now on the call stands so. Whether it is paused is left as it is: others say that too.
    pub fn write(&self, place: Place, standing: Standing) {
        let Some(word) = self.word(place) else { return };
        let fresh = standing.pack(place.generation) & !(1 << PAUSED);
        let update = |old: u64| Some(if is_of(old, place) { old & 1 << PAUSED } else { 0 } | fresh);
        // It gives a value each time.
        let (Ok(old) | Err(old)) = word.fetch_update(Ordering::AcqRel, Ordering::Acquire, update);
        let was_decided = is_of(old, place) && old >> 2 & 3 >= State::UntilEnd as u64;
        if was_decided && old & !(1 << PAUSED) != fresh {
            self.changes.fetch_add(1, Ordering::AcqRel);
        }
    }

    /// Pauses the call, or goes on. Whether that was anything new.
    pub fn pause(&self, place: Place, paused: bool) -> bool {
        let Some(word) = self.word(place) else { return false };
        let update = |old: u64| {
            let new = old & !(1 << PAUSED) | u64::from(paused) << PAUSED;
            (is_of(old, place) && new != old).then_some(new)
        };
        let is_new = word.fetch_update(Ordering::AcqRel, Ordering::Acquire, update).is_ok();
        self.changes.fetch_add(u64::from(is_new), Ordering::AcqRel);
        is_new
    }
}

/// Whether the word was written for that life of its place.
fn is_of(word: u64, place: Place) -> bool {
    let is_written = word >> 2 & 3 != State::Unknown as u64;
    is_written && (word >> 8) as u32 & GENERATIONS == place.generation & GENERATIONS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_life_of_a_place_stands_for_itself() {
        let table = Table::new(2, 3);
        let first = Place { worker: 1, slot: 2, generation: 0 };
        let second = Place { generation: 0xff_ffff, ..first };
        assert_eq!(table.look(first), Standing::default());
        assert!(!table.pause(first, true), "nobody has spoken of it");
        for state in [State::Open, State::UntilEnd, State::Decided] {
            for what in What::ALL {
                let standing = Standing {
                    state,
                    what,
                    mask_digits: true,
                    provisional: true,
                    events: 1 << 5 | 1 << 31,
                    ..Standing::default()
                };
                table.write(first, standing);
                assert_eq!(table.look(first), standing);
                assert_eq!(table.look(second), Standing::default());
            }
        }
        assert!(table.pause(first, true) && !table.pause(first, true));
        let full =
            Standing { state: State::Decided, what: What::Full, may_pause: true, ..Standing::default() };
        table.write(first, full);
        assert_eq!(table.look(first), Standing { paused: true, ..full }, "a decision is no reason to go on");
        table.write(second, full);
        assert_eq!(table.look(second), full, "the next call in its place is not paused");
        assert!(!table.pause(first, true));
        // What is not there is unknown.
        let nowhere = Place { slot: 3, ..first };
        table.write(nowhere, full);
        assert_eq!(table.look(nowhere), Standing::default());
        assert_eq!(table.look(Place { worker: 2, ..first }), Standing::default());
    }

    #[test]
    fn only_what_changes_a_decision_is_a_change() {
        let table = Table::new(1, 2);
        let place = Place { worker: 0, slot: 1, generation: 7 };
        let of = |state, what| Standing { state, what, ..Standing::default() };
        for (standing, changes) in [
            (of(State::Open, What::Full), 0),
            (of(State::UntilEnd, What::Full), 0),
            (of(State::UntilEnd, What::Full), 0),
            (of(State::Decided, What::Full), 1),
            (of(State::Decided, What::Signalling), 2),
        ] {
            table.write(place, standing);
            assert_eq!(table.changes(), changes, "{standing:?}");
        }
        assert!(table.pause(place, true));
        assert!(!table.pause(place, true));
        assert_eq!(table.changes(), 3);
        // The next call in its place changes nothing of this one's.
        table.write(Place { generation: 8, ..place }, of(State::Decided, What::Full));
        assert_eq!(table.changes(), 3);
    }

    #[test]
    fn events() {
        let standing = Standing { events: 1 << 5 | 1 << 31, ..Standing::default() };
        let events: Vec<u8> = (0..=255).filter(|payload_type| standing.is_event(*payload_type)).collect();
        assert_eq!(events, [101, 127]);
    }
}

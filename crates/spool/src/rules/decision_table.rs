//! Decisions about calls, for all workers: the signalling and the media of one call may arrive at different
//! workers.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::rules::scope::RecordingScope;

/// Identifies a call over all workers: worker, slot, and generation of the slot (24 bits).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CallSlot {
    /// The worker that has its signalling.
    pub worker: usize,
    /// Its slot in that worker's table.
    pub slot: usize,
    /// Tells the call from earlier ones in the slot.
    pub generation: u32,
}

/// State of the decision about a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DecisionState {
    /// The call is not known yet, or is gone.
    #[default]
    Unknown,
    /// The decision is pending: packets wait in memory.
    Open,
    /// Packets are recorded, and erased if the end of the call decides so.
    UntilEnd,
    /// The decision is final.
    Decided,
}

/// The decision about a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CallDecision {
    /// State of the decision.
    pub state: DecisionState,
    /// What is recorded of the call, or the most that may be.
    pub what: RecordingScope,
    /// The media are not recorded for the moment.
    pub paused: bool,
    /// Digits are not recorded.
    pub mask_digits: bool,
    /// The speakers may pause the recording.
    pub may_pause: bool,
    /// The decision waits for the end of the call, and without an end not all of its media would be recorded.
    pub provisional: bool,
    /// Payload types that the call's descriptions give to telephone-events: bit 0 is 96, bit 31 is 127.
    pub events: u32,
}

impl CallDecision {
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
            what: RecordingScope::ALL[(word & 3) as usize],
            state: match word >> 2 & 3 {
                0 => DecisionState::Unknown,
                1 => DecisionState::Open,
                2 => DecisionState::UntilEnd,
                _ => DecisionState::Decided,
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

/// A word for each call. The worker with the call's signalling writes it, all workers read it, none waits.
#[derive(Debug)]
pub struct DecisionTable {
    words: Box<[Box<[AtomicU64]>]>,
    changes: AtomicU64,
}

impl DecisionTable {
    /// For so many workers with so many calls each.
    pub fn new(workers: usize, calls: usize) -> Self {
        let of_worker = |_| (0..calls).map(|_| AtomicU64::new(0)).collect();
        Self { words: (0..workers).map(of_worker).collect(), changes: AtomicU64::new(0) }
    }

    /// Counts changes of decisions that were [`DecisionState::UntilEnd`] or [`DecisionState::Decided`], of
    /// all calls. While this number stays the same, so does each of these decisions. HOT.
    pub fn changes(&self) -> u64 {
        self.changes.load(Ordering::Acquire)
    }

    fn word(&self, slot: CallSlot) -> Option<&AtomicU64> {
        self.words.get(slot.worker)?.get(slot.slot)
    }

    /// The decision about a call. HOT: one load.
    pub fn get(&self, slot: CallSlot) -> CallDecision {
        let word = self.word(slot).map_or(0, |word| word.load(Ordering::Acquire));
        if is_of(word, slot) { CallDecision::unpack(word) } else { CallDecision::default() }
    }

    /// Writes the decision about a call. Leaves the pause unchanged: other threads set it.
    pub fn write(&self, slot: CallSlot, standing: CallDecision) {
        let Some(word) = self.word(slot) else { return };
        let fresh = standing.pack(slot.generation) & !(1 << PAUSED);
        let update = |old: u64| Some(if is_of(old, slot) { old & 1 << PAUSED } else { 0 } | fresh);
        // The update always returns a value.
        let (Ok(old) | Err(old)) = word.fetch_update(Ordering::AcqRel, Ordering::Acquire, update);
        let was_decided = is_of(old, slot) && old >> 2 & 3 >= DecisionState::UntilEnd as u64;
        if was_decided && old & !(1 << PAUSED) != fresh {
            self.changes.fetch_add(1, Ordering::AcqRel);
        }
    }

    /// Pauses the recording of a call, or resumes it. Returns whether that changed anything.
    pub fn pause(&self, slot: CallSlot, paused: bool) -> bool {
        let Some(word) = self.word(slot) else { return false };
        let update = |old: u64| {
            let new = old & !(1 << PAUSED) | u64::from(paused) << PAUSED;
            (is_of(old, slot) && new != old).then_some(new)
        };
        let is_new = word.fetch_update(Ordering::AcqRel, Ordering::Acquire, update).is_ok();
        self.changes.fetch_add(u64::from(is_new), Ordering::AcqRel);
        is_new
    }
}

/// Whether the word belongs to this generation of its slot.
fn is_of(word: u64, slot: CallSlot) -> bool {
    let is_written = word >> 2 & 3 != DecisionState::Unknown as u64;
    is_written && (word >> 8) as u32 & GENERATIONS == slot.generation & GENERATIONS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_life_of_a_place_stands_for_itself() {
        let table = DecisionTable::new(2, 3);
        let first = CallSlot { worker: 1, slot: 2, generation: 0 };
        let second = CallSlot { generation: 0xff_ffff, ..first };
        assert_eq!(table.get(first), CallDecision::default());
        assert!(!table.pause(first, true), "nobody has spoken of it");
        for state in [DecisionState::Open, DecisionState::UntilEnd, DecisionState::Decided] {
            for what in RecordingScope::ALL {
                let standing = CallDecision {
                    state,
                    what,
                    mask_digits: true,
                    provisional: true,
                    events: 1 << 5 | 1 << 31,
                    ..CallDecision::default()
                };
                table.write(first, standing);
                assert_eq!(table.get(first), standing);
                assert_eq!(table.get(second), CallDecision::default());
            }
        }
        assert!(table.pause(first, true) && !table.pause(first, true));
        let full = CallDecision {
            state: DecisionState::Decided,
            what: RecordingScope::Full,
            may_pause: true,
            ..CallDecision::default()
        };
        table.write(first, full);
        assert_eq!(
            table.get(first),
            CallDecision { paused: true, ..full },
            "a decision is no reason to go on"
        );
        table.write(second, full);
        assert_eq!(table.get(second), full, "the next call in its place is not paused");
        assert!(!table.pause(first, true));
        // A call outside the table is unknown.
        let nowhere = CallSlot { slot: 3, ..first };
        table.write(nowhere, full);
        assert_eq!(table.get(nowhere), CallDecision::default());
        assert_eq!(table.get(CallSlot { worker: 2, ..first }), CallDecision::default());
    }

    #[test]
    fn only_what_changes_a_decision_is_a_change() {
        let table = DecisionTable::new(1, 2);
        let place = CallSlot { worker: 0, slot: 1, generation: 7 };
        let of = |state, what| CallDecision { state, what, ..CallDecision::default() };
        for (standing, changes) in [
            (of(DecisionState::Open, RecordingScope::Full), 0),
            (of(DecisionState::UntilEnd, RecordingScope::Full), 0),
            (of(DecisionState::UntilEnd, RecordingScope::Full), 0),
            (of(DecisionState::Decided, RecordingScope::Full), 1),
            (of(DecisionState::Decided, RecordingScope::Signalling), 2),
        ] {
            table.write(place, standing);
            assert_eq!(table.changes(), changes, "{standing:?}");
        }
        assert!(table.pause(place, true));
        assert!(!table.pause(place, true));
        assert_eq!(table.changes(), 3);
        // The next call in the slot does not change this one.
        table.write(CallSlot { generation: 8, ..place }, of(DecisionState::Decided, RecordingScope::Full));
        assert_eq!(table.changes(), 3);
    }

    #[test]
    fn events() {
        let standing = CallDecision { events: 1 << 5 | 1 << 31, ..CallDecision::default() };
        let events: Vec<u8> = (0..=255).filter(|payload_type| standing.is_event(*payload_type)).collect();
        assert_eq!(events, [101, 127]);
    }
}

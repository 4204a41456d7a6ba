//! A decision as the journal of calls in progress has it.

use ringtap_model::Recorded;
use ringtap_spool::rules::{CallDecision, DecisionState, RecordingScope};

/// What is recorded of a call: two bits of scope, then flags, and from bit 8 on the payload types of its
/// telephone-events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotedDecision(u64);

const DECIDED: u64 = 1 << 2;
const PROVISIONAL: u64 = 1 << 3;
const PAUSED: u64 = 1 << 4;
const MASK_DIGITS: u64 = 1 << 5;
const MAY_PAUSE: u64 = 1 << 6;
const EVENTS: u32 = 8;

impl NotedDecision {
    pub(crate) fn of(decision: &CallDecision) -> Self {
        let is_made = matches!(decision.state, DecisionState::Decided | DecisionState::UntilEnd);
        let flags = [
            (DECIDED, is_made),
            (PROVISIONAL, decision.provisional),
            (PAUSED, decision.paused),
            (MASK_DIGITS, decision.mask_digits),
            (MAY_PAUSE, decision.may_pause),
        ];
        let rest = decision.what as u64 | u64::from(decision.events) << EVENTS;
        Self(flags.into_iter().filter(|(_, is_set)| *is_set).fold(rest, |bits, (flag, _)| bits | flag))
    }

    /// As [`bits`](Self::bits) gave it.
    pub fn of_bits(bits: u64) -> Self {
        Self(bits)
    }

    /// For the journal.
    pub fn bits(self) -> u64 {
        self.0
    }

    /// The decision that it stands for; None if it was pending.
    pub(crate) fn decision(self) -> Option<CallDecision> {
        let is_final = self.0 & DECIDED != 0 && self.0 & PROVISIONAL == 0;
        is_final.then(|| CallDecision {
            state: DecisionState::Decided,
            what: self.scope(),
            paused: self.0 & PAUSED != 0,
            mask_digits: self.0 & MASK_DIGITS != 0,
            may_pause: self.0 & MAY_PAUSE != 0,
            provisional: false,
            events: self.events(),
        })
    }

    /// Payload types of its telephone-events, as [`CallDecision::events`]: known before the decision.
    pub(crate) fn events(self) -> u32 {
        (self.0 >> EVENTS) as u32
    }

    /// Whether it was paused, whatever was to be recorded.
    pub(crate) fn is_paused(self) -> bool {
        self.0 & PAUSED != 0
    }

    fn scope(self) -> RecordingScope {
        RecordingScope::ALL[(self.0 & 3) as usize]
    }

    /// What was recorded by then; nothing if the decision was still pending, or was to be erased by the next
    /// start.
    pub(crate) fn recorded(self) -> Recorded {
        if self.0 & DECIDED == 0 || self.0 & PROVISIONAL != 0 {
            return Recorded::None;
        }
        match self.scope() {
            RecordingScope::Nothing => Recorded::None,
            RecordingScope::Signalling => Recorded::Signalling,
            RecordingScope::Headers => Recorded::Headers,
            RecordingScope::Full => Recorded::Full,
        }
    }
}

/// The wider of two scopes.
pub(crate) fn wider(one: Recorded, other: Recorded) -> Recorded {
    let rank = |recorded: Recorded| Recorded::ALL.iter().position(|at| *at == recorded);
    if rank(one) >= rank(other) { one } else { other }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_recorded_is_known_from_one_byte() {
        for (state, what, provisional, expected) in [
            (DecisionState::Open, RecordingScope::Full, false, Recorded::None),
            (DecisionState::Decided, RecordingScope::Nothing, false, Recorded::None),
            (DecisionState::Decided, RecordingScope::Signalling, false, Recorded::Signalling),
            (DecisionState::Decided, RecordingScope::Headers, false, Recorded::Headers),
            (DecisionState::UntilEnd, RecordingScope::Full, false, Recorded::Full),
            (DecisionState::UntilEnd, RecordingScope::Full, true, Recorded::None),
        ] {
            let decision = CallDecision { state, what, provisional, paused: true, ..CallDecision::default() };
            let noted = NotedDecision::of(&decision);
            assert_eq!(NotedDecision::of_bits(noted.bits()).recorded(), expected, "{decision:?}");
        }
    }

    /// Whoever goes on with the call masks the same digits, and has not begun to listen.
    #[test]
    fn a_decision_comes_back_with_its_pause_and_the_payload_types_of_digits() {
        let decision = CallDecision {
            state: DecisionState::Decided,
            what: RecordingScope::Full,
            paused: true,
            mask_digits: true,
            may_pause: true,
            provisional: false,
            events: 1 << 5 | 1 << 31,
        };
        let noted = NotedDecision::of_bits(NotedDecision::of(&decision).bits());
        assert_eq!(noted.decision(), Some(decision));
        // Not made yet: judged again, and paused all the same.
        let open = CallDecision { state: DecisionState::Open, ..decision };
        let noted = NotedDecision::of_bits(NotedDecision::of(&open).bits());
        assert_eq!((noted.decision(), noted.is_paused(), noted.events()), (None, true, decision.events));
    }
}

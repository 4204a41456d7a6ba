//! A decision as the journal of calls in progress has it.

use ringtap_model::Recorded;
use ringtap_spool::rules::{CallDecision, DecisionState, RecordingScope};

/// What is recorded of a call, in one byte: two bits of scope, then flags.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotedDecision(u8);

const DECIDED: u8 = 1 << 2;
const PROVISIONAL: u8 = 1 << 3;
const PAUSED: u8 = 1 << 4;
const MASK_DIGITS: u8 = 1 << 5;
const MAY_PAUSE: u8 = 1 << 6;

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
        let scope = decision.what as u8;
        Self(flags.into_iter().filter(|(_, is_set)| *is_set).fold(scope, |bits, (flag, _)| bits | flag))
    }

    /// As [`bits`](Self::bits) gave it.
    pub fn of_bits(bits: u8) -> Self {
        Self(bits)
    }

    /// For the journal.
    pub fn bits(self) -> u8 {
        self.0
    }

    /// What was recorded by then; nothing if the decision was still pending, or was to be erased by the next
    /// start.
    pub(crate) fn recorded(self) -> Recorded {
        if self.0 & DECIDED == 0 || self.0 & PROVISIONAL != 0 {
            return Recorded::None;
        }
        match RecordingScope::ALL[usize::from(self.0 & 3)] {
            RecordingScope::Nothing => Recorded::None,
            RecordingScope::Signalling => Recorded::Signalling,
            RecordingScope::Headers => Recorded::Headers,
            RecordingScope::Full => Recorded::Full,
        }
    }
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
}

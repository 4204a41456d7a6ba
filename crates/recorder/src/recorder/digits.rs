//! Pressed digits, and the pauses that they begin or end.

use ringtap_engine::CallNumber;

use crate::policy::{PauseTrigger, RecordingPolicy, SharedPolicy, place};

/// The last digits that a party pressed.
#[derive(Default)]
pub(super) struct PressedDigits {
    pub(super) digits: [u8; 16],
    pub(super) count: usize,
}

impl PressedDigits {
    /// Adds a digit; returns whether the digits now pause and whether they resume. Both are true if the same
    /// digits do both.
    pub(super) fn press(&mut self, digit: u8, policy: &RecordingPolicy) -> (bool, bool) {
        self.digits.rotate_left(1);
        self.digits[15] = digit;
        self.count = (self.count + 1).min(16);
        let ends = |switch: &PauseTrigger| {
            !switch.digits.is_empty() && self.digits[16 - self.count..].ends_with(&switch.digits)
        };
        let found = (ends(&policy.pause), ends(&policy.resume));
        if found != (false, false) {
            self.count = 0;
        }
        found
    }
}

/// Pauses or resumes a call; toggles if both are set.
pub(super) fn pause_or_resume(shared_policy: &SharedPolicy, call: CallNumber, pause: bool, resume: bool) {
    let place = place(call);
    let paused = match (pause, resume) {
        (false, false) => return,
        (true, true) => !shared_policy.table.get(place).paused,
        (pause, _) => pause,
    };
    if shared_policy.table.pause(place, paused) {
        let what = if paused { "paused" } else { "resumed" };
        log::debug!(target: "rules", "the recording of a call is {what}, by digits or a header");
    }
}

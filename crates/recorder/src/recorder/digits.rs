//! Digits that somebody pressed, and the pause that they begin or end.

use ringtap_engine::CallNumber;

use crate::orders::{Orders, PauseTrigger, Ruling, place};

/// The last digits that somebody pressed.
#[derive(Default)]
pub(super) struct PressedDigits {
    pub(super) digits: [u8; 16],
    pub(super) count: usize,
}

impl PressedDigits {
    /// Takes a digit; whether it ends the pause or begins one: both where the same digits do both.
    pub(super) fn press(&mut self, digit: u8, ruling: &Ruling) -> (bool, bool) {
        self.digits.rotate_left(1);
        self.digits[15] = digit;
        self.count = (self.count + 1).min(16);
        let ends = |switch: &PauseTrigger| {
            !switch.digits.is_empty() && self.digits[16 - self.count..].ends_with(&switch.digits)
        };
        let found = (ends(&ruling.pause), ends(&ruling.resume));
        if found != (false, false) {
            self.count = 0;
        }
        found
    }
}

/// Both in turn where both are asked for.
pub(super) fn pause_or_resume(orders: &Orders, call: CallNumber, pause: bool, resume: bool) {
    let place = place(call);
    let paused = match (pause, resume) {
        (false, false) => return,
        (true, true) => !orders.table.get(place).paused,
        (pause, _) => pause,
    };
    if orders.table.pause(place, paused) {
        let what = if paused { "paused" } else { "goes on" };
        log::debug!(target: "rules", "a call {what}, by digits or a header");
    }
}

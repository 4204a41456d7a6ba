//! Pausing and resuming, by those who speak: digits that they press, headers that their telephones send.

use super::*;

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

impl Recorder {
    /// Whether a message pauses its call, or goes on.
    pub(super) fn switch(&mut self, seen: &SipSeen<'_>, number: CallNumber, ruling: &Ruling) {
        let Some(state) = self.calls.get_mut(&number.slot()).filter(|state| state.standing.may_pause) else {
            return;
        };
        let holds = |switch: &PauseTrigger| {
            switch.header.as_ref().is_some_and(|(name, value)| {
                let given = seen.message.header_named(name.as_bytes());
                given.is_some_and(|given| given.trim_ascii().eq_ignore_ascii_case(value.as_bytes()))
            })
        };
        let (mut pause, mut resume) = (holds(&ruling.pause), holds(&ruling.resume));
        if let Some(digit) = digit(seen.message).filter(|_| !seen.retransmission && !seen.mirrored) {
            let found = state.digits.press(digit, ruling);
            (pause, resume) = (pause || found.0, resume || found.1);
        }
        pause_or_resume(&self.orders, number, pause, resume);
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

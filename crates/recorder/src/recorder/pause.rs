//! Pausing and resuming, by those who speak: digits that they press, headers that their telephones send.

use ringtap_engine::{CallNumber, SipSeen};

use super::digits::pause_or_resume;
use super::state::Recorder;
use crate::facts::digit;
use crate::orders::{PauseTrigger, Ruling};

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

//! Pausing and resuming by the parties of a call: by digits, or by headers of its messages.

use ringtap_engine::{CallNumber, SipSeen};

use super::digits::pause_or_resume;
use super::state::Recorder;
use crate::facts::digit;
use crate::policy::{PauseTrigger, RecordingPolicy};

impl Recorder {
    /// Pauses or resumes the call of a message that asks for it.
    pub(super) fn switch(&mut self, seen: &SipSeen<'_>, number: CallNumber, policy: &RecordingPolicy) {
        let Some(state) = self.calls.get_mut(&number.slot()).filter(|state| state.decision.may_pause) else {
            return;
        };
        let holds = |switch: &PauseTrigger| {
            switch.header.as_ref().is_some_and(|(name, value)| {
                let given = seen.message.header_named(name.as_bytes());
                given.is_some_and(|given| given.trim_ascii().eq_ignore_ascii_case(value.as_bytes()))
            })
        };
        let (mut pause, mut resume) = (holds(&policy.pause), holds(&policy.resume));
        if let Some(digit) = digit(seen.message).filter(|_| !seen.retransmission && !seen.mirrored) {
            let found = state.digits.press(digit, policy);
            (pause, resume) = (pause || found.0, resume || found.1);
        }
        pause_or_resume(&self.shared_policy, number, pause, resume);
    }
}

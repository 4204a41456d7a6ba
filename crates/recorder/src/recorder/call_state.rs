//! The recorder's state of a call in progress.

use ringtap_engine::CallNumber;
use ringtap_model::{Call, Nanos};
use ringtap_spool::rules::{CallDecision, RecordingScope};

use super::digits::PressedDigits;
use super::intercepted::InterceptedCall;
use crate::facts::GatheredFacts;
use crate::noted_decision::NotedDecision;
use crate::output::OwnerRecording;

/// A call in progress.
pub(super) struct CallState {
    pub(super) number: CallNumber,
    pub(super) call_id: Box<str>,
    pub(super) recording: OwnerRecording,
    pub(super) facts: GatheredFacts,
    pub(super) decision: CallDecision,
    /// The widest scope recorded while the decision waited for the call's end.
    pub(super) most: Option<RecordingScope>,
    /// The pending decision is noted on the disk.
    pub(super) noted_pending: bool,
    /// The decision as the journal has it.
    pub(super) journaled: Option<NotedDecision>,
    /// The decision is final.
    pub(super) fixed: bool,
    /// A command changed a decided call.
    pub(super) demanded: bool,
    pub(super) digits: PressedDigits,
    /// Its interception; None if no rule intercepts.
    pub(super) product: Option<Box<InterceptedCall>>,
}

/// Messages with a Call-ID that is not a call's.
pub(super) struct OtherDialog {
    pub(super) recording: OwnerRecording,
    pub(super) decision: CallDecision,
    pub(super) last: Nanos,
}

/// Removes the pressed digits from a record.
pub(super) fn mask(call: &mut Call) {
    call.dtmf.iter_mut().for_each(|dtmf| dtmf.digit = "x".to_owned());
}

/// Challenges may precede the record's first time.
pub(super) const BEFORE: Nanos = Nanos::from_secs(10);

//! What a recorder has of a call under way, and what a verdict comes to.

use ringtap_engine::CallNumber;
use ringtap_model::{Call, Nanos};
use ringtap_spool::rules::{CallDecision, RecordingScope};

use super::digits::PressedDigits;
use super::intercepted::InterceptedCall;
use crate::facts::GatheredFacts;
use crate::output::OwnerRecording;

/// A call under way.
pub(super) struct CallState {
    pub(super) number: CallNumber,
    pub(super) call_id: Box<str>,
    pub(super) track: OwnerRecording,
    pub(super) facts: GatheredFacts,
    pub(super) standing: CallDecision,
    /// The most that was kept of it until its end should tell.
    pub(super) most: Option<RecordingScope>,
    /// That is kept in mind on the disk.
    pub(super) noted_pending: bool,
    /// No rule changes it any more.
    pub(super) fixed: bool,
    /// By command, when it had begun.
    pub(super) demanded: bool,
    pub(super) digits: PressedDigits,
    /// What the rules say that intercept; None where there are none.
    pub(super) product: Option<Box<InterceptedCall>>,
}

/// Messages of one Call-ID that is no call's.
pub(super) struct OtherDialog {
    pub(super) track: OwnerRecording,
    pub(super) standing: CallDecision,
    pub(super) last: Nanos,
}

/// The record does not say which digits were pressed.
pub(super) fn mask(call: &mut Call) {
    call.dtmf.iter_mut().for_each(|dtmf| dtmf.digit = "x".to_owned());
}

/// Challenges may come before the record's time.
pub(super) const BEFORE: Nanos = Nanos::from_secs(10);

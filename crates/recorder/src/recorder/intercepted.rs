//! The recorder's state of intercepted calls, streams and dialogs.

use std::collections::HashMap;
use std::hash::BuildHasherDefault;
use std::net::IpAddr;

use ringtap_engine::CallNumber;
use ringtap_model::{Endpoint, Nanos};
use ringtap_spool::rules::{CallDecision, DecisionState};
use ringtap_spool::{Category, of_stream};

use super::stream_state::SerialHasher;
use super::verdict::alone_facts;
use crate::cases::CaseNote;
use crate::output::{OwnerRecording, PacketOutput};
use crate::policy::{RecordingPolicy, SharedPolicy, place};

/// A worker's intercepted streams and dialogs.
#[derive(Default)]
pub(super) struct Interceptions {
    /// By the stream's serial.
    pub(super) streams: HashMap<u64, InterceptedStream, BuildHasherDefault<SerialHasher>>,
    /// Streams with waiting packets.
    pub(super) waiting: Vec<u64>,
    /// Dialogs that are not calls, by the key of their Call-ID.
    pub(super) others: HashMap<u64, InterceptedDialog>,
}

/// A call that may be intercepted.
pub(super) struct InterceptedCall {
    pub(super) recording: OwnerRecording,
    pub(super) decision: CallDecision,
    /// The decision is final until the rules change.
    pub(super) fixed: bool,
    /// The rules that match.
    pub(super) matched: Vec<usize>,
    pub(super) logged: Option<Nanos>,
}

/// A stream that is or may be intercepted.
pub(super) struct InterceptedStream {
    pub(super) recording: OwnerRecording,
    pub(super) call: Option<CallNumber>,
    pub(super) hosts: [IpAddr; 2],
    pub(super) ssrc: u32,
    pub(super) first: Nanos,
    pub(super) last: Nanos,
    /// The decision about it without a call, and its cases.
    pub(super) alone: Option<(CallDecision, Vec<String>)>,
    /// When it ended.
    pub(super) ended: Option<Nanos>,
    pub(super) logged: Option<Nanos>,
}

/// Messages with a Call-ID that is not a call's.
pub(super) struct InterceptedDialog {
    pub(super) recording: OwnerRecording,
    pub(super) decision: CallDecision,
    pub(super) cases: Vec<String>,
    pub(super) last: Nanos,
    pub(super) logged: Option<Nanos>,
}

impl InterceptedCall {
    pub(super) fn new(key: u64) -> Self {
        let recording = OwnerRecording::product(Category::Signalling, key);
        Self { recording, decision: CallDecision::default(), fixed: false, matched: Vec::new(), logged: None }
    }

    /// The decision may still change.
    pub(super) fn is_open(&self) -> bool {
        !self.fixed
    }

    /// Ends the recording.
    pub(super) fn end(mut self, output: &mut PacketOutput, now: Nanos) {
        output.end(&mut self.recording, now);
    }
}

impl InterceptedStream {
    pub(super) fn new((src, dst, ssrc): (Endpoint, Endpoint, u32), time: Nanos) -> Self {
        Self {
            recording: OwnerRecording::product(Category::Media, of_stream(src, dst, ssrc)),
            call: None,
            hosts: [src.ip, dst.ip],
            ssrc,
            first: time,
            last: time,
            alone: None,
            ended: None,
            logged: None,
        }
    }

    /// The decision of its call, or its own without one.
    pub(super) fn decision_of(&self, shared_policy: &SharedPolicy, policy: &RecordingPolicy) -> CallDecision {
        let known = match self.call {
            Some(call) => shared_policy.products.get(place(call)),
            None => self.alone.as_ref().map(|(decision, _)| *decision).unwrap_or_default(),
        };
        match known.state {
            DecisionState::Unknown => CallDecision { what: policy.products.most(), ..known },
            _ => known,
        }
    }

    /// Applies the rules to a stream without a call.
    pub(super) fn judge_alone(&mut self, policy: &RecordingPolicy) {
        let facts = alone_facts(policy, &self.hosts, self.ssrc, |facts| policy.products.decide(facts));
        self.alone = Some((facts.decision, policy.products.cases(&facts.matched)));
    }

    pub(super) fn tell(&mut self, shared_policy: &SharedPolicy, now: Nanos) {
        if is_due(&self.recording, &mut self.logged, now) {
            let owner = self.recording.key;
            shared_policy.note(match (self.call, &self.alone) {
                (Some(call), _) => CaseNote::Owner { place: place(call), owner },
                (None, Some((_, cases))) => CaseNote::Alone { owner, cases: cases.clone() },
                (None, None) => return,
            });
        }
    }
}

/// Whether the cases of an owner are to be logged now: with its first packet, and again from time to time.
pub(super) fn is_due(recording: &OwnerRecording, logged: &mut Option<Nanos>, now: Nanos) -> bool {
    let due = recording.is_kept() && logged.is_none_or(|logged| logged + AGAIN < now);
    if due {
        *logged = Some(now);
    }
    due
}

/// Interval after which an owner's cases are logged again: an owner may last for days.
const AGAIN: Nanos = Nanos::from_secs(3_600);

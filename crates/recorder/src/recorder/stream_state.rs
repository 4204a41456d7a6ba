//! The recorder's state of a media stream, and the decision about its packets.

use std::hash::Hasher;

use ringtap_engine::{CallNumber, RtpSeen};
use ringtap_model::{Endpoint, Nanos};
use ringtap_spool::rules::{CallDecision, DecisionState, RecordingScope};
use ringtap_spool::{Category, OwnerHandle, PendingEntry, of_stream};

use super::digits::{PressedDigits, pause_or_resume};
use super::verdict::{alone_facts, decision_from};
use crate::erase::Eraser;
use crate::facts::digit_of_event;
use crate::output::OwnerRecording;
use crate::pending::number;
use crate::policy::{RecordingPolicy, SharedPolicy, place};

/// A media stream.
pub(super) struct Stream {
    pub(super) recording: OwnerRecording,
    /// Its slot in the engine, see [`RtpSeen::stream_slot`].
    pub(super) place: u32,
    pub(super) call: Option<CallNumber>,
    pub(super) ends: [Endpoint; 2],
    pub(super) ssrc: u32,
    pub(super) first: Nanos,
    pub(super) last: Nanos,
    /// The decision about it without a call.
    pub(super) alone: Option<CallDecision>,
    /// When it ended.
    pub(super) ended: Option<Nanos>,
    /// RTP timestamp of the last telephone-event.
    pub(super) event: Option<u32>,
    pub(super) digits: PressedDigits,
    /// The call whose pending decision is noted on the disk.
    pub(super) noted_pending: Option<CallNumber>,
    /// The call of which the journal has it.
    pub(super) journaled: Option<CallNumber>,
    pub(super) payload_type: u8,
}

/// The fast path of a stream: every packet is recorded whole until something else is decided. All that the
/// next packet needs fits into one cache line.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(super) struct FastPath {
    /// Serial of the stream that this entry is for.
    pub(super) serial: u64,
    /// The recorder's `version` when this was written; it is invalid under any other.
    pub(super) version: u64,
    /// Its call in the engine.
    pub(super) call: Option<CallNumber>,
    /// None if packets take the slow path.
    pub(super) owner: Option<OwnerHandle>,
    pub(super) last: Nanos,
}

const _: () = assert!(size_of::<FastPath>() == 64);

impl FastPath {
    pub(super) const NONE: Self = Self { serial: 0, version: 0, call: None, owner: None, last: Nanos::ZERO };
}

/// Serial numbers only need to be spread.
#[derive(Default)]
pub(super) struct SerialHasher(u64);

impl Hasher for SerialHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u64(u64::from(*byte)));
    }

    fn write_u64(&mut self, number: u64) {
        // 2^64 / the golden ratio: high bits for the bucket, low bits for the tag.
        self.0 = (self.0 ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(26);
    }
}

impl Stream {
    pub(super) fn new(seen: &RtpSeen<'_>) -> Self {
        let RtpSeen { src, dst, ssrc, time, payload_type, stream_slot: place, .. } = *seen;
        Self {
            recording: OwnerRecording::new(Category::Media, of_stream(src, dst, ssrc)),
            place,
            call: None,
            ends: [src, dst],
            ssrc,
            first: time,
            last: time,
            alone: None,
            ended: None,
            event: None,
            digits: PressedDigits::default(),
            noted_pending: None,
            journaled: None,
            payload_type,
        }
    }

    /// Notes on the disk that packets are recorded while their call's decision is pending.
    #[cold]
    pub(super) fn note_pending(&mut self, eraser: Option<&mut Eraser>) {
        if let Some((eraser, call)) =
            eraser.zip(self.call).filter(|(_, call)| self.noted_pending != Some(*call))
        {
            self.noted_pending = Some(call);
            eraser.note_pending(PendingEntry::Begun {
                call: number(call),
                owner: self.recording.key,
                from: self.first,
            });
        }
    }

    /// Handles a telephone-event: each new one is a digit.
    #[cold]
    pub(super) fn press(
        &mut self,
        seen: &RtpSeen<'_>,
        shared_policy: &SharedPolicy,
        policy: &RecordingPolicy,
    ) {
        // Every packet of an event has its beginning as timestamp (RFC 4733 section 2.4.1.1).
        if self.event.replace(seen.timestamp) == Some(seen.timestamp) {
            return;
        }
        if let (Some(digit), Some(call)) = (digit_of_event(seen.payload), self.call) {
            let (pause, resume) = self.digits.press(digit, policy);
            pause_or_resume(shared_policy, call, pause, resume);
        }
    }
}

/// The decision about a stream: that of its call, or its own without one. HOT: a load.
pub(super) fn decision_of(
    shared_policy: &SharedPolicy,
    policy: &RecordingPolicy,
    stream: &Stream,
) -> CallDecision {
    let known = match stream.call {
        Some(call) => shared_policy.table.get(place(call)),
        None => stream.alone.unwrap_or_default(),
    };
    match (known.state, policy.rules.always()) {
        (DecisionState::Unknown, Some(rule)) => CallDecision {
            state: DecisionState::Decided,
            what: rule.what,
            mask_digits: rule.mask_digits,
            ..CallDecision::default()
        },
        (DecisionState::Unknown, None) => CallDecision { what: policy.rules.most(), ..known },
        _ => known,
    }
}

/// Whether every packet is recorded whole, and no digits are looked for in it.
pub(super) fn may_take_fast_path(decision: &CallDecision, policy: &RecordingPolicy) -> bool {
    let CallDecision { state, what, paused, mask_digits, may_pause, .. } = *decision;
    let is_kept =
        matches!(state, DecisionState::UntilEnd | DecisionState::Decided) && what == RecordingScope::Full;
    let listens = may_pause && [&policy.pause, &policy.resume].iter().any(|switch| !switch.digits.is_empty());
    is_kept && !paused && !mask_digits && !listens
}

/// The decision about a stream without a call.
pub(super) fn decide_alone(policy: &RecordingPolicy, stream: &Stream) -> CallDecision {
    alone_facts(policy, &stream.ends.map(|end| end.ip), stream.ssrc, |facts| {
        decision_from(&policy.rules.decide(facts))
    })
}

//! What a recorder has of a media stream, and what decides about its packets.

use std::hash::Hasher;
use std::net::IpAddr;

use ringtap_engine::{CallNumber, RtpSeen};
use ringtap_model::Nanos;
use ringtap_spool::rules::{CallDecision, DecisionState, RecordingScope};
use ringtap_spool::{Category, OwnerHandle, PendingEntry, of_stream};

use super::digits::{PressedDigits, pause_or_resume};
use super::verdict::{alone_facts, standing};
use crate::erase::Eraser;
use crate::facts::digit_of_event;
use crate::orders::{Orders, Ruling, place};
use crate::output::OwnerRecording;
use crate::pending::number;

/// A media stream.
pub(super) struct Stream {
    pub(super) track: OwnerRecording,
    /// In the engine, see [`RtpSeen::stream_slot`].
    pub(super) place: u32,
    pub(super) call: Option<CallNumber>,
    pub(super) hosts: [IpAddr; 2],
    pub(super) ssrc: u32,
    pub(super) first: Nanos,
    pub(super) last: Nanos,
    /// What the rules say of it where no call claims it.
    pub(super) alone: Option<CallDecision>,
    /// No packet of it will come; since when.
    pub(super) left: Option<Nanos>,
    /// RTP timestamp of the event that was taken last.
    pub(super) event: Option<u32>,
    pub(super) digits: PressedDigits,
    /// The call whose decision is pending, as is noted on the disk.
    pub(super) noted_pending: Option<CallNumber>,
}

/// The fast path of a stream: every packet is recorded whole until something else is decided. All that the
/// next packet needs fits into one cache line.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(super) struct FastPath {
    /// Serial of the stream that this entry is for.
    pub(super) serial: u64,
    /// [`Recorder::version`] when it was written; not good for any other.
    pub(super) version: u64,
    /// As the engine named it.
    pub(super) call: Option<CallNumber>,
    /// None where packets take the slow path.
    pub(super) owner: Option<OwnerHandle>,
    pub(super) last: Nanos,
}

const _: () = assert!(size_of::<FastPath>() == 64);

impl FastPath {
    pub(super) const NONE: Self = Self { serial: 0, version: 0, call: None, owner: None, last: Nanos::ZERO };
}

/// Numbers that count up need no more than to be spread.
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
        // 2^64 / the golden ratio: high bits for the place, low ones for the tag.
        self.0 = (self.0 ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(26);
    }
}

impl Stream {
    pub(super) fn new(seen: &RtpSeen<'_>) -> Self {
        let RtpSeen { src, dst, ssrc, time, stream_slot: place, .. } = *seen;
        Self {
            track: OwnerRecording::new(Category::Media, of_stream(src, dst, ssrc)),
            place,
            call: None,
            hosts: [src.ip, dst.ip],
            ssrc,
            first: time,
            last: time,
            alone: None,
            left: None,
            event: None,
            digits: PressedDigits::default(),
            noted_pending: None,
        }
    }

    /// Something of it is about to be kept until its call's end tells whether it should be.
    #[cold]
    pub(super) fn note_pending(&mut self, eraser: Option<&mut Eraser>) {
        if let Some((eraser, call)) =
            eraser.zip(self.call).filter(|(_, call)| self.noted_pending != Some(*call))
        {
            self.noted_pending = Some(call);
            eraser.note_pending(PendingEntry::Begun {
                call: number(call),
                owner: self.track.key,
                from: self.first,
            });
        }
    }

    /// A telephone-event: a digit where it is a new one.
    #[cold]
    pub(super) fn press(&mut self, seen: &RtpSeen<'_>, orders: &Orders, ruling: &Ruling) {
        // Every packet of an event has its beginning as timestamp (RFC 4733 section 2.4.1.1).
        if self.event.replace(seen.timestamp) == Some(seen.timestamp) {
            return;
        }
        if let (Some(digit), Some(call)) = (digit_of_event(seen.payload), self.call) {
            let (pause, resume) = self.digits.press(digit, ruling);
            pause_or_resume(orders, call, pause, resume);
        }
    }
}

/// How a stream stands: as its call does, or alone where it has none. HOT: a load.
pub(super) fn decision_of(orders: &Orders, ruling: &Ruling, stream: &Stream) -> CallDecision {
    let known = match stream.call {
        Some(call) => orders.table.get(place(call)),
        None => stream.alone.unwrap_or_default(),
    };
    match (known.state, ruling.rules.always()) {
        (DecisionState::Unknown, Some(rule)) => CallDecision {
            state: DecisionState::Decided,
            what: rule.what,
            mask_digits: rule.mask_digits,
            ..CallDecision::default()
        },
        (DecisionState::Unknown, None) => CallDecision { what: ruling.rules.most(), ..known },
        _ => known,
    }
}

/// Whether all of every packet is kept, whatever is in it, and nobody looks for digits there.
pub(super) fn may_take_fast_path(standing: &CallDecision, ruling: &Ruling) -> bool {
    let CallDecision { state, what, paused, mask_digits, may_pause, .. } = *standing;
    let is_kept =
        matches!(state, DecisionState::UntilEnd | DecisionState::Decided) && what == RecordingScope::Full;
    let listens = may_pause && [&ruling.pause, &ruling.resume].iter().any(|switch| !switch.digits.is_empty());
    is_kept && !paused && !mask_digits && !listens
}

/// What the rules say of a stream that no call claims.
pub(super) fn alone(ruling: &Ruling, stream: &Stream) -> CallDecision {
    alone_facts(ruling, &stream.hosts, stream.ssrc, |facts| standing(&ruling.rules.decide(facts)))
}

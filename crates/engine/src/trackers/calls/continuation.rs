//! What a call that goes on over a restart has of the last run, and its record with that.

use ringtap_model::{Call, CallState, Id, Nanos, Recorded};

use crate::text::round;
use crate::trackers::callid::CallId;

/// What a call keeps of the last run, beside what it goes on with.
#[derive(Clone)]
pub(crate) struct Continuation {
    streams: Box<[Id]>,
    mos: Option<f64>,
    mos_worst_interval: Option<f64>,
    capture_drops: u64,
    recorded: Recorded,
    recorded_packets: Option<u64>,
    recorded_missing: Option<u64>,
    recorded_empty: Option<u8>,
    /// Of gaps before this one, and this one.
    unmonitored_ms: f64,
    /// Messages until the last run ended, and when that was.
    pub(super) messages: u32,
    pub(super) since: Nanos,
}

impl Continuation {
    /// Of a call with this record when the last run ended, at `since`; this run begins at `now`.
    pub(super) fn of(record: &Call, messages: u32, since: Nanos, now: Nanos) -> Self {
        let gap = round(now.since(since).millis_f64());
        Self {
            streams: record.streams.as_slice().into(),
            mos: record.mos,
            mos_worst_interval: record.mos_worst_interval,
            capture_drops: record.capture_drops,
            recorded: record.recorded,
            recorded_packets: record.recorded_packets,
            recorded_missing: record.recorded_missing,
            recorded_empty: record.recorded_empty,
            unmonitored_ms: record.unmonitored_ms.unwrap_or_default() + gap,
            messages,
            since,
        }
    }

    /// Adds what the last run had to a record.
    pub(super) fn complete(self, call: &mut Call) {
        call.streams = self.streams.into_vec();
        call.mos = self.mos;
        call.mos_worst_interval = self.mos_worst_interval;
        call.capture_drops = call.capture_drops.saturating_add(self.capture_drops);
        call.recorded = self.recorded;
        call.recorded_packets = self.recorded_packets;
        call.recorded_missing = self.recorded_missing;
        call.recorded_empty = self.recorded_empty;
        call.unmonitored_ms = Some(self.unmonitored_ms);
    }

    /// What it holds on the heap, in bytes.
    pub(super) fn heap_bytes(&self) -> usize {
        size_of::<Self>() + size_of_val(&*self.streams)
    }
}

/// The Call-ID of a record as sent; None where the record has it cut or mended: then no message can be told
/// to be the call's.
pub(crate) fn whole_call_id(record: &Call) -> Option<&[u8]> {
    let text = &record.call_id;
    let is_whole = text.len() < CallId::LONGEST && !text.contains(char::REPLACEMENT_CHARACTER);
    is_whole.then_some(text.as_bytes())
}

/// The record of a call of which nothing was seen since the last run ended: as after a kill.
pub(crate) fn interrupt(call: &mut Call, since: Nanos) {
    if matches!(call.state, CallState::Active | CallState::Ringing | CallState::Trying | CallState::Timeout) {
        call.state = CallState::Interrupted;
        call.end = Some(since);
        call.released_by = None;
        call.unmonitored_ms = None;
        call.duration_ms = call.answer.map(|answer| round(since.since(answer).millis_f64()));
    }
}

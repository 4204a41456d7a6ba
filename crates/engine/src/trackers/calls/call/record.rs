//! The record of a call, still without its streams.

use ringtap_model::{Call, CallState, Nanos, Party, Protocol, Recorded};

use super::{CallEntry, Parties};
use crate::spare::Spare;
use crate::text::round;
use crate::update::Side;

impl CallEntry {
    /// The record as it would be now, still without its streams.
    pub(crate) fn record(&self, timed_out: bool, drops: u64) -> Call {
        self.record_of(Parties::clone(&self.parties), timed_out, drops, &Spare::default())
    }

    /// The record of a call that has ended, still without its streams.
    pub(crate) fn into_record(mut self, timed_out: bool, drops: u64, spare: &Spare) -> Call {
        self.id();
        let parties = std::mem::take(&mut *self.parties);
        self.record_of(parties, timed_out, drops, spare)
    }

    /// When the call ended, and who released it.
    fn ending(&self, state: CallState) -> (Option<Nanos>, Option<Party>) {
        match state {
            CallState::Completed => (self.bye, self.bye_by.map(Side::party)),
            CallState::Cancelled if self.cancel.is_some() => (self.cancel, Some(Party::Caller)),
            CallState::Cancelled => (self.bye, self.bye_by.map(Side::party)),
            CallState::Failed | CallState::Redirected => (self.failure, None),
            CallState::Timeout => (self.lost_since, Some(Party::Network)),
            _ => (None, None),
        }
    }

    fn record_of(&self, parties: Parties, timed_out: bool, drops: u64, spare: &Spare) -> Call {
        let state = self.state(timed_out);
        let (end, released_by) = self.ending(state);
        let span = |from: Option<Nanos>, to: Option<Nanos>| {
            let is_known = from?.since(to?) < CLOCK_BACK;
            is_known.then_some(round(to?.since(from?).millis_f64()))
        };
        let notes = self.signalling_notes(&parties, end.unwrap_or(self.last), spare);
        let [caller_agent, callee_agent] = parties.agents;
        let mut call = Call {
            id: parties.id.get().copied().unwrap_or_else(|| self.id()),
            call_id: spare.text(&self.call_id.text()),
            protocol: Protocol::Sip,
            transport: self.transport,
            src: self.src,
            dst: self.dst,
            from_user: parties.from_user,
            from_host: parties.from_host,
            from_display: parties.from_display,
            to_user: parties.to_user,
            to_host: parties.to_host,
            ruri_user: parties.ruri_user,
            ruri_host: parties.ruri_host,
            asserted_identity: parties.asserted,
            diverted_to: parties.diverted,
            conversation: None,
            joins: Vec::new(),
            links: parties.links.into_texts(spare),
            trunk_from: None,
            trunk_to: None,
            attestation: None,
            identity_status: None,
            origination_id: None,
            state,
            final_code: self.final_code,
            final_reason: parties.final_reason,
            cause: self.cause,
            released_by,
            invite: self.invite,
            trying: self.trying,
            ringing: self.ringing,
            answer: self.answer,
            end,
            pdd_ms: span(self.invite, self.ringing.or(self.answer)),
            duration_ms: span(self.answer, end),
            sdd_ms: span(self.bye, parties.disconnect.answered()),
            messages: self.messages,
            retransmissions: self.retransmissions,
            user_agent_caller: caller_agent,
            user_agent_callee: callee_agent,
            streams: Vec::new(),
            mos: None,
            mos_worst_interval: None,
            dtmf: parties.digits,
            capture_drops: drops.saturating_sub(self.drops),
            recorded: Recorded::None,
            recorded_packets: None,
            recorded_missing: None,
            recorded_empty: None,
            unmonitored_ms: None,
            quality_reports: parties.reports,
            notes,
            identity: parties.identity,
        };
        if let Some(continuation) = parties.continuation {
            continuation.complete(&mut call);
        }
        call
    }
}

/// Frames of several queues are a little out of order; by more than this, the clock was set back, and nobody
/// knows what passed.
const CLOCK_BACK: Nanos = Nanos::from_secs(10);

//! What the journal of calls in progress has of their streams and decisions: after a kill, the next start
//! finds by it what was recorded of them.

use ringtap_engine::CallNumber;
use ringtap_spool::of_call;
use ringtap_spool::rules::CallDecision;
use ringtap_store::{CallNote, NotedStream, RecordSender};

use super::call_state::CallState;
use super::state::Recorder;
use super::stream_state::Stream;
use crate::noted_decision::NotedDecision;
use crate::policy::place;

impl Stream {
    /// Notes the stream of a call, once for each call that claims it. HOT: a comparison on the slow path.
    pub(super) fn journal(&mut self, journal: Option<&mut RecordSender>) {
        if let (Some(call), Some(journal)) = (self.call, journal)
            && self.journaled != Some(call)
        {
            let [src, dst] = self.ends;
            let Self { ssrc, payload_type, first, last: since, .. } = *self;
            let noted = NotedStream { src, dst, ssrc, payload_type, first, since };
            // If it finds no room, it is noted later.
            if journal.note(call.to_bits(), CallNote::Stream(noted)) {
                self.journaled = Some(call);
            }
        }
    }
}

impl CallState {
    /// Notes what is recorded of the call, whenever that changes.
    pub(super) fn journal(&mut self, decision: &CallDecision, journal: Option<&mut RecordSender>) {
        let Some(journal) = journal else { return };
        let noted = Some(NotedDecision::of(decision));
        if let Some(decision) = noted.filter(|_| self.journaled != noted)
            && journal.note(self.number.to_bits(), CallNote::Decision(decision.bits()))
        {
            self.journaled = noted;
        }
    }
}

impl Recorder {
    /// What is recorded of a call now.
    pub fn decision_of(&self, call: CallNumber) -> Option<NotedDecision> {
        let state = self.calls.get(&call.slot()).filter(|state| state.number == call)?;
        Some(NotedDecision::of(&self.shared_policy.table.get(place(state.number))))
    }

    /// Goes on with a call of the previous run, whose progress the engine has reported: under the decision
    /// that stood then, or under the rules. A pause goes on under both.
    pub fn go_on(&mut self, call_id: &str, noted: Option<NotedDecision>) {
        let Some(slot) = self.by_key.get(&of_call(call_id.as_bytes())).copied() else { return };
        let Some(state) = self.calls.get_mut(&slot) else { return };
        let place = place(state.number);
        state.decision.events = noted.map_or(0, NotedDecision::events);
        if let Some(decision) = noted.and_then(NotedDecision::decision) {
            (state.decision, state.fixed) = (decision, true);
            self.shared_policy.table.write(place, decision);
        } else {
            self.judge(slot, None, false);
        }
        if noted.is_some_and(NotedDecision::is_paused) {
            self.shared_policy.table.pause(place, true);
        }
        self.judge_product(slot);
    }

    /// Notes what found no room in the journal before, and what commands and digits have changed.
    pub(super) fn catch_up_journal(&mut self) {
        let Self { journal, streams, calls, shared_policy, .. } = self;
        let Some(journal) = journal else { return };
        streams.values_mut().for_each(|stream| stream.journal(Some(journal)));
        for state in calls.values_mut() {
            let decision = shared_policy.table.get(place(state.number));
            state.journal(&decision, Some(journal));
        }
    }
}

//! What the journal of calls in progress has of their streams and decisions: after a kill, the next start
//! finds by it what was recorded of them.

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

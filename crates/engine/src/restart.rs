//! The end of one run and the beginning of the next: calls in progress are handed over.

#[cfg(test)]
mod tests;

use ringtap_model::{Id, Nanos};

use crate::context::{Context, SipVerdict};
use crate::continued::{ContinuedCall, ContinuedLeg, ContinuedMedia};
use crate::engine::{Engine, context};
use crate::sink::{CallNumber, Sink};
use crate::table::timers::TimerOwner;
use crate::tracker::Tracker;
use crate::trackers::calls::whole_call_id;

impl<X: Tracker> Engine<X> {
    /// The calls in progress that this worker owns, each with the id of its record and its media endpoints;
    /// before [`Engine::close`].
    pub fn continuing(&self) -> Vec<(CallNumber, Id, Vec<ContinuedLeg>)> {
        let calls = self.trackers.calls.in_progress();
        calls.map(|(id, call)| (CallNumber(call), id, self.streams.legs_of(call))).collect()
    }

    /// Goes on with a call of the last run. Returns what [`Engine::continue_media`] of every worker has to be
    /// told before the first frame; None if another worker owns the call, or it has no place.
    pub fn continue_call<S: Sink>(
        &mut self,
        call: &ContinuedCall,
        now: Nanos,
        sink: &mut S,
    ) -> Option<ContinuedMedia> {
        let hash = self.hasher.of(whole_call_id(&call.record)?);
        if self.member.as_ref().is_some_and(|member| member.links.owner(hash) != member.links.me()) {
            return None;
        }
        if self.clock.now() < now {
            self.tick(now, sink);
        }
        let mut cx = context!(self, TimerOwner::Calls, sink);
        self.trackers.calls.go_on(call, hash, &mut cx)
    }

    /// Learns where a call that goes on receives media.
    pub fn continue_media(&mut self, media: &ContinuedMedia) {
        self.streams.continue_call(media);
    }
}

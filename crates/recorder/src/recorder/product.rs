//! Interception product: a separate copy of what rules with `product` select, whatever else is recorded of a
//! call.
//!
//! It is decided as the ordinary recording is (by the worker that has the signalling, for all workers, in a
//! table), but separately: the ordinary recording and its fields in the record are the same whether a call is
//! intercepted or not. Product is neither masked nor paused. A rule that takes effect during a call records
//! it from then on.

use std::collections::hash_map::Entry;

use ringtap_engine::{RtcpSeen, RtpSeen, SipSeen};
use ringtap_model::{Frame, Nanos, Transport};
use ringtap_spool::rules::{CallDecision, DecisionState, RecordingScope};
use ringtap_spool::{Category, of_call};

use super::intercepted::{InterceptedCall, InterceptedDialog, InterceptedStream, Interceptions, is_due};
use super::limits::{ALONE, MINUTE, PATIENCE, SILENCE};
use super::sink::wrapped;
use super::state::Recorder;
use crate::cases::CaseNote;
use crate::facts::GatheredFacts;
use crate::output::{OwnerRecording, PassingPacket};
use crate::policy::place;

impl Recorder {
    /// Whether nothing is intercepted, nor was since the start.
    pub(crate) fn intercepts_nobody(&self) -> bool {
        self.policy.products.is_empty() && self.products.streams.is_empty()
    }

    /// Applies the rules to a call with the facts known so far.
    pub(crate) fn judge_product(&mut self, slot: u32) {
        let Self { calls, policy, shared_policy, output, now, .. } = self;
        let Some(state) = calls.get_mut(&slot) else { return };
        if policy.products.is_empty() && state.product.is_none() {
            return;
        }
        let key = state.recording.key;
        let target = state.product.get_or_insert_with(|| Box::new(InterceptedCall::new(key)));
        if target.fixed {
            return;
        }
        let place = place(state.number);
        let wanted = state.facts.ask(None, false, |facts| policy.products.decide(facts));
        target.fixed = wanted.is_final;
        target.decision = wanted.decision;
        if wanted.matched != target.matched {
            // Logged before any of its packets is recorded: owners are logged after this.
            shared_policy.note(CaseNote::Call { place, cases: policy.products.cases(&wanted.matched) });
            target.matched = wanted.matched;
        }
        shared_policy.products.write(place, target.decision);
        if target.decision.state == DecisionState::Decided {
            output.flush_pending(&mut target.recording, &target.decision);
            if target.decision.what == RecordingScope::Nothing {
                output.finish(&mut target.recording, *now);
            }
            if is_due(&target.recording, &mut target.logged, *now) {
                shared_policy.note(CaseNote::Owner { place, owner: key });
            }
        }
    }

    /// Applies new rules to every call in progress.
    pub(crate) fn apply_new_rules_to_product(&mut self) {
        let slots: Vec<u32> = self.calls.keys().copied().collect();
        for slot in slots {
            if let Some(target) = self.calls.get_mut(&slot).and_then(|state| state.product.as_mut()) {
                (target.fixed, target.matched) = (false, Vec::new());
            }
            self.judge_product(slot);
        }
        self.products.streams.values_mut().for_each(|stream| stream.alone = None);
        for mut other in std::mem::take(&mut self.products.others).into_values() {
            self.output.end(&mut other.recording, self.now);
        }
    }

    /// Records a message of an intercepted call as it was sent.
    pub(crate) fn product_message(&mut self, seen: &SipSeen<'_>, frame: Option<&Frame<'_>>) {
        if self.intercepts_nobody() {
            return;
        }
        let decision = match seen.call {
            Some(number) => match self.calls.get(&number.slot()).and_then(|state| state.product.as_ref()) {
                Some(target) => target.decision,
                None => return,
            },
            None => self.judge_other_product(seen),
        };
        if decision.what < RecordingScope::Signalling {
            return;
        }
        let own;
        let (data, wire_len) = match frame.filter(|_| seen.transport == Transport::Udp) {
            Some(frame) => (frame.data, frame.wire_len),
            None => match wrapped((seen.src, seen.dst), seen.message.raw(), self.output.link()) {
                Some(data) => {
                    own = data;
                    (&own[..], own.len() as u32)
                }
                None => return self.output.left_out += 1,
            },
        };
        let packet = PassingPacket { time: seen.time, wire_len, data, head: data.len(), payload_type: 0 };
        let Self { calls, products, output, shared_policy, .. } = self;
        match seen.call {
            Some(number) => {
                let target = calls.get_mut(&number.slot()).and_then(|state| state.product.as_mut());
                if let Some(InterceptedCall { recording, logged, .. }) = target.map(|target| &mut **target) {
                    output.record(recording, &decision, &packet);
                    if is_due(recording, logged, seen.time) {
                        shared_policy.note(CaseNote::Owner { place: place(number), owner: recording.key });
                    }
                }
            }
            None => {
                let key = of_call(seen.message.call_id().unwrap_or_default());
                if let Some(InterceptedDialog { recording, cases, logged, .. }) =
                    products.others.get_mut(&key)
                {
                    output.record(recording, &decision, &packet);
                    if is_due(recording, logged, seen.time) {
                        shared_policy.note(CaseNote::Alone { owner: key, cases: cases.clone() });
                    }
                }
            }
        }
    }

    /// Decides about a message outside calls from its own facts.
    fn judge_other_product(&mut self, seen: &SipSeen<'_>) -> CallDecision {
        let Self { products, policy, .. } = self;
        let Some(call_id) = seen.message.call_id() else { return CallDecision::default() };
        let key = of_call(call_id);
        let other = products.others.entry(key).or_insert_with(|| {
            let mut facts = GatheredFacts::default();
            facts.over = true;
            facts.introduce_message(seen.message);
            facts.see(seen.message, [seen.src, seen.dst], seen.time.0 / MINUTE, policy);
            let wanted = facts.ask(None, true, |facts| policy.products.decide(facts));
            let cases = policy.products.cases(&wanted.matched);
            let recording = OwnerRecording::product(Category::Signalling, key);
            InterceptedDialog { recording, decision: wanted.decision, cases, last: seen.time, logged: None }
        });
        other.last = seen.time;
        other.decision
    }

    /// Records a media packet. HOT if there is any interception: a load for each packet, a hash for those
    /// that may be wanted.
    pub(crate) fn product_media(&mut self, seen: &RtpSeen<'_>, packet: &PassingPacket<'_>) {
        let Self { products, output, shared_policy, policy, .. } = self;
        let known = seen.call.map(|call| shared_policy.products.get(place(call))).unwrap_or_default();
        let may_be = known.state != DecisionState::Decided || known.what > RecordingScope::Signalling;
        if !may_be && products.waiting.is_empty() {
            return;
        }
        let ends = (seen.src, seen.dst, seen.ssrc);
        let stream = match products.streams.entry(seen.serial) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) if may_be => entry.insert(InterceptedStream::new(ends, seen.time)),
            Entry::Vacant(_) => return,
        };
        stream.last = seen.time;
        stream.call = seen.call.or(stream.call);
        let decision = stream.decision_of(shared_policy, policy);
        if output.record(&mut stream.recording, &decision, packet) {
            products.waiting.push(seen.serial);
        }
        stream.tell(shared_policy, seen.time);
    }

    /// Records RTCP reports of an intercepted stream.
    pub(crate) fn product_reports(&mut self, seen: &RtcpSeen<'_>, packet: &PassingPacket<'_>) {
        let Self { products, output, shared_policy, policy, .. } = self;
        let Some(stream) = products.streams.get_mut(&seen.serial) else { return };
        stream.last = seen.time;
        stream.call = seen.call.or(stream.call);
        let decision = stream.decision_of(shared_policy, policy);
        if output.record(&mut stream.recording, &decision, packet) {
            products.waiting.push(seen.serial);
        }
    }

    /// Applies decisions that another worker has made for packets that wait. A stream that no call has
    /// claimed for too long is decided by itself.
    pub(crate) fn check_waiting_product(&mut self, now: Nanos) {
        let Self { products: Interceptions { streams, waiting, .. }, output, shared_policy, policy, .. } =
            self;
        waiting.retain(|serial| {
            let Some(stream) = streams.get_mut(serial) else { return false };
            if !stream.recording.waits() {
                return false;
            }
            if stream.call.is_none() && (stream.ended.is_some() || stream.first + ALONE < now) {
                stream.judge_alone(policy);
            }
            let decision = stream.decision_of(shared_policy, policy);
            let decided = decision.state == DecisionState::Decided;
            let gone = stream.ended.is_some_and(|ended| ended + PATIENCE < now);
            if decided {
                output.flush_pending(&mut stream.recording, &decision);
                stream.tell(shared_policy, now);
            }
            if stream.ended.is_some() && (decided || gone) {
                output.end(&mut stream.recording, now);
                streams.remove(serial);
            }
            !decided && !gone
        });
    }

    /// Releases the slots of silent streams and dialogs.
    pub(crate) fn sweep_product(&mut self, now: Nanos) {
        let Self { products, output, .. } = self;
        for stream in products.streams.values_mut().filter(|stream| stream.last + SILENCE < now) {
            output.finish(&mut stream.recording, now);
        }
        let silent = |_: &u64, other: &mut InterceptedDialog| other.last + SILENCE < now;
        for (_, mut other) in products.others.extract_if(silent) {
            output.end(&mut other.recording, now);
        }
    }

    /// Handles the end of a stream.
    pub(crate) fn product_leaving(&mut self, serial: u64) {
        let now = self.now;
        let Some(stream) = self.products.streams.get(&serial) else { return };
        if let Some(number) = stream.call.filter(|_| stream.recording.waits())
            && number.worker() == self.worker
            && let Some(state) = self.calls.get_mut(&number.slot()).filter(|state| state.number == number)
        {
            // The stream ends with its call: no more facts will become known.
            state.facts.over = true;
            self.judge_product(number.slot());
        }
        let Self { products, output, shared_policy, policy, .. } = self;
        let Some(stream) = products.streams.get_mut(&serial) else { return };
        stream.ended = Some(now);
        if stream.recording.waits() {
            if stream.call.is_none() {
                stream.judge_alone(policy);
            }
            let decision = stream.decision_of(shared_policy, policy);
            if decision.state != DecisionState::Decided {
                // The call's worker has not decided yet.
                return;
            }
            output.flush_pending(&mut stream.recording, &decision);
            stream.tell(shared_policy, now);
        }
        if let Some(mut stream) = products.streams.remove(&serial) {
            output.end(&mut stream.recording, now);
        }
    }
}

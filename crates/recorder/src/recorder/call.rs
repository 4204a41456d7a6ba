//! Calls: gathers facts from their messages, applies the rules, and finishes their recording.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use ringtap_engine::{CallNumber, CallPhase, RecordedPackets, SipSeen, StreamEnd};
use ringtap_model::{Call, Nanos, Recorded};
use ringtap_spool::rules::{CallDecision, DecisionState, RecordingScope, Verdict};
use ringtap_spool::{Category, PendingEntry, of_call, of_stream};

use super::call_state::{BEFORE, CallState, OtherDialog, mask};
use super::digits::PressedDigits;
use super::limits::{LONGEST, MINUTE};
use super::state::Recorder;
use super::verdict::decision_from;
use crate::complete::complete;
use crate::erase::Erasure;
use crate::facts::{GatheredFacts, events};
use crate::noted_decision::wider;
use crate::output::{OwnerRecording, PassingPacket};
use crate::pending::number;
use crate::policy::place;

impl Recorder {
    /// The state of a call; created if it has none.
    pub(super) fn call(&mut self, number: CallNumber, call_id: &str) -> &mut CallState {
        let Self { calls, by_key, output, .. } = self;
        let new = |by_key: &mut HashMap<u64, u32>| {
            let key = of_call(call_id.as_bytes());
            by_key.insert(key, number.slot());
            CallState {
                number,
                call_id: call_id.into(),
                recording: OwnerRecording::new(Category::Signalling, key),
                facts: GatheredFacts::default(),
                decision: CallDecision::default(),
                most: None,
                noted_pending: false,
                journaled: None,
                fixed: false,
                demanded: false,
                digits: PressedDigits::default(),
                product: None,
            }
        };
        match calls.entry(number.slot()) {
            Entry::Occupied(entry) if entry.get().number == number => entry.into_mut(),
            // The end of the previous call in this slot was not reported.
            Entry::Occupied(mut entry) => {
                let mut before = entry.insert(new(by_key));
                if by_key.get(&before.recording.key) == Some(&number.slot())
                    && before.call_id != entry.get().call_id
                {
                    by_key.remove(&before.recording.key);
                }
                output.end(&mut before.recording, Nanos::ZERO);
                if let Some(target) = before.product {
                    target.end(output, Nanos::ZERO);
                }
                entry.into_mut()
            }
            Entry::Vacant(entry) => entry.insert(new(by_key)),
        }
    }

    /// Handles a new phase of a call.
    pub(super) fn progress(&mut self, phase: CallPhase, number: CallNumber, call: &Call) -> &CallState {
        let state = self.call(number, &call.call_id);
        match phase {
            CallPhase::Started => state.facts.introduce(call),
            CallPhase::Ringing => {}
            CallPhase::Answered => state.facts.answered = true,
            CallPhase::Released => state.facts.over = true,
        }
        state
    }

    /// Gathers facts from a message; returns the decision about its call after it.
    pub(super) fn see(&mut self, seen: &SipSeen<'_>) -> Option<CallDecision> {
        let call_id = String::from_utf8_lossy(seen.message.call_id()?);
        let Some(number) = seen.call else { return Some(self.see_other(seen, &call_id)) };
        let policy = Arc::clone(&self.policy);
        let state = self.call(number, &call_id);
        state.decision.events |= events(seen.message);
        let is_open = match &state.product {
            Some(target) => target.is_open(),
            None => !policy.products.is_empty(),
        };
        if !state.fixed || is_open {
            state.facts.see(seen.message, [seen.src, seen.dst], seen.time.0 / MINUTE, &policy);
        }
        if !state.fixed {
            self.judge(number.slot(), None, false);
        } else if seen.message.sdp().is_some() {
            let decision = state.decision;
            self.shared_policy.table.write(place(number), decision);
        }
        self.judge_product(number.slot());
        self.switch(seen, number, &policy);
        let decision = self.shared_policy.table.get(place(number));
        let state = self.calls.get_mut(&number.slot())?;
        state.journal(&decision, self.journal.as_mut());
        Some(decision)
    }

    /// Applies the rules to a call with the facts known so far.
    pub(super) fn judge(&mut self, slot: u32, mos: Option<f64>, judged: bool) {
        let Self { calls, policy, shared_policy, counts, eraser, now, .. } = self;
        let Some(state) = calls.get_mut(&slot).filter(|state| !state.fixed) else { return };
        let verdict = match policy.rules.always() {
            Some(rule) => Verdict::Decided {
                rule: Some(0),
                what: rule.what,
                mask_digits: rule.mask_digits,
                may_pause: rule.may_pause,
            },
            None => state.facts.ask(mos, judged, |facts| policy.rules.decide(facts)),
        };
        let events = state.decision.events;
        state.decision = CallDecision { events, ..decision_from(&verdict) };
        if state.decision.state == DecisionState::UntilEnd {
            state.most = state.most.max(Some(state.decision.what));
            // The scope that remains if the MOS never becomes known.
            let without = state.facts.ask(None, true, |facts| policy.rules.decide(facts)).what();
            state.decision.provisional = without < state.decision.what;
            let is_new = state.decision.provisional && !state.noted_pending;
            state.noted_pending |= is_new;
            if let Some(eraser) = eraser.as_mut().filter(|_| is_new && without == RecordingScope::Nothing) {
                let from = Nanos(now.0.saturating_sub(LONGEST.0 + BEFORE.0));
                eraser.note_pending(PendingEntry::Begun {
                    call: number(state.number),
                    owner: state.recording.key,
                    from,
                });
            }
        }
        if let Verdict::Decided { rule, what, .. } = verdict {
            state.fixed = true;
            policy.count(rule);
            counts.calls[what as usize] += 1;
            log::debug!(target: "rules", "call {}: {}, by {}", state.call_id, what.name(), policy.name(rule));
        }
        shared_policy.table.write(place(state.number), state.decision);
        if matches!(state.decision.state, DecisionState::UntilEnd | DecisionState::Decided) {
            self.output.flush_pending(&mut state.recording, &state.decision);
        }
    }

    /// Decides about a message outside calls from its own facts.
    pub(super) fn see_other(&mut self, seen: &SipSeen<'_>, call_id: &str) -> CallDecision {
        let key = of_call(call_id.as_bytes());
        let policy = &self.policy;
        let other = self.others.entry(key).or_insert_with(|| {
            let mut facts = GatheredFacts::default();
            facts.over = true;
            facts.introduce_message(seen.message);
            facts.see(seen.message, [seen.src, seen.dst], seen.time.0 / MINUTE, policy);
            let verdict = facts.ask(None, true, |facts| policy.rules.decide(facts));
            let recording = OwnerRecording::new(Category::Signalling, key);
            OtherDialog { recording, decision: decision_from(&verdict), last: seen.time }
        });
        other.last = seen.time;
        other.decision
    }

    /// Records a message under its call's decision.
    pub(super) fn message(
        &mut self,
        seen: &SipSeen<'_>,
        decision: &CallDecision,
        data: &[u8],
        wire_len: u32,
    ) {
        let packet = PassingPacket { time: seen.time, wire_len, data, head: data.len(), payload_type: 0 };
        let recording = match seen.call {
            Some(number) => self.calls.get_mut(&number.slot()).map(|state| &mut state.recording),
            None => {
                let call_id = String::from_utf8_lossy(seen.message.call_id().unwrap_or_default());
                self.others.get_mut(&of_call(call_id.as_bytes())).map(|other| &mut other.recording)
            }
        };
        if let Some(recording) = recording {
            self.output.record(recording, decision, &packet);
        }
    }

    /// Notes in the record of a call that goes on what is recorded of it. How many packets is known at its
    /// end.
    pub(super) fn describe(&self, call: &mut Call) {
        let slot = self.by_key.get(&of_call(call.call_id.as_bytes()));
        let state = slot.and_then(|slot| self.calls.get(slot));
        let Some(state) = state.filter(|state| *state.call_id == *call.call_id) else { return };
        call.recorded = wider(call.recorded, recorded(state.decision.what));
        if state.decision.mask_digits {
            mask(call);
        }
    }

    /// Finishes an ended call: decides about all of it, and erases what was recorded against the decision.
    pub(super) fn end(&mut self, call: &mut Call, streams: &mut [StreamEnd]) {
        let now = self.now;
        let key = of_call(call.call_id.as_bytes());
        let Some(slot) = self.by_key.remove(&key) else { return };
        let Some(state) = self.calls.get_mut(&slot).filter(|state| *state.call_id == *call.call_id) else {
            return;
        };
        state.facts.over = true;
        self.judge(slot, call.mos, true);
        self.judge_product(slot);
        let Some(mut state) = self.calls.remove(&slot) else { return };
        if let Some(target) = state.product.take() {
            target.end(&mut self.output, now);
        }
        let signalling = self.output.end(&mut state.recording, now);
        let what = state.decision.what;
        if state.most.is_some_and(|most| what < most) {
            self.erase(&state, call, streams, now);
            streams.iter_mut().for_each(|stream| stream.recorded = RecordedPackets::default());
        } else {
            self.confirm(&state);
        }
        let recorded = recorded(what);
        complete(call, recorded, signalling, streams);
        if state.demanded && recorded != Recorded::None {
            // Packets before the command were not to be recorded.
            let lost = streams.iter().map(|stream| stream.recorded.lost).sum::<u64>();
            call.recorded_missing = Some(signalling.lost + lost);
        }
        self.amender.iter().for_each(|amender| amender.end(call, streams));
        self.counts.incomplete += u64::from(call.recorded_missing.is_some_and(|missing| missing > 0));
        self.counts.one_way += u64::from(call.recorded_empty.is_some_and(|empty| empty > 0));
        if state.decision.mask_digits {
            mask(call);
        }
    }

    /// Erases what is no longer wanted of a call whose MOS was better than the rule's limit.
    #[cold]
    pub(super) fn erase(&mut self, state: &CallState, call: &Call, streams: &[StreamEnd], now: Nanos) {
        let of_stream = |end: &StreamEnd| of_stream(end.record.src, end.record.dst, end.record.ssrc);
        let mut owners: Vec<u64> = streams.iter().map(of_stream).collect();
        if state.decision.what == RecordingScope::Nothing {
            owners.push(of_call(call.call_id.as_bytes()));
        }
        if owners.is_empty() {
            return self.confirm(state);
        }
        let first = streams.iter().map(|end| end.record.first).chain(call.invite).min().unwrap_or(now);
        if let Some(eraser) = &self.eraser {
            self.counts.erased += 1;
            let from = Nanos(first.0.saturating_sub(BEFORE.0));
            eraser.erase(Erasure { call: number(state.number), owners, from, to: now });
        }
    }

    /// Keeps the recording of a call: its pending decision is done.
    pub(super) fn confirm(&mut self, state: &CallState) {
        if let Some(eraser) = self.eraser.as_mut().filter(|_| state.noted_pending) {
            eraser.note_pending(PendingEntry::Ended { call: number(state.number) });
        }
    }
}

/// What a scope is called in a record.
fn recorded(scope: RecordingScope) -> Recorded {
    match scope {
        RecordingScope::Nothing => Recorded::None,
        RecordingScope::Signalling => Recorded::Signalling,
        RecordingScope::Headers => Recorded::Headers,
        RecordingScope::Full => Recorded::Full,
    }
}

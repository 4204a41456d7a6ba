//! Calls: what their messages tell, what the rules say of them, and how their recording ends.

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
use super::verdict::standing;
use crate::complete::complete;
use crate::erase::Erasure;
use crate::facts::{GatheredFacts, events};
use crate::orders::place;
use crate::output::{OwnerRecording, PassingPacket};
use crate::pending::number;

impl Recorder {
    /// The state of a call; a new one where it has none.
    pub(super) fn call(&mut self, number: CallNumber, call_id: &str) -> &mut CallState {
        let Self { calls, by_key, output, .. } = self;
        let new = |by_key: &mut HashMap<u64, u32>| {
            let key = of_call(call_id.as_bytes());
            by_key.insert(key, number.slot());
            CallState {
                number,
                call_id: call_id.into(),
                track: OwnerRecording::new(Category::Signalling, key),
                facts: GatheredFacts::default(),
                standing: CallDecision::default(),
                most: None,
                noted_pending: false,
                fixed: false,
                demanded: false,
                digits: PressedDigits::default(),
                product: None,
            }
        };
        match calls.entry(number.slot()) {
            Entry::Occupied(entry) if entry.get().number == number => entry.into_mut(),
            // The call before it in the same place has not told of its end.
            Entry::Occupied(mut entry) => {
                let mut before = entry.insert(new(by_key));
                if by_key.get(&before.track.key) == Some(&number.slot())
                    && before.call_id != entry.get().call_id
                {
                    by_key.remove(&before.track.key);
                }
                output.end(&mut before.track, Nanos::ZERO);
                if let Some(target) = before.product {
                    target.end(output, Nanos::ZERO);
                }
                entry.into_mut()
            }
            Entry::Vacant(entry) => entry.insert(new(by_key)),
        }
    }

    /// A call came a phase further.
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

    /// A message passed: what it tells, and how its call stands then.
    pub(super) fn see(&mut self, seen: &SipSeen<'_>) -> Option<CallDecision> {
        let call_id = String::from_utf8_lossy(seen.message.call_id()?);
        let Some(number) = seen.call else { return Some(self.see_other(seen, &call_id)) };
        let ruling = Arc::clone(&self.ruling);
        let state = self.call(number, &call_id);
        state.standing.events |= events(seen.message);
        let is_open = match &state.product {
            Some(target) => target.is_open(),
            None => !ruling.products.is_empty(),
        };
        if !state.fixed || is_open {
            state.facts.see(seen.message, [seen.src, seen.dst], seen.time.0 / MINUTE, &ruling);
        }
        if !state.fixed {
            self.judge(number.slot(), None, false);
        } else if seen.message.sdp().is_some() {
            let standing = state.standing;
            self.orders.table.write(place(number), standing);
        }
        self.judge_product(number.slot());
        self.switch(seen, number, &ruling);
        self.calls.get(&number.slot()).map(|_| self.orders.table.get(place(number)))
    }

    /// Asks the rules about a call, with what is known of it now.
    pub(super) fn judge(&mut self, slot: u32, mos: Option<f64>, judged: bool) {
        let Self { calls, ruling, orders, counts, eraser, now, .. } = self;
        let Some(state) = calls.get_mut(&slot).filter(|state| !state.fixed) else { return };
        let verdict = match ruling.rules.always() {
            Some(rule) => Verdict::Decided {
                rule: Some(0),
                what: rule.what,
                mask_digits: rule.mask_digits,
                may_pause: rule.may_pause,
            },
            None => state.facts.ask(mos, judged, |facts| ruling.rules.decide(facts)),
        };
        let events = state.standing.events;
        state.standing = CallDecision { events, ..standing(&verdict) };
        if state.standing.state == DecisionState::UntilEnd {
            state.most = state.most.max(Some(state.standing.what));
            // What stays should nobody ever know.
            let without = state.facts.ask(None, true, |facts| ruling.rules.decide(facts)).what();
            state.standing.provisional = without < state.standing.what;
            let is_new = state.standing.provisional && !state.noted_pending;
            state.noted_pending |= is_new;
            if let Some(eraser) = eraser.as_mut().filter(|_| is_new && without == RecordingScope::Nothing) {
                let from = Nanos(now.0.saturating_sub(LONGEST.0 + BEFORE.0));
                eraser.note_pending(PendingEntry::Begun {
                    call: number(state.number),
                    owner: state.track.key,
                    from,
                });
            }
        }
        if let Verdict::Decided { rule, what, .. } = verdict {
            state.fixed = true;
            ruling.count(rule);
            counts.calls[what as usize] += 1;
            log::debug!(target: "rules", "call {}: {}, by {}", state.call_id, what.name(), ruling.name(rule));
        }
        orders.table.write(place(state.number), state.standing);
        if matches!(state.standing.state, DecisionState::UntilEnd | DecisionState::Decided) {
            self.output.settle(&mut state.track, &state.standing);
        }
    }

    /// A message that belongs to no call: what is known of it is in it.
    pub(super) fn see_other(&mut self, seen: &SipSeen<'_>, call_id: &str) -> CallDecision {
        let key = of_call(call_id.as_bytes());
        let ruling = &self.ruling;
        let other = self.others.entry(key).or_insert_with(|| {
            let mut facts = GatheredFacts::default();
            facts.over = true;
            facts.introduce_message(seen.message);
            facts.see(seen.message, [seen.src, seen.dst], seen.time.0 / MINUTE, ruling);
            let verdict = facts.ask(None, true, |facts| ruling.rules.decide(facts));
            let track = OwnerRecording::new(Category::Signalling, key);
            OtherDialog { track, standing: standing(&verdict), last: seen.time }
        });
        other.last = seen.time;
        other.standing
    }

    /// Keeps a message, which stands so.
    pub(super) fn message(
        &mut self,
        seen: &SipSeen<'_>,
        standing: &CallDecision,
        data: &[u8],
        wire_len: u32,
    ) {
        let piece = PassingPacket { time: seen.time, wire_len, data, head: data.len(), payload_type: 0 };
        let track = match seen.call {
            Some(number) => self.calls.get_mut(&number.slot()).map(|state| &mut state.track),
            None => {
                let call_id = String::from_utf8_lossy(seen.message.call_id().unwrap_or_default());
                self.others.get_mut(&of_call(call_id.as_bytes())).map(|other| &mut other.track)
            }
        };
        if let Some(track) = track {
            self.output.put(track, standing, &piece);
        }
    }

    /// A call has ended: what the rules say of all of it. What was kept until now and should not have been is
    /// erased.
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
        let signalling = self.output.end(&mut state.track, now);
        let what = state.standing.what;
        if state.most.is_some_and(|most| what < most) {
            self.erase(&state, call, streams, now);
            streams.iter_mut().for_each(|stream| stream.recorded = RecordedPackets::default());
        } else {
            self.confirm(&state);
        }
        let recorded = match what {
            RecordingScope::Nothing => Recorded::None,
            RecordingScope::Signalling => Recorded::Signalling,
            RecordingScope::Headers => Recorded::Headers,
            RecordingScope::Full => Recorded::Full,
        };
        complete(call, recorded, signalling, streams);
        if state.demanded && recorded != Recorded::None {
            // What passed before it was asked for was not to be kept.
            let lost = streams.iter().map(|stream| stream.recorded.lost).sum::<u64>();
            call.recorded_missing = Some(signalling.lost + lost);
        }
        self.amender.iter().for_each(|amender| amender.end(call, streams));
        self.counts.incomplete += u64::from(call.recorded_missing.is_some_and(|missing| missing > 0));
        self.counts.one_way += u64::from(call.recorded_empty.is_some_and(|empty| empty > 0));
        if state.standing.mask_digits {
            mask(call);
        }
    }

    /// Of a call that was better than it had to be: all that is not kept of it goes.
    #[cold]
    pub(super) fn erase(&mut self, state: &CallState, call: &Call, streams: &[StreamEnd], now: Nanos) {
        let of_stream = |end: &StreamEnd| of_stream(end.record.src, end.record.dst, end.record.ssrc);
        let mut owners: Vec<u64> = streams.iter().map(of_stream).collect();
        if state.standing.what == RecordingScope::Nothing {
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

    /// The recording of a call stays: its pending decision is over.
    pub(super) fn confirm(&mut self, state: &CallState) {
        if let Some(eraser) = self.eraser.as_mut().filter(|_| state.noted_pending) {
            eraser.note_pending(PendingEntry::Ended { call: number(state.number) });
        }
    }
}

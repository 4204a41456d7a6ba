//! Interception product: a copy of its own of what rules with `product` want, whatever else is kept of a
//! call.
//!
//! It is decided like everything else that is kept (by the worker that has the signalling, for all workers,
//! in a table), but apart from it: what the operator keeps, and what the record says of that, is the same
//! whether a call is intercepted or not. It is neither masked nor paused, and a rule that comes into effect
//! while a call is under way has it from then on.

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
use crate::orders::place;
use crate::output::{OwnerRecording, PassingPacket};

impl Recorder {
    /// Whether nobody is intercepted, or was since the start.
    pub(crate) fn intercepts_nobody(&self) -> bool {
        self.ruling.products.is_empty() && self.products.streams.is_empty()
    }

    /// Asks the rules about a call, with what is known of it now.
    pub(crate) fn judge_product(&mut self, slot: u32) {
        let Self { calls, ruling, orders, output, now, .. } = self;
        let Some(state) = calls.get_mut(&slot) else { return };
        if ruling.products.is_empty() && state.product.is_none() {
            return;
        }
        let key = state.track.key;
        let target = state.product.get_or_insert_with(|| Box::new(InterceptedCall::new(key)));
        if target.fixed {
            return;
        }
        let place = place(state.number);
        let wanted = state.facts.ask(None, false, |facts| ruling.products.decide(facts));
        target.fixed = wanted.is_final;
        target.standing = wanted.standing;
        if wanted.matched != target.matched {
            let new = wanted.matched.iter().filter(|rule| !target.matched.contains(rule));
            new.for_each(|rule| ruling.products.count(*rule));
            // Before any packet of it can be kept: whoever keeps one tells of it after this.
            orders.note(CaseNote::Call { place, cases: ruling.products.cases(&wanted.matched) });
            target.matched = wanted.matched;
        }
        orders.products.write(place, target.standing);
        if target.standing.state == DecisionState::Decided {
            output.settle(&mut target.track, &target.standing);
            if target.standing.what == RecordingScope::Nothing {
                output.finish(&mut target.track, *now);
            }
            if is_due(&target.track, &mut target.told, *now) {
                orders.note(CaseNote::Owner { place, owner: key });
            }
        }
    }

    /// New rules: every call is asked about again, under way or not decided.
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
            self.output.end(&mut other.track, self.now);
        }
    }

    /// Keeps a message, where its call is intercepted, as it was sent.
    pub(crate) fn product_message(&mut self, seen: &SipSeen<'_>, frame: Option<&Frame<'_>>) {
        if self.intercepts_nobody() {
            return;
        }
        let standing = match seen.call {
            Some(number) => match self.calls.get(&number.slot()).and_then(|state| state.product.as_ref()) {
                Some(target) => target.standing,
                None => return,
            },
            None => self.judge_other_product(seen),
        };
        if standing.what < RecordingScope::Signalling {
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
        let piece = PassingPacket { time: seen.time, wire_len, data, head: data.len(), payload_type: 0 };
        let Self { calls, products, output, orders, .. } = self;
        match seen.call {
            Some(number) => {
                let target = calls.get_mut(&number.slot()).and_then(|state| state.product.as_mut());
                if let Some(InterceptedCall { track, told, .. }) = target.map(|target| &mut **target) {
                    output.put(track, &standing, &piece);
                    if is_due(track, told, seen.time) {
                        orders.note(CaseNote::Owner { place: place(number), owner: track.key });
                    }
                }
            }
            None => {
                let key = of_call(seen.message.call_id().unwrap_or_default());
                if let Some(InterceptedDialog { track, cases, told, .. }) = products.others.get_mut(&key) {
                    output.put(track, &standing, &piece);
                    if is_due(track, told, seen.time) {
                        orders.note(CaseNote::Alone { owner: key, cases: cases.clone() });
                    }
                }
            }
        }
    }

    /// A message that belongs to no call: what is known of it is in it.
    fn judge_other_product(&mut self, seen: &SipSeen<'_>) -> CallDecision {
        let Self { products, ruling, .. } = self;
        let Some(call_id) = seen.message.call_id() else { return CallDecision::default() };
        let key = of_call(call_id);
        let other = products.others.entry(key).or_insert_with(|| {
            let mut facts = GatheredFacts::default();
            facts.over = true;
            facts.introduce_message(seen.message);
            facts.see(seen.message, [seen.src, seen.dst], seen.time.0 / MINUTE, ruling);
            let wanted = facts.ask(None, true, |facts| ruling.products.decide(facts));
            wanted.matched.iter().for_each(|rule| ruling.products.count(*rule));
            let cases = ruling.products.cases(&wanted.matched);
            let track = OwnerRecording::product(Category::Signalling, key);
            InterceptedDialog { track, standing: wanted.standing, cases, last: seen.time, told: None }
        });
        other.last = seen.time;
        other.standing
    }

    /// Keeps a media packet. HOT where somebody is intercepted: a load for each packet, a hash for those that
    /// may be wanted.
    pub(crate) fn product_media(&mut self, seen: &RtpSeen<'_>, piece: &PassingPacket<'_>) {
        let Self { products, output, orders, ruling, .. } = self;
        let known = seen.call.map(|call| orders.products.get(place(call))).unwrap_or_default();
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
        let standing = stream.decision_of(orders, ruling);
        if output.put(&mut stream.track, &standing, piece) {
            products.waiting.push(seen.serial);
        }
        stream.tell(orders, seen.time);
    }

    /// Keeps what reports say of a stream of which product is kept.
    pub(crate) fn product_reports(&mut self, seen: &RtcpSeen<'_>, piece: &PassingPacket<'_>) {
        let Self { products, output, orders, ruling, .. } = self;
        let Some(stream) = products.streams.get_mut(&seen.serial) else { return };
        stream.last = seen.time;
        stream.call = seen.call.or(stream.call);
        let standing = stream.decision_of(orders, ruling);
        if output.put(&mut stream.track, &standing, piece) {
            products.waiting.push(seen.serial);
        }
    }

    /// Applies decisions that another worker has made for packets that wait. A stream that no call has
    /// claimed for too long is decided by itself.
    pub(crate) fn check_waiting_product(&mut self, now: Nanos) {
        let Self { products: Interceptions { streams, waiting, .. }, output, orders, ruling, .. } = self;
        waiting.retain(|serial| {
            let Some(stream) = streams.get_mut(serial) else { return false };
            if !stream.track.waits() {
                return false;
            }
            if stream.call.is_none() && (stream.left.is_some() || stream.first + ALONE < now) {
                stream.judge_alone(ruling);
            }
            let standing = stream.decision_of(orders, ruling);
            let decided = standing.state == DecisionState::Decided;
            let gone = stream.left.is_some_and(|left| left + PATIENCE < now);
            if decided {
                output.settle(&mut stream.track, &standing);
                stream.tell(orders, now);
            }
            if stream.left.is_some() && (decided || gone) {
                output.end(&mut stream.track, now);
                streams.remove(serial);
            }
            !decided && !gone
        });
    }

    /// Who is silent needs no place.
    pub(crate) fn sweep_product(&mut self, now: Nanos) {
        let Self { products, output, .. } = self;
        for stream in products.streams.values_mut().filter(|stream| stream.last + SILENCE < now) {
            output.finish(&mut stream.track, now);
        }
        let silent = |_: &u64, other: &mut InterceptedDialog| other.last + SILENCE < now;
        for (_, mut other) in products.others.extract_if(silent) {
            output.end(&mut other.track, now);
        }
    }

    /// No packet of the stream will come.
    pub(crate) fn product_leaving(&mut self, serial: u64) {
        let now = self.now;
        let Some(stream) = self.products.streams.get(&serial) else { return };
        if let Some(number) = stream.call.filter(|_| stream.track.waits())
            && number.worker() == self.worker
            && let Some(state) = self.calls.get_mut(&number.slot()).filter(|state| state.number == number)
        {
            // It ends with its call: what is not known now will not be.
            state.facts.over = true;
            self.judge_product(number.slot());
        }
        let Self { products, output, orders, ruling, .. } = self;
        let Some(stream) = products.streams.get_mut(&serial) else { return };
        stream.left = Some(now);
        if stream.track.waits() {
            if stream.call.is_none() {
                stream.judge_alone(ruling);
            }
            let standing = stream.decision_of(orders, ruling);
            if standing.state != DecisionState::Decided {
                // Another worker has not said yet.
                return;
            }
            output.settle(&mut stream.track, &standing);
            stream.tell(orders, now);
        }
        if let Some(mut stream) = products.streams.remove(&serial) {
            output.end(&mut stream.track, now);
        }
    }
}

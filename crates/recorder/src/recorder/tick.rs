//! What a recorder does at each batch, and as time passes.

use std::sync::Arc;

use ringtap_model::{Frame, Nanos};
use ringtap_spool::rules::{CallDecision, DecisionState, RecordingScope};

use super::call_state::OtherDialog;
use super::limits::{ALONE, LONGEST, PATIENCE, SILENCE};
use super::state::{Recorder, rest};
use super::stream_state::{decide_alone, decision_of};
use crate::erase::Eraser;
use crate::output::PassingPacket;

impl Recorder {
    /// Begins a batch of `frames` frames, the last of which has the time `now`.
    pub fn begin(&mut self, frames: usize, now: Nanos) {
        self.now = now;
        if let Some(rest) = &mut self.rest {
            rest.1.clear();
            rest.1.resize(frames, false);
        }
    }

    /// Ends a batch: records its frames outside calls, if `everything` is recorded.
    pub fn rest(&mut self, frames: &[Frame<'_>]) {
        let Some(rest) = &mut self.rest else { return };
        let (recording, kept) = &mut **rest;
        let full = CallDecision {
            state: DecisionState::Decided,
            what: RecordingScope::Full,
            ..CallDecision::default()
        };
        for (frame, _) in frames.iter().zip(kept).filter(|(_, kept)| !**kept) {
            let Frame { time, wire_len, data, .. } = *frame;
            let packet = PassingPacket { time, wire_len, data, head: data.len(), payload_type: 0 };
            self.output.record(recording, &full, &packet);
        }
    }

    /// Writes what has waited long enough, releases silent streams, applies new rules and runs commands. Call
    /// it after each batch, and when time passes without packets.
    pub fn tick(&mut self, now: Nanos) {
        self.now = now;
        self.eraser.iter_mut().for_each(Eraser::catch_up);
        self.output.writer.tick(now);
        if self.shared_policy.epoch() != self.epoch {
            self.apply_new_rules();
        }
        if self.shared_policy.listened.changes() != self.heard.changes() {
            self.heard.update(&self.shared_policy.listened, &mut self.output.writer);
        }
        for command in self.shared_policy.commands(self.worker) {
            self.command(&command);
        }
        if now.since(self.checked) >= CHECK_INTERVAL {
            self.checked = now;
            self.check_waiting(now);
            if !self.heard.is_empty() {
                self.heard.expire(&self.shared_policy.listened);
            }
            let changes = self.shared_policy.table.changes();
            if std::mem::replace(&mut self.journaled_changes, changes) != changes {
                self.catch_up_journal();
            }
        }
        if now.since(self.released) >= RELEASE_INTERVAL {
            self.released = now;
            self.release_silent(now);
        }
    }

    /// Applies new rules to every call that is not decided yet.
    #[cold]
    fn apply_new_rules(&mut self) {
        let products = Arc::clone(&self.policy.products);
        (self.policy, self.epoch) = self.shared_policy.policy();
        if self.rest.is_some() != self.policy.everything {
            self.rest = rest(&self.policy, self.worker);
        }
        let open: Vec<u32> =
            self.calls.iter().filter(|(_, call)| !call.fixed).map(|(slot, _)| *slot).collect();
        for slot in open {
            self.judge(slot, None, false);
        }
        self.streams.values_mut().for_each(|stream| stream.alone = None);
        // Other ordinary rules alone change nothing of what is intercepted.
        if !Arc::ptr_eq(&products, &self.policy.products) {
            self.apply_new_rules_to_product();
        }
    }

    /// Applies decisions that another worker has made for packets that wait. A stream that no call has
    /// claimed for too long is decided by itself.
    fn check_waiting(&mut self, now: Nanos) {
        self.output.undecided.expire(Nanos(now.0.saturating_sub(LONGEST.0)));
        let mut waiting = std::mem::take(&mut self.waiting);
        waiting.retain(|serial| {
            let Some(stream) = self.streams.get_mut(serial) else { return false };
            if !stream.recording.waits() {
                return false;
            }
            if stream.call.is_none() && (stream.ended.is_some() || stream.first + ALONE < now) {
                stream.alone = Some(decide_alone(&self.policy, stream));
            }
            let decision = decision_of(&self.shared_policy, &self.policy, stream);
            let decided = matches!(decision.state, DecisionState::UntilEnd | DecisionState::Decided);
            let gone = stream.ended.is_some_and(|ended| ended + PATIENCE < now);
            if decision.provisional {
                stream.note_pending(self.eraser.as_mut());
            }
            if decided {
                self.output.flush_pending(&mut stream.recording, &decision);
            }
            if stream.ended.is_some() && (decided || gone) {
                self.output.end(&mut stream.recording, now);
                self.streams.remove(serial);
            }
            !decided && !gone
        });
        self.waiting = waiting;
        self.check_waiting_product(now);
    }

    /// Releases the spool's slots of streams and dialogs that have been silent for a while.
    fn release_silent(&mut self, now: Nanos) {
        let Self { streams, fast_paths, output, .. } = self;
        for (serial, stream) in streams.iter_mut() {
            let fast_paths = fast_paths.get_mut(stream.place as usize).filter(|line| line.serial == *serial);
            let last = fast_paths.as_ref().map_or(Nanos::ZERO, |line| line.last);
            stream.last = stream.last.max(last);
            if stream.last + SILENCE < now {
                fast_paths.into_iter().for_each(|line| line.owner = None);
                output.finish(&mut stream.recording, now);
            }
        }
        let silent = |_: &u64, other: &mut OtherDialog| other.last + SILENCE < now;
        for (_, mut other) in self.others.extract_if(silent) {
            self.output.end(&mut other.recording, now);
        }
        self.sweep_product(now);
        self.catch_up_journal();
    }
}

/// How often waiting streams check for a decision.
const CHECK_INTERVAL: Nanos = Nanos::from_millis(200);

/// How often silent streams are released.
const RELEASE_INTERVAL: Nanos = Nanos::from_secs(5);

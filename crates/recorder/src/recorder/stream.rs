//! Media streams: the fast path of those whose packets are all recorded, and the slow path of the others.

use ringtap_engine::{RecordedPackets, RtcpSeen, RtpSeen};
use ringtap_spool::rules::DecisionState;

use super::state::Recorder;
use super::stream_state::{FastPath, Stream, decide_alone, decision_of, may_take_fast_path};
use crate::listening::ListenedStream;
use crate::output::PassingPacket;
use crate::policy::place;

impl Recorder {
    /// Entries of the fast path are valid while it stays the same.
    pub(super) fn version(&self) -> u64 {
        // Both only grow.
        self.shared_policy.table.changes() ^ (self.epoch + self.heard.changes()) << 40
    }

    /// Records a media packet. HOT: one cache line and one copy.
    #[inline]
    pub(super) fn media(&mut self, seen: &RtpSeen<'_>, packet: &PassingPacket<'_>) {
        let version = self.version();
        if let Some(line) = self.fast_paths.get_mut(seen.stream_slot as usize)
            && (line.serial, line.version, line.call) == (seen.serial, version, seen.call)
            && let Some(owner) = line.owner
        {
            line.last = seen.time;
            return self.output.writer.put_bytes(owner, packet.time, packet.wire_len, packet.data);
        }
        self.media_slow_path(seen, packet, version);
    }

    /// Records a media packet after looking up the decision about its stream.
    #[inline(never)]
    pub(super) fn media_slow_path(&mut self, seen: &RtpSeen<'_>, packet: &PassingPacket<'_>, version: u64) {
        let intercepts_nobody = self.intercepts_nobody();
        let Self { streams, output, shared_policy, policy, eraser, journal, heard, .. } = self;
        let stream = streams.entry(seen.serial).or_insert_with(|| Stream::new(seen));
        stream.last = seen.time;
        stream.call = seen.call.or(stream.call);
        let decision = decision_of(shared_policy, policy, stream);
        if decision.may_pause && decision.is_event(seen.payload_type) {
            stream.press(seen, shared_policy, policy);
        }
        if decision.provisional {
            stream.note_pending(eraser.as_mut());
        }
        stream.journal(journal.as_mut());
        if output.record(&mut stream.recording, &decision, packet) {
            self.waiting.push(seen.serial);
        }
        if !heard.is_empty()
            && let (Some(call), Some(owner)) = (stream.call, stream.recording.owner())
        {
            let RtpSeen { src, dst, ssrc, payload_type, .. } = *seen;
            let listened = ListenedStream { src, dst, ssrc, payload_type };
            heard.hurry(place(call), (owner, listened), &mut output.writer);
        }
        let takes_fast_path =
            may_take_fast_path(&decision, policy) && !stream.recording.waits() && intercepts_nobody;
        let owner = stream.recording.owner().filter(|_| takes_fast_path);
        if let Some(line) = self.fast_paths.get_mut(seen.stream_slot as usize) {
            *line = FastPath { serial: seen.serial, version, call: seen.call, owner, last: seen.time };
        }
        if !intercepts_nobody {
            self.product_media(seen, packet);
        }
    }

    /// Records RTCP reports whole, with their stream.
    pub(super) fn reports(&mut self, seen: &RtcpSeen<'_>, data: &[u8], wire_len: u32) {
        // Reports contain no speech.
        let packet = PassingPacket { time: seen.time, wire_len, data, head: data.len(), payload_type: 0 };
        self.product_reports(seen, &packet);
        let Some(stream) = self.streams.get_mut(&seen.serial) else { return };
        stream.last = seen.time;
        stream.call = seen.call.or(stream.call);
        let decision = decision_of(&self.shared_policy, &self.policy, stream);
        if decision.provisional {
            stream.note_pending(self.eraser.as_mut());
        }
        if self.output.record(&mut stream.recording, &decision, &packet) {
            self.waiting.push(seen.serial);
        }
    }

    /// Handles the end of a stream; returns what was recorded of it.
    pub(super) fn stream_finished(&mut self, serial: u64) -> RecordedPackets {
        let now = self.now;
        self.product_leaving(serial);
        let Some(stream) = self.streams.get(&serial) else { return RecordedPackets::default() };
        if let Some(number) = stream.call.filter(|_| stream.recording.waits()) {
            // The stream ends with its call: no more facts will become known.
            if number.worker() == self.worker
                && let Some(state) = self.calls.get_mut(&number.slot()).filter(|state| state.number == number)
            {
                state.facts.over = true;
                self.judge(number.slot(), None, false);
            }
        }
        let Some(stream) = self.streams.get_mut(&serial) else { return RecordedPackets::default() };
        stream.ended = Some(now);
        if stream.recording.waits() {
            if stream.call.is_none() {
                stream.alone = Some(decide_alone(&self.policy, stream));
            }
            let decision = decision_of(&self.shared_policy, &self.policy, stream);
            if !matches!(decision.state, DecisionState::UntilEnd | DecisionState::Decided) {
                // The call's worker has not decided yet.
                return RecordedPackets::default();
            }
            if decision.provisional {
                stream.note_pending(self.eraser.as_mut());
            }
            self.output.flush_pending(&mut stream.recording, &decision);
        }
        let Some(mut stream) = self.streams.remove(&serial) else { return RecordedPackets::default() };
        if let Some(line) =
            self.fast_paths.get_mut(stream.place as usize).filter(|line| line.serial == serial)
        {
            line.owner = None;
        }
        self.output.end(&mut stream.recording, now)
    }
}

//! Media streams: the fast path of those whose packets are all recorded, and the slow path of the others.

use ringtap_engine::{RecordedPackets, RtcpSeen, RtpSeen};
use ringtap_spool::rules::DecisionState;

use super::state::Recorder;
use super::stream_state::{FastPath, Stream, alone, decision_of, may_take_fast_path};
use crate::output::PassingPacket;

impl Recorder {
    /// While it stays the same, entries of the fast path stay valid.
    pub(super) fn version(&self) -> u64 {
        self.orders.table.changes() ^ self.epoch << 40
    }

    /// Records a media packet. HOT: one cache line and one copy.
    #[inline]
    pub(super) fn media(&mut self, seen: &RtpSeen<'_>, piece: &PassingPacket<'_>) {
        let version = self.version();
        if let Some(line) = self.fast_paths.get_mut(seen.stream_slot as usize)
            && (line.serial, line.version, line.call) == (seen.serial, version, seen.call)
            && let Some(owner) = line.owner
        {
            line.last = seen.time;
            return self.output.keeper.put_bytes(owner, piece.time, piece.wire_len, piece.data);
        }
        self.media_slow_path(seen, piece, version);
    }

    /// The same where the decision about the stream has to be looked up.
    #[inline(never)]
    pub(super) fn media_slow_path(&mut self, seen: &RtpSeen<'_>, piece: &PassingPacket<'_>, version: u64) {
        let intercepts_nobody = self.intercepts_nobody();
        let Self { streams, output, orders, ruling, eraser, .. } = self;
        let stream = streams.entry(seen.serial).or_insert_with(|| Stream::new(seen));
        stream.last = seen.time;
        stream.call = seen.call.or(stream.call);
        let standing = decision_of(orders, ruling, stream);
        if standing.may_pause && standing.is_event(seen.payload_type) {
            stream.press(seen, orders, ruling);
        }
        if standing.provisional {
            stream.note_pending(eraser.as_mut());
        }
        if output.put(&mut stream.track, &standing, piece) {
            self.waiting.push(seen.serial);
        }
        let takes_fast_path =
            may_take_fast_path(&standing, ruling) && !stream.track.waits() && intercepts_nobody;
        let owner = stream.track.owner().filter(|_| takes_fast_path);
        if let Some(line) = self.fast_paths.get_mut(seen.stream_slot as usize) {
            *line = FastPath { serial: seen.serial, version, call: seen.call, owner, last: seen.time };
        }
        if !intercepts_nobody {
            self.product_media(seen, piece);
        }
    }

    /// Keeps what reports say of a stream: they are kept with it, whole.
    pub(super) fn reports(&mut self, seen: &RtcpSeen<'_>, data: &[u8], wire_len: u32) {
        // Reports say nothing of what is said.
        let piece = PassingPacket { time: seen.time, wire_len, data, head: data.len(), payload_type: 0 };
        self.product_reports(seen, &piece);
        let Some(stream) = self.streams.get_mut(&seen.serial) else { return };
        stream.last = seen.time;
        stream.call = seen.call.or(stream.call);
        let standing = decision_of(&self.orders, &self.ruling, stream);
        if standing.provisional {
            stream.note_pending(self.eraser.as_mut());
        }
        if self.output.put(&mut stream.track, &standing, &piece) {
            self.waiting.push(seen.serial);
        }
    }

    /// No packet of the stream will come.
    pub(super) fn stream_finished(&mut self, serial: u64) -> RecordedPackets {
        let now = self.now;
        self.product_leaving(serial);
        let Some(stream) = self.streams.get(&serial) else { return RecordedPackets::default() };
        if let Some(number) = stream.call.filter(|_| stream.track.waits()) {
            // It ends with its call: what is not known now will not be.
            if number.worker() == self.worker
                && let Some(state) = self.calls.get_mut(&number.slot()).filter(|state| state.number == number)
            {
                state.facts.over = true;
                self.judge(number.slot(), None, false);
            }
        }
        let Some(stream) = self.streams.get_mut(&serial) else { return RecordedPackets::default() };
        stream.left = Some(now);
        if stream.track.waits() {
            if stream.call.is_none() {
                stream.alone = Some(alone(&self.ruling, stream));
            }
            let standing = decision_of(&self.orders, &self.ruling, stream);
            if !matches!(standing.state, DecisionState::UntilEnd | DecisionState::Decided) {
                // Another worker has not said yet.
                return RecordedPackets::default();
            }
            if standing.provisional {
                stream.note_pending(self.eraser.as_mut());
            }
            self.output.settle(&mut stream.track, &standing);
        }
        let Some(mut stream) = self.streams.remove(&serial) else { return RecordedPackets::default() };
        if let Some(line) =
            self.fast_paths.get_mut(stream.place as usize).filter(|line| line.serial == serial)
        {
            line.owner = None;
        }
        self.output.end(&mut stream.track, now)
    }
}

//! Packets of an owner: in memory while their decision is pending, then written to the spool or dropped.

use ringtap_engine::RecordedPackets;
use ringtap_model::{LinkType, Nanos};
use ringtap_spool::rules::{CallDecision, DecisionState, PendingList, PendingPackets, RecordingScope};
use ringtap_spool::{Category, OwnerHandle, SpoolWriter};

/// A worker's memory for pending packets, and its spool writer.
pub(crate) struct PacketOutput {
    pub(crate) writer: SpoolWriter,
    pub(crate) undecided: PendingPackets,
    /// Packets of owners that found no slot.
    pub(crate) left_out: u64,
}

/// The recording of one owner.
pub(crate) struct OwnerRecording {
    /// Signalling or media.
    category: Category,
    /// It is interception product.
    is_product: bool,
    pub(crate) key: u64,
    /// Waiting packets.
    list: Option<PendingList>,
    owner: Option<OwnerHandle>,
    kept: RecordedPackets,
}

/// A packet to be recorded.
#[derive(Clone, Copy)]
pub(crate) struct PassingPacket<'a> {
    pub(crate) time: Nanos,
    pub(crate) wire_len: u32,
    pub(crate) data: &'a [u8],
    /// Length of its headers, before the payload; all of it if there is no payload.
    pub(crate) head: usize,
    /// The RTP payload type; ignored without a payload.
    pub(crate) payload_type: u8,
}

impl PassingPacket<'_> {
    /// How many of its bytes are recorded; None if it is not.
    fn part(&self, category: Category, decision: &CallDecision) -> Option<usize> {
        let (whole, head) = (self.data.len(), self.head.min(self.data.len()));
        match (category, decision.what) {
            (_, RecordingScope::Nothing) | (Category::Media, RecordingScope::Signalling) => None,
            (Category::Signalling, _) => Some(whole),
            (_, RecordingScope::Headers) => Some(head),
            _ if decision.paused => Some(head),
            _ if decision.mask_digits && self.may_be_digit(decision, whole - head) => Some(head),
            _ => Some(whole),
        }
    }

    /// Whether it may be a telephone-event. If no description has announced them, any dynamic payload type of
    /// an event's size (RFC 4733 section 2.3) may be.
    fn may_be_digit(&self, decision: &CallDecision, length: usize) -> bool {
        decision.is_event(self.payload_type)
            || decision.events == 0 && length == EVENT && (96..128).contains(&self.payload_type)
    }
}

impl OwnerRecording {
    pub(crate) fn new(category: Category, key: u64) -> Self {
        Self { category, is_product: false, key, list: None, owner: None, kept: RecordedPackets::default() }
    }

    /// A recording of intercepted signalling or media.
    pub(crate) fn product(category: Category, key: u64) -> Self {
        Self { is_product: true, ..Self::new(category, key) }
    }

    /// The category of its segments.
    fn series(&self) -> Category {
        if self.is_product { Category::Product } else { self.category }
    }

    /// Whether any of it is being recorded.
    pub(crate) fn is_kept(&self) -> bool {
        self.owner.is_some()
    }

    /// Its slot in the writer, once a packet was written.
    pub(crate) fn owner(&self) -> Option<OwnerHandle> {
        self.owner
    }

    /// Whether packets of it are waiting.
    pub(crate) fn waits(&self) -> bool {
        self.list.is_some()
    }
}

impl PacketOutput {
    /// Records a packet, or lets it wait. Returns whether it is the first to wait. HOT.
    pub(crate) fn record(
        &mut self,
        recording: &mut OwnerRecording,
        decision: &CallDecision,
        packet: &PassingPacket<'_>,
    ) -> bool {
        match decision.state {
            DecisionState::Unknown | DecisionState::Open => self.hold(recording, decision, packet),
            DecisionState::UntilEnd | DecisionState::Decided => {
                if recording.list.is_some() {
                    self.flush_pending(recording, decision);
                }
                if let Some(part) = packet.part(recording.category, decision) {
                    self.write(recording, packet.time, packet.wire_len, &packet.data[..part]);
                }
                false
            }
        }
    }

    #[cold]
    fn hold(
        &mut self,
        recording: &mut OwnerRecording,
        decision: &CallDecision,
        packet: &PassingPacket<'_>,
    ) -> bool {
        // Bytes that are certainly not recorded need not wait. Masks and pauses apply both now and when the
        // decision is made.
        let Some(part) = packet.part(recording.category, &CallDecision { mask_digits: false, ..*decision })
        else {
            return false;
        };
        let is_new = recording.list.is_none();
        if is_new {
            recording.list = self.undecided.begin(recording.category == Category::Signalling);
        }
        let Some(list) = recording.list else {
            self.left_out += 1;
            return false;
        };
        let head = packet.head.min(HEAD_BITS as usize) as u32;
        let tag = u32::from(packet.payload_type) << HEAD_BITS.count_ones() | head;
        self.undecided.put(list, packet.time, packet.wire_len, tag, &packet.data[..part]);
        is_new
    }

    /// Writes or drops the waiting packets, by the decision.
    #[cold]
    pub(crate) fn flush_pending(&mut self, recording: &mut OwnerRecording, decision: &CallDecision) {
        let Some(list) = recording.list.take() else { return };
        if decision.what == RecordingScope::Nothing {
            self.undecided.give_up(list);
            return;
        }
        let Self { writer, undecided, left_out } = self;
        let lost = undecided.drain(list, |waited| {
            let packet = PassingPacket {
                time: waited.time,
                wire_len: waited.wire_len,
                data: waited.data,
                head: (waited.tag & HEAD_BITS) as usize,
                payload_type: (waited.tag >> HEAD_BITS.count_ones()) as u8,
            };
            // A pause has already cut it when it arrived.
            let decision = CallDecision { paused: false, ..*decision };
            if let Some(part) = packet.part(recording.category, &decision) {
                write(writer, left_out, recording, packet.time, packet.wire_len, &packet.data[..part]);
            }
        });
        recording.kept.lost += lost;
    }

    /// Drops the waiting packets.
    pub(crate) fn give_up(&mut self, recording: &mut OwnerRecording) {
        if let Some(list) = recording.list.take() {
            self.undecided.give_up(list);
        }
    }

    fn write(&mut self, recording: &mut OwnerRecording, time: Nanos, wire_len: u32, data: &[u8]) {
        write(&mut self.writer, &mut self.left_out, recording, time, wire_len, data);
    }

    /// Gives the owner's slot back until more packets come.
    pub(crate) fn finish(&mut self, recording: &mut OwnerRecording, now: Nanos) {
        if let Some(kept) = recording.owner.take().and_then(|owner| self.writer.finish(owner, now)) {
            recording.kept.packets += kept.packets;
            recording.kept.lost += kept.lost;
        }
    }

    /// Ends the recording; returns its counts.
    pub(crate) fn end(&mut self, recording: &mut OwnerRecording, now: Nanos) -> RecordedPackets {
        self.give_up(recording);
        self.finish(recording, now);
        recording.kept
    }

    /// Link type of all frames.
    pub(crate) fn link(&self) -> LinkType {
        self.writer.link()
    }
}

// HOT: a copy, nothing else.
fn write(
    writer: &mut SpoolWriter,
    left_out: &mut u64,
    recording: &mut OwnerRecording,
    time: Nanos,
    wire_len: u32,
    data: &[u8],
) {
    if recording.owner.is_none() {
        recording.owner = writer.begin(recording.series(), recording.key);
    }
    match recording.owner {
        Some(owner) => writer.put_bytes(owner, time, wire_len, data),
        None => {
            *left_out += 1;
            recording.kept.lost += 1;
        }
    }
}

/// Bytes of a telephone-event.
const EVENT: usize = 4;
/// Bits of a tag with the length of the headers; the payload type is above them.
const HEAD_BITS: u32 = 0xff_ffff;

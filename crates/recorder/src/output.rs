//! Where packets of an owner go: into memory while nobody knows whether they may be kept, then into the spool
//! or nowhere.

use ringtap_engine::RecordedPackets;
use ringtap_model::{LinkType, Nanos};
use ringtap_spool::rules::{CallDecision, DecisionState, PendingList, PendingPackets, RecordingScope};
use ringtap_spool::{Category, OwnerHandle, SpoolWriter};

/// A worker's places.
pub(crate) struct PacketOutput {
    pub(crate) keeper: SpoolWriter,
    pub(crate) undecided: PendingPackets,
    /// Packets of owners without a place.
    pub(crate) left_out: u64,
}

/// What is kept of one owner.
pub(crate) struct OwnerRecording {
    /// Signalling or media.
    category: Category,
    /// It is interception product, of either.
    is_product: bool,
    pub(crate) key: u64,
    /// What waits.
    list: Option<PendingList>,
    owner: Option<OwnerHandle>,
    kept: RecordedPackets,
}

/// A packet on its way.
#[derive(Clone, Copy)]
pub(crate) struct PassingPacket<'a> {
    pub(crate) time: Nanos,
    pub(crate) wire_len: u32,
    pub(crate) data: &'a [u8],
    /// How much of it stands in front of what is said; all of it where nothing is.
    pub(crate) head: usize,
    /// Of RTP; any for what is all head.
    pub(crate) payload_type: u8,
}

impl PassingPacket<'_> {
    /// How much of it is kept; None where nothing is.
    fn part(&self, category: Category, standing: &CallDecision) -> Option<usize> {
        let (whole, head) = (self.data.len(), self.head.min(self.data.len()));
        match (category, standing.what) {
            (_, RecordingScope::Nothing) | (Category::Media, RecordingScope::Signalling) => None,
            (Category::Signalling, _) => Some(whole),
            (_, RecordingScope::Headers) => Some(head),
            _ if standing.paused => Some(head),
            _ if standing.mask_digits && self.may_be_digit(standing, whole - head) => Some(head),
            _ => Some(whole),
        }
    }

    /// A telephone-event, as descriptions have it. Where none has told of them, because it did not pass here
    /// or not yet: what has the size of one (RFC 4733 section 2.3) under a number that is given by
    /// descriptions.
    fn may_be_digit(&self, standing: &CallDecision, length: usize) -> bool {
        standing.is_event(self.payload_type)
            || standing.events == 0 && length == EVENT && (96..128).contains(&self.payload_type)
    }
}

impl OwnerRecording {
    pub(crate) fn new(category: Category, key: u64) -> Self {
        Self { category, is_product: false, key, list: None, owner: None, kept: RecordedPackets::default() }
    }

    /// Of signalling or media that are intercepted.
    pub(crate) fn product(category: Category, key: u64) -> Self {
        Self { is_product: true, ..Self::new(category, key) }
    }

    /// Where it lies on the disk.
    fn series(&self) -> Category {
        if self.is_product { Category::Product } else { self.category }
    }

    /// Whether something of it is being kept.
    pub(crate) fn is_kept(&self) -> bool {
        self.owner.is_some()
    }

    /// Where its packets go, once one has gone there.
    pub(crate) fn owner(&self) -> Option<OwnerHandle> {
        self.owner
    }

    /// Whether packets wait.
    pub(crate) fn waits(&self) -> bool {
        self.list.is_some()
    }
}

impl PacketOutput {
    /// A packet passed. True where it is the first that waits. HOT.
    pub(crate) fn put(
        &mut self,
        track: &mut OwnerRecording,
        standing: &CallDecision,
        piece: &PassingPacket<'_>,
    ) -> bool {
        match standing.state {
            DecisionState::Unknown | DecisionState::Open => self.hold(track, standing, piece),
            DecisionState::UntilEnd | DecisionState::Decided => {
                if track.list.is_some() {
                    self.settle(track, standing);
                }
                if let Some(part) = piece.part(track.category, standing) {
                    self.keep(track, piece.time, piece.wire_len, &piece.data[..part]);
                }
                false
            }
        }
    }

    #[cold]
    fn hold(
        &mut self,
        track: &mut OwnerRecording,
        standing: &CallDecision,
        piece: &PassingPacket<'_>,
    ) -> bool {
        // What is not written for certain need not wait; masks and pauses apply as they are now and when the
        // decision is made.
        let Some(part) = piece.part(track.category, &CallDecision { mask_digits: false, ..*standing }) else {
            return false;
        };
        let is_new = track.list.is_none();
        if is_new {
            track.list = self.undecided.begin(track.category == Category::Signalling);
        }
        let Some(list) = track.list else {
            self.left_out += 1;
            return false;
        };
        let head = piece.head.min(HEAD_BITS as usize) as u32;
        let tag = u32::from(piece.payload_type) << HEAD_BITS.count_ones() | head;
        self.undecided.put(list, piece.time, piece.wire_len, tag, &piece.data[..part]);
        is_new
    }

    /// What waits goes where the decision sends it.
    #[cold]
    pub(crate) fn settle(&mut self, track: &mut OwnerRecording, standing: &CallDecision) {
        let Some(list) = track.list.take() else { return };
        if standing.what == RecordingScope::Nothing {
            self.undecided.give_up(list);
            return;
        }
        let Self { keeper, undecided, left_out } = self;
        let lost = undecided.drain(list, |waited| {
            let piece = PassingPacket {
                time: waited.time,
                wire_len: waited.wire_len,
                data: waited.data,
                head: (waited.tag & HEAD_BITS) as usize,
                payload_type: (waited.tag >> HEAD_BITS.count_ones()) as u8,
            };
            // It was cut already where it had to be then.
            let standing = CallDecision { paused: false, ..*standing };
            if let Some(part) = piece.part(track.category, &standing) {
                keep(keeper, left_out, track, piece.time, piece.wire_len, &piece.data[..part]);
            }
        });
        track.kept.lost += lost;
    }

    /// What waits is not decided, and never will be.
    pub(crate) fn give_up(&mut self, track: &mut OwnerRecording) {
        if let Some(list) = track.list.take() {
            self.undecided.give_up(list);
        }
    }

    fn keep(&mut self, track: &mut OwnerRecording, time: Nanos, wire_len: u32, data: &[u8]) {
        keep(&mut self.keeper, &mut self.left_out, track, time, wire_len, data);
    }

    /// Nothing comes for now: gives the owner's place back.
    pub(crate) fn finish(&mut self, track: &mut OwnerRecording, now: Nanos) {
        if let Some(kept) = track.owner.take().and_then(|owner| self.keeper.finish(owner, now)) {
            track.kept.packets += kept.packets;
            track.kept.lost += kept.lost;
        }
    }

    /// Nothing comes any more: what was kept.
    pub(crate) fn end(&mut self, track: &mut OwnerRecording, now: Nanos) -> RecordedPackets {
        self.give_up(track);
        self.finish(track, now);
        track.kept
    }

    /// Of all frames.
    pub(crate) fn link(&self) -> LinkType {
        self.keeper.link()
    }
}

// HOT: a copy, nothing else.
fn keep(
    keeper: &mut SpoolWriter,
    left_out: &mut u64,
    track: &mut OwnerRecording,
    time: Nanos,
    wire_len: u32,
    data: &[u8],
) {
    if track.owner.is_none() {
        track.owner = keeper.begin(track.series(), track.key);
    }
    match track.owner {
        Some(owner) => keeper.put_bytes(owner, time, wire_len, data),
        None => {
            *left_out += 1;
            track.kept.lost += 1;
        }
    }
}

/// Bytes of a telephone-event.
const EVENT: usize = 4;
/// Of a tag, for the length of the head; the payload type stands above.
const HEAD_BITS: u32 = 0xff_ffff;

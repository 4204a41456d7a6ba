//! What the call tracker tells the stream table about a call: the values that signalling and media exchange,
//! between workers too.

use std::net::IpAddr;
use std::sync::Arc;

use ringtap_model::{Call, Direction, Endpoint, Nanos, Party};
use ringtap_quality::notes::MediaFacts;

use crate::codecs::CodecId;
use crate::table::slots::{GENERATIONS, Ticket};

/// Identifies one call across all workers: its owner, its slot in the owner's table, and the generation of
/// that slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct CallRef(u64);

impl CallRef {
    /// INVARIANT: generations of calls count up to [`GENERATIONS`].
    pub(crate) fn new(worker: usize, ticket: Ticket) -> Self {
        let generation = u64::from(ticket.generation & GENERATIONS);
        Self((worker as u64) << 56 | generation << 32 | u64::from(ticket.slot))
    }

    pub(crate) fn to_bits(self) -> u64 {
        self.0
    }

    /// The worker that owns it.
    pub(crate) fn worker(self) -> usize {
        (self.0 >> 56) as usize
    }

    /// Slot and generation in the owner's table.
    pub(crate) fn ticket(self) -> Ticket {
        Ticket { slot: self.0 as u32, generation: (self.0 >> 32) as u32 & GENERATIONS }
    }
}

/// Identifies a call in progress across all workers of a team. A table indexed by [`CallNumber::slot`] finds
/// it without a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CallNumber(pub(crate) CallRef);

impl CallNumber {
    /// The worker that owns its signalling.
    pub fn worker(self) -> usize {
        self.0.worker()
    }

    /// Its slot in that worker's table of calls, below the worker's share of `max_calls`. Reused once the
    /// call has ended.
    pub fn slot(self) -> u32 {
        self.0.ticket().slot
    }

    /// One number for all of it: no other call of the last sixteen million in its slot has it.
    pub fn to_bits(self) -> u64 {
        self.0.to_bits()
    }

    /// Distinguishes it from the last sixteen million calls that used the same slot.
    pub fn generation(self) -> u32 {
        self.0.ticket().generation
    }
}

/// Ten seconds of a stream that is in progress.
#[derive(Clone, Copy, Debug)]
pub struct IntervalSeen<'a> {
    /// Capture time of the packet that showed that they are over.
    pub time: Nanos,
    /// Its stream: [`StreamEnd::serial`](crate::StreamEnd::serial).
    pub serial: u64,
    /// Sender.
    pub src: Endpoint,
    /// Receiver.
    pub dst: Endpoint,
    /// The call of its stream.
    pub call: Option<CallNumber>,
    /// Name of the codec in use; None for a dynamic payload type that nothing announced.
    pub codec: Option<&'a str>,
    /// Packets received, repeats included.
    pub packets: u32,
    /// Packets received, each once.
    pub unique: u32,
    /// Sequence numbers missing.
    pub lost: u32,
    /// Mean interarrival jitter in milliseconds.
    pub jitter_ms: f64,
    /// MOS-LQ after the adaptive buffer, of a receiver that conceals loss unless its address is known as one
    /// that does not; None where the codec has no model.
    pub mos: Option<f64>,
}

/// A time between two packets of a stream, 100 ms or longer, that the numbers missing there fill at least
/// half of: packets were sent, and lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LostTime {
    /// The stream: [`StreamEnd::serial`](crate::StreamEnd::serial).
    pub serial: u64,
    /// The last packet before.
    pub from: Nanos,
    /// The first packet after.
    pub until: Nanos,
    /// Numbers that are missing, without those that the source spent elsewhere.
    pub missing: u32,
    /// The call of the stream, as far as it is known by then.
    pub call: Option<CallNumber>,
    /// Which way its packets flow, as far as it is known by then.
    pub direction: Option<Direction>,
}

/// Position in the order of the input: the number of the frame, and an index among the messages and streams
/// of that frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct InputOrder {
    pub(crate) number: u64,
    pub(crate) index: u32,
}

/// A side of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Side {
    /// Sent the INVITE.
    Caller,
    /// Received it.
    Callee,
}

impl Side {
    pub(crate) fn other(self) -> Self {
        match self {
            Self::Caller => Self::Callee,
            Self::Callee => Self::Caller,
        }
    }

    /// Which way its media flows.
    pub(crate) fn direction(self) -> Direction {
        match self {
            Self::Caller => Direction::CallerToCallee,
            Self::Callee => Direction::CalleeToCaller,
        }
    }

    pub(crate) fn party(self) -> Party {
        match self {
            Self::Caller => Party::Caller,
            Self::Callee => Party::Callee,
        }
    }
}

/// What media must know about a call besides its endpoints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CallStatus {
    /// Where the signalling of each side comes from.
    pub(crate) hosts: [IpAddr; 2],
    pub(crate) is_over: bool,
    /// When T.38 was last offered.
    pub(crate) fax: Option<Nanos>,
    /// When signalling last told of a pressed key.
    pub(crate) keyed: Option<Nanos>,
}

impl CallStatus {
    /// Whether numbers may be missing in its streams that were never sent on.
    pub(crate) fn may_skip(&self) -> bool {
        self.fax.is_some() || self.keyed.is_some()
    }
}

/// How the streams of a call are collected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Collected {
    /// They end with it.
    Ended,
    /// As they are now.
    SoFar,
}

/// A call that has ended, still without its streams.
pub(crate) struct EndedCall {
    pub(crate) record: Call,
    /// Round trip measured on its SIP transactions.
    pub(crate) rtt: Option<Nanos>,
    /// Key of its streams; None when it announced no media.
    pub(crate) media: Option<CallRef>,
    /// What signalling told of its media.
    pub(crate) facts: MediaFacts,
    /// A call of the last run, with no message since: when that run ended.
    pub(crate) silent_since: Option<Nanos>,
}

impl EndedCall {
    /// No call.
    pub(crate) const NONE: Self =
        Self { record: Call::UNKNOWN, rtt: None, media: None, facts: MediaFacts::NONE, silent_since: None };
}

/// How many packets of a stream a sink has recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecordedPackets {
    /// Packets recorded, whole or in part.
    pub packets: u64,
    /// Packets that should have been recorded and were not.
    pub lost: u64,
}

/// Payload types as one media description announced them, shared by its endpoints.
pub(crate) type PayloadTypes = Arc<[(u8, CodecId)]>;

/// What a SIP message changed about the media of its call. Sent only for calls that announced media.
#[derive(Clone, Debug)]
pub(crate) struct MediaUpdate {
    pub(crate) order: InputOrder,
    pub(crate) call: CallRef,
    pub(crate) status: CallStatus,
    /// Side that announced `ends`.
    pub(crate) side: Side,
    pub(crate) ends: Vec<(Endpoint, PayloadTypes)>,
}

/// A media endpoint learned from a stream (symmetric RTP, RFC 4961). It takes effect at the next tick of the
/// clock, in all workers at once, so the order in which workers see packets does not matter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LearnedEndpoint {
    /// Position of the packet it was learned from.
    pub(crate) order: InputOrder,
    /// Position at which its call first announced media.
    pub(crate) born: InputOrder,
    pub(crate) call: CallRef,
    pub(crate) endpoint: Endpoint,
    pub(crate) side: Side,
}

impl LearnedEndpoint {
    /// The order in which every worker applies learned endpoints: independent of workers.
    pub(crate) fn rank(&self) -> (InputOrder, InputOrder, Endpoint, Side) {
        (self.order, self.born, self.endpoint, self.side)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::slots::Slots;

    #[test]
    fn a_reference_names_worker_slot_and_generation() {
        let mut slots = Slots::new(9);
        slots.insert(());
        let slot = slots.insert(()).unwrap();
        let first = CallRef::new(3, slots.ticket(slot));
        assert_eq!((first.worker(), first.ticket()), (3, slots.ticket(slot)));
        slots.remove(slot);
        slots.insert(());
        let second = CallRef::new(3, slots.ticket(slot));
        assert_ne!(first, second);
        assert_ne!(second, CallRef::new(2, slots.ticket(slot)));
        assert_eq!((second.worker(), second.ticket()), (3, slots.ticket(slot)));
    }
}

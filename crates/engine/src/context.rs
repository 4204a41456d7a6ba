//! What a tracker is given: packets as it sees them, and what the engine lends it while it handles one.

use std::any::Any;

use ringtap_model::{Call, Endpoint, Frame, Nanos, Transport};
use ringtap_wire::frame::{Packet, link};
use ringtap_wire::sip::{Message, Method};

use crate::counters::Counters;
use crate::media::StreamTable;
use crate::sink::{CallNumber, CallPhase, Sink};
use crate::table::slots::Ticket;
use crate::table::timers::{Timer, TimerOwner, TimerWheel};
use crate::update::{CallRef, EndedCall, InputOrder, MediaUpdate};

/// A UDP datagram, one that a TURN relay carries, or a message of a TCP connection.
#[derive(Clone, Copy, Debug)]
pub struct Datagram<'a> {
    /// Capture time.
    pub time: Nanos,
    /// Sender.
    pub src: Endpoint,
    /// Receiver.
    pub dst: Endpoint,
    /// Bytes at the IP layer, as sent.
    pub ip_len: u32,
    /// The captured payload.
    pub data: &'a [u8],
    /// Payload bytes as sent: more than `data` where the capture was cut.
    pub len: usize,
    /// Numbers of the frames that carried it, ascending.
    pub frames: &'a [u64],
}

/// What carried a message.
#[derive(Clone, Copy, Debug)]
pub struct Hop {
    /// Capture time of its last frame.
    pub time: Nanos,
    /// Sender.
    pub src: Endpoint,
    /// Receiver.
    pub dst: Endpoint,
    /// Transport protocol.
    pub transport: Transport,
    /// Identification of the IPv4 packet that a datagram came in: two with different ones are no copies of
    /// each other. 0 where there is none, and for all that is no datagram.
    pub ip_id: u16,
    /// MAC address that sent the Ethernet frame of a datagram, where a tracker wants it
    /// ([`Wants::senders`](crate::Wants::senders)); None of what came through a tunnel.
    pub sender: Option<[u8; 6]>,
}

impl Hop {
    /// The MAC address that sent a frame, if it is one of Ethernet and carries no tunnel.
    pub(crate) fn sender_of(frame: &Frame<'_>, packet: &Packet<'_>) -> Option<[u8; 6]> {
        let is_own = frame.link.0 == link::ETHERNET && packet.depth == 0;
        if is_own { frame.data.get(6..)?.first_chunk().copied() } else { None }
    }
}

/// A SIP message with a Call-ID, after reassembly.
#[derive(Clone, Copy)]
pub struct SipMessage<'a> {
    /// The message.
    pub message: &'a Message<'a>,
    /// Its Call-ID, never empty; of a quality report (RFC 6035), that of the call which it is about.
    pub call_id: &'a [u8],
    /// Sequence number and method of its CSeq.
    pub cseq: Option<(u32, Method)>,
    /// Method of its transaction: a request's start line says it, of a response its CSeq.
    pub method: Method,
    /// What carried it.
    pub hop: &'a Hop,
    /// Numbers of the frames that carried it, ascending.
    pub frames: &'a [u64],
    /// Keyed hash of its Call-ID.
    pub(crate) hash: u64,
}

/// What the call tracker concluded about a SIP message.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SipVerdict {
    pub(crate) call: Option<CallRef>,
    pub(crate) is_retransmission: bool,
    pub(crate) is_mirrored: bool,
}

/// What the call tracker asks of the engine, which knows whether other workers must answer too.
#[derive(Default)]
pub(crate) struct CallRequests {
    /// Media of a call changed.
    pub(crate) update: Option<MediaUpdate>,
    /// When was media of this call last seen?
    pub(crate) last_heard: Option<CallRef>,
    /// A call has ended: collect its streams and deliver its record.
    pub(crate) ended: Option<Box<EndedCall>>,
    /// The BYE of a call was probably lost: deliver its record as it is.
    pub(crate) lost: Option<Box<EndedCall>>,
    /// Phases that calls reached, for the added tracker, if it wants them.
    pub(crate) wants_phases: bool,
    pub(crate) phases: Vec<(CallPhase, CallNumber, Call)>,
}

/// What the engine lends a tracker while it handles one packet, event or timer.
pub struct Context<'a, S> {
    pub(crate) now: Nanos,
    pub(crate) order: InputOrder,
    pub(crate) owner: TimerOwner,
    pub(crate) timers: &'a mut TimerWheel,
    pub(crate) counters: &'a mut Counters,
    pub(crate) streams: &'a mut StreamTable,
    pub(crate) requests: &'a mut CallRequests,
    pub(crate) verdict: SipVerdict,
    /// Packets known to be dropped so far.
    pub(crate) drops: u64,
    pub(crate) sink: &'a mut S,
}

impl<S: Sink> Context<'_, S> {
    /// The engine's clock: the highest capture time so far.
    pub fn now(&self) -> Nanos {
        self.now
    }

    /// Arms a timer: [`Tracker::timer`](crate::Tracker::timer) is called with this ticket at the first tick
    /// (500 ms) past `at`, or early when `at` is more than 512 s away. So the tracker compares its own
    /// deadline with [`Context::now`] and arms again; a timer cannot be cancelled, and a ticket of an entry
    /// that is gone finds nothing.
    pub fn arm(&mut self, at: Nanos, ticket: Ticket) {
        self.timers.arm(at, Timer { owner: self.owner, ticket });
    }

    /// Delivers a typed event to [`Sink::event`].
    pub fn emit(&mut self, event: &dyn Any) {
        self.sink.event(event);
    }

    /// Counts an object that the ceiling of an added tracker turned away.
    pub fn count_refused(&mut self) {
        self.counters.tracked_refused += 1;
    }

    /// Packets known to be dropped so far, in front of this engine and in it.
    pub fn drops(&self) -> u64 {
        self.drops
    }

    /// The call whose media stream runs from `src` to `dst` with this SSRC; None where no such stream is
    /// known to this worker, or signalling has not claimed it.
    pub fn call_of_stream(&self, src: Endpoint, dst: Endpoint, ssrc: u32) -> Option<CallNumber> {
        self.streams.find_call_of(src, dst, ssrc).map(CallNumber)
    }
}

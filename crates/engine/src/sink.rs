//! Where the engine delivers records, events and, on request, packets.

use std::any::Any;

use ringtap_model::{Call, Endpoint, Frame, Message, Nanos, Registration, Stream, Transaction, Transport};
use ringtap_wire::frame::Ip;
use ringtap_wire::sip;

use crate::deferred::DeferredCall;
pub use crate::update::{CallNumber, IntervalSeen, LostTime, RecordedPackets};

/// A stream's record, with the serial number that [`Sink::rtp`] gave its packets.
#[derive(Clone, Debug)]
pub struct StreamEnd {
    /// Ascends in order of the streams' first packets; the same in every run over the same input.
    pub serial: u64,
    /// The record.
    pub record: Stream,
    /// What [`Sink::stream_finished`] returned for it.
    pub recorded: RecordedPackets,
}

/// A SIP message after reassembly.
#[derive(Clone, Copy)]
pub struct SipSeen<'a> {
    /// Capture time of its last frame.
    pub time: Nanos,
    /// Numbers of the frames that carried it, ascending.
    pub frames: &'a [u64],
    /// Sender.
    pub src: Endpoint,
    /// Receiver.
    pub dst: Endpoint,
    /// Transport protocol.
    pub transport: Transport,
    /// The message.
    pub message: &'a sip::Message<'a>,
    /// A retransmission: seen before between the same two endpoints.
    pub retransmission: bool,
    /// The mirror port's second copy of the same packet.
    pub mirrored: bool,
    /// Its call. None for requests outside a call (REGISTER, OPTIONS) and for calls refused at the ceiling.
    pub call: Option<CallNumber>,
}

/// An RTP packet.
#[derive(Clone, Copy, Debug)]
pub struct RtpSeen<'a> {
    /// Capture time.
    pub time: Nanos,
    /// Numbers of the frames that carried it, ascending.
    pub frames: &'a [u64],
    /// Its stream: [`StreamEnd::serial`].
    pub serial: u64,
    /// Slot of its stream in this worker's table, below `max_streams`; reused once the stream has ended. A
    /// table indexed by it finds the stream without a search.
    pub stream_slot: u32,
    /// Sender.
    pub src: Endpoint,
    /// Receiver.
    pub dst: Endpoint,
    /// Synchronisation source.
    pub ssrc: u32,
    /// Payload type.
    pub payload_type: u8,
    /// Sequence number on the wire.
    pub sequence: u16,
    /// RTP timestamp.
    pub timestamp: u32,
    /// Payload without header, extension, CSRC and padding; shorter than sent where the capture was cut.
    pub payload: &'a [u8],
    /// Its sequence number was seen before in this stream.
    pub duplicate: bool,
    /// The call of its stream. None until signalling claims the stream, which may happen after its first
    /// packets.
    pub call: Option<CallNumber>,
    /// The whole RTP packet. None where a single ordinary frame contains it.
    pub packet: Option<&'a [u8]>,
}

/// An RTCP datagram that belongs to a known stream.
#[derive(Clone, Copy, Debug)]
pub struct RtcpSeen<'a> {
    /// Capture time.
    pub time: Nanos,
    /// Numbers of the frames that carried it, ascending.
    pub frames: &'a [u64],
    /// Sender.
    pub src: Endpoint,
    /// Receiver.
    pub dst: Endpoint,
    /// The compound packet.
    pub data: &'a [u8],
    /// The stream it concerns, by its sender SSRC or its first report block: [`RtpSeen::serial`].
    pub serial: u64,
    /// Sender, receiver and SSRC of that stream.
    pub stream: (Endpoint, Endpoint, u32),
    /// The call of that stream.
    pub call: Option<CallNumber>,
}

/// A packet of an address in [`Targets`](crate::Targets), or that seems to be.
#[derive(Clone, Copy, Debug)]
pub struct TargetSeen<'a> {
    /// Capture time.
    pub time: Nanos,
    /// Numbers of the frames that carried it, ascending.
    pub frames: &'a [u64],
    /// The frame. None where the packet was in a tunnel whose datagram came in fragments.
    pub frame: Option<&'a Frame<'a>>,
    /// The header with the address. A fragment is offered as it is.
    pub ip: Ip,
    /// The captured bytes of the packet, from that header on.
    pub packet: &'a [u8],
    /// Source and destination port of TCP, UDP or SCTP. None for all else, and for fragments after the first.
    pub ports: Option<(u16, u16)>,
    /// How many tunnels the packet is in.
    pub depth: u8,
}

/// An attempt to register that ended: each with its challenges and repeats is one (RFC 6076 section 4.1), but
/// that credentials which are challenged again are told each time.
#[derive(Clone, Copy, Debug)]
pub struct RegistrationAttempt<'a> {
    /// When: its final answer, or when it was clear that none comes.
    pub time: Nanos,
    /// Address of record.
    pub aor: &'a str,
    /// Sender of the first REGISTER.
    pub src: Endpoint,
    /// Receiver of the first REGISTER.
    pub dst: Endpoint,
    /// User-Agent.
    pub user_agent: Option<&'a str>,
    /// Code of its final answer: 401 or 407 where a challenge was not answered, or credentials were wrong; 0
    /// without an answer.
    pub code: u16,
    /// First REGISTER to the 200.
    pub delay: Option<Nanos>,
}

/// Progress of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallPhase {
    /// Its first message was seen.
    Started,
    /// The first 18x.
    Ringing,
    /// The first 2xx.
    Answered,
    /// Only late packets are expected from now on. A challenge (401, 407) is no release; an attempt that
    /// failed and is retried under the same Call-ID is released a second time.
    Released,
}

/// Receives records, and packets where it asks for them.
pub trait Sink {
    /// Whether the engine calls [`Sink::sip`], [`Sink::rtp`], [`Sink::rtcp`] and [`Sink::stream_finished`].
    /// When false they cost nothing.
    const PACKETS: bool = false;
    /// Whether the engine calls [`Sink::progress`]. When false it costs nothing.
    const PROGRESS: bool = false;
    /// Whether the engine calls [`Sink::lost`]. When false it costs nothing.
    const LOST: bool = false;
    /// Whether the engine calls [`Sink::interval`]. When false it costs nothing.
    const INTERVALS: bool = false;
    /// Whether the engine calls [`Sink::deferred`] in place of [`Sink::call`] and [`Sink::lost`], unless it
    /// has an added tracker that wants calls.
    const DEFERRED: bool = false;
    /// Whether the engine calls [`Sink::target`]. When false it costs nothing.
    const TARGETS: bool = false;

    /// A call ended, with its streams in order of their first packet.
    fn call(&mut self, call: Call, streams: Vec<StreamEnd>);
    /// Records that the sink was given by [`Sink::call`] and has no more need of: the next ones are made in
    /// their memory. Asked for before each record of a call, until there are none. Without any, each record
    /// is allocated.
    fn give_back(&mut self) -> Option<(Call, Vec<StreamEnd>)> {
        None
    }
    /// The BYE of a call was probably lost ([`Config::silence_limit`](crate::Config::silence_limit)): its
    /// record as a timeout at its last packet. The call is followed until the idle limit, and
    /// [`Sink::call`] amends this record then, or when a BYE comes late. `recorded` of the streams is not
    /// known yet.
    fn lost(&mut self, _call: Call, _streams: Vec<StreamEnd>) {}
    /// A call ended: a [`Completer`](crate::Completer) makes its record, in this thread or another.
    fn deferred(&mut self, _call: DeferredCall) {}
    /// A stream that belongs to no call ended.
    fn stream(&mut self, stream: StreamEnd);
    /// A registration ended.
    fn registration(&mut self, registration: Registration);
    /// A MESSAGE transaction was answered or timed out.
    fn message(&mut self, message: Message);
    /// A SUBSCRIBE, NOTIFY, OPTIONS or PUBLISH transaction outside of calls was answered or timed out, of a
    /// method that [`Config::transactions`](crate::Config::transactions) names.
    fn transaction(&mut self, _transaction: Transaction) {}
    /// Half a second of capture time is over, and the records of what ends by that follow.
    fn tick(&mut self) {}
    /// An event of an added tracker, by [`Context::emit`](crate::Context::emit): `downcast_ref` gives its
    /// type back.
    fn event(&mut self, _event: &dyn Any) {}
    /// Whether it looks at intervals in this run, where [`Sink::INTERVALS`] says that it may.
    fn wants_intervals(&self) -> bool {
        true
    }
    /// Ten seconds of a stream in progress are over: its record has them too, later. Not of a stream's last
    /// part.
    fn interval(&mut self, _interval: &IntervalSeen<'_>) {}
    /// An attempt to register ended. The record of the registration counts it, later.
    fn registration_attempt(&mut self, _attempt: &RegistrationAttempt<'_>) {}
    /// A call in progress reached a new phase: its record so far, without streams. [`Sink::sip`] for the
    /// message that caused it follows.
    fn progress(&mut self, _phase: CallPhase, _number: CallNumber, _call: &Call) {}
    /// A SIP message of any method.
    fn sip(&mut self, _seen: &SipSeen<'_>) {}
    /// An RTP packet. Its stream may later prove not to be RTP: then no record carries its serial.
    fn rtp(&mut self, _seen: &RtpSeen<'_>) {}
    /// A packet of the stream in that slot ([`RtpSeen::stream_slot`]) will probably arrive within the next
    /// few packets: the moment to prefetch its data. A hint: it may be missing or wrong.
    fn prefetch(&self, _stream_slot: u32) {}
    /// The same packet, some packets later: what [`Sink::prefetch`] asked for is in the cache now, and tells
    /// what else to prefetch.
    fn prefetch_further(&self, _stream_slot: u32) {}
    /// A packet with the address of a target ([`Engine::watch`](crate::Engine::watch)): before whatever else
    /// is told of its frame, once for each header that has one, from the outermost inwards. The set of
    /// addresses is a filter: the sink has to compare.
    fn target(&mut self, _seen: &TargetSeen<'_>) {}
    /// An RTCP datagram of a stream whose RTP this worker has seen.
    fn rtcp(&mut self, _seen: &RtcpSeen<'_>) {}
    /// No further packet of the stream follows: it has ended, or proved not to be RTP. Called in the worker
    /// that saw its packets; the result is delivered with the record.
    fn stream_finished(&mut self, _serial: u64) -> RecordedPackets {
        RecordedPackets::default()
    }
}

//! Where the engine puts what it found.

use ringtap_model::{Call, Endpoint, Message, Nanos, Registration, Stream, Transport};
use ringtap_wire::sip;

use crate::note::CallRef;

/// Names a call while it is under way, over all workers of a team. A table with a place for each of a worker's calls
/// finds it without searching.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CallNumber(pub(crate) CallRef);

impl CallNumber {
    /// The worker that has its signalling.
    pub fn worker(self) -> usize {
        self.0.worker()
    }

    /// Its place among the calls of that worker, below the worker's part of `max_calls`. Free again when the call has ended.
    pub fn slot(self) -> u32 {
        self.0.ticket().slot
    }

    /// Tells it from those that had the same place before it, the last sixteen million of them.
    pub fn generation(self) -> u32 {
        self.0.ticket().generation
    }
}

/// What a sink has kept of a stream's packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Kept {
    /// Packets kept, whole or in part.
    pub packets: u64,
    /// Packets that were to be kept and are not.
    pub lost: u64,
}

/// A stream's record with the number under which [`Sink::rtp`] named its packets.
#[derive(Clone, Debug)]
pub struct StreamEnd {
    /// Counts streams in order of their first packet; the same for the same input, run after run.
    pub serial: u64,
    /// The record.
    pub record: Stream,
    /// What [`Sink::leaving`] said of it.
    pub kept: Kept,
}

/// A SIP message as it passed, after reassembly.
#[derive(Clone, Copy)]
pub struct SipSeen<'a> {
    /// When its last part was captured.
    pub time: Nanos,
    /// Numbers of the frames that carried it, ascending.
    pub frames: &'a [u64],
    /// Sender.
    pub src: Endpoint,
    /// Receiver.
    pub dst: Endpoint,
    /// What carried it.
    pub transport: Transport,
    /// The message.
    pub message: &'a sip::Message<'a>,
    /// It repeats one already seen between the same two endpoints.
    pub retransmission: bool,
    /// It is the mirror's second copy of the same packet.
    pub mirrored: bool,
    /// Its call. None where it belongs to none: a REGISTER, an OPTIONS, a call that found no place.
    pub call: Option<CallNumber>,
}

/// An RTP packet as it passed.
#[derive(Clone, Copy, Debug)]
pub struct RtpSeen<'a> {
    /// When it was captured.
    pub time: Nanos,
    /// Numbers of the frames that carried it, ascending.
    pub frames: &'a [u64],
    /// Its stream: [`StreamEnd::serial`].
    pub serial: u64,
    /// Where its stream stands among those of this worker, below `max_streams`: another's once it has left. A table with a
    /// place for each finds it without searching.
    pub place: u32,
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
    /// Its number was already seen in this stream.
    pub duplicate: bool,
    /// The call of its stream. None until signalling claims the stream, which may be later than its packets.
    pub call: Option<CallNumber>,
    /// All of the RTP packet. None where its one frame is an ordinary one that has it in it.
    pub packet: Option<&'a [u8]>,
}

/// An RTCP datagram as it passed, beside a stream that is known.
#[derive(Clone, Copy, Debug)]
pub struct RtcpSeen<'a> {
    /// When it was captured.
    pub time: Nanos,
    /// Numbers of the frames that carried it, ascending.
    pub frames: &'a [u64],
    /// Sender.
    pub src: Endpoint,
    /// Receiver.
    pub dst: Endpoint,
    /// The compound packet.
    pub data: &'a [u8],
    /// The stream that it speaks of, by its sender or by what it reports: [`RtpSeen::serial`].
    pub serial: u64,
    /// Sender, receiver and SSRC of that stream.
    pub stream: (Endpoint, Endpoint, u32),
    /// The call of that stream.
    pub call: Option<CallNumber>,
}

/// How far a call has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Its first message was seen.
    Started,
    /// The first 18x.
    Ringing,
    /// The first 2xx.
    Answered,
    /// Nothing is expected any more but stragglers. A challenge is no release; an attempt that failed and is tried again
    /// under the same Call-ID is released again.
    Released,
}

/// Receives records, and packets where it asks for them.
pub trait Sink {
    /// Whether [`Sink::sip`], [`Sink::rtp`], [`Sink::rtcp`] and [`Sink::leaving`] are wanted; without it they cost nothing.
    const PACKETS: bool = false;
    /// Whether [`Sink::progress`] is wanted; without it it costs nothing.
    const PROGRESS: bool = false;

    /// A call ended, with its streams in order of their first packet.
    fn call(&mut self, call: Call, streams: Vec<StreamEnd>);
    /// A stream that belongs to no call ended.
    fn stream(&mut self, stream: StreamEnd);
    /// A registration ended.
    fn registration(&mut self, registration: Registration);
    /// A MESSAGE was answered or given up.
    fn message(&mut self, message: Message);
    /// A call under way came one step further: its record as far as it is known, still without streams. The message that
    /// did it is told of after that.
    fn progress(&mut self, _step: Step, _number: CallNumber, _call: &Call) {}
    /// A SIP message of any method passed.
    fn sip(&mut self, _seen: &SipSeen<'_>) {}
    /// An RTP packet passed. Its stream may still turn out to be none: then no record carries its serial.
    fn rtp(&mut self, _seen: &RtpSeen<'_>) {}
    /// A packet of the stream at that place ([`RtpSeen::place`]) is likely to be told of after a few others: the time to ask for
    /// what is known of it. A hint; it may be left out, or be for nothing.
    fn soon(&self, _place: u32) {}
    /// An RTCP datagram passed, of a stream whose RTP passed this worker before.
    fn rtcp(&mut self, _seen: &RtcpSeen<'_>) {}
    /// No packet of the stream will be told of any more: its figures go to where its call's record is made, or it turned
    /// out to be none. Asked in the worker that saw its packets; the answer comes with the record.
    fn leaving(&mut self, _serial: u64) -> Kept {
        Kept::default()
    }
}

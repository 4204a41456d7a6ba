//! Where the engine puts what it found.

use ringtap_model::{Call, Endpoint, Message, Nanos, Registration, Stream, Transport};
use ringtap_wire::sip;

/// A stream's record with the number under which [`Sink::rtp`] named its packets.
#[derive(Clone, Debug)]
pub struct StreamEnd {
    /// Counts streams in order of their first packet; the same for the same input, run after run.
    pub serial: u64,
    /// The record.
    pub record: Stream,
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
    /// Whether [`Sink::sip`] and [`Sink::rtp`] are wanted; without it they cost nothing.
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
    /// A call under way came one step further: its record as far as it is known, still without streams.
    fn progress(&mut self, _step: Step, _call: &Call) {}
    /// A SIP message of any method passed.
    fn sip(&mut self, _seen: &SipSeen<'_>) {}
    /// An RTP packet passed. Its stream may still turn out to be none: then no record carries its serial.
    fn rtp(&mut self, _seen: &RtpSeen<'_>) {}
}

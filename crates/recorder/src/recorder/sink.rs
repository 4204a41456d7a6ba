//! The engine's sink: finds the frame that each of the engine's hooks is about.

use ringtap_engine::{
    CallNumber, CallPhase, IntervalSeen, RecordedPackets, RegistrationAttempt, RtcpSeen, RtpSeen, Sink,
    SipSeen, StreamEnd, TargetSeen,
};
use ringtap_model::{Call, Endpoint, Frame, LinkType, Message, Registration, Transaction, Transport};
use ringtap_spool::rules::RecordingScope;
use ringtap_wire::frame::udp_datagram;
use ringtap_wire::sip;

use super::call_state::mask;
use super::state::Recorder;
use crate::facts::has_digits;
use crate::output::PassingPacket;

/// A sink that records what the engine finds in a batch.
pub struct RecordingSink<'a, S> {
    next_sink: &'a mut S,
    recorder: &'a mut Recorder,
    frames: &'a [Frame<'a>],
    /// The frame after the last one found: hooks come almost in order of the frames.
    next: usize,
}

impl<'a, S: Sink> RecordingSink<'a, S> {
    /// `frames` are the batch, in order of their numbers.
    pub fn new(next_sink: &'a mut S, recorder: &'a mut Recorder, frames: &'a [Frame<'a>]) -> Self {
        Self { next_sink, recorder, frames, next: 0 }
    }

    #[inline]
    fn frame(&mut self, number: u64) -> Option<&'a Frame<'a>> {
        let is_next = self.frames.get(self.next).is_some_and(|frame| frame.number == number);
        let at = match is_next {
            true => self.next,
            false => self.frames.binary_search_by_key(&number, |frame| frame.number).ok()?,
        };
        self.next = at + 1;
        if let Some(rest) = &mut self.recorder.rest
            && let Some(kept) = rest.1.get_mut(at)
        {
            *kept = true;
        }
        self.frames.get(at)
    }

    /// The frame, if a single frame carried the item and is in this batch.
    #[inline]
    fn only(&mut self, frames: &[u64]) -> Option<&'a Frame<'a>> {
        match *frames {
            [number] => self.frame(number),
            _ => {
                // Reassembled data is recorded instead of these frames.
                frames.iter().for_each(|number| _ = self.frame(*number));
                None
            }
        }
    }
}

impl<S: Sink> Sink for RecordingSink<'_, S> {
    const PACKETS: bool = true;
    const PROGRESS: bool = S::PROGRESS;
    const LOST: bool = S::LOST;
    const INTERVALS: bool = S::INTERVALS;
    const TARGETS: bool = S::TARGETS;

    fn lost(&mut self, mut call: Call, streams: Vec<StreamEnd>) {
        self.recorder.describe(&mut call);
        self.next_sink.lost(call, streams);
    }

    fn call(&mut self, mut call: Call, mut streams: Vec<StreamEnd>) {
        self.recorder.end(&mut call, &mut streams);
        self.next_sink.call(call, streams);
    }

    fn stream(&mut self, stream: StreamEnd) {
        self.next_sink.stream(stream);
    }

    fn registration(&mut self, registration: Registration) {
        self.next_sink.registration(registration);
    }

    fn message(&mut self, message: Message) {
        self.next_sink.message(message);
    }

    fn transaction(&mut self, transaction: Transaction) {
        self.next_sink.transaction(transaction);
    }

    fn target(&mut self, seen: &TargetSeen<'_>) {
        self.next_sink.target(seen);
    }

    fn wants_intervals(&self) -> bool {
        self.next_sink.wants_intervals()
    }

    fn interval(&mut self, interval: &IntervalSeen<'_>) {
        self.next_sink.interval(interval);
    }

    fn registration_attempt(&mut self, attempt: &RegistrationAttempt<'_>) {
        self.next_sink.registration_attempt(attempt);
    }

    fn progress(&mut self, phase: CallPhase, number: CallNumber, call: &Call) {
        let state = self.recorder.progress(phase, number, call);
        if state.decision.mask_digits && !call.dtmf.is_empty() {
            let mut call = call.clone();
            mask(&mut call);
            self.next_sink.progress(phase, number, &call);
        } else {
            self.next_sink.progress(phase, number, call);
        }
    }

    fn sip(&mut self, seen: &SipSeen<'_>) {
        let Some(decision) = self.recorder.see(seen) else { return };
        let frame = self.only(seen.frames);
        self.recorder.product_message(seen, frame);
        if decision.what < RecordingScope::Signalling {
            return;
        }
        let masked = decision.mask_digits && has_digits(seen.message);
        // A datagram is recorded as it came. A message that was reassembled, came through another worker or
        // may share its frame with another call's message is recorded in a datagram of its own; so is one
        // that cannot be read without earlier data of its connection.
        let as_is = match seen.transport {
            Transport::Udp => !masked,
            Transport::Tcp => !masked && self.recorder.policy.rules.always().is_some(),
            _ => false,
        };
        if let Some(frame) = frame.filter(|_| as_is) {
            return self.recorder.message(seen, &decision, frame.data, frame.wire_len);
        }
        let message = if masked { without_body(seen.message) } else { seen.message.raw().to_vec() };
        match wrapped((seen.src, seen.dst), &message, self.recorder.output.link()) {
            Some(data) => self.recorder.message(seen, &decision, &data, data.len() as u32),
            None => self.recorder.output.left_out += 1,
        }
    }

    // HOT.
    #[inline]
    fn prefetch(&self, place: u32) {
        if let Some(line) = self.recorder.fast_paths.get(place as usize) {
            ringtap_cpu::prefetch(line);
        }
    }

    // HOT.
    #[inline]
    fn prefetch_further(&self, place: u32) {
        if let Some(owner) = self.recorder.fast_paths.get(place as usize).and_then(|line| line.owner) {
            self.recorder.output.writer.prefetch(owner);
        }
    }

    // HOT.
    #[inline]
    fn rtp(&mut self, seen: &RtpSeen<'_>) {
        let frame = self.only(seen.frames);
        let (time, payload_type) = (seen.time, seen.payload_type);
        if let Some(frame) = frame
            && let Some(head) = offset(frame.data, seen.payload)
        {
            let Frame { wire_len, data, .. } = *frame;
            return self.recorder.media(seen, &PassingPacket { time, wire_len, data, head, payload_type });
        }
        let made = seen.packet.and_then(|packet| {
            let data = wrapped((seen.src, seen.dst), packet, self.recorder.output.link())?;
            Some((data.len() - packet.len() + offset(packet, seen.payload)?, data))
        });
        match made {
            Some((head, data)) => {
                let wire_len = data.len() as u32;
                self.recorder.media(seen, &PassingPacket { time, wire_len, data: &data, head, payload_type });
            }
            None => self.recorder.output.left_out += 1,
        }
    }

    fn rtcp(&mut self, seen: &RtcpSeen<'_>) {
        match self.only(seen.frames) {
            Some(frame) => self.recorder.reports(seen, frame.data, frame.wire_len),
            None => {
                let Some(data) = wrapped((seen.src, seen.dst), seen.data, self.recorder.output.link()) else {
                    return self.recorder.output.left_out += 1;
                };
                self.recorder.reports(seen, &data, data.len() as u32);
            }
        }
    }

    fn stream_finished(&mut self, serial: u64) -> RecordedPackets {
        self.recorder.stream_finished(serial)
    }
}

/// The offset of the payload in `bytes`; None if it is not part of them.
fn offset(bytes: &[u8], payload: &[u8]) -> Option<usize> {
    let at = (payload.as_ptr() as usize).checked_sub(bytes.as_ptr() as usize)?;
    (at + payload.len() <= bytes.len()).then_some(at)
}

/// The message with an `x` for each byte of its body.
fn without_body(message: &sip::Message<'_>) -> Vec<u8> {
    let mut bytes = message.raw().to_vec();
    let body = bytes.len() - message.body().len();
    bytes[body..].fill(b'x');
    bytes
}

/// A message in a new frame, for a message whose own frame is gone or shared.
pub fn wrapped((src, dst): (Endpoint, Endpoint), message: &[u8], link: LinkType) -> Option<Vec<u8>> {
    let datagram = udp_datagram((src.ip, src.port), (dst.ip, dst.port), message)?;
    if link != ETHERNET {
        return Some(datagram);
    }
    let kind = if datagram[0] >> 4 == 4 { [0x08, 0x00] } else { [0x86, 0xdd] };
    // Between two locally administered addresses.
    Some([&[2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2][..], &kind, &datagram].concat())
}

const ETHERNET: LinkType = LinkType(1);

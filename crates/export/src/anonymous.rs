//! Anonymises the frames of calls: an engine finds messages and packets, and each gets a new frame without
//! personal data.

use std::collections::{HashMap, HashSet};

use ringtap_anonymise::{Frames, Mask, MediaMask, TooLong};
use ringtap_engine::{Config, RtcpSeen, RtpSeen, Sink, SipSeen, StreamEnd};
use ringtap_model::{Call, Endpoint, Frame, LinkType, Message, Nanos, Registration};
use ringtap_wire::frame::{Payload, decode};
use ringtap_wire::sdp::Sdp;

use crate::engine::run;

/// Anonymised frames.
#[derive(Default)]
pub struct Anonymous {
    frames: Vec<(Nanos, Vec<u8>)>,
    /// Messages and packets that are too long for a datagram.
    pub left_out: u64,
}

impl Anonymous {
    /// Makes the signalling and media in `frames` anew, each name replaced by `mask`; whatever else is in
    /// them is left out.
    pub fn of(frames: &[Frame<'_>], mask: &mut Mask, keep_voice: bool, config: &Config) -> Self {
        let frames: Vec<Frame<'_>> =
            frames.iter().zip(1..).map(|(frame, number)| Frame { number, ..*frame }).collect();
        let mut known = KnownStreams::default();
        run(&frames, config, &mut known);
        let mut anonymous = Self::default();
        let wire = Frames::default();
        let mut writer =
            AnonymousWriter { frames: &frames, mask, keep_voice, known, wire, to: &mut anonymous };
        run(&frames, config, &mut writer);
        anonymous
    }

    /// The frames, in order and numbered from 1.
    pub fn frames(&self) -> Vec<Frame<'_>> {
        self.frames
            .iter()
            .zip(1..)
            .map(|((time, data), number)| Frame {
                time: *time,
                number,
                link: LinkType(1),
                wire_len: data.len() as u32,
                data,
            })
            .collect()
    }
}

/// What must be known before the first packet is written: the confirmed streams, and the payload types of
/// telephone events.
#[derive(Default)]
struct KnownStreams {
    /// The most frequent payload type, by a stream's serial.
    streams: HashMap<u64, u8>,
    events: HashSet<u8>,
}

impl KnownStreams {
    fn add(&mut self, stream: &StreamEnd) {
        self.streams.insert(stream.serial, stream.record.payload_type);
    }
}

impl Sink for KnownStreams {
    const PACKETS: bool = true;

    fn call(&mut self, _: Call, streams: Vec<StreamEnd>) {
        streams.iter().for_each(|stream| self.add(stream));
    }

    fn stream(&mut self, stream: StreamEnd) {
        self.add(&stream);
    }

    fn registration(&mut self, _: Registration) {}
    fn message(&mut self, _: Message) {}

    fn sip(&mut self, seen: &SipSeen<'_>) {
        let Some(Ok(description)) = seen.message.sdp().map(Sdp::parse) else { return };
        for media in description.media() {
            let events = media.payload_types().filter(|payload_type| {
                media
                    .rtpmap(*payload_type)
                    .is_some_and(|codec| codec.name.eq_ignore_ascii_case(b"telephone-event"))
            });
            self.events.extend(events);
        }
    }
}

/// Writes a new frame for each message and packet.
struct AnonymousWriter<'a> {
    frames: &'a [Frame<'a>],
    mask: &'a mut Mask,
    keep_voice: bool,
    known: KnownStreams,
    wire: Frames,
    to: &'a mut Anonymous,
}

impl AnonymousWriter<'_> {
    fn push(&mut self, time: Nanos, frame: Result<Vec<u8>, TooLong>) {
        match frame {
            Ok(frame) => self.to.frames.push((time, frame)),
            Err(TooLong) => self.to.left_out += 1,
        }
    }

    fn ends(&mut self, src: Endpoint, dst: Endpoint) -> (Endpoint, Endpoint) {
        (self.mask.endpoint(src), self.mask.endpoint(dst))
    }

    /// A packet counts as digits only if its payload type says so and it is short: a wrong SDP must not let a
    /// voice through.
    fn voice(&self, seen: &RtpSeen<'_>) -> MediaMask {
        let is_main =
            self.known.streams.get(&seen.serial) == Some(&seen.payload_type) && seen.payload.len() > 4;
        match self.known.events.contains(&seen.payload_type) && seen.payload.len() <= EVENTS && !is_main {
            true => MediaMask::Digits,
            false if self.keep_voice => MediaMask::Unchanged,
            false => MediaMask::Silenced,
        }
    }
}

impl Sink for AnonymousWriter<'_> {
    const PACKETS: bool = true;

    fn call(&mut self, _: Call, _: Vec<StreamEnd>) {}
    fn stream(&mut self, _: StreamEnd) {}
    fn registration(&mut self, _: Registration) {}
    fn message(&mut self, _: Message) {}

    fn sip(&mut self, seen: &SipSeen<'_>) {
        let message = self.mask.sip(seen.message);
        let (src, dst) = self.ends(seen.src, seen.dst);
        match self.wire.message(seen.transport, src, dst, &message) {
            Ok(frames) => frames.into_iter().for_each(|frame| self.push(seen.time, Ok(frame))),
            Err(error) => self.push(seen.time, Err(error)),
        }
    }

    fn rtp(&mut self, seen: &RtpSeen<'_>) {
        if !self.known.streams.contains_key(&seen.serial) {
            return;
        }
        let (packet, len) = match (seen.packet, seen.frames) {
            (Some(packet), _) => (packet, packet.len()),
            (None, [number]) => {
                let Some(frame) = self.frames.get(*number as usize - 1) else { return };
                let Ok(decoded) = decode(frame.link.0, frame.wire_len, frame.data) else { return };
                let Payload::Udp(udp) = decoded.payload else { return };
                (udp.data, udp.len)
            }
            _ => return,
        };
        let voice = self.voice(seen);
        let Some(packet) = self.mask.rtp(packet, len, voice) else { return };
        let (src, dst) = self.ends(seen.src, seen.dst);
        let frame = self.wire.udp(src, dst, &packet);
        self.push(seen.time, frame);
    }

    fn rtcp(&mut self, seen: &RtcpSeen<'_>) {
        if !self.known.streams.contains_key(&seen.serial) {
            return;
        }
        let reports = self.mask.rtcp(seen.data);
        let (src, dst) = self.ends(seen.src, seen.dst);
        let frame = self.wire.udp(src, dst, &reports);
        self.push(seen.time, frame);
    }
}

/// Longest payload of telephone events: three of them.
const EVENTS: usize = 12;

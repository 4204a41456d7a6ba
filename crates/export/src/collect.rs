//! Selects one call's packets and its sound from a capture.

use std::collections::{HashMap, HashSet};

use ringtap_audio::{AudioPacket, Codec, Decoders, PayloadKind, Track};
use ringtap_engine::{RtpSeen, Sink, SipSeen, StreamEnd};
use ringtap_model::{Call, Direction, Endpoint, Frame, Hz, Message, Nanos, Registration, Stream};
use ringtap_report::streams::codec;
use ringtap_wire::frame::{Payload, decode};
use ringtap_wire::rtcp::looks_like_rtcp;
use ringtap_wire::sdp::{MediaType, Sdp};
use ringtap_wire::sip;

use crate::find::{Listener, SelectedCalls};

/// RTCP may come this long before a stream's first and after its last packet.
const REPORTS: Nanos = Nanos::from_secs(10);

/// A sink that collects the numbers of the call's frames, and its sound.
pub struct CallCollector<'a> {
    wanted: &'a SelectedCalls,
    serials: HashSet<u64>,
    packets: bool,
    frames: Vec<u64>,
    sound: Sound,
}

impl<'a> CallCollector<'a> {
    /// Collects the sound of the streams in `sound`, and frame numbers if `packets` is set.
    pub fn new(wanted: &'a SelectedCalls, sound: Sound, packets: bool) -> Self {
        let serials = wanted.streams().map(|(_, stream)| stream.serial).collect();
        Self { wanted, serials, packets, frames: Vec::new(), sound }
    }

    /// Returns the frame numbers in order, and the sound. Each number appears once, although one segment can
    /// have several messages of the call.
    pub fn finish(mut self) -> (Vec<u64>, Sound) {
        self.frames.sort_unstable();
        self.frames.dedup();
        (self.frames, self.sound)
    }
}

impl Sink for CallCollector<'_> {
    const PACKETS: bool = true;

    fn call(&mut self, _: Call, _: Vec<StreamEnd>) {}
    fn stream(&mut self, _: StreamEnd) {}
    fn registration(&mut self, _: Registration) {}
    fn message(&mut self, _: Message) {}

    fn sip(&mut self, seen: &SipSeen<'_>) {
        if !self.wanted.has(seen) {
            return;
        }
        if self.packets {
            self.frames.extend_from_slice(seen.frames);
        }
        self.sound.announce(seen.message);
    }

    fn rtp(&mut self, seen: &RtpSeen<'_>) {
        if !self.serials.contains(&seen.serial) {
            return;
        }
        if self.packets {
            self.frames.extend_from_slice(seen.frames);
        }
        self.sound.push(seen);
    }
}

impl Listener for CallCollector<'_> {}

/// A stream that has no track.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Undecoded {
    /// The reason.
    pub why: String,
    /// It is sound, which the files lack; not video, text or events.
    pub is_sound: bool,
}

/// The tracks of a call's streams.
#[derive(Default)]
pub struct Sound {
    tracks: HashMap<u64, (Direction, Track)>,
}

impl Sound {
    /// Opens a track for each stream that `decoders` can decode, and returns each other kind of stream once.
    /// If a stream was captured on both sides of a relay, the copy with more packets is used. Opens none
    /// unless sound is `wanted`.
    pub fn of(selected: &SelectedCalls, wanted: bool, decoders: &dyn Decoders) -> (Self, Vec<Undecoded>) {
        let mut sound = Self::default();
        let mut mute = Vec::new();
        if !wanted {
            return (sound, mute);
        }
        let mut streams: Vec<_> = selected.streams().collect();
        streams.sort_by_key(|(_, stream)| std::cmp::Reverse(stream.record.unique));
        let mut chosen: Vec<(Direction, &Stream)> = Vec::new();
        for (call, StreamEnd { serial, record, .. }) in streams {
            let side = record.direction.unwrap_or_else(|| guess_direction(call, record.src, record.dst));
            if chosen.iter().any(|(other, stream)| *other == side && same_source(stream, record)) {
                continue;
            }
            chosen.push((side, record));
            match track(record, decoders) {
                Ok(track) => _ = sound.tracks.insert(*serial, (side, track)),
                Err(why) if mute.contains(&why) => {}
                Err(why) => mute.push(why),
            }
        }
        (sound, mute)
    }

    /// Reads the payload types from a message's session description. Offer and answer share one list: an
    /// answer uses the offer's payload types (RFC 3264 section 5.1), and the record names the type of most
    /// packets.
    fn announce(&mut self, message: &sip::Message<'_>) {
        let Some(Ok(description)) = message.sdp().map(Sdp::parse) else { return };
        for media in description.media().filter(|media| media.media_type == MediaType::Audio) {
            for payload_type in media.payload_types() {
                let Some(codec) = media.rtpmap(payload_type) else { continue };
                let name = String::from_utf8_lossy(codec.name);
                let carries = match (&*name, Codec::from_name(&name)) {
                    (_, Ok(Codec::L16 { .. })) => PayloadKind::Sound(Codec::L16 { channels: codec.channels }),
                    (_, Ok(codec)) => PayloadKind::Sound(codec),
                    (name, _) if name.eq_ignore_ascii_case("telephone-event") => PayloadKind::Events,
                    (name, _) if name.eq_ignore_ascii_case("CN") => PayloadKind::Noise,
                    _ => continue,
                };
                self.tracks.values_mut().for_each(|(_, track)| track.announce(payload_type, carries));
            }
        }
    }

    fn push(&mut self, seen: &RtpSeen<'_>) {
        if let Some((_, track)) = self.tracks.get_mut(&seen.serial) {
            track.push(AudioPacket {
                arrival: seen.time,
                sequence: seen.sequence,
                timestamp: seen.timestamp,
                payload_type: seen.payload_type,
                payload: seen.payload,
            });
        }
    }

    /// The caller's tracks and the callee's.
    pub fn tracks(self) -> [Vec<Track>; 2] {
        let mut tracks: Vec<_> = self.tracks.into_iter().collect();
        tracks.sort_by_key(|(serial, _)| *serial);
        let (left, right): (Vec<_>, Vec<_>) = tracks
            .into_iter()
            .map(|(_, placed)| placed)
            .partition(|(side, _)| *side == Direction::CallerToCallee);
        [left, right].map(|side| side.into_iter().map(|(_, track)| track).collect())
    }
}

/// Whether both are one source, captured on two legs at the same time.
fn same_source(one: &Stream, other: &Stream) -> bool {
    one.ssrc == other.ssrc && one.first <= other.last && other.first <= one.last
}

/// Direction of a stream that signalling does not describe, by the addresses of the call.
pub fn guess_direction(call: &Call, src: Endpoint, dst: Endpoint) -> Direction {
    if src.ip == call.dst.ip || dst.ip == call.src.ip {
        Direction::CalleeToCaller
    } else {
        Direction::CallerToCallee
    }
}

/// An empty track for the packets of a stream.
///
/// # Errors
///
/// It is no sound, or cannot be decoded.
pub fn track(stream: &Stream, decoders: &dyn Decoders) -> Result<Track, Undecoded> {
    let name = codec(stream);
    let sound = |why: String| Undecoded { why, is_sound: true };
    let found = match &stream.codec {
        Some(name) if Codec::is_no_sound(name) => {
            let why = format!("a stream of {name} is left out: it is no sound");
            return Err(Undecoded { why, is_sound: false });
        }
        Some(name) => Codec::from_name(name).map_err(|error| sound(error.to_string()))?,
        None if is_of_events(stream) => {
            let why = format!(
                "a stream of telephone-events (payload type {}) is left out: it is no sound",
                stream.payload_type
            );
            return Err(Undecoded { why, is_sound: false });
        }
        None => Codec::from_payload_type(stream.payload_type)
            .ok_or_else(|| sound(format!("{name} was never announced and cannot be decoded")))?,
    };
    let clock = found.clock(stream.clock.unwrap_or(Hz(8_000)));
    // Fail now rather than after a second pass over all packets.
    decoders.open(found, found.rate(clock)).map_err(|error| sound(error.to_string()))?;
    let track = Track::new(found, clock);
    Ok(if stream.payload_type >= 96 { track.with_payload_type(stream.payload_type) } else { track })
}

/// Whether a stream has telephone-events and nothing else: only they are four bytes long (RFC 4733 section
/// 2.3). Their records have no codec.
fn is_of_events(stream: &Stream) -> bool {
    stream.payload_type >= 96 && stream.packets > 0 && stream.bytes == 4 * stream.packets
}

/// Finds the RTCP of the call's streams, on their ports or the next higher ones (RFC 3550 section 11, RFC
/// 5761).
pub struct RtcpFilter {
    /// First and last time of RTCP by sender and receiver.
    pairs: HashMap<(Endpoint, Endpoint), (Nanos, Nanos)>,
}

impl RtcpFilter {
    /// Creates a filter for the call's streams.
    pub fn of(wanted: &SelectedCalls) -> Self {
        let mut pairs: HashMap<_, (Nanos, Nanos)> = HashMap::new();
        for (_, StreamEnd { record, .. }) in wanted.streams() {
            let next = |endpoint: Endpoint| Endpoint::new(endpoint.ip, endpoint.port.saturating_add(1));
            for (a, b) in [(record.src, record.dst), (next(record.src), next(record.dst))] {
                for pair in [(a, b), (b, a)] {
                    let time = pairs.entry(pair).or_insert((record.first, record.last));
                    *time = (time.0.min(record.first), time.1.max(record.last));
                }
            }
        }
        Self { pairs }
    }

    /// Whether `frame` is RTCP of the call.
    pub fn has(&self, frame: &Frame<'_>) -> bool {
        let Ok(packet) = decode(frame.link.0, frame.wire_len, frame.data) else { return false };
        let Payload::Udp(udp) = packet.payload else { return false };
        let pair = (Endpoint::new(packet.ip.src, udp.src_port), Endpoint::new(packet.ip.dst, udp.dst_port));
        let time = self.pairs.get(&pair);
        time.is_some_and(|(first, last)| *first <= frame.time + REPORTS && frame.time <= *last + REPORTS)
            && looks_like_rtcp(udp.data)
    }
}

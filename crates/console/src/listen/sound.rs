//! The sound of a call in progress, from the packets of its streams.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use ringtap_audio::{AudioPacket, Decoders, LiveMix, LiveTrack};
use ringtap_model::{Direction, Hz, LinkType, Nanos};
use ringtap_spool::{FollowedChunk, Packet};
use ringtap_wire::frame::{Payload, decode};
use ringtap_wire::rtp::View;

/// Both sides of a call, while it goes on.
pub(crate) struct LiveSound {
    /// By owner.
    streams: BTreeMap<u64, LiveStream>,
    /// None until the first packet.
    mix: Option<LiveMix>,
    /// When the last piece was played.
    played: Instant,
}

struct LiveStream {
    direction: Direction,
    track: LiveTrack,
    rate: Hz,
    /// The time of its newest packet, and when that came.
    newest: Nanos,
    came: Instant,
}

/// A piece of sound.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    /// The capture time of its first sample, and of the sample behind its last.
    pub(crate) from: Nanos,
    pub(crate) to: Nanos,
    pub(crate) rate: Hz,
    /// The caller's samples and the callee's, as many.
    pub(crate) sides: [Vec<i16>; 2],
}

impl LiveSound {
    pub(crate) fn new(now: Instant) -> Self {
        Self { streams: BTreeMap::new(), mix: None, played: now }
    }

    /// Adds a stream of the call.
    pub(crate) fn add(
        &mut self,
        owner: u64,
        direction: Direction,
        track: ringtap_audio::Track,
        now: Instant,
    ) {
        let rate = track.rate();
        let track = LiveTrack::new(track);
        self.streams.insert(owner, LiveStream { direction, track, rate, newest: Nanos::ZERO, came: now });
    }

    /// Adds packets of a stream.
    pub(crate) fn push(&mut self, chunk: &FollowedChunk, now: Instant) {
        let Some(stream) = self.streams.get_mut(&chunk.owner) else { return };
        let link = chunk.packets.link();
        for packet in chunk.packets.packets() {
            if let Some(link) = link {
                stream.push(link, &packet, now);
            }
        }
    }

    /// The next piece; none if nothing has been heard yet, or nothing new is there.
    pub(crate) fn piece(
        &mut self,
        now: Instant,
        decoders: &dyn Decoders,
    ) -> Result<Option<Piece>, ringtap_audio::Error> {
        let elapsed = now.saturating_duration_since(self.played);
        self.played = now;
        let heard = self.streams.values().filter(|stream| stream.newest > Nanos::ZERO);
        let is_new = |stream: &&LiveStream| now.saturating_duration_since(stream.came) < SILENT;
        // The side that is behind decides, unless nothing comes from it.
        let until = heard.clone().filter(is_new).map(|stream| stream.newest).min();
        let until = until.map(|newest| Nanos(newest.0.saturating_sub(DEPTH.0)));
        let Some(mix) = &mut self.mix else {
            let Some(until) = until else { return Ok(None) };
            let wide = heard.map(|stream| stream.rate).max().is_some_and(|rate| rate.0 > NARROW);
            self.mix = Some(LiveMix::new(until, Hz(if wide { WIDE } else { NARROW }))?);
            return Ok(None);
        };
        // Nobody sends: silence, as long as it takes.
        let until = until.unwrap_or_else(|| mix.at() + nanos(elapsed));
        if until > mix.at() + LONGEST {
            *mix = LiveMix::new(until - DEPTH, mix.rate())?;
        }
        let from = mix.at();
        let (mut left, mut right) = (Vec::new(), Vec::new());
        for stream in self.streams.values_mut() {
            let side = if stream.direction == Direction::CallerToCallee { &mut left } else { &mut right };
            side.push(&mut stream.track);
        }
        let sides = mix.play([&mut left, &mut right], until, decoders)?;
        let to = mix.at();
        Ok((to > from).then_some(Piece { from, to, rate: mix.rate(), sides }))
    }
}

impl LiveStream {
    fn push(&mut self, link: LinkType, packet: &Packet<'_>, now: Instant) {
        let decoded = decode(link.0, packet.wire_len, packet.data).map(|packet| packet.payload);
        let Ok(Payload::Udp(udp)) = decoded else { return };
        // The reports about it are with it: they are no RTP.
        let Ok(view) = View::parse(udp.data, udp.len) else { return };
        let is_whole = view.payload().len() == view.payload_len();
        self.track.push(AudioPacket {
            arrival: packet.time,
            sequence: view.sequence(),
            timestamp: view.timestamp(),
            payload_type: view.payload_type(),
            // Of a pause only the headers are there.
            payload: if is_whole { view.payload() } else { &[] },
        });
        if packet.time > self.newest {
            (self.newest, self.came) = (packet.time, now);
        }
    }
}

fn nanos(duration: Duration) -> Nanos {
    Nanos(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX))
}

/// Between the newest packet and what is heard: packets that come late are heard in their place, and gaps are
/// filled from both sides.
const DEPTH: Nanos = Nanos::from_millis(250);
/// A side from which nothing came for so long does not keep the other waiting.
const SILENT: Duration = Duration::from_millis(1_200);
/// What comes after a longer gap is heard at once.
const LONGEST: Nanos = Nanos::from_secs(5);
const NARROW: u32 = 8_000;
const WIDE: u32 = 16_000;

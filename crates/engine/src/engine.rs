//! Frames in, records out.

use ringtap_model::{Call, Endpoint, Frame, Id, Nanos, Stream, Transport};
use ringtap_wire::frame::{self, Ip, Packet, Payload, Udp};
use ringtap_wire::{hep, rtcp, rtp, sip, stun};

use crate::config::Config;
use crate::counters::Counters;
use crate::input::clock::Clock;
use crate::input::fragments::Fragments;
use crate::input::sctp::Associations;
use crate::input::tcp::Connections;
use crate::prefetch::{Kind, Lane, Lanes};
use crate::sink::Sink;
use crate::table::hash::Hasher;
use crate::table::timers::Timer;
use crate::team::Links;
use crate::tracker::{Datagram, Tracker};
use crate::trackers::calls::Hop;
use crate::trackers::calls::tracker::Nearness;

/// TCP's header without options.
const TCP_HEADER: u32 = 20;
/// HEP's protocol type of SIP.
const HEP_SIP: u8 = 1;

/// Follows every call and stream of one packet source. It owns its tables; it has no clock, file or thread.
///
/// Feed frames in order of capture with [`Engine::batch`], tell of time without frames with [`Engine::tick`], end with
/// [`Engine::close`]; records come out through the [`Sink`] as calls and streams end.
pub struct Engine {
    pub(crate) counters: Counters,
    pub(crate) clock: Clock,
    pub(crate) fragments: Fragments,
    tcp: Connections,
    sctp: Associations,
    pub(crate) tracker: Tracker,
    fired: Vec<Timer>,
    hasher: Hasher,
    /// None while a batch has them.
    lanes: Option<Box<Lanes>>,
}

impl Engine {
    /// With empty tables of the sizes that `config` gives.
    pub fn new(config: Config) -> Self {
        Self::with(config, None)
    }

    /// One worker of a team, with its part of the ceilings.
    pub(crate) fn member(config: Config, links: Links) -> Self {
        Self::with(config, Some(links))
    }

    fn with(config: Config, links: Option<Links>) -> Self {
        let hasher = Hasher::new(config.seed);
        Self {
            counters: Counters::default(),
            clock: Clock::default(),
            fragments: Fragments::new(config.max_fragmented, hasher.clone()),
            tcp: Connections::new(config.max_connections, config.max_stream_bytes, hasher.clone()),
            sctp: Associations::new(config.max_fragmented, config.max_stream_bytes),
            fired: Vec::with_capacity(config.timers()),
            tracker: Tracker::new(config, hasher.clone(), links),
            hasher,
            lanes: None,
        }
    }

    /// Takes frames in order of capture. How they are cut into batches changes nothing.
    // HOT: each frame is looked at, then looked up, then handled, a few frames apart, so that what it needs has come from
    // memory when its turn comes. Looking changes nothing.
    pub fn batch<S: Sink>(&mut self, frames: &[Frame<'_>], sink: &mut S) {
        let first = frames.first().map_or(self.clock.now(), |frame| frame.time);
        self.meet(first, sink);
        let mut lanes = self.lanes.take().unwrap_or_default();
        self.counters.frames += frames.len() as u64;
        lanes.begin(frames, &self.tracker.media, &self.hasher);
        for (turn, frame) in frames.iter().enumerate() {
            self.counters.bytes += frame.data.len() as u64;
            if S::PACKETS {
                lanes.name(turn, &self.tracker.media, sink);
            }
            let lane = lanes.step(frames, turn, &self.tracker.media, &self.hasher);
            self.frame(frame, lane, sink);
        }
        self.lanes = Some(lanes);
        self.tracker.part(self.clock.now());
    }

    /// Tells that time has passed without a frame.
    pub fn tick<S: Sink>(&mut self, now: Nanos, sink: &mut S) {
        self.clock.pass(now);
        self.meet(now, sink);
        self.expire(sink);
        self.tracker.part(self.clock.now());
    }

    /// Ends everything that is under way: calls become `active`, `ringing` or `trying`. Of a team, each worker ends by the
    /// stages of [`team::close`](crate::team::close) instead, which bring a call's streams together.
    pub fn close<S: Sink>(&mut self, sink: &mut S) {
        self.flush(sink);
        self.tracker.close(&self.counters, sink);
        self.collect();
    }

    /// Takes what waits behind a hole.
    pub(crate) fn flush<S: Sink>(&mut self, sink: &mut S) {
        self.fragments.close();
        self.tracker.at(u64::MAX);
        let Self { tcp, tracker, counters, .. } = self;
        tcp.close(|(src, dst), time, delivery| {
            let hop = Hop { time, src, dst, transport: delivery.transport };
            tracker.sip(delivery.bytes, &hop, delivery.frames, counters, sink);
        });
    }

    /// Takes what other workers sent. No frame earlier than `next` will come here any more.
    fn meet<S: Sink>(&mut self, next: Nanos, sink: &mut S) {
        if self.tracker.member.is_some() {
            let now = self.clock.now();
            self.tracker.meet(now, next.max(now), &self.counters, sink);
        }
    }

    /// Tells how many packets were lost before this engine so far, a running total: in the network card, the kernel's ring,
    /// a queue. What it grows by while a call lasts is in that call's `capture_drops`.
    pub fn report_external_drops(&mut self, packets: u64) {
        self.tracker.external_drops = self.tracker.external_drops.max(packets);
    }

    /// The records of a call under way as they would be if it ended now, its streams in order of their first packet; None
    /// when no call of that id is under way. Looks at every call: for people who look on, not for each packet.
    pub fn snapshot(&self, call: &Id) -> Option<(Call, Vec<Stream>)> {
        self.tracker.snapshot(call, &self.counters)
    }

    /// What was counted so far.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Calls and streams under way.
    pub fn under_way(&self) -> (usize, usize) {
        self.tracker.under_way()
    }

    /// Takes the frame that a lane was made from. HOT.
    #[inline]
    fn frame<S: Sink>(&mut self, frame: &Frame<'_>, lane: &Lane, sink: &mut S) {
        let leap = self.clock.advance(frame.time);
        if leap > Nanos::ZERO {
            self.tracker.wheel.leap(leap);
        }
        if self.tracker.wheel.due(self.clock.now()) {
            self.expire(sink);
        }
        // What frames in between did to the flow, verifying it finds out.
        match lane.kind {
            Kind::Media if self.tracker.straight(lane, frame, sink) => self.counters.rtp += 1,
            Kind::Segment if self.tcp.are_strange_to(lane.hash) => self.counters.tcp += 1,
            Kind::Nothing => self.counters.udp_other += 1,
            _ => self.winding(frame, sink),
        }
    }

    /// Takes a frame, whatever time it is.
    pub(crate) fn admit<S: Sink>(&mut self, frame: &Frame<'_>, sink: &mut S) {
        self.counters.frames += 1;
        self.counters.bytes += frame.data.len() as u64;
        self.winding(frame, sink);
    }

    /// Takes a frame that is not the next of a stream where all is as before.
    #[inline(never)]
    fn winding<S: Sink>(&mut self, frame: &Frame<'_>, sink: &mut S) {
        self.tracker.at(frame.number);
        match frame::decode(frame.link.0, frame.wire_len, frame.data) {
            Ok(packet) => self.packet(&packet, frame.time, &[frame.number], sink),
            Err(reason) => self.counters.skipped[reason.index()] += 1,
        }
    }

    pub(crate) fn packet<S: Sink>(&mut self, packet: &Packet<'_>, time: Nanos, frames: &[u64], sink: &mut S) {
        match &packet.payload {
            Payload::Udp(udp) => self.udp(&packet.ip, udp, time, frames, sink),
            Payload::Tcp(tcp) => {
                self.counters.tcp += 1;
                let src = Endpoint::new(packet.ip.src, tcp.src_port);
                let dst = Endpoint::new(packet.ip.dst, tcp.dst_port);
                let Self { tcp: connections, tracker, .. } = self;
                let mut ready = Vec::new();
                connections.push((src, dst), tcp, time, frames, &mut tracker.wheel, |delivery| {
                    ready.push((
                        delivery.bytes.to_vec(),
                        delivery.turn,
                        delivery.transport,
                        delivery.frames.to_vec(),
                    ));
                });
                for (bytes, turn, transport, frames) in ready {
                    let hop = Hop { time, src, dst, transport };
                    if turn {
                        self.turn(&packet.ip, &bytes, &hop, &frames, sink);
                    } else {
                        let Self { tracker, counters, .. } = self;
                        tracker.sip(&bytes, &hop, &frames, counters, sink);
                    }
                }
            }
            Payload::Sctp(sctp) => {
                self.counters.sctp += 1;
                let src = Endpoint::new(packet.ip.src, sctp.src_port);
                let dst = Endpoint::new(packet.ip.dst, sctp.dst_port);
                let hop = Hop { time, src, dst, transport: Transport::Sctp };
                for chunk in sctp.data_chunks() {
                    let Self { sctp: messages, tracker, counters, .. } = self;
                    messages.push((src, dst), &chunk, frames, |message, frames| {
                        tracker.sip(message, &hop, frames, counters, sink);
                    });
                }
            }
            Payload::Fragment(fragment) => {
                self.counters.fragments += 1;
                let whole = self.fragments.push((&packet.ip, packet.depth), fragment, time, frames);
                let Some(whole) = whole else { return };
                match frame::decode_payload(whole.ip, packet.depth, &whole.bytes) {
                    Ok(packet) => self.packet(&packet, time, &whole.frames, sink),
                    Err(reason) => self.counters.skipped[reason.index()] += 1,
                }
            }
            Payload::Icmp => self.counters.icmp += 1,
            Payload::Other(_) => self.counters.ip_other += 1,
        }
    }

    // HOT: media first, by its first two bytes; then signalling; the rest is counted.
    fn udp<S: Sink>(&mut self, ip: &Ip, udp: &Udp<'_>, time: Nanos, frames: &[u64], sink: &mut S) {
        let src = Endpoint::new(ip.src, udp.src_port);
        let dst = Endpoint::new(ip.dst, udp.dst_port);
        if rtp::looks_like_rtp(udp.data) {
            let datagram = Datagram { src, dst, time, ip_len: ip.len, data: udp.data, len: udp.len };
            if self.tracker.rtp(&datagram, frames, &mut self.counters, sink) {
                return;
            }
        }
        self.not_rtp(ip, udp, Hop { time, src, dst, transport: Transport::Udp }, frames, sink);
    }

    fn not_rtp<S: Sink>(&mut self, ip: &Ip, udp: &Udp<'_>, hop: Hop, frames: &[u64], sink: &mut S) {
        if let Some(start) = sip::sniff(udp.data) {
            let Self { tracker, counters, .. } = self;
            tracker.sip(&udp.data[start..], &hop, frames, counters, sink);
        } else if rtcp::looks_like_rtcp(udp.data) {
            self.rtcp(ip, udp.data, &hop, frames, sink);
        } else if let Some(inner) = stun::relayed(udp.data) {
            self.relayed(ip, inner, &hop, frames, sink);
        } else if stun::is_stun(udp.data) {
            self.counters.stun += 1;
        } else if udp.data.starts_with(b"HEP3") || udp.data.starts_with(b"EEP3") {
            self.hep(udp.data, &hop, frames, sink);
        } else {
            self.counters.udp_other += 1;
        }
    }

    /// A message of TURN over TCP; a segment may hold several, so each counts as a packet of its own.
    #[cold]
    fn turn<S: Sink>(&mut self, ip: &Ip, message: &[u8], hop: &Hop, frames: &[u64], sink: &mut S) {
        let ip = Ip { len: ip.header_len + TCP_HEADER + message.len() as u32, ..*ip };
        match stun::relayed(message) {
            Some(inner) => self.relayed(&ip, inner, hop, frames, sink),
            None => self.counters.stun += 1,
        }
    }

    /// Media inside TURN (RFC 8656): the stream is the one between client and relay.
    #[cold]
    fn relayed<S: Sink>(&mut self, ip: &Ip, inner: &[u8], hop: &Hop, frames: &[u64], sink: &mut S) {
        if rtp::looks_like_rtp(inner) {
            let Hop { src, dst, time, .. } = *hop;
            let datagram = Datagram { src, dst, time, ip_len: ip.len, data: inner, len: inner.len() };
            if self.tracker.rtp(&datagram, frames, &mut self.counters, sink) {
                return;
            }
        }
        if rtcp::looks_like_rtcp(inner) {
            self.rtcp(ip, inner, hop, frames, sink);
        } else {
            self.counters.stun += 1;
        }
    }

    #[inline]
    fn rtcp<S: Sink>(&mut self, ip: &Ip, data: &[u8], hop: &Hop, frames: &[u64], sink: &mut S) {
        self.counters.rtcp += 1;
        if S::PACKETS {
            let Hop { src, dst, time, .. } = *hop;
            let datagram = Datagram { src, dst, time, ip_len: ip.len, data, len: data.len() };
            self.tracker.rtcp(&datagram, frames, sink);
        }
    }

    /// A message that an agent mirrored, with the addresses it saw.
    #[cold]
    fn hep<S: Sink>(&mut self, data: &[u8], hop: &Hop, frames: &[u64], sink: &mut S) {
        self.counters.hep += 1;
        let Ok(view) = hep::View::parse(data) else { return };
        let (Some(src), Some(dst)) = (view.src(), view.dst()) else { return };
        if view.proto_type() != HEP_SIP || view.compressed() {
            return;
        }
        let mirrored = Hop {
            src: Endpoint::new(src, view.src_port()),
            dst: Endpoint::new(dst, view.dst_port()),
            transport: Transport::Hep,
            ..*hop
        };
        if let Some(start) = sip::sniff(view.payload()) {
            let Self { tracker, counters, .. } = self;
            tracker.sip(&view.payload()[start..], &mirrored, frames, counters, sink);
        }
    }

    #[cold]
    pub(crate) fn expire<S: Sink>(&mut self, sink: &mut S) {
        let now = self.clock.now();
        let mut fired = std::mem::take(&mut self.fired);
        fired.clear();
        self.tracker.turn(now, &self.counters, sink);
        self.tracker.wheel.expired(now, &mut fired);
        let before = Nearness::STEPS[0].1;
        for turn in 0..if fired.is_empty() { 0 } else { fired.len() + before } {
            // What the next ones need comes from memory while this one has its turn.
            for (nearness, ahead) in Nearness::STEPS {
                if let Some(timer) = (turn + ahead).checked_sub(before).and_then(|at| fired.get(at)) {
                    self.tracker.prefetch(*timer, now, nearness);
                }
            }
            let Some(timer) = turn.checked_sub(before).and_then(|at| fired.get(at)) else { continue };
            match *timer {
                Timer::Connection(ticket) => self.tcp.expire(ticket, now, &mut self.tracker.wheel),
                other => self.tracker.expire(other, now, &mut self.counters, sink),
            }
        }
        self.fired = fired;
        self.collect();
    }

    /// Brings the counts of the tables together.
    pub(crate) fn collect(&mut self) {
        let counters = &mut self.counters;
        counters.connections_refused = self.tcp.counts.refused;
        counters.tcp_holes = self.tcp.counts.holes;
        counters.tcp_overflow = self.tcp.counts.overflow;
        counters.sctp_evicted = self.sctp.evicted;
        counters.fragments_incomplete = self.fragments.counts.incomplete;
        counters.fragments_evicted = self.fragments.counts.evicted;
        counters.fragments_bad = self.fragments.counts.bad;
        self.tracker.collect(counters);
    }
}

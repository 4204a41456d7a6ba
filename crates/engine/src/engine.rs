//! Frames in, records out.

use std::sync::Arc;

use ringtap_model::{Call, Frame, Id, Nanos, Stream};
use ringtap_quality::Receivers;

use crate::config::Config;
use crate::context::{CallRequests, Hop};
use crate::counters::Counters;
use crate::input::clock::Clock;
use crate::input::fragments::Fragments;
use crate::input::sctp::Associations;
use crate::input::tcp::{Connections, Delivery};
use crate::media::StreamTable;
use crate::media_paths::MediaPaths;
use crate::memory::MemoryShares;
use crate::prefetch::{FrameKind, PrefetchRing, PrefetchedFrame};
use crate::sink::{CallNumber, RtpSeen, Sink, StreamEnd};
use crate::table::due::DueTimers;
use crate::table::hash::Hasher;
use crate::table::lists::Lists;
use crate::table::timers::TimerWheel;
use crate::targets::{Targets, TargetsView};
use crate::team::{Links, Member};
use crate::tracker::Tracker;
use crate::trackers::Trackers;
use crate::update::InputOrder;

/// Follows every call and stream of one packet source. It owns its tables; it has no clock, file or thread.
///
/// Feed frames in capture order with [`Engine::batch`], report time without frames with [`Engine::tick`], end
/// with [`Engine::close`]; records come out through the [`Sink`] as calls and streams end. `X` is a tracker
/// added from outside.
pub struct Engine<X = ()> {
    pub(crate) counters: Counters,
    pub(crate) clock: Clock,
    pub(crate) timers: TimerWheel,
    pub(crate) hasher: Hasher,
    /// Position of the frame in hand, and how many messages and streams it has brought so far.
    pub(crate) order: InputOrder,
    /// MAC address that sent the frame in hand, if a tracker wants it and the frame carries no tunnel.
    pub(crate) sender: Option<[u8; 6]>,
    pub(crate) fragments: Fragments,
    pub(crate) tcp: Connections,
    pub(crate) sctp: Associations,
    pub(crate) streams: StreamTable,
    pub(crate) trackers: Trackers<X>,
    pub(crate) requests: CallRequests,
    /// Its part in a team, if it works in one.
    pub(crate) member: Option<Box<Member>>,
    /// Where both directions of media were seen; one for a whole team.
    pub(crate) paths: Arc<MediaPaths>,
    /// Memory for the lists of streams that records of calls come with.
    pub(crate) ends: Lists<StreamEnd>,
    /// Which receivers conceal loss.
    pub(crate) receivers: Receivers,
    /// Packets dropped before this engine, a running total.
    pub(crate) external_drops: u64,
    pub(crate) due: DueTimers,
    /// Addresses whose packets the sink wants.
    pub(crate) targets: Arc<Targets>,
    /// None while a batch uses it.
    pub(crate) prefetched: Option<Box<PrefetchRing>>,
}

/// Builds the [`Context`] that an engine lends a tracker: borrows field by field, so that the trackers stay
/// free.
macro_rules! context {
    ($engine:ident, $owner:expr, $sink:expr) => {
        Context {
            drops: $engine.drops(),
            now: $engine.clock.now(),
            order: $engine.order,
            owner: $owner,
            timers: &mut $engine.timers,
            counters: &mut $engine.counters,
            streams: &mut $engine.streams,
            requests: &mut $engine.requests,
            verdict: SipVerdict::default(),
            sink: $sink,
        }
    };
}
pub(crate) use context;

impl Engine {
    /// With empty tables of the sizes that `config` gives.
    pub fn new(config: Config) -> Self {
        Self::with_tracker(config, ())
    }
}

/// The targets that frames are asked about: none where none are watched, which costs a frame two tests.
#[inline]
fn asked<'v, 't>(view: Option<&'v TargetsView<'t>>) -> Option<&'v TargetsView<'t>> {
    view.filter(|view| view.has_any())
}

impl<X: Tracker> Engine<X> {
    /// With a tracker of one's own beside those of the engine.
    pub fn with_tracker(config: Config, added: X) -> Self {
        Self::with(config, None, added)
    }

    /// The added tracker.
    pub fn tracker(&self) -> &X {
        &self.trackers.added
    }

    /// The added tracker, to be asked or told something between two batches.
    pub fn tracker_mut(&mut self) -> &mut X {
        &mut self.trackers.added
    }

    pub(crate) fn with(config: Config, links: Option<Links>, added: X) -> Self {
        let hasher = Hasher::new(config.seed);
        let shares = MemoryShares::of(config.memory);
        let (worker, workers) = links.as_ref().map_or((0, 1), |links| (links.me(), links.workers()));
        Self {
            counters: Counters::default(),
            clock: Clock::default(),
            timers: TimerWheel::new(config.timers()),
            order: InputOrder::default(),
            sender: None,
            fragments: Fragments::new(config.max_fragmented, shares.fragments, hasher.clone()),
            tcp: Connections::new(
                config.max_connections,
                config.max_stream_bytes,
                shares.connections,
                hasher.clone(),
            )
            .and_added(X::WANTS.tcp),
            sctp: Associations::new(
                config.max_fragmented,
                config.max_stream_bytes,
                shares.associations,
                hasher.clone(),
            ),
            streams: StreamTable::new(&config, worker, workers, hasher.clone()),
            trackers: Trackers::new((worker, workers), &config, &hasher, added),
            requests: CallRequests { wants_phases: X::WANTS.calls, ..CallRequests::default() },
            member: links.map(|links| Box::new(Member::new(links))),
            external_drops: 0,
            due: DueTimers::new(config.timers(), config.live),
            paths: Arc::default(),
            ends: Lists::default(),
            receivers: config.receivers,
            targets: Arc::new(Targets::new(config.seed)),
            hasher,
            prefetched: None,
        }
    }

    /// Handles frames in capture order. How they are cut into batches changes nothing.
    // HOT: each frame is prefetched, then looked up, then handled, a few frames apart, so that the memory it
    // needs has arrived when it is handled. Prefetching changes no state.
    pub fn batch<S: Sink>(&mut self, frames: &[Frame<'_>], sink: &mut S) {
        let first = frames.first().map_or(self.clock.now(), |frame| frame.time);
        self.receive_live(first, sink);
        let mut ring = self.prefetched.take().unwrap_or_default();
        self.counters.frames += frames.len() as u64;
        let targets = S::TARGETS.then(|| Arc::clone(&self.targets));
        let mut view = targets.as_deref().map(Targets::view);
        ring.begin::<X, S>(frames, &self.streams, &self.hasher, asked(view.as_ref()));
        for (index, frame) in frames.iter().enumerate() {
            self.counters.bytes += frame.data.len() as u64;
            if S::PACKETS {
                ring.prefetch_sink(index, &self.streams, sink);
            }
            if S::TARGETS
                && let Some(view) = &mut view
            {
                if view.is_stale() {
                    *view = view.again();
                    ring.offer_decoded(index);
                }
                if view.has_any() && ring.is_offered(index) {
                    view.targets().offer(frame, sink);
                }
            }
            let view = if S::TARGETS { asked(view.as_ref()) } else { None };
            let prefetched = ring.step::<X, S>(frames, index, &self.streams, &self.hasher, view);
            self.frame(frame, prefetched, sink);
        }
        self.prefetched = Some(ring);
        self.flush_live();
    }

    /// Has the packets of these addresses offered to [`Sink::target`], from the next frame on. The set may
    /// change at any time, by others too.
    pub fn watch(&mut self, targets: Arc<Targets>) {
        self.targets = targets;
    }

    /// Reports that time has passed without a frame.
    pub fn tick<S: Sink>(&mut self, now: Nanos, sink: &mut S) {
        self.clock.pass(now);
        self.receive_live(now, sink);
        self.expire_all(sink);
        self.flush_live();
    }

    /// Ends everything in progress: calls become `active`, `ringing` or `trying`. The workers of a team end
    /// by the stages of [`team::close`](crate::team::close) instead, which bring a call's streams together.
    pub fn close<S: Sink>(&mut self, sink: &mut S) {
        self.finish_tick(sink);
        self.release_gaps(sink);
        self.leave_team(sink);
        while self.streams.apply_learned() {}
        self.end_calls(sink);
        self.end_rest(sink);
        self.collect();
    }

    /// Releases the data held back behind gaps of TCP connections.
    pub(crate) fn release_gaps<S: Sink>(&mut self, sink: &mut S) {
        self.fragments.close();
        self.begin_frame(u64::MAX);
        // Taken out, so that messages are handled one by one as they are released.
        let nothing = Connections::new(0, 0, 0, self.hasher.clone());
        let mut tcp = std::mem::replace(&mut self.tcp, nothing);
        tcp.close(|(src, dst), delivery| {
            let Delivery { bytes, kind, transport, time, frames } = delivery;
            let hop = Hop { time, src, dst, transport, ip_id: 0, sender: None };
            let ip_header = if src.ip.is_ipv4() { 20 } else { 40 };
            self.tcp_message((ip_header, kind), bytes, &hop, frames, sink);
        });
        self.tcp = tcp;
    }

    /// Reports how many packets were dropped before this engine, a running total: in the network card, the
    /// kernel's ring, a queue. What it grows by during a call is in that call's `capture_drops`.
    pub fn report_external_drops(&mut self, packets: u64) {
        self.external_drops = self.external_drops.max(packets);
    }

    /// The records of a call in progress as they would be if it ended now, its streams in order of their
    /// first packet; None when no call of that id is in progress. Searches all calls: for people who watch,
    /// not per packet.
    pub fn snapshot(&self, call: &Id) -> Option<(Call, Vec<Stream>)> {
        self.snapshot_of(call)
    }

    /// The records of the latest calls in progress as they would be if they ended now, each with the streams
    /// that this worker has: at most `most` of them, in no order, and how many there are. For people who
    /// watch, not per packet: a call costs some tens of microseconds.
    pub fn calls_in_progress(&self, most: usize) -> (Vec<(Call, Vec<Stream>)>, usize) {
        self.snapshots_of(most)
    }

    /// What was counted so far.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Calls and streams in progress.
    pub fn under_way(&self) -> (usize, usize) {
        (self.trackers.calls.len(), self.streams.len())
    }

    /// Registrations in the table: accepted, refused and waiting for an answer.
    pub fn registrations(&self) -> usize {
        self.trackers.registrations.len()
    }

    /// Packets known to be dropped so far, here or before.
    pub(crate) fn drops(&self) -> u64 {
        match &self.member {
            Some(member) => member.links.drops(),
            None => self.counters.turned_away() + self.external_drops,
        }
    }

    /// What follows comes with the frame of that number. HOT.
    #[inline]
    pub(crate) fn begin_frame(&mut self, number: u64) {
        self.order = InputOrder { number, index: 0 };
    }

    /// Handles a frame that was prefetched. HOT.
    #[inline]
    fn frame<S: Sink>(&mut self, frame: &Frame<'_>, prefetched: &PrefetchedFrame, sink: &mut S) {
        let leap = self.clock.advance(frame.time);
        if leap > Nanos::ZERO {
            self.timers.leap(leap);
        }
        if self.timers.due(self.clock.now()) {
            self.expire(sink);
        }
        // Verifying the flow detects what the frames in between changed.
        match prefetched.kind {
            FrameKind::Rtp if self.fast_path(prefetched, frame, sink) => self.counters.rtp += 1,
            FrameKind::TcpSegment if self.tcp.is_untracked(prefetched.hash) => self.counters.tcp += 1,
            FrameKind::UnknownUdp => self.counters.udp_other += 1,
            _ => self.slow_path(frame, sink),
        }
    }

    /// Handles the next packet of a stream where nothing has changed; false, and nothing done, for any other.
    /// HOT.
    #[inline]
    pub(crate) fn fast_path<S: Sink>(
        &mut self,
        prefetched: &PrefetchedFrame,
        frame: &Frame<'_>,
        sink: &mut S,
    ) -> bool {
        let packet = prefetched.packet(frame.time);
        let (slot, payload) = (prefetched.slot, prefetched.payload(frame));
        if !self.streams.fast_path(slot, prefetched.key, &packet, payload) {
            return false;
        }
        if S::PACKETS || X::WANTS.media {
            let ends = self.streams.ends(slot);
            let seen = RtpSeen {
                time: frame.time,
                frames: &[frame.number],
                serial: self.streams.serial(slot),
                stream_slot: slot,
                src: ends.src,
                dst: ends.dst,
                ssrc: ends.ssrc,
                payload_type: packet.payload_type,
                sequence: packet.sequence,
                timestamp: packet.timestamp,
                payload: prefetched.payload(frame),
                duplicate: false,
                call: self.streams.call_of(slot).map(CallNumber),
                packet: None,
            };
            self.deliver_rtp(&seen, sink);
        }
        true
    }

    /// Hands an RTP packet to those that want it. HOT.
    #[inline]
    pub(crate) fn deliver_rtp<S: Sink>(&mut self, seen: &RtpSeen<'_>, sink: &mut S) {
        if X::WANTS.media {
            self.trackers.added.rtp(seen);
        }
        if S::PACKETS {
            sink.rtp(seen);
        }
    }

    /// Copies the counts of the tables into the counters.
    pub(crate) fn collect(&mut self) {
        let counters = &mut self.counters;
        counters.connections_refused = self.tcp.counts.refused;
        counters.connections_evicted = self.tcp.counts.evicted;
        counters.tcp_holes = self.tcp.counts.holes;
        counters.tcp_overflow = self.tcp.counts.overflow;
        counters.sctp_evicted = self.sctp.evicted();
        counters.fragments_incomplete = self.fragments.counts.incomplete;
        counters.fragments_evicted = self.fragments.evicted();
        counters.fragments_bad = self.fragments.counts.bad;
        counters.rtp_unconfirmed = self.streams.counts.unconfirmed;
        counters.flows_refused = self.streams.counts.refused;
        counters.legs_refused = self.streams.counts.legs_refused;
        counters.intervals_refused = self.streams.intervals_refused();
        counters.codecs_refused = self.streams.codecs.counts.refused;
        counters.codecs_evicted = self.streams.codecs.counts.evicted;
        if let Some(member) = &self.member {
            counters.sip_forwards_lost = member.links.counts.sip_lost;
            counters.worker_messages_lost = member.links.counts.messages_lost;
            counters.calls_incomplete = member.incomplete;
        }
    }
}

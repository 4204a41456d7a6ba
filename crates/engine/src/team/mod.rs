//! Several workers that share nothing: who owns what, and what they tell each other.
//!
//! Signalling of a Call-ID belongs to the worker that the Call-ID's hash names; media belong to the worker that got the
//! packets. Each worker keeps a view of every call that announced media, made by the same notes in the same order, so that
//! it knows a stream's call without asking. `docs/decisions/005-many-workers.md` says why, and what that costs.

mod assignment;
mod links;
mod lockstep;
mod member;
mod round_robin;

pub use assignment::{Assignment, assign};
pub use lockstep::{BatchCutter, ClockTick, Stage, batch, close};
pub use round_robin::RoundRobin;

pub(crate) use links::Links;
pub(crate) use member::Member;

use std::collections::VecDeque;

use ringtap_model::{Frame, Nanos};
use ringtap_wire::frame::{self, Fragment, Ip, Packet, Payload};

use crate::config::Config;
use crate::engine::Engine;
use crate::input::fragments;
use crate::sink::Sink;
use links::{Inner, Whole};

/// Workers that one team may have.
pub const MAX_WORKERS: usize = 64;

/// The configuration of one of so many workers: its part of the ceilings, and an eighth of it more, since hashes do not
/// share out evenly.
pub(crate) fn part(config: &Config, workers: usize) -> Config {
    let part = |ceiling: usize| match workers {
        1 => ceiling,
        _ => ceiling.div_ceil(workers) + ceiling / (8 * workers),
    };
    Config {
        max_calls: part(config.max_calls),
        max_streams: part(config.max_streams),
        max_registrations: part(config.max_registrations),
        max_messages: part(config.max_messages),
        max_fragmented: part(config.max_fragmented),
        max_connections: part(config.max_connections),
        ..config.clone()
    }
}

impl Engine {
    /// Engines that work together, one for each of `workers` threads (1 to 64): each takes the packets of its own queue, and a
    /// call's signalling and media may come to different ones. They are joined by rings, and the ceilings of `config` are
    /// shared out among them.
    ///
    /// Live, each is used like a single engine, in its own thread: [`Engine::batch`] also takes what other workers sent, so it
    /// is called with no frames too where none come. Then the whole team ends by the stages of [`close`]. A team whose
    /// records must be those of one engine runs the stages of [`batch`] instead, in lockstep.
    ///
    /// A call's record comes out of the worker that owns its Call-ID, a stream without a call out of the one that had its
    /// packets. Frames must have numbers that are unique over all workers, and in lockstep numbers that ascend.
    pub fn team(config: &Config, workers: usize) -> Vec<Self> {
        let workers = workers.clamp(1, MAX_WORKERS);
        let config = part(config, workers);
        Links::join(workers).into_iter().map(|links| Self::member(config.clone(), links)).collect()
    }

    /// Does one kind of work, with the frames for it where the stage takes any. True when letters are on their way: then
    /// every worker does [`Stage::Exchange`] until that is false for all. [`batch`] and [`close`] know the order.
    pub fn stage<S: Sink>(&mut self, stage: Stage, frames: &[Frame<'_>], sink: &mut S) -> bool {
        self.tracker.lockstep();
        self.tracker.receive(self.clock.now(), &self.counters, sink);
        let mut more = false;
        match stage {
            Stage::Tick(tick) => {
                self.clock.pass(tick.now);
                self.tracker.wheel.leap(tick.leap);
                if self.tracker.wheel.due(tick.now) {
                    self.expire(sink);
                }
            }
            Stage::Exchange => more = self.gather_inner(),
            Stage::Fragments => {
                frames.iter().for_each(|frame| self.gather(frame));
                more = self.tracker.begin_inner();
            }
            Stage::Decode => {
                self.tracker.publish(&self.counters);
                self.front(frames, sink);
            }
            Stage::Signalling => self.tracker.take_messages(&self.counters, sink),
            Stage::Media => self.tracker.take_media(sink),
            Stage::Flush => self.flush(sink),
            Stage::ApplyLearned => more = self.tracker.turn_at_end(),
            Stage::EndCalls => self.tracker.end_calls(&self.counters, sink),
            Stage::Close => {
                self.tracker.end_rest(sink);
                self.collect();
            }
        }
        let answered = !matches!(stage, Stage::Decode | Stage::Signalling | Stage::Media | Stage::Close);
        let (sent, waits) = self.tracker.send_rest();
        more || waits || (answered && sent)
    }

    /// Frames of one worker, with the datagrams among them that were put together elsewhere.
    fn front<S: Sink>(&mut self, frames: &[Frame<'_>], sink: &mut S) {
        let mut wholes = self.tracker.take_wholes();
        for frame in frames {
            while let Some(whole) = wholes.pop_front_if(|whole| whole.number < frame.number) {
                self.whole(&whole, sink);
            }
            self.admit(frame, sink);
        }
        wholes.iter().for_each(|whole| self.whole(whole, sink));
    }

    #[cold]
    fn whole<S: Sink>(&mut self, whole: &Whole, sink: &mut S) {
        self.tracker.at(whole.number);
        match frame::decode_payload(whole.ip, whole.depth, &whole.bytes) {
            Ok(packet) => self.packet(&packet, whole.time, &whole.frames, sink),
            Err(reason) => self.counters.skipped[reason.index()] += 1,
        }
    }

    /// A frame that is a fragment, or holds one in a tunnel.
    #[cold]
    fn gather(&mut self, frame: &Frame<'_>) {
        self.counters.frames += 1;
        self.counters.bytes += frame.data.len() as u64;
        match frame::decode(frame.link.0, frame.wire_len, frame.data) {
            Ok(packet) if packet.depth > 0 => {
                self.send_inner(&packet, frame.time, frame.number, &[frame.number])
            }
            Ok(packet) => {
                if let Payload::Fragment(fragment) = &packet.payload {
                    let depth = packet.depth;
                    self.fragment(&packet.ip, depth, fragment, (frame.time, frame.number, &[frame.number]));
                }
            }
            Err(reason) => self.counters.skipped[reason.index()] += 1,
        }
    }

    /// What a fragment completes goes to the worker that has the other packets of its sender.
    fn fragment(
        &mut self,
        ip: &Ip,
        depth: u8,
        fragment: &Fragment<'_>,
        (time, number, frames): (Nanos, u64, &[u64]),
    ) {
        self.counters.fragments += 1;
        let Some(whole) = self.fragments.push((ip, depth), fragment, time, frames) else { return };
        let fragments::Whole { ip, bytes, frames } = whole;
        match frame::decode_payload(ip, depth, &bytes) {
            Ok(inner) if matches!(inner.payload, Payload::Fragment(_)) => {
                self.send_inner(&inner, time, number, &frames);
            }
            Ok(inner) => {
                let worker = assignment::of_packet(&inner, self.tracker.workers());
                self.tracker.send_whole(worker, Whole { number, time, ip, depth, bytes, frames });
            }
            Err(reason) => self.counters.skipped[reason.index()] += 1,
        }
    }

    /// A fragment in a tunnel: what the tunnel's own fragments hold is known only when those are put together.
    fn send_inner(&mut self, packet: &Packet<'_>, time: Nanos, number: u64, frames: &[u64]) {
        let Payload::Fragment(fragment) = packet.payload else { return };
        let Fragment { id, offset, more, proto, len, data } = fragment;
        let worker = assignment::of_packet(packet, self.tracker.workers());
        let (ip, depth) = (packet.ip, packet.depth);
        let (bytes, frames) = (data.to_vec(), frames.to_vec());
        let inner = Inner { number, time, ip, depth, id, offset, more, proto, len, bytes, frames };
        self.tracker.send_inner(worker, inner);
    }

    /// Fragments in tunnels, those of the outermost first; true while some are left.
    #[cold]
    fn gather_inner(&mut self) -> bool {
        let (inner, more) = self.tracker.take_inner();
        for inner in inner {
            let Inner { number, time, ip, depth, id, offset, more, proto, len, bytes, frames } = &inner;
            let (id, offset, more, proto, len) = (*id, *offset, *more, *proto, *len);
            let fragment = Fragment { id, offset, more, proto, len, data: bytes };
            self.fragment(ip, *depth, &fragment, (*time, *number, frames));
        }
        more
    }
}

/// Datagrams in order of the frames that completed them.
fn in_order(mut wholes: Vec<Whole>) -> VecDeque<Whole> {
    wholes.sort_by_key(|whole| whole.number);
    wholes.into()
}

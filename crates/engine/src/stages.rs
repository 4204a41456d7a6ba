//! The stages of a team in lockstep, see [`crate::team::batch`].

use std::sync::Arc;

use ringtap_model::{Frame, Nanos};
use ringtap_wire::frame::{self, Fragment, Ip, Packet, Payload};

use crate::config::Config;
use crate::engine::Engine;
use crate::input::fragments;
use crate::media_paths::MediaPaths;
use crate::sink::Sink;
use crate::team::{
    Links, MAX_WORKERS, ReassembledDatagram, Stage, TunnelFragment, of_packet, share_of_ceilings,
};
use crate::tracker::Tracker;

impl Engine {
    /// Engines that work together, one for each of `workers` threads (1 to 64): each handles the packets of
    /// its own queue, and a call's signalling and media may reach different ones. Rings connect them, and
    /// they divide the ceilings of `config`.
    ///
    /// Live, each is used like a single engine, in its own thread: [`Engine::batch`] also handles what other
    /// workers sent, so call it with no frames too while none arrive. The whole team then ends by the stages
    /// of [`crate::team::close`]. A team whose records must equal those of one engine runs the stages of
    /// [`crate::team::batch`] instead, in lockstep.
    ///
    /// A call's record comes out of the worker that owns its Call-ID, a stream without a call out of the one
    /// that had its packets. Frame numbers must be unique over all workers, and in lockstep ascending.
    pub fn team(config: &Config, workers: usize) -> Vec<Self> {
        Self::team_with_trackers(config, workers, || ())
    }
}

impl<X: Tracker> Engine<X> {
    /// As [`Engine::team`], each worker with a tracker of one's own.
    pub fn team_with_trackers(config: &Config, workers: usize, added: impl Fn() -> X) -> Vec<Self> {
        let workers = workers.clamp(1, MAX_WORKERS);
        let config = share_of_ceilings(config, workers);
        let paths = Arc::<MediaPaths>::default();
        let member = |links| {
            let mut engine = Self::with(config.clone(), Some(links), added());
            engine.paths = paths.clone();
            engine
        };
        Links::connect(workers).into_iter().map(member).collect()
    }

    /// Runs one stage, with the frames for it where the stage takes any. True when messages are on their way:
    /// then every worker runs [`Stage::Exchange`] until all return false. [`Stages`](crate::team::Stages)
    /// defines the order.
    pub fn stage<S: Sink>(&mut self, stage: Stage, frames: &[Frame<'_>], sink: &mut S) -> bool {
        if let Some(member) = &mut self.member {
            member.enter_lockstep();
        }
        self.finish_tick(sink);
        self.receive(sink);
        let mut more = false;
        match stage {
            Stage::Tick(tick) => {
                self.clock.pass(tick.now);
                self.timers.leap(tick.leap);
                if self.timers.due(tick.now) {
                    self.expire_all(sink);
                }
            }
            Stage::Exchange => more = self.reassemble_tunnelled(),
            Stage::Fragments => {
                frames.iter().for_each(|frame| self.reassemble(frame));
                more = self.member.as_mut().is_some_and(|member| member.begin_tunnelled());
            }
            Stage::Decode => self.decode(frames, sink),
            Stage::Signalling => self.handle_batch_sip(frames, sink),
            Stage::Media => {
                self.handle_batch_media(frames, sink);
                if let Some(member) = &self.member {
                    member.links.publish(self.counters.turned_away() + self.external_drops);
                }
            }
            Stage::Flush => self.release_gaps(sink),
            Stage::ApplyLearned => more = self.streams.apply_learned(),
            Stage::EndCalls => self.end_calls(sink),
            Stage::Close => {
                self.end_rest(sink);
                self.collect();
            }
        }
        let is_answered = !matches!(stage, Stage::Decode | Stage::Signalling | Stage::Media | Stage::Close);
        let (sent, waits) = self.send_waiting();
        more || waits || (is_answered && sent)
    }

    /// A worker's frames, interleaved with the datagrams that were reassembled elsewhere.
    fn decode<S: Sink>(&mut self, frames: &[Frame<'_>], sink: &mut S) {
        let mut datagrams =
            self.member.as_mut().map(|member| member.reassembled_in_order()).unwrap_or_default();
        for frame in frames {
            while let Some(datagram) = datagrams.pop_front_if(|datagram| datagram.number < frame.number) {
                self.reassembled(&datagram, sink);
            }
            self.admit(frame, sink);
        }
        datagrams.iter().for_each(|datagram| self.reassembled(datagram, sink));
    }

    #[cold]
    fn reassembled<S: Sink>(&mut self, datagram: &ReassembledDatagram, sink: &mut S) {
        self.begin_frame(datagram.number);
        match frame::decode_payload(datagram.ip, datagram.depth, &datagram.bytes) {
            Ok(packet) => self.packet(&packet, datagram.time, &datagram.frames, sink),
            Err(reason) => self.counters.skipped[reason.index()] += 1,
        }
    }

    /// A frame that is a fragment, or holds one in a tunnel.
    #[cold]
    fn reassemble(&mut self, frame: &Frame<'_>) {
        self.counters.frames += 1;
        self.counters.bytes += frame.data.len() as u64;
        match frame::decode(frame.link.0, frame.wire_len, frame.data) {
            Ok(packet) if packet.depth > 0 => {
                self.send_tunnelled(&packet, frame.time, frame.number, &[frame.number]);
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

    /// What a fragment completes goes to the worker that has its sender's other packets.
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
                self.send_tunnelled(&inner, time, number, &frames);
            }
            Ok(inner) => {
                let Some(member) = &mut self.member else { return };
                let worker = of_packet(&inner, member.links.workers());
                member
                    .send_reassembled(worker, ReassembledDatagram { number, time, ip, depth, bytes, frames });
            }
            Err(reason) => self.counters.skipped[reason.index()] += 1,
        }
    }

    /// A fragment in a tunnel: what the tunnel's own fragments hold is known only after their reassembly.
    fn send_tunnelled(&mut self, packet: &Packet<'_>, time: Nanos, number: u64, frames: &[u64]) {
        let Payload::Fragment(fragment) = packet.payload else { return };
        let Some(member) = &mut self.member else { return };
        let Fragment { id, offset, more, proto, len, data } = fragment;
        let worker = of_packet(packet, member.links.workers());
        let (ip, depth) = (packet.ip, packet.depth);
        let (bytes, frames) = (data.to_vec(), frames.to_vec());
        let fragment =
            TunnelFragment { number, time, ip, depth, id, offset, more, proto, len, bytes, frames };
        member.send_tunnelled(worker, fragment);
    }

    /// Fragments in tunnels, the outermost first; true while some are left.
    #[cold]
    fn reassemble_tunnelled(&mut self) -> bool {
        let Some(member) = &mut self.member else { return false };
        let (fragments, more) = member.next_tunnelled();
        for fragment in &fragments {
            let TunnelFragment { number, time, ip, depth, id, offset, more, proto, len, bytes, frames } =
                fragment;
            let (id, offset, more, proto, len) = (*id, *offset, *more, *proto, *len);
            let fragment = Fragment { id, offset, more, proto, len, data: bytes };
            self.fragment(ip, *depth, &fragment, (*time, *number, frames));
        }
        more
    }
}

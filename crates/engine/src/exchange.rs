//! What the workers of a team tell each other. A single engine answers itself: each function here begins with
//! that case.

use std::sync::Arc;

use ringtap_model::{Frame, Nanos};
use ringtap_wire::sip::Message;

use crate::context::{Datagram, Hop};
use crate::decode::owning_call_id;
use crate::engine::Engine;
use crate::media::{CallStreams, EndedStream};
use crate::sink::Sink;
use crate::table::timers::TimerOwner;
use crate::team::{ForwardedSip, SharedDatagram, WorkerMessage};
use crate::tracker::{Sharing, Tracker};
use crate::trackers::Trackers;
use crate::update::{CallRef, Collected, EndedCall, MediaUpdate};

/// A SIP message waits this long, of capture time, for earlier ones that other workers captured: the kernel
/// may hand their rings over by a timer.
const REORDER_WINDOW: Nanos = Nanos::from_millis(250);
/// Messages that wait like this at once; beyond it the oldest are handled early.
const MAX_WAITING: usize = 1 << 16;

impl<X: Tracker> Engine<X> {
    /// Applies a media update in every worker.
    pub(crate) fn publish_update(&mut self, update: MediaUpdate) {
        let Some(member) = &mut self.member else { return self.streams.apply(&update) };
        let update = Arc::new(update);
        member.send_update(&update, &self.streams.codecs);
        if member.is_lockstep {
            member.updates.push(update);
        } else {
            self.streams.apply(&update);
        }
    }

    /// When media of a call were last heard by any worker. None: the answers are on their way.
    pub(crate) fn ask_last_heard(&mut self, call: CallRef) -> Option<Nanos> {
        let heard = self.streams.last_heard(call);
        let Some(member) = &mut self.member else { return Some(heard) };
        member.ask_last_heard(call, heard, self.clock.now())
    }

    /// Ends a call: delivers its record once every worker has handed over the streams it has of it.
    pub(crate) fn end_call<S: Sink>(&mut self, ended: Box<EndedCall>, now: Nanos, sink: &mut S) {
        self.collect_streams(ended, Collected::Ended, now, sink);
    }

    /// Delivers a call's record with the streams that every worker has of it.
    pub(crate) fn collect_streams<S: Sink>(
        &mut self,
        mut ended: Box<EndedCall>,
        how: Collected,
        now: Nanos,
        sink: &mut S,
    ) {
        self.due.count_record();
        let Some(call) = ended.media else { return self.deliver_call(ended, Vec::new(), how, sink) };
        let streams = self.streams_of(call, how, sink);
        let figures = streams.into_figures(&mut ended.facts);
        let Some(member) = &mut self.member else { return self.deliver_call(ended, figures, how, sink) };
        if let Some((ended, figures)) = member.ask_streams(call, how, ended, figures, now) {
            self.deliver_call(ended, figures, how, sink);
        }
    }

    fn streams_of<S: Sink>(&mut self, call: CallRef, how: Collected, sink: &mut S) -> CallStreams {
        match how {
            Collected::Ended => self.end_streams(call, sink),
            Collected::SoFar => self.streams_so_far(call),
        }
    }

    /// Forwards a SIP message to the worker that owns its Call-ID; false when this one does and it can be
    /// handled now. `is_own`: a quality report goes to the owner of its own Call-ID, not of the call's.
    pub(crate) fn forward_sip(
        &mut self,
        hash: u64,
        is_own: bool,
        bytes: &[u8],
        hop: &Hop,
        frames: &[u64],
    ) -> bool {
        let Some(member) = &mut self.member else { return false };
        let order = self.order;
        let message =
            || ForwardedSip { order, is_own, hop: *hop, bytes: bytes.into(), frames: frames.into() };
        member.forward_sip(hash, message)
    }

    /// Hands a datagram to the workers that share it, and keeps it for the media stage of a team in lockstep;
    /// false when this worker handles it now. HOT: a branch.
    #[inline]
    pub(crate) fn share(&mut self, owner: TimerOwner, datagram: &Datagram<'_>) -> bool {
        let Some(member) = &mut self.member else { return false };
        if member.handles_media {
            return false;
        }
        if Trackers::<X>::sharing(owner) == Sharing::AllWorkers {
            member.send_datagram(owner, self.order, datagram);
        }
        if member.is_lockstep {
            member.held.push(owner, self.order.number, datagram, true);
        }
        member.is_lockstep
    }

    /// Handles all messages from other workers that have arrived.
    pub(crate) fn receive<S: Sink>(&mut self, sink: &mut S) {
        while let Some(member) = &mut self.member
            && let Some((sender, message)) = member.links.receive()
        {
            self.handle_message(sender, message, sink);
        }
    }

    fn handle_message<S: Sink>(&mut self, sender: usize, message: WorkerMessage, sink: &mut S) {
        let Self { member: Some(member), streams, .. } = self else { return };
        match message {
            WorkerMessage::Sip(forwarded) => member.sip.push(*forwarded),
            WorkerMessage::Datagram(shared) => self.handle_shared(&shared, sink),
            WorkerMessage::Reassembled(datagram) => member.reassembled.push(*datagram),
            WorkerMessage::TunnelFragment(fragment) => member.tunnel_fragments.push(*fragment),
            WorkerMessage::Codec(id, codec) => member.learn_codec(sender, id, codec),
            WorkerMessage::MediaUpdate(update) => {
                let update = member.translate(sender, &update, &mut streams.codecs);
                if member.is_lockstep {
                    member.updates.push(update);
                } else {
                    streams.apply(&update);
                }
            }
            WorkerMessage::AskLastHeard(call) => {
                member.links.send(sender, WorkerMessage::LastHeard(call, streams.last_heard(call)));
            }
            WorkerMessage::LastHeard(call, heard) => {
                if let Some(heard) = member.heard(call, heard) {
                    self.answer_last_heard(call, heard, sink);
                }
            }
            WorkerMessage::CollectStreams(call, how) => {
                let streams = self.streams_of(call, how, sink);
                if let Some(member) = &mut self.member {
                    member.links.send(sender, WorkerMessage::StreamsCollected(call, how, streams));
                }
            }
            WorkerMessage::StreamsCollected(call, how, streams) => {
                if let Some((ended, figures)) = member.streams_collected(call, how, streams) {
                    self.deliver_call(ended, figures, how, sink);
                }
            }
            WorkerMessage::LearnedEndpoint(learned) => streams.queue_learned(*learned),
        }
    }

    /// A datagram that another worker captured and all handle.
    fn handle_shared<S: Sink>(&mut self, shared: &SharedDatagram, sink: &mut S) {
        let SharedDatagram { owner, order, time, src, dst, ip_len, len, ref data, ref frames } = *shared;
        let datagram = Datagram { time, src, dst, ip_len, data, len, frames };
        match &mut self.member {
            Some(member) if member.is_lockstep => member.held.push(owner, order.number, &datagram, false),
            _ => self.datagram(owner, &datagram, false, sink),
        }
    }

    /// A SIP message that another worker forwarded, or one kept for its stage.
    fn handle_forwarded<S: Sink>(&mut self, forwarded: &ForwardedSip, sink: &mut S) {
        let ForwardedSip { order, is_own, hop, bytes, frames } = forwarded;
        self.order = *order;
        if let Ok(message) = Message::parse(bytes)
            && let Some(call_id) = message.call_id()
        {
            let call_id = if *is_own { call_id } else { owning_call_id(&message, call_id) };
            let hash = self.hasher.of(call_id);
            if *is_own {
                self.handle_transaction(&message, (call_id, hash), hop, frames, sink);
            } else {
                self.handle_sip(&message, (call_id, hash), hop, frames, sink);
            }
        }
    }

    /// Live: handles what other workers sent, and SIP messages that no earlier one can precede any more.
    /// `next`: no frame before that time follows. Our own next frame may be long after the last: what has
    /// waited since must not find its call timed out.
    #[inline(never)]
    pub(crate) fn receive_live<S: Sink>(&mut self, next: Nanos, sink: &mut S) {
        let Some(member) = &self.member else { return };
        member.links.publish(self.counters.turned_away() + self.external_drops);
        let next = next.max(self.clock.now());
        let until = member.links.reached_by_others().min(next).max(next.since(REORDER_WINDOW));
        self.receive(sink);
        let Some(member) = &mut self.member else { return };
        if member.sip.is_empty() {
            return;
        }
        member.sip.sort_by_key(|ForwardedSip { order, hop, .. }| (hop.time, *order));
        let ripe = member.sip.partition_point(|message| message.hop.time <= until);
        let ripe = ripe.max(member.sip.len().saturating_sub(MAX_WAITING));
        let messages: Vec<ForwardedSip> = member.sip.drain(..ripe).collect();
        messages.iter().for_each(|message| self.handle_forwarded(message, sink));
    }

    /// Live: sends what waits.
    #[inline(never)]
    pub(crate) fn flush_live(&mut self) {
        let (_, waits) = self.send_waiting();
        if let Some(member) = &mut self.member {
            member.is_live = true;
            if !waits {
                member.links.reached(self.clock.now());
            }
        }
    }

    /// Sends what waits. Whether anything was sent since the last time, and whether something still waits.
    pub(crate) fn send_waiting(&mut self) -> (bool, bool) {
        let Self { member: Some(member), streams, .. } = self else { return (false, false) };
        for learned in streams.unsent_learned.drain(..) {
            member.links.send_all(|| WorkerMessage::LearnedEndpoint(Box::new(learned)));
        }
        let waits = member.links.flush();
        (std::mem::take(&mut member.links.has_sent), waits)
    }

    /// Stops waiting for answers that are overdue.
    #[cold]
    pub(crate) fn give_up_on_overdue<S: Sink>(&mut self, sink: &mut S) {
        let now = self.clock.now();
        while let Some(member) = &mut self.member
            && let Some((until, call)) = member.overdue.pop_front_if(|(until, _)| *until <= now)
        {
            if let Some(heard) = member.give_up_heard(call, until) {
                self.answer_last_heard(call, heard, sink);
            } else if let Some((how, (ended, figures))) = member.give_up_streams(call, until) {
                self.deliver_call(ended, figures, how, sink);
            }
        }
    }

    /// Leaves the team: delivers the calls that still wait for other workers.
    pub(crate) fn leave_team<S: Sink>(&mut self, sink: &mut S) {
        let Some(member) = self.member.take() else { return };
        let ending: Vec<(Box<EndedCall>, Vec<EndedStream>)> = member.into_ending();
        for (ended, figures) in ending {
            self.deliver_call(ended, figures, Collected::Ended, sink);
        }
    }

    /// Lockstep: handles the SIP messages of a batch in frame order, those in `frames` and those from
    /// elsewhere; those released at the end of the input, in order of time.
    pub(crate) fn handle_batch_sip<S: Sink>(&mut self, frames: &[Frame<'_>], sink: &mut S) {
        let Some(member) = &mut self.member else { return };
        let mut messages = std::mem::take(&mut member.sip);
        let is_live = member.is_live;
        member.handles_sip = true;
        messages.sort_by_key(|ForwardedSip { order, hop, .. }| {
            // A message released at the end of the input has no frame number of its own.
            let number = if is_live { 0 } else { order.number };
            (number, hop.time, hop.src, hop.dst, *order)
        });
        let mut waiting = &messages[..];
        for frame in frames {
            while let Some((first, rest)) = waiting.split_first()
                && first.order.number < frame.number
            {
                self.handle_forwarded(first, sink);
                waiting = rest;
            }
            self.admit(frame, sink);
        }
        waiting.iter().for_each(|message| self.handle_forwarded(message, sink));
        messages.clear();
        if let Some(member) = &mut self.member {
            member.sip = messages;
            member.handles_sip = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use ringtap_model::{CallState, LinkType};

    use super::*;
    use crate::testing::{
        CALLEE, CALLEE_RTP, CALLER, CALLER_RTP, Records, at, end, fragment, ip, request, response, rtp, udp,
    };
    use crate::{Config, RoundRobin, team};

    type Packet = (u64, &'static str, &'static str, Vec<u8>);

    fn config() -> Config {
        Config { max_calls: 64, max_streams: 64, ..Config::default() }
    }

    fn frames(packets: &[Packet]) -> Vec<(u64, Vec<u8>)> {
        packets.iter().map(|(millis, src, dst, bytes)| (*millis, udp(end(src), end(dst), bytes))).collect()
    }

    fn frame((index, (millis, data)): (usize, &(u64, Vec<u8>))) -> Frame<'_> {
        let (link, wire_len) = (LinkType(101), data.len() as u32);
        Frame { time: at(*millis), number: index as u64 + 1, link, wire_len, data }
    }

    /// The records of a team in lockstep, as text, in an order that does not depend on who made them.
    fn in_lockstep(packets: &[Packet], workers: usize) -> Vec<String> {
        let datas = frames(packets);
        let frames: Vec<Frame<'_>> = datas.iter().enumerate().map(frame).collect();
        let (mut records, mut team) = (Records::default(), RoundRobin::new(&config(), workers));
        team.batch(&frames, &mut records);
        team.close(&mut records);
        let calls = records.calls.iter().map(|record| format!("{record:?}"));
        let mut all: Vec<String> =
            calls.chain(records.streams.iter().map(|record| format!("{record:?}"))).collect();
        all.sort();
        all
    }

    /// Calls behind a NAT with media both ways, from many ports so that every worker has some, and RTCP.
    fn traffic() -> Vec<Packet> {
        let mut packets = Vec::new();
        let nats = ["203.0.113.9:7000", "203.0.113.9:7002", "203.0.113.10:7004", "203.0.113.11:7006"];
        let ports = ["198.51.100.1:6000", "198.51.100.1:6002", "198.51.100.1:6004", "198.51.100.1:6006"];
        for (index, (nat, port)) in nats.into_iter().zip(ports).enumerate() {
            let (id, start) = (format!("call {index}"), 100 * index as u64);
            let invite = request("INVITE", 1).call_id(&id).sdp("10.0.0.1:4000", "RTP/AVP 8");
            packets.push((start, CALLER, CALLEE, invite.bytes()));
            let answer = response("200 OK", "INVITE", 1).call_id(&id).sdp(port, "RTP/AVP 8");
            packets.push((start + 500, CALLEE, CALLER, answer.bytes()));
            for number in (0..100u16).filter(|number| number % 17 != 3) {
                let millis = start + 1000 + 20 * u64::from(number);
                let (timestamp, ssrc) = (u32::from(number) * 160, 10 * index as u32);
                packets.push((millis, nat, port, rtp(8, number, timestamp, ssrc)));
                packets.push((millis + 3, "198.51.100.77:9000", nat, rtp(8, number, timestamp, ssrc + 1)));
            }
            let report =
                [0x81c9_0007u32, 10 * index as u32 + 1, 10 * index as u32, 0x4000_0005, 99, 80, 0, 0];
            let report: Vec<u8> = report.iter().flat_map(|word| word.to_be_bytes()).collect();
            packets.push((start + 2500, port, nat, report));
            packets.push((start + 4000, CALLER, CALLEE, request("BYE", 2).call_id(&id).bytes()));
        }
        packets.sort_by_key(|packet| packet.0);
        packets
    }

    #[test]
    fn records_do_not_depend_on_the_number_of_workers() {
        let packets = traffic();
        let one = in_lockstep(&packets, 1);
        assert_eq!(one.len(), 4);
        // Both streams of each call: the second by the endpoint learned from the first.
        assert!(one.iter().all(|call| call.matches("rtcp_lost: Some(5)").count() == 1), "{}", one[0]);
        let directed = ["Callee), src:", "Caller), src:"];
        let is_both_ways = |call: &String| directed.iter().all(|end| call.matches(end).count() == 1);
        assert!(one.iter().all(is_both_ways), "{}", one[0]);
        for workers in 2..=5 {
            assert_eq!(in_lockstep(&packets, workers), one, "{workers} workers");
        }
    }

    /// Of two reports in one batch, one precedes the stream that it concerns. Other ports send the reports.
    #[test]
    fn all_workers_handle_a_report_in_its_place_among_the_packets() {
        let senders = ["192.0.2.1:4000", "192.0.2.1:4002", "192.0.2.1:4004", "192.0.2.1:4006"];
        let receivers = ["198.51.100.1:6000", "198.51.100.1:6002", "198.51.100.1:6004", "198.51.100.1:6006"];
        let mut packets: Vec<Packet> = Vec::new();
        for (ssrc, (sender, receiver)) in (0..).zip(senders.into_iter().zip(receivers)) {
            let invite = request("INVITE", 1).call_id(receiver).sdp(sender, "RTP/AVP 8");
            packets.push((0, CALLER, CALLEE, invite.bytes()));
            let report = [0x81c9_0007u32, 9, ssrc, 7, 99, 80, 0, 0].map(u32::to_be_bytes).concat();
            packets.push((10, receiver, sender, report.clone()));
            for number in 0..10u16 {
                let packet = rtp(8, number, u32::from(number) * 160, ssrc);
                packets.push((20 + 20 * u64::from(number), sender, receiver, packet));
            }
            packets.push((300, receiver, sender, report));
        }
        packets.sort_by_key(|packet| packet.0);
        let one = in_lockstep(&packets, 1);
        assert_eq!(one.len(), 4);
        assert!(
            one.iter().all(|call| call.contains("rtcp_reports: Some(1), rtcp_lost: Some(7)")),
            "{}",
            one[0]
        );
        for workers in 2..=5 {
            assert_eq!(in_lockstep(&packets, workers), one, "{workers} workers");
        }
    }

    /// RFC 791 section 3.2: which worker captured a fragment says nothing about who has the sender's other
    /// packets.
    #[test]
    fn a_team_counts_and_reassembles_as_one_engine_does() {
        let mut datas = Vec::new();
        for id in 0..6u16 {
            let invite =
                request("INVITE", 1).call_id(&format!("call {id}")).sdp(CALLER_RTP, "RTP/AVP 8").bytes();
            let mut datagram = vec![0x13, 0xc4, 0x13, 0xc4];
            datagram.extend((8 + invite.len() as u16).to_be_bytes());
            datagram.extend([0, 0]);
            datagram.extend(&invite);
            // Two of them inside an IP-in-IP tunnel (RFC 2003) that is itself cut.
            let [first, second] = [(0, true, &datagram[..160]), (160, false, &datagram[160..])]
                .map(|(offset, more, part)| fragment(17, id, offset, more, part));
            for (offset, part) in [(0, first), (1, second)] {
                if id < 2 {
                    let outer = 100 + 2 * id + offset;
                    datas.push((u64::from(id), fragment(4, outer, 0, true, &part[..48])));
                    datas.push((u64::from(id), fragment(4, outer, 48, false, &part[48..])));
                } else {
                    datas.push((u64::from(id), part));
                }
            }
            datas.push((u64::from(id), ip(1, &[8, 0, 0, 0, 0, 1, 0, 1])));
        }
        // Reassembled, they are too short for a TCP header.
        datas.push((6, fragment(6, 6, 0, true, &[0; 8])));
        datas.push((6, fragment(6, 6, 8, false, &[0; 4])));
        let frames: Vec<Frame<'_>> = datas.iter().enumerate().map(frame).collect();
        let counted = |workers| {
            let (mut records, mut team) = (Records::default(), RoundRobin::new(&config(), workers));
            team.batch(&frames, &mut records);
            team.close(&mut records);
            (team.counters(), records.calls.len())
        };
        let mut engine = Engine::new(config());
        let mut records = Records::default();
        engine.batch(&frames, &mut records);
        engine.close(&mut records);
        assert_eq!((records.calls.len(), engine.counters().fragments), (6, 22));
        assert_eq!(engine.counters().skipped.iter().sum::<u64>(), 1);
        for workers in 1..=4 {
            assert_eq!(counted(workers), (engine.counters().clone(), 6), "{workers} workers");
        }
    }

    /// A team that runs live: who captured a packet says nothing about who owns its call.
    struct Live {
        team: Vec<Engine>,
        records: Records,
        number: u64,
    }

    impl Live {
        fn new(workers: usize) -> Self {
            Self { team: Engine::team(&config(), workers), records: Records::default(), number: 0 }
        }

        fn capture(&mut self, worker: usize, (millis, src, dst, bytes): &Packet) {
            let data = udp(end(src), end(dst), bytes);
            self.number += 1;
            let (link, wire_len) = (LinkType(101), data.len() as u32);
            let frame = Frame { time: at(*millis), number: self.number, link, wire_len, data: &data };
            self.team[worker].batch(&[frame], &mut self.records);
        }

        fn owner(&self, call_id: &str) -> usize {
            let engine = &self.team[0];
            let hash = engine.hasher.of(call_id.as_bytes());
            engine.member.as_ref().map_or(0, |member| member.links.owner(hash))
        }

        fn tick(&mut self, millis: u64) {
            for _ in 0..3 {
                self.team.iter_mut().for_each(|engine| engine.tick(at(millis), &mut self.records));
            }
        }

        fn close(mut self) -> Records {
            let Self { team: engines, records, .. } = &mut self;
            team::close(|stage| {
                engines.iter_mut().fold(false, |more, engine| engine.stage(stage, &[], records) | more)
            });
            self.records
        }
    }

    fn call_of(id: &str) -> [Packet; 2] {
        let invite = request("INVITE", 1).call_id(id).sdp(CALLER_RTP, "RTP/AVP 8");
        let answer = response("200 OK", "INVITE", 1).call_id(id).sdp(CALLEE_RTP, "RTP/AVP 8");
        [(0, CALLER, CALLEE, invite.bytes()), (100, CALLEE, CALLER, answer.bytes())]
    }

    #[test]
    fn a_message_that_another_worker_captured_later_is_handled_in_its_place() {
        // Whichever worker owns the call.
        for id in ["a", "b", "c", "d"] {
            let mut live = Live::new(2);
            let [invite, answer] = call_of(id);
            live.capture(1, &answer);
            live.capture(0, &invite);
            live.tick(1000);
            let records = live.close();
            let (call, _) = &records.calls[0];
            assert_eq!(
                (call.state, call.invite, call.answer),
                (CallState::Active, Some(at(0)), Some(at(100)))
            );
            assert_eq!(call.src.to_string(), CALLER);
        }
    }

    #[test]
    fn a_message_waits_a_quarter_of_a_second_for_earlier_ones_of_a_silent_worker() {
        let mut live = Live::new(2);
        let [invite, _] = call_of("a");
        let owner = live.owner("a");
        live.capture(owner, &invite);
        for (millis, calls) in [(249, 0), (250, 1)] {
            live.team[owner].tick(at(millis), &mut live.records);
            assert_eq!(live.team[owner].under_way().0, calls, "{millis} ms");
        }
    }

    #[test]
    fn media_of_one_worker_are_in_the_record_of_a_call_that_another_owns() {
        for id in ["a", "b", "c", "d"] {
            let mut live = Live::new(2);
            for packet in call_of(id) {
                live.capture(0, &packet);
            }
            live.tick(500);
            for number in 0..50u16 {
                let millis = 1000 + 20 * u64::from(number);
                let packet = rtp(8, number, u32::from(number) * 160, 7);
                live.capture(1, &(millis, CALLER_RTP, CALLEE_RTP, packet));
            }
            live.capture(0, &(3000, CALLER, CALLEE, request("BYE", 2).call_id(id).bytes()));
            for second in 3..40 {
                live.tick(1000 * second);
            }
            let (call, streams) = &live.records.calls[0];
            assert_eq!((call.state, streams.len()), (CallState::Completed, 1), "call {id}");
            assert_eq!(streams[0].packets, 50);
        }
    }

    #[test]
    fn media_that_another_worker_hears_keep_a_call_alive() {
        for id in ["a", "b", "c", "d"] {
            let mut live = Live::new(2);
            live.team = Engine::team(&Config { idle_limit: Nanos::from_secs(10), ..config() }, 2);
            for packet in call_of(id) {
                live.capture(0, &packet);
            }
            live.tick(500);
            for second in 1..30u16 {
                let packet = rtp(8, second, u32::from(second) * 8000, 7);
                live.capture(1, &(1000 * u64::from(second), CALLER_RTP, CALLEE_RTP, packet));
                live.tick(1000 * u64::from(second));
            }
            assert!(live.records.calls.is_empty(), "call {id}");
            for second in 30..60 {
                live.tick(1000 * second);
            }
            assert_eq!(live.records.calls[0].0.state, CallState::Timeout, "call {id}");
        }
    }

    /// A call without a BYE: each worker tells what it has of it when it falls silent, and when it ends.
    #[test]
    fn the_record_of_a_silent_call_does_not_depend_on_the_number_of_workers() {
        let mut packets = traffic();
        packets.retain(|(_, _, _, bytes)| !bytes.starts_with(b"BYE"));
        let again = |minute: u64| (60_000 * minute, "192.0.2.200:9", "192.0.2.201:9", b"time".to_vec());
        packets.extend((1..30).map(again));
        packets.push((1_800_000, CALLER, CALLEE, request("BYE", 2).call_id("call 1").bytes()));
        let datas = frames(&packets);
        let run = |workers: usize| {
            let (mut records, mut team) = (Records::default(), RoundRobin::new(&config(), workers));
            let frames: Vec<Frame<'_>> = datas.iter().enumerate().map(frame).collect();
            frames.chunks(16).for_each(|batch| team.batch(batch, &mut records));
            team.close(&mut records);
            records.lost.sort_by(|one, other| one.0.call_id.cmp(&other.0.call_id));
            records.calls.sort_by(|one, other| one.0.call_id.cmp(&other.0.call_id));
            (records.lost, records.calls)
        };
        let (lost, calls) = run(1);
        assert!(lost.iter().all(|(call, streams)| call.state == CallState::Timeout && streams.len() == 2));
        let states: Vec<CallState> = calls.iter().map(|(call, _)| call.state).collect();
        let timeout = CallState::Timeout;
        assert_eq!((lost.len(), states), (4, vec![timeout, CallState::Completed, timeout, timeout]));
        for workers in 2..5 {
            assert_eq!(run(workers), (lost.clone(), calls.clone()), "{workers} workers");
        }
    }
}

//! Which call a stream belongs to.

use std::net::IpAddr;

use ringtap_model::{Endpoint, Nanos};

use super::details::NONE;
use super::endpoints::OwnerList;
use super::flow::{FAX, PROVISIONAL, SPLIT};
use super::replicas::{CallReplica, FlowEnds, Leg, LegSides};
use super::{CallStreams, EndedStream, MAX_LEGS, StreamTable};
use crate::table::slots::Ticket;
use crate::table::timers::PrefetchStage;
use crate::update::{CallRef, InputOrder, LearnedEndpoint, MediaUpdate, PayloadTypes, Side};

/// How sure a flow's call is: both ends announced, on opposite sides.
const BOTH_ENDS: u8 = 8;
const DST_ONLY: u8 = 4;
const SRC_ONLY: u8 = 2;
/// The unannounced end is where that side's signalling comes from.
const SAME_HOST: u8 = 1;
/// Neither end announced, but both known to be behind NAT.
const NATTED: u8 = 1;
/// Streams that one description is offered: twice the newest of one endpoint.
const MOST_OFFERED: usize = 128;
/// Endpoints learned between two ticks of the clock; more is an attack.
const MAX_LEARNED: usize = 1 << 16;

impl StreamTable {
    /// Takes what signalling says of a call.
    pub(crate) fn apply(&mut self, update: &MediaUpdate) {
        let Some(call) = self.replicas.find_or_begin(update.call, update.order, update.status) else {
            self.refuse(update.call, update.ends.len());
            return;
        };
        let Some(view) = self.replicas.get_mut(call) else { return };
        view.status = update.status;
        if update.status.may_skip() {
            // A pause in its RTP may be T.38, or a key that a gateway took out.
            for slot in &view.flows {
                self.flows.flow_mut(*slot).flags |= FAX;
            }
        }
        let mut room = MOST_OFFERED;
        for (endpoint, types) in &update.ends {
            if self.add_leg(call, *endpoint, update.side, Some(types)) {
                self.find_twin(call, *endpoint, update.side);
                self.announced(*endpoint, call, update.order, &mut room);
            }
            if let Some(natted) = self.add_natted(call, *endpoint, update.side) {
                self.announced(natted, call, update.order, &mut room);
            }
        }
    }

    /// Applies what was learned from streams since the last tick, in an order that is the same for every
    /// worker. What is learned by that is for the next tick. True if there was anything.
    #[cold]
    pub(crate) fn apply_learned(&mut self) -> bool {
        let mut queued = std::mem::take(&mut self.learned);
        queued.sort_by_key(LearnedEndpoint::rank);
        for learned in &queued {
            let Some(call) = self.replicas.find(learned.call) else { continue };
            if self.add_leg(call, learned.endpoint, learned.side, None) {
                let mut room = MOST_OFFERED;
                self.announced(learned.endpoint, call, learned.order, &mut room);
            }
        }
        !queued.is_empty()
    }

    /// Queues an endpoint that this worker or another learned, for the next tick of the clock.
    pub(crate) fn queue_learned(&mut self, learned: LearnedEndpoint) {
        if self.learned.len() < MAX_LEARNED {
            self.learned.push(learned);
        } else {
            self.counts.legs_refused += 1;
        }
    }

    /// When one of a call's streams, or RTCP about one, was last heard.
    pub(crate) fn last_heard(&self, call: CallRef) -> Nanos {
        let view = self.replicas.find(call).and_then(|slot| self.replicas.get(slot));
        let retired = view.into_iter().flat_map(|view| &view.retired).map(EndedStream::last);
        let flows = view.into_iter().flat_map(|view| &view.flows);
        let heard = flows.map(|flow| self.last(*flow).max(self.flows.details(*flow).rtcp));
        retired.chain(heard).fold(Nanos::ZERO, Nanos::max)
    }

    /// RTCP about the stream in a slot was heard.
    pub(crate) fn heard_rtcp(&mut self, slot: u32, time: Nanos) {
        let (_, details) = self.flows.both_mut(slot);
        details.rtcp = details.rtcp.max(time);
    }

    /// A call is about to end: asks for what that will touch.
    pub(crate) fn prefetch_call(&self, call: CallRef, stage: PrefetchStage) {
        let view = || self.replicas.find(call).and_then(|slot| self.replicas.get(slot));
        match stage {
            PrefetchStage::Farthest => self.replicas.prefetch_index(call),
            PrefetchStage::Far => self.replicas.prefetch(call),
            PrefetchStage::Middle => {
                let Some(view) = view() else { return };
                view.legs.iter().for_each(ringtap_cpu::prefetch);
                view.flows.first().into_iter().for_each(ringtap_cpu::prefetch);
            }
            PrefetchStage::Near => {
                let Some(view) = view() else { return };
                for leg in &view.legs {
                    self.endpoints.prefetch(leg.node);
                    self.endpoints.prefetch_index(leg.endpoint);
                }
                view.flows.iter().for_each(|flow| self.flows.prefetch_slot(*flow));
            }
            PrefetchStage::Nearest => {
                let Some(view) = view() else { return };
                view.legs.iter().for_each(|leg| self.endpoints.prefetch_entry(leg.node));
                for flow in &view.flows {
                    self.flows.prefetch_index_of(*flow);
                    let nodes = self.flows.get(*flow).map(|(_, details)| details.nodes);
                    nodes.into_iter().flatten().for_each(|node| self.endpoints.prefetch(node));
                }
            }
        }
    }

    /// A stream's timer is about to fire: asks for the stream.
    pub(crate) fn prefetch_stream(&self, ticket: Ticket) {
        self.flows.prefetch_slot(ticket.slot);
    }

    /// Ends a call: takes its streams, and gives back all that it held.
    pub(crate) fn end_streams(&mut self, call: CallRef) -> CallStreams {
        let Some(view) = self.replicas.remove(call) else { return CallStreams::default() };
        let is_at_twin = self.leave_twin(&view);
        for node in view.legs.iter().map(|leg| leg.node).chain(view.natted.iter().map(|leg| leg.node)) {
            self.endpoints.remove(node);
        }
        let mut figures = self.ended.take(view.retired.len() + view.flows.len());
        figures.extend(view.retired);
        figures.extend(view.flows.iter().filter_map(|flow| self.end(*flow)));
        CallStreams { figures, is_at_twin }
    }

    /// The streams of a call as if it ended now.
    pub(crate) fn figures_of(&self, call: CallRef) -> CallStreams {
        let view = self.replicas.find(call).and_then(|slot| self.replicas.get(slot));
        let retired = view.into_iter().flat_map(|view| view.retired.iter().cloned());
        let flows = view.into_iter().flat_map(|view| &view.flows);
        let figures = retired.chain(flows.filter_map(|flow| self.figures(*flow))).collect();
        CallStreams { figures, is_at_twin: view.is_some_and(|view| self.is_at_twin(view)) }
    }

    /// Every worker refuses the same; its owner counts it.
    #[cold]
    fn refuse(&mut self, call: CallRef, legs: usize) {
        if call.worker() == self.worker {
            self.counts.legs_refused += legs as u64;
        }
    }

    /// Looks for the call of a flow among those that announced its ends.
    pub(super) fn find_call(&mut self, slot: u32, order: InputOrder) {
        let ends = self.ends_of(slot);
        // Of the end that it was found by, its side is known. A call that has both is under both: the other
        // end is looked for in those under the end that fewer calls share.
        let [by_src, by_dst] = [ends.src, ends.dst].map(|end| self.endpoints.calls(end).count());
        let is_dst_rarer = by_dst <= by_src;
        let under_dst =
            self.endpoints.calls(ends.dst).map(|(call, side)| (call, None, Some(side), is_dst_rarer));
        let under_src =
            self.endpoints.calls(ends.src).map(|(call, side)| (call, Some(side), None, !is_dst_rarer));
        // The best explanation, the newest call first among equals: a port that calls share is told by the
        // other end.
        let mut best = ((0, false), None);
        for (call, from, to, has_other) in under_dst.chain(under_src) {
            let Some(view) = self.replicas.get(call) else { continue };
            let other = |end| if has_other { view.sides(end) } else { LegSides::default() };
            let from = from.map_or_else(|| other(ends.src), LegSides::one);
            let to = to.map_or_else(|| other(ends.dst), LegSides::one);
            // A call that is over comes last among equals.
            let merit = (score([from, to], ends.ips, view).0, !view.status.is_over);
            if merit > best.0 {
                best = (merit, Some(call));
            }
            if merit == (BOTH_ENDS, true) {
                break;
            }
        }
        let found =
            best.1.map(|call| self.first_of_twins(call, &ends, best.0.0)).or_else(|| self.find_natted(&ends));
        if let Some(call) = found {
            self.offer(slot, call, order);
        }
    }

    /// A call announced an endpoint: flows that run over it may be its own, as far as there is room for more.
    fn announced(&mut self, endpoint: Endpoint, call: u32, order: InputOrder, room: &mut usize) {
        let flows: Vec<u32> = self.endpoints.owners(endpoint, OwnerList::Flows).take(*room).collect();
        *room -= flows.len();
        for slot in flows {
            self.offer(slot, call, order);
        }
    }

    /// The ends of a flow by their numbers: its own entries stand under them, unless the table was full.
    fn ends_of(&self, slot: u32) -> FlowEnds {
        let details = self.flows.details(slot);
        let key = &details.slow.key;
        let number = |node: u32, end: Endpoint| match node {
            NONE => self.endpoints.find(end),
            node => self.endpoints.number(node),
        };
        let [src, dst] = details.nodes;
        FlowEnds { src: number(src, key.src), dst: number(dst, key.dst), ips: [key.src.ip, key.dst.ip] }
    }

    /// Gives a flow to a call if that call explains it better than the one that has it.
    fn offer(&mut self, slot: u32, call: u32, order: InputOrder) {
        let ends = self.ends_of(slot);
        let Some(view) = self.replicas.get(call) else { return };
        let sides = [view.sides(ends.src), view.sides(ends.dst)];
        let (mut score, mut side) = score(sides, ends.ips, view);
        if score == 0 && self.find_natted(&ends) == Some(call) {
            (score, side) = (NATTED, view.natted_sender(&ends));
        }
        if score == 0 {
            return;
        }
        let (flow, details) = self.flows.both_mut(slot);
        if details.call == call {
            details.score = details.score.max(score);
            details.side = side.or(details.side);
        } else if let Some(owner) = details.call() {
            let over = self.replicas.get(owner).is_none_or(|owner| owner.status.is_over);
            if over && score >= details.score && !view.status.is_over {
                // The owner has released the call: what comes from now on is the new call's.
                flow.flags |= SPLIT;
                return;
            }
            let is_first = || self.replicas.get(owner).is_some_and(|owner| view.is_first_of_twins(owner));
            if score < details.score || score == details.score && !is_first() {
                return;
            }
            if let Some(owner) = self.replicas.get_mut(owner) {
                owner.flows.retain(|other| *other != slot);
            }
            self.bind(slot, call, score, side, order);
        } else {
            self.bind(slot, call, score, side, order);
        }
        self.refresh_type(slot);
    }

    fn bind(&mut self, slot: u32, call: u32, score: u8, side: Option<Side>, order: InputOrder) {
        let Some(view) = self.replicas.get_mut(call) else { return };
        let (flow, details) = self.flows.both_mut(slot);
        details.call = call;
        details.score = score;
        details.side = side;
        flow.flags &= !PROVISIONAL;
        if view.status.may_skip() {
            flow.flags |= FAX;
        }
        let (key, serial) = (details.slow.key, details.serial);
        let place = view.flows.partition_point(|other| self.flows.details(*other).serial < serial);
        view.flows.insert(place, slot);
        // RFC 4961: what is sent from here is answered to here, whatever SDP says from behind a NAT.
        if score < BOTH_ENDS {
            let (known, endpoint) = if score >= DST_ONLY { (key.dst, key.src) } else { (key.src, key.dst) };
            let side = view.legs.iter().find(|leg| leg.endpoint == known).map(|leg| leg.side.other());
            let (born, call) = (view.born, view.call);
            if let Some(side) = side {
                let learned = LearnedEndpoint { order, born, call, endpoint, side };
                self.queue_learned(learned);
                if self.workers > 1 && self.unsent_learned.len() < MAX_LEARNED {
                    self.unsent_learned.push(learned);
                }
            }
        }
    }

    /// Enters an endpoint of a call, with the types that SDP names for it, or as learned from a stream. True
    /// when it is new to the call.
    fn add_leg(&mut self, call: u32, endpoint: Endpoint, side: Side, types: Option<&PayloadTypes>) -> bool {
        let Some(view) = self.replicas.get_mut(call) else { return false };
        if let Some(leg) = view.legs.iter_mut().find(|leg| leg.endpoint == endpoint && leg.side == side) {
            if let Some(types) = types {
                leg.announce(types.clone());
            }
            return types.is_some();
        }
        let name = view.call;
        let node = match view.legs.len() {
            ..MAX_LEGS => self.endpoints.add_call(endpoint, call, side),
            _ => None,
        };
        let Some(node) = node else {
            self.refuse(name, 1);
            return false;
        };
        let types = types.cloned().unwrap_or_default();
        let number = self.endpoints.number(node).unwrap_or(NONE);
        view.add(Leg::new((endpoint, number), node, side, types));
        true
    }
}

/// How well a call explains a flow whose ends are its own on these sides, and which side sends.
pub(super) fn score(
    [from, to]: [LegSides; 2],
    [src, dst]: [IpAddr; 2],
    call: &CallReplica,
) -> (u8, Option<Side>) {
    match (from.first, to.first) {
        (Some(first_from), Some(first_to)) => {
            // Relays may announce one endpoint for both sides; opposite sides are the plain case.
            let opposite = from.caller && to.callee || from.callee && to.caller;
            let side = if first_from != first_to { Some(first_from) } else { None };
            (if opposite { BOTH_ENDS } else { BOTH_ENDS - 1 }, side)
        }
        (None, Some(to)) => {
            let host = call.host(to.other());
            (DST_ONLY + if host == src { SAME_HOST } else { 0 }, Some(to.other()))
        }
        (Some(from), None) => {
            let host = call.host(from.other());
            (SRC_ONLY + if host == dst { SAME_HOST } else { 0 }, Some(from))
        }
        (None, None) => (0, None),
    }
}

//! Which call a stream belongs to.

use ringtap_model::{Endpoint, Nanos};

use super::endpoints::OwnerList;
use super::flow::{FAX, FlowKey, PROVISIONAL, SPLIT};
use super::replicas::{CallReplica, Leg};
use super::{EndedStream, MAX_LEGS, StreamTable};
use crate::table::slots::Ticket;
use crate::table::timers::PrefetchStage;
use crate::update::{CallRef, InputOrder, LearnedEndpoint, MediaUpdate, PayloadTypes, Side};

/// How sure a flow's call is: both ends announced, on opposite sides.
const BOTH_ENDS: u8 = 8;
const DST_ONLY: u8 = 4;
const SRC_ONLY: u8 = 2;
/// The unannounced end is where that side's signalling comes from.
const SAME_HOST: u8 = 1;
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
        if update.status.fax.is_some() {
            // A pause in its RTP may be T.38.
            for slot in &view.flows {
                self.flows.flow_mut(*slot).flags |= FAX;
            }
        }
        for (endpoint, types) in &update.ends {
            if self.add_leg(call, *endpoint, update.side, Some(types)) {
                self.announced(*endpoint, call, update.order);
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
                self.announced(learned.endpoint, call, learned.order);
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

    /// When one of a call's streams was last heard.
    pub(crate) fn last_heard(&self, call: CallRef) -> Nanos {
        let flows = self.replicas.find(call).and_then(|slot| self.replicas.get(slot)).map(|view| &view.flows);
        flows.into_iter().flatten().map(|flow| self.last(*flow)).fold(Nanos::ZERO, Nanos::max)
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
    pub(crate) fn end_streams(&mut self, call: CallRef) -> Vec<EndedStream> {
        let Some(view) = self.replicas.remove(call) else { return Vec::new() };
        for leg in &view.legs {
            self.endpoints.remove(leg.node);
        }
        let mut figures = view.retired;
        figures.extend(view.flows.iter().filter_map(|flow| self.end(*flow)));
        figures
    }

    /// The streams of a call as if it ended now.
    pub(crate) fn figures_of(&self, call: CallRef) -> Vec<EndedStream> {
        let view = self.replicas.find(call).and_then(|slot| self.replicas.get(slot));
        let retired = view.into_iter().flat_map(|view| view.retired.iter().cloned());
        let flows = view.into_iter().flat_map(|view| &view.flows);
        retired.chain(flows.filter_map(|flow| self.figures(*flow))).collect()
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
        let key = self.flows.details(slot).slow.key;
        let candidates: Vec<u32> = self
            .endpoints
            .owners(key.dst, OwnerList::Calls)
            .chain(self.endpoints.owners(key.src, OwnerList::Calls))
            .collect();
        // The best explanation, the newest call first among equals: a port that calls share is told by the
        // other end.
        let mut best = ((0, false), None);
        for call in candidates {
            // A call that is over comes last among equals.
            let merit = self
                .replicas
                .get(call)
                .map_or((0, false), |view| (score(&key, view).0, !view.status.is_over));
            if merit > best.0 {
                best = (merit, Some(call));
            }
        }
        if let (_, Some(call)) = best {
            self.offer(slot, call, order);
        }
    }

    /// A call announced an endpoint: flows that run over it may be its own.
    fn announced(&mut self, endpoint: Endpoint, call: u32, order: InputOrder) {
        let flows: Vec<u32> = self.endpoints.owners(endpoint, OwnerList::Flows).collect();
        for slot in flows {
            self.offer(slot, call, order);
        }
    }

    /// Gives a flow to a call if that call explains it better than the one that has it.
    fn offer(&mut self, slot: u32, call: u32, order: InputOrder) {
        let Some(view) = self.replicas.get(call) else { return };
        let (flow, details) = self.flows.both_mut(slot);
        let (score, side) = score(&details.slow.key, view);
        if score == 0 {
            return;
        }
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
            if score <= details.score {
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
        if view.status.fax.is_some() {
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
                leg.types = types.clone();
            }
            return types.is_some();
        }
        let name = view.call;
        let node = match view.legs.len() {
            ..MAX_LEGS => self.endpoints.add(endpoint, OwnerList::Calls, call),
            _ => None,
        };
        let Some(node) = node else {
            self.refuse(name, 1);
            return false;
        };
        let types = types.cloned().unwrap_or_default();
        view.legs.push(Leg { endpoint, node, side, types });
        true
    }
}

/// How well a call explains a flow, and which side sends.
fn score(key: &FlowKey, call: &CallReplica) -> (u8, Option<Side>) {
    let sides = |end: Endpoint| call.legs.iter().filter(move |leg| leg.endpoint == end).map(|leg| leg.side);
    let to = sides(key.dst).next();
    let from = sides(key.src).next();
    match (from, to) {
        (Some(from), Some(to)) => {
            // Relays may announce one endpoint for both sides; opposite sides are the plain case.
            let opposite = sides(key.src).any(|from| sides(key.dst).any(|to| from != to));
            let side = if from != to { Some(from) } else { None };
            (if opposite { BOTH_ENDS } else { BOTH_ENDS - 1 }, side)
        }
        (None, Some(to)) => {
            let host = call.host(to.other());
            (DST_ONLY + if host == key.src.ip { SAME_HOST } else { 0 }, Some(to.other()))
        }
        (Some(from), None) => {
            let host = call.host(from.other());
            (SRC_ONLY + if host == key.dst.ip { SAME_HOST } else { 0 }, Some(from))
        }
        (None, None) => (0, None),
    }
}

//! Which call a stream belongs to.

use ringtap_model::Endpoint;

use super::flow::{FAX, FlowKey, PROVISIONAL, SPLIT};
use super::{CodecId, List, MAX_LEGS, Media};
use crate::calls::{CallEntry, Calls, Leg, Side};

/// How sure a flow's call is: both ends announced, on opposite sides.
const BOTH_ENDS: u8 = 8;
const DST_ONLY: u8 = 4;
const SRC_ONLY: u8 = 2;
/// The unannounced end is where that side's signalling comes from.
const SAME_HOST: u8 = 1;

impl Media {
    /// Looks for the call of a flow among those that announced its ends.
    pub(super) fn find_call(&mut self, slot: u32, calls: &mut Calls) {
        let key = self.flows[slot].0.key;
        let candidates: Vec<u32> = self
            .endpoints
            .owners(key.dst, List::Calls)
            .chain(self.endpoints.owners(key.src, List::Calls))
            .collect();
        // The best explanation, the newest call first among equals: a port that calls share is told by the other end.
        let mut best = ((0, false), None);
        for call in candidates {
            // A call that is over comes last among equals.
            let merit = calls.get(call).map_or((0, false), |entry| (score(&key, entry).0, !entry.is_over()));
            if merit > best.0 {
                best = (merit, Some(call));
            }
        }
        if let (_, Some(call)) = best {
            self.offer(slot, call, calls);
        }
    }

    /// A call announced an endpoint: flows that run over it may be its own.
    pub(crate) fn announced(&mut self, endpoint: Endpoint, call: u32, calls: &mut Calls) {
        let flows: Vec<u32> = self.endpoints.owners(endpoint, List::Flows).collect();
        for slot in flows {
            self.offer(slot, call, calls);
        }
    }

    /// Gives a flow to a call if that call explains it better than the one that has it.
    fn offer(&mut self, slot: u32, call: u32, calls: &mut Calls) {
        let Some(entry) = calls.get(call) else { return };
        let (flow, cold) = &mut self.flows[slot];
        let (score, side) = score(&flow.key, entry);
        if score == 0 {
            return;
        }
        if cold.call == call {
            cold.score = cold.score.max(score);
            cold.side = side.or(cold.side);
        } else if let Some(owner) = cold.call() {
            let over = calls.get(owner).is_none_or(CallEntry::is_over);
            if over && score >= cold.score && !entry.is_over() {
                // The owner has released the call: what comes from now on is the new call's.
                flow.flags |= SPLIT;
                return;
            }
            if score <= cold.score {
                return;
            }
            if let Some(owner) = calls.get_mut(owner) {
                owner.flows.retain(|other| *other != slot);
            }
            self.bind(slot, call, score, side, calls);
        } else {
            self.bind(slot, call, score, side, calls);
        }
        self.refresh_type(slot, calls);
    }

    fn bind(&mut self, slot: u32, call: u32, score: u8, side: Option<Side>, calls: &mut Calls) {
        let (flow, cold) = &mut self.flows[slot];
        cold.call = call;
        cold.score = score;
        cold.side = side;
        flow.flags &= !PROVISIONAL;
        let (key, serial) = (flow.key, cold.serial);
        let Some(entry) = calls.get(call) else { return };
        if entry.fax.is_some() {
            self.flows[slot].0.flags |= FAX;
        }
        let Some(entry) = calls.get_mut(call) else { return };
        let place = entry.flows.partition_point(|other| self.flows[*other].1.serial < serial);
        entry.flows.insert(place, slot);
        // RFC 4961: what is sent from here is answered to here, whatever SDP says from behind a NAT.
        if score < BOTH_ENDS {
            let (known, other) = if score >= DST_ONLY { (key.dst, key.src) } else { (key.src, key.dst) };
            let side = entry.legs.iter().find(|leg| leg.endpoint == known).map(|leg| leg.side.other());
            if let Some(side) = side {
                self.learn(call, other, side, calls);
            }
        }
    }

    fn learn(&mut self, call: u32, endpoint: Endpoint, side: Side, calls: &mut Calls) {
        let added = self.add_leg(call, endpoint, side, Vec::new(), true, calls);
        if added {
            self.announced(endpoint, call, calls);
        }
    }

    /// Enters an endpoint of a call; true when it is new to the call.
    pub(crate) fn add_leg(
        &mut self,
        call: u32,
        endpoint: Endpoint,
        side: Side,
        types: Vec<(u8, CodecId)>,
        learned: bool,
        calls: &mut Calls,
    ) -> bool {
        let Some(entry) = calls.get_mut(call) else { return false };
        if let Some(leg) = entry.legs.iter_mut().find(|leg| leg.endpoint == endpoint && leg.side == side) {
            if !learned {
                leg.learned = false;
                leg.types = types;
            }
            return !learned;
        }
        if entry.legs.len() >= MAX_LEGS {
            self.counts.legs_refused += 1;
            return false;
        }
        let Some(node) = self.endpoints.enter(endpoint, List::Calls, call) else {
            self.counts.legs_refused += 1;
            return false;
        };
        entry.legs.push(Leg { endpoint, node, side, learned, types });
        true
    }
}

/// How well a call explains a flow, and which side sends.
fn score(key: &FlowKey, call: &CallEntry) -> (u8, Option<Side>) {
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
            let host = signalling_host(call, to.other());
            (DST_ONLY + if host == key.src.ip { SAME_HOST } else { 0 }, Some(to.other()))
        }
        (Some(from), None) => {
            let host = signalling_host(call, from.other());
            (SRC_ONLY + if host == key.dst.ip { SAME_HOST } else { 0 }, Some(from))
        }
        (None, None) => (0, None),
    }
}

fn signalling_host(call: &CallEntry, side: Side) -> std::net::IpAddr {
    match side {
        Side::Caller => call.src.ip,
        Side::Callee => call.dst.ip,
    }
}

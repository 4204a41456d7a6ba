//! The way in.

use std::collections::HashMap;
use std::sync::Arc;

use ringtap_engine::{CallNumber, CallPhase, RtcpSeen, RtpSeen, SipSeen, TargetSeen, Targets};
use ringtap_handover::{Notification, NotificationKind};
use ringtap_identity::Attempt;
use ringtap_model::{Call, Frame, Identity, Nanos, Network};
use ringtap_warrant::{Liid, Name, Order};

use crate::accesses::{Accesses, Told, attempted};
use crate::calls::Calls;
use crate::names;
use crate::orders::{Change, Orders};
use crate::product::{Figures, Product};

/// How much is followed at once. What is too much is counted with its order ([`Figures::dropped`]).
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Sessions of targets, each for each order.
    pub sessions: usize,
    /// Calls of targets.
    pub calls: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { sessions: 1_000_000, calls: 65_536 }
    }
}

/// Gives each order what it is entitled to.
///
/// Tell it the orders ([`Interceptor::replace_orders`]) and the time ([`Interceptor::advance`]) before the
/// packets of that time; then, in the order in which an engine tells them, what sessions and calls do and
/// which packets may be a target's; and at the end of a batch its frames. Whenever one of the first two says
/// so, tell it all open sessions next.
#[derive(Debug)]
pub struct Interceptor {
    orders: Orders,
    accesses: Accesses,
    calls: Calls,
    figures: HashMap<Liid, Figures>,
}

/// Whether sessions that are open have to be told ([`Interceptor::open_session`]): an order began that may be
/// about them.
pub type WantsSessions = bool;

impl Interceptor {
    /// Without orders. Engines offer packets by these targets, which nobody else changes.
    pub fn new(targets: Arc<Targets>, limits: Limits) -> Self {
        Self {
            orders: Orders::default(),
            accesses: Accesses::new(Arc::clone(&targets), limits.sessions),
            calls: Calls::new(targets, limits.calls),
            figures: HashMap::new(),
        }
    }

    /// Somebody else gives the events of accesses; content is given here.
    pub(crate) fn leave_events_of_accesses(&mut self) {
        self.orders.accesses_elsewhere = true;
    }

    /// From now on these orders count: each of them from its begin to its end, by the time of packets. Those
    /// that are as before go on.
    pub fn replace_orders(&mut self, orders: Vec<Order>, product: &mut dyn Product) -> WantsSessions {
        let change = self.orders.replace(orders);
        self.apply(change, product)
    }

    /// What follows is of that time, or of a later one.
    pub fn advance(&mut self, now: Nanos, product: &mut dyn Product) -> WantsSessions {
        self.accesses.advance(now);
        let change = self.orders.advance(now);
        change.is_some_and(|change| self.apply(change, product))
    }

    /// When an order begins or ends next: what is of that time must be told after [`Interceptor::advance`] to
    /// it.
    pub fn next_change(&self) -> Nanos {
        self.orders.next_change()
    }

    /// A session as it is now: whenever it began, changed, was reported on, or ended.
    pub fn session(&mut self, record: &Identity, product: &mut dyn Product) {
        self.tell_session(record, false, product);
    }

    /// A session that was open when an order began.
    pub fn open_session(&mut self, record: &Identity, product: &mut dyn Product) {
        self.tell_session(record, true, product);
    }

    fn tell_session(&mut self, record: &Identity, is_new_order: bool, product: &mut dyn Product) {
        let liids = self.orders.index().find(Name::of_session(record));
        let orders: Vec<Arc<Order>> =
            liids.into_iter().filter_map(|liid| self.orders.find(liid).cloned()).collect();
        if !orders.is_empty() {
            product.session(record, is_new_order, self.orders.now());
        }
        let mut out = Told { product, figures: &mut self.figures, orders: &self.orders };
        self.accesses.session(record, &orders, is_new_order, &mut out);
    }

    /// Somebody asked to be let into the network, or was refused.
    pub fn attempt(&mut self, attempt: &Attempt, product: &mut dyn Product) {
        let liids = self.orders.index().find(names::of_attempt(attempt));
        let mut out = Told { product, figures: &mut self.figures, orders: &self.orders };
        for order in liids.into_iter().filter_map(|liid| self.orders.find(liid)) {
            let (cin, iri) = attempted(attempt);
            out.event(order, cin, iri, &[]);
        }
    }

    /// A packet that may be a target's.
    pub fn packet(&mut self, seen: &TargetSeen<'_>, product: &mut dyn Product) {
        let mut out = Told { product, figures: &mut self.figures, orders: &self.orders };
        self.accesses.packet(seen, &mut out);
    }

    /// A SIP message.
    pub fn message(&mut self, seen: &SipSeen<'_>, product: &mut dyn Product) {
        let mut out = Told { product, figures: &mut self.figures, orders: &self.orders };
        self.calls.message(seen, &mut out);
    }

    /// A call reached a phase: before the message that brought it there.
    pub fn progress(&mut self, phase: CallPhase, number: CallNumber) {
        self.calls.progress(phase, number);
    }

    /// An RTP packet.
    pub fn rtp(&mut self, seen: &RtpSeen<'_>, product: &mut dyn Product) {
        let mut out = Told { product, figures: &mut self.figures, orders: &self.orders };
        self.calls.rtp(seen, &mut out);
    }

    /// An RTCP datagram.
    pub fn rtcp(&mut self, seen: &RtcpSeen<'_>, product: &mut dyn Product) {
        let mut out = Told { product, figures: &mut self.figures, orders: &self.orders };
        self.calls.rtcp(seen, &mut out);
    }

    /// The record of a call.
    pub fn call(&mut self, call: &Call) {
        self.calls.over(call);
    }

    /// The frames of the batch that was handled, in ascending order of their numbers.
    pub fn frames(&mut self, frames: &[Frame<'_>], product: &mut dyn Product) {
        let mut out = Told { product, figures: &mut self.figures, orders: &self.orders };
        self.calls.frames(frames, &mut out);
        out.product.frames(frames);
    }

    /// What was given to an order so far.
    pub fn figures(&self, liid: &Liid) -> Figures {
        self.figures.get(liid).copied().unwrap_or_default()
    }

    /// The orders in force.
    pub fn in_force(&self) -> impl Iterator<Item = &Order> {
        self.orders.in_force().iter().map(|order| &**order)
    }

    fn apply(&mut self, change: Change, product: &mut dyn Product) -> WantsSessions {
        let now = self.orders.now();
        let Self { orders, accesses, calls, figures } = self;
        let mut out = Told { product, figures, orders };
        for order in &change.ended {
            accesses.end_order(order, now, &mut out);
            calls.end_order(order);
            notice(order, NotificationKind::Deactivated, now, &mut out);
        }
        for order in &change.begun {
            notice(order, NotificationKind::Activated, now, &mut out);
            let own = |(network, liid): (Network, &Liid)| (*liid == order.liid).then_some(network);
            let networks: Vec<Network> = orders.index().networks().filter_map(own).collect();
            accesses.begin_static(order, networks, now, &mut out);
        }
        !change.begun.is_empty()
    }
}

fn notice(order: &Order, kind: NotificationKind, at: Nanos, out: &mut Told<'_>) {
    out.product.notice(order, Notification { kind, at, text: None });
}

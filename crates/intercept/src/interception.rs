//! An engine with an interceptor behind it.

use std::any::Any;
use std::sync::Arc;

use ringtap_engine::{
    CallNumber, CallPhase, Config, Counters, Engine, RtcpSeen, RtpSeen, Sink, SipSeen, StreamEnd, TargetSeen,
    Targets,
};
use ringtap_identity::{Attempt, Counts, IdentityTracker, Sessions};
use ringtap_model::{Call, Frame, Identity, Message, Nanos, Registration};
use ringtap_warrant::{Liid, Order};

use crate::interceptor::{Interceptor, Limits};
use crate::product::{Figures, Product};

/// Gives orders what they are entitled to of the frames of one packet source.
///
/// Set the orders with [`Interception::replace_orders`], feed frames in capture order with
/// [`Interception::batch`], end with [`Interception::close`].
pub struct Interception<P> {
    engine: Engine<IdentityTracker>,
    sink: Listening<P>,
}

/// What the engine tells goes on to the interceptor.
struct Listening<P> {
    interceptor: Interceptor,
    product: P,
    sessions: Counts,
    /// Sessions are told by somebody else.
    is_told: bool,
}

impl<P: Product> Interception<P> {
    /// With an engine of this configuration, and sessions of these limits and secrets.
    pub fn new(config: Config, sessions: Sessions, limits: Limits, product: P) -> Self {
        let targets = Arc::new(Targets::new(config.seed));
        Self::with_targets(targets, config, sessions, limits, product)
    }

    /// The same, with a set of targets that engines of others watch too: they pass on the frames that it
    /// concerns. It is empty, and nobody else changes it.
    pub fn with_targets(
        targets: Arc<Targets>,
        config: Config,
        sessions: Sessions,
        limits: Limits,
        product: P,
    ) -> Self {
        let tracker = IdentityTracker::new(sessions.noting_everything());
        let mut engine = Engine::with_tracker(config, tracker);
        engine.watch(Arc::clone(&targets));
        let interceptor = Interceptor::new(targets, limits);
        let sink = Listening { interceptor, product, sessions: Counts::default(), is_told: false };
        Self { engine, sink }
    }

    /// Sessions are told by [`Interception::session`] alone, of which somebody else gives the events: what
    /// the frames say of sessions counts for nothing.
    pub fn told_of_sessions(mut self) -> Self {
        self.sink.is_told = true;
        self.sink.interceptor.leave_events_of_accesses();
        self
    }

    /// The session of a target, as it is now. `is_open`: it was open when an order began.
    pub fn session(&mut self, record: &Identity, is_open: bool) {
        let Listening { interceptor, product, .. } = &mut self.sink;
        match is_open {
            true => interceptor.open_session(record, product),
            false => interceptor.session(record, product),
        }
    }

    /// From the next frame on these orders count.
    pub fn replace_orders(&mut self, orders: Vec<Order>) {
        let Listening { interceptor, product, .. } = &mut self.sink;
        if interceptor.replace_orders(orders, product) {
            self.tell_open_sessions();
        }
    }

    /// Handles frames in capture order.
    pub fn batch(&mut self, frames: &[Frame<'_>]) {
        let mut rest = frames;
        while let Some(first) = rest.first() {
            self.advance_ranges(first.time);
            let Listening { interceptor, product, .. } = &mut self.sink;
            if interceptor.advance(first.time, product) {
                self.tell_open_sessions();
            }
            // What begins or ends in the middle of a batch cuts it: an order, or a range of a file.
            let ranges = self.engine.tracker_mut().sessions().next_range();
            let next = self.sink.interceptor.next_change().min(ranges);
            let len = rest.iter().skip(1).take_while(|frame| frame.time < next).count() + 1;
            let (part, after) = rest.split_at(len);
            self.engine.batch(part, &mut self.sink);
            let Listening { interceptor, product, .. } = &mut self.sink;
            interceptor.frames(part, product);
            rest = after;
        }
    }

    /// Whether an order or a range of a file begins or ends at that time or before, without a frame that says
    /// so.
    pub fn is_due(&mut self, now: Nanos) -> bool {
        let ranges = self.engine.tracker_mut().sessions().next_range();
        self.sink.interceptor.next_change().min(ranges) <= now
    }

    /// Tells of the ranges of a file that are due.
    fn advance_ranges(&mut self, now: Nanos) {
        if self.engine.tracker_mut().sessions().next_range() <= now {
            self.advance_sessions(now);
        }
    }

    /// Time has passed, at least up to `now`: orders begin and end, sessions and calls expire. Call it while
    /// no frames come; those that come have no earlier time.
    pub fn advance(&mut self, now: Nanos) {
        let Listening { interceptor, product, .. } = &mut self.sink;
        if interceptor.advance(now, product) {
            self.tell_open_sessions();
        }
        self.advance_sessions(now);
        self.engine.tick(now, &mut self.sink);
    }

    fn advance_sessions(&mut self, now: Nanos) {
        let sessions = self.engine.tracker_mut().sessions();
        sessions.advance(now);
        for record in [sessions.take_changed(usize::MAX), sessions.take()].concat() {
            self.sink.event(&record);
        }
    }

    /// Goes on with sessions that were open before.
    pub fn resume(&mut self, records: impl IntoIterator<Item = Identity>) {
        let sessions = self.engine.tracker_mut().sessions();
        records.into_iter().for_each(|record| sessions.resume(record));
        self.tell_open_sessions();
    }

    /// What was given to an order so far.
    pub fn figures(&self, liid: &Liid) -> Figures {
        self.sink.interceptor.figures(liid)
    }

    /// The orders in force.
    pub fn in_force(&self) -> impl Iterator<Item = &Order> {
        self.sink.interceptor.in_force()
    }

    /// Ends the input. Returns what was given product, and what was counted. Sessions and calls that have not
    /// ended are told no end: they go on.
    pub fn close(mut self) -> (P, Closed) {
        self.engine.close(&mut self.sink);
        let Listening { interceptor, product, sessions, .. } = self.sink;
        (product, Closed { interceptor, sessions, counters: self.engine.counters().clone() })
    }

    /// What product is given to.
    pub fn product(&mut self) -> &mut P {
        &mut self.sink.product
    }

    fn tell_open_sessions(&mut self) {
        if self.sink.is_told {
            return;
        }
        let Listening { interceptor, product, .. } = &mut self.sink;
        for record in self.engine.tracker_mut().sessions().records() {
            interceptor.open_session(&record, product);
        }
    }
}

/// What was counted.
#[derive(Debug)]
pub struct Closed {
    interceptor: Interceptor,
    /// Of RADIUS.
    pub sessions: Counts,
    /// Of frames.
    pub counters: Counters,
}

impl Closed {
    /// What was given to an order.
    pub fn figures(&self, liid: &Liid) -> Figures {
        self.interceptor.figures(liid)
    }
}

impl<P: Product> Sink for Listening<P> {
    const PACKETS: bool = true;
    const PROGRESS: bool = true;
    const TARGETS: bool = true;

    fn call(&mut self, call: Call, _: Vec<StreamEnd>) {
        self.interceptor.call(&call);
    }

    fn stream(&mut self, _: StreamEnd) {}

    fn registration(&mut self, _: Registration) {}

    fn message(&mut self, _: Message) {}

    fn event(&mut self, event: &dyn Any) {
        if self.is_told {
            return;
        }
        if let Some(record) = event.downcast_ref::<Identity>() {
            self.interceptor.session(record, &mut self.product);
        } else if let Some(attempt) = event.downcast_ref::<Attempt>() {
            self.interceptor.attempt(attempt, &mut self.product);
        } else if let Some(counts) = event.downcast_ref::<Counts>() {
            self.sessions = *counts;
        }
    }

    fn progress(&mut self, phase: CallPhase, number: CallNumber, _: &Call) {
        self.interceptor.progress(phase, number);
    }

    fn sip(&mut self, seen: &SipSeen<'_>) {
        self.interceptor.message(seen, &mut self.product);
    }

    fn rtp(&mut self, seen: &RtpSeen<'_>) {
        self.interceptor.rtp(seen, &mut self.product);
    }

    fn rtcp(&mut self, seen: &RtcpSeen<'_>) {
        self.interceptor.rtcp(seen, &mut self.product);
    }

    fn target(&mut self, seen: &TargetSeen<'_>) {
        self.interceptor.packet(seen, &mut self.product);
    }
}

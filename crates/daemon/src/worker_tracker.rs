//! The tracker of a worker's engine: signalling that other threads follow.

use ringtap_engine::{Context, Datagram, Engine, LostTime, Sink, SipMessage, Tracker, Wants};
use ringtap_identity::{PORTS, TCP, is_radius};
use ringtap_model::Frame;

use crate::availability::AvailabilityFeed;
use crate::intercept::{Feeds, PacketFeed, SignallingFeed};
use crate::radius::RadiusFeed;

/// Passes packets of RADIUS, DHCP and PPPoE to the thread that follows sessions, all signalling to the one
/// that intercepts, and what is known of SIP messages to the one that follows services.
#[derive(Debug)]
pub(crate) struct WorkerTracker {
    pub(crate) radius: RadiusFeed,
    pub(crate) availability: AvailabilityFeed,
    /// None where nothing is intercepted.
    pub(crate) intercept: Option<SignallingFeed>,
}

impl Tracker for WorkerTracker {
    const WANTS: Wants = Wants {
        ports: &PORTS,
        sniff: Some(is_radius),
        sip: true,
        pppoe: true,
        neighbours: true,
        senders: true,
        lost_times: true,
        tcp: Some(TCP),
        ..Wants::NOTHING
    };

    fn datagram<S: Sink>(&mut self, datagram: &Datagram<'_>, _: &mut Context<'_, S>) {
        self.radius.datagram(datagram);
        if let Some(intercept) = &mut self.intercept {
            intercept.datagram(datagram);
        }
    }

    fn tcp_message<S: Sink>(&mut self, message: &Datagram<'_>, _: &mut Context<'_, S>) {
        self.radius.datagram(message);
        if let Some(intercept) = &mut self.intercept {
            intercept.tcp_message(message);
        }
    }

    fn pppoe<S: Sink>(&mut self, frame: &Frame<'_>, _: &mut Context<'_, S>) {
        self.radius.pppoe(frame);
        if let Some(intercept) = &mut self.intercept {
            intercept.pppoe(frame);
        }
    }

    fn neighbour<S: Sink>(&mut self, frame: &Frame<'_>, _: &mut Context<'_, S>) {
        self.availability.neighbour(frame);
    }

    fn lost_time(&mut self, lost: &LostTime) {
        self.availability.lost_time(lost);
    }

    fn sip<S: Sink>(&mut self, sip: &SipMessage<'_>, cx: &mut Context<'_, S>) {
        self.availability.sip(sip, cx.drops());
        if let Some(intercept) = &mut self.intercept {
            intercept.sip(sip);
        }
    }
}

/// Has a worker's engine pass on what may be intercepted, and returns what its sink passes packets by.
pub(crate) fn intercepted(
    engine: &mut Engine<WorkerTracker>,
    worker: usize,
    feeds: &Feeds,
) -> Option<PacketFeed> {
    let (signalling, packets) = feeds.of(worker)?;
    engine.tracker_mut().intercept = Some(signalling);
    engine.watch(feeds.targets());
    Some(packets)
}

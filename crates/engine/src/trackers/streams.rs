//! The stream tracker: RTP datagrams into the stream table (RFC 3550).
//!
//! The next packet of a stream where nothing has changed does not come here: `crate::prefetch` finds its
//! entry ahead of time.

use ringtap_model::Nanos;
use ringtap_wire::rtp;

use crate::config::Config;
use crate::context::{Context, Datagram};
use crate::counters::Counters;
use crate::media::{Accepted, EndedStream, FlowKey, RtpPacket, StreamTable};
use crate::sink::Sink;
use crate::table::slots::Ticket;
use crate::table::timers::PrefetchStage;
use crate::tracker::{EngineTracker, Tracker, Wants};

/// See the module.
pub(crate) struct StreamTracker {
    stream_idle: Nanos,
    provisional_limit: Nanos,
    /// What became of the last packet.
    pub(crate) accepted: Option<Accepted>,
    /// A stream without a call that has ended, and whether it was still provisional.
    pub(crate) ended: Option<(EndedStream, bool)>,
}

impl Tracker for StreamTracker {
    const WANTS: Wants = Wants { sniff: Some(is_rtp), ..Wants::NOTHING };

    #[inline]
    fn datagram<S: Sink>(&mut self, datagram: &Datagram<'_>, cx: &mut Context<'_, S>) {
        let Ok(view) = rtp::View::parse(datagram.data, datagram.len) else { return };
        let key = FlowKey { src: datagram.src, dst: datagram.dst, ssrc: view.ssrc() };
        let packet = RtpPacket::new(&view, datagram.time, datagram.ip_len);
        self.accepted = match cx.streams.find(&key) {
            Some(slot) if !cx.streams.must_split(slot) => Some(cx.streams.slow_path(slot, &packet, &view)),
            Some(slot) => {
                cx.streams.retire(slot);
                begin(key, &packet, &view, cx)
            }
            None => begin(key, &packet, &view, cx),
        };
    }

    /// A stream without a call has ended when it has been silent; one that was never confirmed is dropped.
    fn timer<S: Sink>(&mut self, ticket: Ticket, cx: &mut Context<'_, S>) {
        let Some(slot) = cx.streams.redeem(ticket) else { return };
        if cx.streams.has_call(slot) {
            return;
        }
        let is_provisional = cx.streams.is_provisional(slot);
        let limit = if is_provisional { self.provisional_limit } else { self.stream_idle };
        let deadline = cx.streams.last(slot) + limit;
        if deadline > cx.now {
            cx.arm(deadline, ticket);
        } else {
            self.ended = cx.streams.end(slot).map(|figures| (figures, is_provisional));
        }
    }
}

impl EngineTracker for StreamTracker {
    fn prefetch_timer(&self, ticket: Ticket, _: Nanos, stage: PrefetchStage, streams: &StreamTable) {
        if stage == PrefetchStage::Farthest {
            streams.prefetch_stream(ticket);
        }
    }

    #[inline]
    fn count(counters: &mut Counters) {
        counters.rtp += 1;
    }
}

impl StreamTracker {
    pub(crate) fn new(config: &Config) -> Self {
        let (stream_idle, provisional_limit) = (config.stream_idle, config.provisional_limit);
        Self { stream_idle, provisional_limit, accepted: None, ended: None }
    }
}

#[inline]
fn is_rtp(datagram: &Datagram<'_>) -> bool {
    rtp::looks_like_rtp(datagram.data) && rtp::View::parse(datagram.data, datagram.len).is_ok()
}

#[cold]
fn begin<S: Sink>(
    key: FlowKey,
    packet: &RtpPacket,
    view: &rtp::View<'_>,
    cx: &mut Context<'_, S>,
) -> Option<Accepted> {
    cx.order.index += 1;
    let order = cx.order;
    cx.streams.begin(key, packet, view, order, cx.timers)
}

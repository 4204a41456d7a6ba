//! The tracker interface: how the engine follows a protocol.
//!
//! A tracker declares what it wants, owns its state under a ceiling, arms timers and emits typed events. Its
//! methods are called with a [`Context`], the engine's clock, timers, counters and sink. Dispatch is static:
//! what a tracker does not want costs nothing. `docs/manual/extending.md` builds one step by step.

use ringtap_model::{Call, Frame, Nanos};

use crate::context::{Context, Datagram, SipMessage};
use crate::counters::Counters;
use crate::media::{EndedStream, StreamTable};
use crate::sink::{CallNumber, CallPhase, LostTime, RtpSeen, Sink, StreamEnd};
use crate::table::slots::Ticket;
use crate::table::timers::PrefetchStage;
use crate::tcp_wants::TcpWants;

/// How the workers of a team share the datagrams that a tracker wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sharing {
    /// The worker that captured a datagram handles it. All datagrams of one source address and port reach one
    /// worker.
    Sender,
    /// Every worker handles a copy: for datagrams that concern streams which other workers may own.
    AllWorkers,
}

/// What a tracker wants to be called for.
///
/// The engine offers a UDP datagram first to its own trackers by content (RTP, SIP, RTCP, STUN, HEP), then to
/// added ones.
#[derive(Clone, Copy, Debug)]
pub struct Wants {
    /// Datagrams from or to one of these UDP ports.
    pub ports: &'static [u16],
    /// Datagrams that this function recognises by their content.
    pub sniff: Option<fn(&Datagram<'_>) -> bool>,
    /// How workers share these datagrams.
    pub sharing: Sharing,
    /// SIP messages: [`Tracker::sip`]. The worker that owns the Call-ID handles them.
    pub sip: bool,
    /// RTP packets of confirmed and provisional streams: [`Tracker::rtp`].
    pub media: bool,
    /// Times in which packets of streams were lost: [`Tracker::lost_time`]. The worker that captured the
    /// packets around it is told.
    pub lost_times: bool,
    /// Progress and end of calls: [`Tracker::call_phase`], [`Tracker::call_ended`].
    pub calls: bool,
    /// Frames of PPPoE that carry no IP packet, of discovery and of PPP's control protocols:
    /// [`Tracker::pppoe`]. The worker that captured one handles it; it counts as no IP packet.
    pub pppoe: bool,
    /// Frames by which hosts claim addresses, of ARP and IPv6 neighbour advertisements:
    /// [`Tracker::neighbour`]. The worker that captured one handles it; ARP counts as no IP packet.
    pub neighbours: bool,
    /// Which host on the link sent datagrams with SIP messages: [`Hop::sender`](crate::Hop::sender).
    pub senders: bool,
    /// Messages of TCP connections: [`Tracker::tcp_message`]. The worker that captured the sender's segments
    /// handles them.
    pub tcp: Option<TcpWants>,
}

impl Wants {
    /// Nothing: the base for a tracker's own list.
    pub const NOTHING: Self = Self {
        ports: &[],
        sniff: None,
        sharing: Sharing::Sender,
        sip: false,
        media: false,
        lost_times: false,
        calls: false,
        pppoe: false,
        neighbours: false,
        senders: false,
        tcp: None,
    };

    /// Whether the tracker wants this datagram.
    #[inline]
    pub(crate) fn datagram(&self, datagram: &Datagram<'_>) -> bool {
        self.is_on_port(datagram.src.port, datagram.dst.port)
            || self.sniff.is_some_and(|sniff| sniff(datagram))
    }

    #[inline]
    fn is_on_port(&self, src: u16, dst: u16) -> bool {
        !self.ports.is_empty() && (self.ports.contains(&src) || self.ports.contains(&dst))
    }

    /// Whether the tracker may want any datagram at all.
    pub(crate) const fn any_datagram(&self) -> bool {
        !self.ports.is_empty() || self.sniff.is_some()
    }
}

/// Follows one protocol. Every method has a default that does nothing, so a tracker implements what it wants.
///
/// INVARIANT: a tracker's state has a ceiling, and [`Context::count_refused`] counts what the ceiling turned
/// away.
pub trait Tracker {
    /// What it wants to be called for.
    const WANTS: Wants = Wants::NOTHING;

    /// A datagram that [`Tracker::WANTS`] names.
    fn datagram<S: Sink>(&mut self, _datagram: &Datagram<'_>, _cx: &mut Context<'_, S>) {}

    /// A message of a TCP connection, with the ports of that.
    fn tcp_message<S: Sink>(&mut self, message: &Datagram<'_>, cx: &mut Context<'_, S>) {
        self.datagram(message, cx);
    }

    /// A SIP message.
    fn sip<S: Sink>(&mut self, _sip: &SipMessage<'_>, _cx: &mut Context<'_, S>) {}

    /// A frame of PPPoE without an IP packet. It may be none by its further bytes.
    fn pppoe<S: Sink>(&mut self, _frame: &Frame<'_>, _cx: &mut Context<'_, S>) {}

    /// A frame by which a host may claim an address.
    fn neighbour<S: Sink>(&mut self, _frame: &Frame<'_>, _cx: &mut Context<'_, S>) {}

    /// An RTP packet of a stream. On the packet path: must not allocate.
    fn rtp(&mut self, _packet: &RtpSeen<'_>) {}

    /// Packets of a stream were lost for a while. On the packet path: must not allocate.
    fn lost_time(&mut self, _lost: &LostTime) {}

    /// A call in progress reached a new phase; `call` is its record so far.
    fn call_phase(&mut self, _phase: CallPhase, _number: CallNumber, _call: &Call) {}

    /// A call ended, with its streams in order of their first packet.
    fn call_ended(&mut self, _call: &Call, _streams: &[StreamEnd]) {}

    /// A timer that it armed.
    fn timer<S: Sink>(&mut self, _ticket: Ticket, _cx: &mut Context<'_, S>) {}

    /// The input has ended: emits what is left, in an order that does not depend on tables.
    fn close<S: Sink>(&mut self, _cx: &mut Context<'_, S>) {}
}

/// What the engine asks of its own trackers besides.
pub(crate) trait EngineTracker: Tracker {
    /// Counts a datagram that it wants.
    fn count(_counters: &mut Counters) {}

    /// Adds what this tracker knows of a stream in progress to its figures.
    fn describe_stream(&self, _figures: &mut EndedStream) {}

    /// A stream has ended: moves what this tracker knows of it into its figures.
    fn stream_ended(&mut self, _figures: &mut EndedStream) {}

    /// A timer will fire soon: prefetches what it will touch.
    fn prefetch_timer(&self, _ticket: Ticket, _now: Nanos, _stage: PrefetchStage, _streams: &StreamTable) {}
}

/// Follows nothing.
impl Tracker for () {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{at, end};

    fn datagram<'a>(src: &str, dst: &str, data: &'a [u8]) -> Datagram<'a> {
        let len = data.len();
        Datagram {
            time: at(0),
            src: end(src),
            dst: end(dst),
            ip_len: 28 + len as u32,
            data,
            len,
            frames: &[1],
        }
    }

    fn is_hello(datagram: &Datagram<'_>) -> bool {
        datagram.data == b"hello"
    }

    #[test]
    fn a_datagram_is_wanted_by_either_port_or_by_its_content() {
        const WANTS: Wants = Wants { ports: &[2427, 2727], sniff: Some(is_hello), ..Wants::NOTHING };
        let is_wanted = |src, dst, data: &[u8]| WANTS.datagram(&datagram(src, dst, data));
        assert!(is_wanted("192.0.2.1:2427", "198.51.100.1:9", b"x"));
        assert!(is_wanted("192.0.2.1:9", "198.51.100.1:2727", b"x"));
        assert!(is_wanted("192.0.2.1:9", "198.51.100.1:9", b"hello"));
        assert!(!is_wanted("192.0.2.1:9", "198.51.100.1:9", b"x"));
    }

    #[test]
    fn a_tracker_that_names_nothing_wants_no_datagram() {
        assert!(!Wants::NOTHING.any_datagram());
        assert!(!Wants::NOTHING.datagram(&datagram("192.0.2.1:0", "198.51.100.1:0", b"hello")));
        assert!(Wants { ports: &[2427], ..Wants::NOTHING }.any_datagram());
        assert!(Wants { sniff: Some(is_hello), ..Wants::NOTHING }.any_datagram());
    }
}

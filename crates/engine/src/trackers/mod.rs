//! The trackers of the engine, and how it calls them.
//!
//! To add a protocol: a folder in `wire`, a tracker here (or outside, see [`crate::Engine::with_tracker`]),
//! and one line in the list below.

mod callid;
pub(crate) mod calls;
mod registrations;
mod rtcp;
mod streams;
mod transactions;

use ringtap_model::Nanos;

use crate::config::Config;
use crate::context::{Context, Datagram, SipMessage};
use crate::counters::Counters;
use crate::media::{EndedStream, StreamTable};
use crate::memory::MemoryShares;
use crate::sink::Sink;
use crate::table::hash::Hasher;
use crate::table::timers::{PrefetchStage, Timer, TimerOwner};
use crate::tracker::{EngineTracker, Sharing, Tracker};
use calls::CallTracker;
use registrations::Registrations;
use rtcp::RtcpTracker;
use streams::StreamTracker;
use transactions::Transactions;

/// Makes the list of trackers and the calls of each. Datagrams go to the first that wants them; SIP messages
/// to all that want SIP, in this order.
macro_rules! trackers {
    ($($name:ident: $tracker:ty as $owner:ident,)*) => {
        /// The trackers of one engine; `added` comes from outside.
        pub(crate) struct Trackers<X> {
            $(pub(crate) $name: $tracker,)*
            pub(crate) added: X,
        }

        impl<X: Tracker> Trackers<X> {
            /// The tracker that wants a datagram.
            #[inline]
            pub(crate) fn owner_of(datagram: &Datagram<'_>) -> Option<TimerOwner> {
                $(if <$tracker>::WANTS.any_datagram() && <$tracker>::WANTS.datagram(datagram) {
                    return Some(TimerOwner::$owner);
                })*
                (X::WANTS.any_datagram() && X::WANTS.datagram(datagram)).then_some(TimerOwner::Added)
            }

            /// How workers share the datagrams of a tracker.
            pub(crate) fn sharing(owner: TimerOwner) -> Sharing {
                match owner {
                    $(TimerOwner::$owner => <$tracker>::WANTS.sharing,)*
                    TimerOwner::Added => X::WANTS.sharing,
                    TimerOwner::Connections => Sharing::Sender,
                }
            }

            /// Counts a datagram of a tracker.
            #[inline]
            pub(crate) fn count(owner: TimerOwner, counters: &mut Counters) {
                match owner {
                    $(TimerOwner::$owner => <$tracker>::count(counters),)*
                    TimerOwner::Added => counters.tracked += 1,
                    TimerOwner::Connections => {}
                }
            }

            /// Has the tracker of that name handle a datagram.
            #[inline]
            pub(crate) fn datagram<S: Sink>(&mut self, datagram: &Datagram<'_>, cx: &mut Context<'_, S>) {
                match cx.owner {
                    $(TimerOwner::$owner => self.$name.datagram(datagram, cx),)*
                    TimerOwner::Added => self.added.datagram(datagram, cx),
                    TimerOwner::Connections => {}
                }
            }

            /// Has every tracker that wants SIP handle a message.
            pub(crate) fn sip<S: Sink>(&mut self, sip: &SipMessage<'_>, cx: &mut Context<'_, S>) {
                $(if <$tracker>::WANTS.sip {
                    cx.owner = TimerOwner::$owner;
                    self.$name.sip(sip, cx);
                })*
                if X::WANTS.sip {
                    cx.owner = TimerOwner::Added;
                    self.added.sip(sip, cx);
                }
            }

            /// A timer fired.
            pub(crate) fn timer<S: Sink>(&mut self, timer: Timer, cx: &mut Context<'_, S>) {
                cx.owner = timer.owner;
                match timer.owner {
                    $(TimerOwner::$owner => self.$name.timer(timer.ticket, cx),)*
                    TimerOwner::Added => self.added.timer(timer.ticket, cx),
                    TimerOwner::Connections => {}
                }
            }

            /// A timer will fire soon.
            pub(crate) fn prefetch_timer(
                &self,
                timer: Timer,
                now: Nanos,
                stage: PrefetchStage,
                streams: &StreamTable,
            ) {
                match timer.owner {
                    $(TimerOwner::$owner => self.$name.prefetch_timer(timer.ticket, now, stage, streams),)*
                    TimerOwner::Connections | TimerOwner::Added => {}
                }
            }

            /// Each tracker adds what it knows of a stream in progress.
            pub(crate) fn describe_stream(&self, figures: &mut EndedStream) {
                $(self.$name.describe_stream(figures);)*
            }

            /// A stream has ended: each tracker moves what it knows of it into the figures.
            pub(crate) fn stream_ended(&mut self, figures: &mut EndedStream) {
                $(self.$name.stream_ended(figures);)*
            }

            /// The input has ended.
            pub(crate) fn close<S: Sink>(&mut self, cx: &mut Context<'_, S>) {
                $(cx.owner = TimerOwner::$owner;
                self.$name.close(cx);)*
                cx.owner = TimerOwner::Added;
                self.added.close(cx);
            }
        }
    };
}

trackers! {
    streams: StreamTracker as Streams,
    registrations: Registrations as Registrations,
    calls: CallTracker as Calls,
    // After the calls, which say what is theirs.
    transactions: Transactions as Transactions,
    rtcp: RtcpTracker as Rtcp,
}

impl<X: Tracker> Trackers<X> {
    /// Of one of `workers` workers.
    pub(crate) fn new(workers: (usize, usize), config: &Config, hasher: &Hasher, added: X) -> Self {
        let shares = MemoryShares::of(config.memory);
        Self {
            streams: StreamTracker::new(config),
            registrations: Registrations::new(config.max_registrations, shares.registrations, hasher.clone()),
            calls: CallTracker::new(workers, config, hasher),
            transactions: Transactions::new(config, shares.messages, hasher.clone()),
            rtcp: RtcpTracker::new(config.max_streams, hasher.clone()),
            added,
        }
    }
}

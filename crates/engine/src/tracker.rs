//! Calls, their media, registrations and messages: one state for all that signalling and media say of each other.

use ringtap_model::{Call, CallState, Dtmf, DtmfSource, Endpoint, Frame, Id, Nanos, Stream};
use ringtap_wire::rtp;
use ringtap_wire::sip::Message;

use crate::config::Config;
use crate::counters::Counters;
use crate::prefetch::Lane;
use crate::sink::{CallNumber, RtcpSeen, RtpSeen, Sink, SipSeen, StreamEnd};
use crate::table::hash::Hasher;
use crate::table::slots::Ticket;
use crate::table::timers::{Timer, Wheel};
use crate::team::{Links, Member};
use crate::trackers::calls::tracker::{Due, Ended, Nearness, Passing, Signalling};
use crate::trackers::calls::{Hop, Novelty};
use crate::trackers::media::{Accepted, Figures, FlowKey, Media, Place, RtpPacket, StreamContext};
use crate::trackers::update::Order;

/// A UDP datagram, or what a relay carries in one.
#[derive(Clone, Copy)]
pub(crate) struct Datagram<'a> {
    pub(crate) src: Endpoint,
    pub(crate) dst: Endpoint,
    pub(crate) time: Nanos,
    pub(crate) ip_len: u32,
    /// Captured, and length as sent.
    pub(crate) data: &'a [u8],
    pub(crate) len: usize,
}

pub(crate) struct Tracker {
    pub(crate) wheel: Wheel,
    config: Config,
    pub(crate) signalling: Signalling,
    pub(crate) media: Media,
    hasher: Hasher,
    /// Where the frame in hand stands, and how many messages and streams it has brought so far.
    pub(crate) order: Order,
    /// The team that it works in, if it does.
    pub(crate) member: Option<Box<Member>>,
    /// Packets lost before this engine, a running total.
    pub(crate) external_drops: u64,
}

impl Tracker {
    pub(crate) fn new(config: Config, hasher: Hasher, links: Option<Links>) -> Self {
        let (worker, workers) = links.as_ref().map_or((0, 1), |links| (links.me(), links.workers()));
        Self {
            wheel: Wheel::new(config.timers()),
            signalling: Signalling::new(worker, &config, &hasher),
            media: Media::new(&config, worker, workers, hasher.clone()),
            member: links.map(|links| Box::new(Member::new(links))),
            hasher,
            order: Order::default(),
            config,
            external_drops: 0,
        }
    }

    /// Packets known to have been dropped so far, here or before.
    pub(crate) fn drops(&self, counters: &Counters) -> u64 {
        match &self.member {
            Some(member) => member.links.drops(),
            None => counters.turned_away() + self.external_drops,
        }
    }

    /// What follows comes with the frame of that number. HOT.
    #[inline]
    pub(crate) fn at(&mut self, number: u64) {
        self.order = Order { number, part: 0 };
    }

    pub(crate) fn under_way(&self) -> (usize, usize) {
        (self.signalling.len(), self.media.len())
    }

    /// Takes the next packet of a stream where all is as before; false, and nothing done, for any other. HOT.
    #[inline]
    pub(crate) fn straight<S: Sink>(&mut self, lane: &Lane, frame: &Frame<'_>, sink: &mut S) -> bool {
        let packet = lane.packet(frame.time);
        if !self.media.straight(lane.slot, lane.key, &packet, lane.payload(frame)) {
            return false;
        }
        if S::PACKETS {
            let ends = self.media.ends(lane.slot);
            sink.rtp(&RtpSeen {
                time: frame.time,
                frames: &[frame.number],
                serial: self.media.serial(lane.slot),
                stream_slot: lane.slot,
                src: ends.src,
                dst: ends.dst,
                ssrc: ends.ssrc,
                payload_type: packet.payload_type,
                sequence: packet.sequence,
                timestamp: packet.timestamp,
                payload: lane.payload(frame),
                duplicate: false,
                call: self.media.call_of(lane.slot).map(CallNumber),
                packet: None,
            });
        }
        true
    }

    /// Takes what looks like RTP; false when it cannot be.
    #[inline]
    pub(crate) fn rtp<S: Sink>(
        &mut self,
        datagram: &Datagram<'_>,
        frames: &[u64],
        counters: &mut Counters,
        sink: &mut S,
    ) -> bool {
        let Ok(view) = rtp::View::parse(datagram.data, datagram.len) else { return false };
        counters.rtp += 1;
        if !self.hold(datagram, frames) {
            self.media(datagram, &view, frames, sink);
        }
        true
    }

    /// Takes an RTP packet. HOT.
    #[inline]
    pub(crate) fn media<S: Sink>(
        &mut self,
        datagram: &Datagram<'_>,
        view: &rtp::View<'_>,
        frames: &[u64],
        sink: &mut S,
    ) {
        let key = FlowKey { src: datagram.src, dst: datagram.dst, ssrc: view.ssrc() };
        let packet = RtpPacket::new(view, datagram.time, datagram.ip_len);
        let accepted = match self.media.find(&key) {
            Some(slot) if !self.media.must_split(slot) => Some(self.media.take(slot, &packet, view)),
            Some(slot) => {
                self.media.retire(slot);
                self.begin_stream(key, &packet, view)
            }
            None => self.begin_stream(key, &packet, view),
        };
        if S::PACKETS
            && let Some(accepted) = accepted
        {
            sink.rtp(&RtpSeen {
                time: datagram.time,
                frames,
                serial: accepted.serial,
                stream_slot: accepted.slot,
                src: key.src,
                dst: key.dst,
                ssrc: key.ssrc,
                payload_type: packet.payload_type,
                sequence: packet.sequence,
                timestamp: packet.timestamp,
                payload: view.payload(),
                duplicate: accepted.place == Place::Repeat,
                call: self.media.call_of(accepted.slot).map(CallNumber),
                packet: Some(datagram.data),
            });
        }
    }

    /// Takes an RTCP datagram, for a sink that wants packets.
    pub(crate) fn rtcp<S: Sink>(&mut self, datagram: &Datagram<'_>, frames: &[u64], sink: &mut S) {
        let Datagram { src, dst, time, data, .. } = *datagram;
        if let Some(slot) = self.media.reported(src, dst, data) {
            let ends = self.media.ends(slot);
            sink.rtcp(&RtcpSeen {
                time,
                frames,
                src,
                dst,
                data,
                serial: self.media.serial(slot),
                stream: (ends.src, ends.dst, ends.ssrc),
                call: self.media.call_of(slot).map(CallNumber),
            });
        }
    }

    #[cold]
    fn begin_stream(&mut self, key: FlowKey, packet: &RtpPacket, view: &rtp::View<'_>) -> Option<Accepted> {
        self.order.part += 1;
        self.media.begin(key, packet, view, self.order, &mut self.wheel)
    }

    /// Takes the bytes of a SIP message; those of a Call-ID that another worker owns go there.
    pub(crate) fn sip<S: Sink>(
        &mut self,
        bytes: &[u8],
        hop: &Hop,
        frames: &[u64],
        counters: &mut Counters,
        sink: &mut S,
    ) {
        if Message::parse_with(bytes, |message| self.message(bytes, message, hop, frames, counters, sink))
            .is_err()
        {
            counters.sip_bad += 1;
        }
    }

    fn message<S: Sink>(
        &mut self,
        bytes: &[u8],
        message: &Message<'_>,
        hop: &Hop,
        frames: &[u64],
        counters: &mut Counters,
        sink: &mut S,
    ) {
        counters.sip += 1;
        let Some(call_id) = message.call_id().filter(|call_id| !call_id.is_empty()) else {
            counters.sip_without_call_id += 1;
            return;
        };
        self.order.part += 1;
        let hash = self.hasher.of(call_id);
        match self.member {
            None => self.take(message, (call_id, hash), hop, frames, counters, sink),
            Some(_) => self.pass_on(hash, bytes, hop, frames),
        }
    }

    /// Takes a SIP message that another worker looked at.
    pub(crate) fn take_sip<S: Sink>(
        &mut self,
        bytes: &[u8],
        hop: &Hop,
        frames: &[u64],
        counters: &Counters,
        sink: &mut S,
    ) {
        if let Ok(message) = Message::parse(bytes)
            && let Some(call_id) = message.call_id()
        {
            let hash = self.hasher.of(call_id);
            self.take(&message, (call_id, hash), hop, frames, counters, sink);
        }
    }

    fn take<S: Sink>(
        &mut self,
        message: &Message<'_>,
        (call_id, hash): (&[u8], u64),
        hop: &Hop,
        frames: &[u64],
        counters: &Counters,
        sink: &mut S,
    ) {
        let (order, drops) = (self.order, self.drops(counters));
        let passing = Passing { message, call_id, hash, hop, order, drops };
        let mut note = None;
        let Self { signalling, media, wheel, .. } = self;
        let (novelty, call) =
            signalling.take(&passing, media.codecs_and_soon(), wheel, sink, |told| note = Some(told));
        if let Some(note) = note {
            self.tell(note);
        }
        if S::PACKETS {
            sink.sip(&SipSeen {
                time: hop.time,
                frames,
                src: hop.src,
                dst: hop.dst,
                transport: hop.transport,
                message,
                retransmission: novelty == Novelty::Repeat,
                mirrored: novelty == Novelty::Mirrored,
                call: call.map(CallNumber),
            });
        }
    }

    /// The clock turned: what streams taught takes effect, before any timer fires.
    #[cold]
    pub(crate) fn turn<S: Sink>(&mut self, now: Nanos, counters: &Counters, sink: &mut S) {
        self.media.learn();
        self.give_up(now, counters, sink);
    }

    /// A timer's turn comes soon: asks for what it will touch.
    pub(crate) fn prefetch(&self, timer: Timer, now: Nanos, nearness: Nearness) {
        match timer {
            Timer::Call(ticket) => {
                if let Some(call) = self.signalling.prefetch(ticket, now, nearness) {
                    self.media.prefetch_call(call, nearness);
                }
            }
            Timer::Flow(ticket) if nearness == Nearness::Far => self.media.prefetch_stream(ticket),
            _ => {}
        }
    }

    /// A timer fired.
    pub(crate) fn expire<S: Sink>(
        &mut self,
        timer: Timer,
        now: Nanos,
        counters: &mut Counters,
        sink: &mut S,
    ) {
        match timer {
            Timer::Call(ticket) => self.expire_call(ticket, now, counters, sink),
            Timer::Flow(ticket) => self.expire_flow(ticket, now, sink),
            Timer::Registration(ticket) => {
                if let Some(record) = self.signalling.expire_registration(ticket, now, &mut self.wheel) {
                    sink.registration(record);
                }
            }
            Timer::Message(ticket) => {
                if let Some(record) = self.signalling.expire_message(ticket) {
                    sink.message(record);
                }
            }
            Timer::Connection(_) => {}
        }
    }

    fn expire_call<S: Sink>(&mut self, ticket: Ticket, now: Nanos, counters: &Counters, sink: &mut S) {
        let drops = self.drops(counters);
        match self.signalling.expire(ticket, now, drops, &mut self.wheel) {
            Due::Nothing => {}
            Due::Media(call) => {
                if let Some(heard) = self.ask(call, now)
                    && let Due::End(ended) = self.signalling.heard(call, heard, now, drops, &mut self.wheel)
                {
                    self.end_call(ended, now, sink);
                }
            }
            Due::End(ended) => self.end_call(ended, now, sink),
        }
    }

    /// Makes a call's record and those of its streams.
    pub(crate) fn tell_call<S: Sink>(ended: Ended, figures: Vec<Figures>, sink: &mut S) {
        let (record, streams) = complete(ended, figures);
        sink.call(record, streams);
    }

    /// The records of a call as if it ended now.
    pub(crate) fn snapshot(&self, id: &Id, counters: &Counters) -> Option<(Call, Vec<Stream>)> {
        let ended = self.signalling.snapshot(id, self.drops(counters))?;
        let figures = ended.media.map_or_else(Vec::new, |call| self.media.figures_of(call));
        let (record, streams) = complete(ended, figures);
        Some((record, streams.into_iter().map(|stream| stream.record).collect()))
    }

    /// A flow without a call: over when it has been silent, nothing at all when it was never confirmed.
    fn expire_flow<S: Sink>(&mut self, ticket: Ticket, now: Nanos, sink: &mut S) {
        let Some(slot) = self.media.redeem(ticket) else { return };
        if self.media.has_call(slot) {
            return;
        }
        let limit = if self.media.is_provisional(slot) {
            self.config.provisional_limit
        } else {
            self.config.stream_idle
        };
        let deadline = self.media.last(slot) + limit;
        if deadline > now {
            self.wheel.arm(deadline, Timer::Flow(ticket));
        } else {
            self.end_stream(slot, sink);
        }
    }

    fn end_stream<S: Sink>(&mut self, slot: u32, sink: &mut S) {
        let provisional = self.media.is_provisional(slot);
        let Some(mut figures) = self.media.end(slot) else { return };
        leave(std::slice::from_mut(&mut figures), sink);
        if provisional {
            self.media.counts.unconfirmed += figures.packets();
        } else {
            let (serial, recorded) = (figures.serial, figures.recorded);
            sink.stream(StreamEnd { serial, record: figures.record(None), recorded });
        }
    }

    /// Ends all, in order: calls by their number in the table, then streams, registrations, messages.
    pub(crate) fn close<S: Sink>(&mut self, counters: &Counters, sink: &mut S) {
        self.leave(sink);
        while self.media.learn() {}
        self.end_calls(counters, sink);
        self.end_rest(sink);
    }

    /// Ends the calls, in order of their first message.
    pub(crate) fn end_calls<S: Sink>(&mut self, counters: &Counters, sink: &mut S) {
        let drops = self.drops(counters);
        for slot in self.signalling.slots() {
            if let Some(ended) = self.signalling.end(slot, false, drops) {
                self.end_call(ended, Nanos::MAX, sink);
            }
        }
    }

    /// Ends what is left: streams without a call, registrations, messages.
    pub(crate) fn end_rest<S: Sink>(&mut self, sink: &mut S) {
        for slot in self.media.slots() {
            self.end_stream(slot, sink);
        }
        self.signalling.close(sink);
    }

    pub(crate) fn collect(&self, counters: &mut Counters) {
        counters.rtp_unconfirmed = self.media.counts.unconfirmed;
        let [calls, registrations, messages] = self.signalling.refused();
        counters.calls_refused = calls;
        counters.flows_refused = self.media.counts.refused;
        counters.legs_refused = self.media.counts.legs_refused;
        counters.intervals_refused = self.media.intervals_refused();
        if let Some(member) = &self.member {
            counters.sip_forwards_lost = member.links.counts.sip_lost;
            counters.worker_messages_lost = member.links.counts.worker_messages_lost;
            counters.calls_incomplete = member.incomplete;
        }
        counters.registrations_refused = registrations;
        counters.messages_refused = messages;
    }
}

/// No packet of these streams will come any more: asks the sink what it kept of them.
pub(crate) fn leave<S: Sink>(figures: &mut [Figures], sink: &mut S) {
    for figures in figures.iter_mut().filter(|_| S::PACKETS) {
        figures.recorded = sink.stream_finished(figures.serial);
    }
}

/// A call's record with those of its streams.
fn complete(ended: Ended, mut figures: Vec<Figures>) -> (Call, Vec<StreamEnd>) {
    let Ended { record: mut call, rtt, .. } = ended;
    // As a rule they are: they need not be moved then.
    if !figures.is_sorted_by_key(|figures| figures.serial) {
        figures.sort_by_key(|figures| figures.serial);
    }
    let context = StreamContext { call_id: &call.call_id, call: call.id, rtt };
    let mut streams = Vec::with_capacity(figures.len());
    for figures in figures {
        let digits = figures.digits.iter().filter_map(|digit| {
            Some(Dtmf { digit: digit_name(digit.code)?, source: DtmfSource::Rfc4733, time: digit.time })
        });
        call.dtmf.extend(digits);
        let (serial, recorded) = (figures.serial, figures.recorded);
        streams.push(StreamEnd { serial, record: figures.record(Some(&context)), recorded });
    }
    call.streams = streams.iter().map(|stream| stream.record.id).collect();
    let lowest = |values: &mut dyn Iterator<Item = f64>| values.reduce(f64::min);
    call.mos = lowest(&mut streams.iter().filter_map(|stream| stream.record.mos));
    call.mos_worst_interval = lowest(
        &mut streams.iter().flat_map(|stream| &stream.record.intervals).filter_map(|interval| interval.mos),
    );
    call.dtmf.sort_by_key(|digit| digit.time);
    debug_assert!(call.state != CallState::Interrupted);
    (call, streams)
}

/// RFC 4733 section 3.2, table 3.
fn digit_name(code: u8) -> Option<String> {
    let name = match code {
        0..=9 => char::from(b'0' + code).to_string(),
        10 => "*".to_owned(),
        11 => "#".to_owned(),
        12..=15 => char::from(b'A' + code - 12).to_string(),
        16 => "flash".to_owned(),
        _ => return None,
    };
    Some(name)
}

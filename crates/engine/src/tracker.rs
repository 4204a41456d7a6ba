//! Calls, their media, registrations and messages: one state for all that signalling and media say of each other.

use ringtap_model::{Call, CallState, Dtmf, DtmfSource, Endpoint, Id, Nanos, Stream};
use ringtap_wire::sip::{Message, Method};
use ringtap_wire::{rtp, sdp};

use crate::calls::{CallEntry, Calls, Hop, Novelty, Side};
use crate::config::Config;
use crate::counters::Counters;
use crate::hash::Hasher;
use crate::media::{CodecId, Figures, FlowKey, Media, Place, RtpPacket, StreamContext};
use crate::messages::Messages;
use crate::registrations::Registrations;
use crate::sink::{RtpSeen, Sink, SipSeen, Step, StreamEnd};
use crate::slots::Ticket;
use crate::wheel::{Timer, Wheel};

/// Payload types that one media description may bring.
const MAX_TYPES: usize = 32;
/// Media descriptions, and ICE candidates of each, that one SDP may bring.
const MAX_MEDIA: usize = 16;
const MAX_CANDIDATES: usize = 8;

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
    calls: Calls,
    media: Media,
    registrations: Registrations,
    messages: Messages,
    /// Packets lost before this engine, a running total.
    pub(crate) lost_outside: u64,
}

impl Tracker {
    pub(crate) fn new(config: Config, hasher: Hasher) -> Self {
        Self {
            wheel: Wheel::new(),
            calls: Calls::new(config.max_calls, hasher.clone()),
            media: Media::new(&config, hasher.clone()),
            registrations: Registrations::new(config.max_registrations, hasher.clone()),
            messages: Messages::new(config.max_messages, hasher),
            config,
            lost_outside: 0,
        }
    }

    /// Packets known to have been dropped so far, here or before.
    fn drops(&self, counters: &Counters) -> u64 {
        counters.turned_away() + self.lost_outside
    }

    pub(crate) fn under_way(&self) -> (usize, usize) {
        (self.calls.len(), self.media.len())
    }

    /// Takes what looks like RTP; false when it cannot be. HOT.
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
        let key = FlowKey { src: datagram.src, dst: datagram.dst, ssrc: view.ssrc() };
        let packet = RtpPacket {
            now: datagram.time,
            sequence: view.sequence(),
            timestamp: view.timestamp(),
            payload_type: view.payload_type(),
            marker: view.marker(),
            payload_len: view.payload_len() as u32,
            ip_len: datagram.ip_len,
        };
        let accepted = match self.media.find(&key) {
            Some(slot) if !self.media.must_split(slot) => {
                Some(self.media.take(slot, &packet, &view, &self.calls))
            }
            Some(slot) => {
                self.media.retire(slot, &mut self.calls);
                self.media.begin(key, &packet, &view, &mut self.calls, &mut self.wheel)
            }
            None => self.media.begin(key, &packet, &view, &mut self.calls, &mut self.wheel),
        };
        if S::PACKETS
            && let Some(accepted) = accepted
        {
            sink.rtp(&RtpSeen {
                time: datagram.time,
                frames,
                serial: accepted.serial,
                payload_type: packet.payload_type,
                sequence: packet.sequence,
                timestamp: packet.timestamp,
                payload: view.payload(),
                duplicate: accepted.place == Place::Repeat,
            });
        }
        true
    }

    /// Takes the bytes of a SIP message.
    pub(crate) fn sip<S: Sink>(
        &mut self,
        bytes: &[u8],
        hop: &Hop,
        frames: &[u64],
        counters: &mut Counters,
        sink: &mut S,
    ) {
        let Ok(message) = Message::parse(bytes) else {
            counters.sip_bad += 1;
            return;
        };
        counters.sip += 1;
        let Some(call_id) = message.call_id().filter(|call_id| !call_id.is_empty()) else {
            counters.sip_without_call_id += 1;
            return;
        };
        let novelty = match message.cseq().map_or(message.method(), |(_, method)| method) {
            Method::Register => {
                self.registrations.take(call_id, &message, hop, &mut self.wheel);
                Novelty::New
            }
            Method::Message => {
                self.messages.take(call_id, &message, hop, &mut self.wheel);
                self.call_message(call_id, &message, hop, false, counters, sink)
            }
            Method::Invite => self.call_message(call_id, &message, hop, true, counters, sink),
            _ => self.call_message(call_id, &message, hop, false, counters, sink),
        };
        if S::PACKETS {
            sink.sip(&SipSeen {
                time: hop.time,
                frames,
                src: hop.src,
                dst: hop.dst,
                transport: hop.transport,
                message: &message,
                retransmission: novelty == Novelty::Repeat,
                mirrored: novelty == Novelty::Mirrored,
            });
        }
    }

    /// A message of a call; `opens` when it may be the first that is seen of it.
    fn call_message<S: Sink>(
        &mut self,
        call_id: &[u8],
        message: &Message<'_>,
        hop: &Hop,
        opens: bool,
        counters: &Counters,
        sink: &mut S,
    ) -> Novelty {
        let drops = self.drops(counters);
        let slot = match self.calls.find(call_id) {
            Some(slot) => slot,
            None if opens => {
                let Some(slot) = self.calls.begin(call_id, hop, drops) else {
                    // Its answers come by too, and are not counted again.
                    self.calls.refused += u64::from(message.code().is_none());
                    return Novelty::New;
                };
                let first_look = self.config.invite_limit.min(self.config.idle_limit);
                self.wheel.arm(hop.time + first_look, Timer::Call(self.calls.ticket(slot)));
                slot
            }
            None => return Novelty::New,
        };
        let hasher = self.calls.hasher.clone();
        let Some(call) = self.calls.get_mut(slot) else { return Novelty::New };
        let before = Progress::of(call);
        let novelty = call.take(message, hop, &hasher);
        if S::PROGRESS {
            before.tell(call, drops, sink);
        }
        let side = call.sender(message, &hasher);
        if call.is_over() && !call.ending {
            call.ending = true;
            self.wheel.arm(hop.time + self.config.linger, Timer::Call(self.calls.ticket(slot)));
        }
        if let Some(body) = message.sdp().filter(|_| novelty == Novelty::New) {
            self.announce(slot, body, side, hop.time);
        }
        novelty
    }

    /// SDP (RFC 8866) of an offer or an answer: where one side wants its media, in which codecs.
    fn announce(&mut self, slot: u32, body: &[u8], side: Side, time: Nanos) {
        let Ok(sdp) = sdp::Sdp::parse(body) else { return };
        for media in sdp.media().take(MAX_MEDIA) {
            if media.port == 0 {
                continue;
            }
            if media.is_t38() {
                self.offer_fax(slot, time);
                continue;
            }
            let types = self.types_of(&media);
            let connection = media.connection().filter(|ip| !ip.is_unspecified());
            let ends = connection.map(|ip| Endpoint::new(ip, media.port));
            let candidates = media
                .candidates()
                .filter(|candidate| candidate.component == 1)
                .map(|candidate| Endpoint::new(candidate.ip, candidate.port));
            for endpoint in ends.into_iter().chain(candidates.take(MAX_CANDIDATES)) {
                if self.media.add_leg(slot, endpoint, side, types.clone(), false, &mut self.calls) {
                    self.media.announced(endpoint, slot, &mut self.calls);
                }
            }
        }
    }

    fn types_of(&mut self, media: &sdp::Media<'_>) -> Vec<(u8, CodecId)> {
        media
            .payload_types()
            .take(MAX_TYPES)
            .filter_map(|number| {
                let fixed = sdp::static_payload(number);
                let codec = match media.rtpmap(number) {
                    // Encoding names mind no case (RFC 4855 section 3): `pcma` is the PCMA of RFC 3551.
                    Some(codec)
                        if fixed.is_some_and(|fixed| codec.name.eq_ignore_ascii_case(fixed.0.as_bytes())) =>
                    {
                        self.media.codecs.of_static(number)
                    }
                    Some(codec) => self.media.codecs.intern(codec.name, codec.clock, codec.channels),
                    None => self.media.codecs.of_static(number),
                };
                Some((number, codec?))
            })
            .collect()
    }

    fn offer_fax(&mut self, slot: u32, time: Nanos) {
        if let Some(call) = self.calls.get_mut(slot) {
            call.fax = Some(time);
            self.media.set_fax(&call.flows);
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
                if let Some(record) = self.registrations.expire(ticket, now, &mut self.wheel) {
                    sink.registration(record);
                }
            }
            Timer::Message(ticket) => {
                if let Some(record) = self.messages.expire(ticket) {
                    sink.message(record);
                }
            }
            Timer::Connection(_) => {}
        }
    }

    fn expire_call<S: Sink>(&mut self, ticket: Ticket, now: Nanos, counters: &Counters, sink: &mut S) {
        let Some(slot) = self.calls.redeem(ticket) else { return };
        let Some(call) = self.calls.get(slot) else { return };
        let heard = call.flows.iter().map(|flow| self.media.last(*flow)).fold(call.last, Nanos::max);
        let over = call.is_over();
        let limit = if call.is_challenged() {
            self.config.challenge_limit
        } else if over {
            self.config.linger
        } else if call.is_answered() {
            self.config.idle_limit
        } else {
            self.config.invite_limit
        };
        let deadline = if over { call.last + limit } else { heard + limit };
        if deadline > now {
            self.wheel.arm(deadline, Timer::Call(ticket));
        } else {
            self.end_call(slot, !over, counters, sink);
        }
    }

    /// Makes a call's record and those of its streams.
    fn end_call<S: Sink>(&mut self, slot: u32, timed_out: bool, counters: &Counters, sink: &mut S) {
        let Some(call) = self.calls.remove(slot) else { return };
        for leg in &call.legs {
            self.media.endpoints.leave(leg.node);
        }
        let record = call.record(timed_out, self.drops(counters));
        let mut ended = self.media.retired_of(slot);
        ended.extend(call.flows.iter().filter_map(|flow| self.media.end(*flow)));
        let (record, streams) = complete(record, call.rtt(), ended);
        sink.call(record, streams);
    }

    /// The records of a call as if it ended now.
    pub(crate) fn snapshot(&self, id: &Id, counters: &Counters) -> Option<(Call, Vec<Stream>)> {
        let (slot, call) = self.calls.iter().find(|(_, call)| call.id() == *id)?;
        let record = call.record(false, self.drops(counters));
        let mut figures: Vec<Figures> = self.media.retired_so_far(slot).cloned().collect();
        figures.extend(call.flows.iter().filter_map(|flow| self.media.figures(*flow)));
        let (record, streams) = complete(record, call.rtt(), figures);
        Some((record, streams.into_iter().map(|stream| stream.record).collect()))
    }

    /// A flow without a call: over when it has been silent, nothing at all when it was never confirmed.
    fn expire_flow<S: Sink>(&mut self, ticket: Ticket, now: Nanos, sink: &mut S) {
        let Some(slot) = self.media.redeem(ticket) else { return };
        if self.media.call_of(slot).is_some() {
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
        let Some(figures) = self.media.end(slot) else { return };
        if provisional {
            self.media.counts.unconfirmed += figures.packets();
        } else {
            sink.stream(StreamEnd { serial: figures.serial, record: figures.record(None) });
        }
    }

    /// Ends all, in order: calls by their number in the table, then streams, registrations, messages.
    pub(crate) fn close<S: Sink>(&mut self, counters: &Counters, sink: &mut S) {
        let mut slots = self.calls.slots();
        slots.sort_by_key(|slot| self.calls.get(*slot).map(|call| (call.first, *slot)));
        for slot in slots {
            self.end_call(slot, false, counters, sink);
        }
        for slot in self.media.slots() {
            self.end_stream(slot, sink);
        }
        self.registrations.close().into_iter().for_each(|record| sink.registration(record));
        self.messages.close().into_iter().for_each(|record| sink.message(record));
    }

    pub(crate) fn collect(&self, counters: &mut Counters) {
        counters.rtp_unconfirmed = self.media.counts.unconfirmed;
        counters.calls_refused = self.calls.refused;
        counters.flows_refused = self.media.counts.refused;
        counters.legs_refused = self.media.counts.legs_refused;
        counters.intervals_refused = self.media.intervals_refused();
        counters.registrations_refused = self.registrations.refused;
        counters.messages_refused = self.messages.refused;
    }
}

/// How far a call was before a message.
struct Progress {
    is_new: bool,
    is_ringing: bool,
    is_answered: bool,
    is_released: bool,
}

impl Progress {
    fn of(call: &CallEntry) -> Self {
        Self {
            is_new: call.is_new(),
            is_ringing: call.is_ringing(),
            is_answered: call.is_answered(),
            is_released: call.is_over() && !call.is_challenged(),
        }
    }

    /// Tells what the message changed.
    fn tell<S: Sink>(self, call: &CallEntry, drops: u64, sink: &mut S) {
        let now = Self::of(call);
        let steps = [
            (Step::Started, self.is_new && !now.is_new),
            (Step::Ringing, now.is_ringing && !self.is_ringing),
            (Step::Answered, now.is_answered && !self.is_answered),
            (Step::Released, now.is_released && !self.is_released),
        ];
        let mut record = None;
        for (step, _) in steps.into_iter().filter(|(_, taken)| *taken) {
            sink.progress(step, record.get_or_insert_with(|| call.record(false, drops)));
        }
    }
}

/// A call's record with those of its streams.
fn complete(mut call: Call, rtt: Option<Nanos>, mut figures: Vec<Figures>) -> (Call, Vec<StreamEnd>) {
    figures.sort_by_key(|figures| figures.serial);
    let context = StreamContext { call_id: call.call_id.clone(), call: call.id, rtt };
    let mut streams = Vec::with_capacity(figures.len());
    for figures in figures {
        let digits = figures.digits.iter().filter_map(|digit| {
            Some(Dtmf { digit: digit_name(digit.code)?, source: DtmfSource::Rfc4733, time: digit.time })
        });
        call.dtmf.extend(digits);
        streams.push(StreamEnd { serial: figures.serial, record: figures.record(Some(&context)) });
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

//! The signalling half: calls, registrations and messages of the Call-IDs that one worker owns. Of media it knows what
//! comes back from there.

use std::net::IpAddr;

use ringtap_model::{Call, Endpoint, Id, Message as MessageRecord, Nanos, Registration};
use ringtap_wire::sdp;
use ringtap_wire::sip::{Message, Method};

use crate::config::Config;
use crate::sink::{CallNumber, CallPhase, Sink};
use crate::table::hash::Hasher;
use crate::table::slots::Ticket;
use crate::table::timers::{Timer, Wheel};
use crate::trackers::calls::{CallEntry, Calls, Hop, Novelty, Taken, Told};
use crate::trackers::media::{Codecs, Soon};
use crate::trackers::messages::Messages;
use crate::trackers::registrations::Registrations;
use crate::trackers::update::{CallRef, Note, Order, Types};

/// Payload types that one media description may bring.
const MAX_TYPES: usize = 32;
/// Media descriptions, and ICE candidates of each, that one SDP may bring.
const MAX_MEDIA: usize = 16;
const MAX_CANDIDATES: usize = 8;

/// Lists of payload types that are remembered.
const OFFERS: usize = 64;

/// A SIP message on its way.
#[derive(Clone, Copy)]
pub(crate) struct Passing<'a> {
    pub(crate) message: &'a Message<'a>,
    pub(crate) call_id: &'a [u8],
    /// Hash of its Call-ID.
    pub(crate) hash: u64,
    pub(crate) hop: &'a Hop,
    pub(crate) order: Order,
    /// Packets known to have been dropped so far.
    pub(crate) drops: u64,
}

/// How soon a timer's turn comes. With each step the memory that the step before asked for has come, and tells what to ask
/// for next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Nearness {
    Far,
    Near,
    Nearer,
    Next,
    Last,
}

impl Nearness {
    /// Each with how many timers lie before.
    pub(crate) const STEPS: [(Self, usize); 5] =
        [(Self::Far, 15), (Self::Near, 12), (Self::Nearer, 9), (Self::Next, 6), (Self::Last, 3)];
}

/// What a call whose timer fired needs.
pub(crate) enum Due {
    /// Nothing: its time is not over, or it is gone.
    Nothing,
    /// To know when its media were last heard: answer with [`Signalling::heard`].
    Media(CallRef),
    /// Its end.
    End(Box<Ended>),
}

/// A call that has ended, still without its streams.
pub(crate) struct Ended {
    pub(crate) record: Call,
    /// Round trip that its transactions showed.
    pub(crate) rtt: Option<Nanos>,
    /// To ask for its streams with; None when it announced no media.
    pub(crate) media: Option<CallRef>,
}

/// The calls, registrations and messages that one worker owns.
pub(crate) struct Signalling {
    worker: usize,
    config: Config,
    calls: Calls,
    offers: Offers,
    registrations: Registrations,
    messages: Messages,
}

impl Signalling {
    pub(crate) fn new(worker: usize, config: &Config, hasher: &Hasher) -> Self {
        Self {
            worker,
            calls: Calls::new(config.max_calls, hasher.clone()),
            offers: Offers::new(hasher.clone()),
            registrations: Registrations::new(config.max_registrations, hasher.clone()),
            messages: Messages::new(config.max_messages, hasher.clone()),
            config: config.clone(),
        }
    }

    /// Calls under way.
    pub(crate) fn len(&self) -> usize {
        self.calls.len()
    }

    /// Calls, registrations and messages that found no place.
    pub(crate) fn refused(&self) -> [u64; 3] {
        [self.calls.refused, self.registrations.refused, self.messages.refused]
    }

    /// Takes a SIP message; `note` gets what media must be told. Gives the call that it belongs to.
    pub(crate) fn take<S: Sink>(
        &mut self,
        passing: &Passing<'_>,
        (codecs, soon): (&mut Codecs, Soon<'_>),
        wheel: &mut Wheel,
        sink: &mut S,
        note: impl FnOnce(Note),
    ) -> (Novelty, Option<CallRef>) {
        let Passing { message, call_id, hash, hop, .. } = *passing;
        self.calls.prefetch_index(hash);
        let cseq = message.cseq();
        let method = cseq.map_or_else(|| message.method(), |(_, method)| method);
        match method {
            Method::Register => {
                self.registrations.take(call_id, message, hop, wheel);
                return (Novelty::New, None);
            }
            Method::Message => self.messages.take(call_id, message, hop, wheel),
            _ => {}
        }
        let told = Told::new(message, hop, cseq, &self.calls.hasher, || self.calls.prefetch(hash));
        let Some(slot) = self.call_of(passing, method == Method::Invite, wheel) else {
            return (Novelty::New, None);
        };
        let ticket = self.calls.ticket(slot);
        let name = CallRef::new(self.worker, ticket);
        let Self { calls, config, offers, .. } = self;
        let (hasher, Some(call)) = calls.with_hasher(slot) else { return (Novelty::New, None) };
        let (before, stood) = (Progress::of(call), call.announced.then(|| call.standing()));
        let Taken { novelty, side } = call.take(&told, hasher);
        if S::PROGRESS {
            before.tell(call, CallNumber(name), passing.drops, sink);
        }
        let over = call.is_over();
        if over && !call.ending {
            wheel.arm(hop.time + config.linger, Timer::Call(ticket));
        }
        // One that is tried again lingers again.
        call.ending = over;
        let body = message.sdp().filter(|_| novelty == Novelty::New);
        let ends = body.map_or_else(Vec::new, |body| {
            // Media will be asked when it is read.
            soon.call(name);
            let ends = announced(call, body, hop.time, codecs, offers);
            ends.iter().for_each(|(end, _)| soon.endpoint(*end));
            soon.view(name);
            ends
        });
        if !ends.is_empty() || stood.is_some_and(|stood| call.standing() != stood) {
            let standing = call.standing();
            call.announced = true;
            note(Note { order: passing.order, call: name, standing, side, ends });
        }
        let due = call.last + limit(config, call);
        calls.set_due(slot, due);
        (novelty, Some(name))
    }

    /// The call of a message; `opens` when it may be the first that is seen of it.
    fn call_of(&mut self, passing: &Passing<'_>, opens: bool, wheel: &mut Wheel) -> Option<u32> {
        let Passing { message, call_id, hash, hop, drops, .. } = *passing;
        let found = self.calls.find(call_id, hash);
        if found.is_some() || !opens {
            return found;
        }
        let Some(slot) = self.calls.begin(call_id, hash, hop, drops) else {
            // Its answers come by too, and are not counted again.
            self.calls.refused += u64::from(message.code().is_none());
            return None;
        };
        let first_look = self.config.invite_limit.min(self.config.idle_limit);
        wheel.arm(hop.time + first_look, Timer::Call(self.calls.ticket(slot)));
        Some(slot)
    }

    /// A call's timer is about to fire: asks for the call, if it may end then. Gives its name to ask media with.
    pub(crate) fn prefetch(&self, ticket: Ticket, now: Nanos, nearness: Nearness) -> Option<CallRef> {
        if self.calls.due(ticket) > now {
            return None;
        }
        match nearness {
            Nearness::Far => self.calls.prefetch_slot(ticket.slot),
            Nearness::Near => {
                let call = self.calls.get(ticket.slot)?;
                call.prefetch_parties();
                self.calls.prefetch_index(call.hash);
            }
            Nearness::Nearer | Nearness::Next | Nearness::Last => {}
        }
        Some(CallRef::new(self.worker, ticket))
    }

    /// A call's timer fired.
    pub(crate) fn expire(&mut self, ticket: Ticket, now: Nanos, drops: u64, wheel: &mut Wheel) -> Due {
        let due = self.calls.due(ticket);
        if due > now {
            // Whatever was heard of its media.
            wheel.arm(due, Timer::Call(ticket));
            return Due::Nothing;
        }
        let Some(call) = self.calls.redeem(ticket).and_then(|slot| self.calls.get(slot)) else {
            return Due::Nothing;
        };
        if call.announced && !call.is_over() {
            return Due::Media(CallRef::new(self.worker, ticket));
        }
        self.decide(ticket, Nanos::ZERO, now, drops, wheel)
    }

    /// The answer to [`Due::Media`].
    pub(crate) fn heard(
        &mut self,
        call: CallRef,
        heard: Nanos,
        now: Nanos,
        drops: u64,
        wheel: &mut Wheel,
    ) -> Due {
        match self.calls.redeem(call.ticket()) {
            Some(slot) => self.decide(self.calls.ticket(slot), heard, now, drops, wheel),
            None => Due::Nothing,
        }
    }

    fn decide(&mut self, ticket: Ticket, heard: Nanos, now: Nanos, drops: u64, wheel: &mut Wheel) -> Due {
        let Some(call) = self.calls.get(ticket.slot) else { return Due::Nothing };
        let (over, limit) = (call.is_over(), limit(&self.config, call));
        let deadline = if over { call.last + limit } else { call.last.max(heard) + limit };
        if deadline > now {
            wheel.arm(deadline, Timer::Call(ticket));
            return Due::Nothing;
        }
        self.end(ticket.slot, !over, drops).map_or(Due::Nothing, Due::End)
    }

    /// Ends a call.
    pub(crate) fn end(&mut self, slot: u32, timed_out: bool, drops: u64) -> Option<Box<Ended>> {
        let media = CallRef::new(self.worker, self.calls.ticket(slot));
        let call = self.calls.remove(slot)?;
        let (rtt, media) = (call.rtt(), call.announced.then_some(media));
        Some(Box::new(Ended { record: call.into_record(timed_out, drops), rtt, media }))
    }

    /// A call as if it ended now.
    pub(crate) fn snapshot(&self, id: &Id, drops: u64) -> Option<Ended> {
        let (slot, call) = self.calls.iter().find(|(_, call)| call.id() == *id)?;
        let media = CallRef::new(self.worker, self.calls.ticket(slot));
        let record = call.record(false, drops);
        Some(Ended { record, rtt: call.rtt(), media: call.announced.then_some(media) })
    }

    /// The calls under way, in order of their first message.
    pub(crate) fn slots(&self) -> Vec<u32> {
        let mut slots = self.calls.slots();
        slots.sort_by_key(|slot| (self.calls.get(*slot).map(|call| call.first), *slot));
        slots
    }

    /// A registration's timer fired.
    pub(crate) fn expire_registration(
        &mut self,
        ticket: Ticket,
        now: Nanos,
        wheel: &mut Wheel,
    ) -> Option<Registration> {
        self.registrations.expire(ticket, now, wheel)
    }

    /// A message's timer fired.
    pub(crate) fn expire_message(&mut self, ticket: Ticket) -> Option<MessageRecord> {
        self.messages.expire(ticket)
    }

    /// Ends what is no call.
    pub(crate) fn close<S: Sink>(&mut self, sink: &mut S) {
        self.registrations.close().into_iter().for_each(|record| sink.registration(record));
        self.messages.close().into_iter().for_each(|record| sink.message(record));
    }
}

/// How long a call in its state may be silent.
fn limit(config: &Config, call: &CallEntry) -> Nanos {
    if call.is_challenged() {
        config.challenge_limit
    } else if call.is_over() {
        config.linger
    } else if call.is_answered() {
        config.idle_limit
    } else {
        config.invite_limit
    }
}

/// Payload types as descriptions named them lately: a network's telephones and gateways offer the same few lists in call
/// after call, which then share one.
struct Offers {
    lately: Box<[Option<(u64, Types)>; OFFERS]>,
    hasher: Hasher,
}

impl Offers {
    fn new(hasher: Hasher) -> Self {
        Self { lately: Box::new([const { None }; OFFERS]), hasher }
    }

    /// The payload types of a medium, whose `a=rtpmap` lines have these values.
    fn types_of(&mut self, media: &sdp::Media<'_>, maps: &[&[u8]], codecs: &mut Codecs) -> Types {
        let hash = self.hasher.of((media.media_type == sdp::MediaType::Video, media.formats, maps));
        let place = &mut self.lately[hash as usize % OFFERS];
        match place {
            // Nobody finds two lists of one keyed hash.
            Some((of, types)) if *of == hash => types.clone(),
            _ => {
                let maps = maps.iter().filter_map(|value| sdp::rtpmap(media, value));
                let types = named(media, maps, codecs);
                *place = Some((hash, types.clone()));
                types
            }
        }
    }
}

/// A medium while the lines below it are read.
struct Medium<'a> {
    line: sdp::Media<'a>,
    /// Its own `c=` line, which may give a name.
    connection: Option<Option<IpAddr>>,
    maps: [&'a [u8]; MAX_TYPES],
    map_count: usize,
    candidates: Vec<Endpoint>,
}

impl<'a> Medium<'a> {
    fn new(line: sdp::Media<'a>) -> Self {
        Self { line, connection: None, maps: [&[]; MAX_TYPES], map_count: 0, candidates: Vec::new() }
    }

    fn add_map(&mut self, value: &'a [u8]) {
        if let Some(place) = self.maps.get_mut(self.map_count) {
            *place = value;
        }
        self.map_count += 1;
    }

    fn add_candidate(&mut self, candidate: &sdp::Candidate<'_>) {
        if candidate.component == 1 && self.candidates.len() < MAX_CANDIDATES {
            self.candidates.push(Endpoint::new(candidate.ip, candidate.port));
        }
    }
}

/// SDP (RFC 8866) of an offer or an answer: where one side wants its media, in which codecs.
fn announced(
    call: &mut CallEntry,
    body: &[u8],
    time: Nanos,
    codecs: &mut Codecs,
    offers: &mut Offers,
) -> Vec<(Endpoint, Types)> {
    let mut ends = Vec::new();
    let (mut session, mut medium) = (None, None);
    let (mut sections, mut described) = (0, 0);
    for line in sdp::media_lines(body) {
        match line {
            sdp::MediaLine::Media(line) => {
                let before: Option<(usize, Medium<'_>)> = medium.take();
                if let Some((section, medium)) = before {
                    finish(medium, session, (body, section), codecs, offers, &mut ends);
                }
                if sections == sdp::MAX_MEDIA || described == MAX_MEDIA {
                    break;
                }
                if let Some(line) = line {
                    if line.port != 0 && line.is_t38() {
                        call.fax = Some(time);
                    } else if line.port != 0 {
                        medium = Some((described, Medium::new(line)));
                    }
                    described += 1;
                }
                sections += 1;
            }
            sdp::MediaLine::Connection(ip) => match &mut medium {
                Some((_, medium)) => _ = medium.connection.get_or_insert(ip),
                None if sections == 0 => _ = session.get_or_insert(ip),
                None => {}
            },
            sdp::MediaLine::Rtpmap(value) => {
                if let Some((_, medium)) = &mut medium {
                    medium.add_map(value);
                }
            }
            sdp::MediaLine::Candidate(candidate) => {
                if let Some((_, medium)) = &mut medium {
                    medium.add_candidate(&candidate);
                }
            }
        }
    }
    if let Some((section, medium)) = medium {
        finish(medium, session, (body, section), codecs, offers, &mut ends);
    }
    ends
}

/// The endpoints of a medium, all of whose lines were read. It is the `section`-th of `body`.
fn finish(
    medium: Medium<'_>,
    session: Option<Option<IpAddr>>,
    (body, section): (&[u8], usize),
    codecs: &mut Codecs,
    offers: &mut Offers,
    ends: &mut Vec<(Endpoint, Types)>,
) {
    let Medium { line, connection, maps, map_count, candidates } = medium;
    let types = match maps.get(..map_count) {
        Some(maps) => offers.types_of(&line, maps, codecs),
        None => types_of_many(body, section, codecs),
    };
    let connection = connection.or(session).flatten().filter(|ip| !ip.is_unspecified());
    let end = connection.map(|ip| Endpoint::new(ip, line.port));
    ends.extend(end.into_iter().chain(candidates).map(|end| (end, types.clone())));
}

/// Of a medium with more `a=rtpmap` lines than anybody sends: they are searched one by one.
#[cold]
fn types_of_many(body: &[u8], section: usize, codecs: &mut Codecs) -> Types {
    let media = sdp::Sdp::parse(body).ok().and_then(|sdp| sdp.media().nth(section));
    let Some(media) = media else { return Types::default() };
    let maps =
        media.payload_types().take(MAX_TYPES).filter_map(|number| Some((number, media.rtpmap(number)?)));
    named(&media, maps, codecs)
}

/// The payload types of a medium, by the first of `maps` that names each or by RFC 3551.
fn named<'a>(
    media: &sdp::Media<'_>,
    maps: impl Iterator<Item = (u8, sdp::Codec<'a>)>,
    codecs: &mut Codecs,
) -> Types {
    let mut named: [Option<(u8, sdp::Codec<'_>)>; MAX_TYPES] = [None; MAX_TYPES];
    for (place, map) in named.iter_mut().zip(maps) {
        *place = Some(map);
    }
    let of = |number| named.iter().map_while(|map| *map).find(|map| map.0 == number).map(|map| map.1);
    media
        .payload_types()
        .take(MAX_TYPES)
        .filter_map(|number| {
            let fixed = sdp::static_payload(number);
            let codec = match of(number) {
                // Encoding names mind no case (RFC 4855 section 3): `pcma` is the PCMA of RFC 3551.
                Some(codec)
                    if fixed.is_some_and(|fixed| codec.name.eq_ignore_ascii_case(fixed.0.as_bytes())) =>
                {
                    codecs.of_static(number)
                }
                Some(codec) => codecs.intern(codec.name, codec.clock, codec.channels),
                None => codecs.of_static(number),
            };
            Some((number, codec?))
        })
        .collect()
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
    fn tell<S: Sink>(self, call: &CallEntry, number: CallNumber, drops: u64, sink: &mut S) {
        let now = Self::of(call);
        let steps = [
            (CallPhase::Started, self.is_new && !now.is_new),
            (CallPhase::Ringing, now.is_ringing && !self.is_ringing),
            (CallPhase::Answered, now.is_answered && !self.is_answered),
            (CallPhase::Released, now.is_released && !self.is_released),
        ];
        let mut record = None;
        for (step, _) in steps.into_iter().filter(|(_, taken)| *taken) {
            sink.progress(step, number, record.get_or_insert_with(|| call.record(false, drops)));
        }
    }
}

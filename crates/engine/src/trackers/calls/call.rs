//! What is known of one call attempt, message by message: RFC 3261 dialogs seen from the side.

mod continued;
mod facts;
mod hold;
mod identity;
mod keys;
mod links;
mod memory;
mod quality;
mod record;
mod session;

use std::cell::OnceCell;
use std::sync::Arc;

use ringtap_model::{CallState, Dtmf, Endpoint, Id, IdentityHeader, Nanos, QualityReport, Transport};
use ringtap_quality::notes::MediaFacts;
use ringtap_wire::sip::{Header, Message, Method, NameAddr, StartLine};

use super::continuation::Continuation;
use super::disconnect::Disconnect;
use super::holds::{AskedTransfer, Holds};
use super::links::Links;
use super::message::CallMessage;
use super::seen::SeenMessages;
use super::session_timer::{NEVER, SessionTimer};
use crate::address_text::AddressText;
use crate::context::Hop;
use crate::spare::Spare;
use crate::table::hash::{self, Hasher};
use crate::text::{text, text_in};
use crate::trackers::callid::CallId;
use crate::update::{CallStatus, Side};

/// Ceilings of what one call may hold.
const MAX_DIVERTED: usize = 16;
const MAX_DIGITS: usize = 64;

/// Whether [`CallEntry::handle`] has seen a message before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Novelty {
    New,
    Retransmission,
    /// The mirror port's second copy.
    Mirrored,
}

/// What [`CallEntry::handle`] concluded about a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Handled {
    pub(crate) novelty: Novelty,
    /// Who sent it, where it is new.
    pub(crate) side: Side,
}

/// A call under way: what messages touch. The rest is apart, in [`Parties`].
pub(crate) struct CallEntry {
    pub(crate) call_id: CallId,
    pub(crate) hash: u64,
    pub(crate) src: Endpoint,
    pub(crate) dst: Endpoint,
    pub(crate) first: Nanos,
    /// Last signalling.
    pub(crate) last: Nanos,
    pub(crate) transport: Transport,
    parties: Box<Parties>,
    /// Which sides have said what they are.
    has_agent: [bool; 2],
    /// Hash of the caller's tag.
    caller_tag: u64,
    /// Hash of the From that the tag was read from: most messages have the same.
    caller_from: Option<u64>,
    /// CSeq of the newest INVITE that began or retried the call.
    attempt: u32,
    invite: Option<Nanos>,
    trying: Option<Nanos>,
    ringing: Option<Nanos>,
    answer: Option<Nanos>,
    bye: Option<Nanos>,
    bye_by: Option<Side>,
    pub(super) cancel: Option<Nanos>,
    /// Final 3xx-6xx of the newest attempt.
    failure: Option<Nanos>,
    final_code: u16,
    cause: Option<u16>,
    messages: u32,
    retransmissions: u32,
    seen: SeenMessages,
    /// Request waiting for its first answer, and the shortest round trip so far.
    pending: Option<(u64, Nanos)>,
    rtt: Option<Nanos>,
    /// Media know of it.
    pub(crate) announced: bool,
    /// What its descriptions said beside endpoints, for the notes.
    pub(crate) facts: MediaFacts,
    /// Sides that described T.38.
    pub(crate) fax_by: [bool; 2],
    /// When T.38 was last offered.
    pub(crate) fax: Option<Nanos>,
    /// When a message last told of a pressed key.
    pub(crate) keyed: Option<Nanos>,
    /// Which sides put the other on hold by what they said last.
    pub(super) held: [bool; 2],
    /// It has ended without a BYE that was seen: with its last packet, or when its session ran out.
    pub(super) lost_since: Option<Nanos>,
    /// When its session runs out (RFC 4028).
    session_end: Nanos,
    /// That is what ended it.
    has_expired: bool,
    /// The linger timer runs.
    pub(crate) ending: bool,

    /// Where the drop counter of the capture stood at the start.
    pub(crate) drops: u64,
    /// Which count of sources it has a part in.
    pub(super) source: u16,
    /// Whether it holds more than `memory` says, which is in bytes.
    pub(super) has_grown: bool,
    pub(super) memory: u32,
    /// Which links it has that come once: a bit each.
    linked: u8,
    /// Media endpoints that it announced, and payload types of them.
    announced_ends: u16,
    announced_types: u16,
}

/// What its record tells of a call beside its course: written by one message each.
#[derive(Clone, Default)]
struct Parties {
    from_user: Option<String>,
    from_host: Option<String>,
    from_display: Option<String>,
    to_user: Option<String>,
    to_host: Option<String>,
    ruri_user: Option<String>,
    ruri_host: Option<String>,
    asserted: Option<String>,
    agents: [Option<String>; 2],
    final_reason: Option<String>,
    diverted: Vec<String>,
    digits: Vec<Dtmf>,
    reports: Vec<QualityReport>,
    /// Key that is pressed, as NOTIFYs tell of telephone-events.
    pressed: Option<u8>,
    id: OnceCell<Id>,
    disconnect: Disconnect,
    timer: SessionTimer,
    holds: [Holds; 2],
    transfer: Option<Box<AskedTransfer>>,
    identity: Option<Arc<IdentityHeader>>,
    /// What may join it to other calls.
    links: Links,
    /// What the last run had of it.
    continuation: Option<Box<Continuation>>,
}

impl CallEntry {
    pub(crate) fn new(call_id: &[u8], hash: u64, hop: &Hop, drops: u64) -> Self {
        Self {
            call_id: CallId::new(call_id),
            hash,
            src: hop.src,
            dst: hop.dst,
            first: hop.time,
            last: hop.time,
            transport: hop.transport,
            parties: Box::default(),
            has_agent: [false; 2],
            caller_tag: 0,
            caller_from: None,
            attempt: 0,
            invite: None,
            trying: None,
            ringing: None,
            answer: None,
            bye: None,
            bye_by: None,
            cancel: None,
            failure: None,
            final_code: 0,
            cause: None,
            messages: 0,
            retransmissions: 0,
            seen: SeenMessages::new(),
            pending: None,
            rtt: None,
            announced: false,
            facts: MediaFacts::default(),
            fax_by: [false; 2],
            fax: None,
            keyed: None,
            held: [false; 2],
            lost_since: None,
            session_end: NEVER,
            has_expired: false,
            ending: false,
            drops,
            source: 0,
            has_grown: true,
            memory: 0,
            linked: 0,
            announced_ends: 0,
            announced_types: 0,
        }
    }

    /// Takes a message of this Call-ID. The first must be one of an INVITE transaction.
    // HOT: once a message of a call.
    pub(crate) fn handle(&mut self, received: &CallMessage<'_>, hasher: &Hasher, spare: &Spare) -> Handled {
        let CallMessage { message, hop, cseq, .. } = *received;
        let novelty = self.novelty(received);
        if novelty == Novelty::Mirrored {
            return Handled { novelty, side: Side::Caller };
        }
        self.last = self.last.max(hop.time);
        (self.lost_since, self.has_expired) = (None, false);
        self.messages += 1;
        if novelty == Novelty::Retransmission {
            self.retransmissions += 1;
            self.add_repeated(received);
            return Handled { novelty, side: Side::Caller };
        }
        if self.messages == 1 || (self.invite.is_none() && is_invite(message)) {
            self.set_parties(received, hasher, spare);
        }
        if hop.time > self.session_end {
            // It goes on: its refresh was not seen here.
            self.session_end = NEVER;
        }
        self.round_trip(received);
        let side = self.sender(received, hasher);
        self.record_agent(message, side, spare);
        self.add_links(received, side);
        if let Some(cause) = message.reason_q850() {
            self.cause = Some(cause);
        }
        match message.start() {
            StartLine::Request { method, .. } => self.request(received, method, side),
            StartLine::Response { code, reason } => {
                let cseq = match cseq {
                    Some((number, Method::Invite)) => Some(number),
                    // The answer repeats what its INVITE had, damaged or not.
                    Some((number, Method::Other)) if number == self.attempt => Some(number),
                    None if self.attempt == 0 => Some(0),
                    _ => None,
                };
                if let Some((_, Method::Bye)) = received.cseq {
                    self.add_statistics(message, side, hop.time);
                }
                if let Some(cseq) = cseq {
                    self.response(message, cseq, (code, reason), hop.time, spare);
                }
                self.answered_within(received, code, side.other());
            }
        }
        Handled { novelty, side }
    }

    fn novelty(&mut self, received: &CallMessage<'_>) -> Novelty {
        self.has_grown |= self.seen.will_grow();
        let Hop { time, ip_id, .. } = *received.hop;
        match self.seen.insert(received.whole, ip_id, time) {
            Some(last) if last.is_copied_by(ip_id, time) => Novelty::Mirrored,
            Some(_) => Novelty::Retransmission,
            None => Novelty::New,
        }
    }

    /// Parties, from the first INVITE, or from whatever message of the call came first.
    fn set_parties(&mut self, received: &CallMessage<'_>, hasher: &Hasher, spare: &Spare) {
        let CallMessage { message, hop, .. } = *received;
        self.has_grown = true;
        self.forget_id();
        let parties = &mut *self.parties;
        let text = |bytes: &[u8]| text_in(bytes, spare);
        if is_invite(message) {
            (self.src, self.dst, self.transport) = (hop.src, hop.dst, hop.transport);
        } else if message.code().is_some() {
            (self.src, self.dst) = (hop.dst, hop.src);
        }
        if let Some(from) = message.from() {
            parties.from_user = from.uri.user.and_then(text);
            parties.from_host = host(from.uri.host, spare);
            parties.from_display = from.display.and_then(text);
            self.caller_tag = tag_hash(from.tag(), hasher);
            self.caller_from = received.from;
        }
        if let Some(to) = message.to() {
            parties.to_user = to.uri.user.and_then(text);
            parties.to_host = host(to.uri.host, spare);
        }
        if let Some(uri) = message.request_uri() {
            parties.ruri_user = uri.user.and_then(text);
            parties.ruri_host = host(uri.host, spare);
        }
        parties.asserted = message
            .values(Header::PAssertedIdentity)
            .find_map(NameAddr::parse)
            .and_then(|identity| text(identity.uri.user.unwrap_or(identity.uri.host)));
    }

    /// Which side sent a message: From names the side that sent the request, in the answer too (RFC 3261
    /// 8.2.6.2).
    fn sender(&mut self, received: &CallMessage<'_>, hasher: &Hasher) -> Side {
        // The same From has the same tag.
        let by_caller = if self.caller_tag == 0 && self.parties.continuation.is_some() {
            self.requested_by_caller(received, hasher)
        } else {
            received.from.is_some() && received.from == self.caller_from
                || received.message.from_tag().is_none_or(|tag| tag_hash(tag, hasher) == self.caller_tag)
        };
        let requester = if by_caller { Side::Caller } else { Side::Callee };
        if received.message.code().is_some() { requester.other() } else { requester }
    }

    fn record_agent(&mut self, message: &Message<'_>, side: Side, spare: &Spare) {
        if self.has_agent[side as usize] {
            return;
        }
        let agent = message.header(Header::UserAgent).or_else(|| message.header(Header::Server));
        let agent = agent.and_then(|agent| text_in(agent, spare));
        if agent.is_some() {
            self.has_agent[side as usize] = true;
            self.has_grown = true;
            self.parties.agents[side as usize] = agent;
        }
    }

    /// The shortest time from a request to its first answer, both at this point: a round trip to one side.
    fn round_trip(&mut self, received: &CallMessage<'_>) {
        let Some(key) = received.transaction else { return };
        let time = received.hop.time;
        if received.message.code().is_none() {
            self.pending = Some((key, time));
        } else if let Some((_, sent)) = self.pending.take_if(|(other, _)| *other == key) {
            let trip = time.since(sent);
            // Equal times are those of a capture that does not tell packets apart.
            if trip > Nanos::ZERO {
                self.rtt = Some(self.rtt.map_or(trip, |shortest| shortest.min(trip)));
            }
        }
    }

    fn request(&mut self, received: &CallMessage<'_>, method: Method, side: Side) {
        let CallMessage { message, hop, .. } = *received;
        match method {
            Method::Invite => self.on_invite(received),
            Method::Ack => self.facts.acknowledged |= self.answer.is_some(),
            Method::Cancel => {
                self.cancel.get_or_insert(hop.time);
            }
            Method::Bye => {
                let is_first = self.bye.is_none();
                if is_first {
                    self.bye = Some(hop.time);
                    self.bye_by = Some(side);
                }
                if self.bye_by == Some(side) {
                    self.parties.disconnect.request(received, is_first);
                }
                self.add_statistics(message, side, hop.time);
                self.add_diverted(message.values(Header::Also));
            }
            Method::Refer => {
                self.add_diverted(message.values(Header::ReferTo));
                self.add_refer(received, side);
            }
            Method::Info | Method::Notify => self.add_keys(message, method, hop.time),
            _ => {}
        }
    }

    /// The answer to a request of `requester` that may concern the answered call as a whole.
    fn answered_within(&mut self, received: &CallMessage<'_>, code: u16, requester: Side) {
        match received.cseq {
            Some((_, Method::Invite | Method::Update)) if self.answer.is_some() => {
                self.refresh(received.message, code, requester, received.hop.time);
            }
            Some((_, Method::Bye)) => self.parties.disconnect.answer(received, code),
            Some((_, Method::Refer)) => self.answer_refer(received, code),
            _ => {}
        }
    }

    /// The first INVITE, one that answers a challenge or tries again, a copy on another hop, or a re-INVITE.
    fn on_invite(&mut self, received: &CallMessage<'_>) {
        let message = received.message;
        let number = received.cseq.map_or(0, |(number, _)| number);
        if self.invite.is_none() {
            self.add_replaces(received);
            self.invite = Some(received.hop.time);
            self.forget_id();
            self.attempt = number;
        } else if self.answer.is_none() && self.failure.is_some() && number > self.attempt {
            // RFC 3261 section 22.2: the same attempt, with credentials, a longer session interval, another
            // target.
            self.attempt = number;
            self.failure = None;
            self.final_code = 0;
            self.parties.final_reason = None;
        }
        if self.answer.is_none() {
            self.add_identity(message);
        }
        self.add_diverted(message.values(Header::Diversion));
        self.add_diverted(message.values(Header::HistoryInfo));
    }

    fn response(
        &mut self,
        message: &Message<'_>,
        cseq: u32,
        (code, reason): (u16, &[u8]),
        time: Nanos,
        spare: &Spare,
    ) {
        if self.answer.is_some() && cseq != self.attempt {
            // A re-INVITE's: the call stands as it stood.
            return;
        }
        match code {
            100 => _ = self.trying.get_or_insert(time),
            180..=189 => _ = self.ringing.get_or_insert(time),
            101..=199 => {}
            200..=299 => {
                if self.answer.is_none() {
                    self.answer = Some(time);
                    self.attempt = self.attempt.max(cseq);
                    self.set_final(code, reason, spare);
                }
            }
            // A branch that failed does not undo an answer on another (RFC 3261 section 16.7).
            _ if self.answer.is_some() => {}
            _ => {
                self.failure = Some(self.failure.unwrap_or(time));
                self.set_final(code, reason, spare);
                if (300..400).contains(&code) {
                    self.add_diverted(message.values(Header::Contact));
                }
            }
        }
    }

    /// Its id follows from its INVITE, unless it has a record of the last run.
    fn forget_id(&mut self) {
        if self.parties.continuation.is_none() {
            self.parties.id = OnceCell::new();
        }
    }

    fn set_final(&mut self, code: u16, reason: &[u8], spare: &Spare) {
        self.final_code = code;
        self.has_grown = true;
        self.parties.final_reason = text_in(reason, spare);
    }

    /// Numbers that the call was routed on to.
    fn add_diverted<'a>(&mut self, values: impl Iterator<Item = &'a [u8]>) {
        for target in values.filter_map(NameAddr::parse) {
            let Some(number) = text(target.uri.user.unwrap_or(target.uri.host)) else { continue };
            let diverted = &mut self.parties.diverted;
            if diverted.len() < MAX_DIVERTED && !diverted.iter().any(|other| **other == *number) {
                diverted.push(number.into());
                self.has_grown = true;
            }
        }
    }

    /// Whether nothing more is to be expected but stragglers.
    pub(crate) fn is_over(&self) -> bool {
        self.bye.is_some() || (self.answer.is_none() && (self.failure.is_some() || self.cancel.is_some()))
    }

    /// Whether it goes on, as far as is known: its BYE was not seen, and was probably not lost.
    pub(crate) fn is_in_progress(&self) -> bool {
        !self.is_over() && self.lost_since.is_none()
    }

    /// Whether the last word was a challenge that an INVITE may still answer.
    pub(crate) fn is_challenged(&self) -> bool {
        self.answer.is_none() && matches!(self.final_code, 401 | 407)
    }

    /// What media must know of it beside its endpoints.
    pub(crate) fn status(&self) -> CallStatus {
        let is_over = self.is_over() || self.lost_since.is_some();
        CallStatus { hosts: [self.src.ip, self.dst.ip], is_over, fax: self.fax, keyed: self.keyed }
    }

    pub(crate) fn is_answered(&self) -> bool {
        self.answer.is_some()
    }

    /// Whether no message was taken yet.
    pub(crate) fn is_new(&self) -> bool {
        self.messages == 0
    }

    pub(crate) fn is_ringing(&self) -> bool {
        self.ringing.is_some()
    }

    /// Whether the other side has said anything.
    pub(super) fn is_heard(&self) -> bool {
        self.trying.is_some() || self.final_code != 0
    }

    /// Where the call stands; `timed_out` when its limit has passed.
    fn state(&self, timed_out: bool) -> CallState {
        if self.answer.is_some() {
            return match self.bye {
                Some(_) => CallState::Completed,
                None if timed_out || self.lost_since.is_some() => CallState::Timeout,
                None => CallState::Active,
            };
        }
        if self.cancel.is_some() || self.bye.is_some() {
            return CallState::Cancelled;
        }
        match self.final_code {
            300..=399 => CallState::Redirected,
            400.. => CallState::Failed,
            _ if timed_out => CallState::Timeout,
            _ if self.ringing.is_some() => CallState::Ringing,
            _ => CallState::Trying,
        }
    }

    /// The record's id; worked out once, since it costs a SHA-256.
    pub(crate) fn id(&self) -> Id {
        *self.parties.id.get_or_init(|| self.new_id())
    }

    fn new_id(&self) -> Id {
        let time = self.invite.unwrap_or(self.first).micros().to_le_bytes();
        let (src, dst) = (AddressText::ip(self.src.ip), AddressText::ip(self.dst.ip));
        hash::id("call", [self.call_id.identity(), &time, src.as_bytes(), dst.as_bytes()])
    }

    /// Asks for what its record is made of.
    pub(crate) fn prefetch_parties(&self) {
        ringtap_cpu::prefetch(&*self.parties);
    }

    /// The shortest round trip that its transactions showed.
    pub(crate) fn rtt(&self) -> Option<Nanos> {
        self.rtt
    }
}

fn is_invite(message: &Message<'_>) -> bool {
    matches!(message.start(), StartLine::Request { method: Method::Invite, .. })
}

/// The host as RFC 3261 writes it: an IPv6 address in brackets.
fn host(host: &[u8], spare: &Spare) -> Option<String> {
    if host.contains(&b':') { text_in(&[b"[", host, b"]"].concat(), spare) } else { text_in(host, spare) }
}

fn tag_hash(tag: Option<&[u8]>, hasher: &Hasher) -> u64 {
    tag.map_or(0, |tag| hasher.of(tag))
}

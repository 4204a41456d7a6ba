//! What is known of one call attempt, message by message: RFC 3261 dialogs seen from the side.

use std::cell::OnceCell;
use std::net::IpAddr;

use ringtap_model::{
    Call, CallState, Dtmf, DtmfSource, Endpoint, Id, Nanos, Party, Protocol, Recorded, Transport,
};
use ringtap_wire::sip::{Header, Message, Method, NameAddr, StartLine};

use super::text::text;
use crate::hash::{self, Hasher};

/// Ceilings of what one call may hold.
const MAX_SEEN: usize = 512;
const MAX_DIVERTED: usize = 16;
const MAX_DIGITS: usize = 64;
/// A second copy of a packet within this time comes from the mirror, not from the sender.
const MIRROR: Nanos = Nanos::from_millis(10);

/// A side of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Side {
    /// Sent the INVITE.
    Caller,
    /// Received it.
    Callee,
}

impl Side {
    pub(crate) fn other(self) -> Self {
        match self {
            Self::Caller => Self::Callee,
            Self::Callee => Self::Caller,
        }
    }

    fn party(self) -> Party {
        match self {
            Self::Caller => Party::Caller,
            Self::Callee => Party::Callee,
        }
    }
}

/// A message that passed, as [`CallEntry::take`] judged it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Novelty {
    New,
    /// Sent again.
    Repeat,
    /// The mirror's second copy.
    Mirrored,
}

/// A call under way.
pub(crate) struct CallEntry {
    pub(crate) call_id: Box<[u8]>,
    pub(crate) hash: u64,
    pub(crate) transport: Transport,
    pub(crate) src: Endpoint,
    pub(crate) dst: Endpoint,
    pub(crate) first: Nanos,
    /// Last signalling.
    pub(crate) last: Nanos,
    from_user: Option<Box<str>>,
    from_host: Option<Box<str>>,
    from_display: Option<Box<str>>,
    to_user: Option<Box<str>>,
    to_host: Option<Box<str>>,
    ruri_user: Option<Box<str>>,
    ruri_host: Option<Box<str>>,
    asserted: Option<Box<str>>,
    agents: [Option<Box<str>>; 2],
    diverted: Vec<Box<str>>,
    id: OnceCell<Id>,
    /// Hash of the caller's tag.
    caller_tag: u64,
    /// CSeq of the newest INVITE that began or retried the call.
    attempt: u32,
    invite: Option<Nanos>,
    trying: Option<Nanos>,
    ringing: Option<Nanos>,
    answer: Option<Nanos>,
    bye: Option<Nanos>,
    bye_by: Option<Side>,
    cancel: Option<Nanos>,
    /// Final 3xx-6xx of the newest attempt.
    failure: Option<Nanos>,
    final_code: u16,
    final_reason: Option<Box<str>>,
    cause: Option<u16>,
    messages: u32,
    retransmissions: u32,
    /// Hash of each message seen and when it was last seen.
    seen: Vec<(u64, Nanos)>,
    digits: Vec<Dtmf>,
    /// Request waiting for its first answer, and the shortest round trip so far.
    pending: Option<(u64, Nanos)>,
    rtt: Option<Nanos>,
    /// Media know of it.
    pub(crate) announced: bool,
    /// When T.38 was last offered.
    pub(crate) fax: Option<Nanos>,
    /// The linger timer runs.
    pub(crate) ending: bool,
    /// Where the drop counter of the capture stood at the start.
    pub(crate) drops: u64,
}

/// See [`CallEntry::standing`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Standing {
    pub(crate) hosts: [IpAddr; 2],
    pub(crate) is_over: bool,
    pub(crate) fax: Option<Nanos>,
}

/// What carried a message.
#[derive(Clone, Copy)]
pub(crate) struct Hop {
    pub(crate) time: Nanos,
    pub(crate) src: Endpoint,
    pub(crate) dst: Endpoint,
    pub(crate) transport: Transport,
}

impl CallEntry {
    pub(crate) fn new(call_id: &[u8], hash: u64, hop: &Hop, drops: u64) -> Self {
        Self {
            call_id: call_id.into(),
            hash,
            transport: hop.transport,
            src: hop.src,
            dst: hop.dst,
            first: hop.time,
            last: hop.time,
            from_user: None,
            from_host: None,
            from_display: None,
            to_user: None,
            to_host: None,
            ruri_user: None,
            ruri_host: None,
            asserted: None,
            agents: [None, None],
            diverted: Vec::new(),
            id: OnceCell::new(),
            caller_tag: 0,
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
            final_reason: None,
            cause: None,
            messages: 0,
            retransmissions: 0,
            seen: Vec::new(),
            digits: Vec::new(),
            pending: None,
            rtt: None,
            announced: false,
            fax: None,
            ending: false,
            drops,
        }
    }

    /// Takes a message of this Call-ID. The first must be one of an INVITE transaction.
    pub(crate) fn take(&mut self, message: &Message<'_>, hop: &Hop, hasher: &Hasher) -> Novelty {
        let novelty = self.novelty(message, hop, hasher);
        if novelty == Novelty::Mirrored {
            return novelty;
        }
        self.last = self.last.max(hop.time);
        self.messages += 1;
        if novelty == Novelty::Repeat {
            self.retransmissions += 1;
            return novelty;
        }
        if self.messages == 1 || (self.invite.is_none() && is_invite(message)) {
            self.introduce(message, hop, hasher);
        }
        self.round_trip(message, hop.time, hasher);
        let side = self.sender(message, hasher);
        self.note_agent(message, side);
        if let Some(cause) = message.reason_q850() {
            self.cause = Some(cause);
        }
        match message.start() {
            StartLine::Request { method, .. } => self.request(message, method, side, hop),
            StartLine::Response { code, reason } => {
                if let Some((cseq, Method::Invite)) = message.cseq() {
                    self.response(message, cseq, code, reason, hop.time);
                }
            }
        }
        novelty
    }

    fn novelty(&mut self, message: &Message<'_>, hop: &Hop, hasher: &Hasher) -> Novelty {
        let hash = hasher.of((hop.src, hop.dst, message.raw()));
        match self.seen.iter_mut().find(|(other, _)| *other == hash) {
            Some((_, last)) => {
                let mirrored = hop.time.since(*last) < MIRROR;
                *last = hop.time;
                if mirrored { Novelty::Mirrored } else { Novelty::Repeat }
            }
            None => {
                if self.seen.len() < MAX_SEEN {
                    self.seen.push((hash, hop.time));
                }
                Novelty::New
            }
        }
    }

    /// Parties, from the first INVITE, or from whatever message of the call came first.
    fn introduce(&mut self, message: &Message<'_>, hop: &Hop, hasher: &Hasher) {
        self.id = OnceCell::new();
        if is_invite(message) {
            (self.src, self.dst, self.transport) = (hop.src, hop.dst, hop.transport);
        } else if message.code().is_some() {
            (self.src, self.dst) = (hop.dst, hop.src);
        }
        if let Some(from) = message.from() {
            self.from_user = from.uri.user.and_then(text);
            self.from_host = host(from.uri.host);
            self.from_display = from.display.and_then(text);
            self.caller_tag = tag_hash(from.tag(), hasher);
        }
        if let Some(to) = message.to() {
            self.to_user = to.uri.user.and_then(text);
            self.to_host = host(to.uri.host);
        }
        if let Some(uri) = message.request_uri() {
            self.ruri_user = uri.user.and_then(text);
            self.ruri_host = host(uri.host);
        }
        self.asserted = message
            .values(Header::PAssertedIdentity)
            .find_map(NameAddr::parse)
            .and_then(|identity| text(identity.uri.user.unwrap_or(identity.uri.host)));
    }

    /// Which side sent a message: From names the side that sent the request, in the answer too (RFC 3261 8.2.6.2).
    pub(crate) fn sender(&self, message: &Message<'_>, hasher: &Hasher) -> Side {
        let by_caller = message.from_tag().is_none_or(|tag| tag_hash(tag, hasher) == self.caller_tag);
        let requester = if by_caller { Side::Caller } else { Side::Callee };
        if message.code().is_some() { requester.other() } else { requester }
    }

    fn note_agent(&mut self, message: &Message<'_>, side: Side) {
        let agent = &mut self.agents[side as usize];
        if agent.is_none() {
            *agent =
                message.header(Header::UserAgent).or_else(|| message.header(Header::Server)).and_then(text);
        }
    }

    /// The shortest time from a request to its first answer, both at this point: a round trip to one side.
    fn round_trip(&mut self, message: &Message<'_>, time: Nanos, hasher: &Hasher) {
        let Some(branch) = message.top_branch() else { return };
        let key = hasher.of((branch, message.cseq().map(|(number, _)| number)));
        if message.code().is_none() {
            self.pending = Some((key, time));
        } else if let Some((_, sent)) = self.pending.take_if(|(other, _)| *other == key) {
            let trip = time.since(sent);
            self.rtt = Some(self.rtt.map_or(trip, |shortest| shortest.min(trip)));
        }
    }

    fn request(&mut self, message: &Message<'_>, method: Method, side: Side, hop: &Hop) {
        match method {
            Method::Invite => self.on_invite(message, hop.time),
            Method::Cancel => {
                self.cancel.get_or_insert(hop.time);
            }
            Method::Bye => {
                if self.bye.is_none() {
                    self.bye = Some(hop.time);
                    self.bye_by = Some(side);
                }
                self.divert(message.values(Header::Also));
            }
            Method::Refer => self.divert(message.values(Header::ReferTo)),
            Method::Info => self.digit(message, hop.time),
            _ => {}
        }
    }

    /// The first INVITE, one that answers a challenge or tries again, a copy on another hop, or a re-INVITE.
    fn on_invite(&mut self, message: &Message<'_>, time: Nanos) {
        let number = message.cseq().map_or(0, |(number, _)| number);
        if self.invite.is_none() {
            self.invite = Some(time);
            self.id = OnceCell::new();
            self.attempt = number;
        } else if self.answer.is_none() && self.failure.is_some() && number > self.attempt {
            // RFC 3261 section 22.2: the same attempt, with credentials, a longer session interval, another target.
            self.attempt = number;
            self.failure = None;
            self.final_code = 0;
            self.final_reason = None;
        }
        self.divert(message.values(Header::Diversion));
        self.divert(message.values(Header::HistoryInfo));
    }

    fn response(&mut self, message: &Message<'_>, cseq: u32, code: u16, reason: &[u8], time: Nanos) {
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
                    self.settle(code, reason);
                }
            }
            // A branch that failed does not undo an answer on another (RFC 3261 section 16.7).
            _ if self.answer.is_some() => {}
            _ => {
                self.failure = Some(self.failure.unwrap_or(time));
                self.settle(code, reason);
                if (300..400).contains(&code) {
                    self.divert(message.values(Header::Contact));
                }
            }
        }
    }

    fn settle(&mut self, code: u16, reason: &[u8]) {
        self.final_code = code;
        self.final_reason = text(reason);
    }

    /// Numbers that the call was routed on to.
    fn divert<'a>(&mut self, values: impl Iterator<Item = &'a [u8]>) {
        for target in values.filter_map(NameAddr::parse) {
            let Some(number) = text(target.uri.user.unwrap_or(target.uri.host)) else { continue };
            if self.diverted.len() < MAX_DIVERTED && !self.diverted.contains(&number) {
                self.diverted.push(number);
            }
        }
    }

    /// A digit in an INFO: `application/dtmf-relay` has `Signal=5`, `application/dtmf` the digit alone.
    fn digit(&mut self, message: &Message<'_>, time: Nanos) {
        let is_dtmf = message
            .header(Header::ContentType)
            .is_some_and(|kind| kind.len() >= 16 && kind[..16].eq_ignore_ascii_case(b"application/dtmf"));
        if !is_dtmf || self.digits.len() >= MAX_DIGITS {
            return;
        }
        let body = message.body();
        let value = body
            .split(|&byte| byte == b'\n' || byte == b'\r')
            .find_map(|line| {
                let (name, value) = line.split_at(line.iter().position(|&byte| byte == b'=')?);
                name.trim_ascii().eq_ignore_ascii_case(b"signal").then(|| value[1..].trim_ascii())
            })
            .unwrap_or(body.trim_ascii());
        let digit = match value {
            b"10" => "*".to_owned(),
            b"11" => "#".to_owned(),
            b"16" => "flash".to_owned(),
            [one] if b"0123456789*#ABCDabcd".contains(one) => {
                char::from(one.to_ascii_uppercase()).to_string()
            }
            _ => return,
        };
        self.digits.push(Dtmf { digit, source: DtmfSource::Info, time });
    }

    /// Whether nothing more is to be expected but stragglers.
    pub(crate) fn is_over(&self) -> bool {
        self.bye.is_some() || (self.answer.is_none() && (self.failure.is_some() || self.cancel.is_some()))
    }

    /// Whether the last word was a challenge that an INVITE may still answer.
    pub(crate) fn is_challenged(&self) -> bool {
        self.answer.is_none() && matches!(self.final_code, 401 | 407)
    }

    /// What media must know of it beside its endpoints.
    pub(crate) fn standing(&self) -> Standing {
        Standing { hosts: [self.src.ip, self.dst.ip], is_over: self.is_over(), fax: self.fax }
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

    /// Where the call stands; `timed_out` when its limit has passed.
    fn state(&self, timed_out: bool) -> CallState {
        if self.answer.is_some() {
            return match self.bye {
                Some(_) => CallState::Completed,
                None if timed_out => CallState::Timeout,
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
        *self.id.get_or_init(|| self.new_id())
    }

    fn new_id(&self) -> Id {
        let time = self.invite.unwrap_or(self.first).micros().to_le_bytes();
        let (src, dst) = (self.src.ip.to_string(), self.dst.ip.to_string());
        hash::id("call", [&self.call_id[..], &time, src.as_bytes(), dst.as_bytes()])
    }

    /// The shortest round trip that its transactions showed.
    pub(crate) fn rtt(&self) -> Option<Nanos> {
        self.rtt
    }

    /// Call-ID as text.
    pub(crate) fn call_id_text(&self) -> String {
        String::from_utf8_lossy(&self.call_id).into_owned()
    }

    /// The record, still without its streams.
    pub(crate) fn record(&self, timed_out: bool, drops: u64) -> Call {
        let state = self.state(timed_out);
        let end = match state {
            CallState::Completed => self.bye,
            CallState::Cancelled => self.cancel.or(self.bye),
            CallState::Failed | CallState::Redirected => self.failure,
            _ => None,
        };
        let released_by = match state {
            CallState::Completed => self.bye_by.map(Side::party),
            CallState::Cancelled if self.cancel.is_some() => Some(Party::Caller),
            CallState::Cancelled => self.bye_by.map(Side::party),
            CallState::Timeout => Some(Party::Network),
            _ => None,
        };
        let span = |from: Option<Nanos>, to: Option<Nanos>| Some(round(to?.since(from?).millis_f64()));
        let owned = |text: &Option<Box<str>>| text.as_deref().map(str::to_owned);
        Call {
            id: self.id(),
            call_id: self.call_id_text(),
            protocol: Protocol::Sip,
            transport: self.transport,
            src: self.src,
            dst: self.dst,
            from_user: owned(&self.from_user),
            from_host: owned(&self.from_host),
            from_display: owned(&self.from_display),
            to_user: owned(&self.to_user),
            to_host: owned(&self.to_host),
            ruri_user: owned(&self.ruri_user),
            ruri_host: owned(&self.ruri_host),
            asserted_identity: owned(&self.asserted),
            diverted_to: self.diverted.iter().map(|number| number.to_string()).collect(),
            state,
            final_code: self.final_code,
            final_reason: owned(&self.final_reason),
            cause: self.cause,
            released_by,
            invite: self.invite,
            trying: self.trying,
            ringing: self.ringing,
            answer: self.answer,
            end,
            pdd_ms: span(self.invite, self.ringing.or(self.answer)),
            duration_ms: span(self.answer, end),
            messages: self.messages,
            retransmissions: self.retransmissions,
            user_agent_caller: owned(&self.agents[Side::Caller as usize]),
            user_agent_callee: owned(&self.agents[Side::Callee as usize]),
            streams: Vec::new(),
            mos: None,
            mos_worst_interval: None,
            dtmf: self.digits.clone(),
            capture_drops: drops.saturating_sub(self.drops),
            recorded: Recorded::None,
            recorded_packets: None,
            recorded_missing: None,
            recorded_empty: None,
        }
    }
}

/// Six digits after the point: what a nanosecond clock tells, and the same text on every machine.
pub(crate) fn round(value: f64) -> f64 {
    (value * 1e6).round() / 1e6
}

fn is_invite(message: &Message<'_>) -> bool {
    matches!(message.start(), StartLine::Request { method: Method::Invite, .. })
}

/// The host as RFC 3261 writes it: an IPv6 address in brackets.
fn host(host: &[u8]) -> Option<Box<str>> {
    if host.contains(&b':') { text(&[b"[", host, b"]"].concat()) } else { text(host) }
}

fn tag_hash(tag: Option<&[u8]>, hasher: &Hasher) -> u64 {
    tag.map_or(0, |tag| hasher.of(tag))
}

//! What the SIP messages of a call tell that its record does not: hops, repeats, who sent a BYE, holds.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};

use ringtap_engine::SipMessage;
use ringtap_model::{Endpoint, Nanos, Transport};
use ringtap_wire::sdp::{self, MediaType, Sdp};
use ringtap_wire::sip::{Header, Message, Method, NameAddr, StartLine, Uri, params};

use super::facts::{Attempt, Release, is_of_network};
use crate::record::ServiceAddress;

/// Ceilings of one call.
const ATTEMPTS: usize = 16;
const BYES: usize = 8;
const PROXIES: usize = 8;
const PARTIES: usize = 16;
const HOLDS: usize = 32;
const CHANGES: usize = 32;
/// The same request within this time is a mirror port's second copy.
const MIRRORED: Nanos = Nanos::from_millis(10);

/// Signals of the calls in progress, by Call-ID.
#[derive(Debug)]
pub(crate) struct SignalTable {
    by_call_id: HashMap<u64, Signals>,
    hasher: RandomState,
    ceiling: usize,
    refused: u64,
}

/// Of one Call-ID.
#[derive(Clone, Debug, Default)]
pub(crate) struct Signals {
    caller_tag: u64,
    attempts: Vec<(u32, Attempt)>,
    byes: Vec<Bye>,
    /// Hosts that passed requests of it on.
    proxies: Vec<Endpoint>,
    /// Hosts that speak for themselves: they are named as Contact.
    parties: Vec<Endpoint>,
    held: [bool; 2],
    holds: Vec<(Nanos, Nanos)>,
    /// When an established call was given another description of its media.
    changes: Vec<Nanos>,
    /// INVITEs, BYEs and proxies that the ceilings turned away.
    refused: u64,
}

#[derive(Clone, Copy, Debug)]
struct Bye {
    time: Nanos,
    sender: Endpoint,
    transport: Transport,
    is_by_caller: bool,
    /// Its only Via: who sent it has made it, or hides where it is from.
    is_first_hop: bool,
    has_network_reason: bool,
}

impl SignalTable {
    pub(crate) fn new(ceiling: usize) -> Self {
        Self { by_call_id: HashMap::new(), hasher: RandomState::new(), ceiling, refused: 0 }
    }

    /// The key of a Call-ID as records show it: its first 256 bytes, what is no UTF-8 replaced.
    pub(crate) fn key(&self, call_id: &[u8]) -> u64 {
        let shown = call_id.get(..256).unwrap_or(call_id);
        self.hasher.hash_one(String::from_utf8_lossy(shown).as_bytes())
    }

    /// A message of a call.
    pub(crate) fn message(&mut self, sip: &SipMessage<'_>) {
        if !matches!(sip.method, Method::Invite | Method::Bye | Method::Update | Method::Ack | Method::Prack)
        {
            return;
        }
        let key = self.key(sip.call_id);
        let is_invite = matches!(sip.message.start(), StartLine::Request { method: Method::Invite, .. });
        let tag = self.hasher.hash_one(sip.message.from_tag().flatten().unwrap_or_default());
        if !self.by_call_id.contains_key(&key) {
            if !is_invite {
                return;
            }
            if self.by_call_id.len() >= self.ceiling {
                self.refused += 1;
                return;
            }
            self.by_call_id.insert(key, Signals { caller_tag: tag, ..Signals::default() });
        }
        if let Some(signals) = self.by_call_id.get_mut(&key) {
            signals.message(sip, tag);
        }
    }

    /// What was collected of a call that has ended.
    pub(crate) fn take(&mut self, call_id: &str) -> Option<Signals> {
        let key = self.key(call_id.as_bytes());
        let signals = self.by_call_id.remove(&key);
        self.refused += signals.as_ref().map_or(0, |signals| signals.refused);
        signals
    }

    /// Messages that ceilings turned away.
    pub(crate) fn refused(&self) -> u64 {
        self.refused
    }
}

impl Signals {
    fn message(&mut self, sip: &SipMessage<'_>, tag: u64) {
        let is_by_caller = tag == self.caller_tag;
        match sip.message.start() {
            StartLine::Request { method, .. } => {
                match method {
                    Method::Invite if !has_to_tag(sip.message) => self.invite(sip),
                    Method::Invite => self.change(sip.hop.time),
                    // Without a description it refreshes the session (RFC 4028).
                    Method::Update if sip.message.sdp().is_some() => self.change(sip.hop.time),
                    Method::Bye => self.bye(sip, is_by_caller),
                    _ => {}
                }
                self.describe(sip, is_by_caller);
            }
            StartLine::Response { code, .. } => {
                if sip.method == Method::Invite {
                    self.answer(sip, code);
                }
                self.describe(sip, !is_by_caller);
            }
        }
        if sip.method == Method::Invite {
            let routes = sip.message.values(Header::RecordRoute).take(PROXIES);
            let routes = routes.filter_map(|route| end(&NameAddr::parse(route)?.uri));
            routes.for_each(|proxy| self.add_proxy(proxy));
            let contact = sip.message.contacts().next().and_then(|contact| end(&contact.uri));
            if let Some(party) = contact.filter(|party| !self.parties.contains(party)) {
                match self.parties.len() < PARTIES {
                    true => self.parties.push(party),
                    false => self.refused += 1,
                }
            }
        }
    }

    fn invite(&mut self, sip: &SipMessage<'_>) {
        let hop = sip.hop;
        if sip.message.vias().take(2).count() == 2 {
            self.add_proxy(hop.src);
        }
        let service = ServiceAddress { endpoint: hop.dst, transport: hop.transport };
        let number = sip.cseq.map_or(0, |(number, _)| number);
        let is_same = |(known, sent): &&mut (u32, Attempt)| {
            (*known, sent.client, sent.service) == (number, hop.src.ip, service)
        };
        if let Some((_, sent)) = self.attempts.iter_mut().find(is_same) {
            if hop.time.since(sent.last) >= MIRRORED {
                sent.repeated.get_or_insert(hop.time);
                sent.last = hop.time;
            }
        } else if self.attempts.len() < ATTEMPTS {
            let attempt = Attempt {
                client: hop.src.ip,
                service,
                first: hop.time,
                repeated: None,
                last: hop.time,
                answered: None,
                progressed: None,
                ended: None,
                code: 0,
            };
            self.attempts.push((number, attempt));
        } else {
            self.refused += 1;
        }
    }

    fn answer(&mut self, sip: &SipMessage<'_>, code: u16) {
        let (hop, number) = (sip.hop, sip.cseq.map_or(0, |(number, _)| number));
        let service = ServiceAddress { endpoint: hop.src, transport: hop.transport };
        let is_same = |(known, sent): &&mut (u32, Attempt)| {
            (*known, sent.client, sent.service) == (number, hop.dst.ip, service)
        };
        let Some((_, sent)) = self.attempts.iter_mut().find(is_same) else { return };
        sent.answered.get_or_insert(hop.time);
        if code > 100 {
            sent.progressed.get_or_insert(hop.time);
        }
        if code >= 200 && sent.ended.is_none() {
            (sent.ended, sent.code) = (Some(hop.time), code);
        }
    }

    fn bye(&mut self, sip: &SipMessage<'_>, is_by_caller: bool) {
        let (sender, transport) = (sip.hop.src, sip.hop.transport);
        let is_known = |bye: &Bye| (bye.sender, bye.is_by_caller) == (sender, is_by_caller);
        if self.byes.iter().any(is_known) {
            return;
        }
        if self.byes.len() >= BYES {
            self.refused += 1;
        } else {
            self.byes.push(Bye {
                time: sip.hop.time,
                sender,
                transport,
                is_by_caller,
                is_first_hop: sip.message.vias().take(2).count() == 1,
                has_network_reason: has_network_reason(sip.message),
            });
        }
    }

    /// Other media may begin, and end, with that.
    fn change(&mut self, time: Nanos) {
        let is_copy = self.changes.last().is_some_and(|last| time.since(*last) < MIRRORED);
        if self.changes.len() < CHANGES && !is_copy {
            self.changes.push(time);
        }
    }

    /// What a description says of hold.
    fn describe(&mut self, sip: &SipMessage<'_>, is_caller: bool) {
        let Some(description) = sip.message.sdp().and_then(|body| Sdp::parse(body).ok()) else { return };
        let Some(is_held) = is_held(&description) else { return };
        let was_held = self.held != [false; 2];
        self.held[usize::from(is_caller)] = is_held;
        match (was_held, self.held != [false; 2]) {
            // Of more holds than these nobody knows when they ended.
            (false, true) if self.holds.len() < HOLDS => self.holds.push((sip.hop.time, Nanos::MAX)),
            (true, false) if self.holds.len() < HOLDS => {
                if let Some(hold) = self.holds.last_mut() {
                    hold.1 = sip.hop.time;
                }
            }
            _ => {}
        }
    }

    fn add_proxy(&mut self, host: Endpoint) {
        match self.proxies.contains(&host) {
            true => {}
            false if self.proxies.len() < PROXIES => self.proxies.push(host),
            false => self.refused += 1,
        }
    }

    /// INVITEs outside of a dialog, in order of time.
    pub(crate) fn attempts(&self) -> Vec<Attempt> {
        self.attempts.iter().map(|(_, attempt)| *attempt).collect()
    }

    /// The code of the network that who sent the first INVITE got before anything else that is final. A 2xx
    /// that comes afterwards comes too late (RFC 3261 section 17.1.1.2): it has told its user.
    pub(crate) fn failed_with(&self) -> Option<u16> {
        let (_, first) = self.attempts.first()?;
        let mut own = self.attempts.iter().map(|(_, sent)| sent).filter(|sent| sent.client == first.client);
        let last = own.clone().max_by_key(|sent| sent.first)?;
        let is_answered = own.any(|sent| (200..300).contains(&sent.code));
        (!is_answered && is_of_network(last.code)).then_some(last.code)
    }

    /// Times in which a side had put the other on hold.
    pub(crate) fn holds(&self) -> Vec<(Nanos, Nanos)> {
        self.holds.clone()
    }

    /// Whether nothing of its media was changed from `from` to `until`; false where that is not known.
    pub(crate) fn is_unchanged(&self, from: Nanos, until: Nanos) -> bool {
        self.changes.len() < CHANGES && !self.changes.iter().any(|at| from <= *at && *at <= until)
    }

    /// Who ended it.
    pub(crate) fn release(&self) -> Release {
        let Some(first) = self.byes.first() else { return Release::default() };
        // Both parties are told by the same host, and neither told it: that is nobody who speaks.
        let is_both = || {
            let is_other = |bye: &&Bye| bye.is_by_caller != first.is_by_caller;
            let mut others = self.byes.iter().filter(is_other);
            let is_only = self.byes.iter().all(|bye| bye.sender.ip == first.sender.ip);
            is_only && others.any(|bye| bye.is_first_hop)
        };
        // What connects has another port than what listens.
        let is_sender = |host: &Endpoint| {
            *host == first.sender || host.ip == first.sender.ip && first.transport != Transport::Udp
        };
        let is_proxy = || self.proxies.iter().any(is_sender) && !self.parties.iter().any(is_sender);
        let is_made_there = first.is_first_hop && (is_proxy() || is_both());
        Release {
            bye: Some(first.time),
            by_proxy: is_made_there.then_some(first.time),
            reason: first.has_network_reason.then_some(first.time),
        }
    }
}

fn end(uri: &Uri<'_>) -> Option<Endpoint> {
    Some(Endpoint::new(uri.ip()?, uri.port.unwrap_or(5060)))
}

fn has_to_tag(message: &Message<'_>) -> bool {
    message.to().is_some_and(|to| to.tag().is_some())
}

/// Whether all sound of a description is on hold: RFC 3264 section 8.4, and the older way with an address of
/// zeros. None without sound.
fn is_held(description: &Sdp<'_>) -> Option<bool> {
    let is_sound = |media: &sdp::Media<'_>| media.media_type == MediaType::Audio && media.port != 0;
    let mut sounds = description.media().filter(is_sound).peekable();
    sounds.peek()?;
    Some(sounds.all(|media| {
        media.direction() != sdp::Direction::SendRecv
            || media.connection().is_some_and(|ip| ip.is_unspecified())
    }))
}

/// Whether a Reason header (RFC 3326) says that the network failed: destination or network out of order,
/// temporary failure (Q.850 27, 38, 41), or a code of SIP that says so.
fn has_network_reason(message: &Message<'_>) -> bool {
    message.values(Header::Reason).any(|value| {
        let (protocol, rest) =
            value.split_at(value.iter().position(|&byte| byte == b';').unwrap_or(value.len()));
        let cause = params(rest).find(|(name, _)| name.eq_ignore_ascii_case(b"cause"));
        let cause = cause.and_then(|(_, value)| std::str::from_utf8(value?).ok()?.trim().parse().ok());
        match cause {
            Some(cause) if protocol.trim_ascii().eq_ignore_ascii_case(b"Q.850") => {
                matches!(cause, 27 | 38 | 41)
            }
            Some(code) if protocol.trim_ascii().eq_ignore_ascii_case(b"SIP") => is_of_network(code),
            _ => false,
        }
    })
}

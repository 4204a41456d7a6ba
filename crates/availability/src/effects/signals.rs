//! What the SIP messages of a call tell that its record does not: hops, repeats, who sent a BYE, holds.

use ringtap_model::{Endpoint, Nanos, Transport};
use ringtap_wire::sip::Method;

use super::facts::{Attempt, Release};
use crate::call_seen::{CallSeen, is_of_network};
use crate::observation::Observation;
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
    pub(crate) refused: u64,
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

impl Signals {
    /// Of a call whose INVITE has that From tag.
    pub(crate) fn of(caller_tag: u64) -> Self {
        Self { caller_tag, ..Self::default() }
    }

    /// A message of it.
    pub(crate) fn message(&mut self, sip: &Observation, seen: &CallSeen) {
        let is_by_caller = seen.tag == self.caller_tag;
        match sip.code {
            None => {
                match sip.method {
                    Method::Invite if !sip.is_in_dialog => self.invite(sip, seen),
                    Method::Invite => self.change(sip.time),
                    // Without a description it refreshes the session (RFC 4028).
                    Method::Update if seen.is_description => self.change(sip.time),
                    Method::Bye => self.bye(sip, seen, is_by_caller),
                    _ => {}
                }
                self.describe(sip, seen, is_by_caller);
            }
            Some(code) => {
                if sip.method == Method::Invite {
                    self.answer(sip, seen, code);
                }
                self.describe(sip, seen, !is_by_caller);
            }
        }
        seen.routes.iter().flatten().for_each(|proxy| self.add_proxy(*proxy));
        self.refused += u64::from(seen.has_more_routes);
        if let Some(party) = seen.contact.filter(|party| !self.parties.contains(party)) {
            match self.parties.len() < PARTIES {
                true => push(&mut self.parties, party),
                false => self.refused += 1,
            }
        }
    }

    fn invite(&mut self, sip: &Observation, seen: &CallSeen) {
        if !seen.is_first_hop {
            self.add_proxy(sip.src);
        }
        let service = ServiceAddress { endpoint: sip.dst, transport: sip.transport };
        let number = seen.number;
        let is_same = |(known, sent): &&mut (u32, Attempt)| {
            (*known, sent.client, sent.service) == (number, sip.src.ip, service)
        };
        if let Some((_, sent)) = self.attempts.iter_mut().find(is_same) {
            if sip.time.since(sent.last) >= MIRRORED {
                sent.repeated.get_or_insert(sip.time);
                sent.last = sip.time;
            }
        } else if self.attempts.len() < ATTEMPTS {
            let attempt = Attempt {
                client: sip.src.ip,
                service,
                first: sip.time,
                repeated: None,
                last: sip.time,
                answered: None,
                progressed: None,
                ended: None,
                code: 0,
            };
            push(&mut self.attempts, (number, attempt));
        } else {
            self.refused += 1;
        }
    }

    fn answer(&mut self, sip: &Observation, seen: &CallSeen, code: u16) {
        let number = seen.number;
        let service = ServiceAddress { endpoint: sip.src, transport: sip.transport };
        let is_same = |(known, sent): &&mut (u32, Attempt)| {
            (*known, sent.client, sent.service) == (number, sip.dst.ip, service)
        };
        let Some((_, sent)) = self.attempts.iter_mut().find(is_same) else { return };
        sent.answered.get_or_insert(sip.time);
        if code > 100 {
            sent.progressed.get_or_insert(sip.time);
        }
        if code >= 200 && sent.ended.is_none() {
            (sent.ended, sent.code) = (Some(sip.time), code);
        }
    }

    fn bye(&mut self, sip: &Observation, seen: &CallSeen, is_by_caller: bool) {
        let (sender, transport) = (sip.src, sip.transport);
        let is_known = |bye: &Bye| (bye.sender, bye.is_by_caller) == (sender, is_by_caller);
        if self.byes.iter().any(is_known) {
            return;
        }
        if self.byes.len() >= BYES {
            self.refused += 1;
        } else {
            let (is_first_hop, has_network_reason) = (seen.is_first_hop, seen.has_network_reason);
            let time = sip.time;
            let bye = Bye { time, sender, transport, is_by_caller, is_first_hop, has_network_reason };
            push(&mut self.byes, bye);
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
    fn describe(&mut self, sip: &Observation, seen: &CallSeen, is_caller: bool) {
        let Some(is_held) = seen.is_held else { return };
        let was_held = self.held != [false; 2];
        self.held[usize::from(is_caller)] = is_held;
        match (was_held, self.held != [false; 2]) {
            // Of more holds than these nobody knows when they ended.
            (false, true) if self.holds.len() < HOLDS => self.holds.push((sip.time, Nanos::MAX)),
            (true, false) if self.holds.len() < HOLDS => {
                if let Some(hold) = self.holds.last_mut() {
                    hold.1 = sip.time;
                }
            }
            _ => {}
        }
    }

    fn add_proxy(&mut self, host: Endpoint) {
        match self.proxies.contains(&host) {
            true => {}
            false if self.proxies.len() < PROXIES => push(&mut self.proxies, host),
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

/// Most calls have one of each: room for four would be four times the memory.
fn push<T>(list: &mut Vec<T>, item: T) {
    if list.is_empty() {
        list.reserve_exact(1);
    }
    list.push(item);
}

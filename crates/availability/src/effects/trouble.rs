//! Where and when something of a failover was out of service: what calls are compared with.

use std::net::IpAddr;

use ringtap_model::{Endpoint, Nanos, Transport};

use super::facts::{Attempt, CallFacts, LONGEST_SET_UP, RegisterFacts};
use crate::evidence::{EvidenceKind, Place, is_move};
use crate::failover::Failover;
use crate::record::{Outage, OutageKind, Role};
use crate::settings::{GIVEN_UP, T1};

/// Waiting less is nothing that a person notices.
pub(crate) const NOTICED: Nanos = Nanos::from_millis(100);
/// What ends calls notices a loss later than their packets stop, and tells them one after the other.
pub(crate) const AFTERWARDS: Nanos = Nanos::from_secs(10);
/// A loss is that long before its first request at most.
const BEFORE: Nanos = Nanos::from_secs(10);

/// One service, or address, of a failover.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Trouble {
    kind: TroubleKind,
    address: IpAddr,
    /// None for an address that moved.
    service: Option<Endpoint>,
    /// None where any counts.
    transport: Option<Transport>,
    /// When something may have been wrong for the first time.
    pub(crate) since: Nanos,
    /// When something was wrong.
    pub(crate) from: Nanos,
    /// The end of that; far in the future where the input ended before.
    pub(crate) until: Nanos,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TroubleKind {
    /// It sent nothing to anybody.
    Silent,
    /// It answered 500 or 503.
    Refusing,
    /// INVITEs that it did not accept were sent elsewhere.
    Retried,
    /// Another host has its address.
    Moved,
}

/// How an INVITE waited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Waited {
    /// When it went on: it was answered, or sent to another service. None where it did not.
    pub(crate) on: Option<Nanos>,
}

impl Trouble {
    /// All of a failover.
    pub(crate) fn of(failover: &Failover) -> Vec<Self> {
        let outages = failover.outages().iter().filter(|outage| outage.role != Role::Telephone);
        let mut all: Vec<Self> = outages.map(Self::of_outage).collect();
        for sign in &failover.evidence {
            let (kind, service) = match (sign.kind, sign.from) {
                (EvidenceKind::InviteRetried, Some(Place::Service(service))) => {
                    (TroubleKind::Retried, Some(service))
                }
                (kind, _) if is_move(kind) || kind == EvidenceKind::AddressConflict => {
                    (TroubleKind::Moved, None)
                }
                _ => continue,
            };
            all.push(Self {
                kind,
                address: sign.address,
                service,
                transport: None,
                since: sign.first.since(T1),
                from: sign.first,
                until: sign.last.max(sign.first + Nanos(1)),
            });
        }
        all
    }

    fn of_outage(outage: &Outage) -> Self {
        let from = outage.from();
        let kind = match outage.kind {
            OutageKind::Unanswered => TroubleKind::Silent,
            OutageKind::Refusing => TroubleKind::Refusing,
        };
        Self {
            kind,
            address: outage.service.ip,
            service: Some(outage.service),
            transport: Some(outage.transport),
            since: outage.last_sign.unwrap_or_default().max(from.since(BEFORE)).min(from),
            from,
            until: outage.first_answer.unwrap_or(Nanos::MAX),
        }
    }

    /// Whether the call was signalled through it.
    pub(crate) fn is_passed_by(&self, call: &CallFacts) -> bool {
        call.passes(self.address)
    }

    /// Whether calls may have been ended because of it.
    pub(crate) fn ends_calls(&self) -> bool {
        self.kind != TroubleKind::Refusing
    }

    /// Whether a REGISTER waited there, or was refused. `end`: the last moment of the input.
    pub(crate) fn has_register(&self, register: &RegisterFacts, end: Nanos) -> bool {
        let is_here = self.service == Some(register.service.endpoint)
            && self.transport.is_none_or(|transport| transport == register.service.transport);
        is_here
            && match self.kind {
                TroubleKind::Silent => {
                    register.first < self.until
                        && register.last + GIVEN_UP > self.from
                        && register.answered.is_none_or(|time| time >= self.until)
                        && register.answered.unwrap_or(end).since(register.first) >= NOTICED
                }
                TroubleKind::Refusing => {
                    matches!(register.code, 500 | 503)
                        && register.answered.is_some_and(|at| self.from <= at && at <= self.until)
                }
                TroubleKind::Retried | TroubleKind::Moved => false,
            }
    }

    /// The service, if it sent nothing for a while.
    pub(crate) fn silent_service(&self) -> Option<Endpoint> {
        self.service.filter(|_| self.kind == TroubleKind::Silent)
    }

    /// Whether the attempt was sent to it.
    pub(crate) fn is_of(&self, attempt: &Attempt) -> bool {
        self.service == Some(attempt.service.endpoint)
            && self.transport.is_none_or(|transport| transport == attempt.service.transport)
    }

    /// Whether the call was being set up there meanwhile: no final answer had come when it began.
    pub(crate) fn has_pending(&self, attempt: &Attempt) -> bool {
        self.is_of(attempt)
            && attempt.first < self.until
            && attempt.last + LONGEST_SET_UP > self.from
            && attempt.ended.is_none_or(|ended| ended >= self.from)
            && self.kind != TroubleKind::Refusing
    }

    /// Whether it refused the attempt.
    pub(crate) fn has_refused(&self, attempt: &Attempt) -> bool {
        self.kind == TroubleKind::Refusing
            && self.is_of(attempt)
            && matches!(attempt.code, 500 | 503)
            && attempt.ended.is_some_and(|ended| self.from <= ended && ended <= self.until)
    }

    /// Whether, and how, the attempt of the call waited there. `end`: the last moment of the input.
    pub(crate) fn waited(&self, call: &CallFacts, attempt: &Attempt, end: Nanos) -> Option<Waited> {
        if !self.is_of(attempt) || attempt.first >= self.until {
            return None;
        }
        let sent_on = sent_on(call, attempt);
        match self.kind {
            TroubleKind::Silent => self.waited_in_silence(call, attempt, sent_on, end),
            TroubleKind::Refusing => {
                let on = sent_on.filter(|_| self.has_refused(attempt))?;
                Some(Waited { on: Some(on) })
            }
            TroubleKind::Retried => {
                let on = sent_on.filter(|on| self.from <= *on && *on <= self.until)?;
                Some(Waited { on: Some(on) })
            }
            TroubleKind::Moved => None,
        }
    }

    fn waited_in_silence(
        &self,
        call: &CallFacts,
        attempt: &Attempt,
        sent_on: Option<Nanos>,
        end: Nanos,
    ) -> Option<Waited> {
        let sent_on = sent_on.filter(|on| *on >= self.from);
        if attempt.answered.is_some_and(|time| time < self.from) {
            // It had 100 and no more: what came as soon as the service was back had waited for that. What
            // came later may just have taken its time.
            let is_pending = attempt.progressed.is_none_or(|time| time >= self.from);
            let late = attempt.progressed.filter(|time| *time >= self.until && *time <= self.until + T1);
            let on = [late, sent_on.filter(|_| is_pending)].into_iter().flatten().min()?;
            return Some(Waited { on: Some(on) });
        }
        if attempt.last + GIVEN_UP <= self.from {
            return None;
        }
        let answered = attempt.answered.filter(|time| *time >= self.until);
        let on = [answered, sent_on].into_iter().flatten().min();
        let over = [on, call.ended.filter(|_| call.answered.is_none())].into_iter().flatten().min();
        let waited = over.unwrap_or(end).since(attempt.first);
        let is_repeated = attempt.repeated.is_some_and(|time| time <= self.until)
            && attempt.last >= self.from
            && attempt.answered.is_none_or(|time| time >= self.until);
        (waited >= NOTICED || is_repeated).then_some(Waited { on })
    }
}

/// When the same host sent the same call to another service after this one had not accepted it: at once it
/// would be a fork.
fn sent_on(call: &CallFacts, attempt: &Attempt) -> Option<Nanos> {
    let is_next = |other: &&Attempt| {
        other.client == attempt.client
            && other.service != attempt.service
            && other.first >= attempt.first + NOTICED
    };
    let next = call.attempts.iter().filter(is_next).map(|other| other.first).min()?;
    let has_refused = matches!(attempt.code, 408 | 500 | 502 | 503 | 504);
    let rang = attempt.progressed.is_some_and(|time| time < next && !has_refused);
    (!rang).then_some(next)
}

//! INVITEs that are sent to one service after another, and users who are registered.

use std::collections::{HashMap, VecDeque};

use ringtap_model::{Endpoint, Nanos};

use crate::evidence::{Evidence, EvidenceKind, Place};
use crate::observation::Observation;

/// Later INVITEs of a call are no second try of the first.
const REMEMBERED: Nanos = Nanos::from_secs(120);
/// Branches of a fork (RFC 3261 section 16.7) leave together.
const FORKED: Nanos = Nanos::from_millis(100);
const CEILING: usize = 200_000;

#[derive(Clone, Copy, Debug)]
struct Attempt {
    service: Endpoint,
    time: Nanos,
    /// The last answer, 0 for none.
    code: u16,
}

/// INVITEs outside of dialogs, by Call-ID, From tag and sender.
#[derive(Debug)]
pub(crate) struct Attempts {
    by_key: HashMap<u64, Attempt>,
    order: VecDeque<(Nanos, u64)>,
    registered: HashMap<u64, Nanos>,
    refused: u64,
}

impl Attempts {
    pub(crate) fn new() -> Self {
        Self { by_key: HashMap::new(), order: VecDeque::new(), registered: HashMap::new(), refused: 0 }
    }

    /// An INVITE outside of a dialog: evidence where it was sent to another service that did not accept it.
    pub(crate) fn invite(
        &mut self,
        sip: &Observation,
        is_telephone: impl Fn(Endpoint) -> bool,
    ) -> Option<Evidence> {
        self.forget(sip.time);
        let (time, service, key) = (sip.time, sip.dst, sip.attempt);
        let Some(known) = self.by_key.get_mut(&key) else {
            if self.by_key.len() < CEILING {
                self.by_key.insert(key, Attempt { service, time, code: 0 });
                self.order.push_back((time, key));
            } else {
                self.refused += 1;
            }
            return None;
        };
        if known.service == service {
            return None;
        }
        let before = std::mem::replace(known, Attempt { service, time, code: 0 });
        let is_retry = matches!(before.code, 0 | 100 | 408 | 500 | 503)
            && time.since(before.time) >= FORKED
            && !is_telephone(before.service);
        is_retry.then_some(Evidence {
            kind: EvidenceKind::InviteRetried,
            first: time,
            last: time,
            count: 1,
            address: before.service.ip,
            from: Some(Place::Service(before.service)),
            to: Some(Place::Service(service)),
        })
    }

    /// An answer to an INVITE.
    pub(crate) fn answer(&mut self, sip: &Observation, code: u16) {
        let known = self.by_key.get_mut(&sip.attempt);
        if let Some(known) = known.filter(|known| known.service == sip.src) {
            known.code = code;
        }
    }

    /// An accepted REGISTER: until when its user has a contact.
    pub(crate) fn registered(&mut self, sip: &Observation) {
        let Some(user) = sip.user else { return };
        let expires = sip.expires.unwrap_or(0);
        if expires == 0 {
            self.registered.remove(&user);
        } else if self.registered.len() < CEILING || self.registered.contains_key(&user) {
            self.registered.insert(user, sip.time + Nanos::from_secs(expires.into()));
        } else {
            self.refused += 1;
        }
    }

    /// Forgets users whose registration has expired.
    pub(crate) fn expire(&mut self, now: Nanos) {
        self.registered.retain(|_, until| *until > now);
    }

    /// 404 for a call to somebody who is registered.
    pub(crate) fn not_found(&self, sip: &Observation) -> Option<Evidence> {
        let until = self.registered.get(&sip.user?)?;
        let time = sip.time;
        (time < *until).then_some(Evidence {
            kind: EvidenceKind::ContactLost,
            first: time,
            last: time,
            count: 1,
            address: sip.src.ip,
            from: None,
            to: Some(Place::Service(sip.src)),
        })
    }

    fn forget(&mut self, now: Nanos) {
        while let Some((time, key)) = self.order.front().copied() {
            if now.since(time) < REMEMBERED {
                break;
            }
            self.order.pop_front();
            self.by_key.remove(&key);
        }
    }

    /// What the ceilings turned away.
    pub(crate) fn refused(&self) -> u64 {
        self.refused
    }
}

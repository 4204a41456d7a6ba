//! REGISTER requests that wait.

use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasher, RandomState};

use ringtap_engine::SipMessage;
use ringtap_model::Nanos;
use ringtap_wire::sip::Method;

use super::facts::{RegisterFacts, user};
use super::trouble::NOTICED;
use crate::record::ServiceAddress;
use crate::settings::GIVEN_UP;

/// Those without an answer, and those that had to wait for theirs.
#[derive(Debug)]
pub(crate) struct Registers {
    pending: HashMap<u64, RegisterFacts>,
    order: VecDeque<(Nanos, u64)>,
    waited: Vec<RegisterFacts>,
    hasher: RandomState,
    ceiling: usize,
    refused: u64,
}

impl Registers {
    pub(crate) fn new(ceiling: usize) -> Self {
        Self {
            pending: HashMap::new(),
            order: VecDeque::new(),
            waited: Vec::new(),
            hasher: RandomState::new(),
            ceiling,
            refused: 0,
        }
    }

    /// A REGISTER, or an answer to one.
    pub(crate) fn message(&mut self, sip: &SipMessage<'_>) {
        if sip.method != Method::Register {
            return;
        }
        let now = sip.hop.time;
        self.give_up(now);
        let answer = sip.message.code();
        let endpoint = if answer.is_some() { sip.hop.src } else { sip.hop.dst };
        let branch = sip.message.top_branch().unwrap_or_default();
        let number = sip.cseq.map_or(0, |(number, _)| number);
        let key = self.hasher.hash_one((branch, sip.call_id, number, endpoint));
        // Keys of those that were answered stay in `order` until their time is over.
        let is_full = self.pending.len().max(self.order.len() / 4) >= self.ceiling;
        match (answer, self.pending.get_mut(&key)) {
            (Some(code), Some(_)) => self.answered(key, now, code),
            (None, Some(known)) => known.last = now,
            (Some(_), None) => {}
            (None, None) if is_full => self.refused += 1,
            (None, None) => {
                let to = sip.message.to();
                let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
                let name = to.and_then(|to| to.uri.user).map(text);
                let host = to.map(|to| text(to.uri.host));
                let Some(user) = user(name.as_deref(), host.as_deref()) else { return };
                let service = ServiceAddress { endpoint, transport: sip.hop.transport };
                let register =
                    RegisterFacts { service, user, first: now, last: now, answered: None, code: 0 };
                self.pending.insert(key, register);
                self.order.push_back((now, key));
            }
        }
    }

    fn answered(&mut self, key: u64, now: Nanos, code: u16) {
        let Some(register) = self.pending.remove(&key) else { return };
        if now.since(register.first) >= NOTICED || matches!(code, 500 | 503) {
            self.keep(RegisterFacts { answered: Some(now), code, ..register });
        }
    }

    fn give_up(&mut self, now: Nanos) {
        while let Some((first, key)) = self.order.front().copied() {
            if now.since(first) < GIVEN_UP {
                break;
            }
            self.order.pop_front();
            // A later one may have the same key.
            if self.pending.get(&key).is_some_and(|register| register.first == first)
                && let Some(register) = self.pending.remove(&key)
            {
                self.keep(register);
            }
        }
    }

    fn keep(&mut self, register: RegisterFacts) {
        if self.waited.len() < self.ceiling {
            self.waited.push(register);
        } else {
            self.refused += 1;
        }
    }

    /// The input has ended: those that waited, and how many the ceiling turned away.
    pub(crate) fn close(&mut self) -> (Vec<RegisterFacts>, u64) {
        self.give_up(Nanos::MAX);
        let mut waited = std::mem::take(&mut self.waited);
        waited.sort_by_key(|register| register.first);
        (waited, self.refused)
    }
}

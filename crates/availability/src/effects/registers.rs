//! REGISTER requests that wait.

use std::collections::{HashMap, VecDeque};

use ringtap_model::Nanos;
use ringtap_wire::sip::Method;

use super::facts::RegisterFacts;
use super::trouble::NOTICED;
use crate::observation::Observation;
use crate::record::ServiceAddress;
use crate::settings::GIVEN_UP;

/// Those without an answer, and those that had to wait for theirs.
#[derive(Debug)]
pub(crate) struct Registers {
    pending: HashMap<u64, RegisterFacts>,
    order: VecDeque<(Nanos, u64)>,
    waited: Vec<RegisterFacts>,
    ceiling: usize,
    refused: u64,
}

impl Registers {
    pub(crate) fn new(ceiling: usize) -> Self {
        Self { pending: HashMap::new(), order: VecDeque::new(), waited: Vec::new(), ceiling, refused: 0 }
    }

    /// A REGISTER, or an answer to one.
    pub(crate) fn message(&mut self, sip: &Observation) {
        if sip.method != Method::Register {
            return;
        }
        let (now, key) = (sip.time, sip.transaction);
        self.give_up(now);
        // Keys of those that were answered stay in `order` until their time is over.
        let is_full = self.pending.len().max(self.order.len() / 4) >= self.ceiling;
        match (sip.code, self.pending.get_mut(&key)) {
            (Some(code), Some(_)) => self.answered(key, now, code),
            (None, Some(known)) => known.last = now,
            (Some(_), None) => {}
            (None, None) if is_full => self.refused += 1,
            (None, None) => {
                let Some(user) = sip.registering else { return };
                let service = ServiceAddress { endpoint: sip.dst, transport: sip.transport };
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

    /// Those that waited, and those that wait now, in order of time.
    pub(crate) fn waited(&self) -> Vec<RegisterFacts> {
        let mut waited: Vec<RegisterFacts> =
            self.waited.iter().chain(self.pending.values()).copied().collect();
        waited.sort_by_key(|register| (register.first, register.user));
        waited
    }

    /// Forgets those that waited before.
    pub(crate) fn forget(&mut self, before: Nanos) {
        self.waited.retain(|register| register.answered.unwrap_or(register.last) >= before);
    }

    /// How many the ceilings turned away.
    pub(crate) fn refused(&self) -> u64 {
        self.refused
    }
}

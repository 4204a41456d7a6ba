//! Requests that wait while a service answers nothing.

use std::collections::BTreeMap;
use std::net::IpAddr;

use ringtap_model::Nanos;

use crate::settings::GIVEN_UP;

/// Addresses whose requests are told apart; those of others count as of one more.
const CLIENTS: usize = 256;

/// What waited since the last answer.
#[derive(Clone, Debug, Default)]
pub(crate) struct Silence {
    by_client: BTreeMap<Option<IpAddr>, Waited>,
    /// Until when some request waits, and time since the last answer in which none did.
    covered_until: Option<Nanos>,
    uncovered: Nanos,
    /// First sending of any request since the last answer.
    pub(crate) first_sent: Option<Nanos>,
}

/// Requests of one client.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Waited {
    /// Requests, repeats not counted.
    pub(crate) requests: u64,
    /// Times that they were sent.
    pub(crate) sent: u64,
    /// The earliest.
    pub(crate) first: Option<Nanos>,
}

impl Waited {
    pub(crate) fn add(&mut self, first: Nanos, requests: u64, sent: u64) {
        self.requests += requests;
        self.sent += sent;
        self.first = Some(self.first.map_or(first, |known| known.min(first)));
    }
}

impl Silence {
    /// A request was sent, for the first time at `first`.
    pub(crate) fn sent(&mut self, now: Nanos, first: Nanos) {
        self.first_sent.get_or_insert(now);
        self.uncovered += self.covered_until.map_or(Nanos::ZERO, |until| now.since(until));
        let until = self.covered_until.unwrap_or(now).max(first + GIVEN_UP).max(now);
        self.covered_until = Some(until);
    }

    /// A request waited without an answer. None for a client that is not told apart from others.
    pub(crate) fn waited(&mut self, client: Option<IpAddr>, first: Nanos, sent: u64) {
        let has_room = self.by_client.len() < CLIENTS || self.by_client.contains_key(&client);
        let client = client.filter(|_| has_room);
        self.by_client.entry(client).or_default().add(first, 1, sent);
    }

    /// Requests of clients that are `known`, and how many clients these are.
    pub(crate) fn sum(&self, known: impl Fn(IpAddr) -> bool) -> (Waited, u64) {
        let mut sum = (Waited::default(), 0);
        for (client, waited) in &self.by_client {
            if let (true, Some(first)) = (client.is_none_or(&known), waited.first) {
                sum.0.add(first, waited.requests, waited.sent);
                sum.1 += 1;
            }
        }
        sum
    }

    /// Clients that are told apart.
    pub(crate) fn clients(&self) -> usize {
        self.by_client.len()
    }

    /// Time until `end` in which no request waited.
    pub(crate) fn uncovered(&self, end: Nanos) -> Nanos {
        self.uncovered + self.covered_until.map_or(Nanos::ZERO, |until| end.since(until))
    }

    /// Until when some request waits.
    pub(crate) fn covered_until(&self) -> Option<Nanos> {
        self.covered_until
    }
}

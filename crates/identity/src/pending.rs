//! Requests that wait for their answers, and those answered a moment ago.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;

use ringtap_model::{Endpoint, Nanos};

use crate::facts::Facts;
use crate::slots::Serial;

/// Whose request it is: identifiers are numbered by each socket of a client, for each socket of a server (RFC
/// 2865 section 3), so that another NAS, or another port of it, has numbers of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct RequestKey {
    pub(crate) client: Endpoint,
    pub(crate) server: Endpoint,
    pub(crate) identifier: u8,
}

/// A request.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) code: u8,
    pub(crate) authenticator: [u8; 16],
    pub(crate) time: Nanos,
    pub(crate) is_answered: bool,
    pub(crate) facts: Facts,
    /// The session that it was about.
    pub(crate) session: Option<Serial>,
}

impl Waiting for Request {
    fn time(&self) -> Nanos {
        self.time
    }

    fn is_answered(&self) -> bool {
        self.is_answered
    }
}

/// What waits for an answer.
pub(crate) trait Waiting {
    /// When it was asked.
    fn time(&self) -> Nanos;

    /// Whether it waits no more.
    fn is_answered(&self) -> bool;
}

/// Requests under a ceiling, for [`LIFETIME`] each.
#[derive(Debug)]
pub(crate) struct Requests<K, R> {
    ceiling: usize,
    requests: HashMap<K, R>,
    /// In order of arrival; a key that is used again is in it again.
    order: VecDeque<(Nanos, K)>,
    pub(crate) unanswered: u64,
    pub(crate) evicted: u64,
}

impl<K: Copy + Eq + Hash, R: Waiting> Requests<K, R> {
    pub(crate) fn new(ceiling: usize) -> Self {
        Self {
            ceiling: ceiling.max(1),
            requests: HashMap::new(),
            order: VecDeque::new(),
            unanswered: 0,
            evicted: 0,
        }
    }

    pub(crate) fn find(&mut self, key: &K) -> Option<&mut R> {
        self.requests.get_mut(key)
    }

    pub(crate) fn insert(&mut self, key: K, request: R) {
        self.enlist(key, request.time());
        // The client uses the identifier again: nobody answers the old request any more.
        let old = self.requests.insert(key, request);
        self.unanswered += u64::from(old.is_some_and(|old| !old.is_answered()));
    }

    /// Adds a key whose request has this time now.
    pub(crate) fn enlist(&mut self, key: K, now: Nanos) {
        // INVARIANT: each request has its entry in the order, which is never longer than the ceiling.
        while self.order.len() >= self.ceiling {
            let Some((time, key)) = self.order.pop_front() else { break };
            if self.requests.get(&key).is_some_and(|old| old.time() == time) {
                let is_lost = self.requests.remove(&key).is_some_and(|old| !old.is_answered());
                self.evicted += u64::from(is_lost);
            }
        }
        self.order.push_back((now, key));
    }

    /// Forgets those that are older than [`LIFETIME`].
    pub(crate) fn advance(&mut self, now: Nanos) {
        while let Some((time, key)) = self.order.front().copied() {
            if now.since(time) < LIFETIME {
                break;
            }
            self.order.pop_front();
            if self.requests.get(&key).is_some_and(|request| request.time() == time) {
                let is_lost = self.requests.remove(&key).is_some_and(|request| !request.is_answered());
                self.unanswered += u64::from(is_lost);
            }
        }
    }

    /// Counts those that are not answered, when the input has ended.
    pub(crate) fn close(&mut self) {
        self.unanswered += self.requests.values().filter(|request| !request.is_answered()).count() as u64;
    }
}

/// A client gives up after a fraction of this (RFC 5080 section 2.2.1: 30 s); a repeat may come as late.
const LIFETIME: Nanos = Nanos::from_secs(60);

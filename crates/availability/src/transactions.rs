//! Requests and whether they were answered: RFC 3261 section 17.

use std::collections::{HashMap, VecDeque};
use std::net::IpAddr;

use ringtap_model::Nanos;

use crate::settings::GIVEN_UP;

/// How long a transaction is remembered, so that late answers and repeats find it.
const REMEMBERED: Nanos = Nanos(GIVEN_UP.0 * 2);

/// One request to one service, with its repeats.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Transaction {
    /// Number of its service.
    pub(crate) service: u32,
    pub(crate) client: IpAddr,
    pub(crate) first: Nanos,
    /// The last time that it was sent.
    pub(crate) last: Nanos,
    pub(crate) sent: u64,
    pub(crate) is_answered: bool,
    pub(crate) is_final: bool,
}

/// All that are remembered.
#[derive(Debug)]
pub(crate) struct Transactions {
    by_key: HashMap<u64, Transaction>,
    order: VecDeque<(Nanos, u64)>,
    ceiling: usize,
}

impl Transactions {
    pub(crate) fn new(ceiling: usize) -> Self {
        Self { by_key: HashMap::new(), order: VecDeque::new(), ceiling: ceiling.max(1) }
    }

    pub(crate) fn get(&self, key: u64) -> Option<&Transaction> {
        self.by_key.get(&key)
    }

    pub(crate) fn find(&mut self, key: u64) -> Option<&mut Transaction> {
        self.by_key.get_mut(&key)
    }

    pub(crate) fn insert(&mut self, key: u64, transaction: Transaction) {
        self.order.push_back((transaction.first, key));
        self.by_key.insert(key, transaction);
    }

    pub(crate) fn is_full(&self) -> bool {
        self.by_key.len() >= self.ceiling
    }

    /// The oldest, where its time is over by `now`, or in any case for None.
    pub(crate) fn pop(&mut self, now: Option<Nanos>) -> Option<(u64, Transaction)> {
        let (first, key) = *self.order.front()?;
        if now.is_some_and(|now| now.since(first) < REMEMBERED) {
            return None;
        }
        self.order.pop_front();
        self.by_key.remove(&key).map(|transaction| (key, transaction))
    }
}

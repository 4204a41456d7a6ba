//! SIP transactions outside of calls: MESSAGE (RFC 3428), SUBSCRIBE and NOTIFY (RFC 6665), OPTIONS, PUBLISH
//! (RFC 3903). All are counted; MESSAGEs, and what the configuration names, are recorded.
//!
//! A transaction that is challenged and tried again with credentials is one. What carries the Call-ID of a
//! call in progress is that call's, but for MESSAGE.

mod entry;

use hashbrown::HashTable;
use ringtap_wire::sip::{Method, StartLine};

use crate::config::Config;
use crate::context::{Context, SipMessage};
use crate::sink::Sink;
use crate::table::hash::Hasher;
use crate::table::queues::Queues;
use crate::table::slots::{Slots, Ticket};
use crate::tracker::{EngineTracker, Tracker, Wants};
use entry::{Entry, Record, has_credentials};

/// Ranks of transactions: without a final answer, and with one.
const WAITING: usize = 0;
const ANSWERED: usize = 1;

/// The table of transactions.
pub(crate) struct Transactions {
    entries: Slots<Entry>,
    index: HashTable<u32>,
    order: Queues,
    hasher: Hasher,
    /// Methods that are recorded, beside MESSAGE.
    recorded: Vec<Method>,
    /// Bytes that all hold, and may hold.
    memory: usize,
    max_memory: usize,
}

impl Tracker for Transactions {
    const WANTS: Wants = Wants { sip: true, ..Wants::NOTHING };

    /// A request or its response. The record is emitted when its time is over, so that every hop counts once.
    // HOT: once a SIP message, most of which are of no such method.
    #[inline]
    fn sip<S: Sink>(&mut self, sip: &SipMessage<'_>, cx: &mut Context<'_, S>) {
        match sip.method {
            Method::Message => self.transaction(sip, cx),
            // A report on a call comes here under the Call-ID of that call, and once more under its own.
            Method::Subscribe | Method::Notify | Method::Options | Method::Publish
                if cx.verdict.call.is_none() && sip.message.call_id() == Some(sip.call_id) =>
            {
                self.transaction(sip, cx);
            }
            _ => {}
        }
    }

    fn timer<S: Sink>(&mut self, ticket: Ticket, cx: &mut Context<'_, S>) {
        let Some(slot) = self.entries.redeem(ticket) else { return };
        let deadline = self.entries[slot].deadline();
        if deadline > cx.now() {
            cx.arm(deadline, ticket);
        } else {
            self.finish(slot, cx);
        }
    }

    /// Every transaction that is left, in order of time.
    fn close<S: Sink>(&mut self, cx: &mut Context<'_, S>) {
        let mut slots = self.entries.indices();
        slots.sort_by_key(|slot| (self.entries[*slot].first, *slot));
        slots.into_iter().for_each(|slot| self.finish(slot, cx));
    }
}

impl EngineTracker for Transactions {}

impl Transactions {
    /// For up to the configured number of transactions, which hold up to `max_memory` bytes together.
    pub(crate) fn new(config: &Config, max_memory: usize, hasher: Hasher) -> Self {
        let ceiling = config.max_messages;
        let (entries, order) = (Slots::new(ceiling), Queues::new(2, ceiling));
        let recorded = config.transactions.clone();
        Self { entries, index: HashTable::new(), order, hasher, recorded, memory: 0, max_memory }
    }

    #[inline(never)]
    fn transaction<S: Sink>(&mut self, sip: &SipMessage<'_>, cx: &mut Context<'_, S>) {
        let SipMessage { message, call_id, cseq, method, hop, .. } = *sip;
        let cseq = cseq.map_or(0, |(number, _)| number);
        let hash = self.hash(call_id, cseq, method);
        let mut found = self.find(call_id, cseq, method, hash);
        // Whenever its timer fires.
        if let Some(slot) = found.filter(|slot| self.entries[*slot].deadline() <= hop.time) {
            self.finish(slot, cx);
            found = None;
        }
        let branch = self.hasher.of(message.top_branch());
        match (found, message.start()) {
            (Some(slot), StartLine::Response { code, .. }) => {
                let entry = &mut self.entries[slot];
                entry.answer(code, branch, hop.time);
                let (rank, deadline) =
                    (if entry.is_answered() { ANSWERED } else { WAITING }, entry.deadline());
                if self.order.queue_of(slot) != Some(rank) {
                    self.order.push(slot, rank);
                    cx.arm(deadline, self.entries.ticket(slot));
                }
            }
            (Some(slot), StartLine::Request { .. }) => {
                if self.entries[slot].is_answered_by(message, branch) {
                    self.retry(slot, cseq, (hash, branch), sip);
                } else {
                    self.entries[slot].repeated(hop.time);
                }
            }
            (None, StartLine::Request { .. }) => match self.challenged(sip, cseq) {
                Some(slot) => self.retry(slot, cseq, (hash, branch), sip),
                None => self.begin(sip, (call_id, cseq, hash), branch, cx),
            },
            // An answer whose request was not seen tells neither time nor direction.
            (None, StartLine::Response { .. }) => {}
        }
    }

    /// The transaction that a request with credentials goes on with: of the number before.
    fn challenged(&self, sip: &SipMessage<'_>, cseq: u32) -> Option<u32> {
        let SipMessage { message, call_id, method, hop, .. } = *sip;
        if self.entries.len() == 0 || !has_credentials(message) {
            return None;
        }
        let before = cseq.checked_sub(1)?;
        let slot = self.find(call_id, before, method, self.hash(call_id, before, method))?;
        let entry = &self.entries[slot];
        (entry.is_challenged() && entry.deadline() > hop.time).then_some(slot)
    }

    /// A challenged transaction is tried again, under the same number or the next.
    fn retry(&mut self, slot: u32, cseq: u32, (hash, branch): (u64, u64), sip: &SipMessage<'_>) {
        let entry = &mut self.entries[slot];
        let old = std::mem::replace(&mut entry.hash, hash);
        entry.retry(cseq, branch, sip.hop.time);
        if let Ok(found) = self.index.find_entry(old, |other| *other == slot) {
            found.remove();
        }
        let entries = &self.entries;
        self.index.insert_unique(hash, slot, |slot| entries[*slot].hash);
        self.order.push(slot, WAITING);
    }

    fn begin<S: Sink>(
        &mut self,
        sip: &SipMessage<'_>,
        key: (&[u8], u32, u64),
        branch: u64,
        cx: &mut Context<'_, S>,
    ) {
        if self.entries.is_full() || self.memory > self.max_memory {
            self.make_room(cx);
        }
        let entry = Entry::begin(sip, key, branch, self.recorded.contains(&sip.method));
        let (memory, deadline, hash) = (entry.memory, entry.deadline(), entry.hash);
        let has_room = self.memory <= self.max_memory;
        let Some(slot) = self.entries.insert_if(has_room, entry) else {
            cx.counters.messages_refused += 1;
            return;
        };
        self.memory += memory;
        self.order.push(slot, WAITING);
        let entries = &self.entries;
        self.index.insert_unique(hash, slot, |slot| entries[*slot].hash);
        cx.arm(deadline, self.entries.ticket(slot));
    }

    /// The oldest transaction of the more frequent rank gives way. Of one that was answered nothing is lost.
    #[cold]
    fn make_room<S: Sink>(&mut self, cx: &mut Context<'_, S>) {
        let rank = if self.order.len(ANSWERED) > self.order.len(WAITING) { ANSWERED } else { WAITING };
        if let Some(slot) = self.order.oldest(rank) {
            cx.counters.messages_evicted += u64::from(rank == WAITING);
            self.finish(slot, cx);
        }
    }

    fn hash(&self, call_id: &[u8], cseq: u32, method: Method) -> u64 {
        self.hasher.of((call_id, cseq, method as u8))
    }

    fn find(&self, call_id: &[u8], cseq: u32, method: Method, hash: u64) -> Option<u32> {
        let is_it = |slot: &u32| {
            let entry = &self.entries[*slot];
            entry.cseq == cseq && entry.method == method && entry.call_id.is(call_id)
        };
        self.index.find(hash, is_it).copied()
    }

    /// Counts a transaction that has ended, and emits its record.
    fn finish<S: Sink>(&mut self, slot: u32, cx: &mut Context<'_, S>) {
        let Some(entry) = self.entries.remove(slot) else { return };
        self.order.remove(slot);
        self.memory -= entry.memory;
        if let Ok(found) = self.index.find_entry(entry.hash, |other| *other == slot) {
            found.remove();
        }
        cx.counters.transactions.add(entry.method, entry.code);
        match entry.into_record() {
            Some(Record::Message(message)) => cx.sink.message(message),
            Some(Record::Transaction(transaction)) => cx.sink.transaction(transaction),
            None => {}
        }
    }
}

#[cfg(test)]
mod tests;

//! Which call leaves the table first when it is full.
//!
//! A call in conversation never leaves. Of the others one leaves that is over and whose late packets have
//! come, since its record is complete; else the oldest one of the most frequent rank: what fills a table with
//! calls that nobody wants is mostly of one rank, and the oldest of it began before the real ones that are
//! now at the same point.

use std::net::IpAddr;
use std::ops::Range;

use ringtap_model::Nanos;

use super::rank::{CALL_RANKS, CallRank, SOURCES, UNANSWERED};
use super::{CallEntry, Calls};
use crate::table::queues::Queues;

/// Above this part of the ceiling, one source may have so many calls without an answer, and no more.
const CROWDED: (usize, usize) = (4, 5);
const SHARE_OF_SOURCE: usize = 4;
/// Late packets of a call that is over come within this time, as a rule.
const LATE: Nanos = Nanos::from_secs(2);

impl Calls {
    /// Whether calls have to give way before another begins.
    #[inline]
    pub(crate) fn is_crowded(&self) -> bool {
        self.len() * CROWDED.1 >= self.ceiling * CROWDED.0 || self.memory > self.max_memory
    }

    /// The call that has to give way before another begins that comes from `source`; None where none has to
    /// or none may.
    pub(crate) fn to_evict(&self, source: IpAddr, now: Nanos) -> Option<u32> {
        if self.entries.is_full() || self.memory > self.max_memory {
            return self.over(now).or_else(|| oldest_of_largest(&self.ranks, 0..usize::from(CALL_RANKS)));
        }
        let queues = queues_of(self.source(source));
        let unanswered: usize = queues.clone().map(|queue| self.sources.len(queue)).sum();
        let is_above_share = unanswered >= self.ceiling.div_ceil(SHARE_OF_SOURCE);
        if is_above_share && self.is_crowded() { oldest_of_largest(&self.sources, queues) } else { None }
    }

    /// Whether a call is one without an answer.
    pub(crate) fn is_unanswered(&self, slot: u32) -> bool {
        self.sources.queue_of(slot).is_some()
    }

    /// Notes what became of a call by a message, and what it holds.
    pub(crate) fn update(&mut self, slot: u32, workers: usize) {
        let Some(call) = self.entries.get_mut(slot) else { return };
        let rank = call.rank();
        if call.has_grown {
            call.has_grown = false;
            let memory = call.heap_bytes(workers) + size_of::<CallEntry>();
            self.memory = self.memory - call.memory as usize + memory;
            call.memory = memory as u32;
        }
        if self.ranks.queue_of(slot) != rank.map(|rank| rank as usize) {
            self.set_rank(slot, rank);
        }
    }

    pub(super) fn set_rank(&mut self, slot: u32, rank: Option<CallRank>) {
        let Some(call) = self.entries.get(slot) else { return };
        match rank {
            Some(rank) => self.ranks.push(slot, rank as usize),
            None => self.ranks.remove(slot),
        }
        match rank.filter(|rank| *rank != CallRank::Over) {
            Some(rank) => self.sources.push(slot, queues_of(call.source).start + rank as usize),
            None => self.sources.remove(slot),
        }
    }

    /// The number of the source that an address belongs to.
    pub(super) fn source(&self, ip: IpAddr) -> u16 {
        (self.hasher.of(ip) % u64::from(SOURCES)) as u16
    }

    /// The call that has been over for longest, if late packets have come.
    fn over(&self, now: Nanos) -> Option<u32> {
        self.ranks.oldest(CallRank::Over as usize).filter(|slot| now.since(self.entries[*slot].last) >= LATE)
    }
}

/// Where the calls of a source are, by rank.
fn queues_of(source: u16) -> Range<usize> {
    let first = usize::from(source) * usize::from(UNANSWERED);
    first..first + usize::from(UNANSWERED)
}

/// The oldest call of the longest of these queues.
fn oldest_of_largest(calls: &Queues, queues: Range<usize>) -> Option<u32> {
    let largest = queues.rev().max_by_key(|queue| calls.len(*queue))?;
    calls.oldest(largest)
}

impl CallEntry {
    /// None for a call in conversation.
    fn rank(&self) -> Option<CallRank> {
        if self.is_challenged() {
            Some(CallRank::Trying)
        } else if self.is_over() || self.lost_since.is_some() {
            Some(CallRank::Over)
        } else if self.is_answered() {
            None
        } else if self.is_ringing() {
            Some(CallRank::Ringing)
        } else if self.is_heard() {
            Some(CallRank::Trying)
        } else {
            Some(CallRank::Unheard)
        }
    }
}

//! Holds of a call, and the transfer that it asked for.

use ringtap_model::Nanos;
use ringtap_quality::notes::{HoldFacts, Transfer};

/// The holds of one side.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Holds {
    facts: HoldFacts,
    since: Option<Nanos>,
}

/// The newest transfer, and the transaction that asked for it.
#[derive(Clone, Debug)]
pub(super) struct AskedTransfer {
    pub(super) transfer: Transfer,
    pub(super) transaction: Option<u64>,
}

impl Holds {
    pub(super) fn set(&mut self, is_on: bool, time: Nanos) {
        match (self.since, is_on) {
            (None, true) => {
                self.facts.first.get_or_insert(time);
                self.facts.times = self.facts.times.saturating_add(1);
                self.since = Some(time);
            }
            (Some(since), false) => {
                self.facts.length += time.since(since);
                self.since = None;
            }
            _ => {}
        }
    }

    /// At the end of the call, or now.
    pub(super) fn until(mut self, end: Nanos) -> HoldFacts {
        let is_on = self.since.is_some();
        self.set(false, end);
        HoldFacts { is_on, ..self.facts }
    }
}

impl AskedTransfer {
    /// What it holds on the heap, in bytes.
    pub(super) fn heap_bytes(&self) -> usize {
        size_of::<Self>() + self.transfer.to.len()
    }
}

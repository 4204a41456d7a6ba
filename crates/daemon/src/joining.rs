//! Joins the records of all workers, in the thread that writes them.

use std::sync::{Arc, Mutex, PoisonError};

use ringtap_conversation::{Counts, Joiner, Settings};
use ringtap_model::{Amendment, Call, Filter};
use ringtap_store::{Annotate, Query, Reader};

/// The joiner's counts, for whoever shows them.
#[derive(Clone, Debug, Default)]
pub(crate) struct JoinCounts(Arc<Mutex<Counts>>);

impl JoinCounts {
    pub(crate) fn get(&self) -> Counts {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// See the module.
pub(crate) struct Joining {
    joiner: Joiner,
    counts: JoinCounts,
}

impl Joining {
    /// With the calls that ended shortly before this run, as far as the store can be read: a conversation
    /// goes on over a restart.
    pub(crate) fn begin(settings: Settings, records: &std::path::Path, counts: &JoinCounts) -> Self {
        let mut joiner = Joiner::new(settings.clone());
        for mut call in recent(&settings, records) {
            joiner.add(&mut call);
        }
        Self { joiner, counts: counts.clone() }
    }
}

/// The calls of the last part of the newest day, in the order in which they ended.
fn recent(settings: &Settings, records: &std::path::Path) -> Vec<Call> {
    // The first run has no records, and what cannot be read is reported by who writes it.
    let Ok(reader) = Reader::open(records) else { return Vec::new() };
    let newest = Query { limit: settings.max_legs.min(MOST_READ), newest: true, ..Filter::default().into() };
    let mut calls = reader.calls(&newest).map(|found| found.records).unwrap_or_default();
    let end = |call: &Call| call.end.or(call.start()).unwrap_or_default();
    let last = calls.iter().map(end).max().unwrap_or_default();
    calls.retain(|call| call.conversation.is_some() && end(call) + settings.window >= last);
    calls.sort_by_key(|call| (end(call), call.id));
    calls
}

impl Annotate for Joining {
    fn call(&mut self, call: &mut Call) -> Vec<Amendment> {
        let amendments = self.joiner.add(call);
        *self.counts.0.lock().unwrap_or_else(PoisonError::into_inner) = self.joiner.counts();
        amendments
    }
}

/// Calls that are read at the start at most: a second of time.
const MOST_READ: usize = 16_384;

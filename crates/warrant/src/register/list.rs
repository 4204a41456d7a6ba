//! Warrants, a page at a time.

use ringtap_model::Nanos;

use crate::state::{State, Warrant};

/// Which warrants to list.
#[derive(Clone, Debug, Default)]
pub struct ListQuery {
    /// Only those that have not ended.
    pub open: bool,
    /// Only those that this person can approve: a draft, or an extension, that somebody else has entered.
    pub waits_for: Option<String>,
    /// With a lower number than this.
    pub before: Option<u32>,
    /// So many at most.
    pub most: usize,
}

/// Some of the warrants.
#[derive(Clone, Debug)]
pub struct WarrantPage {
    /// The newest first.
    pub warrants: Vec<Warrant>,
    /// How many there are that the query selects, on all pages.
    pub total: usize,
    /// The time by which their status counts.
    pub at: Nanos,
}

impl ListQuery {
    pub(super) fn page(&self, state: &State, at: Nanos) -> WarrantPage {
        let is_wanted = |warrant: &&Warrant| {
            (!self.open || !warrant.is_over(at))
                && self.waits_for.as_ref().is_none_or(|name| warrant.waits_for(name, at))
        };
        let wanted = || state.warrants.values().rev().filter(is_wanted);
        let page = wanted().filter(|warrant| self.before.is_none_or(|before| warrant.id < before));
        let warrants = page.take(self.most).cloned().collect();
        WarrantPage { warrants, total: wanted().count(), at }
    }
}

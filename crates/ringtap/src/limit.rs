//! How many records of the database a command shows.

use clap::Args;
use ringtap_model::Filter;
use ringtap_store::Query;

/// How many, from which end.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct LimitArgs {
    /// Show at most this many of the database, the earliest; 0 is all
    #[arg(long, value_name = "N", default_value_t = 1000)]
    limit: usize,
    /// Show the newest of the database, at most this many, in the same order
    #[arg(long, value_name = "N", conflicts_with = "limit")]
    newest: Option<usize>,
}

impl LimitArgs {
    /// What to search for.
    pub(crate) fn query(self, filter: Filter) -> Query {
        Query { filter, limit: self.most(), newest: self.is_of_newest() }
    }

    /// At most this many.
    pub(crate) fn most(self) -> usize {
        match (self.newest, self.limit) {
            (Some(newest), _) => newest,
            (None, 0) => usize::MAX,
            (None, limit) => limit,
        }
    }

    /// Whether the newest are wanted instead of the earliest.
    pub(crate) fn is_of_newest(self) -> bool {
        self.newest.is_some()
    }

    /// Whether to say that there were more: whoever asks for the newest knows.
    pub(crate) fn tells_of_more(self) -> bool {
        self.newest.is_none()
    }
}

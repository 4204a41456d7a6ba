//! What the meaning of a text depends on beside the text.

use std::collections::BTreeMap;

use jiff::tz::TimeZone;
use ringtap_model::Nanos;

/// When and where a text is read, and the lists that it may name.
#[derive(Clone, Debug)]
pub struct Context {
    /// The current time: what `now`, `-2h` and `yesterday` begin from.
    pub now: Nanos,
    /// The zone of times without an offset.
    pub zone: TimeZone,
    /// The values of each list, by its name without `$`.
    pub lists: BTreeMap<String, Vec<String>>,
}

impl Context {
    /// A context without lists.
    pub fn new(now: Nanos, zone: TimeZone) -> Self {
        Self { now, zone, lists: BTreeMap::new() }
    }

    /// The same in UTC.
    pub fn utc(now: Nanos) -> Self {
        Self::new(now, TimeZone::UTC)
    }
}

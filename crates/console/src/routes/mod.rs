//! What the API answers, a file for each subject.

pub(crate) mod about;
pub(crate) mod alarms;
pub(crate) mod audit;
pub(crate) mod call;
pub(crate) mod calls;
pub(crate) mod kpis;
mod ladder;
pub(crate) mod live;
mod lost_packets;
mod packets;
pub(crate) mod people;
pub(crate) mod session;
pub(crate) mod trunks;
pub(crate) mod users;
pub(crate) mod why;

use ringtap_model::Nanos;
use serde::Deserialize;

/// From a moment to another, the second not included.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
pub(crate) struct TimeSpan {
    /// Microseconds since 1970.
    pub(crate) from_us: Option<u64>,
    /// Microseconds since 1970.
    pub(crate) until_us: Option<u64>,
}

impl TimeSpan {
    /// Whether it contains that moment.
    pub(crate) fn has(self, time: Nanos) -> bool {
        self.from_us.is_none_or(|from| time.micros() >= from)
            && self.until_us.is_none_or(|until| time.micros() < until)
    }
}

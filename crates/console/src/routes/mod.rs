//! What the API answers, a file for each subject.
#![expect(unused_qualifications, reason = "utoipa's macros write the paths of parameters in full")]

pub(crate) mod about;
pub(crate) mod account;
pub(crate) mod alarms;
pub(crate) mod assistants;
pub(crate) mod audit;
pub(crate) mod availability;
pub(crate) mod call;
pub(crate) mod calls;
pub(crate) mod deletions;
mod ear;
pub(crate) mod export;
mod found;
pub(crate) mod health;
pub(crate) mod kpis;
mod ladder;
pub(crate) mod listen;
pub(crate) mod live;
mod lost_packets;
mod packets;
pub(crate) mod passkeys;
pub(crate) mod people;
pub(crate) mod provider;
pub(crate) mod recording;
pub(crate) mod retention;
mod rollups;
pub(crate) mod rules;
pub(crate) mod searches;
mod sensor_faults;
pub(crate) mod sensors;
pub(crate) mod session;
pub(crate) mod sites;
pub(crate) mod trunks;
pub(crate) mod users;
pub(crate) mod warrants;
pub(crate) mod why;

use ringtap_model::Nanos;
use serde::Deserialize;
use utoipa::IntoParams;

/// From a moment to another, the second not included.
#[derive(Clone, Copy, Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct TimeSpan {
    /// From then, in microseconds since 1970.
    #[param(example = 1_795_000_000_000_000_u64)]
    #[serde(default, deserialize_with = "crate::request::int64")]
    pub(crate) from_us: Option<u64>,
    /// Until then, which is not included, in microseconds since 1970.
    #[serde(default, deserialize_with = "crate::request::int64")]
    pub(crate) until_us: Option<u64>,
}

impl TimeSpan {
    /// Whether it contains that moment.
    pub(crate) fn has(self, time: Nanos) -> bool {
        self.from_us.is_none_or(|from| time.micros() >= from)
            && self.until_us.is_none_or(|until| time.micros() < until)
    }
}

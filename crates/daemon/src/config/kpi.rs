//! `[kpi]`: what KPIs depend on beside the records.

use ringtap_kpi::{Settings, Zone};
use ringtap_model::Nanos;

use super::key::{Bounds, DAY, MILLISECOND, section};
use super::values::Span;

section! {
    /// How KPIs are computed; see `ringtap kpis`.
    #[name = "kpi"]
    pub(crate) struct Kpi {
        /// Days and hours are those of this time zone, with its daylight saving: `UTC`, `local` or a name
        /// such as `Europe/Berlin`.
        #[accepts = "a time zone, such as \"Europe/Berlin\""]
        timezone: String = "UTC".to_owned(),
        /// An answered call of at most this length is a short one.
        #[bounds = Bounds::between(MILLISECOND, DAY)]
        short_call: Span = Span(Nanos::from_secs(3)),
        /// Digits of the destination prefixes, after + or 00: with 4, `+4930` is one.
        #[bounds = Bounds::between(1, 15).unit("digits")]
        prefix_digits: u32 = 4,
    }
}

impl Kpi {
    /// What figures depend on.
    pub(crate) fn settings(&self) -> Settings {
        Settings { short_call: self.short_call.0, prefix_digits: self.prefix_digits as u8 }
    }

    /// The zone of days and hours.
    pub(crate) fn zone(&self) -> Result<Zone, String> {
        Zone::named(&self.timezone)
    }

    /// Checks the zone.
    pub(super) fn check(&self) -> Result<(), super::key::KeyProblem> {
        self.zone().map(drop).map_err(|problem| ("kpi", "timezone", format!("is not known: {problem}")))
    }
}

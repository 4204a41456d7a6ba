//! What is printed, and its lines of JSON.

use std::iter;

use ringtap_availability::{
    AffectedCall, Counts, Effects, Failover, Findings, Outage, ServiceSummary, Totals,
};
use serde::Serialize;

/// What is printed.
pub(super) struct Results<'a> {
    pub(super) failovers: &'a [Failover],
    /// One for each of these, and all of them together. None from the database: packets tell alone.
    pub(super) effects: Option<(&'a [Effects], Totals)>,
    pub(super) findings: &'a Findings,
}

impl<'a> Results<'a> {
    /// As lines of JSON.
    pub(super) fn lines(&self) -> impl Iterator<Item = Line<'a>> {
        let Findings { outages, services, counts, .. } = self.findings;
        let effects = self.effects.map_or(&[][..], |(effects, _)| effects);
        let of_each = effects.iter().map(Some).chain(iter::repeat(None));
        let failovers = self.failovers.iter().zip(of_each);
        let failovers = failovers.map(|(failover, effects)| Line::Failover { failover, effects });
        let affected = effects.iter().flat_map(|effects| &effects.affected).map(Line::AffectedCall);
        let outages = outages.iter().map(Line::Outage);
        let services = services.iter().map(Line::Service);
        let summary = [Line::Summary { counts, totals: self.effects.map(|(_, totals)| totals) }];
        failovers.chain(affected).chain(outages).chain(services).chain(summary)
    }
}

/// One line of JSON.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Line<'a> {
    Failover {
        #[serde(flatten)]
        failover: &'a Failover,
        #[serde(flatten)]
        effects: Option<&'a Effects>,
    },
    AffectedCall(&'a AffectedCall),
    Outage(&'a Outage),
    Service(&'a ServiceSummary),
    Summary {
        #[serde(flatten)]
        counts: &'a Counts,
        #[serde(flatten)]
        totals: Option<Totals>,
    },
}

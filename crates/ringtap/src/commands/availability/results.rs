//! What is printed, and its lines of JSON.

use ringtap_availability::{
    AffectedCall, Counts, Effects, Failover, Findings, Outage, ServiceSummary, Totals,
};
use serde::Serialize;

/// What is printed.
pub(super) struct Results<'a> {
    pub(super) failovers: &'a [Failover],
    /// One for each of these.
    pub(super) effects: &'a [Effects],
    pub(super) findings: &'a Findings,
    pub(super) totals: Totals,
}

impl<'a> Results<'a> {
    /// As lines of JSON.
    pub(super) fn lines(&self) -> impl Iterator<Item = Line<'a>> {
        let Findings { outages, services, counts, .. } = self.findings;
        let failovers = self.failovers.iter().zip(self.effects);
        let failovers = failovers.map(|(failover, effects)| Line::Failover { failover, effects });
        let affected = self.effects.iter().flat_map(|effects| &effects.affected).map(Line::AffectedCall);
        let outages = outages.iter().map(Line::Outage);
        let services = services.iter().map(Line::Service);
        let summary = [Line::Summary { counts, totals: self.totals }];
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
        effects: &'a Effects,
    },
    AffectedCall(&'a AffectedCall),
    Outage(&'a Outage),
    Service(&'a ServiceSummary),
    Summary {
        #[serde(flatten)]
        counts: &'a Counts,
        #[serde(flatten)]
        totals: Totals,
    },
}

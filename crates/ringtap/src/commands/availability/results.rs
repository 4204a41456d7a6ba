//! What is printed, and its lines of JSON.

use ringtap_availability::{
    AffectedCall, Counts, Effects, Failover, Findings, Outage, ServiceSummary, Totals,
};
use serde::Serialize;

/// What is printed.
pub(super) struct Results<'a> {
    pub(super) failovers: &'a [Failover],
    /// One for each of these, in their order; None where they are not known yet.
    pub(super) effects: &'a [Option<Effects>],
    /// All of them together. None from the database, which does not tell of all calls of a time.
    pub(super) totals: Option<Totals>,
    pub(super) findings: &'a Findings,
}

impl<'a> Results<'a> {
    /// As lines of JSON.
    pub(super) fn lines(&self) -> impl Iterator<Item = Line<'a>> {
        let Findings { outages, services, counts, .. } = self.findings;
        let of_each = self.effects.iter().map(Option::as_ref);
        let failovers = self.failovers.iter().zip(of_each);
        let failovers = failovers.map(|(failover, effects)| Line::Failover { failover, effects });
        let known = self.effects.iter().flatten();
        let affected = known.flat_map(|effects| &effects.affected).map(Line::AffectedCall);
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

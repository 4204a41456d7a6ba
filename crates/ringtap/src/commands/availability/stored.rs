//! Outages that `ringtap run` has stored.

use std::path::Path;

use ringtap_availability::{Counts, Effects, Failover, Findings, Outage, summaries};
use ringtap_model::{Condition, Filter, Nanos};
use ringtap_report::time::Moment;
use ringtap_store::Query;

use crate::screen::Screen;
use crate::store_args;

/// Services are stored by the hour.
const HOUR: u64 = 3_600_000_000_000;

/// Reads what began in a time; of services, the hours that the time has a part of.
pub(super) fn read(
    directory: &Path,
    since: Option<Moment>,
    until: Option<Moment>,
    screen: &mut Screen,
) -> anyhow::Result<(Findings, Vec<Failover>, Vec<Option<Effects>>)> {
    let reader = store_args::open(directory)?;
    let query = |since: Option<Nanos>| {
        let conditions = since.map(Condition::Since).into_iter();
        let conditions = conditions.chain(until.map(|until| Condition::Until(until.instant())));
        Query { filter: Filter(conditions.collect()), limit: usize::MAX, newest: false }
    };
    let since = since.map(Moment::instant);
    let hour = since.map(|since| Nanos(since.0 / HOUR * HOUR));
    let outages = reader.outages(&query(since))?;
    let failovers = reader.failovers(&query(since))?.records;
    let services = summaries(reader.service_hours(&query(hour))?.records);
    if outages.days == 0 {
        screen.remark("no records are stored for that time: no day was searched");
    } else if services.is_empty() && outages.records.is_empty() {
        screen.remark(
            "no services are stored for that time: `ringtap run` follows them with `follow = true` in \
             [availability] of its configuration",
        );
    }
    let affected = reader.affected_calls(&query(since))?.records;
    let effects = failovers.iter().map(|record| Effects::of_record(record, &affected)).collect();
    let failovers = failovers.iter().map(|record| Failover::of_record(record, &outages.records)).collect();
    let counts = Counts { services: services.len() as u64, ..Counts::default() };
    let outages = outages.records.iter().map(Outage::of_record).collect();
    Ok((Findings { outages, services, evidence: Vec::new(), counts }, failovers, effects))
}

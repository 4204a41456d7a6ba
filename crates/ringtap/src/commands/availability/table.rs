//! The tables of `ringtap availability`.

use std::io::{self, Write};

use ringtap_availability::{Failover, Outage, OutageKind, Place, ServiceSummary};
use ringtap_model::Nanos;
use ringtap_report::style::Style;
use ringtap_report::table::{self, Cell, Column};
use ringtap_report::text::{counted, grouped};
use ringtap_report::time;

use super::effects::{seconds, told, total};
use super::results::Results;

const OUTAGES: &[Column] = &[
    Column::word("LAST ANSWER", 2),
    Column::word("NO ANSWER FROM", 0),
    Column::word("ANSWERS AGAIN", 0),
    Column::figure("DOWN", 0),
    Column::text("SERVICE", 28, 15, 0),
    Column::word("KIND", 0),
    Column::figure("REQUESTS", 3),
    Column::figure("CLIENTS", 4),
];

const SERVICES: &[Column] = &[
    Column::text("SERVICE", 28, 15, 0),
    Column::word("ROLE", 3),
    Column::figure("REQUESTS", 4),
    Column::figure("UNANSWERED", 2),
    Column::figure("LATE", 5),
    Column::figure("OUTAGES", 0),
    Column::figure("DOWN", 0),
    Column::figure("OBSERVED", 0),
    Column::figure("UNOBSERVED", 1),
    Column::figure("AVAILABLE", 0),
];

const FAILOVERS: &[Column] = &[
    Column::word("FAILOVER", 0),
    Column::word("OVER", 1),
    Column::figure("DOWN", 0),
    Column::word("CAUSE", 0),
    Column::text("SERVICES", 40, 15, 3),
];

/// Writes failovers with their effects and evidence, the outages, then the services that answered at some
/// time.
pub(super) fn write(
    out: &mut dyn Write,
    results: &Results<'_>,
    width: usize,
    colour: bool,
) -> io::Result<()> {
    let (failovers, outages, services) =
        (results.failovers, &results.findings.outages, &results.findings.services);
    if !failovers.is_empty() {
        let dated = table::day(out, failovers.iter().map(|failover| failover.from), colour)?;
        let of_each = results.effects.iter().map(|effects| effects.as_ref().map(told).unwrap_or_default());
        let below: Vec<Vec<String>> = failovers
            .iter()
            .zip(of_each)
            .map(|(failover, told)| [told, vec![evidence(failover, dated)]].concat())
            .collect();
        let rows = failovers.iter().map(|row| failed_over(row, dated));
        let told = |row: usize| {
            let paragraphs = below.get(row).into_iter().flatten();
            paragraphs.map(String::as_str).filter(|text| !text.is_empty())
        };
        table::write_told(out, FAILOVERS, rows, told, width, colour)?;
        writeln!(out)?;
    }
    if !outages.is_empty() {
        let times = outages.iter().map(|outage| outage.first_unanswered);
        let dated = table::day(out, times, colour)?;
        table::write(out, OUTAGES, outages.iter().map(|row| outage(row, dated)), width, colour)?;
        writeln!(out)?;
    }
    let mut shown: Vec<&ServiceSummary> = services.iter().filter(|service| service.answered > 0).collect();
    shown.sort_by_key(|service| (service.outages == 0, service.first));
    if !shown.is_empty() {
        table::write(out, SERVICES, shown.iter().map(|row| service(row)), width, colour)?;
        writeln!(out)?;
    }
    let found = counted(outages.len() as u64, "outage");
    writeln!(out, "{found} of {} that answered at some time", counted(shown.len() as u64, "service"))?;
    match results.totals.as_ref().and_then(total) {
        Some(total) if !failovers.is_empty() => writeln!(out, "{total}"),
        _ => Ok(()),
    }
}

fn failed_over(failover: &Failover, dated: bool) -> Vec<Cell> {
    let causes: Vec<&str> = failover.causes.iter().map(|cause| cause.name()).collect();
    vec![
        Cell::plain(exact(failover.from, dated)),
        Cell::known(failover.until.map(|time| exact(time, dated))),
        Cell::new(seconds(failover.down), Style::Bad),
        Cell::new(causes.join(" "), Style::Bold),
        Cell::plain(failover.services.join(" ")),
    ]
}

/// Signs that are told below a failover; JSON has all.
const TOLD: usize = 6;

fn evidence(failover: &Failover, dated: bool) -> String {
    let told = failover.evidence.iter().take(TOLD).map(|sign| {
        let place = |place: Option<Place>| place.map_or("-".to_owned(), |place| place.to_string());
        format!(
            "{} {} {}: {} to {}, {}",
            exact(sign.first, dated),
            sign.kind.name(),
            sign.address,
            place(sign.from),
            place(sign.to),
            counted(sign.count, "time")
        )
    });
    let told: Vec<String> = told.collect();
    match failover.evidence.len().saturating_sub(TOLD) {
        0 => told.join("; "),
        more => format!("{}; and {more} more", told.join("; ")),
    }
}

fn outage(outage: &Outage, dated: bool) -> Vec<Cell> {
    let kind = match outage.kind {
        OutageKind::Unanswered => "no answer".to_owned(),
        OutageKind::Refusing => format!("refuses {}", outage.refused.unwrap_or_default()),
    };
    let again = match outage.first_answer {
        Some(time) => Cell::plain(exact(time, dated)),
        None => Cell::new("not seen", Style::Bad),
    };
    vec![
        Cell::known(outage.last_answer.map(|time| exact(time, dated))),
        Cell::plain(exact(outage.first_unanswered, dated)),
        again,
        Cell::new(seconds(outage.down), Style::Bad),
        Cell::plain(format!("{}/{}", outage.service, outage.transport.name())),
        Cell::plain(kind),
        Cell::plain(grouped(outage.requests)),
        Cell::plain(grouped(outage.clients)),
    ]
}

fn service(service: &ServiceSummary) -> Vec<Cell> {
    let style = if service.outages > 0 { Style::Bad } else { Style::Plain };
    let available = service.availability_pct.map(|percent| format!("{percent:.3} %"));
    vec![
        Cell::plain(format!("{}/{}", service.service, service.transport.name())),
        Cell::plain(service.role.name()),
        Cell::plain(grouped(service.requests)),
        Cell::plain(grouped(service.unanswered)),
        Cell::plain(grouped(service.answered_late)),
        Cell::new(grouped(service.outages), style),
        Cell::plain(seconds(service.down)),
        Cell::plain(time::span(service.observed.millis_f64())),
        Cell::plain(time::span(service.unobserved.millis_f64())),
        Cell::known(available),
    ]
}

/// Failovers are compared by their milliseconds.
fn exact(time: Nanos, dated: bool) -> String {
    let full = time::full(time);
    if dated { full } else { full.split_once(' ').map_or(full.clone(), |(_, clock)| clock.to_owned()) }
}

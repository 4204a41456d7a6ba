//! `ringtap disclosure statistics`: figures that name nobody.

use std::io::{self, Write};

use anyhow::Context;
use clap::Args;
use ringtap_model::Nanos;
use ringtap_report::table::{self, Cell, Column};
use ringtap_report::time::{self, Moment};
use ringtap_report::{csv, text};
use ringtap_warrant::{MONTHS, RefusalReason, RequestStatistics, Spread};

use super::shown::days;
use crate::commands::warrant::register_args::RegisterArgs;
use crate::commands::warrant::shown::WRITING;
use crate::exit::Exit;
use crate::page::Format;
use crate::screen::Screen;

/// Count requests by year: answered, without data, refused, waiting, and how old the data was
///
/// As Article 10 of Directive 2006/24/EC asks for, by the year in which a request was received. The age of
/// data is the time from a communication to the receipt of the request. Nobody is named; that it was looked
/// at is recorded. A month is 30.4 days, the twelfth part of a year.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(super) struct Statistics {
    /// Why you look, for the record
    #[arg(long, value_name = "TEXT")]
    why: String,
    /// Requests that were received at this time or later
    #[arg(long, value_name = "TIME")]
    from: Option<Moment>,
    /// Requests that were received before this time
    #[arg(long, value_name = "TIME")]
    to: Option<Moment>,
    /// One line for all of the time, not one a year
    #[arg(long)]
    whole: bool,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

const EXAMPLES: &str = "\
Examples:
  ringtap disclosure statistics --as dora --why 'yearly report'
  ringtap disclosure statistics --as dora --why 'report 2026' --from 2026-01-01 --to 2027-01-01 --format csv
  ringtap disclosure statistics --as dora --why audit --whole --format jsonl | jq .requests_by_month";

/// The figures of a period.
type Period<'a> = (&'a String, &'a RequestStatistics);

impl Statistics {
    /// Runs it.
    pub(super) fn run(self, args: &RegisterArgs, screen: &mut Screen) -> anyhow::Result<Exit> {
        let (from, to) = (self.from.map(Moment::instant), self.to.map(Moment::instant));
        let period_of = |received: Nanos| {
            let is_in = from.is_none_or(|from| received >= from) && to.is_none_or(|to| received < to);
            let year = time::date(received).chars().take(4).collect();
            is_in.then_some(if self.whole { "all".to_owned() } else { year })
        };
        let mut open = args.open()?;
        let periods = open.register.request_statistics(&open.session, period_of, &self.why, time::now())?;
        let out = &mut screen.out;
        let printed = match self.format {
            Format::Jsonl => periods.iter().try_for_each(|period| json(out, period)),
            Format::Csv => print_csv(out, periods.iter()),
            Format::Table => print(periods.iter(), screen),
        };
        printed.and_then(|()| screen.out.flush()).context(WRITING)?;
        Ok(Exit::Done)
    }
}

fn json(out: &mut dyn Write, (period, figures): Period<'_>) -> io::Result<()> {
    let mut value = serde_json::to_value(figures)?;
    value["period"] = period.as_str().into();
    serde_json::to_writer(&mut *out, &value)?;
    writeln!(out)
}

fn print_csv<'a>(out: &mut dyn Write, periods: impl Iterator<Item = Period<'a>>) -> io::Result<()> {
    let months = |name: &'static str| (0..MONTHS).map(move |month| format!("{name}_month_{month}"));
    let counts = ["period", "received", "answered", "no_data", "waiting", "calls", "accesses"];
    let spreads = ["age", "response"];
    let ends = ["least", "median", "most"];
    let names = counts.into_iter().map(str::to_owned);
    let names =
        names.chain(RefusalReason::ALL.map(|reason| format!("refused_{}", reason.name().replace('-', "_"))));
    let names = names.chain(spreads.iter().flat_map(|name| ends.map(|end| format!("{name}_{end}_days"))));
    csv::row(out, names.chain(months("requests")).chain(months("communications")))?;
    periods.into_iter().try_for_each(|(period, figures)| {
        let counts = [figures.received, figures.answered, figures.no_data, figures.waiting, figures.calls];
        let counts = counts.into_iter().chain([figures.accesses]);
        let refused = RefusalReason::ALL.map(|reason| figures.refused.get(&reason).copied().unwrap_or(0));
        let spans = [figures.age, figures.response].into_iter().flat_map(|spread| match spread {
            Some(Spread { least, median, most }) => {
                [least, median, most].map(|span| format!("{:.3}", days(span)))
            }
            None => [const { String::new() }; 3],
        });
        let by_month = figures.requests_by_month.iter().chain(&figures.communications_by_month);
        let cells = std::iter::once(period.clone())
            .chain(counts.chain(refused).map(|count| count.to_string()))
            .chain(spans)
            .chain(by_month.map(u64::to_string));
        csv::row(out, cells)
    })
}

fn print<'a>(periods: impl Iterator<Item = Period<'a>> + Clone, screen: &mut Screen) -> io::Result<()> {
    let Screen { out, width, colour, .. } = screen;
    if periods.clone().next().is_none() {
        return writeln!(out, "no request was received in that time");
    }
    let rows = periods.clone().map(|(period, figures)| {
        let refused: u64 = figures.refused.values().sum();
        let RequestStatistics { received, answered, no_data, waiting, calls, accesses, .. } = *figures;
        let counts = [received, answered, no_data, refused, waiting, calls, accesses];
        let counts = counts.map(|count| Cell::plain(text::grouped(count)));
        std::iter::once(Cell::plain(period)).chain(counts).collect()
    });
    table::write(out, COLUMNS, rows, *width, *colour)?;
    for (period, figures) in periods {
        writeln!(out, "\n{period}")?;
        let mut line = |name: &str, text: &str| writeln!(out, "  {name:<24}{text}");
        line("age of the data", &spread(figures.age))?;
        line("requests by age", &bands(&figures.requests_by_month))?;
        line("communications by age", &bands(&figures.communications_by_month))?;
        line("until the answer", &spread(figures.response))?;
        let refused = figures.refused.iter().map(|(reason, count)| format!("{reason} {count}"));
        let refused = refused.collect::<Vec<_>>().join(", ");
        line("refused or not met", if refused.is_empty() { "-" } else { &refused })?;
    }
    Ok(())
}

fn spread(spread: Option<Spread>) -> String {
    spread.map_or("-".to_owned(), |Spread { least, median, most }| {
        let [least, median, most] = [least, median, most].map(days);
        format!("{least:.1} to {most:.1} days, median {median:.1}")
    })
}

/// Counts of months in which there are any.
fn bands(by_month: &[u64]) -> String {
    let last = MONTHS - 1;
    let bands: Vec<String> = by_month
        .iter()
        .enumerate()
        .filter(|(_, count)| **count > 0)
        .map(|(month, count)| match month {
            month if month == last => format!("{month} months and more: {count}"),
            month => format!("{month}-{} months: {count}", month + 1),
        })
        .collect();
    if bands.is_empty() { "-".to_owned() } else { bands.join(", ") }
}

const COLUMNS: &[Column] = &[
    Column::word("PERIOD", 0),
    Column::figure("RECEIVED", 0),
    Column::figure("ANSWERED", 0),
    Column::figure("NO DATA", 0),
    Column::figure("REFUSED", 0),
    Column::figure("WAITING", 0),
    Column::figure("CALLS", 2),
    Column::figure("SESSIONS", 1),
];

//! `ringtap calls`: searches the database, captures, or the calls in progress.

pub(super) mod found;

use std::io::Write;

use anyhow::Context;
use clap::Args;
use ringtap_daemon::control::MOST_CALLS;
use ringtap_model::{Call, Stream};
use ringtap_report::calls::Order;
use ringtap_report::text::counted;
use ringtap_report::{calls, time};

use super::control::{ControlArgs, calls_in_progress};
use crate::call_lines::Lines;
use crate::exit::{Exit, Misuse};
use crate::filter::FilterArgs;
use crate::kpi_args::KpiArgs;
use crate::limit::LimitArgs;
use crate::order::OrderArgs;
use crate::page::{RecordFormat, Shown};
use crate::query::{Asked, QueryArgs};
use crate::screen::Screen;
use crate::store_args::StoreArgs;

/// Search calls in a database that `run` or `analyze --store` wrote, in captures, or in the running daemon
///
/// Finds past calls without their captures, or with `--live` calls in progress, by a search in the language
/// of the console, by filters, or by both. If there are more than `--limit` calls, a remark on standard error
/// says so; if a day cannot be read, the search fails. A search that begins with `-` goes behind `--`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Calls {
    #[command(flatten)]
    query: QueryArgs,
    #[command(flatten)]
    store: StoreArgs,
    #[command(flatten)]
    config: KpiArgs,
    /// Ask the running daemon for the calls in progress instead: the latest thousand. With several workers,
    /// the media of a call that another worker has is not shown
    #[arg(long, conflicts_with_all = ["store", "newest", "files"])]
    live: bool,
    #[command(flatten)]
    at: ControlArgs,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    format: RecordFormat,
    #[command(flatten)]
    limit: LimitArgs,
    #[command(flatten)]
    filter: FilterArgs,
    #[command(flatten)]
    order: OrderArgs,
}

const EXAMPLES: &str = "\
Examples:
  ringtap calls '0138 -state:completed at:\"yesterday 15:00\"'
  ringtap calls 'stream(codec:G729 loss>2) trunk:carrier-a' --newest 50
  ringtap calls 'note:[one_way,no_audio] or mos<3' trunk-*.pcap.zst
  ringtap calls --number '*0138' --since '2026-11-21 02:00'
  ringtap calls --newest 20
  ringtap calls --live --number '*0138'
  ringtap calls --code 4xx --ip 198.51.100.0/24 --duration '<10s'
  ringtap calls --state failed,timeout --limit 0 --format csv > failed.csv
  ringtap calls 'began:-7d' --limit 0 --format parquet > week.parquet
  ringtap calls --note one_way --sort length --top 20
  ringtap calls --store records --mos-below 3 --format jsonl | jq -r .call_id";

impl Calls {
    /// Runs it.
    pub(crate) fn run(self, screen: &mut Screen) -> anyhow::Result<Exit> {
        let shown = self.order.of(self.format == RecordFormat::Table)?;
        self.format.check(screen)?;
        let asked = self.query.clone().read()?;
        if self.live {
            return self.show_live(asked, shown, screen);
        }
        if !asked.files.is_empty() {
            return self.show_captured(asked, shown, screen);
        }
        if let Some(expression) = asked.expression {
            return self.show_found(expression, shown, screen);
        }
        let reader = self.store.open()?;
        let found = reader.calls(&self.limit.query(self.filter.filter()))?;
        if self.format == RecordFormat::Table {
            screen.page();
        }
        let count = counted(found.records.len() as u64, "call");
        let line = format!("{count} found; {} searched", counted(found.days as u64, "day"));
        let rows = |rows: &mut Vec<calls::Row>| {
            let row = |call: &Call, streams: &[Stream]| rows.push(shown.row(call, streams));
            Ok(reader.with_streams(&found.records, row)?)
        };
        self.print(found.records.iter(), rows, (&line, shown.order), screen)?;
        if found.cut && self.limit.tells_of_more() {
            self.tell_of_more(found.records.len(), screen);
        }
        if found.days == 0 {
            screen.remark(NO_DAY);
        }
        Ok(Exit::Done)
    }

    fn show_live(&self, asked: Asked, shown: Shown, screen: &mut Screen) -> anyhow::Result<Exit> {
        if !asked.files.is_empty() {
            return Err(Misuse("`--live` asks the daemon: leave out the captures".to_owned()).into());
        }
        let expression = asked.expression.unwrap_or_default();
        let list = calls_in_progress(&self.at.control, MOST_CALLS)?;
        let (listed, filter) = (list.calls.len(), self.filter.filter());
        let selected = list.calls.into_iter().filter(|(call, streams)| {
            filter.selects_call(call, streams) && expression.matches(call, streams)
        });
        let calls: Vec<(Call, Vec<Stream>)> = selected.take(self.limit.most()).collect();
        if self.format == RecordFormat::Table {
            screen.page();
        }
        let found = counted(calls.len() as u64, "call");
        let line = format!("{found} found; {} in progress", counted(list.total as u64, "call"));
        let rows = |rows: &mut Vec<calls::Row>| {
            let now = time::now();
            let row = |(call, streams): &(Call, Vec<Stream>)| {
                shown.row(call, streams).in_progress(call.answer, now)
            };
            rows.extend(calls.iter().map(row));
            Ok(())
        };
        self.print(calls.iter().map(|(call, _)| call), rows, (&line, shown.order), screen)?;
        if listed < list.total {
            screen.remark(format!("only the latest {} were searched", counted(listed as u64, "call")));
        }
        Ok(Exit::Done)
    }

    /// Prints calls: as records, or as a table of the rows that `rows` makes, with a line that sums up.
    fn print<'a>(
        &self,
        mut records: impl ExactSizeIterator<Item = &'a Call>,
        rows: impl FnOnce(&mut Vec<calls::Row>) -> anyhow::Result<()>,
        (line, order): (&str, Order),
        screen: &mut Screen,
    ) -> anyhow::Result<()> {
        if self.format == RecordFormat::Table {
            let mut made = Vec::with_capacity(records.len());
            rows(&mut made)?;
            return table(made, (line, order), screen);
        }
        let mut lines = Lines::begin(self.format, &mut *screen.out).context(WRITING)?;
        records.try_for_each(|call| lines.print(call)).context(WRITING)?;
        lines.end().context(WRITING)
    }
}

/// Prints a table, with a line that sums up.
fn table(rows: Vec<calls::Row>, (line, order): (&str, Order), screen: &mut Screen) -> anyhow::Result<()> {
    let long = screen.is_long(rows.len() + 4);
    let Screen { out, width, colour, .. } = screen;
    if long {
        writeln!(out, "{line}\n").context(WRITING)?;
    }
    if !rows.is_empty() {
        calls::write(out, rows, order, *width, *colour).context(WRITING)?;
        writeln!(out).context(WRITING)?;
    }
    if !long {
        writeln!(out, "{line}").context(WRITING)?;
    }
    out.flush().context(WRITING)
}

const WRITING: &str = "cannot write the results";
const NO_DAY: &str = "no records are stored for that time: no day was searched";

//! `ringtap calls`: searches the database.

use std::io::Write;
use std::path::PathBuf;

use anyhow::Context;
use clap::Args;
use ringtap_model::{Call, Stream};
use ringtap_report::calls::Order;
use ringtap_report::csv::{Csv, RecordKind};
use ringtap_report::text::counted;
use ringtap_report::{calls, json};
use ringtap_store::{Found, Query, Reader};

use crate::exit::Exit;
use crate::filter::FilterArgs;
use crate::order::OrderArgs;
use crate::page::Format;
use crate::screen::Screen;

/// Search calls in a database that `run` or `analyze --store` wrote
///
/// Finds past calls without their captures. If there are more than `--limit` calls, a remark on standard
/// error says so; if a day cannot be read, the search fails.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Calls {
    /// Directory of the database
    #[arg(long, value_name = "DIR")]
    store: PathBuf,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    /// Show at most this many calls, the earliest; 0 is all
    #[arg(long, value_name = "N", default_value_t = 1000)]
    limit: usize,
    #[command(flatten)]
    filter: FilterArgs,
    #[command(flatten)]
    order: OrderArgs,
}

const EXAMPLES: &str = "\
Examples:
  ringtap calls --store /var/lib/ringtap/records --number '*0138' --since '2026-11-21 02:00'
  ringtap calls --store /var/lib/ringtap/records --code 4xx --ip 198.51.100.0/24 --duration '<10s'
  ringtap calls --store /var/lib/ringtap/records --state failed,timeout --limit 0 --format csv > failed.csv
  ringtap calls --store /var/lib/ringtap/records --note one_way --sort length --top 20
  ringtap calls --store /var/lib/ringtap/records --mos-below 3 --format jsonl | jq -r .call_id";

impl Calls {
    /// Runs it.
    pub(crate) fn run(self, screen: &mut Screen) -> anyhow::Result<Exit> {
        let order = self.order.of(self.format)?;
        let reader = Reader::open(&self.store)?;
        let limit = if self.limit == 0 { usize::MAX } else { self.limit };
        let found = reader.calls(&Query { filter: self.filter.filter(), limit })?;
        if self.format == Format::Table {
            screen.page();
        }
        let (cut, days, shown) = (found.cut, found.days, counted(found.records.len() as u64, "call"));
        self.print(&reader, found, order, screen)?;
        if cut {
            screen.remark(format!(
                "more calls match than the {shown} shown: raise `--limit` or narrow the filters"
            ));
        }
        if days == 0 {
            screen.remark("no records are stored for that time: no day was searched");
        }
        Ok(Exit::Done)
    }

    fn print(
        &self,
        reader: &Reader,
        found: Found<Call>,
        order: Order,
        screen: &mut Screen,
    ) -> anyhow::Result<()> {
        const WRITING: &str = "cannot write the results";
        let long = screen.is_long(found.records.len() + 4);
        let Screen { out, width, colour, .. } = screen;
        let (count, days) = (counted(found.records.len() as u64, "call"), counted(found.days as u64, "day"));
        match self.format {
            Format::Jsonl => {
                let mut lines = json::Lines::default();
                found.records.iter().try_for_each(|call| lines.write(out, call)).context(WRITING)?;
            }
            Format::Csv => {
                let csv = Csv::begin(out, RecordKind::Calls).context(WRITING)?;
                let mut write = |call| csv.record(out, RecordKind::Calls, call);
                found.records.iter().try_for_each(&mut write).context(WRITING)?;
            }
            Format::Table => {
                let mut rows = Vec::with_capacity(found.records.len());
                let row =
                    |call: Call, streams: Vec<Stream>| rows.push(calls::Row::new(&call, streams.iter()));
                reader.with_streams(found.records, row)?;
                if long {
                    writeln!(out, "{count} found; {days} searched\n").context(WRITING)?;
                }
                if !rows.is_empty() {
                    calls::write(out, rows, order, *width, *colour).context(WRITING)?;
                    writeln!(out).context(WRITING)?;
                }
                if !long {
                    writeln!(out, "{count} found; {days} searched").context(WRITING)?;
                }
            }
        }
        out.flush().context(WRITING)
    }
}

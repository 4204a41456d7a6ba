//! `ringtap calls`: searches the database.

use std::io::{self, Write};
use std::path::PathBuf;

use anyhow::Context;
use clap::Args;
use ringtap_report::calls::Order;
use ringtap_report::csv::{Csv, RecordKind};
use ringtap_report::text::counted;
use ringtap_report::{calls, json};
use ringtap_store::{FoundCalls, Reader};

use crate::exit::Exit;
use crate::filter::Filter;
use crate::order::OrderArgs;
use crate::page::Format;
use crate::screen::Screen;
use crate::search::search;

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
    filter: Filter,
    #[command(flatten)]
    order: OrderArgs,
}

const EXAMPLES: &str = "\
Examples:
  ringtap calls --store /var/lib/ringtap/records --number '+4202*' --since '2026-11-21 02:00'
  ringtap calls --store /var/lib/ringtap/records --state failed,timeout --limit 0 --format csv > failed.csv
  ringtap calls --store /var/lib/ringtap/records --note one_way --sort length --top 20
  ringtap calls --store /var/lib/ringtap/records --mos-below 3 --format jsonl | jq -r .call_id";

impl Calls {
    /// Runs it.
    pub(crate) fn run(self, screen: &mut Screen) -> anyhow::Result<Exit> {
        let order = self.order.of(self.format)?;
        let reader = Reader::open(&self.store)?;
        let found = search(&reader, &self.filter, self.limit)?;
        self.print(&found, order, screen).context("cannot write the results")?;
        if found.cut {
            let shown = counted(found.calls.len() as u64, "call");
            screen.remark(format!(
                "more calls match than the {shown} shown: raise `--limit` or narrow the filters"
            ));
        }
        if found.days == 0 {
            screen.remark("no records are stored for that time: no day was searched");
        }
        Ok(Exit::Done)
    }

    fn print(&self, found: &FoundCalls, order: Order, screen: &mut Screen) -> io::Result<()> {
        let Screen { out, width, colour, .. } = screen;
        match self.format {
            Format::Jsonl => {
                let mut lines = json::Lines::default();
                found.calls.iter().try_for_each(|call| lines.write(out, call))?;
            }
            Format::Csv => {
                let csv = Csv::begin(out, RecordKind::Calls)?;
                found.calls.iter().try_for_each(|call| csv.record(out, RecordKind::Calls, call))?;
            }
            Format::Table => {
                if !found.calls.is_empty() {
                    let row = |call| calls::Row::new(call, std::iter::empty());
                    let rows = found.calls.iter().map(row).collect();
                    calls::write_stored(out, rows, order, *width, *colour)?;
                    writeln!(out)?;
                }
                let (calls, days) =
                    (counted(found.calls.len() as u64, "call"), counted(found.days as u64, "day"));
                writeln!(out, "{calls} found; {days} searched")?;
            }
        }
        out.flush()
    }
}

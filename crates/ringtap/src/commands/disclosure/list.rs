//! `ringtap disclosure list`.

use std::io::{self, Write};

use anyhow::Context;
use clap::Args;
use ringtap_report::table::{self, Cell, Column};
use ringtap_report::text::counted;
use ringtap_report::time;
use ringtap_warrant::Request;

use super::shown;
use crate::commands::warrant::register_args::RegisterArgs;
use crate::commands::warrant::shown::WRITING;
use crate::exit::Exit;
use crate::page::LineFormat;
use crate::screen::Screen;

/// List the requests, their status and who entered and approved them
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(super) struct List {
    /// Why you look, for the record
    #[arg(long, value_name = "TEXT")]
    why: String,
    /// Only those that wait for an approval or an answer
    #[arg(long)]
    open: bool,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    format: LineFormat,
}

const EXAMPLES: &str = "\
Examples:
  ringtap disclosure list --as ana --why 'what waits' --open
  ringtap disclosure list --as dora --why 'yearly audit' --format jsonl | jq -r .status | sort | uniq -c";

impl List {
    /// Runs it.
    pub(super) fn run(self, args: &RegisterArgs, screen: &mut Screen) -> anyhow::Result<Exit> {
        let mut open = args.open()?;
        let mut requests = open.register.list_requests(&open.session, &self.why, time::now())?;
        requests.retain(|request| !self.open || request.status().is_waiting());
        let printed = match self.format {
            LineFormat::Jsonl => {
                requests.iter().try_for_each(|request| shown::json(request, &mut screen.out))
            }
            LineFormat::Table => print(&requests, screen),
        };
        printed.and_then(|()| screen.out.flush()).context(WRITING)?;
        Ok(Exit::Done)
    }
}

fn print(requests: &[Request], screen: &mut Screen) -> io::Result<()> {
    let Screen { out, width, colour, .. } = screen;
    let rows = requests.iter().map(|request| {
        let categories: Vec<&str> = request.entered.categories.iter().map(|one| one.name()).collect();
        vec![
            Cell::plain(request.id.to_string()),
            Cell::plain(request.status().name()),
            Cell::plain(&*request.entered.case_number),
            Cell::plain(&*request.entered.authority),
            Cell::plain(time::full(request.entered.received)),
            Cell::plain(categories.join(" ")),
            Cell::plain(&*request.entered_by),
            Cell::known(request.approved_by.as_deref()),
        ]
    });
    table::write(out, COLUMNS, rows, *width, *colour)?;
    writeln!(out, "\n{}", counted(requests.len() as u64, "request"))
}

const COLUMNS: &[Column] = &[
    Column::figure("NUMBER", 0),
    Column::word("STATUS", 0),
    Column::text("CASE", 24, 10, 3),
    Column::text("AUTHORITY", 24, 10, 4),
    Column::word("RECEIVED", 0),
    Column::word("CATEGORIES", 5),
    Column::text("ENTERED BY", 16, 8, 2),
    Column::text("APPROVED BY", 16, 8, 1),
];

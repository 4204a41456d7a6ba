//! `ringtap warrant list`.

use std::io::{self, Write};

use anyhow::Context;
use clap::Args;
use ringtap_model::Nanos;
use ringtap_report::table::{self, Cell, Column};
use ringtap_report::text::counted;
use ringtap_report::time;
use ringtap_warrant::Warrant;

use super::register_args::RegisterArgs;
use super::shown::{self, WRITING};
use crate::exit::Exit;
use crate::page::LineFormat;
use crate::screen::Screen;

/// List the warrants, their status and who entered and approved them
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct List {
    /// Why you look, for the record
    #[arg(long, value_name = "TEXT")]
    why: String,
    /// Only those that have not ended
    #[arg(long)]
    open: bool,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    format: LineFormat,
}

const EXAMPLES: &str = "\
Examples:
  ringtap warrant list --as ana --why 'what ends this week'
  ringtap warrant list --as dora --why 'yearly audit' --format jsonl | jq -r .status | sort | uniq -c";

impl List {
    /// Runs it.
    pub(crate) fn run(self, args: &RegisterArgs, screen: &mut Screen) -> anyhow::Result<Exit> {
        let mut open = args.open()?;
        let (mut warrants, at) = open.register.list(&open.session, &self.why, time::now())?;
        if self.open {
            let is_over = |warrant: &Warrant| matches!(warrant.status(at).name(), "ended" | "withdrawn");
            warrants.retain(|warrant| !is_over(warrant));
        }
        let printed = match self.format {
            LineFormat::Jsonl => {
                warrants.iter().try_for_each(|warrant| shown::json(warrant, at, &mut screen.out))
            }
            LineFormat::Table => print(&warrants, at, screen),
        };
        printed.and_then(|()| screen.out.flush()).context(WRITING)?;
        Ok(Exit::Done)
    }
}

fn print(warrants: &[Warrant], at: Nanos, screen: &mut Screen) -> io::Result<()> {
    let Screen { out, width, colour, .. } = screen;
    let rows = warrants.iter().map(|warrant| {
        let waits = warrant.pending_extension().map_or("", |_| ", extension waits");
        vec![
            Cell::plain(warrant.id.to_string()),
            Cell::plain(format!("{}{waits}", warrant.status(at).name())),
            Cell::plain(warrant.entered.liid.text().as_str()),
            Cell::plain(&*warrant.entered.case_number),
            Cell::plain(time::full(warrant.entered.begins)),
            Cell::plain(time::full(warrant.entered.ends)),
            Cell::plain(warrant.entered.delivers.name()),
            Cell::plain(&*warrant.entered_by),
            Cell::known(warrant.approved_by.as_deref()),
        ]
    });
    table::write(out, COLUMNS, rows, *width, *colour)?;
    writeln!(out, "\n{}", counted(warrants.len() as u64, "warrant"))
}

const COLUMNS: &[Column] = &[
    Column::figure("NUMBER", 0),
    Column::word("STATUS", 0),
    Column::word("LIID", 0),
    Column::text("CASE", 24, 10, 4),
    Column::word("BEGINS", 3),
    Column::word("ENDS", 0),
    Column::word("DELIVERS", 5),
    Column::text("ENTERED BY", 16, 8, 2),
    Column::text("APPROVED BY", 16, 8, 1),
];

//! `ringtap warrant acts`: the auditor's view.

use std::io::{self, Write};

use anyhow::Context;
use clap::Args;
use ringtap_report::table::{self, Cell, Column};
use ringtap_report::text::counted;
use ringtap_report::time::{self, Moment};
use ringtap_warrant::{ActQuery, ActView};

use super::register_args::RegisterArgs;
use super::shown::WRITING;
use crate::exit::Exit;
use crate::page::LineFormat;
use crate::screen::Screen;

/// List who did what with the register: entered, approved, looked, and what the service did
///
/// Targets, identifiers and subjects are not among them: `ringtap warrant show` and `ringtap disclosure show`
/// have them.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Acts {
    /// Why you look, for the record
    #[arg(long, value_name = "TEXT")]
    why: String,
    /// Acts at this time or later
    #[arg(long, value_name = "TIME")]
    since: Option<Moment>,
    /// Acts before this time
    #[arg(long, value_name = "TIME")]
    until: Option<Moment>,
    /// Only what this person did, or `service`
    #[arg(long, value_name = "NAME")]
    who: Option<String>,
    /// Only acts about this warrant
    #[arg(long, value_name = "NUMBER")]
    warrant: Option<u32>,
    /// Only acts about this request for retained data
    #[arg(long, value_name = "NUMBER", conflicts_with = "warrant")]
    request: Option<u32>,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    format: LineFormat,
}

const EXAMPLES: &str = "\
Examples:
  ringtap warrant acts --as dora --why 'yearly audit' --since 2026-01-01
  ringtap warrant acts --as dora --why 'complaint 12' --warrant 3
  ringtap warrant acts --as dora --why 'yearly audit' --format jsonl | jq -r 'select(.act == \"look\").who'";

impl Acts {
    /// Runs it.
    pub(crate) fn run(self, args: &RegisterArgs, screen: &mut Screen) -> anyhow::Result<Exit> {
        let query = ActQuery {
            since: self.since.map(Moment::instant),
            until: self.until.map(Moment::instant),
            who: self.who,
            warrant: self.warrant,
            ..ActQuery::default()
        };
        let mut open = args.open()?;
        let mut acts = open.register.acts(&open.session, &query, &self.why, time::now())?;
        acts.retain(|act| self.request.is_none() || act.request == self.request);
        print(&acts, self.format, screen).context(WRITING)?;
        Ok(Exit::Done)
    }
}

fn print(acts: &[ActView], format: LineFormat, screen: &mut Screen) -> io::Result<()> {
    let Screen { out, width, colour, .. } = screen;
    match format {
        LineFormat::Jsonl => acts.iter().try_for_each(|act| {
            serde_json::to_writer(&mut *out, act)?;
            writeln!(out)
        })?,
        LineFormat::Table => {
            if !acts.is_empty() {
                let dated = table::day(out, acts.iter().map(|act| act.time), *colour)?;
                table::write(out, COLUMNS, acts.iter().map(|act| cells(act, dated)), *width, *colour)?;
                writeln!(out)?;
            }
            writeln!(out, "{}", counted(acts.len() as u64, "act"))?;
        }
    }
    out.flush()
}

fn cells(act: &ActView, dated: bool) -> Vec<Cell> {
    let clock = act.clock.map_or(String::new(), |clock| format!(" (clock: {})", time::full(clock)));
    vec![
        Cell::plain(act.number.to_string()),
        Cell::plain(time::moment(act.time, dated)),
        Cell::plain(&*act.who),
        Cell::plain(act.act),
        Cell::known(act.warrant.map(|id| id.to_string())),
        Cell::known(act.request.map(|id| id.to_string())),
        Cell::plain(format!("{}{clock}", &*act.detail)),
    ]
}

const COLUMNS: &[Column] = &[
    Column::figure("ACT", 3),
    Column::word("TIME", 0),
    Column::text("WHO", 20, 8, 0),
    Column::word("WHAT", 0),
    Column::figure("WARRANT", 0),
    Column::figure("REQUEST", 0),
    Column::text("DETAIL", 80, 30, 0),
];

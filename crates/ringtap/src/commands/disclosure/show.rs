//! `ringtap disclosure show`: one request, whole.

use std::io::Write;

use anyhow::Context;
use clap::Args;
use ringtap_report::time;

use super::shown;
use crate::commands::warrant::register_args::RegisterArgs;
use crate::commands::warrant::shown::WRITING;
use crate::exit::Exit;
use crate::page::LineFormat;
use crate::screen::Screen;

/// Show a request whole, with what became of it and the hash that its approval names
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(super) struct Show {
    /// Number of the request
    #[arg(value_name = "NUMBER")]
    id: u32,
    /// Why you look, for the record
    #[arg(long, value_name = "TEXT")]
    why: String,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    format: LineFormat,
}

const EXAMPLES: &str = "\
Examples:
  ringtap disclosure show 3 --as ben --why 'to approve it'
  ringtap disclosure show 3 --as dora --why 'yearly audit' --format jsonl | jq .answers";

impl Show {
    /// Runs it.
    pub(super) fn run(self, args: &RegisterArgs, screen: &mut Screen) -> anyhow::Result<Exit> {
        let mut open = args.open()?;
        let request = open.register.show_request(&open.session, self.id, &self.why, time::now())?;
        let printed = match self.format {
            LineFormat::Jsonl => shown::json(&request, &mut screen.out),
            LineFormat::Table => shown::write(&request, &mut screen.out),
        };
        printed.and_then(|()| screen.out.flush()).context(WRITING)?;
        Ok(Exit::Done)
    }
}

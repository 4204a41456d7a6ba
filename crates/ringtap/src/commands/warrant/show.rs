//! `ringtap warrant show`: one warrant, whole.

use std::io::Write;
use std::path::PathBuf;

use anyhow::Context;
use clap::Args;
use ringtap_daemon::ProductReport;
use ringtap_report::time;

use super::register_args::RegisterArgs;
use super::shown::{self, WRITING};
use crate::exit::Exit;
use crate::page::LineFormat;
use crate::screen::Screen;

/// Show a warrant whole, with the hash that its approval names
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Show {
    /// Number of the warrant
    #[arg(value_name = "NUMBER")]
    id: u32,
    /// Why you look, for the record
    #[arg(long, value_name = "TEXT")]
    why: String,
    /// Directory of the product of `ringtap run`: its `[intercept] product`
    #[arg(long, value_name = "DIR", default_value = PRODUCT)]
    product: PathBuf,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    format: LineFormat,
}

const EXAMPLES: &str = "\
Examples:
  ringtap warrant show 3 --as ben --why 'to approve it'
  ringtap warrant show 3 --as dora --why 'yearly audit' --format jsonl | jq .stopped";

/// Where the default configuration of a package has it.
const PRODUCT: &str = "/var/lib/ringtap/product";

impl Show {
    /// Runs it.
    pub(crate) fn run(self, args: &RegisterArgs, screen: &mut Screen) -> anyhow::Result<Exit> {
        let mut open = args.open()?;
        let (warrant, at) = open.register.show(&open.session, self.id, &self.why, time::now())?;
        let report = ProductReport::read(&self.product)?;
        let printed = match self.format {
            LineFormat::Jsonl => shown::json_with(&warrant, at, report.as_ref(), &mut screen.out),
            LineFormat::Table => shown::write(&warrant, at, report.as_ref(), &mut screen.out),
        };
        printed.and_then(|()| screen.out.flush()).context(WRITING)?;
        Ok(Exit::Done)
    }
}

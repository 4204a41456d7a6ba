//! `ringtap disclosure refuse`: nothing is given, and why.

use clap::Args;
use ringtap_report::time;
use ringtap_warrant::RefusalReason;

use crate::commands::warrant::register_args::RegisterArgs;
use crate::exit::Exit;
use crate::screen::Screen;

/// Refuse a request, or record that it cannot be met
///
/// Of a request for which there was no data, `ringtap disclosure answer` says so: that is an answer.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(super) struct Refuse {
    /// Number of the request
    #[arg(value_name = "NUMBER")]
    id: u32,
    /// Reason that is counted: not-competent, no-legal-basis, unclear, not-retained, deleted, not-possible,
    /// withdrawn (by the authority) or other
    #[arg(long, value_name = "REASON")]
    reason: RefusalReason,
    /// The reason in words
    #[arg(value_name = "TEXT")]
    text: String,
}

const EXAMPLES: &str = "\
Examples:
  ringtap disclosure refuse 3 --reason no-legal-basis 'the order names another operator' --as ana
  ringtap disclosure refuse 4 --reason deleted 'the time asked for ended 14 months ago' --as ana";

impl Refuse {
    /// Runs it.
    pub(super) fn run(self, args: &RegisterArgs, screen: &mut Screen) -> anyhow::Result<Exit> {
        let Self { id, reason, text } = self;
        let mut open = args.open()?;
        open.register.refuse_request(&open.session, id, reason, &text, time::now())?;
        screen.remark(format!("request {id} is closed without an answer: {reason}"));
        Ok(Exit::Done)
    }
}

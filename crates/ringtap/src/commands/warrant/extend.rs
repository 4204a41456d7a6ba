//! `ringtap warrant extend`: a later end, by an order of its own.

use clap::Args;
use ringtap_report::time::{self, Moment};
use ringtap_warrant::Extension;

use super::register_args::RegisterArgs;
use crate::exit::Exit;
use crate::screen::Screen;

/// Enter an extension of a warrant, which another officer has to approve before it ends
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Extend {
    /// Number of the warrant
    #[arg(value_name = "NUMBER")]
    id: u32,
    /// The new end
    #[arg(long, value_name = "TIME")]
    ends: Moment,
    /// Number of the order that extends it
    #[arg(long, value_name = "TEXT")]
    reference: String,
    /// Court or authority that has ordered it
    #[arg(long, value_name = "TEXT")]
    authority: String,
}

const EXAMPLES: &str = "\
Examples:
  ringtap warrant extend 3 --as ana --ends 2027-01-31 --reference 'order 4899' --authority 'District Court'";

impl Extend {
    /// Runs it.
    pub(crate) fn run(self, args: &RegisterArgs, screen: &mut Screen) -> anyhow::Result<Exit> {
        let Self { id, ends, reference, authority } = self;
        let extension =
            Extension { ends: ends.instant(), reference: reference.into(), authority: authority.into() };
        let mut open = args.open()?;
        open.register.extend(&open.session, id, extension, time::now())?;
        screen.remark(format!(
            "the extension of warrant {id} waits: another officer approves it before the end"
        ));
        Ok(Exit::Done)
    }
}

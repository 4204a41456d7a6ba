//! `ringtap warrant withdraw`: the end, at once.

use clap::Args;
use ringtap_report::time;

use super::register_args::RegisterArgs;
use crate::exit::Exit;
use crate::screen::Screen;

/// End a warrant at once: one officer is enough
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Withdraw {
    /// Number of the warrant
    #[arg(value_name = "NUMBER")]
    id: u32,
    /// Why
    #[arg(long, value_name = "TEXT")]
    reason: String,
}

const EXAMPLES: &str = "\
Examples:
  ringtap warrant withdraw 3 --as cleo --reason 'lifted by order 4901'";

impl Withdraw {
    /// Runs it.
    pub(crate) fn run(self, args: &RegisterArgs, screen: &mut Screen) -> anyhow::Result<Exit> {
        let mut open = args.open()?;
        open.register.withdraw(&open.session, self.id, &self.reason, time::now())?;
        screen.remark(format!(
            "warrant {} is withdrawn; `show` has the proof once the service has stopped",
            self.id
        ));
        Ok(Exit::Done)
    }
}

//! `ringtap keep`: what the running daemon keeps of a call under way.

use clap::Args;
use ringtap_daemon::control::Request;

use super::control::{ControlArgs, tell};
use crate::exit::Exit;
use crate::screen::Screen;

/// Keep a call under way, or more or less of it, whatever the rules say
///
/// From now on: what was not kept until now is not there. Of a call that no rule has decided yet, all of it
/// is kept from its INVITE on. What was kept before stays. The running `ringtap run` does it; the manual is
/// docs/manual/spool.md.
#[derive(Args, Debug)]
#[command(after_help = KEEP)]
pub(crate) struct Keep {
    /// Its Call-ID
    #[arg(value_name = "CALL-ID")]
    call: String,
    /// What of it: nothing, signalling, headers (of its media, without what is said), full
    #[arg(long, value_name = "WHAT", default_value = "full", value_parser = ["nothing", "signalling", "headers", "full"],
          hide_possible_values = true)]
    what: String,
    #[command(flatten)]
    at: ControlArgs,
}

const KEEP: &str = "\
Examples:
  ringtap keep 4f2a19@192.0.2.1
  ringtap keep 4f2a19@192.0.2.1 --what headers";

impl Keep {
    /// Runs it.
    pub(crate) fn run(self, screen: &mut Screen) -> anyhow::Result<Exit> {
        tell(screen, &self.at, &Request::Keep { call: self.call, what: self.what })
    }
}

//! `ringtap keep`: changes what the running daemon records of a call under way.

use clap::Args;
use ringtap_daemon::control::Request;

use super::control::{ControlArgs, call_in_progress, request};
use crate::exit::Exit;
use crate::screen::Screen;

/// Record a call under way, or record more or less of it, whatever the rules say
///
/// The change takes effect now: packets that were not recorded so far cannot be recovered. If no rule has
/// decided about the call yet, it is recorded from its INVITE on. Packets recorded before are not deleted.
/// The running `ringtap run` does this; see docs/manual/spool.md.
#[derive(Args, Debug)]
#[command(after_help = KEEP)]
pub(crate) struct Keep {
    /// Call-ID of the call, or a beginning that no other call in progress has
    #[arg(value_name = "CALL-ID")]
    call: String,
    /// What to record: nothing, signalling, headers (of its media, without the sound), full
    #[arg(
        long,
        value_name = "WHAT",
        default_value = "full",
        value_parser = ["nothing", "signalling", "headers", "full"],
        hide_possible_values = true
    )]
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
        let call = call_in_progress(&self.at.control, &self.call)?;
        request(screen, &self.at, &Request::Keep { call, what: self.what })
    }
}

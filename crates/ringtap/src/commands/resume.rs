//! `ringtap resume`: continues the recording of a paused call.

use clap::Args;
use ringtap_daemon::control::Request;

use super::control::{ControlArgs, tell};
use crate::exit::Exit;
use crate::screen::Screen;

/// Go on keeping what is said in a call that was paused
#[derive(Args, Debug)]
pub(crate) struct Resume {
    /// Its Call-ID
    #[arg(value_name = "CALL-ID")]
    call: String,
    #[command(flatten)]
    at: ControlArgs,
}

impl Resume {
    /// Runs it.
    pub(crate) fn run(self, screen: &mut Screen) -> anyhow::Result<Exit> {
        tell(screen, &self.at, &Request::Resume { call: self.call })
    }
}

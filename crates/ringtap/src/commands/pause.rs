//! `ringtap pause`: stops the recording of what is said in a call under way.

use clap::Args;
use ringtap_daemon::control::Request;

use super::control::{ControlArgs, tell};
use crate::exit::Exit;
use crate::screen::Screen;

/// Stop keeping what is said in a call under way; its messages and the headers of its media are kept on
#[derive(Args, Debug)]
pub(crate) struct Pause {
    /// Its Call-ID
    #[arg(value_name = "CALL-ID")]
    call: String,
    #[command(flatten)]
    at: ControlArgs,
}

impl Pause {
    /// Runs it.
    pub(crate) fn run(self, screen: &mut Screen) -> anyhow::Result<Exit> {
        tell(screen, &self.at, &Request::Pause { call: self.call })
    }
}

//! `ringtap resume`: resumes recording the sound of a paused call.

use clap::Args;
use ringtap_daemon::control::Request;

use super::control::{ControlArgs, call_in_progress, request};
use crate::exit::Exit;
use crate::screen::Screen;

/// Resume recording the sound of a paused call
#[derive(Args, Debug)]
pub(crate) struct Resume {
    /// Call-ID of the call, or a beginning that no other call in progress has
    #[arg(value_name = "CALL-ID")]
    call: String,
    #[command(flatten)]
    at: ControlArgs,
}

impl Resume {
    /// Runs it.
    pub(crate) fn run(self, screen: &mut Screen) -> anyhow::Result<Exit> {
        let call = call_in_progress(&self.at.control, &self.call)?;
        request(screen, &self.at, &Request::Resume { call })
    }
}

//! `ringtap pause`: stops recording the sound of a call under way.

use clap::Args;
use ringtap_daemon::control::Request;

use super::control::{ControlArgs, call_in_progress, request};
use crate::exit::Exit;
use crate::screen::Screen;

/// Stop recording the sound of a call under way; its messages and media headers are still recorded
#[derive(Args, Debug)]
pub(crate) struct Pause {
    /// Call-ID of the call, or a beginning that no other call in progress has
    #[arg(value_name = "CALL-ID")]
    call: String,
    #[command(flatten)]
    at: ControlArgs,
}

impl Pause {
    /// Runs it.
    pub(crate) fn run(self, screen: &mut Screen) -> anyhow::Result<Exit> {
        let call = call_in_progress(&self.at.control, &self.call)?;
        request(screen, &self.at, &Request::Pause { call })
    }
}

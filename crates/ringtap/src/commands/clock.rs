//! `ringtap clock`: confirms that the system clock is right.

use clap::Args;
use ringtap_daemon::control::Request;

use super::control::{ControlArgs, request};
use crate::exit::Exit;
use crate::screen::Screen;

/// Show whether the running daemon trusts the system clock, or confirm that the clock is right
///
/// If the clock steps by more than an hour, or differs by more than an hour from the time that the daemon
/// noted before a reboot, nothing is deleted by age until the clock returns or is confirmed: a wrong clock
/// would let everything expire. Limits of size and free space still apply.
#[derive(Args, Debug)]
pub(crate) struct Clock {
    /// The clock is right: delete by age again
    #[arg(long)]
    confirm: bool,
    #[command(flatten)]
    at: ControlArgs,
}

impl Clock {
    /// Runs it.
    pub(crate) fn run(self, screen: &mut Screen) -> anyhow::Result<Exit> {
        request(screen, &self.at, &Request::Clock { confirm: self.confirm })
    }
}

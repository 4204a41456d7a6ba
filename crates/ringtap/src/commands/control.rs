//! The control socket of a running daemon, for the commands that use it.

use std::path::PathBuf;

use clap::Args;
use ringtap_daemon::control::{Request, ask};

use crate::exit::Exit;
use crate::screen::Screen;

/// The arguments that name the daemon.
#[derive(Args, Debug)]
pub(super) struct ControlArgs {
    /// The control socket: `control` in section [process] of the daemon's configuration
    #[arg(long, value_name = "SOCKET", default_value = "/run/ringtap/control")]
    pub(super) control: PathBuf,
}

/// Sends a request and prints the daemon's answer.
pub(super) fn request(screen: &mut Screen, at: &ControlArgs, request: &Request) -> anyhow::Result<Exit> {
    let answer = ask(&at.control, request)?;
    screen.remark(answer);
    Ok(Exit::Done)
}

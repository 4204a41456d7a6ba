//! The control socket of a running daemon, for the commands that use it.

use std::path::PathBuf;

use clap::Args;
use ringtap_daemon::control::{Request, ask};

use crate::exit::Exit;
use crate::screen::Screen;

/// Where the daemon listens.
#[derive(Args, Debug)]
pub(super) struct ControlArgs {
    /// The socket that [process] control of the daemon's configuration names
    #[arg(long, value_name = "SOCKET", default_value = "/run/ringtap/control")]
    pub(super) control: PathBuf,
}

pub(super) fn tell(screen: &mut Screen, at: &ControlArgs, request: &Request) -> anyhow::Result<Exit> {
    let told = ask(&at.control, request)?;
    screen.remark(told);
    Ok(Exit::Done)
}

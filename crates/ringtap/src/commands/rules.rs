//! `ringtap rules`: shows the rules of the running daemon.

use std::io::Write;

use anyhow::Context;
use clap::Args;
use ringtap_daemon::control::{Request, ask};

use super::control::ControlArgs;
use crate::exit::Exit;
use crate::screen::Screen;

/// Show the recording rules of the running daemon, and how many calls each rule has decided
///
/// The rules are the [[keep]] sections of its configuration. The daemon reads them, and their files of
/// numbers, again on SIGHUP.
#[derive(Args, Debug)]
pub(crate) struct Rules {
    #[command(flatten)]
    at: ControlArgs,
}

impl Rules {
    /// Runs it.
    pub(crate) fn run(self, screen: &mut Screen) -> anyhow::Result<Exit> {
        const WRITING: &str = "cannot write to standard output";
        let answer = ask(&self.at.control, &Request::Rules)?;
        writeln!(screen.out, "{:<10} {:>9}  RULE", "KEEPS", "CALLS").context(WRITING)?;
        for line in answer.lines() {
            writeln!(screen.out, "{}", ringtap_report::text::shown(line)).context(WRITING)?;
        }
        screen.out.flush().context(WRITING)?;
        Ok(Exit::Done)
    }
}

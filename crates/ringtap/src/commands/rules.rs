//! `ringtap rules`: shows the rules of the running daemon.

use std::io::Write;

use anyhow::Context;
use clap::Args;
use ringtap_daemon::control::{Request, ask};

use super::control::ControlArgs;
use crate::exit::Exit;
use crate::screen::Screen;

/// Show the rules that a running ringtap has, and how many calls each has decided
///
/// They come from [[keep]] of its configuration, which it reads again on SIGHUP, with the files of numbers.
#[derive(Args, Debug)]
pub(crate) struct Rules {
    #[command(flatten)]
    at: ControlArgs,
}

impl Rules {
    /// Runs it.
    pub(crate) fn run(self, screen: &mut Screen) -> anyhow::Result<Exit> {
        const WRITING: &str = "cannot write to standard output";
        let told = ask(&self.at.control, &Request::Rules)?;
        writeln!(screen.out, "{:<10} {:>9}  RULE", "KEEPS", "CALLS").context(WRITING)?;
        for line in told.lines() {
            writeln!(screen.out, "{}", ringtap_report::text::shown(line)).context(WRITING)?;
        }
        screen.out.flush().context(WRITING)?;
        Ok(Exit::Done)
    }
}

//! `ringtap keep`, `pause`, `resume`, `rules`: what the running daemon keeps of calls under way.

use std::io::Write;
use std::path::PathBuf;

use anyhow::Context;
use clap::Args;
use ringtap_daemon::control::{Request, ask};

use crate::exit::Exit;
use crate::screen::Screen;

/// Where the daemon listens.
#[derive(Args, Debug)]
struct Where {
    /// The socket that [process] control of the daemon's configuration names
    #[arg(long, value_name = "SOCKET", default_value = "/run/ringtap/control")]
    control: PathBuf,
}

/// Keep a call under way, or more or less of it, whatever the rules say
///
/// From now on: what was not kept until now is not there. Of a call that no rule has decided yet, all of it
/// is kept from its INVITE on. What was kept before stays. The running `ringtap run` does it; the manual is
/// docs/manual/spool.md.
#[derive(Args, Debug)]
#[command(after_help = KEEP)]
pub(crate) struct Keep {
    /// Its Call-ID
    #[arg(value_name = "CALL-ID")]
    call: String,
    /// What of it: nothing, signalling, headers (of its media, without what is said), full
    #[arg(
        long,
        value_name = "WHAT",
        default_value = "full",
        value_parser = ["nothing", "signalling", "headers", "full"],
        hide_possible_values = true
    )]
    what: String,
    #[command(flatten)]
    at: Where,
}

const KEEP: &str = "\
Examples:
  ringtap keep 4f2a19@192.0.2.1
  ringtap keep 4f2a19@192.0.2.1 --what headers";

/// Stop keeping what is said in a call under way; its messages and the headers of its media are kept on
#[derive(Args, Debug)]
pub(crate) struct Pause {
    /// Its Call-ID
    #[arg(value_name = "CALL-ID")]
    call: String,
    #[command(flatten)]
    at: Where,
}

/// Go on keeping what is said in a call that was paused
#[derive(Args, Debug)]
pub(crate) struct Resume {
    /// Its Call-ID
    #[arg(value_name = "CALL-ID")]
    call: String,
    #[command(flatten)]
    at: Where,
}

/// Show the rules that a running ringtap has, and how many calls each has decided
///
/// They come from [[keep]] of its configuration, which it reads again on SIGHUP, with the files of numbers.
#[derive(Args, Debug)]
pub(crate) struct Rules {
    #[command(flatten)]
    at: Where,
}

impl Keep {
    /// Runs it.
    pub(crate) fn run(self, screen: &mut Screen) -> anyhow::Result<Exit> {
        tell(screen, &self.at, &Request::Keep { call: self.call, what: self.what })
    }
}

impl Pause {
    /// Runs it.
    pub(crate) fn run(self, screen: &mut Screen) -> anyhow::Result<Exit> {
        tell(screen, &self.at, &Request::Pause { call: self.call })
    }
}

impl Resume {
    /// Runs it.
    pub(crate) fn run(self, screen: &mut Screen) -> anyhow::Result<Exit> {
        tell(screen, &self.at, &Request::Resume { call: self.call })
    }
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

fn tell(screen: &mut Screen, at: &Where, request: &Request) -> anyhow::Result<Exit> {
    let told = ask(&at.control, request)?;
    screen.remark(told);
    Ok(Exit::Done)
}

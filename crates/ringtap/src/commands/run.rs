//! `ringtap run`: the daemon.

use std::io::Write;
use std::path::PathBuf;

use anyhow::Context;
use clap::Args;
use ringtap_daemon::{Config, Outcome, RunOptions, default_file};
use ringtap_model::Nanos;

use crate::exit::{Exit, Misuse};
use crate::screen::Screen;

/// Watch the wire: follow calls as they happen, write their records to the store, for months
///
/// Captures on the interfaces that the configuration names, or replays files. Prints a status line every 10
/// s, serves Prometheus metrics, reads its configuration again on SIGHUP, ends on SIGTERM or Ctrl-C with
/// every record written; calls still under way then are recorded as `active`. After a kill the next start
/// records the calls that it cut off, as `interrupted`. The manual is docs/manual/run.md.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Run {
    /// Configuration file
    #[arg(short, long, value_name = "FILE", default_value = "/etc/ringtap/ringtap.toml")]
    config: PathBuf,
    /// Check the configuration and end: 0 when it is right
    #[arg(long)]
    check: bool,
    /// Print a configuration with every key at its default and end
    #[arg(long, conflicts_with = "check")]
    print_default: bool,
    /// Print the status line this often, whatever the configuration says; 0 is never
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(0..=86_400))]
    status: Option<u64>,
}

const EXAMPLES: &str = "\
Examples:
  ringtap run --print-default > ringtap.toml
  ringtap run --check -c ringtap.toml
  ringtap run -c ringtap.toml
  systemctl reload ringtap        # after an edit of /etc/ringtap/ringtap.toml
  ringtap calls --store /var/lib/ringtap/records --since '2026-11-21 02:00'";

impl Run {
    /// Runs it.
    pub(crate) fn run(self, screen: &mut Screen) -> anyhow::Result<Exit> {
        const WRITING: &str = "cannot write to standard output";
        if self.print_default {
            screen.out.write_all(default_file().as_bytes()).context(WRITING)?;
            screen.out.flush().context(WRITING)?;
            return Ok(Exit::Done);
        }
        let config = Config::load(&self.config).map_err(|wrong| Misuse(wrong.to_string()))?;
        if self.check {
            writeln!(screen.out, "{}", ringtap_daemon::summary(&config, &self.config)).context(WRITING)?;
            screen.out.flush().context(WRITING)?;
            return Ok(Exit::Done);
        }
        let status = self.status.map(Nanos::from_secs);
        Ok(match ringtap_daemon::run(RunOptions { config, path: self.config, status })? {
            Outcome::Done => Exit::Done,
            Outcome::WorkerFailed => Exit::Failed,
        })
    }
}

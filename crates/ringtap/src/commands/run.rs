//! `ringtap run`: the daemon.

use std::io::Write;
use std::path::PathBuf;

use anyhow::Context;
use clap::Args;
use clap::builder::PossibleValuesParser;
use ringtap_daemon::{CheckReport, ConfigFile, Outcome, Profile, RunOptions, default_file};
use ringtap_model::Nanos;

use crate::exit::Exit;
use crate::screen::Screen;

/// Run as a daemon: follow calls as they happen, and write their records to the database
///
/// Captures on the interfaces that the configuration names, or replays files. Prints a status line every 10
/// s, serves Prometheus metrics, and reads its configuration again on SIGHUP. On SIGTERM or Ctrl-C it writes
/// all records and ends; calls under way get the state `active`. A start within five minutes goes on with
/// them, also after a kill; calls that do not go on then get the state `interrupted`. See docs/manual/run.md.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Run {
    /// Configuration file
    #[arg(short, long, value_name = "FILE", default_value = "/etc/ringtap/ringtap.toml")]
    config: PathBuf,
    /// Check the configuration and what it names on this machine, and exit: the filter, interfaces, keys,
    /// and directories as the user of the service. Changes nothing
    #[arg(long)]
    check: bool,
    /// Memory: `small` for a telephone system of up to 100 calls, with at most 64 MiB; overrides the
    /// configuration, whose other keys keep their values
    #[arg(long, value_name = "NAME", value_parser = PossibleValuesParser::new(Profile::NAMES))]
    profile: Option<String>,
    /// Print a configuration with every key at its default and exit
    #[arg(long, conflicts_with = "check")]
    print_default: bool,
    /// Interval of the status line, overriding the configuration; 0 is never
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(0..=86_400))]
    status: Option<u64>,
}

const EXAMPLES: &str = "\
Examples:
  ringtap run --print-default > ringtap.toml
  ringtap run --check -c ringtap.toml
  ringtap run -c ringtap.toml
  systemctl reload ringtap        # after an edit of /etc/ringtap/ringtap.toml
  ringtap calls --store /var/lib/ringtap/records --since '2026-11-21 02:00'

Exit status: 0 after a clean stop or a check that found nothing wrong, 1 after a failure, or if this machine
lacks what the configuration names, 2 if the configuration is wrong.";

impl Run {
    /// Runs it.
    pub(crate) fn run(self, screen: &mut Screen) -> anyhow::Result<Exit> {
        const WRITING: &str = "cannot write to standard output";
        if self.print_default {
            screen.out.write_all(default_file().as_bytes()).context(WRITING)?;
            screen.out.flush().context(WRITING)?;
            return Ok(Exit::Done);
        }
        let profile = self.profile.as_deref().and_then(Profile::of_name);
        let file = match ConfigFile::read(&self.config, profile) {
            Ok(file) => file,
            Err(wrong) => {
                wrong.to_string().lines().for_each(|mistake| screen.remark(mistake));
                return Ok(Exit::Usage);
            }
        };
        if self.check {
            return check(&file, screen);
        }
        let config = file.config;
        let status = self.status.map(Nanos::from_secs);
        Ok(match ringtap_daemon::run(RunOptions { config, path: self.config, profile, status })? {
            Outcome::Done => Exit::Done,
            Outcome::WorkerFailed | Outcome::RecordsLost => Exit::Failed,
        })
    }
}

/// Checks what a configuration names.
fn check(file: &ConfigFile, screen: &mut Screen) -> anyhow::Result<Exit> {
    const WRITING: &str = "cannot write to standard output";
    let CheckReport { problems, remarks, checked } = ringtap_daemon::check(file);
    for problem in &problems {
        screen.remark(problem);
    }
    for remark in &remarks {
        screen.remark(format!("note: {remark}"));
    }
    let found = match problems.len() {
        0 => ringtap_daemon::summary(&file.config, &file.path),
        1 => "1 problem".to_owned(),
        number => format!("{number} problems"),
    };
    writeln!(screen.out, "{found}\nchecked: {checked}").context(WRITING)?;
    screen.out.flush().context(WRITING)?;
    Ok(if problems.is_empty() { Exit::Done } else { Exit::Failed })
}

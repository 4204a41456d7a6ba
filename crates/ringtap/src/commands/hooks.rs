//! `ringtap hooks`: gives calls that have ended to commands and servers.

use std::path::PathBuf;

use clap::Args;
use ringtap_daemon::ConfigFile;

use crate::exit::Exit;
use crate::screen::Screen;

/// Give calls that have ended, or were recorded, to commands and servers
///
/// Runs the [[hook]] entries of the configuration of `ringtap run`, beside it: follows the database, and
/// gives each call that a hook asks for to its command, on standard input, or posts it to its URL, as JSON.
/// What cannot be delivered waits on the disk and is tried again. See docs/manual/hooks.md.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Hooks {
    /// Configuration file
    #[arg(short, long, value_name = "FILE", default_value = "/etc/ringtap/ringtap.toml")]
    config: PathBuf,
}

const EXAMPLES: &str = "\
Examples:
  ringtap run --check -c ringtap.toml
  ringtap hooks -c ringtap.toml
  systemctl enable --now ringtap-hooks

Exit status: 0 after a stop, 1 after a failure, 2 if the configuration is wrong.";

impl Hooks {
    /// Runs it.
    pub(crate) fn run(self, screen: &mut Screen) -> anyhow::Result<Exit> {
        let file = match ConfigFile::read(&self.config, None) {
            Ok(file) => file,
            Err(wrong) => {
                wrong.to_string().lines().for_each(|mistake| screen.remark(mistake));
                return Ok(Exit::Usage);
            }
        };
        ringtap_daemon::hooks::run(&file, ringtap_console::sites_of)?;
        Ok(Exit::Done)
    }
}

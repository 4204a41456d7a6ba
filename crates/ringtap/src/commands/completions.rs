//! `ringtap completions`: prints completions for a shell, made from the arguments of the commands.

use std::io::Write;

use anyhow::Context;
use clap::{Args, Command};
use clap_complete::{Shell, generate};

use crate::exit::Exit;
use crate::screen::Screen;

/// Print completions for a shell
///
/// Packages and `make install` have those for bash, zsh and fish already. After `cargo install`, write them
/// to where the shell looks for them.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Completions {
    /// Shell
    #[arg(value_enum, value_name = "SHELL")]
    pub(crate) shell: Shell,
}

const EXAMPLES: &str = "\
Examples:
  ringtap completions bash > ~/.local/share/bash-completion/completions/ringtap
  ringtap completions zsh > ~/.zfunc/_ringtap
  ringtap completions fish > ~/.config/fish/completions/ringtap.fish";

impl Completions {
    /// Runs it; `program` is the whole command line.
    pub(crate) fn run(self, mut program: Command, screen: &mut Screen) -> anyhow::Result<Exit> {
        let mut text = Vec::new();
        generate(self.shell, &mut program, "ringtap", &mut text);
        screen.out.write_all(&text).and_then(|()| screen.out.flush()).context("cannot write completions")?;
        Ok(Exit::Done)
    }
}

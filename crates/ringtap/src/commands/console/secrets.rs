//! Passwords on their way in and out: never in arguments, the environment or a log.

use std::io::{BufRead, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;
use ringtap_access::People;
use zeroize::Zeroizing;

use crate::exit::Misuse;
use crate::screen::Screen;

/// Where a password comes from.
#[derive(Args, Debug)]
pub(crate) struct PasswordArgs {
    /// Read the password from the first line of this file, which nobody else may read; `-` is standard input
    /// [default: make one, and print it on the terminal]
    #[arg(long, value_name = "FILE")]
    password_file: Option<PathBuf>,
}

/// A password for somebody.
pub(crate) struct Password {
    pub(crate) text: Zeroizing<String>,
    /// It was made here, and has to be printed.
    is_made: bool,
}

impl PasswordArgs {
    /// Whether it was chosen, and not made here.
    pub(crate) fn is_chosen(&self) -> bool {
        self.password_file.is_some()
    }

    /// The password; one that is made can be printed on a terminal alone.
    pub(crate) fn password(&self, screen: &Screen) -> anyhow::Result<Password> {
        let Some(path) = &self.password_file else {
            on_terminal(screen, "the password that is made")?;
            return Ok(Password { text: People::generate_password()?, is_made: true });
        };
        let bytes = if path == Path::new("-") {
            let mut line = Zeroizing::new(Vec::new());
            let read = std::io::stdin().lock().read_until(b'\n', &mut line);
            read.context("cannot read the password from standard input")?;
            line
        } else {
            ringtap_spool::secret(path)?
        };
        let first = bytes.split(|byte| *byte == b'\n').next().unwrap_or_default();
        let first = first.strip_suffix(b"\r").unwrap_or(first);
        let text = std::str::from_utf8(first)
            .with_context(|| format!("the password in `{}` is not UTF-8", path.display()))?;
        Ok(Password { text: Zeroizing::new(text.to_owned()), is_made: false })
    }
}

impl Password {
    /// Prints one that was made, this once.
    pub(crate) fn show(&self, name: &str, screen: &mut Screen) -> anyhow::Result<()> {
        if self.is_made {
            let line = Zeroizing::new(format!("Password of {name}: {}\n", *self.text));
            screen.out.write_all(line.as_bytes()).and_then(|()| screen.out.flush()).context(PRINTING)?;
            screen.remark("it is shown this once; at the first login, another one has to be chosen");
        }
        Ok(())
    }
}

/// A secret goes to a terminal, not into a file or a journal.
pub(crate) fn on_terminal(screen: &Screen, what: &str) -> anyhow::Result<()> {
    match screen.terminal {
        true => Ok(()),
        false => Err(Misuse(format!(
            "{what} is printed on a terminal alone, and standard output is none: run this on a terminal, or \
             use `--password-file`"
        ))
        .into()),
    }
}

pub(crate) const PRINTING: &str = "cannot write to the terminal";

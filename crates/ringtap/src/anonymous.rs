//! Whether names are replaced in what is written, and how.

use std::fs;
use std::io::Read;
use std::path::PathBuf;

use anyhow::{Context, bail};
use clap::Args;
use ringtap_anonymise::{Key, Mask};

use crate::exit::Misuse;

/// Whether, and how.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Without names")]
pub(crate) struct Anonymise {
    /// Replace numbers, names, hosts and addresses, each by the same everywhere; voices become silence,
    /// dialled digits 0
    #[arg(long)]
    pub(crate) anonymise: bool,
    #[command(flatten)]
    pub(crate) how: Naming,
}

/// How names are replaced.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Without names")]
pub(crate) struct Naming {
    /// A file with a secret of 16 bytes or more: the same secret gives the same names in every export, and
    /// whoever has it can find them out again. Without it, each run has a secret of its own that nobody keeps
    #[arg(long, value_name = "FILE")]
    pub(crate) anonymise_key: Option<PathBuf>,
    /// Leave the voices in: people are known by them
    #[arg(long)]
    pub(crate) keep_voice: bool,
}

impl Anonymise {
    /// What replaces, where it is wanted.
    pub(crate) fn mask(&self) -> anyhow::Result<Option<Mask>> {
        if !self.anonymise && (self.how.anonymise_key.is_some() || self.how.keep_voice) {
            bail!(Misuse("`--anonymise-key` and `--keep-voice` go with `--anonymise`".to_owned()));
        }
        self.anonymise.then(|| self.how.mask()).transpose()
    }
}

impl Naming {
    /// What replaces.
    pub(crate) fn mask(&self) -> anyhow::Result<Mask> {
        let key = match &self.anonymise_key {
            Some(path) => {
                let secret = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
                if secret.trim_ascii().len() < SECRET {
                    bail!(
                        "the secret in `{}` has fewer than {SECRET} bytes; \
                         make one with `head -c 32 /dev/urandom > {}`",
                        path.display(),
                        path.display()
                    );
                }
                Key::of_secret(&secret)
            }
            None => {
                let mut key = [0; 32];
                let random = fs::File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut key));
                random.context("cannot read /dev/urandom")?;
                Key(key)
            }
        };
        Ok(Mask::new(&key))
    }
}

/// A secret that is worth the name.
const SECRET: usize = 16;

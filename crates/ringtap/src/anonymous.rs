//! Whether names are replaced in what is written, and how.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::Args;
use ringtap_anonymise::{Key, Mask, Tokens};

use crate::exit::Misuse;

/// The options of commands that can anonymise.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Without names")]
pub(crate) struct Anonymise {
    /// Replace numbers, names, hosts and addresses, each consistently; voices become silence, dialled digits
    /// become 0
    #[arg(long)]
    pub(crate) anonymise: bool,
    #[command(flatten)]
    pub(crate) how: Naming,
}

/// The options of how names are replaced.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Without names")]
pub(crate) struct Naming {
    /// A file with a secret of 16 bytes or more. The same secret gives the same new names in every export,
    /// and whoever has it can recover the old ones. Without it, each run uses a random secret that is not
    /// stored
    #[arg(long, value_name = "FILE")]
    pub(crate) anonymise_key: Option<PathBuf>,
    /// Do not silence voices, although people can be recognised by them
    #[arg(long)]
    pub(crate) keep_voice: bool,
}

impl Anonymise {
    /// The mask to anonymise with; `None` without `--anonymise`.
    pub(crate) fn mask(&self) -> anyhow::Result<Option<Mask>> {
        if !self.anonymise && (self.how.anonymise_key.is_some() || self.how.keep_voice) {
            bail!(Misuse("`--anonymise-key` and `--keep-voice` need `--anonymise`".to_owned()));
        }
        self.anonymise.then(|| self.how.mask()).transpose()
    }
}

impl Naming {
    /// The mask to anonymise with.
    pub(crate) fn mask(&self) -> anyhow::Result<Mask> {
        Ok(Mask::new(&key(self.anonymise_key.as_deref())?))
    }
}

/// Replaces numbers by tokens under the secret of that file.
pub(crate) fn tokens(secret: Option<&Path>) -> anyhow::Result<Tokens> {
    Ok(Tokens::new(key(secret)?.0))
}

/// The key that a secret in a file gives; without one, a random key.
fn key(secret: Option<&Path>) -> anyhow::Result<Key> {
    let Some(path) = secret else {
        let mut key = [0; 32];
        let random = fs::File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut key));
        random.context("cannot read /dev/urandom")?;
        return Ok(Key(key));
    };
    let secret = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    if secret.trim_ascii().len() < SECRET {
        bail!(
            "the secret in `{}` has fewer than {SECRET} bytes; \
             create one with `head -c 32 /dev/urandom > {}`",
            path.display(),
            path.display()
        );
    }
    Ok(Key::of_secret(&secret))
}

/// Bytes of a secret, at least.
const SECRET: usize = 16;

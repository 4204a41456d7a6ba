//! Where the register is, and who uses it.

use std::path::{Path, PathBuf};

use clap::Args;
use ringtap_daemon::{become_owner_of, forbid_dumps};
use ringtap_report::time;
use ringtap_warrant::{Register, RegisterKey, Session};

use super::secrets::Secrets;
use crate::exit::Misuse;
use crate::person::person;

/// Where the register is, and who uses it.
#[derive(Args, Clone, Debug)]
pub(crate) struct RegisterArgs {
    /// Directory of the register
    #[arg(long = "register", global = true, value_name = "DIR", default_value = USUAL)]
    dir: PathBuf,
    /// File with the master key of the register, which only its owner may read
    #[arg(long, global = true, value_name = "FILE", default_value = USUAL_KEY)]
    master_key: PathBuf,
    /// Command that prints the master key, in place of the file
    #[arg(long, global = true, value_name = "COMMAND")]
    master_key_command: Option<String>,
    /// Name in the register [default: that of the user]
    // Not `name`: commands have arguments of that name, which would hide it.
    #[arg(long = "as", global = true, value_name = "NAME")]
    acts_as: Option<String>,
    /// Read passphrases from this file descriptor, one a line [default: ask on the terminal]
    #[arg(long, global = true, value_name = "N")]
    passphrase_fd: Option<u32>,
}

/// A register that somebody has been let into.
pub(crate) struct OpenRegister {
    pub(crate) register: Register,
    pub(crate) session: Session,
    pub(crate) secrets: Secrets,
}

impl RegisterArgs {
    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    /// The name under which somebody acts.
    pub(crate) fn name(&self) -> anyhow::Result<String> {
        match person(self.acts_as.clone()) {
            name if name.is_empty() => Err(Misuse("say who you are with `--as <NAME>`".to_owned()).into()),
            name => Ok(name),
        }
    }

    pub(crate) fn secrets(&self) -> anyhow::Result<Secrets> {
        Secrets::open(self.passphrase_fd)
    }

    /// The master key: before privileges are dropped, with which it may not be readable.
    pub(crate) fn key(&self) -> anyhow::Result<RegisterKey> {
        forbid_dumps();
        Ok(match &self.master_key_command {
            Some(command) => RegisterKey::of_command(command)?,
            None => RegisterKey::read(&self.master_key)?,
        })
    }

    /// The master key, made if it is a file that is not there; whether it was.
    pub(crate) fn key_or_new(&self) -> anyhow::Result<(RegisterKey, Option<&Path>)> {
        if self.master_key_command.is_none() && !self.master_key.exists() {
            forbid_dumps();
            return Ok((RegisterKey::make(&self.master_key)?, Some(&self.master_key)));
        }
        Ok((self.key()?, None))
    }

    /// Goes on as the user whom the directory belongs to, or the one above it: so the service can use what
    /// root makes.
    pub(crate) fn become_owner(&self) -> anyhow::Result<()> {
        let there = self.dir.ancestors().find(|dir| dir.exists());
        there.map_or(Ok(()), become_owner_of)
    }

    /// Opens the register and asks for the passphrase.
    pub(crate) fn open(&self) -> anyhow::Result<OpenRegister> {
        let key = self.key()?;
        self.become_owner()?;
        self.open_by(&key)
    }

    /// As [`open`](Self::open), as the user who is the owner already.
    pub(crate) fn open_by(&self, key: &RegisterKey) -> anyhow::Result<OpenRegister> {
        let name = self.name()?;
        let mut register = Register::open(&self.dir, key)?;
        let mut secrets = self.secrets()?;
        let passphrase = secrets.ask(&format!("Passphrase of {name}: "))?;
        let session = register.identify(&name, &passphrase, time::now())?;
        Ok(OpenRegister { register, session, secrets })
    }
}

const USUAL: &str = "/var/lib/ringtap/warrants";
const USUAL_KEY: &str = "/etc/ringtap/warrant.key";

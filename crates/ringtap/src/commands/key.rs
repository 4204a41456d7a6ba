//! `ringtap key`: creates keys for a spool.

use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;
use ringtap_spool::{MasterKey, Signer};

use crate::exit::Exit;
use crate::screen::Screen;

/// Create a key that seals a spool, or one that signs it
///
/// Existing files are never overwritten. Keep a copy of the sealing key in another place: without it, nobody
/// can read sealed packets.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
#[group(required = true, multiple = true)]
pub(crate) struct KeyArgs {
    /// Write a master key, for `[spool] seal` and `ringtap export --key`
    #[arg(long, value_name = "FILE")]
    seal: Option<PathBuf>,
    /// Write a signing key, for `[spool] sign`; the public key, for `ringtap verify --key`, is written beside
    /// it as FILE.pub
    #[arg(long, value_name = "FILE")]
    sign: Option<PathBuf>,
}

const EXAMPLES: &str = "\
Examples:
  ringtap key --seal /etc/ringtap-keys/seal.key --sign /etc/ringtap-keys/sign.pem

The same with openssl:
  openssl rand -hex 32 > seal.key
  openssl genpkey -algorithm ed25519 -out sign.pem; openssl pkey -in sign.pem -pubout -out sign.pem.pub
  chmod 600 seal.key sign.pem";

impl KeyArgs {
    /// Runs it.
    pub(crate) fn run(self, screen: &mut Screen) -> anyhow::Result<Exit> {
        ringtap_daemon::forbid_dumps();
        if let Some(path) = &self.seal {
            let key = MasterKey::generate()?;
            write(path, 0o600, &format!("{}\n", *key))?;
            screen.remark(format!("{}: keep a copy in another place, away from the spool", path.display()));
        }
        if let Some(path) = &self.sign {
            let (private, public) = Signer::generate()?;
            let mut beside = path.clone().into_os_string();
            beside.push(".pub");
            write(path, 0o600, &private)?;
            write(Path::new(&beside), 0o644, &public)?;
            let key = Signer::read(path)?.public();
            screen.remark(format!(
                "{}: its public key is {}, {key}",
                path.display(),
                Path::new(&beside).display()
            ));
        }
        Ok(Exit::Done)
    }
}

fn write(path: &Path, mode: u32, text: &str) -> anyhow::Result<()> {
    let create = || -> std::io::Result<()> {
        let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(path)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()
    };
    create()
        .with_context(|| format!("cannot write `{}`: name a file that does not exist yet", path.display()))
}

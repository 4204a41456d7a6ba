//! `ringtap warrant verify`: proves that the acts are as they were written.

use std::io::{self, Write};
use std::path::Path;

use anyhow::Context;
use clap::Args;
use ringtap_report::text::counted;
use ringtap_report::time;
use ringtap_warrant::{Head, Look, PublicKey, Verified};

use super::register_args::RegisterArgs;
use super::shown::WRITING;
use crate::exit::Exit;
use crate::screen::Screen;

/// Check every act of the register, and that none is missing
///
/// The chain, the signatures, and that no act breaks a rule, such as two people always. The first act that
/// was changed, removed, put in or moved is named. Of a sound register, the look is recorded, as any other.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct VerifyRegister {
    /// Why you look, for the record
    #[arg(long, value_name = "TEXT")]
    why: String,
    /// The public key that must have signed the acts: a file or 64 hex digits [default: that of the register]
    #[arg(long, value_name = "PUBLIC")]
    key: Option<String>,
    /// An act that was noted elsewhere, as `verify` prints it (17: and 64 hex digits): the register must
    /// still have it; may be repeated
    #[arg(long, value_name = "HEAD")]
    head: Vec<Head>,
}

const EXAMPLES: &str = "\
Examples:
  ringtap warrant verify --as dora --why 'yearly audit' --key /media/audit/sign.pub

One act by hand, without reading it:
  sed -n 3p acts | sed 's/,\"hash\":.*//' | tr -d '\\n' | sha256sum
  sed -n 3p acts | jq -rj .hash > text; sed -n 3p acts | jq -r .signature | xxd -r -p > signature
  openssl pkeyutl -verify -pubin -inkey sign.pub -rawin -in text -sigfile signature

Exit status: 0 done, 1 failed, 2 wrong usage, 3 not as it was written.";

impl VerifyRegister {
    /// Runs it.
    pub(crate) fn run(self, args: &RegisterArgs, screen: &mut Screen) -> anyhow::Result<Exit> {
        let public = self.key.as_deref().map(|text| match text.parse() {
            Ok(key) => Ok(key),
            Err(_) => PublicKey::read(Path::new(text)),
        });
        let (public, master) = (public.transpose()?, args.key()?);
        args.become_owner()?;
        let verified = ringtap_warrant::verify(args.dir(), public, &self.head, Some(&master))?;
        if verified.fault.is_none() {
            let mut open = args.open_by(&master)?;
            open.register.look(&open.session, Look::Verify, &self.why, time::now())?;
        }
        print(&verified, &mut screen.out).context(WRITING)?;
        if verified.torn {
            screen
                .remark("the last line is not complete: it is being written, or a power cut interrupted it");
        }
        if public.is_none() {
            let key = verified.key;
            screen.remark(format!(
                "the acts were checked with the key of the register: compare {key} with yours, or add `--key`"
            ));
        }
        Ok(if verified.fault.is_some() { Exit::Damaged } else { Exit::Done })
    }
}

fn print(verified: &Verified, out: &mut dyn Write) -> io::Result<()> {
    let acts = counted(verified.acts, "act");
    match &verified.fault {
        Some(fault) => writeln!(out, "{fault}\n{acts} before that as written")?,
        None => writeln!(out, "{acts}, none changed, none missing, none against the rules")?,
    }
    if let Some(head) = &verified.head {
        writeln!(out, "  head {head}")?;
    }
    out.flush()
}

//! What a command checks of Identity headers.

use std::path::PathBuf;

use clap::Args;
use ringtap_stir::{Certificates, Checker, Settings};

/// The options of commands that check who vouches for the calling number.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "STIR/SHAKEN")]
pub(crate) struct IdentityArgs {
    /// Check the signatures of Identity headers with the certificates in this directory: `roots/` holds those
    /// that are trusted, every other file one that signs, named like the last part of its URI
    #[arg(long, value_name = "DIR")]
    certificates: Option<PathBuf>,
    /// Calls without an Identity header get the note `no_identity`
    #[arg(long)]
    expect_identity: bool,
}

impl IdentityArgs {
    /// What checks them.
    pub(crate) fn checker(&self) -> anyhow::Result<Checker> {
        let certificates = self.certificates.as_deref().map(Certificates::open).transpose()?;
        let settings = Settings { certificates, note_missing: self.expect_identity, ..Settings::default() };
        Ok(Checker::new(settings))
    }
}

//! `[identity]`: who vouches for calling numbers.

use std::path::PathBuf;

use anyhow::Context;
use ringtap_model::Nanos;
use ringtap_stir::{Certificates, Checker, Settings};

use super::key::{Bounds, section};
use super::values::Span;

section! {
    /// Checking the Identity header of calls (STIR/SHAKEN, RFC 8224), where their records are stored.
    #[name = "identity"]
    pub(crate) struct Identity {
        /// Directory of certificates: `roots/` holds those that are trusted, every other file one that signs,
        /// named like the last part of its URI, followed by those between it and a root. They are read at the
        /// start. Empty checks no signatures.
        #[accepts = "a path, such as \"/etc/ringtap/certificates\", or \"\" for none"]
        certificates: PathBuf = PathBuf::new(),
        /// How far the date in a header may be from the INVITE.
        #[bounds = Bounds::between(1_000_000_000, 86_400_000_000_000).example("60s")]
        freshness: Span = Span(Nanos::from_secs(60)),
        /// Signatures that are checked of the calls that end in one second; further headers are not checked,
        /// and counted.
        #[bounds = Bounds::between(1, 1_000_000).unit("signatures")]
        most_per_second: usize = 1_000,
        /// Calls without an Identity header get the note `no_identity`.
        note_missing: bool = false,
        /// Calls whose Identity header does not hold get the note `bad_identity`.
        note_broken: bool = true,
    }
}

impl Identity {
    /// What checks the headers.
    ///
    /// # Errors
    ///
    /// A certificate cannot be read.
    pub(crate) fn checker(&self) -> anyhow::Result<Checker> {
        let is_named = !self.certificates.as_os_str().is_empty();
        let open = || Certificates::open(&self.certificates);
        let certificates = is_named.then(open).transpose().context("[identity] certificates")?;
        Ok(Checker::new(Settings {
            certificates,
            freshness: self.freshness.0,
            most_per_second: u32::try_from(self.most_per_second).unwrap_or(u32::MAX),
            note_missing: self.note_missing,
            note_broken: self.note_broken,
        }))
    }
}

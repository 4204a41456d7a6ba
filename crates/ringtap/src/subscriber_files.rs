//! What files say of subscribers: secrets of RADIUS clients, and ranges of addresses.

use std::path::Path;

use anyhow::Context;
use ringtap_identity::{Secrets, static_ranges};
use ringtap_model::Identity;

/// Reads a file that nobody else may read.
pub(crate) fn read_secrets(path: &Path) -> anyhow::Result<Secrets> {
    let bytes = ringtap_spool::secrets(path)?;
    Secrets::of_file(&bytes).with_context(|| format!("cannot read the secrets in `{}`", path.display()))
}

/// Reads a file of addresses that never change hands.
pub(crate) fn read_ranges(path: &Path) -> anyhow::Result<Vec<Identity>> {
    let text = std::fs::read_to_string(path);
    let text = text.with_context(|| format!("cannot read the ranges in `{}`", path.display()))?;
    static_ranges(&text, &path.display().to_string()).context("cannot read static ranges")
}

//! Secrets of RADIUS clients, from a file.

use std::path::Path;

use anyhow::Context;
use ringtap_identity::Secrets;

/// Reads a file that nobody else may read.
pub(crate) fn read_secrets(path: &Path) -> anyhow::Result<Secrets> {
    let bytes = ringtap_spool::secrets(path)?;
    Secrets::of_file(&bytes).with_context(|| format!("cannot read the secrets in `{}`", path.display()))
}

//! Hooks, as the processes for them are told.

use std::fmt;

use anyhow::Context;
use ringtap_hook::{Hook, HookTarget};
use ringtap_notify::Http;
use serde::{Deserialize, Serialize};
use zeroize::Zeroize;

/// What the process needs that starts the others.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct HookSource {
    pub(crate) hooks: Vec<Hook>,
    /// The user that commands run as, and the one of everything else; empty is the present one.
    pub(crate) command_user: String,
    pub(crate) user: String,
}

/// A hook with its secret.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct OpenHook {
    pub(crate) hook: Hook,
    secret: Option<String>,
}

impl OpenHook {
    /// Reads the secret.
    ///
    /// # Errors
    ///
    /// As [`secret_of`].
    pub(crate) fn read(hook: Hook) -> anyhow::Result<Self> {
        let secret = secret_of(&hook)?;
        Ok(Self { hook, secret })
    }

    pub(crate) fn secret(&self) -> Option<&str> {
        self.secret.as_deref()
    }
}

impl Drop for OpenHook {
    fn drop(&mut self) {
        self.secret.zeroize();
    }
}

impl fmt::Debug for OpenHook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "OpenHook({})", self.hook.name)
    }
}

/// What the file of a hook's header fields holds, if it has one.
///
/// # Errors
///
/// The file cannot be read, others may read it, or it is no text.
pub(crate) fn secret_of(hook: &Hook) -> anyhow::Result<Option<String>> {
    let HookTarget::Url(Http { header_file: Some(path), .. }) = &hook.target else { return Ok(None) };
    let bytes = ringtap_spool::secret(path).context("header_file")?;
    let text = std::str::from_utf8(&bytes);
    let text = text.with_context(|| format!("header_file: `{}` is no text", path.display()))?;
    Ok(Some(text.to_owned()))
}

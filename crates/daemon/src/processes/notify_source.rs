//! Who is told of alarms, as the processes for it are told.

use std::fmt;

use ringtap_notify::{Protocol, Target};
use serde::{Deserialize, Serialize};
use zeroize::{Zeroize, Zeroizing};

/// What the process needs that starts the one that tells the targets.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct NotifySource {
    pub(crate) targets: Vec<Target>,
    /// What notices call this machine.
    pub(crate) host: String,
}

/// A target with its secret.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct OpenTarget {
    pub(crate) target: Target,
    secret: Option<String>,
}

impl OpenTarget {
    /// Reads the secret.
    ///
    /// # Errors
    ///
    /// As [`secret_of`].
    pub(crate) fn read(target: Target) -> Result<Self, String> {
        let secret = secret_of(&target)?.map(|secret| secret.to_string());
        Ok(Self { target, secret })
    }

    pub(crate) fn secret(&self) -> Option<&str> {
        self.secret.as_deref()
    }
}

impl Drop for OpenTarget {
    fn drop(&mut self) {
        self.secret.zeroize();
    }
}

impl fmt::Debug for OpenTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "OpenTarget({})", self.target.name)
    }
}

/// What the file of a target's secret holds, if it has one.
///
/// # Errors
///
/// The file cannot be read, others may read it, or it is no text: with the key that names it.
pub(crate) fn secret_of(target: &Target) -> Result<Option<Zeroizing<String>>, String> {
    let Some(path) = target.secret_file() else { return Ok(None) };
    let key = match target.protocol {
        Protocol::Smtp(_) => "password_file",
        _ => "header_file",
    };
    let bytes = ringtap_spool::secret(path).map_err(|error| format!("{key}: {error}"))?;
    let text = std::str::from_utf8(&bytes).map_err(|_| format!("{key}: `{}` is no text", path.display()))?;
    Ok(Some(Zeroizing::new(text.to_owned())))
}

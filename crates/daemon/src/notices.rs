//! Who is told of alarms, seen from the daemon.

use ringtap_notify::{Protocol, Target};
use zeroize::Zeroizing;

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

//! Public keys of a command line.

use std::path::Path;

use ringtap_spool::PublicKey;

/// Reads public keys: each text is 64 hex digits, a file with one key or several, or a directory of such
/// files.
pub(crate) fn public_keys(texts: &[String]) -> anyhow::Result<Vec<PublicKey>> {
    let mut keys = Vec::new();
    for text in texts {
        match text.parse() {
            Ok(key) => keys.push(key),
            Err(_) => keys.extend(PublicKey::read_all(Path::new(text))?),
        }
    }
    Ok(keys)
}

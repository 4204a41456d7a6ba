//! Ids of sessions and texts of tokens: 256 random bits, stored as their SHA-256.

use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

use crate::error::Error;
use crate::hex::hex;
use crate::random::random;

/// A new one, with that prefix.
pub(crate) fn generate(prefix: &str) -> Result<Zeroizing<String>, Error> {
    let bytes = random::<32>()?;
    Ok(Zeroizing::new(format!("{prefix}{}", *Zeroizing::new(hex(&bytes[..])))))
}

/// As it is stored and looked up. None if it cannot be one.
pub(crate) fn hash(prefix: &str, text: &str) -> Option<[u8; 32]> {
    let digits = text.strip_prefix(prefix)?;
    (digits.len() == 64).then(|| Sha256::digest(text).into())
}

//! What decides which name stands for which.

use std::fmt;

use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};

/// 256 bits. Who has them can turn a replaced name back by trying names; the same key gives the same names.
#[derive(Clone)]
pub struct Key(pub [u8; 32]);

impl Key {
    /// From a secret of any length, such as a file's content.
    pub fn of_secret(secret: &[u8]) -> Self {
        let mut hash = Sha256::new();
        hash.update(b"ringtap anonymise 1\0");
        hash.update(secret);
        Self(hash.finalize().into())
    }

    /// A function of bytes that nobody can foretell without the key.
    pub(crate) fn stream(&self) -> Stream {
        // HMAC takes keys of any length.
        Stream(Hmac::new_from_slice(&self.0).unwrap_or_else(|_| unreachable!("a key of 32 bytes")))
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(..)")
    }
}

/// HMAC-SHA256 (RFC 2104) under the key.
#[derive(Clone)]
pub(crate) struct Stream(Hmac<Sha256>);

impl Stream {
    /// Of these bytes, for that purpose.
    pub(crate) fn of(&self, purpose: u8, bytes: &[u8]) -> [u8; 32] {
        let mut mac = self.0.clone();
        mac.update(&[purpose]);
        mac.update(bytes);
        mac.finalize().into_bytes().into()
    }
}

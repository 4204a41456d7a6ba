//! Files that were given.

use serde::{Deserialize, Serialize};

use crate::secret_text::SecretText;

/// A file that was given, by which it is known again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProducedFile {
    /// Its name, without its directory.
    pub name: SecretText,
    /// Its octets.
    pub octets: u64,
    /// SHA-256 of them, as 64 hex digits.
    pub sha256: String,
}

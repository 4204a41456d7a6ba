//! Somebody whose passphrase was right.

use std::fmt;

use crate::secret_text::SecretText;

/// Somebody who has given the right passphrase, and acts from now on. What the person may do is asked with
/// each act, so a right that is taken away is gone with the next one.
#[derive(Clone)]
pub struct Session {
    pub(super) name: SecretText,
}

impl Session {
    /// The name.
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Session")
    }
}

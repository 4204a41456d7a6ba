//! Recovery codes: each lets somebody in once in place of a code of the authenticator app, for a lost phone.
//!
//! A code has 12 letters and digits of 32, 60 random bits. Attempts are slowed down as those with passwords
//! are, so it is not guessed, and it is stored as its SHA-256.

use rusqlite::{Transaction, params};
use sha2::{Digest, Sha256};
use zeroize::{Zeroize, Zeroizing};

use crate::error::Error;
use crate::random::random;

/// Recovery codes as they are shown once, such as `8kx4-mq2w-tz7c`.
pub type RecoveryCodes = Vec<Zeroizing<String>>;

/// How many somebody is given.
pub(crate) const CODES: usize = 10;

/// New ones.
pub(crate) fn generate() -> Result<RecoveryCodes, Error> {
    (0..CODES).map(|_| code()).collect()
}

fn code() -> Result<Zeroizing<String>, Error> {
    let bytes = random::<LENGTH>()?;
    let mut code = Zeroizing::new(String::with_capacity(LENGTH + 2));
    for (at, byte) in bytes.iter().enumerate() {
        if at > 0 && at % 4 == 0 {
            code.push('-');
        }
        // 256 is a multiple of 32: each is as likely as the others.
        code.push(char::from(LETTERS[usize::from(byte % 32)]));
    }
    Ok(code)
}

/// As a code is stored, however it was typed; none if the text cannot be one.
pub(crate) fn hash(text: &str) -> Option<[u8; 32]> {
    let letters = text.chars().filter(|letter| !matches!(letter, '-' | ' '));
    let mut code: String = letters.take(LENGTH + 1).collect();
    code.make_ascii_lowercase();
    let is_code = code.len() == LENGTH && code.bytes().all(|byte| LETTERS.contains(&byte));
    let hash = is_code.then(|| Sha256::digest(&code).into());
    code.zeroize();
    hash
}

/// Replaces the codes of a person.
pub(crate) fn replace(
    transaction: &Transaction<'_>,
    person: &str,
    codes: &RecoveryCodes,
) -> rusqlite::Result<()> {
    remove_all(transaction, person)?;
    for hash in codes.iter().filter_map(|code| hash(code)) {
        transaction
            .execute("INSERT INTO recovery_codes (person, hash) VALUES (?1, ?2)", params![person, hash])?;
    }
    Ok(())
}

/// Removes the codes of a person.
pub(crate) fn remove_all(transaction: &Transaction<'_>, person: &str) -> rusqlite::Result<()> {
    transaction.execute("DELETE FROM recovery_codes WHERE person = ?1", [person]).map(drop)
}

/// Letters and digits of a code.
const LENGTH: usize = 12;
/// Without those that look alike: `i`, `l`, `o` and `1`.
const LETTERS: &[u8; 32] = b"abcdefghjkmnpqrstuvwxyz023456789";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_read_however_it_is_typed_and_nothing_else_is_one() {
        let stored = hash("8kx4-mq2w-tz7c").unwrap();
        for typed in ["8kx4mq2wtz7c", "8KX4 MQ2W TZ7C", " 8kx4-mq2w-tz7c "] {
            assert_eq!(hash(typed), Some(stored), "{typed}");
        }
        for wrong in ["", "287082", "8kx4-mq2w-tz7", "8kx4-mq2w-tz7cc", "8kx4-mq2w-tz7l", "8kx4-mq2w-tz7ç"] {
            assert_eq!(hash(wrong), None, "{wrong}");
        }
        assert_ne!(hash("8kx4-mq2w-tz7d"), Some(stored));
    }

    #[test]
    fn codes_are_made_as_they_are_read_and_differ() {
        let codes = generate().unwrap();
        assert_eq!(codes.len(), CODES);
        let hashes: std::collections::BTreeSet<_> = codes.iter().map(|code| hash(code).unwrap()).collect();
        assert_eq!(hashes.len(), CODES);
        assert!(codes.iter().all(|code| code.len() == LENGTH + 2 && code.matches('-').count() == 2));
    }
}

//! Passphrases: argon2id (RFC 9106) at the cost that OWASP recommends: 19 MiB, 2 passes, 1 lane.

use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::{PasswordHasher, PasswordVerifier};
use argon2::{Algorithm, Argon2, Params, Version};

use crate::error::{Error, Refused};
use crate::log::key::random;
use crate::secret_text::SecretText;

/// The hash of a passphrase, in the PHC format.
pub(super) fn hash(passphrase: &str) -> Result<SecretText, Error> {
    let salt = random::<16>()?;
    let hash = argon2()?.hash_password_with_salt(passphrase.as_bytes(), &salt[..]);
    hash.map(|hash: PasswordHash| hash.to_string().into()).map_err(|_| failed())
}

/// Whether the hash is that of the passphrase. If there is no hash, it takes as long.
pub(super) fn is_right(hash: Option<&str>, passphrase: &str) -> Result<bool, Error> {
    let Some(hash) = hash else { return self::hash(passphrase).map(|_| false) };
    let hash = PasswordHash::new(hash).map_err(|_| failed())?;
    Ok(argon2()?.verify_password(passphrase.as_bytes(), &hash).is_ok())
}

fn argon2() -> Result<Argon2<'static>, Error> {
    let params = Params::new(MEMORY, PASSES, LANES, None).map_err(|_| failed())?;
    Ok(Argon2::new(Algorithm::Argon2id, Version::V0x13, params))
}

fn failed() -> Error {
    Refused::Passphrase("it cannot be hashed or compared; take another one").into()
}

/// Whether a passphrase may be chosen.
///
/// # Errors
///
/// It would be guessed.
pub fn check_passphrase(name: &str, passphrase: &str) -> Result<(), Refused> {
    let mut different: Vec<char> = passphrase.chars().collect();
    let length = different.len();
    different.sort_unstable();
    different.dedup();
    let problem = match () {
        () if length < 12 => "it has fewer than 12 characters; take some words that do not belong together",
        () if passphrase.len() > 1024 => "it has more than 1,024 bytes",
        () if different.len() < 5 => "it has fewer than 5 different characters",
        () if name.len() >= 4 && passphrase.to_lowercase().contains(&name.to_lowercase()) => {
            "the name is a part of it"
        }
        () => return Ok(()),
    };
    Err(Refused::Passphrase(problem))
}

/// In KiB.
const MEMORY: u32 = 19_456;
const PASSES: u32 = 2;
const LANES: u32 = 1;

//! Passwords: argon2id (RFC 9106), a bounded number at once.

use std::sync::{Condvar, Mutex};

use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::{PasswordHasher, PasswordVerifier};
use argon2::{Algorithm, Argon2, Params, Version};
use zeroize::Zeroizing;

use crate::error::{Error, Refusal};
use crate::people::settings::PasswordCost;
use crate::random::random;

/// Hashes passwords.
pub(crate) struct Hasher {
    cost: PasswordCost,
    /// How many hash, and how many wait.
    load: Mutex<(usize, usize)>,
    freed: Condvar,
}

impl Hasher {
    pub(crate) fn new(cost: PasswordCost) -> Self {
        Self { cost, load: Mutex::default(), freed: Condvar::new() }
    }

    /// The hash of a password, as text in the PHC format.
    pub(crate) fn hash(&self, password: &str) -> Result<String, Refusal> {
        let salt = random::<16>()?;
        let _turn = self.turn()?;
        let hash = self.argon2()?.hash_password_with_salt(password.as_bytes(), &salt[..]);
        hash.map(|hash: PasswordHash| hash.to_string()).map_err(|_| failed().into())
    }

    /// Whether the hash is that of the password. If there is no hash, it takes as long.
    pub(crate) fn check(&self, hash: Option<&str>, password: &str) -> Result<bool, Refusal> {
        let Some(hash) = hash else { return self.hash(password).map(|_| false) };
        let hash = PasswordHash::new(hash).map_err(|_| failed())?;
        let _turn = self.turn()?;
        // The cost is that in the hash.
        Ok(self.argon2()?.verify_password(password.as_bytes(), &hash).is_ok())
    }

    /// Whether the hash was made at another cost than the present one.
    pub(crate) fn is_outdated(&self, hash: &str) -> bool {
        let params = PasswordHash::new(hash).ok().and_then(|hash| Params::try_from(&hash).ok());
        params.is_none_or(|params| {
            let PasswordCost { memory, passes, lanes, .. } = self.cost;
            (params.m_cost(), params.t_cost(), params.p_cost()) != (memory, passes, lanes)
        })
    }

    fn argon2(&self) -> Result<Argon2<'static>, Error> {
        let PasswordCost { memory, passes, lanes, .. } = self.cost;
        let params = Params::new(memory, passes, lanes, None).map_err(|_| failed())?;
        Ok(Argon2::new(Algorithm::Argon2id, Version::V0x13, params))
    }

    /// Waits until one may hash.
    fn turn(&self) -> Result<Turn<'_>, Refusal> {
        let mut load = self.load.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if load.0 >= self.cost.at_once {
            if load.1 >= self.cost.waiting {
                return Err(Refusal::Busy);
            }
            load.1 += 1;
            while load.0 >= self.cost.at_once {
                load = self.freed.wait(load).unwrap_or_else(|poisoned| poisoned.into_inner());
            }
            load.1 -= 1;
        }
        load.0 += 1;
        Ok(Turn(self))
    }
}

/// Somebody hashes.
struct Turn<'a>(&'a Hasher);

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.0.load.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).0 -= 1;
        self.0.freed.notify_one();
    }
}

fn failed() -> Error {
    Error::Password("it cannot be hashed or compared; set another one")
}

/// Whether a password may be chosen.
pub(crate) fn check_strength(name: &str, password: &str) -> Result<(), Error> {
    let letters: Vec<char> = password.chars().collect();
    let mut different = letters.clone();
    different.sort_unstable();
    different.dedup();
    if letters.len() < SHORTEST {
        return Err(Error::Password(
            "it has fewer than 12 characters; take some words that do not belong together",
        ));
    }
    if password.len() > LONGEST {
        return Err(Error::Password("it has more than 1,024 bytes"));
    }
    if different.len() < DIFFERENT {
        return Err(Error::Password("it has fewer than 5 different characters"));
    }
    if name.len() >= 4 && password.to_lowercase().contains(&name.to_lowercase()) {
        return Err(Error::Password("the name is a part of it"));
    }
    Ok(())
}

/// A password that nobody has chosen: 20 letters and digits in fives, 99 bits.
pub(crate) fn generate() -> Result<Zeroizing<String>, Error> {
    let bytes = random::<20>()?;
    let mut password = Zeroizing::new(String::with_capacity(23));
    for (at, byte) in bytes.iter().enumerate() {
        if at > 0 && at % 5 == 0 {
            password.push('-');
        }
        // 256 is a multiple of 32: each is as likely as the others.
        password.push(char::from(LETTERS[usize::from(byte % 32)]));
    }
    Ok(password)
}

/// Without those that look alike: `i`, `l`, `o` and `1`.
const LETTERS: &[u8; 32] = b"abcdefghjkmnpqrstuvwxyz023456789";
const SHORTEST: usize = 12;
const LONGEST: usize = 1024;
const DIFFERENT: usize = 5;

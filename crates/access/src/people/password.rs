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

#[cfg(test)]
mod tests {
    use super::*;

    /// The parameters that OWASP recommends, as they are written into each hash.
    #[test]
    fn passwords_are_hashed_by_argon2id_at_the_recommended_cost() {
        let hasher = Hasher::new(PasswordCost::default());
        let hash = hasher.hash("correct horse battery staple").unwrap();
        assert!(hash.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{hash}");
        let parts: Vec<&str> = hash.split('$').collect();
        // 16 bytes of salt and 32 of hash, in base64 without padding.
        assert_eq!((parts[4].len(), parts[5].len()), (22, 43));
        assert!(hasher.check(Some(&hash), "correct horse battery staple").unwrap());
        assert!(!hasher.check(Some(&hash), "correct horse battery stable").unwrap());
        assert!(!hasher.check(None, "correct horse battery staple").unwrap());
        assert_ne!(hasher.hash("correct horse battery staple").unwrap(), hash, "salted");
        let dearer = PasswordCost { passes: 3, ..PasswordCost::default() };
        assert!(!hasher.is_outdated(&hash) && Hasher::new(dearer).is_outdated(&hash));
    }

    /// From `src/test.c` of the reference implementation, phc-winner-argon2.
    #[test]
    fn a_hash_of_the_reference_implementation_is_understood() {
        let hasher = Hasher::new(PasswordCost::default());
        let hash = "$argon2id$v=19$m=256,t=2,p=1$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4";
        assert!(hasher.check(Some(hash), "password").unwrap());
        assert!(!hasher.check(Some(hash), "Password").unwrap());
        assert!(matches!(hasher.check(Some("$2b$10$x"), "x"), Err(Refusal::Failed(Error::Password(_)))));
    }

    #[test]
    fn so_many_hash_at_once_and_so_many_wait() {
        let cost = PasswordCost { at_once: 2, waiting: 1, ..PasswordCost::default() };
        let hasher = Hasher::new(cost);
        let (first, second) = (hasher.turn().unwrap(), hasher.turn().unwrap());
        std::thread::scope(|scope| {
            let third = scope.spawn(|| hasher.turn().map(drop));
            while hasher.load.lock().unwrap().1 == 0 {
                std::thread::yield_now();
            }
            assert!(matches!(hasher.turn(), Err(Refusal::Busy)), "a fourth is refused at once");
            assert!(!third.is_finished());
            drop(first);
            third.join().unwrap().unwrap();
        });
        drop(second);
        assert_eq!(*hasher.load.lock().unwrap(), (0, 0));
    }

    #[test]
    fn passwords_that_would_be_guessed_are_refused() {
        for (weak, why) in [
            ("", "12 characters"),
            ("elevenchars", "12 characters"),
            ("ääääääääääö", "12 characters"),
            ("aaaabbbbccccdddd", "5 different"),
            ("My-Operator-77", "the name"),
        ] {
            let error = check_strength("operator", weak).unwrap_err().to_string();
            assert!(error.contains(why), "{weak}: {error}");
        }
        assert!(check_strength("operator", &"word ".repeat(300)).unwrap_err().to_string().contains("1,024"));
        check_strength("operator", "vier Wörter, die nicht").unwrap();
        check_strength("ana", "banana republic").unwrap();
    }

    #[test]
    fn a_password_that_is_made_is_long_random_and_typable() {
        let made: std::collections::HashSet<String> =
            (0..200).map(|_| generate().unwrap().to_string()).collect();
        assert_eq!(made.len(), 200);
        for password in &made {
            assert_eq!((password.len(), password.matches('-').count()), (23, 3), "{password}");
            check_strength("operator", password).unwrap();
        }
        let letters: String = made.into_iter().collect();
        assert!(LETTERS.iter().all(|letter| letters.contains(char::from(*letter))), "each is used");
    }
}

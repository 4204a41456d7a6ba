//! The people of a console.

use std::path::Path;

use zeroize::Zeroizing;

use crate::error::Error;
use crate::people::database::Database;
use crate::people::lockout::Lockout;
use crate::people::password::{self, Hasher};
use crate::people::settings::Settings;
use crate::webauthn::Challenges;

/// The people of a console, with their sessions and tokens. Shared between threads.
///
/// The methods do not write to the audit log, but for those that take it: append an entry before you change
/// anything.
pub struct People {
    pub(super) database: Database,
    pub(super) hasher: Hasher,
    pub(super) lockout: Lockout,
    pub(super) challenges: Challenges,
    pub(super) settings: Settings,
}

impl People {
    /// Opens the people of the console in that directory, which is made if it does not exist.
    ///
    /// # Errors
    ///
    /// The directory or the file cannot be used.
    pub fn open(console: &Path, settings: Settings) -> Result<Self, Error> {
        let database = Database::open(console)?;
        let (hasher, lockout) = (Hasher::new(settings.password), Lockout::new(settings.clone()));
        let challenges = Challenges::new()?;
        Ok(Self { database, hasher, lockout, challenges, settings })
    }

    /// Whether a password is good enough for that name.
    ///
    /// # Errors
    ///
    /// It is not: says why.
    pub fn check_password(name: &str, password: &str) -> Result<(), Error> {
        password::check_strength(name, password)
    }

    /// A password of 99 random bits.
    ///
    /// # Errors
    ///
    /// The operating system gives no random bytes.
    pub fn generate_password() -> Result<Zeroizing<String>, Error> {
        password::generate()
    }
}

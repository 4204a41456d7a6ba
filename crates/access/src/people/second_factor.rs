//! Gives people a second factor, and removes it.

use ringtap_model::Nanos;
use rusqlite::{OptionalExtension, params};

use crate::error::Error;
use crate::people::recovery::{self, RecoveryCodes};
use crate::people::store::People;
use crate::people::totp::{self, Secret, TotpSecret};

impl People {
    /// Makes a new secret for an authenticator app. It holds once [`confirm_totp`](Self::confirm_totp) has
    /// seen a code of it; until then, the old one does.
    ///
    /// # Errors
    ///
    /// Nobody has that name.
    pub fn begin_totp(&self, name: &str) -> Result<TotpSecret, Error> {
        let secret = totp::generate()?;
        self.change_person(name, |transaction, name| {
            Ok(transaction
                .execute("UPDATE people SET totp_new = ?2 WHERE name = ?1", params![name, &secret[..]])?)
        })?;
        Ok(TotpSecret::new(&secret, &name.to_ascii_lowercase()))
    }

    /// Has the person give a code at each login from now on. Returns the recovery codes, in place of those
    /// that there were.
    ///
    /// # Errors
    ///
    /// Nobody has that name, or the code is not one of the new secret.
    pub fn confirm_totp(&self, name: &str, code: &str, now: Nanos) -> Result<RecoveryCodes, Error> {
        let codes = recovery::generate()?;
        self.change_person(name, |transaction, name| {
            let sql = "SELECT totp_new FROM people WHERE name = ?1 AND totp_new IS NOT NULL";
            let secret = transaction.query_row(sql, [name], |row| row.get::<_, [u8; 20]>(0)).optional()?;
            let step = secret.and_then(|secret| totp::accepted(&Secret::new(secret), code, 0, now));
            let Some(step) = step else { return Err(Error::Code.into()) };
            recovery::replace(transaction, name, &codes)?;
            Ok(transaction.execute(
                "UPDATE people SET totp = totp_new, totp_new = NULL, totp_step = ?2 WHERE name = ?1",
                params![name, step],
            )?)
        })?;
        Ok(codes)
    }

    /// Gives the person other recovery codes in place of those that there were.
    ///
    /// # Errors
    ///
    /// Nobody has that name, or the person gives no codes at the login.
    pub fn renew_recovery_codes(&self, name: &str) -> Result<RecoveryCodes, Error> {
        let codes = recovery::generate()?;
        self.change_person(name, |transaction, name| {
            let sql = "SELECT totp IS NOT NULL FROM people WHERE name = ?1";
            let found = transaction.query_row(sql, [name], |row| row.get::<_, bool>(0)).optional()?;
            match found {
                None => return Ok(0),
                Some(false) => return Err(Error::NoSecondFactor { name: name.to_owned() }.into()),
                Some(true) => recovery::replace(transaction, name, &codes)?,
            }
            Ok(1)
        })?;
        Ok(codes)
    }

    /// Lets the person log in without a code, and forgets the recovery codes: for a lost phone.
    ///
    /// # Errors
    ///
    /// Nobody has that name.
    pub fn remove_totp(&self, name: &str) -> Result<(), Error> {
        self.change_person(name, |transaction, name| {
            recovery::remove_all(transaction, name)?;
            Ok(transaction.execute(
                "UPDATE people SET totp = NULL, totp_new = NULL, totp_step = 0 WHERE name = ?1",
                [name],
            )?)
        })
    }
}

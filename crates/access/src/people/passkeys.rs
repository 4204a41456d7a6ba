//! Passkeys of people: made, listed, removed.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ringtap_model::Nanos;
use rusqlite::{OptionalExtension, Row, Transaction, params};
use serde::Serialize;

use crate::error::Error;
use crate::people::database::Failure;
use crate::people::person::{micros, time};
use crate::people::store::People;
use crate::random::random;
use crate::webauthn::{self, AuthenticatorData, Purpose, Site};

/// A passkey as it is listed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Passkey {
    /// Names it.
    pub number: u64,
    /// What its owner calls it.
    pub name: String,
    /// The name of the console for which it was made: it logs in under that name alone.
    pub site: String,
    /// It has copies, as one that a password manager synchronises.
    pub synchronised: bool,
    /// When it was made.
    #[serde(rename = "created_us")]
    pub created: Nanos,
    /// When it last logged somebody in.
    #[serde(rename = "used_us")]
    pub used: Option<Nanos>,
}

/// What a browser needs to make a passkey. Bytes are in base64url, as it wants them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PasskeyRequest {
    /// What the answer has to contain.
    pub challenge: String,
    /// Stands for the person; it tells nothing of it.
    pub handle: String,
    /// Credentials that the person has: an authenticator that has one of them makes no other.
    pub known: Vec<String>,
}

/// A browser has made a passkey.
#[derive(Clone, Copy, Debug)]
pub struct NewPasskey<'a> {
    /// Whose it is.
    pub person: &'a str,
    /// What its owner calls it.
    pub name: &'a str,
    /// What the browser says it was asked: JSON, as it came.
    pub client_data: &'a [u8],
    /// What the authenticator says.
    pub authenticator_data: &'a [u8],
}

impl People {
    /// Has somebody make a passkey, which [`add_passkey`](Self::add_passkey) adds within 5 minutes.
    ///
    /// # Errors
    ///
    /// Nobody has that name.
    pub fn begin_passkey(&self, person: &str, now: Nanos) -> Result<PasskeyRequest, Error> {
        let person = person.to_ascii_lowercase();
        if self.find(&person)?.is_none() {
            return Err(Error::Nobody { name: person });
        }
        let fresh = random::<32>()?;
        let handle = self.database.change("changed", |transaction| {
            let sql = "INSERT OR IGNORE INTO passkey_handles (person, handle) VALUES (?1, ?2)";
            transaction.execute(sql, params![person, &fresh[..]])?;
            let sql = "SELECT handle FROM passkey_handles WHERE person = ?1";
            Ok(transaction.query_row(sql, [&person], |row| row.get::<_, Vec<u8>>(0))?)
        })?;
        let sql = "SELECT credential FROM passkeys WHERE person = ?1";
        let known = self.database.rows(sql, [&person], |row| row.get::<_, Vec<u8>>(0))?;
        let challenge = self.challenges.make(Purpose::Create(&person), now)?;
        let known = known.iter().map(|id| URL_SAFE_NO_PAD.encode(id)).collect();
        Ok(PasskeyRequest {
            challenge: URL_SAFE_NO_PAD.encode(challenge),
            handle: URL_SAFE_NO_PAD.encode(handle),
            known,
        })
    }

    /// Adds a passkey that the browser has made.
    ///
    /// # Errors
    ///
    /// The browser was asked for something else, by another page or too long ago; the credential is known
    /// already; the name cannot be one, or the person has too many.
    pub fn add_passkey(&self, new: &NewPasskey<'_>, site: Site<'_>, now: Nanos) -> Result<Passkey, Error> {
        let NewPasskey { name, client_data, authenticator_data, .. } = *new;
        let person = new.person.to_ascii_lowercase();
        if name.is_empty() || name.chars().count() > LONGEST_NAME || name.chars().any(char::is_control) {
            return Err(Error::Passkey("its name must have 1 to 64 characters, none of them a control one"));
        }
        let data = AuthenticatorData::parse(authenticator_data);
        let data = data.ok_or(Error::Passkey("what the authenticator says cannot be read"))?;
        let purpose = Purpose::Create(&person);
        let challenge = webauthn::answered(site, purpose, client_data, &data).map_err(Error::Passkey)?;
        if !self.challenges.is_of(&challenge, purpose, now) {
            return Err(Error::Passkey("it was asked for too long ago, or not here; begin again"));
        }
        let Some(credential) = data.credential.as_ref().filter(|it| (1..=LONGEST_ID).contains(&it.id.len()))
        else {
            return Err(Error::Passkey("the authenticator has made none"));
        };
        if !self.challenges.use_up(&challenge, now) {
            return Err(Error::Passkey("it was added before; begin again"));
        }
        self.database.change("added", |transaction| {
            refuse_known(transaction, &person, credential.id)?;
            transaction.execute(
                "INSERT INTO passkeys (credential, person, name, site, key, counter, synchronised, created) \
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
                params![
                    credential.id,
                    person,
                    name,
                    site.name,
                    credential.key,
                    data.counter,
                    data.is_backed_up,
                    micros(now)
                ],
            )?;
            let sql = format!("SELECT {COLUMNS} FROM passkeys WHERE number = ?1");
            Ok(transaction.query_row(&sql, [transaction.last_insert_rowid()], of_row)?)
        })
    }

    /// Passkeys of a person, the oldest first.
    ///
    /// # Errors
    ///
    /// The file cannot be read.
    pub fn passkeys(&self, person: &str) -> Result<Vec<Passkey>, Error> {
        let sql = format!("SELECT {COLUMNS} FROM passkeys WHERE person = ?1 ORDER BY number");
        self.database.rows(&sql, [person.to_ascii_lowercase()], of_row)
    }

    /// Removes a passkey of a person.
    ///
    /// # Errors
    ///
    /// The person has no passkey of that number.
    pub fn remove_passkey(&self, person: &str, number: u64) -> Result<(), Error> {
        let missing = || Error::NotFound { what: "passkey", name: number.to_string() };
        let Ok(stored) = i64::try_from(number) else { return Err(missing()) };
        let removed = self.database.change("changed", |transaction| {
            let sql = "DELETE FROM passkeys WHERE person = ?1 AND number = ?2";
            Ok(transaction.execute(sql, params![person.to_ascii_lowercase(), stored])?)
        })?;
        if removed == 0 { Err(missing()) } else { Ok(()) }
    }

    /// Removes all passkeys of a person: for one that was lost, or made by somebody else. Returns how many.
    ///
    /// # Errors
    ///
    /// Nobody has that name.
    pub fn remove_passkeys(&self, person: &str) -> Result<usize, Error> {
        let person = person.to_ascii_lowercase();
        self.database.change("changed", |transaction| {
            let sql = "SELECT 1 FROM people WHERE name = ?1";
            if transaction.query_row(sql, [&person], |_| Ok(())).optional()?.is_none() {
                return Err(Error::Nobody { name: person.clone() }.into());
            }
            Ok(transaction.execute("DELETE FROM passkeys WHERE person = ?1", [&person])?)
        })
    }
}

/// A credential is one person's, and there is a most of them.
fn refuse_known(transaction: &Transaction<'_>, person: &str, credential: &[u8]) -> Result<(), Failure> {
    let sql = "SELECT ifnull(sum(credential = ?1), 0), ifnull(sum(person = ?2), 0) FROM passkeys \
               WHERE credential = ?1 OR person = ?2";
    let counts = transaction.query_row(sql, params![credential, person], |row| {
        Ok((row.get::<_, usize>(0)?, row.get::<_, usize>(1)?))
    });
    match counts? {
        (0, MOST..) => Err(Error::Passkey("you have 16 of them: remove one that is not used").into()),
        (0, _) => Ok(()),
        _ => Err(Error::Passkey("it is known already").into()),
    }
}

/// The columns of [`of_row`].
const COLUMNS: &str = "number, name, site, synchronised, created, used";

fn of_row(row: &Row<'_>) -> rusqlite::Result<Passkey> {
    Ok(Passkey {
        number: row.get(0)?,
        name: row.get(1)?,
        site: row.get(2)?,
        synchronised: row.get(3)?,
        created: time(row, 4)?,
        used: row.get::<_, Option<i64>>(5)?.map(|_| time(row, 5)).transpose()?,
    })
}

/// Characters of a name.
const LONGEST_NAME: usize = 64;
/// Bytes of a credential's id (section 5.8.3 of WebAuthn).
const LONGEST_ID: usize = 1_023;
/// Passkeys of one person.
const MOST: usize = 16;

//! Sessions of people who have logged in.

use ringtap_model::Nanos;
use rusqlite::{Row, Transaction, params};
use serde::Serialize;
use zeroize::Zeroizing;

use crate::error::{Error, Refusal};
use crate::people::login::Place;
use crate::people::person::{Credential, Identity, json, micros, role, time};
use crate::people::secret_text;
use crate::people::store::People;
use crate::role::Rights;

/// A session as it is listed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Session {
    /// Names it; the id is known to its owner alone.
    pub number: u64,
    /// Who has logged in.
    pub person: String,
    /// From which address.
    pub address: String,
    /// With which browser, as it says itself.
    pub agent: String,
    /// When.
    #[serde(rename = "began_us")]
    pub began: Nanos,
    /// When it was last used, to the minute.
    #[serde(rename = "used_us")]
    pub used: Nanos,
    /// When it ends in any case.
    #[serde(rename = "expires_us")]
    pub expires: Nanos,
}

impl People {
    /// Who a session lets in. `id` is what [`log_in`](Self::log_in) gave.
    ///
    /// # Errors
    ///
    /// The session is not known, has ended or was not used for too long, or the person is disabled.
    pub fn session(&self, id: &str, now: Nanos) -> Result<Identity, Refusal> {
        let hash = secret_text::hash("", id).ok_or(Refusal::Unknown)?;
        let sql = "SELECT number, person, used, expires, role, scope, disabled, must_change, \
                   by_provider FROM sessions JOIN people ON name = person WHERE hash = ?1";
        let found = self.database.row(sql, [hash], |row| {
            let (used, expires) = (time(row, 2)?, time(row, 3)?);
            Ok((row.get::<_, u64>(0)?, used, expires, row.get::<_, bool>(6)?, identity(row)?))
        })?;
        let Some((number, used, expires, disabled, identity)) = found else { return Err(Refusal::Unknown) };
        if now >= expires || now - used >= self.settings.session_idle {
            self.end_session(number)?;
            return Err(Refusal::Expired);
        }
        if disabled {
            return Err(Refusal::Disabled);
        }
        if now - used >= NOTED {
            self.database.change("changed", |transaction| {
                let sql = "UPDATE sessions SET used = max(used, ?2) WHERE number = ?1";
                Ok(transaction.execute(sql, params![number, micros(now)])?)
            })?;
        }
        Ok(identity)
    }

    /// Sessions of everybody, or of one person: those that were used last come first.
    ///
    /// # Errors
    ///
    /// The file cannot be read.
    pub fn sessions(&self, person: Option<&str>, now: Nanos) -> Result<Vec<Session>, Error> {
        let sql = "SELECT number, person, address, agent, began, used, expires FROM sessions \
                   WHERE (?1 IS NULL OR person = ?1) AND expires > ?2 AND used > ?3 \
                   ORDER BY used DESC, number DESC";
        let idle = micros(now - self.settings.session_idle);
        let person = person.map(str::to_ascii_lowercase);
        self.database.rows(sql, params![person, micros(now), idle], |row| {
            Ok(Session {
                number: row.get(0)?,
                person: row.get(1)?,
                address: row.get(2)?,
                agent: row.get(3)?,
                began: time(row, 4)?,
                used: time(row, 5)?,
                expires: time(row, 6)?,
            })
        })
    }

    /// Ends a session of that person.
    ///
    /// # Errors
    ///
    /// The person has no session of that number.
    pub fn end_session_of(&self, person: &str, number: u64) -> Result<(), Error> {
        let missing = || Error::NotFound { what: "session", name: number.to_string() };
        let Ok(stored) = i64::try_from(number) else { return Err(missing()) };
        let ended = self.database.change("changed", |transaction| {
            let sql = "DELETE FROM sessions WHERE number = ?1 AND person = ?2";
            Ok(transaction.execute(sql, params![stored, person])?)
        })?;
        if ended == 0 { Err(missing()) } else { Ok(()) }
    }

    /// Ends the sessions of that person but for the one of number `but`. Returns how many.
    ///
    /// # Errors
    ///
    /// The file cannot be written.
    pub fn end_other_sessions(&self, person: &str, but: u64) -> Result<usize, Error> {
        self.database.change("changed", |transaction| {
            let sql = "DELETE FROM sessions WHERE person = ?1 AND number <> ?2";
            Ok(transaction.execute(sql, params![person, but])?)
        })
    }

    /// Ends a session. One that has ended is no error.
    ///
    /// # Errors
    ///
    /// The file cannot be written.
    pub fn end_session(&self, number: u64) -> Result<(), Error> {
        self.database.change("changed", |transaction| {
            transaction.execute("DELETE FROM sessions WHERE number = ?1", [number])?;
            Ok(())
        })
    }

    /// Begins a session, under an id that nobody has seen before. Returns the id, and the number.
    pub(super) fn begin_session(
        &self,
        transaction: &Transaction<'_>,
        person: &str,
        Place { from, agent, by_provider }: Place<'_>,
        now: Nanos,
    ) -> Result<(Zeroizing<String>, u64), super::database::Failure> {
        let id = secret_text::generate("")?;
        let hash = secret_text::hash("", &id).unwrap_or_default();
        let idle = micros(now - self.settings.session_idle);
        let ended = "DELETE FROM sessions WHERE expires <= ?1 OR used <= ?2";
        transaction.execute(ended, params![micros(now), idle])?;
        // Those that were used last stay.
        let surplus = "DELETE FROM sessions WHERE number IN (SELECT number FROM sessions \
                       WHERE (?1 IS NULL OR person = ?1) ORDER BY used DESC, number DESC LIMIT -1 OFFSET ?2)";
        let before_this = |most: usize| most.saturating_sub(1) as i64;
        transaction.execute(surplus, params![person, before_this(self.settings.sessions_each)])?;
        transaction.execute(surplus, params![None::<&str>, before_this(self.settings.sessions)])?;
        let agent = &agent[..agent.floor_char_boundary(LONGEST_AGENT)];
        let expires = micros(now + self.settings.session_life);
        transaction.execute(
            "INSERT INTO sessions (hash, person, address, agent, began, used, expires, by_provider) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?5, ?6, ?7)",
            params![hash, person, from.to_canonical().to_string(), agent, micros(now), expires, by_provider],
        )?;
        let number = u64::try_from(transaction.last_insert_rowid()).unwrap_or(0);
        Ok((id, number))
    }
}

fn identity(row: &Row<'_>) -> rusqlite::Result<Identity> {
    let (role, must_change) = (role(row, 4)?, row.get(7)?);
    Ok(Identity {
        name: row.get(1)?,
        role,
        rights: if must_change { Rights::NONE } else { role.rights() },
        scope: json(row, 5)?,
        credential: Credential::Session(row.get(0)?),
        must_change,
        by_provider: row.get(8)?,
    })
}

/// A use is noted once in this time, so that reading does not write.
const NOTED: Nanos = Nanos::from_secs(60);
/// Bytes of what a browser says of itself.
const LONGEST_AGENT: usize = 200;

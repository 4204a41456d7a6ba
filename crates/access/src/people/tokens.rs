//! Tokens, with which programs use the console in the name of a person.

use ringtap_model::Nanos;
use rusqlite::params;
use serde::Serialize;
use zeroize::Zeroizing;

use crate::error::{Error, Refusal};
use crate::people::person::{self, Credential, Identity, json, micros, role, time, to_json};
use crate::people::secret_text;
use crate::people::store::People;
use crate::role::{Rights, Role};
use crate::scope::Scope;

/// A token as it is listed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Token {
    /// Whose it is.
    pub person: String,
    /// What it is called: unique among those of the person.
    pub name: String,
    /// What it permits, as far as its owner may.
    pub rights: Rights,
    /// With which calls, as far as its owner may.
    pub scope: Scope,
    /// When it was made.
    #[serde(rename = "created_us")]
    pub created: Nanos,
    /// Until when it is valid.
    #[serde(rename = "expires_us")]
    pub expires: Nanos,
    /// When it was last used, to the minute.
    #[serde(rename = "used_us")]
    pub used: Option<Nanos>,
}

/// A token to be made.
#[derive(Clone, Debug)]
pub struct NewToken<'a> {
    /// Whose it is.
    pub person: &'a str,
    /// What it is called.
    pub name: &'a str,
    /// What it permits; rights that its owner does not have are left out.
    pub rights: Rights,
    /// With which calls, within those of its owner.
    pub scope: Scope,
    /// Until when it is valid.
    pub expires: Nanos,
}

impl People {
    /// Makes a token. Its text is returned this once, and stored nowhere.
    ///
    /// # Errors
    ///
    /// Nobody has that name, the token's name is in use or cannot be one, the person has too many, or it
    /// would expire too late or has expired.
    pub fn make_token(&self, new: &NewToken<'_>, now: Nanos) -> Result<(Zeroizing<String>, Token), Error> {
        let name = person::name(new.name)?;
        let owner = self.find(new.person)?.ok_or_else(|| Error::Nobody { name: new.person.to_owned() })?;
        let most = self.settings.token_life;
        if new.expires <= now || new.expires - now > most {
            return Err(Error::Expiry { most });
        }
        let text = secret_text::generate(PREFIX)?;
        let hash = secret_text::hash(PREFIX, &text).unwrap_or_default();
        let rights = new.rights.and(owner.role.rights());
        self.database.change("changed", |transaction| {
            let long_expired = "DELETE FROM tokens WHERE expires < ?1";
            transaction.execute(long_expired, [micros(now - KEPT)])?;
            let sql = "SELECT count(*), count(*) FILTER (WHERE name = ?2) FROM tokens WHERE person = ?1";
            let of_person = |row: &rusqlite::Row<'_>| Ok((row.get::<_, usize>(0)?, row.get::<_, usize>(1)?));
            let (all, same) = transaction.query_row(sql, [&owner.name, &name], of_person)?;
            if same > 0 {
                return Err(Error::Exists { name: name.clone() }.into());
            }
            if all >= self.settings.tokens_each {
                return Err(
                    Error::TooMany { name: owner.name.clone(), most: self.settings.tokens_each }.into()
                );
            }
            transaction.execute(
                "INSERT INTO tokens (hash, person, name, rights, scope, created, expires) \
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
                params![
                    hash,
                    owner.name,
                    name,
                    to_json(&rights),
                    to_json(&new.scope),
                    micros(now),
                    micros(new.expires)
                ],
            )?;
            Ok(())
        })?;
        let (scope, expires) = (new.scope.clone(), new.expires);
        let token = Token { person: owner.name, name, rights, scope, created: now, expires, used: None };
        Ok((text, token))
    }

    /// Who a token lets in: never with more than its owner may at this moment.
    ///
    /// # Errors
    ///
    /// The token is not known or has expired, or its owner is disabled.
    pub fn token(&self, text: &str, now: Nanos) -> Result<Identity, Refusal> {
        let hash = secret_text::hash(PREFIX, text).ok_or(Refusal::Unknown)?;
        let sql = "SELECT tokens.name, rights, tokens.scope, expires, used, \
                   person, role, people.scope, disabled, must_change \
                   FROM tokens JOIN people ON people.name = person WHERE hash = ?1";
        let found = self.database.row(sql, [hash], |row| {
            let (role, must_change): (Role, bool) = (role(row, 6)?, row.get(9)?);
            let rights = if must_change { Rights::NONE } else { role.rights() };
            let identity = Identity {
                name: row.get(5)?,
                role,
                rights: json::<Rights>(row, 1)?.and(rights),
                scope: json::<Scope>(row, 7)?.and(&json(row, 2)?),
                credential: Credential::Token(row.get(0)?),
                must_change,
                by_provider: false,
            };
            Ok((time(row, 3)?, row.get::<_, Option<i64>>(4)?, row.get::<_, bool>(8)?, identity))
        })?;
        let Some((expires, used, disabled, identity)) = found else { return Err(Refusal::Unknown) };
        if now >= expires {
            return Err(Refusal::Expired);
        }
        if disabled {
            return Err(Refusal::Disabled);
        }
        if used.is_none_or(|used| micros(now) - used >= micros(NOTED)) {
            self.database.change("changed", |transaction| {
                let sql = "UPDATE tokens SET used = ?2 WHERE hash = ?1";
                Ok(transaction.execute(sql, params![hash, micros(now)])?)
            })?;
        }
        Ok(identity)
    }

    /// Tokens of everybody, or of one person, by name. Expired ones are listed for 30 days.
    ///
    /// # Errors
    ///
    /// The file cannot be read.
    pub fn tokens(&self, person: Option<&str>) -> Result<Vec<Token>, Error> {
        let sql = "SELECT person, name, rights, scope, created, expires, used FROM tokens \
                   WHERE ?1 IS NULL OR person = ?1 ORDER BY person, name";
        self.database.rows(sql, [person.map(str::to_ascii_lowercase)], |row| {
            Ok(Token {
                person: row.get(0)?,
                name: row.get(1)?,
                rights: json(row, 2)?,
                scope: json(row, 3)?,
                created: time(row, 4)?,
                expires: time(row, 5)?,
                used: row.get::<_, Option<i64>>(6)?.map(|_| time(row, 6)).transpose()?,
            })
        })
    }

    /// Revokes a token.
    ///
    /// # Errors
    ///
    /// The person has no token of that name.
    pub fn revoke_token(&self, person: &str, name: &str) -> Result<(), Error> {
        let revoked = self.database.change("changed", |transaction| {
            let sql = "DELETE FROM tokens WHERE person = ?1 AND name = ?2";
            Ok(transaction.execute(sql, [person.to_ascii_lowercase(), name.to_ascii_lowercase()])?)
        })?;
        match revoked {
            0 => Err(Error::NotFound { what: "token", name: name.to_owned() }),
            _ => Ok(()),
        }
    }
}

/// So that a token that lies around can be recognised.
const PREFIX: &str = "rt_";
/// A use is noted once in this time, so that reading does not write.
const NOTED: Nanos = Nanos::from_secs(60);
/// Expired tokens are listed for this time.
const KEPT: Nanos = Nanos::from_secs(30 * 24 * 3_600);

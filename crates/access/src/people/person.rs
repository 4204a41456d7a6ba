//! People as they are listed.

use std::net::IpAddr;

use ringtap_model::Nanos;
use rusqlite::Row;
use rusqlite::types::Type;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::audit::Actor;
use crate::error::Error;
use crate::role::{Right, Rights, Role};
use crate::scope::Scope;

/// Somebody who may log in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Person {
    /// In lower case.
    pub name: String,
    /// What the person may do.
    pub role: Role,
    /// With which calls.
    pub scope: Scope,
    /// May not log in, nor use tokens.
    pub disabled: bool,
    /// Has to choose a password before anything else.
    pub must_change: bool,
    /// Has a second factor.
    pub totp: bool,
    /// Recovery codes that were not used yet.
    pub recovery_codes: u32,
    /// Passkeys that log the person in.
    pub passkeys: u32,
    /// When the person was added.
    #[serde(rename = "created_us")]
    pub created: Nanos,
    /// When the person last logged in.
    #[serde(rename = "last_login_us")]
    pub last_login: Option<Nanos>,
}

/// Somebody to be added.
#[derive(Clone, Debug)]
pub struct NewPerson<'a> {
    /// Case makes no difference.
    pub name: &'a str,
    /// What the person may do.
    pub role: Role,
    /// With which calls.
    pub scope: Scope,
    /// The first password.
    pub password: &'a str,
    /// Whether another password has to be chosen at the first login.
    pub must_change: bool,
}

/// Who a session or a token lets in, and what for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The person.
    pub name: String,
    /// The person's role.
    pub role: Role,
    /// What is permitted now: nothing while a password has to be chosen.
    pub rights: Rights,
    /// With which calls.
    pub scope: Scope,
    /// By what.
    pub credential: Credential,
    /// A password has to be chosen before anything else.
    pub must_change: bool,
    /// An identity provider vouched for the person when the session began.
    pub by_provider: bool,
}

/// What lets somebody in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Credential {
    /// The session of that number.
    Session(u64),
    /// The token of that name.
    Token(String),
}

impl Identity {
    /// Whether that is permitted.
    pub fn may(&self, right: Right) -> bool {
        self.rights.has(right)
    }

    /// For the audit log: who, and from that address.
    pub fn actor(&self, from: IpAddr) -> Actor {
        let who = match &self.credential {
            Credential::Session(_) => self.name.clone(),
            Credential::Token(token) => format!("{} (token {token})", self.name),
        };
        Actor { who, role: Some(self.role), from: from.to_canonical().to_string() }
    }
}

/// A name as it is stored.
pub(crate) fn name(text: &str) -> Result<String, Error> {
    let is_inner = |letter: char| letter.is_ascii_alphanumeric() || ".-_@".contains(letter);
    let is_name = text.starts_with(|letter: char| letter.is_ascii_alphanumeric())
        && text.len() <= LONGEST_NAME
        && text.chars().all(is_inner);
    match is_name {
        true => Ok(text.to_ascii_lowercase()),
        false => Err(Error::Name { name: text.chars().take(LONGEST_NAME).collect() }),
    }
}

/// The columns of [`of_row`].
pub(crate) const COLUMNS: &str = "name, role, scope, disabled, must_change, totp IS NOT NULL, created, \
     last_login, (SELECT count(*) FROM recovery_codes WHERE person = name), \
     (SELECT count(*) FROM passkeys WHERE person = people.name)";

/// A person, from a row of [`COLUMNS`].
pub(crate) fn of_row(row: &Row<'_>) -> rusqlite::Result<Person> {
    Ok(Person {
        name: row.get(0)?,
        role: role(row, 1)?,
        scope: json(row, 2)?,
        disabled: row.get(3)?,
        must_change: row.get(4)?,
        totp: row.get(5)?,
        created: time(row, 6)?,
        last_login: row.get::<_, Option<i64>>(7)?.map(of_micros),
        recovery_codes: row.get(8)?,
        passkeys: row.get(9)?,
    })
}

pub(crate) fn role(row: &Row<'_>, column: usize) -> rusqlite::Result<Role> {
    let text: String = row.get(column)?;
    text.parse().map_err(|problem: String| unreadable(column, problem))
}

pub(crate) fn json<T: DeserializeOwned>(row: &Row<'_>, column: usize) -> rusqlite::Result<T> {
    let text: String = row.get(column)?;
    serde_json::from_str(&text).map_err(|error| unreadable(column, error.to_string()))
}

pub(crate) fn time(row: &Row<'_>, column: usize) -> rusqlite::Result<Nanos> {
    row.get(column).map(of_micros)
}

/// Times are stored in microseconds, as everywhere.
pub(crate) fn micros(time: Nanos) -> i64 {
    i64::try_from(time.micros()).unwrap_or(i64::MAX)
}

fn of_micros(micros: i64) -> Nanos {
    Nanos::from_micros(u64::try_from(micros).unwrap_or(0))
}

/// Serialising lists of texts cannot fail.
pub(crate) fn to_json(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

fn unreadable(column: usize, problem: String) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(column, Type::Text, problem.into())
}

const LONGEST_NAME: usize = 64;

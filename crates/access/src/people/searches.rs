//! Searches that people keep under a name, and share with others.

use ringtap_model::Nanos;
use rusqlite::{OptionalExtension, Row, Transaction, params};

use crate::error::Error;
use crate::people::database::Failure;
use crate::people::person::{json, micros, time};
use crate::people::store::People;
use crate::scope::Scope;

/// A search that somebody keeps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SavedSearch {
    /// By which it is named in requests.
    pub number: u64,
    /// Whose it is.
    pub owner: String,
    /// The calls that its owner may see.
    pub owner_scope: Scope,
    /// What it is called: unique among those of the person.
    pub name: String,
    /// The search, in the search language.
    pub query: String,
    /// Others see it as well.
    pub shared: bool,
    /// When it was saved or last changed.
    pub saved: Nanos,
}

/// A search to be kept, or what becomes of one.
#[derive(Clone, Debug)]
pub struct NewSearch<'a> {
    /// What it is called.
    pub name: &'a str,
    /// The search.
    pub query: &'a str,
    /// Whether others see it as well.
    pub shared: bool,
}

impl People {
    /// The searches of a person by name, and behind them what others share whose accounts are not disabled.
    ///
    /// # Errors
    ///
    /// The file cannot be read.
    pub fn searches(&self, person: &str) -> Result<Vec<SavedSearch>, Error> {
        let sql = format!(
            "{SELECT} WHERE person = ?1 OR shared AND NOT disabled \
             ORDER BY person != ?1, person, searches.name COLLATE NOCASE"
        );
        self.database.rows(&sql, [person.to_ascii_lowercase()], of_row)
    }

    /// One of a person's own searches.
    ///
    /// # Errors
    ///
    /// The person has none of that number.
    pub fn search(&self, person: &str, number: u64) -> Result<SavedSearch, Error> {
        let sql = format!("{SELECT} WHERE person = ?1 AND number = ?2");
        let found = self.database.row(&sql, params![person.to_ascii_lowercase(), id(number)], of_row)?;
        found.ok_or_else(|| not_found(number))
    }

    /// Keeps a search.
    ///
    /// # Errors
    ///
    /// Its name or text cannot be kept, the name is in use, or the person has too many.
    pub fn save_search(&self, person: &str, new: &NewSearch<'_>, now: Nanos) -> Result<SavedSearch, Error> {
        let (name, query) = checked(new)?;
        let (person, most) = (person.to_ascii_lowercase(), self.settings.searches_each);
        let number = self.database.change("changed", |transaction| {
            let sql = "SELECT count(*) FROM searches WHERE person = ?1";
            if transaction.query_row(sql, [&person], |row| row.get::<_, usize>(0))? >= most {
                return Err(Error::TooManySearches { most }.into());
            }
            is_free(transaction, &person, name, None)?;
            transaction.execute(
                "INSERT INTO searches (person, name, query, shared, saved) VALUES (?1, ?2, ?3, ?4, ?5)",
                params![person, name, query, new.shared, micros(now)],
            )?;
            Ok(transaction.last_insert_rowid())
        })?;
        self.search(&person, u64::try_from(number).unwrap_or(0))
    }

    /// Changes one of a person's own searches.
    ///
    /// # Errors
    ///
    /// The person has none of that number, or as [`save_search`](Self::save_search).
    pub fn change_search(
        &self,
        person: &str,
        number: u64,
        new: &NewSearch<'_>,
        now: Nanos,
    ) -> Result<SavedSearch, Error> {
        let (name, query) = checked(new)?;
        let person = person.to_ascii_lowercase();
        self.database.change("changed", |transaction| {
            is_free(transaction, &person, name, Some(number))?;
            let changed = transaction.execute(
                "UPDATE searches SET name = ?3, query = ?4, shared = ?5, saved = ?6 \
                 WHERE person = ?1 AND number = ?2",
                params![person, id(number), name, query, new.shared, micros(now)],
            )?;
            if changed == 0 { Err(not_found(number).into()) } else { Ok(()) }
        })?;
        self.search(&person, number)
    }

    /// Removes one of a person's own searches.
    ///
    /// # Errors
    ///
    /// The person has none of that number.
    pub fn remove_search(&self, person: &str, number: u64) -> Result<(), Error> {
        let removed = self.database.change("changed", |transaction| {
            let sql = "DELETE FROM searches WHERE person = ?1 AND number = ?2";
            Ok(transaction.execute(sql, params![person.to_ascii_lowercase(), id(number)])?)
        })?;
        if removed == 0 { Err(not_found(number)) } else { Ok(()) }
    }
}

/// Name and text as they are stored.
fn checked<'a>(new: &NewSearch<'a>) -> Result<(&'a str, &'a str), Error> {
    let (name, query) = (new.name.trim(), new.query.trim());
    if name.is_empty() || name.chars().count() > LONGEST_NAME || name.chars().any(char::is_control) {
        return Err(Error::Search("give it a name of 1 to 64 characters on one line"));
    }
    if query.is_empty() || query.len() > LONGEST_QUERY {
        return Err(Error::Search("it has to have 1 to 4,096 bytes"));
    }
    Ok((name, query))
}

/// Refuses a name that another search of the person has.
fn is_free(transaction: &Transaction<'_>, person: &str, name: &str, own: Option<u64>) -> Result<(), Failure> {
    let sql = "SELECT number FROM searches WHERE person = ?1 AND name = ?2 COLLATE NOCASE";
    let found = transaction.query_row(sql, [person, name], |row| row.get::<_, i64>(0)).optional()?;
    match found.is_some_and(|number| own.map(id) != Some(number)) {
        true => Err(Error::Exists { name: name.to_owned() }.into()),
        false => Ok(()),
    }
}

fn of_row(row: &Row<'_>) -> rusqlite::Result<SavedSearch> {
    Ok(SavedSearch {
        number: u64::try_from(row.get::<_, i64>(0)?).unwrap_or(0),
        owner: row.get(1)?,
        owner_scope: json(row, 2)?,
        name: row.get(3)?,
        query: row.get(4)?,
        shared: row.get(5)?,
        saved: time(row, 6)?,
    })
}

/// A number as SQLite has it; one that is too large is nobody's.
fn id(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(-1)
}

fn not_found(number: u64) -> Error {
    Error::NotFound { what: "search of yours", name: number.to_string() }
}

const SELECT: &str = "SELECT number, person, people.scope, searches.name, query, shared, saved \
     FROM searches JOIN people ON people.name = person";
/// Characters of a name.
const LONGEST_NAME: usize = 64;
/// Bytes of a search.
const LONGEST_QUERY: usize = 4_096;

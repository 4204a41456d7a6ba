//! Adds, lists and changes people.

use ringtap_model::Nanos;
use rusqlite::{Transaction, params};

use crate::error::{Error, Refusal};
use crate::people::database::Failure;
use crate::people::password::check_strength;
use crate::people::person::{COLUMNS, NewPerson, Person, micros, name, of_row, to_json};
use crate::people::store::People;
use crate::role::Role;
use crate::scope::Scope;

impl People {
    /// Everybody, by name.
    ///
    /// # Errors
    ///
    /// The file cannot be read; so with all that follow.
    pub fn list(&self) -> Result<Vec<Person>, Error> {
        self.database.rows(&format!("SELECT {COLUMNS} FROM people ORDER BY name"), [], of_row)
    }

    /// One person; none if nobody has that name.
    ///
    /// # Errors
    ///
    /// As [`list`](Self::list).
    pub fn find(&self, name: &str) -> Result<Option<Person>, Error> {
        let sql = format!("SELECT {COLUMNS} FROM people WHERE name = ?1");
        self.database.row(&sql, [name.to_ascii_lowercase()], of_row)
    }

    /// Whether somebody can administer the console: without, it needs `ringtap console setup`.
    ///
    /// # Errors
    ///
    /// As [`list`](Self::list).
    pub fn has_administrator(&self) -> Result<bool, Error> {
        let sql = "SELECT EXISTS (SELECT 1 FROM people WHERE role = 'administrator' AND NOT disabled)";
        Ok(self.database.row(sql, [], |row| row.get(0))?.unwrap_or(false))
    }

    /// Adds somebody.
    ///
    /// # Errors
    ///
    /// The name is in use or cannot be one, or the password is weak.
    pub fn add(&self, new: &NewPerson<'_>, now: Nanos) -> Result<Person, Refusal> {
        let name = name(new.name)?;
        check_strength(&name, new.password)?;
        let hash = self.hasher.hash(new.password)?;
        self.database.change("added", |transaction| {
            let added = transaction.execute(
                "INSERT OR IGNORE INTO people (name, role, scope, password, must_change, created) \
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
                params![name, new.role.name(), to_json(&new.scope), hash, new.must_change, micros(now)],
            )?;
            match added {
                0 => Err(Error::Exists { name: name.clone() }.into()),
                _ => Ok(()),
            }
        })?;
        let found = self.find(&name)?;
        Ok(found.ok_or(Error::Nobody { name })?)
    }

    /// Gives a person another role. It holds for sessions and tokens that there are.
    ///
    /// # Errors
    ///
    /// Nobody has that name, or it is the last administrator.
    pub fn set_role(&self, name: &str, role: Role) -> Result<(), Error> {
        self.change_person(name, |transaction, name| {
            Ok(transaction
                .execute("UPDATE people SET role = ?2 WHERE name = ?1", params![name, role.name()])?)
        })
    }

    /// Gives a person another scope. It holds for sessions and tokens that there are.
    ///
    /// # Errors
    ///
    /// Nobody has that name.
    pub fn set_scope(&self, name: &str, scope: &Scope) -> Result<(), Error> {
        self.change_person(name, |transaction, name| {
            Ok(transaction
                .execute("UPDATE people SET scope = ?2 WHERE name = ?1", params![name, to_json(scope)])?)
        })
    }

    /// Disables a person, and ends all sessions of it; or enables it again.
    ///
    /// # Errors
    ///
    /// Nobody has that name, or it is the last administrator.
    pub fn set_disabled(&self, name: &str, disabled: bool) -> Result<(), Error> {
        self.change_person(name, |transaction, name| {
            transaction.execute("DELETE FROM sessions WHERE person = ?1 AND ?2", params![name, disabled])?;
            Ok(transaction
                .execute("UPDATE people SET disabled = ?2 WHERE name = ?1", params![name, disabled])?)
        })
    }

    /// Gives a person another password, ends all its sessions and removes its passkeys: the account may have
    /// been in the hands of somebody else, who would log in by one of those.
    ///
    /// # Errors
    ///
    /// Nobody has that name, or the password is weak.
    pub fn set_password(&self, name: &str, password: &str, must_change: bool) -> Result<(), Refusal> {
        check_strength(name, password)?;
        let hash = self.hasher.hash(password)?;
        self.change_person(name, |transaction, name| {
            transaction.execute("DELETE FROM sessions WHERE person = ?1", [name])?;
            transaction.execute("DELETE FROM passkeys WHERE person = ?1", [name])?;
            Ok(transaction.execute(
                "UPDATE people SET password = ?2, must_change = ?3 WHERE name = ?1",
                params![name, hash, must_change],
            )?)
        })?;
        self.lockout.clear(&name.to_ascii_lowercase());
        Ok(())
    }

    /// Changes the row of a person; somebody must be left who can administer.
    pub(super) fn change_person(
        &self,
        name: &str,
        change: impl FnOnce(&Transaction<'_>, &str) -> Result<usize, Failure>,
    ) -> Result<(), Error> {
        let name = name.to_ascii_lowercase();
        self.database.change("changed", |transaction| {
            let before = administrators(transaction)?;
            if change(transaction, &name)? == 0 {
                return Err(Error::Nobody { name }.into());
            }
            match administrators(transaction)? {
                0 if before > 0 => Err(Error::LastAdministrator { name }.into()),
                _ => Ok(()),
            }
        })
    }
}

fn administrators(transaction: &Transaction<'_>) -> rusqlite::Result<u64> {
    let sql = "SELECT count(*) FROM people WHERE role = 'administrator' AND NOT disabled";
    transaction.query_row(sql, [], |row| row.get(0))
}

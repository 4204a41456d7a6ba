//! The file `people.sqlite`.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use rusqlite::{Connection, OptionalExtension, Params, Row, Transaction, TransactionBehavior};

use crate::error::Error;
use crate::files;

/// An open file. Several processes may use it.
pub(crate) struct Database {
    path: PathBuf,
    connection: Mutex<Connection>,
}

impl Database {
    /// Opens the file in that directory, or makes it, mode 0600.
    pub(crate) fn open(dir: &Path) -> Result<Self, Error> {
        files::private_dir(dir)?;
        let path = dir.join("people.sqlite");
        // SQLite gives its other files the mode of this one.
        files::open_or_create(&path).map_err(|error| Error::io(&path, "opened", error))?;
        let failed = |error: rusqlite::Error| failed(&path, "opened", &error);
        let mut connection = Connection::open(&path).map_err(failed)?;
        connection.busy_timeout(PATIENCE).map_err(failed)?;
        connection.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(())).map_err(failed)?;
        // What is acknowledged, such as a changed password, survives a power cut.
        connection.pragma_update(None, "synchronous", "FULL").map_err(failed)?;
        // What is deleted is overwritten: hashes of old passwords, secrets of old phones.
        connection.pragma_update_and_check(None, "secure_delete", "ON", |_| Ok(())).map_err(failed)?;
        create(&mut connection, &path)?;
        Ok(Self { path, connection: Mutex::new(connection) })
    }

    /// Changes something: all of it, or nothing.
    pub(crate) fn change<T>(
        &self,
        action: &'static str,
        change: impl FnOnce(&Transaction<'_>) -> Result<T, Failure>,
    ) -> Result<T, Error> {
        let mut connection = self.connection();
        let begun = connection.transaction_with_behavior(TransactionBehavior::Immediate);
        let transaction = begun.map_err(|error| failed(&self.path, action, &error))?;
        let changed = change(&transaction).and_then(|changed| Ok(transaction.commit().map(|()| changed)?));
        changed.map_err(|failure| match failure {
            Failure::Refused(error) => error,
            Failure::Database(error) => failed(&self.path, action, &error),
        })
    }

    /// One row; none if there is none.
    pub(crate) fn row<T>(
        &self,
        sql: &str,
        params: impl Params,
        read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Option<T>, Error> {
        let connection = self.connection();
        let found = connection.prepare_cached(sql).and_then(|mut ask| ask.query_row(params, read).optional());
        found.map_err(|error| failed(&self.path, "read", &error))
    }

    /// All rows.
    pub(crate) fn rows<T>(
        &self,
        sql: &str,
        params: impl Params,
        read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, Error> {
        let connection = self.connection();
        let found = connection.prepare_cached(sql).and_then(|mut ask| ask.query_map(params, read)?.collect());
        found.map_err(|error| failed(&self.path, "read", &error))
    }

    fn connection(&self) -> MutexGuard<'_, Connection> {
        self.connection.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

/// Why a change is not made.
pub(crate) enum Failure {
    Refused(Error),
    Database(rusqlite::Error),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Refused(error)
    }
}

impl From<rusqlite::Error> for Failure {
    fn from(error: rusqlite::Error) -> Self {
        Self::Database(error)
    }
}

fn failed(path: &Path, action: &'static str, error: &rusqlite::Error) -> Error {
    let problem = match error.sqlite_error_code() {
        Some(rusqlite::ErrorCode::NotADatabase | rusqlite::ErrorCode::DatabaseCorrupt) => {
            format!("{error}; restore the file from a copy")
        }
        Some(rusqlite::ErrorCode::DiskFull) => format!("{error}; free some space on that disk"),
        _ => error.to_string(),
    };
    Error::Database { path: path.to_owned(), action, problem }
}

fn create(connection: &mut Connection, path: &Path) -> Result<(), Error> {
    let failed = |error: rusqlite::Error| failed(path, "opened", &error);
    let pragma = |name| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0)).map_err(failed);
    match (pragma("application_id")?, pragma("user_version")?) {
        (APPLICATION, VERSION) => return Ok(()),
        // What earlier versions do not have yet is added.
        (0, 0) | (APPLICATION, 1..VERSION) => {}
        (_, version) => {
            return Err(Error::Database {
                path: path.to_owned(),
                action: "opened",
                problem: format!(
                    "it is of version {version}, and this program knows version {VERSION}; use the program \
                     that wrote it, or a newer one"
                ),
            });
        }
    }
    make(connection).map_err(failed)
}

fn make(connection: &mut Connection) -> rusqlite::Result<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Another process may have been faster.
    transaction.execute_batch(SCHEMA)?;
    // A table that there was already lacks what came later.
    let known = "SELECT count(*) FROM pragma_table_info('sessions') WHERE name = 'by_provider'";
    if transaction.query_row(known, [], |row| row.get::<_, u32>(0))? == 0 {
        let add = "ALTER TABLE sessions ADD COLUMN by_provider INTEGER NOT NULL DEFAULT 0";
        transaction.execute_batch(add)?;
    }
    transaction.pragma_update(None, "application_id", APPLICATION)?;
    transaction.pragma_update(None, "user_version", VERSION)?;
    transaction.commit()
}

/// `RTPE`.
const APPLICATION: i64 = 0x5254_5045;
const VERSION: i64 = 5;

const SCHEMA: &str = "
CREATE TABLE IF NOT EXISTS people (
    name TEXT PRIMARY KEY,
    role TEXT NOT NULL,
    scope TEXT NOT NULL,
    password TEXT NOT NULL,
    must_change INTEGER NOT NULL,
    disabled INTEGER NOT NULL DEFAULT 0,
    created INTEGER NOT NULL,
    last_login INTEGER,
    -- Addresses that the person has logged in from, as JSON, the newest last.
    familiar TEXT NOT NULL DEFAULT '[]',
    totp BLOB,
    -- A secret that no code has confirmed yet.
    totp_new BLOB,
    -- The step of the newest code that was accepted.
    totp_step INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS sessions (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    hash BLOB NOT NULL UNIQUE,
    person TEXT NOT NULL REFERENCES people (name),
    address TEXT NOT NULL,
    agent TEXT NOT NULL,
    began INTEGER NOT NULL,
    used INTEGER NOT NULL,
    expires INTEGER NOT NULL,
    -- An identity provider vouched for the person.
    by_provider INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE TABLE IF NOT EXISTS tokens (
    hash BLOB PRIMARY KEY,
    person TEXT NOT NULL REFERENCES people (name),
    name TEXT NOT NULL,
    rights TEXT NOT NULL,
    scope TEXT NOT NULL,
    created INTEGER NOT NULL,
    expires INTEGER NOT NULL,
    used INTEGER,
    UNIQUE (person, name)
) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS recovery_codes (
    person TEXT NOT NULL REFERENCES people (name),
    hash BLOB NOT NULL,
    PRIMARY KEY (person, hash)
) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS passkeys (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    credential BLOB NOT NULL UNIQUE,
    person TEXT NOT NULL REFERENCES people (name),
    name TEXT NOT NULL,
    site TEXT NOT NULL,
    -- The public key, as COSE has it.
    key BLOB NOT NULL,
    counter INTEGER NOT NULL,
    synchronised INTEGER NOT NULL,
    created INTEGER NOT NULL,
    used INTEGER
) STRICT;
CREATE INDEX IF NOT EXISTS passkeys_of ON passkeys (person);
-- What authenticators know people by.
CREATE TABLE IF NOT EXISTS passkey_handles (
    person TEXT PRIMARY KEY REFERENCES people (name),
    handle BLOB NOT NULL UNIQUE
) STRICT, WITHOUT ROWID;
-- Whom identity providers know people as.
CREATE TABLE IF NOT EXISTS provider_subjects (
    issuer TEXT NOT NULL,
    subject TEXT NOT NULL,
    person TEXT NOT NULL REFERENCES people (name),
    PRIMARY KEY (issuer, subject),
    UNIQUE (issuer, person)
) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS searches (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    person TEXT NOT NULL REFERENCES people (name),
    name TEXT NOT NULL COLLATE NOCASE,
    query TEXT NOT NULL,
    shared INTEGER NOT NULL,
    saved INTEGER NOT NULL,
    UNIQUE (person, name)
) STRICT;
";

/// How long to wait for another process.
const PATIENCE: Duration = Duration::from_secs(5);

//! The day files that are written to.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ringtap_model::{Id, Nanos};
use rusqlite::types::Value as Sql;
use rusqlite::{Connection, Transaction, params_from_iter};
use serde_json::Value;

use crate::row::{Kind, Row};
use crate::{Day, Error, schema};

/// The day files of a directory, those in use open.
#[derive(Debug)]
pub(crate) struct Files {
    dir: PathBuf,
    /// Bounds the size of each file: a full disk for tests.
    pages: Option<u32>,
    /// How long another process's lock is waited for.
    patience: Duration,
    open: BTreeMap<Day, Open>,
    used: BTreeSet<Day>,
}

/// An open file, and which file it was when it was opened.
#[derive(Debug)]
struct Open {
    connection: Connection,
    inode: Option<(u64, u64)>,
}

impl Files {
    /// The files of that directory, which is created where it does not exist.
    pub(crate) fn create(dir: &Path, patience: Duration, pages: Option<u32>) -> Result<Self, Error> {
        fs::create_dir_all(dir).map_err(|error| match error.kind() {
            // Also where a file system, such as proc, takes no new directories.
            io::ErrorKind::NotFound => Error::CannotCreate { path: dir.to_owned() },
            _ => Error::io(dir, error),
        })?;
        Ok(Self { dir: dir.to_owned(), pages, patience, open: BTreeMap::new(), used: BTreeSet::new() })
    }

    /// How many day files were written to.
    pub(crate) fn days(&self) -> u64 {
        self.used.len() as u64
    }

    /// One transaction a day; each is durable when this returns. After an error some days may be written and others not:
    /// the same rows again do no harm.
    pub(crate) fn store<'a>(&mut self, rows: impl IntoIterator<Item = &'a Row>) -> Result<(), Error> {
        let mut days = BTreeMap::<Day, Vec<&Row>>::new();
        for row in rows {
            days.entry(row.day()).or_default().push(row);
        }
        for (day, rows) in days {
            let path = self.dir.join(day.file_name());
            let failed = |error| Error::database(&path, error);
            let transaction = self.connection(day, &path)?.transaction().map_err(failed)?;
            for row in rows {
                insert(&transaction, row).map_err(failed)?;
            }
            transaction.commit().map_err(failed)?;
            self.used.insert(day);
        }
        Ok(())
    }

    /// Closes every file, so that the next use begins with what is there then.
    pub(crate) fn close(&mut self) {
        self.open.clear();
    }

    /// Deletes the files of days that ended before `limit`, and tells which.
    pub(crate) fn forget(&mut self, limit: Nanos) -> Result<Vec<Day>, Error> {
        let mut gone = Vec::new();
        for entry in fs::read_dir(&self.dir).map_err(|error| Error::io(&self.dir, error))?.flatten() {
            let name = entry.file_name();
            let Some(day) = name.to_str().and_then(Day::from_file_name) else { continue };
            if day.end() > limit {
                continue;
            }
            self.delete(day)?;
            gone.push(day);
        }
        gone.sort();
        Ok(gone)
    }

    /// Deletes the records of a call, and every day file that has no record of a call or a stream then.
    pub(crate) fn remove(&mut self, call: &Id) -> Result<(), Error> {
        let call = call.to_string();
        for entry in fs::read_dir(&self.dir).map_err(|error| Error::io(&self.dir, error))?.flatten() {
            let name = entry.file_name();
            let Some(day) = name.to_str().and_then(Day::from_file_name) else { continue };
            let path = entry.path();
            let failed = |error| Error::database(&path, error);
            let connection = self.connection(day, &path)?;
            for sql in [
                "DELETE FROM calls WHERE id = ?1",
                "DELETE FROM streams WHERE call = ?1",
                "DELETE FROM diversions WHERE call = ?1",
            ] {
                connection.execute(sql, [&call]).map_err(failed)?;
            }
            let left = "SELECT (SELECT count(*) FROM calls) + (SELECT count(*) FROM streams)";
            let left: i64 = connection.query_row(left, [], |row| row.get(0)).map_err(failed)?;
            if left == 0 {
                self.delete(day)?;
            }
        }
        Ok(())
    }

    fn delete(&mut self, day: Day) -> Result<(), Error> {
        self.open.remove(&day);
        let path = self.dir.join(day.file_name());
        fs::remove_file(&path).map_err(|error| Error::io(&path, error))?;
        for suffix in ["-wal", "-shm"] {
            let mut beside = path.clone().into_os_string();
            beside.push(suffix);
            // A file that was closed well has none.
            let _ = fs::remove_file(PathBuf::from(beside));
        }
        Ok(())
    }

    fn connection(&mut self, day: Day, path: &Path) -> Result<&mut Connection, Error> {
        // A file that was moved away or deleted would swallow what is written to it unseen.
        let inode = inode(path);
        if self.open.get(&day).is_some_and(|open| open.inode != inode) {
            self.open.remove(&day);
        }
        if !self.open.contains_key(&day) {
            if self.open.len() >= OPEN {
                // The oldest day: records of it come least.
                self.open.pop_first();
            }
            let connection = open(path, self.patience, self.pages)?;
            self.open.insert(day, Open { connection, inode: self::inode(path) });
        }
        // Just inserted where it was missing.
        let open = self.open.get_mut(&day).ok_or_else(|| Error::Stopped { path: path.to_owned() })?;
        Ok(&mut open.connection)
    }
}

fn inode(path: &Path) -> Option<(u64, u64)> {
    fs::metadata(path).ok().map(|file| (file.dev(), file.ino()))
}

/// Opens a day file to write, creating and migrating it as needed.
///
/// synchronous=FULL: in WAL mode a commit then syncs the log, so that what is acknowledged survives a power cut and not
/// the process alone. A batch costs one sync.
fn open(path: &Path, patience: Duration, pages: Option<u32>) -> Result<Connection, Error> {
    let failed = |error| Error::database(path, error);
    let mut connection = Connection::open(path).map_err(failed)?;
    connection.busy_timeout(patience).map_err(failed)?;
    connection.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(())).map_err(failed)?;
    connection.pragma_update(None, "synchronous", "FULL").map_err(failed)?;
    // Ids are spread evenly: their index is touched all over, and had better be in memory. In KiB where negative.
    connection.pragma_update(None, "cache_size", -32_768).map_err(failed)?;
    if let Some(pages) = pages {
        connection.pragma_update_and_check(None, "max_page_count", pages, |_| Ok(())).map_err(failed)?;
    }
    schema::migrate(&mut connection, path)?;
    Ok(connection)
}

/// Writes a record under its id; the same record again touches nothing, and one from the journal no other.
fn insert(transaction: &Transaction<'_>, row: &Row) -> rusqlite::Result<()> {
    let fields = row.fields();
    let mut columns: Vec<&str> = row.kind.table().columns.to_vec();
    let mut values: Vec<Sql> = columns.iter().map(|&column| sql(&fields[column])).collect();
    if row.kind == Kind::Call {
        columns.push("start_us");
        values.push(Sql::Integer(integer(row.start.micros())));
    }
    columns.push("json");
    values.push(Sql::Text(row.json.clone()));
    let changed =
        transaction.prepare_cached(&upsert_sql(row, &columns))?.execute(params_from_iter(values))?;
    if changed > 0 && row.kind == Kind::Call {
        divert(transaction, &fields)?;
    }
    Ok(())
}

fn upsert_sql(row: &Row, columns: &[&str]) -> String {
    let table = row.kind.table().name;
    let quoted: Vec<_> = columns.iter().map(|column| format!("\"{column}\"")).collect();
    let places: Vec<_> = (1..=columns.len()).map(|number| format!("?{number}")).collect();
    let updates: Vec<_> = quoted.iter().map(|column| format!("{column} = excluded.{column}")).collect();
    if row.journal {
        return format!(
            "INSERT OR IGNORE INTO {table} ({}) VALUES ({})",
            quoted.join(", "),
            places.join(", ")
        );
    }
    format!(
        "INSERT INTO {table} ({}) VALUES ({}) ON CONFLICT (id) DO UPDATE SET {} \
         WHERE {table}.json <> excluded.json",
        quoted.join(", "),
        places.join(", "),
        updates.join(", "),
    )
}

/// Numbers that a call was routed on to, for searching.
fn divert(transaction: &Transaction<'_>, call: &Value) -> rusqlite::Result<()> {
    let id = call["id"].as_str().unwrap_or_default();
    transaction.prepare_cached("DELETE FROM diversions WHERE call = ?1")?.execute([id])?;
    let mut insert =
        transaction.prepare_cached("INSERT OR IGNORE INTO diversions (number, call) VALUES (?1, ?2)")?;
    let numbers = call["diverted_to"].as_array().into_iter().flatten().filter_map(Value::as_str);
    for number in numbers {
        insert.execute([number, id])?;
    }
    Ok(())
}

/// A scalar field as its column holds it; lists and objects are in the JSON alone.
fn sql(value: &Value) -> Sql {
    match value {
        Value::Bool(yes) => Sql::Integer(i64::from(*yes)),
        Value::Number(number) => match number.as_u64() {
            Some(whole) => Sql::Integer(integer(whole)),
            None => number.as_i64().map(Sql::Integer).or(number.as_f64().map(Sql::Real)).unwrap_or(Sql::Null),
        },
        Value::String(text) => Sql::Text(text.clone()),
        Value::Null | Value::Array(_) | Value::Object(_) => Sql::Null,
    }
}

/// SQLite's integers are signed; what is beyond them stops at their end (its JSON is exact).
fn integer(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

/// Files held open.
const OPEN: usize = 8;

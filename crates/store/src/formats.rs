//! The formats of a day file: in which its records are written, and are read.

use std::cell::RefCell;
use std::collections::HashMap;
use std::net::IpAddr;

use ringtap_model::{Endpoint, Id, Value};
use rusqlite::{Connection, OptionalExtension};

use crate::format::{Decoder, Encoder};
use crate::record::{StoredRecord, TABLES};

/// The numbers of this program's formats in a file that is written, by type of record.
#[derive(Debug, Default)]
pub(crate) struct FileFormats([Option<i64>; TABLES]);

impl FileFormats {
    /// The number of this program's format of the records `R`, which is added to the file where that does not
    /// have it.
    pub(crate) fn number<R: StoredRecord>(&mut self, connection: &Connection) -> rusqlite::Result<i64> {
        let place = &mut self.0[R::TYPE as usize];
        if let Some(number) = *place {
            return Ok(number);
        }
        let fields = Encoder::<R>::description(R::APART);
        let format = (R::NAME, fields.as_str(), R::DICTIONARY);
        let find = "SELECT number FROM formats WHERE record = ?1 AND fields = ?2 AND dictionary = ?3";
        let found = connection.query_row(find, format, |row| row.get(0)).optional()?;
        let number = match found {
            Some(number) => number,
            None => {
                let add = "INSERT INTO formats (record, fields, dictionary) VALUES (?1, ?2, ?3)";
                connection.execute(add, format)?;
                connection.last_insert_rowid()
            }
        };
        *place = Some(number);
        Ok(number)
    }
}

/// Reads records of a format of the file; `None` if the file does not describe it.
pub(crate) fn decoder<R: StoredRecord>(
    connection: &Connection,
    format: i64,
) -> rusqlite::Result<Option<Decoder<R>>> {
    let sql = "SELECT fields, dictionary FROM formats WHERE number = ?1 AND record = ?2";
    let mut statement = connection.prepare_cached(sql)?;
    let decoder =
        |row: &rusqlite::Row<'_>| Ok(Decoder::new(row.get_ref(0)?.as_str()?, row.get_ref(1)?.as_blob()?));
    Ok(statement.query_row((format, R::NAME), decoder).optional()?.flatten())
}

/// The formats of a file that is read, by their numbers.
pub(crate) struct Decoders<R>(RefCell<HashMap<i64, Decoder<R>>>);

impl<R> Default for Decoders<R> {
    fn default() -> Self {
        Self(RefCell::default())
    }
}

impl<R: StoredRecord> Decoders<R> {
    /// Reads a record in that format with its decoder; `None` if the file does not describe it.
    pub(crate) fn with<T>(
        &self,
        connection: &Connection,
        format: i64,
        read: impl FnOnce(&mut Decoder<R>) -> T,
    ) -> rusqlite::Result<Option<T>> {
        let mut decoders = self.0.borrow_mut();
        if !decoders.contains_key(&format)
            && let Some(decoder) = decoder(connection, format)?
        {
            decoders.insert(format, decoder);
        }
        Ok(decoders.get_mut(&format).map(read))
    }
}

impl<R> std::fmt::Debug for Decoders<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Decoders")
    }
}

/// The value of a field that is a column alone: an id, an address, or nothing.
pub(crate) fn apart(bytes: &[u8]) -> Value<'static> {
    fn endpoint<const N: usize>(bytes: &[u8], ip: impl Fn([u8; N]) -> IpAddr) -> Option<Endpoint> {
        let (address, port) = bytes.split_first_chunk()?;
        Some(Endpoint::new(ip(*address), u16::from_be_bytes(port.try_into().ok()?)))
    }
    let endpoint = match bytes.len() {
        16 => return bytes.try_into().map_or(Value::Null, |id| Value::Id(Id(id))),
        6 => endpoint::<4>(bytes, IpAddr::from),
        _ => endpoint::<16>(bytes, IpAddr::from),
    };
    endpoint.map_or(Value::Null, Value::Endpoint)
}

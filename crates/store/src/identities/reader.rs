//! Sessions that are stored: who had an address, whose name it is, who is connected now.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::ops::{ControlFlow, Range};
use std::path::{Path, PathBuf};

use ringtap_model::{HeldAddress, Id, Identity, Nanos, Network, Value};
use rusqlite::types::Value as Sql;
use rusqlite::{Connection, Row, params_from_iter};

use super::files::{days, lengths};
use super::ranges::read_ranges;
use super::rows;
use crate::day_reader::open_read_only;
use crate::formats::Decoders;
use crate::record::integer;
use crate::{Day, Error};

/// Searches the sessions of a directory, also while they are written.
///
/// An answer is whole or an error: one file that cannot be read fails the search.
#[derive(Clone, Debug)]
pub struct IdentityReader {
    dir: PathBuf,
}

/// A file, open to read.
struct OpenFile {
    path: PathBuf,
    connection: Connection,
    decoders: Decoders<Identity>,
}

impl IdentityReader {
    /// A reader of the sessions beside the day files of `records`.
    ///
    /// # Errors
    ///
    /// There are none, or they may not be read: they are their owner's alone.
    pub fn open(records: &Path) -> Result<Self, Error> {
        let reader = Self { dir: super::directory(records) };
        let is_empty = reader.days()?.is_empty() && read_ranges(&reader.dir)?.is_empty();
        if is_empty { Err(Error::NoDays { path: reader.dir }) } else { Ok(reader) }
    }

    /// The days that have a file, in order.
    pub fn days(&self) -> Result<Vec<Day>, Error> {
        days(&self.dir)
    }

    /// Sessions that had an address at that time, or at any, in order of their beginning. With a port, those
    /// whose block has it, and those who have all ports.
    pub fn with_address(
        &self,
        address: IpAddr,
        port: Option<u16>,
        at: Option<Nanos>,
    ) -> Result<Vec<Identity>, Error> {
        let address = address.to_canonical();
        let is_in = |held: &HeldAddress| {
            let network: Option<Network> = held.network.parse().ok();
            network.is_some_and(|network| network.holds(address)) && had(held, port, at)
        };
        self.search(|file| file.with_address(address, port, at), |range| range.addresses.iter().any(is_in))
    }

    /// Sessions of a user or a station at that time, or at any, in order of their beginning. Ranges that
    /// never change hands are among both.
    pub fn named(&self, name: &str, at: Option<Nanos>) -> Result<Vec<Identity>, Error> {
        self.search(|file| file.named(name, at), |range| is_of(range, name, at))
    }

    /// Passes each session that has not ended, as far as anybody knows.
    pub fn open_sessions(&self, mut each: impl FnMut(Identity)) -> Result<(), Error> {
        for day in self.days()? {
            let Some(file) = self.open_day(day)? else { continue };
            file.each("is_open", &[], &mut each)?;
        }
        Ok(())
    }

    /// Passes each session that went on in some of that time, in no order, until `each` breaks; those that
    /// have not ended as far as anybody knows as well. Few are in memory at a time.
    pub fn each_between(
        &self,
        time: Range<Nanos>,
        mut each: impl FnMut(Identity) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>, Error> {
        let is_then =
            |session: &Identity| session.start < time.end && session.end.is_none_or(|end| end > time.start);
        for range in read_ranges(&self.dir)?.into_iter().filter(is_then) {
            if each(range).is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        // What was first heard of later may have begun before.
        let ends = [Sql::from(integer(time.start.micros()))];
        for day in self.days()? {
            let Some(file) = self.open_day(day)? else { continue };
            let flow = file.each_until("is_open OR last_us >= ?1", &ends, &mut |session| {
                if is_then(&session) { each(session) } else { ControlFlow::Continue(()) }
            })?;
            if flow.is_break() {
                return Ok(flow);
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    fn search(
        &self,
        mut of_day: impl FnMut(&OpenFile) -> Result<Vec<Identity>, Error>,
        is_range: impl Fn(&Identity) -> bool,
    ) -> Result<Vec<Identity>, Error> {
        let mut found: BTreeMap<(Nanos, Id), Identity> = BTreeMap::new();
        let ranges = read_ranges(&self.dir)?.into_iter().filter(is_range);
        found.extend(ranges.map(|range| ((range.start, range.id), range)));
        for day in self.days()? {
            let Some(file) = self.open_day(day)? else { continue };
            found.extend(of_day(&file)?.into_iter().map(|session| ((session.start, session.id), session)));
        }
        Ok(found.into_values().collect())
    }

    /// The file of a day; none if it was created but never written, or has just been deleted.
    fn open_day(&self, day: Day) -> Result<Option<OpenFile>, Error> {
        let path = self.dir.join(day.file_name());
        let connection = match open_read_only(&path) {
            Err(_) if matches!(path.try_exists(), Ok(false)) => return Ok(None),
            opened => opened?.connection,
        };
        if super::version(&connection, &path)? == 0 {
            return Ok(None);
        }
        Ok(Some(OpenFile { path, connection, decoders: Decoders::default() }))
    }
}

impl OpenFile {
    fn with_address(
        &self,
        address: IpAddr,
        port: Option<u16>,
        at: Option<Nanos>,
    ) -> Result<Vec<Identity>, Error> {
        let lengths = lengths(&self.connection).map_err(|error| self.failed(error))?;
        let (first, last) = at.map_or((-1, i64::MAX), |at| (integer(at.micros()), integer(at.micros())));
        // A block that has the port begins at it or before, and ends at it or behind.
        let (low, high) = port.map_or((0, u16::MAX), |port| (port, port));
        let mut values = vec![first.into(), last.into(), i64::from(low).into(), i64::from(high).into()];
        values.extend(lengths.into_iter().filter_map(|bits| rows::network(address, bits)).map(Sql::Blob));
        let networks: Vec<String> = (5..=values.len()).map(|number| format!("?{number}")).collect();
        let condition = format!(
            "number IN (SELECT identity FROM addresses WHERE network IN ({}) \
             AND from_us <= ?2 AND until_us >= ?1 AND first_port <= ?4 AND last_port >= ?3)",
            networks.join(", "),
        );
        let mut found = Vec::new();
        self.each(&condition, &values, &mut |session: Identity| {
            if session.addresses.iter().any(|held| had(held, port, at)) {
                found.push(session);
            }
        })?;
        Ok(found)
    }

    fn named(&self, name: &str, at: Option<Nanos>) -> Result<Vec<Identity>, Error> {
        let values: Vec<Sql> = rows::names_of(name).into_iter().map(Sql::Blob).collect();
        let names: Vec<String> = (1..=values.len()).map(|number| format!("?{number}")).collect();
        let condition =
            format!("number IN (SELECT identity FROM names WHERE name IN ({}))", names.join(", "));
        let mut found = Vec::new();
        self.each(&condition, &values, &mut |session: Identity| {
            if is_of(&session, name, at) {
                found.push(session);
            }
        })?;
        Ok(found)
    }

    /// Passes the sessions that satisfy a condition.
    fn each(&self, condition: &str, values: &[Sql], each: &mut dyn FnMut(Identity)) -> Result<(), Error> {
        let mut all = |session| {
            each(session);
            ControlFlow::Continue(())
        };
        self.each_until(condition, values, &mut all).map(drop)
    }

    /// The same, until `each` breaks.
    fn each_until(
        &self,
        condition: &str,
        values: &[Sql],
        each: &mut dyn FnMut(Identity) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>, Error> {
        let failed = |error| self.failed(error);
        let sql = format!("SELECT id, first_us, format, record FROM identities WHERE {condition}");
        let mut statement = self.connection.prepare_cached(&sql).map_err(failed)?;
        let mut rows = statement.query(params_from_iter(values)).map_err(failed)?;
        while let Some(row) = rows.next().map_err(failed)? {
            if each(self.session(row)?).is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    fn session(&self, row: &Row<'_>) -> Result<Identity, Error> {
        let failed = |error| self.failed(error);
        let id = Id(row.get(0).map_err(failed)?);
        let first: i64 = row.get(1).map_err(failed)?;
        let format: i64 = row.get(2).map_err(failed)?;
        let compact = row.get_ref(3).map_err(failed)?.as_blob().unwrap_or_default();
        let column = |name: &str| if name == "id" { Value::Id(id) } else { Value::Null };
        let read = self
            .decoders
            .with(&self.connection, format, |decoder| decoder.decode(compact, first.unsigned_abs(), column));
        let read = read.map_err(failed)?;
        read.unwrap_or_else(|| Err(format!("the file does not describe its format {format}"))).map_err(
            |reason| Error::Corrupt {
                path: self.path.clone(),
                reason: format!("the session {id} cannot be read: {reason}"),
            },
        )
    }

    fn failed(&self, error: rusqlite::Error) -> Error {
        Error::database(&self.path, error)
    }
}

/// Whether a session is of that user or station, at that time.
fn is_of(session: &Identity, name: &str, at: Option<Nanos>) -> bool {
    let is_then = at.is_none_or(|at| session.start <= at && session.end.is_none_or(|end| at < end));
    is_then && session.is_named(name)
}

/// Whether the time and the ports of an address are right; the address itself is for the row.
fn had(held: &HeldAddress, port: Option<u16>, at: Option<Nanos>) -> bool {
    let has_port = match (held.first_port, held.last_port, port) {
        (Some(first), Some(last), Some(port)) => (first..=last).contains(&port),
        _ => true,
    };
    has_port && at.is_none_or(|at| held.from <= at && held.until.is_none_or(|until| at < until))
}

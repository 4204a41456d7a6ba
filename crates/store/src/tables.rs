//! Writes records to the tables of one day file, within a transaction that the caller begins and ends.

use ringtap_model::{
    Amendment, Call, CallState, Endpoint, Id, Message, Nanos, Note, Registration, Stream, Transaction, Value,
};
use rusqlite::types::{ToSqlOutput, Value as SqlValue, ValueRef};
use rusqlite::{CachedStatement, Connection, OptionalExtension, Row, ToSql, params, params_from_iter};

use crate::blocks::BlockState;
use crate::changed_minutes::ChangedMinutes;
use crate::formats::{FileFormats, decoder};
use crate::keys::{self, PendingKeys};
use crate::record::{
    AnyRecord, CONVERSATION, Compact, Encoders, PendingRecord, RecordType, StoredRecord, TABLES, integer,
    part_of_day, texts_of,
};
use crate::schema;
use crate::texts::{self, TextStatements, Texts};

/// What is known of a file that is written: valid as long as nothing is rolled back.
#[derive(Debug, Default)]
pub(crate) struct FileState {
    texts: Texts,
    formats: FileFormats,
    notes: Vec<&'static str>,
    keys: PendingKeys,
    pub(crate) changed: ChangedMinutes,
    pub(crate) blocks: BlockState,
}

impl FileState {
    /// Writes the keys of the calls that were written since the last time, before the transaction ends: all
    /// at once, in their order.
    pub(crate) fn write_keys(&mut self, connection: &Connection) -> rusqlite::Result<()> {
        let sql = "INSERT OR IGNORE INTO keys (part, key, call) VALUES (?1, ?2, ?3)";
        let mut insert = connection.prepare_cached(sql)?;
        self.keys.drain(|part, key, call| insert.execute((part, key, call)).map(|_| ()))
    }
}

/// The tables of a file, with the statements that write them.
pub(crate) struct Tables<'t> {
    connection: &'t Connection,
    state: &'t mut FileState,
    encoders: &'t mut Encoders,
    text_statements: TextStatements<'t>,
    insert: [Option<CachedStatement<'t>>; TABLES],
    compact: Vec<u8>,
}

/// What is found under a record's id.
struct Existing {
    row: i64,
    start: u64,
    format: i64,
    compact: Vec<u8>,
    /// The columns of what is not in the compact form.
    columns: Vec<SqlValue>,
}

impl<'t> Tables<'t> {
    pub(crate) fn new(
        connection: &'t Connection,
        state: &'t mut FileState,
        encoders: &'t mut Encoders,
    ) -> rusqlite::Result<Self> {
        if state.notes.is_empty() {
            state.notes = notes_of(connection)?;
        }
        Ok(Self {
            connection,
            state,
            encoders,
            text_statements: TextStatements::new(connection)?,
            insert: [const { None }; TABLES],
            compact: Vec::new(),
        })
    }

    /// Writes a record under its id. The same record again changes nothing.
    pub(crate) fn write(&mut self, pending: &PendingRecord) -> rusqlite::Result<()> {
        let PendingRecord { record, from_journal, compact } = pending;
        self.write_record(record, *from_journal, compact.as_ref())
    }

    fn write_record(
        &mut self,
        record: &AnyRecord,
        from_journal: bool,
        made: Option<&Compact>,
    ) -> rusqlite::Result<()> {
        match record {
            AnyRecord::Call(call) => self.call(call, from_journal, made),
            AnyRecord::Stream(stream) => self.stream(stream, from_journal, made),
            AnyRecord::Registration(registration) => self.registration(registration),
            AnyRecord::Message(message) => self.message(message),
            AnyRecord::Transaction(transaction) => self.transaction(transaction),
            AnyRecord::Alarm(alarm) => self.other(&**alarm, &[]),
            AnyRecord::Outage(outage) => self.other(&**outage, &[]),
            AnyRecord::Failover(failover) => self.other(&**failover, &[]),
            AnyRecord::ServiceHour(hour) => self.other(&**hour, &[]),
            AnyRecord::AffectedCall(call) => self.other(&**call, &[]),
            // Sessions have files of their own.
            AnyRecord::Identity(_) => Ok(()),
            AnyRecord::Amendment(amendment) => self.amendment(amendment),
        }
    }

    /// Notes the conversation that a call has now, whether or not its record is there yet.
    fn amendment(&mut self, amendment: &Amendment) -> rusqlite::Result<()> {
        let Amendment { call, start, conversation, joined_by, reason } = amendment;
        self.state.changed.at(*start);
        let sql = "INSERT OR REPLACE INTO conversations (call, conversation, joined_by, reason) \
                   VALUES (?1, ?2, ?3, ?4)";
        let joined_by = joined_by.as_ref().map(|id| &id.0[..]);
        let values = params![&call.0[..], &conversation.0[..], joined_by, reason.name()];
        self.connection.prepare_cached(sql)?.execute(values).map(|_| ())
    }

    /// Writes a record unless there is one of its id.
    pub(crate) fn write_if_new(&mut self, record: &AnyRecord) -> rusqlite::Result<()> {
        let AnyRecord::Call(call) = record else {
            return self.write_record(record, true, None);
        };
        if call.invite.is_none() && self.find(&**call)?.is_some() {
            return Ok(());
        }
        let (texts, format) = self.encode_call(call, None)?;
        self.insert_call(call, texts, format).map(|_| ())
    }

    fn call(&mut self, call: &Call, from_journal: bool, made: Option<&Compact>) -> rusqlite::Result<()> {
        let (texts, format) = self.encode_call(call, made)?;
        // The id of a call without INVITE does not follow from its start.
        let existing = if call.invite.is_none() { self.find(call)? } else { None };
        if existing.is_none() && self.insert_call(call, texts, format)? {
            return Ok(());
        }
        let Some(existing) = existing.map_or_else(|| self.find(call), |found| Ok(Some(found)))? else {
            return Ok(());
        };
        let old = || self.old_call(&existing);
        if from_journal {
            // The run before the last ended in the middle of the call.
            if !old()?.is_some_and(|old| IN_PROGRESS.contains(&old.state)) {
                return Ok(());
            }
        } else if existing.is_same(format, &self.compact, columns(call, &texts)) {
            return Ok(());
        }
        self.delete_call(&existing)?;
        self.insert_call(call, texts, format)?;
        Ok(())
    }

    /// Makes the compact form of a call; returns the numbers of its texts and of the format.
    fn encode_call(
        &mut self,
        call: &Call,
        made: Option<&Compact>,
    ) -> rusqlite::Result<([Option<i64>; TEXTS], i64)> {
        let (mut numbers, mut known) = ([None; TEXTS], Vec::with_capacity(TEXTS));
        for (place, text) in texts_of(call) {
            let found = self.state.texts.number(text, &mut self.text_statements)?;
            numbers[place] = Some(found);
            if texts::is_whole(text, found) {
                known.push(Call::TEXTS[place]);
            }
        }
        Ok((numbers, self.encode(call, &known, made)?))
    }

    /// Whether there was none of its id in its part of the day.
    fn insert_call(
        &mut self,
        call: &Call,
        [reason, caller, callee]: [Option<i64>; TEXTS],
        format: i64,
    ) -> rusqlite::Result<bool> {
        let state = self.text(Some(call.state.name()))?;
        let released_by = self.text(call.released_by.map(|party| party.name()))?;
        let recorded = self.text(Some(call.recorded.name()))?;
        let notes = self.notes(&call.notes)?;
        let start = StoredRecord::start(call);
        let span = |from: Option<Nanos>, to: Option<Nanos>| Some(span_ms(from?, to?));
        let ring = span(call.ringing, call.answer.or(call.end));
        let (src, dst) = (Address::of(call.src), Address::of(call.dst));
        let compact = &self.compact;
        let conversation = conversation(call.id, call.conversation);
        let values: [&dyn ToSql; 25] = [
            &&call.id.0[..],
            &integer(start.micros()),
            &span(Some(start), call.end),
            &src,
            &dst,
            &state,
            &call.final_code,
            &reason,
            &call.cause,
            &released_by,
            &call.pdd_ms.map(rounded),
            &ring,
            &call.duration_ms.map(rounded),
            &call.retransmissions,
            &caller,
            &callee,
            &call.mos.map(thousandths),
            &call.mos_worst_interval.map(thousandths),
            &integer(call.capture_drops),
            &recorded,
            &(call.streams.len() as i64),
            &notes,
            &conversation,
            &format,
            &&compact[..],
        ];
        let insert = statement::<Call>(&mut self.insert, self.connection)?;
        if insert.execute(&values[..])? == 0 {
            return Ok(false);
        }
        self.state.keys.add(call, part_of_day(start), self.connection.last_insert_rowid());
        self.state.changed.call(call.id, start);
        Ok(true)
    }

    fn stream(
        &mut self,
        stream: &Stream,
        from_journal: bool,
        made: Option<&Compact>,
    ) -> rusqlite::Result<()> {
        let format = self.encode(stream, &[], made)?;
        if self.insert_stream(stream, format)? || from_journal {
            return Ok(());
        }
        match self.find(stream)? {
            Some(existing) if !existing.is_same(format, &self.compact, columns(stream, &[])) => {
                self.delete::<Stream>(existing.row)?;
                self.insert_stream(stream, format).map(|_| ())
            }
            _ => Ok(()),
        }
    }

    fn insert_stream(&mut self, stream: &Stream, format: i64) -> rusqlite::Result<bool> {
        let codec = self.text(stream.codec.as_deref())?;
        let notes = self.notes(&stream.notes)?;
        let call = stream.call.as_ref().map_or(&[][..], |id| &id.0);
        let call_id = stream.call_id.as_deref().unwrap_or_default().as_bytes();
        let (src, dst) = (Address::of(stream.src), Address::of(stream.dst));
        let compact = &self.compact;
        let values: [&dyn ToSql; 17] = [
            &&stream.id.0[..],
            &call,
            &integer(stream.first.micros()),
            &span_ms(stream.first, stream.last),
            &&call_id[..call_id.len().min(STREAM_CALL_ID)],
            &src,
            &dst,
            &codec,
            &stream.ptime_ms.map(thousandths),
            &stream.mos.map(thousandths),
            &thousandths(stream.loss_pct()),
            &stream.jitter_ms_mean.map(thousandths),
            &stream.silence_pct.map(thousandths),
            &stream.clipped_pct.map(thousandths),
            &notes,
            &format,
            &&compact[..],
        ];
        let insert = statement::<Stream>(&mut self.insert, self.connection)?;
        let is_new = insert.execute(&values[..])? > 0;
        if is_new {
            self.state.changed.stream(stream.call);
        }
        Ok(is_new)
    }

    /// Notes that a stream of a call changed that is in the file of another day.
    pub(crate) fn stream_of(&mut self, call: Id) -> rusqlite::Result<()> {
        self.state.changed.stream(Some(call));
        self.state.changed.look_up(self.connection).map(|_| ())
    }

    fn registration(&mut self, registration: &Registration) -> rusqlite::Result<()> {
        let (src, dst) = (Address::of(registration.src), Address::of(registration.dst));
        self.other(registration, &[&src, &dst, &registration.code])
    }

    fn message(&mut self, message: &Message) -> rusqlite::Result<()> {
        let (src, dst) = (Address::of(message.src), Address::of(message.dst));
        self.other(message, &[&src, &dst, &message.code])
    }

    fn transaction(&mut self, transaction: &Transaction) -> rusqlite::Result<()> {
        let (src, dst) = (Address::of(transaction.src), Address::of(transaction.dst));
        self.other(transaction, &[&src, &dst, &transaction.code])
    }

    /// Writes a record whose columns are its id, its beginning, these, and its compact form. It replaces
    /// another of its id.
    fn other<R: StoredRecord>(&mut self, record: &R, columns: &[&dyn ToSql]) -> rusqlite::Result<()> {
        let format = self.encode(record, &[], None)?;
        let (id, start) = (record.id(), integer(record.start().micros()));
        for _ in 0..2 {
            let (id, compact) = (&id.0[..], &self.compact[..]);
            let values: Vec<&dyn ToSql> =
                [&[&id as &dyn ToSql, &start], columns, &[&format, &compact]].concat();
            let insert = statement::<R>(&mut self.insert, self.connection)?;
            if insert.execute(&values[..])? > 0 {
                if R::TYPE == RecordType::Registration {
                    self.state.changed.at(record.start());
                }
                break;
            }
            match self.find(record)? {
                Some(existing) if !existing.is_same(format, &self.compact, self::columns(record, &[])) => {
                    if R::TYPE == RecordType::Registration {
                        // It may have begun in another minute.
                        self.state.changed.at(Nanos::from_micros(existing.start));
                    }
                    self.delete::<R>(existing.row)?
                }
                _ => break,
            }
        }
        Ok(())
    }

    /// Makes the compact form of a record, unless it was made before with the same fields left out; returns
    /// the number of its format in this file.
    fn encode<R: StoredRecord>(
        &mut self,
        record: &R,
        known: &[&str],
        made: Option<&Compact>,
    ) -> rusqlite::Result<i64> {
        match made {
            Some(made) if made.known == known => self.compact.clone_from(&made.bytes),
            _ => R::encoder(self.encoders)
                .encode(record, record.start().micros(), known, &mut self.compact)
                .map_err(|error| rusqlite::Error::ToSqlConversionFailure(Box::new(error)))?,
        }
        self.state.formats.number::<R>(self.connection)
    }

    /// A call that is stored: its keys and its state. What its columns tell beside is not asked for.
    fn old_call(&self, existing: &Existing) -> rusqlite::Result<Option<Call>> {
        let decoder = decoder::<Call>(self.connection, existing.format)?;
        let column = |name: &str| match name {
            "id" => Value::Id(Id([0; 16])),
            "src" | "dst" => Value::Endpoint(Endpoint::new([0; 4].into(), 0)),
            _ => Value::Null,
        };
        Ok(decoder.and_then(|mut decoder| decoder.decode(&existing.compact, existing.start, column).ok()))
    }

    fn text(&mut self, text: Option<&str>) -> rusqlite::Result<Option<i64>> {
        text.map(|text| self.state.texts.number(text, &mut self.text_statements)).transpose()
    }

    /// The bits of these notes.
    fn notes(&mut self, notes: &[Note]) -> rusqlite::Result<i64> {
        let mut bits = 0;
        for note in notes {
            let name = note.code.name();
            let bit = match self.state.notes.iter().position(|other| *other == name) {
                Some(bit) => bit,
                None => {
                    let bit = self.state.notes.len();
                    let sql = "INSERT OR IGNORE INTO notes (bit, code) VALUES (?1, ?2)";
                    self.connection.prepare_cached(sql)?.execute((bit as i64, name))?;
                    self.state.notes.push(name);
                    bit
                }
            };
            bits |= 1 << bit.min(OTHER_NOTES);
        }
        Ok(bits)
    }

    /// The row that has the record's id. For a call: in any part of the day.
    fn find<R: StoredRecord>(&self, record: &R) -> rusqlite::Result<Option<Existing>> {
        let parts =
            if R::TYPE == RecordType::Call { every_part() } else { part_of_day(record.start()).to_string() };
        let condition = match record.call() {
            Some(_) => "substr(call, 9) = substr(?2, 9) AND id = ?1",
            None if R::TYPE == RecordType::Stream => "substr(call, 9) = x'' AND id = ?1",
            None => "id = ?1",
        };
        let call = record.call().map(|id| id.0.to_vec());
        let values = std::iter::once(record.id().0.to_vec()).chain(call);
        let sql = select::<R>(&parts, condition);
        self.connection
            .prepare_cached(&sql)?
            .query_row(params_from_iter(values), Existing::read::<R>)
            .optional()
    }

    /// Deletes a call with its keys.
    fn delete_call(&mut self, existing: &Existing) -> rusqlite::Result<()> {
        self.state.changed.at(Nanos::from_micros(existing.start));
        // It may be of this very transaction.
        self.state.write_keys(self.connection)?;
        delete_keys(self.connection, existing.row, self.old_call(existing)?.as_ref())?;
        self.state.blocks.deleted();
        self.delete::<Call>(existing.row)
    }

    fn delete<R: StoredRecord>(&self, row: i64) -> rusqlite::Result<()> {
        let sql = format!("DELETE FROM {} WHERE number = ?1", R::TABLE);
        self.connection.prepare_cached(&sql)?.execute([row]).map(|_| ())
    }

    /// Deletes the records of a call.
    pub(crate) fn remove(&mut self, call: &Id) -> rusqlite::Result<()> {
        let sql = select::<Call>(&every_part(), "id = ?1");
        let found =
            self.connection.prepare(&sql)?.query_row([&call.0[..]], Existing::read::<Call>).optional()?;
        if let Some(existing) = found {
            self.delete_call(&existing)?;
        }
        self.connection.execute("DELETE FROM conversations WHERE call = ?1", [&call.0[..]])?;
        let sql = format!(
            "DELETE FROM streams WHERE {} IN ({}) AND substr(call, 9) = substr(?1, 9) AND call = ?1",
            schema::part_of_day("first_us"),
            every_part(),
        );
        self.connection.execute(&sql, [&call.0[..]]).map(|_| ())
    }
}

impl Existing {
    fn read<R: StoredRecord>(row: &Row<'_>) -> rusqlite::Result<Self> {
        let start: i64 = row.get(1)?;
        let columns =
            (0..R::APART.len() + R::TEXTS.len()).map(|place| row.get(4 + place)).collect::<Result<_, _>>()?;
        Ok(Self { row: row.get(0)?, start: start as u64, format: row.get(2)?, compact: row.get(3)?, columns })
    }

    fn is_same(&self, format: i64, compact: &[u8], columns: Vec<SqlValue>) -> bool {
        self.format == format && self.compact == compact && self.columns == columns
    }
}

/// The statement that finds [`Existing`].
fn select<R: StoredRecord>(parts: &str, condition: &str) -> String {
    let (table, start) = (R::TABLE, R::START);
    let columns: String = R::APART.iter().chain(R::TEXTS).map(|column| format!(", {column}")).collect();
    let part = schema::part_of_day(start);
    format!(
        "SELECT number, {start}, format, record{columns} FROM {table} \
         WHERE {part} IN ({parts}) AND {condition}"
    )
}

/// The columns of what is not in the compact form of a record.
fn columns<R: StoredRecord>(record: &R, texts: &[Option<i64>]) -> Vec<SqlValue> {
    let fields = R::APART.iter().filter_map(|name| R::FIELDS.iter().find(|field| field.name == *name));
    let apart = fields.map(|field| match (field.value)(record) {
        Value::Id(id) if field.name == CONVERSATION => conversation(record.id(), Some(id)),
        Value::Null if field.name == CONVERSATION => SqlValue::Null,
        Value::Id(id) => SqlValue::Blob(id.0.to_vec()),
        Value::Endpoint(endpoint) => SqlValue::Blob(Address::of(endpoint).bytes().to_vec()),
        _ => SqlValue::Blob(Vec::new()),
    });
    apart.chain(texts.iter().map(|number| number.map_or(SqlValue::Null, SqlValue::Integer))).collect()
}

/// The column of the conversation of a call, which most often is its own.
fn conversation(call: Id, conversation: Option<Id>) -> SqlValue {
    let other = |id: Id| if id == call { Vec::new() } else { id.0.to_vec() };
    conversation.map_or(SqlValue::Null, |id| SqlValue::Blob(other(id)))
}

/// Deletes the keys of a row; of all calls' keys where the call cannot be read.
fn delete_keys(connection: &Connection, row: i64, call: Option<&Call>) -> rusqlite::Result<()> {
    let Some(call) = call else {
        return connection.execute("DELETE FROM keys WHERE call = ?1", [row]).map(|_| ());
    };
    let sql = "DELETE FROM keys WHERE part = ?1 AND key = ?2 AND call = ?3";
    let mut delete = connection.prepare_cached(sql)?;
    let part = part_of_day(StoredRecord::start(call));
    let mut deleted = Ok(0);
    keys::of_call(call, |key| {
        if deleted.is_ok() {
            deleted = delete.execute((part, key, row));
        }
    });
    deleted.map(|_| ())
}

/// The statement that inserts a record of that type, unless there is one of its id.
fn statement<'a, 't, R: StoredRecord>(
    statements: &'a mut [Option<CachedStatement<'t>>; TABLES],
    connection: &'t Connection,
) -> rusqlite::Result<&'a mut CachedStatement<'t>> {
    let place = &mut statements[R::TYPE as usize];
    match place {
        Some(statement) => Ok(statement),
        None => {
            let columns = R::COLUMNS;
            let places: Vec<_> =
                (1..=columns.split(',').count()).map(|number| format!("?{number}")).collect();
            let sql = format!(
                "INSERT INTO {} ({columns}) VALUES ({}) ON CONFLICT DO NOTHING",
                R::TABLE,
                places.join(", ")
            );
            Ok(place.insert(connection.prepare_cached(&sql)?))
        }
    }
}

/// The codes that have a bit in this file, in order of their bits.
fn notes_of(connection: &Connection) -> rusqlite::Result<Vec<&'static str>> {
    let mut sql = connection.prepare_cached("SELECT code FROM notes ORDER BY bit")?;
    let codes = sql.query_map([], |row| row.get::<_, String>(0))?;
    // A code of a later version keeps its bit.
    let name = |code: String| ringtap_model::NoteCode::from_name(&code).map_or("", |code| code.name());
    codes.map(|code| code.map(name)).collect()
}

/// The list of all parts of a day.
pub(crate) fn every_part() -> String {
    let parts: Vec<_> = (0..schema::PARTS_OF_DAY).map(|part| part.to_string()).collect();
    parts.join(", ")
}

/// An address as columns have it: its bytes, then those of the port.
pub(crate) struct Address([u8; 18], usize);

impl Address {
    pub(crate) fn of(endpoint: Endpoint) -> Self {
        let mut bytes = [0; 18];
        let length = match endpoint.ip {
            std::net::IpAddr::V4(ip) => {
                bytes[..4].copy_from_slice(&ip.octets());
                4
            }
            std::net::IpAddr::V6(ip) => {
                bytes[..16].copy_from_slice(&ip.octets());
                16
            }
        };
        bytes[length..length + 2].copy_from_slice(&endpoint.port.to_be_bytes());
        Self(bytes, length + 2)
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0[..self.1]
    }
}

impl ToSql for Address {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(ValueRef::Blob(self.bytes())))
    }
}

/// In thousandths, rounded. Numbers beyond any column's range are stored as its end.
fn thousandths(number: f64) -> i64 {
    rounded(number * 1e3)
}

fn rounded(number: f64) -> i64 {
    number.round() as i64
}

/// From one moment to another in milliseconds, rounded.
fn span_ms(from: Nanos, to: Nanos) -> i64 {
    integer(to.micros().saturating_sub(from.micros()).saturating_add(500) / 1_000)
}

/// Texts of a call that have numbers.
const TEXTS: usize = Call::TEXTS.len();
/// States of a call that goes on.
const IN_PROGRESS: [CallState; 3] = [CallState::Active, CallState::Ringing, CallState::Trying];
/// Bytes of the Call-ID in the row of a stream.
pub(crate) const STREAM_CALL_ID: usize = 3;
/// The bit of all notes that came after the others had theirs.
pub(crate) const OTHER_NOTES: usize = 62;

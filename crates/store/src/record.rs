//! A record on its way to its table and back: the table, the columns and the day of each type of record.

use std::sync::LazyLock;

use ringtap_model::{Call, Field, Id, Message, Nanos, Record, Registration, Stream, Value};
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Statement, Transaction};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::Day;

/// The types of record that are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RecordType {
    Call,
    Stream,
    Registration,
    Message,
}

/// A record that has a table.
pub(crate) trait StoredRecord: Record + Serialize + DeserializeOwned {
    const TYPE: RecordType;
    const TABLE: &'static str;

    /// The moment that decides on its file. A call of which no moment is known goes to the epoch.
    fn start(&self) -> Nanos;

    /// The fields that are columns: one value each. Lists are in the JSON alone.
    fn columns() -> impl Iterator<Item = &'static Field<Self>> {
        Self::FIELDS.iter().filter(|field| field.kind.is_scalar())
    }

    fn json(&self) -> String {
        // INVARIANT: every field of a record is a number, a text or a list of those; none can fail to
        // serialise.
        serde_json::to_string(self).unwrap_or_default()
    }
}

impl StoredRecord for Call {
    const TYPE: RecordType = RecordType::Call;
    const TABLE: &'static str = "calls";

    fn start(&self) -> Nanos {
        self.start().unwrap_or_default()
    }
}

impl StoredRecord for Stream {
    const TYPE: RecordType = RecordType::Stream;
    const TABLE: &'static str = "streams";

    fn start(&self) -> Nanos {
        self.first
    }
}

impl StoredRecord for Registration {
    const TYPE: RecordType = RecordType::Registration;
    const TABLE: &'static str = "registrations";

    fn start(&self) -> Nanos {
        self.first
    }
}

impl StoredRecord for Message {
    const TYPE: RecordType = RecordType::Message;
    const TABLE: &'static str = "messages";

    fn start(&self) -> Nanos {
        self.time
    }
}

/// A record of any type.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum AnyRecord {
    Call(Box<Call>),
    Stream(Box<Stream>),
    Registration(Box<Registration>),
    Message(Box<Message>),
}

/// A record that is not stored yet.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PendingRecord {
    pub(crate) record: AnyRecord,
    /// It is a call from the journal or one of its streams, which knows less than the record: it replaces
    /// nothing but the record of a call in progress.
    pub(crate) from_journal: bool,
}

impl From<AnyRecord> for PendingRecord {
    fn from(record: AnyRecord) -> Self {
        Self { record, from_journal: false }
    }
}

impl PendingRecord {
    pub(crate) fn record_type(&self) -> RecordType {
        match self.record {
            AnyRecord::Call(_) => RecordType::Call,
            AnyRecord::Stream(_) => RecordType::Stream,
            AnyRecord::Registration(_) => RecordType::Registration,
            AnyRecord::Message(_) => RecordType::Message,
        }
    }

    /// The id of a call's record.
    pub(crate) fn call(&self) -> Option<Id> {
        match &self.record {
            AnyRecord::Call(call) => Some(call.id),
            _ => None,
        }
    }

    /// The day whose file it goes to. It follows from the record alone, so that a record read back from the
    /// outbox goes where it would have gone at first.
    pub(crate) fn day(&self) -> Day {
        Day::of(match &self.record {
            AnyRecord::Call(call) => StoredRecord::start(&**call),
            AnyRecord::Stream(stream) => stream.start(),
            AnyRecord::Registration(registration) => registration.start(),
            AnyRecord::Message(message) => message.start(),
        })
    }

    /// As it waits in the outbox: a letter, then JSON.
    pub(crate) fn packed(&self) -> Vec<u8> {
        let json = match &self.record {
            AnyRecord::Call(call) => call.json(),
            AnyRecord::Stream(stream) => stream.json(),
            AnyRecord::Registration(registration) => registration.json(),
            AnyRecord::Message(message) => message.json(),
        };
        [if self.from_journal { JOURNAL } else { RECORD }].into_iter().chain(json.bytes()).collect()
    }

    /// As [`PendingRecord::packed`] gave it; `None` where a version of this program wrote it that knew more.
    pub(crate) fn unpacked(packed: &[u8]) -> Option<Self> {
        let (letter, json) = packed.split_first()?;
        let from_journal = match *letter {
            RECORD => false,
            JOURNAL => true,
            _ => return None,
        };
        Some(Self { record: AnyRecord::parse(json)?, from_journal })
    }

    /// Writes it under its id. The same record again changes nothing.
    pub(crate) fn insert(&self, transaction: &Transaction<'_>) -> rusqlite::Result<()> {
        match &self.record {
            AnyRecord::Call(call) => {
                if upsert(transaction, &**call, self.from_journal)? {
                    replace_diversions(transaction, call)?;
                }
            }
            AnyRecord::Stream(stream) => _ = upsert(transaction, &**stream, self.from_journal)?,
            AnyRecord::Registration(registration) => _ = upsert(transaction, &**registration, false)?,
            AnyRecord::Message(message) => _ = upsert(transaction, &**message, false)?,
        }
        Ok(())
    }
}

impl AnyRecord {
    fn parse(json: &[u8]) -> Option<Self> {
        #[derive(Deserialize)]
        struct Tag {
            r#type: String,
        }
        fn read<R: DeserializeOwned>(json: &[u8]) -> Option<Box<R>> {
            serde_json::from_slice(json).ok().map(Box::new)
        }
        match serde_json::from_slice::<Tag>(json).ok()?.r#type.as_str() {
            Call::NAME => read(json).map(Self::Call),
            Stream::NAME => read(json).map(Self::Stream),
            Registration::NAME => read(json).map(Self::Registration),
            Message::NAME => read(json).map(Self::Message),
            _ => None,
        }
    }
}

/// Whether a row was written: the same record again, or one from the journal where there is a record, is not.
fn upsert<R: StoredRecord>(
    transaction: &Transaction<'_>,
    record: &R,
    from_journal: bool,
) -> rusqlite::Result<bool> {
    let sql = &STATEMENTS[R::TYPE as usize][usize::from(from_journal)];
    let mut statement = transaction.prepare_cached(sql)?;
    bind(&mut statement, record)?;
    Ok(statement.raw_execute()? > 0)
}

/// Binds the values of [`column_names`], in their order.
fn bind<R: StoredRecord>(statement: &mut Statement<'_>, record: &R) -> rusqlite::Result<()> {
    let mut place = 0;
    for field in R::columns() {
        place += 1;
        statement.raw_bind_parameter(place, sql_value((field.value)(record)))?;
    }
    if R::TYPE == RecordType::Call {
        place += 1;
        statement.raw_bind_parameter(place, integer(record.start().micros()))?;
    }
    statement.raw_bind_parameter(place + 1, record.json())
}

/// The columns of a record's table.
pub(crate) fn column_names<R: StoredRecord>() -> Vec<&'static str> {
    let fields = R::columns().map(|field| field.name);
    let start = (R::TYPE == RecordType::Call).then_some("start_us");
    fields.chain(start).chain(["json"]).collect()
}

/// Statements that write a record, by its [`RecordType`]; the second of each is for calls from the journal.
static STATEMENTS: LazyLock<[[String; 2]; 4]> = LazyLock::new(|| {
    [statements::<Call>(), statements::<Stream>(), statements::<Registration>(), statements::<Message>()]
});

fn statements<R: StoredRecord>() -> [String; 2] {
    let table = R::TABLE;
    let columns: Vec<_> = column_names::<R>().iter().map(|column| format!("\"{column}\"")).collect();
    let places: Vec<_> = (1..=columns.len()).map(|number| format!("?{number}")).collect();
    let updates: Vec<_> = columns.iter().map(|column| format!("{column} = excluded.{column}")).collect();
    let (columns, places, updates) = (columns.join(", "), places.join(", "), updates.join(", "));
    let insert = format!("INSERT INTO {table} ({columns}) VALUES ({places}) ON CONFLICT (id) DO");
    let from_journal = match R::TYPE {
        // The run before the last ended in the middle of the call.
        RecordType::Call => format!("UPDATE SET {updates} WHERE state IN ('active', 'ringing', 'trying')"),
        _ => "NOTHING".to_owned(),
    };
    [
        format!("{insert} UPDATE SET {updates} WHERE {table}.json <> excluded.json"),
        format!("{insert} {from_journal}"),
    ]
}

/// Numbers that a call was routed on to, for searching.
fn replace_diversions(transaction: &Transaction<'_>, call: &Call) -> rusqlite::Result<()> {
    let id = call.id.to_string();
    transaction.prepare_cached("DELETE FROM diversions WHERE call = ?1")?.execute([&id])?;
    let mut insert =
        transaction.prepare_cached("INSERT OR IGNORE INTO diversions (number, call) VALUES (?1, ?2)")?;
    for number in &call.diverted_to {
        insert.execute([number, &id])?;
    }
    Ok(())
}

/// The value of a field as its column has it.
fn sql_value(value: Value<'_>) -> ToSqlOutput<'_> {
    match value {
        Value::Text(text) => ToSqlOutput::Borrowed(ValueRef::Text(text.as_bytes())),
        Value::Id(id) => id.to_string().into(),
        Value::Endpoint(endpoint) => endpoint.to_string().into(),
        Value::Integer(number) => integer(number).into(),
        // JSON has no infinities either.
        Value::Real(number) if number.is_finite() => number.into(),
        Value::Null | Value::Real(_) | Value::Texts(_) | Value::Ids(_) | Value::Parts(_) => {
            ToSqlOutput::Borrowed(ValueRef::Null)
        }
    }
}

/// SQLite's integers are signed: a larger value is stored as the largest of them (its JSON is exact).
fn integer(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

/// What a record in the outbox begins with.
const RECORD: u8 = b'R';
const JOURNAL: u8 = b'J';

#[cfg(test)]
mod tests {
    use ringtap_model::Endpoint;

    use super::*;

    fn message() -> Message {
        let host = Endpoint::new([192, 0, 2, 1].into(), 5060);
        Message {
            id: Id([4; 16]),
            call_id: "m".into(),
            src: host,
            dst: host,
            from: None,
            to: Some("2@example.org".into()),
            content_type: None,
            size: 12,
            time: Nanos::from_micros(1_795_262_400_000_001),
            code: 202,
        }
    }

    #[test]
    fn the_outbox_gives_back_what_it_got() {
        for from_journal in [false, true] {
            let record = AnyRecord::Message(Box::new(message()));
            let pending = PendingRecord { record, from_journal };
            assert_eq!(PendingRecord::unpacked(&pending.packed()), Some(pending));
        }
    }

    /// Bytes as the previous version left them in an outbox.
    #[test]
    fn an_outbox_of_the_previous_version_is_read() {
        let json = concat!(
            r#"R{"type":"message","id":"04040404040404040404040404040404","call_id":"m","#,
            r#""src":"192.0.2.1:5060","#,
            r#""dst":"192.0.2.1:5060","from":null,"to":"2@example.org","content_type":null,"size":12,"#,
            r#""time_us":1795262400000001,"code":202}"#
        );
        let pending = PendingRecord::unpacked(json.as_bytes()).unwrap();
        assert_eq!(pending, AnyRecord::Message(Box::new(message())).into());
        assert_eq!(pending.packed(), json.as_bytes());
    }

    #[test]
    fn what_a_later_version_wrote_is_left_out() {
        for unknown in [&br#"R{"type":"alarm","id":"04"}"#[..], br#"X{"type":"message"}"#, b"R{", b""] {
            assert_eq!(PendingRecord::unpacked(unknown), None);
        }
    }
}

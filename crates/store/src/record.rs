//! A record on its way to its table and back: the table, the columns and the day of each type of record.

use ringtap_model::{
    AffectedCall, Alarm, Amendment, Call, Failover, Id, Identity, Message, Nanos, Outage, Record,
    Registration, ServiceHour, Stream, Transaction,
};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::Day;
use crate::format::Encoder;
use crate::schema::PART_OF_DAY_US;
use crate::texts;

/// The types of record that are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RecordType {
    Call,
    Stream,
    Registration,
    Message,
    Transaction,
    Alarm,
    Outage,
    Failover,
    ServiceHour,
    AffectedCall,
    Identity,
    Amendment,
}

/// Types of record that have a table of their own. They come before all others.
pub(crate) const TABLES: usize = RecordType::Identity as usize + 1;
/// Types of record.
pub(crate) const TYPES: usize = RecordType::Amendment as usize + 1;

/// A record that has a table.
pub(crate) trait StoredRecord: Record + Serialize + DeserializeOwned + Send {
    const TYPE: RecordType;
    const TABLE: &'static str;
    /// The column of its beginning.
    const START: &'static str;
    /// The columns that are written.
    const COLUMNS: &'static str;
    /// The fields that are columns only; all others are in its compact form.
    const APART: &'static [&'static str] = &["id", "src", "dst"];
    /// Fields whose column has the number of their text. Where that is not the whole text, it is in the
    /// compact form as well.
    const TEXTS: &'static [&'static str] = &[];
    /// What its compact form is compressed with.
    const DICTIONARY: &'static [u8] = &[];

    fn encoder(encoders: &mut Encoders) -> &mut Encoder<Self>;

    fn id(&self) -> Id;

    /// The call that it belongs to.
    fn call(&self) -> Option<Id> {
        None
    }

    /// The moment that decides on its file. A call of which no moment is known goes to the epoch.
    fn start(&self) -> Nanos;

    fn json(&self) -> String {
        json(self)
    }
}

impl StoredRecord for Call {
    const TYPE: RecordType = RecordType::Call;
    const TABLE: &'static str = "calls";
    const START: &'static str = "start_us";
    const COLUMNS: &'static str = "id, start_us, span_ms, src, dst, state, final_code, final_reason, cause, \
         released_by, pdd_ms, ring_ms, duration_ms, retransmissions, user_agent_caller, user_agent_callee, \
         mos, mos_worst_interval, capture_drops, recorded, streams, notes, conversation, format, record";
    const APART: &'static [&'static str] = &["id", "src", "dst", CONVERSATION];
    const TEXTS: &'static [&'static str] = &["final_reason", "user_agent_caller", "user_agent_callee"];
    const DICTIONARY: &'static [u8] = include_bytes!("format/call.dictionary");

    fn encoder(encoders: &mut Encoders) -> &mut Encoder<Self> {
        &mut encoders.call
    }

    fn id(&self) -> Id {
        self.id
    }

    fn start(&self) -> Nanos {
        self.start().unwrap_or_default()
    }
}

impl StoredRecord for Stream {
    const TYPE: RecordType = RecordType::Stream;
    const TABLE: &'static str = "streams";
    const START: &'static str = "first_us";
    const COLUMNS: &'static str = "id, call, first_us, span_ms, call_id, src, dst, codec, ptime, mos, loss, \
         jitter, silence, clipped, notes, format, record";
    const APART: &'static [&'static str] = &["id", "call", "src", "dst"];
    const DICTIONARY: &'static [u8] = include_bytes!("format/stream.dictionary");

    fn encoder(encoders: &mut Encoders) -> &mut Encoder<Self> {
        &mut encoders.stream
    }

    fn id(&self) -> Id {
        self.id
    }

    fn call(&self) -> Option<Id> {
        self.call
    }

    fn start(&self) -> Nanos {
        self.first
    }
}

impl StoredRecord for Registration {
    const TYPE: RecordType = RecordType::Registration;
    const TABLE: &'static str = "registrations";
    const START: &'static str = "first_us";
    const COLUMNS: &'static str = "id, first_us, src, dst, code, format, record";

    fn encoder(encoders: &mut Encoders) -> &mut Encoder<Self> {
        &mut encoders.registration
    }

    fn id(&self) -> Id {
        self.id
    }

    fn start(&self) -> Nanos {
        self.first
    }
}

impl StoredRecord for Message {
    const TYPE: RecordType = RecordType::Message;
    const TABLE: &'static str = "messages";
    const START: &'static str = "time_us";
    const COLUMNS: &'static str = "id, time_us, src, dst, code, format, record";

    fn encoder(encoders: &mut Encoders) -> &mut Encoder<Self> {
        &mut encoders.message
    }

    fn id(&self) -> Id {
        self.id
    }

    fn start(&self) -> Nanos {
        self.time
    }
}

impl StoredRecord for Transaction {
    const TYPE: RecordType = RecordType::Transaction;
    const TABLE: &'static str = "transactions";
    const START: &'static str = "time_us";
    const COLUMNS: &'static str = "id, time_us, src, dst, code, format, record";

    fn encoder(encoders: &mut Encoders) -> &mut Encoder<Self> {
        &mut encoders.transaction
    }

    fn id(&self) -> Id {
        self.id
    }

    fn start(&self) -> Nanos {
        self.time
    }
}

impl StoredRecord for Alarm {
    const TYPE: RecordType = RecordType::Alarm;
    const TABLE: &'static str = "alarms";
    const START: &'static str = "raised_us";
    const COLUMNS: &'static str = "id, raised_us, format, record";
    const APART: &'static [&'static str] = &["id"];

    fn encoder(encoders: &mut Encoders) -> &mut Encoder<Self> {
        &mut encoders.alarm
    }

    fn id(&self) -> Id {
        self.id
    }

    fn start(&self) -> Nanos {
        self.raised
    }
}

impl StoredRecord for Identity {
    const TYPE: RecordType = RecordType::Identity;
    const TABLE: &'static str = "identities";
    const START: &'static str = "first_us";
    const COLUMNS: &'static str = "id, first_us, last_us, is_open, format, record";
    const APART: &'static [&'static str] = &["id"];

    fn encoder(encoders: &mut Encoders) -> &mut Encoder<Self> {
        &mut encoders.identity
    }

    fn id(&self) -> Id {
        self.id
    }

    /// When it was first heard of: what is known of its beginning may change, this does not.
    #[expect(clippy::misnamed_getters, reason = "the day of the record, not of the session's beginning")]
    fn start(&self) -> Nanos {
        self.first
    }
}

/// A record of any type.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum AnyRecord {
    Call(Box<Call>),
    Stream(Box<Stream>),
    Registration(Box<Registration>),
    Message(Box<Message>),
    Transaction(Box<Transaction>),
    Alarm(Box<Alarm>),
    Outage(Box<Outage>),
    Failover(Box<Failover>),
    ServiceHour(Box<ServiceHour>),
    AffectedCall(Box<AffectedCall>),
    Identity(Box<Identity>),
    Amendment(Box<Amendment>),
}

/// A record that is not stored yet.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PendingRecord {
    pub(crate) record: AnyRecord,
    /// It is a call from the journal or one of its streams, which knows less than the record: it replaces
    /// nothing but the record of a call in progress.
    pub(crate) from_journal: bool,
    /// Its compact form, where another thread has made it for the one that writes.
    pub(crate) compact: Option<Compact>,
}

/// The compact form of a record, without the fields that its columns tell.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Compact {
    pub(crate) bytes: Vec<u8>,
    /// Those of [`StoredRecord::TEXTS`] that were left out.
    pub(crate) known: Vec<&'static str>,
}

impl From<AnyRecord> for PendingRecord {
    fn from(record: AnyRecord) -> Self {
        Self { record, from_journal: false, compact: None }
    }
}

impl PendingRecord {
    /// What the journal tells of a record.
    pub(crate) fn from_journal(record: AnyRecord) -> Self {
        Self { from_journal: true, ..record.into() }
    }

    /// Makes the compact form of a call or a stream ahead. The texts that most files have whole are left out
    /// of it; who writes it makes it again where its file does not.
    pub(crate) fn encode(&mut self, encoders: &mut Encoders) {
        self.compact = match &self.record {
            AnyRecord::Call(call) => {
                let texts = texts_of(call).filter(|(_, text)| texts::fits(text));
                compact(encoders, &**call, texts.map(|(place, _)| Call::TEXTS[place]).collect())
            }
            AnyRecord::Stream(stream) => compact(encoders, &**stream, Vec::new()),
            // Seldom, and short.
            AnyRecord::Registration(_)
            | AnyRecord::Message(_)
            | AnyRecord::Transaction(_)
            | AnyRecord::Alarm(_)
            | AnyRecord::Outage(_)
            | AnyRecord::Failover(_)
            | AnyRecord::ServiceHour(_)
            | AnyRecord::AffectedCall(_)
            | AnyRecord::Identity(_)
            | AnyRecord::Amendment(_) => None,
        };
    }

    pub(crate) fn record_type(&self) -> RecordType {
        self.record.record_type()
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
            AnyRecord::Transaction(transaction) => transaction.start(),
            AnyRecord::Alarm(alarm) => alarm.start(),
            AnyRecord::Outage(outage) => outage.start(),
            AnyRecord::Failover(failover) => failover.start(),
            AnyRecord::ServiceHour(hour) => hour.start(),
            AnyRecord::AffectedCall(call) => StoredRecord::start(&**call),
            AnyRecord::Identity(identity) => StoredRecord::start(&**identity),
            AnyRecord::Amendment(amendment) => amendment.start,
        })
    }

    /// As it waits in the outbox: a letter, then JSON.
    pub(crate) fn packed(&self) -> Vec<u8> {
        let json = match &self.record {
            AnyRecord::Call(call) => call.json(),
            AnyRecord::Stream(stream) => stream.json(),
            AnyRecord::Registration(registration) => registration.json(),
            AnyRecord::Message(message) => message.json(),
            AnyRecord::Transaction(transaction) => transaction.json(),
            AnyRecord::Alarm(alarm) => alarm.json(),
            AnyRecord::Outage(outage) => outage.json(),
            AnyRecord::Failover(failover) => failover.json(),
            AnyRecord::ServiceHour(hour) => hour.json(),
            AnyRecord::AffectedCall(call) => call.json(),
            AnyRecord::Identity(identity) => identity.json(),
            AnyRecord::Amendment(amendment) => json(&**amendment),
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
        Some(Self { from_journal, ..AnyRecord::parse(json)?.into() })
    }
}

impl AnyRecord {
    pub(crate) fn record_type(&self) -> RecordType {
        match self {
            Self::Call(_) => RecordType::Call,
            Self::Stream(_) => RecordType::Stream,
            Self::Registration(_) => RecordType::Registration,
            Self::Message(_) => RecordType::Message,
            Self::Transaction(_) => RecordType::Transaction,
            Self::Alarm(_) => RecordType::Alarm,
            Self::Outage(_) => RecordType::Outage,
            Self::Failover(_) => RecordType::Failover,
            Self::ServiceHour(_) => RecordType::ServiceHour,
            Self::AffectedCall(_) => RecordType::AffectedCall,
            Self::Identity(_) => RecordType::Identity,
            Self::Amendment(_) => RecordType::Amendment,
        }
    }

    /// A record of its JSON.
    pub(crate) fn parse(json: &[u8]) -> Option<Self> {
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
            Transaction::NAME => read(json).map(Self::Transaction),
            Alarm::NAME => read(json).map(Self::Alarm),
            Outage::NAME => read(json).map(Self::Outage),
            Failover::NAME => read(json).map(Self::Failover),
            ServiceHour::NAME => read(json).map(Self::ServiceHour),
            AffectedCall::NAME => read(json).map(Self::AffectedCall),
            Identity::NAME => read(json).map(Self::Identity),
            Amendment::NAME => read(json).map(Self::Amendment),
            _ => None,
        }
    }
}

/// What makes the compact form of records, of each type.
pub(crate) struct Encoders {
    pub(crate) call: Encoder<Call>,
    pub(crate) stream: Encoder<Stream>,
    pub(crate) registration: Encoder<Registration>,
    pub(crate) message: Encoder<Message>,
    pub(crate) transaction: Encoder<Transaction>,
    pub(crate) alarm: Encoder<Alarm>,
    pub(crate) outage: Encoder<Outage>,
    pub(crate) failover: Encoder<Failover>,
    pub(crate) service_hour: Encoder<ServiceHour>,
    pub(crate) affected_call: Encoder<AffectedCall>,
    pub(crate) identity: Encoder<Identity>,
}

impl Encoders {
    /// `None` where there is no memory for them.
    pub(crate) fn new() -> Option<Self> {
        Some(Self {
            call: encoder()?,
            stream: encoder()?,
            registration: encoder()?,
            message: encoder()?,
            transaction: encoder()?,
            alarm: encoder()?,
            outage: encoder()?,
            failover: encoder()?,
            service_hour: encoder()?,
            affected_call: encoder()?,
            identity: encoder()?,
        })
    }
}

impl std::fmt::Debug for Encoders {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Encoders")
    }
}

fn json(record: &impl Serialize) -> String {
    // INVARIANT: every field of a record is a number, a text or a list of those; none can fail to serialise.
    serde_json::to_string(record).unwrap_or_default()
}

fn encoder<R: StoredRecord>() -> Option<Encoder<R>> {
    Encoder::new(R::APART, R::DICTIONARY)
}

fn compact<R: StoredRecord>(
    encoders: &mut Encoders,
    record: &R,
    known: Vec<&'static str>,
) -> Option<Compact> {
    let mut bytes = Vec::new();
    // Where there is no memory for it, who writes the record says so.
    R::encoder(encoders).encode(record, record.start().micros(), &known, &mut bytes).ok()?;
    Some(Compact { bytes, known })
}

/// The texts of a call that have numbers, each with its place in [`StoredRecord::TEXTS`].
pub(crate) fn texts_of(call: &Call) -> impl Iterator<Item = (usize, &str)> {
    let texts = [&call.final_reason, &call.user_agent_caller, &call.user_agent_callee];
    texts.into_iter().enumerate().filter_map(|(place, text)| Some((place, text.as_deref()?)))
}

/// SQLite's integers are signed: a larger value is stored as the largest of them (the record has it exactly).
pub(crate) fn integer(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

/// The part of the day in which a moment lies.
pub(crate) fn part_of_day(time: Nanos) -> u8 {
    // As SQLite works it out from the column, which has moments beyond its range at its end.
    ((integer(time.micros()) as u64 % DAY_US) / PART_OF_DAY_US) as u8
}

/// The column of a call's conversation: NULL where it is not known, empty where it is the call's own id.
pub(crate) const CONVERSATION: &str = "conversation";
const DAY_US: u64 = 86_400_000_000;
/// What a record in the outbox begins with.
const RECORD: u8 = b'R';
const JOURNAL: u8 = b'J';

#[cfg(test)]
mod tests {
    use ringtap_model::Endpoint;
    use ringtap_testing::samples;

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
            for record in [
                AnyRecord::Message(Box::new(message())),
                AnyRecord::Transaction(Box::new(samples::transaction())),
                AnyRecord::Alarm(Box::new(samples::alarm())),
                AnyRecord::Outage(Box::new(samples::outage())),
                AnyRecord::Failover(Box::new(samples::failover())),
                AnyRecord::ServiceHour(Box::new(samples::service_hour())),
                AnyRecord::AffectedCall(Box::new(samples::affected_call())),
                AnyRecord::Identity(Box::new(samples::identity())),
            ] {
                let pending = PendingRecord { from_journal, ..record.into() };
                assert_eq!(PendingRecord::unpacked(&pending.packed()), Some(pending));
            }
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
        for unknown in [&br#"R{"type":"omen","id":"04"}"#[..], br#"X{"type":"message"}"#, b"R{", b""] {
            assert_eq!(PendingRecord::unpacked(unknown), None);
        }
    }
}

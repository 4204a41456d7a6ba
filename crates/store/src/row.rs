//! A record on its way to its table: as JSON, which is all that the tables and the outbox need of it.

use ringtap_model::{Id, Nanos};
use serde::Serialize;
use serde_json::Value;

use crate::Day;
use crate::schema::{self, Table};

/// A record as JSON, with the table and the day that it goes to. Both follow from the JSON alone, so that a record read
/// back from the outbox goes where it would have gone at first.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Row {
    pub(crate) kind: Kind,
    /// The moment that decides on its file. A call of which no moment is known is filed at the epoch.
    pub(crate) start: Nanos,
    pub(crate) id: Id,
    /// It is from the journal, which knows less of a call than its record: it never takes the place of what is there.
    pub(crate) journal: bool,
    pub(crate) json: String,
}

/// The four records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Call,
    Stream,
    Registration,
    Message,
}

impl Kind {
    pub(crate) const fn table(self) -> &'static Table {
        match self {
            Self::Call => &schema::CALLS,
            Self::Stream => &schema::STREAMS,
            Self::Registration => &schema::REGISTRATIONS,
            Self::Message => &schema::MESSAGES,
        }
    }

    /// Fields that hold the moment of its beginning, the first that is known.
    const fn moments(self) -> &'static [&'static str] {
        match self {
            // As `Call::start`.
            Self::Call => &["invite_us", "trying_us", "ringing_us", "answer_us", "end_us"],
            Self::Stream | Self::Registration => &["first_us"],
            Self::Message => &["time_us"],
        }
    }

    fn from_name(name: &str) -> Option<Self> {
        match name {
            "call" => Some(Self::Call),
            "stream" => Some(Self::Stream),
            "registration" => Some(Self::Registration),
            "message" => Some(Self::Message),
            _ => None,
        }
    }
}

impl Row {
    /// A record of the model.
    pub(crate) fn of(record: &impl Serialize) -> Result<Self, serde_json::Error> {
        Self::parse(serde_json::to_string(record)?)
    }

    /// A record as [`Row::json`] gave it.
    pub(crate) fn parse(json: String) -> Result<Self, serde_json::Error> {
        let fields: Value = serde_json::from_str(&json)?;
        let kind = fields["type"].as_str().and_then(Kind::from_name);
        let kind =
            kind.ok_or_else(|| serde::de::Error::custom("`type` is not one of the records that are stored"))?;
        let micros = kind.moments().iter().find_map(|name| fields[*name].as_u64()).unwrap_or(0);
        let id = serde::Deserialize::deserialize(&fields["id"])?;
        Ok(Self { kind, start: Nanos::from_micros(micros), id, journal: false, json })
    }

    /// As it waits in the outbox.
    pub(crate) fn packed(&self) -> Vec<u8> {
        [if self.journal { JOURNAL } else { RECORD }].into_iter().chain(self.json.bytes()).collect()
    }

    /// As [`Row::packed`] gave it; `None` where it is from a version of this program that knew more.
    pub(crate) fn unpacked(packed: &[u8]) -> Option<Self> {
        let (tag, json) = packed.split_first()?;
        let row = Self::parse(String::from_utf8(json.to_vec()).ok()?).ok()?;
        [RECORD, JOURNAL].contains(tag).then_some(Self { journal: *tag == JOURNAL, ..row })
    }

    /// Its fields. They are made when they are needed: a record that waits does so as text, which is a tenth of them.
    pub(crate) fn fields(&self) -> Value {
        // INVARIANT: `parse` made sure that it is JSON.
        serde_json::from_str(&self.json).unwrap_or_default()
    }

    pub(crate) fn day(&self) -> Day {
        Day::of(self.start)
    }
}

/// What a packed record begins with.
const RECORD: u8 = b'R';
const JOURNAL: u8 = b'J';

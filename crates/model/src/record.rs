//! What is known of a record's fields: name, type, unit, meaning and value.
//!
//! JSON, CSV, the columns of the database and the tables of the manual follow from these.

use std::fmt;

use crate::{Endpoint, Hz, Id, Nanos};

/// A structure whose fields are written out under their names.
pub trait Record: Sized + 'static {
    /// What it is called: the value of `type` in JSON, where a record of this kind has one.
    const NAME: &'static str;
    /// What it is, in one sentence.
    const ABOUT: &'static str;
    /// Its fields, in the order in which JSON and CSV have them.
    const FIELDS: &'static [Field<Self>];
}

/// A field of the record `R`.
#[derive(Debug)]
pub struct Field<R> {
    /// Its name in JSON, CSV and the database.
    pub name: &'static str,
    /// What its values are.
    pub kind: FieldType,
    /// Whether its value may be unknown.
    pub optional: bool,
    /// What its numbers count.
    pub unit: Unit,
    /// What it means, in a sentence.
    pub description: &'static str,
    /// Reads it from a record.
    pub value: for<'a> fn(&'a R) -> Value<'a>,
}

/// What the values of a field are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldType {
    /// Any text.
    Text,
    /// One of these names.
    Name(&'static [Name]),
    /// An [`Id`]: 32 hex digits.
    Id,
    /// An [`Endpoint`]: `ip:port` or `[v6]:port`.
    Endpoint,
    /// A whole number, 0 or more.
    Integer,
    /// A number with a fraction.
    Real,
    /// A list of texts.
    Texts,
    /// A list of ids.
    Ids,
    /// A list of records that are part of this one, by their [`Record::NAME`].
    Parts(&'static str),
}

impl FieldType {
    /// Whether it is one value, not a list. The database has a column for each of these.
    pub const fn is_scalar(self) -> bool {
        !matches!(self, Self::Texts | Self::Ids | Self::Parts(_))
    }
}

/// A name that a field can have as its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Name {
    /// As records have it.
    pub name: &'static str,
    /// What it says.
    pub description: &'static str,
}

/// What the numbers of a field count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// A plain number, or no number at all.
    None,
    /// Microseconds since 1970-01-01 UTC: a moment.
    Microseconds,
    /// Milliseconds: a span of time.
    Milliseconds,
    /// Ticks per second.
    Hertz,
    /// Bits per second.
    BitsPerSecond,
    /// Bytes.
    Bytes,
    /// Packets.
    Packets,
    /// Hundredths of a whole.
    Percent,
}

impl Unit {
    /// Its symbol; empty where a field has no unit.
    pub const fn symbol(self) -> &'static str {
        match self {
            Self::None => "",
            Self::Microseconds => "µs",
            Self::Milliseconds => "ms",
            Self::Hertz => "Hz",
            Self::BitsPerSecond => "bit/s",
            Self::Bytes => "bytes",
            Self::Packets => "packets",
            Self::Percent => "%",
        }
    }
}

/// The value of a field.
#[derive(Clone, Copy, Debug)]
pub enum Value<'a> {
    /// Not known.
    Null,
    /// Text, or a name.
    Text(&'a str),
    /// An id.
    Id(Id),
    /// An address and a port.
    Endpoint(Endpoint),
    /// A whole number; moments in microseconds.
    Integer(u64),
    /// A number with a fraction.
    Real(f64),
    /// A list of texts.
    Texts(&'a [String]),
    /// A list of ids.
    Ids(&'a [Id]),
    /// A list of records.
    Parts(&'a dyn PartList),
}

/// A list of records that are part of another.
pub trait PartList: fmt::Debug {
    /// How many there are.
    fn count(&self) -> usize;

    /// The value of a field of one of them, both numbered from 0.
    fn value(&self, part: usize, field: usize) -> Value<'_>;
}

impl<R: Record + fmt::Debug> PartList for Vec<R> {
    fn count(&self) -> usize {
        self.len()
    }

    fn value(&self, part: usize, field: usize) -> Value<'_> {
        (R::FIELDS[field].value)(&self[part])
    }
}

/// A Rust type that a field of a record can have.
pub trait FieldValue {
    /// What its values are.
    const KIND: FieldType;
    /// Whether a value may be unknown.
    const OPTIONAL: bool = false;
    /// Its unit, where the type alone says it.
    const UNIT: Unit = Unit::None;

    /// The value.
    fn value(&self) -> Value<'_>;
}

impl<T: FieldValue> FieldValue for Option<T> {
    const KIND: FieldType = T::KIND;
    const OPTIONAL: bool = true;
    const UNIT: Unit = T::UNIT;

    fn value(&self) -> Value<'_> {
        self.as_ref().map_or(Value::Null, T::value)
    }
}

macro_rules! field_values {
    ($($type:ty: $kind:ident $(in $unit:ident)?, |$this:ident| $value:expr;)*) => { $(
        impl FieldValue for $type {
            const KIND: FieldType = FieldType::$kind;
            $(const UNIT: Unit = Unit::$unit;)?

            fn value(&self) -> Value<'_> {
                let $this = self;
                $value
            }
        }
    )* };
}

field_values! {
    String: Text, |text| Value::Text(text);
    Id: Id, |id| Value::Id(*id);
    Endpoint: Endpoint, |endpoint| Value::Endpoint(*endpoint);
    u8: Integer, |number| Value::Integer(u64::from(*number));
    u16: Integer, |number| Value::Integer(u64::from(*number));
    u32: Integer, |number| Value::Integer(u64::from(*number));
    u64: Integer, |number| Value::Integer(*number);
    f64: Real, |number| Value::Real(*number);
    Nanos: Integer in Microseconds, |time| Value::Integer(time.micros());
    Hz: Integer in Hertz, |rate| Value::Integer(u64::from(rate.0));
    Vec<String>: Texts, |texts| Value::Texts(texts);
    Vec<Id>: Ids, |ids| Value::Ids(ids);
}

impl<R: Record + fmt::Debug> FieldValue for Vec<R> {
    const KIND: FieldType = FieldType::Parts(R::NAME);

    fn value(&self) -> Value<'_> {
        Value::Parts(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Call, Dtmf, Interval, Message, Registration, Stream};

    fn check<R: Record>() {
        for field in R::FIELDS {
            let place = format!("{}.{}", R::NAME, field.name);
            assert!(field.description.ends_with('.'), "{place}: {:?} is no sentence", field.description);
            // A name that tells a unit tells the truth.
            let told = match field.name.rsplit('_').next() {
                Some("us") => Unit::Microseconds,
                Some("hz") => Unit::Hertz,
                Some("bps") => Unit::BitsPerSecond,
                Some("pct") => Unit::Percent,
                Some("bytes") => Unit::Bytes,
                Some("packets") => Unit::Packets,
                _ if format!("{}_", field.name).contains("_ms_") => Unit::Milliseconds,
                _ => field.unit,
            };
            assert_eq!(field.unit, told, "{place}");
            let known = R::FIELDS.iter().filter(|other| other.name == field.name).count();
            assert_eq!(known, 1, "{place} is defined twice");
        }
    }

    #[test]
    fn every_field_is_described_and_has_the_unit_of_its_name() {
        check::<Call>();
        check::<Dtmf>();
        check::<Stream>();
        check::<Interval>();
        check::<Registration>();
        check::<Message>();
    }

    #[test]
    fn names_are_read_as_they_are_written() {
        use crate::CallState;
        for (state, name) in CallState::ALL.iter().zip(CallState::NAMES) {
            let text = serde_json::to_string(state).unwrap();
            assert_eq!(text, format!("\"{}\"", name.name));
            assert_eq!(serde_json::from_str::<CallState>(&text).unwrap(), *state);
        }
        let unknown = serde_json::from_str::<CallState>("\"rings\"").unwrap_err().to_string();
        assert!(unknown.contains("rings") && unknown.contains("ringing"), "{unknown}");
    }
}

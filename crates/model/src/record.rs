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
    /// What the values of these fields are.
    const SHAPE: &'static [FieldShape];

    /// A record of these values: `value` is called once for each field, with its number from 0.
    ///
    /// # Errors
    ///
    /// The name of a field that cannot have its value.
    fn from_values<'a>(value: impl FnMut(usize) -> Value<'a>) -> Result<Self, &'static str>;
}

/// The shapes of a record's fields, all `N` of them.
pub(crate) const fn shapes<R: Record, const N: usize>() -> [FieldShape; N] {
    let none = FieldShape { name: "", kind: FieldType::Text, optional: false, unit: Unit::None };
    let mut shapes = [none; N];
    let mut number = 0;
    while number < N {
        let Field { name, kind, optional, unit, .. } = R::FIELDS[number];
        shapes[number] = FieldShape { name, kind, optional, unit };
        number += 1;
    }
    shapes
}

/// A field of any record: its name, and what its values are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FieldShape {
    /// Its name in JSON, CSV and the database.
    pub name: &'static str,
    /// What its values are.
    pub kind: FieldType,
    /// Whether its value may be unknown.
    pub optional: bool,
    /// What its numbers count.
    pub unit: Unit,
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
    /// A list of records that are part of this one, by their [`Record::NAME`] and [`Record::SHAPE`].
    Parts(&'static str, &'static [FieldShape]),
}

impl FieldType {
    /// Whether it is one value, not a list. The database has a column for each of these.
    pub const fn is_scalar(self) -> bool {
        !matches!(self, Self::Texts | Self::Ids | Self::Parts(..))
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

    /// What has this value; a list that is not known is empty. `None` if nothing of this type has it.
    fn from_value(value: Value<'_>) -> Option<Self>
    where
        Self: Sized;
}

impl<T: FieldValue> FieldValue for Option<T> {
    const KIND: FieldType = T::KIND;
    const OPTIONAL: bool = true;
    const UNIT: Unit = T::UNIT;

    fn value(&self) -> Value<'_> {
        self.as_ref().map_or(Value::Null, T::value)
    }

    fn from_value(value: Value<'_>) -> Option<Self> {
        if let Value::Null = value { Some(None) } else { T::from_value(value).map(Some) }
    }
}

macro_rules! field_values {
    ($(
        $type:ty: $kind:ident $(in $unit:ident)?, |$this:ident| $value:expr,
        $($pattern:pat => $back:expr),+;
    )*) => { $(
        impl FieldValue for $type {
            const KIND: FieldType = FieldType::$kind;
            $(const UNIT: Unit = Unit::$unit;)?

            fn value(&self) -> Value<'_> {
                let $this = self;
                $value
            }

            fn from_value(value: Value<'_>) -> Option<Self> {
                match value {
                    $($pattern => $back,)+
                    _ => None,
                }
            }
        }
    )* };
}

field_values! {
    String: Text, |text| Value::Text(text), Value::Text(text) => Some(text.to_owned());
    Id: Id, |id| Value::Id(*id), Value::Id(id) => Some(id);
    Endpoint: Endpoint, |endpoint| Value::Endpoint(*endpoint), Value::Endpoint(endpoint) => Some(endpoint);
    u8: Integer, |number| Value::Integer(u64::from(*number)),
        Value::Integer(number) => number.try_into().ok();
    u16: Integer, |number| Value::Integer(u64::from(*number)),
        Value::Integer(number) => number.try_into().ok();
    u32: Integer, |number| Value::Integer(u64::from(*number)),
        Value::Integer(number) => number.try_into().ok();
    u64: Integer, |number| Value::Integer(*number), Value::Integer(number) => Some(number);
    f64: Real, |number| Value::Real(*number), Value::Real(number) => Some(number);
    Nanos: Integer in Microseconds, |time| Value::Integer(time.micros()),
        Value::Integer(number) => Some(Self::from_micros(number));
    Hz: Integer in Hertz, |rate| Value::Integer(u64::from(rate.0)),
        Value::Integer(number) => number.try_into().ok().map(Self);
    Vec<String>: Texts, |texts| Value::Texts(texts),
        Value::Texts(texts) => Some(texts.to_vec()), Value::Null => Some(Self::new());
    Vec<Id>: Ids, |ids| Value::Ids(ids),
        Value::Ids(ids) => Some(ids.to_vec()), Value::Null => Some(Self::new());
}

impl<R: Record + fmt::Debug> FieldValue for Vec<R> {
    const KIND: FieldType = FieldType::Parts(R::NAME, R::SHAPE);

    fn value(&self) -> Value<'_> {
        Value::Parts(self)
    }

    fn from_value(value: Value<'_>) -> Option<Self> {
        let parts = match value {
            Value::Parts(parts) => parts,
            Value::Null => return Some(Self::new()),
            _ => return None,
        };
        (0..parts.count()).map(|part| R::from_values(|field| parts.value(part, field)).ok()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Call, Dtmf, Interval, Message, QualityReport, Registration, RtcpReport, Stream};

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
        check::<RtcpReport>();
        check::<QualityReport>();
        check::<Registration>();
        check::<Message>();
        check::<crate::Transaction>();
        check::<crate::Alarm>();
        check::<crate::Outage>();
        check::<crate::Failover>();
        check::<crate::ServiceHour>();
        check::<crate::AffectedCall>();
        check::<crate::AffectedGap>();
        check::<crate::Amendment>();
        check::<crate::User>();
        check::<crate::Identity>();
        check::<crate::HeldAddress>();
        check::<crate::MethodCount>();
        check::<crate::Failure>();
    }

    fn again<R: Record>(record: &R) -> Result<R, &'static str> {
        R::from_values(|field| (R::FIELDS[field].value)(record))
    }

    #[test]
    fn a_record_is_made_of_its_values() {
        let digit = Dtmf { digit: "#".into(), source: crate::DtmfSource::Info, time: Nanos::from_micros(7) };
        assert_eq!(again(&digit), Ok(digit.clone()));
        assert_eq!(Vec::from_value(Value::Parts(&vec![digit.clone()])), Some(vec![digit]));
        assert_eq!(Vec::<Dtmf>::from_value(Value::Null), Some(vec![]));
        assert_eq!(Dtmf::from_values(|_| Value::Null), Err("digit"));
        let wrong = [Value::Text("#"), Value::Text("smoke"), Value::Integer(7)];
        assert_eq!(Dtmf::from_values(|field| wrong[field]), Err("source"));
        assert_eq!(u8::from_value(Value::Integer(256)), None);
        assert_eq!(Option::<u8>::from_value(Value::Null), Some(None));
        assert_eq!(Option::<u8>::from_value(Value::Text("1")), None);
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

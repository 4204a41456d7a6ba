//! What fields are compared with.

use ringtap_model::filter::{CodeRange, CodecName, NumberPattern, Pattern, Words};
use ringtap_model::{Endpoint, Id, Nanos, Network};

/// A value that a field is compared with.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A number or user, whole or with `*`.
    Number(NumberPattern),
    /// A text to match whole, or with `*`.
    Text(Pattern),
    /// A text to find anywhere, or whole where it has a `*`, in any case of letters; first as it was written.
    Words(Pattern, Words),
    /// The name of a codec; first as it was written.
    Codec(Pattern, CodecName),
    /// An address or a network.
    Host(Host),
    /// One of the names of the field.
    Name(&'static str),
    /// Status codes.
    Code(CodeRange),
    /// Numbers, in the unit that records have.
    Range(Range),
    /// A span of time.
    Time(TimeSpan),
    /// The id of a record.
    Id(Id),
    /// Whether it is so.
    Flag(bool),
    /// A list of the [`Context`](crate::Context): its name, and its values.
    List(String, Vec<Value>),
}

/// An address or a network, with a port or any.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Host {
    /// The addresses.
    pub network: Network,
    /// The port; every one where there is none.
    pub port: Option<u16>,
}

impl Host {
    /// Whether it is there.
    pub fn holds(&self, endpoint: Endpoint) -> bool {
        self.network.holds(endpoint.ip) && self.port.is_none_or(|port| port == endpoint.port)
    }
}

/// Numbers between two ends. Each end has a number, and whether that very number is in the range.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Range {
    /// The lower end.
    pub from: Option<(f64, bool)>,
    /// The upper end.
    pub to: Option<(f64, bool)>,
}

impl Range {
    /// Whether `number` is in the range.
    pub fn contains(&self, number: f64) -> bool {
        let above = |(from, with)| number > from || (with && number == from);
        let below = |(to, with)| number < to || (with && number == to);
        self.from.is_none_or(above) && self.to.is_none_or(below)
    }
}

/// A span of time: from a moment, which is in it, to another, which is not. Both in whole microseconds, as
/// records have them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TimeSpan {
    /// Its beginning; none where it has none.
    pub from: Option<Nanos>,
    /// Its end; none where it has none.
    pub to: Option<Nanos>,
}

impl TimeSpan {
    /// All of time.
    pub const ALL: Self = Self { from: None, to: None };

    /// Whether `time` lies in it, to the microsecond.
    pub fn contains(&self, time: Nanos) -> bool {
        self.from.is_none_or(|from| time.micros() >= from.micros())
            && self.to.is_none_or(|to| time.micros() < to.micros())
    }

    /// Whether nothing lies in it.
    pub fn is_empty(&self) -> bool {
        matches!((self.from, self.to), (Some(from), Some(to)) if from.micros() >= to.micros())
    }

    /// What lies in both.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        let later = |a: Option<Nanos>, b: Option<Nanos>| a.max(b);
        let earlier = |a: Option<Nanos>, b: Option<Nanos>| [a, b].into_iter().flatten().min();
        Self { from: later(self.from, other.from), to: earlier(self.to, other.to) }
    }

    /// What lies in one, in the other, or between them.
    #[must_use]
    pub fn hull(self, other: Self) -> Self {
        if self.is_empty() {
            return other;
        }
        if other.is_empty() {
            return self;
        }
        let earlier = |a: Option<Nanos>, b: Option<Nanos>| Some(a?.min(b?));
        let later = |a: Option<Nanos>, b: Option<Nanos>| Some(a?.max(b?));
        Self { from: earlier(self.from, other.from), to: later(self.to, other.to) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(from: u64, to: u64) -> TimeSpan {
        TimeSpan { from: Some(Nanos::from_micros(from)), to: Some(Nanos::from_micros(to)) }
    }

    #[test]
    fn spans_are_half_open_and_combine() {
        assert!(span(5, 7).contains(Nanos(5_000)) && span(5, 7).contains(Nanos(6_999)));
        assert!(!span(5, 7).contains(Nanos(7_000)) && !span(5, 7).contains(Nanos(4_999)));
        assert_eq!(span(5, 7).and(span(6, 9)), span(6, 7));
        assert_eq!(span(5, 7).and(TimeSpan::ALL), span(5, 7));
        assert_eq!(span(5, 7).hull(span(9, 10)), span(5, 10));
        assert_eq!(span(5, 7).hull(TimeSpan { to: None, ..span(6, 0) }), TimeSpan { to: None, ..span(5, 0) });
        assert!(span(5, 5).is_empty() && span(5, 7).and(span(7, 9)).is_empty());
        assert_eq!(span(5, 5).hull(span(8, 9)), span(8, 9));
        assert!(!TimeSpan::ALL.is_empty());
    }

    #[test]
    fn the_ends_of_a_range() {
        let range = Range { from: Some((2.0, false)), to: Some((3.0, true)) };
        assert!(!range.contains(2.0) && range.contains(2.1) && range.contains(3.0) && !range.contains(3.1));
        assert!(Range::default().contains(f64::MAX));
    }
}

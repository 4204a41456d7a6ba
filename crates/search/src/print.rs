//! An expression as a text that reads back as the same.

use std::fmt::{self, Display, Formatter, Write};

use jiff::Timestamp;
use ringtap_model::Nanos;
use ringtap_model::filter::{CodeRange, Pattern};

use crate::expression::{Condition, Expression, Test};
use crate::field::{Kind, Measure};
use crate::lexer::is_quote;
use crate::value::{Host, Range, TimeSpan, Value};

impl Display for Expression {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let joined =
            |f: &mut Formatter<'_>, parts: &[Self], with: &str, is_in_brackets: fn(&Self) -> bool| {
                for (number, part) in parts.iter().enumerate() {
                    f.write_str(if number > 0 { with } else { "" })?;
                    bracketed(f, part, is_in_brackets(part))?;
                }
                Ok(())
            };
        match self {
            Self::All(parts) => joined(f, parts, " ", |part| matches!(part, Self::Any(_) | Self::All(_))),
            Self::Any(parts) => joined(f, parts, " or ", |part| matches!(part, Self::Any(_))),
            Self::Not(inner) => {
                f.write_char('-')?;
                bracketed(f, inner, matches!(**inner, Self::Any(_) | Self::All(_)))
            }
            Self::Condition(condition) => condition.fmt(f),
            Self::Stream(inner) => write!(f, "stream({inner})"),
        }
    }
}

fn bracketed(f: &mut Formatter<'_>, part: &Expression, is_in_brackets: bool) -> fmt::Result {
    if is_in_brackets { write!(f, "({part})") } else { part.fmt(f) }
}

impl Display for Condition {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let field = self.field();
        f.write_str(field.name)?;
        let measure = match field.kind {
            Kind::Figure(measure) => measure,
            _ => Measure::Count,
        };
        match &self.test {
            Test::Exists => f.write_str(":*"),
            Test::OneOf(values) => match &values[..] {
                [Value::Range(range)] => compared(f, range, measure),
                [one] => write!(f, ":{}", Written(one, measure)),
                values => {
                    f.write_str(":[")?;
                    for (number, value) in values.iter().enumerate() {
                        write!(f, "{}{}", if number > 0 { "," } else { "" }, Written(value, measure))?;
                    }
                    f.write_char(']')
                }
            },
        }
    }
}

/// An operator and the number, or both ends.
fn compared(f: &mut Formatter<'_>, range: &Range, measure: Measure) -> fmt::Result {
    match range {
        Range { from: Some((from, with)), to: None } => {
            write!(f, "{}{}", if *with { ">=" } else { ">" }, Figure(*from, measure))
        }
        Range { from: None, to: Some((to, with)) } => {
            write!(f, "{}{}", if *with { "<=" } else { "<" }, Figure(*to, measure))
        }
        range => write!(f, ":{}", Written(&Value::Range(*range), measure)),
    }
}

/// A value as it stands behind `:`.
struct Written<'a>(&'a Value, Measure);

impl Display for Written<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self(value, measure) = self;
        match value {
            Value::Number(pattern) => self::pattern(f, pattern.written()),
            Value::Text(pattern) | Value::Words(pattern, _) | Value::Codec(pattern, _) => {
                self::pattern(f, pattern)
            }
            Value::Host(Host { network, port: None }) => write!(f, "\"{network}\""),
            Value::Host(Host { network, port: Some(port) }) => {
                let (address, _) = network.ends();
                write!(f, "\"{}\"", std::net::SocketAddr::new(address, *port))
            }
            Value::Name(name) => f.write_str(name),
            Value::Code(CodeRange { first, last }) if first == last => write!(f, "{first}"),
            Value::Code(CodeRange { first, last }) => write!(f, "{first}..{last}"),
            Value::Range(Range { from, to }) => {
                if from.is_some()
                    && from.map(|end| end.0) == to.map(|end| end.0)
                    && *measure == Measure::Count
                {
                    return from.iter().try_for_each(|end| Figure(end.0, *measure).fmt(f));
                }
                from.iter().try_for_each(|end| Figure(end.0, *measure).fmt(f))?;
                f.write_str("..")?;
                to.iter().try_for_each(|end| Figure(end.0, *measure).fmt(f))
            }
            Value::Time(TimeSpan { from, to }) => {
                from.iter().try_for_each(|time| moment(f, *time))?;
                f.write_str("..")?;
                to.iter().try_for_each(|time| moment(f, *time))
            }
            Value::Id(id) => id.fmt(f),
            Value::Flag(is) => f.write_str(if *is { "yes" } else { "no" }),
            Value::List(name, _) => write!(f, "${name}"),
        }
    }
}

/// A number with a unit that gives the same again.
struct Figure(f64, Measure);

impl Display for Figure {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self(value, measure) = self;
        match measure {
            Measure::Count | Measure::Score | Measure::Percent => write!(f, "{value}"),
            Measure::Seconds | Measure::Millis if value % 1e3 == 0.0 => write!(f, "{}s", value / 1e3),
            Measure::Seconds | Measure::Millis => write!(f, "{value}ms"),
        }
    }
}

fn moment(f: &mut Formatter<'_>, time: Nanos) -> fmt::Result {
    let micros = i64::try_from(time.micros()).unwrap_or(i64::MAX);
    Timestamp::from_microsecond(micros).unwrap_or(Timestamp::UNIX_EPOCH).fmt(f)
}

/// A pattern, with the texts between its `*` in quotes where they need them.
fn pattern(f: &mut Formatter<'_>, pattern: &Pattern) -> fmt::Result {
    for (number, piece) in pattern.pieces().enumerate() {
        f.write_str(if number > 0 { "*" } else { "" })?;
        text(f, piece)?;
    }
    Ok(())
}

fn text(f: &mut Formatter<'_>, text: &str) -> fmt::Result {
    let is_plain =
        |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | '@' | '+' | '/' | '#' | '%');
    if text.chars().all(is_plain) {
        return f.write_str(text);
    }
    f.write_char('"')?;
    for c in text.chars() {
        if c == '\\' || is_quote(c) {
            f.write_char('\\')?;
        }
        f.write_char(c)?;
    }
    f.write_char('"')
}

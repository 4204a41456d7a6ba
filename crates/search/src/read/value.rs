//! The values of a field.

use ringtap_model::filter::{CodeRange, CodecName, NumberPattern, Pattern, Words};

use super::{figure, host, time};
use crate::context::Context;
use crate::error::{ParseError, Place};
use crate::expression::Test;
use crate::field::{Field, Kind, Measure};
use crate::lexer::{Operator, RawValue, Segment};
use crate::value::{Range, Value};

/// What a field has to be: `*`, or one of the values.
pub(crate) fn values(
    field: &'static Field,
    operator: Operator,
    raw: &[RawValue],
    context: &Context,
) -> Result<Test, ParseError> {
    if operator != Operator::Is {
        check_order(field, raw)?;
    }
    let is_star = |raw: &RawValue| raw.pieces().iter().all(String::is_empty);
    if raw.iter().any(is_star) {
        let [one] = raw else {
            let place = raw.iter().find(|raw| is_star(raw)).map_or_else(Place::default, |raw| raw.place);
            return Err(place.error("`*` in a list says nothing", "leave the other values out, or the `*`"));
        };
        if operator != Operator::Is {
            return Err(one.place.error("`*` cannot be compared", format!("write {}:*", field.name)));
        }
        return Ok(Test::Exists);
    }
    let values = raw.iter().map(|raw| match list_name(raw) {
        Some(name) => list(name, field, operator, raw.place, context),
        None => value(field, operator, raw, context),
    });
    Ok(Test::OneOf(values.collect::<Result<_, _>>()?))
}

/// What `>` and `<` cannot be used with.
fn check_order(field: &Field, raw: &[RawValue]) -> Result<(), ParseError> {
    let place = match raw {
        [one] => one.place,
        [first, .., last] => Place::between(first.place.begin, last.place.end()),
        [] => Place::default(),
    };
    if !field.is_ordered() {
        let problem = format!("`{}` has no order, so nothing is above or below a value", field.name);
        return Err(place.error(problem, format!("write it with `:`, as {}", field.example)));
    }
    if raw.len() > 1 {
        return Err(
            place.error("a list has no order", "compare with one value, or write `:` before the list")
        );
    }
    Ok(())
}

/// The name of a list: `$vip`.
pub(super) fn list_name(raw: &RawValue) -> Option<&str> {
    match &raw.segments[..] {
        [Segment { text, is_quoted: false }] => text.strip_prefix('$'),
        _ => None,
    }
}

/// The values of a list, as they are written in it.
pub(super) fn texts_of<'c>(
    name: &str,
    place: Place,
    context: &'c Context,
) -> Result<&'c [String], ParseError> {
    context.lists.get(name).map(Vec::as_slice).ok_or_else(|| {
        let names: Vec<String> = context.lists.keys().map(|name| format!("${name}")).collect();
        let remedy = match names.is_empty() {
            true => "there are no lists: write the values as [1,2]".to_owned(),
            false => format!("write one of {}", names.join(", ")),
        };
        place.error(format!("there is no list `${name}`"), remedy)
    })
}

fn list(
    name: &str,
    field: &'static Field,
    operator: Operator,
    place: Place,
    context: &Context,
) -> Result<Value, ParseError> {
    if operator != Operator::Is {
        return Err(place.error("a list has no order", format!("write {}:${name}", field.name)));
    }
    let texts = texts_of(name, place, context)?;
    let values = texts.iter().map(|text| {
        let raw = unquoted(text, place);
        value(field, operator, &raw, context).map_err(|error| {
            place.error(
                format!("`{text}` of the list `${name}` is no value of `{}`", field.name),
                error.remedy,
            )
        })
    });
    Ok(Value::List(name.to_owned(), values.collect::<Result<_, _>>()?))
}

/// A text as if it stood there without quotes.
pub(super) fn unquoted(text: &str, place: Place) -> RawValue {
    RawValue { place, segments: vec![Segment { text: text.to_owned(), is_quoted: false }] }
}

fn value(
    field: &'static Field,
    operator: Operator,
    raw: &RawValue,
    context: &Context,
) -> Result<Value, ParseError> {
    let text = raw.text();
    let wrong = |remedy: String| {
        raw.place.error(format!("`{}` is no value of `{}`", shortened(&text), field.name), remedy)
    };
    let pattern = || Pattern::of_pieces(raw.pieces());
    Ok(match field.kind {
        Kind::Number => Value::Number(NumberPattern::of(pattern())),
        Kind::Text => Value::Text(pattern()),
        Kind::Words => Value::Words(pattern(), Words::of(&pattern())),
        Kind::Codec => Value::Codec(pattern(), pattern().to_string().parse::<CodecName>().map_err(wrong)?),
        Kind::Host => Value::Host(host::host(&text).ok_or_else(|| {
            wrong("write an address such as 192.0.2.7, its beginning as 192.0.2, or 192.0.2.0/24".into())
        })?),
        Kind::Name(names) => {
            let name = names.iter().find(|name| name.name.eq_ignore_ascii_case(&text));
            Value::Name(name.ok_or_else(|| wrong(one_of(&text, names.iter().map(|name| name.name))))?.name)
        }
        Kind::Flag => match text.to_ascii_lowercase().as_str() {
            "yes" | "true" | "1" => Value::Flag(true),
            "no" | "false" | "0" => Value::Flag(false),
            _ => return Err(wrong(format!("write {0}:yes or {0}:no", field.name))),
        },
        Kind::Code => Value::Code(
            code(&text, operator).ok_or_else(|| wrong("write a code such as 486, 4xx or 400..499".into()))?,
        ),
        Kind::Figure(measure) => Value::Range(
            figure::range(&text, operator, measure)
                .ok_or_else(|| wrong(example(measure, field)))?
                .map_err(|problem| raw.place.error(problem, "write the smaller one first, as 1..5"))?,
        ),
        Kind::Time => Value::Time(
            time::span(&text, operator, context)
                .ok_or_else(|| wrong(format!("write it as {TIMES}")))?
                .map_err(|problem| raw.place.error(problem, format!("write a time as {TIMES}")))?,
        ),
        Kind::Id => Value::Id(
            text.parse().map_err(|_| wrong("an id has 32 hex digits, as `ringtap call` shows it".into()))?,
        ),
    })
}

fn code(text: &str, operator: Operator) -> Option<CodeRange> {
    if operator == Operator::Is {
        return match text.split_once("..") {
            Some((from, to)) => format!("{from}-{to}").parse().ok(),
            None => text.parse().ok(),
        };
    }
    let code: CodeRange = text.parse().ok()?;
    let Range { from, to } = figure::compared(f64::from(code.first), operator);
    // Codes are whole numbers from 100 to 699.
    let first = from.map_or(100, |(_, with)| if with { code.first } else { code.last + 1 });
    let last = to.map_or(699, |(_, with)| if with { code.last } else { code.first - 1 });
    Some(CodeRange { first, last })
}

fn example(measure: Measure, field: &Field) -> String {
    let numbers = match measure {
        Measure::Count => "a whole number such as 3, or 3..5",
        Measure::Score => "a number such as 3.5, or 3..3.5",
        Measure::Percent => "a percentage such as 2.5, or 1..5",
        Measure::Seconds => "a span such as 30s, 500ms, 2m or 4:05, or 1m..5m",
        Measure::Millis => "milliseconds such as 20, or a span as 1s, or 20..30",
    };
    format!("write {numbers}, as {}", field.example)
}

const TIMES: &str = "14:03, \"yesterday 15:00\", -2h, 2026-11-21 or 2026-11-21T14:03:00Z, \
                     or two of them as 14:00..15:00";

/// What would be right instead of a name that does not exist.
pub(crate) fn one_of<'a>(given: &str, names: impl Iterator<Item = &'a str> + Clone) -> String {
    let given = given.to_ascii_lowercase();
    let near = names.clone().map(|name| (strsim::osa_distance(&given, &name.to_ascii_lowercase()), name));
    match near.min_by_key(|(distance, _)| *distance) {
        Some((distance, name)) if distance <= 2 && distance < name.len() => format!("write {name}"),
        _ => format!("write one of {}", names.collect::<Vec<_>>().join(", ")),
    }
}

/// What a message shows of a text.
pub(crate) fn shortened(text: &str) -> String {
    let mut shown: String = text.chars().take(SHOWN).collect();
    if text.chars().nth(SHOWN).is_some() {
        shown.push('…');
    }
    shown
}

/// Characters of a text that a message shows.
const SHOWN: usize = 40;

//! An expression in words, as a person would say which calls are meant.

use jiff::Timestamp;
use jiff::civil::{DateTime, Time};
use ringtap_model::Nanos;
use ringtap_model::filter::{CodeRange, Pattern};

use crate::context::Context;
use crate::expression::{Condition, Expression, Test};
use crate::field::{FieldName, Kind, Measure, Subject};
use crate::value::{Range, TimeSpan, Value};

impl Expression {
    /// Which calls it selects, in words: `calls from or to a number that ends in 0138, up at 15:00, not
    /// completed`. Times are in the zone of `context`.
    pub fn in_words(&self, context: &Context) -> String {
        if self.is_empty() {
            return "all calls".to_owned();
        }
        let said: Vec<String> = self.parts().iter().map(|part| said(part, context, false)).collect();
        format!("calls {}", said.join(", "))
    }
}

fn said(expression: &Expression, context: &Context, in_stream: bool) -> String {
    let each = |parts: &[Expression]| -> Vec<String> {
        parts.iter().map(|part| said(part, context, in_stream)).collect()
    };
    match expression {
        Expression::All(parts) => each(parts).join(" and "),
        Expression::Any(parts) => format!("either {}", each(parts).join(" or ")),
        Expression::Not(inner) => match &**inner {
            Expression::Any(parts) => format!("neither {}", each(parts).join(" nor ")),
            Expression::All(parts) => format!("not both {}", each(parts).join(" and ")),
            Expression::Condition(Condition { field, test: Test::Exists }) => {
                format!("without {}", noun(*field))
            }
            Expression::Condition(condition) if is_flag(condition) => flag(condition, true),
            other => format!("not {}", said(other, context, in_stream)),
        },
        Expression::Condition(condition) => self::condition(condition, context, in_stream),
        Expression::Stream(inner) => match &**inner {
            Expression::All(parts) => format!("with one stream {}", each_of_stream(parts, context)),
            other => format!("with one stream {}", said(other, context, true)),
        },
    }
}

fn each_of_stream(parts: &[Expression], context: &Context) -> String {
    parts.iter().map(|part| said(part, context, true)).collect::<Vec<_>>().join(" and ")
}

fn is_flag(condition: &Condition) -> bool {
    matches!((&condition.test, &condition.values()[..]), (Test::OneOf(_), [Value::Flag(_)]))
}

fn flag(condition: &Condition, is_not: bool) -> String {
    let is = matches!(condition.values()[..], [Value::Flag(is)] if *is != is_not);
    format!("{} {}", if is { "with" } else { "without" }, noun(condition.field))
}

fn condition(condition: &Condition, context: &Context, in_stream: bool) -> String {
    let field = condition.field();
    let place = if field.subject == Subject::Streams && !in_stream { " in a stream" } else { "" };
    let Test::OneOf(values) = &condition.test else {
        return format!("with {}{place}", noun(condition.field));
    };
    if is_flag(condition) {
        return flag(condition, false);
    }
    let values = joined(values.iter().map(|value| self::value(value, condition.field, context)).collect());
    match condition.field {
        FieldName::Number if values.contains(" begins with ") => {
            both_ends(condition).unwrap_or_else(|| format!("from or to {values}"))
        }
        FieldName::Number => format!("from or to {values}"),
        FieldName::From => format!("from {values}"),
        FieldName::To => format!("to {values}"),
        FieldName::Diverted => format!("routed on to {values}"),
        FieldName::State => values,
        FieldName::At => format!("up {values}"),
        FieldName::Began => format!("begun {values}"),
        FieldName::Ended => format!("ended {values}"),
        FieldName::Hangup => format!("released by the {values}"),
        FieldName::Trunk => format!("over {values}"),
        FieldName::CallId | FieldName::Uri | FieldName::Codec => format!("with {values}{place}"),
        FieldName::Ip if in_stream => format!("from or to {values}"),
        FieldName::Ip => format!("with {values} in signalling or media"),
        FieldName::Transport => format!("over {values}"),
        FieldName::Conversation => format!("in conversation {values}"),
        FieldName::Direction => format!("{values}{place}"),
        FieldName::Ua | FieldName::Reason | FieldName::Text => {
            format!("with {values} in {}", noun(condition.field))
        }
        FieldName::Recorded => format!("of which was recorded: {values}"),
        _ => format!("with {} {values}{place}", field_noun(condition.field)),
    }
}

/// A number of which digits are the beginning or the end.
fn both_ends(condition: &Condition) -> Option<String> {
    let [Value::Number(tail), Value::Number(head)] = condition.values()[..] else { return None };
    let (tail, head) = (tail.written(), head.written());
    let is_same = tail.head().is_empty() && head.tail().is_empty() && tail.tail() == head.head();
    let is_short = tail.pieces().count() == 2 && head.pieces().count() == 2;
    (is_same && is_short).then(|| format!("from or to a number that begins or ends with {}", tail.tail()))
}

fn value(value: &Value, field: FieldName, context: &Context) -> String {
    match value {
        Value::Number(pattern) => patterned(pattern.written(), "a number"),
        Value::Text(pattern) | Value::Codec(pattern, _) if pattern.is_exact() => {
            format!("{} {}", field_noun(field), shown(pattern.head()))
        }
        Value::Text(pattern) | Value::Codec(pattern, _) => patterned(pattern, noun(field)),
        Value::Words(pattern, _) if pattern.is_exact() => quoted(pattern.head()),
        Value::Words(pattern, _) => patterned(pattern, "a text"),
        Value::Host(host) => {
            let (first, last) = host.network.ends();
            let address = if first == last { first.to_string() } else { host.network.to_string() };
            host.port.map_or(address.clone(), |port| format!("{address} port {port}"))
        }
        Value::Name(name) => named(field, name),
        Value::Code(CodeRange { first, last }) if first == last => first.to_string(),
        Value::Code(CodeRange { first, last }) => format!("from {first} to {last}"),
        Value::Range(range) => ranged(range, field),
        Value::Time(span) => timed(span, context),
        Value::Id(id) => id.to_string(),
        Value::Flag(is) => if *is { "yes" } else { "no" }.to_owned(),
        Value::List(name, values) => format!("one of the {} of the list {name}", values.len()),
    }
}

/// What a pattern says of `noun`, or the text itself.
fn patterned(pattern: &Pattern, noun: &str) -> String {
    let pieces: Vec<&str> = pattern.pieces().collect();
    match pieces[..] {
        [] => quoted(""),
        [whole] => shown(whole),
        [head, ""] => format!("{noun} that begins with {}", shown(head)),
        ["", tail] => format!("{noun} that ends in {}", shown(tail)),
        ["", middle, ""] => format!("{noun} with {} in it", shown(middle)),
        [head, tail] => format!("{noun} that begins with {} and ends in {}", shown(head), shown(tail)),
        _ => format!("{noun} like {}", shown(&pieces.join("*"))),
    }
}

/// A text, in quotes where it has spaces; marks and controls as escapes.
fn shown(text: &str) -> String {
    let is_word = !text.is_empty() && text.chars().all(|c| c.is_ascii_graphic());
    if is_word { text.to_owned() } else { quoted(text) }
}

fn quoted(text: &str) -> String {
    format!("{text:?}")
}

fn named(field: FieldName, name: &str) -> String {
    match (field, name) {
        (FieldName::State, "active") => "in progress",
        (FieldName::State, "timeout") => "timed out",
        (FieldName::State, "ringing") => "still ringing",
        (FieldName::State, "trying") => "still being set up",
        (FieldName::Direction, "caller_to_callee") => "from caller to callee",
        (FieldName::Direction, "callee_to_caller") => "from callee to caller",
        (_, name) => name,
    }
    .to_owned()
}

fn ranged(range: &Range, field: FieldName) -> String {
    let measure = match field.field().kind {
        Kind::Figure(measure) => measure,
        _ => Measure::Count,
    };
    let figure = |number| figure(number, measure);
    match *range {
        Range { from: Some((from, _)), to: Some((to, _)) } if from == to => figure(from),
        Range { from: Some((from, _)), to: Some((to, _)) } => {
            format!("from {} to {}", figure(from), figure(to))
        }
        Range { from: Some((from, true)), to: None } => format!("of {} or more", figure(from)),
        Range { from: Some((from, false)), to: None } => format!("over {}", figure(from)),
        Range { from: None, to: Some((to, true)) } => format!("of {} or less", figure(to)),
        Range { from: None, to: Some((to, false)) } => format!("below {}", figure(to)),
        Range { from: None, to: None } => "of any size".to_owned(),
    }
}

fn figure(number: f64, measure: Measure) -> String {
    match measure {
        Measure::Count | Measure::Score => number.to_string(),
        Measure::Percent => format!("{number} %"),
        Measure::Seconds | Measure::Millis if number < 1e3 => format!("{number} ms"),
        Measure::Seconds | Measure::Millis if number % 3_600e3 == 0.0 => format!("{} h", number / 3_600e3),
        Measure::Seconds | Measure::Millis if number % 60e3 == 0.0 => format!("{} min", number / 60e3),
        Measure::Seconds | Measure::Millis => format!("{} s", number / 1e3),
    }
}

/// A span of time as people say it: today's without the date.
fn timed(span: &TimeSpan, context: &Context) -> String {
    let civil = |time: Nanos| {
        let instant = Timestamp::from_nanosecond(i128::from(time.0)).unwrap_or(Timestamp::UNIX_EPOCH);
        context.zone.to_datetime(instant)
    };
    let today = civil(context.now).date();
    let dated = |time: DateTime| format!("{} {}", time.date(), clock(time.time()));
    let moment = |time: DateTime| if time.date() == today { clock(time.time()) } else { dated(time) };
    let is_midnight = |time: DateTime| time.time() == Time::midnight();
    match (span.from.map(civil), span.to.map(civil)) {
        (Some(from), Some(to))
            if is_midnight(from)
                && from.date().tomorrow().is_ok_and(|next| next == to.date())
                && is_midnight(to) =>
        {
            format!("on {}", from.date())
        }
        (Some(from), Some(_)) if is_one(span, from) => format!("at {}", moment(from)),
        (Some(from), Some(to)) if from.date() == to.date() => {
            format!("from {} to {}", moment(from), clock(to.time()))
        }
        // Of two days, today's too has its date: `from 2026-11-20 15:00 to 15:00` reads as one day.
        (Some(from), Some(to)) => format!("from {} to {}", dated(from), dated(to)),
        (Some(from), None) => format!("since {}", moment(from)),
        (None, Some(to)) => format!("before {}", moment(to)),
        (None, None) => "at any time".to_owned(),
    }
}

/// Whether a span is the minute, the second or the microsecond that begins with it.
fn is_one(span: &TimeSpan, from: DateTime) -> bool {
    let micros = |time: Option<Nanos>| time.map_or(0, Nanos::micros);
    match micros(span.to).saturating_sub(micros(span.from)) {
        60_000_000 => from.second() == 0 && from.subsec_nanosecond() == 0,
        1_000_000 => from.subsec_nanosecond() == 0,
        length => length == 1,
    }
}

/// `15:00`, `15:00:20`, `15:00:20.5`.
fn clock(time: Time) -> String {
    let minute = format!("{:02}:{:02}", time.hour(), time.minute());
    match (time.second(), time.subsec_nanosecond()) {
        (0, 0) => minute,
        (second, 0) => format!("{minute}:{second:02}"),
        (second, nanos) => {
            let fraction = format!("{nanos:09}");
            format!("{minute}:{second:02}.{}", fraction.trim_end_matches('0'))
        }
    }
}

/// Items as people list them.
fn joined(items: Vec<String>) -> String {
    match &items[..] {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} or {last}", first.join(", ")),
    }
}

/// What it is to have the field at all.
fn noun(field: FieldName) -> &'static str {
    match field {
        FieldName::Number => "a number",
        FieldName::From => "a caller",
        FieldName::To => "a callee",
        FieldName::Diverted => "a number that they were routed on to",
        FieldName::Uri => "a SIP address",
        FieldName::CallId => "a Call-ID",
        FieldName::Ip => "an address",
        FieldName::Ua => "a User-Agent",
        FieldName::Trunk => "a trunk",
        FieldName::Text => "a text",
        FieldName::State => "a state",
        FieldName::Code => "a final code",
        FieldName::Cause => "a cause",
        FieldName::Reason => "a reason phrase",
        FieldName::Hangup => "a side that released them",
        FieldName::Retrans => "a count of retransmissions",
        FieldName::Mos => "a MOS",
        FieldName::MosWorst => "a MOS of the worst 10 s",
        FieldName::Pdd => "a post-dial delay",
        FieldName::Ring => "a ringing time",
        FieldName::Dur => "a duration",
        FieldName::Codec => "a codec",
        FieldName::Ptime => "a packet time",
        FieldName::Loss => "a loss",
        FieldName::Jitter => "a jitter",
        FieldName::Silence => "a share of silence",
        FieldName::Clipped => "a share of clipped sound",
        FieldName::Rtt => "a round trip",
        FieldName::LostAt => "a place of loss",
        FieldName::Direction => "a direction",
        FieldName::Drops => "a count of packets dropped here",
        FieldName::Attest => "an attestation",
        FieldName::Identity => "a state of the Identity header",
        FieldName::Transport => "a transport",
        FieldName::Recorded => "a state of recording",
        FieldName::Note => "a note",
        FieldName::Problem => "a problem",
        FieldName::At | FieldName::Began => "a known beginning",
        FieldName::Ended => "a known end",
        FieldName::Conversation => "a conversation",
        FieldName::Id => "an id",
    }
}

/// The same without its article.
fn field_noun(field: FieldName) -> &'static str {
    let noun = noun(field);
    noun.split_once(' ').map_or(noun, |(_, noun)| noun)
}

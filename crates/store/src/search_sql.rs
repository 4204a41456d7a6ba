//! What leaves out of a day the calls that a search cannot select: as SQL, and as a test of columns.
//!
//! A condition has two bounds: the upper is satisfied by every call that the condition selects, the lower by
//! none that it does not. What a `not` leaves out is decided by the lower one. Where columns cannot tell,
//! there is no bound.

use std::ops::RangeInclusive;

use ringtap_model::filter::{CodeRange, NumberPattern, Pattern};
use ringtap_model::{Condition as Filtered, Filter, Id, Nanos, NoteCode};
use ringtap_search::{Condition, Expression, FieldName, Test, TimeSpan, Value};
use rusqlite::types::Value as Sqlite;

use crate::Day;
use crate::columns::{ColumnBounds, ColumnTest, END, START};
use crate::keys::{self, Probes};
use crate::query::{Sql, parts, with_stream, with_stream_here};
use crate::record::integer;
use crate::schema::{self, PARTS_OF_DAY};
use crate::texts;

/// Which of the two bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Upper,
    Lower,
}

/// A condition, or a statement, and its values.
#[derive(Debug)]
pub(crate) struct Bounds {
    pub(crate) condition: String,
    pub(crate) values: Vec<Sqlite>,
    /// What columns tell of it, where that leaves calls out and no key does.
    pub(crate) columns: Option<ColumnBounds>,
}

/// A bound of a condition: in SQL, and as a test of columns.
struct Bound {
    sql: String,
    test: ColumnTest<String>,
}

impl Bound {
    fn new(sql: String, test: ColumnTest<String>) -> Self {
        Self { sql, test }
    }

    /// One that a test of columns cannot tell.
    fn sql(sql: String) -> Self {
        Self::new(sql, ColumnTest::Unknown)
    }

    fn any(parts: Vec<Self>) -> Self {
        let (sql, tests): (Vec<String>, Vec<_>) = parts.into_iter().map(|part| (part.sql, part.test)).unzip();
        Self::new(format!("({})", sql.join(" OR ")), ColumnTest::Any(tests))
    }

    fn all(parts: Vec<Self>) -> Self {
        let (sql, tests): (Vec<String>, Vec<_>) = parts.into_iter().map(|part| (part.sql, part.test)).unzip();
        Self::new(format!("({})", sql.join(" AND ")), ColumnTest::All(tests))
    }
}

/// The time in which the calls began that satisfy both.
pub(crate) fn time_span(expression: &Expression, filter: &Filter) -> TimeSpan {
    let of = |condition: &Filtered| match *condition {
        Filtered::Since(since) => TimeSpan { from: Some(since), to: None },
        Filtered::Until(until) => TimeSpan { from: None, to: Some(until) },
        _ => TimeSpan::ALL,
    };
    filter.0.iter().map(of).fold(expression.time_span(), TimeSpan::and)
}

/// A condition that all calls of a day satisfy that are selected; by keys of the expression only if
/// `by_keys`. Those are left out that do not lie behind `after`: beginning in microseconds, id, and whether
/// the order is the newest first.
pub(crate) fn of_day(
    expression: &Expression,
    filter: &Filter,
    day: Day,
    by_keys: bool,
    after: Option<(i64, Id, bool)>,
) -> Bounds {
    let mut compiler = Compiler::of(expression, day, by_keys);
    let has_keys = by_keys && has_keys(expression);
    let span = expression.time_span();
    if has_keys {
        // The few calls that have the keys are compared: the index by time would give far more.
        let began = compiler.began(&span);
        compiler.sql.all.extend(began.map(|bound| bound.sql));
    } else {
        let bounds = [span.from.map(Filtered::Since), span.to.map(Filtered::Until)];
        bounds.iter().flatten().for_each(|bound| compiler.sql.time("start_us", bound, day));
    }
    let mut columns = None;
    if let Some(Bound { sql, test }) = compiler.expression(expression, Side::Upper) {
        compiler.sql.all.push(sql);
        let leaves_out = !has_keys && test.constant(true) != Some(true);
        columns = leaves_out.then(|| ColumnBounds { test, start: starts(expression, filter, after) });
    }
    filter.0.iter().for_each(|condition| compiler.sql.call(condition));
    if let Some((start, id, is_newest_first)) = after {
        let (end, than) = if is_newest_first { ("<=", "<") } else { (">=", ">") };
        let (start, second) = (compiler.sql.bind(Sqlite::Integer(start)), start / 1_000_000 % 86_400);
        let id = compiler.sql.blob(&id.0);
        if !has_keys {
            compiler.sql.all.push(format!("{} {end} {second}", schema::second_of_day("start_us")));
        }
        compiler.sql.all.push(format!("(+start_us, id) {than} ({start}, {id})"));
    }
    let (condition, values) = compiler.sql.finish();
    Bounds { condition, values, columns }
}

/// When calls began, in microseconds, that satisfy both and lie behind a place.
fn starts(expression: &Expression, filter: &Filter, after: Option<(i64, Id, bool)>) -> RangeInclusive<i64> {
    let TimeSpan { from, to } = time_span(expression, filter);
    let micros = |time: Nanos| integer(time.0.div_ceil(1_000));
    let (first, last) = (from.map_or(0, micros), to.map_or(i64::MAX, |to| micros(to) - 1));
    match after {
        Some((start, _, true)) => first..=last.min(start),
        Some((start, _, false)) => first.max(start)..=last,
        None => first..=last,
    }
}

/// The statements that give the rows of each condition with keys, of those that all selected calls satisfy.
pub(crate) fn key_rows(expression: &Expression, day: Day) -> Vec<Bounds> {
    let of = |condition: &Condition| {
        let mut compiler = Compiler::of(expression, day, true);
        let rows = compiler.key_rows(condition)?;
        Some(Bounds { condition: rows, values: compiler.sql.values, columns: None })
    };
    expression.conditions().filter(|condition| is_keyed(condition)).filter_map(of).collect()
}

/// Whether every selected call is found by a key.
fn has_keys(expression: &Expression) -> bool {
    match expression {
        Expression::All(parts) => parts.iter().any(has_keys),
        Expression::Any(parts) => !parts.is_empty() && parts.iter().all(has_keys),
        Expression::Condition(condition) => is_keyed(condition),
        _ => false,
    }
}

fn is_keyed(condition: &Condition) -> bool {
    match (condition.field, &condition.test) {
        (_, Test::Exists) => false,
        (FieldName::Id | FieldName::Conversation, _) => true,
        _ => probes(condition).is_some_and(|probes| {
            !probes.is_empty() && probes.iter().all(|probes| matches!(probes, Probes::Ranges(_)))
        }),
    }
}

/// The keys of each value of a condition.
fn probes(condition: &Condition) -> Option<Vec<Probes>> {
    let is_party =
        matches!(condition.field, FieldName::Number | FieldName::From | FieldName::To | FieldName::Diverted);
    let of = |value: &&Value| match value {
        Value::Number(pattern) if is_party => Some(keys::of_number(pattern)),
        Value::Text(pattern) if condition.field == FieldName::CallId => Some(keys::of_call_id(pattern)),
        Value::Text(pattern) if condition.field == FieldName::Uri => of_uri(pattern),
        _ => None,
    };
    condition.values().iter().map(of).collect()
}

/// The keys of the user of a SIP address: what stands before the `@`.
fn of_uri(pattern: &Pattern) -> Option<Probes> {
    // An address of a host alone has no user, and no key.
    let (user, _) = pattern.head().split_once('@').filter(|(user, _)| !user.is_empty())?;
    Some(keys::of_number(&NumberPattern::of(Pattern::exact(user))))
}

struct Compiler {
    sql: Sql,
    by_keys: bool,
}

impl Compiler {
    fn of(expression: &Expression, day: Day, by_keys: bool) -> Self {
        let TimeSpan { from, to } = expression.time_span();
        let bounds: Vec<Filtered> =
            from.map(Filtered::Since).into_iter().chain(to.map(Filtered::Until)).collect();
        let mut parts = parts(&bounds, day);
        if parts.is_empty() {
            parts = (0..PARTS_OF_DAY).collect();
        }
        Self { sql: Sql { parts, ..Sql::of(day) }, by_keys }
    }

    /// Runs what makes a condition, and forgets its values where there is none.
    fn attempt(&mut self, make: impl FnOnce(&mut Self) -> Option<Bound>) -> Option<Bound> {
        let values = self.sql.values.len();
        let made = make(self);
        if made.is_none() {
            self.sql.values.truncate(values);
        }
        made
    }

    fn expression(&mut self, expression: &Expression, side: Side) -> Option<Bound> {
        self.tree(expression, side, &mut Self::call)
    }

    /// A bound of a tree of conditions, each of which `one` makes.
    fn tree(
        &mut self,
        expression: &Expression,
        side: Side,
        one: &mut dyn FnMut(&mut Self, &Condition, Side) -> Option<Bound>,
    ) -> Option<Bound> {
        match expression {
            Expression::All(parts) => self.joined(parts, side, Side::Upper, Bound::all, one),
            Expression::Any(parts) => self.joined(parts, side, Side::Lower, Bound::any, one),
            Expression::Not(inner) => {
                let other = if side == Side::Upper { Side::Lower } else { Side::Upper };
                let Bound { sql, test } = self.tree(inner, other, one)?;
                Some(Bound::new(format!("({sql}) IS NOT TRUE"), ColumnTest::Not(Box::new(test))))
            }
            Expression::Condition(condition) => self.attempt(|compiler| one(compiler, condition, side)),
            Expression::Stream(inner) => {
                let inner = self.tree(inner, side, &mut Self::stream)?;
                Some(of_streams(&inner, side))
            }
        }
    }

    /// Parts of which one that has no bound can be left out on the side `lenient`, and on the other leaves
    /// none for the whole.
    fn joined(
        &mut self,
        parts: &[Expression],
        side: Side,
        lenient: Side,
        join: fn(Vec<Bound>) -> Bound,
        one: &mut dyn FnMut(&mut Self, &Condition, Side) -> Option<Bound>,
    ) -> Option<Bound> {
        self.attempt(|compiler| {
            let mut bounds = Vec::new();
            for part in parts {
                match compiler.tree(part, side, one) {
                    Some(bound) => bounds.push(bound),
                    None if side == lenient => {}
                    None => return None,
                }
            }
            // No condition: every call.
            let nothing = parts.is_empty() && lenient == Side::Upper;
            match bounds.is_empty() {
                true => nothing.then(|| Bound::new("1".to_owned(), ColumnTest::All(Vec::new()))),
                false => Some(join(bounds)),
            }
        })
    }

    /// A bound of a condition on the call.
    fn call(&mut self, condition: &Condition, side: Side) -> Option<Bound> {
        let Test::OneOf(_) = condition.test else { return exists(condition.field) };
        match condition.field {
            FieldName::Number
            | FieldName::From
            | FieldName::To
            | FieldName::Diverted
            | FieldName::CallId
            | FieldName::Uri
            | FieldName::Id
            | FieldName::Conversation => {
                let is_upper = side == Side::Upper && self.by_keys;
                let rows = is_upper.then(|| self.key_rows(condition)).flatten()?;
                Some(Bound::sql(format!("calls.number IN ({rows})")))
            }
            FieldName::State => self.named("state", condition, side),
            FieldName::Hangup => self.named("released_by", condition, side),
            FieldName::Recorded => self.named("recorded", condition, side),
            FieldName::Ua => {
                let words = USER_AGENTS.map(|column| self.words(column, condition, side));
                Some(Bound::any(words.into_iter().collect::<Option<_>>()?))
            }
            FieldName::Reason => self.words("final_reason", condition, side),
            FieldName::Note => self.notes(condition, side),
            FieldName::Problem => problem(condition, side),
            FieldName::Ip => {
                let own = self.hosts("", condition)?;
                let streams = self.hosts("stream.", condition)?;
                Some(Bound::any(vec![own, of_streams(&streams, side)]))
            }
            FieldName::Codec
            | FieldName::Ptime
            | FieldName::Loss
            | FieldName::Jitter
            | FieldName::Silence
            | FieldName::Clipped => {
                let bound = self.stream(condition, side)?;
                Some(of_streams(&bound, side))
            }
            _ => self.each(condition, |compiler, value| compiler.figure(condition.field, value, side)),
        }
    }

    /// A bound of a condition on the row of a stream.
    fn stream(&mut self, condition: &Condition, side: Side) -> Option<Bound> {
        let column = match condition.field {
            FieldName::Ip => return self.hosts("stream.", condition),
            FieldName::Note => return self.notes(condition, side),
            FieldName::Problem => return problem(condition, side),
            FieldName::Codec => return self.codec(condition, side),
            FieldName::Ptime => "ptime",
            FieldName::Mos => "mos",
            FieldName::Loss => "loss",
            FieldName::Jitter => "jitter",
            FieldName::Silence => "silence",
            FieldName::Clipped => "clipped",
            FieldName::Dur => "span_ms",
            _ => return None,
        };
        let column = format!("stream.{column}");
        let scale = if condition.field == FieldName::Dur { 1.0 } else { 1e3 };
        match condition.test {
            Test::Exists => Some(present(&column)),
            Test::OneOf(_) => {
                self.each(condition, |compiler, value| compiler.range(&column, value, scale, side))
            }
        }
    }

    /// One of the values: `make` makes the condition of each.
    fn each(
        &mut self,
        condition: &Condition,
        mut make: impl FnMut(&mut Self, &Value) -> Option<Bound>,
    ) -> Option<Bound> {
        let any: Option<Vec<Bound>> = condition.values().into_iter().map(|value| make(self, value)).collect();
        Some(Bound::any(any.filter(|any| !any.is_empty())?))
    }

    /// The statement that gives the rows of calls that have the keys of a condition.
    fn key_rows(&mut self, condition: &Condition) -> Option<String> {
        if matches!(condition.field, FieldName::Id | FieldName::Conversation) {
            return self.id_rows(condition);
        }
        let rows: Option<Vec<String>> =
            probes(condition)?.iter().map(|probes| self.sql.key_rows(probes)).collect();
        Some(rows.filter(|rows| !rows.is_empty())?.join(" UNION ALL "))
    }

    fn id_rows(&mut self, condition: &Condition) -> Option<String> {
        let parts: Vec<String> = (0..PARTS_OF_DAY).map(|part| part.to_string()).collect();
        let part = schema::part_of_day("found.start_us");
        let rows = condition.values().into_iter().map(|value| match (value, condition.field) {
            (Value::Id(id), FieldName::Id) => {
                let id = self.sql.blob(&id.0);
                let parts = parts.join(", ");
                Some(format!(
                    "SELECT number FROM calls AS found WHERE {part} IN ({parts}) AND found.id = {id}"
                ))
            }
            (Value::Id(id), _) => {
                let condition = self.sql.conversation(*id);
                Some(format!("SELECT calls.number FROM calls WHERE {condition}"))
            }
            _ => None,
        });
        Some(rows.collect::<Option<Vec<_>>>()?.join(" UNION ALL "))
    }

    /// A column with the number of a name.
    fn named(&mut self, column: &str, condition: &Condition, side: Side) -> Option<Bound> {
        let values = condition.values();
        let names = values.into_iter().filter_map(|value| match value {
            Value::Name(name) => Some(*name),
            _ => None,
        });
        let names = self.sql.list(names);
        Some(numbered(column, &format!("text IN ({names})"), side))
    }

    /// A column with the number of a text in which words are found.
    fn words(&mut self, column: &str, condition: &Condition, side: Side) -> Option<Bound> {
        let any = self.each(condition, |compiler, value| match value {
            Value::Words(_, words) => {
                Some(Bound::sql(format!("lower(text) GLOB {}", compiler.sql.text(&words.glob()))))
            }
            _ => None,
        })?;
        Some(numbered(column, &any.sql, side))
    }

    fn codec(&mut self, condition: &Condition, side: Side) -> Option<Bound> {
        let Test::OneOf(_) = condition.test else { return Some(present("stream.codec")) };
        let names = condition.values().into_iter().map(|value| match value {
            Value::Codec(_, name) => Some(name.clone()),
            _ => None,
        });
        let names = names.collect::<Option<Vec<_>>>().filter(|names| !names.is_empty())?;
        (side == Side::Upper).then(|| Bound::sql(self.sql.codecs(&names)))
    }

    fn notes(&mut self, condition: &Condition, side: Side) -> Option<Bound> {
        if condition.test == Test::Exists {
            return exists(FieldName::Note);
        }
        let codes = condition.values().into_iter().map(|value| match value {
            Value::Name(name) => NoteCode::from_name(name),
            _ => None,
        });
        let codes = codes.collect::<Option<Vec<NoteCode>>>()?;
        (side == Side::Upper).then(|| {
            let bits = self.sql.note_bits(&codes);
            let sql = format!("notes & ({bits})");
            Bound::new(sql, ColumnTest::of("notes", |column| ColumnTest::Bits(column, bits)))
        })
    }

    fn hosts(&mut self, table: &str, condition: &Condition) -> Option<Bound> {
        let hosts = condition.values().into_iter().map(|value| match value {
            Value::Host(host) => Some((host.network, host.port)),
            _ => None,
        });
        let hosts = hosts.collect::<Option<Vec<_>>>().filter(|hosts| !hosts.is_empty())?;
        Some(Bound::sql(self.sql.endpoints(table, hosts.into_iter())))
    }

    /// A number or a time of the call.
    fn figure(&mut self, field: FieldName, value: &Value, side: Side) -> Option<Bound> {
        match (field, value) {
            (FieldName::Code, Value::Code(CodeRange { first, last })) => {
                let test = ColumnTest::of("final_code", |column| {
                    ColumnTest::Within(column, i64::from(*first), i64::from(*last))
                });
                Some(Bound::new(format!("final_code BETWEEN {first} AND {last}"), test))
            }
            (FieldName::Began, Value::Time(span)) => self.began(span).filter(|_| side == Side::Upper),
            (FieldName::At, Value::Time(span)) if side == Side::Upper => self.up(span),
            (FieldName::Ended, Value::Time(span)) if side == Side::Upper => self.ended(span),
            _ => {
                let (column, scale) = figure_column(field)?;
                self.range(column, value, scale, side)
            }
        }
    }

    /// A column with numbers, of which one unit of the records is `scale`. Rounded columns are compared with
    /// a margin.
    fn range(&mut self, column: &str, value: &Value, scale: f64, side: Side) -> Option<Bound> {
        let Value::Range(range) = value else { return None };
        let is_count = matches!(column, "cause" | "retransmissions" | "capture_drops");
        let margin = match (is_count, side) {
            (true, _) => 0.0,
            (false, Side::Upper) => 1.0,
            (false, Side::Lower) => -1.0,
        };
        let from = range.from.map(|(from, with)| (from * scale - margin, with || !is_count));
        let to = range.to.map(|(to, with)| (to * scale + margin, with || !is_count));
        let mut all = Vec::new();
        if let Some((from, with)) = from {
            let operator = if with { ">=" } else { ">" };
            all.push(format!("{column} {operator} {}", self.sql.bind(Sqlite::Real(from))));
        }
        if let Some((to, with)) = to {
            let operator = if with { "<=" } else { "<" };
            all.push(format!("{column} {operator} {}", self.sql.bind(Sqlite::Real(to))));
        }
        if all.is_empty() {
            return Some(present(column));
        }
        Some(Bound::new(format!("({})", all.join(" AND ")), ColumnTest::between(column, from, to)))
    }

    /// Calls that began in a span of time.
    fn began(&mut self, span: &TimeSpan) -> Option<Bound> {
        let from = span.from.map(|from| self.since(START, from, 0));
        let to = span.to.map(|to| self.before(START, to, 0));
        joined_times(from, to)
    }

    /// Calls that were up in a span of time. The column of a call's length is rounded to milliseconds.
    fn up(&mut self, span: &TimeSpan) -> Option<Bound> {
        let to = span.to.map(|to| self.before(START, to, 0));
        let from = span.from.map(|from| {
            let goes_on = ColumnTest::Not(Box::new(ColumnTest::present("span_ms")));
            let goes_on = Bound::new("span_ms IS NULL".to_owned(), goes_on);
            Bound::any(vec![goes_on, self.since(END, from, -1_000)])
        });
        joined_times(from, to)
    }

    /// Calls that ended in a span of time.
    fn ended(&mut self, span: &TimeSpan) -> Option<Bound> {
        let from = span.from.map(|from| self.since(END, from, -1_000));
        let to = span.to.map(|to| self.before(END, to, 1_000));
        joined_times(from, to)
    }

    /// A time in microseconds from another on, to which `more` is added.
    fn since(&mut self, column: &str, time: Nanos, more: i64) -> Bound {
        let first = integer(time.micros()).saturating_add(more);
        let test = ColumnTest::of(column, |column| ColumnTest::Within(column, first, i64::MAX));
        // The plus keeps the index by time out of it.
        Bound::new(format!("+{column} >= {}", self.sql.bind(Sqlite::Integer(first))), test)
    }

    /// The same before another.
    fn before(&mut self, column: &str, time: Nanos, more: i64) -> Bound {
        let end = integer(time.micros()).saturating_add(more);
        let test = ColumnTest::of(column, |column| ColumnTest::Within(column, i64::MIN, end - 1));
        Bound::new(format!("+{column} < {}", self.sql.bind(Sqlite::Integer(end))), test)
    }
}

/// Bounds of which either may be missing.
fn joined_times(from: Option<Bound>, to: Option<Bound>) -> Option<Bound> {
    let both: Vec<Bound> = from.into_iter().chain(to).collect();
    (!both.is_empty()).then(|| Bound::all(both))
}

/// Calls with a stream that a bound is about.
fn of_streams(bound: &Bound, side: Side) -> Bound {
    Bound::sql(match side {
        Side::Upper => with_stream(&bound.sql),
        Side::Lower => with_stream_here(&bound.sql),
    })
}

/// The column of a call's numbers, and how many of its units one of the records' is.
fn figure_column(field: FieldName) -> Option<(&'static str, f64)> {
    Some(match field {
        FieldName::Cause => ("cause", 1.0),
        FieldName::Retrans => ("retransmissions", 1.0),
        FieldName::Drops => ("capture_drops", 1.0),
        FieldName::Mos => ("mos", 1e3),
        FieldName::MosWorst => ("mos_worst_interval", 1e3),
        FieldName::Pdd => ("pdd_ms", 1.0),
        FieldName::Ring => ("ring_ms", 1.0),
        FieldName::Dur => ("duration_ms", 1.0),
        _ => return None,
    })
}

/// Both bounds of what has a value at all.
fn exists(field: FieldName) -> Option<Bound> {
    let column = match field {
        FieldName::Code => {
            let test = ColumnTest::of("final_code", |column| ColumnTest::Within(column, 1, i64::MAX));
            return Some(Bound::new("final_code > 0".to_owned(), test));
        }
        FieldName::Note => return Some(any_note()),
        FieldName::Hangup => "released_by",
        FieldName::Reason => "final_reason",
        FieldName::Ua => return Some(Bound::any(USER_AGENTS.map(present).into())),
        field => figure_column(field).map(|(column, _)| column)?,
    };
    Some(present(column))
}

fn present(column: &str) -> Bound {
    Bound::new(format!("{column} IS NOT NULL"), ColumnTest::present(column))
}

fn any_note() -> Bound {
    let none = ColumnTest::of("notes", |column| ColumnTest::Within(column, 0, 0));
    Bound::new("notes <> 0".to_owned(), ColumnTest::Not(Box::new(none)))
}

/// A note of a problem; there are others.
fn problem(condition: &Condition, side: Side) -> Option<Bound> {
    let is_yes = matches!(condition.test, Test::Exists) || condition.values() == [&Value::Flag(true)];
    (is_yes && side == Side::Upper).then(any_note)
}

/// A column with the number of a text that satisfies a condition. A text that is not known whole may satisfy
/// it.
fn numbered(column: &str, condition: &str, side: Side) -> Bound {
    let numbers = match side {
        Side::Upper => texts::possible(condition),
        Side::Lower => texts::certain(condition),
    };
    let sql = format!("{column} IN ({numbers})");
    Bound::new(sql, ColumnTest::of(column, |column| ColumnTest::OneOf(column, numbers)))
}

const USER_AGENTS: [&str; 2] = ["user_agent_caller", "user_agent_callee"];

#[cfg(test)]
mod tests;

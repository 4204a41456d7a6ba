//! The SQL that leaves out of a day what a search cannot select.
//!
//! A condition has two bounds: the upper is satisfied by every call that the condition selects, the lower by
//! none that it does not. What a `not` leaves out is decided by the lower one. Where columns cannot tell,
//! there is no bound.

use ringtap_model::filter::{CodeRange, NumberPattern, Pattern};
use ringtap_model::{Condition as Filtered, Filter, Id, Nanos, NoteCode};
use ringtap_search::{Condition, Expression, FieldName, Test, TimeSpan, Value};
use rusqlite::types::Value as Sqlite;

use crate::Day;
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
        compiler.sql.all.extend(began);
    } else {
        let bounds = [span.from.map(Filtered::Since), span.to.map(Filtered::Until)];
        bounds.iter().flatten().for_each(|bound| compiler.sql.time("start_us", bound, day));
    }
    if let Some(condition) = compiler.expression(expression, Side::Upper) {
        compiler.sql.all.push(condition);
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
    Bounds { condition, values }
}

/// The statements that give the rows of each condition with keys, of those that all selected calls satisfy.
pub(crate) fn key_rows(expression: &Expression, day: Day) -> Vec<Bounds> {
    let of = |condition: &Condition| {
        let mut compiler = Compiler::of(expression, day, true);
        let rows = compiler.key_rows(condition)?;
        Some(Bounds { condition: rows, values: compiler.sql.values })
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
    fn attempt(&mut self, make: impl FnOnce(&mut Self) -> Option<String>) -> Option<String> {
        let values = self.sql.values.len();
        let made = make(self);
        if made.is_none() {
            self.sql.values.truncate(values);
        }
        made
    }

    fn expression(&mut self, expression: &Expression, side: Side) -> Option<String> {
        self.tree(expression, side, &mut Self::call)
    }

    /// A bound of a tree of conditions, each of which `one` makes.
    fn tree(
        &mut self,
        expression: &Expression,
        side: Side,
        one: &mut dyn FnMut(&mut Self, &Condition, Side) -> Option<String>,
    ) -> Option<String> {
        match expression {
            Expression::All(parts) => self.joined(parts, side, Side::Upper, " AND ", one),
            Expression::Any(parts) => self.joined(parts, side, Side::Lower, " OR ", one),
            Expression::Not(inner) => {
                let other = if side == Side::Upper { Side::Lower } else { Side::Upper };
                Some(format!("({}) IS NOT TRUE", self.tree(inner, other, one)?))
            }
            Expression::Condition(condition) => self.attempt(|compiler| one(compiler, condition, side)),
            Expression::Stream(inner) => {
                let inner = self.tree(inner, side, &mut Self::stream)?;
                Some(if side == Side::Upper { with_stream(&inner) } else { with_stream_here(&inner) })
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
        with: &str,
        one: &mut dyn FnMut(&mut Self, &Condition, Side) -> Option<String>,
    ) -> Option<String> {
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
            let nothing = (parts.is_empty() && lenient == Side::Upper).then(|| "1".to_owned());
            if bounds.is_empty() { nothing } else { Some(format!("({})", bounds.join(with))) }
        })
    }

    /// A bound of a condition on the call.
    fn call(&mut self, condition: &Condition, side: Side) -> Option<String> {
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
                Some(format!("calls.number IN ({rows})"))
            }
            FieldName::State => self.named("state", condition, side),
            FieldName::Hangup => self.named("released_by", condition, side),
            FieldName::Recorded => self.named("recorded", condition, side),
            FieldName::Ua => {
                let sides = ["user_agent_caller", "user_agent_callee"];
                let words = sides.map(|column| self.words(column, condition, side));
                Some(format!("({})", words.into_iter().collect::<Option<Vec<_>>>()?.join(" OR ")))
            }
            FieldName::Reason => self.words("final_reason", condition, side),
            FieldName::Note => self.notes(condition, side),
            FieldName::Problem => problem(condition, side),
            FieldName::Ip => {
                let own = self.hosts("", condition)?;
                let streams = self.hosts("stream.", condition)?;
                let streams =
                    if side == Side::Upper { with_stream(&streams) } else { with_stream_here(&streams) };
                Some(format!("({own} OR {streams})"))
            }
            FieldName::Codec
            | FieldName::Ptime
            | FieldName::Loss
            | FieldName::Jitter
            | FieldName::Silence
            | FieldName::Clipped => {
                let bound = self.stream(condition, side)?;
                Some(if side == Side::Upper { with_stream(&bound) } else { with_stream_here(&bound) })
            }
            _ => self.each(condition, |compiler, value| compiler.figure(condition.field, value, side)),
        }
    }

    /// A bound of a condition on the row of a stream.
    fn stream(&mut self, condition: &Condition, side: Side) -> Option<String> {
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
            Test::Exists => Some(format!("{column} IS NOT NULL")),
            Test::OneOf(_) => {
                self.each(condition, |compiler, value| compiler.range(&column, value, scale, side))
            }
        }
    }

    /// One of the values: `make` makes the condition of each.
    fn each(
        &mut self,
        condition: &Condition,
        mut make: impl FnMut(&mut Self, &Value) -> Option<String>,
    ) -> Option<String> {
        let any: Option<Vec<String>> =
            condition.values().into_iter().map(|value| make(self, value)).collect();
        Some(format!("({})", any.filter(|any| !any.is_empty())?.join(" OR ")))
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
    fn named(&mut self, column: &str, condition: &Condition, side: Side) -> Option<String> {
        let values = condition.values();
        let names = values.into_iter().filter_map(|value| match value {
            Value::Name(name) => Some(*name),
            _ => None,
        });
        let names = self.sql.list(names);
        Some(numbered(column, &format!("text IN ({names})"), side))
    }

    /// A column with the number of a text in which words are found.
    fn words(&mut self, column: &str, condition: &Condition, side: Side) -> Option<String> {
        let any = self.each(condition, |compiler, value| match value {
            Value::Words(_, words) => Some(format!("lower(text) GLOB {}", compiler.sql.text(&words.glob()))),
            _ => None,
        })?;
        Some(numbered(column, &any, side))
    }

    fn codec(&mut self, condition: &Condition, side: Side) -> Option<String> {
        let Test::OneOf(_) = condition.test else { return Some("stream.codec IS NOT NULL".to_owned()) };
        let names = condition.values().into_iter().map(|value| match value {
            Value::Codec(_, name) => Some(name.clone()),
            _ => None,
        });
        let names = names.collect::<Option<Vec<_>>>().filter(|names| !names.is_empty())?;
        (side == Side::Upper).then(|| self.sql.codecs(&names))
    }

    fn notes(&mut self, condition: &Condition, side: Side) -> Option<String> {
        if condition.test == Test::Exists {
            return exists(FieldName::Note);
        }
        let codes = condition.values().into_iter().map(|value| match value {
            Value::Name(name) => NoteCode::from_name(name),
            _ => None,
        });
        let codes = codes.collect::<Option<Vec<NoteCode>>>()?;
        (side == Side::Upper).then(|| self.sql.notes("notes", &codes))
    }

    fn hosts(&mut self, table: &str, condition: &Condition) -> Option<String> {
        let hosts = condition.values().into_iter().map(|value| match value {
            Value::Host(host) => Some((host.network, host.port)),
            _ => None,
        });
        let hosts = hosts.collect::<Option<Vec<_>>>().filter(|hosts| !hosts.is_empty())?;
        Some(self.sql.endpoints(table, hosts.into_iter()))
    }

    /// A number or a time of the call.
    fn figure(&mut self, field: FieldName, value: &Value, side: Side) -> Option<String> {
        match (field, value) {
            (FieldName::Code, Value::Code(CodeRange { first, last })) => {
                Some(format!("final_code BETWEEN {first} AND {last}"))
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
    fn range(&mut self, column: &str, value: &Value, scale: f64, side: Side) -> Option<String> {
        let Value::Range(range) = value else { return None };
        let is_count = matches!(column, "cause" | "retransmissions" | "capture_drops");
        let margin = match (is_count, side) {
            (true, _) => 0.0,
            (false, Side::Upper) => 1.0,
            (false, Side::Lower) => -1.0,
        };
        let mut all = Vec::new();
        if let Some((from, with)) = range.from {
            let operator = if with || !is_count { ">=" } else { ">" };
            all.push(format!("{column} {operator} {}", self.sql.bind(Sqlite::Real(from * scale - margin))));
        }
        if let Some((to, with)) = range.to {
            let operator = if with || !is_count { "<=" } else { "<" };
            all.push(format!("{column} {operator} {}", self.sql.bind(Sqlite::Real(to * scale + margin))));
        }
        if all.is_empty() {
            Some(format!("{column} IS NOT NULL"))
        } else {
            Some(format!("({})", all.join(" AND ")))
        }
    }

    /// Calls that began in a span of time.
    fn began(&mut self, span: &TimeSpan) -> Option<String> {
        let from = span.from.map(|from| format!("+start_us >= {}", self.micros(from, 0)));
        let to = span.to.map(|to| format!("+start_us < {}", self.micros(to, 0)));
        let both: Vec<String> = from.into_iter().chain(to).collect();
        (!both.is_empty()).then(|| both.join(" AND "))
    }

    /// Calls that were up in a span of time. The column of a call's length is rounded to milliseconds.
    fn up(&mut self, span: &TimeSpan) -> Option<String> {
        let to = span.to.map(|to| format!("+start_us < {}", self.micros(to, 0)));
        let from = span.from.map(|from| {
            format!("(span_ms IS NULL OR start_us + span_ms * 1000 >= {})", self.micros(from, -1_000))
        });
        let both: Vec<String> = to.into_iter().chain(from).collect();
        (!both.is_empty()).then(|| format!("({})", both.join(" AND ")))
    }

    /// Calls that ended in a span of time.
    fn ended(&mut self, span: &TimeSpan) -> Option<String> {
        let end = "start_us + span_ms * 1000";
        let from = span.from.map(|from| format!("{end} >= {}", self.micros(from, -1_000)));
        let to = span.to.map(|to| format!("{end} < {}", self.micros(to, 1_000)));
        let both: Vec<String> = from.into_iter().chain(to).collect();
        (!both.is_empty()).then(|| format!("({})", both.join(" AND ")))
    }

    fn micros(&mut self, time: Nanos, more: i64) -> String {
        self.sql.bind(Sqlite::Integer(integer(time.micros()).saturating_add(more)))
    }
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
fn exists(field: FieldName) -> Option<String> {
    let column = match field {
        FieldName::Code => return Some("final_code > 0".to_owned()),
        FieldName::Note => return Some("notes <> 0".to_owned()),
        FieldName::Hangup => "released_by",
        FieldName::Reason => "final_reason",
        FieldName::Ua => {
            return Some("coalesce(user_agent_caller, user_agent_callee) IS NOT NULL".to_owned());
        }
        field => figure_column(field).map(|(column, _)| column)?,
    };
    Some(format!("{column} IS NOT NULL"))
}

/// A note of a problem; there are others.
fn problem(condition: &Condition, side: Side) -> Option<String> {
    let is_yes = matches!(condition.test, Test::Exists) || condition.values() == [&Value::Flag(true)];
    (is_yes && side == Side::Upper).then(|| "notes <> 0".to_owned())
}

/// A column with the number of a text that satisfies a condition. A text that is not known whole may satisfy
/// it.
fn numbered(column: &str, condition: &str, side: Side) -> String {
    match side {
        Side::Upper => texts::condition(column, condition),
        Side::Lower => texts::certain(column, condition),
    }
}

#[cfg(test)]
mod tests;
